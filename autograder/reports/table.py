"""The table that `autograder check` prints, and what to do about each exercise below it."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.reports.words import (
    NO_SANDBOX,
    WORDING,
    clean,
    distinct,
    failures,
    marks,
    next_step,
    sentence,
)
from autograder.results import ExerciseReport, Outcome, Report

_COLOUR = {
    Outcome.PASSED: "blue",
    Outcome.NEEDS_MARKING: "cyan",
    Outcome.GRADER_FAULT: "magenta",
    Outcome.UNANSWERED: "dim",
}


def print_report(report: Report, console: Console, *, sandboxed: bool = True) -> None:
    """Print one marked submission: the table, then what to do for each exercise not yet right.

    Fits 80 columns; colour only repeats what signs and words say. Text from a submission is
    printed as it is, never as markup or terminal codes.
    """
    console.print(_table(report))
    _print_total(report, console)
    for exercise in report.exercises:
        if exercise.outcome not in (Outcome.PASSED, Outcome.NEEDS_MARKING):
            _print_exercise(exercise, console)
    _print_list("Put right in the notebook", report.repairs, console)
    seen = [
        f"{it.exercise}: {it.message}" if it.exercise else it.message for it in report.incidents
    ]
    _print_list("Seen while the code ran; it takes no points off", seen, console)
    if not sandboxed:
        console.print(Text(f"\n{NO_SANDBOX}", style="bold"))


def _table(report: Report) -> Table:
    """Lay out exercise, outcome, score and next step, a line each."""
    title = Text(f"Lesson {clean(report.lesson)}", style="bold")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Exercise", overflow="fold")
    table.add_column("Outcome", no_wrap=True)
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("What to do", overflow="fold")
    for exercise in report.exercises:
        wording, style = WORDING[exercise.outcome], _COLOUR.get(exercise.outcome, "yellow")
        outcome = Text(f"{wording.sign} {wording.label}", style=style)
        score = Text(f"{marks(exercise.score)} of {marks(exercise.points)}")
        table.add_row(Text(exercise.id), outcome, score, Text(_todo(exercise)))
    return table


def _todo(exercise: ExerciseReport) -> str:
    """Return the next step in few words; a failure without a named mistake has no hint to read."""
    if exercise.outcome is Outcome.FAILED and not exercise.misconceptions:
        return "see what fails"
    return WORDING[exercise.outcome].todo


def _print_total(report: Report, console: Console) -> None:
    """Print the sum, and how much of it is open."""
    waiting = list(report.waiting())
    total = f"Total: {marks(report.score)} of {marks(report.max_score)} points"
    if waiting:
        total += f", {marks(sum(each.points for each in waiting))} of them still open"
    console.print(Text(total, style="bold"))


def _print_exercise(exercise: ExerciseReport, console: Console) -> None:
    """Print what happened in one exercise, why if that is known, and what to do next."""
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
    """Print a titled list, left out where there is nothing to list."""
    if lines:
        console.print(Text(f"\n{title}", style="bold"))
    for line in lines:
        _indent(f"· {clean(line, 300)}", console)


def _indent(text: str, console: Console, left: int = 2, style: str = "") -> None:
    """Print one paragraph, wrapped to the console's width; nothing for an empty one."""
    if text:
        console.print(Padding(Text(text, style=style), (0, 0, 0, left)))
