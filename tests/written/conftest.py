"""The tiny course with three graded students, and the server of its written answers, running in a thread."""

import asyncio
import http.client
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlencode

import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, FakeGrader, hand_in
from tiny_fixtures import book, built, course, grades, same_grader

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.reports.formgrader import graded_notebook
from autograder.storage.gradebook import open_gradebook
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission
from autograder.written.answers import WrittenAnswers
from autograder.written.server import GradingServer, PageMaker

__all__ = ["book", "built", "course", "grades", "same_grader"]
QUESTION = "Why does doubling lose nothing?"
ANSWERS = {"ada": "Because halving undoes it.", "bela": "I don't **know**.", "emil": "See $2x / 2 = x$."}


def record(course: Course, student: str, why: str | None) -> None:
    """Hand in this written answer, or none, grade the rest, and record it."""
    hand_in(course, student, double="# right", **({} if why is None else {"why": f"{QUESTION}\n\n{why}"}))
    _grade(course, student)


def record_unreadable(course: Course, student: str) -> None:
    """Hand in a file that is no notebook, and record it."""
    course.submission(student, LESSON).write_text("{")
    _grade(course, student)


def _grade(course: Course, student: str) -> None:
    submission = Submission(course, student, LESSON, "v")
    attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
    with Recorder(course) as recorder:
        recorder.record(attempt, graded_notebook(notebook, attempt))


@pytest.fixture
def handed_in(course: Course, same_grader: None) -> Course:
    """Give the course with an answer of each student."""
    for student, why in ANSWERS.items():
        record(course, student, why)
    return course


@dataclass
class Reply:
    """What the server answered."""

    status: int
    headers: dict[str, str]
    text: str

    def field(self, name: str) -> str:
        """Return the value of a hidden field."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.text)
        assert found, f"no field '{name}'"
        return found[1]


@dataclass
class Browser:
    """Sends requests as a browser on the page would; `headers` replace some of its own, '' leaves one out."""

    server: GradingServer
    told: list[str] = field(default_factory=list)

    def request(self, path: str, form: dict[str, str] | None = None, **headers: str) -> Reply:
        """Ask for a path below the token, or for one from the root that begins with a slash."""
        host = self.server.hosts[0]
        full = path if path.startswith("/") else f"/{self.server.token}/{path}"
        sent = {"Host": host} | ({"Origin": f"http://{host}"} if form is not None else {}) | headers
        body = None if form is None else urlencode(form)
        if form is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection(host, timeout=20)
        method = "GET" if form is None else "POST"
        connection.request(method, full, body, {name: value for name, value in sent.items() if value})
        got = connection.getresponse()
        reply = Reply(got.status, dict(got.getheaders()), got.read().decode())
        connection.close()
        return reply

    def place(self, student: str) -> str:
        """Return where a student's answer is, below the token."""
        found = next(each for each in self.server.answers.all() if each.student == student)
        self.server.book.db.remove()
        return f"{found.lesson}/{found.id}"

    def grade(self, student: str, shown: Reply | None = None, **form: str) -> Reply:
        """Send the form of an answer as it is, or was `shown`, with these fields; follow to what comes next."""
        place = self.place(student)
        page = shown or self.request(place)
        fields = {name: page.field(name) for name in ("digest", "was_points", "was_comment")}
        typed = re.search(r"<textarea[^>]*>\n?(.*?)</textarea>", page.text, re.S)
        reply = self.request(place, {**fields, "comment": typed[1] if typed else "", **form})
        return self.request(reply.headers["Location"]) if reply.status == 303 else reply


@pytest.fixture
def browse(handed_in: Course) -> Iterator[Browser]:
    """Start the server; leaving it brings the pages up to date."""
    with open_gradebook(handed_in) as opened:
        yield from serve(handed_in, opened)


def serve(course: Course, opened: Gradebook, told: Callable[[str], None] | None = None) -> Iterator[Browser]:
    """Give a browser of a server that runs in a thread of its own."""
    said: list[str] = []
    with PageMaker(course, told or said.append) as pages:
        server = GradingServer(WrittenAnswers(course, [LESSON], opened), opened, pages)
        ready, loop, stop = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
        thread = threading.Thread(target=loop.run_until_complete, args=(server.run(ready.set, stop),))
        thread.start()
        ready.wait(20)
        try:
            yield Browser(server, said)
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(20)
            loop.close()
    assert said == []
