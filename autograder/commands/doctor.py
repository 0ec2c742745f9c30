"""`autograder doctor`: what this machine has, and what it lacks."""

import json
import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.commands.base import Command, json_option, pass_course
from autograder.model.course import Course

if TYPE_CHECKING:
    from autograder.doctor import Finding

COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command(
    cls=Command,
    examples={
        "autograder doctor": "Print a table, and what to do.",
        "autograder doctor --json": "Print the same for a program.",
    },
)
@json_option
@pass_course
def doctor(course: Course, *, as_json: bool) -> None:
    """Check this machine, and say what to do.

    A problem is something without which nothing can be graded; with one, the exit status is 1. A warning
    concerns something else, such as pictures or the data of a lesson.
    """
    from autograder.doctor import examine, is_fit

    found = dict(examine(course))
    if as_json:
        checks = [
            {"name": name, "status": each.status.value, "said": each.said, "fix": each.fix}
            for name, each in found.items()
        ]
        document = {"ok": is_fit(found.values()), "checks": checks}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        _print(found, Console())
    sys.exit(0 if is_fit(found.values()) else 1)


def _print(found: "dict[str, Finding]", console: Console) -> None:
    """Print the table, then what to do, each command whole in a line so that it can be copied."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, each in found.items():
        colour = COLOURS[each.status]
        table.add_row(name, Text(each.status.value, colour), Text(each.said, overflow="fold"))
    console.print(table)
    for name, each in found.items():
        if each.fix:
            console.print(Text.assemble((f"{name}: ", "bold"), each.fix), soft_wrap=True)
