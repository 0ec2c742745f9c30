"""Markdown as HTML without active content, for what a student wrote.

nbgrader shows markdown cells as they are, scripts included, in feedback pages and in the formgrader,
which runs inside the instructor's own Jupyter session. nbgrader_config.py replaces nbconvert's
filter by this one.
"""

from functools import cache, lru_cache

from nbconvert.filters import markdown2html as rendered
from nbconvert.preprocessors.sanitize import SanitizeHTML

TAGS = (  # noqa: SIM905 - a list literal would take a line for each tag
    "a abbr b blockquote br caption code dd del details div dl dt em figcaption figure h1 h2 h3 h4 "
    "h5 h6 hr i img kbd li mark ol p pre s small span strong sub summary sup table tbody td th "
    "thead tr u ul"
).split()
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
    """Return markdown as HTML without scripts, forms, frames or handlers; formulas are kept."""
    html: str = _sanitiser().sanitize_html_tags(rendered(source))
    return html


@cache
def _sanitiser() -> SanitizeHTML:
    return SanitizeHTML(tags=TAGS, attributes=ATTRIBUTES)
