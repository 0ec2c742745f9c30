"""Carries out torch's operations with every sum in another order, as another right answer might.

Each sum, mean and matrix product has its terms permuted and added up in pieces; operations that hold
sums of their own (softmax, layer norm, losses and all their gradients) are taken apart into those by
torch's own decompositions. Whatever changes by more than rounding is ill-conditioned.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
PIECES = 3
DECOMPOSED = get_decompositions([
    aten._softmax, aten._softmax_backward_data, aten._log_softmax, aten._log_softmax_backward_data,
    aten.native_layer_norm, aten.native_layer_norm_backward, aten.linalg_vector_norm, aten.logsumexp,
    aten.nll_loss_forward,
])  # fmt: skip


class _Reordered(TorchDispatchMode):
    """Handles the operations below the level of gradients, so that those are reordered as well."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in SUMS:
            return SUMS[func](self, *args, **kwargs)
        if func in DECOMPOSED:
            with self:
                result = DECOMPOSED[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        return func(*args, **kwargs)

    def pieces(self, size: int) -> Iterator[Tensor]:
        """Yield the numbers below `size` in a random order, in a few pieces."""
        order = torch.randperm(size, generator=self._generator)
        yield from order.tensor_split(min(PIECES, size)) if size else (order,)

    def total(self, x: Tensor) -> Tensor:
        """(…, N) -> (…,), the sum over the last dimension."""
        first, *more = (x[..., piece].sum(-1) for piece in self.pieces(x.size(-1)))
        return sum(more, first)

    def product(self, a: Tensor, b: Tensor) -> Tensor:
        """(…, M, K), (…, K, N) -> (…, M, N)."""
        first, *more = (a[..., piece] @ b[..., piece, :] for piece in self.pieces(a.size(-1)))
        return sum(more, first)


def _sum(
    mode: _Reordered, x: Tensor, dims: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    if x.dim() == 0 or not (x.is_floating_point() or x.is_complex()):
        return x.sum(dims, keepdim, dtype=dtype) if dims else x.sum(dtype=dtype)
    wanted = sorted(d % x.dim() for d in dims) if dims else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in wanted]
    flat = x.to(dtype or x.dtype).permute(*kept, *wanted).reshape(*(x.size(d) for d in kept), -1)
    found = mode.total(flat)
    return (
        found.reshape([1 if d in wanted else n for d, n in enumerate(x.shape)])
        if keepdim
        else found
    )


def _mean(
    mode: _Reordered, x: Tensor, dims: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    found = _sum(mode, x, dims, keepdim, dtype=dtype)
    return found / (x.numel() / max(found.numel(), 1))


def _var_mean(
    mode: _Reordered,
    x: Tensor,
    dims: Any = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> tuple[Tensor, Tensor]:
    mean = _mean(mode, x, dims, keepdim=True)
    squares = _sum(mode, (x - mean) ** 2, dims, keepdim)
    count = x.numel() / mean.numel() - (1 if correction is None else correction)
    return squares / count, mean if keepdim else mean.reshape(squares.shape)


def _addmm(
    mode: _Reordered, bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    found = mode.product(a, b) if b.dim() > 1 else mode.product(a, b[:, None])[..., 0]
    return (found * alpha if alpha != 1 else found) + bias * beta


SUMS: dict[Any, Callable[..., Any]] = {
    aten.sum.default: _sum,
    aten.sum.dim_IntList: _sum,
    aten.mean.default: _mean,
    aten.mean.dim: _mean,
    aten.var_mean.correction: _var_mean,
    aten.var.correction: lambda *args, **kwargs: _var_mean(*args, **kwargs)[0],
    aten.std.correction: lambda *args, **kwargs: _var_mean(*args, **kwargs)[0].sqrt(),
    aten.mm.default: _Reordered.product,
    aten.bmm.default: _Reordered.product,
    aten.mv.default: lambda mode, a, b: mode.product(a, b[:, None])[:, 0],
    aten.dot.default: lambda mode, a, b: mode.product(a[None], b[:, None])[0, 0],
    aten.addmm.default: _addmm,
    aten.addmv.default: _addmm,
    aten.baddbmm.default: _addmm,
}


@contextmanager
def reordered(seed: int) -> Iterator[None]:
    """Add up in another order inside; `seed` draws which."""
    with sdpa_kernel(SDPBackend.MATH), _Reordered(seed):
        yield
