"""What is wrong with an encoding, in a sentence, where it matches no known mistake."""

import math

import torch

from autograder.judge.judgement import Seen
from autograder.judge.symptoms import wanted, whole
from autograder.lessons.positional_encoding.judges import holds

CLOSE = 1e-3


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, atol=CLOSE)


def _numbers(row: torch.Tensor, count: int = 4) -> str:
    text = ", ".join(f"{x:.3g}" for x in row[:count].tolist())
    return text if len(row) <= count else f"{text}, …"


def _pairs(table: torch.Tensor) -> torch.Tensor:
    """Return columns (…, D) as pairs (…, D / 2, 2)."""
    return table.reshape(*table.shape[:-1], -1, 2)


def position_zero(seen: Seen) -> str | None:
    """Say when the first row is not 0, 1, 0, 1 and so on."""
    row, right = whole(seen)[0], wanted(seen)[0]
    if _close(row, right):
        return None
    return (
        f"Position 0 should read sin 0, cos 0, in turn: 0, 1, 0, 1, …; yours reads {_numbers(row)}."
    )


def staircase(seen: Seen) -> str | None:
    """Say when two neighbouring positions look the same, and should not."""
    got, right = whole(seen), wanted(seen)
    alike = ((got[1:] - got[:-1]).abs().amax(-1) < 1e-6) & (
        (right[1:] - right[:-1]).abs().amax(-1) > CLOSE
    )
    if not alike.any():
        return None
    first = int(alike.nonzero()[0])
    return f"Positions {first} and {first + 1} have the same encoding: every position needs one of its own."


def pair_norms(seen: Seen) -> str | None:
    """Say when sine and cosine of a pair do not belong to one angle."""
    norms = _pairs(whole(seen)).square().sum(-1)  # (N, D / 2)
    wrong = (norms - 1).abs() > 1e-2
    if not wrong.any():
        return None
    position, pair = (int(i) for i in wrong.nonzero()[0])
    return (
        f"sin² + cos² of a pair is 1 at every position; in columns {2 * pair} and {2 * pair + 1}, "
        f"at position {position}, yours is {norms[position, pair]:.3g}: do the two share one angle?"
    )


def speeds_of(pairs: torch.Tensor) -> torch.Tensor:
    """Return the angle (P,) of each pair (P, 2) of sine and cosine."""
    return torch.atan2(pairs[:, 0].double(), pairs[:, 1].double())


def fitted_base(speeds: torch.Tensor) -> float | None:
    """Return the base b for which the speeds (P,) are b^(−2i/D), or None where none fits.

    Sources of float32 noise, the slowest pairs, are left aside.
    """
    seen = speeds[speeds.abs() > 1e-6]
    if len(seen) < 3 or (seen <= 0).any() or abs(float(seen[0]) - 1) > 1e-2:
        return None
    places = torch.arange(len(seen), dtype=torch.float64)
    slopes = seen.log()[1:] / places[1:]
    if not torch.allclose(slopes, slopes.median(), rtol=2e-2, atol=1e-6):
        return None
    return math.exp(-float(slopes.median()) * len(speeds))


def base_in_words(base: float) -> str:
    """Say what a fitted base means."""
    if base > 5e7 and base < 2e8:
        return "Your wavelengths fit a base of about 10⁸, which is 10000²: is the exponent doubled?"
    if 95 < base < 105:
        return "Your wavelengths fit a base of about 100, which is √10000: is the exponent halved?"
    return f"Your wavelengths fit a base of about {base:,.4g}; the base should be 10000."


def wavelengths(seen: Seen) -> str | None:
    """Say which base the wavelengths fit, or how fast the first pair turns."""
    got = whole(seen)
    if len(got) < 2:
        return None
    speeds = speeds_of(_pairs(got[1]))
    if abs(float(speeds[0]) - 1) > 1e-2:
        return f"The first pair turns by 1 radian per position; from 0 to 1 yours turns by {speeds[0]:.3g}."
    base = fitted_base(speeds)
    if base is None or abs(base - 10000) < 100:
        return None
    return base_in_words(base) + still(seen)


def still(seen: Seen) -> str:
    """Count the columns that hardly move, where they are too many."""
    count, right = (int((t.amax(0) - t.amin(0) < 1e-2).sum()) for t in (whole(seen), wanted(seen)))
    if count <= right:
        return ""
    return (
        f" Over {len(whole(seen))} positions {count} of {wanted(seen).size(-1)} columns hardly move "
        f"(in the right table {right}): they say nothing about the position."
    )


def first_wrong_pair(seen: Seen) -> str | None:
    """Name the first pair of columns that is wrong."""
    wrong = _pairs((whole(seen) - wanted(seen)).abs().amax(0)).amax(-1) > CLOSE
    first = int(wrong.nonzero()[0])
    if first == 0:
        return None
    return (
        f"Pairs up to i = {first - 1} are right; from i = {first} (columns {2 * first} and {2 * first + 1}) "
        "on the angle is off: print your exponents, and compare them with 2i / d_model."
    )


TABLE = (position_zero, staircase, pair_norms, wavelengths, first_wrong_pair)


def _sums(seen: Seen) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return x, the student's sum and the right one, (B, S, D), of the first call that went wrong."""
    got, want = seen.got.value, seen.expected.value
    calls = list(zip(got, want, strict=True)) if isinstance(want, list) else [(got, want)]
    index = next((n for n, (one, other) in enumerate(calls) if not _close(one, other)), 0)
    return (seen.inputs["calls"][index][0].float(), *calls[index])


def _added(seen: Seen) -> torch.Tensor:
    """Return what was added to x, (B, S, D)."""
    x, got, _ = _sums(seen)
    return got - x


def one_vector(seen: Seen) -> str | None:
    """Say when every position of a sample gets the same vector."""
    added = _added(seen)
    if added.size(1) < 2 or not _close(added, added[:, :1].expand_as(added)):
        return None
    if _close(added, torch.zeros_like(added)):
        return "Nothing is added: x comes back as it was."
    return "All positions of a sample get the same vector added; each should get its own row of the table."


def differs_by_sample(seen: Seen) -> str | None:
    """Say when what is added depends on the sample, or on the tokens."""
    added = _added(seen)
    if _close(added, added[:1].expand_as(added)):
        return None
    if (_sums(seen)[1] == 0).float().mean() > 0.2:
        return "Many entries are 0 in eval mode: dropout should be off there."
    return "What you add depends on the sample: with the same length, each sample gets the same positions."


def shifted_rows(seen: Seen) -> str | None:
    """Say when the right rows are added in the wrong places."""
    x, _, want = _sums(seen)
    added, right = _added(seen)[0], want[0] - x[0]
    for row in range(len(right)):
        if _close(added[0], right[row]) and row > 0:
            return f"Position 0 gets row {row} of the table; position s should get row s."
    return None


def wrong_rows(seen: Seen) -> str | None:
    """Say how what is added relates to the table, or where it first differs."""
    x, _, want = _sums(seen)
    added, right = _added(seen)[0], (want - x)[0]
    factor = (added * right).sum() / right.square().sum()
    if _close(added, factor * right):
        return (
            f"What you add is {factor:.3g} times the row of the table; it should be the row itself."
        )
    position = int(((added - right).abs().amax(-1) > CLOSE).nonzero()[0])
    return (
        f"Take away x: at position {position} what is left should be row {position} of the table, "
        f"{_numbers(right[position])}; yours is {_numbers(added[position])}."
    )


LAYER = (one_vector, differs_by_sample, shifted_rows, wrong_rows)


def direction(seen: Seen) -> str | None:
    """Say when the matrix moves the wrong way, or another distance."""
    got, offset = whole(seen), seen.inputs["args"][0]
    if holds(got.T, offset) and offset:
        return f"Your matrix moves by {-offset}, not by {offset}: it turns the wrong way, or is transposed."
    for other in (1, 2 * offset, abs(offset), offset + 1, offset - 1):
        if other != offset and -40 < other < 200 and holds(got, other):
            return f"Your matrix moves every position by {other}; by {offset} was asked for."
    return None


def halves(seen: Seen) -> str | None:
    """Say when the matrix fits the layout in two halves."""
    got, width = whole(seen), whole(seen).size(0)
    order = (
        torch.arange(width).view(2, -1).T.flatten()
    )  # where each interleaved column lies in halves
    if width > 2 and holds(got[order][:, order], seen.inputs["args"][0]):
        return "This matrix fits a table with all sines on the left; ours is interleaved."
    return None


def outside_blocks(seen: Seen) -> str | None:
    """Say when the matrix mixes different pairs."""
    got = whole(seen)
    pair = torch.arange(got.size(0)) // 2
    stray = (got.abs() > CLOSE) & (pair[:, None] != pair)
    if not stray.any():
        return None
    row, column = (int(i) for i in stray.nonzero()[0])
    return f"Entry [{row}, {column}] mixes two different pairs; outside the 2 × 2 blocks everything is 0."


def block_angles(seen: Seen) -> str | None:
    """Say when a block is no rotation, or turns by another angle."""
    got, offset = whole(seen), seen.inputs["args"][0]
    places = torch.arange(0, got.size(0), 2)
    sine, cosine = got[places, places + 1], got[places, places]
    lengths = got.square().sum(-1)
    if not _close(lengths, torch.ones_like(lengths)):
        row = int((lengths - 1).abs().argmax())
        return f"Each row of a rotation has length 1; row {row} of yours has {lengths[row].sqrt():.3g}."
    if not _close(sine, -got[places + 1, places]) or not _close(
        cosine, got[places + 1, places + 1]
    ):
        return "A block holds cos b, sin b over −sin b, cos b; yours does not. Mind the signs."
    if abs(offset) == 1:
        base = fitted_base(torch.atan2(sine.double(), cosine.double()) * offset)
        if base is not None and abs(base - 10000) > 100:
            return base_in_words(base)
    turned = torch.atan2(sine, cosine)
    right = torch.atan2(wanted(seen)[places, places + 1], wanted(seen)[places, places])
    pair = int(((turned - right).abs() > CLOSE).nonzero()[0])
    return f"Pair {pair} turns by {turned[pair]:.3g} radians; offset / 10000^(2i/d_model) is another angle."


SHIFT = (direction, halves, outside_blocks, block_angles)
