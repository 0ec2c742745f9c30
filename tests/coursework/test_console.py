"""What is printed is broken between words."""

import pytest

from coursework.console import WIDTH, say, wrapped


def test_lines_are_broken_between_words() -> None:
    """Not at a hyphen and not inside a word, however long; a short text stays as it is."""
    text = "a pre-norm layer, " * 20 + "x" * 2 * WIDTH
    assert wrapped(text).split() == text.split()
    assert sorted(map(len, wrapped(text).splitlines()))[-2] <= WIDTH
    assert wrapped("one\ntwo  three") == "one\ntwo  three"


def test_what_follows_a_break_can_be_indented(capsys: pytest.CaptureFixture[str]) -> None:
    """So that the entries of a list stay apart."""
    say("word " * 20, indent="  ")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("word")
    assert second.startswith("  word")
