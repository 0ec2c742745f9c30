"""Finds what an answer needs besides the exercises before it: helper cells, imports, constants."""

import ast
import builtins
import symtable
from collections.abc import Iterator, Sequence, Set

from autograder.submissions.align import Part, Role
from autograder.submissions.answer_text import MAGIC, parse

BUILTINS = frozenset(vars(builtins))


def needed_cells(parts: Sequence[Part], exercise: str, given: Set[str]) -> list[str]:
    """Return the cells before an exercise's test that define what its own cell uses, in order.

    `given` are names that are provided in any case; a cell of the student's that defines one of
    them again, or a built-in function, is not needed for it.
    """
    before = list(_before_test(parts, exercise))
    needed: set[int] = set()
    wanted = set[str]().union(*(_used(part.source) for part in before if part.exercise == exercise))
    while True:
        found = {
            index
            for index, part in enumerate(before)
            if index not in needed and part.exercise != exercise and _defines(part, wanted, given)
        }
        if not found:
            return [before[index].source for index in sorted(needed)]
        needed |= found
        wanted = wanted.union(*(_used(before[index].source) for index in found))


def _before_test(parts: Sequence[Part], exercise: str) -> Iterator[Part]:
    for part in parts:
        if part.role is Role.TEST and part.exercise == exercise:
            return
        if part.runs:
            yield part


def _defines(part: Part, wanted: Set[str], given: Set[str]) -> bool:
    """Return whether a cell defines something that is wanted, and may be asked for it."""
    mine = _defined(part.source) & wanted
    return bool(mine if part.role is Role.LOCKED else mine - given - BUILTINS)


def _defined(source: str) -> set[str]:
    """Return the names that a cell binds at its top level, or whose contents it changes."""
    table = _table(source)
    bound = {
        each.get_name()
        for each in (table.get_symbols() if table else ())
        if each.is_assigned() or each.is_imported() or each.is_namespace()
    }
    return bound | set(_changed(source))


def _changed(source: str) -> Iterator[str]:
    """Yield the names of objects of which a cell sets an attribute or an entry."""
    for node in ast.walk(parse(source) or ast.Module([], [])):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            inner: ast.expr = node
            while isinstance(inner, (ast.Attribute, ast.Subscript)):
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield inner.id


def _used(source: str) -> set[str]:
    """Return the global names that a cell reads, in functions and classes too."""
    table = _table(source)
    return set(_read(table)) if table else set()


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for each in table.get_symbols():
        if each.is_referenced() and (top or each.is_global()):
            yield each.get_name()
    for child in table.get_children():
        yield from _read(child)


def _table(source: str) -> symtable.SymbolTable | None:
    """Return a cell's symbol table; None if the cell is not Python."""
    if parse(source) is None:
        return None
    try:
        return symtable.symtable(MAGIC.sub(r"\1pass", source), "cell", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None
