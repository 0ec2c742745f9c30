"""Markdown as HTML that can do nothing: for what a student wrote.

nbgrader's pages show markdown as it comes, scripts included, and the formgrader shows it to
whoever marks, inside their own Jupyter session. nbgrader_config.py puts this filter in the place
of nbconvert's own.
"""

from functools import cache, lru_cache

from nbconvert.filters import markdown2html as rendered
from nbconvert.preprocessors.sanitize import SanitizeHTML

TAGS = [
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
]
ATTRIBUTES = {
    "*": ["class", "id", "title", "style"],
    "a": ["href"],
    "details": ["open"],
    "img": ["src", "alt", "width", "height"],
    "td": ["align", "colspan", "rowspan"],
    "th": ["align", "colspan", "rowspan"],
    "ol": ["start"],
}


@lru_cache(maxsize=512)  # a class's pages share the lesson's own cells
def markdown2html(source: str) -> str:
    """Return markdown as HTML without scripts, forms, frames and handlers; formulas as they are.

    The address of a link or picture has one of the schemes that nothing can run from.
    """
    html: str = _sanitiser().sanitize_html_tags(rendered(source))
    return html


@cache
def _sanitiser() -> SanitizeHTML:
    return SanitizeHTML(tags=TAGS, attributes=ATTRIBUTES)
