"""Text from a submission, made fit to print: a message can hold anything that student code raised or named.

Reports hold only such text, so nothing else can reach a terminal, a page, a CSV file or a log.
"""

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator

LONGEST = 1200  # characters of a message
LONGEST_NAME = 100  # characters of a file's or a folder's name
MOST_LINES = 50  # repairs and incidents of one submission; the rest are counted
CUT = " … (cut)"
# Escape sequences by ECMA-48: strings to the terminal (titles, links), control sequences, the others.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
# Control characters, line separators, direction marks, and characters without a shape. The joiners
# U+200C and U+200D stay: some scripts and emoji need them.
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_NO_NAME = re.compile(r'[<>"&*?\[\]\\/`]|^[-=+@＝＋－＠.\s]')


def clean(text: str, longest: int = LONGEST) -> str:
    """Return printable text: no control or direction marks, no lone surrogates, cut to length.

    Text that was cut says so. Line breaks and tabs are kept.
    """
    if len(text) > 8 * longest:  # most of it is dropped in any case
        text = text[: 8 * longest] + CUT
    if not text.isprintable():  # most texts are, and a class has very many
        text = _UNPRINTABLE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))
        text = _SURROGATES.sub("?", text)
    text = text.strip()
    return text if len(text) <= longest else text[: longest - len(CUT)].rstrip() + CUT


def visible(text: str) -> str:
    """Return a cell's text for a page: each unprintable character shows as a replacement character."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _UNPRINTABLE.sub("\ufffd", text))


def clean_name(name: str) -> str:
    """Return the name of a file or a folder in one line, for a message."""
    return " ".join(clean(name, LONGEST_NAME).split())


def is_student_name(name: str) -> bool:
    """Return whether a folder's name can be a student's in every page, path and table.

    Letters of any script, digits, spaces and most signs can. Markup, patterns, formulas, control
    characters and hidden folders cannot.
    """
    plain = unicodedata.normalize("NFC", name)
    return bool(plain) and clean_name(plain) == plain and not _NO_NAME.search(plain)


Text = Annotated[str, AfterValidator(clean)]
