"""A tiny course for the tests of the build: one lesson with every kind of cell."""

from pathlib import Path

from autograder.model.course import CONFIG, Course
from autograder.model.lesson_text import LessonText, read_lesson

NAME = "01_small"

LESSON = '''\
# ---
# jupyter:
#   {kernelspec: {display_name: Python 3, language: python, name: python3}, coursework: {points: 20}}
# ---

# %% [markdown]
# # A small lesson
#
# ![A square of side two](images/square.svg)

# %% setup
import math

# %% [markdown]
# ### Exercise 1: doubling (12.5 points)

# %% given
def half(x: float) -> float:
    """Return half of x."""
    return x / 2


# %% solution double
def double(x: float) -> float:
    """Return twice x."""
    ### BEGIN SOLUTION
    two = 2
    return two * x
    ### END SOLUTION


# %% test double 12.5
assert double(3) == 6, "expected 6"

# %% [markdown]
# <details><summary>Hint 1: add</summary>
#
# What is x + x?
#
# </details>
#
# <details><summary>Hint 2: multiply</summary>
#
# What is 2 · x?
#
# </details>
#
# ### Exercise 2: choices (2.5 points)

# %% demo slide="fragment"
print(double(math.pi) > 6)

# %% solution answers
answers = {"two": None}
### BEGIN SOLUTION
answers = {"two": "2"}
### END SOLUTION

# %% test answers 2.5
assert set(answers) == {"two"}

# %% [markdown]
# <details><summary>Hint 1: count</summary>
#
# One, …
#
# </details>
#
# <details><summary>Hint 2: count on</summary>
#
# One, two.
#
# </details>
#
# ### Exercise 3: why (5 points)

# %% written why 5 [markdown]
# Why does doubling never lose information?
#
# ### BEGIN SOLUTION
# Halving undoes it.
# ### END SOLUTION
#
# ### BEGIN MARK SCHEME
# - 5: an inverse is named
# ### END MARK SCHEME
'''

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="2" height="2"/></svg>\n'


def make_course(root: Path, text: str = LESSON) -> Course:
    """Lay out a course folder with the lesson's text and picture, and nothing built."""
    course = Course(root)
    course.source.mkdir(parents=True)
    course.images.mkdir()
    (root / CONFIG).write_text("c = get_config()\nc.CourseDirectory.course_id = 'tiny'\n")
    (course.images / "square.svg").write_text(SQUARE)
    (course.images / "unused.svg").write_text(SQUARE)
    course.text(NAME).write_text(text)
    return course


def changed(old: str, new: str, text: str = LESSON) -> str:
    """Return the lesson's text with one edit, which has to fit."""
    assert text.count(old) == 1, f"the edit fits {text.count(old)} times: {old!r}"
    return text.replace(old, new)


def read_text(folder: Path, text: str) -> LessonText:
    """Return the cells of a lesson's text."""
    path = folder / f"{NAME}.py"
    path.write_text(text)
    return read_lesson(path)
