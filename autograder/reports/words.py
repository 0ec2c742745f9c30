"""The words that all pages, tables and files share: outcomes, states, scores, and what to do next.

Every text passes through `clean` before it reaches a reader: a message can contain anything that a
submission printed, raised or used as a name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from autograder.model.report import (
    CheckReport,
    ExerciseReport,
    Incident,
    NamedMistake,
    Outcome,
    Report,
    State,
)
from autograder.model.text import clean, counted
from coursework.edits.places import blame
from coursework.instant.exercises import every_exercise

STRETCH = "stretch: not counted"  # in place of the score of an exercise without points
OTHER_NUMBERS: Final = "(In other checks, this message has other numbers.)"
PARTLY: Final = {  # what follows the number of checks that passed, where some did
    Outcome.FAILED: ", {failed} failed.",
    Outcome.ERROR: ". In the rest, your code raised an error. The message below says where.",
}
_NUMBER = re.compile(r"(?<!line )(?<![\d.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")  # a line of code is no mere number
_COUNTED = re.compile(r"\d+ of \d+ entries (are|is) wrong")


@dataclass(frozen=True)
class Wording:
    """How one outcome is put: a sign, a label, a sentence for the student, a next step."""

    sign: str
    label: str
    sentence: str
    todo: str


@dataclass(frozen=True)
class StateWording:
    """How one state of a submission is put: a label, sentences for the student, one for a class."""

    label: str
    sentence: str
    explanation: str
    if_that_fails: str = ""


_WORDS = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
NO_SANDBOX: Final[str] = _WORDS["no sandbox"]
WORDING: Final = {outcome: Wording(**_WORDS["outcomes"][outcome]) for outcome in Outcome}
BY_HAND: Final = Wording(**_WORDS["by hand"])
STATES: Final = {state: StateWording(**_WORDS["states"][state]) for state in State}


def points(value: float | None) -> str:
    """Return a score in the usual form: 2, 0.5, 1.33, or "pending" if it has not been given."""
    return "pending" if value is None else f"{round(value, 2):g}"


def percent(share: float | None) -> str:
    """Return a share from 0 to 1 in percent, or a dash if there is none."""
    return "–" if share is None else f"{share * 100:.0f} %"


def total(score: float, max_score: float, pending: float) -> str:
    """Return a score of some points, of which some may be pending, in words."""
    if not pending:
        return f"{points(score)} of {points(max_score)} points"
    if pending == max_score:
        return f"nothing graded yet, {points(pending)} points pending"
    return f"{points(score)} of {points(max_score - pending)} points graded, {points(pending)} pending"


def report_total(report: Report, penalty: float = 0.0) -> str:
    """Return what a submission scored, less a penalty for lateness, or the state that it is in."""
    if not report.is_graded:
        return STATES[report.state].label
    return total(max(0.0, report.score - penalty), report.max_score, report.pending)


def total_of_checks(report: Report) -> str:
    """Return what the checks gave, which stays true once a person has graded the rest."""
    if not report.pending:
        return report_total(report)
    most = report.max_score - report.pending
    return f"{total(report.score, most, 0)}, without what is graded by hand" if most else "graded by hand"


def taken_off(penalty: float) -> str:
    """Return what lateness cost: "4 points taken off"."""
    return f"{counted(round(penalty, 2), 'point')} taken off"


def exercise_total(exercise: ExerciseReport) -> str:
    """Return what an exercise scored: "1.5 of 2 points", or "2 points pending"."""
    if exercise.is_stretch:
        return STRETCH
    most = counted(round(exercise.points, 2), "point")
    return f"{most} pending" if exercise.score is None else f"{points(exercise.score)} of {most}"


def wording(exercise: ExerciseReport) -> Wording:
    """Return how an exercise's outcome is put; one that was pending may be graded by now."""
    if exercise.outcome.is_pending and not exercise.is_pending:
        return BY_HAND
    return WORDING[exercise.outcome]


def with_detail(incident: Incident) -> str:
    """Return an incident for the instructor: the student's process may have written the detail."""
    return f"{incident.message} [{incident.detail}]" if incident.detail else incident.message


def place(incident: Incident) -> str:
    """Return where an incident happened."""
    return incident.exercise or "outside the exercises"


def sentence(exercise: ExerciseReport) -> str:
    """Return a few sentences for the student: what happened and what to do."""
    if exercise.is_skipped:
        return "This exercise is optional, and you left it as it was."
    failed, count = len(exercise.failures), len(exercise.checks)
    ended = PARTLY.get(exercise.outcome)
    if ended is None or not 0 < failed < count:
        return wording(exercise).sentence
    return f"Part of it works: {count - failed} of {count} checks passed{ended.format(failed=failed)}"


def next_step(exercise: ExerciseReport) -> str:
    """Return what to do next if checks failed; empty for any other outcome."""
    if exercise.outcome is not Outcome.FAILED:
        return ""
    advice: dict[str, str] = _WORDS["next step"]
    if exercise.misconceptions or exercise.lines:
        return advice["named"]
    return advice["entries" if has_entries(exercise) else "failed checks"]


def has_entries(exercise: ExerciseReport) -> bool:
    """Return whether the answer is a dictionary of numbers, shapes or choices, with a check of each entry."""
    return any(each.id == exercise.id and each.has_entries for each in every_exercise())


def distinct(mistakes: Iterable[NamedMistake]) -> list[NamedMistake]:
    """Return named mistakes in order, each id once."""
    found: dict[str, NamedMistake] = {}
    for mistake in mistakes:
        found.setdefault(mistake.id, mistake)
    return list(found.values())


@dataclass(frozen=True)
class Failure:
    """The titles of failed checks with one cause, and the shortest of their messages.

    Where the messages differ in their numbers, the message says that its own are of one check.
    """

    titles: tuple[str, ...]
    message: str


def failures(checks: Iterable[CheckReport]) -> list[Failure]:
    """Group failed checks by cause, in order, those that only count wrong entries last.

    Checks without a message stay apart.

    Two messages have one cause if they differ only in their numbers, or if one ends with the other:
    "The arguments are unchanged, but the result is wrong. Query 2 attends to key 5."
    """
    failed = [(check, _NUMBER.sub("#", check.message)) for check in checks if not check.passed]
    patterns = {pattern for _, pattern in failed if pattern}
    groups: dict[tuple[str, int], list[CheckReport]] = {}
    for number, (check, pattern) in enumerate(failed):
        ends = [each for each in patterns if pattern == each or pattern.endswith(f" {each}")]
        cause = min(ends, key=len, default=pattern)
        groups.setdefault((cause, 0 if pattern else number), []).append(check)
    found = []
    for group in groups.values():
        messages = [clean(check.message) for check in group]
        message = min(messages, key=len)
        if not all(each.endswith(message) for each in messages):
            message = f"{message} {OTHER_NUMBERS}"
        found.append(Failure(tuple(check.title for check in group), message))
    return sorted(found, key=lambda each: _COUNTED.search(each.message) is not None)


def first_message(exercise: ExerciseReport) -> str:
    """Return the first mistake, else the lines to change, else the first message about a failed check."""
    told = [*(mistake.title for mistake in exercise.misconceptions), blame(exercise.lines)]
    told += [failure.message for failure in failures(exercise.checks)]
    return "" if exercise.outcome.is_pending else next(filter(None, told), "")
