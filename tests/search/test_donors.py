"""Parts of a right answer are brought in under the student's names, as small as they can be."""

import ast

import pytest

from autograder.search import donors
from autograder.search.donors import Donor
from coursework.edits.cell import MISSING, Cell, CodeEdit

RIGHT = """\
def softmax(x, dim=-1):
    shifted = x - x.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(shifted)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
"""


def edits(mine: str, right: str = RIGHT) -> tuple[list[CodeEdit], list[CodeEdit]]:
    """Return the edits for a student's cell."""
    donor = Donor(Cell(mine), Cell(right))
    return [*donor.in_place(), *donor.anywhere()], donor.script


def test_the_smallest_part_that_differs_is_exchanged() -> None:
    """Names are the student's, and all else stays as it is."""
    mine = (
        "def softmax(values, axis=-1):\n    e = torch.exp(values - values.amax(dim=axis, keepdim=True))\n"
        "    return e / e.sum(dim=0, keepdim=True)\n"
    )
    _, script = edits(mine)
    assert [each.apply(mine) for each in script] == [mine.replace("dim=0", "dim=axis")]
    assert (script[0].first, script[0].what) == (3, "another `dim`")


def test_a_value_stands_for_a_variable_that_the_student_has_no_like_of() -> None:
    """Nothing has to be put in where a name can be written out."""
    mine = "def softmax(x, dim=-1):\n    e = torch.exp(x)\n    return e / e.sum(dim=dim, keepdim=True)\n"
    _, script = edits(mine)
    assert [each.apply(mine) for each in script] == [
        mine.replace("torch.exp(x)", "torch.exp(x - x.amax(dim=dim, keepdim=True))")
    ]


def test_a_statement_that_is_missing_is_put_in() -> None:
    """It goes where its neighbours are, and is shown as a gap."""
    right = "def f(x, size):\n    if size % 2:\n        raise ValueError\n    y = x + 1\n    return y * 2\n"
    mine = "def f(a, n):\n    b = a + 1\n    return b * 2\n"
    _, script = edits(mine, right)
    assert [each.apply(mine) for each in script] == [
        "def f(a, n):\n    if n % 2:\n        raise ValueError\n    b = a + 1\n    return b * 2\n"
    ]
    assert (script[0].first, script[0].last, script[0].what) == (1, 2, MISSING)


def test_a_whole_right_answer_is_never_put_in_front() -> None:
    """With a `return` above it, all of the student's code would stand idle, and any line would do."""
    right = "def f(x):\n    return x.sum(-1)\n"
    mine = "def f(x):\n    total = 0\n    for each in x:\n        total = each\n    return total\n"
    single, script = edits(mine, right)
    assert not any(each.what == MISSING for each in [*single, *script])


def test_attributes_take_the_names_that_the_student_gave_them() -> None:
    """What is `self.dropout` there may be `self.drop` here."""
    right = (
        "class A:\n    def __init__(self, p):\n        self.dropout = Dropout(p)\n\n"
        "    def forward(self, x):\n        return self.dropout(x + 1)\n"
    )
    mine = right.replace("dropout", "drop").replace("x + 1", "x")
    _, script = edits(mine, right)
    assert [each.apply(mine) for each in script] == [right.replace("dropout", "drop")]


@pytest.mark.parametrize(
    ("mine", "right", "kind"),
    [
        ("return q @ k.T / k.size(-1)", "return q @ k.T / math.sqrt(k.size(-1))", "one call more"),
        ("return q @ k.T / math.sqrt(k.size(-1))", "return q @ k.T / k.size(-1)", "one call fewer"),
        ("return torch.ones(n, n).triu()", "return torch.ones(n, n).tril()", "another call than `triu`"),
        ("x = n.softmax(dim=-1)", "x = n.softmax(dim=d)", "another `dim`"),
        ("x = g(n)", "y = n", "another statement"),
        ("return q @ k.T / 8", "return q @ k.T / math.sqrt(k.size(-1))", "an expression in place of the number"),
        ("return q @ k.T - 1e9", "return q @ k.T - float('inf')", "another number"),
        ("return q @ k.transpose(1, 2)", "return q @ k.transpose(-2, -1)", "other arguments of `transpose`"),
        ("return g(q, 1) + f(k, 2)", "return g(q, 2) + f(k, 1)", "another statement"),
        ("return q.view(2, 3, n, 4)", "return q.unflatten(-1, (n, d))", "an expression in place of the number"),
        ("return q.diagonal(1).mean(-1)", "return q.diagonal(n, d).mean(-1)", "other arguments of `diagonal`"),
        ("return F.pad(q[:, :-1], (1, 0))", "return torch.cat([n, q[:, :-1]], 1)", "another statement"),
        ("return q[1:].norm(1)", "return k.norm(d)", "another statement"),
        ("s = torch.ones(n, 1)", "s = torch.full((n, 1), d)", "another statement"),
    ],
)
def test_a_statement_that_differs_in_one_part_has_the_kind_of_that_part(mine: str, right: str, kind: str) -> None:
    """The student reads what sort of change it is, and not just that the statement is another one."""
    cell = Cell(f"def f(q, k, n, d):\n    {mine}")
    edit = donors._statement(cell, cell.tree.body[0].body[0], ast.parse(right).body[0], 0.0)
    assert (edit.what, edit.first, edit.last) == (kind, 2, 2)


def test_what_the_right_answer_does_with_its_value_is_done_with_the_students() -> None:
    """A division that is missing comes behind a value in another form; a limit gets what belongs to it."""
    right = "def f(q, k, n):\n    room = n - len(SPECIALS)\n    return q @ k.T / math.sqrt(room)\n"
    mine = "def f(q, k, n):\n    s = torch.matmul(q, k.T)\n    return s\n"
    single, _ = edits(mine, right)
    made = {each.apply(mine): each for each in single}
    for text in (mine.replace("k.T)", "k.T) / math.sqrt(n - len(SPECIALS))"), mine.replace("return s", "return s / math.sqrt(n - len(SPECIALS))")):
        assert made[text].what == "something more"
    mine = "def f(q, k, n):\n    return [q, k][:n]\n"
    assert mine.replace(":n", ":(n - len(SPECIALS))") in [each.apply(mine) for each in edits(mine, right)[0]]
