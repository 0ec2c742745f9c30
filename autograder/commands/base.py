"""What all commands share: examples in the help, lessons by number, errors in one line."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click
from click.shell_completion import CompletionItem

from autograder.model.course import Course
from autograder.model.errors import AutograderError, CourseError, SandboxMissingError
from autograder.model.text import clean

P = ParamSpec("P")
R = TypeVar("R")
BAD_INPUT = 2
MOST_LINES = 20  # of files that were written


class Command(click.Command):
    """A command whose help ends with examples: what to type, and what it does."""

    def __init__(self, *args: Any, examples: Mapping[str, str], **kw: Any) -> None:
        super().__init__(*args, **kw)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as a list of commands with their explanations."""
        with formatter.section("Examples"):
            formatter.write_dl(list(self.examples.items()), col_max=4)
        super().format_epilog(ctx, formatter)


class CommandGroup(click.Group):
    """A group of commands that reports our own errors, with exit status 2.

    Each has one line, except that a missing sandbox has three.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command; what goes wrong where help or the version is printed is reported as well."""
        try:
            return super().main(*args, **kwargs)
        except SandboxMissingError as problem:
            click.echo(f"autograder: {clean(str(problem))}", err=True)
            sys.exit(BAD_INPUT)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as problem:
            known = problem if isinstance(problem, AutograderError) else _of_machine(problem)
            if known is None:
                raise
            click.echo(f"autograder: {' '.join(clean(str(known)).split())}", err=True)
            sys.exit(BAD_INPUT)


def _of_machine(problem: Exception) -> AutograderError | None:
    from autograder.storage.io_errors import machine_error  # it loads SQLAlchemy

    return machine_error(problem)


def find_course(context: click.Context) -> Course:
    """Return the course that --course names, or the nearest one. Raises CourseError for none."""
    named: Path | None = context.find_root().params.get("course")
    return Course.at(named) if named else Course.find()


def pass_course(command: Callable[Concatenate[Course, P], R]) -> Callable[P, R]:
    """Give a command the course as its first argument."""

    def with_course(*args: P.args, **kwargs: P.kwargs) -> R:
        return command(find_course(click.get_current_context()), *args, **kwargs)

    return update_wrapper(with_course, command)


class LessonType(click.ParamType[str]):
    """A lesson of the course by number ("03" or "3") or name; the shell completes its name."""

    name = "lesson"

    def convert(self, value: str, param: object, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's
        """Return the lesson's name. Raises CourseError if the course has no such lesson."""
        return find_course(ctx or click.get_current_context()).lesson(value)

    def shell_complete(self, ctx: click.Context, param: object, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the lessons whose names begin with what was typed."""
        try:
            names = find_course(ctx).lessons()
        except CourseError:
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


LESSON = LessonType()
lessons_argument = click.argument("lessons", nargs=-1, type=LESSON)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document, for a program to read."
)
workers_option = click.option(
    "--workers", type=click.IntRange(1), help="How many to grade at once; by default one per core."
)
unsandboxed_option = click.option(
    "--unsandboxed",
    is_flag=True,
    help="Run submissions with your own rights. Only for code you trust; every page will say so.",
)


def say_written(course: Course, paths: Iterable[Path], *, as_json: bool) -> None:
    """Print the files that a command wrote, or one JSON document.

    A few files get a line each; many in one folder get one line together.
    """
    names = [course.shown(path) for path in paths]
    if as_json:
        click.echo(json.dumps({"written": names}, ensure_ascii=False))
    elif len(names) > MOST_LINES and (folder := os.path.commonpath(names)):
        click.echo(f"wrote {len(names)} files in {folder}")
    else:
        for name in names:
            click.echo(f"wrote {name}")
