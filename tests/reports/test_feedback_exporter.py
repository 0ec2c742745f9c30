"""nbgrader's generate_feedback writes our pages, with what the gradebook knows."""


import os

import pytest
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from tiny_course import LESSON, RIGHT, FakeGrader, hand_in

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.reports import feedback_exporter
from autograder.reports.feedback_exporter import FeedbackExporter
from autograder.reports.formgrader import graded_notebook
from autograder.reports.student_pages import INDEX, NOTEBOOK
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import SECRET, Submission

from .hostile import Tags


def graded(course: Course, student: str = "alice", **answers: str) -> None:
    """Hand in, grade and record, and make the pages."""
    hand_in(course, student, **answers)
    published(course, student)


def record(course: Course, student: str = "alice") -> None:
    """Grade and record what was handed in."""
    submission = Submission(course, student, LESSON, "v")
    attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
    with Recorder(course) as recorder:
        recorder.record(attempt, graded_notebook(notebook, attempt))


def published(course: Course, student: str = "alice") -> None:
    """Grade and record what was handed in, and make the pages."""
    record(course, student)
    assert feedback_exporter.make_pages(course, LESSON, [student]) == {}


def text(course: Course, name: str = f"{LESSON}/{LESSON}.html") -> str:
    """Return what a reader sees of one of alice's pages, in one line."""
    page = (course.feedback / "alice" / name).read_text(encoding="utf-8")
    return " ".join(Tags(page.replace("<style>", "<!--").replace("</style>", "-->")).text.split())


def test_three_pages_are_made_and_their_links_lead_to_each_other(course: Course) -> None:
    """The feedback, the notebook beside it, and the index above."""
    graded(course, double="# half", why="Because.")
    folder = course.feedback_page("alice", LESSON).parent
    for path in (folder / f"{LESSON}.html", folder / NOTEBOOK, folder.parent / INDEX):
        for link in Tags(path.read_text(encoding="utf-8")).links:
            target, _, anchor = link.partition("#")
            other = (path.parent / target).resolve() if target else path
            assert other.is_file()
            assert f'id="{anchor}"' in other.read_text(encoding="utf-8") or not anchor


def test_a_resubmission_shows_what_changed_on_the_page_and_in_the_index(course: Course) -> None:
    """From the scores of the attempt before."""
    graded(course, double="# half", halve="# right")
    graded(course, **RIGHT)
    assert "attempt 2" in text(course)
    assert "Since your last attempt: Exercise 1: double it 4 → 8" in text(course)
    assert "Exercise 1: double it 4 → 8" in text(course, INDEX)
    assert text(course, INDEX).index("Attempt 2") < text(course, INDEX).index("Attempt 1")


def test_an_unreadable_resubmission_leaves_no_earlier_notebook(course: Course) -> None:
    """Beside its page lies nothing that was not handed in last."""
    graded(course, **RIGHT)
    hand_in(course, "alice").write_text("{")
    published(course)
    assert "Not graded" in text(course)
    assert not course.feedback_page("alice", LESSON).with_name(NOTEBOOK).exists()


def test_scores_comments_and_penalties_of_the_gradebook_are_shown(course: Course) -> None:
    """As an instructor gave them in the formgrader."""
    graded(course, **RIGHT)
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        grade = book.find_grade("why", LESSON, LESSON, "alice")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.find_comment("why", LESSON, LESSON, "alice").manual_comment = "Which one <b>exactly</b>?"
        book.find_submission_notebook(LESSON, LESSON, "alice").late_submission_penalty = 2.0
        book.db.commit()
    assert feedback_exporter.make_pages(course, LESSON, ["alice"]) == {}
    said = text(course)
    assert "17.5 of 20 points" in said
    assert "Handed in late: 2 points taken off." in said
    assert "Your instructor's comment Which one exactly?" in said
    assert "17.5 of 20 points" in text(course, INDEX)


def test_what_came_through_the_exchange_goes_back_as_one_file(course: Course) -> None:
    """Nbgrader hands out the page alone, so that it has no links to others."""
    hand_in(course, "alice", **RIGHT).with_name(SECRET).write_text("s")
    published(course)
    links = Tags(course.feedback_page("alice", LESSON).read_text(encoding="utf-8")).links
    assert links
    assert all(link.startswith("#") for link in links)


def test_a_notebook_that_we_did_not_grade_gets_no_page(course: Course) -> None:
    """The reason says what to do."""
    with pytest.raises(NbGraderException, match="autograde it with --force"):
        FeedbackExporter().from_filename(str(course.release_notebook(LESSON)))


def recorded(course: Course, *students: str, **answers: str) -> None:
    """Hand in, grade and record for each student."""
    for student in students:
        hand_in(course, student, **answers)
        record(course, student)


def test_a_page_shows_score_explanation_and_answer(course: Course) -> None:
    """Nbgrader's part and ours are on one page."""
    recorded(course, "alice", double="# half", why="Because <script>steal()</script>.")
    assert feedback_exporter.make_pages(course, LESSON, ["alice"]) == {}
    page = course.feedback_page("alice", LESSON).read_text(encoding="utf-8")
    assert "4 of 18 points graded, 2 pending" in page
    assert "It gives the right &lt;numbers&gt;" in page
    assert "# half" in page.replace("</span>", "").replace('<span class="c1">', "")
    assert "<script>steal" not in page


def test_only_the_pages_asked_for_are_made(course: Course) -> None:
    """A name with the characters of a pattern is only a name."""
    recorded(course, "[ab]", "a", "b*")
    assert feedback_exporter.make_pages(course, LESSON, ["[ab]", "b*"]) == {}
    assert sorted(path.name for path in course.feedback.iterdir()) == ["[ab]", "b*"]


def test_a_page_that_fails_is_reported_and_the_others_are_made(course: Course) -> None:
    """The reason is one line."""
    recorded(course, "alice", "bob", "carl", **RIGHT)
    path = course.autograded_notebook("bob", LESSON)
    path.chmod(0o644)
    path.write_text("{")
    failed = feedback_exporter.make_pages(course, LESSON, ["alice", "bob", "carl"])
    assert list(failed) == ["bob"]
    assert "\n" not in failed["bob"]
    assert "JSON" in failed["bob"]
    assert not course.feedback_page("bob", LESSON).exists()
    assert course.feedback_page("carl", LESSON).is_file()


def test_a_page_is_stale_once_the_scores_are_newer(course: Course) -> None:
    """A page is made again after its submission was graded again."""
    recorded(course, "alice")
    assert feedback_exporter.is_stale(course, "alice", LESSON)
    feedback_exporter.make_pages(course, LESSON, ["alice"])
    assert not feedback_exporter.is_stale(course, "alice", LESSON)
    later = course.feedback_page("alice", LESSON).stat().st_mtime + 10
    os.utime(course.autograded_notebook("alice", LESSON), (later, later))
    assert feedback_exporter.is_stale(course, "alice", LESSON)


def test_a_page_that_was_cut_short_is_made_again(course: Course) -> None:
    """A torn page is stale although it is newer than its notebook."""
    recorded(course, "alice", **RIGHT)
    feedback_exporter.make_pages(course, LESSON, ["alice"])
    page = course.feedback_page("alice", LESSON)
    whole = page.read_text(encoding="utf-8")
    page.write_text(whole[: len(whole) // 2], encoding="utf-8")
    assert feedback_exporter.is_stale(course, "alice", LESSON)
    feedback_exporter.make_pages(course, LESSON, ["alice"])
    assert page.read_text(encoding="utf-8") == whole
