"""Where two values differ, in the first respect that matters: type, shape, dtype, NaN, numbers.

What is said of a difference names a kind and a place, and no value: neither what came, nor what was
expected. Both depend on inputs that stay the same at every attempt. A shape is described without a size, by
ratios and numbers of dimensions. Types are named if they are those of Python, torch, NumPy and matplotlib: a
student's class can be called anything, and so carry what a message must not repeat.
"""

import builtins
import math
import types
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import nn

from coursework.engine.observation import Observation
from coursework.engine.operation import kind_of
from coursework.engine.values import Opaque

ATOL, RTOL = 1e-4, 1e-4
MANY_TIMES = 1e4  # beyond that, a number means another thing altogether
COUNTED = 9  # entries beyond that are "many"
MOST_DIMENSIONS = 8  # more than that are "too many"
MOST_REORDERED = 5  # dimensions, whose orders are tried


@dataclass(frozen=True)
class Difference:
    """The first difference found: its kind, and a sentence on it."""

    kind: str
    text: str

    @property
    def about_numbers(self) -> bool:
        """Whether everything agrees but the numbers."""
        return self.kind in ("value", "nan", "inf")


@dataclass(frozen=True)
class _Place:
    """A part of the result, and how it is compared.

    `steps` are the indices and keys that lead to it. Those keys that are among `names` are named.
    Where `values` is False, only the form counts.
    """

    atol: float = ATOL
    rtol: float = RTOL
    values: bool = True
    names: frozenset[str] = frozenset()
    steps: tuple[Any, ...] = ()

    def at(self, step: Any) -> "_Place":
        return replace(self, steps=(*self.steps, step))

    @property
    def subject(self) -> str:
        named = [f"`{key}`" if key in self.names else "" for key in self.steps if isinstance(key, str)]
        if named:
            return named[-1] or "One entry of the result"
        steps = " of entry ".join(str(step) for step in self.steps[::-1])
        return f"Entry {steps} of the result" if steps else "The result"


def difference(
    got: Any, want: Any, *, atol: float = ATOL, rtol: float = RTOL, names: frozenset[str] = frozenset()
) -> Difference | None:
    """Return how `got` differs from `want`, or None if they agree within tolerance.

    `names` are the keys of dictionaries that may be named.
    """
    return _difference(got, want, _Place(atol, rtol, names=names))


def times(got: float, want: float) -> str:
    """Return how many times too large numbers are that share one factor, in two digits.

    A single number gets `side` instead: with a known result, its ratio would tell the expected value.
    Example: "0.12 times what it should be".
    """
    ratio = got / want if want else math.nan
    if not 1 / MANY_TIMES < abs(ratio) < MANY_TIMES:
        return "not what it should be"
    digits = f"{float(f'{ratio:.1e}'):g}"
    known = {"1": "slightly off", "-1": "of the wrong sign"}
    return known.get(digits, f"{digits} times what it should be")


def side(got: float, want: float) -> str:
    """Return whether a single number is too large or too small, and no more."""
    return "too large" if got > want else "too small"


def is_right(got: Observation, expected: Observation) -> bool:
    """Return whether a value or an exception is as expected, and no argument was modified."""
    if expected.raised or got.raised:
        return bool(expected.raised and got.raised and expected.raised.kind in got.raised.bases)
    return not got.changed and difference(got.value, expected.value) is None


def same(a: Observation, b: Observation) -> bool:
    """Return whether nothing tells two observations apart: value, exception, side effects."""
    if a.ended or b.ended or (a.raised is None) != (b.raised is None) or a.changed != b.changed:
        return False
    if a.raised and b.raised:
        return a.raised.kind == b.raised.kind and a.raised.message == b.raised.message
    return difference(a.value, b.value) is None and difference(b.value, a.value) is None


def same_form(got: Any, want: Any) -> bool:
    """Return whether two values agree but for their numbers and texts."""
    return _difference(got, want, _Place(values=False)) is None


def _difference(got: Any, want: Any, place: _Place) -> Difference | None:
    if isinstance(want, torch.Tensor):
        return _tensors(got, want, place)
    if isinstance(want, (list, tuple)):
        return _sequences(got, want, place)
    if isinstance(want, dict):
        return _mappings(got, want, place)
    return _scalars(got, want, place)


def _tensors(got: Any, want: torch.Tensor, place: _Place) -> Difference | None:
    if not isinstance(got, torch.Tensor):
        return _wrong_type(got, "a tensor", place)
    if got.shape != want.shape:
        said = _reordered(got, want) or shape_difference(got.shape, want.shape)
        return Difference("shape", f"{place.subject} has {said}.")
    if got.dtype != want.dtype:
        came, wanted = (str(each.dtype).removeprefix("torch.") for each in (got, want))
        return Difference("dtype", f"{place.subject} is {came}; {wanted} was expected.")
    return _numbers(got, want, place) if place.values else None


def _numbers(got: torch.Tensor, want: torch.Tensor, place: _Place) -> Difference | None:
    wrong = got != want
    if want.is_floating_point():
        wrong = ~torch.isclose(got, want, atol=place.atol, rtol=place.rtol, equal_nan=True)
    if not wrong.any():
        return None
    if got.is_floating_point() and not got.isfinite().all() and want.isfinite().all():
        return _not_finite(got, place)
    if not want.dim():
        return _wrong_scalar(got.item(), want.item(), place)
    first = wrong.nonzero()[0].tolist()
    are = "entries is wrong: the one" if wrong.sum() == 1 else "entries are wrong; the first is"
    where = f"In {place.subject[0].lower()}{place.subject[1:]}, " if place.steps else ""
    return Difference("value", f"{where}{int(wrong.sum())} of {wrong.numel()} {are} at {first}.")


def _not_finite(got: torch.Tensor, place: _Place) -> Difference:
    index = tuple(int(i) for i in (~got.isfinite()).nonzero()[0])
    kind = "NaN" if got[index].isnan() else "an infinity"
    where = f" at {list(index)}" if index else ""
    text = f"{place.subject} holds {kind}{where}; every number should be finite here."
    return Difference("nan" if kind == "NaN" else "inf", text)


def _sequences(got: Any, want: Any, place: _Place) -> Difference | None:
    pair = isinstance(want, tuple)
    if not isinstance(got, (list, tuple)):
        return _wrong_type(got, f"a tuple of {len(want)} values" if pair else "a list", place)
    if len(got) != len(want):
        how = "many" if len(got) > len(want) else "few"
        wanted = f"; {len(want)} are expected" if pair else ""
        return Difference("length", f"{place.subject} has too {how} entries{wanted}.")
    found = (_difference(*pair, place.at(n)) for n, pair in enumerate(zip(got, want, strict=True)))
    return next(filter(None, found), None)


def _mappings(got: Any, want: dict[Any, Any], place: _Place) -> Difference | None:
    if not isinstance(got, dict):
        return _wrong_type(got, "a dictionary", place)
    for key, value in want.items():
        if key not in got:
            named = f" `{key}`" if key in place.names else " that it should have"
            return Difference("key", f"{place.subject} lacks an entry{named}.")
        if found := _difference(got[key], value, place.at(key)):
            return found
    extra = sum(key not in want for key in got)
    number = str(extra) if extra <= COUNTED else "many"
    entries = "entry" if extra == 1 else "entries"
    text = f"{place.subject} has {number} {entries} that it should not have."
    return Difference("key", text) if extra else None


def _scalars(got: Any, want: Any, place: _Place) -> Difference | None:
    if isinstance(want, Opaque):
        return None if got == want else _wrong_type(got, type_words(want.kind), place)
    if isinstance(want, float):
        if isinstance(got, bool) or not isinstance(got, (int, float)):
            return _wrong_type(got, "a float", place)
    elif type(got) is not type(want):
        return _wrong_type(got, type_words(kind_of(want)), place)
    if not place.values or _equal(got, want, place):
        return None
    return _wrong_scalar(got, want, place)


def _wrong_scalar(got: Any, want: Any, place: _Place) -> Difference:
    if isinstance(want, float) and not math.isfinite(got):
        kind = "NaN" if math.isnan(got) else "infinite"
        return Difference("nan" if kind == "NaN" else "inf", f"{place.subject} is {kind}.")
    how = side(got, want) if isinstance(want, float) else "not what it should be"
    return Difference("value", f"{place.subject} is {how}.")


def _equal(got: Any, want: Any, place: _Place) -> bool:
    if not isinstance(want, float):
        return bool(got == want)
    near = math.isclose(got, want, abs_tol=place.atol, rel_tol=place.rtol)
    return near or (math.isnan(got) and math.isnan(want))


def _wrong_type(got: Any, wanted: str, place: _Place) -> Difference:
    text = f"{place.subject} is {of_type(got)}; {wanted} was expected."
    missing = got is None and not place.steps
    return Difference("none" if got is None else "type", f"{text} Is there a `return`?" if missing else text)


def _reordered(got: torch.Tensor, want: torch.Tensor) -> str:
    """Return which dimensions are in another order, "" if the numbers do not say so.

    Numbers that are all the same would fit any order.
    """
    if sorted(got.shape) != sorted(want.shape) or got.dim() > MOST_REORDERED:
        return ""
    if not want.numel() or bool((want == want.flatten()[0]).all()):
        return ""
    for order in permutations(range(got.dim())):
        moved = got.permute(order)
        if moved.shape == want.shape and torch.allclose(moved.double(), want.double(), RTOL, ATOL):
            return _in_another_order([dim for dim, source in enumerate(order) if dim != source])
    return ""


def _in_another_order(dimensions: Sequence[int]) -> str:
    how = "swapped" if len(dimensions) == 2 else "in the wrong order"
    return f"dimensions {_listed(dimensions)} {how}"


def shape_difference(got: Sequence[int], want: Sequence[int]) -> str:
    """Return what is wrong with a shape, to follow "The result has"."""
    if len(got) != len(want):
        return _other_number(got, want)
    wrong = [dim for dim, sizes in enumerate(zip(got, want, strict=True)) if len({*sizes}) > 1]
    if sorted(got) == sorted(want):
        return f"the sizes of {_in_another_order(wrong)}"
    if len(wrong) > 1:
        return f"the wrong size in dimensions {_listed(wrong)}"
    return f"the wrong size in dimension {wrong[0]}{_one_size(wrong[0], got, want)}"


def _other_number(got: Sequence[int], want: Sequence[int]) -> str:
    """Say that there are too many dimensions or too few, and which one if only one is wrong."""
    for longer, shorter, word, what in ((got, want, "many", ""), (want, got, "few", " is missing")):
        if len(longer) == len(shorter) + 1:
            dims = range(len(longer))
            fits = [dim for dim in dims if [*longer[:dim], *longer[dim + 1 :]] == [*shorter]]
            return f"one dimension too {word}{_where(fits[-1], len(longer), what) if fits else ''}"
    came = str(len(got)) if len(got) <= MOST_DIMENSIONS else "too many"
    return f"{came} dimension{'' if len(got) == 1 else 's'} instead of {len(want)}"


def _where(dim: int, total: int, what: str) -> str:
    if dim == total - 1:
        return ", at the end"
    return ", at the beginning" if dim == 0 else f": dimension {dim}{what}"


def _one_size(dim: int, got: Sequence[int], want: Sequence[int]) -> str:
    """Say how a single wrong size relates to the right one, or to that of another dimension."""
    came, right = got[dim], want[dim]
    others = [other for other, size in enumerate(want) if size == came and other != dim]
    if others:
        return f": it has the size of dimension {others[0]}"
    if abs(came - right) == 1:
        return f": it is 1 {side(came, right)}"
    if right and came and (came % right == 0 or right % came == 0):
        return f": it is {came / right:.3g} times as large as it should be"
    return f": it is {side(came, right)}"


def _listed(places: Sequence[int]) -> str:
    *first, last = map(str, places)
    return f"{', '.join(first)} and {last}" if first else last


OWN_CLASS = "a value of a class of your own"
_FIGURES = ("Axes", "AxesSubplot", "Figure", "QuadMesh", "AxesImage")
_CONTAINERS = ("Counter", "OrderedDict", "defaultdict", "deque", "dict_keys", "dict_values", "dict_items")

_MODULES = (builtins, types, np, np.exceptions, np.linalg, torch, torch.linalg, nn)
_MEMBERS = (member for module in _MODULES for member in vars(module).values())
_ALL = frozenset(member.__name__ for member in _MEMBERS if isinstance(member, type)) | {"LinAlgError"}
EXCEPTIONS = frozenset(name for name in _ALL if name.endswith(("Error", "Exception", "Interrupt"))) | {
    "StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit", "Warning",
}  # fmt: skip
TYPES = (_ALL - EXCEPTIONS) | frozenset((*_FIGURES, *_CONTAINERS))


def of_type(value: object) -> str:
    """Return what a value that came back is, such as 'a tuple' or 'None'."""
    return type_words(kind_of(value))


def type_words(name: str) -> str:
    """Return a type's name with its article; what a student defined is called a class of their own."""
    if name in ("None", "NoneType"):
        return "None"
    if name == "ndarray":
        return "a NumPy array"
    if name.startswith("tensor of "):  # what the wire says of a tensor that it does not send
        return "a sparse, quantised or complex tensor"
    return with_article("tensor" if name == "Tensor" else name) if name in TYPES else OWN_CLASS


def with_article(name: str) -> str:
    """Return a name with 'a' or 'an' before it."""
    vowel = name[0].lower() in "aeio" or name.startswith("Unbound")
    return f"{'an' if vowel else 'a'} {name}"
