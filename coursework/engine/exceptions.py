"""Puts exceptions into words: the type, the line of the student's cell, and advice.

An exception is made beside the student's code, which can write what it likes into its message, its
class, a path or a line. So the type is one of Python, torch or NumPy, the line is looked up in the
cell as it was handed in, and names are repeated only if the cell or the table of checks has them.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from coursework.engine.compare import EXCEPTIONS, type_words, with_article
from coursework.engine.observation import Raised

LONGEST_LINE = 80
LONGEST_CELL = 100_000  # characters; nobody writes a longer one by hand
SYNTAX = ("SyntaxError", "IndentationError", "TabError")
NAME = re.compile(r"[A-Za-z_]\w*")
NOT_OF_A_BLANK = 'not implemented for|required "forward"'  # torch raises it too
UNDEFINED = r"name '(\w+)' is not defined"
WITHOUT_SELF = "Is `self.` missing before `{name}`?"
LACKS_SELF = "`{name}` lacks `self` as its first parameter."
NO_INIT = "The class of your cell has no `__init__`. Is it spelt with two underscores on each side?"
ONLY_IN_INIT = "`{name}` is known only inside `__init__`. Keep it there as `self.{name}`, and use that here."
OWN_RAISE = "This `raise` is your own. Check its condition, and whether it should be there."
RAISED_ELSEWHERE = "The `raise` there is your own. Check what is passed to that cell from here."
UNFINISHED = "The cell still raises NotImplementedError. Replace that line with your own code."
GIVES_NONE = "Your code gives None where a result is expected. Is there a `return`?"
MISSING_PART = "A part that the exercise asks for is missing, or has the wrong form."


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
    if raised.line is None and "NoneType" in raised.message:  # raised by the check, not by the student's code
        return GIVES_NONE
    return " ".join(filter(None, (f"Your code raised {what_raised(raised, cell)}.", _advice(raised, cell))))


def is_unfinished(raised: Raised) -> bool:
    """Return whether an exception is the one that every unfilled cell raises, and not one of torch's."""
    return raised.kind == "NotImplementedError" and not re.search(NOT_OF_A_BLANK, raised.message)


def what_raised(raised: Raised, cell: StudentCell) -> str:
    """Return an exception's type and place, such as "a KeyError in line 3 of your cell (`x[k]`)"."""
    kind = with_article(_exception_name(raised))
    if raised.line is None:
        return kind
    found = cell.line(raised.line, raised.text)
    if found is None:
        return f"{kind} in another of your cells"
    line = found[1].replace("`", "'")
    shown = line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
    return f"{kind} in line {found[0]} of your cell (`{shown}`)"


def _advice(raised: Raised, cell: StudentCell) -> str:
    """Return what to try; of a cell that cannot be read, what Python says of its text."""
    name = _exception_name(raised)
    line = cell.line(raised.line or 0, raised.text) if name in SYNTAX else None
    if said := _syntax_error(cell.source, line):
        return f"Python says: {said}."
    if raised.text.startswith("raise "):
        return OWN_RAISE if cell.line(raised.line or 0, raised.text) else RAISED_ELSEWHERE
    if said := _about_self(raised, cell):
        return said
    if name == "TypeError" and "__init__()" in raised.message and _lacks_init(cell.source):
        return NO_INIT
    known = raised.bases[raised.bases.index(name) :] if name in raised.bases else ()
    return advice((name, *known), raised.message, cell.has)


def _lacks_init(source: str) -> bool:
    """Return whether a cell defines a class and no constructor, though perhaps one with its name misspelt."""
    return bool(re.search(r"^class\b", source, re.MULTILINE)) and "def __init__(" not in source


def _about_self(raised: Raised, cell: StudentCell) -> str:
    """Return what to say where `self` is missing: a parameter, or before a name."""
    finders = {LACKS_SELF: _lacking_self, WITHOUT_SELF: _without_self, ONLY_IN_INIT: _only_in_init}
    found = ((said, find(raised, cell)) for said, find in finders.items())
    return next((said.format(name=name) for said, name in found if name), "")


def _lacking_self(raised: Raised, cell: StudentCell) -> str:
    """Return the method that raised for want of a parameter `self`, "" for none."""
    line = cell.line(raised.line or 0, raised.text)
    for method in _methods(cell.source):
        taken = [each.arg for each in ast.walk(method.args) if isinstance(each, ast.arg)]
        within = line is not None and method.lineno <= line[0] <= (method.end_lineno or 0)
        uses = any(isinstance(each, ast.Name) and each.id == "self" for each in ast.walk(method))
        given = rf"\b{method.name}\(\) takes .* but {len(taken) + 1} were given"
        if "self" not in taken and ((within and uses) or re.search(given, raised.message)):
            return method.name
    return ""


def _methods(source: str) -> list[ast.FunctionDef]:
    """Return the methods of a cell's classes without those that a decorator changes."""
    try:
        parts = [*ast.walk(ast.parse(source[:LONGEST_CELL]))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    inner = [each for part in parts if isinstance(part, ast.ClassDef) for each in part.body]
    return [each for each in inner if isinstance(each, ast.FunctionDef) and not each.decorator_list]


def _without_self(raised: Raised, cell: StudentCell) -> str:
    """Return the attribute of a module that a failing line has by its bare name, "" for none."""
    if not cell.line(raised.line or 0, raised.text):
        return ""
    names = re.findall(UNDEFINED, raised.message)
    if "not callable" in raised.message:
        names = re.findall(r"(?<![\w.])([A-Za-z_]\w*)\(", raised.text)
    return next((name for name in names if re.search(rf"\bself\.{name}\b", cell.source)), "")


def _only_in_init(raised: Raised, cell: StudentCell) -> str:
    """Return the argument of `__init__` that another method names, "" for none."""
    if not cell.line(raised.line or 0, raised.text):
        return ""
    names = re.findall(UNDEFINED, raised.message)
    return next((name for name in names if re.search(rf"def __init__\([^)]*\b{name}\b", cell.source)), "")


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
    if own := (cell.faults or {}).get(raised.fault):
        return own.format(kind=kind)
    texts: tuple[str, str] = sentences("faults").get(raised.fault, ("", MISSING_PART))
    named, unnamed = texts
    if not named or not cell.declares(raised.path):
        return unnamed.format(kind=kind)
    owner, _, step = raised.path.rpartition(".")
    whose = f"`{owner}`" if owner else "Your module"
    return named.format(path=raised.path, kind=kind, owner=owner, whose=whose, step=step)


def _exception_name(raised: Raised) -> str:
    """Return an exception's type if it is a known one, else its nearest base that is."""
    return next((name for name in (raised.kind, *raised.bases) if name in EXCEPTIONS), "Exception")


def same_cause(a: Raised, b: Raised) -> bool:
    """Return whether two exceptions are of one type and about the same thing, as far as advice tells."""
    return a.kind == b.kind and not a.structural and _cause(a) == _cause(b)


def _cause(raised: Raised) -> tuple[str, str] | None:
    rows = _rows((raised.kind, *raised.bases), raised.message)
    return next(((kind, pattern) for kind, pattern, *_ in rows), None)


def advice(kinds: Iterable[str], message: str, may_name: Callable[[str], bool]) -> str:
    """Return what to try after an exception, "" if nothing is known.

    `kinds` are its types, the nearest first. `may_name` decides whether a name that the message
    mentions may be repeated.
    """
    for _, _, said, name in _rows(kinds, message):
        if "{name}" not in said or (name and may_name(name)):
            return said.replace("{name}", name)
    return ""


def _rows(kinds: Iterable[str], message: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of advice that fit: type, pattern, sentence, and the name that the message mentions."""
    for kind in kinds:
        for pattern, said in sentences("advice").get(kind, {}).items():
            if found := re.search(pattern, message):
                yield kind, pattern, said, found.groupdict().get("name") or ""


@cache
def sentences(name: str) -> Mapping[str, Any]:
    """Return a table of sentences, "advice" or "faults", from the file of this name."""
    found: dict[str, Any] = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text("utf-8"))
    return found
