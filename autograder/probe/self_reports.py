"""Has functions report that they run, however they are called: the course's stand-ins, and some of torch's.

The first step of such a function becomes a call of ours, which is one of its code's constants. So it goes
wherever the code goes: under another name, into a copy or a thread, and while torch has its modes off.
"""

import ast
import inspect
import linecache
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import torch

from autograder.probe.stand_in_code import functions_in, nested

PLACEHOLDER: Final = "says that a function runs"  # for a call that no source can hold
Ran = Callable[[CodeType], None]

_reporting: dict[CodeType, CodeType] = {}  # the code that reports, by the code as it was
_copied: dict[CodeType, Ran] = {}  # what to tell of a copy, by the code as it was
_by_parts: dict[tuple[object, ...], CodeType] = {}  # the code as it was, by what it is made of
_instructions: set[bytes] = set()  # of all this code
_functions: set[FunctionType] = set()


def have_module_reported(module: ModuleType, ran: Ran) -> None:
    """Have the functions of a module tell `ran` their code whenever they run, or a copy is made.

    To be called once, before a student's code runs and before anybody takes hold of their code.
    """
    _have_reported(functions_in(module), _code_with_calls(module), ran, ran)


def have_methods_reported(module: ModuleType, names: Set[str], ran: Ran, copied: Ran) -> None:
    """Have a module's functions and methods of these names report, as `have_function_reported` does.

    Those that report already are left as they are. None may call `super()`: each is read without its class.
    """
    for function in functions_in(module):
        own = function.__code__.co_filename == module.__file__
        if own and function.__name__ in names and not is_reporting(function):
            have_function_reported(function, ran, copied)


def have_function_reported(function: FunctionType, ran: Ran, copied: Ran) -> None:
    """Have a function tell `ran` its code whenever it runs, and `copied` if its code is made anew."""
    _have_reported([function], _code_with_calls(function), ran, copied)


def tell_of_copies(code: Any) -> None:
    """Tell of functions whose code was made anew and is about to run: it does not report by itself."""
    if isinstance(code, CodeType):
        for old in nested(code) & _reporting.keys():
            _copied[old](_reporting[old])


def tell_of_copied_text(code: CodeType) -> None:
    """Tell of functions whose text is about to run from another file, wherever it stands there."""
    for each in nested(code) - _reporting.keys():
        if (old := _by_parts.get(_parts(each))) is not None:
            _copied[old](_reporting[old])


def is_reporting(function: Any) -> bool:
    """Return whether a function reports that it runs. By its code it could be copied, or silenced."""
    return type(function) is FunctionType and function in _functions


def is_copied(instructions: Any) -> bool:
    """Return whether code that is being put together has the instructions of a function that reports."""
    return instructions in _instructions


def _have_reported(
    functions: Iterable[FunctionType],
    code: Mapping[tuple[str, int], CodeType],
    ran: Ran,
    copied: Ran,
) -> None:
    def reports(old: CodeType) -> None:
        ran(_reporting[old])

    for function in functions:
        old = function.__code__
        report = MethodType(reports, old)  # which nothing of Python's can change
        new = _bound(code[old.co_name, old.co_firstlineno], report)
        new = new.replace(co_qualname=old.co_qualname)
        _reporting[old], _copied[old] = new, copied
        _by_parts[_parts(old)] = old
        _instructions.update((old.co_code, new.co_code))
        function.__code__ = new
        _functions.add(function)
        ignore: Any = torch.jit.ignore
        ignore(function)  # for scripts, which would leave the call out


def _parts(code: CodeType) -> tuple[object, ...]:
    """Return what code is made of but its instructions, which depend on the text around it."""
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_name, code.co_names, code.co_varnames, *constants


def _code_with_calls(found: ModuleType | FunctionType) -> Mapping[tuple[str, int], CodeType]:
    """Return the code of functions with the call in place, by name and first line."""
    file, first = inspect.getfile(found), 1
    lines = linecache.getlines(file)
    if isinstance(found, FunctionType):  # `inspect.getsourcelines` looks at every module first
        first = found.__code__.co_firstlineno
        lines = inspect.getblock(lines[first - 1 :])
    tree = ast.fix_missing_locations(_Reporting().visit(ast.parse(textwrap.dedent("".join(lines)))))
    ast.increment_lineno(tree, first - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a text is called, for now
        code = compile(tree, file, "exec", dont_inherit=True)
    return {(each.co_name, each.co_firstlineno): each for each in nested(code)}


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
