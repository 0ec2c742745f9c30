"""One jinja2 environment for all pages, which escapes everything and refuses unknown names; code as HTML."""

import base64
import hashlib
import re
from collections.abc import Collection
from functools import cache, lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.model.text import LONGEST, clean, visible
from autograder.reports.words import percent, points

MOST_LINES, MOST_CHARACTERS = 120, 12_000  # of an answer's code
_DIFFERS = re.compile(r"›([^›‹\n]*)‹")
_CODE = re.compile(r"`([^`\n]+)`")


def prose(text: str, longest: int = LONGEST) -> Markup:
    """Return cleaned, escaped text with `backticked` words set as code."""
    # Safe: the text is escaped first, and only fixed tags are added.
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(clean(text, longest)))))  # noqa: S704


def marked(text: str) -> Markup:
    """Return an example's numbers with those that differ, ›between such signs‹, marked; as wide as before."""
    first, *rest = text.split("\n")
    if rest and not first.endswith((":", "=")):  # reports hold stripped text: move its first row back
        numbers = first.rstrip(" ‹")
        first = numbers.rjust(len(rest[0].rstrip(" ‹"))) + first[len(numbers) :]
    aligned = str(escape("\n".join([first, *rest])))
    # Safe: the text is escaped first, and only fixed tags are added.
    return Markup(_DIFFERS.sub(r" <mark>\1</mark> ", aligned))  # noqa: S704


def code_html(source: str, marked: Collection[int] = ()) -> Markup:
    """Return a student's code, highlighted and with line numbers; `marked` lines stand out.

    It is cut to what a page can show, and what was cut off is counted.
    """
    shown = visible(source).strip("\n")
    kept = "\n".join(shown[:MOST_CHARACTERS].split("\n")[:MOST_LINES])
    rest = len(shown) - len(kept)
    note = f"<p>{rest} more characters are in your notebook.</p>" if rest > 0 else ""
    # Safe: pygments escapes the code, and the note holds a number.
    return Markup(_highlighted(kept, tuple(sorted(marked))) + note)  # noqa: S704


@lru_cache(maxsize=1024)  # a class's pages share the lesson's own cells
def _highlighted(code: str, marked: tuple[int, ...]) -> str:
    lines = HtmlFormatter(cssclass="code", linenos="inline", hl_lines=list(marked), wrapcode=True)
    html: str = highlight(code, PythonLexer(stripnl=False), lines)
    return html


def policy_hash(text: str) -> str:
    """Return the digest by which a Content-Security-Policy allows one style sheet or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def render(template: str, **values: object) -> str:
    """Return a page or a fragment made from one of our templates."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("autograder.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(prose=prose, marked=marked, clean=clean, percent=percent, points=points)
    return made
