"""`check("softmax")`: find the student's answer, try it on its examples, show what came.

A visible test that fails is shown as a card as well: its message first, the traceback folded away. Its cell
still ends in an error, as far as Jupyter, nbclient and `nbgrader validate` are concerned.
"""

import contextlib
import difflib
import linecache
import sys
import traceback
from collections.abc import Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coursework.instant.card import Card

SECONDS = 5.0
MISSING = "`{name}` is not defined yet. Run the cell above first."
NO_EXAMPLE = "There is no example for `{name}`, so there is nothing to check here.{meant}"
FAULT = "The check itself failed ({kind}). Your answer may still be right: run the visible tests."
FAILED_TEST = """<section aria-label="a visible test fails" style="border:1px solid rgba(128,128,128,.45);\
border-left:6px solid #d55e00;border-radius:6px;padding:10px 14px;margin:6px 0;max-width:860px;\
font:14px/1.5 system-ui,sans-serif">
<div>✗ <strong>A visible test fails.</strong></div>
<div style="margin:6px 0;white-space:pre-wrap">{{ message }}</div>
<details><summary style="cursor:pointer">Traceback</summary>
<pre style="background:transparent;color:inherit;font-size:12.5px;overflow-x:auto">{{ trace }}</pre>
</details></section>"""
INSTALLED = "_shows_failures_as_cards"


def check(name: str, scope: Mapping[str, Any] | None = None) -> "Card":
    """Try an answer on the public examples of its exercise, and display a card.

    `name` is the exercise's id or what it defines. The answer is looked up in `scope`, by default
    the names of the caller. Never raises; nothing of the caller's state changes, nothing is stored.
    """
    from coursework.instant.card import Card

    names = sys._getframe(1).f_globals if scope is None else scope
    try:
        card = _checked(str(name), names)
    except Exception as problem:
        card = Card(str(name), False, FAULT.format(kind=type(problem).__name__))
    with contextlib.suppress(Exception):
        _show(card)
    return card


def _checked(name: str, scope: Mapping[str, Any]) -> "Card":
    from coursework.engine.examples import SEED, every_set, find
    from coursework.engine.observe import try_answer
    from coursework.instant.card import Card, card_of

    examples = find(name)
    if examples is None:
        near = difflib.get_close_matches(name, [each.exercise for each in every_set()], n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        return Card(name, False, NO_EXAMPLE.format(name=name, meant=meant))
    if examples.name not in scope:
        return Card(examples.name, False, MISSING.format(name=examples.name))
    answer = scope[examples.name]
    got = [try_answer(each.operation, answer, examples.name, SEED, SECONDS) for each in examples.examples]
    return card_of(examples, got, _cell_of(answer))


def _cell_of(answer: Any) -> str:
    """Return the text of the cell that a function or class was written in, "" if it is not known."""
    functions = [answer, *vars(answer).values()] if isinstance(answer, type) else [answer]
    codes = (getattr(function, "__code__", None) for function in functions)
    code = next(filter(None, codes), None)
    return "".join(linecache.getlines(code.co_filename)) if code else ""


def _show(card: "Card") -> None:
    """Display a card in a notebook, print it elsewhere."""
    if _kernel_shell() is None:
        print(card.text)
        return
    from IPython.display import display

    display({"text/html": card.html, "text/plain": card.text}, raw=True)


def _kernel_shell() -> Any:
    """Return IPython's shell if this runs in a notebook's kernel, None elsewhere."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def show_failures_as_cards() -> None:
    """Show failing asserts as cards from now on, if this runs in a notebook's kernel."""
    shell = _kernel_shell()
    if shell is None or hasattr(shell, INSTALLED):
        return
    plain = shell._showtraceback  # no public hook lets the cell still count as failed

    def show(_shell: Any, kind: type[BaseException], value: BaseException, lines: list[str]) -> None:
        if issubclass(kind, AssertionError) and str(value):
            with contextlib.suppress(Exception):
                from IPython.display import display

                display({"text/html": failed_test(value), "text/plain": str(value)}, raw=True)
                lines = [f"AssertionError: {value}"]
        plain(kind, value, lines)

    shell._showtraceback = MethodType(show, shell)
    setattr(shell, INSTALLED, True)


def failed_test(value: BaseException) -> str:
    """Return the card of a failing assert, as HTML. Frames of IPython are left out of its traceback."""
    from jinja2 import Environment

    frames = [f for f in traceback.extract_tb(value.__traceback__) if "/IPython/" not in f.filename]
    trace = "".join(traceback.format_list(frames)) + f"AssertionError: {value}"
    card = Environment(autoescape=True).from_string(FAILED_TEST)
    return card.render(message=str(value), trace=trace)
