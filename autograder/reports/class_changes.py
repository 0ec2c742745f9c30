"""The wrong answers of a class, grouped by the small change that would make them right: for instructors."""

from collections.abc import Mapping
from dataclasses import dataclass

from autograder.model.report import ExerciseReport, Report
from coursework.edits.places import OR_ELSE

LONGEST = 1_500  # characters of a change that is shown
Changes = Mapping[str, Mapping[str, str]]  # by student and exercise


@dataclass(frozen=True)
class ChangeGroup:
    """The students whose answers to an exercise one kind of change makes right, and the shortest change."""

    exercise: str
    kind: str
    students: list[str]
    change: str


def change_groups(reports: Mapping[str, Report], changes: Changes) -> list[ChangeGroup]:
    """Return the groups of one lesson, the largest first."""
    found: dict[tuple[str, str], list[str]] = {}
    for student, report in reports.items():
        for done in report.exercises:
            if done.lines:
                found.setdefault((done.id, _kind(done)), []).append(student)
    groups = [
        ChangeGroup(exercise, kind, students, _shortest(changes, students, exercise))
        for (exercise, kind), students in found.items()
    ]
    return sorted(groups, key=lambda each: (-len(each.students), each.exercise, each.kind))


def _kind(done: ExerciseReport) -> str:
    """Return the kinds of change that are needed together, or the first of those that do alone."""
    lines = done.lines or []
    needed = lines[:1] if any(OR_ELSE in each.what for each in lines) else lines
    kinds = dict.fromkeys("something missing" if each.is_gap else each.kind for each in needed)
    return ", and ".join(kinds)


def _shortest(changes: Changes, students: list[str], exercise: str) -> str:
    known = (changes.get(student, {}).get(exercise, "") for student in students)
    return min(filter(None, known), key=len, default="")[:LONGEST]
