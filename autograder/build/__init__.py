"""The build: a lesson's text to instructor, release and solution notebooks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from autograder.text.cells import Cell, Kind
from autograder.text.lesson import LessonText, read_lesson

if TYPE_CHECKING:
    from autograder.build.gradebook import register
    from autograder.build.steps import build, check
    from autograder.build.unshown import unshown

__all__ = ["Cell", "Kind", "LessonText", "build", "check", "read_lesson", "register", "unshown"]

# These bring nbgrader and nbclient with them: most of a second that reading a lesson can do without.
_LATER = {
    "build": "autograder.build.steps",
    "check": "autograder.build.steps",
    "register": "autograder.build.gradebook",
    "unshown": "autograder.build.unshown",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'autograder.build' has no attribute '{name}'")
    return getattr(import_module(_LATER[name]), name)
