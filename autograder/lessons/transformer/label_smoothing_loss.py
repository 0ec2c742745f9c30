import torch

from autograder.judge.table import (
    Check, Comparison, Draw, Excludes, ExerciseChecks, Operation, arguments, call, defaults, example,
    function_gradients, gradients_match, matches_reference, padded_ids, properties,
)
from autograder.lessons.transformer import reference

UNEVEN = ["mean-of-means"]  # sentences of other lengths may have equal mean losses by chance
PADDED = [*UNEVEN, "pads-counted-in-part"]
EXCLUDES = Excludes(["cross_entropy"], instead="Build it from log-probabilities.")


def _about_loss(seen: Comparison) -> str | None:
    if not seen.got.value.isfinite():
        return (
            "The loss is not finite. The logarithm of a softmax underflows, `log_softmax` does not, and a "
            "mean over no tokens is 0/0."
        )
    if seen.got.value < 0:
        return "The loss is negative. A cross-entropy never is."
    return None


def _logits(draw: Draw, target: torch.Tensor, pad_id: int = 0, words: int = 7) -> torch.Tensor:
    """Return logits (B, T, V). The right word and <pad> get low ones, so it shows who is given a share."""
    logits = draw.normal(*target.shape, words, scale=2)
    logits[..., pad_id] -= 2
    return logits.scatter_add(-1, target[..., None], torch.full((*target.shape, 1), -4.0))


def _case(draw: Draw, lengths: list[int], *args: float, **kwargs: float) -> Operation:
    """Return a call with logits (B, T, 7); further arguments go to the loss."""
    target = padded_ids(draw, 7, lengths, low=1)
    return call(_logits(draw, target), target, *args, **kwargs)


def _other_padding(draw: Draw) -> Operation:
    target = draw.integers(0, 7, 3, 5)
    target[0, 1:4], target[2, 4] = 4, 4
    target[1, 0], target[1, 1] = 0, 1
    return call(_logits(draw, target, pad_id=4), target, smoothing=0.6, pad_id=4)


def _square(draw: Draw) -> Operation:
    target = padded_ids(draw, 6, [6, 2], low=1)
    return call(_logits(draw, target, words=6), target, 0.3)


def _extreme(draw: Draw) -> Operation:
    """Return a call with logits of ±200: +200 for two wrong words at each real token, for four at <pad>."""
    target = padded_ids(draw, 6, [4, 3], low=1)
    order = draw.normal(2, 4, 6)
    order[..., 0] = -9.0
    order.scatter_(-1, target[..., None], -9.0)
    high = torch.where(target == 0, 4, 2)[..., None]
    among_the_first = order.argsort(-1, descending=True).argsort(-1) < high
    return call(torch.where(among_the_first, 200.0, -200.0), target)


def _gradients(draw: Draw) -> Operation:
    target = padded_ids(draw, 7, [5, 2], low=1)
    return function_gradients(_logits(draw, target), target, 0.2, cotangent=torch.tensor(1.0))


exercise = ExerciseChecks(reference=reference.label_smoothing_loss, judge=matches_reference(_about_loss),
    excludes=EXCLUDES,
    examples=[
        example(lambda d: call(d.normal(1, 2, 3), torch.tensor([[2, 1]]))),
        example(lambda d: call(d.normal(2, 2, 3), torch.tensor([[2, 0], [1, 2]]), 0.3)),
        example(lambda d: call(d.normal(1, 3, 4), torch.tensor([[3, 0, 2]]), smoothing=0.0, pad_id=2)),
    ], checks=[
    Check("plain", "the default smoothing, without padding", lambda d: _case(d, [5] * 3), weight=2),
    Check("padded", "the mean is over real tokens, and each counts the same",
          lambda d: _case(d, [6, 2, 3], 0.2), weight=2, separates=PADDED),
    Check("unsmoothed", "without smoothing, it is the plain cross-entropy",
          lambda d: _case(d, [6, 1], smoothing=0.0), separates=UNEVEN),
    Check("other-padding", "much smoothing, by name, and another pad_id", _other_padding, separates=PADDED),
    Check("square", "as many positions as tokens in the vocabulary", _square, separates=PADDED),
    Check("empty-sample", "a sample that is all padding, among others",
          lambda d: _case(d, [4, 0, 1]), weight=0.5, separates=PADDED),
    Check("extreme", "logits of ±200 give a finite loss", _extreme, weight=0.5,
          separates=["last-word-first"]),
    Check("learns", "its gradient reaches the logits of real tokens, and no others", _gradients,
          gradients_match(["logits"])),
    arguments(lambda d: _case(d, [6, 2]), _about_loss, names=["logits", "target"], separates=PADDED),
    Check("padding-first", "padding may come first",
          lambda d: call(d.normal(3, 5, 7, scale=2), padded_ids(d, 7, [5, 2, 4], low=1).flip(1), 0.0),
          weight=0.5, separates=[*UNEVEN, "smoothing-fixed"]),
    *properties(lambda d: _case(d, [6, 2]),
                sizes=lambda d: [call(d.normal(1, 1, 2), torch.tensor([[1]])),
                                 call(d.normal(30, 40, 70), d.integers(1, 70, 30, 40))], separates=PADDED),
    defaults(lambda d: [_case(d, [5, 2])], smoothing=(0.1, 0.4), pad_id=(0, 1)),
])
