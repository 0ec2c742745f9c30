"""An answer as a sequence of words that stays the same when names, comments and layout change."""

import ast
from collections.abc import Set
from typing import NamedTuple

from autograder.reports.class_answers import Answer
from autograder.submissions.answer_text import parse

MOST_TOKENS = 4_000  # of one answer; a long one takes a few hundred
_IGNORED = {"ctx", "annotation", "returns"}
_MARKUP = "*_`#.,;:!?()[]\"'"


Run = int  # the hash of some words that follow each other
RUN = {True: 24, False: 8}  # the length of a run, by whether it is code: two or three lines


class Token(NamedTuple):
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
    nodes = _in_order(tree)[:MOST_TOKENS]
    own = {name for node in nodes if (name := bound(node))}
    found, line = [], 0
    for node in nodes:
        line = getattr(node, "lineno", line)
        found.append(Token(_word(node, own), line))
    return found


class Text:
    """The runs of a normalised answer."""

    def __init__(self, found: list[Token], *, is_code: bool) -> None:
        """Cut tokens into overlapping runs."""
        self.words, self._length = [token.word for token in found], RUN[is_code]
        starts = range(len(found) - self._length + 1)
        self._runs = [hash(tuple(self.words[at : at + self._length])) for at in starts]
        lines = (token.line for token in reversed(found[: len(self._runs)]))
        self.first_line = dict(zip(reversed(self._runs), lines, strict=True))

    def own_tokens(self, explained: Set[Run]) -> dict[Run, float]:
        """Return what each unexplained run is worth: its share of tokens that no explained run covers.

        A token lies in as many runs as a run has tokens (in fewer at the ends of an answer), so that all
        runs together count it once.
        """
        length, known = self._length, [run in explained for run in self._runs]
        own = bytearray(b"\x01" * len(self.words))
        for at, is_known in enumerate(known):
            if is_known:
                own[at : at + length] = bytes(length)
        return {
            run: worth / length
            for at, (run, is_known) in enumerate(zip(self._runs, known, strict=True))
            if not is_known and (worth := own.count(1, at, at + length))
        }


def _prose(text: str) -> list[Token]:
    numbered = enumerate(text.lower().splitlines(), start=1)
    words = ((word.strip(_MARKUP), line) for line, each in numbered for word in each.split())
    return [Token(word, line) for word, line in words if word][:MOST_TOKENS]


def _in_order(tree: ast.AST) -> list[ast.AST]:
    """Return the nodes of a tree in the order of the text, without what does nothing."""
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if not _is_text(node):
            found.append(node)
            stack += reversed(_children(node))
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST) and name not in _IGNORED:
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, ast.AST)]
    return found


def _is_text(node: ast.AST) -> bool:
    """Return whether a node is a docstring, or a text that nothing reads."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def bound(node: ast.AST) -> str | None:
    """Return the name that a node defines, if it does; what is imported keeps its library's name."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    return None


def literal(value: object) -> str:
    """Return a constant as code, cut; Python refuses to write the longest numbers in decimal."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return (f"{value:#x}" if is_number and abs(value) > 10**18 else repr(value))[:60]  # type: ignore[arg-type]


def _word(node: ast.AST, own: set[str]) -> str:
    """Return the word for one node: its kind, with the name or the value that it holds."""
    kind = type(node).__name__
    if isinstance(node, ast.Constant):
        return f"{kind} {literal(node.value)}"
    if isinstance(node, ast.keyword):
        return f"{kind} {node.arg}"
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    return f"{kind} {name}" if name is not None and name not in own else kind
