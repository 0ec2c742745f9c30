"""What a cell's text defines, and which part of it belongs to which answer."""

import ast
import re
from collections.abc import Iterable, Iterator, Set

MAX_PARSED = 300_000  # characters; no cell that a person wrote is longer
DEFINED = re.compile(r"^(?:def |class )?[ \t]*(\w+)[ \t]*[(:=]", re.M)
MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.M)


def plain(text: str) -> str:
    """Return a text without the white space that no reader sees."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def tree(text: str) -> ast.Module | None:
    """Return a cell's syntax, line by line as it stands, magics left out; None if it is no Python."""
    for form in (text, MAGIC.sub(r"\1pass", text)):
        try:
            if len(text) <= MAX_PARSED:
                return ast.parse(form)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def parses(text: str) -> bool:
    """Return whether a cell's text is Python."""
    return tree(text) is not None


def blank(text: str) -> bool:
    """Return whether a cell holds no code: nothing at all, or comments."""
    found = tree(text)
    return not text.strip() or (found is not None and not found.body)


def same_code(one: str, other: str) -> bool:
    """Return whether two cells are the same but for comments and white space."""
    if plain(one) == plain(other):
        return True
    trees = (tree(one), tree(other))
    try:
        dumped = [ast.dump(found) for found in trees if found is not None]
    except RecursionError:
        return False
    return len(dumped) == 2 and dumped[0] == dumped[1]


def defines(text: str, name: str) -> bool:
    """Return whether a cell defines or assigns a name at its top level, be it Python or not."""
    wanted = re.escape(name)
    pattern = rf"^(def|class)[ \t]+{wanted}\b|^{wanted}[ \t]*(:[^=\n]*)?=(?!=)"
    return bool(name) and re.search(pattern, text, re.M) is not None


def without(text: str, names: Set[str]) -> str:
    """Return a cell's text without what defines these names, or only shows or checks them.

    A text that cannot be taken apart, since it is no Python, stays whole.
    """
    found = tree(text)
    if found is None or not names:
        return text
    dropped = [node for node in found.body if _is_about(node, names)]
    kept = {line for node in found.body if node not in dropped for line in _lines(node)}
    gone = {line for node in dropped for line in _lines(node)} - kept
    lines = text.split("\n")
    return "\n".join(line for number, line in enumerate(lines, start=1) if number not in gone)


def carried(text: str, wanted: Set[str]) -> str:
    """Return the imports, functions and classes of a cell that bind one of the wanted names."""
    found = tree(text)
    nodes = found.body if found else []
    kept = [node for node in nodes if wanted & set(_carries(node))]
    lines = text.split("\n")
    return "\n".join(lines[number - 1] for node in kept for number in _lines(node))


def wanted_by(texts: Iterable[str]) -> set[str]:
    """Return the words of some cells that none of them defines."""
    together = "\n".join(texts)
    return set(re.findall(r"\w+", together)) - set(DEFINED.findall(together))


def _is_about(node: ast.stmt, names: Set[str]) -> bool:
    if isinstance(node, (ast.Expr, ast.Assert)):
        return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))
    return bool(names & set(_bound(node)))


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield what a statement defines or assigns, be it only an entry of it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value  # answers["q"] is about `answers`
        if isinstance(target, ast.Name):
            yield target.id


def _carries(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


def _lines(node: ast.stmt) -> range:
    """Return the numbers of a statement's lines, its decorators' included."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)
