"""Lesson 02: unusual right answers pass, and unknown mistakes are put into words."""

import math

import pytest
from conftest import ROOT
from keys import KEY
from mutants import failures, grade_mistake

from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.lessons.positional_encoding.reference import shift_matrix, sinusoidal_encoding
from autograder.lessons.positional_encoding.shift_matrix import shifts
from autograder.model.course import Course

ORACLE = Oracle(load_lesson(Course(ROOT), "02_positional_encoding"), KEY)
LESSON = ORACLE.lesson


def table(body: str) -> str:
    """Return a cell for exercise 1 with `p` (N, 1), `e` (D / 2,) in scope and `t` to be returned."""
    return (
        "def sinusoidal_encoding(max_len, d_model):\n    if d_model % 2: raise ValueError\n"
        "    p = torch.arange(max_len).unsqueeze(1); e = torch.arange(0, d_model, 2) / d_model\n"
        f"    t = torch.zeros(max_len, d_model)\n    {body}\n    return t\n"
    )


def waves(angles: str) -> str:
    """Return such a cell, interleaved, for given angles."""
    return table(f"a = {angles}; t[:, 0::2] = a.sin(); t[:, 1::2] = a.cos()")


UNEQUAL = table("a = p / 10000**e; t[:, 0::2] = a.sin(); t[:, 1::2] = (a * 1.1).cos()")
SHUFFLED = "self.drop(x + x.mean(dim=1, keepdim=True) * self.pe[:s])"


def layer(total: str) -> str:
    """Return a cell for exercise 2 whose sum is as given."""
    return (
        "class PositionalEncoding(nn.Module):\n"
        "    def __init__(self, d_model, max_len=512, dropout=0.1):\n        super().__init__()\n"
        "        self.drop = nn.Dropout(dropout)\n"
        "        self.register_buffer('pe', sinusoidal_encoding(max_len, d_model))\n"
        "    def forward(self, x):\n        s = x.size(1)\n        if s > len(self.pe): raise ValueError\n"
        f"        return {total}\n"
    )


def shift(body: str) -> str:
    """Return a cell for exercise 3 with the angles `a` (D / 2,) and the right rotation `m`."""
    return (
        "def shift_matrix(offset, d_model):\n"
        "    a = offset / 10000 ** (torch.arange(0, d_model, 2) / d_model)\n"
        "    j = torch.tensor([[0., 1.], [-1., 0.]])\n"
        "    turn = lambda b: torch.block_diag(*[torch.matrix_exp(x * j) for x in b])\n"
        f"    m = turn(a)\n    {body}\n"
    )


LEARNED_CUT_OFF = """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.embed = nn.Embedding(max_len, d_model)
    @torch.no_grad()
    def forward(self, x):
        if x.size(1) > self.embed.num_embeddings: raise ValueError
        return x + 0.5 * self.embed(torch.arange(x.size(1)))
"""


@pytest.mark.parametrize(
    ("exercise", "cell", "said"),
    [
        ("sinusoidal-encoding", waves("p / 5000**e"), "Pair i = 1"),
        ("sinusoidal-encoding", waves("p / 10000**(2*e) + 0 * p"), "Pair i = 1"),
        ("sinusoidal-encoding", waves("p / 10000**(e/2)"), "Pair i = 1"),
        ("sinusoidal-encoding", waves("3 * p / 10000**e"), "It is too"),
        ("sinusoidal-encoding", waves("(p + 7) / 10000**e"), "Pair i = 0"),
        ("sinusoidal-encoding", waves("(p // 2) / 10000**e"), "It is too"),
        ("sinusoidal-encoding", waves("p / 10000**(e**2)"), "Pair i = 1"),
        ("sinusoidal-encoding", UNEQUAL, "sin² + cos²"),
        ("positional-encoding", layer("self.drop(x + self.pe[3])"), "It gets row 3"),
        ("positional-encoding", layer("self.drop(x)"), "It gets nothing"),
        ("positional-encoding", layer(SHUFFLED), "something that is not a row"),
        ("positional-encoding", layer("self.drop(x + self.pe[:s].flip(0))"), "should get row 0 of the table. It gets row"),
        ("positional-encoding", layer("self.drop(x + 0.7 * self.pe[:s])"), "every number is 0.7 times"),
        ("positional-encoding", layer("self.drop(x + self.pe[:s] ** 3)"), "something that is not a row"),
        ("positional-encoding", layer("F.dropout(x + self.pe[:s], 0.5)"), "something that is not a row"),
        ("positional-encoding", layer("F.dropout(x + self.pe[:s], 0.3, self.training)"), "too few entries are set to 0"),
        ("shift-matrix", shift("return m @ m"), "by twice the offset"),
        ("shift-matrix", shift("return turn(-a)"), "rotate the wrong way"),
        ("shift-matrix", shift("return m + 0.3 * torch.ones_like(m)"), "The block of pair 0 is wrong"),
        ("shift-matrix", shift("return 0.5 * m"), "The block of pair 0 is wrong at [0, 0]"),
        ("shift-matrix", shift("return m.abs()"), "cos b, sin b above −sin b, cos b"),
        ("shift-matrix", shift("return turn(a ** 2)"), "The block of pair"),
        ("shift-matrix", shift("return turn(a * torch.arange(1, d_model // 2 + 1))"), "The block of pair 1 is wrong"),
        ("learned-position", LEARNED_CUT_OFF, "No gradient reaches `embed.weight`"),
    ],
)  # fmt: skip
def test_unknown_mistakes_are_put_into_words(exercise: str, cell: str, said: str) -> None:
    """A mistake that no edit matches still gets a sentence about what is wrong."""
    messages = failures(ORACLE, LESSON[exercise], cell).values()
    assert any(said in message for message in messages), messages


@pytest.mark.parametrize(
    ("exercise", "mistake", "check"),
    [
        ("sinusoidal-encoding", "float64", "dtype"),
        ("positional-encoding", "float64", "dtype"),
        ("shift-matrix", "float64", "dtype"),
        ("positional-encoding", "in-place", "arguments"),
    ],
)
def test_a_small_slip_fails_its_own_check_only(exercise: str, mistake: str, check: str) -> None:
    """A wrong dtype or a modified argument does not fail the checks of the numbers."""
    known = {made.id: made for made in LESSON[exercise].mistakes}
    assert grade_mistake(ORACLE, LESSON[exercise], known[mistake])["failed"] == [check]


def test_a_missing_entry_fails_its_own_check_only() -> None:
    """Each wrong or missing entry is told apart; the right ones pass."""
    cell = 'answers = {"step_of_two": "B", "encoding_or_embedding": "C", "without_either": "C"}'
    told = failures(ORACLE, LESSON["position-choices"], cell)
    assert told.keys() == {"encoding-or-embedding", "two-halves"}
    assert "position 512" in told["encoding-or-embedding"]
    assert "no entry 'two_halves'" in told["two-halves"]


@pytest.mark.parametrize("offset", [-7, 0, 1, 60])
def test_the_law_holds_for_the_right_matrix_alone(offset: int) -> None:
    """The property accepts the right rotation, but neither the next one nor its transpose."""
    assert shifts(shift_matrix(offset, 12), offset)
    assert not shifts(shift_matrix(offset + 1, 12), offset)
    assert not shifts(shift_matrix(offset, 12).T, offset) or offset == 0


def test_the_reference_is_the_papers_formula() -> None:
    """Entry by entry, with Python's own sine and cosine."""
    found = sinusoidal_encoding(11, 6)
    for pos in range(11):
        for i in range(3):
            angle = pos / 10000 ** (2 * i / 6)
            assert found[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert found[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
