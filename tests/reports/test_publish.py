"""The reports show the newest attempts with the scores given by hand."""

from tiny_course import LESSON, RIGHT, hand_in

from autograder.model.course import CONFIG, Course
from autograder.reports.class_pages import FORMGRADER, FRONT, SIMILAR
from autograder.reports.publish import publish
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
