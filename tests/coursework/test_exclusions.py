"""What an exercise excludes is refused on every path that ends in its kernels, and nothing else is."""

import json
import multiprocessing
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from coursework import exclusions
from coursework.exclusions import EXCLUSIONS, ExcludedFunctionError, as_written, exclude, not_refused

X, Q = torch.linspace(-1, 1, 32).reshape(4, 8), torch.linspace(-1, 1, 80).reshape(2, 5, 8)
CLASSES = torch.tensor([1, 2, 3, 0])
ENCODER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)


def _in_a_thread(function: Callable[[], Any]) -> Any:
    out: list[Any] = []

    def run() -> None:
        try:
            out.append(function())
        except BaseException as problem:
            out.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(out[0], BaseException):
        raise out[0]
    return out[0]


@torch.jit.script
def _scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


PATHS: dict[str, dict[str, Callable[[], Any]]] = {
    "softmax": {
        "function": lambda: torch.softmax(X, -1),
        "functional": lambda: F.softmax(X, -1),
        "method": lambda: X.softmax(-1),
        "module": lambda: nn.Softmax(-1)(X),
        "operator": lambda: torch.ops.aten.softmax.int(X, -1),
        "kernel": lambda: torch.ops.aten._softmax(X, -1, False),
        "kernel-out": lambda: torch.ops.aten._softmax.out(X, -1, False, out=torch.empty_like(X)),
        "special": lambda: torch.special.softmax(X, -1),
        "masked": lambda: torch.masked.softmax(X, -1),
        "sparse": lambda: torch.sparse.softmax(X.to_sparse(), 1),
        "nested": lambda: torch.nested.nested_tensor([X[0], X[1]]).softmax(-1),
        "mkldnn": lambda: X.to_mkldnn().softmax(-1),
        "safe": lambda: torch.ops.aten._safe_softmax(X, -1),
        "log": lambda: F.log_softmax(X, -1).exp(),
        "softmin": lambda: F.softmin(X, -1),
        "gumbel": lambda: F.gumbel_softmax(X),
        "cross-entropy": lambda: F.cross_entropy(X, CLASSES),
        "distribution": lambda: torch.distributions.Categorical(logits=X).probs,
        "scripted": lambda: _scripted(X),
        "vmap": lambda: torch.func.vmap(lambda row: torch.softmax(row, -1))(X),
        "with-gradient": lambda: torch.softmax(X.clone().requires_grad_(), -1),
        "inference-mode": torch.inference_mode()(lambda: torch.softmax(X, -1)),
        "thread": lambda: _in_a_thread(lambda: torch.softmax(X, -1)),
        "float64": lambda: torch.softmax(X.double(), -1),
        "bfloat16": lambda: torch.softmax(X.bfloat16(), -1),
    },
    "scaled_dot_product": {
        "plain": lambda: F.scaled_dot_product_attention(Q, Q, Q),
        "with-gradient": lambda: F.scaled_dot_product_attention(Q.clone().requires_grad_(), Q, Q),
        "masked": lambda: F.scaled_dot_product_attention(Q, Q, Q, torch.ones(5, 5, dtype=torch.bool)),
        "unequal": lambda: F.scaled_dot_product_attention(Q[0], Q[0], Q[0][:, :3]),
    },
    "norms": {
        "layer": lambda: F.layer_norm(X, (8,)),
        "layer-module": lambda: nn.LayerNorm(8)(X),
        "native": lambda: torch.native_layer_norm(X, [8], None, None, 1e-5),
        "group": lambda: F.group_norm(X, 1),
        "batch": lambda: F.batch_norm(X.T, None, None, training=True),
        "instance": lambda: F.instance_norm(X[None]),
        "rms": lambda: F.rms_norm(X, (8,)),
        "mkldnn": lambda: F.batch_norm(X[None, :, None].to_mkldnn(), None, None, training=True),
    },
    "rms_norm": {
        "function": lambda: F.rms_norm(X, (8,)),
        "module": lambda: nn.RMSNorm(8)(X),
        "with-gradient": lambda: F.rms_norm(X.clone().requires_grad_(), (8,)),
        "inference-mode": torch.inference_mode()(lambda: F.rms_norm(X, (8,))),
        "operator": lambda: torch.rms_norm(X, [8]),
        "fused": lambda: torch.ops.aten._fused_rms_norm(X, [8], None, 1e-5),
    },
    "cross_entropy": {
        "function": lambda: F.cross_entropy(X, CLASSES),
        "operator": lambda: torch.ops.aten.cross_entropy_loss(X, CLASSES),
        "smoothed": lambda: nn.CrossEntropyLoss(label_smoothing=0.1)(X, CLASSES),
    },
    "finished_attention": {
        "attention": lambda: nn.MultiheadAttention(8, 2)(Q, Q, Q),
        "in-eval-mode": torch.no_grad()(lambda: nn.MultiheadAttention(8, 2).eval()(Q, Q, Q)),
        "encoder-layer": lambda: ENCODER.train()(Q),
        "encoder-layer-fast": torch.no_grad()(lambda: ENCODER.eval()(Q)),
        "encoder": lambda: nn.TransformerEncoder(ENCODER, 1)(Q),
        "decoder-layer": lambda: nn.TransformerDecoderLayer(8, 2, 16)(Q, Q),
        "transformer": lambda: nn.Transformer(8, 2, 1, 1, 16)(Q, Q),
    },
}
HONEST: dict[str, Callable[[], Any]] = {
    "exp-and-sum": lambda: X.exp() / X.exp().sum(-1, keepdim=True),
    "logsumexp": lambda: (X - X.logsumexp(-1, keepdim=True)).exp(),
    "mean-and-variance": lambda: (X - X.mean(-1, keepdim=True)) / X.var(-1, keepdim=True, correction=0).sqrt(),
    "gather": lambda: -(X - X.logsumexp(-1, keepdim=True)).gather(1, CLASSES[:, None]).mean(),
    "gradient": lambda: torch.autograd.grad((X.clone().requires_grad_()).exp().sum(), []),
    "linear": lambda: nn.Linear(8, 2)(X),
    "embedding": lambda: nn.Embedding(8, 2)(CLASSES),
    "sigmoid-and-relu": lambda: X.sigmoid() + X.relu(),
}


def _forked(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function gives in a fork: overrides last as long as their process."""
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    child = context.Process(target=lambda: writing.send(json.dumps(function(*args))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forking beside threads
        child.start()
    assert reading.poll(60), "the fork gave no answer"
    found = json.loads(reading.recv())
    child.join()
    return found


def _tried(names: list[str], paths: dict[str, Callable[[], Any]]) -> dict[str, list[str]]:
    """Return, for each path, the functions that were refused, and the exception that came."""
    called: list[str] = []
    exclude(names, called.append)
    found = {}
    for name, path in paths.items():
        called.clear()
        try:
            path()
            found[name] = [*called, "ran"]
        except ExcludedFunctionError:
            found[name] = [*called, "refused"]
        except Exception as problem:  # torch's own scripts wrap an exception
            found[name] = [*called, "refused" if called else repr(problem)]
    return found


@pytest.mark.parametrize("exclusion", PATHS)
def test_every_path_is_refused(exclusion: str) -> None:
    """Functions, methods, modules, operators, scripts, threads, vmap, all dtypes: each is named and raises."""
    found = _forked(_tried, [exclusion], PATHS[exclusion])
    names = EXCLUSIONS[exclusion].names
    assert {name: said for name, said in found.items() if said[-1] != "refused" or not names >= {*said[:-1]}} == {}


@pytest.mark.parametrize("exclusion", ["softmax", "norms", "rms_norm", "cross_entropy"])
def test_ordinary_operations_are_not_touched(exclusion: str) -> None:
    """What an answer is to be built from still works."""
    found = _forked(_tried, [exclusion], HONEST)
    assert {name: said for name, said in found.items() if said != ["ran"] and name != "gradient"} == {}


def test_one_exclusion_leaves_the_others_alone() -> None:
    """An attention may call softmax, and a loss may call log_softmax."""
    allowed = {"softmax": PATHS["softmax"]["function"], "log": PATHS["softmax"]["log"]}
    for exclusion in ("scaled_dot_product", "norms", "rms_norm", "cross_entropy", "finished_attention"):
        assert set(map(tuple, _forked(_tried, [exclusion], allowed).values())) == {("ran",)}, exclusion


def test_an_rms_norm_may_be_built_from_layer_norm() -> None:
    """Its exercise excludes RMS norms alone."""
    layer = PATHS["norms"]["layer"]
    assert _forked(_tried, ["rms_norm"], {"layer": layer}) == {"layer": ["ran"]}


def test_every_excluded_function_is_tried_when_the_sandbox_starts() -> None:
    """On this torch, all of them are refused."""
    assert _forked(not_refused) == []


def _with_a_moved_operator() -> list[str]:
    norms = EXCLUSIONS["norms"]
    operators = {known: name for known, name in norms.operators.items() if "layer" not in name}
    moved = exclusions.Exclusion(operators, norms.calls, norms.python)
    before, exclusions.EXCLUSIONS = exclusions.EXCLUSIONS, {"norms": moved}
    try:
        return not_refused()
    finally:
        exclusions.EXCLUSIONS = before


def test_a_torch_that_moved_is_noticed() -> None:
    """If layer norm no longer ends in the kernel that is overridden, its functions are named."""
    assert _forked(_with_a_moved_operator) == ["F.layer_norm", "nn.LayerNorm"]


def test_nothing_is_left_in_this_process() -> None:
    """The tests above ran in forks: here softmax still works."""
    assert torch.softmax(X, -1).sum() == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("name", "source", "written"),
    [
        ("F.batch_norm", "y = F.instance_norm(x)", "F.instance_norm"),
        ("F.batch_norm", "y = nn.BatchNorm1d(4)(x)", "nn.BatchNorm1d"),
        ("F.layer_norm", "class LayerNorm(nn.Module):\n    def f(self, x):\n        return x", "F.layer_norm"),
        ("F.layer_norm", "self.layer_norm = nn.LayerNorm(4)", "nn.LayerNorm"),
        ("torch.softmax", "w = torch.nn.functional.softmax(s, -1)", "torch.nn.functional.softmax"),
        ("torch.softmax", "w = s.softmax(-1)", "torch.softmax"),
        ("torch.log_softmax", "loss = F.cross_entropy(a, b)", "F.cross_entropy"),
        ("nn.MultiheadAttention", "from torch.nn import *", "nn.MultiheadAttention"),
        ("F.layer_norm", "y = nn.LayerNorm(", "F.layer_norm"),
    ],
)
def test_an_excluded_function_is_called_as_it_is_written(name: str, source: str, written: str) -> None:
    """A student looks for the line; only names of torch are repeated, and where there is none, the operator's."""
    assert as_written(name, source) == written
