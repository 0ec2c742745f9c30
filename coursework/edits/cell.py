"""The text of a cell with its syntax tree, and changes of it that know their lines."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Final, TypeGuard

Span = tuple[int, int]  # from one byte of the cell to another
Change = tuple[int, int, str]  # a span, and what is put there

LONGEST: Final = 20_000  # characters; a longer cell is no answer that small changes would mend
MISSING: Final = "something is missing between these lines"
OUT: Final = "without the statement"
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# What needs brackets of its own where it takes the place of another expression.
LOOSE: Final = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr)

BARE: Final = (ast.Assign, ast.Return, ast.keyword, ast.Expr, ast.AugAssign, ast.If, ast.While)


@dataclass(frozen=True)
class CodeEdit:
    """A change of a cell: the lines that it concerns, and what kind of change it is, in words.

    The kind completes "Everything passes with …", or "Everything passes …" if it begins with "without". Where
    something is missing, it goes between the lines `first` and `last`. A smaller `cost` is tried earlier.
    """

    changes: tuple[Change, ...]
    first: int
    last: int
    what: str
    cost: float = 1.0

    def apply(self, source: str) -> str:
        """Return the cell with the change made."""
        data = source.encode()
        for start, end, text in sorted(self.changes, reverse=True):
            data = data[:start] + text.encode() + data[end:]
        return data.decode()

    def meets(self, other: "CodeEdit") -> bool:
        """Return whether two changes touch the same text, so that they cannot both be made."""
        return any(a < d and c < b for a, b, _ in self.changes for c, d, _ in other.changes) or any(
            one[:2] == two[:2] for one in self.changes for two in other.changes
        )


class Cell:
    """A cell that is Python. Raises SyntaxError or ValueError if it is not, or is too long."""

    def __init__(self, source: str) -> None:
        if len(source) > LONGEST:
            raise ValueError("too long")
        self.source, self.data = source, source.encode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the student's to see
            self.tree = ast.parse(source)
        lines = self.data.split(b"\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self._attributes: dict[ast.ClassDef, list[str]] = {}  # of `self`, by class
        self._assigned: dict[ast.AST, list[tuple[str, int]]] = {}  # names and lines, by function
        self._walk(self.tree)

    def _walk(self, node: ast.AST) -> None:
        """Note the nodes in the order of the text, and their parents, outside f-strings and annotations.

        Python 3.11 does not know where the parts of an f-string are.
        """
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                    self.parents[child] = node
                    self.nodes.append(child)
                    self._walk(child)

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg) -> Span:
        """Return where a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def text(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def line_start(self, line: int) -> int:
        """Return where a line begins, counted from 1."""
        return self._starts[line - 1]

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that a node is in, from the inside to the outside."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def function_of(self, node: ast.AST) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the innermost function with a name that a node is in."""
        found = (each for each in self.ancestors(node) if isinstance(each, FUNCTIONS[:2]))
        return next(found, None)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the innermost class that a node is in."""
        return next((each for each in self.ancestors(node) if isinstance(each, ast.ClassDef)), None)

    @cached_property
    def docstrings(self) -> set[ast.AST]:
        """The statements that are docstrings, and their texts."""
        found: set[ast.AST] = set()
        for node in [self.tree, *self.nodes]:
            if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS[:2])) and node.body:
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    found |= {first, first.value}
        return found

    @cached_property
    def blocks(self) -> list[list[ast.stmt]]:
        """The lists of statements in the cell, each on lines of its own."""
        found = []
        for node in [self.tree, *self.nodes]:
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block and all(map(self._begins_line, block)):
                    found.append([each for each in block if each not in self.docstrings])
        return [block for block in found if block]

    def _begins_line(self, statement: ast.stmt) -> bool:
        start = self.line_start(statement.lineno)
        return not self.data[start : start + statement.col_offset].strip()

    def names_in_scope(self, node: ast.AST) -> list[str]:
        """Return the arguments and variables that an expression could use, roughly from the inside out.

        A variable can be used below the statement that assigns it.
        """
        found: dict[str, None] = {}
        functions = [each for each in self.ancestors(node) if isinstance(each, FUNCTIONS)]
        for function in functions:
            arguments = function.args
            for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if arg.arg not in ("self", "cls"):
                    found[arg.arg] = None
            if not isinstance(function, ast.Lambda):
                self._add_assigned(function, node, found)
        for each in self.ancestors(node):
            for made in getattr(each, "generators", ()):
                found |= dict.fromkeys(_targets(made.target))
        return [*reversed(found)]

    def _add_assigned(self, function: ast.AST, node: ast.AST, found: dict[str, None]) -> None:
        line = getattr(node, "lineno", 0)
        looped = any(isinstance(each, (ast.For, ast.While)) for each in self.ancestors(node))
        if function not in self._assigned:
            self._assigned[function] = [(each.id, each.lineno) for each in ast.walk(function) if is_set(each)]
        found |= dict.fromkeys(name for name, set_in in self._assigned[function] if looped or set_in < line)

    def attributes_of_self(self, node: ast.AST) -> list[str]:
        """Return the attributes that the class around a node gives to `self`."""
        around = self.class_of(node)
        if around is None:
            return []
        if around not in self._attributes:
            self._attributes[around] = self._attributes_in(around)
        return self._attributes[around]

    @staticmethod
    def _attributes_in(around: ast.ClassDef) -> list[str]:
        found: dict[str, None] = {}
        for each in ast.walk(around):
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and is_self(each.value):
                found[each.attr] = None
            elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.args:
                name = each.args[0]
                if each.func.attr.startswith("register_") and isinstance(name, ast.Constant):
                    found[str(name.value)] = None
        return [*found]

    def replaced(self, node: ast.expr, new: ast.expr | str) -> Change:
        """Return the change that puts another expression in the place of a node, in brackets if need be."""
        text = new if isinstance(new, str) else ast.unparse(new)
        bare = self.may_be_bare(node)
        number = isinstance(new, ast.Constant) and isinstance(self.parents.get(node), ast.Attribute)
        if number or (isinstance(new, LOOSE) and not bare):
            text = f"({text})"
        elif isinstance(new, ast.Tuple) and isinstance(self.parents.get(node), ast.Subscript):
            text = text.removeprefix("(").removesuffix(")")
        return (*self.span(node), text)

    def may_be_bare(self, node: ast.expr) -> bool:
        """Return whether the place of a node is one where no operator can reach into it."""
        parent = self.parents.get(node)
        if isinstance(parent, ast.Call):
            return node in parent.args
        return isinstance(parent, BARE)

    def edit(
        self, node: ast.expr, new: ast.expr | str, what: str, cost: float, at: ast.AST | None = None
    ) -> CodeEdit:
        """Return the edit that puts another expression in a node's place; it is shown where `at` is."""
        first, last = self.lines(at if at is not None else node)
        return CodeEdit((self.replaced(node, new),), first, last, what, cost)

    def lines(self, node: ast.AST) -> tuple[int, int]:
        """Return the first and the last line of a node."""
        first = getattr(node, "lineno", 1)
        return first, getattr(node, "end_lineno", first) or first


def is_self(node: ast.AST) -> bool:
    """Return whether an expression is the name `self`."""
    return isinstance(node, ast.Name) and node.id == "self"


def is_set(node: ast.AST) -> TypeGuard[ast.Name]:
    """Return whether a node is a name that is given a value."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def callee(call: ast.Call) -> str:
    """Return the last part of what is called: `sum` of `x.sum()`, `torch.sum(x)` and `sum(x)`."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _targets(target: ast.expr) -> list[str]:
    return [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]


def distinct(edits: Sequence[CodeEdit], source: str) -> list[CodeEdit]:
    """Return the edits in the order of their cost, each text once, without those that change nothing."""
    found: dict[frozenset[Change], CodeEdit] = {}
    data = source.encode()
    for edit in sorted(edits, key=lambda each: each.cost):
        changes = frozenset(each for each in edit.changes if data[each[0] : each[1]] != each[2].encode())
        if changes:
            found.setdefault(changes, edit)
    return list(found.values())
