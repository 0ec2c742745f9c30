"""The table that `autograder check` prints, followed by what to do about each exercise."""

from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.model.report import ExampleReport, ExerciseReport, Outcome, Report
from autograder.model.text import clean
from autograder.reports.words import (
    NO_SANDBOX,
    STATES,
    WORDING,
    distinct,
    failures,
    place,
    points,
    report_total,
    sentence,
    with_detail,
    wording,
)

MISTAKE_ADVICE = (
    "change what the known mistake names, and run the tests in the notebook. The checks listed above "
    "are not among them: they run again at the next submission."
)
CHECKS_ADVICE = (
    "start with the first failed check. Write down the smallest input it applies to, work out the "
    "result by hand, and print the shape after every line of the code."
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
    if report.is_graded:
        _print_graded(report, console)
    else:
        _print_not_graded(report, console)
    if not sandboxed:
        console.print(Text(f"\n{NO_SANDBOX}", style="bold"))


def _print_graded(report: Report, console: Console) -> None:
    console.print(_table(report))
    console.print(Text(f"Score: {report_total(report)}", style="bold"))
    said: set[str] = set()
    for exercises in _grouped(report.exercises):
        _print_exercises(exercises, console, said)
    _print_advice(report.exercises, console)
    _print_list("Repaired before grading (no points taken off)", report.repairs, console)
    incidents = [f"{place(it)}: {with_detail(it)}" for it in report.incidents]
    _print_list("Noticed while the code ran (no points taken off)", incidents, console)


def _print_not_graded(report: Report, console: Console) -> None:
    """Print why there is no table."""
    console.print(Text(f"Lesson {clean(report.lesson)}: {report_total(report)}", style="bold"))
    _indent(STATES[report.state].sentence, console)
    _indent(f"Reason: {clean(report.reason)}" if report.reason else "", console)


def _table(report: Report) -> Table:
    """Return the table of exercise, outcome, score and next step."""
    title = Text(f"Lesson {clean(report.lesson)}", style="bold")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Exercise", overflow="fold")
    table.add_column("Outcome", no_wrap=True)
    table.add_column("Score", justify="right", no_wrap=True)
    table.add_column("What to do", overflow="fold")
    for exercise in report.exercises:
        words, style = wording(exercise), _COLOUR.get(exercise.outcome, "yellow")
        outcome = Text(f"{words.sign} {words.label}", style=style)
        score = Text(_score(exercise))
        table.add_row(Text(exercise.id), outcome, score, Text(_todo(exercise)))
    return table


def _score(exercise: ExerciseReport) -> str:
    """Return "2 of 3"; points that are pending have no score, and a stretch exercise has none."""
    if exercise.is_stretch:
        return "not counted"
    if exercise.is_pending:
        return f"{points(exercise.points)} pending"
    return f"{points(exercise.score)} of {points(exercise.points)}"


def _todo(exercise: ExerciseReport) -> str:
    """Return the next step in a few words; empty if there is none."""
    if exercise.is_skipped:
        return "optional"
    if exercise.outcome is Outcome.FAILED and not exercise.misconceptions:
        return "see what fails"  # only a known mistake has a hint to read
    todo = wording(exercise).todo
    return "" if todo == WORDING[Outcome.PASSED].todo else todo


def _grouped(exercises: Iterable[ExerciseReport]) -> list[list[ExerciseReport]]:
    """Return the exercises to say something about; those without checks by outcome, others alone."""
    groups: dict[tuple[Outcome, str], list[ExerciseReport]] = {}
    for exercise in exercises:
        quiet = exercise.outcome in (Outcome.PASSED, Outcome.NEEDS_MARKING)
        if not quiet and not exercise.is_skipped:
            key = exercise.outcome, exercise.id if exercise.checks else ""
            groups.setdefault(key, []).append(exercise)
    return list(groups.values())


def _print_exercises(exercises: list[ExerciseReport], console: Console, said: set[str]) -> None:
    """Print what happened in exercises, and the known mistakes of the first.

    A sentence that was `said` of an earlier exercise is not repeated.
    """
    exercise, ids = exercises[0], ", ".join(each.id for each in exercises)
    console.print(Text(f"\n{wording(exercise).sign} {ids}", style="bold"))
    words = sentence(exercise)
    _indent("" if words in said else words, console)
    said.add(words)
    for mistake in distinct(exercise.misconceptions):
        _indent(f"{mistake.label}: {clean(mistake.title)}", console, style="bold")
        _indent(clean(mistake.hint), console, 4)
    if exercise.example:
        _print_example(exercise.example, console)
    for failure in failures(exercise.checks):
        for title in failure.titles:
            _indent(f"✗ {clean(title)}", console)
        _indent(failure.message, console, 4)


def _print_advice(exercises: Iterable[ExerciseReport], console: Console) -> None:
    """Print what to do next, each advice once, with the exercises that it is for."""
    advice: dict[str, list[str]] = {}
    for exercise in exercises:
        if exercise.outcome is Outcome.FAILED:
            text = MISTAKE_ADVICE if exercise.misconceptions else CHECKS_ADVICE
            advice.setdefault(text, []).append(exercise.id)
    if advice:
        console.print(Text("\nWhat to do next", style="bold"))
    for text, ids in advice.items():
        _indent(f"{', '.join(ids)}: {text}", console)


def _print_example(example: ExampleReport, console: Console) -> None:
    """Print a public example: the call, its inputs, the student's result and the right one."""
    _indent(f"Example: {clean(example.call)}", console)
    parts = (("", example.inputs), ("yours", example.yours), ("expected", example.expected))
    for title, text in parts:
        lines = filter(None, (title, *map(clean, text.split("\n"))))
        _indent("\n".join(lines), console, 4)


def _print_list(title: str, lines: list[str], console: Console) -> None:
    """Print a list with its title; nothing if the list is empty."""
    if lines:
        console.print(Text(f"\n{title}", style="bold"))
    for line in lines:
        _indent(f"· {clean(line)}", console)


def _indent(text: str, console: Console, left: int = 2, style: str = "") -> None:
    """Print one indented paragraph; nothing if it is empty."""
    if text:
        console.print(Padding(Text(text, style=style), (0, 0, 0, left)))
