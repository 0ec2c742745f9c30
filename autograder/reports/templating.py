"""One jinja2 environment for all pages: it escapes everything and refuses unknown names."""

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.model.text import LONGEST, clean
from autograder.reports.words import percent, points

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
        first = first.rstrip().rjust(len(rest[0].rstrip()))
    aligned = str(escape("\n".join([first, *rest])))
    # Safe: the text is escaped first, and only fixed tags are added.
    return Markup(_DIFFERS.sub(r" <mark>\1</mark> ", aligned))  # noqa: S704


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
