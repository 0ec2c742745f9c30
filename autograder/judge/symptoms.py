"""Sentences about what is wrong with a result, for mistakes that match nothing known."""

from collections.abc import Callable

import torch

from autograder.judge.judgement import Seen, Symptom

Pick = Callable[[Seen], torch.Tensor]


def whole(seen: Seen) -> torch.Tensor:
    """Pick the result itself."""
    return _tensor(seen.got.value)


def second(seen: Seen) -> torch.Tensor:
    """Pick the second of a returned pair, the attention weights."""
    return _tensor(seen.got.value[1])


def _tensor(value: object) -> torch.Tensor:
    if not isinstance(value, torch.Tensor):
        raise TypeError("no tensor to look at")
    return value


def rows_sum_to_one(pick: Pick, what: str = "weights") -> Symptom:
    """Say when rows that should be distributions are not, and whether the columns are instead."""

    def symptom(seen: Seen) -> str | None:
        got = pick(seen)
        sums = got.sum(-1)
        if not sums.isfinite().all():
            return None
        allowed = torch.isclose(sums, torch.ones_like(sums), atol=1e-3) | (sums == 0)
        if allowed.all():
            return None
        if torch.isclose(got.sum(-2), torch.ones_like(got.sum(-2)), atol=1e-3).all():
            return f"The columns of your {what} sum to 1, not the rows: which dimension is the softmax over?"
        worst = (sums - 1).abs().where(~allowed, torch.zeros_like(sums)).argmax()
        place = _place(int(worst), sums.shape)
        return (
            f"Rows of your {what} should sum to 1; row {place} sums to {sums.flatten()[worst]:.3g}."
        )

    return symptom


def sums_to_one_along(seen: Seen) -> str | None:
    """Say when a softmax does not sum to 1 along the dimension it was asked for."""
    got = whole(seen)
    dim = seen.inputs["kwargs"].get("dim", -1)
    sums = got.sum(dim)
    if not sums.isfinite().all():
        return None  # the comparison itself speaks of NaN
    if torch.isclose(sums, torch.ones_like(sums), atol=1e-3).all():
        return None
    for other in range(got.dim()):
        along = got.sum(other)
        if (
            other != dim % got.dim()
            and torch.isclose(along, torch.ones_like(along), atol=1e-3).all()
        ):
            return f"With dim={dim} it sums to 1 along dimension {other} instead."
    index = int((sums - 1).abs().argmax())
    came = f"{sums.flatten()[index]:.3g}"
    return f"With dim={dim} the result should sum to 1 along that dimension; one sum is {came}."


def hidden_keys_get_nothing(pick: Pick, mask: Callable[[Seen], torch.Tensor | None]) -> Symptom:
    """Say when a key that the mask hides gets a share of the attention, or only hidden ones do."""

    def symptom(seen: Seen) -> str | None:
        allowed = mask(seen)
        got = pick(seen).nan_to_num()
        if allowed is None:
            return None
        leaked = got.masked_fill(allowed.expand_as(got), 0.0)
        if leaked.max() <= 1e-4:
            return None
        index = _unravel(int(leaked.argmax()), got.shape)
        return (
            f"Query {index[-2]} gives {leaked.max():.2f} of its attention to key {index[-1]}, "
            "which the mask hides (False = may not attend)."
        )

    return symptom


def empty_rows_are_zero(pick: Pick, mask: Callable[[Seen], torch.Tensor | None]) -> Symptom:
    """Say when a query that may attend to nothing does not get zeros."""

    def symptom(seen: Seen) -> str | None:
        allowed = mask(seen)
        got = pick(seen)
        if allowed is None:
            return None
        empty = ~allowed.expand_as(got).any(-1)
        wrong = empty & ~(got == 0).all(-1)
        if not wrong.any():
            return None
        row = got[wrong][0]
        index = _unravel(int(wrong.flatten().int().argmax()), wrong.shape)
        came = "NaN" if row.isnan().any() else f"{row[0]:.2f}, {row[1]:.2f}, …"
        return f"Query {index[-1]} may attend to nothing, so its weights should all be 0; yours are {came}"

    return symptom


def constant_factor(pick: Pick, expected: Callable[[Seen], torch.Tensor]) -> Symptom:
    """Say when every number is off by one and the same factor."""

    def symptom(seen: Seen) -> str | None:
        got, want = pick(seen), expected(seen)
        ratio = (got / want)[want.abs() > 1e-3]
        if not len(ratio) or not torch.allclose(ratio, ratio.median(), rtol=1e-3):
            return None
        return (
            f"Every number is {ratio.median():.4g} times what it should be: a scale factor is off."
        )

    return symptom


def transposed(seen: Seen) -> str | None:
    """Say when the result is right but for two exchanged dimensions."""
    got, want = whole(seen), seen.expected.value
    if got.dim() >= 2 and got.mT.shape == want.shape and torch.allclose(got.mT, want, atol=1e-3):
        return "Rows and columns are exchanged."
    return None


def wanted(seen: Seen) -> torch.Tensor:
    """Pick the reference's result."""
    return _tensor(seen.expected.value)


def _unravel(flat: int, shape: torch.Size) -> list[int]:
    return [int(i) for i in torch.unravel_index(torch.tensor(flat), shape)]


def _place(flat: int, shape: torch.Size) -> str:
    index = _unravel(flat, shape)
    return str(index[0]) if len(index) == 1 else f"[{', '.join(map(str, index))}]"
