"""nbgrader's own commands use our grader and leave the same scores as a class run."""

import datetime as dt
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from jupyter_core.application import NoStart
from nbgrader.apps import NbGraderApp
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from rich.console import Console
from tiny_course import LESSON, RIGHT, FakeGrader, cell_text, hand_in, make_fake
from tiny_fixtures import ReadGrades, book, built, course, grades, same_grader  # noqa: F401 - fixtures

from autograder import nbgrader_plugin
from autograder.grading.loop import grade_lesson
from autograder.grading.pool import Pool
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.errors import SandboxMissingError
from autograder.model.nbgrader_config import settings
from autograder.storage import locks, recorder
from autograder.storage.attempts import AttemptLog

Command = Callable[..., int]
pytestmark = pytest.mark.usefixtures("same_grader")


@pytest.fixture
def nbgrader(course: Course, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Give nbgrader's command line, run in the course's folder with the tiny grader."""
    monkeypatch.setattr(nbgrader_plugin, "make_grader", make_fake)
    monkeypatch.chdir(course.root)

    def run(*arguments: str) -> int:
        NbGraderApp.clear_instance()
        app = NbGraderApp.instance()
        try:
            app.initialize(list(arguments))
            app.start()
        except NoStart:  # how Jupyter's commands end when a subcommand has run
            return 0
        except SystemExit as end:
            return int(end.code or 0)
        finally:
            app.reset()
        return 0

    yield run
    nbgrader_plugin.close_grader()


def test_scores_equal_those_of_a_class_run(
    course: Course, nbgrader: Command, grades: ReadGrades
) -> None:
    """For right, half, unanswered, broken, faulty and failing submissions alike."""
    hand_in(course, "right", **RIGHT)
    hand_in(course, "half", double="# half", why="So.")
    hand_in(course, "unanswered")
    hand_in(course, "broken").write_text("{")
    hand_in(course, "faulty", double="# fault", halve="# right")
    hand_in(course, "failing", double="# boom")
    assert nbgrader("autograde", LESSON) == 0
    students = [attempt.student for attempt in AttemptLog(course.reports)]
    assert sorted(students) == ["broken", "failing", "faulty", "half", "right", "unanswered"]
    nbgraders = {student: grades(student) for student in students}
    pages = {student: _shown(course, student) for student in students}
    with Pool(1, sandboxed=True, make=make_fake) as pool:
        grade_lesson(course, LESSON, pool, force=True, console=Console(quiet=True))
    assert {student: grades(student) for student in students} == nbgraders
    assert {student: _shown(course, student) for student in students} == pages


def _shown(course: Course, student: str) -> str:
    return cell_text(course.autograded / student / LESSON / f"{LESSON}.ipynb")


def test_a_class_run_skips_what_nbgrader_graded(course: Course, nbgrader: Command) -> None:
    """Both write the same log and the same folder."""
    hand_in(course, "alice", **RIGHT)
    assert nbgrader("autograde", LESSON) == 0
    said = StringIO()
    with Pool(1, sandboxed=True, make=make_fake) as pool:
        grade_lesson(course, LESSON, pool, console=Console(file=said))
    assert said.getvalue().splitlines()[0] == f"{LESSON}: 0 submissions to grade, 1 graded before"


def test_a_newer_submission_leaves_no_older_score(
    course: Course, nbgrader: Command, grades: ReadGrades
) -> None:
    """Not even if the newer file is broken, or if only one student is graded."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", **RIGHT)
    assert nbgrader("autograde", LESSON) == 0
    hand_in(course, "alice").write_text("{")
    hand_in(course, "bob")
    assert nbgrader("autograde", LESSON, "--student=alice", "--force") == 0
    assert {row[0] for row in grades("alice").values()} == {0.0}
    assert not any(row[2] for row in grades("alice").values())
    assert grades("bob")["double-test"] == (8.0, None, False)


def test_feedback_and_export_follow(course: Course, nbgrader: Command) -> None:
    """Nbgrader's next commands work on the result."""
    hand_in(course, "alice", double="# half")
    assert nbgrader("autograde", LESSON) == 0
    assert nbgrader("generate_feedback", LESSON) == 0
    page = (course.feedback / "alice" / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
    assert "It gave 5, not 6." in page
    assert nbgrader("export", "--to=grades.csv") == 0
    header, row = (course.root / "grades.csv").read_text().splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["score"] == "4.0"


def test_without_a_sandbox_the_command_ends_with_one_line(
    course: Course,
    nbgrader: Command,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """No submission is graded."""

    def refuse(*_: object) -> Any:
        raise SandboxMissingError("bubblewrap is not there: install it")

    hand_in(course, "alice", **RIGHT)
    monkeypatch.setattr(nbgrader_plugin, "make_grader", refuse)
    assert nbgrader("autograde", LESSON) == 1
    heard = capfd.readouterr().err
    assert "bubblewrap is not there: install it" in heard
    assert "Traceback" not in heard
    assert not course.autograded.exists()
    assert list(AttemptLog(course.reports)) == []


def test_an_attempt_is_recorded_under_the_lock_of_all_programs(
    course: Course, nbgrader: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class run or a watch may record the same submission meanwhile."""
    held = list[str]()
    record_attempt = nbgrader_plugin.record_attempt

    def record(*args: Any) -> Any:
        with pytest.raises(locks.Timeout), locks.FileLock(course.reports / "recording.lock", timeout=0):
            pass
        held.append("yes")
        return record_attempt(*args)

    monkeypatch.setattr(nbgrader_plugin, "record_attempt", record)
    hand_in(course, "alice", **RIGHT)
    assert nbgrader("autograde", LESSON) == 0
    assert held == ["yes"]


def test_what_was_searched_takes_no_newer_attempts_place(
    course: Course, nbgrader: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class run may grade a submission again while nbgrader's command still looks for the line in it."""
    log = AttemptLog(course.reports)

    def search(_: object, submission: object, attempt: Attempt) -> Attempt:
        later = attempt.graded_at + dt.timedelta(seconds=1)
        log.append(attempt.model_copy(update={"graded_at": later}))
        return attempt.model_copy(update={"changes": {"double": "- half"}})

    monkeypatch.setattr(nbgrader_plugin, "with_lines", search)
    hand_in(course, "alice", double="# half")
    assert nbgrader("autograde", LESSON) == 0
    assert [attempt.changes for attempt in log] == [{}, {}]
    stored = recorder.stored_attempt(course, "alice", LESSON)
    assert stored is not None
    assert stored.changes == {}


def test_a_setting_that_cannot_be_used_ends_the_command_with_one_line(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """That of another command, too: pages could not be made of what was graded."""
    with (course.root / CONFIG).open("a") as config:
        config.write("\nc.GenerateFeedback.permissions = 'x'\n")
    hand_in(course, "alice", **RIGHT)
    assert nbgrader("autograde", LESSON) != 0
    assert f"{CONFIG} cannot be used: " in capfd.readouterr().err
    assert list(AttemptLog(course.reports)) == []


def test_the_option_allows_grading_without_a_sandbox(course: Course, nbgrader: Command) -> None:
    """The option reaches the grader, and the attempt says so."""
    hand_in(course, "alice", **RIGHT)
    assert nbgrader("autograde", LESSON, "--SubmissionExporter.sandboxed=False") == 0
    assert [a.sandboxed for a in AttemptLog(course.reports)] == [False]


def test_one_grader_serves_a_command(
    course: Course, nbgrader: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is started once for all submissions, again for a changed lesson, and closed."""
    made: list[str] = []

    class Counted(FakeGrader):
        """Counts its beginnings and ends."""

        def __enter__(self) -> FakeGrader:
            made.append("start")
            return self

        def __exit__(self, *_: object) -> None:
            made.append("end")

    monkeypatch.setattr(nbgrader_plugin, "make_grader", lambda course, _: Counted(course))
    hand_in(course, "alice")
    hand_in(course, "bob")
    assert nbgrader("autograde", LESSON) == 0
    assert nbgrader("autograde", LESSON, "--force") == 0
    assert made == ["start"]
    text = course.text(LESSON)
    text.write_text(text.read_text() + "\n")
    assert nbgrader("autograde", LESSON, "--force") == 0
    assert made == ["start", "end", "start"]


@pytest.mark.usefixtures("nbgrader")
def test_the_formgraders_button_grades_as_well(course: Course, grades: ReadGrades) -> None:
    """The button calls the converter with the course's settings, not the command line."""
    hand_in(course, "alice", double="# fault")
    config = settings(course)
    folder = CourseDirectory(config=config, assignment_id=LESSON, student_id="alice")
    converter = Autograde(coursedir=folder, config=config)
    converter.force = True
    converter.start()
    assert grades("alice")["double-test"] == (None, None, True)
    stored = recorder.stored_attempt(course, "alice", LESSON)
    assert stored is not None
    assert stored.student == "alice"


def test_other_commands_do_without_the_autograder(course: Course, tmp_path: Path) -> None:
    """generate_assignment works and imports none of our code."""
    blocked = tmp_path / "blocked" / "autograder"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text('raise ImportError("not wanted here")')
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", LESSON, "--force"],
        cwd=course.root,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(blocked.parent), "PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert "BEGIN SOLUTION" not in cell_text(course.release_notebook(LESSON))


@pytest.mark.parametrize("kind", ["file", "hard link", "folder", "lesson", "beside", "device"])
def test_nothing_is_copied_or_earned_through_a_link(
    course: Course, nbgrader: Command, grades: ReadGrades, kind: str
) -> None:
    """Neither an instructor's file nor another student's work gets to a page, and no command waits."""
    theirs = hand_in(course, "alice", **RIGHT)
    secret = course.root / "secret.txt"
    secret.write_text("the key of the course")
    mine = course.submission("mallory", LESSON)
    if kind == "folder":
        mine.parent.parent.symlink_to(theirs.parent.parent)
    elif kind == "lesson":
        mine.parent.parent.mkdir()
        mine.parent.symlink_to(theirs.parent)
    elif kind == "beside":
        hand_in(course, "mallory", double="# half")
        mine.with_name("data.txt").symlink_to(secret)
        mine.with_name("more").symlink_to(course.root)
        os.link(secret, mine.with_name("hard.txt"))
        os.mkfifo(mine.with_name("pipe"))
        mine.with_name("page.html").write_text("<script>alert(1)</script>")
        mine.with_name("timestamp.txt").symlink_to(secret)
    else:
        mine.parent.mkdir(parents=True)
        target = {"device": Path("/dev/zero")}.get(kind, theirs)
        os.link(theirs, mine) if kind == "hard link" else mine.symlink_to(target)
    assert nbgrader("autograde", LESSON) == 0
    assert nbgrader("generate_feedback", LESSON) == 0
    scores = [row[0] for row in grades("mallory").values()]
    assert sum(score or 0 for score in scores) == (4 if kind == "beside" else 0)
    for folder in (course.autograded, course.feedback):
        names = {path.name for path in (folder / "mallory" / LESSON).iterdir()}
        assert names <= {f"{LESSON}.ipynb", f"{LESSON}.html", "notebook.html", "images", "timestamp.txt"}
        assert not any(path.is_symlink() for path in folder.rglob("*"))
        assert "the key of the course" not in "".join(p.read_text() for p in folder.rglob("*.*"))
    if kind == "device":
        assert grades("alice")["double-test"][0] == 8


@pytest.mark.parametrize("stamp", ["1" * 1_000_000, "yesterday", "2026-01-01 00:00:00 /etc/passwd"])
def test_a_time_stamp_of_any_content_stops_no_command(
    course: Course, nbgrader: Command, grades: ReadGrades, stamp: str
) -> None:
    """The command of nbgrader alone would end at it, or take half a minute."""
    hand_in(course, "mallory").with_name("timestamp.txt").write_text(stamp)
    hand_in(course, "zoe", **RIGHT)
    started = time.perf_counter()
    assert nbgrader("autograde", LESSON) == 0
    assert nbgrader("autograde", LESSON) == 0
    assert nbgrader("generate_feedback", LESSON) == 0
    assert time.perf_counter() - started < 60
    assert grades("zoe")["double-test"][0] == 8


def test_a_folder_with_a_name_that_is_markup_is_left_out(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is told in one printable line, and no student of that name gets into the gradebook."""
    hand_in(course, "alice", **RIGHT)
    for name in ("<img src=x onerror=a()>", "=1+1", "a\x1b[2Jb", "*"):
        (course.submitted / name / LESSON).mkdir(parents=True)
        (course.submitted / name / LESSON / f"{LESSON}.ipynb").write_text("{}")
    assert nbgrader("autograde", LESSON) == 0
    assert [attempt.student for attempt in AttemptLog(course.reports)] == ["alice"]
    heard = capfd.readouterr().err
    assert heard.count("cannot be a student's name") == 4
    assert "\x1b[2J" not in heard


def test_a_page_is_not_made_of_a_folder_that_someone_linked_into(
    course: Course, nbgrader: Command
) -> None:
    """Nor of one that another program filled: what is linked there is copied nowhere."""
    hand_in(course, "alice", **RIGHT)
    assert nbgrader("autograde", LESSON) == 0
    (course.autograded / "alice" / LESSON / "x.txt").symlink_to(course.gradebook)
    nbgrader("generate_feedback", LESSON)
    assert not (course.feedback / "alice" / LESSON / "x.txt").exists()


def test_a_renamed_notebook_and_none_end_as_in_a_class_run(course: Course, nbgrader: Command) -> None:
    """Nbgrader alone would skip the one, and stop at the other."""
    path = hand_in(course, "alice", **RIGHT)
    path.rename(path.with_name("copy.ipynb"))
    hand_in(course, "bob").unlink()
    hand_in(course, "carol")
    assert nbgrader("autograde", LESSON) == 0
    scores = {each.student: each.report.score for each in AttemptLog(course.reports)}
    assert scores == {"alice": 18, "bob": 0, "carol": 0}
