"""What is wrong with a module's parts: layers in a plain list, shared or excluded parts, lost weights."""

import contextlib
import io
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import nn

from coursework.engine.examples import ExampleSet
from coursework.engine.operation import Answer
from coursework.engine.operations import ModuleOperation, unregistered
from coursework.exclusions import excluded_part

LAYERS = (
    "`{name}` is a plain {kind}, so PyTorch doesn't see the layers in it: they are not trained, saved or "
    "switched to eval mode."
)
LAYERS_HINT = "`nn.ModuleList` is used like a list, and registers its layers."
WEIGHT = "`{path}` is not a parameter that can be trained: `parameters()` doesn't yield it."
WEIGHT_HINT = (
    "Assign an `nn.Parameter`, or a layer that has one, to an attribute of the module in `__init__`. Print "
    "`list(module.named_parameters())`."
)

SHARED = "`{one}` and `{other}` are one object, so they always hold the same numbers."
SHARED_HINT = "Change the numbers of one, and look at the other. How many did you make?"


def shared(examples: ExampleSet, answer: Any) -> tuple[str, str]:
    """Return a title and a hint for two parameters that should differ and are one, two "" for none."""
    return _first(_shared(examples, answer))


def missed(examples: ExampleSet, answer: Any) -> tuple[str, str]:
    """Return a title and a hint for the first thing that an optimiser would miss, two "" if there is none."""
    return _first(_missed(examples, answer))


def refused_part(examples: ExampleSet, answer: Any, excludes: Sequence[str]) -> str:
    """Return the name of a part of a module that its exercise excludes, "" for none."""
    return _first(_refused_parts(examples, answer, excludes))[0]


def _first(found: Iterator[tuple[str, str]]) -> tuple[str, str]:
    """Return the first of some titles with their hints, two "" for none. Nothing is printed."""
    quiet = contextlib.redirect_stdout(io.StringIO())
    with contextlib.suppress(Exception), torch.random.fork_rng([]), quiet:
        return next(found, ("", ""))
    return "", ""


def _asked(examples: ExampleSet) -> list[ModuleOperation]:
    return [each.operation for each in examples.examples if isinstance(each.operation, ModuleOperation)]


def _refused_parts(examples: ExampleSet, answer: Any, excludes: Sequence[str]) -> Iterator[tuple[str, str]]:
    for operation in _asked(examples)[:1]:
        if part := excluded_part(answer(*operation.init, **operation.init_kwargs), excludes):
            yield part, ""


def _shared(examples: ExampleSet, answer: Any) -> Iterator[tuple[str, str]]:
    for operation in [each for each in _asked(examples) if each.weights][:1]:
        built, weights = answer(*operation.init, **operation.init_kwargs), operation.weights
        parts = {path: built.get_parameter(path) for path in weights}
        for one, other in combinations(weights, 2):
            if parts[one] is parts[other] and not torch.equal(weights[one], weights[other]):
                layers = [path.rpartition(".")[0] for path in (one, other)]
                one, other = layers if all(layers) else (one, other)
                yield SHARED.format(one=one, other=other), SHARED_HINT


def _missed(examples: ExampleSet, answer: Any) -> Iterator[tuple[str, str]]:
    asked = _asked(examples)
    for operation in asked[:1]:
        built = answer(*operation.init, **operation.init_kwargs)
        lists = {name: value for name, value in vars(built).items() if isinstance(value, (list, tuple))}
        layers = {name: {each for each in lists[name] if isinstance(each, nn.Module)} for name in lists}
        for name in (name for name in lists if layers[name] - set(built.modules())):
            yield LAYERS.format(name=name, kind=type(lists[name]).__name__), LAYERS_HINT
    for operation in asked:
        if operation.weights:
            built = operation.build(Answer({examples.name: answer}, examples.name))
            for path in unregistered(built, operation.weights):
                yield WEIGHT.format(path=path), WEIGHT_HINT
            return
