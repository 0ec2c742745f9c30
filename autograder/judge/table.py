"""What a table of checks is written with: short ways to ask for an operation, and entries of answers.

Example:
    Check("cross", "five queries and seven keys",
          lambda d: call(d.normal(2, 5, 16), d.normal(2, 7, 16)), weight=2)
"""

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.judge.dropout import NEARLY_ALL, DropoutFact
from autograder.judge.explain import (
    CLOSE,
    are_probabilities,
    ends_in_norm,
    fact,
    facts,
    near,
    outputs,
    positions_change,
    positions_mix,
    samples_mix,
    without_norm,
)
from autograder.judge.judges import (
    PASSED,
    choice,
    failed,
    gradients_match,
    matches_reference,
    no_side_effects,
    number,
    shape_of,
    unregistered,
)
from autograder.judge.masks import about_mask, causal, padded_ids
from autograder.judge.properties import arguments, defaults, learns_too, module_learns_too, properties
from autograder.model.draw import Draw
from autograder.model.exercise import (
    FINISHED_ATTENTION,
    Check,
    Excludes,
    ExerciseChecks,
    Judge,
    PublicExample,
    Verdict,
)
from coursework.engine.compare import of_type, shape_difference, side, times
from coursework.engine.describe import Comparison, entry_of, part_of
from coursework.engine.operation import Operation, returned_tensor
from coursework.engine.operations import CallFunction, CallModule, FunctionGradients, ReadEntry, ReadState
from coursework.engine.parts import CallThrough

# fmt: off
__all__ = [  # what tables import from here, whichever module defines it
    "CLOSE", "FINISHED_ATTENTION", "NEARLY_ALL", "PASSED", "CallFunction", "CallModule", "Check",
    "Comparison", "Draw", "DropoutFact", "Excludes", "ExerciseChecks", "Judge", "Operation",
    "PublicExample", "ReadState", "Verdict", "about_mask", "are_probabilities", "arguments", "call", "causal",
    "choice", "defaults", "ends_in_norm", "entry", "entry_of", "example", "fact", "facts", "failed",
    "function_gradients", "gradients_match", "learns_too", "matches_reference", "module", "module_learns_too",
    "near", "no_side_effects", "number", "of_type", "outputs", "padded_ids", "part_of", "positions_change",
    "positions_mix", "properties", "returned_tensor", "samples_mix", "shape_difference", "shape_of", "side",
    "through", "times", "unregistered", "without_norm",
]
# fmt: on


example = PublicExample


def call(*args: Any, **kwargs: Any) -> CallFunction:
    """Call the exercise's function with these arguments."""
    return CallFunction(args, kwargs)


def function_gradients(*args: Any, cotangent: Any, **kwargs: Any) -> FunctionGradients:
    """Call the exercise's function and backpropagate `cotangent` to its arguments."""
    return FunctionGradients(args, kwargs, cotangent)


def module(
    init: Sequence[Any],
    weights: Mapping[str, Any],
    *calls: Sequence[Any],
    train: bool = False,
    **init_kwargs: Any,
) -> CallModule:
    """Build the exercise's class, load `weights` by attribute path, and call it once per entry of calls.

    `init` and `init_kwargs` go to the constructor; each entry of `calls` is a list of arguments.
    """
    return CallModule(init, weights, calls, init_kwargs, train)


def through(name: str, *args: Any, **kwargs: Any) -> CallThrough:
    """Call a function of `coursework.engine.parts` with the answer and these arguments."""
    return CallThrough(args, kwargs, name)


def entry(key: str, title: str, judge: Judge) -> Check:
    """Return the check of one entry of an `answers` dictionary; underscores of the key become hyphens."""
    return Check(key.replace("_", "-"), title, lambda _: ReadEntry(key), judge)
