"""`autograder check`: grade one notebook."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from autograder.commands.base import LESSON, Command, json_option, pass_course, unsandboxed_option
from autograder.model.course import Course
from autograder.model.errors import CourseError

if TYPE_CHECKING:
    from autograder.grading.grader import GradedSubmission


@click.command(
    cls=Command,
    examples={
        "autograder check 03_attention.ipynb": "Print what is wrong with a notebook.",
        "autograder check --lesson 03 homework.ipynb": "Grade a file of any name as lesson 03.",
        "autograder check --json 03_attention.ipynb": "Print the whole report as JSON.",
        "autograder check --page mine.html 03_attention.ipynb": "Write the feedback page too.",
    },
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.option("--lesson", type=LESSON, help="The lesson, if neither the file's name nor its cells tell.")
@click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the feedback page, as a student gets it, to this HTML file.",
)
@unsandboxed_option
@pass_course
def check(
    course: Course, file: Path, *, as_json: bool, lesson: str | None, page: Path | None, unsandboxed: bool
) -> None:
    """Grade one notebook, and say what is wrong with it.

    Nothing is recorded: neither the gradebook nor the reports change.
    """
    if page and page.suffix.lower() not in (".html", ".htm"):
        raise CourseError(f"a page is an HTML file: expected --page {page.stem}.html, got {page}")
    graded = _graded(course, lesson, file, sandboxed=not unsandboxed)
    if as_json:
        click.echo(graded.report.model_dump_json(indent=2))
    else:
        from autograder.reports.terminal import print_report

        print_report(graded.report, Console(), sandboxed=not unsandboxed)
    if page:
        _write_page(course, graded, page, sandboxed=not unsandboxed)
    if graded.tracebacks:
        from autograder.storage.attempts import describe_errors, log_error

        what = f"{file}, {graded.report.lesson}"
        log = log_error(course.reports, datetime.now(UTC), what, describe_errors(graded.tracebacks))
        click.echo(f"autograder: the grader itself failed; see {log}", err=True)


def _graded(course: Course, lesson: str | None, file: Path, *, sandboxed: bool) -> "GradedSubmission":
    """Grade the file. The sandbox starts first: it imports torch while all else is imported here."""
    from autograder.sandbox.start import start

    with start(sandboxed=sandboxed) as started:
        from autograder.submissions.released import identify

        name = lesson or identify(course, file)
        from autograder.grading.grader import Grader

        with Grader(course, sandboxed=sandboxed, started=started) as grader:
            return grader.grade(name, file)


def _write_page(course: Course, graded: "GradedSubmission", page: Path, *, sandboxed: bool) -> None:
    from autograder.authoring.files import write
    from autograder.reports.student_pages import page_of_one

    made = page_of_one(course, graded.report, graded.notebook, sandboxed=sandboxed)
    write(page, made.encode())
    click.echo(f"wrote {page}", err=True)
