"""`check("softmax")`: find the student's answer, try it on its examples, show what came."""

import contextlib
import difflib
import sys
from collections.abc import Mapping
from typing import Any

from coursework.instant.card import Card, card_of
from coursework.instant.examples import ExampleSet, find, known_names
from coursework.instant.trying import ask

MISSING = "`{name}` is not defined yet. Run the cell above first."
NO_EXAMPLE = "There is no example for `{name}`, so there is nothing to check here.{meant}"
FAULT = "The check itself failed ({kind}). Your answer may still be right: run the visible tests."


class ShownCard(Card):
    """A card in a notebook or a terminal. It shows itself once in the cell that made it."""

    def _ipython_display_(self) -> None:
        """Do nothing: `check` has displayed the card already."""


def check(name: str, scope: Mapping[str, Any] | None = None) -> Card:
    """Try an answer on the public examples of its exercise, and display a card.

    `name` is the exercise's id or what it defines. The answer is looked up in `scope`, by default
    the names of the caller. Never raises; nothing of the caller's state changes, nothing is stored.
    """
    names = sys._getframe(1).f_globals if scope is None else scope
    try:
        card = _checked(str(name), names)
    except Exception as problem:
        card = Card(str(name), False, FAULT.format(kind=type(problem).__name__))
    with contextlib.suppress(Exception):
        _show(card)
    return ShownCard(**{field: getattr(card, field) for field in Card.__dataclass_fields__})


def _checked(name: str, scope: Mapping[str, Any]) -> Card:
    examples = find(name)
    if examples is None:
        near = difflib.get_close_matches(name, known_names(), n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        return Card(name, False, NO_EXAMPLE.format(name=name, meant=meant))
    if examples.name not in scope:
        return Card(examples.name, False, MISSING.format(name=examples.name))
    return try_answer(examples, scope[examples.name])


def try_answer(examples: ExampleSet, answer: Any) -> Card:
    """Return the card of an answer, given as an object."""
    return card_of(examples, [ask(example.question, answer) for example in examples.examples])


def _show(card: Card) -> None:
    """Display a card in a notebook, print it elsewhere."""
    if "IPython" in sys.modules:
        from IPython import get_ipython
        from IPython.display import display

        shell = get_ipython()
        if shell is not None and getattr(shell, "kernel", None) is not None:
            display({"text/html": card.html, "text/plain": card.text}, raw=True)
            return
    print(card.text)
