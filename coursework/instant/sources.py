"""What an answer is made of: the cell that it was written in, and the cells and exercises that it calls."""

import ast
import contextlib
import linecache
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from coursework.instant.exercises import PublicExercise, every_exercise

ORDINARY = "Write this exercise with ordinary tensor operations."


def cell_of(answer: Any) -> str:
    """Return the text of the cell that a function or class was written in, "" if it is not known."""
    from coursework.engine.observe import CELL_FILES

    functions: Sequence[Any] = [answer, *vars(answer).values()] if isinstance(answer, type) else [answer]
    codes = (getattr(function, "__code__", None) for function in functions)
    code = next(filter(None, codes), None)
    of_a_cell = code is not None and any(part in code.co_filename for part in CELL_FILES)
    return "".join(linecache.getlines(code.co_filename)) if code and of_a_cell else ""


def names_read(source: str) -> Iterator[str]:
    """Yield the names in a cell; none if it is not Python."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        yield from (node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))


def used(source: str, names: Mapping[str, Any], exercises: Sequence[PublicExercise]) -> list[PublicExercise]:
    """Return those of some exercises that a cell calls, itself or through other cells, in their order."""
    read: set[str] = set()
    cells, wanted = {source}, [source]
    while wanted:
        found = set(names_read(wanted.pop())) - read
        read |= found
        texts = {cell_of(names.get(name)) for name in found} - cells - {""}
        cells |= texts
        wanted += texts
    return [each for each in exercises if each.name in read]


def refused(source: str, names: Mapping[str, Any], *, derivatives: bool) -> str:
    """Return what an answer, or a cell that it needs, may not be written with; "" for nothing."""
    from coursework.source_rules import first_refusal

    known = {each.name for each in every_exercise()}
    cells, modules, wanted = [source], [], [source]
    while wanted:
        for name in names_read(wanted.pop()):
            value = names.get(name)
            if isinstance(value, ModuleType):
                modules.append(f"import {value.__name__} as {name}")
            elif name not in known and (text := cell_of(value)) and text not in cells:
                cells.insert(0, text)
                wanted.append(text)
    found = first_refusal(["\n".join(sorted({*modules})), *cells], derivatives=derivatives)
    return f"{found.place} {found.what}." if found else ""
