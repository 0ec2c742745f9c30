"""Puts exceptions into words: the type, the line of the student's cell, and advice.

An exception is made beside the student's code, which can write what it likes into its message, its
class, a path or a line. So the type is one of Python, torch or NumPy, the line is looked up in the
cell as it was handed in, and names are repeated only if the cell or the table of checks has them.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from coursework.engine.compare import EXCEPTIONS, type_words, with_article
from coursework.engine.observation import Raised
from coursework.engine.operation import Fault

ADVICE = Path(__file__).with_name("advice.yaml")
LONGEST_LINE = 80
LONGEST_CELL = 100_000  # characters; nobody writes a longer one by hand
SYNTAX = ("SyntaxError", "IndentationError", "TabError")
NAME = re.compile(r"[A-Za-z_]\w*")
UNFINISHED = "The cell still raises NotImplementedError. Replace that line with your own code."
MISSING_PART = "A part that the exercise asks for is missing, or has the wrong form."

# For each fault: what to say with the path that it is about, and what to say without.
FAULTS: Mapping[str, tuple[str, str]] = {
    Fault.UNBOUND: (
        "There is no `{path}`. Is it defined in this cell, and spelt as in the exercise?",
        "What the exercise asks for is not defined. Is the name spelt as in the exercise?",
    ),
    Fault.STAND_IN: (
        "`{path}` is the stand-in that comes with the course: write your own.",
        "This is the stand-in that comes with the course: write your own.",
    ),
    Fault.NO_ATTRIBUTE: (
        "{whose} has no attribute `{step}`. Is it set in `__init__`, under this name?",
        "An attribute that the exercise asks for is missing. Is it set in `__init__`?",
    ),
    Fault.NO_PART: (
        "`{owner}` has no entry {step}. Does it have as many parts as the exercise asks for?",
        "A list of parts is too short.",
    ),
    Fault.NONE: (
        "`{path}` is None. Was it built with bias=False?",
        "A part that the exercise asks for is None.",
    ),
    Fault.NOT_A_PARAMETER: (
        "`{path}` should be a parameter, not {kind}.",
        "What should be a parameter is {kind}.",
    ),
    Fault.EXCHANGED: (
        "`{path}` has its two dimensions swapped. Are the arguments of its layer in the right order?",
        "A parameter has its two dimensions swapped.",
    ),
    Fault.OTHER_SHAPE: (
        "`{path}` doesn't have the shape that the exercise asks for. What sizes is it built with?",
        "A parameter doesn't have the shape that the exercise asks for.",
    ),
    Fault.NOT_A_MODULE: (
        "`{path}(…)` should be an nn.Module, not {kind}.",
        "The class should be an nn.Module, but it builds {kind}.",
    ),
    Fault.NOT_A_TENSOR: ("", "`forward` should return a tensor, not {kind}."),
    Fault.NOT_THREE_DIMENSIONS: (
        "",
        "`forward` should return a tensor of three dimensions: samples, tokens, features.",
    ),
    Fault.SHAPE_VARIES: (
        "",
        "`forward` returns outputs of different lengths or widths in two calls that should agree.",
    ),
    Fault.NOT_A_DICTIONARY: (
        "`{path}` should be a dictionary, not {kind}.",
        "What should be a dictionary is {kind}.",
    ),
    Fault.NO_ENTRY: ("The dictionary has no entry '{path}'.", "An entry is missing."),
}


@dataclass(frozen=True)
class StudentCell:
    """What is known of an answer apart from its process.

    `source` is the student's cell as it was handed in, `names` are those that the exercise and the
    table of checks declare, `faults` the sentences of an operation's own faults.
    """

    source: str = ""
    names: frozenset[str] = frozenset()
    faults: Mapping[str, str] | None = None

    def has(self, name: str) -> bool:
        """Return whether a name may be repeated: it is declared, or written in the cell."""
        return name in self.names or name in NAME.findall(self.source)

    def declares(self, path: str) -> bool:
        """Return whether a path, or one that begins with it, is declared."""
        return bool(path) and any(f"{name}.".startswith(f"{path}.") for name in self.names)

    def line(self, number: int, text: str) -> tuple[int, str] | None:
        """Return a line of the cell and its number, None if the text that was seen is not there.

        IPython numbers lines from the first that is not blank.
        """
        lines = self.source.split("\n")
        blank = next((n for n, line in enumerate(lines) if line.strip()), 0)
        place = number + blank
        line = lines[place - 1].strip() if 0 < place <= len(lines) else ""
        return (place, line) if line and line[:200] == text else None


def say_raised(raised: Raised, cell: StudentCell) -> str:
    """Return an exception in a sentence or two: what it is, where it came from, what to try."""
    if raised.structural:
        return _say_fault(raised, cell)
    if is_unfinished(raised):
        return UNFINISHED
    return " ".join(filter(None, (f"Your code raised {what_raised(raised, cell)}.", _advice(raised, cell))))


def is_unfinished(raised: Raised) -> bool:
    """Return whether an exception is the one that every unfilled cell raises, and not one of torch's."""
    return raised.kind == "NotImplementedError" and "not implemented for" not in raised.message


def what_raised(raised: Raised, cell: StudentCell) -> str:
    """Return an exception's type and place, such as "a KeyError in line 3 of your cell (`x[k]`)"."""
    kind = with_article(exception_name(raised))
    if raised.line is None:
        return kind
    found = cell.line(raised.line, raised.text)
    if found is None:
        return f"{kind} in another of your cells"
    return f"{kind} in line {found[0]} of your cell (`{_shortened(found[1])}`)"


def _advice(raised: Raised, cell: StudentCell) -> str:
    """Return what to try; of a cell that cannot be read, what Python says of its text."""
    name = exception_name(raised)
    line = cell.line(raised.line or 0, raised.text) if name in SYNTAX else None
    if said := _syntax_error(cell.source, line):
        return f"Python says: {said}."
    known = raised.bases[raised.bases.index(name) :] if name in raised.bases else ()
    return advice((name, *known), raised.message, cell.has)


def _syntax_error(source: str, line: tuple[int, str] | None) -> str:
    """Return what is wrong with the text of a cell at its line, as found without running it."""
    try:
        ast.parse(source[:LONGEST_CELL])
    except SyntaxError as problem:
        return problem.msg if line and problem.lineno == line[0] else ""
    except (ValueError, RecursionError, MemoryError):
        return ""
    return ""


def _say_fault(raised: Raised, cell: StudentCell) -> str:
    """Say which part of an answer is not as it should be."""
    kind = type_words(raised.detail)
    own = (cell.faults or {}).get(raised.fault)
    if own:
        return own.format(kind=kind)
    named, unnamed = FAULTS.get(raised.fault, ("", MISSING_PART))
    if not named or not cell.declares(raised.path):
        return unnamed.format(kind=kind)
    owner, _, step = raised.path.rpartition(".")
    whose = f"`{owner}`" if owner else "Your module"
    return named.format(path=raised.path, kind=kind, owner=owner, whose=whose, step=step)


def _shortened(line: str) -> str:
    plain = line.replace("`", "'")
    return plain if len(plain) <= LONGEST_LINE else f"{plain[: LONGEST_LINE - 1]}…"


def exception_name(raised: Raised) -> str:
    """Return an exception's type if it is a known one, else its nearest base that is."""
    return next((name for name in (raised.kind, *raised.bases) if name in EXCEPTIONS), "Exception")


def same_cause(a: Raised, b: Raised) -> bool:
    """Return whether two exceptions are of one type and about the same thing, as far as advice tells."""
    return a.kind == b.kind and not a.structural and _cause(a) == _cause(b)


def _cause(raised: Raised) -> str:
    return cause((raised.kind, *raised.bases), raised.message)


@cache
def rows() -> Mapping[str, Mapping[str, str]]:
    """Return the advice for each type of exception, by a pattern in the message."""
    found: dict[str, dict[str, str]] = yaml.safe_load(ADVICE.read_text(encoding="utf-8"))
    return found


def advice(kinds: Iterable[str], message: str, may_name: Callable[[str], bool]) -> str:
    """Return what to try after an exception, "" if nothing is known.

    `kinds` are its types, the nearest first. `may_name` decides whether a name that the message
    mentions may be repeated.
    """
    for kind in kinds:
        for pattern, said in rows().get(kind, {}).items():
            found = re.search(pattern, message)
            name = found.groupdict().get("name") if found else None
            if found and ("{name}" not in said or (name and may_name(name))):
                return said.replace("{name}", name or "")
    return ""


def cause(kinds: Iterable[str], message: str) -> str:
    """Return which row an exception belongs to, whatever it names; "" if none."""
    for kind in kinds:
        for pattern in rows().get(kind, {}):
            if re.search(pattern, message):
                return f"{kind}: {pattern}"
    return ""
