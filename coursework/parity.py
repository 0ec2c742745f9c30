"""Whether a part of an earlier lesson does what later lessons expect of it: a quick comparison.

It is no marking. A part is usable when it agrees with its stand-in, with its gradients, on a few
calls of the kind that later lessons make.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

from coursework.scope import stand_in

TOLERANCE: Final = 1e-3


class DisagreementError(Exception):
    """A part does not do what its stand-in does; the message says where."""


@dataclass(frozen=True)
class Call:
    """One comparison: what is special about it, the arguments, and for a class those it is built with."""

    what: str
    args: Callable[[], Sequence[Any]]
    init: tuple[Any, ...] | None = None


def _ids() -> torch.Tensor:
    return torch.tensor([[5, 3, 8, 2, 0, 0], [4, 7, 0, 0, 0, 0]])


def _padding() -> torch.Tensor:
    return (torch.arange(7) < torch.tensor([[4], [7]]))[:, None]  # (2, 1, 7)


def _with_empty_row() -> torch.Tensor:
    mask = torch.ones(5, 7, dtype=torch.bool).tril()
    mask[2] = False
    return mask


def _heads() -> list[torch.Tensor]:
    return [torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 6)]


def _tokens() -> list[torch.Tensor]:
    return [torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.randn(2, 7, 12)]


def _translation() -> list[torch.Tensor]:
    """Six target tokens of which the last are padding, over a memory of seven, partly hidden."""
    ids = _ids()
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    return [ids, torch.randn(2, 7, 8), causal & (ids != 0)[:, None], _padding()]


CALLS: Final[Mapping[str, tuple[Call, ...]]] = {
    "scaled_dot_product_attention": (
        Call("without a mask", lambda: _heads()),
        Call("with a padding mask", lambda: [*_heads(), _padding()[:, None]]),
        Call("where a query may attend to nothing", lambda: [*_heads(), _with_empty_row()]),
    ),
    "causal_mask": (Call("for five positions", lambda: [5]),),
    "padding_mask": (
        Call("for two sentences", lambda: [_ids()]),
        Call("for another padding id", lambda: [_ids(), 7]),
    ),
    "MultiHeadAttention": (
        Call("without a mask", lambda: _tokens(), (12, 3)),
        Call("with a padding mask", lambda: [*_tokens(), _padding()], (12, 2)),
        Call("where a query may attend to nothing", lambda: [*_tokens(), _with_empty_row()], (12, 3)),
    ),
    "TokenEmbedding": (Call("for two sentences", lambda: [_ids()], (11, 6)),),
    "PositionalEncoding": (Call("for nine positions", lambda: [torch.randn(2, 9, 8)], (8,)),),
    "LayerNorm": (Call("for a batch", lambda: [torch.randn(2, 5, 6) * 3 + 1], (6,)),),
    "FeedForward": (Call("for a batch", lambda: [torch.randn(2, 5, 6)], (6, 11)),),
    "shift_right": (Call("for two sentences", lambda: [_ids()]),),
    "target_mask": (Call("for two sentences", lambda: [_ids()]),),
    "Encoder": (Call("for two sentences", lambda: [_ids(), _ids()[:, None] != 0], (11, 8, 2, 2, 12)),),
    "Decoder": (Call("for two sentences", lambda: _translation(), (11, 8, 2, 2, 12)),),
    "CausalDecoderLayer": (Call("for a batch", lambda: [torch.randn(2, 5, 8)], (8, 2, 12)),),
    "Transformer": (Call("for two sentences", lambda: [_ids(), _ids()[:, :4]], (11, 13, 8, 2, 2, 12)),),
}


def check(name: str, theirs: Any) -> None:
    """Compare a part with its stand-in. Raises DisagreementError, or whatever the part raises."""
    for call in CALLS[name]:
        torch.manual_seed(4)
        args = [_leaf(arg) for arg in call.args()]
        ours, own = stand_in(name), theirs
        if call.init is not None:
            ours, own = _built(ours, theirs, call.init)
        want, got = _outcome(ours, args), _outcome(own, args)
        if not _alike(got["value"], want["value"]):
            raise DisagreementError(f"differs from PyTorch's {call.what}")
        if not _alike(got["gradients"], want["gradients"]):
            raise DisagreementError(f"differs in its gradients from PyTorch's {call.what}")


def _leaf(arg: Any) -> Any:
    floats = isinstance(arg, torch.Tensor) and arg.is_floating_point()
    return arg.requires_grad_() if floats else arg


def _built(ours: Any, theirs: Any, init: tuple[Any, ...]) -> tuple[nn.Module, nn.Module]:
    """Build both with the same weights, in eval mode."""
    right, own = ours(*init).eval(), theirs(*init).eval()
    with torch.no_grad():
        for path, parameter in right.named_parameters():
            nn.init.normal_(parameter, std=0.5)
            mine = _at(own, path)
            if mine.shape != parameter.shape:
                raise DisagreementError(f"has another shape in `{path}`")
            mine.copy_(parameter)
    return right, own


def _at(module: nn.Module, path: str) -> Any:
    here: Any = module
    for step in path.split("."):
        here = getattr(here, step, None)
    if not isinstance(here, torch.Tensor):
        raise DisagreementError(f"has no `{path}`")
    return here


def _outcome(part: Any, args: Sequence[Any]) -> dict[str, Any]:
    """Call a part; return what came, and the gradients of a fixed mixture of its numbers."""
    value = part(*(arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args))
    first = value[0] if isinstance(value, (tuple, list)) else value
    leaves = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.requires_grad]
    if not (leaves and isinstance(first, torch.Tensor) and first.requires_grad):
        return {"value": value, "gradients": []}
    mixture = (first * torch.linspace(-1, 1, first.numel()).reshape(first.shape)).sum()
    return {"value": value, "gradients": list(torch.autograd.grad(mixture, leaves))}


def _alike(got: Any, want: Any) -> bool:
    if isinstance(want, (tuple, list)):
        fits = isinstance(got, (tuple, list)) and len(got) == len(want)
        return fits and all(_alike(one, other) for one, other in zip(got, want, strict=True))
    if not isinstance(got, torch.Tensor) or got.shape != want.shape or got.dtype != want.dtype:
        return False
    return torch.allclose(got.double(), want.double(), atol=TOLERANCE, rtol=TOLERANCE)
