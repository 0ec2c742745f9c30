"""An answer as a sequence of words that stays the same when names, comments and layout change."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from autograder.reports.class_answers import Answer
from autograder.submissions.answer_text import parse

MOST_TOKENS = 4_000  # of one answer; a long one takes a few hundred
_IGNORED = {"ctx", "annotation", "returns", "type_comment", "type_ignores", "kind", "lineno"}
_MARKUP = "*_`#.,;:!?()[]\"'"


@dataclass(frozen=True)
class Token:
    """One word of a normalised answer, and the line of the answer that it comes from."""

    word: str
    line: int


def tokens(answer: Answer) -> list[Token]:
    """Return an answer's tokens; none for code that Python cannot parse.

    In code these are the nodes of the syntax tree, in order. A name that the answer itself defines
    counts as any name; names of libraries, attributes and numbers stay. Docstrings, annotations and
    comments are dropped. In prose these are the words, in lower case.
    """
    if not answer.is_code:
        return _prose(answer.text)
    tree = parse(answer.text)
    if tree is None:
        return []
    own = {name for node in ast.walk(tree) for name in _bound(node)}
    found, line = [], 0
    for node in _in_order(tree):
        line = getattr(node, "lineno", line)
        found.append(Token(_word(node, own), line))
        if len(found) == MOST_TOKENS:
            break
    return found


def _prose(text: str) -> list[Token]:
    numbered = enumerate(text.lower().splitlines(), start=1)
    words = ((word.strip(_MARKUP), line) for line, each in numbered for word in each.split())
    return [Token(word, line) for word, line in words if word][:MOST_TOKENS]


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree in the order of the text, without what does nothing."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if not _is_text(node):
            yield node
            stack.extend(reversed(list(_children(node))))


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name not in _IGNORED:
            found = value if isinstance(value, list) else [value]
            yield from (each for each in found if isinstance(each, ast.AST))


def _is_text(node: ast.AST) -> bool:
    """Return whether a node is a docstring, or a text that nothing reads."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr


def _word(node: ast.AST, own: set[str]) -> str:
    """Return the word for one node: its kind, with the name or the value that it holds."""
    kind = type(node).__name__
    if isinstance(node, ast.Constant):
        return f"{kind} {node.value!r}"[:60]
    if isinstance(node, ast.keyword):
        return f"{kind} {node.arg}"
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    return f"{kind} {name}" if name is not None and name not in own else kind
