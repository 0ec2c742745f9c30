"""Reads an answer's text for names that lead around whatever watches its calls.

For exercises that exclude library functions, this is a second witness beside `probe.library_calls`: code
that switches torch's modes off, or calls into compiled code, has no honest use there. Only names count,
of variables, attributes and imports, or a string that is exactly such a name; comments and prose do not.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache

LONGEST = 100_000  # characters; nobody writes a longer cell by hand
WORD = re.compile(r"(\.?)\b(\w+)")
MAGIC = re.compile(r"^\s*(%+\w*|[!?])")
# Names that serve only to get at the watch: no answer needs them.
TOOL_NAMES = """
    autograder library_calls DisableTorchFunction DisableTorchFunctionSubclass _disable_current_modes
    TorchFunctionMode BaseTorchFunctionMode TorchDispatchMode FlopCounterMode _FlopCounterMode
    __torch_function__ __torch_dispatch__ _disabled_torch_function_impl handle_torch_function
    _pop_mode _push_mode _pop_mode_temporarily no_dispatch _mode_utils _xxsubinterpreters
    saved_tensors_hooks showwarning _showwarnmsg getclosurevars
    _getframe f_back f_locals f_globals tb_frame redispatch redispatch_boxed DispatchKeySet
    aten_decompositions run_decompositions
"""
# Names with honest uses elsewhere, but none where functions are excluded by name. A variable of the
# answer's own may have such a name, unless Python or IPython has put something there already.
NAMES = """
    _C _VF _refs _decomp _prims _prims_common _inductor _dynamo _functorch _jit_internal _python_dispatch
    _execution_engine _engine_run_backward CompilationUnit cpp_extension
    ctypes _ctypes cffi numba _thread gc settrace setprofile __code__
    __closure__ __globals__ custom_op library Library _posixsubprocess importlib
    __subclasses__ __builtins__ _testcapi get_objects get_referrers scipy sklearn
    make_fx proxy_tensor symbolic_trace _handle
    get_ipython run_cell run_line_magic InteractiveShell timeit cProfile runpy
"""
TOOLS = frozenset(TOOL_NAMES.split())
AROUND = TOOLS | frozenset(NAMES.split())
READY = frozenset({"__builtins__", "get_ipython"})
DERIVATIVES = frozenset({"grad_fn", "next_functions", "GradientEdge", "get_gradient_edge"})
CALLS = frozenset(
    {"exec", "eval", "compile", "__import__"}
)  # as plain names: torch.compile is none


def name_around(
    sources: Iterable[str], *, derivatives: bool = False, below: bool = True, words: bool = True
) -> str:
    """Return the first such name in some cells, '' if there is none.

    With `derivatives`, names count as well by which one of torch's derivatives can be worked out. Without
    `below`, where only torch's finished layers are excluded, only the tools of the watch itself count, and
    calls that make code of a text; without `words`, where only stand-ins are refused, only the tools.

    A magic, and all of a cell that cannot be parsed or is very long, is read word by word: IPython runs
    what Python's parser refuses.
    """
    around = (AROUND if below else TOOLS) | (DERIVATIVES if derivatives else frozenset())
    calls = CALLS if words else frozenset()
    return next(filter(None, (_first(source, around, calls) for source in sources)), "")


@lru_cache(maxsize=2048)  # a cell is read again for each exercise that comes after it
def _first(source: str, around: frozenset[str], calls: frozenset[str]) -> str:
    return next(_names(source, around, calls), "")


def _names(source: str, around: frozenset[str], calls: frozenset[str]) -> Iterator[str]:
    lines = source.split("\n")
    magics = [MAGIC.sub("", line) for line in lines if MAGIC.match(line)]
    tree = _parsed("\n".join(line for line in lines if not MAGIC.match(line)))
    for text in magics if tree else [source]:
        yield from _words(text, around, calls)
    variables = calls | (around & (TOOLS | READY))
    for node in ast.walk(tree) if tree else ():
        for name in _named(node):
            if name in (variables if isinstance(node, ast.Name) else around):
                yield name


def _words(text: str, around: frozenset[str], calls: frozenset[str]) -> Iterator[str]:
    for dot, word in WORD.findall(text):
        if word in around or (not dot and word in calls):
            yield word


def _named(node: ast.AST) -> list[str]:
    """Return the names that a node of the syntax tree holds."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
        case ast.alias(name=name):
            return name.split(".")
        case ast.ImportFrom(module=str(module)):
            return module.split(".")
        case ast.Constant(value=str(text)):
            return text.split(".")
    return []


def _parsed(text: str) -> ast.AST | None:
    """Return the syntax tree of a cell without its magics, None if there is none."""
    if len(text) > LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the student's to see
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
