"""`autograder written`: written answers, one after another, in the browser."""

import asyncio
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path

import click

from autograder.commands.base import LESSON, Command, pass_course
from autograder.model.course import Course
from autograder.model.errors import CourseError


@click.command(
    cls=Command,
    examples={
        "autograder written": "Grade the written answers of all lessons.",
        "autograder written 05": "Grade those of lesson 05.",
        "autograder written --no-browser": "Only print the address.",
    },
)
@click.argument("lesson", required=False, type=LESSON)
@click.option("--no-browser", is_flag=True, help="Only print the address; don't open it.")
@pass_course
def written(course: Course, lesson: str | None, *, no_browser: bool) -> None:
    """Grade written answers in the browser, one after another.

    LESSON is a number ("05") or a name; without it, all lessons with written answers are shown. Each answer
    has a page with the question, the mark scheme, and a key for each number of points. Points and comments
    go to nbgrader's gradebook at once. Feedback pages, class report and CSV files follow while you go on.
    End with Ctrl-C.
    """
    from autograder.storage.gradebook import open_gradebook
    from autograder.storage.io_errors import plain_io_errors
    from autograder.written.answers import WrittenAnswers, lessons_with_questions
    from autograder.written.page_maker import PageMaker
    from autograder.written.server import GradingServer, serve_until_stopped

    asked = lessons_with_questions(course)
    if lesson is not None and lesson not in asked:
        raise CourseError(f"{lesson} asks for no written answer; these do: {', '.join(asked) or 'none'}")
    tell = partial(click.echo, err=True)
    with plain_io_errors(course), open_gradebook(course) as book, PageMaker(course, tell) as pages:
        answers = WrittenAnswers(course, [lesson] if lesson else asked, book)
        found = answers.all()
        if not found:
            which = lesson or ", ".join(asked) or "this course"
            raise CourseError(
                f"no written answers of {which} have been graded so far: run 'autograder grade' first"
            )
        pages.catch_up((each.lesson, each.student) for each in found)
        server = GradingServer(answers, book, pages)
        with _way_in(course, server.address) as file:
            click.echo(f"{sum(each.score is not None for each in found)} of {len(found)} graded")
            click.echo(f"grade at {server.address}\nend with Ctrl-C")
            opened = (lambda: None) if no_browser else partial(webbrowser.open, file.as_uri())
            asyncio.run(serve_until_stopped(server, opened))
        tell("bringing feedback pages and reports up to date")
        found = answers.all()
        click.echo(f"{sum(each.score is not None for each in found)} of {len(found)} graded")


@contextmanager
def _way_in(course: Course, address: str) -> Iterator[Path]:
    """Give a file that leads to an address, readable by its owner alone.

    Every user of the machine can read the command line that starts a browser, so the address is not on it.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="written-", dir=course.reports) as file:
        file.write(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={escape(address)}">')
        file.flush()
        yield Path(file.name)
