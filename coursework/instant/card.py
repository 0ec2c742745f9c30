"""The card that a student sees: right, or the smallest example that is not, and what is wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jinja2 import Environment, FileSystemLoader, Template

from coursework.instant.comparing import is_right
from coursework.instant.describing import describe
from coursework.instant.examples import Example, ExampleSet, KnownMistake, Result
from coursework.instant.layout import Cell, Table, as_text, inputs_of, tables_of
from coursework.instant.pictures import Picture, picture_of
from coursework.instant.recognising import recognise

RIGHT, WRONG, UNKNOWN = "#009e73", "#d55e00", "#888888"
SAY_ALL = ("mask", "source")  # pictures that show every number
COUNTS = {1: "the example", 2: "both examples"}
PASSED = "Right on {count}. Grading uses other sizes and other numbers."


@dataclass(frozen=True)
class Evidence:
    """One example as it is shown: the call, its inputs, the student's result and the right one."""

    call: str
    inputs: Sequence[tuple[str, list[Table]]]
    yours: Sequence[Table]
    expected: Sequence[Table]
    pictures: tuple[Picture, Picture] | None = None
    drawn_only: bool = False


@dataclass(frozen=True)
class Card:
    """What is said of an answer.

    Attributes:
        name: what the exercise defines, such as `softmax`.
        passed: whether every example came out right.
        title: the mistake that was recognised, or a sentence on what is wrong; empty if right.
        hint: what to look at; empty where nothing is known.
        headline: one sentence for the top of the card.
        known: whether `title` names a known mistake.
        evidence: the example that shows it.
    """

    name: str
    passed: bool
    title: str = ""
    hint: str = ""
    headline: str = ""
    known: bool = False
    evidence: Evidence | None = field(default=None, repr=False)

    @property
    def colour(self) -> str:
        """The colour of the card's edge."""
        return RIGHT if self.passed else WRONG

    @property
    def html(self) -> str:
        """The card as HTML without scripts, for light and dark pages."""
        return _template().render(card=self)

    @property
    def pictures(self) -> str:
        """The two drawings alone, as HTML; empty if there are none."""
        drawn = self.evidence.pictures if self.evidence else None
        drawing = _template().make_module({"card": self}).__dict__["drawing"] if drawn else None
        return "".join(str(drawing(picture)) for picture in drawn) if drawn and drawing else ""

    @property
    def text(self) -> str:
        """The card as plain text."""
        lines = [f"{'✓' if self.passed else '✗'} {self.name}: {self.headline}", self.title]
        lines.append(f"Hint: {self.hint}" if self.hint else "")
        if self.evidence:
            lines += [f"\n{self.evidence.call}", *_inputs_text(self.evidence)]
            lines += ["yours", *map(as_text, self.evidence.yours)]
            lines += ["expected", *map(as_text, self.evidence.expected)]
        return "\n".join(filter(None, lines))


def _inputs_text(evidence: Evidence) -> list[str]:
    return [f"{name} =\n" + "\n".join(map(as_text, parts)) for name, parts in evidence.inputs]


@cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=folder, autoescape=True).get_template("card.html.j2")


def card_of(examples: ExampleSet, got: Sequence[Result]) -> Card:
    """Return the card for an answer's results on the examples of its exercise, one result each."""
    pairs = list(zip(examples.examples, got, strict=True))
    wrong = [pair for pair in pairs if not is_right(pair[1], pair[0].expected)]
    if not wrong:
        count = COUNTS.get(len(pairs), f"all {len(pairs)} examples")
        return Card(examples.name, passed=True, headline=PASSED.format(count=count))
    example, result = min(wrong, key=lambda pair: _size(pair[0]))
    mistake = recognise(examples, got)
    title, hint = _words(mistake) if mistake else (describe(result, example.expected), "")
    headline = f"{len(pairs) - len(wrong)} of {len(pairs)} examples come out right."
    if len(pairs) == 1:
        headline = "The example comes out wrong."
    evidence = _evidence(example, result)
    return Card(examples.name, False, title, hint, headline, mistake is not None, evidence)


def _words(mistake: KnownMistake) -> tuple[str, str]:
    joint = " Or: " if mistake.either else " "
    return joint.join(_sentence(title) for title in mistake.titles), " ".join(mistake.hints)


def _sentence(text: str) -> str:
    return text if text[-1:] in ".?!" else f"{text}."


def _size(example: Example) -> int:
    """Return how much there is to read of an example."""
    inputs = [*example.question.args, *example.question.kwargs.values(), *(example.question.calls or ())]
    return sum(_count(value) for value in [*inputs, example.expected.value])


def _count(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel()
    return sum(map(_count, value)) if isinstance(value, (list, tuple)) else 1


def _touched(example: Example, got: Result, said: str) -> list[Table]:
    """Return what is said of the arguments that the answer modified, as a table; none for none."""
    extra = set(got.changed) - set(example.expected.changed)
    names = [name for number, name in enumerate(example.names) if number in extra]
    differs = "was changed" in said
    return [Table("afterwards", [[Cell(said.format(" and ".join(names)), differs)]])] if names else []


def _evidence(example: Example, got: Result) -> Evidence:
    question = example.question
    values: list[Any] = [*question.args, *question.kwargs.values()]
    if question.calls is not None:
        values = [argument for call in question.calls for argument in call]
    drawn = picture_of(example.picture, got, example.expected)
    return Evidence(
        example.shown,
        inputs_of(example.names, values),
        [*tables_of(got, example.expected), *_touched(example, got, "{} was changed")],
        [*tables_of(example.expected), *_touched(example, got, "{} is as it was")],
        drawn,
        drawn_only=drawn is not None and example.picture in SAY_ALL,
    )
