"""Has the course's stand-ins report that they run, however they are called.

The first step of each of their functions becomes a call of ours, which is one of its code's constants. So it
goes wherever the code goes: under another name, into a copy or a thread, and while torch has its modes off.
"""

import ast
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, MethodType, ModuleType
from typing import Any, Final

import torch

from autograder.probe.stand_in_code import functions_in, nested
from coursework import stand_ins, stand_ins_models

PLACEHOLDER: Final = "says that a stand-in runs"  # for a call that no source can hold
MODULES: Final = (stand_ins, stand_ins_models)
Ran = Callable[[CodeType], None]

_reporting: dict[CodeType, CodeType] = {}  # the code that reports, by the code as it was


def have_reported(ran: Ran) -> None:
    """Have the stand-ins' functions tell `ran` their code whenever they run.

    To be called once, before a student's code runs and before anybody takes hold of their code.
    """

    def reports(code: CodeType) -> None:
        ran(_reporting[code])

    for module in MODULES:
        code = _code_with_calls(module)
        for function in functions_in(module):
            old = function.__code__
            report = MethodType(reports, old)  # which nothing of Python's can change
            _reporting[old] = _bound(code[old.co_qualname, old.co_firstlineno], report)
            function.__code__ = _reporting[old]
            ignore: Any = torch.jit.ignore
            ignore(function)  # for scripts, which would leave the call out


def stand_ins_in(code: Any) -> Iterator[CodeType]:
    """Yield the code of the stand-ins that code holds as it was before: compiled or imported again."""
    if isinstance(code, CodeType):
        yield from map(_reporting.__getitem__, nested(code) & _reporting.keys())


def _code_with_calls(module: ModuleType) -> Mapping[tuple[str, int], CodeType]:
    """Return the code of a module's functions with the call in place, by name and first line."""
    tree = ast.fix_missing_locations(_Reporting().visit(ast.parse(inspect.getsource(module))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a text is called, for now
        code = compile(tree, str(module.__file__), "exec", dont_inherit=True)
    return {(each.co_qualname, each.co_firstlineno): each for each in nested(code)}


class _Reporting(ast.NodeTransformer):
    """Puts the call at the start of every function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Put it after the docstring."""
        self.generic_visit(node)
        start = 0 if ast.get_docstring(node) is None else 1
        node.body.insert(start, ast.copy_location(ast.Expr(_call()), node.body[-1]))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Put it before the value; it returns None."""
        self.generic_visit(node)
        node.body = ast.copy_location(ast.BoolOp(ast.Or(), [_call(), node.body]), node.body)
        return node


def _call() -> ast.Call:
    return ast.Call(ast.Constant(PLACEHOLDER), [], [])


def _bound(code: CodeType, report: MethodType) -> CodeType:
    """Return code, and what is nested in it, with the call itself for its placeholder."""

    def constant(value: Any) -> Any:
        if isinstance(value, CodeType):
            return _bound(value, report)
        return report if value == PLACEHOLDER else value

    return code.replace(co_consts=tuple(map(constant, code.co_consts)))
