"""nbgrader makes the feedback pages of given students; a page that fails stops no other."""

import os

from tiny_course import LESSON, RIGHT, FakeGrader, hand_in

from autograder.grading.grade_submission import grade_submission
from autograder.grading.pool import Pool
from autograder.model.course import Course
from autograder.reports import feedback_pages
from autograder.reports.graded_notebook import graded_page
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission


def graded(course: Course, *students: str, **answers: str) -> None:
    """Hand in, grade and record for each student."""
    with Recorder(course) as recorder:
        for student in students:
            hand_in(course, student, **answers)
            submission = Submission(course, student, LESSON, "v")
            attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
            recorder.keep(attempt, graded_page(notebook, attempt))


def test_a_page_shows_score_explanation_and_answer(course: Course) -> None:
    """Nbgrader's part and ours are on one page."""
    graded(course, "alice", double="# half", why="Because <script>steal()</script>.")
    assert feedback_pages.generate(course, LESSON, ["alice"]) == {}
    page = course.feedback_page("alice", LESSON).read_text(encoding="utf-8")
    assert "4 of 18 points graded, 2 pending" in page
    assert "It gives the right &lt;numbers&gt;" in page
    assert "# half" in page.replace("</span>", "").replace('<span class="c1">', "")
    assert "<script>steal" not in page


def test_only_the_pages_asked_for_are_made(course: Course) -> None:
    """A name with the characters of a pattern is only a name."""
    graded(course, "[ab]", "a", "b*")
    assert feedback_pages.generate(course, LESSON, ["[ab]", "b*"]) == {}
    assert sorted(path.name for path in course.feedback.iterdir()) == ["[ab]", "b*"]


def test_a_page_that_fails_is_reported_and_the_others_are_made(course: Course) -> None:
    """The reason is one line."""
    graded(course, "alice", "bob", "carl", **RIGHT)
    path = course.autograded_notebook("bob", LESSON)
    path.chmod(0o644)
    path.write_text("{")
    failed = feedback_pages.generate(course, LESSON, ["alice", "bob", "carl"])
    assert list(failed) == ["bob"]
    assert "\n" not in failed["bob"]
    assert "JSON" in failed["bob"]
    assert not course.feedback_page("bob", LESSON).exists()
    assert course.feedback_page("carl", LESSON).is_file()


def test_a_page_is_stale_once_the_scores_are_newer(course: Course) -> None:
    """A page is made again after its submission was graded again."""
    graded(course, "alice")
    assert feedback_pages.is_stale(course, "alice", LESSON)
    feedback_pages.generate(course, LESSON, ["alice"])
    assert not feedback_pages.is_stale(course, "alice", LESSON)
    later = course.feedback_page("alice", LESSON).stat().st_mtime + 10
    os.utime(course.autograded_notebook("alice", LESSON), (later, later))
    assert feedback_pages.is_stale(course, "alice", LESSON)


def test_a_page_that_was_cut_short_is_made_again(course: Course) -> None:
    """A torn page is stale although it is newer than its notebook."""
    graded(course, "alice", **RIGHT)
    feedback_pages.generate(course, LESSON, ["alice"])
    page = course.feedback_page("alice", LESSON)
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole[: len(whole) // 2], encoding="utf-8")
    assert feedback_pages.is_stale(course, "alice", LESSON)
    feedback_pages.generate(course, LESSON, ["alice"])
    assert page.read_text(encoding="utf-8") == whole


def test_many_pages_are_made_in_several_processes(course: Course) -> None:
    """Every page is there, and a failure in another process is reported."""
    students = [f"s{number:02}" for number in range(5)]
    graded(course, *students)
    broken = course.autograded_notebook("s03", LESSON)
    broken.chmod(0o644)
    broken.write_text("{")
    spread = Pool(2, sandboxed=True).spread
    assert list(feedback_pages.generate(course, LESSON, students, workers=2, spread=spread)) == ["s03"]
    assert len(list(course.feedback.iterdir())) >= len(students) - 1
    assert not any(feedback_pages.is_stale(course, s, LESSON) for s in students if s != "s03")
