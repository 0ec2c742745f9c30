"""The statements of two functions are paired by how alike they are, and names follow."""

import ast

from autograder.search.pairing import functions_alike, paired, variables, written_out
from coursework.edits.cell import Cell

RIGHT = "def f(x, dim):\n    total = x.sum(dim)\n    print('done')\n    return total / 2\n"


def test_names_are_the_students_and_what_has_none_is_not_copied() -> None:
    """So a statement that is the same in many forms is written out and compared once; the right answer stays."""
    ((mine, right),) = functions_alike(Cell(RIGHT.replace("total", "s").replace("dim", "axis")), Cell(RIGHT))
    pairing = paired(mine, right, {})
    assert pairing.pairs == [(0, 0), (1, 1), (2, 2)]
    assert [ast.unparse(pairing.renamed(each)) for each in pairing.right] == ["s = x.sum(axis)", "print('done')", "return s / 2"]
    assert pairing.renamed(pairing.right[1]) is pairing.right[1]
    assert ast.unparse(right) == RIGHT.strip()


def test_a_variable_is_written_out_wherever_it_is_used() -> None:
    """The form without it has the value in its place; one that was left out with another changes nothing."""
    (right,) = Cell(RIGHT).tree.body
    assert isinstance(right, ast.FunctionDef)
    assert variables(right) == ["total"]
    short = written_out(right, "total")
    assert ast.unparse(short).endswith("return x.sum(dim) / 2")
    assert "total" not in ast.unparse(short)
    assert written_out(short, "total") is short
    assert ast.unparse(right) == RIGHT.strip()


def test_each_use_of_a_value_has_brackets_where_it_needs_them() -> None:
    """Those of one use are not those of the next; what is an argument, or is set twice, stays a variable."""
    (right,) = Cell("def f(x, k):\n    s = x / k\n    x = x + 1\n    return s.exp() + g(s) + x\n").tree.body
    assert isinstance(right, ast.FunctionDef)
    assert variables(right) == ["s"]
    assert ast.unparse(written_out(right, "s")).endswith("return (x / k).exp() + g(x / k) + x")


def test_attributes_follow_another_word_for_self() -> None:
    """In a method whose first argument is `this`, they are attributes of `this`."""
    right = "class A:\n    def f(self, x):\n        self.drop = x\n        return self.drop(self.other)\n"
    mine = right.replace("self", "this").replace("drop", "dropout")
    (functions,) = functions_alike(Cell(mine), Cell(right))
    pairing = paired(*functions, {})
    assert ast.unparse(pairing.renamed(pairing.right[1])) == "return this.dropout(this.other)"
