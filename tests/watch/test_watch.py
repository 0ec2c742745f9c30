"""What arrives is graded and given back, as often as allowed, through restarts, once at a time."""

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.utils import notebook_hash
from tiny_course import LESSON, RIGHT, hand_in
from tiny_fixtures import ReadGrades
from traitlets.config import Config

from autograder.model.course import Course
from autograder.model.errors import CourseError, SubmissionError
from autograder.storage import attempts
from autograder.storage.attempts import ArrivalLog, AttemptLog
from autograder.storage.class_list import remove_student
from autograder.storage.exchange import CourseExchange
from autograder.storage.gradebook import Withdrawn, give_points, open_gradebook
from autograder.storage.locks import only_one
from autograder.submissions.notebook_file import read_submission
from autograder.watch import inbox, watch
from autograder.watch.inbox import Arrival
from autograder.watch.watch import ArrivalGrader, Done, Turn, Watch

from .conftest import Look, make_finding, make_sleepy

STAMPS = [f"2026-03-01 1{hour}:00:00.000000 UTC" for hour in range(5)]
Submit = Callable[..., Path]


def released(exchange: Path, student: str, stamp: str) -> Path:
    """Return where nbgrader's fetch_feedback looks for a page."""
    checksum = notebook_hash(secret=f"secret{student}{stamp[:10]}", notebook_id=LESSON)
    return exchange.parent / "feedback" / f"{checksum}.html"


def test_a_submission_of_the_exchange_is_graded_and_given_back(
    course: Course, exchange: Path, submit: Submit, look: Look, grades: ReadGrades
) -> None:
    """The gradebook, the log, the class report, and the page where the student's nbgrader finds it."""
    submit("ada", STAMPS[0], **RIGHT)
    submit("bo", STAMPS[0], double="# half")
    told = look(exchange)
    assert sorted(told.graded) == [("ada", 18), ("bo", 4)]
    assert all(done.returned and not done.problem for done in told.done)
    assert grades("ada")["double-test"] == (8.0, None, False)
    assert course.submission("ada", LESSON).is_file()
    assert "18 of 18" in released(exchange, "ada", STAMPS[0]).read_text(encoding="utf-8")
    assert (course.reports / "class.html").is_file()
    assert len(list(AttemptLog(course.reports))) == 2


@pytest.mark.full("a watch for each of three times; a class run has the same rule", seconds=10)
def test_the_time_in_a_watched_folder_is_the_one_that_counts(course: Course, look: Look, tmp_path: Path) -> None:
    """Also if only that changes, or is gone with a second attempt; what has no time is said."""
    elsewhere = Course(tmp_path / "inbox")
    elsewhere.root.mkdir()
    elsewhere.release.symlink_to(course.release)
    with open_gradebook(course) as book:
        book.update_or_create_assignment(LESSON, duedate=datetime(2026, 1, 1))
    stamp = hand_in(elsewhere, "ada", **RIGHT).with_name("timestamp.txt")
    for text, late, notes in [
        ("2026-01-02 00:00:00 UTC", 86400, []),
        ("2025-12-31 00:00:00 UTC", 0, []),
        ("2026-01-02 00:00:00 UTC", 86400, []),
        ("", 0, [f"{LESSON}: no timestamp.txt says when these were handed in, so none counts as late: ada"]),
    ]:
        if not text:
            hand_in(elsewhere, "ada", double="# half")
        stamp.write_text(text) if text else stamp.unlink()
        assert look(elsewhere.submitted).notes == notes
        with open_gradebook(course) as book:
            assert book.find_submission(LESSON, "ada").total_seconds_late == late


@pytest.mark.parametrize("renamed", [pytest.param(False, marks=pytest.mark.full("the plainer case", seconds=3)), True])
def test_assignment_list_offers_the_feedback_whatever_the_notebooks_are_called(
    exchange: Path, submit: Submit, look: Look, *, renamed: bool
) -> None:
    """The list asks for a page of each notebook in the folder: of a copy beside it, and of one that was renamed."""
    folder = submit("ada", STAMPS[0], **RIGHT)
    right = folder / f"{LESSON}.ipynb"
    names = ["homework (1)"] if renamed else [LESSON, f"{LESSON}-Copy1"]
    shutil.copy(right, folder / f"{names[-1]}.ipynb")
    if renamed:
        right.unlink()
    assert look(exchange).graded == [("ada", 18)]
    listed = ExchangeFactory().List(
        coursedir=CourseDirectory(course_id="transformer"),
        authenticator=Authenticator(),
        config=Config(Exchange={"root": str(exchange.parents[1])}),
    )
    listed.inbound = True
    (found,) = (each for student in listed.start() for each in student["submissions"])
    assert {each["notebook_id"] for each in found["notebooks"]} == {*names}
    assert found["has_exchange_feedback"]


def test_any_folder_will_do(course: Course, tmp_path: Path, look: Look) -> None:
    """STUDENT/LESSON/, without an exchange; the submission's own folder stays as it is."""
    inbox = Course(tmp_path / "dropbox")
    inbox.root.mkdir()
    (inbox.root / "release").symlink_to(course.release)
    path = hand_in(inbox, "ada", **RIGHT)
    told = look(inbox.submitted)
    assert told.graded == [("ada", 18)]
    assert not told.done[0].returned
    assert course.submission("ada", LESSON).read_bytes() == path.read_bytes()
    assert course.feedback_page("ada", LESSON).is_file()


def test_a_folder_that_cannot_be_a_students_is_named(course: Course, tmp_path: Path, look: Look) -> None:
    """So that nobody takes it for graded. A folder without a lesson in it is nobody's submission."""
    for name in ("=cmd()/" + LESSON, "<b>x/" + LESSON, ".hidden/" + LESSON, "=other/notes"):
        (tmp_path / "dropbox" / name).mkdir(parents=True)
    told = look(tmp_path / "dropbox")
    assert told.graded == []
    assert sorted(told.notes) == [
        "left out, because no lesson has that name: '=other/notes'",
        "left out, because no student can have such a name: '<b>x', '=cmd()'",
    ]


def test_the_courses_own_folder_can_be_watched(course: Course, look: Look) -> None:
    """Nothing is copied onto itself."""
    path = hand_in(course, "ada", **RIGHT)
    assert look(course.submitted).graded == [("ada", 18)]
    assert path.is_file()


def test_a_restart_grades_nothing_again_and_loses_nothing(
    course: Course, exchange: Path, submit: Submit, look: Look
) -> None:
    """What was graded is known by the attempts' own file; what came in between is graded now."""
    submit("ada", STAMPS[0], **RIGHT)
    look(exchange)
    assert look(exchange).done == []
    submit("ada", STAMPS[1], double="# half")
    assert look(exchange).graded == [("ada", 4)]
    assert [attempt.report.score for attempt in AttemptLog(course.reports)] == [18, 4]


def test_who_was_removed_is_graded_only_for_new_work(
    course: Course, exchange: Path, submit: Submit, look: Look
) -> None:
    """What lies in the exchange stays there, and the watch does not bring the student back for it."""
    submit("ada", STAMPS[0], **RIGHT)
    look(exchange)
    remove_student(course, "ada")
    assert look(exchange).done == []
    submit("ada", STAMPS[1], double="# half")
    assert look(exchange).graded == [("ada", 4)]


def test_a_submission_that_was_cut_short_is_graded_after_the_restart(
    course: Course, exchange: Path, submit: Submit, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noted last, after the feedback is back."""
    submit("ada", STAMPS[0], **RIGHT)
    with monkeypatch.context() as patch:
        patch.setattr(attempts.ArrivalLog, "add", _killed)
        with pytest.raises(KeyboardInterrupt):
            look(exchange)
    told = look(exchange)
    assert [done.arrival.student for done in told.done] == ["ada"]
    assert released(exchange, "ada", STAMPS[0]).is_file()


def test_a_submission_that_was_graded_but_not_given_back_is_given_back_after_the_restart(
    course: Course, exchange: Path, submit: Submit, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is settled, so it is not graded again; it is graded again where its graded notebook is lost."""
    submit("ada", STAMPS[0], **RIGHT)
    with monkeypatch.context() as patch:
        patch.setattr(CourseExchange, "return_feedback", _killed)
        with pytest.raises(KeyboardInterrupt):
            look(exchange)
    assert look(exchange).graded == []
    assert released(exchange, "ada", STAMPS[0]).is_file()
    shutil.rmtree(course.autograded)
    submit("ada", STAMPS[1], **RIGHT)
    assert look(exchange).graded == [("ada", 18)]


def test_the_same_file_handed_in_again_gets_its_page_again(
    course: Course, exchange: Path, submit: Submit, look: Look
) -> None:
    """Nothing is graded, and the student's nbgrader finds the page by the secret of the newest submission."""
    submit("ada", STAMPS[0], **RIGHT)
    look(exchange)
    later = "2026-03-02 10:00:00.000000 UTC"
    submit("ada", later, **RIGHT)
    told = look(exchange)
    assert [(done.recorded, done.returned) for done in told.done] == [(None, True)]
    assert "18 of 18" in released(exchange, "ada", later).read_text(encoding="utf-8")
    assert course.feedback_page("ada", LESSON).with_name("timestamp.txt").read_text() == later
    assert len(list(AttemptLog(course.reports))) == 1


def _killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_a_new_answer_withdraws_is_told(
    course: Course, exchange: Path, submit: Submit, look: Look
) -> None:
    """Points given by hand to the earlier answer are gone, and the instructor reads which."""
    submit("ada", STAMPS[0], **RIGHT)
    look(exchange)
    book = open_gradebook(course)
    book.find_grade("why", LESSON, LESSON, "ada").manual_score = 1.5
    book.db.commit()
    book.close()
    submit("ada", STAMPS[1], **{**RIGHT, "why": "Another."})
    (done,) = look(exchange).done
    assert done.recorded
    assert done.recorded.withdrawn == [Withdrawn("why", 1.5)]


def test_what_is_told_counts_what_was_given_by_hand(
    course: Course, exchange: Path, submit: Submit, look: Look
) -> None:
    """As the page does: the points stay while their answer is the same."""
    submit("ada", STAMPS[0], **RIGHT)
    assert [done.recorded and done.recorded.total for done in look(exchange).done] == [
        "18 of 18 points graded, 2 pending"
    ]
    with open_gradebook(course) as book:
        give_points(book, LESSON, "ada", "why", 1.5)
    submit("ada", STAMPS[1], **{**RIGHT, "double": "# half"})
    assert [done.recorded and done.recorded.total for done in look(exchange).done] == ["15.5 of 20 points"]
    page = course.feedback_page("ada", LESSON).read_text(encoding="utf-8")
    assert "15.5 of 20 points" in page


def test_an_older_submission_never_replaces_a_newer_one(exchange: Path, submit: Submit, look: Look) -> None:
    """Of several that wait, the newest is graded; a late copy of an old one is left."""
    submit("ada", STAMPS[1], double="# half")
    submit("ada", STAMPS[2], **RIGHT)
    assert look(exchange).graded == [("ada", 18)]
    submit("ada", STAMPS[0], double="# half")
    assert look(exchange).done == []


def test_attempts_are_limited_by_the_hour_and_wait(
    exchange: Path, submit: Submit, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third of two waits, another student does not, and an hour later it is graded."""
    for number in range(3):
        submit("ada", STAMPS[number], double=f"# half {number}")
        told = look(exchange, most=2)
        assert len(told.graded) == (number < 2)
    assert len(told.notes) == 1
    assert "waits until" in told.notes[0]
    submit("bo", STAMPS[0], **RIGHT)
    assert look(exchange, most=2).graded == [("bo", 18)]
    now = time.time()
    monkeypatch.setattr(attempts.time, "time", lambda: now + 3601)
    assert look(exchange, most=2).graded == [("ada", 4)]


def test_a_slow_submission_delays_nobody(exchange: Path, submit: Submit, look: Look) -> None:
    """It goes on in a worker of its own, and ends; the others were graded meanwhile."""
    submit("ada", STAMPS[0], double="# half sleep")
    submit("bo", STAMPS[1], **RIGHT)
    submit("cyd", STAMPS[2], **RIGHT)
    told = look(exchange, quick=2.0, make=make_sleepy)
    assert told.graded == [("bo", 18), ("cyd", 18), ("ada", 4)]
    ada = told.done[-1]
    assert 2 < ada.seconds < 60
    assert ada.returned


def test_the_line_is_looked_for_after_the_feedback_is_back(
    course: Course, exchange: Path, submit: Submit, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the page is given back once more, and nothing is graded twice."""
    pages: list[tuple[str, bool]] = []
    give_back = CourseExchange.return_feedback

    def watched(self: CourseExchange, student: str, lesson: str) -> bool:
        page = course.feedback_page(student, lesson).read_text(encoding="utf-8")
        pages.append((student, "another number" in page))
        return give_back(self, student, lesson)

    monkeypatch.setattr(CourseExchange, "return_feedback", watched)
    submit("ada", STAMPS[0], **RIGHT)
    submit("bo", STAMPS[0], double="# half")
    told = look(exchange, make=make_finding)
    assert sorted(told.graded) == [("ada", 18), ("bo", 4)]
    assert [told_line for student, told_line in pages if student == "bo"] == [False, True]
    assert "another number" in released(exchange, "bo", STAMPS[0]).read_text(encoding="utf-8")
    kept = AttemptLog(course.reports).last("bo", LESSON)
    assert kept is not None
    assert [each.kind for each in kept.report.exercise("double").lines or ()] == ["another number"]
    assert look(exchange, make=make_finding).done == []


def test_a_submission_that_ends_every_worker_is_left_to_a_person(
    exchange: Path, submit: Submit, look: Look
) -> None:
    """After a second try, apart from the others."""
    submit("ada", STAMPS[0], double="# die")
    submit("bo", STAMPS[1], **RIGHT)
    told = look(exchange)
    assert sorted(told.graded) == [("ada", 0), ("bo", 18)]
    faulty = {done.arrival.student: bool(done.attempt and done.attempt.faulty) for done in told.done}
    assert faulty == {"ada": True, "bo": False}


def test_each_student_has_a_share_of_the_grading_time(
    exchange: Path, submit: Submit, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A student who has used it up waits, however many attempts are left; others don't."""
    monkeypatch.setattr(watch, "SHARE", 0.001)
    submit("ada", STAMPS[0], double="# half")
    look(exchange)
    submit("ada", STAMPS[1], **RIGHT)
    submit("bo", STAMPS[2], **RIGHT)
    told = look(exchange)
    assert told.graded == [("bo", 18)]
    (note,) = told.notes
    assert "ada, 03_tiny: waits until" in note


def test_students_take_turns(course: Course, tmp_path: Path) -> None:
    """One submission each at a time; the student with fewer turns is next; one attempt an hour means one."""
    for name in ("ada/01", "ada/02", "ada/03", "bo/01"):
        (tmp_path / "inbox" / name).mkdir(parents=True)
        (tmp_path / "inbox" / name / "n.ipynb").write_text("{}")
        os.utime(tmp_path / "inbox" / name / "n.ipynb", (1, 1 if "ada" in name else 2))
    grader, notes, clock = OneByOne(course), list[str](), iter(range(0, 10_000, 30))
    inbox_ = inbox.Inbox(tmp_path / "inbox", ["01", "02", "03"], is_exchange=False)
    uploads = inbox.UploadTracker(lambda: float(next(clock)))
    for most, begun in ((1, ["ada", "bo"]), (2, ["ada"]), (9, ["ada"])):
        Watch(inbox_, grader, lambda _: None, notes.append, most, uploads).run(threading.Event(), once=True)
        assert grader.begun == begun
        grader.begun.clear()
    assert all("waits until" in note for note in notes)


def test_stopping_says_that_it_waits_for_what_is_being_graded(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise half a minute without a word looks like a program that hangs."""
    monkeypatch.setattr(watch, "QUICK", 0.1)
    grader, notes, stop = OneByOne(course), list[str](), threading.Event()
    monkeypatch.setattr(grader, "finished", lambda: iter(()))
    (tmp_path / "inbox").mkdir()
    arrival = Arrival("ada", "01", tmp_path / "inbox" / "ada" / "01", "key", "1", from_exchange=False)
    grader.turns["ada"] = Turn(arrival, None, None, slow=False, future=Future())  # type: ignore[arg-type] # not needed here
    stop.set()
    empty = inbox.Inbox(tmp_path / "inbox", ["01"], is_exchange=False)
    Watch(empty, grader, lambda _: None, notes.append, 9).run(stop)
    assert notes[:1] == ["stopping: waiting up to 0 s for what is being graded"]


class OneByOne(ArrivalGrader):
    """Begins what it is told to, and finishes the first of it at the next look."""

    def __init__(self, course: Course) -> None:
        """Begin with nothing; there are no pools."""
        self.course, self.log = course, ArrivalLog(course.reports)
        self.turns: dict[str, Turn] = {}
        self.begun: list[str] = []

    def begin(self, arrival: Arrival, *, slow: bool) -> Done | None:
        """Note whose turn begins."""
        assert not slow
        self.begun.append(arrival.student)
        self.turns[arrival.student] = Turn(arrival, None, None, slow)  # type: ignore[arg-type] # not needed here
        return None

    def finished(self) -> Iterator[Done]:
        """Finish the turn that was begun first."""
        for student in list(self.turns)[:1]:
            arrival = self.turns.pop(student).arrival
            self.log.add(arrival.key, student, arrival.lesson, "")
            yield Done(arrival)


def test_the_same_file_again_costs_no_attempt(course: Course, exchange: Path, submit: Submit, look: Look) -> None:
    """It was graded before, and gets nothing new."""
    submit("ada", STAMPS[0], **RIGHT)
    look(exchange, most=1)
    submit("ada", STAMPS[1], **RIGHT)
    told = look(exchange, most=2)
    assert [done.attempt for done in told.done] == [None]
    submit("ada", STAMPS[2], double="# half")
    assert look(exchange, most=2).graded == [("ada", 4)]


ALSO = pytest.mark.full("another kind of file", seconds=5)


@pytest.mark.parametrize(
    "kind", ["link", pytest.param("hard link", marks=ALSO), pytest.param("pipe", marks=ALSO),
             pytest.param("folder", marks=ALSO), "too large"],
)  # fmt: skip
def test_what_is_no_plain_file_is_refused_and_not_read(
    course: Course, exchange: Path, submit: Submit, look: Look, tmp_path: Path, kind: str
) -> None:
    """The student is told so, and another's answers stay unread."""
    other = submit("bo", STAMPS[0], **RIGHT) / f"{LESSON}.ipynb"
    path = submit("ada", STAMPS[0]) / f"{LESSON}.ipynb"
    path.unlink()
    if kind == "link":
        path.symlink_to(other)
    elif kind == "hard link":
        os.link(other, path)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, 257 * 2**20)
    if kind == "hard link":  # else the other's file has two names too
        shutil.copy(other, tmp_path / "copy")
        other.unlink()
        shutil.copy(tmp_path / "copy", other)
        os.link(path, tmp_path / "second name")
    told = look(exchange)
    assert sorted(told.graded) == [("ada", 0), ("bo", 18)]
    (ada,) = [done.attempt for done in told.done if done.arrival.student == "ada"]
    assert ada is not None
    if kind == "too large":
        with pytest.raises(SubmissionError, match="larger than 256 MB"):
            read_submission(course.submission("ada", LESSON))
    else:
        assert ada.report.state.value == "wrong-file"
        assert f"is a {kind.removeprefix('hard ')}:" in ada.report.reason


def test_nobody_hands_in_for_another(exchange: Path, submit: Submit, look: Look) -> None:
    """The folder's owner has to be the student, unless nbgrader is told that users share an account."""
    submit("ada", STAMPS[0], **RIGHT)
    told = look(exchange, checks_owner=True)
    assert told.done == []
    (note,) = told.notes
    assert "that are named after others are left alone" in note
    assert "check_owner = False" in note


def test_a_plain_folder_in_the_exchange_is_nobodys(
    exchange: Path, submit: Submit, look: Look, tmp_path: Path
) -> None:
    """Everybody can write there, and such a folder has no owner to check; it is said once."""
    submitted = submit("bo", STAMPS[0], **RIGHT)
    for name in ("ada", "zoe"):
        shutil.copytree(submitted, exchange / name / LESSON)
    told = look(exchange)
    assert told.graded == [("bo", 18)]
    (note,) = told.notes
    assert note.startswith("folders in the exchange that 'nbgrader submit' did not write are left alone")


def test_a_folder_that_cannot_be_read_holds_up_nobody(
    exchange: Path, submit: Submit, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and tried again; it costs no attempt."""
    submit("ada", STAMPS[0], **RIGHT)
    submit("bo", STAMPS[0], **RIGHT)
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "_names", _closed_to("ada"))
        told = look(exchange)
    assert told.graded == [("bo", 18)]
    assert told.notes == [f"ada, {LESSON}: the folder cannot be read: Permission denied"]
    assert look(exchange, most=1).graded == [("ada", 18)]


def _closed_to(student: str) -> Callable[[Arrival], list[str]]:
    real = inbox._names

    def names(arrival: Arrival) -> list[str]:
        if arrival.student == student:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(arrival.folder))
        return real(arrival)

    return names


def test_a_lesson_that_cannot_be_graded_is_noted_and_tried_again(
    course: Course, exchange: Path, submit: Submit, look: Look
) -> None:
    """With --once the command ends with the error; a running watch goes on."""
    submit("ada", STAMPS[0], **RIGHT)
    hidden = course.release.rename(course.root / "away")
    with pytest.raises(CourseError, match="no released lesson"):
        look(exchange)
    hidden.rename(course.release)
    assert look(exchange).graded == [("ada", 18)]


def test_the_notebook_is_among_those_that_are_copied(exchange: Path, submit: Submit, look: Look) -> None:
    """However many files lie beside it."""
    folder = submit("ada", STAMPS[0], **RIGHT)
    for number in range(300):
        (folder / f"{number:03}.txt").write_text("notes")
    assert look(exchange).graded == [("ada", 18)]


def test_one_watch_at_a_time(course: Course) -> None:
    """The second one stops with one line; when the first has ended, another can start."""
    with only_one(course, "watch"):
        second = only_one(course, "watch")
        with pytest.raises(CourseError, match="another 'autograder watch' is at work"):
            second.__enter__()
    with only_one(course, "watch"):
        assert (course.reports / "watch.lock").exists()


def test_what_arrives_later_is_graded_within_seconds(
    course: Course, exchange: Path, submit: Submit, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it runs: a change in the folder wakes it, and stopping ends it."""
    monkeypatch.setattr(watch, "RESCAN", 3600.0)  # only the change can wake it
    stop = threading.Event()
    thread = threading.Thread(target=look, args=(exchange,), kwargs={"stop": stop})
    thread.start()
    time.sleep(1.5)
    submit("ada", STAMPS[0], **RIGHT)
    page = released(exchange, "ada", STAMPS[0])
    deadline = time.monotonic() + 60
    while not page.is_file() and time.monotonic() < deadline:
        time.sleep(0.2)
    stop.set()
    thread.join(timeout=30)
    assert page.is_file()
    assert not thread.is_alive()
