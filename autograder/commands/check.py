"""`autograder check`: grade one notebook."""

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from autograder.commands.base import LESSON, Command, json_option, pass_course, unsandboxed_option
from autograder.model.course import Course
from autograder.model.errors import CourseError


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
@click.option(
    "--lesson", type=LESSON, help="The lesson, if neither the file's name nor its cells tell."
)
@click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the feedback page, as a student gets it, to this HTML file.",
)
@unsandboxed_option
@pass_course
def check(
    course: Course,
    file: Path,
    *,
    as_json: bool,
    lesson: str | None,
    page: Path | None,
    unsandboxed: bool,
) -> None:
    """Grade one notebook, and say what is wrong with it.

    Nothing is recorded: neither the gradebook nor the reports change.
    """
    from autograder.build.files import write
    from autograder.grading.pool import make_grader
    from autograder.reports.feedback_page import page_of_one
    from autograder.reports.table import print_report
    from autograder.storage.error_log import describe, log_error
    from autograder.submissions.notebook_file import identify

    if page and page.suffix.lower() not in (".html", ".htm"):
        raise CourseError(f"a page is an HTML file: expected --page {page.stem}.html, got {page}")
    name = lesson or identify(course, file)
    with make_grader(course, not unsandboxed) as grader:
        graded = grader.grade(name, file)
    if as_json:
        click.echo(graded.report.model_dump_json(indent=2))
    else:
        print_report(graded.report, Console(), sandboxed=not unsandboxed)
    if page:
        made = page_of_one(course, graded.report, graded.notebook, sandboxed=not unsandboxed)
        try:
            write(page, made.encode())
        except OSError as error:
            raise CourseError(f"cannot write {page}: {error.strerror}") from None
        click.echo(f"wrote {page}", err=True)
    if graded.tracebacks:
        detail = describe(graded.tracebacks)
        log = log_error(course.reports, datetime.now(UTC), f"{file}, {name}", detail)
        click.echo(f"autograder: the grader itself failed; see {log}", err=True)
