from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge import modules, weights
from autograder.judge.table import (
    CallModule, Check, Comparison, Draw, Excludes, ExerciseChecks, Operation, ReadState, arguments,
    defaults, example, gradients_match, matches_reference, module, module_learns_too, near, properties,
    samples_mix, times, without_norm,
)
from coursework import stand_ins

EXCLUDES = Excludes(["norms"], instead="Build it from the mean, the variance and the formula.")


def _wrong_token(seen: Comparison) -> str | None:
    got, want = (without_norm(each.value, seen).flatten(0, -2) for each in (seen.got, seen.expected))
    token = int((got - want).abs().amax(-1).argmax())
    mean, spread = got[token].mean(), got[token].std(unbiased=False)
    right = want[token].std(unbiased=False)
    said = f"Without `weight` and `bias`, the features of token {token}"
    if not got.isfinite().all() or (mean.abs() < 1e-2 and near(spread, right)):
        return None
    if mean.abs() >= 1e-2:
        return f"{said} should have mean 0, but they don't."
    return f"{said} have a standard deviation that is {times(spread.item(), right.item())}."


def _wrong_start(seen: Comparison) -> str | None:
    for path, start in (("weight", "ones"), ("bias", "zeros")):
        if not near(seen.got.value[path], seen.expected.value[path]):
            return f"`{path}` should start at {start}, so that a fresh norm only normalises."
    return None


def _tokens(d: Draw, *shape: int, scale: float = 1.0) -> torch.Tensor:
    """Return tokens of one standard deviation: next to it, the default eps cannot be seen."""
    x = d.normal(*shape)
    return x / x.std(-1, keepdim=True, unbiased=False) * scale


def _norm(d: Draw, *shapes: Sequence[int], scale: float = 1.0, **options: Any) -> CallModule:
    drawn = weights.norm(d, "", shapes[0][-1])
    return module([shapes[0][-1]], drawn, *([_tokens(d, *shape, scale=scale)] for shape in shapes), **options)


def _constant_token(d: Draw) -> Operation:
    x = _tokens(d, 2, 3, 8)
    x[0, 1] = 2.0
    return module([8], weights.norm(d, "", 8), [x])


def _far_from_zero(d: Draw) -> Operation:
    """Ask for features around 5000: eighths, so that every order of summation gives the same mean."""
    x = 5000.0 + (_tokens(d, 2, 3, 8) * 8).round() / 8
    return module([8], weights.norm(d, "", 8), [x])


def _alone(d: Draw) -> Operation:
    x = _tokens(d, 3, 5, 6) * torch.tensor([2.0, 6.0, 1.0])[:, None, None]
    return modules.alone_twice(module([6], weights.norm(d, "", 6), [x]))


exercise = ExerciseChecks(reference=stand_ins.LayerNorm, judge=matches_reference(_wrong_token),
    excludes=EXCLUDES,
    examples=[
        example(lambda d: _norm(d, (1, 2, 3))),
        example(lambda _: module([4], {}, [torch.tensor([[[1.0, 2.0, 3.0, 6.0], [0.01, 0.0, -0.01, 0.0]]])])),
        example(lambda d: module([2], weights.norm(d, "", 2), [d.normal(2, 2, 2)], eps=1.0)),
        example(lambda _: module([4], {}, [torch.tensor(
            [[4999.0, 5000.0, 5001.0, 5000.0], [5000.0, 5003.0, 5000.0, 5001.0]])])),
    ], checks=[
    module_learns_too((3, 5, 7),
    Check("tokens", "each token's features are normalised to mean 0 and variance 1, then scaled and shifted",
          lambda d: module([7], weights.norm(d, "", 7), [_tokens(d, 3, 5, 7, scale=2) + 1]), weight=2,
          separates=["default-eps"]), ["x"]),
    module_learns_too((4, 4, 4),
    Check("narrow", "as few features as tokens and samples: the variance is divided by their number",
          lambda d: _norm(d, (4, 4, 4))), ["x"]),
    Check("large-eps", "the given eps is used, inside the square root",
          lambda d: _norm(d, (2, 3, 6), scale=0.7, eps=0.5)),
    Check("constant", "a token whose features are all equal gives the bias, not NaN", _constant_token,
          matches_reference(_wrong_token, atol=1e-3), separates=["default-eps"]),
    Check("far-from-zero", "features around 5000 are normalised as well", _far_from_zero,
          matches_reference(_wrong_token, atol=1e-2), separates=["root-of-deviation"]),
    Check("other-dimensions", "any number of dimensions may come before the features",
          lambda d: _norm(d, (5, 6), (2, 3, 4, 6))),
    Check("alone", "a sample gives the same result alone and in a batch", _alone,
          matches_reference(samples_mix)),
    Check("start", "weight starts as ones, and bias as zeros",
          lambda _: ReadState([5], paths=["weight", "bias"]), matches_reference(_wrong_start), 0.5),
    Check("learns", "weight and bias learn, and gradients pass through to x",
          lambda d: modules.gradients(_norm(d, (2, 5, 6)), d.normal(2, 5, 6),
                                      of_arguments=True, registration=True), gradients_match(["x"])),
    arguments(lambda d: _norm(d, (2, 3, 5)), _wrong_token, names=["x"], weight=1),
    *properties(lambda d: _norm(d, (2, 3, 5)), judge=matches_reference(),
                sizes=lambda d: [_norm(d, (1, 1, 3)), _norm(d, (4, 40, 96))]),
    defaults(lambda d: [_norm(d, (2, 3, 6), scale=0.003)], eps=(1e-5, 1e-3)),
])
