"""The results of grading: outcomes, checks, named mistakes, incidents, and a report of them all.

`autograder check --json` prints these documents, the log of attempts stores them, and every page is
made from them. Their fields and values are a fixed interface.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, computed_field, field_validator, model_validator

from autograder.model.text import MOST_LINES, Text
from coursework.edits.places import Place


class Outcome(StrEnum):
    """How an exercise of a submission ended: exactly one of these."""

    PASSED = "passed"
    FAILED = "failed"
    UNANSWERED = "unanswered"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    MISSING = "missing"
    BY_HAND = "needs-marking"
    GRADER_ERROR = "grader-fault"

    @property
    def is_pending(self) -> bool:
        """Whether the score is to be given by hand: a written answer, or a grader error."""
        return self in (Outcome.BY_HAND, Outcome.GRADER_ERROR)


class State(StrEnum):
    """Whether a submission was graded, or why nothing of it was."""

    GRADED = "graded"
    UNREADABLE = "unreadable"  # a file was submitted, and it cannot be opened
    WRONG_FILE = "wrong-file"  # what was submitted cannot be taken for this lesson's notebook
    ABSENT = "absent"  # nothing was submitted


class Document(BaseModel):
    """An immutable, strict JSON document."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class CheckReport(Document):
    """The result of one check; students read its title and message."""

    id: Text
    title: Text
    passed: bool
    message: Text = ""


# One fixed sentence: what went wrong inside the grader may quote the model answer.
GRADER_ERROR = CheckReport(
    id="grader",
    title="The autograder could grade this exercise",
    passed=False,
    message="The autograder failed here. This is not your fault: your answer will be graded by hand.",
)


EXCLUDED = ("library-function", "not-allowed")  # ids of what an answer is not to be written with
BY_CHANGE = "change-"  # begins the ids of mistakes that the search named by the change that makes all right


class NamedMistake(Document):
    """A known mistake that explains the results, something excluded, or the kind of change that helps.

    `by_search` tells that the search for the lines added it: grading alone did not see it.
    """

    id: Text
    title: Text
    hint: Text = ""
    by_search: bool = Field(default=False, exclude_if=lambda found: not found)

    @property
    def label(self) -> str:
        """What kind of mistake it is, as a heading."""
        if self.by_search or self.id.startswith(BY_CHANGE):
            return "What is wrong"
        return "Excluded in this exercise" if self.id in EXCLUDED else "Known mistake"


class ExampleReport(Document):
    """A public example that the answer gets wrong, as text: never an input of a graded check.

    `inputs` are those that do not fit into the call; `pictures` is HTML of two drawings, or empty.
    """

    call: Text
    yours: Text
    expected: Text
    inputs: Text = Field(default="", exclude_if=lambda text: not text)
    pictures: str = Field(default="", exclude_if=lambda text: not text)


class WrongLines(Document, Place):
    """Lines of the student's cell in which a small change makes every check pass, and the kind of change.

    Of several places, either each does alone (`OR_ELSE`), or all have to be changed (`TOGETHER_WITH`).
    """

    first: int
    last: int
    text: Text
    what: Text


class Incident(Document):
    """Something that code did besides computing, as evidence for the instructor; never a penalty.

    `exercise` is None if it happened outside the exercises. Students read `message`, except where `hidden`;
    `detail` is for the instructor alone, because the student's own process may have written it.
    """

    exercise: Text | None
    kind: Text
    message: Text
    detail: Text = ""
    hidden: bool = Field(default=False, exclude_if=lambda hidden: not hidden)


class ExerciseReport(Document):
    """One exercise of one submission. `score` is None while it is to be given by hand.

    `lines` are the places to blame, none if no change was found; None where nobody has looked for one.
    """

    id: str
    points: float
    score: float | None
    outcome: Outcome
    checks: list[CheckReport] = []
    misconceptions: list[NamedMistake] = []
    lines: list[WrongLines] | None = Field(default=None, exclude_if=lambda found: found is None)
    example: ExampleReport | None = Field(default=None, exclude_if=lambda shown: shown is None)

    @property
    def may_have_lines(self) -> bool:
        """Whether a change of the answer might make it right."""
        ended = self.outcome in (Outcome.FAILED, Outcome.ERROR, Outcome.TIMEOUT)
        excluded = any(each.id in EXCLUDED for each in self.misconceptions)
        return ended and bool(self.failures) and not excluded

    @property
    def known_mistakes(self) -> list[NamedMistake]:
        """The mistakes that the exercise knows by name, also if only the search for the lines saw them."""
        return [each for each in self.misconceptions if not each.id.startswith(BY_CHANGE)]

    @property
    def as_graded(self) -> "ExerciseReport":
        """The report without what the search for the lines added."""
        seen = [each for each in self.known_mistakes if not each.by_search]
        return self.model_copy(update={"misconceptions": seen, "lines": None})

    @property
    def failures(self) -> list[CheckReport]:
        """The checks that did not pass."""
        return [check for check in self.checks if not check.passed]

    @property
    def is_pending(self) -> bool:
        """Whether the score has not been given yet."""
        return self.score is None

    @property
    def is_stretch(self) -> bool:
        """Whether the exercise is optional: it has no points, and is checked like any other."""
        return self.points == 0

    @property
    def is_skipped(self) -> bool:
        """Whether the student left a stretch exercise alone, as they may."""
        return self.is_stretch and self.outcome in (Outcome.UNANSWERED, Outcome.MISSING)


class Report(Document):
    """One submission and its scores.

    `score` is the sum of the scores given so far. If nothing was graded, every exercise is `missing`,
    and `state` and `reason` say why; neither is part of the document of a graded submission.
    """

    lesson: str
    score: float
    max_score: float
    exercises: list[ExerciseReport]
    repairs: list[Text] = []
    incidents: list[Incident] = []
    state: State = Field(default=State.GRADED, exclude_if=lambda state: state is State.GRADED)
    reason: Text = Field(default="", exclude_if=lambda reason: not reason)

    @field_validator("repairs")
    @classmethod
    def _limit_repairs(cls, repairs: list[str]) -> list[str]:
        rest = len(repairs) - MOST_LINES
        return repairs if rest <= 0 else [*repairs[: MOST_LINES - 1], f"and {rest + 1} more repairs"]

    @model_validator(mode="before")
    @classmethod
    def _drop_what_is_computed(cls, document: Any) -> Any:
        """Read a document that `model_dump` wrote."""
        if isinstance(document, dict):
            return {key: value for key, value in document.items() if key != "pending"}
        return document

    @computed_field  # type: ignore[prop-decorator] # mypy: decorators on top of @property
    @property
    def pending(self) -> float:
        """The points of the exercises that are still to be graded by hand."""
        return sum(exercise.points for exercise in self.pending_exercises())

    @property
    def told_incidents(self) -> list[Incident]:
        """The incidents that the student reads."""
        return [incident for incident in self.incidents if not incident.hidden]

    @property
    def graded_points(self) -> float:
        """The points that have been graded so far: the most that `score` can be."""
        return self.max_score - self.pending if self.is_graded else 0.0

    @property
    def share(self) -> float | None:
        """The share of the graded points that was earned; None if nothing has been graded."""
        return self.score / self.graded_points if self.graded_points > 0 else None

    @property
    def is_graded(self) -> bool:
        """Whether there was a notebook of the lesson to grade."""
        return self.state is State.GRADED

    @property
    def is_unsearched(self) -> bool:
        """Whether something failed for which nobody has looked for the lines."""
        return any(done.failures and done.lines is None for done in self.exercises)

    def exercise(self, exercise_id: str) -> ExerciseReport:
        """Return the report of one exercise. Raises KeyError if the lesson has none of that id."""
        for report in self.exercises:
            if report.id == exercise_id:
                return report
        raise KeyError(exercise_id)

    def pending_exercises(self) -> list[ExerciseReport]:
        """Return the exercises whose score is still to be given by hand."""
        return [report for report in self.exercises if report.is_pending]

    def with_file(self, state: State, reason: str, repairs: list[str]) -> "Report":
        """Return a copy that says what became of the submitted file."""
        found = {"state": state, "reason": reason, "repairs": repairs}
        return Report.model_validate(dict(self) | found)

    def with_exercises(self, exercises: list[ExerciseReport]) -> "Report":
        """Return a copy with other exercises, whose scores add up to its own."""
        score = sum(exercise.score or 0.0 for exercise in exercises)
        return self.model_copy(update={"exercises": exercises, "score": score})

    def with_scores(self, scores: Mapping[str, float | None]) -> "Report":
        """Return a copy with these scores, by exercise id, in place of its own.

        Points for a file of which nothing was graded are given by hand, and then it is graded.
        """
        given = [
            each.model_copy(update={"score": scores.get(each.id, each.score)}) for each in self.exercises
        ]
        if self.is_graded or given == self.exercises:
            return self.with_exercises(given)
        by_hand = {"outcome": Outcome.BY_HAND}
        pairs = zip(self.exercises, given, strict=True)
        made = [now if was == now else now.model_copy(update=by_hand) for was, now in pairs]
        return self.with_exercises(made).model_copy(update={"state": State.GRADED, "reason": ""})
