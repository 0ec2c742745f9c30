"""What a cell defines is seen, and what belongs to another answer is taken out of it."""

import pytest

from autograder.answer_text import blank, carried, defines, same_code, tree, wanted_by, without

MERGED = """\
import math

@decorated
def one(x):
    return two(x)

def two(x):
    return x
answers["q"] = 1
print(two(3))
assert one(2)
y = two(1)
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def one(x): pass", True),
        ("class one: pass", True),
        ("one = lambda: 1", True),
        ("one: dict = {}", True),
        ("broken(\ndef one(x)", True),
        ("one == 2", False),
        ("    def one(x): pass", False),
        ("def one_more(): pass", False),
        ("one.x = 1", False),
    ],
)
def test_definitions_are_seen_in_any_text(text: str, found: bool) -> None:
    """At the top level, in Python or in what was meant to be."""
    assert defines(text, "one") is found
    assert not defines(text, "")


def test_an_answer_is_taken_out_with_what_is_about_it() -> None:
    """Definition, entries, checks and shows go; decorators with their function; the rest stays."""
    left = without(MERGED, {"two", "answers"})
    assert left.split() == ["import", "math", "@decorated", "def", "one(x):", "return", "two(x)", "assert", "one(2)", "y", "=", "two(1)"]
    assert "@decorated" not in without(MERGED, {"one"})
    assert without("def broken(:\n  two", {"two"}) == "def broken(:\n  two"


def test_statements_that_share_a_line_stay_together() -> None:
    """What is kept is never cut."""
    assert without("one = 1; two = 2", {"two"}) == "one = 1; two = 2"


def test_magics_do_not_hide_the_python_around_them() -> None:
    """Line magics, shell commands and a cell magic are no syntax errors."""
    assert tree("%%time\n!pip install x\ndef one():\n    %time 1\n    return 1") is not None
    assert tree("def one(:") is None


@pytest.mark.parametrize("text", ["1+" * 50_000 + "1", "(" * 5000, "x" + ".a" * 5000, "-" * 9999 + "1"])
def test_deep_nesting_is_answered_not_raised(text: str) -> None:
    """Whatever the parser or the comparison makes of it."""
    assert same_code(text, "x = 1") is False
    assert isinstance(blank(text), bool)


def test_the_same_code_is_known_through_comments_and_spaces() -> None:
    """An answer that differs from the skeleton in these alone is none."""
    assert same_code("def f():\n    # mine\n    pass", "def f(): pass")
    assert not same_code("def f(): return 1", "def f(): pass")
    assert blank("# only this\n")
    assert not blank("x = (")


def test_of_a_demo_only_what_is_asked_for_is_carried() -> None:
    """Imports, functions and classes by name; no loose statement."""
    demo = "import numpy as np, os\nfrom a.b import c\ndef f():\n    return 1\ntrain(f)\nx = 1"
    assert carried(demo, {"np"}) == "import numpy as np, os"
    assert carried(demo, {"f", "x", "c"}) == "from a.b import c\ndef f():\n    return 1"
    assert carried("broken(", {"broken"}) == ""


def test_what_a_cell_defines_itself_it_wants_of_nobody() -> None:
    """Words that are defined somewhere in the cells are no demo's."""
    assert {"plt", "x"} <= wanted_by(["def f(x): plt.plot(g(x))", "g = 1"])
    assert not {"f", "g"} & wanted_by(["def f(x): plt.plot(g(x))", "g = 1"])
