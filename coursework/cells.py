"""Reads the text of a cell, which may not be valid Python."""

import ast
import contextlib
import hashlib
import re
import symtable
from collections.abc import Iterator
from typing import Final

BLANK: Final = "YOUR ANSWER HERE"  # what nbgrader puts in the place of a written answer
# Cell magics that run what is below them elsewhere, or not at all.
DROPPING: Final = re.compile(
    r"\s*(%%(timeit|writefile|file|script|bash|sh|cmd|system|sx|python[23]?|pypy|perl|ruby|html|javascript|js"
    r"|latex|markdown|svg))\b"
)


def stripped(source: str) -> str:
    """Return a text without blank lines around it and trailing spaces."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def digest_of(source: str) -> str:
    """Return a digest of a cell's text, whatever blanks are at the ends of its lines."""
    return hashlib.sha256(stripped(source).encode("utf-8", "replace")).hexdigest()[:16]


def is_unanswered(source: str, skeleton: str) -> bool:
    """Return whether a cell is empty or as released, by the skeleton's digest, or only lacks its `BLANK`."""
    return not source.strip() or skeleton in (digest_of(source), digest_of(f"{source.rstrip()}\n\n{BLANK}"))


def same_code(one: str, other: str) -> bool:
    """Return whether two cells have the same code, with or without comments, or the same text with magics."""
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return stripped(one) == stripped(other)


def without_magics(source: str) -> str:
    """Return a cell's text with IPython's own lines left blank, so that lines keep their numbers."""
    return "\n".join("" if each[:1] in ("%", "!") else each for each in source.split("\n"))


def below_magic(source: str) -> str:
    """Return a cell's text with the line of a cell magic blank: IPython numbers lines from below it."""
    return re.sub(r"\A\s*%%.*", lambda line: "\n" * line[0].count("\n"), source)


def magic_that_drops(source: str) -> str:
    """Return the cell magic that keeps nothing of what its cell defines, such as "%%timeit", "" for none."""
    found = DROPPING.match(source)
    return found[1] if found else ""


def defines(source: str, name: str) -> bool:
    """Return whether a cell defines or assigns a name at its top level, even in broken code."""
    wanted = re.escape(name)
    pattern = rf"^((async[ \t]+)?def|class)[ \t]+{wanted}\b|^{wanted}[ \t]*(:[^=\n]*)?=(?!=)"
    return bool(name) and re.search(pattern, source, re.M) is not None


def names_bound(source: str) -> set[str]:
    """Return the names that a cell binds, wherever it does."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        nodes = list(ast.walk(ast.parse(without_magics(source))))
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored |= {n.asname or n.name.partition(".")[0] for n in nodes if isinstance(n, ast.alias)}
        return stored | {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    return set()


def names_at_top(source: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell binds at its top level, and the global names that it reads anywhere.

    Raises what the compiler does for what is not Python.
    """
    table = symtable.symtable(source, "cell", "exec")
    bound = {
        each.get_name()
        for each in table.get_symbols()
        if each.is_assigned() or each.is_imported() or each.is_namespace()
    }
    return bound, set(_read(table))


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    top = table.get_type() == "module"
    for each in table.get_symbols():
        if each.is_referenced() and (top or each.is_global()):
            yield each.get_name()
    for child in table.get_children():
        yield from _read(child)
