"""A short signature of a result, by which a known mistake is recognised without storing what it gives.

Two results have equal signatures if they are equal within rounding. A signature has two parts: a
digest of all that is exact (types, shapes, whole numbers, texts, exceptions), and four random
projections of the floats, which change by little when the floats do.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from coursework.instant.examples import Result

PROJECTIONS, SEED = 4, 9803
TOLERANCE = 1e-4  # of the length of the vector of all floats, and at least of 1
DIGITS = 16  # of the digest


@dataclass(frozen=True)
class Signature:
    """What identifies a result: a digest of its form, and projections of its floats."""

    form: str
    numbers: tuple[float, ...]
    length: float

    def matches(self, other: "Signature") -> bool:
        """Return whether two results are the same within rounding."""
        room = TOLERANCE * max(1.0, self.length)
        pairs = zip(self.numbers, other.numbers, strict=True)
        return self.form == other.form and all(abs(a - b) <= room for a, b in pairs)


def sign(result: Result) -> Signature:
    """Return the signature of a result."""
    floats: list[torch.Tensor] = []
    parts = (result.raised, result.message, result.changed, *_forms(result.value, floats))
    form = hashlib.sha256(repr(parts).encode()).hexdigest()[:DIGITS]
    flat = torch.cat(floats) if floats else torch.zeros(0, dtype=torch.float64)
    directions = torch.Generator().manual_seed(SEED)
    weights = torch.randn(flat.numel(), PROJECTIONS, generator=directions, dtype=torch.float64)
    numbers = (flat @ weights).tolist()
    return Signature(form, tuple(numbers), math.sqrt(float(flat @ flat)))


def _forms(value: Any, floats: list[torch.Tensor]) -> Iterator[Any]:
    """Yield what is exact about a value; its floats are added to `floats`."""
    if isinstance(value, torch.Tensor):
        yield from _tensor(value, floats)
    elif isinstance(value, float):
        yield from _tensor(torch.tensor([value], dtype=torch.float64), floats)
    elif isinstance(value, (list, tuple)):
        yield (type(value).__name__, len(value))
        for item in value:
            yield from _forms(item, floats)
    elif isinstance(value, Mapping):
        yield ("dict", len(value))
        for key, item in value.items():
            yield repr(key)
            yield from _forms(item, floats)
    else:
        plain = value is None or isinstance(value, (bool, int, str))
        yield repr(value) if plain else type(value).__name__


def _tensor(value: torch.Tensor, floats: list[torch.Tensor]) -> Iterator[Any]:
    yield (str(value.dtype), tuple(value.shape))
    if value.is_floating_point():
        flat = value.detach().double().flatten()
        yield [float(x) for x in flat[~flat.isfinite()]]
        yield flat.isfinite().nonzero().flatten().tolist() if not flat.isfinite().all() else []
        floats.append(flat[flat.isfinite()])
    else:
        yield value.flatten().tolist()
