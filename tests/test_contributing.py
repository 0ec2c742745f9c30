"""CONTRIBUTING.md can be followed to the letter: a new exercise takes its steps and no others."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from autograder.model.lesson_text import read_lesson

PARTS = ("autograder", "coursework", "images", "release", "solutions", "source", "tests")
FILES = ("nbgrader_config.py", "pyproject.toml", "CONTRIBUTING.md")
DOCUMENT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = dict(
    zip(("text", "checks", "mistakes"), re.findall(r"```(?:python|yaml)\n(.*?)```", DOCUMENT, re.DOTALL), strict=True)
)
COMMANDS = re.findall(r"```\n(autograder .*|pytest .*)\n```", DOCUMENT)
ROW = re.search(r"```\n(\| .*\|)\n```", DOCUMENT)[1]  # of the table of what is assessed
MISTAKE = ("return products / lengths", "return products")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of everything that the document speaks of."""
    root = tmp_path_factory.mktemp("course")
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, root / file)
    return root


def run(root: Path, command: str) -> str:
    """Run a command of the document in the copy, and return what it prints."""
    program, *arguments = command.split()
    environment = os.environ | {"PYTHONPATH": str(root), "MPLBACKEND": "Agg"}
    options = ["-p", "no:cacheprovider"] if program == "pytest" else []
    if program == "autograder" and arguments[0] == "grade" and shutil.which("bwrap") is None:
        options = ["--unsandboxed"]
    done = subprocess.run(
        [sys.executable, "-m", program, *arguments, *options],
        cwd=root, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}: {done.stdout[-1000:]} {done.stderr[-1000:]}"
    return done.stdout


def follow(root: Path) -> None:
    """Do what the document says, up to the build."""
    run(root, COMMANDS[0])
    text = root / "source/03_attention.py"
    cells = read_lesson(text).cells
    new = next(n for n, cell in enumerate(cells) if "`cosine_scores`" in cell.text)
    lines = text.read_text(encoding="utf-8").splitlines(keepends=True)
    first, after = cells[new].line - 1, cells[new + 4].line - 1
    filled = "".join([*lines[:first], CODE["text"], "\n", *lines[after:]])
    replaced = filled.replace("points: 20", "points: 21").replace("(20 points)", "(21 points)")
    before = "# | shapes and choices | 2 | 3.2.1 |\n"
    assert before in replaced
    text.write_text(replaced.replace(before, f"{before}# {ROW}\n"), encoding="utf-8")
    folder = root / "autograder/lessons/attention"
    (folder / "cosine_scores.py").write_text(CODE["checks"], encoding="utf-8")
    (folder / "cosine_scores.yaml").write_text(CODE["mistakes"], encoding="utf-8")
    run(root, COMMANDS[1])


def hand_in(root: Path) -> None:
    """Hand in the release, the new exercise answered with the document's first mistake."""
    import nbformat

    answer = read_lesson(root / "source/03_attention.py").answer("cosine-scores")
    notebook = nbformat.read(root / "release/03_attention/03_attention.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "cosine-scores":
            assert MISTAKE[0] in answer
            cell.source = answer.replace(*MISTAKE)
    path = root / "submitted/ada/03_attention/03_attention.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)


def test_the_example_is_short() -> None:
    """Three files by hand, at most sixty lines together."""
    assert set(CODE) == {"text", "checks", "mistakes"}
    assert sum(len(code.splitlines()) for code in CODE.values()) <= 64


@pytest.mark.full("follows the document to the letter, builds and tests included", seconds=90)
def test_an_untouched_skeleton_stops_the_build(copy: Path, tmp_path: Path) -> None:
    """Until it is filled in, the build says what is missing; nothing passes by itself."""
    root = shutil.copytree(copy, tmp_path / "skeleton")
    run(root, COMMANDS[0])
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "build", "03_attention"],
        cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "03_attention.py:1: the exercises' points add up to 21" in done.stderr


@pytest.mark.full("follows the document to the letter, builds and tests included", seconds=90)
@pytest.mark.timeout(900)  # it builds, grades and tests as a person would
def test_following_the_document_names_a_mistake_on_a_feedback_page(copy: Path) -> None:
    """From the skeletons to the page, with the commands of the document; its tests pass as well."""
    follow(copy)
    hand_in(copy)
    run(copy, COMMANDS[2])
    page = (copy / "feedback/ada/03_attention/03_attention.html").read_text(encoding="utf-8")
    assert "The scores are not divided by the lengths" in page
    assert "passed" in run(copy, COMMANDS[3])
