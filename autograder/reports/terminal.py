"""What a terminal shows: the report of `check`, the progress of a class run, and its summary at the end."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from autograder.model.course import ERROR_LOG, Course
from autograder.model.report import ExerciseReport, Outcome, Report, State
from autograder.model.text import clean, clean_name, first_few
from autograder.reports import words
from coursework.edits.places import blame

WINDOW = 300.0  # seconds over which the rate is taken: submissions differ a lot
_COLOUR = {
    Outcome.PASSED: "blue",
    Outcome.BY_HAND: "cyan",
    Outcome.GRADER_ERROR: "magenta",
    Outcome.UNANSWERED: "dim",
}


def print_report(report: Report, console: Console, *, sandboxed: bool = True) -> None:
    """Print one graded submission: the table, then what to do about each exercise to fix.

    The output fits 80 columns, and colour only repeats what signs and words say. Text from a
    submission is printed literally, never as markup or terminal codes.
    """
    if report.is_graded:
        console.print(_table(report))
        console.print(Text(f"Score: {words.report_total(report)}", style="bold"))
        _print_exercises(report, console)
        _print_list("Repaired before grading (no points taken off)", report.repairs, console)
        incidents = [f"{words.place(it)}: {words.with_detail(it)}" for it in report.incidents]
        _print_list("Noticed while the code ran (a note takes no points off)", incidents, console)
    else:
        console.print(Text(f"Lesson {clean(report.lesson)}: {words.report_total(report)}", style="bold"))
        _indent(words.STATES[report.state].sentence, console)
        _indent(f"Reason: {clean(report.reason)}" if report.reason else "", console)
    if not sandboxed:
        console.print(Text(f"\n{words.NO_SANDBOX}", style="bold"))


def _table(report: Report) -> Table:
    title = Text(f"Lesson {clean(report.lesson)}", style="bold")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Exercise", overflow="fold")
    table.add_column("Outcome", no_wrap=True)
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("What to do", overflow="fold")
    for exercise in report.exercises:
        wording = words.wording(exercise)
        todo = wording.todo
        outcome = Text(f"{wording.sign} {wording.label}", style=_COLOUR.get(exercise.outcome, "yellow"))
        score = f"{words.points(exercise.score)} of {words.points(exercise.points)}"
        if exercise.is_stretch:
            score = "not counted"
        elif exercise.is_pending:
            score = f"{words.points(exercise.points)} pending"
        if exercise.is_skipped:
            todo = "optional"
        elif exercise.outcome is Outcome.FAILED and not exercise.misconceptions:
            todo = "see what fails"  # only a known mistake has a hint to read
        elif todo == words.WORDING[Outcome.PASSED].todo:
            todo = ""
        table.add_row(Text(exercise.id), outcome, Text(score), Text(todo))
    return table


def _print_exercises(report: Report, console: Console) -> None:
    """Print what is wrong with each exercise, then what to do next, each advice and each sentence once."""
    groups: dict[tuple[Outcome, str], list[ExerciseReport]] = {}
    advice: dict[str, list[str]] = {}
    for exercise in report.exercises:
        quiet = exercise.outcome in (Outcome.PASSED, Outcome.BY_HAND)
        if not quiet and not exercise.is_skipped:  # those without checks stand together, by outcome
            key = exercise.outcome, exercise.id if exercise.checks else ""
            groups.setdefault(key, []).append(exercise)
        if todo := words.next_step(exercise):
            advice.setdefault(todo, []).append(exercise.id)
    said: set[str] = set()
    for exercises in groups.values():
        ids, sentence = ", ".join(each.id for each in exercises), words.sentence(exercises[0])
        console.print(Text(f"\n{words.wording(exercises[0]).sign} {ids}", style="bold"))
        _indent("" if sentence in said else sentence, console)
        _print_findings(exercises[0], console)
        said.add(sentence)
    if advice:
        console.print(Text("\nWhat to do next", style="bold"))
    for text, names in advice.items():
        _indent(f"{', '.join(names)}: {text}", console)


def _print_findings(exercise: ExerciseReport, console: Console) -> None:
    for mistake in words.distinct(exercise.misconceptions):
        _indent(f"{mistake.label}: {clean(mistake.title)}", console, style="bold")
        _indent(clean(mistake.hint), console, 4)
    _indent(blame(exercise.lines), console)
    if example := exercise.example:
        _indent(f"Example: {clean(example.call)}", console)
        for title, text in (("", example.inputs), ("yours", example.yours), ("expected", example.expected)):
            lines = filter(None, (title, *map(clean, text.split("\n"))))
            _indent("\n".join(lines), console, 4)
    for failure in words.failures(exercise.checks):
        for title in failure.titles:
            _indent(f"✗ {clean(title)}", console)
        _indent(failure.message, console, 4)


def _print_list(title: str, lines: list[str], console: Console) -> None:
    if lines:
        console.print(Text(f"\n{title}", style="bold"))
    for line in lines:
        _indent(f"· {clean(line)}", console)


def _indent(text: str, console: Console, left: int = 2, style: str = "") -> None:
    if text:
        console.print(Padding(Text(text, style=style), (0, 0, 0, left)))


def grading_progress(console: Console) -> Progress:
    """Return a bar that shows in a terminal only, and is gone when the run ends."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=WINDOW,
    )


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
            any(each.is_pending and each.outcome is Outcome.GRADER_ERROR for each in report.exercises)
            for report in found
        ),
        mean=fmean(shares) if shares else None,
    )


def summary_json(course: Course, reports: Reports, written: Sequence[Path]) -> str:
    """Return the summary as one JSON document."""
    lessons = [_document(summarise(lesson, found)) for lesson, found in reports.items()]
    files = [course.shown(path) for path in written]
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
    console.print(_summary_table(summaries))
    failed = [
        f"{each.lesson}, {clean_name(student)}: {words.STATES[report.state].label}"
        + (f" ({clean(report.reason, 200)})" if report.reason else "")
        for each in summaries
        for student, report in each.failed.items()
    ]
    if failed:
        _print_lines("Could not be graded", first_few(failed, MOST_NAMES), console)
    _print_lines("Where to look", _places(course, summaries), console)


def _summary_table(summaries: Iterable[LessonSummary]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))  # 80 columns hold the longest name
    table.add_column("Lesson", overflow="fold")
    for title in ("Graded", "Failed", "Absent", "Pending", "Incidents", "Mean"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in summaries:
        counts = (each.graded, len(each.failed), len(each.absent), each.pending, each.incidents)
        table.add_row(each.lesson, *map(str, counts), words.percent(each.mean))
    return table


def _places(course: Course, summaries: Sequence[LessonSummary]) -> list[str]:
    places = [
        f"{course.shown(course.reports / 'class.html'):<28}the class report",
        f"{course.shown(course.feedback) + '/':<28}a feedback page for each student",
        f"{course.shown(course.reports) + '/*.csv':<28}the scores; 'autograder export' has more",
    ]
    if any(each.pending for each in summaries):
        places.append(f"{'autograder written':<28}the answers to grade by hand; formgrader has them too")
    if any(each.grader_errors for each in summaries):
        log = course.shown(course.reports / ERROR_LOG)
        places.append(f"{log:<28}what went wrong in the grader itself")
    return places


def _print_lines(title: str, lines: Iterable[str], console: Console) -> None:
    console.print(Text(title, style="bold"))
    for line in lines:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
