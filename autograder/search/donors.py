"""Parts of a right answer in the place of a student's: statement by statement, under the student's names.

Functions are paired by name, and their statements by how alike they are. Where two statements that belong
together differ, the right one gives the smallest parts that differ. Statements of the right answer that have
no like are put in, and the student's that have none are left out. A change costs more the more it brings in:
a large part of a right answer could stand for much that is right in the student's.
"""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from autograder.search.differences import dumped, kind, parts, split, statement_kind
from coursework.edits.cell import OUT, Cell, CodeEdit, is_set
from coursework.edits.statements import inserted

Function = ast.FunctionDef | ast.AsyncFunctionDef

BEGIN: Final = 0.8  # what the smallest change costs
EACH_TOKEN: Final = 0.11  # that a change brings in or takes away
UNUSED: Final = 0.6  # more for a variable that is not used there any more
ELSEWHERE: Final = 1.2  # more, where two statements do not belong together
GROWN: Final = 0.8  # more, where the right answer does something with another value
MODULES: Final = ("torch", "nn", "F", "math", "self")
ALIKE: Final = 0.35  # how alike statements have to be to belong together
ROUNDS: Final = 3  # of pairing statements, then names
MOST_STATEMENTS: Final = 60
MOST_VARIABLES: Final = 8  # that are tried written out
SIMPLE: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.Assert, ast.Raise)


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
            made = _rebuilt(node, self._in_their_words)
            assert isinstance(made, ast.stmt)
            self._renamed[node] = made
        return self._renamed[node]

    def _in_their_words(self, node: ast.AST) -> ast.AST:
        """Return a name, or an attribute of `self`, as the student calls it."""
        match node:
            case ast.Name(id=name) if self.names.get(name, name) != name:
                return ast.Name(**{**vars(node), "id": self.names[name]})
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.attributes:
                return ast.Attribute(**{**vars(node), "attr": self.attributes[name]})
        return node

    def name(self, names: dict[str, str], attributes: dict[str, str]) -> None:
        """Take over other names."""
        self.names, self.attributes = names, attributes
        self._renamed.clear()


def donor_edits(cell: Cell, right: Cell) -> tuple[list[CodeEdit], list[CodeEdit]]:
    """Return the edits that bring parts of a right answer in, and those that together make it of the cell."""
    single: list[CodeEdit] = []
    whole: list[CodeEdit] = []
    for pairing, script in _scripts(cell, right):
        single += script
        single += _whole_statements(cell, pairing)
        single += _elsewhere(cell, pairing)
        single += _grown(cell, pairing)
        single += _missing(cell, pairing)
        whole += script
    return single, whole


def script_edits(cell: Cell, right: Cell) -> list[CodeEdit]:
    """Return the edits that together make a right answer of the cell, each as small as it can be."""
    return [edit for _, script in _scripts(cell, right) for edit in script]


def _scripts(cell: Cell, right: Cell) -> Iterator[tuple[Pairing, list[CodeEdit]]]:
    """Yield the functions of a cell paired with those of a right answer, and the changes between the two."""
    attributes: dict[str, str] = {}
    for mine, other in functions_alike(cell, right):
        pairing, script = _nearest(cell, mine, other, attributes)
        attributes |= pairing.attributes
        yield pairing, script


def _nearest(
    cell: Cell, mine: Function, right: Function, attributes: dict[str, str]
) -> tuple[Pairing, list[CodeEdit]]:
    """Pair a function with the right one in the form nearest to it, and return the changes between the two.

    Where that makes fewer changes, a variable of the right answer is written out wherever it is used.
    """

    def tried(other: Function) -> tuple[Pairing, list[CodeEdit]]:
        pairing = paired(mine, other, attributes)
        return pairing, [*_defaults(cell, mine, other), *_script(cell, mine, pairing)]

    best = tried(right)
    for name in _variables(right)[:MOST_VARIABLES]:
        other = _written_out(right, name)
        found = tried(other)
        if _total(found[1]) < _total(best[1]):
            best, right = found, other
    return best


def _total(script: Sequence[CodeEdit]) -> float:
    return sum(edit.cost for edit in script)


def _variables(function: Function) -> list[str]:
    """Return the variables that are given a value once, by an assignment, in the order of the text."""
    names = [each.id for each in ast.walk(function) if is_set(each)]
    assigned = [
        part.id
        for each in _statements(function)
        if isinstance(each, ast.Assign)
        for part in _targets(each)
        if isinstance(part, ast.Name)
    ]
    return [name for name in assigned if names.count(name) == 1]


def _written_out(function: Function, name: str) -> Function:
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
        return (
            value
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
            else node
        )

    made = _rebuilt(function, exchange)
    assert isinstance(made, Function)
    return made


def _is_alone(function: Function, statement: ast.stmt) -> bool:
    """Return whether a statement is the only one of its block."""
    blocks = (
        getattr(each, name, None) for each in ast.walk(function) for name in ("body", "orelse", "finalbody")
    )
    return any(block == [statement] for block in blocks)


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
    arguments = zip(_arguments(right), _arguments(mine), strict=False)
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


def _arguments(function: Function) -> list[ast.arg]:
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
    mine = [_tokens(_header(each)) for each in pairing.mine]
    right = [_tokens(_header(pairing.renamed(each))) for each in pairing.right]
    best = [[0.0] * (len(right) + 1) for _ in range(len(mine) + 1)]
    alike = [
        [
            _alike(one, two) if type(pairing.mine[i]) is type(pairing.right[j]) else 0.0
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
def _alike(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


@lru_cache(maxsize=5_000)
def _tokens(node: ast.AST) -> tuple[str, ...]:
    return split(ast.unparse(node))


def _header(statement: ast.stmt) -> ast.AST:
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


def _script(cell: Cell, function: Function, pairing: Pairing) -> Iterator[CodeEdit]:
    """Yield the changes that make the right function of the student's: each is as small as it can be."""
    for here, there in pairing.pairs:
        yield from _differences(cell, pairing.mine[here], pairing.renamed(pairing.right[there]))
    mine, right = ({pair[side] for pair in pairing.pairs} for side in (0, 1))
    for index, statement in enumerate(pairing.mine):
        if index not in mine and isinstance(statement, SIMPLE):
            first, last = cell.lines(statement)
            yield CodeEdit(((*cell.span(statement), "pass"),), first, last, OUT, 1.6)
    inside: set[ast.stmt] = set()
    for index, statement in enumerate(pairing.right):
        if index not in right and statement not in inside:
            blocks = {*ast.walk(statement)} - {statement}
            if not any(pairing.right[each] in blocks for each in right):
                inside |= {each for each in blocks if isinstance(each, ast.stmt)}
                yield from _put_in(cell, function, pairing, index)


def _put_in(cell: Cell, function: Function, pairing: Pairing, index: int) -> Iterator[CodeEdit]:
    """Yield a statement of the right answer put behind the one that its neighbour belongs to."""
    new = pairing.renamed(pairing.right[index])
    if isinstance(new, ast.Return) and isinstance(function.body[-1], ast.Return):
        return
    cost = 1.5 + 0.03 * len(_tokens(new))
    before = max(((j, i) for i, j in pairing.pairs if j < index), default=None)
    after = min(((j, i) for i, j in pairing.pairs if j > index), default=None)
    for neighbour, behind in ((before, 1), (after, 0)):
        if neighbour is None:
            continue
        statement = pairing.mine[neighbour[1]]
        block = next((each for each in cell.blocks if statement in each), None)
        if block is not None:
            yield inserted(cell, block, block.index(statement) + behind, ast.unparse(new), cost)
            return
    block = next((each for each in cell.blocks if function.body[-1] in each), None)
    if block is not None:
        yield inserted(cell, block, 0, ast.unparse(new), cost)


def _missing(cell: Cell, pairing: Pairing) -> Iterator[CodeEdit]:
    """Yield statements of the right answer put in everywhere: those without a like first."""
    with_a_like = {there for _, there in pairing.pairs}
    blocks = [each for each in cell.blocks if any(one in pairing.mine for one in each)]
    for index, statement in enumerate(pairing.right):
        new = pairing.renamed(statement)
        if isinstance(new, ast.Return):
            continue  # it would make the rest of the student's code stand idle
        cost = 2.4 + 0.03 * len(_tokens(new)) + (0.9 if index in with_a_like else 0.0)
        for block in blocks:
            for at in range(len(block) + 1):
                yield inserted(cell, block, at, ast.unparse(new), cost)


def _defaults(cell: Cell, mine: Function, right: Function) -> Iterator[CodeEdit]:
    """Yield the defaults of the right answer's arguments."""
    own, others = ([*reversed(each.args.defaults)] for each in (mine, right))
    for one, other in zip(own, others, strict=False):
        yield from _smallest(cell, one, other)


def _differences(cell: Cell, mine: ast.stmt, right: ast.stmt) -> Iterator[CodeEdit]:
    """Yield the smallest parts in which two statements differ."""
    match mine, right:
        case (ast.Assign(targets=[one], value=old), ast.Assign(targets=[two], value=new)):
            yield from _smallest(cell, old, new)
            if dumped(_loaded(one)) != dumped(_loaded(two)):
                yield _replaced(cell, one, _loaded(two))
        case (ast.Return(value=ast.expr() as old), ast.Return(value=ast.expr() as new)):
            yield from _smallest(cell, old, new)
        case (ast.Expr(value=old), ast.Expr(value=new)):
            yield from _smallest(cell, old, new)
        case (ast.If(test=old), ast.If(test=new)) | (ast.While(test=old), ast.While(test=new)):
            yield from _smallest(cell, old, new)
        case (ast.For(iter=old), ast.For(iter=new)):
            yield from _smallest(cell, old, new)
        case (ast.With(items=[old_item]), ast.With(items=[new_item])):
            yield from _smallest(cell, old_item.context_expr, new_item.context_expr)
        case _ if isinstance(mine, SIMPLE) and isinstance(right, SIMPLE):
            if dumped(mine) != dumped(right):
                yield _statement(cell, mine, right, 0.0)


def _loaded(node: ast.expr) -> ast.expr:
    """Return a target as an expression."""
    return ast.parse(ast.unparse(node), mode="eval").body


def _whole_statements(cell: Cell, pairing: Pairing) -> Iterator[CodeEdit]:
    """Yield whole statements in the place of those that they belong to."""
    for here, there in pairing.pairs:
        mine, right = pairing.mine[here], pairing.renamed(pairing.right[there])
        if isinstance(mine, SIMPLE) and isinstance(right, SIMPLE):
            yield _statement(cell, mine, right, 0.2)


def _elsewhere(cell: Cell, pairing: Pairing) -> Iterator[CodeEdit]:
    """Yield values of the right answer in the place of any other of the function."""
    for here, statement in enumerate(pairing.mine):
        old = getattr(statement, "value", None)
        for there, other in enumerate(pairing.right):
            new = getattr(pairing.renamed(other), "value", None)
            if (here, there) not in pairing.pairs and isinstance(old, ast.expr) and isinstance(new, ast.expr):
                yield _replaced(cell, old, new, ELSEWHERE)


def _grown(cell: Cell, pairing: Pairing) -> Iterator[CodeEdit]:
    """Yield what the right answer does with a variable or a value, done with a student's.

    A variable that the right answer has an operator beside gets it here; a value gets the operators and calls
    that the right answer's values have last.
    """
    around = [form for each in pairing.right for form in _forms(_header(pairing.renamed(each)))]
    for statement in pairing.mine:
        header = ast.unparse(_header(statement))
        value = getattr(statement, "value", None)
        for node in ast.walk(_header(statement)):
            if not isinstance(node, ast.expr) or node not in cell.parents:
                continue
            is_variable = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            for form, hole in around:
                fits = node is value or (is_variable and isinstance(form, ast.BinOp))
                if fits and (node is value or ast.unparse(hole) == ast.unparse(node)):
                    new = _filled(form, hole, node)
                    if ast.unparse(new) not in header:
                        yield _replaced(cell, node, new, GROWN if node is value else ELSEWHERE)


def _forms(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield operators and calls in an expression, each with an operand or what it is called on."""
    for each in ast.walk(node):
        match each:
            case ast.BinOp(left=left, right=right):
                yield each, left
                yield each, right
            case ast.Call(func=ast.Attribute(value=on)) if getattr(on, "id", "") not in MODULES:
                yield each, on
            case ast.Call(args=[first, *_]):
                yield each, first


def _filled(form: ast.expr, hole: ast.expr, new: ast.expr) -> ast.expr:
    """Return an operator or a call with another expression in the place of its operand `hole`."""
    made = copy.copy(form)
    for name, value in ast.iter_fields(form):
        if value is hole:
            setattr(made, name, new)
        elif isinstance(value, ast.Attribute) and value.value is hole:
            setattr(made, name, ast.Attribute(new, value.attr, ast.Load()))
        elif isinstance(value, list) and value and value[0] is hole:
            setattr(made, name, [new, *value[1:]])
    return made


def _statement(cell: Cell, mine: ast.stmt, right: ast.stmt, more: float) -> CodeEdit:
    text = ast.unparse(right).replace("\n", "\n" + " " * mine.col_offset)
    first, last = cell.lines(mine)
    what = statement_kind(cell, mine, right)
    return CodeEdit(((*cell.span(mine), text),), first, last, what, _cost(cell, mine, right) + more)


def _cost(cell: Cell, mine: ast.expr | ast.stmt, right: ast.AST) -> float:
    """Return what a replacement costs: more for every word and sign that it changes.

    And more where it makes no use of a variable any more: it may go around what is wrong in another line.
    """
    one, other = _tokens(mine), _tokens(right)
    function = cell.function_of(mine)
    unused = len((_used(mine) - _used(right)) & _locals(function)) if function else 0
    same = sum(
        block.size for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    )
    return BEGIN + EACH_TOKEN * max(len(one) - same, len(other) - same) + UNUSED * unused


@lru_cache(maxsize=5_000)
def _used(tree: ast.AST) -> set[str]:
    """Return the names that a part of a program uses."""
    return {
        each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }


@lru_cache(maxsize=100)
def _locals(function: Function) -> set[str]:
    """Return the variables of a function that are no arguments."""
    return {each.id for each in ast.walk(function) if is_set(each)} - {
        each.arg for each in _arguments(function)
    }


def _replaced(cell: Cell, mine: ast.expr, right: ast.expr, more: float = 0.0) -> CodeEdit:
    return cell.edit(mine, right, kind(cell, mine, right), _cost(cell, mine, right) + more)


def _smallest(cell: Cell, mine: ast.expr, right: ast.expr) -> Iterator[CodeEdit]:
    """Yield the changes of the smallest parts that differ."""
    yield from (_replaced(cell, *part) for part in parts(mine, right))


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
