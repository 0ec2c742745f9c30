"""Formats text for notebooks: capital letters, and lines that JupyterLab does not break inside a word."""

import re
import textwrap
from typing import Final, Self

WIDTH: Final = 88  # characters that an output holds in a window 1280 pixels wide, the file browser open


def with_capital(text: str) -> str:
    """Return a text with its first letter capitalised."""
    return f"{text[:1].upper()}{text[1:]}"


def wrapped(text: str, indent: str = "", width: int = WIDTH) -> str:
    """Break a text between words where it is too long for a line, and indent what follows the break.

    A longer word stays whole.
    """
    wrapper = textwrap.TextWrapper(
        width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapper.fill(line) for line in text.splitlines())


def say(text: str, indent: str = "") -> None:
    """Print a text, broken between words."""
    print(wrapped(text, indent))


class WordPrinter:
    """Prints a text that comes in pieces, broken as `wrapped` breaks the whole; to be used in `with`.

    A word is printed once the space after it has arrived: only then is it known whether it fits in the line.
    """

    def __init__(self) -> None:
        """Start with an empty line."""
        self._text = self._shown = ""

    def add(self, piece: str) -> None:
        """Print all but the last word of what has come so far."""
        self._text += piece
        self._show(self._text.rpartition(" ")[0])

    def __enter__(self) -> Self:
        """Print nothing yet."""
        return self

    def __exit__(self, *_problem: object) -> None:
        """Print the rest, and end the line."""
        self._show(self._text)
        print(flush=True)

    def _show(self, text: str) -> None:
        longer = wrapped(text)
        for part in re.split("(\n)", longer[len(self._shown) :]):  # live slides garble a line's end with more
            print(part, end="", flush=True)
        self._shown = longer
