"""A report knows what is pending, and reads what it or an older version wrote."""

import json

import pytest
from pydantic import ValidationError

from autograder.model.report import ExerciseReport, Outcome, Report, State

DONE = ExerciseReport(id="softmax", points=18, score=9, outcome=Outcome.FAILED)
WAITS = ExerciseReport(id="why", points=2, score=None, outcome=Outcome.BY_HAND)
FAULT = ExerciseReport(id="mask", points=3, score=None, outcome=Outcome.GRADER_ERROR)


def report(*exercises: ExerciseReport, **more: object) -> Report:
    """Make a report of these exercises."""
    points = sum(each.points for each in exercises)
    score = sum(each.score or 0 for each in exercises)
    return Report.model_validate(
        {"lesson": "x", "score": score, "max_score": points, "exercises": exercises, **more}
    )


def test_pending_is_the_sum_of_the_points_that_wait() -> None:
    """Written answers and grader errors alike; the share is of the other points."""
    made = report(DONE, WAITS, FAULT)
    assert (made.pending, made.graded_points, made.share) == (5, 18, 0.5)
    assert report(WAITS).share is None
    assert report().share is None


def test_a_score_given_by_hand_is_not_pending() -> None:
    """The total follows, and the report it came from stays as it was."""
    made = report(DONE, WAITS)
    later = made.with_scores({"why": 1.5, "unknown": 3})
    assert (later.score, later.pending, later.share) == (10.5, 0, 10.5 / 20)
    assert (made.score, made.pending) == (9, 2)


@pytest.mark.parametrize("more", [{}, {"state": State.UNREADABLE, "reason": "it is not JSON"}])
def test_a_document_comes_back_equal(more: dict[str, object]) -> None:
    """What is computed is written, and computed again when read."""
    made = report(DONE, WAITS, **more)
    document = json.loads(made.model_dump_json())
    assert document["pending"] == 2
    assert ("state" in document, "reason" in document) == (bool(more), bool(more))
    assert Report.model_validate(document) == made


def test_a_document_of_an_older_version_is_read() -> None:
    """It has neither pending points nor a state."""
    document = json.loads(report(DONE, WAITS).model_dump_json())
    del document["pending"]
    assert Report.model_validate(document).pending == 2


def test_an_unknown_key_is_still_refused() -> None:
    """Only what a report computes itself is passed over."""
    with pytest.raises(ValidationError):
        report(DONE, penalty=1)
