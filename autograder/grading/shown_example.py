"""The public example that a report shows: the student's result beside the right one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from autograder.model.exercise import Exercise
from autograder.model.report import ExampleReport
from coursework.engine.draw import Table, as_text
from coursework.engine.examples import ExampleSet, read
from coursework.engine.observation import Observation
from coursework.engine.operation import Operation
from coursework.instant.card import card_of

MOST_TABLES, MOST_CHARACTERS = 6, 1500


@lru_cache(maxsize=256)
def _examples(lesson: str, exercise: str) -> ExampleSet | None:
    return next((each for each in read(lesson) if each.exercise == exercise), None)


def operations(lesson: str, exercise: Exercise) -> list[Operation]:
    """Return what an exercise's public examples do with an answer; nothing if it has none."""
    found = _examples(lesson, exercise.id)
    return [example.operation for example in found.examples] if found else []


def shown_example(lesson: str, exercise: Exercise, got: Sequence[Observation]) -> ExampleReport | None:
    """Return the smallest example that came out wrong; None if all were right, or not all were tried.

    Of an exception, the message is left out: it may be the student's own.
    """
    examples = _examples(lesson, exercise.id)
    if examples is None or len(got) != len(examples.examples):
        return None
    card = card_of(examples, [_without_message(seen) for seen in got])
    if card.example is None:
        return None
    inputs = "\n".join(f"{name} =\n{_text(parts)}" for name, parts in card.example.inputs)
    return ExampleReport(
        call=card.example.call,
        inputs=inputs[:MOST_CHARACTERS],
        yours=_text(card.example.yours),
        expected=_text(card.example.expected),
        pictures=card.pictures,
    )


def _without_message(seen: Observation) -> Observation:
    return replace(seen, raised=replace(seen.raised, message="")) if seen.raised else seen


def _text(tables: Sequence[Table]) -> str:
    return "\n".join(map(as_text, tables[:MOST_TABLES]))[:MOST_CHARACTERS]
