"""Sources of stand-ins: right parts that take the place of a student's, in a lesson or in a run."""

import __future__

import ast
import inspect
import math
import sys
import textwrap
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import nn

BASE: Final[Mapping[str, Any]] = {"torch": torch, "nn": nn, "F": F, "math": math}
OURS: Final = ("autograder", "coursework")


@cache
def stand_in_source(part: Any, name: str) -> str:
    """Return a source that defines a stand-in under the name that the lesson knows it by.

    It needs torch, nn, F and math, and that annotations are not evaluated: the functions and classes of
    ours that the part is built from come before it. A run can't import them, because it keeps only what
    its lesson hands out.
    """
    sources = [*_sources(part).values()]
    return "\n\n".join(sources if part.__name__ == name else [*sources, f"{name} = {part.__name__}"])


def _sources(part: Any) -> dict[str, str]:
    """Return the source of a function or class, by name, after those of the parts that it names."""
    source = textwrap.dedent(inspect.getsource(part))
    names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    found: dict[str, str] = {}
    for name, value in vars(sys.modules[part.__module__]).items():
        if name in names and value is not part and (inspect.isclass(value) or inspect.isfunction(value)):
            ours = value.__module__.partition(".")[0] in OURS
            found |= _sources(value) if ours else {}
    return {**found, part.__name__: source}


@cache
def as_reference(part: Any) -> Any:
    """Return a part, or a copy of what comes from the coursework: as an answer, a stand-in is refused."""
    kinds = inspect.getmro(part) if inspect.isclass(part) else (part,)
    if not any(getattr(kind, "__module__", "").startswith("coursework.") for kind in kinds):
        return part
    scope: dict[str, Any] = {**BASE, "__name__": __name__}
    source = stand_in_source(part, part.__name__)
    flags = __future__.annotations.compiler_flag
    exec(compile(source, f"<{part.__name__}>", "exec", flags), scope)  # noqa: S102 - our own source
    return scope[part.__name__]
