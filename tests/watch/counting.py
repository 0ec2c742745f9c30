"""A fake grader that notes in which process it was made; workers import it by name."""

import os
from typing import Any

from tiny_course import FakeGrader

from autograder.model.course import Course


def make_counting(course: Course, _: bool) -> Any:
    """Replace `make_grader`, and note the process."""
    with (course.root / "graders").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return FakeGrader(course)
