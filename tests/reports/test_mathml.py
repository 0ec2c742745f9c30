"""Formulas are set as MathML, and nothing but a formula gets through."""

import pytest
from bs4 import BeautifulSoup

from autograder.reports.mathml import LONGEST, mathml, typeset
from autograder.reports.student_pages import prose_html

from .page_attacks import ATTACKS

EVIL = [
    r"\text{<script>alert(1)</script>}",
    r"\text{</mtext></mrow></math><img src=x onerror=a()>}",
    r"\text{<mi onclick=\"a()\">x</mi>}",
    r'\text{<mi href="javascript:a()">x</mi>}',
    r"\href{javascript:a()}{x}",
    r"\class{full-credit}{x}",
    r"\text{</mtext>}",
    r"\unknown{x}",
    "x" * (LONGEST + 1),
    r"\frac{" * 200,
]


@pytest.mark.parametrize(
    ("markdown", "element"),
    [
        (r"$\frac{1}{\sqrt{d_k}}$", "mfrac"),
        (r"$$\sum_{i=1}^n \alpha_i$$", "munderover"),
        (r"a \\(x^2\\) b", "msup"),
        (r"\begin{align}a&=b\\ d&<d\end{align}", "mtable"),
        (r"$a < b$ and $c$", "mo"),
    ],
)
def test_formulas_are_typeset(markdown: str, element: str) -> None:
    """In any of the usual brackets, with no TeX left over."""
    page = BeautifulSoup(prose_html(markdown), "html.parser")
    assert page.find("math") is not None
    assert page.find(element) is not None
    assert "\\" not in page.get_text()
    assert "$" not in page.get_text()


@pytest.mark.parametrize(
    ("tex", "spaces"), [(r"\sin a \cos b", 3), (r"\sin(a)", 0), (r"\sin^2 + \cos^2", 0), (r"2 \log n", 2)]
)
def test_names_of_functions_stand_apart(tex: str, spaces: int) -> None:
    """`sin a` is not set as `sina`; brackets, powers and signs need no space."""
    assert mathml(tex).count("<mspace") == spaces


@pytest.mark.parametrize("tex", EVIL)
def test_what_is_not_only_a_formula_is_shown_as_text(tex: str) -> None:
    """The converter would pass markup on."""
    assert mathml(tex) == ""
    assert BeautifulSoup(typeset(f"<p>${tex.replace('<', '&lt;')}$</p>"), "html.parser").find(["script", "img"]) is None


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_gets_through_with_its_formulas_typeset(name: str) -> None:
    """Neither an element that runs, nor an attribute that binds."""
    page = BeautifulSoup(prose_html(ATTACKS[name]), "html.parser")
    for element in page.find_all(True):
        assert element.name not in {"script", "style", "iframe", "svg", "form", "button", "object"}
        assert not {each for each in element.attrs if each.startswith("on") or each in ("id", "style", "name")}
        assert element.name in {"div", "span", "pre"} or "class" not in element.attrs


def test_code_and_prices_are_left_alone() -> None:
    """A dollar is not always a formula."""
    html = "<p>It costs $5, or $6.</p><pre>$x$</pre><p><code>$y$</code></p>"
    assert typeset(html) == html
