"""What changed from one attempt of a student to the next."""

from autograder.model.report import Outcome
from autograder.reports.history import changes, steps

from .sample_class import report
from .sample_work import EMPTY, MIDDLING, PERFECT, UNREADABLE, attempt, done


def test_the_same_file_graded_again_is_one_attempt() -> None:
    """The newest of its gradings counts; the same file later is an attempt of its own."""
    made = steps([attempt(EMPTY, "a"), attempt(MIDDLING, "a"), attempt(PERFECT, "b"), attempt(MIDDLING, "a")])
    assert [step.number for step in made] == [1, 2, 3]
    assert [step.attempt.report for step in made] == [MIDDLING, PERFECT, MIDDLING]
    assert made[0].changes == ()


def test_only_scores_that_differ_are_told_in_the_lessons_order() -> None:
    """Up, down, and pending."""
    before = report([done("softmax", Outcome.FAILED, 1.5), done("causal-mask", Outcome.PASSED, 2)])
    after = report([done("softmax", Outcome.PASSED, 2), done("causal-mask", Outcome.GRADER_FAULT, None)])
    up, pending = changes(before, after)
    assert (str(up), up.went_up) == ("1.5 → 2", True)
    assert (str(pending), pending.went_up) == ("2 → pending", False)
    assert changes(after, after) == []


def test_a_file_that_could_not_be_opened_lost_no_points() -> None:
    """Neither before it nor after it is a difference told."""
    assert changes(PERFECT, UNREADABLE) == []
    assert changes(UNREADABLE, PERFECT) == []
    assert changes(None, PERFECT) == []
