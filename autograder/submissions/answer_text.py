"""Reads the text of a cell: what it defines, what it uses, and which lines belong to which answer."""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from cachetools import LRUCache, cached

from coursework.cells import names_at_top, stripped

MAX_PARSED = 300_000  # characters; nobody writes a longer cell by hand
DEFINED = re.compile(r"^(?:def |class )?[ \t]*(\w+)[ \t]*[(:=]", re.M)
MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.M)


def parse(text: str) -> ast.Module | None:
    """Return a cell's syntax tree with IPython magics left out; None if it is not Python."""
    for form in (text, MAGIC.sub(r"\1pass", text)):
        try:
            if len(text) <= MAX_PARSED:
                return ast.parse(form)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


@dataclass(frozen=True)
class _Facts:
    """What one parse of a cell tells: whether it is Python, holds any code, and is the same as another."""

    is_python: bool
    has_code: bool
    digest: bytes


def by_digest(text: str) -> bytes:
    """Return the key under which facts about a text are kept: a text itself may be long."""
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


@cached(LRUCache(10_000), key=by_digest)
def _facts(text: str) -> _Facts:
    """Return the facts about a cell: a hostile notebook holds many copies of a long one."""
    found = parse(text)
    if found is None:
        return _Facts(False, True, b"")
    try:
        return _Facts(True, bool(found.body), by_digest(ast.dump(found)))
    except RecursionError:
        return _Facts(True, True, b"")


def parses(text: str) -> bool:
    """Return whether a cell's text is valid Python."""
    return _facts(text).is_python


def is_blank(text: str) -> bool:
    """Return whether a cell holds no code: it is empty, or all comments."""
    return not text.strip() or not _facts(text).has_code


def same_code(one: str, other: str) -> bool:
    """Return whether two cells differ only in comments and whitespace."""
    if stripped(one) == stripped(other):
        return True
    digest = _facts(one).digest
    return bool(digest) and digest == _facts(other).digest


def without(text: str, names: Set[str]) -> str:
    """Return a cell's text without the statements that define, print or test these names.

    Text that is not valid Python is returned unchanged.
    """
    found = parse(text)
    if found is None or not names:
        return text
    dropped = [node for node in found.body if _is_about(node, names)]
    kept = {line for node in found.body if node not in dropped for line in _lines(node)}
    gone = {line for node in dropped for line in _lines(node)} - kept
    lines = text.split("\n")
    return "\n".join(line for number, line in enumerate(lines, start=1) if number not in gone)


def extract(text: str, names: Set[str]) -> str:
    """Return the imports, functions and classes of a cell that bind one of these names."""
    found = parse(text)
    nodes = found.body if found else []
    kept = [node for node in nodes if names & set(_provided(node))]
    lines = text.split("\n")
    return "\n".join(lines[number - 1] for node in kept for number in _lines(node))


def undefined_words(texts: Iterable[str]) -> set[str]:
    """Return the words that some cells use and none of them defines."""
    together = "\n".join(texts)
    return set(re.findall(r"\w+", together)) - set(DEFINED.findall(together))


def _is_about(node: ast.stmt, names: Set[str]) -> bool:
    if isinstance(node, (ast.Expr, ast.Assert)):
        return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))
    return bool(names & set(_bound(node)))


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines or assigns, in whole or in part."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    yield from (name for target in targets for name in _changed(target))


def _changed(target: ast.AST | None) -> Iterator[str]:
    """Yield the name of the variable that an assignment is about: `answers`, of answers["q"]."""
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    if isinstance(target, ast.Name):
        yield target.id


def _provided(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


def _lines(node: ast.stmt) -> range:
    """Return the line numbers of a statement, including its decorators."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)


@dataclass(frozen=True)
class Names:
    """The names that a cell defines or changes, and the global names that it reads."""

    defined: frozenset[str]
    used: frozenset[str]


def _size(names: Names) -> int:
    return len(names.defined) + len(names.used) + 1


@cached(LRUCache(500_000, getsizeof=_size), key=by_digest)
def names_in(source: str) -> Names:
    """Return a cell's names; none if it is not Python. Functions and classes in it are read, too."""
    tree = parse(source)
    if tree is None:
        return Names(frozenset(), frozenset())
    try:
        bound, read = names_at_top(MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError):  # the compiler refuses more than the parser
        return Names(frozenset(), frozenset())
    for node in ast.walk(tree):  # a cell that sets an attribute or an entry changes the object
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            bound.update(_changed(node))
    return Names(frozenset(bound), frozenset(read))
