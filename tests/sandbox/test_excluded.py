"""What an exercise excludes is excluded by every path, and honest code of the same shape is not caught.

The attacks reach torch's functions under other names, below Python, in other threads, through compiled
code, through derivatives and through the course's stand-ins.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from attacks import Attack, attacks, refused_by_text
from conftest import solve

from autograder.grading.grader import Grader
from autograder.model.course import Course

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]

SOFTMAX = {
    "special": """
def softmax(x, dim=-1):
    return torch.special.softmax(x, dim)
""",
    "softmax": """
def softmax(x, dim=-1):
    return torch._softmax(x, dim, False)
""",
    "aten": """
def softmax(x, dim=-1):
    return torch.ops.aten.softmax.int(x, dim)
""",
    "aten-out": """
def softmax(x, dim=-1):
    return torch.ops.aten._softmax.out(x, dim, False, out=torch.empty_like(x))
""",
    "safe": """
def softmax(x, dim=-1):
    return torch.ops.aten._safe_softmax(x, dim)
""",
    "sparse": """
def softmax(x, dim=-1):
    return torch.sparse.softmax(x.to_sparse(), dim % x.dim()).to_dense()
""",
    "masked": """
def softmax(x, dim=-1):
    return torch.masked.softmax(x, dim)
""",
    "jit": """
@torch.jit.script
def softmax(x: torch.Tensor, dim: int = -1):
    return torch.softmax(x, dim)
""",
    "cu": """
cu = torch.jit.CompilationUnit('def f(x, dim: int):\\n    return torch.softmax(x, dim)')
def softmax(x, dim=-1):
    return cu.f(x, dim)
""",
    "thread": """
import threading
def softmax(x, dim=-1):
    out = []
    t = threading.Thread(target=lambda: out.append(torch.softmax(x, dim)))
    t.start(); t.join()
    return out[0]
""",
    "thread2": """
import _thread, time
def softmax(x, dim=-1):
    out = []
    _thread.start_new_thread(lambda: out.append(torch.softmax(x, dim)), ())
    while not out: time.sleep(0.001)
    return out[0]
""",
    "pool": """
import concurrent.futures, queue
pool = concurrent.futures.ThreadPoolExecutor(1)
def softmax(x, dim=-1):
    return concurrent.futures.ThreadPoolExecutor(1).submit(torch.softmax, x, dim).result()
""",
    "grad": """
def softmax(x, dim=-1):
    y = x.detach().requires_grad_()
    return torch.autograd.grad(torch.logsumexp(y, dim).sum(), y)[0]
""",
    "backward": """
def softmax(x, dim=-1):
    y = x.detach().requires_grad_()
    torch.autograd.backward(torch.logsumexp(y, dim).sum())
    return y.grad
""",
    "funcgrad": """
def softmax(x, dim=-1):
    return torch.func.grad(lambda y: torch.logsumexp(y, dim).sum())(x)
""",
    "jvp": """
def softmax(x, dim=-1):
    return torch.autograd.functional.jacobian(lambda y: torch.logsumexp(y, dim).sum(), x)
""",
    "disable": """
def softmax(x, dim=-1):
    with torch._C.DisableTorchFunction():
        return torch.softmax(x, dim)
""",
    "nomode": """
def softmax(x, dim=-1):
    from torch.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        return torch.softmax(x, dim)
""",
    "module": """
soft = nn.Softmax(-1)
def softmax(x, dim=-1):
    return nn.Softmax(dim)(x)
""",
    "logexp": """
def softmax(x, dim=-1):
    return F.log_softmax(x, dim).exp()
""",
    "compile": """
f = torch.compile(torch.softmax, backend='eager')
def softmax(x, dim=-1):
    return f(x, dim)
""",
    "refs": """
import torch._refs
def softmax(x, dim=-1):
    return torch._refs.softmax(x, dim)
""",
    "multinomial-sdpa": """
def softmax(x, dim=-1):
    m = x.movedim(dim, -1)
    n = m.size(-1)
    return F.scaled_dot_product_attention(m[..., None, :], torch.eye(n, dtype=x.dtype).expand(*m.shape[:-1], n, n), torch.eye(n, dtype=x.dtype).expand(*m.shape[:-1], n, n), scale=1.0)[..., 0, :].movedim(-1, dim)
""",
    "standin": """
from coursework.stand_ins import scaled_dot_product_attention as sd
def softmax(x, dim=-1):
    m = x.movedim(dim, -1)
    n = m.size(-1)
    e = torch.eye(n, dtype=x.dtype)
    return sd(m[..., None, :] * n ** 0.5, e.expand(*m.shape[:-1], n, n), e.expand(*m.shape[:-1], n, n))[0][..., 0, :].movedim(-1, dim)
""",
    "vmap": """
def softmax(x, dim=-1):
    return torch.func.vmap(lambda y: torch.softmax(y, dim if dim < 0 else dim - 1))(x)
""",
}
NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight, self.bias = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        {body}
"""
LAYER_NORM = {
    "own-module": "return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)",
    "native": "return torch.native_layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)[0]",
    "group": "n = x.size(-1)\n        flat = F.group_norm(x.reshape(-1, n), 1, eps=self.eps)\n"
    "        return flat.reshape(x.shape) * self.weight + self.bias",
    "instance": "n = x.size(-1)\n        flat = F.instance_norm(x.reshape(1, -1, n), eps=self.eps)\n"
    "        return flat.reshape(x.shape) * self.weight + self.bias",
    "batch": "n = x.size(-1)\n        flat = F.batch_norm(x.reshape(-1, n).T, None, None, training=True, eps=self.eps).T\n"
    "        return flat.reshape(x.shape) * self.weight + self.bias",
    "rms": "x = x - x.mean(-1, keepdim=True)\n"
    "        return F.rms_norm(x, self.weight.shape, self.weight, self.eps) + self.bias",
    "stand-in": "from coursework.stand_ins import LayerNorm as theirs\n        part = theirs(x.size(-1), self.eps).to(x.dtype)\n"
    "        return part(x) * self.weight + self.bias",
}
LOSS = """
def label_smoothing_loss(logits, target, smoothing=0.1, pad_id=0):
    {body}
"""
CROSS_ENTROPY = {
    "plain": "return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad_id, label_smoothing=smoothing)",
    "module": "return nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=smoothing)(logits.mT, target)",
    "native": "return torch.ops.aten.cross_entropy_loss(logits.mT, target, None, 1, pad_id, smoothing)",
    "in-a-thread": "import threading\n    out = []\n    work = lambda: out.append(F.cross_entropy(logits.mT, target, "
    "ignore_index=pad_id, label_smoothing=smoothing))\n    t = threading.Thread(target=work)\n    t.start()\n    t.join()\n    return out[0]",
}
ATTENTION = {
    "plain": "scale = q.size(-1) ** -0.5\n    w = torch.softmax(q @ k.mT * scale, -1)\n"
    "    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask), w",
    "native": "scale = q.size(-1) ** -0.5\n    w = torch.softmax(q @ k.mT * scale, -1)\n"
    "    return torch.ops.aten.scaled_dot_product_attention(q, k, v, mask), w",
    "in-a-thread": "import concurrent.futures\n    pool = concurrent.futures.ThreadPoolExecutor(1)\n"
    "    w = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, -1)\n"
    "    return pool.submit(F.scaled_dot_product_attention, q, k, v, mask).result(), w",
}
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


@pytest.mark.parametrize("name", SOFTMAX)
def test_no_softmax_of_the_library_is_accepted(name: str, graded: Callable[..., tuple[float, str]]) -> None:
    """Whatever it is called, and whoever calls it."""
    assert graded("03_attention", "softmax", SOFTMAX[name])[0] == 0


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_softmax_is_accepted(name: str, graded: Callable[..., tuple[float, str]]) -> None:
    """Near misses: other forms of the same computation, names and comments that mention the library's."""
    assert graded("03_attention", "softmax", HONEST[name]) == (2, "")


@pytest.mark.parametrize("name", ATTENTION)
def test_no_attention_of_the_library_is_accepted(name: str, graded: Callable[..., tuple[float, str]]) -> None:
    """In a thread and below Python's names as well."""
    cell = f"def scaled_dot_product_attention(q, k, v, mask=None):\n    {ATTENTION[name]}"
    assert graded("03_attention", "scaled-dot-product-attention", cell)[0] == 0


@pytest.mark.parametrize("name", LAYER_NORM)
def test_no_norm_of_the_library_is_accepted(name: str, graded: Callable[..., tuple[float, str]]) -> None:
    """A norm over groups, batches or instances is a layer norm in disguise."""
    assert graded("05_encoder", "layer-norm", NORM.format(body=LAYER_NORM[name]))[0] == 0


def test_a_subclass_of_torchs_norm_is_no_answer(graded: Callable[..., tuple[float, str]]) -> None:
    """It does no more than torch's own."""
    cell = "class LayerNorm(nn.LayerNorm):\n    def __init__(self, d_model, eps=1e-5):\n        super().__init__(d_model, eps=eps)"
    score, message = graded("05_encoder", "layer-norm", cell)
    assert score <= 0.25  # for the values that weight and bias start with
    assert message.startswith("`F.layer_norm` is excluded in this exercise.")


@pytest.mark.parametrize("name", CROSS_ENTROPY)
def test_no_cross_entropy_of_the_library_is_accepted(name: str, graded: Callable[..., tuple[float, str]]) -> None:
    """The function, the module, the operator, and a thread."""
    assert graded("07_transformer", "label-smoothing-loss", LOSS.format(body=CROSS_ENTROPY[name]))[0] == 0


FINISHED = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError
        self.heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        inner = nn.MultiheadAttention(query.size(-1), self.heads, batch_first=True).to(query.dtype)
        parts = (self.w_q, self.w_k, self.w_v)
        inner.in_proj_weight = nn.Parameter(torch.cat([p.weight for p in parts]))
        inner.in_proj_bias = nn.Parameter(torch.cat([p.bias for p in parts]))
        inner.out_proj = self.w_o
        hidden = None
        if mask is not None:
            mask = mask.expand(query.size(0), query.size(1), key.size(1))
            hidden = ~mask.repeat_interleave(self.heads, 0)
        return inner.train(self.training)(query, key, value, attn_mask=hidden, average_attn_weights=False)
"""


def test_a_finished_attention_of_torch_is_no_answer(graded: Callable[..., tuple[float, str]]) -> None:
    """nn.MultiheadAttention inside a class of one's own earns nothing where heads are to be built."""
    score, message = graded("04_multi_head_attention", "multi-head-attention", FINISHED)
    assert score <= 0.25  # it raises ValueError as asked, without any attention
    assert "`nn.MultiheadAttention` is excluded in this exercise. Build it from the parts that you wrote." in message


STAND_INS = {
    "as-it-is": "from coursework.stand_ins import FeedForward",
    "another-module": "from coursework.stand_ins import FeedForward\nFeedForward.__module__ = '__main__'",
    "subclass": "import coursework.stand_ins as s\nclass FeedForward(s.FeedForward):\n    pass",
    "renamed-subclass": "import coursework.stand_ins as s\ns.FeedForward.__module__ = 'x'\n"
    "class FeedForward(s.FeedForward):\n    def forward(self, x):\n        return super().forward(x)",
    "wrapper": "import coursework.stand_ins as s\n"
    "def FeedForward(*args, **kwargs):\n    return s.FeedForward(*args, **kwargs)",
    "partial": "import functools, coursework.stand_ins as s\nFeedForward = functools.partial(s.FeedForward)",
    "copied-class": "import coursework.stand_ins as s\n"
    "FeedForward = type('FeedForward', (nn.Sequential,), {'__init__': lambda self, d, f, dropout=0.1: "
    "(nn.Sequential.__init__(self), [self.add_module(n, m) for n, m in s.FeedForward(d, f, dropout).named_children()], None)[-1]})",
    "through-scope": "from coursework import scope\nFeedForward = scope.stand_in('FeedForward')",
    "through-small-bert": "from coursework import small_bert\nclass FeedForward(small_bert.FeedForward):\n    pass",
}


@pytest.mark.parametrize("name", STAND_INS)
def test_a_stand_in_is_no_answer(name: str, graded: Callable[..., tuple[float, str]]) -> None:
    """However it is wrapped, renamed or inherited from."""
    assert graded("05_encoder", "feed-forward", STAND_INS[name])[0] == 0


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


REFUSES_SIZES = {"sinusoidal-encoding": 0.5}
LEFT_TO_KERNELS = [each for each in attacks() if not refused_by_text(each)]


@pytest.mark.parametrize("attack", LEFT_TO_KERNELS, ids=lambda attack: attack.name)
def test_what_the_text_does_not_show_earns_nothing(
    attack: Attack, graded: Callable[[str, str, str], tuple[float, str]]
) -> None:
    """After the call, called back by torch, in a thread, through a stand-in: the kernels refuse it.

    What is left is what an answer earns that refuses wrong sizes and does nothing else.
    """
    score, _ = graded(attack.lesson, attack.exercise, attack.cell)
    assert score <= REFUSES_SIZES.get(attack.exercise, 0.25)


def test_an_answer_that_is_refused_by_its_text_is_not_run(
    graded: Callable[[str, str, str], tuple[float, str]],
) -> None:
    """The student reads the line, and what to use instead."""
    cell = "def softmax(x, dim=-1):\n    return torch.ops.aten.softmax.int(x, dim)"
    assert graded("03_attention", "softmax", cell) == (
        0,
        "Line 2 uses `torch.ops`. Write this exercise with ordinary tensor operations.",
    )


def test_a_message_says_what_to_build_the_answer_from(
    graded: Callable[[str, str, str], tuple[float, str]],
) -> None:
    """Of a function that is excluded, and of a derivative."""
    cell = "def softmax(x, dim=-1):\n    return x.softmax(dim)"
    said = "`torch.softmax` is excluded in this exercise. Build it from `exp` and `sum`."
    assert graded("03_attention", "softmax", cell) == (0, said)
    score, message = graded("03_attention", "softmax", SOFTMAX["grad"])
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
