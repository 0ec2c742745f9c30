"""Finds what an answer needs besides the exercises before it: helper cells, imports, constants."""

import ast
import builtins
import symtable
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from cachetools import LRUCache, cached

from autograder.submissions.align import Part, Role
from autograder.submissions.answer_text import MAGIC, by_digest, parse

BUILTINS = frozenset(vars(builtins))


def needed_cells(parts: Sequence[Part], exercise: str, given: Set[str]) -> list[str]:
    """Return the cells before an exercise's test that define what its own cell uses, in order.

    `given` are names that are provided in any case; a cell of the student's that defines one of
    them again, or a built-in function, is not needed for it.
    """
    before = list(_before_test(parts, exercise))
    own = [part for part in before if part.exercise == exercise]
    providers = _providers(before, exercise, given)
    needed: set[int] = set()
    wanted = list(set[str]().union(*(_names(part.source).used for part in own)))
    while wanted:
        for index in providers.pop(wanted.pop(), ()):
            if index not in needed:
                needed.add(index)
                wanted += _names(before[index].source).used
    return [before[index].source for index in sorted(needed)]


def _providers(before: Sequence[Part], exercise: str, given: Set[str]) -> dict[str, list[int]]:
    """Return the cells that define each name, and may be asked for it."""
    found: dict[str, list[int]] = {}
    for index, part in enumerate(before):
        if part.exercise != exercise:
            kept_out = frozenset[str]() if part.role is Role.LOCKED else BUILTINS | given
            for name in _names(part.source).defined - kept_out:
                found.setdefault(name, []).append(index)
    return found


def _before_test(parts: Sequence[Part], exercise: str) -> Iterator[Part]:
    for part in parts:
        if part.role is Role.TEST and part.exercise == exercise:
            return
        if part.runs:
            yield part


@dataclass(frozen=True)
class _Names:
    """The names that a cell defines or changes, and the global names that it reads."""

    defined: frozenset[str]
    used: frozenset[str]

    def __len__(self) -> int:
        """Return how much there is to keep."""
        return len(self.defined) + len(self.used) + 1


@cached(LRUCache(500_000, getsizeof=len), key=by_digest)
def _names(source: str) -> _Names:
    """Return a cell's names; none if it is not Python. Functions and classes in it are read, too."""
    tree = parse(source)
    table = _table(source) if tree else None
    if tree is None or table is None:
        return _Names(frozenset(), frozenset())
    bound = {
        each.get_name()
        for each in table.get_symbols()
        if each.is_assigned() or each.is_imported() or each.is_namespace()
    }
    return _Names(frozenset(bound.union(_changed(tree))), frozenset(_read(table)))


def _changed(tree: ast.Module) -> Iterator[str]:
    """Yield the names of objects of which a cell sets an attribute or an entry."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            inner: ast.expr = node
            while isinstance(inner, (ast.Attribute, ast.Subscript)):
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield inner.id


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for each in table.get_symbols():
        if each.is_referenced() and (top or each.is_global()):
            yield each.get_name()
    for child in table.get_children():
        yield from _read(child)


def _table(source: str) -> symtable.SymbolTable | None:
    """Return a cell's symbol table; None if the compiler refuses the cell."""
    try:
        return symtable.symtable(MAGIC.sub(r"\1pass", source), "cell", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return None
