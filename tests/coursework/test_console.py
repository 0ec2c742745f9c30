"""What is printed is broken between words."""

import pytest

from coursework.console import WIDTH, WordPrinter, say, wrapped


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


def test_a_text_that_comes_in_pieces_is_broken_as_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever the pieces are cut: no word is begun on one line and ended on the next."""
    text = "SmolLM2: Once  upon a time,↵ there was " + "an old robot\n" * 3 + "who lived at the edge of the city " * 5
    for size in (1, 3, 7, len(text)):
        with WordPrinter() as words:
            for start in range(0, len(text), size):
                words.add(text[start : start + size])
        assert capsys.readouterr().out == f"{wrapped(text)}\n"


def test_a_word_is_printed_once_the_next_one_begins(capsys: pytest.CaptureFixture[str]) -> None:
    """What a model writes is seen while it writes, and an error after it stands on a line of its own."""
    with pytest.raises(ValueError, match="NaN"), WordPrinter() as words:  # noqa: PT012 - what comes before it counts
        words.add("The cat")
        words.add("alogue is")
        assert capsys.readouterr().out == "The catalogue"
        raise ValueError("NaN")
    assert capsys.readouterr().out == " is\n"
