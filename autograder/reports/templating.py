"""One jinja2 environment for every page: escapes all, refuses unknown names."""

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.reports.words import clean, marks

_CODE = re.compile(r"`([^`\n]+)`")


def prose(text: str, longest: int = 1200) -> Markup:
    """Return cleaned, escaped text with `backticked` words set as code."""
    # Safe: the text is escaped first, and what is added around it is fixed.
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(clean(text, longest)))))  # noqa: S704


@cache
def environment() -> Environment:
    """Return the shared environment, with the filters `prose`, `clean` and `marks`."""
    made = Environment(
        loader=PackageLoader("autograder.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(prose=prose, clean=clean, marks=marks)
    return made
