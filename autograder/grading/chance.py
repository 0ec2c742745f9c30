"""How often an answer is asked the same question: more often if its text names a source of chance.

What passed is asked again in other random states, because an answer that depends on chance, on the clock or
on earlier calls passes every check once in a while. Asking costs time, so an ordinary answer is asked as
often as it takes to find one that is wrong once in six calls. An answer that draws numbers, reads a clock,
or reaches into Python or the system is asked as often as it takes to find one that is wrong once in twenty.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final

from autograder.submissions.answer_text import parse

ENOUGH: Final = 20  # questions, checks included: 3 % of answers that are wrong once in six pass them all
ENOUGH_OF_CHANCE: Final = 80  # 2 % of answers that are wrong once in twenty pass them all
FEWEST, MOST, AGAIN = 3, 8, 16
# How often each check has to pass once an answer is known to change: 5 % of those wrong once in twenty do.
OFTEN: Final = 60

SOURCES: Final = re.compile(
    r"rand|shuffle|choice|uniform|^normal|bernoulli|multinomial|poisson|^(exponential|cauchy|geometric)_|seed"
    r"|^time|clock|perf_counter|monotonic|process_time|^(utc)?now$|secret|uuid|getpid|^empty(_like)?$|_ptr$"
)
REACHING: Final = {
    "id", "hash", "repr", "vars", "globals", "locals", "getattr", "eval", "exec", "compile", "open", "object",
    "__import__", "__builtins__",
}  # fmt: skip
ORDINARY: Final = {
    "torch", "math", "re", "collections", "itertools", "functools", "operator", "typing", "dataclasses",
    "numpy", "matplotlib", "seaborn", "warnings", "contextlib", "copy", "string", "abc", "enum", "tqdm",
    "__future__",
}  # fmt: skip
SPECIAL: Final = re.compile(r"__(init|call|post_init|enter|exit|len|iter|next|getitem|setitem|name|class)__")


def may_vary(cells: Iterable[str]) -> bool:
    """Return whether some cells name a source of chance, or reach where one could be. It is no reproach."""
    return any(_names_chance(cell) for cell in cells)


def times_to_ask(passed: int, *, perfect: bool, varies: bool) -> int:
    """Return how many questions to ask again after `passed` checks; `perfect` says that none failed."""
    if varies:
        return ENOUGH_OF_CHANCE
    return min(max(ENOUGH - passed, FEWEST), MOST) if perfect else AGAIN


def _names_chance(cell: str) -> bool:
    tree = parse(cell)
    return tree is None or any(_is_source(node) for node in ast.walk(tree))


def _is_source(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return name in REACHING or SOURCES.search(name) is not None
        case ast.Attribute(attr=name):
            special = name.startswith("__") and not SPECIAL.fullmatch(name)
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            return special or (not is_own and (name == "dropout" or SOURCES.search(name) is not None))
        case ast.Import() | ast.ImportFrom():
            return not {path.partition(".")[0] for path in _modules(node)} <= ORDINARY
    return False


def _modules(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        yield node.module or ""
    else:
        yield from (each.name for each in node.names)
