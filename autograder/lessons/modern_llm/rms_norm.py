from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge import modules
from autograder.judge.table import (
    CallModule, Check, Comparison, Draw, Excludes, ExerciseChecks, Operation, ReadState, arguments,
    defaults, example, gradients_match, matches_reference, module, module_learns_too, near, properties,
    samples_mix, times,
)
from autograder.lessons.modern_llm import drawn, reference

EXCLUDES = Excludes(["rms_norm"], instead="Build it from the mean of the squares and the formula.")


def _wrong_token(seen: Comparison) -> str | None:
    """Say how the root mean square of the worst token relates to the right one, without the weight."""
    weight = seen.inputs["weights"]["weight"]
    got, want = ((each.value / weight).flatten(0, -2) for each in (seen.got, seen.expected))
    token = int((got - want).abs().amax(-1).argmax())
    mean, right = got[token].mean(), want[token].mean()
    size, wanted = (each[token].pow(2).mean().sqrt() for each in (got, want))
    said = f"Without `weight`, the features of token {token}"
    if not got.isfinite().all():
        return None
    if mean.abs() < 1e-3 * wanted < right.abs():
        return f"{said} have mean 0. Nothing is subtracted in an RMS norm."
    if near(size, wanted):
        return None
    return f"{said} have a root mean square that is {times(size.item(), wanted.item())}."


def _total(seen: Comparison) -> str | None:
    if seen.got.value["total"] > seen.expected.value["total"]:
        return "There are more parameters than `weight`. An RMS norm has no bias."
    if seen.got.value["total"] < seen.expected.value["total"]:
        return "`parameters()` yields fewer numbers than `weight` should have. Is it an nn.Parameter?"
    return None


def _wrong_start(seen: Comparison) -> str | None:
    if not near(seen.got.value["weight"], seen.expected.value["weight"]):
        return "`weight` should start at ones, so that a fresh norm only normalises."
    return None


def _tokens(d: Draw, *shape: int, scale: float = 1.0) -> torch.Tensor:
    """Return tokens of one root mean square, whose mean is far from 0."""
    x = d.normal(*shape) + 0.6
    return x / x.pow(2).mean(dim=-1, keepdim=True).sqrt() * scale


def _norm(d: Draw, *shapes: Sequence[int], scale: float = 1.0, **options: Any) -> CallModule:
    width = shapes[0][-1]
    calls = ([_tokens(d, *shape, scale=scale)] for shape in shapes)
    return module([width], drawn.norm(d, "", width), *calls, **options)


def _zeros(d: Draw) -> Operation:
    x = _tokens(d, 2, 3, 8)
    x[0, 1] = 0.0
    return module([8], drawn.norm(d, "", 8), [x])


def _alone(d: Draw) -> Operation:
    x = _tokens(d, 3, 5, 6) * torch.tensor([2.0, 6.0, 1.0])[:, None, None]
    return modules.alone_twice(module([6], drawn.norm(d, "", 6), [x]))


exercise = ExerciseChecks(reference=reference.RMSNorm, judge=matches_reference(_wrong_token),
    excludes=EXCLUDES,
    examples=[
        example(lambda _: module([2], {}, [torch.tensor([[3.0, 4.0], [0.0, 0.0]])])),
        example(lambda d: module([3], drawn.norm(d, "", 3), [d.normal(2, 2, 3, scale=2.0)])),
        example(lambda d: module([2], drawn.norm(d, "", 2), [d.normal(2, 2, 2)], eps=0.5)),
    ], checks=[
    module_learns_too((3, 5, 7),
    Check("tokens", "each token is divided by the root mean square of its features, then scaled",
          lambda d: module([7], drawn.norm(d, "", 7),
                           [_tokens(d, 3, 5, 7) * (0.5 + torch.arange(15.0).view(3, 5, 1))]),
          weight=2), ["x"]),
    Check("mean-kept", "features around 20 keep their mean: nothing is subtracted",
          lambda d: module([6], drawn.norm(d, "", 6), [20.0 + d.normal(3, 4, 6)])),
    module_learns_too((4, 4, 4), Check("narrow", "as few features as tokens and samples",
          lambda d: module([4], drawn.norm(d, "", 4), [d.normal(4, 4, 4, scale=3.0)])), ["x"]),
    Check("large-eps", "the given eps is used, inside the square root",
          lambda d: _norm(d, (2, 3, 6), scale=0.7, eps=0.5)),
    Check("small-features", "features around 0.003, beside which the default eps is not small",
          lambda d: _norm(d, (2, 3, 6), scale=0.003), weight=0.5),
    Check("zeros", "a token of zeros gives zeros, not NaN", _zeros, weight=0.5),
    Check("other-dimensions", "any number of dimensions may come before the features",
          lambda d: _norm(d, (5, 6), (6,), (2, 3, 4, 6))),
    Check("alone", "a sample gives the same result alone and in a batch", _alone,
          matches_reference(samples_mix)),
    Check("start", "weight starts as ones",
          lambda _: ReadState([5], paths=["weight"]), matches_reference(_wrong_start), 0.5),
    Check("only-weight", "weight is the only parameter",
          lambda _: ReadState([9], paths=["weight"], facts=["shape"], total=True),
          matches_reference(_total), 0.5),
    Check("learns", "weight learns, and gradients pass through to x",
          lambda d: modules.gradients(_norm(d, (2, 5, 6)), d.normal(2, 5, 6),
                                      of_arguments=True, registration=True), gradients_match(["x"])),
    Check("train-mode", "train mode makes no difference",
          lambda d: _norm(d, (2, 4, 5), train=True), weight=0.5),
    arguments(lambda d: _norm(d, (2, 3, 5)), _wrong_token, names=["x"], weight=1),
    *properties(lambda d: _norm(d, (2, 3, 5)), judge=matches_reference(),
                sizes=lambda d: [_norm(d, (1, 1, 1)), _norm(d, (4, 40, 96))]),
    defaults(lambda d: [_norm(d, (2, 3, 6), scale=0.003)], eps=(1e-5, 1e-3)),
])
