"""The settings of a course are read, or the line that stops them is named."""

from pathlib import Path

import pytest

from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError
from autograder.model.nbgrader_config import settings


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ('c.CourseDirectory.db_url = os.environ["NOT_SET_HERE"]', "KeyError: 'NOT_SET_HERE'"),
        ("c.Exchange.root = ", "SyntaxError: invalid syntax"),
        ("import not_a_module_of_ours", "ModuleNotFoundError: No module named 'not_a_module_of_ours'"),
    ],
)
def test_the_line_that_stops_the_settings_is_named(tmp_path: Path, second: str, says: str) -> None:
    """Such as a password's variable that is not set: one line, which every command reports."""
    path = tmp_path / CONFIG
    path.write_text(f"import os\n{second}\n")
    with pytest.raises(CourseError) as stopped:
        settings(Course(tmp_path))
    assert str(stopped.value).startswith(f"line 2 of {path} stops with {says}")
    assert "\n" not in str(stopped.value)
