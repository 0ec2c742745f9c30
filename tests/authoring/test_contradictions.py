"""A lesson's text and its checks are held against each other when it is built.

Each test plants one fault in a copy of the small lesson and its checks, and wants the build to stop with the
file and the line.
"""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from lesson_texts import LESSON, make_course

import autograder.lessons
from autograder.authoring.build import build, check
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.errors import AutograderError

NUMBERS = itertools.count()
Edits = dict[str, tuple[str, str]]
Plant = Callable[[Edits], Course]


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Give a function: a course with a lesson of its own name, some of its files edited.

    A key is the text's suffix `text`, or a file of the checks; a file that does not exist is made.
    """

    def make(edits: Edits) -> Course:
        name = f"planted{next(NUMBERS)}"
        package = tmp_path / "checks" / name
        shutil.copytree(ROOT / "tests/checks_for_tests/small", package)
        for path in package.glob("*.py"):
            path.write_text(path.read_text().replace("lessons.small", f"lessons.{name}"))
        course = make_course(tmp_path / "course")
        course.text("01_small").rename(course.text(f"01_{name}"))
        for file, (old, new) in edits.items():
            path = course.text(f"01_{name}") if file == "text" else package / file
            text = path.read_text() if path.exists() else ""
            assert old in text, f"the edit of {file} does not fit"
            path.write_text(text.replace(old, new) if old else text + new)
        monkeypatch.setattr(
            autograder.lessons, "__path__", [*autograder.lessons.__path__, str(package.parent)]
        )
        return course

    return make


DOUBLE = "def double(x):\n    return 2 * x\n\n\n"
SECOND_HINT = """# <details><summary>Hint 2: multiply</summary>
#
# What is 2 · x?
#
# </details>
"""
NEW_EXERCISE = """
# %% [markdown]
# ### Stretch: more

# %% solution more
def more(x):
    ### BEGIN SOLUTION
    return x + 1
    ### END SOLUTION

# %% test more 0
assert more(1) == 2

# %% [markdown]
# <details><summary>Hint 1: a</summary></details>
# <details><summary>Hint 2: b</summary></details>
"""
OTHER_CHECKS = """
from autograder.judge.table import Check, ExerciseChecks, call
exercise = ExerciseChecks(checks=[Check("a", "b", lambda _: call(1))])
"""
MISTAKE = "\n- planted: A planted mistake\n  hint: Look.\n  edit: {edit}\n"
FAULTS: dict[str, tuple[Edits, str]] = {
    "an exercise without checks": (
        {"text": ("", NEW_EXERCISE)},
        r"planted\d+\.py:\d+: cell 'more': no checks: expected them in .*more\.py",
    ),
    "checks without an exercise": (
        {"more.py": ("", OTHER_CHECKS)},
        r"more\.py:1: .*planted\d+\.py has no exercise 'more'",
    ),
    "points that do not add up": (
        {"text": ("points: 20", "points: 21")},
        r"planted\d+\.py:1: the exercises' points add up to 20; the header declares 21",
    ),
    "points that are not declared": (
        {"text": (", coursework: {points: 20}}", "}")},
        r"planted\d+\.py:1: declare the sum of the points",
    ),
    "a number used twice": (
        {"text": ("### Exercise 2", "### Exercise 1")},
        r"planted\d+\.py:\d+: cell 'answers': the heading should read 'Exercise 2",
    ),
    "other points in the heading": (
        {"text": ("(5 points)", "(4 points)")},
        r"planted\d+\.py:\d+: cell 'why': the heading should read 'Exercise 3: … \(5 points\)'",
    ),
    "no heading": (
        {"text": ("# ### Exercise 2: choices (2.5 points)\n", "# ### Choices\n")},
        r"planted\d+\.py:\d+: cell 'answers': no heading",
    ),
    "a missing hint": (
        {"text": (SECOND_HINT, "#\n")},
        r"planted\d+\.py:\d+: cell 'double-test': expected at least 2 folded hints",
    ),
    "a hint that is not closed": (
        {"text": (SECOND_HINT, SECOND_HINT.replace("</details>\n", "\n"))},
        r"planted\d+\.py:\d+: cell 'double-test': a hint is not closed",
    ),
    "an edit that fits nowhere": (
        {"double.yaml": ("two * x", "twice * x")},
        r"double\.yaml:1: mistake 'squared': 'twice \* x' should occur once .* not 0 times",
    ),
    "an edit that fits twice": (
        {"double.yaml": ("", MISTAKE.format(edit='{"two": "three"}'))},
        r"double\.yaml:\d+: mistake 'planted': 'two' should occur once .* not 2 times",
    ),
    "an edit that should fit several times": (
        {"double.yaml": ("  edit: {\"two = 2\"", "  everywhere: {\"two = 2\"")},
        r"double\.yaml:4: mistake 'tripled': 'two = 2' should occur more than once",
    ),
    "a mistake that does not compile": (
        {"double.yaml": ("", MISTAKE.format(edit='{"two * x": "two * ("}'))},
        r"double\.yaml:\d+: mistake 'planted' of 'double' does not run",
    ),
    "a mistake that no check notices": (
        {"double.yaml": ("", MISTAKE.format(edit='{"two * x": "x * two"}'))},
        r"double\.yaml:\d+: no check of 'double' tells mistake 'planted'",
    ),
    "a mistake that is the same as none": (
        {"double.yaml": ("  edit: {\"two = 2\"", "  same_as: [nothing]\n  edit: {\"two = 2\"")},
        r"double\.yaml:4: mistake 'tripled' is the same as 'nothing'",
    ),
    "a mistake without a hint": (
        {"double.yaml": ("  hint: Count the terms.\n", "")},
        r"double\.yaml:4: mistake 'tripled' has no hint",
    ),
    "a mistake with an unknown field": (
        {"double.yaml": ("  hint: Count", "  hind: Count")},
        r"double\.yaml:4: expected '- id: title'.*hind",
    ),
    "an id that is taken": (
        {"double.yaml": ("- tripled", "- squared")},
        r"double\.yaml:4: 'squared' is on line 1 already",
    ),
    "YAML that cannot be read": (
        {"double.yaml": ("hint: What is 3 doubled?", "hint: 'What")},
        r"double\.yaml:\d+: ",
    ),
    "a reference that raises": (
        {"reference.py": ("return x + x", "return x.nothing")},
        r"double\.py:\d+: check 'whole' .* expects no exception .* raised AttributeError",
    ),
    "an exception that the reference does not raise": (
        {"double.py": ("call(0.5)", 'call(0.5), raises="ValueError"')},
        r"double\.py:\d+: check 'fraction' .* expects ValueError .* raised none",
    ),
    "an operation that does not exist": (
        {"double.py": ("lambda _: call(0.5)", "lambda _: ask(0.5)")},
        r"double\.py:\d+: check 'fraction' of 'double' breaks: NameError",
    ),
    "a fixture that does not exist": (
        {"double.py": ("import reference\n", "import reference\nfrom coursework.engine.operations import Nothing\n")},
        r"double\.py:\d+: ImportError: cannot import name 'Nothing'",
    ),
    "a model answer that fails": (
        {"reference.py": ("return x + x", "return x + 1")},
        r"double\.py:\d+: the model answer of 'double' fails check 'whole'",
    ),
    "two checks of one id": (
        {"double.py": ('"fraction"', '"whole"')},
        r"double\.py:9: there are two checks 'whole'",
    ),
    "a malformed id of a check": (
        {"double.py": ('"fraction"', '"A fraction"')},
        r"double\.py:9: 'A fraction' is not an id",
    ),
    "a check without weight": (
        {"double.py": ("call(0.5)", "call(0.5), weight=0")},
        r"double\.py:9: check 'fraction' should have a weight above 0, not 0",
    ),
    "a table without checks": (
        {"answers.py": ('entry("two", "what comes after one", choice("2", {"3": "Too far."}))', "")},
        r"answers\.py:1: there are no checks in the table",
    ),
    "mistakes without checks": (
        {"more.yaml": ("", MISTAKE.format(edit='{"a": "b"}'))},
        r"more\.yaml:1: there is no more\.py with checks",
    ),
    "two mistakes that are one": (
        {"double.yaml": ("", MISTAKE.format(edit='{"two * x": "x * x"}'))},
        r"double\.yaml:\d+: mistakes 'squared' and 'planted' of 'double' are the same edit",
    ),
    "a key that is there twice": (
        {"double.yaml": ("  hint: Count", "  hint: First.\n  hint: Count")},
        r"double\.yaml:6: the key 'hint' is there twice",
    ),
    "two exercises of one name": (
        {"answers.py": ("exercise = ExerciseChecks(", f"{DOUBLE}exercise = ExerciseChecks(reference=double, ")},
        r"answers\.py:1: 'answers' and 'double' both define `double`",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_stops_the_build_with_file_and_line(plant: Plant, fault: str) -> None:
    """Nothing is written, and `check` says the same as `build`."""
    edits, message = FAULTS[fault]
    course = plant(edits)
    for command in (lambda: build(course, execute=False), lambda: check(course)):
        with pytest.raises(AutograderError, match=message):
            command()
    assert not course.release.exists()


def test_the_lesson_without_a_fault_is_built(plant: Plant) -> None:
    """The faults above are the only ones."""
    course = plant({})
    assert build(course, execute=False)


def test_text_is_where_points_and_order_come_from(plant: Plant) -> None:
    """Other points in the text are other points for the grader: nothing repeats them."""
    course = plant({"text": ("test double 12.5", "test double 2.5")})
    lesson = load_lesson(course, course.lessons()[0])
    assert [(each.id, each.points) for each in lesson.exercises] == [
        ("double", 2.5), ("answers", 2.5), ("why", 5.0),
    ]  # fmt: skip
    assert LESSON.count("12.5") == 2
