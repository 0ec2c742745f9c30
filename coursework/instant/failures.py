"""Shows a visible test that fails as a card: its message first, the traceback folded away.

The cell still ends in an error, as far as Jupyter, nbclient and `nbgrader validate` are concerned.
"""

import contextlib
import traceback
from types import MethodType
from typing import Any

from IPython import get_ipython
from IPython.display import display
from jinja2 import Environment

CARD = Environment(autoescape=True).from_string(
    """<section aria-label="a visible test fails" style="border:1px solid rgba(128,128,128,.45);\
border-left:6px solid #d55e00;border-radius:6px;padding:10px 14px;margin:6px 0;max-width:860px;\
font:14px/1.5 system-ui,sans-serif">
<div>✗ <strong>A visible test fails.</strong></div>
<div style="margin:6px 0;white-space:pre-wrap">{{ message }}</div>
<details><summary style="cursor:pointer">Traceback</summary>
<pre style="background:transparent;color:inherit;font-size:12.5px;overflow-x:auto">{{ trace }}</pre>
</details></section>"""
)
MARK = "_shows_failures_as_cards"


def install() -> None:
    """Show failing asserts as cards from now on, if this runs in a notebook's kernel."""
    shell = get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None or hasattr(shell, MARK):
        return
    plain = shell._showtraceback  # no public hook lets the cell still count as failed

    def show(_shell: Any, kind: type[BaseException], value: BaseException, lines: list[str]) -> None:
        if issubclass(kind, AssertionError) and str(value):
            with contextlib.suppress(Exception):
                display({"text/html": card(value), "text/plain": str(value)}, raw=True)
                lines = [f"AssertionError: {value}"]
        plain(kind, value, lines)

    shell._showtraceback = MethodType(show, shell)
    setattr(shell, MARK, True)


def card(value: BaseException) -> str:
    """Return the card of a failing assert, as HTML."""
    frames = [frame for frame in traceback.extract_tb(value.__traceback__) if _is_own(frame)]
    trace = "".join(traceback.format_list(frames)) + f"AssertionError: {value}"
    return CARD.render(message=str(value), trace=trace)


def _is_own(frame: traceback.FrameSummary) -> bool:
    """Return whether a frame belongs to the notebook, and not to IPython."""
    return "/IPython/" not in frame.filename
