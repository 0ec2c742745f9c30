"""Which statements of a right answer belong to which of a student's, and which names.

Functions are paired by name, and their statements by how alike they are.
"""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from autograder.search.differences import split
from coursework.edits.cell import Cell, is_set

Function = ast.FunctionDef | ast.AsyncFunctionDef

ALIKE: Final = 0.35  # how alike statements have to be to belong together
ROUNDS: Final = 3  # of pairing statements, then names
MOST_STATEMENTS: Final = 60


@dataclass
class Pairing:
    """Two functions, the student's and a right one, and what belongs together in them."""

    mine: list[ast.stmt]
    right: list[ast.stmt]
    names: dict[str, str] = field(default_factory=dict)  # the student's, by the right answer's
    attributes: dict[str, str] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    _renamed: dict[ast.stmt, ast.stmt] = field(default_factory=dict)

    def renamed(self, node: ast.stmt) -> ast.stmt:
        """Return a statement of the right answer under the student's names; it is not to be changed."""
        if node not in self._renamed:
            made = _rebuilt(node, self._with_their_names)
            assert isinstance(made, ast.stmt)
            self._renamed[node] = made
        return self._renamed[node]

    def _with_their_names(self, node: ast.AST) -> ast.AST:
        """Return a variable, or an attribute of `self`, under the student's name for it."""
        match node:
            case ast.Name(id=name) if self.names.get(name, name) != name:
                return ast.Name(**{**vars(node), "id": self.names[name]})
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                new = self.attributes.get(name, name)
                if new == name:
                    return node
                mine = ast.Name(self.names.get("self", "self"), ast.Load())
                return ast.Attribute(**{**vars(node), "value": mine, "attr": new})
        return node

    def name(self, names: dict[str, str], attributes: dict[str, str]) -> None:
        """Take over other names."""
        self.names, self.attributes = names, attributes
        self._renamed.clear()


def functions_alike(cell: Cell, right: Cell) -> Iterator[tuple[Function, Function]]:
    """Yield the functions that have the same name in both, and a single one that is left of each."""
    mine, others = _by_name(cell), _by_name(right)
    for name in [each for each in mine if each in others]:
        yield mine[name], others[name]
    left = [
        [each for name, each in one.items() if name not in two]
        for one, two in ((mine, others), (others, mine))
    ]
    if len(left[0]) == len(left[1]) == 1:
        yield left[0][0], left[1][0]


def _by_name(cell: Cell) -> dict[str, Function]:
    found: dict[str, Function] = {}
    for node in cell.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            around = cell.class_of(node)
            found[f"{around.name if around else ''}.{node.name}"] = node
    return found


def _statements(function: Function) -> list[ast.stmt]:
    """Return the statements of a function in the order of the text, those in blocks as well."""
    found: list[ast.stmt] = []

    def walk(block: Sequence[ast.stmt]) -> None:
        for each in block:
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                continue
            found.append(each)
            if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                for name in ("body", "orelse", "finalbody"):
                    walk(getattr(each, name, []))

    walk(function.body)
    return found[:MOST_STATEMENTS]


def paired(mine: Function, right: Function, attributes: dict[str, str]) -> Pairing:
    """Pair the statements of two functions, and with them the names."""
    pairing = Pairing(_statements(mine), _statements(right), attributes={**attributes})
    arguments = zip(arguments_of(right), arguments_of(mine), strict=False)
    given = {other.arg: own.arg for other, own in arguments}
    pairing.names = dict(given)
    for _ in range(ROUNDS):
        pairing.pairs = _aligned(pairing)
        names, fields = dict(given), dict(attributes)
        for here, there in pairing.pairs:
            for one, other in zip(_targets(pairing.right[there]), _targets(pairing.mine[here]), strict=False):
                if isinstance(one, ast.Name) and isinstance(other, ast.Name):
                    names.setdefault(one.id, other.id)
                elif isinstance(one, ast.Attribute) and isinstance(other, ast.Attribute):
                    fields.setdefault(one.attr, other.attr)
        if (names, fields) == (pairing.names, pairing.attributes):
            break
        pairing.name(names, fields)
    return pairing


def arguments_of(function: Function) -> list[ast.arg]:
    """Return the arguments of a function, without `*args` and `**kwargs`."""
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _targets(statement: ast.stmt) -> list[ast.expr]:
    """Return what a statement gives values to, in the order of the text."""
    match statement:
        case ast.Assign(targets=[target]) | ast.For(target=target) | ast.AnnAssign(target=target):
            return [*target.elts] if isinstance(target, ast.Tuple) else [target]
    return []


def _aligned(pairing: Pairing) -> list[tuple[int, int]]:
    """Return the pairs of statements, in one order in both, that are most alike all together."""
    mine = [tokens(header(each)) for each in pairing.mine]
    right = [tokens(header(pairing.renamed(each))) for each in pairing.right]
    best = [[0.0] * (len(right) + 1) for _ in range(len(mine) + 1)]
    alike = [
        [
            2 * in_common(one, two) / max(1, len(one) + len(two))
            if type(pairing.mine[i]) is type(pairing.right[j])
            else 0.0
            for j, two in enumerate(right)
        ]
        for i, one in enumerate(mine)
    ]
    for i in range(len(mine) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            together = best[i + 1][j + 1] + alike[i][j] if alike[i][j] >= ALIKE else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    found, i, j = [], 0, 0
    while i < len(mine) and j < len(right):
        if alike[i][j] >= ALIKE and best[i][j] == best[i + 1][j + 1] + alike[i][j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


@lru_cache(maxsize=20_000)  # a function is paired with one form of a right one after the other
def in_common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return how many words and signs two texts have in common, in one order."""
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)


@lru_cache(maxsize=5_000)
def tokens(node: ast.AST) -> tuple[str, ...]:
    """Return the words and signs of a part of a program, however it was written."""
    return split(ast.unparse(node))


def header(statement: ast.stmt) -> ast.AST:
    """Return a statement, or what stands in the first line of one with a block."""
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            return test
        case ast.For(target=target, iter=over):
            return ast.Tuple([target, over], ast.Load())
        case ast.With(items=items):
            return ast.Tuple([each.context_expr for each in items], ast.Load())
        case ast.Try() | ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
            return ast.Constant(type(statement).__name__)
    return statement


def variables(function: Function) -> list[str]:
    """Return the variables that are given a value once, by an assignment, in the order of the text."""
    names = [each.id for each in ast.walk(function) if is_set(each)]
    names += [each.arg for each in arguments_of(function)]
    assigned = [
        part.id
        for each in _statements(function)
        if isinstance(each, ast.Assign)
        for part in _targets(each)
        if isinstance(part, ast.Name)
    ]
    return [name for name in assigned if names.count(name) == 1]


def written_out(function: Function, name: str) -> Function:
    """Return a function without a variable: its value stands wherever it was used."""
    assigned = [each for each in _statements(function) if isinstance(each, ast.Assign)]
    given = next(
        (each for each in assigned if name in {getattr(one, "id", "") for one in _targets(each)}), None
    )
    if given is None:  # it was left out together with another one
        return function
    names = [getattr(one, "id", "") for one in _targets(given)]
    value = given.value
    if isinstance(given.targets[0], ast.Tuple):
        value = ast.Subscript(value, ast.Constant(names.index(name)), ast.Load())
    needless = all(one in ("_", name) for one in names) and not _is_alone(function, given)

    def exchange(node: ast.AST) -> ast.AST | None:
        if needless and node is given:
            return None
        is_used = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        return copy.copy(value) if is_used else node  # `ast.unparse` notes of each node where it stands

    made = _rebuilt(function, exchange)
    assert isinstance(made, Function)
    return made


def _is_alone(function: Function, statement: ast.stmt) -> bool:
    """Return whether a statement is the only one of its block."""
    blocks = (
        getattr(each, name, None) for each in ast.walk(function) for name in ("body", "orelse", "finalbody")
    )
    return any(block == [statement] for block in blocks)


def _rebuilt(node: ast.AST, exchange: Callable[[ast.AST], ast.AST | None]) -> ast.AST:
    """Return a part of a program with nodes exchanged, or left out of their lists; the others are not copied.

    What is the same in many forms of a right answer is then written out and compared once.
    """
    new: dict[str, object] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            parts = [_exchanged(each, exchange) for each in value]
            if any(part is not each for part, each in zip(parts, value, strict=True)):
                new[name] = [part for part in parts if part is not None]
        elif (part := _exchanged(value, exchange)) is not value:
            new[name] = part
    return type(node)(**{**vars(node), **new}) if new else node


def _exchanged(value: object, exchange: Callable[[ast.AST], ast.AST | None]) -> object:
    if not isinstance(value, ast.AST):
        return value
    new = exchange(value)
    return _rebuilt(value, exchange) if new is value else new
