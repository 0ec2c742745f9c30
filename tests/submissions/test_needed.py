"""An answer that is tried alone takes along what it needs, and nothing that does damage."""

from autograder.submissions.align import Part, Role
from autograder.submissions.needed import needed_cells

GIVEN = {"torch", "softmax"}


def needed(*own: str, answer: str, locked: str = "") -> list[str]:
    """Return the cells that an answer takes along from cells of the student's before it."""
    parts = [
        Part(Role.LOCKED, locked),
        *(Part(Role.OWN, source) for source in own),
        Part(Role.SOLUTION, answer, exercise="x"),
        Part(Role.TEST, "", exercise="x"),
        Part(Role.OWN, "helper = 'too late'"),
    ]
    return needed_cells(parts, "x", GIVEN)


def test_helpers_of_helpers_come_along_in_order() -> None:
    """Functions, imports, constants, and what fills them."""
    cells = ["import math as m", "TABLE = {}", "TABLE['a'] = 1", "def helper(n):\n    return m.pi * TABLE['a']"]
    assert needed(*cells, "unused = 1", answer="def f(x):\n    return helper(x)") == cells


def test_what_is_provided_is_not_taken_from_the_student() -> None:
    """A cell that shadows torch, a built-in function or an earlier exercise is left out."""
    answer = "def f(x):\n    return torch.tensor(sum(softmax(x)))"
    assert needed("torch = None", "sum = 3", "def softmax(x):\n    return 0", answer=answer) == []


def test_local_names_need_nothing() -> None:
    """A parameter or a local variable is not the global of that name."""
    answer = "def f(x):\n    total = x\n    return [total for each in x]"
    assert needed("x = 1", "total = 2", "each = 3", answer=answer) == []


def test_locked_cells_come_along_where_they_define_something() -> None:
    """Those are ours: an import that the answer uses."""
    locked = "from collections import Counter"
    assert needed(answer="def f(x):\n    return Counter(x)", locked=locked) == [locked]
    assert needed(answer="def f(x):\n    return x", locked=locked) == []


def test_cells_that_are_not_python_are_left_out() -> None:
    """Magics are skipped, broken cells define nothing."""
    cells = ["%matplotlib inline\nscale = 2", "def broken(:"]
    assert needed(*cells, answer="def f(x):\n    return scale * broken(x)") == [cells[0]]
