"""Every outcome has its own words, and nothing unprintable gets through."""

from hypothesis import given
from hypothesis import strategies as st

from autograder.model.report import CheckReport, ExerciseReport, NamedMistake, Outcome
from autograder.model.text import LONGEST, clean
from autograder.reports.causes import failures
from autograder.reports.words import WORDING, distinct, next_step, points, sentence


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


def test_only_failed_checks_have_a_next_step() -> None:
    """It depends on whether a known mistake was found; other outcomes have their own sentence."""
    failed = ExerciseReport(id="x", points=1, score=0, outcome=Outcome.FAILED)
    named = failed.model_copy(update={"misconceptions": [NamedMistake(id="m", title="m")]})
    assert next_step(failed) != next_step(named)
    assert next_step(failed)
    assert next_step(failed.model_copy(update={"outcome": Outcome.TIMEOUT})) == ""
