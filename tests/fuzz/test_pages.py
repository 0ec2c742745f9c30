"""Whatever a student's prose holds, the page has nothing that a script or a style could bind to."""

from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.filters import markdown2html as nbconverts

from autograder.reports.safe_html import ATTRIBUTES, TAGS, VALUES, inert, is_harmless, markdown2html
from autograder.reports.student_pages import prose_html

FUZZ = settings.get_profile("fuzz")
NAMES = ["a", "b", "div", "span", "p", "img", "svg", "math", "style", "script", "table", "td", "tr", "title", "textarea", "form", "input", "details", "noscript", "template"]
KEYS = ["class", "id", "style", "name", "for", "href", "src", "onclick", "onerror", "data-toggle", "aria-label", "title", "role", "tabindex", "xlink:href"]
WORDS = [
    *("nbgrader_cell", "full-credit", "softmax-test", "javascript:a()", "images/x.svg", "http://a.b/c", "x"),
    *("$", "$$", "\\(", "\\)", "\\[", "\\]", "\\class", "\\cssId{a}", "\\begin{a}", "\\end{a}", "\\frac"),
    *("&lt;", "&#36;", "&bsol;", "&quot;", "&NewLine;", "<!--", "-->", "--!>", "<![CDATA[", "]]>", "<?"),
    *("```", "~~~", "`", "\n", "\n\n", "    ", "> ", "- ", "# ", "|", "|-|-|\n", "[a](", ")", "![a](", "attachment:a"),
    *("<pre>", "</pre>", "</div>", "</style>", "</title>", "</textarea>", '"', "'", "=", "/", ">", "<", "\\"),
    *("\0", "\x1b[2J", "\u202e", "\u2028", "\x0c", "\r", "\ufeff", "\ud800"),
]
words = st.sampled_from(WORDS) | st.text(st.characters(codec=None), max_size=4)
texts = st.lists(words, max_size=12).map("".join)


@st.composite
def elements(draw: st.DrawFn) -> str:
    """Draw an element, well formed or nearly, with attributes of all kinds of quoting."""
    quote = st.sampled_from(['"', "'", "", "`"])
    pairs = draw(st.lists(st.tuples(st.sampled_from(KEYS), quote, texts), max_size=3))
    inside = draw(texts | st.deferred(elements))
    name = draw(st.sampled_from(NAMES))
    space = draw(st.sampled_from([" ", "\n", "/", "\t", "\x0c"]))
    attributes = "".join(f"{space}{key}={mark}{value}{mark}" for key, mark, value in pairs)
    return f"<{name}{attributes}>{inside}" + draw(st.sampled_from([f"</{name}>", "", "</", "/>"]))


sources = st.lists(texts | elements(), max_size=5).map("".join)


def bound(html: str) -> list[object]:
    """Return what a page must not hold: elements, attributes, values and formulas that are not listed."""
    page = BeautifulSoup(html, "html.parser")
    page.smooth()
    found: list[object] = []
    for element in page.find_all(True):
        listed = ATTRIBUTES.get(element.name, [])
        found += [element.name] if element.name not in TAGS else []
        found += [
            (element.name, key, value)
            for key, value in element.attrs.items()
            if key not in listed or (key in VALUES and not VALUES[key].fullmatch(value))
        ]
    texts = page.find_all(string=lambda text: not is_harmless(text))
    return found + [text for text in texts if not text.find_parent(["code", "pre"])]


@FUZZ
@given(sources)
def test_stored_prose_is_inert_by_any_converter(source: str) -> None:
    """In the graded notebook, by nbconvert's own rules and by ours, once and twice."""
    stored = inert(source)
    stored.encode()
    for html in (stored, nbconverts(stored), markdown2html(stored)):
        assert bound(html) == []
    assert "\n" not in stored


@FUZZ
@given(sources)
def test_our_filter_adds_only_the_classes_of_highlighted_code(source: str) -> None:
    """Nothing that the student wrote has a class."""
    html = markdown2html(source)
    html.encode()
    ours = [found for found in bound(html) if not (isinstance(found, tuple) and found[1] == "class")]
    assert ours == []
    for element in BeautifulSoup(html, "html.parser").find_all(class_=True):
        assert element.find_parent("div", class_="highlight") or element["class"] == ["highlight"]


@FUZZ
@given(sources)
def test_typesetting_adds_only_mathematics(source: str) -> None:
    """On a feedback page, what is not MathML or highlighted code is as inert as before."""
    html = prose_html(source)
    html.encode()
    page = BeautifulSoup(html, "html.parser")
    for formula in page.find_all("math"):
        for element in [formula, *formula.find_all(True)]:
            assert element.name.startswith("m")
            assert not {"class", "id", "style", "name", "href", "src"} & set(element.attrs)
            assert not any(key.startswith("on") for key in element.attrs)
        formula.extract()
    rest = [found for found in bound(str(page)) if not (isinstance(found, tuple) and found[1] == "class")]
    assert rest == []


@FUZZ
@given(sources)
def test_what_was_written_does_not_get_lost(source: str) -> None:
    """A page is never empty where the student wrote a word outside of markup."""
    html = markdown2html(f"{source}\n\n")
    assert html.strip() or not source.strip()
