"""What a lecturer drags goes on working, also after all the cells below it have been run."""

import ast
from collections.abc import Iterator

import pytest

from .lesson_run import LessonRun
from .lessons import LESSONS

FUNCTIONS = (ast.FunctionDef, ast.ClassDef)


def assigned(source: str) -> set[str]:
    """Return the names that a cell binds at its top level."""
    bound: set[str] = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, FUNCTIONS):
            bound.add(statement.name)
        else:
            bound |= {n.id for n in ast.walk(statement) if _is_name(n, ast.Store)}
    return bound


def controls(source: str) -> Iterator[ast.FunctionDef]:
    """Yield the functions that a control calls."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef) and any(
            "interact" in ast.dump(decorator) for decorator in statement.decorator_list
        ):
            yield statement


def needed(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function takes from outside."""
    own = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    own |= {n.id for n in ast.walk(function) if _is_name(n, ast.Store)}
    return {n.id for part in function.body for n in ast.walk(part) if _is_name(n, ast.Load)} - own


def _is_name(node: ast.AST, context: type[ast.expr_context]) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, context)


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=LESSONS)
def test_nothing_below_a_control_changes_what_it_uses(lesson: LessonRun) -> None:
    """A slider reads variables when it is moved: by then the last cell may have been run."""
    code = [cell.text for cell in lesson.cells if not cell.kind.is_markdown]
    for place, source in enumerate(code):
        for function in controls(source):
            later = set().union(*map(assigned, code[place + 1 :]))
            assert not needed(function) & later, f"{function.name} in: {source[:60]}"
