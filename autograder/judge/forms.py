"""Results of another form: the right numbers, or those of a known mistake, in another type or shape.

`fix_form` puts one thing right and says what it was. What is left can then be compared as if the form had
been right.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import torch

from autograder.model.exercise import Mistake
from coursework.engine.compare import Difference, difference

HINTS = {
    "type": "Print `type(…)` of your result. What does the exercise ask for?",
    "dtype": "Print the `dtype` of your result. Which one does the exercise ask for?",
    "shape": "Print the shape of your result, and compare it with the one that the exercise asks for.",
}


@dataclass(frozen=True)
class FormFix:
    """A result with one thing put right, and the sentence on what it was.

    `key` tells forms apart where the sentence differs from input to input. `other` is a second way to
    read the result.
    """

    value: Any
    kind: str
    title: str
    key: str = ""
    other: "FormFix | None" = None

    def same(self, other: "FormFix") -> bool:
        """Return whether both put the same thing right."""
        return (self.key or self.title) == (other.key or other.title)

    def like(self, first: "FormFix") -> "FormFix | None":
        """Return this step, or the other way to read the result, if it puts right what `first` does."""
        if self.same(first):
            return self
        return self.other if self.other and self.other.same(first) else None

    @property
    def mistake(self) -> Mistake:
        """The wrong form as a mistake with a name."""
        return Mistake(f"result-{self.kind}", self.title, HINTS[self.kind], ())


def fix_form(got: Any, want: Any) -> FormFix | None:
    """Return a result with the first wrong type, dtype or shape put right; None if none can be."""
    if isinstance(want, dict) and isinstance(got, dict):
        return _in_entries(got, want, list(want))
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        return _in_entries(dict(enumerate(got)), dict(enumerate(want)), list(range(len(want))))
    found = difference(got, want)
    put_right = FIXES.get(found.kind) if found else None
    if found is None or put_right is None:
        return None
    try:
        return put_right(got, want, found)
    except (RuntimeError, TypeError, ValueError):
        return None  # not a form that can be put right


def _in_entries(got: dict[Any, Any], want: dict[Any, Any], keys: list[Any]) -> FormFix | None:
    """Put right the same thing in every entry that it is wrong in."""
    if got.keys() != want.keys():
        return None
    steps = {key: done for key in keys if (done := fix_form(got[key], want[key]))}
    first = next(iter(steps.values()), None)
    if first is None:
        return None
    entries = {key: steps[key].value if key in steps and steps[key].same(first) else got[key] for key in got}
    value = entries if isinstance(keys[0], str) else list(entries.values())
    return FormFix(value, first.kind, first.title, first.key)


def _type(got: Any, want: Any, found: Difference) -> FormFix | None:
    title = found.text.removesuffix(".")
    if isinstance(want, torch.Tensor):
        tensors = [part for part in got if isinstance(part, torch.Tensor)]
        dtype = want.dtype if want.is_floating_point() else None  # a list knows no precision
        value = tensors[0] if tensors else torch.tensor(got, dtype=dtype)
        return FormFix(value, "type", title)
    if isinstance(got, torch.Tensor) and isinstance(want, (list, int, float, bool)):
        return FormFix(got.tolist(), "type", title)
    return None


def _dtype(got: torch.Tensor, want: torch.Tensor, found: Difference) -> FormFix | None:
    if want.dtype is not torch.bool:
        return FormFix(got.to(want.dtype), "dtype", found.text.removesuffix("."))
    numbers = FormFix(got.bool(), "dtype", "The result holds numbers, not True and False")
    added = FormFix(got == 0, "dtype", "The result holds 0 and −∞, not True and False")
    if not got.any():
        return replace(numbers, other=added)
    if ((got == 0) | (got == 1)).all():
        return numbers
    return added if got.is_floating_point() and ((got == 0) | (got < -1e4)).all() else None


def _shape(got: torch.Tensor, want: torch.Tensor, found: Difference) -> FormFix | None:
    title = found.text.removesuffix(".")
    if [size for size in got.shape if size != 1] == [size for size in want.shape if size != 1]:
        return FormFix(got.reshape(want.shape), "shape", title, f"{got.dim()} for {want.dim()}")
    if sorted(got.shape) == sorted(want.shape):
        for one, other in combinations(range(got.dim()), 2):
            if got.transpose(one, other).shape == want.shape:
                return FormFix(got.transpose(one, other).contiguous(), "shape", title)
    if got.dim() == want.dim() and (narrow := _narrowed(got, want)).shape == want.shape:
        return FormFix(narrow, "shape", title)
    return None


def _narrowed(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """Return a tensor without the repetitions along dimensions that should have size 1."""
    for dim, size in enumerate(want.shape):
        first = got.narrow(dim, 0, 1)
        if size == 1 and torch.equal(first.expand_as(got), got):
            got = first.contiguous()
    return got


FIXES: dict[str, Callable[[Any, Any, Difference], FormFix | None]] = {
    "type": _type, "dtype": _dtype, "shape": _shape,
}  # fmt: skip
