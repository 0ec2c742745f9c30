"""Where two statements or expressions differ, and what kind of difference that is, in words.

The words say what is exchanged, and never for what: students read them.
"""

import ast
import difflib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from coursework.edits.cell import Cell, callee
from coursework.edits.values import COMPUTED, label

TOKEN: Final = re.compile(r"\w+|[^\w\s]")
SIGNS: Final = frozenset("+-*/@%&|^()")


def statement_kind(cell: Cell, mine: ast.stmt, right: ast.stmt) -> str:
    """Return the kind of the one part in which two statements differ, if they differ in one."""
    old, new = getattr(mine, "value", None), getattr(right, "value", None)
    if type(mine) is type(right) and isinstance(old, ast.expr) and isinstance(new, ast.expr):
        same_head = ast.unparse(mine).removesuffix(ast.unparse(old)) == ast.unparse(right).removesuffix(
            ast.unparse(new)
        )
        differing = [*parts(old, new)]
        if same_head and len(differing) == 1:
            return kind(cell, *differing[0])
        around = {cell.parents.get(part) for part, _ in differing} if same_head else set()
        call = around.pop() if len(around) == 1 else None
        if isinstance(call, ast.Call) and callee(call) and call.func not in (part for part, _ in differing):
            return f"other arguments of `{callee(call)}`"
    return "another statement"


def parts(mine: ast.expr, right: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the smallest parts in which two expressions differ, side by side."""
    if dumped(mine) == dumped(right):
        return
    pairs = None if _calls_on(mine, right) or _calls_on(right, mine) else _children(mine, right)
    if pairs is None:
        yield mine, right
        return
    for one, other in pairs:
        yield from parts(one, other)


def _children(mine: ast.expr, right: ast.expr) -> list[tuple[ast.expr, ast.expr]] | None:
    """Return the parts of two expressions that stand in the same places; None if all else is not the same."""
    if type(mine) is not type(right):
        return None
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for name in mine._fields:
        one, other = getattr(mine, name), getattr(right, name)
        if isinstance(one, ast.expr) and isinstance(other, ast.expr):
            pairs.append((one, other))
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            for a, b in zip(one, other, strict=True):
                if isinstance(a, ast.expr) and isinstance(b, ast.expr):
                    pairs.append((a, b))
                elif isinstance(a, ast.keyword) and isinstance(b, ast.keyword) and a.arg == b.arg:
                    pairs.append((a.value, b.value))
                elif not (isinstance(a, ast.AST) and isinstance(b, ast.AST) and dumped(a) == dumped(b)):
                    return None
        elif isinstance(one, ast.AST) and isinstance(other, ast.AST):
            if dumped(one) != dumped(other):
                return None
        elif one != other:
            return None
    return pairs


def kind(cell: Cell, mine: ast.expr, right: ast.expr) -> str:
    """Return in words what is exchanged, without saying for what."""
    old, new = ast.unparse(mine), ast.unparse(right)
    same = type(mine) is type(right)
    is_number = _is_constant(mine) and label(cell, mine) == "number"
    known = (
        (is_number and _reads_variables(right), COMPUTED),
        (_is_constant(mine), f"another {label(cell, mine)}"),
        (_calls_on(right, mine), "one call more"),
        (_calls_on(mine, right), "one call fewer"),
        (_without_operator(mine, new, ast.USub, ast.UAdd), "another sign"),
        (_without_operator(mine, new, ast.Invert, ast.Not), "the opposite of a value"),
        (isinstance(mine, ast.Name) and isinstance(right, (ast.Name, ast.Attribute)), "another variable"),
        (isinstance(mine, ast.Attribute) and same and old.startswith("self."), "another attribute of `self`"),
        (_is_other_method(cell, mine, right), f"another call than `{getattr(mine, 'attr', '')}`"),
        (old in new, "something more"),
        (new in old, "something less"),
        (isinstance(mine, ast.Compare) and same, "another comparison"),
        (
            isinstance(mine, ast.BinOp) and same and set(split(old)) - set(split(new)) <= SIGNS,
            "another operator",
        ),
        (isinstance(mine, ast.Call) and same, _other_call(cell, mine, right)),
        (isinstance(mine, ast.Slice), "another slice"),
    )
    return next((words for fits, words in known if fits), "another expression")


def _is_constant(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _reads_variables(node: ast.expr) -> bool:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return not names <= {"float", "math", "torch"}  # as in float("-inf")


def _without_operator(mine: ast.expr, new: str, *operators: type[ast.unaryop]) -> bool:
    """Return whether an expression is another one behind an operator of some kinds."""
    return (
        isinstance(mine, ast.UnaryOp) and isinstance(mine.op, operators) and ast.unparse(mine.operand) == new
    )


def _is_other_method(cell: Cell, mine: ast.expr, right: ast.expr) -> bool:
    """Return whether the name of what is called differs, and nothing before it."""
    if not (isinstance(mine, ast.Attribute) and isinstance(right, ast.Attribute)):
        return False
    parent = cell.parents.get(mine)
    called = isinstance(parent, ast.Call) and parent.func is mine
    return called and dumped(mine.value) == dumped(right.value)


def _calls_on(call: ast.expr, inner: ast.expr) -> bool:
    """Return whether a call takes this expression, as an argument or as the object of a method."""
    if not isinstance(call, ast.Call):
        return False
    object_of = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return any(dumped(each) == dumped(inner) for each in [*call.args, *object_of])


def _other_call(cell: Cell, mine: ast.expr, right: ast.expr) -> str:
    """Return which part of a call differs, if it is one: what is called, on what, or with what."""
    if not (isinstance(mine, ast.Call) and isinstance(right, ast.Call)):
        return ""
    if _sizes(mine) > _sizes(right) + 1:
        return COMPUTED
    name, one, other = callee(mine), mine.func, right.func
    if name and dumped(one) == dumped(other):
        return f"other arguments of `{name}`"
    if _arguments(mine) == _arguments(right):
        if name and name != callee(right):
            return f"another call than `{name}`"
        if isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute):
            return kind(cell, one.value, other.value)
    return "another expression"


def _arguments(call: ast.Call) -> list[str]:
    return [dumped(each) for each in (*call.args, *call.keywords)]


def _sizes(call: ast.Call) -> int:
    """Return how many arguments of a call are numbers that may be a size, written down."""
    return sum(
        isinstance(each, ast.Constant) and type(each.value) is int and each.value > 1 for each in call.args
    )


@lru_cache(maxsize=20_000)
def dumped(node: ast.AST) -> str:
    """Return the structure of a part of a program as text. No part is changed once it has been compared."""
    return ast.dump(node)


@lru_cache(maxsize=20_000)
def split(text: str) -> tuple[str, ...]:
    """Return the words and signs of a text."""
    return tuple(TOKEN.findall(text))


def difference(source: str, changed: str) -> str:
    """Return how a cell was changed, line by line, in one form of writing for both: for instructors."""
    try:
        before, after = (ast.unparse(ast.parse(each)).split("\n") for each in (source, changed))
    except (SyntaxError, ValueError, RecursionError):
        return ""
    changes = difflib.unified_diff(before, after, lineterm="", n=0)
    return "\n".join(line for line in changes if not line.startswith(("---", "+++", "@@")))
