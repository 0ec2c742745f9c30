"""The server of `autograder written`: on this machine only, and only for those who know its address.

The address holds a random token. Anyone who has it can grade, as in Jupyter. Nothing is kept in a cookie,
because a browser sends those to every server of the machine and with every request: a page elsewhere, which
cannot know the token, cannot make the browser do anything here. Requests for a host of another name, and from
other pages, are refused.

The pages that a new score outdates are made in a thread of their own, so that nobody waits for them.
"""

import asyncio
import hmac
import re
import secrets
import signal
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from http.client import responses
from threading import Event, Lock
from typing import Any

from markupsafe import escape
from nbgrader.api import Gradebook
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, StaticFileHandler

from autograder.model.course import ERROR_LOG, Course
from autograder.model.errors import AutograderError
from autograder.model.text import visible
from autograder.reports.feedback_exporter import is_stale, make_pages, outdate, renew_penalties
from autograder.reports.publish import publish
from autograder.reports.words import points
from autograder.storage.attempts import log_error
from autograder.storage.gradebook import give_comment, give_points
from autograder.storage.io_errors import plain_io_errors
from autograder.written.answers import WrittenAnswer, WrittenAnswers
from autograder.written.pages import (
    LONGEST_COMMENT,
    POLICY,
    Gone,
    Stored,
    View,
    answer_page,
    digest,
    list_page,
    name,
)

PAUSE = 1.0  # seconds in which the next page is shown before this work begins
HOST = "127.0.0.1"
MOST_BYTES = 12 * LONGEST_COMMENT + 4_096  # of a form: a character takes at most 12 bytes
HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STOPPED = "This is not the address that 'autograder written' printed, or it was started again since."
REPLACED = (
    "The student has handed in another answer since you opened this page. Here it is; nothing was saved."
)


class PageMaker:
    """Brings feedback pages, class report and CSV files up to date; use it in a `with`, which finishes them.

    A page that is waiting is marked as outdated on the disk, so that it is made by the next run of
    `autograder written` or `autograder grade` if this one is killed. `tell` gets a line about what failed.
    """

    def __init__(self, course: Course, tell: Callable[[str], None]) -> None:
        self._course, self._tell = course, tell
        self._waiting: set[tuple[str, str]] = set()
        self._lock, self._closing = Lock(), Event()
        self._thread = ThreadPoolExecutor(max_workers=1)

    def __enter__(self) -> "PageMaker":
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._thread.shutdown()

    def catch_up(self, works: Iterable[tuple[str, str]]) -> None:
        """Make the reports, and those of the pages, by lesson and student, that are outdated."""
        stale = {work for work in works if is_stale(self._course, work[1], work[0])}
        with self._lock:
            self._waiting |= stale
        self._thread.submit(self._make, always=True)

    def add(self, lesson: str, student: str) -> None:
        """Have a student's page and the reports made again, soon."""
        outdate(self._course, student, lesson)
        with self._lock:
            self._waiting.add((lesson, student))
        self._thread.submit(self._make)

    def _make(self, *, always: bool = False) -> None:
        if not (self._waiting or always):
            return
        self._closing.wait(PAUSE)
        with self._lock:
            todo, self._waiting = self._waiting, set()
        try:
            with plain_io_errors(self._course):
                for lesson in {lesson for lesson, _ in todo}:
                    late = renew_penalties(self._course, lesson)
                    students = sorted({student for each, student in todo if each == lesson} | late.keys())
                    for student, problem in make_pages(self._course, lesson, students).items():
                        self._tell(f"{student}: no feedback page ({problem}); the points are saved")
                publish(self._course, self._course.lessons())
        except Exception as error:  # a page never stops the grading; the gradebook has the points
            self._tell(f"the pages are not up to date: {error}")


class GradingServer:
    """The server, bound to a free port from the start; `address` is what the browser opens."""

    def __init__(self, answers: WrittenAnswers, book: Gradebook, pages: PageMaker) -> None:
        (socket,) = bind_sockets(0, HOST)
        self.answers, self.book, self.pages = answers, book, pages
        self.token = secrets.token_urlsafe(32)
        self.hosts = [f"{name}:{socket.getsockname()[1]}" for name in (HOST, "localhost")]
        self.address = f"http://{self.hosts[0]}/{self.token}/"
        self.notes: dict[str, Stored | Gone] = {}  # shown once, on the page after
        self._sockets = [socket]

    async def run(self, ready: Callable[[], object], stop: asyncio.Event) -> None:
        """Serve until `stop` is set; call `ready` when requests are answered."""
        lesson, release = "|".join(map(re.escape, self.answers.lessons)), self.answers.course.release
        application = Application(
            [
                (r"/[\w-]+/", ListPage),
                (rf"/[\w-]+/({lesson})/(\w+)", AnswerPage),
                (rf"/[\w-]+/((?:{lesson})/images/\w[\w.-]*)", PictureHandler, {"path": str(release)}),
            ],
            default_handler_class=Guarded,
            grading_server=self,
            log_function=lambda _: None,  # an address is a password
        )
        http = HTTPServer(application, max_body_size=MOST_BYTES, max_header_size=16_384)
        http.add_sockets(self._sockets)
        ready()
        await stop.wait()
        http.stop()
        await http.close_all_connections()


async def serve_until_stopped(server: GradingServer, ready: Callable[[], object]) -> None:
    """Serve until Ctrl-C, or until the terminal or a service manager ends it."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.run(ready, stop)


class Guarded(RequestHandler):
    """Refuses requests with another token or from other sites; subclasses answer the rest."""

    @property
    def server(self) -> GradingServer:
        """The server that the page belongs to."""
        found = self.settings["grading_server"]
        assert isinstance(found, GradingServer)
        return found

    def set_default_headers(self) -> None:
        """Let no page be framed, kept, or add anything of its own."""
        self.clear_header("Server")
        for header, value in HEADERS.items():
            self.set_header(header, value)

    def prepare(self) -> None:
        """Check host, token and origin. Raises HTTPError 403, or 404 where there is no such page."""
        token = self.request.path.split("/")[1].encode()
        known = hmac.compare_digest(token, self.server.token.encode())
        if not known or self.request.host not in self.server.hosts:
            raise HTTPError(403)
        origin = self.request.headers.get("Origin", None if self.request.method == "POST" else "")
        if origin not in ("", f"http://{self.request.host}"):
            raise HTTPError(403)
        if type(self) is Guarded:
            raise HTTPError(404)

    def on_finish(self) -> None:
        """End the transaction, so that the next page sees what others have written since."""
        self.server.book.db.remove()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Say in a line what is wrong; for a bug, where its traceback is."""
        _, error, _ = kwargs.get("exc_info", (None, None, None))
        said = STOPPED if status_code == 403 else responses.get(status_code, "")
        if error is not None and not isinstance(error, HTTPError):
            said = self._explained(error)
        elif isinstance(error, HTTPError) and error.log_message:
            said = error.log_message
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(
            f'<!DOCTYPE html><html lang="en"><title>{status_code}</title><p>{escape(visible(said))}</html>'
        )

    def log_exception(self, *_: object) -> None:
        """Print nothing: `write_error` keeps what matters, and an address is a password."""

    def _explained(self, error: BaseException) -> str:
        folder = self.server.answers.course.reports
        try:
            with plain_io_errors(self.server.answers.course):
                raise error  # noqa: TRY301 - to have it explained
        except AutograderError as known:
            return f"Nothing was saved: {known}"
        except Exception:
            detail = "".join(traceback.format_exception(error))
            log_error(folder, datetime.now(UTC), "autograder written", detail)
            return f"Nothing was saved. What went wrong is in {folder / ERROR_LOG}."

    @property
    def view(self) -> View:
        """How the answers are gone through, by the address."""
        return View(**{name: self.get_query_argument(name, "") == "yes" for name in vars(View())})

    def in_order(self) -> list[WrittenAnswer]:
        """Return the answers in the order of the view."""
        view = self.view
        return self.server.answers.all(by_student=view.by_student, shuffled=view.names_hidden)

    def note(self) -> Stored | Gone | None:
        """Return what is to be said of the page before, once."""
        return self.server.notes.pop(self.get_query_argument("note", ""), None)

    def go(self, answer: WrittenAnswer | None, note: Stored | Gone | None = None) -> None:
        """Show an answer next, or the list if there is none."""
        key = secrets.token_hex(8) if note else ""
        if note:
            self.server.notes = {key: note}  # an older one that nobody looked at is out of date
        place = f"{answer.lesson}/{answer.id}" if answer else ""
        self.redirect(f"/{self.server.token}/{place}{self.view.query(note=key)}", status=303)


class ListPage(Guarded):
    """The list of all answers."""

    def get(self) -> None:
        """Show the list."""
        known = self.server.answers
        titles = {lesson: known.titles(lesson) for lesson in known.lessons}
        by_question = known.all(shuffled=self.view.names_hidden)
        self.finish(
            list_page(by_question, self.view, titles=titles, numbers=known.numbers(), note=self.note())
        )


class AnswerPage(Guarded):
    """One answer: shown by GET, graded by POST."""

    def get(self, lesson: str, key: str) -> None:
        """Show the answer."""
        answers = self.in_order()
        if answer := self._chosen(answers, lesson, key):
            self._show(answer, answers, note=self.note())
        else:
            self._go_on(key)

    def post(self, lesson: str, key: str) -> None:
        """Store points and comment, as far as they were changed, and go where the form says.

        The last one to write wins, and reads what was replaced. If the student has handed in another answer
        since the page was shown, nothing is stored: nobody has read that one. If there is none now, the next
        page says so, with the comment.
        """
        answers = self.in_order()
        answer = self._chosen(answers, lesson, key)
        comment = self.get_body_argument("comment", "").replace("\r\n", "\n").strip()
        if answer is None:
            self._go_on(key, comment)
            return
        if len(comment) > LONGEST_COMMENT:
            raise HTTPError(400, f"A comment has up to {LONGEST_COMMENT} characters, not {len(comment)}.")
        score = self._score(answer)
        if self.get_body_argument("digest") != self.server.answers.text(answer).digest:
            self.set_status(409)
            self._show(answer, answers, problem=REPLACED, comment=comment)
            return
        note = self._store(answer, score, comment)
        place = answers.index(answer)
        match self.get_body_argument("go", ""):
            case "previous":
                self.go(answers[max(place - 1, 0)], note)
            case "next":
                self.go(answers[min(place + 1, len(answers) - 1)], note)
            case _ if score is None:
                self.go(answer, note)
            case _:
                left = [each for each in answers if each.score is None and each is not answer]
                later = [each for each in left if answers.index(each) > place]
                self.go(next(iter([*later, *left]), None), note)

    def _chosen(self, answers: Sequence[WrittenAnswer], lesson: str, key: str) -> WrittenAnswer | None:
        return next((each for each in answers if (each.lesson, each.id) == (lesson, key)), None)

    def _go_on(self, key: str, comment: str = "") -> None:
        """Say on the page of the next answer, or on the list, what became of this one."""
        known, view = self.server.answers, self.view
        answer = known.seen(key)
        if answer is None:
            self.go(None, Gone("There is no such answer.", comment))
            return
        who = "The student" if view.names_hidden else name(answer, view, {})
        saved = " Nothing was saved." if self.request.method == "POST" else ""
        what = known.titles(answer.lesson).exercise(answer.exercise).replace("`", "")
        said = f"{what}: this answer is gone. {who} {known.why_gone(answer)}.{saved}"
        following = known.after(answer, by_student=view.by_student, shuffled=view.names_hidden)
        self.go(following, Gone(said, comment))

    def _show(self, answer: WrittenAnswer, answers: Sequence[WrittenAnswer], **more: Any) -> None:
        known = self.server.answers
        titles, numbers = known.titles(answer.lesson), known.numbers()
        text = known.text(answer)
        self.finish(answer_page(answer, text, answers, self.view, titles=titles, numbers=numbers, **more))

    def _score(self, answer: WrittenAnswer) -> float | None:
        """Return the points of the form, or None for none. Raises HTTPError 400 for others than the steps."""
        text = self.get_body_argument("points", "")
        allowed = {str(step): step for step in answer.steps}
        if text and text not in allowed:
            steps = ", ".join(map(points, allowed.values()))
            raise HTTPError(400, f"This answer can get {steps} points, not '{text[:20]}'.")
        return allowed.get(text)

    def _store(self, answer: WrittenAnswer, score: float | None, comment: str) -> Stored | None:
        place = (answer.lesson, answer.student, answer.exercise)
        was_points, was_comment = (self.get_body_argument(name, "") for name in ("was_points", "was_comment"))
        graded = self.get_body_argument("points", None) is not None  # empty points withdraw what there was
        commented = digest(comment) != was_comment
        replaced = []
        if graded:
            give_points(self.server.book, *place, score)
            replaced += [points(answer.score)] if points(answer.score) != was_points else []
        if commented:
            give_comment(self.server.book, *place, comment)
            replaced += [f"“{answer.comment}”"] if digest(answer.comment) != was_comment else []
        if not (graded or commented):
            return None
        self.server.pages.add(answer.lesson, answer.student)
        return Stored(replace(answer, score=score if graded else answer.score, comment=comment), replaced)


class PictureHandler(Guarded, StaticFileHandler):
    """A picture of the lesson, as the question or an answer may show one."""
