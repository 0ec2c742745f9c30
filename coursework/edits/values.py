"""Other numbers, signs, comparisons, operators and names in the place of those in a cell."""

import ast
import builtins
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, Final

from coursework.edits.cell import Cell, CodeEdit, callee, is_self

# Methods and functions of torch whose plain numbers are dimensions, not sizes.
BY_DIMENSION: Final = frozenset((
    "all", "any", "amax", "amin", "argmax", "argmin", "argsort", "cat", "chunk",
    "cumprod", "cumsum", "flatten", "flip", "gather", "index_select", "log_softmax", "logsumexp", "max",
    "mean", "median", "min", "narrow", "norm", "permute", "prod", "roll", "select",
    "size", "softmax", "sort", "split", "squeeze", "stack", "std", "sum", "swapaxes",
    "topk", "transpose", "unbind", "unflatten", "unsqueeze", "var",
))  # fmt: skip
LABELS: Final = (
    (ast.Slice, "slice"), (ast.Subscript, "index"), (ast.arguments, "default value"),
    (ast.If, "condition"), (ast.IfExp, "condition"), (ast.While, "condition"),
)  # fmt: skip
NUMBERS: Final = (ast.Constant, ast.UnaryOp)
COMPUTED: Final = "an expression in place of the number"
REPEATED: Final = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
DIMENSIONS: Final = (-1, 0, 1, -2, 2, 3, -3)
MOST_TERMS: Final = 4  # of an einsum that are exchanged letter by letter
COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt, ast.Eq, ast.NotEq),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE, ast.Eq, ast.NotEq),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt, ast.Eq, ast.NotEq),
    ast.Eq: (ast.NotEq, ast.GtE, ast.LtE, ast.Gt, ast.Lt),
    ast.NotEq: (ast.Eq, ast.Gt, ast.Lt, ast.GtE, ast.LtE),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: Final[dict[type[ast.operator], tuple[type[ast.operator], ...]]] = {
    ast.Add: (ast.Sub, ast.Mult, ast.Div),
    ast.Sub: (ast.Add, ast.Mult, ast.Div),
    ast.Mult: (ast.Div, ast.MatMult, ast.Add, ast.Sub, ast.FloorDiv, ast.Pow),
    ast.Div: (ast.Mult, ast.FloorDiv, ast.Sub, ast.Add),
    ast.FloorDiv: (ast.Div, ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv, ast.Div, ast.Mult),
    ast.Pow: (ast.Mult, ast.Div, ast.MatMult),
    ast.MatMult: (ast.Mult,),
    ast.BitAnd: (ast.BitOr, ast.BitXor),
    ast.BitOr: (ast.BitAnd, ast.BitXor),
    ast.BitXor: (ast.BitAnd, ast.BitOr),
}
NEUTRAL_ONE: Final = (ast.Mult, ast.Div, ast.Pow)
WORDS: Final = (
    ("mean", "sum", "none"),
    ("", " ", "\n"),
    ("max", "min"),
    ("float32", "float64"),
    ("cpu", "cuda"),
)


def value_edits(cell: Cell) -> Iterator[CodeEdit]:
    """Yield the edits that leave the structure of an expression as it is."""
    for node in cell.nodes:
        if node in cell.docstrings or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        for kind, edits in KINDS:
            if isinstance(node, kind):
                yield from edits(cell, node)


def _constants(cell: Cell, node: ast.Constant) -> Iterator[CodeEdit]:
    value = node.value
    parent = cell.parents.get(node)
    if _is_share_of_dropout(cell, node):
        return
    if isinstance(value, bool):
        yield cell.edit(node, ast.Constant(not value), f"another {label(cell, node)}", 1.0)
        if value is False:
            return
    elif isinstance(value, (int, float)):
        if not (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)):
            yield from _numbers(cell, node)
    elif isinstance(value, str):
        yield from _texts(cell, node, value)
    elif value is None:
        for name in cell.names_in_scope(node)[:6]:
            yield cell.edit(node, name, "another value", 3.0)


def _is_share_of_dropout(cell: Cell, node: ast.Constant) -> bool:
    """Return whether a number is the default of a parameter `dropout`.

    Without dropout, a part that `eval()` doesn't reach gives right results: that hides the mistake.
    """
    parent = cell.parents.get(node)
    if not isinstance(parent, ast.arguments):
        return False
    placed = [*parent.posonlyargs, *parent.args][-len(parent.defaults) :] if parent.defaults else []
    given = [
        *zip(placed, parent.defaults, strict=True),
        *zip(parent.kwonlyargs, parent.kw_defaults, strict=True),
    ]
    return any(default is node and each.arg == "dropout" for each, default in given)


def _numbers(cell: Cell, node: ast.Constant | ast.UnaryOp) -> Iterator[CodeEdit]:
    value = ast.literal_eval(node)
    named = label(cell, node)
    if named in ("`dim`", "dimension", "`axis`"):
        others: list[float] = [each for each in DIMENSIONS if each != value]
        for rank, other in enumerate(others):
            yield cell.edit(node, _number(other), f"another {named}", 1.0 + 0.02 * rank)
        for name in [each for each in cell.names_in_scope(node) if each in ("dim", "axis")]:
            yield cell.edit(node, name, f"another {named}", 1.0)
        return
    if isinstance(value, int):
        others = [value - 1, value + 1, -value, 0, 1, -1, 2, -2, 3, 4, 2 * value]
        if isinstance(cell.parents.get(node), ast.BinOp):
            others.insert(2, 0.5)
    else:
        others = [-value, 1 - value, 0.0, 1.0, 0.5, 2 * value, value / 2, 10 * value, value / 10, 2.0]
        others += [1e-5, 1e-8, 10000.0]
    for rank, other in enumerate(dict.fromkeys(others)):
        if other != value:
            what = "another sign" if other == -value and named != "index" else f"another {named}"
            yield cell.edit(node, _number(other), what, 1.3 + 0.08 * rank)
    if isinstance(value, float) or named in ("number", "argument"):
        for infinite in ("float('-inf')", "-1e9", "float('inf')"):
            yield cell.edit(node, ast.parse(infinite, mode="eval").body, f"another {named}", 2.2)
    if isinstance(value, float) or named in ("number", "argument", "index"):
        least = 2.0 if named == "index" else 2.8
        names = [(name, least + 0.02 * rank) for rank, name in enumerate(cell.names_in_scope(node)[:8])]
        names += [(f"self.{name}", 2.1) for name in cell.attributes_of_self(node)[:8]]
        what = COMPUTED if named == "number" else f"another {named}"
        for name, cost in names:
            yield cell.edit(node, name, what, cost)


def label(cell: Cell, node: ast.AST) -> str:
    """Return what a constant is, as far as its place tells."""
    parent = cell.parents.get(node)
    if isinstance(parent, (ast.Tuple, ast.List)):
        parent = cell.parents.get(parent)
    if isinstance(parent, ast.keyword):
        return f"`{parent.arg}`"
    if isinstance(parent, ast.Call):
        is_text = isinstance(getattr(node, "value", None), str)  # `split` is of `re` too
        of_python = isinstance(parent.func, ast.Name) and hasattr(builtins, parent.func.id)  # as `max` may be
        by_dimension = callee(parent) in BY_DIMENSION and not is_text and not of_python
        return "dimension" if by_dimension else "argument"
    sort = {str: "text", bool: "value", type(None): "value"}.get(type(getattr(node, "value", 0)), "number")
    return next((words for kind, words in LABELS if isinstance(parent, kind)), sort)


def _number(value: float) -> ast.expr:
    """Return a number as an expression: a negative one has an operator of its own."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _texts(cell: Cell, node: ast.Constant, value: str) -> Iterator[CodeEdit]:
    what = f"another {label(cell, node)}"
    for words in WORDS:
        if value in words:
            for word in words:
                if word != value:
                    yield cell.edit(node, ast.Constant(word), what, 1.5)
    if "->" in value:
        for other in _einsums(value):
            yield cell.edit(node, ast.Constant(other), "other letters", 1.6)


def _einsums(value: str) -> Iterator[str]:
    """Yield an einsum with two letters exchanged in one term, or with two letters of all made one."""
    terms = value.replace(" ", "").replace("->", ",").split(",")
    for index, term in enumerate(terms[:MOST_TERMS]):
        for order in permutations(range(len(term))):
            if sum(at != place for at, place in enumerate(order)) == 2:
                changed = [*terms]
                changed[index] = "".join(term[place] for place in order)
                yield f"{','.join(changed[:-1])}->{changed[-1]}"
        for at, letter in enumerate(term):
            for other in sorted(set("".join(terms)) - {letter, "."}):
                changed = [*terms]
                changed[index] = term[:at] + other + term[at + 1 :]
                yield f"{','.join(changed[:-1])}->{changed[-1]}"


def _signs(cell: Cell, node: ast.UnaryOp) -> Iterator[CodeEdit]:
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        yield from _numbers(cell, node)
    else:
        what = "another sign" if isinstance(node.op, (ast.UAdd, ast.USub)) else "the opposite of a value"
        yield cell.edit(node, node.operand, what, 1.1)


def _conditional(cell: Cell, node: ast.IfExp) -> Iterator[CodeEdit]:
    for part in (node.body, node.orelse):
        yield cell.edit(node, part, "without the condition", 2.5)
    swapped = ast.IfExp(node.test, node.orelse, node.body)
    yield cell.edit(node, swapped, "another condition", 1.4)


def _comparisons(cell: Cell, node: ast.Compare) -> Iterator[CodeEdit]:
    for index, operator in enumerate(node.ops):
        for rank, other in enumerate(COMPARISONS[type(operator)]):
            operators = [*node.ops]
            operators[index] = other()
            new = ast.Compare(node.left, operators, node.comparators)
            yield cell.edit(node, new, "another comparison", 1.0 + 0.04 * rank)
    if len(node.ops) == 1:
        swapped = ast.Compare(node.comparators[0], node.ops, [node.left])
        yield cell.edit(node, swapped, "the two sides exchanged", 1.5)
        for value in (True, False):
            yield cell.edit(node, ast.Constant(value), "another condition", 3.2)
        for step in (ast.Add(), ast.Sub()):
            further = ast.BinOp(node.comparators[0], step, ast.Constant(1))
            yield cell.edit(node, ast.Compare(node.left, node.ops, [further]), "another limit", 2.4)


def _operators(cell: Cell, node: ast.BinOp) -> Iterator[CodeEdit]:
    for rank, other in enumerate(OPERATORS.get(type(node.op), ())):
        if other in NEUTRAL_ONE and getattr(node.right, "value", None) == 1:
            continue  # nothing would be left of what is done with the number
        new = ast.BinOp(node.left, other(), node.right)
        what = "another sign" if {type(node.op), other} == {ast.Add, ast.Sub} else "another operator"
        yield cell.edit(node, new, what, 1.0 + 0.1 * rank)
    yield cell.edit(node, ast.BinOp(node.right, node.op, node.left), "the operands in another order", 1.3)
    for part in (node.left, node.right):
        yield cell.edit(node, part, "without one of the operands", 2.3)
    if isinstance(node.left, ast.BinOp):  # (a · b) ∘ c -> a · (b ∘ c)
        inner = node.left
        new = ast.BinOp(inner.left, inner.op, ast.BinOp(inner.right, node.op, node.right))
        yield cell.edit(node, new, "other brackets", 1.8)
    if isinstance(node.right, ast.BinOp):
        inner = node.right
        new = ast.BinOp(ast.BinOp(node.left, node.op, inner.left), inner.op, inner.right)
        yield cell.edit(node, new, "other brackets", 1.8)


def _connectives(cell: Cell, node: ast.BoolOp) -> Iterator[CodeEdit]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield cell.edit(node, ast.BoolOp(other, node.values), "another operator", 1.0)
    for index in range(len(node.values)):
        left = node.values[:index] + node.values[index + 1 :]
        new = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
        yield cell.edit(node, new, "without one of the conditions", 2.0)


def _names(cell: Cell, node: ast.Name) -> Iterator[CodeEdit]:
    parent = cell.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    scope = cell.names_in_scope(node)
    if node.id in scope:
        for rank, name in enumerate(each for each in scope if each != node.id):
            yield cell.edit(node, name, "another variable", 1.6 + 0.06 * rank)
        for rank, name in enumerate(cell.attributes_of_self(node)):
            yield cell.edit(node, f"self.{name}", "another variable", 2.6 + 0.06 * rank)
        if any(isinstance(each, REPEATED) for each in cell.ancestors(node)):
            yield from _made_again(cell, node)


def _made_again(cell: Cell, node: ast.Name) -> Iterator[CodeEdit]:
    """Yield a variable in a loop, with the call in its place that made what it holds."""
    function = cell.function_of(node)
    assigned = [
        each.value
        for each in (ast.walk(function) if function else ())
        if isinstance(each, ast.Assign) and [getattr(one, "id", "") for one in each.targets] == [node.id]
    ]
    if len(assigned) == 1 and isinstance(assigned[0], ast.Call):
        yield cell.edit(node, cell.text(assigned[0]), "a new object each time", 2.0)


def _attributes(cell: Cell, node: ast.Attribute) -> Iterator[CodeEdit]:
    if not is_self(node.value):
        return
    for rank, name in enumerate(each for each in cell.attributes_of_self(node) if each != node.attr):
        new = ast.Attribute(node.value, name, ast.Load())
        yield cell.edit(node, new, "another attribute of `self`", 1.2 + 0.05 * rank)
    parent = cell.parents.get(node)
    if not (isinstance(parent, ast.Call) and parent.func is node):
        for rank, name in enumerate(cell.names_in_scope(node)):
            yield cell.edit(node, name, "another variable", 2.2 + 0.06 * rank)


def _slices(cell: Cell, node: ast.Slice) -> Iterator[CodeEdit]:
    lower, upper, step = node.lower, node.upper, node.step
    one, last = ast.Constant(1), ast.UnaryOp(ast.USub(), ast.Constant(1))
    others = [(None, upper, step), (lower, None, step), (lower, upper, None), (upper, lower, step)]
    if lower is None:
        others += [(one, upper, step)]
    if upper is None:
        others += [(lower, last, step)]
    others += [(None, last, step), (one, None, step), (None, None, None)]
    if step is None:
        others += [(lower, upper, _number(number)) for number in (2, -1)]
    for bound, moved in ((lower, 0), (upper, 1)):
        if bound is not None and not isinstance(bound, ast.Constant):
            for sign in (ast.Add(), ast.Sub()):
                new = ast.BinOp(bound, sign, one)
                others.append((new, upper, step) if moved == 0 else (lower, new, step))
    for rank, (start, end, by) in enumerate(others):
        yield cell.edit(node, ast.unparse(ast.Slice(start, end, by)), "another slice", 1.5 + 0.05 * rank)


def _tuples(cell: Cell, node: ast.Tuple) -> Iterator[CodeEdit]:
    """Yield other orders of what stands between commas: indices, sizes, or what is returned."""
    parent = cell.parents.get(node)
    what = "the indices in another order" if isinstance(parent, ast.Subscript) else "another order"
    if 2 <= len(node.elts) <= MOST_TERMS:
        for order in [*permutations(range(len(node.elts)))][1:]:
            new = ast.Tuple([node.elts[index] for index in order], node.ctx)
            yield cell.edit(node, new, what, 1.4)
    if isinstance(parent, ast.Return):
        for part in node.elts:
            yield cell.edit(node, part, "one result only", 2.0)
    elif isinstance(parent, ast.Subscript):
        for index in range(len(node.elts)):
            left = node.elts[:index] + node.elts[index + 1 :]
            yield cell.edit(
                node, ast.Tuple(left, node.ctx) if len(left) > 1 else left[0], "another index", 2.1
            )
        whole = ast.Slice(None, None, None)
        for index in range(len(node.elts) + 1):
            more = [*node.elts[:index], whole, *node.elts[index:]]
            yield cell.edit(node, ast.Tuple(more, node.ctx), "another index", 2.2)
    elif label(cell, node) in ("`dim`", "`axis`", "dimension"):
        for part in node.elts if all(isinstance(each, NUMBERS) for each in node.elts) else ():
            yield cell.edit(node, part, f"another {label(cell, node)}", 1.2)


KINDS: Final[tuple[tuple[type[ast.AST], Callable[[Cell, Any], Iterator[CodeEdit]]], ...]] = (
    (ast.Constant, _constants),
    (ast.UnaryOp, _signs),
    (ast.Compare, _comparisons),
    (ast.BinOp, _operators),
    (ast.BoolOp, _connectives),
    (ast.Name, _names),
    (ast.Attribute, _attributes),
    (ast.IfExp, _conditional),
    (ast.Slice, _slices),
    (ast.Tuple, _tuples),
)
