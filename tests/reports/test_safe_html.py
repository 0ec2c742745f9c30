"""Markdown keeps what makes it readable, and nothing that binds to a page or runs."""


import time

import pytest
from bs4 import BeautifulSoup
from nbconvert.filters import markdown2html as nbconverts

from autograder.reports.safe_html import ATTRIBUTES, LONGEST, TAGS, VALUES, inert, is_harmless, markdown2html

from .page_attacks import ATTACKS, CLICKS


@pytest.mark.parametrize(
    "source",
    [
        "<script>steal()</script>",
        "<img src=x onerror=steal()>",
        "[a](javascript:steal())",
        "<iframe src='steal'></iframe>",
        "<a href=' javascript:steal()'>a</a>",
        "<svg onload=steal()></svg>",
        "<details ontoggle=steal() open>",
        "<form action=steal>",
    ],
)
def test_nothing_runs(source: str) -> None:
    """No element or attribute that runs or loads code remains."""
    html = markdown2html(source)
    for word in (
        "<script",
        "onerror=",
        'href="javascript',
        "<iframe",
        "<svg",
        "ontoggle=",
        "<form",
        'href=" javascript',
    ):
        assert word not in html


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("# Title", "<h1"),
        ("**b** and `a < b`", "<code>a &lt; b</code>"),
        ("$a < b$", "$a &lt; b$"),
        ("| a |\n|---|\n| 1 |", "<td>1</td>"),
        ("![a cell](images/x.svg)", 'src="images/x.svg"'),
        (
            "<details><summary>Hint 1: x</summary>\n\ntext\n\n</details>",
            "<summary>Hint 1: x</summary>",
        ),
        ("```python\nx = 1\n```", '<span class="n">x</span>'),
    ],
)
def test_what_lessons_use_is_kept(source: str, kept: str) -> None:
    """Headings, code, formulas, tables, pictures and hints remain."""
    assert kept in markdown2html(source)


SLOW = ["[", "*a", "**", "<", "<div>", "![", "``", "$", "\\begin{a}", "|a", "~~", "[a](", "<!--", "&amp;", "<b><i>", "http://a.", "\\\\(", "\\\\[", "<table><tr><td>"]


def require_inert(html: str) -> None:
    """Assert that only listed elements, attributes and values are there, and no formula that binds."""
    page = BeautifulSoup(html, "html.parser")
    for element in page.find_all(True):
        assert element.name in TAGS
        assert set(element.attrs) <= set(ATTRIBUTES.get(element.name, []))
        for name, value in element.attrs.items():
            assert name not in VALUES or VALUES[name].fullmatch(value), (name, value)
    page.smooth()
    for text in page.find_all(string=True):
        assert text.find_parent(["code", "pre"]) or is_harmless(text)


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_left_to_bind_to(name: str) -> None:
    """By our filter, and in the graded notebook by nbconvert's own and by ours."""
    stored = inert(ATTACKS[name])
    for html in (stored, nbconverts(stored), markdown2html(stored)):
        require_inert(html)
    assert inert(stored) == stored or BeautifulSoup(inert(stored), "html.parser").get_text().split() == (
        BeautifulSoup(stored, "html.parser").get_text().split()
    )


@pytest.mark.parametrize("name", CLICKS)
def test_the_attacks_would_bind_without_us(name: str) -> None:
    """Or are at least text that names the buttons."""
    assert "credit" in ATTACKS[name] or "mark-graded" in ATTACKS[name]


@pytest.mark.parametrize(
    "formula",
    [r"$\frac{1}{\sqrt{d_k}}$", r"$$\sum_{i=1}^n \alpha_i \mathbf{v}_i$$", r"\begin{align}a&=b\end{align}"],
)
def test_ordinary_formulas_are_typeset(formula: str) -> None:
    """They stay text that MathJax finds."""
    assert "<code>" not in markdown2html(formula)
    assert "<code>" not in nbconverts(inert(formula))


@pytest.mark.parametrize("piece", SLOW)
def test_no_text_takes_long(piece: str) -> None:
    """A parser meets at most so many characters of a cell; the rest is told, not shown."""
    started = time.process_time()
    html = markdown2html(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 8
    assert len(html) < 60 * LONGEST


def test_what_cannot_be_shown_is_shown_as_it_was_written() -> None:
    """A tag without an end hides nothing from the person who grades."""
    html = markdown2html('<div title="\n\nmy whole answer')
    assert "my whole answer" in BeautifulSoup(html, "html.parser").get_text()


def test_a_text_that_starts_with_an_unknown_command_keeps_its_markup_whole() -> None:
    """It is shown as code, from its first character on."""
    assert markdown2html("<style>\\A</style>").startswith("<code>")
