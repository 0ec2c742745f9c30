"""Markdown as HTML that no script and no style of a page can mistake for its own.

nbgrader shows markdown cells as they are, scripts included, and does so in the formgrader too, which
runs inside the instructor's own Jupyter session and gives points on a click. What is left here has no
attribute by which a script, a style or another element finds it, loads nothing but the lesson's own
pictures, and holds no formula that could set any of that. nbgrader_config.py replaces nbconvert's filter by
`markdown2html`, and graded notebooks hold what `inert` returns.
"""

import re
import secrets
from functools import cache, lru_cache
from html import escape
from itertools import accumulate
from pathlib import Path

import bleach
import yaml
from bs4 import BeautifulSoup
from bs4.element import NavigableString
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from autograder.model.text import visible

LONGEST = 20_000  # characters of a cell that are shown; at worst they take a second or two
DEEPEST = 100  # elements inside one another: what follows works recursively, and a browser gives up at 512
CUT = "\n\n(The rest of this cell is not shown: it is too long.)"
_TAGS = """a abbr b blockquote br caption code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6
hr i img kbd li mark ol p pre s small span strong sub summary sup table tbody td th thead tr u ul"""
TAGS = frozenset(_TAGS.split())
ATTRIBUTES: dict[str, list[str]] = {
    "a": ["href", "title"],
    "abbr": ["title"],
    "details": ["open"],
    "img": ["alt", "src"],
    "td": ["align", "colspan", "rowspan"],
    "th": ["align", "colspan", "rowspan"],
    "ol": ["start"],
}
VALUES = {  # links leave the page for the web, pictures are the lesson's, sizes are small numbers
    "href": re.compile(r"https?://[^\s]+|mailto:[^\s]+", re.I),
    "src": re.compile(r"images/\w[\w-]*(?:\.\w+)?\.(?:svg|png|jpe?g|gif)", re.I),
    "align": re.compile(r"left|right|center", re.I),
    "open": re.compile(r""),
    **dict.fromkeys(("colspan", "rowspan"), re.compile(r"[1-9]\d?")),
    "start": re.compile(r"\d{1,4}"),
}
LANGUAGES = {"python": "python", "py": "python", "python3": "python", "pycon": "pycon"}
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_TAG = re.compile(r"<(/?)(\w+)")
_WITHOUT_END = frozenset({"br", "hr", "img"})
_ALIGNED = re.compile(r'<(t[hd]) style="text-align:(left|right|center)">')


@lru_cache(maxsize=512)  # a class's pages share the lesson's own cells
def markdown2html(source: str) -> str:
    """Return markdown as HTML that is inert on any page; formulas, tables, code and hints are kept."""
    return _converted(source, colours=True)


def inert(source: str) -> str:
    """Return markdown that gives the same inert HTML by any converter: one HTML block, without colours."""
    html = _converted(source, colours=False).strip()
    return f"<div>{html}</div>".replace("\n", "&#10;") if html else ""


def _converted(source: str, *, colours: bool) -> str:
    source = visible(source)
    if len(source) > LONGEST:
        source = source[:LONGEST] + CUT
    try:
        renderer = _Renderer(colours=colours)
        html = _ALIGNED.sub(r'<\1 align="\2">', MarkdownWithMath(renderer=renderer).render(source))
        html = _CLEANER.clean(html)
        html = renderer.with_code(_disarmed(html)) if _depth(html) < DEEPEST else ""
    except Exception:  # no text may keep a page from being made
        html = ""
    # A tag without an end swallows what follows it; a person should see what was written.
    return html if html.strip() or not source.strip() else f"<pre>{escape(source)}</pre>"


def _depth(html: str) -> int:
    steps = (-1 if end else 1 for end, name in _TAG.findall(html) if name not in _WITHOUT_END)
    return max(accumulate(steps), default=0)


class _Renderer(IPythonRenderer):  # type: ignore[misc] # nbconvert has no type annotations
    """Keeps our own highlighted code apart while everything else is cleaned."""

    def __init__(self, *, colours: bool) -> None:
        super().__init__(escape=False, exclude_anchor_links=True)
        self._colours = colours
        self._mark, self._code = secrets.token_hex(8), list[str]()

    def block_code(self, code: str, info: str | None = None) -> str:
        """Set a mark in the place of code: what is written on the page cannot know it."""
        word = (info or "").split()[:1]
        lexer = get_lexer_by_name(LANGUAGES.get(word[0].lower() if word else "", "text"))
        html = highlight(code, lexer, HtmlFormatter()) if self._colours else escape(code)
        self._code.append(html if self._colours else f"<pre><code>{html}</code></pre>")
        return f"<pre>{self._mark}{len(self._code) - 1}</pre>\n"

    def image(self, text: str, url: str, title: str | None = None) -> str:  # noqa: ARG002
        """Show a picture of the lesson, or else its description: no other is loaded."""
        html = f'<img alt="{self.escape_html(text)}" src="{self.escape_html(url)}" />'
        shown = VALUES["src"].fullmatch(url) and '"' not in text
        return html if shown else f"<em>[picture: {self.escape_html(text or url)[:200]}]</em>"

    def with_code(self, html: str) -> str:
        """Put the code back where its marks are elements of their own."""
        found = re.compile(rf"<pre>{self._mark}(\d+)</pre>")
        return found.sub(lambda place: self._code[int(place[1])], html)


@cache
def _harmless_commands() -> frozenset[str]:
    groups = yaml.safe_load(Path(__file__).with_name("tex_commands.yaml").read_text(encoding="utf-8"))
    return frozenset(command for commands in groups.values() for command in commands.split())


def is_harmless(formula: str) -> bool:
    """Return whether a formula holds only commands that typeset.

    MathJax has others: they set a class, an id, a style or a link, load extensions, or define commands.
    """
    return _harmless_commands().issuperset(_COMMAND.findall(formula))


def _allowed(tag: str, name: str, value: str) -> bool:
    wanted = VALUES.get(name)
    return name in ATTRIBUTES.get(tag, []) and (wanted is None or bool(wanted.fullmatch(value)))


_CLEANER = bleach.Cleaner(tags=TAGS, attributes=_allowed, protocols=["http", "https", "mailto"])


def _disarmed(html: str) -> str:
    """Return HTML whose formulas only typeset: any other is shown as its source."""
    if "\\" not in html and "&" not in html:
        return html
    page = BeautifulSoup(f"<div>{html}</div>", "html.parser")
    page.smooth()  # what stands side by side is one text for MathJax
    for text in page.find_all(string=True):
        if not is_harmless(str(text)) and not text.find_parent(["code", "pre"]):
            code = page.new_tag("code")
            code.append(NavigableString(str(text)))
            text.replace_with(code)
    return page.div.decode_contents() if page.div else ""
