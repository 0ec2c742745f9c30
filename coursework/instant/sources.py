"""What an answer is made of: the cell that it was written in, and the cells and exercises that it calls."""

import ast
import contextlib
import inspect
import linecache
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from coursework.cells import below_magic, names_bound, without_magics
from coursework.instant.exercises import PublicExercise, every_exercise

ORDINARY = "Write this exercise with ordinary tensor operations."
WITHOUT_FILE: Final = ("<timed exec>", "<string>")  # what IPython calls the code below `%%time` and `%%prun`
_without_file: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # texts of cells, by what they define


def cell_of(answer: Any) -> str:
    """Return the text of the cell that a function or class was written in, "" if it is not known."""
    file = next(filter(of_a_cell, _files(answer)), None)
    if file:
        return "".join(linecache.getlines(file))
    return _without_file.get(answer, "") if isinstance(answer, (type, FunctionType)) else ""


def note_text(source: str, bound: Mapping[str, Any]) -> None:
    """Keep the text of a cell for what it defines: `%%time` and `%%prun` run it without a file's name.

    `bound` are the values of the names that the cell binds. The first cell that is seen with one counts.
    """
    for name, value in bound.items():
        without_file = any(file in WITHOUT_FILE for file in _files(value))
        if without_file and (value.__module__, value.__name__) == ("__main__", name):
            _without_file.setdefault(value, below_magic(source))


def _files(value: Any) -> Iterator[str]:
    """Yield the names of the files that a function, or those of a class, are from."""
    functions = [value, *vars(value).values()] if isinstance(value, type) else [value]
    for function in functions:
        if isinstance(function, FunctionType):
            yield inspect.unwrap(function).__code__.co_filename


def of_a_cell(file: str) -> bool:
    """Return whether code with this file name is that of a notebook's cell."""
    from coursework.engine.observe import CELL_FILES

    return any(part in file for part in CELL_FILES)


def names_read(source: str) -> Iterator[str]:
    """Yield the names in a cell; none if it is not Python."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        tree = ast.parse(without_magics(source))
        yield from (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def names_lost(source: str, code: Sequence[str], names: Mapping[str, Any]) -> list[str]:
    """Return what a cell uses that none of some cells, the saved ones, binds, and the kernel still has.

    Told are only functions, classes and modules of this notebook's cells.
    """
    if any("import *" in text for text in code):
        return []
    kept = {name: names[name] for name in names_read(source) if name in names}
    used = {name for name, value in kept.items() if isinstance(value, ModuleType) or cell_of(value)}
    if used:
        used -= {
            each.arg for each in ast.walk(ast.parse(without_magics(source))) if isinstance(each, ast.arg)
        }
    return sorted(used.difference(*map(_may_bind, code)))


def _may_bind(source: str) -> set[str]:
    """Return the names that a cell binds; all in it where only IPython understands it."""
    try:
        ast.parse(without_magics(source))
    except (SyntaxError, ValueError, RecursionError):
        return set(re.findall(r"\w+", source))
    return names_bound(source)


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
