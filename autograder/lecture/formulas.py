"""Formulas on slides: TeX between dollar signs becomes MathML, which browsers set without a network."""

import re
from typing import Final

from latex2mathml.converter import convert

CODE: Final = r"```.*?```|`[^`\n]*`"
INLINE: Final = r"(?<![\\\w$])\$(?P<tex>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\w$])"
OTHER: Final = r"(?P<other>\$\$|\\\[|\\\()"
FOUND: Final = re.compile(f"{CODE}|{OTHER}|{INLINE}", re.DOTALL)


def typeset(markdown: str) -> str:
    """Return markdown with every `$formula$` outside code as MathML.

    Raises ValueError, naming the formula, for TeX that cannot be converted or stands between other
    signs.
    """
    return FOUND.sub(_replacement, markdown)


def _replacement(found: re.Match[str]) -> str:
    if found["other"]:
        raise ValueError(f"{found[0]!r}: formulas stand between single dollar signs, on one line")
    return _mathml(found["tex"]) if found["tex"] else found[0]


def _mathml(tex: str) -> str:
    try:
        mathml = convert(tex)
    except Exception as problem:  # the converter raises a class of its own for each fault
        raise ValueError(f"{tex!r} is no formula: {type(problem).__name__}") from problem
    if "\\" in mathml:  # it passes a command that it does not know on as text
        raise ValueError(f"{tex!r} has a command that slides cannot show")
    return mathml
