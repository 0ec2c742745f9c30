"""Text from a submission, made fit to print: a message can hold anything that student code raised or named.

Reports hold only such text, so nothing else can reach a terminal, a page, a CSV file or a log.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Annotated

import regex
from pydantic import AfterValidator

LONGEST = 1200  # characters of a message
MOST_NAMED = 10  # people in a line
LONGEST_NAME = 100  # characters of a file's or a folder's name
MOST_LINES = 50  # repairs and incidents of one submission; the rest are counted
CUT = " … (cut)"
# Escape sequences by ECMA-48: strings to the terminal (titles, links), control sequences, the others.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|\x1b[ -/]*[0-~]?"
)
# Control characters, line separators, and what has no shape by Unicode's own property, direction marks
# included; the blank of Braille has no such property. Behind a letter or an emoji of its own, a variation
# selector and a joiner stay: many scripts and emoji need them.
_HIDDEN = r"[[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800]--[\t\n]]"
_SHAPE = rf"[[^\p{{ASCII}}\s\p{{Cs}}]--{_HIDDEN}]"
_UNPRINTABLE = regex.compile(
    rf"(?V1)(?!(?<={_SHAPE})\p{{Variation_Selector}}|(?<={_SHAPE}\p{{Variation_Selector}}?)[\u200c\u200d]){_HIDDEN}"
)
_SHAPELESS = regex.compile(r"\p{Default_Ignorable_Code_Point}")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_NO_NAME = re.compile(r'[<>"&*?\[\]\\/`]|^[-=+@＝＋－＠.\s]')


def clean(text: str, longest: int = LONGEST) -> str:
    """Return printable text: no control, direction or invisible marks, no lone surrogates, cut to length.

    Text that was cut says so. Line breaks and tabs are kept.
    """
    if len(text) > 8 * longest:  # most of it is dropped in any case
        text = text[: 8 * longest] + CUT
    if not (text.isascii() and text.isprintable()):  # most texts are, and a class has very many
        text = _UNPRINTABLE.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))
        text = _SURROGATES.sub("?", text)
    text = text.strip()
    return text if len(text) <= longest else text[: longest - len(CUT)].rstrip() + CUT


def visible(text: str) -> str:
    """Return a cell's text for a page: each unprintable character shows as a replacement character."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _UNPRINTABLE.sub("\ufffd", text))


def counted(number: float, noun: str) -> str:
    """Return a number with its noun: "1 answer", "2.5 points"."""
    return f"{number:.12g} {noun}{'' if number == 1 else 's'}"


def clean_name(name: str) -> str:
    """Return the name of a file or a folder in one line, for a message."""
    return " ".join(clean(name, LONGEST_NAME).split())


def spelt_name(name: str) -> str:
    """Return a name in one line, as it is: with the spaces at its ends, and escapes for what nobody can see.

    It tells a folder from another that looks the same.
    """
    seen = _UNPRINTABLE.sub(_escape, name[:LONGEST_NAME]) + CUT * (len(name) > LONGEST_NAME)
    return _SURROGATES.sub(_escape, regex.sub(r"[\s--[ ]]", _escape, seen, flags=regex.V1))


def _escape(found: "re.Match[str] | regex.Match[str]") -> str:
    return found[0].encode("unicode_escape").decode()


def some_of(names: Sequence[str]) -> str:
    """Join the first few names with semicolons, since a name may have commas, and say how many follow."""
    return "; ".join(first_few([clean_name(name) for name in names], MOST_NAMED))


def first_few(parts: Sequence[str], most: int) -> list[str]:
    """Return the first parts of a message; a last one, such as "and 3 more", counts the rest."""
    rest = len(parts) - most
    return [*parts[:most], f"and {rest} more"] if rest > 0 else [*parts]


def is_student_name(name: str) -> bool:
    """Return whether a folder's name can be a student's in every page, path and table.

    Letters of any script, digits, spaces and most signs can. Markup, patterns, formulas, control
    characters and hidden folders cannot.
    """
    plain = unicodedata.normalize("NFC", name)
    return bool(plain) and clean_name(plain) == plain and not _NO_NAME.search(plain)


def look_alikes(names: Iterable[str]) -> list[str]:
    """Return the names that differ from another only in case, width, ligatures or invisible characters.

    What they are compared by is Unicode's NFKC_Casefold. Letters of another script that look alike differ.
    """
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
        found.setdefault(_SHAPELESS.sub("", folded), []).append(name)
    return [name for alike in found.values() if len(alike) > 1 for name in alike]


Text = Annotated[str, AfterValidator(clean)]
