"""Pages and files follow the gradebook, and at the latest with the next run."""

from datetime import datetime

import pytest
from tiny_course import LESSON

from autograder.model.course import Course
from autograder.reports import feedback_exporter
from autograder.reports.publish import publish
from autograder.storage.gradebook import give_comment, give_points, open_gradebook
from autograder.written.server import PageMaker

GIVEN = (LESSON, "ada", "why")


def give(course: Course) -> None:
    """Give points and a comment."""
    with open_gradebook(course) as book:
        give_points(book, *GIVEN, 1.5)
        give_comment(book, *GIVEN, "Name the *inverse*.")


def assert_shown(course: Course) -> None:
    """The student's page, the index, the CSV file and the class report have the points."""
    page = course.feedback_page("ada", LESSON).read_text(encoding="utf-8")
    assert "1.5 of 2 points" in page
    assert "Name the <em>inverse</em>." in page
    assert "9.5 of 20 points" in course.feedback.joinpath("ada", "index.html").read_text(encoding="utf-8")
    row = next(line for line in (course.reports / f"{LESSON}.csv").read_text().splitlines() if line.startswith("ada"))
    assert ",1.5," in f"{row},"
    assert course.reports.joinpath("class.html").is_file()


def test_everything_shows_what_was_given(handed_in: Course) -> None:
    """When the last page is done; nobody else's page is made again."""
    publish(handed_in, [LESSON])
    feedback_exporter.make_pages(handed_in, LESSON, ["ada", "bela"])
    before = handed_in.feedback_page("bela", LESSON).stat().st_ctime_ns
    said: list[str] = []
    with PageMaker(handed_in, said.append) as pages:
        give(handed_in)
        pages.add(LESSON, "ada")
    assert said == []
    assert_shown(handed_in)
    assert handed_in.feedback_page("bela", LESSON).stat().st_ctime_ns == before


def test_late_work_loses_by_the_score_that_it_has_now(handed_in: Course) -> None:
    """Under a rule that leaves late work nothing, points given by hand are no exception."""
    with (handed_in.root / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    with open_gradebook(handed_in) as book:
        book.find_assignment(LESSON).duedate = datetime(2026, 1, 1)
        book.db.commit()
    handed_in.submission("ada", LESSON).with_name("timestamp.txt").write_text("2026-01-02 00:00:00 UTC")
    with PageMaker(handed_in, print) as pages:
        give(handed_in)
        pages.add(LESSON, "ada")
    with open_gradebook(handed_in) as book:
        assert book.find_submission_notebook(LESSON, LESSON, "ada").late_submission_penalty == 9.5
    assert "9.5" in handed_in.feedback_page("ada", LESSON).read_text(encoding="utf-8")


def test_what_a_killed_run_left_is_made_by_the_next(
    handed_in: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page itself says that it is outdated."""
    feedback_exporter.make_pages(handed_in, LESSON, ["ada"])
    with monkeypatch.context() as killed:
        killed.setattr(PageMaker, "_make", lambda _: None)
        with PageMaker(handed_in, print) as pages:
            give(handed_in)
            pages.add(LESSON, "ada")
    assert feedback_exporter.is_stale(handed_in, "ada", LESSON)
    with PageMaker(handed_in, print) as pages:
        pages.catch_up([(LESSON, "ada")])
    assert_shown(handed_in)


def test_a_page_that_fails_is_told_and_stops_nothing(
    handed_in: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The points are in the gradebook."""
    monkeypatch.setattr("autograder.written.server.publish", lambda *_: 1 / 0)
    said: list[str] = []
    with PageMaker(handed_in, said.append) as pages:
        pages.add(LESSON, "ada")
    assert said == ["the pages are not up to date: division by zero"]
