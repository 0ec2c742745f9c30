"""What a template inserts is escaped, marked, highlighted, and cut to what a page can show."""


from bs4 import BeautifulSoup

from autograder.reports.templating import MOST_CHARACTERS, MOST_LINES, code_html, marked, prose


def test_numbers_that_differ_are_marked_and_columns_stay_in_line() -> None:
    """A report holds stripped text: its first row moves back to where it was."""
    shown = marked("1    0\n ›10‹   2\n   3    4")
    assert shown == "   1    0\n  <mark>10</mark>    2\n   3    4"
    assert marked("1   ›1‹\n 0    1 ") == " 1    <mark>1</mark> \n 0    1 "
    assert marked("1    1\n 0   ›1‹") == " 1    1\n 0    <mark>1</mark> "
    assert marked("[0]:\n   1   2") == "[0]:\n   1   2"


def test_examples_and_prose_are_escaped() -> None:
    """Before anything is added."""
    assert marked("›<b>‹") == " <mark>&lt;b&gt;</mark> "
    assert prose("`<b>` <i>") == "<code>&lt;b&gt;</code> &lt;i&gt;"


def test_code_is_escaped_and_numbered() -> None:
    """Markup in it is text."""
    page = BeautifulSoup(code_html("x = '<script>a()</script>'\ny = 1\n"), "html.parser")
    assert page.find("script") is None
    assert "<script>a()</script>" in page.get_text()
    assert [each.get_text().strip() for each in page.select(".linenos")] == ["1", "2"]


def test_a_marked_line_stands_out() -> None:
    """And no other."""
    page = BeautifulSoup(code_html("a\nb\nc", {2, 99}), "html.parser")
    assert [each.get_text().strip() for each in page.select(".hll")] == ["2b"]


def test_long_code_is_cut_and_says_so() -> None:
    """By lines and by characters."""
    for source in ("x\n" * 5 * MOST_LINES, "x" * 5 * MOST_CHARACTERS):
        page = BeautifulSoup(code_html(source), "html.parser")
        assert "more characters are in your notebook" in page.get_text()
        assert len(page.get_text()) < MOST_CHARACTERS + 20 * MOST_LINES


def test_what_hides_text_is_made_visible() -> None:
    """Direction marks cannot reorder the code."""
    assert "\u202e" not in code_html("a\u202eb")
