"""A cell's definitions are found, and the lines of one answer can be taken out of it."""

import pytest

from autograder.submissions.answer_text import extract, is_blank, parse, same_code, undefined_words, without
from coursework.cells import defines

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
        ("async def one(x): pass", True),
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
    """At the top level, in valid and in broken Python."""
    assert defines(text, "one") is found
    assert not defines(text, "")


def test_an_answer_is_taken_out_with_what_is_about_it() -> None:
    """With its entries, tests and prints, and a function with its decorators; the rest stays."""
    left = without(MERGED, {"two", "answers"})
    assert left.split() == ["import", "math", "@decorated", "def", "one(x):", "return", "two(x)", "assert", "one(2)", "y", "=", "two(1)"]
    assert "@decorated" not in without(MERGED, {"one"})
    assert without("def broken(:\n  two", {"two"}) == "def broken(:\n  two"


def test_statements_that_share_a_line_stay_together() -> None:
    """A line is kept if any of its statements is."""
    assert without("one = 1; two = 2", {"two"}) == "one = 1; two = 2"


def test_magics_do_not_hide_the_python_around_them() -> None:
    """Line magics, shell commands and cell magics are not syntax errors."""
    assert parse("%%time\n!pip install x\ndef one():\n    %time 1\n    return 1") is not None
    assert parse("def one(:") is None


@pytest.mark.parametrize("text", ["1+" * 50_000 + "1", "(" * 5000, "x" + ".a" * 5000, "-" * 9999 + "1"])
def test_deep_nesting_is_answered_not_raised(text: str) -> None:
    """Neither the parser nor the comparison raises an error."""
    assert same_code(text, "x = 1") is False
    assert isinstance(is_blank(text), bool)


def test_the_same_code_is_known_through_comments_and_spaces() -> None:
    """An answer that differs from the skeleton only in these is unanswered."""
    assert same_code("def f():\n    # mine\n    pass", "def f(): pass")
    assert not same_code("def f(): return 1", "def f(): pass")
    assert is_blank("# only this\n")
    assert not is_blank("x = (")


def test_extract_returns_only_definitions_of_these_names() -> None:
    """Imports, functions and classes, but no other statement."""
    demo = "import numpy as np, os\nfrom a.b import c\ndef f():\n    return 1\ntrain(f)\nx = 1"
    assert extract(demo, {"np"}) == "import numpy as np, os"
    assert extract(demo, {"f", "x", "c"}) == "from a.b import c\ndef f():\n    return 1"
    assert extract("broken(", {"broken"}) == ""


def test_words_that_a_cell_defines_are_not_undefined() -> None:
    """It does not matter which of the cells defines a word."""
    assert {"plt", "x"} <= undefined_words(["def f(x): plt.plot(g(x))", "g = 1"])
    assert not {"f", "g"} & undefined_words(["def f(x): plt.plot(g(x))", "g = 1"])
