"""Feedback pages are nbgrader's own, for the students asked for, and a failing one stops none."""

import os

import pytest

from autograder.course import Course
from autograder.record import feedback
from autograder.record.handed import Handed
from autograder.record.marking import mark
from autograder.record.recording import Recorder

from .tiny_course import LESSON, RIGHT, FakeMarker, hand_in


def marked(course: Course, *students: str, **answers: str) -> None:
    """Hand in, mark and record for each student."""
    with Recorder(course) as recorder:
        for student in students:
            hand_in(course, student, **answers)
            handed = Handed(course, student, LESSON, "v")
            recorder.keep(*mark(FakeMarker(course), handed, sandboxed=True), None)


def test_a_page_shows_score_explanation_and_answer(course: Course) -> None:
    """What nbgrader shows and what we explain are on one page."""
    marked(course, "alice", double="# half", why="Because <script>steal()</script>.")
    assert feedback.generate(course, LESSON, ["alice"]) == {}
    page = feedback.page_path(course, "alice", LESSON).read_text(encoding="utf-8")
    assert "(Score: 4.0 / 20.0)" in page
    assert "It gives the right &lt;numbers&gt;" in page
    assert "# half" in page.replace("</span>", "").replace('<span class="c1">', "")
    assert "<script>steal" not in page


def test_only_the_pages_asked_for_are_made(course: Course) -> None:
    """Names that would be patterns stand for themselves."""
    marked(course, "[ab]", "a", "b*")
    assert feedback.generate(course, LESSON, ["[ab]", "b*"]) == {}
    assert sorted(path.name for path in course.feedback.iterdir()) == ["[ab]", "b*"]


def test_a_page_that_fails_is_told_and_the_others_are_made(course: Course) -> None:
    """The reason is one line."""
    marked(course, "alice", "bob", "carl", **RIGHT)
    path = feedback.marked_path(course, "bob", LESSON)
    path.chmod(0o644)
    path.write_text("{")
    failed = feedback.generate(course, LESSON, ["alice", "bob", "carl"])
    assert list(failed) == ["bob"]
    assert "\n" not in failed["bob"]
    assert "JSON" in failed["bob"]
    assert not feedback.page_path(course, "bob", LESSON).exists()
    assert feedback.page_path(course, "carl", LESSON).is_file()


def test_a_page_is_stale_once_the_marks_are_newer(course: Course) -> None:
    """Marked again, the page is made again."""
    marked(course, "alice")
    assert feedback.is_stale(course, "alice", LESSON)
    feedback.generate(course, LESSON, ["alice"])
    assert not feedback.is_stale(course, "alice", LESSON)
    later = feedback.page_path(course, "alice", LESSON).stat().st_mtime + 10
    os.utime(feedback.marked_path(course, "alice", LESSON), (later, later))
    assert feedback.is_stale(course, "alice", LESSON)


@pytest.mark.slow
def test_many_pages_are_made_in_several_processes(course: Course) -> None:
    """Every page is there, and a failure in another process is told."""
    students = [f"s{number:02}" for number in range(feedback.ALONE + 2)]
    marked(course, *students)
    broken = feedback.marked_path(course, "s03", LESSON)
    broken.chmod(0o644)
    broken.write_text("{")
    assert list(feedback.generate(course, LESSON, students, workers=2)) == ["s03"]
    assert len(list(course.feedback.iterdir())) >= len(students) - 1
    assert not any(feedback.is_stale(course, s, LESSON) for s in students if s != "s03")
