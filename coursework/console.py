"""Prints text in lines short enough for JupyterLab, which breaks a longer one even inside a word."""

import textwrap
from typing import Final

WIDTH: Final = 88  # characters that an output holds in a window 1280 pixels wide, the file browser open


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
