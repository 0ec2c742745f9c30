"""Code cells: that Python can read them, and that they import nothing of the autograder."""

import ast
import re
from collections.abc import Iterator

from IPython.core.inputtransformer2 import TransformerManager

from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonCell, LessonText, skeleton

PACKAGE = "autograder"
# In a string: a name for importlib, or code that a magic such as %time runs.
IN_TEXT = re.compile(rf"^{PACKAGE}(\.\w+)*$|\b(import|from)\s+{PACKAGE}\b")


def check_code(lesson: LessonText) -> None:
    """Raise LessonTextError for code that does not parse, answered or not, or imports ours."""
    for cell in lesson.cells:
        if cell.kind.is_markdown:
            continue
        tree = parse(lesson, cell, cell.text)
        if cell.kind.is_answered:
            parse(lesson, cell, skeleton(cell.text, markdown=False))
        if any(_is_ours(name) for name in _named(tree)):
            problem = f"a lesson never imports {PACKAGE}: students do not have it"
            raise LessonTextError(problem, lesson.path, cell=cell.id, line=cell.line)


def parse(lesson: LessonText, cell: LessonCell, text: str) -> ast.Module:
    """Return a cell's syntax tree, read as IPython does; LessonTextError if it has none."""
    try:
        python = TransformerManager().transform_cell(text)
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree = compile(python, lesson.path.name, "exec", flags)
    except (SyntaxError, ValueError) as error:
        offset = getattr(error, "lineno", None) or 0
        problem = f"the code does not parse: {getattr(error, 'msg', error)}"
        line = cell.line + offset
        raise LessonTextError(problem, lesson.path, cell=cell.id, line=line) from error
    assert isinstance(tree, ast.Module)
    return tree


def _named(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_ours(name: str) -> bool:
    return IN_TEXT.search(name) is not None
