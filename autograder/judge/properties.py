"""Checks of what should hold of every answer, a row each, for the tables of all exercises.

A row takes a function that draws an operation as any other row does. The answer has to give the
right result as well, so that a wrong answer gains nothing by having a property.

Example:
    *properties(lambda d: call(d.normal(2, 5, 16), d.normal(2, 7, 16)),
                sizes=lambda d: [call(d.normal(1, 1), d.normal(1, 1)),
                                 call(d.normal(40, 64), d.normal(50, 64))])
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch.utils._pytree import tree_leaves

from autograder.judge import modules
from autograder.judge.judges import (
    PASSED,
    SENTENCES,
    failed,
    gradients_match,
    matches_reference,
    no_side_effects,
)
from autograder.model.draw import Draw
from autograder.model.exercise import Check, Judge, Verdict
from coursework.engine.describe import Comparison, Explainer, entry_of
from coursework.engine.operation import Operation
from coursework.engine.operations import (
    AskEach,
    AskForSettings,
    AskStrided,
    AskWithArguments,
    FunctionGradients,
    ModuleGradients,
    ModuleOperation,
    Setting,
    in_float64,
)

Ask = Callable[[Draw], Operation]
CLOSE = 1e-4  # two results closer than this are the same


@dataclass(frozen=True)
class AskForDefaults(AskWithArguments):
    """Leave arguments out, twice, and then pass each with its default and with another value.

    `defaults` holds these two values for each argument, `given` all of it in this order. What is read for
    each argument is "default", "another default", "no result" if a call gives None, or "unused" if the other
    value changes nothing. Nothing is held against an answer that gives two results for the same call.
    """

    defaults: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    named: ClassVar[Sequence[str]] = ("defaults",)
    sent_as: ClassVar = AskWithArguments

    def read(self, value: Any) -> dict[str, str]:
        """Compare what came of leaving arguments out with the rest."""
        left_out, again, *rest = (self._results(outcomes) for outcomes in value)
        if not _alike(left_out, again):
            return dict.fromkeys(self.defaults, "default")
        found = {}
        for name, default, other in zip(self.defaults, rest[::2], rest[1::2], strict=True):
            used = "unused" if _alike(left_out, other) else "default"
            used = "no result" if None in left_out else used
            found[name] = used if _alike(left_out, default) else "another default"
        return found

    def _results(self, outcomes: Any) -> list[Any]:
        """Return what is read from each result; where an operation raised, the type of the exception."""
        pairs = zip(self.operations, outcomes, strict=True)
        return [str(o["raised"]) if "raised" in o else asked.read(o["value"]) for asked, o in pairs]


def properties(
    ask: Ask,
    *,
    judge: Judge | None = None,
    sizes: Callable[[Draw], Sequence[Operation]] | None = None,
    strided: bool = True,
    separates: Sequence[str] = (),
) -> list[Check]:
    """Return the rows that most exercises have: settings, memory layout, and sizes if some are given.

    `judge` is the exercise's own, if none is given. Without `strided`, there are no tensors to lay
    out. `separates` is that of the rows that use `ask`.
    """
    title = "the result is right, and nothing else changes: gradients, defaults, random seed, a module's mode"
    checks = [
        Check("settings", title, lambda d: AskForSettings([ask(d)]), judge, 0.5, around=with_settings_kept)
    ]
    if strided:
        title = "it works on tensors that are not contiguous in memory, such as slices of larger ones"
        checks.append(Check("layout", title, lambda d: AskStrided([ask(d)]), judge, 0.5, around=each))
    checks = [replace(check, separates=separates) for check in checks]
    if sizes:
        title = "it works for sizes from 1 to well beyond those of the visible tests"
        checks.append(Check("sizes", title, lambda d: AskEach(sizes(d)), judge, 0.5, around=each))
    return checks


def arguments(
    ask: Ask,
    *explainers: Explainer,
    names: Sequence[str] = (),
    any_form: bool = False,
    weight: float = 0.5,
    separates: Sequence[str] = (),
) -> Check:
    """Return the row "arguments": none of them is modified; with floats among them, in float64."""
    judge = no_side_effects(*explainers, names=names, any_form=any_form)
    title = "the result is right and the arguments are unchanged (in float64, if they are floats)"
    return Check("arguments", title, lambda d: in_float64(ask(d)), judge, weight, separates=separates)


def with_settings_kept(judge: Judge) -> Judge:
    """Return a judge of what `AskForSettings` gives: right results, and every setting as it was."""

    def decide(seen: Comparison) -> Verdict:
        if not seen.got.raised:
            changed = [name for name in Setting if seen.got.value.get(name) is not True]
            if changed:
                return failed(SENTENCES["settings"][changed[0]])
            seen = entry_of(seen, "results")
        verdict = each(judge)(seen)
        if verdict.passed or seen.got.raised:
            return verdict
        return failed(f"PyTorch's settings are unchanged, but the result is wrong. {verdict.message}")

    return decide


def defaults(ask: Callable[[Draw], Sequence[Operation]], **values: tuple[Any, Any]) -> Check:
    """Return the row "defaults": arguments that are left out have the values of the skeleton.

    `values` holds for each argument its default, and another value that gives another result.
    """
    listed = ", ".join(f"{name}={default!r}" for name, (default, _) in values.items())
    title = f"arguments that are left out get their defaults: {listed}"

    given = [{name: value} for name, pair in values.items() for value in pair]

    def asked(d: Draw) -> Operation:
        return AskForDefaults(ask(d), [{}, {}, *given], defaults=values)

    def decide(seen: Comparison) -> Verdict:
        value = matches_reference()(seen)
        for name in values if not seen.got.raised else ():
            if said := SENTENCES["defaults"].get(seen.got.value.get(name)):
                return failed(said.format(name=name))
        return value

    return Check("defaults", title, asked, decide, weight=0.5)


def each(judge: Judge) -> Judge:
    """Return a judge of a list of results, one of each of several operations."""

    def decide(seen: Comparison) -> Verdict:
        operations = seen.operation.operations if isinstance(seen.operation, AskEach) else []
        if seen.got.raised or seen.expected.raised:
            return judge(replace(seen, operation=operations[0]))
        got, want = seen.got.value, seen.expected.value
        if not isinstance(got, list) or len(got) != len(want):
            return matches_reference()(seen)
        for operation, mine, right in zip(operations, got, want, strict=True):
            pair = replace(seen.got, value=mine), replace(seen.expected, value=right)
            verdict = judge(Comparison(operation, *pair, seen.name, seen.source))
            if not verdict.passed:
                return verdict
        return PASSED

    return decide


def learns_too(check: Check, gradients: Ask, names: Sequence[str] = ()) -> Check:
    """Return a check that asks for gradients as well, and judges them after the result.

    An answer through which nothing learns then fails it, although its numbers are right. `names` are those
    of `gradients_match`.
    """
    learns = gradients_match(names)

    def around(judge: Judge) -> Judge:
        def decide(seen: Comparison) -> Verdict:
            asked = isinstance(seen.operation, FunctionGradients | ModuleGradients)
            return learns(seen) if asked else judge(seen)

        return each(decide)

    title = f"{check.title}, and it learns"
    return replace(check, title=title, test=lambda d: AskEach([check.test(d), gradients(d)]), around=around)


def module_learns_too(output: Sequence[int], check: Check, names: Sequence[str] = ()) -> Check:
    """Return a check of a module that asks for gradients as well, at other numbers of the same sizes.

    `output` is the shape of what its first call returns; `names` are those of `gradients_match`.
    """

    def gradients(draw: Draw) -> Operation:
        asked = check.test(draw)
        assert isinstance(asked, ModuleOperation)
        return modules.gradients(asked, draw.normal(*output), of_arguments=bool(names))

    return learns_too(check, gradients, names)


def _alike(one: Any, other: Any) -> bool:
    pairs = [tree_leaves(one), tree_leaves(other)]
    return len(pairs[0]) == len(pairs[1]) and all(map(_equal, *pairs))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        fits = one.shape == other.shape and one.dtype == other.dtype
        return fits and torch.allclose(one, other, CLOSE, CLOSE, equal_nan=True)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE)
    return type(one) is type(other) and bool(one == other)
