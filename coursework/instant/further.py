"""What grading asks besides results, asked of the examples: eval mode with dropout, float64, gradients."""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from coursework.engine.compare import difference, is_right
from coursework.engine.describe import Comparison, describe, say_lost
from coursework.engine.examples import ExampleSet
from coursework.engine.observation import Observation
from coursework.engine.operation import Operation
from coursework.engine.operations import (
    FLOAT64,
    GRADIENTS,
    CallFunction,
    CallModule,
    ModuleOperation,
    Reached,
    doubled,
    in_float64,
)
from coursework.engine.parts import CallThrough

RATE = 0.5
DROPS = "In eval mode, two calls with the same input give different results."
RANDOM = "right on its examples, but random in eval mode."
DROPS_HINT = "Does an `F.dropout` lack `training=self.training`?"
NOT_IN_FLOAT64 = "right on its examples, but not in float64."
UNLEARNT = "right on its examples, but it stops gradients."
CUT_OFF = "`.detach()`, `.data`, `no_grad`, `requires_grad=False` and NumPy cut off the gradient."

Attempt = Callable[[Operation], Observation]


def further(
    examples: ExampleSet, asks: Sequence[str], answer: Any, source: str, attempt: Attempt
) -> tuple[str, str, str] | None:
    """Return the headline, title and hint of what is wrong besides the examples, None for nothing."""
    if _drops(examples, answer, attempt):
        return RANDOM, DROPS, DROPS_HINT
    return next(_asked(examples, asks, source, attempt), None)


def _drops(examples: ExampleSet, answer: Any, attempt: Attempt) -> bool:
    """Return whether a module that is built with dropout gives two results for one call in eval mode."""
    for each in examples.examples:
        asked = each.operation
        if type(asked) is CallModule and asked.calls and not asked.train:
            twice = replace(asked, calls=[asked.calls[0]] * 2, parts=[*asked.parts[:1]] * 2)
            got = attempt(_with_dropout(twice, answer, RATE)).value
            if isinstance(got, list) and difference(*got):
                return True
    return False


def _with_dropout(asked: ModuleOperation, answer: Any, rate: float) -> ModuleOperation:
    """Return an operation on a module that is built with this dropout, if it takes any."""
    parameters: list[str] = []
    with contextlib.suppress(TypeError, ValueError):  # not callable, or in a form of its own
        parameters = [*inspect.signature(answer).parameters]
    if "dropout" not in parameters:
        return asked
    place, init = parameters.index("dropout"), [*asked.init]
    if place >= len(init):
        return replace(asked, init_kwargs={**asked.init_kwargs, "dropout": rate})
    return replace(asked, init=[*init[:place], rate, *init[place + 1 :]])


def _asked(
    examples: ExampleSet, asks: Sequence[str], source: str, attempt: Attempt
) -> Iterator[tuple[str, str, str]]:
    """Yield a headline, a title and a hint for what fails in float64 or with gradients."""
    plain = [
        each
        for each in examples.examples
        if not each.expected.raised
        and isinstance(each.operation, CallFunction | ModuleOperation)
        and not isinstance(each.operation, CallThrough)
    ]
    for each in plain if FLOAT64 in asks else ():
        asked = in_float64(each.operation)
        expected = replace(each.expected, value=doubled(each.expected.value))
        seen = Comparison(asked, attempt(asked), expected, examples.name, source)
        if not is_right(seen.got, expected):
            yield NOT_IN_FLOAT64, describe(seen), ""
    for each in [each for each in plain if _can_learn(each.operation)][:1] if GRADIENTS in asks else ():
        got = attempt(Reached(each.operation))
        if got.raised:
            seen = Comparison(each.operation, got, each.expected, examples.name, source)
            yield UNLEARNT, describe(seen), ""
        elif got.value:
            yield UNLEARNT, say_lost(got.value, each.names), CUT_OFF


def _can_learn(operation: Any) -> bool:
    """Return whether an operation calls a function, or a module as a whole and in eval mode."""
    of_module = isinstance(operation, ModuleOperation)
    return not (of_module and (operation.train or getattr(operation, "parts", ())))
