"""What an exercise excludes is excluded by every path, and honest code of the same shape is not caught.

The attacks reach torch's functions under other names, below Python, in other threads, through compiled
code, through derivatives and through the course's stand-ins.
"""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from attacks import Attack, attacks
from conftest import solve

from autograder.grading.grader import Grader
from autograder.model.course import Course

pytestmark = pytest.mark.sandbox

HONEST = {
    "logsumexp": "def softmax(x, dim=-1):\n    return (x - torch.logsumexp(x, dim, keepdim=True)).exp()",
    "names": "def softmax(x, dim=-1):\n    # like F.softmax and torch._C\n"
    "    softmax_weights = torch.exp(x - x.amax(dim, keepdim=True))\n"
    "    return softmax_weights / softmax_weights.sum(dim, keepdim=True)",
    "einsum": "def softmax(x, dim=-1):\n    e = (x - x.amax(dim, keepdim=True)).exp().movedim(dim, -1)\n"
    "    total = torch.einsum('...k,k->...', e, torch.ones(e.size(-1), dtype=e.dtype))\n"
    "    return (e / total[..., None]).movedim(-1, dim)",
    "compiled": "@torch.compile\ndef softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim, keepdim=True))\n"
    "    return e / e.sum(dim, keepdim=True)",
    "scripted": "@torch.jit.script\ndef softmax(x: torch.Tensor, dim: int = -1):\n"
    "    e = torch.exp(x - torch.amax(x, dim, keepdim=True))\n    return e / torch.sum(e, dim, keepdim=True)",
    "hooked": "def softmax(x, dim=-1):\n    e = torch.exp(x - x.amax(dim, keepdim=True))\n"
    "    if e.requires_grad:\n        e.register_hook(lambda gradient: gradient * 1)\n    return e / e.sum(dim, keepdim=True)",
    "a-number-and-a-tuple-of-its-own": "import enum\nfrom typing import NamedTuple\nclass Axis(enum.IntEnum):\n    LAST = -1\n"
    "class Parts(NamedTuple):\n    top: torch.Tensor\n    all: torch.Tensor\n"
    "def softmax(x, dim=-1):\n    dim = Axis(dim) if dim == -1 else dim\n    e = torch.exp(x - x.amax(dim, keepdim=True))\n"
    "    return torch.stack(Parts(e / e.sum(dim, keepdim=True), e))[0]",
    "a-class-of-its-own": "class Softmax(nn.Module):\n    def forward(self, x, dim=-1):\n"
    "        e = torch.exp(x - x.amax(dim, keepdim=True))\n        return e / e.sum(dim, keepdim=True)\nsoftmax = Softmax()",
}


@pytest.fixture
def graded(tmp_path: Path, grader: Grader, course: Course) -> Callable[[str, str, str], tuple[float, str]]:
    """Give a function that grades one cell, and returns the points and the first message."""

    def grade(lesson: str, exercise: str, cell: str) -> tuple[float, str]:
        notebook = solve(course, lesson, {exercise: lambda _: cell})
        wanted = {exercise, f"{exercise}-test"}
        about = [each.metadata.get("nbgrader", {}) for each in notebook.cells]
        notebook.cells = [
            each
            for each, its in zip(notebook.cells, about, strict=True)
            if its.get("grade_id") in wanted or (its.get("locked") and not its.get("grade"))
        ]
        path = tmp_path / f"{lesson}.ipynb"
        nbformat.write(notebook, path)
        report = grader.grade(lesson, path).report.exercise(exercise)
        assert report.score is not None
        return report.score, next((check.message for check in report.checks if not check.passed), "")

    return grade


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_softmax_is_accepted(name: str, graded: Callable[..., tuple[float, str]]) -> None:
    """Near misses: other forms of the same computation, names and comments that mention the library's."""
    assert graded("03_attention", "softmax", HONEST[name]) == (2, "")


def test_stand_ins_that_a_lesson_hands_out_may_be_used(graded: Callable[..., tuple[float, str]], course: Course) -> None:
    """The attention of lesson 05 runs on torch's own, and that is not the student's doing."""
    lines = [
        "class EncoderLayer(nn.Module):",
        "    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):",
        "        super().__init__()",
        "        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)",
        "        self.feed_forward = FeedForward(d_model, d_ff, dropout)",
        "        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)",
        "        self.dropout = nn.Dropout(dropout)",
        "    def forward(self, x, mask=None):",
        "        x = self.norm1(x + self.dropout(self.self_attention(x, x, x, mask)[0]))",
        "        return self.norm2(x + self.dropout(self.feed_forward(x)))",
    ]
    assert graded("05_encoder", "encoder-layer", "\n".join(lines)) == (6, "")


# One of each kind, for `make test`: under another name, in compiled code, in a thread, over another dimension, through
# derivatives, through the course's stand-ins, called back by torch, hidden in a right answer.
EACH_KIND = {
    "after-the-call",
    "cross-entropy-module",
    "finished-plain",
    "mha-inside",
    "norm-batch",
    "softmax-jit",
    "softmax-logexp",
    "softmax-standin",
    "softmax-thread",
    "softmax-vmap",
    "stand-in-subclass",
    "table-by-file",
}
ALSO = pytest.mark.full("attacks that differ in one path", seconds=2)
LEFT_TO_KERNELS = [
    pytest.param(each, id=each.name, marks=[] if each.name in EACH_KIND else [ALSO])
    for each in attacks()
    if each.stopped == "kernels"
]


@pytest.mark.parametrize("attack", LEFT_TO_KERNELS)
def test_what_the_text_does_not_show_earns_nothing(
    attack: Attack, graded: Callable[[str, str, str], tuple[float, str]]
) -> None:
    """In a thread, compiled, called back by torch, through a stand-in: the kernels refuse it.

    What is left is what an answer earns that refuses wrong sizes, or has the parameters, and does nothing else.
    The attacks that are refused by their text are in tests/coursework/test_source_rules.py.
    """
    score, _ = graded(attack.lesson, attack.exercise, attack.cell)
    assert score <= attack.earns


def test_the_message_names_the_module_that_is_excluded(graded: Callable[..., tuple[float, str]]) -> None:
    """Where a class is built on torch's own, or holds it."""
    by_name = {each.name: each for each in attacks()}
    said = [graded(each.lesson, each.exercise, each.cell)[1] for each in (by_name["norm-subclass"], by_name["mha-inside"])]
    assert said[0].startswith("`nn.LayerNorm` is excluded in this exercise.")
    assert "`nn.MultiheadAttention` is excluded in this exercise. Build it from the parts that you wrote." in said[1]


def test_an_answer_that_is_refused_by_its_text_is_not_run(
    graded: Callable[[str, str, str], tuple[float, str]],
) -> None:
    """The student reads the line, and what to use instead."""
    cell = "def softmax(x, dim=-1):\n    return torch.ops.aten.softmax.int(x, dim)"
    assert graded("03_attention", "softmax", cell) == (
        0,
        "Line 2 uses `torch.ops`. Write this exercise with ordinary tensor operations.",
    )


GRADIENT = """
def softmax(x, dim=-1):
    y = x.detach().requires_grad_()
    return torch.autograd.grad(torch.logsumexp(y, dim).sum(), y)[0]
"""


def test_a_message_says_what_to_build_the_answer_from(
    graded: Callable[[str, str, str], tuple[float, str]],
) -> None:
    """Of a function that is excluded, and of a derivative."""
    cell = "def softmax(x, dim=-1):\n    return x.softmax(dim)"
    said = "`torch.softmax` is excluded in this exercise. Build it from `exp` and `sum`."
    assert graded("03_attention", "softmax", cell) == (0, said)
    score, message = graded("03_attention", "softmax", GRADIENT)
    assert score == 0
    assert message == (
        "Line 4 asks torch for a derivative (`grad`). Write this exercise without one. "
        "Build it from `exp` and `sum`."
    )


def test_an_answer_may_fall_back_on_its_own_work(
    graded: Callable[[str, str, str], tuple[float, str]],
) -> None:
    """Excluded functions raise an ordinary exception; what an answer does then is judged as usual."""
    cell = """
def softmax(x, dim=-1):
    try:
        return torch.softmax(x, dim)
    except RuntimeError:
        e = (x - x.amax(dim, keepdim=True)).exp()
        return e / e.sum(dim, keepdim=True)
"""
    assert graded("03_attention", "softmax", cell) == (2, "")


NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        {body}
"""
PRINTS = NORM.format(
    body="""print(x, self, x.grad_fn)
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
        return (x - mean) / torch.sqrt(variance + self.eps) * self.weight + self.bias"""
)


@pytest.mark.parametrize("line", ["import transformers", "from transformers import BertTokenizer"])
def test_a_large_library_may_be_imported(line: str, graded: Callable[..., tuple[float, str]]) -> None:
    """While it is imported it makes code, reads its own text and changes its own modules."""
    cell = f"{line}\ndef softmax(x, dim=-1):\n    e = (x - x.amax(dim, keepdim=True)).exp()\n"
    assert graded("03_attention", "softmax", f"{cell}    return e / e.sum(dim, keepdim=True)") == (2, "")


def test_an_answer_may_print_what_it_sees(graded: Callable[..., tuple[float, str]]) -> None:
    """To print a tensor, torch itself switches its overrides off."""
    assert graded("05_encoder", "layer-norm", PRINTS) == (3, "")


SLICES = NORM.format(
    body="""x = x[..., : int(x.size(-1)) : 1]
        x.note, x.width = "rows", x.size(-1)
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
        one = torch.tensor([*collections.deque([1.0])])[0]
        return (x - mean) / torch.sqrt(variance + self.eps) * one * self.weight + self.bias"""
)


def test_an_answer_may_cut_and_note(graded: Callable[..., tuple[float, str]]) -> None:
    """A slice of plain numbers, and plain values attached to a tensor, run no code."""
    assert graded("05_encoder", "layer-norm", "import collections\n" + SLICES) == (3, "")
