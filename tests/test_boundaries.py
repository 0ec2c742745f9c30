"""What students get gives nothing away, and never reaches into the autograder."""

import ast
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT

STUDENT_FILES = [
    *sorted((ROOT / "coursework").rglob("*.py")),
    *sorted((ROOT / "source").glob("*.py")),
    *sorted((ROOT / "release").glob("*/*.ipynb")),
    *sorted((ROOT / "solutions").glob("*.ipynb")),
]


def code_of(path: Path) -> str:
    """Return the Python in a file: a module, or a notebook's code cells without magics."""
    if path.suffix == ".py":
        return path.read_text()
    cells = nbformat.read(path, as_version=4).cells
    lines = "\n".join(cell.source for cell in cells if cell.cell_type == "code").splitlines()
    return "\n".join(line for line in lines if not line.startswith(("%", "!")))


@pytest.mark.parametrize("path", STUDENT_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_of_the_students_imports_the_autograder(path: Path) -> None:
    """No import, static or by name, in lessons, releases, solutions and coursework."""
    tree = ast.parse(code_of(path))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [str(node.value)] if isinstance(node, ast.Constant) else []
        assert not any(name.split(".")[0] == "autograder" for name in names)


@pytest.mark.parametrize("path", sorted((ROOT / "release").glob("*/*.ipynb")), ids=lambda p: p.stem)
def test_a_release_has_no_answer_and_no_hidden_test(path: Path) -> None:
    """Markers, hidden tests and mark schemes are gone, and every blank is blank."""
    text = path.read_text()
    for marker in ("BEGIN SOLUTION", "HIDDEN TESTS", 'grade(\\"', "MARK SCHEME", "Mark scheme"):
        assert marker not in text


@pytest.mark.parametrize("folder", ["source", "release"])
def test_an_assignment_folder_holds_a_notebook_and_pictures(folder: str) -> None:
    """Nothing secret can be copied to students from beside a notebook."""
    files = [path for path in (ROOT / folder).glob("*/**/*") if path.is_file()]
    assert {path.suffix for path in files} <= {".ipynb", ".svg", ".png"}


def test_the_probe_stands_alone() -> None:
    """What is visible in the sandbox imports nothing of the autograder but itself."""
    for path in sorted((ROOT / "autograder/probe").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("autograder"):
                assert (node.module or "").startswith("autograder.probe")
