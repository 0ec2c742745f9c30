"""A lesson is recorded in the gradebook as releasing it with nbgrader would record it."""

import pytest
from lesson_texts import NAME, changed
from nbgrader.api import Gradebook

from autograder.authoring.build import build
from autograder.authoring.gradebook import register
from autograder.model.course import Course
from autograder.model.errors import CourseError


def _points(course: Course) -> dict[str, float]:
    with Gradebook(f"sqlite:///{course.gradebook}", "tiny") as gradebook:
        assert gradebook.find_assignment(NAME).course_id == "tiny"
        cells = gradebook.find_notebook(NAME, NAME).grade_cells
        return {cell.name: cell.max_score for cell in cells}


@pytest.mark.slow
def test_a_lesson_is_recorded_once(course: Course) -> None:
    """Points of every exercise, under the course's own id; again changes nothing; no release."""
    build(course, execute=False)
    released = course.release_notebook(NAME)
    released.unlink()
    register(course, NAME)
    register(course, NAME)
    assert _points(course) == {"double-test": 12.5, "answers-test": 2.5, "why": 5.0}
    assert not released.exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's own use of sqlalchemy
def test_marks_outlive_a_second_time(course: Course) -> None:
    """Recording again keeps submissions; another set of exercises is then refused."""
    build(course, execute=False)
    register(course, NAME)
    with Gradebook(f"sqlite:///{course.gradebook}", "tiny") as gradebook:
        gradebook.add_student("ada")
        gradebook.add_submission(NAME, "ada")
    register(course, NAME)
    with Gradebook(f"sqlite:///{course.gradebook}", "tiny") as gradebook:
        assert gradebook.find_submission(NAME, "ada").max_score == 20
    course.text(NAME).write_text(changed("written why 5", "written because 5"))
    build(course, execute=False)
    with pytest.raises(CourseError, match="Cannot add or remove cells"):
        register(course, NAME)


def test_a_lesson_has_to_be_built_first(course: Course) -> None:
    """Without an instructor's notebook there is nothing to record, and no gradebook is made."""
    with pytest.raises(CourseError, match="run 'autograder build'"):
        register(course, NAME)
    assert not course.gradebook.exists()
