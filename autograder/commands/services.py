"""`autograder watch` and `written`: what runs until Ctrl-C."""

import asyncio
import json
import os
import signal
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autograder.commands.base import LESSON, Command, pass_course, unsandboxed_option
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.text import clean

if TYPE_CHECKING:
    from autograder.watch.watch import Done


@click.command(
    cls=Command,
    examples={
        "autograder watch": "Watch nbgrader's exchange, and release feedback through it.",
        "autograder watch ~/dropbox --most 5": "Watch STUDENT/LESSON/ below a folder.",
        "autograder watch --once": "Grade what is there, and end: for a scheduled job.",
        "autograder watch --json > watch.jsonl": "Keep one JSON document per submission.",
    },
)
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option(
    "--most",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Attempts per student and hour; more than that, or than five minutes of grading, waits.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many to grade at once, besides one that takes long.",
)
@click.option("--once", is_flag=True, help="Grade what is there, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per submission, a line each.")
@unsandboxed_option
@pass_course
def watch(
    course: Course,
    folder: Path | None,
    *,
    most: int,
    workers: int,
    once: bool,
    as_json: bool,
    unsandboxed: bool,
) -> None:
    """Grade what students hand in within seconds.

    FOLDER is the inbound folder of nbgrader's exchange, by default the one that nbgrader_config.py
    names, or any folder with STUDENT/LESSON/ in it. Every attempt is recorded as by 'autograder grade'.
    Feedback goes back through the exchange if the submission came through it.

    Files that are still being written are left until they are whole. What was graded before a restart
    is not graded again. Students take turns, and a submission that takes long holds up nobody else. Stop
    with Ctrl-C: what is being graded is finished first, or is left to the next start if it takes long.
    """
    from autograder.grading.pool import Pool
    from autograder.reports.feedback_exporter import require_settings
    from autograder.sandbox.start import require_sandbox
    from autograder.storage.exchange import CourseExchange
    from autograder.storage.locks import only_one
    from autograder.watch.inbox import Inbox
    from autograder.watch.watch import QUICK, ArrivalGrader, Watch

    if not unsandboxed:
        require_sandbox()
    place = Path(os.path.abspath(folder)) if folder else None  # noqa: PTH100 - links are left alone
    if place and not place.is_dir():
        raise CourseError(f"no such folder to watch: {clean(str(place))}")
    require_settings(course)
    exchange = CourseExchange(course, place)
    folder = place or exchange.require_inbound()
    inbox = Inbox(
        folder, course.lessons(), is_exchange=folder == exchange.inbound, checks_owner=exchange.checks_owner
    )
    quick = Pool(workers, sandboxed=not unsandboxed, seconds=QUICK)
    slow = Pool(1, sandboxed=not unsandboxed)
    grader = ArrivalGrader(course, exchange, quick, slow)
    with only_one(course, "watch"), _stopped_by_signals() as stop:
        click.echo(f"watching {inbox.folder}", err=True)
        tell, note = _tell_json if as_json else _tell, partial(click.echo, err=True)
        quick.warm_up(course)
        try:
            Watch(inbox, grader, tell, note, most).run(stop, once=once)
        finally:
            grader.close()


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C and a service manager's stop set."""
    stop = threading.Event()
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _tell(done: "Done") -> None:
    """Print one line about a submission."""
    back = ", feedback released" if done.returned else ""
    if done.recorded is None:
        click.echo(f"{done.arrival}: unchanged ({done.seconds:.0f} s{back})")
        return
    report = done.recorded.report
    total = done.recorded.total + (f", {clean(report.reason, 200)}" if report.reason else "")
    click.echo(f"{done.arrival}: {total} ({done.seconds:.0f} s{back})")
    for each in done.recorded.withdrawn:
        click.echo(f"  {each}", err=True)
    if done.problem:
        click.echo(f"  {done.problem}; the scores are recorded", err=True)


def _tell_json(done: "Done") -> None:
    """Print one JSON document about a submission."""
    if done.recorded is None:
        unchanged = {"student": done.arrival.student, "lesson": done.arrival.lesson, "state": "unchanged"}
        click.echo(json.dumps(unchanged | {"seconds": round(done.seconds, 2), "returned": done.returned}))
        return
    report = done.recorded.report
    document = {
        "student": done.arrival.student,
        "lesson": done.arrival.lesson,
        "graded_at": done.recorded.attempt.graded_at.isoformat(),
        "state": report.state.value,
        "score": report.score,
        "pending": report.pending,
        "max_score": report.max_score,
        "seconds": round(done.seconds, 2),
        "returned": done.returned,
        "reason": report.reason,
        "problem": done.problem,
        "withdrawn": [str(each) for each in done.recorded.withdrawn],
    }
    click.echo(json.dumps(document, ensure_ascii=False))


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
    from autograder.reports.feedback_exporter import require_settings
    from autograder.storage.gradebook import open_gradebook
    from autograder.storage.io_errors import plain_io_errors
    from autograder.written.answers import WrittenAnswers, lessons_with_questions
    from autograder.written.server import GradingServer, PageMaker, serve_until_stopped

    asked = lessons_with_questions(course)
    if lesson is not None and lesson not in asked:
        raise CourseError(f"{lesson} asks for no written answer; these do: {', '.join(asked) or 'none'}")
    require_settings(course)
    tell = partial(click.echo, err=True)
    with plain_io_errors(course), open_gradebook(course) as book, PageMaker(course, tell) as pages:
        answers = WrittenAnswers(course, [lesson] if lesson else asked, book)
        found = answers.all()
        if not found:
            which = lesson or ", ".join(asked) or "this course"
            raise CourseError(
                f"no written answers of {which} have been graded so far: run 'autograder grade' first"
            )
        server = GradingServer(answers, book, pages)
        with _way_in(course, server.address) as file:  # where nothing can be written, this ends the command
            pages.catch_up((each.lesson, each.student) for each in found)
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
