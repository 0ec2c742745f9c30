import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, Operation, arguments, example, matches_reference, properties,
    through,
)
from autograder.lessons.attention_visualisation import reference

Peaks = dict[int, float]


def _about_span(seen: Comparison) -> str | None:
    got, (starts, _, most) = seen.got.value, seen.inputs["args"]
    if not isinstance(got, tuple) or len(got) != 2 or any(type(place) is not int for place in got):
        return "A span is a pair of whole numbers, (start, end)."
    start, end = got
    if start < 0 or end >= len(starts):
        return "Your span goes past the end of the text."
    if end < start:
        return "Your span ends before it starts. The end is the last token in the span."
    if end >= start + most:
        return "Your span has more than `max_length` tokens. The end is the last token in the span."
    return "Your span is allowed, but another allowed span has a higher sum."


def _peaks(draw: Draw, size: int, both_peaks: tuple[Peaks, Peaks], most: int, shift: float = 0) -> Operation:
    """Ask about noise between −1 and 1 with peaks at given places, all of it shifted."""
    both = []
    for peaks in both_peaks:
        logits = draw.normal(size, scale=0.3).clamp(-1, 1)
        for place, height in peaks.items():
            logits[place] = height
        both.append(logits + shift)
    return through("best_span", *both, most)


def _many(draw: Draw) -> Operation:
    """Ask about a text in which better spans end too early or too late, and two low logits meet."""
    at = draw.integer(0, 4)
    starts = {at + 3: 5.5, at + 8: 5.0, at + 14: 6.0, at + 11: -6.0}
    ends = {at + 1: 6.5, at + 10: 5.0, at + 12: 5.7, at + 11: -6.0}
    return _peaks(draw, 20, (starts, ends), 4)


exercise = ExerciseChecks(reference=reference.best_span, judge=matches_reference(_about_span, any_form=True),
    examples=[
        example(lambda _: through("best_span", torch.tensor([1.0, 3.0, 0.5, 2.0]),
                                  torch.tensor([2.5, 0.5, 2.0, 1.0]), 3)),
        example(lambda _: through("best_span", torch.tensor([0.0, -1.0, -2.0, 5.0, 0.0]),
                                  torch.tensor([6.0, 3.0, 1.0, 1.5, 4.0]), 2)),
        example(lambda _: through("best_span", torch.tensor([4.0, 1.0, 0.0]),
                                  torch.tensor([0.0, 0.0, 7.0]), 2)),
        example(lambda _: through("best_span", torch.tensor([-2.0, -0.5, -3.0]),
                                  torch.tensor([-1.0, -1.5, -4.0]), 2)),
    ], checks=[
    Check("drawn", "the highest sum of all allowed spans", _many, weight=2),
    Check("crossed", "the best end comes before the best start",
          lambda d: _peaks(d, 11, ({8: 6.0, 3: 4.0}, {2: 6.0, 5: 4.5, 9: 2.0}), 4)),
    Check("far-apart", "the best start and the best end are too far apart",
          lambda d: _peaks(d, 13, ({1: 6.0, 8: 4.0}, {11: 6.0, 3: 3.0}), 4)),
    Check("boundary", "a span of exactly max_length tokens is allowed, one more is not",
          lambda d: _peaks(d, 10, ({2: 6.0}, {6: 5.0, 5: 3.5, 4: 2.5}), 4)),
    Check("negative", "all logits are negative", lambda d: _peaks(d, 9, ({4: 3.0}, {6: 2.0}), 3, shift=-5.5)),
    Check("single", "max_length is 1: a single token",
          lambda d: _peaks(d, 8, ({2: 5.0, 6: 3.0}, {3: 5.0, 6: 3.5}), 1)),
    Check("whole", "the whole text may be the span, and max_length may exceed it",
          lambda d: _peaks(d, 7, ({0: 5.0}, {6: 5.0}), 30)),
    Check("last", "the last token alone",
          lambda d: _peaks(d, 7, ({6: 5.0}, {6: 5.0, 0: 7.0}), 3), weight=0.5),
    Check("one-token", "a text of one token", lambda d: _peaks(d, 1, ({}, {}), 4, shift=-3.0), weight=0.5),
    arguments(lambda d: _peaks(d, 9, ({2: 5.0, 3: -1.0}, {3: 5.0, 2: -1.0}), 3), _about_span, any_form=True,
              weight=1),
    *properties(_many, sizes=lambda d: [_peaks(d, 1, ({}, {}), 1, shift=-3.0),
                                        _peaks(d, 200, ({90: 9.0}, {97: 9.0}), 20)]),
])
