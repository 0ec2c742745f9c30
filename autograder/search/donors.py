"""Parts of a right answer in the place of a student's: statement by statement, under the student's names.

Where two statements that belong together differ, the right one gives the smallest parts that differ.
Statements of the right answer that have no like are put in, and the student's that have none are left out. A
change costs more the more it brings in: a large part of a right answer could stand for much that is right in
the student's.
"""

import ast
import copy
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from autograder.search.differences import dumped, kind, parts, statement_kind
from autograder.search.pairing import (
    Function,
    Pairing,
    arguments_of,
    functions_alike,
    header,
    in_common,
    paired,
    tokens,
    variables,
    written_out,
)
from coursework.edits.cell import OUT, Cell, CodeEdit, is_set
from coursework.edits.statements import inserted

NEAR: Final = 1.5  # what a part may cost to be tried before all else
BEGIN: Final = 0.8  # what the smallest change costs
EACH_TOKEN: Final = 0.11  # that a change brings in or takes away
UNUSED: Final = 0.6  # more for a variable that is not used there any more
ELSEWHERE: Final = 1.2  # more, where two statements do not belong together
GROWN: Final = 0.8  # more, where the right answer does something with another value
MODULES: Final = ("torch", "nn", "F", "math", "self")
MOST_VARIABLES: Final = 8  # that are tried written out
SIMPLE: Final = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.Assert, ast.Raise)


class Donor:
    """A right answer beside a student's cell: the edits that bring parts of it in."""

    def __init__(self, cell: Cell, right: Cell) -> None:
        """Pair the functions of the two."""
        self._cell = cell
        self._functions: list[tuple[Pairing, list[CodeEdit]]] = []
        attributes: dict[str, str] = {}
        for mine, other in functions_alike(cell, right):
            pairing, script = _nearest(cell, mine, other, attributes)
            attributes |= pairing.attributes
            self._functions.append((pairing, script))

    @property
    def script(self) -> list[CodeEdit]:
        """The edits that together make a right answer of the cell, each as small as it can be."""
        return [edit for _, script in self._functions for edit in script]

    def in_place(self) -> list[CodeEdit]:
        """Return the edits that bring in a part, or a statement, for the one that it belongs to."""
        whole = [edit for pairing, _ in self._functions for edit in _whole_statements(self._cell, pairing)]
        return [*self.script, *whole]

    def anywhere(self) -> list[CodeEdit]:
        """Return the edits that bring parts in elsewhere; each costs more than `NEAR`."""
        found: list[CodeEdit] = []
        for pairing, _ in self._functions:
            for edits in (_elsewhere, _grown, _missing):
                found += edits(self._cell, pairing)
        return found


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
    for name in variables(right)[:MOST_VARIABLES]:
        if len(best[0].pairs) == len(best[0].right):  # each statement has a like, as it is
            break
        other = written_out(right, name)
        found = tried(other)
        if _total(found[1]) < _total(best[1]):
            best, right = found, other
    return best


def _total(script: Sequence[CodeEdit]) -> float:
    return sum(edit.cost for edit in script)


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
    cost = 1.5 + 0.03 * len(tokens(new))
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
        cost = 2.4 + 0.03 * len(tokens(new)) + (0.9 if index in with_a_like else 0.0)
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
    around = [form for each in pairing.right for form in _forms(header(pairing.renamed(each)))]
    for statement in pairing.mine:
        text = ast.unparse(header(statement))
        value = getattr(statement, "value", None)
        for node in ast.walk(header(statement)):
            if not isinstance(node, ast.expr) or node not in cell.parents:
                continue
            is_variable = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            for form, hole in around:
                fits = node is value or (is_variable and isinstance(form, ast.BinOp))
                if fits and (node is value or ast.unparse(hole) == ast.unparse(node)):
                    new = _filled(form, hole, node)
                    if ast.unparse(new) not in text:
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
    one, other = tokens(mine), tokens(right)
    function = cell.function_of(mine)
    unused = len((_used(mine) - _used(right)) & _locals(function)) if function else 0
    same = in_common(one, other)
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
        each.arg for each in arguments_of(function)
    }


def _replaced(cell: Cell, mine: ast.expr, right: ast.expr, more: float = 0.0) -> CodeEdit:
    return cell.edit(mine, right, kind(cell, mine, right), _cost(cell, mine, right) + more)


def _smallest(cell: Cell, mine: ast.expr, right: ast.expr) -> Iterator[CodeEdit]:
    """Yield the changes of the smallest parts that differ."""
    yield from (_replaced(cell, *part) for part in parts(mine, right))
