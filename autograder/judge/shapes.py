"""How a shape differs from the right one, without naming a size: sizes may be drawn, or be made to tell.

Ratios and the numbers of dimensions are enough to find the fault.
"""

from collections.abc import Sequence

MOST_DIMENSIONS = 8  # more than that are "too many"


def shape_difference(got: Sequence[int], want: Sequence[int]) -> str:
    """Return what is wrong with a shape, to follow "The result has"."""
    if len(got) != len(want):
        return _other_number(got, want)
    wrong = [dim for dim, sizes in enumerate(zip(got, want, strict=True)) if len({*sizes}) > 1]
    if sorted(got) == sorted(want):
        if len(wrong) == 2:
            return f"dimensions {wrong[0]} and {wrong[1]} swapped"
        return f"dimensions {_listed(wrong)} in the wrong order"
    if len(wrong) > 1:
        return f"the wrong size in dimensions {_listed(wrong)}"
    return f"the wrong size in dimension {wrong[0]}{_one_size(wrong[0], got, want)}"


def _other_number(got: Sequence[int], want: Sequence[int]) -> str:
    """Say that there are too many dimensions or too few, and which one if only one is wrong."""
    if len(got) == len(want) + 1:
        extra = _which_is_extra(got, want)
        return f"one dimension too many{'' if extra is None else _where(extra, len(got), '')}"
    if len(got) == len(want) - 1:
        missing = _which_is_extra(want, got)
        return f"one dimension too few{'' if missing is None else _where(missing, len(want), ' is missing')}"
    came = str(len(got)) if len(got) <= MOST_DIMENSIONS else "too many"
    return f"{came} dimension{'' if len(got) == 1 else 's'} instead of {len(want)}"


def _which_is_extra(longer: Sequence[int], shorter: Sequence[int]) -> int | None:
    """Return the last dimension without which two shapes are equal, None if there is none."""
    fits = [dim for dim in range(len(longer)) if [*longer[:dim], *longer[dim + 1 :]] == [*shorter]]
    return fits[-1] if fits else None


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
        return f": it is 1 too {'large' if came > right else 'small'}"
    if right and came and (came % right == 0 or right % came == 0):
        return f": it is {came / right:.3g} times as large as it should be"
    return f": it is too {'large' if came > right else 'small'}"


def _listed(places: Sequence[int]) -> str:
    *first, last = map(str, places)
    return f"{', '.join(first)} and {last}" if first else last
