"""The command line: `autograder`, with its commands in `autograder.commands`."""

from pathlib import Path

import click

from autograder.commands.base import CommandGroup
from autograder.commands.course import doctor, export, students
from autograder.commands.grade import check, demo, grade, regrade
from autograder.commands.lessons import (
    build,
    bundle,
    lectures,
    new_exercise,
    open_lesson,
    site,
    suggest_mistakes,
)
from autograder.commands.services import watch, written
from autograder.model.course import Course

COMMANDS = (
    build, bundle, check, demo, doctor, export, grade, lectures, new_exercise, open_lesson,
    regrade, site, students, suggest_mistakes, watch, written,
)  # fmt: skip


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--course",
    type=click.Path(path_type=Path),
    help="The course folder; by default this one, or the nearest above.",
)
@click.version_option(package_name="transformer-coursework")
def main(course: Path | None) -> None:
    """Build the Transformer coursework, and grade it.

    Lessons go by number wherever a command takes one: "03", "3" and "03_attention" are the same.
    'autograder COMMAND --help' explains a command and shows examples.
    """
    if course is not None:
        Course.at(course)


for command in COMMANDS:
    main.add_command(command)
