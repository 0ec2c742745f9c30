"""What a table of checks is written with: short ways to ask for an operation, and entries of answers.

Example:
    Check("cross", "five queries and seven keys",
          lambda d: call(d.normal(2, 5, 16), d.normal(2, 7, 16)), weight=2)
"""

from collections.abc import Callable, Mapping, Sequence
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
from autograder.judge.gradients import gradients_match, unregistered
from autograder.judge.judges import (
    PASSED,
    choice,
    entry_of,
    failed,
    matches_reference,
    no_side_effects,
    number,
    part_of,
    shape_of,
)
from autograder.judge.masks import about_mask, causal, padded_ids
from autograder.judge.properties import arguments, defaults, properties
from autograder.model.draw import Draw
from autograder.model.errors import CheckDefinitionError
from autograder.model.exercise import (
    FINISHED_ATTENTION,
    Check,
    Comparison,
    Excludes,
    ExerciseChecks,
    Judge,
    PublicExample,
    Verdict,
)
from coursework.engine.compare import of_type, shape_difference, side, times
from coursework.engine.operation import Fault, Operation, returned_tensor
from coursework.engine.operations import CallFunction, CallModule, FunctionGradients, ReadEntry, ReadState
from coursework.instant.examples import Question

# fmt: off
__all__ = [  # what tables import from here, whichever module defines it
    "CLOSE", "FINISHED_ATTENTION", "NEARLY_ALL", "PASSED", "CallFunction", "CallModule", "Check",
    "Comparison", "Draw", "DropoutFact", "Excludes", "ExerciseChecks", "Fault", "Judge", "Operation",
    "Question", "ReadState", "Verdict", "about_mask", "are_probabilities", "arguments", "call", "causal",
    "choice", "defaults", "ends_in_norm", "entry", "entry_of", "example", "fact", "facts", "failed",
    "function_gradients", "gradients_match", "matches_reference", "module", "near", "no_side_effects",
    "number", "of_type", "outputs", "padded_ids", "part_of", "positions_change", "positions_mix",
    "properties", "returned_tensor", "samples_mix", "shape_difference", "shape_of", "side", "times",
    "unregistered", "without_norm",
]
# fmt: on


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


def example(ask: Callable[[Draw], Question | Operation], picture: str = "") -> PublicExample:
    """Return a small public input: a call as in a table of checks, or a question of its own.

    Raises CheckDefinitionError for an operation that is neither a call of a function nor of a module.
    """

    def question(draw: Draw) -> Question:
        asked = ask(draw)
        if isinstance(asked, CallModule):
            kwargs = dict(asked.init_kwargs)
            calls = [list(call) for call in asked.calls]
            return Question(asked.init, kwargs, dict(asked.weights), calls, asked.train)
        if isinstance(asked, CallFunction):
            return Question(list(asked.args), dict(asked.kwargs))
        if isinstance(asked, Question):
            return asked
        raise CheckDefinitionError(f"an example calls a function or a module, not {type(asked).__name__}")

    return PublicExample(question, picture)


def entry(key: str, title: str, judge: Judge, *, weight: float = 1.0) -> Check:
    """Return the check of one entry of an `answers` dictionary; underscores of the key become hyphens."""
    return Check(key.replace("_", "-"), title, lambda _: ReadEntry(key), judge, weight)
