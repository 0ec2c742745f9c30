"""The shared words: every outcome has them, and nothing unprintable gets through."""

from hypothesis import given
from hypothesis import strategies as st

from autograder.reports.words import (
    LONGEST,
    WORDING,
    clean,
    distinct,
    failures,
    marks,
    next_step,
    sentence,
)
from autograder.results import CheckReport, ExerciseReport, NamedMistake, Outcome


def _check(title: str, message: str = "", *, passed: bool = False) -> CheckReport:
    return CheckReport(id=title, title=title, passed=passed, message=message)


def test_every_outcome_has_words_of_its_own() -> None:
    """No outcome is left without a label and a sentence, and no two share them."""
    assert set(WORDING) == set(Outcome)
    assert len({wording.label for wording in WORDING.values()}) == len(Outcome)
    assert len({wording.sign for wording in WORDING.values()}) == len(Outcome)
    assert len({wording.sentence for wording in WORDING.values()}) == len(Outcome)


@given(st.text(st.characters(), max_size=60))
def test_clean_text_can_be_written_and_holds_no_control(text: str) -> None:
    """Whatever comes in, what goes out is UTF-8 without control characters."""
    cleaned = clean(text)
    cleaned.encode()
    assert all(letter in "\n\t" or ord(letter) >= 32 for letter in cleaned)
    assert clean(cleaned) == cleaned


def test_clean_removes_terminal_codes_and_reordering_and_keeps_lines() -> None:
    """A message can neither colour a terminal nor turn a page's text around."""
    assert clean("a\x1b[31mb\x1b[0m\u202ec\r\nd\te") == "abc\nd\te"


def test_a_long_message_is_cut_and_says_so() -> None:
    """A megabyte of message stays a paragraph."""
    cut = clean("x" * 1_000_000)
    assert cut.endswith("(cut)")
    assert len(cut) < LONGEST + 10


def test_marks_are_written_as_people_write_them() -> None:
    """Whole numbers without a point, thirds rounded, an open score as a dash."""
    assert [marks(value) for value in (2.0, 0.5, 4 / 3, 0, None)] == ["2", "0.5", "1.33", "0", "–"]


def test_equal_messages_are_told_once() -> None:
    """One NameError in five checks is one thing to mend; checks without a message stay apart."""
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
    """The same diagnosis from two checks is one diagnosis."""
    named = [NamedMistake(id=each, title=each) for each in ("b", "a", "b")]
    assert [mistake.id for mistake in distinct(named)] == ["b", "a"]


def test_partial_success_is_counted_in_the_sentence() -> None:
    """Three of four is told as three of four, and a failure of all is not told as part."""
    some = [_check("a", passed=True), _check("b", passed=True), _check("c")]
    part = ExerciseReport(id="x", points=1, score=0.5, outcome=Outcome.FAILED, checks=some)
    none = part.model_copy(update={"checks": some[2:]})
    assert "2 of 3 checks passed, 1 does not" in sentence(part)
    assert sentence(none) == WORDING[Outcome.FAILED].sentence


def test_a_next_step_is_given_where_checks_failed_only() -> None:
    """A named mistake and an unnamed one lead to different steps; other outcomes have their own."""
    failed = ExerciseReport(id="x", points=1, score=0, outcome=Outcome.FAILED)
    named = failed.model_copy(update={"misconceptions": [NamedMistake(id="m", title="m")]})
    assert next_step(failed) != next_step(named)
    assert next_step(failed)
    assert next_step(failed.model_copy(update={"outcome": Outcome.TIMEOUT})) == ""
