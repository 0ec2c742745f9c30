"""A student's code as HTML: escaped, highlighted, numbered, and cut to what a page can show."""

from collections.abc import Collection
from functools import lru_cache

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.model.text import visible

MOST_LINES, MOST_CHARACTERS = 120, 12_000


def code_html(source: str, marked: Collection[int] = ()) -> Markup:
    """Return code with line numbers; `marked` lines stand out. What was cut off is counted."""
    shown = visible(source).strip("\n")
    lines = shown[:MOST_CHARACTERS].split("\n")[:MOST_LINES]
    kept = "\n".join(lines)
    rest = len(shown) - len(kept)
    note = f"<p>{rest} more characters are in your notebook.</p>" if rest > 0 else ""
    # Safe: pygments escapes the code, and the note holds a number.
    return Markup(_highlighted(kept, tuple(sorted(marked))) + note)  # noqa: S704


@lru_cache(maxsize=1024)  # a class's pages share the lesson's own cells
def _highlighted(code: str, marked: tuple[int, ...]) -> str:
    lines = HtmlFormatter(cssclass="code", linenos="inline", hl_lines=list(marked), wrapcode=True)
    html: str = highlight(code, PythonLexer(stripnl=False), lines)
    return html
