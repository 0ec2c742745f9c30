"""Formulas in a page's prose as MathML, which browsers set without a script and without a network."""

import re
from functools import lru_cache
from html import escape
from xml.etree import ElementTree as ET

from bs4 import BeautifulSoup
from bs4.element import NavigableString
from latex2mathml.converter import convert

from autograder.reports.safe_html import is_harmless, markdown2html

LONGEST = 600  # characters of a formula
_FORMULA = re.compile(
    r"\$\$(?P<block>[^$]+)\$\$|\\\[(?P<bracket>.+?)\\\]"
    r"|(?P<environment>\\begin\{(?P<name>align\*?|equation\*?|gather\*?|aligned)\}.+?\\end\{(?P=name)\})"
    r"|\\\((?P<paren>.+?)\\\)|(?<![\\\w$])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\w$])",
    re.DOTALL,
)
_ELEMENTS = """math mrow mi mo mn mtext msup msub msubsup mfrac msqrt mroot mover munder munderover mtable mtr
mtd mspace mpadded mphantom menclose mstyle mmultiscripts mprescripts none semantics"""
_TAG = re.compile(rf'</?(?:{"|".join(_ELEMENTS.split())})(?: (?:[a-z]+)="[\w .:/#%+-]*")*\s*/?>', re.ASCII)
_BINDING = re.compile(r" (?:on\w+|href|src|style|class|id|name)=", re.IGNORECASE)
_NAME = "<mi>(?:sin|cos|tan|exp|log|ln|max|min)</mi>"
# Before a function's name, and after it; not inside `sin²`, where the name is the base of a power.
_UNSPACED = re.compile(
    rf"(?<=</mi>|</mn>)(?={_NAME})|(?<!<msup>)(?<!<msub>)({_NAME})(?=<m[in]>|<ms(?:up|ub|qrt)>)"
)


def typeset_markdown(source: str) -> str:
    """Return a person's markdown as inert HTML with formulas as MathML."""
    return typeset(markdown2html(source))


def typeset(html: str) -> str:
    """Return cleaned HTML with its formulas outside code as MathML; others are left as they are."""
    if "$" not in html and "\\" not in html:
        return html
    page = BeautifulSoup(html, "html.parser")
    page.smooth()
    for text in page.find_all(string=_FORMULA):
        if not text.find_parent(["code", "pre"]):
            text.replace_with(BeautifulSoup(_with_formulas(text), "html.parser"))
    return str(page)


def _with_formulas(text: NavigableString) -> str:
    pieces, end = [], 0
    for found in _FORMULA.finditer(text):
        block = not (found["inline"] or found["paren"])
        tex = next(filter(None, found.group("block", "bracket", "environment", "paren", "inline")))
        pieces += [escape(text[end : found.start()]), mathml(tex, block=block) or escape(found[0])]
        end = found.end()
    return "".join([*pieces, escape(text[end:])])


def converted(tex: str, display: str = "inline") -> str:
    """Return a formula as MathML, with thin spaces around the names of functions: `sin a`, not `sina`.

    Raises whatever the converter raises for what is no formula.
    """
    made: str = convert(tex, display=display)
    return _UNSPACED.sub(r'\1<mspace width="0.17em"/>', made)


@lru_cache(maxsize=2048)  # a class's pages share the lesson's formulas
def mathml(tex: str, *, block: bool = False) -> str:
    """Return a formula as MathML; empty if it is too long, unknown, or not only a formula.

    The converter passes text on as it is, so its result is held against a list of elements.
    """
    if len(tex) > LONGEST or not is_harmless(tex):
        return ""
    try:
        made = converted(tex, "block" if block else "inline")
        ET.fromstring(made)  # noqa: S314 - without a document type there is nothing to expand
    except Exception:  # the converter raises a class of its own for each fault
        return ""
    rest = _TAG.sub("", made)
    binds = any(_BINDING.search(tag) for tag in _TAG.findall(made))
    return "" if "<" in rest or ">" in rest or "\\" in rest or binds else made
