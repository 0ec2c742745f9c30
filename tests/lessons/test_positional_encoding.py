"""Lesson 02: unusual right answers pass, and unknown mistakes are put into words."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from autograder.lessons import load_lesson
from autograder.lessons.positional_encoding.judges import holds
from autograder.lessons.positional_encoding.reference import shift_matrix, sinusoidal_encoding
from autograder.lessons.positional_encoding.symptoms import fitted_base
from autograder.marker import Marker

HandIn = Callable[..., Path]
LESSON = "02_positional_encoding"

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
        ("sinusoidal_encoding", TABLE_BY_LOOPS),
        ("sinusoidal_encoding", TABLE_BY_NUMPY),
        ("sinusoidal_encoding", TABLE_BY_EXP),
        ("sinusoidal_encoding", TABLE_BY_PHASE),
        ("positional_encoding", LAYER_WITH_LEADING_ONE),
        ("positional_encoding", LAYER_BY_LOOPS),
        ("positional_encoding", LAYER_WITH_OWN_DROPOUT),
        ("shift_matrix", SHIFT_BY_BLOCKS),
        ("shift_matrix", SHIFT_BY_FIT),
        ("shift_matrix", SHIFT_BY_KRON),
        ("learned_position", LEARNED_BY_SLICE),
        ("learned_position", LEARNED_BY_EXPAND),
        ("learned_position", LEARNED_BY_ONE_HOT),
        ("position_choices", CHOICES),
    ],
)
def test_unusual_right_answers_pass(
    exercise: str, cell: str, marker: Marker, hand_in: HandIn
) -> None:
    """Loops, NumPy, exp and log, phases, fits, slices, one-hot products: full marks all the same."""
    report = marker.mark(LESSON, hand_in(LESSON, **{exercise: cell})).report
    assert report.exercise(exercise.replace("_", "-")).failures == []
    assert report.score == 20


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


@pytest.mark.parametrize(
    ("exercise", "cell", "said"),
    [
        ("sinusoidal_encoding", waves("p / 5000**e"), "base of about 5,000"),
        ("sinusoidal_encoding", waves("p / 10000**(2*e) + 0 * p"), "exponent doubled"),
        ("sinusoidal_encoding", waves("p / 10000**(e/2)"), "exponent halved"),
        ("sinusoidal_encoding", waves("3 * p / 10000**e"), "turns by 1 radian"),
        ("sinusoidal_encoding", waves("(p + 7) / 10000**e"), "Position 0 should read"),
        ("sinusoidal_encoding", waves("(p // 2) / 10000**e"), "Positions 0 and 1 have the same"),
        ("sinusoidal_encoding", waves("p / 10000**(e**2)"), "Pairs up to i = 0 are right"),
        ("sinusoidal_encoding", UNEQUAL, "sin² + cos²"),
        ("positional_encoding", layer("self.drop(x + self.pe[3])"), "All positions of a sample get the same"),
        ("positional_encoding", layer(SHUFFLED), "depends on the sample"),
        ("positional_encoding", layer("self.drop(x + self.pe[:s].flip(0))"), "Position 0 gets row"),
        ("positional_encoding", layer("self.drop(x + 0.7 * self.pe[:s])"), "0.7 times the row"),
        ("positional_encoding", layer("self.drop(x + self.pe[:s] ** 3)"), "Take away x"),
        ("positional_encoding", layer("F.dropout(x + self.pe[:s], 0.5)"), "0 in eval mode"),
        ("shift_matrix", shift("return m @ m"), "moves every position by 6"),
        ("shift_matrix", shift("return turn(-a)"), "turns the wrong way"),
        ("shift_matrix", shift("return m + 0.3 * torch.ones_like(m)"), "mixes two different pairs"),
        ("shift_matrix", shift("return 0.5 * m"), "length 1"),
        ("shift_matrix", shift("return turn(a ** 2)"), "turns by"),
        ("shift_matrix", shift("return turn(a * torch.arange(1, d_model // 2 + 1))"), "Pair 1 turns by"),
    ],
)  # fmt: skip
def test_unknown_mistakes_are_put_into_words(
    exercise: str, cell: str, said: str, marker: Marker, hand_in: HandIn
) -> None:
    """A mistake that no edit matches still gets a sentence about what is wrong."""
    report = marker.mark(LESSON, hand_in(LESSON, **{exercise: cell})).report
    told = report.exercise(exercise.replace("_", "-"))
    assert told.score is not None
    assert told.score < told.points
    assert any(said in check.message for check in told.failures), [c.message for c in told.failures]


def test_a_wrong_table_costs_once(marker: Marker, hand_in: HandIn) -> None:
    """The layer and the matrix are marked with a right table in the place of the student's."""
    report = marker.mark(
        LESSON, hand_in(LESSON, sinusoidal_encoding=waves("p / 10000**(2*e)"))
    ).report
    assert [ex.id for ex in report.exercises if ex.score != ex.points] == ["sinusoidal-encoding"]


@pytest.mark.parametrize(
    ("exercise", "cell", "least"),
    [
        ("sinusoidal_encoding", lambda a: a.replace("return table", "return table.double()"), 4.5),
        ("positional_encoding", lambda a: a.replace("d_model))", "d_model).double())"), 4.5),
        ("shift_matrix", lambda a: a.replace("return matrix", "return matrix.double()"), 3.5),
        ("positional_encoding", lambda a: a.replace("x = x + self", "x += self"), 4),
    ],
)
def test_a_small_slip_costs_little(
    exercise: str, cell: Callable[[str], str], least: float, marker: Marker, hand_in: HandIn
) -> None:
    """A dtype, or a changed argument, costs its own check, not the whole exercise."""
    report = marker.mark(LESSON, hand_in(LESSON, **{exercise: cell})).report
    told = report.exercise(exercise.replace("_", "-"))
    assert told.score is not None
    assert least <= told.score < told.points, told.failures


def test_a_missing_key_costs_itself_only(marker: Marker, hand_in: HandIn) -> None:
    """Three answers of four are worth three quarters, and each wrong choice is answered."""
    cell = 'answers = {"step_of_two": "B", "encoding_or_embedding": "C", "without_either": "C"}'
    report = marker.mark(LESSON, hand_in(LESSON, position_choices=cell)).report
    told = report.exercise("position-choices")
    assert told.score == 1.0
    assert any("position 512" in check.message for check in told.failures)
    assert any("no entry 'two_halves'" in check.message for check in told.failures)


@pytest.mark.parametrize("offset", [-7, 0, 1, 60])
def test_the_law_holds_for_the_right_matrix_alone(offset: int) -> None:
    """The property that is judged accepts the rotation, and no neighbour of it."""
    assert holds(shift_matrix(offset, 12), offset)
    assert not holds(shift_matrix(offset + 1, 12), offset)
    assert not holds(shift_matrix(offset, 12).T, offset) or offset == 0


@pytest.mark.parametrize("base", [100.0, 1000.0, 10000.0, 1e8])
def test_a_base_is_found_again(base: float) -> None:
    """The fit gives back the base that the speeds were made with, and nothing for other laws."""
    places = torch.arange(0, 32, 2, dtype=torch.float64) / 32
    assert fitted_base(base**-places) == pytest.approx(base, rel=1e-3)
    assert fitted_base(1 / (1 + 9 * places)) is None


def test_the_reference_is_the_papers_formula() -> None:
    """Entry by entry, with Python's own sine and cosine."""
    found = sinusoidal_encoding(11, 6)
    for pos in range(11):
        for i in range(3):
            angle = pos / 10000 ** (2 * i / 6)
            assert found[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert found[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


CATALOGUE = {
    "P01": ("sinusoidal-encoding", "doubled-and-cosine-ahead"),
    "P02": ("sinusoidal-encoding", "exponent-doubled"),
    "P03": ("sinusoidal-encoding", "own-exponent-each-column"),
    "P04": ("sinusoidal-encoding", "exchanged"),
    "P05": ("sinusoidal-encoding", "two-halves"),
    "P06": ("sinusoidal-encoding", "sines-only"),
    "P07": ("sinusoidal-encoding", "starts-at-one"),
    "P08": ("sinusoidal-encoding", "multiplied"),
    "P09": ("sinusoidal-encoding", "base-1000"),
    "P10": ("sinusoidal-encoding", "base-and-exponent-exchanged"),
    "P11": ("sinusoidal-encoding", "precedence"),
    "P12": ("sinusoidal-encoding", "degrees"),
    "P13": ("sinusoidal-encoding", "staircase"),
    "P14": ("positional-encoding", "length-first"),
    "P15": ("positional-encoding", "sliced-by-batch"),
    "P16": ("positional-encoding", "one-row"),
    "P17": ("positional-encoding", "whole-table"),
    "P18": ("positional-encoding", "counts-through-the-batch"),
    "P19": ("positional-encoding", "concatenated"),
    "P20": ("positional-encoding", "multiplied"),
    "P21": ("positional-encoding", "plain-attribute"),
    "P22": ("positional-encoding", "learnt-table"),
    "P23": ("sinusoidal-encoding", "float64"),
    "P24": ("sinusoidal-encoding", "odd-not-refused"),
    "P25": ("positional-encoding", "in-place"),
    "P27": ("positional-encoding", "dropout-on-positions"),
    "P28": ("learned-position", "looks-up-tokens"),
    "P29": ("position-choices", "slower-training"),
}
NOT_TOLD_APART = {
    "P26": "adding positions in every layer is a mistake of a stack; this lesson has no layers to stack",
}


def test_every_line_of_the_catalogue_is_named_or_explained() -> None:
    """P01 to P29 each have a misconception, or a reason why outputs cannot show them here."""
    lesson = load_lesson(LESSON)
    for exercise, mistake in CATALOGUE.values():
        assert mistake in {m.id for m in lesson[exercise].misconceptions}
    assert {*CATALOGUE, *NOT_TOLD_APART} == {f"P{number:02}" for number in range(1, 30)}
