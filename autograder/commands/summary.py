"""What `autograder grade` prints at its end: a line for each lesson, and where to look."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.commands.base import shown
from autograder.model.course import Course
from autograder.model.report import Outcome, Report, State
from autograder.model.text import clean, clean_name
from autograder.reports.words import STATES, percent
from autograder.storage.attempts import ERROR_LOG

MOST_NAMES = 10
Reports = Mapping[str, Mapping[str, Report]]  # by lesson and student


@dataclass(frozen=True)
class LessonSummary:
    """How one lesson went; `mean` is of the points graded so far, from 0 to 1."""

    lesson: str
    graded: int
    failed: dict[str, Report]
    absent: list[str]
    pending: int
    incidents: int
    grader_errors: int
    mean: float | None


def summarise(lesson: str, reports: Mapping[str, Report]) -> LessonSummary:
    """Return the summary of a lesson; what is pending counts neither as earned nor as lost."""
    found = reports.values()
    shares = [report.share for report in found if report.share is not None]
    return LessonSummary(
        lesson=lesson,
        graded=sum(report.is_graded for report in found),
        failed={
            student: report
            for student, report in sorted(reports.items())
            if report.state in (State.UNREADABLE, State.WRONG_FILE)
        },
        absent=sorted(name for name, report in reports.items() if report.state is State.ABSENT),
        pending=sum(report.pending > 0 for report in found),
        incidents=sum(len(report.incidents) for report in found),
        grader_errors=sum(
            any(each.is_pending and each.outcome is Outcome.GRADER_FAULT for each in report.exercises)
            for report in found
        ),
        mean=fmean(shares) if shares else None,
    )


def summary_json(course: Course, reports: Reports, written: Sequence[Path]) -> str:
    """Return the summary as one JSON document."""
    lessons = [_document(summarise(lesson, found)) for lesson, found in reports.items()]
    files = [shown(course, path) for path in written]
    return json.dumps({"lessons": lessons, "written": files}, indent=2, ensure_ascii=False)


def _document(summary: LessonSummary) -> dict[str, object]:
    failed = [
        {"student": student, "state": report.state.value, "reason": report.reason}
        for student, report in summary.failed.items()
    ]
    mean = None if summary.mean is None else round(summary.mean, 4)
    return {**vars(summary), "failed": failed, "mean": mean}


def print_summary(course: Course, reports: Reports, console: Console) -> None:
    """Print a row for each lesson, the submissions that could not be graded, and where to look."""
    summaries = [summarise(lesson, found) for lesson, found in reports.items()]
    console.print(_table(summaries))
    failed = [
        f"{each.lesson}, {clean_name(student)}: {STATES[report.state].label}"
        + (f" ({clean(report.reason, 200)})" if report.reason else "")
        for each in summaries
        for student, report in each.failed.items()
    ]
    if len(failed) > MOST_NAMES:
        failed[MOST_NAMES:] = [f"and {len(failed) - MOST_NAMES} more"]
    if failed:
        _print_lines("Could not be graded", failed, console)
    _print_lines("Where to look", _places(course, summaries), console)


def _table(summaries: Iterable[LessonSummary]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Lesson", overflow="fold")
    for title in ("Graded", "Failed", "Absent", "Pending", "Incidents", "Mean"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in summaries:
        counts = (each.graded, len(each.failed), len(each.absent), each.pending, each.incidents)
        table.add_row(each.lesson, *map(str, counts), percent(each.mean))
    return table


def _places(course: Course, summaries: Sequence[LessonSummary]) -> list[str]:
    """Return what to open next; only what there is a reason to open."""
    places = [
        f"{shown(course, course.reports / 'class.html'):<28}the class report",
        f"{shown(course, course.feedback) + '/':<28}a feedback page for each student",
        f"{shown(course, course.reports) + '/*.csv':<28}the scores; 'autograder export' has more",
    ]
    if any(each.pending for each in summaries):
        places.append(f"{'autograder written':<28}the answers to grade by hand; formgrader has them too")
    if any(each.grader_errors for each in summaries):
        log = shown(course, course.reports / ERROR_LOG)
        places.append(f"{log:<28}what went wrong in the grader itself")
    return places


def _print_lines(title: str, lines: Iterable[str], console: Console) -> None:
    console.print(Text(title, style="bold"))
    for line in lines:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
