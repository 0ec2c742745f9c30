"""What the checks of the model and its parts share: drawn weights and pasts, and what moves with a token."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from autograder.judge import modules
from autograder.judge.table import Comparison, Draw, Judge, facts
from autograder.judge.weights import Weights, zeroed
from autograder.lessons.modern_llm.fixtures import FirstOutputs
from coursework.engine.modern_parts import PAST, InPieces, TwoWaysOn
from coursework.engine.operations import ModuleOperation

KEPT: Judge = facts({"past as it was": "Your code modified `past`, or a tensor in it, in place. Make new "
                                      "objects instead: two texts may go on from one past."})

Init = Sequence[float]
BASE, EPS = 10000.0, 1e-5  # the defaults


class ChangedOutputs(modules.ChangedPositions, FirstOutputs):
    """As `ChangedPositions`, for a module that returns its past besides its output."""

    sent_as = FirstOutputs


def matrix(draw: Draw, path: str, width_in: int, width_out: int, scale: float = 1.0) -> Weights:
    """Return the weight of a linear layer without bias."""
    return {f"{path}.weight": draw.normal(width_out, width_in, scale=scale * width_in**-0.5)}


def norm(draw: Draw, path: str, d_model: int) -> Weights:
    """Return the weight of an RMS norm, far from 1."""
    return {f"{path}.weight".lstrip("."): 1.2 + draw.normal(d_model, scale=0.3)}


def attention(draw: Draw, init: Init, path: str = "") -> Weights:
    """Return the matrices of an attention; `init` begins with d_model, num_heads and num_kv_heads.

    Queries and keys are large, so that a head looks at few positions.
    """
    d_model, heads, kv_heads = map(int, init[:3])
    shared = d_model // heads * kv_heads
    found = matrix(draw, f"{path}w_q", d_model, d_model, 1.2)
    found |= matrix(draw, f"{path}w_k", d_model, shared, 1.2)
    return found | matrix(draw, f"{path}w_v", d_model, shared) | matrix(draw, f"{path}w_o", d_model, d_model)


def layer(draw: Draw, init: Init, path: str = "") -> Weights:
    """Return the weights of a layer; `init` begins with d_model, num_heads, num_kv_heads and d_ff."""
    d_model, d_ff = int(init[0]), int(init[3])
    found = attention(draw, init, f"{path}attention.")
    for name, sizes in {"w1": (d_model, d_ff), "w2": (d_ff, d_model), "w3": (d_model, d_ff)}.items():
        found |= matrix(draw, f"{path}feed_forward.{name}", *sizes)
    return found | norm(draw, f"{path}norm1", d_model) | norm(draw, f"{path}norm2", d_model)


def model(draw: Draw, init: Init) -> Weights:
    """Return the weights of a model; `init` begins as the contract orders it, up to d_ff."""
    vocab_size, d_model, layers = map(int, init[:3])
    found = {"embedding.weight": draw.normal(vocab_size, d_model, scale=0.4)} | norm(draw, "norm", d_model)
    for number in range(layers):
        found |= layer(draw, (d_model, *init[3:]), f"layers.{number}.")
    return found


def silenced(drawn: Weights, *sublayers: str) -> Weights:
    """Return weights with which the named sublayers, "attention" and "feed_forward", put out zeros."""
    last = {"attention": ".w_o.", "feed_forward": ".w2."}
    return zeroed(drawn, *(last[name] for name in sublayers))


def changed(
    asked: ModuleOperation, where: tuple[int | slice, ...], value: torch.Tensor
) -> ChangedOutputs:
    """Call once as asked, and once with `value` in part of the first argument, and compare the outputs."""
    return modules.asked_as(ChangedOutputs, modules.changed_positions(asked, 0, where, value))


def pieces(
    init: Init, drawn: Weights, *calls: Sequence[Any], wanted: str = "both", base: float = BASE,
    eps: float | None = None,
) -> InPieces:
    """Build a class and call it piece by piece, as `InPieces` does.

    `base` and `eps` go to the constructor by name, so that a wrong default costs one check alone; without
    `eps`, it takes none.
    """
    named = {"base": base} | ({} if eps is None else {"eps": eps})
    return InPieces(init, drawn, calls, named, wanted=wanted)


def with_defaults(asked: InPieces) -> InPieces:
    """Return the same calls of a module that is built without `base` and `eps`."""
    return replace(asked, init_kwargs={})


def after(asked: InPieces) -> InPieces:
    """Return the same pieces of a text, of which only what the last one gives is the result."""
    return replace(asked, last=True)


def two_ways_on(asked: InPieces) -> TwoWaysOn:
    """Call with the first piece, and go on from there with each of the others; what changes is the past."""
    return modules.asked_as(TwoWaysOn, asked)


def cut(x: torch.Tensor, *lengths: int) -> list[list[Any]]:
    """Return calls, each with a piece of x (B, T) or (B, T, D), and the past of the call before."""
    pieces = torch.split(x, list(lengths), dim=1)
    return [[piece, PAST if number else None] for number, piece in enumerate(pieces)]


def too_many(seen: Comparison) -> str | None:
    """Say, of a `ReadState` with a total, when there are more parameters than the exercise names."""
    got, want = seen.got.value["total"], seen.expected.value["total"]
    if got > want:
        return "There are more parameters than the exercise names. Is there a bias, or one part too many?"
    if got < want:
        return "There are fewer parameters than the exercise names. Is a part missing, or too narrow?"
    return None


def as_example(asked: InPieces) -> InPieces:
    """Return the same calls as an example, whose text names no argument that has its default."""
    named = {name: value for name, value in asked.init_kwargs.items() if value not in (BASE, EPS)}
    return replace(asked, init_kwargs=named)
