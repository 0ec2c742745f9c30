"""The table that `autograder check` prints, followed by what to do about each exercise."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.reports.words import (
    NO_SANDBOX,
    WORDING,
    clean,
    distinct,
    failures,
    next_step,
    points,
    sentence,
)

_COLOUR = {
    Outcome.PASSED: "blue",
    Outcome.NEEDS_MARKING: "cyan",
    Outcome.GRADER_FAULT: "magenta",
    Outcome.UNANSWERED: "dim",
}


def print_report(report: Report, console: Console, *, sandboxed: bool = True) -> None:
    """Print one graded submission: the table, then what to do about each exercise to fix.

    The output fits 80 columns, and colour only repeats what signs and words say. Text from a
    submission is printed literally, never as markup or terminal codes.
    """
    console.print(_table(report))
    _print_total(report, console)
    for exercise in report.exercises:
        if exercise.outcome not in (Outcome.PASSED, Outcome.NEEDS_MARKING):
            _print_exercise(exercise, console)
    _print_list("Repairs to the notebook", report.repairs, console)
    incidents = [
        f"{it.exercise}: {it.message}" if it.exercise else it.message for it in report.incidents
    ]
    _print_list("Noticed while the code ran (no points taken off)", incidents, console)
    if not sandboxed:
        console.print(Text(f"\n{NO_SANDBOX}", style="bold"))


def _table(report: Report) -> Table:
    """Return the table of exercise, outcome, score and next step."""
    title = Text(f"Lesson {clean(report.lesson)}", style="bold")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Exercise", overflow="fold")
    table.add_column("Outcome", no_wrap=True)
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("What to do", overflow="fold")
    for exercise in report.exercises:
        wording, style = WORDING[exercise.outcome], _COLOUR.get(exercise.outcome, "yellow")
        outcome = Text(f"{wording.sign} {wording.label}", style=style)
        score = Text(f"{points(exercise.score)} of {points(exercise.points)}")
        table.add_row(Text(exercise.id), outcome, score, Text(_todo(exercise)))
    return table


def _todo(exercise: ExerciseReport) -> str:
    """Return the next step in a few words; only a known mistake has a hint to read."""
    if exercise.outcome is Outcome.FAILED and not exercise.misconceptions:
        return "see what fails"
    return WORDING[exercise.outcome].todo


def _print_total(report: Report, console: Console) -> None:
    """Print the total, and how many points are still open."""
    still_open = sum(each.points for each in report.open_exercises())
    total = f"Total: {points(report.score)} of {points(report.max_score)} points"
    rest = f", {points(still_open)} of them still open" if still_open else ""
    console.print(Text(total + rest, style="bold"))


def _print_exercise(exercise: ExerciseReport, console: Console) -> None:
    """Print what happened in one exercise, its known mistakes, and what to do next."""
    wording = WORDING[exercise.outcome]
    console.print(Text(f"\n{wording.sign} {exercise.id}", style="bold"))
    _indent(sentence(exercise), console)
    for mistake in distinct(exercise.misconceptions):
        _indent(f"Known mistake: {clean(mistake.title)}", console, style="bold")
        _indent(clean(mistake.hint), console, 4)
    for failure in failures(exercise.checks):
        for title in failure.titles:
            _indent(f"✗ {clean(title)}", console)
        _indent(failure.message, console, 4)
    _indent(f"Next: {next_step(exercise)}" if next_step(exercise) else "", console)


def _print_list(title: str, lines: list[str], console: Console) -> None:
    """Print a list with its title; nothing if the list is empty."""
    if lines:
        console.print(Text(f"\n{title}", style="bold"))
    for line in lines:
        _indent(f"· {clean(line, 300)}", console)


def _indent(text: str, console: Console, left: int = 2, style: str = "") -> None:
    """Print one indented paragraph; nothing if it is empty."""
    if text:
        console.print(Padding(Text(text, style=style), (0, 0, 0, left)))
