"""Every outcome has its own words, equal causes are told once, and nothing unprintable gets through."""


from hypothesis import given
from hypothesis import strategies as st

from autograder.model.report import CheckReport, ExerciseReport, NamedMistake, Outcome, WrongLines
from autograder.model.text import LONGEST, clean
from autograder.reports.words import (
    OTHER_NUMBERS,
    WORDING,
    distinct,
    failures,
    first_message,
    next_step,
    points,
    sentence,
)

from .sample_work import check


def _check(title: str, message: str = "", *, passed: bool = False) -> CheckReport:
    return CheckReport(id=title, title=title, passed=passed, message=message)


def test_every_outcome_has_words_of_its_own() -> None:
    """Every outcome has a label, a sign and a sentence, and no two share one."""
    assert set(WORDING) == set(Outcome)
    assert len({wording.label for wording in WORDING.values()}) == len(Outcome)
    assert len({wording.sign for wording in WORDING.values()}) == len(Outcome)
    assert len({wording.sentence for wording in WORDING.values()}) == len(Outcome)


@given(st.text(st.characters(), max_size=60))
def test_clean_text_can_be_written_and_holds_no_control(text: str) -> None:
    """Any text becomes UTF-8 without control characters."""
    cleaned = clean(text)
    cleaned.encode()
    assert all(letter in "\n\t" or ord(letter) >= 32 for letter in cleaned)
    assert clean(cleaned) == cleaned


def test_clean_removes_terminal_codes_and_reordering_and_keeps_lines() -> None:
    """A message can neither colour a terminal nor reorder a page's text."""
    assert clean("a\x1b[31mb\x1b[0m\u202ec\r\nd\te") == "abc\nd\te"


def test_a_long_message_is_cut_and_says_so() -> None:
    """A message of a megabyte becomes a paragraph."""
    cut = clean("x" * 1_000_000)
    assert cut.endswith("(cut)")
    assert len(cut) < LONGEST + 10


def test_points_are_written_in_the_usual_form() -> None:
    """Whole numbers without a decimal point, thirds rounded, and "pending" for none."""
    assert [points(value) for value in (2.0, 0.5, 4 / 3, 0, None)] == ["2", "0.5", "1.33", "0", "pending"]


def test_equal_messages_are_shown_once() -> None:
    """One NameError in five checks is one thing to fix; checks without a message stay apart."""
    groups = failures(
        [
            _check("a", "boom"),
            _check("b"),
            _check("c", "boom"),
            _check("d"),
            _check("e", passed=True),
        ]
    )
    assert [group.titles for group in groups] == [("a", "c"), ("b",), ("d",)]
    assert [group.message for group in groups] == ["boom", "", ""]


def test_a_message_that_only_counts_wrong_entries_comes_last() -> None:
    """It says least, whichever check it is of."""
    groups = failures([_check("a", "104 of 104 entries are wrong; the first is at [0, 0]."), _check("b", "No bias.")])
    assert [group.titles for group in groups] == [("b",), ("a",)]


def test_a_mistake_is_named_once_in_the_order_found() -> None:
    """The same mistake in two checks is one mistake."""
    named = [NamedMistake(id=each, title=each) for each in ("b", "a", "b")]
    assert [mistake.id for mistake in distinct(named)] == ["b", "a"]


def test_partial_success_is_counted_in_the_sentence() -> None:
    """The sentence counts partial success, and only that."""
    some = [_check("a", passed=True), _check("b", passed=True), _check("c")]
    part = ExerciseReport(id="x", points=1, score=0.5, outcome=Outcome.FAILED, checks=some)
    none = part.model_copy(update={"checks": some[2:]})
    assert "2 of 3 checks passed, 1 failed" in sentence(part)
    assert sentence(none) == WORDING[Outcome.FAILED].sentence
    raised = part.model_copy(update={"outcome": Outcome.ERROR})
    assert "2 of 3 checks passed. In the rest, your code raised an error" in sentence(raised)


def test_only_failed_checks_have_a_next_step() -> None:
    """It depends on whether a known mistake was found; other outcomes have their own sentence."""
    failed = ExerciseReport(id="x", points=1, score=0, outcome=Outcome.FAILED)
    named = failed.model_copy(update={"misconceptions": [NamedMistake(id="m", title="m")]})
    assert next_step(failed) != next_step(named)
    assert next_step(failed)
    lines = [WrongLines(first=3, last=3, what="another sign", text="x")]
    assert next_step(failed.model_copy(update={"lines": lines})) == next_step(named)
    assert next_step(failed.model_copy(update={"outcome": Outcome.TIMEOUT})) == ""


def test_wrong_entries_of_a_dictionary_have_a_next_step_of_their_own() -> None:
    """There is no code to print from, and no smallest input."""
    wrong = ExerciseReport(id="model-numbers", points=2, score=0, outcome=Outcome.FAILED, checks=[_check("a")])
    assert "by hand, step by step" in next_step(wrong)
    assert "smallest input" not in next_step(wrong)
    code = wrong.model_copy(update={"id": "softmax"})
    assert "smallest input" in next_step(code)


def test_the_lines_to_change_say_more_than_a_failed_check() -> None:
    """They come first where no mistake has a name."""
    failed = ExerciseReport(id="x", points=1, score=0, outcome=Outcome.FAILED, checks=[_check("a")])
    lines = [WrongLines(first=3, last=3, what="another sign", text="x")]
    found = failed.model_copy(update={"lines": lines})
    assert first_message(found) == "Everything passes with another sign in line 3."
    named = found.model_copy(update={"misconceptions": [NamedMistake(id="m", title="m")]})
    assert first_message(named) == "m"


def test_messages_that_differ_in_numbers_have_one_cause() -> None:
    """The titles are all kept, in order."""
    (one,) = failures([check("a", "off by 0.5 at [2, 1]"), check("b", "off by -3e-05 at [0, 7]")])
    assert one.titles == ("a", "b")
    assert one.message == f"off by 0.5 at [2, 1] {OTHER_NUMBERS}"


def test_numbers_that_all_checks_share_are_not_said_to_differ() -> None:
    """The same message twice, or after another sentence, is true of each check."""
    (one,) = failures([check("a", "Off by 2."), check("b", "Off by 2."), check("c", "Unchanged. Off by 2.")])
    assert one.message == "Off by 2."


def test_a_message_that_ends_with_another_joins_it() -> None:
    """The shorter one is shown; one that merely contains it stays apart."""
    groups = failures([check("a", "Unchanged. Off by 2."), check("b", "Off by 3."), check("c", "Off by 3. Twice.")])
    assert [group.titles for group in groups] == [("a", "b"), ("c",)]
    assert groups[0].message == f"Off by 3. {OTHER_NUMBERS}"


def test_another_line_of_the_code_is_another_cause() -> None:
    """Its number is what the student looks for."""
    groups = failures([check("a", "IndexError (line 4 of your cell)"), check("b", "IndexError (line 14 of your cell)")])
    assert len(groups) == 2


def test_checks_without_a_message_stay_apart() -> None:
    """Their titles are all there is to say."""
    groups = failures([check("a"), check("b"), check("c", passed=True)])
    assert [group.titles for group in groups] == [("a",), ("b",)]
