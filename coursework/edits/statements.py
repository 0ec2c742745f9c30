"""Statements left out, moved, doubled, turned or put in."""

import ast
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from coursework.edits.cell import MISSING, OUT, Cell, Change, CodeEdit, callee, is_set

# What a function may have to do with an argument, by what its name begins with.
PREPARED: Final = {
    "model": ("{}.eval()", "{}.train()", "{}.zero_grad()"),
    "optim": ("{}.zero_grad()", "{}.step()"),
    "loss": ("{}.backward()",),
}
RUNS_EVEN_THEN: Final = "a line that runs even after an exception"
MOST_IN_A_BLOCK: Final = 20  # statements, where an end is tried that always runs
MOST_UNDONE: Final = 3  # statements at that end
DROPPED: Final = 0.5  # what it costs to keep a result that a line does nothing with
HOLD_FUNCTIONS: Final = ("self", "torch", "nn", "F")
OTHER_ASSIGNMENTS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def statement_edits(cell: Cell) -> Iterator[CodeEdit]:
    """Yield the edits that change whole statements."""
    for block in cell.blocks:
        for statement in block:
            yield from _left_out(cell, statement)
            yield from _turned(cell, statement)
            yield from _out_of(cell, statement, block)
        for above, below in pairwise(block):
            yield from _exchanged(cell, above, below)
            yield from _into(cell, above, below)
        yield from _moved_far(cell, block)
        yield from _whatever_happens(cell, block)
    for node in cell.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _put_in(cell, node)


def inserted(cell: Cell, block: list[ast.stmt], index: int, text: str, cost: float) -> CodeEdit:
    """Return the edit that puts a statement into a block, before the one with an index, or at its end.

    The lines are those around the gap.
    """
    if index < len(block):
        statement = block[index]
        start = cell.line_start(_first_line(statement))
        indent = _indent(statement)
        change = (start, start, f"{textwrap.indent(text, indent)}\n")
        last = _first_line(statement)
        return CodeEdit((change,), max(1, _line_above(cell, last)), last, MISSING, cost)
    statement = block[-1]
    end = cell.span(statement)[1]
    change = (end, end, f"\n{textwrap.indent(text, _indent(statement))}")
    first = statement.end_lineno or statement.lineno
    return CodeEdit((change,), first, first + 1, MISSING, cost)


def _line_above(cell: Cell, line: int) -> int:
    """Return the nearest line above one that holds anything."""
    lines = cell.source.split("\n")
    above = (number for number in range(line - 1, 0, -1) if lines[number - 1].strip())
    return next(above, line - 1)


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(int(each.lineno) for each in decorators)])


def _indent(statement: ast.stmt) -> str:
    return " " * statement.col_offset


def _text(cell: Cell, statement: ast.stmt) -> str:
    """Return a statement without the indentation of its block."""
    return textwrap.dedent(_indent(statement) + cell.text(statement))


def _lines(cell: Cell, statement: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement; of one with a block of its own, the first."""
    first, last = cell.lines(statement)
    body = getattr(statement, "body", None)
    return (first, max(first, body[0].lineno - 1)) if isinstance(body, list) and body else (first, last)


def _left_out(cell: Cell, statement: ast.stmt) -> Iterator[CodeEdit]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass)):
        return
    first, last = _lines(cell, statement)
    yield CodeEdit(((*cell.span(statement), "pass"),), first, last, OUT, 2.0)
    body = getattr(statement, "body", None)
    if isinstance(statement, (ast.If, ast.For, ast.While, ast.With)) and isinstance(body, list):
        for block, cost in ((body, 2.2), (getattr(statement, "orelse", []), 2.4)):
            if block:
                text = "\n".join(_text(cell, each) for each in block)
                yield CodeEdit(
                    ((*cell.span(statement), _under(text, statement)),),
                    first,
                    last,
                    f"without the `{_word(statement)}`",
                    cost,
                )


def _word(statement: ast.stmt) -> str:
    return type(statement).__name__.lower()


def _under(text: str, statement: ast.stmt) -> str:
    """Return a text indented as a statement is, but for its first line."""
    return textwrap.indent(text, _indent(statement)).lstrip(" ")


def _turned(cell: Cell, statement: ast.stmt) -> Iterator[CodeEdit]:
    """Yield other forms of one statement."""
    span = cell.span(statement)
    first, last = _lines(cell, statement)
    match statement:
        case ast.AugAssign(target=target, op=operator, value=value):
            name, text = ast.unparse(target), ast.unparse(value)
            fresh = ast.unparse(ast.BinOp(ast.parse(name, mode="eval").body, operator, value))
            yield CodeEdit(((*span, f"{name} = {fresh}"),), first, last, "without a change in place", 1.1)
            yield CodeEdit(((*span, f"{name} = {text}"),), first, last, "another assignment", 1.6)
            for other in OTHER_ASSIGNMENTS:
                if other is not type(operator):
                    text = ast.unparse(ast.AugAssign(target, other(), value))
                    yield CodeEdit(((*span, text),), first, last, "another operator", 1.2)
        case ast.Assign(targets=[target], value=value):
            for other in OTHER_ASSIGNMENTS[:3]:
                if isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
                    added = ast.unparse(ast.AugAssign(target, other(), value))
                    yield CodeEdit(((*span, added),), first, last, "another assignment", 1.7)
            yield from _other_target(cell, statement, target)
        case ast.Assign(targets=[_, *_] as targets, value=ast.Call()):
            apart = "\n".join(f"{ast.unparse(each)} = {cell.text(statement.value)}" for each in targets)
            yield CodeEdit(
                ((*span, _under(apart, statement)),), first, last, "a separate object for each name", 1.6
            )
        case ast.If(test=test):
            new = ast.UnaryOp(ast.Not(), test)
            yield cell.edit(test, new, "the opposite condition", 1.2)
        case ast.Expr(value=(ast.Call() | ast.BinOp()) as value) if of := _made_of(value):
            called = callee(value) if isinstance(value, ast.Call) else ""
            if called != "backward":
                cost = 1.5 if called.endswith("_") else DROPPED
                text = f"{ast.unparse(of)} = {cell.text(value)}"
                yield CodeEdit(((*span, text),), first, last, "an assignment", cost)
        case ast.Return(value=ast.expr() as value):
            yield from _returned(cell, statement, value)
        case ast.Continue() | ast.Break():
            other_word = "break" if isinstance(statement, ast.Continue) else "continue"
            yield CodeEdit(((*span, other_word),), first, last, "another statement", 1.5)


def _made_of(result: ast.expr) -> ast.expr | None:
    """Return the variable that a result which is dropped was made of, None if there is none."""
    match result:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=args) if name in HOLD_FUNCTIONS:
            return _made_of(args[0]) if args else None
        case ast.Call(func=ast.Attribute(value=of)) | ast.BinOp(left=of):
            return _made_of(of)
    return result if isinstance(result, (ast.Name, ast.Attribute)) else None


def _other_target(cell: Cell, statement: ast.stmt, target: ast.expr) -> Iterator[CodeEdit]:
    """Yield assignments to another variable, or to an attribute of `self`."""
    first, last = _lines(cell, statement)
    if not isinstance(target, ast.Name):
        return
    for rank, name in enumerate(each for each in cell.names_in_scope(statement) if each != target.id):
        yield CodeEdit(((*cell.span(target), name),), first, last, "another variable", 2.9 + 0.1 * rank)
    if cell.class_of(statement):
        yield CodeEdit(
            ((*cell.span(target), f"self.{target.id}"),), first, last, "an attribute of `self`", 2.0
        )


def _returned(cell: Cell, statement: ast.Return, value: ast.expr) -> Iterator[CodeEdit]:
    """Yield returns of two results."""
    for rank, name in enumerate(each for each in cell.names_in_scope(statement) if each != cell.text(value)):
        for texts in ((cell.text(value), name), (name, cell.text(value))):
            if not isinstance(value, ast.Tuple):
                yield cell.edit(value, ", ".join(texts), "one more result", 2.6 + 0.1 * rank)
        if not isinstance(value, ast.Name):
            yield cell.edit(value, name, "another result", 2.3 + 0.1 * rank)


def _exchanged(cell: Cell, above: ast.stmt, below: ast.stmt) -> Iterator[CodeEdit]:
    """Yield two neighbours in another order, or with the values of two assignments exchanged."""
    if any(isinstance(each, (ast.Import, ast.ImportFrom)) for each in (above, below)):
        return
    upper, lower = cell.span(above), cell.span(below)
    first, last = above.lineno, _lines(cell, below)[1]
    changes: tuple[Change, ...] = (
        (*upper, _under(_text(cell, below), above)),
        (*lower, _under(_text(cell, above), below)),
    )
    yield CodeEdit(changes, first, last, "these lines in another order", 2.3)
    if isinstance(above, ast.Assign) and isinstance(below, ast.Assign):
        one, other = cell.text(above.value), cell.text(below.value)
        values = (*cell.span(above.value), other), (*cell.span(below.value), one)
        yield CodeEdit(values, first, last, "the values of these lines exchanged", 1.5)


def _moved_far(cell: Cell, block: list[ast.stmt]) -> Iterator[CodeEdit]:
    """Yield a statement moved to any other place of its block."""
    if len(block) < 3:
        return
    ends = block[:-1] if isinstance(block[-1], ast.Return) else block
    for statement in block:
        if isinstance(statement, (ast.Return, ast.FunctionDef, ast.ClassDef)):
            continue
        gone = (*cell.span(statement), "pass")
        first, last = _lines(cell, statement)
        for index in range(len(ends) + 1):
            at = inserted(cell, block, index, _text(cell, statement), 3.4)
            if statement not in block[max(0, index - 1) : index + 1]:
                yield CodeEdit((gone, *at.changes), first, last, "the statement in another place", 3.4)


def _whatever_happens(cell: Cell, block: list[ast.stmt]) -> Iterator[CodeEdit]:
    """Yield the end of a block in a `finally`, so that it runs even where a statement before it raises."""
    done = block[:-1] if isinstance(block[-1], ast.Return) else block
    if len(done) > MOST_IN_A_BLOCK or cell.function_of(block[0]) is None:
        return
    for end in range(max(1, len(done) - MOST_UNDONE), len(done)):
        for begin in range(end):
            tried, last = done[begin:end], done[end:]
            texts = ["\n".join(_text(cell, each) for each in some) for some in (tried, last)]
            first, second = (textwrap.indent(text, "    ") for text in texts)
            text = _under(f"try:\n{first}\nfinally:\n{second}", tried[0])
            span = cell.span(tried[0])[0], cell.span(last[-1])[1]
            lines = last[0].lineno, last[-1].end_lineno or last[-1].lineno
            yield CodeEdit(((*span, text),), *lines, RUNS_EVEN_THEN, 3.0 + 0.05 * (end - begin))


def _out_of(cell: Cell, statement: ast.stmt, block: list[ast.stmt]) -> Iterator[CodeEdit]:
    """Yield a block's first or last statement moved out of it, before or behind it."""
    around = cell.parents.get(statement)
    if not isinstance(around, (ast.For, ast.While, ast.If, ast.With)):
        return
    first, last = _lines(cell, statement)
    gone = (*cell.span(statement), "pass")
    if statement is block[-1]:
        end = cell.span(around)[1]
        text = f"\n{textwrap.indent(_text(cell, statement), _indent(around))}"
        if end == cell.span(statement)[1]:
            changes: tuple[Change, ...] = ((*cell.span(statement), f"pass{text}"),)
        else:
            changes = (gone, (end, end, text))
        yield CodeEdit(changes, first, last, "another indentation", 2.1)
    if statement is block[0]:
        start = cell.line_start(around.lineno)
        text = f"{textwrap.indent(_text(cell, statement), _indent(around))}\n"
        yield CodeEdit(((start, start, text), gone), first, last, "another indentation", 2.3)


def _into(cell: Cell, above: ast.stmt, below: ast.stmt) -> Iterator[CodeEdit]:
    """Yield a statement moved to the end of the block above it, or the beginning of the one below."""
    for around, moved, at_end in ((above, below, True), (below, above, False)):
        if not isinstance(around, (ast.For, ast.While, ast.If, ast.With)):
            continue
        inside = next((block for block in cell.blocks if around.body[0] in block), None)
        if inside is None:
            continue
        at = inserted(cell, inside, len(inside) if at_end else 0, _text(cell, moved), 2.2)
        gone = (*cell.span(moved), "pass")
        first, last = _lines(cell, moved)
        yield CodeEdit((gone, *at.changes), first, last, "another indentation", 2.2)


def _put_in(cell: Cell, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[CodeEdit]:
    """Yield statements that functions often want: a copy of an argument, a mode, a result."""
    block = next((each for each in cell.blocks if function.body[-1] in each), None)
    if block is None:
        return
    names = [arg.arg for arg in function.args.args if arg.arg != "self"]
    for name in names:
        yield inserted(cell, block, 0, f"{name} = {name}.clone()", 4.0)
        for begin, forms in PREPARED.items():
            if name.startswith(begin):
                for index in range(len(block) + 1):
                    for form in forms:
                        yield inserted(cell, block, index, form.format(name), 3.8)
    yield from _put_at_end(cell, function, block)


def _put_at_end(
    cell: Cell, function: ast.FunctionDef | ast.AsyncFunctionDef, block: list[ast.stmt]
) -> Iterator[CodeEdit]:
    """Yield a missing start of a constructor, a missing result, and a missing step backwards."""
    if function.name == "__init__" and "super().__init__" not in cell.text(function):
        yield inserted(cell, block, 0, "super().__init__()", 0.9)
    if not isinstance(block[-1], (ast.Return, ast.Raise)) and function.name != "__init__":
        if isinstance(block[-1], ast.Expr):
            start = cell.span(block[-1])[0]
            first, last = cell.lines(block[-1])
            yield CodeEdit(((start, start, "return "),), first, last, "a return", 0.9)
        for name in cell.names_in_scope(block[-1]):
            yield inserted(cell, block, len(block), f"return {name}", 3.0)
        for each in ast.walk(function):
            if is_set(each):
                yield inserted(cell, block, len(block), f"return {each.id}", 1.0)
    for index, statement in enumerate(block):
        for each in ast.walk(statement):
            if is_set(each) and each.id.startswith("loss"):
                yield inserted(cell, block, index + 1, f"{each.id}.backward()", 3.9)
