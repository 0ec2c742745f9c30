"""The card that a student sees: right, or the smallest example that is not, and what is wrong with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from jinja2 import Environment, FileSystemLoader, Template
from torch.utils._pytree import tree_leaves

from coursework.engine.compare import is_right
from coursework.engine.describe import (
    Comparison,
    about_gradients,
    changed_arguments,
    describe,
    entry_of,
    say_changed,
)
from coursework.engine.draw import (
    Picture,
    Table,
    TableCell,
    as_text,
    inputs_of,
    only_differing,
    picture_of,
    tables_of,
)
from coursework.engine.examples import Example, ExampleSet
from coursework.engine.exceptions import StudentCell
from coursework.engine.observation import Observation, Raised
from coursework.engine.operations import ModuleOperation
from coursework.engine.trial import took_too_long
from coursework.instant.exercises import ASKS, DONE, NO_INPUT, WRONG

COLOURS = {DONE: "#009e73", WRONG: "#d55e00"}
NEUTRAL = "#888888"
SAY_ALL = ("mask", "source")  # pictures that show every number
MOST_PRINTED = 2000  # characters
COUNTS = {1: "the example", 2: "both examples"}
PASSED = "Right on {count}. Grading uses other sizes and other numbers."
SAME_RESULT = " Another mistake gives the same result: {}."
SAME_RESULTS = " Other mistakes give the same result: {}."
ALONE = "This example alone comes out as with a known mistake: {}"
RAISED_IN = "The exception was raised in line {line}."
TOOK_TOO_LONG = "Your code did not finish. Is there a loop that never ends?"


@dataclass(frozen=True)
class ShownExample:
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
        headline: one sentence for the top of the card.
        title: the mistake that was recognised, or a sentence on what is wrong; empty if right.
        hint: what to look at; empty where nothing is known.
        known: whether all results are those of the known mistake that `title` names.
        example: the example that shows it.
        printed: what the student's code printed meanwhile.
        waits_for: the earlier exercise whose mistake alone keeps this one from being right, "" for none.
        where: where a small change would do, or how to ask for that, or where an exception was raised.
        blamed: the lines that `where` is about, with their numbers.
        may_search: whether the code runs and only its results are wrong: a small change may mend that.
        sign: one that is given, such as "○" or "●" where nothing was tried; "" for that of right or wrong.
    """

    name: str
    passed: bool
    headline: str
    title: str = ""
    hint: str = ""
    known: bool = False
    example: ShownExample | None = field(default=None, repr=False)
    printed: str = field(default="", repr=False)
    waits_for: str = ""
    where: str = field(default="", repr=False)
    blamed: Sequence[tuple[int, str]] = field(default=(), repr=False)
    may_search: bool = field(default=False, repr=False)
    sign: str = ""

    @property
    def mark(self) -> str:
        """The sign before the name: that which is given, or else "✓" or "✗"."""
        return self.sign or (DONE if self.passed else WRONG)

    def _ipython_display_(self) -> None:
        """Do nothing: `check` has displayed the card already, also as the last line of a cell."""

    @property
    def html(self) -> str:
        """The card as HTML without scripts, for light and dark pages."""
        return template("card.html.j2").render(card=self, colour=COLOURS.get(self.mark, NEUTRAL))

    @property
    def pictures(self) -> str:
        """The two drawings alone, as HTML; empty if there are none."""
        if not self.example or not self.example.pictures:
            return ""
        drawing: Any = template("card.html.j2").make_module({"card": self}).__dict__["drawing"]
        return "".join(str(drawing(picture)) for picture in self.example.pictures)

    @property
    def text(self) -> str:
        """The card as plain text."""
        lines = [f"{self.mark} {self.name}: {self.headline}", self.title]
        lines.append(f"Hint: {self.hint}" if self.hint else "")
        lines += [self.where, *(f"{number:4}  {text}" for number, text in self.blamed)]
        if shown := self.example:
            lines.append(f"\n{shown.call}")
            lines += [f"{name} =\n" + "\n".join(map(as_text, parts)) for name, parts in shown.inputs]
            lines += ["yours", *map(as_text, shown.yours)]
            lines += ["expected", *map(as_text, shown.expected)]
        lines.append(f"\nYour code printed:\n{self.shown_print}" if self.printed else "")
        return "\n".join(filter(None, lines))

    @property
    def shown_print(self) -> str:
        """The beginning of what the student's code printed."""
        return self.printed if len(self.printed) <= MOST_PRINTED else f"{self.printed[:MOST_PRINTED]}…"


@cache
def template(name: str) -> Template:
    """Return one of the templates of what `check` and a failing test display; all text in it is escaped."""
    folder = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=folder, autoescape=True).get_template(name)


def card_of(examples: ExampleSet, got: Sequence[Observation], source: str = "") -> Card:
    """Return the card for an answer's results on the examples of its exercise, one result each.

    `source` is the cell that the answer was written in: exceptions are told with its line.
    """
    pairs = list(zip(examples.examples, got, strict=True))
    wrong = [pair for pair in pairs if not is_right(pair[1], pair[0].expected)]
    if not wrong:
        count = COUNTS.get(len(pairs), f"all {len(pairs)} examples")
        return Card(examples.name, passed=True, headline=PASSED.format(count=count))
    nothing = all(seen.raised is None and seen.value is None for seen in got)  # not what some mistake loses
    mistake = None if nothing else examples.recognise(got)
    told = [pairs[place] for place in mistake.places] if mistake else []
    failing = any(_gives_nothing(*pair) for pair in wrong)  # which says more than a missing ValueError

    def order(pair: tuple[Example, Observation]) -> tuple[bool, bool, int]:
        last = _is_lost(*pair) or (failing and pair[0].expected.raised is not None)
        return last, _is_empty(pair[0]), _size(pair[0])

    example, seen = min(told or wrong, key=order)
    compared = Comparison(example.operation, seen, example.expected, examples.name, source)
    changed = changed_arguments(compared, example.names)
    if mistake:
        title, hint = _sentence(mistake.title), mistake.hint
        if not mistake.exact and len(mistake.places) == 1 < len(wrong):
            title = ALONE.format(title)
        others = same_result(mistake.alike)
        if all(seen.raised for _, seen in wrong):  # many mistakes end in one exception
            title += others
        else:
            hint = f"{hint}{others}".strip()
    else:
        title = (
            TOOK_TOO_LONG
            if took_too_long(seen)
            else ASKS
            if seen.raised and seen.raised.kind == NO_INPUT
            else _what_is_wrong(compared, example) or say_changed(changed)
        )
        hint = ""
    headline = f"{len(pairs) - len(wrong)} of {len(pairs)} examples come out right."
    if len(pairs) == 1:
        headline = "The example comes out wrong."
    shown = _shown(example, seen, [name.strip("`") for name in changed])
    card = Card(examples.name, False, headline, title, hint, mistake is not None and mistake.exact, shown)
    if seen.raised and mistake and not took_too_long(seen):
        return with_line(card, seen.raised, source)
    are_two = mistake is not None and mistake.are_two
    may_search = not are_two and all(_is_wrong_value(*pair) for pair in wrong)
    return replace(card, may_search=may_search)


def same_result(titles: Sequence[str]) -> str:
    """Return a sentence with the titles of other mistakes that give the same result, "" for none."""
    said = SAME_RESULT if len(titles) == 1 else SAME_RESULTS
    return said.format("; ".join(each.removesuffix(".") for each in titles)) if titles else ""


def with_line(card: Card, raised: Raised, source: str) -> Card:
    """Return a card that names a mistake, with the line of the cell in which it ended in an exception."""
    line = StudentCell(source).line(raised.line or 0, raised.text)
    return replace(card, where=RAISED_IN.format(line=line[0]), blamed=[line]) if line else card


def _is_wrong_value(example: Example, seen: Observation) -> bool:
    """Return whether something came of the code where something was expected, or it never ended."""
    if seen.raised or example.expected.raised:
        return took_too_long(seen)
    return seen.value is not None


def _sentence(title: str) -> str:
    return title if title[-1:] in ".?!" else f"{title}."


def _what_is_wrong(compared: Comparison, example: Example) -> str:
    """Describe a wrong result; of an output with its gradients, the output comes first."""
    parts = example.expected.value
    if not isinstance(parts, Mapping) or "gradients" not in parts:
        return describe(compared)

    def about(seen: Comparison) -> str | None:
        return describe(entry_of(seen, "output")) or about_gradients(example.names)(seen)

    return describe(compared, [about], any_form=True)


def _is_lost(example: Example, seen: Observation) -> bool:
    """Return whether nothing came where an exception is expected: a missing `return` says so elsewhere."""
    return example.expected.raised is not None and seen.raised is None and seen.value is None


def _gives_nothing(example: Example, seen: Observation) -> bool:
    """Return whether an exception or None came where a result is expected."""
    return example.expected.raised is None and (seen.raised is not None or seen.value is None)


def _is_empty(example: Example) -> bool:
    """Return whether there is no number to see in what is expected, and so no difference either."""
    tensors = [leaf for leaf in tree_leaves(example.expected.value) if isinstance(leaf, torch.Tensor)]
    return bool(tensors) and not any(tensor.numel() for tensor in tensors)


def _size(example: Example) -> int:
    """Return how much there is to read of an example."""
    leaves = tree_leaves([list(example.operation.arguments), example.expected.value])
    return sum(leaf.numel() if isinstance(leaf, torch.Tensor) else 1 for leaf in leaves)


def _shown(example: Example, got: Observation, changed: Sequence[str]) -> ShownExample:
    values = example.operation.arguments
    if isinstance(example.operation, ModuleOperation):
        values = [argument for call in values for argument in call]
    drawn = picture_of(example.picture, got, example.expected)
    yours, expected = only_differing(tables_of(got, example.expected), tables_of(example.expected))
    names = " and ".join(changed)
    after, before = (
        [Table("afterwards", [[TableCell(f"{names} {said}", differs)]])] if names else []
        for said, differs in (("was changed", True), ("is as it was", False))
    )
    return ShownExample(
        example.shown,
        inputs_of(example.names, values),
        [*yours, *after],
        [*expected, *before],
        drawn,
        drawn_only=drawn is not None and example.picture in SAY_ALL,
    )
