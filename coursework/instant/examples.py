"""The public examples of exercises, and what known mistakes give on them.

The build of the course makes the files in `coursework/examples`, one pair for each lesson. They hold
inputs, right results and the results of known mistakes; nothing that is graded is among them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from coursework.instant.values import unpack

FOLDER = Path(__file__).resolve().parent.parent / "examples"


@dataclass(frozen=True)
class Question:
    """What an example asks of an answer.

    A function is called with `args` and `kwargs`. A class is built with these, `weights` are loaded
    by attribute path, and it is called once for each entry of `calls`, in eval mode unless `train`.
    An answer that needs more than plain data is tried `through` a function of `coursework`, given as
    `module:name`, which is called with the answer and the arguments. `shown` is how the call reads.
    """

    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, Any] = field(default_factory=dict)
    calls: Sequence[Sequence[Any]] | None = None
    train: bool = False
    through: str = ""
    shown: str = ""


@dataclass(frozen=True)
class Result:
    """What came of a question: a value, or the type and message of an exception.

    `changed` holds the numbers of the arguments that the answer modified.
    """

    value: Any = None
    raised: str = ""
    message: str = ""
    changed: tuple[int, ...] = ()


@dataclass(frozen=True)
class KnownMistake:
    """A mistake that shows on the examples of an exercise, with what identifies it there.

    Attributes:
        titles: its title. Two titles are two mistakes that were made together or, with `either`,
            two that no example tells apart.
        hints: what to look at, one for each title.
        forms, numbers: the signature of its result on each example.
    """

    titles: Sequence[str]
    hints: Sequence[str]
    either: bool
    forms: Sequence[str]
    numbers: torch.Tensor


@dataclass(frozen=True)
class Example:
    """One public example: the question, how it reads as a call, and the right result."""

    question: Question
    shown: str
    expected: Result
    names: Sequence[str] = ()
    picture: str = ""


@dataclass(frozen=True)
class ExampleSet:
    """All examples of one exercise, with the mistakes that show on them."""

    exercise: str
    name: str
    examples: Sequence[Example]
    mistakes: Sequence[KnownMistake]


def find(name: str) -> ExampleSet | None:
    """Return the examples of an exercise, by its id or by the name of what it defines."""
    for lesson in sorted(path.stem for path in FOLDER.glob("*.json")):
        for found in read(lesson):
            if name in (found.exercise, found.name):
                return found
    return None


def known_names() -> list[str]:
    """Return the ids of all exercises that have examples."""
    lessons = sorted(path.stem for path in FOLDER.glob("*.json"))
    return [found.exercise for lesson in lessons for found in read(lesson)]


@cache
def read(lesson: str) -> tuple[ExampleSet, ...]:
    """Return the examples of a lesson such as '03_attention'; none if it has no file of them."""
    path = FOLDER / f"{lesson}.json"
    if not path.is_file():
        return ()
    tensors = load_file(path.with_suffix(".safetensors"))
    return tuple(_example_set(stored, tensors) for stored in json.loads(path.read_text("utf-8"))["exercises"])


def _example_set(stored: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> ExampleSet:
    return ExampleSet(
        stored["exercise"],
        stored["name"],
        [_example(each, tensors) for each in stored["examples"]],
        _mistakes(stored, tensors),
    )


def _mistakes(stored: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> list[KnownMistake]:
    """Return the known mistakes: one row of texts, forms and projections for each."""
    numbers = tensors.get(f"{stored['exercise']} mistakes", torch.zeros(0))
    found = []
    for row, (texts, either, forms) in enumerate(stored["mistakes"]):
        titles, hints = zip(*(stored["texts"][number] for number in texts), strict=True)
        known = [stored["forms"][number] for number in forms]
        found.append(KnownMistake(titles, hints, bool(either), known, numbers[row]))
    return found


def _example(stored: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> Example:
    question = Question(**unpack(stored["question"], tensors))
    expected = _result(stored["expected"], tensors)
    return Example(question, stored["shown"], expected, stored["names"], stored["picture"])


def _result(stored: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> Result:
    changed = tuple(stored["changed"])
    return Result(unpack(stored["value"], tensors), stored["raised"], stored["message"], changed)
