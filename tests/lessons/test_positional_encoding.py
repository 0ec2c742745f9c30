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

TABLE_BY_LOOPS = """
def sinusoidal_encoding(max_len, d_model):
    if d_model & 1: raise ValueError
    rows = []
    for pos in range(max_len):
        row = []
        for i in range(0, d_model, 2):
            a = pos / (10000 ** (i / d_model))
            row += [math.sin(a), math.cos(a)]
        rows.append(row)
    return torch.tensor(rows)
"""
TABLE_BY_NUMPY = """
import numpy as np
def sinusoidal_encoding(max_len, d_model):
    class OddWidth(ValueError): pass
    if d_model % 2: raise OddWidth("odd")
    pos, j = np.arange(max_len)[:, None], np.arange(d_model)[None]
    angles = pos / np.power(10000, (2 * (j // 2)) / d_model)
    angles[:, 0::2], angles[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
    return torch.from_numpy(angles).float()
"""
TABLE_BY_EXP = """
def sinusoidal_encoding(max_len, d_model):
    if d_model % 2 == 1:
        raise ValueError("even, please")
    div = torch.exp(torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model))
    angles = torch.einsum("p,i->pi", torch.arange(max_len).float(), div)
    return torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)
"""
TABLE_BY_PHASE = """
def sinusoidal_encoding(max_len, d_model):
    if d_model % 2:
        raise ValueError()
    j = torch.arange(d_model)
    a = torch.arange(max_len, dtype=torch.float64)[:, None] * 10000 ** (-(j - j % 2).double() / d_model)
    return torch.sin(a + (j % 2) * math.pi / 2).to(torch.float32)
"""
LAYER_WITH_LEADING_ONE = """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        self.p = dropout
        self.max_len = max_len
        pe = sinusoidal_encoding(max_len, d_model).unsqueeze(0)
        self.register_buffer("pe", pe, persistent=False)
        self.register_buffer("also", pe)
        self.register_buffer("scale", torch.ones(1))
    def forward(self, x):
        b, s, _ = x.shape
        if s > self.max_len: raise ValueError("too long")
        out = x + self.pe[:, :s].repeat(b, 1, 1)
        return F.dropout(out, p=self.p, training=self.training)
"""
LAYER_BY_LOOPS = """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        self.drop = torch.nn.Dropout(p=dropout, inplace=True)
        self.register_buffer("pe", torch.empty(max_len, d_model))
        self.pe.copy_(sinusoidal_encoding(max_len, d_model))
        self.register_buffer("table", self.pe)
    def forward(self, x):
        limit = self.pe.shape[0]
        if not x.shape[1] <= limit:
            raise ValueError(f"{x.shape[1]} > {limit}")
        y = x.clone()
        for s in range(x.shape[1]):
            y[:, s] += self.pe[s].type_as(x)
        return self.drop(y)
"""
LAYER_WITH_OWN_DROPOUT = """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        self.keep = 1 - dropout
        self.register_buffer("pe", sinusoidal_encoding(max_len, d_model).unsqueeze(1))
    def forward(self, x):
        if x.size(-2) > len(self.pe):
            raise ValueError("too long")
        total = (x.transpose(0, 1) + self.pe[: x.size(1)]).transpose(0, 1)
        if self.training:
            total = total * torch.bernoulli(torch.full_like(total, self.keep)) / self.keep
        return total
"""
SHIFT_BY_BLOCKS = """
def shift_matrix(offset, d_model):
    blocks = []
    for i in range(d_model // 2):
        b = offset * 10000 ** (-2 * i / d_model)
        blocks.append(torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]))
    return torch.block_diag(*blocks)
"""
SHIFT_BY_FIT = """
def shift_matrix(offset, d_model):
    far = 600
    table = sinusoidal_encoding(far + abs(offset), d_model).double()
    a, b = table[: len(table) - abs(offset)], table[abs(offset):]
    if offset < 0: a, b = b, a
    return torch.linalg.lstsq(a, b).solution.T.float()
"""
SHIFT_BY_KRON = """
def shift_matrix(offset, d_model):
    row = sinusoidal_encoding(abs(offset) + 1, d_model)[abs(offset)]
    s, c = row[0::2] * (1 if offset >= 0 else -1), row[1::2]
    I = torch.eye(d_model // 2)
    even, odd = torch.tensor([[1., 0.], [0., 1.]]), torch.tensor([[0., 1.], [-1., 0.]])
    return torch.kron(I * c, even) + torch.kron(I * s, odd)
"""
LEARNED_BY_SLICE = """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.embed = nn.Embedding(num_embeddings=max_len, embedding_dim=d_model)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.register_buffer("ids", torch.arange(max_len))
    def forward(self, x):
        if x.shape[1] > self.ids.numel(): raise ValueError
        return x + self.embed.weight[: x.shape[1]].unsqueeze(0)
"""
LEARNED_BY_EXPAND = """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.max_len = max_len
        self.embed = nn.Embedding(max_len, d_model)
        self.parts = nn.ModuleList([self.embed])
    def forward(self, x):
        batch, length, _ = x.shape
        try:
            ids = torch.arange(length).expand(batch, length)
            return self.embed(ids) + x
        except IndexError as problem:
            raise ValueError("too long") from problem
"""
LEARNED_BY_ONE_HOT = """
class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.embed = nn.Embedding(max_len, d_model)
    def forward(self, x):
        n = self.embed.weight.size(0)
        if x.size(1) > n: raise ValueError("too long")
        one_hot = F.one_hot(torch.arange(x.size(1)), n).to(self.embed.weight.dtype)
        return torch.einsum("sn,nd->sd", one_hot, self.embed.weight) + x
"""
CHOICES = 'answers = dict(step_of_two="b", encoding_or_embedding=" A", without_either="(C)", two_halves="B.")'


@pytest.mark.parametrize(
    ("exercise", "cell"),
    [
        ("sinusoidal-encoding", TABLE_BY_LOOPS),
        ("sinusoidal-encoding", TABLE_BY_NUMPY),
        ("sinusoidal-encoding", TABLE_BY_EXP),
        ("sinusoidal-encoding", TABLE_BY_PHASE),
        ("positional-encoding", LAYER_WITH_LEADING_ONE),
        ("positional-encoding", LAYER_BY_LOOPS),
        ("positional-encoding", LAYER_WITH_OWN_DROPOUT),
        ("shift-matrix", SHIFT_BY_BLOCKS),
        ("shift-matrix", SHIFT_BY_FIT),
        ("shift-matrix", SHIFT_BY_KRON),
        ("learned-position", LEARNED_BY_SLICE),
        ("learned-position", LEARNED_BY_EXPAND),
        ("learned-position", LEARNED_BY_ONE_HOT),
        ("position-choices", CHOICES),
    ],
)
def test_unusual_right_answers_pass(exercise: str, cell: str) -> None:
    """Loops, NumPy, exp and log, phases, fits, slices and one-hot products pass every check."""
    assert failures(ORACLE, LESSON[exercise], cell) == {}


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
