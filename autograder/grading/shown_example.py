"""The public example that a report shows: the student's result beside the right one."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from autograder.model.exercise import Exercise
from autograder.model.report import ExampleReport
from coursework.engine.values import Opaque
from coursework.instant.card import Evidence, card_of
from coursework.instant.examples import ExampleSet, Question, Result, read
from coursework.instant.layout import Table, as_text
from coursework.instant.values import Other

MOST_TABLES, MOST_CHARACTERS = 6, 1500
SAFE_MESSAGES = ("PartError", "TookTooLongError")  # ours; other messages are the student's


@lru_cache(maxsize=256)
def _examples(lesson: str, exercise: str) -> ExampleSet | None:
    return next((each for each in read(lesson) if each.exercise == exercise), None)


def questions(lesson: str, exercise: Exercise) -> list[Question]:
    """Return the questions of an exercise's public examples; none if it has no examples."""
    found = _examples(lesson, exercise.id)
    return [example.question for example in found.examples] if found else []


def read_result(seen: Any) -> Result | None:
    """Return what a probe saw, as far as it has the form of a result."""
    if not isinstance(seen, dict) or seen.keys() != {"value", "raised", "message", "changed"}:
        return None
    raised, message, changed = seen["raised"], seen["message"], seen["changed"]
    if not isinstance(raised, str) or not isinstance(message, str):
        return None
    numbers = tuple(n for n in changed if type(n) is int) if isinstance(changed, tuple) else ()
    kept = message[:200] if raised in SAFE_MESSAGES else ""
    return Result(_readable(seen["value"]), raised[:60], kept, numbers)


def _readable(value: Any) -> Any:
    """Return a value with what could not be sent in the form that examples know."""
    if isinstance(value, Opaque):
        return Other(value.kind)
    if isinstance(value, (list, tuple)):
        return type(value)(_readable(item) for item in value) if type(value) in (list, tuple) else value
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    return value


def shown_example(lesson: str, exercise: Exercise, got: Sequence[Result]) -> ExampleReport | None:
    """Return the smallest example that came out wrong; None if all were right, or not all were tried."""
    examples = _examples(lesson, exercise.id)
    if examples is None or len(got) != len(examples.examples):
        return None
    card = card_of(examples, got)
    if card.evidence is None:
        return None
    yours, expected = (_text(each) for each in (card.evidence.yours, card.evidence.expected))
    return ExampleReport(
        call=card.evidence.call,
        inputs=_inputs(card.evidence),
        yours=yours,
        expected=expected,
        pictures=card.pictures,
    )


def _text(tables: Sequence[Table]) -> str:
    return "\n".join(map(as_text, tables[:MOST_TABLES]))[:MOST_CHARACTERS]


def _inputs(evidence: Evidence) -> str:
    return "\n".join(f"{name} =\n{_text(parts)}" for name, parts in evidence.inputs)[:MOST_CHARACTERS]
