"""The reports show the newest attempts with the scores given by hand, and are made only when something changed."""


import os
from pathlib import Path

import pytest
from tiny_course import LESSON, RIGHT, hand_in

from autograder.model.course import CONFIG, Course
from autograder.reports.class_pages import FORMGRADER, FRONT, SIMILAR
from autograder.reports.publish import MADE_FROM, imprint, keep, made_from, publish, state
from autograder.storage.gradebook import open_gradebook

from .hostile import Tags
from .test_states import record


def _graded(course: Course) -> Course:
    hand_in(course, "perfect", **RIGHT)
    record(course, "perfect")
    return course


def _links(course: Course) -> list[str]:
    publish(course, [LESSON])
    return Tags((course.reports / FRONT).read_text(encoding="utf-8")).links


def test_every_page_and_the_scores_are_written_and_told(course: Course) -> None:
    """The front page comes first, as it leads to all others."""
    done = publish(_graded(course), [LESSON, "99_nothing"])
    assert [path.name for path in done.paths] == [FRONT, f"class-{LESSON}.html", SIMILAR, f"{LESSON}.csv"]
    assert all(path.is_file() for path in done.paths)


def test_the_course_says_where_formgrader_is(course: Course) -> None:
    """By default it is JupyterLab's own address on this machine."""
    assert f"{FORMGRADER}/gradebook/{LESSON}/{LESSON}" in _links(_graded(course))
    with (course.root / CONFIG).open("a", encoding="utf-8") as config:
        config.write("\nc.ClassReport.formgrader = 'https://hub.example/formgrader'\n")
    assert f"https://hub.example/formgrader/gradebook/{LESSON}/{LESSON}" in _links(course)


def test_a_students_own_index_page_is_linked_if_it_is_there(course: Course) -> None:
    """The name leads to it; without one, only the scores lead to pages."""
    index = "../feedback/perfect/index.html"
    graded = _graded(course)
    (graded.feedback / "perfect" / "index.html").unlink(missing_ok=True)
    assert index not in _links(graded)
    (graded.feedback / "perfect" / "index.html").write_text("<p>All lessons", encoding="utf-8")
    assert index in _links(graded)


def test_nothing_new_writes_nothing(course: Course) -> None:
    """The pages of a large class take seconds; the reports are returned all the same."""
    first = publish(_graded(course), [LESSON])
    before = [path.stat().st_mtime_ns for path in first.paths]
    second = publish(course, [LESSON])
    assert second == first
    assert [path.stat().st_mtime_ns for path in first.paths] == before


def test_a_score_given_by_hand_is_shown_at_once(course: Course) -> None:
    """It changes no file of ours, only the gradebook."""
    done = publish(_graded(course), [LESSON])
    csv = course.reports / f"{LESSON}.csv"
    before = csv.read_text(encoding="utf-8")
    with open_gradebook(course) as book:
        book.find_submission_notebook(LESSON, LESSON, "perfect").grades[0].manual_score = 0.25
        book.db.commit()
    assert publish(course, [LESSON]).reports != done.reports
    assert csv.read_text(encoding="utf-8") != before


def test_a_lessons_page_says_that_its_points_are_those_before_lateness(course: Course) -> None:
    """Only where something was taken off: students' own pages then show less."""
    publish(_graded(course), [LESSON])
    page = course.reports / f"class-{LESSON}.html"
    said = "Points on this page are those before anything is taken off for lateness"
    assert said not in page.read_text(encoding="utf-8")
    with open_gradebook(course) as book:
        book.find_submission_notebook(LESSON, LESSON, "perfect").late_submission_penalty = 2.0
        book.db.commit()
    publish(course, [LESSON])
    assert said in page.read_text(encoding="utf-8")


def test_answers_and_pages_that_changed_are_read_again(course: Course) -> None:
    """The class's pages quote answers from the graded notebooks, and anybody can remove a page."""
    done = publish(_graded(course), [LESSON])
    front, notebook = done.paths[0], course.autograded_notebook("perfect", LESSON)
    made = front.stat().st_mtime_ns
    os.utime(notebook, ns=(made, made))
    publish(course, [LESSON])
    assert front.stat().st_mtime_ns > made
    front.unlink()
    publish(course, [LESSON])
    assert front.is_file()


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page that was made from 'a'."""
    page = tmp_path / "class.html"
    page.write_text("<p>a")
    keep(tmp_path, imprint("a"), [page])
    return page


def test_the_same_source_needs_no_other_pages(page: Path) -> None:
    """The pages that were made last time are returned, in order."""
    second = page.with_name("a.csv")
    second.write_text("a")
    keep(page.parent, imprint("a"), [page, second])
    assert made_from(page.parent, imprint("a")) == [page, second]


def test_another_source_needs_other_pages(page: Path) -> None:
    """Two values are not the same source as the two joined."""
    assert made_from(page.parent, imprint("b")) is None
    keep(page.parent, imprint("a", "b"), [page])
    assert made_from(page.parent, imprint("ab")) is None


def test_a_page_that_was_changed_or_removed_is_made_again(page: Path) -> None:
    """Somebody edited it, or copied the folder without it."""
    page.write_text("<p>changed by hand")
    assert made_from(page.parent, imprint("a")) is None
    page.unlink()
    assert made_from(page.parent, imprint("a")) is None


def test_a_file_counts_by_its_state(tmp_path: Path) -> None:
    """Absent, written and changed are three sources."""
    path = tmp_path / "answer.ipynb"
    absent = state(path)
    path.write_text("one")
    written = state(path)
    path.write_text("two or more")
    assert len({imprint(absent), imprint(written), imprint(state(path))}) == 3


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"imprint": 1}', '{"imprint": "", "pages": []}'])
def test_a_torn_note_makes_the_pages_again(page: Path, torn: str) -> None:
    """A run can end while it writes."""
    (page.parent / MADE_FROM).write_text(torn)
    assert made_from(page.parent, imprint("a")) is None
