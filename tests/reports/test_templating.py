"""The filters that templates set text with."""

from autograder.reports.templating import marked, prose


def test_numbers_that_differ_are_marked_and_columns_stay_in_line() -> None:
    """A report holds stripped text: its first row moves back to where it was."""
    shown = marked("1    0\n ›10‹   2\n   3    4")
    assert shown == "   1    0\n  <mark>10</mark>    2\n   3    4"
    assert marked("[0]:\n   1   2") == "[0]:\n   1   2"


def test_examples_and_prose_are_escaped() -> None:
    """Before anything is added."""
    assert marked("›<b>‹") == " <mark>&lt;b&gt;</mark> "
    assert prose("`<b>` <i>") == "<code>&lt;b&gt;</code> &lt;i&gt;"
