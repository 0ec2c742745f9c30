"""The gradebook may be a PostgreSQL database: a class run, nbgrader's own API and the exports agree."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from rich.console import Console
from tiny_course import LESSON, RIGHT, hand_in, make_fake
from tiny_fixtures import built, course, same_grader

from autograder.authoring.release import register
from autograder.exports.class_scores import class_scores
from autograder.grading.loop import grade_lesson
from autograder.grading.pool import Pool
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError

__all__ = ["built", "course", "same_grader"]
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]
USER = "postgres" if os.geteuid() == 0 else None  # the server does not run as the administrator
pytestmark = [
    pytest.mark.full("starts a PostgreSQL server", seconds=20),
    pytest.mark.usefixtures("same_grader"),
    pytest.mark.skipif(not PROGRAMS, reason="needs PostgreSQL: apt-get install postgresql"),
]
Run = Callable[[], list[Attempt]]


def program(name: str, *arguments: str) -> None:
    """Run one of PostgreSQL's own programs, silently."""
    command = [str(PROGRAMS[0] / name), *arguments]
    subprocess.run(command, check=True, user=USER, cwd="/", stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run a server of our own, on a free port, and give its address without a database."""
    data = Path(tempfile.mkdtemp(prefix="postgresql-"))  # pytest's own is closed by the next pytest
    if USER:
        shutil.chown(data, USER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -h 127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    program("initdb", "-D", str(data), "-A", "trust", "-U", "teacher")
    program("pg_ctl", "-D", str(data), "-w", "-l", str(data / "log"), "-o", options, "start")
    yield f"postgresql://teacher:secret@127.0.0.1:{port}"
    program("pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
    shutil.rmtree(data)


@pytest.fixture
def url(server: str, course: Course) -> str:
    """Give the address of a fresh database, which the course's configuration names."""
    name = f"course{abs(hash(course.root))}"
    port = server.rpartition(":")[2]
    program("createdb", "-h", "127.0.0.1", "-p", port, "-U", "teacher", name)
    url = f"{server}/{name}"
    course.gradebook.unlink(missing_ok=True)
    with (course.root / CONFIG).open("a", encoding="utf-8") as file:
        file.write(f"\nc.CourseDirectory.db_url = {url!r}\n")
    return url


@pytest.fixture
def run(course: Course) -> Run:
    """Give a function that runs the class and returns the newest attempts."""

    def run_it(**how: Any) -> list[Attempt]:
        quiet = Console(file=StringIO())
        with Pool(1, sandboxed=True, make=make_fake) as pool:
            return grade_lesson(course, LESSON, pool, console=quiet, **how)

    return run_it


def test_a_class_run_is_recorded_there(course: Course, url: str, run: Run) -> None:
    """As in a file: scores, what waits for a person, and the exports; no gradebook.db appears."""
    register(course, LESSON)
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", double="# half")
    run()
    with Gradebook(url, "transformer") as book:
        rows = book.find_submission_notebook(LESSON, LESSON, "bob").grades
        assert {row.name: row.auto_score for row in rows}["double-test"] == 4.0
        assert book.find_submission(LESSON, "alice").score == 18.0
    scores = class_scores(course, [LESSON])
    assert {row: scores.lessons[0].scores[row].earned for row in ("alice", "bob")} == {"alice": 18.0, "bob": 4.0}
    assert not course.gradebook.exists()


def test_a_score_given_by_hand_stays(course: Course, url: str, run: Run) -> None:
    """Grading the same answers again does not touch it."""
    register(course, LESSON)
    hand_in(course, "alice", **RIGHT)
    run()
    with Gradebook(url, "transformer") as book:
        grade = book.find_grade("why", LESSON, LESSON, "alice")
        grade.manual_score = 1.5
        book.db.commit()
    run(force=True)
    with Gradebook(url, "transformer") as book:
        assert book.find_grade("why", LESSON, LESSON, "alice").manual_score == 1.5


def test_a_server_that_is_not_there_is_one_line_without_its_password(course: Course, run: Run) -> None:
    """And says what to do."""
    hand_in(course, "alice", **RIGHT)
    with (course.root / CONFIG).open("a", encoding="utf-8") as file:
        file.write("\nc.CourseDirectory.db_url = 'postgresql://teacher:secret@127.0.0.1:1/x'\n")
    with pytest.raises(CourseError, match=r"teacher:\*\*\*@127.0.0.1:1/x cannot be used: .*efused") as told:
        run()
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)
