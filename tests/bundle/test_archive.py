"""The students' zip: everything they need, and nothing that they must not have."""

import ast
import io
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.bundle import archive
from autograder.guard import refuse_secrets, secrets
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.errors import BundleError
from autograder.model.lesson_text import read_lesson
from autograder.storage.course_key import course_key, lesson_key

COURSE = Course(ROOT)
WHEEL = re.compile(r"transformer_lessons-[\d.]+-py3-none-any\.whl")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of the real course, written elsewhere than in its dist/."""
    root = tmp_path_factory.mktemp("course")
    for path in ROOT.iterdir():
        if path.name not in ("dist", "build"):
            (root / path.name).symlink_to(path)
    return archive.write_bundle(Course(root))


def files(bundle: Path) -> dict[str, bytes]:
    """Return the files in the zip and in the wheel in it, by their names."""
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(bundle) as outer:
        for name in outer.namelist():
            found[name.removeprefix("transformer-lessons/")] = outer.read(name)
    (wheel,) = (name for name in found if name.endswith(".whl"))
    with zipfile.ZipFile(io.BytesIO(found[wheel])) as inner:
        found |= {f"{wheel}/{name}": inner.read(name) for name in inner.namelist()}
    return found


def test_it_holds_lessons_wheel_requirements_and_a_how_to(bundle: Path) -> None:
    """Every released file of every lesson, byte for byte, pages to read it, and nothing beside."""
    found = {name for name in files(bundle) if ".whl/" not in name}
    released = {
        f"lessons/{path.relative_to(COURSE.release)}"
        for lesson in COURSE.lessons()
        for path in (COURSE.release / lesson).rglob("*")
        if path.is_file() and ".ipynb_checkpoints" not in path.parts
    }
    (wheel,) = filter(WHEEL.fullmatch, found)
    rest = {wheel, "HOWTO.md", "requirements.txt", "requirements-pretrained.txt"}
    read = {f"lessons/{name}" for name in ("index.html", "style.css", "site.js", "sections.js")}
    read |= {f"lessons/{lesson}/index.html" for lesson in COURSE.lessons()}
    assert found == released | rest | read
    assert {path for path in released if path.endswith(".svg")}


def test_every_picture_a_lesson_shows_is_there(bundle: Path) -> None:
    """Beside its notebook, under the name that the notebook uses."""
    found = files(bundle)
    for name in [name for name in found if name.endswith(".ipynb")]:
        for picture in re.findall(r"\]\((images/[^)]+)\)", found[name].decode()):
            assert f"{Path(name).parent.as_posix()}/{picture}" in found


def test_the_wheel_holds_coursework_and_nothing_else(bundle: Path) -> None:
    """Its modules, the scripts of the views and their licences."""
    inner = {name.split(".whl/")[1] for name in files(bundle) if ".whl/" in name}
    top = {name.split("/")[0] for name in inner}
    assert {name for name in top if not name.endswith(".dist-info")} == {"coursework"}
    ours = [*(ROOT / "coursework").glob("*.py"), *(ROOT / "coursework/vendor").iterdir()]
    assert {path.relative_to(ROOT).as_posix() for path in ours} <= inner


def test_nothing_in_it_gives_an_answer_or_a_check_away(bundle: Path) -> None:
    """Searched here by other means than the build's own: line by line, and title by title."""
    texts = {name: content.decode("utf-8", "replace") for name, content in files(bundle).items()}
    whole = "\n".join(texts.values())
    for word in ("autograder", "BEGIN SOLUTION", "MARK SCHEME", "HIDDEN TESTS", "ExerciseChecks("):
        assert word not in whole
    for lesson in COURSE.lessons():
        for exercise in load_lesson(COURSE, lesson).exercises:
            long = [check.title for check in exercise.checks if len(check.title) > 36]
            assert not [title for title in long if title in whole]
        notebook = nbformat.reads(texts[f"lessons/{lesson}/{lesson}.ipynb"], as_version=4)
        for exercise in read_lesson(COURSE.text(lesson)).exercises:
            (cell,) = (one for one in notebook.cells if one.id == exercise.id)
            assert "YOUR" in cell.source


@pytest.mark.full("makes the zip again", seconds=20)
def test_the_same_course_gives_the_same_zip(bundle: Path) -> None:
    """No date and no order of files gets in."""
    before = bundle.read_bytes()
    bundle.unlink()
    archive.write_bundle(Course(bundle.parent.parent))
    assert bundle.read_bytes() == before


@pytest.mark.parametrize("place", ["lessons/01/01.ipynb", "coursework/plots.py", "lessons/01/index.html"])
def test_a_secret_that_got_in_is_found(place: str) -> None:
    """An answer under another indentation, a check's title, a mark scheme's text, a word."""
    lesson = read_lesson(COURSE.text("03_attention"))
    answer = lesson.answer("scaled-dot-product-attention").split('"""')[2]
    checks = load_lesson(COURSE, "03_attention").exercises[1].checks
    check = max((one.title for one in checks), key=len)
    scheme = read_lesson(COURSE.text("01_embeddings")).mark_scheme("recurrence")
    for secret in (answer.replace("\n", "\n   "), check, scheme, "autograder"):
        made = {".ipynb": notebook_with, ".html": coloured}.get(Path(place).suffix, str.encode)
        content = made(secret)
        with pytest.raises(BundleError, match=re.escape(place)):
            refuse_secrets(COURSE, {place: content})


def test_the_private_key_is_found(tmp_path: Path) -> None:
    """The course's key gives away the inputs of every check, a lesson's key those of that lesson."""
    course = Course(tmp_path)
    course_key(course)
    with pytest.raises(BundleError, match="the private key of the course"):
        refuse_secrets(course, {"notes.txt": course.key.read_bytes()})
    name = COURSE.lessons()[0]
    with pytest.raises(BundleError, match=f"the private key of {name}"):
        refuse_secrets(COURSE, {"notes.txt": lesson_key(COURSE, name).hex().encode()})


def coloured(text: str) -> bytes:
    """Return a page that shows a text as code, each word of it in an element of its own."""
    return highlight(text, PythonLexer(), HtmlFormatter()).encode()


def notebook_with(text: str) -> bytes:
    """Return a notebook that shows a text in a cell."""
    cells = [nbformat.v4.new_markdown_cell(text)]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells)).encode()


def test_there_are_many_secrets() -> None:
    """Answers of every lesson, and checks: the search has something to search for."""
    what = " ".join(secret.what for secret in secrets(COURSE))
    assert all(f"the solution of {lesson}" in what for lesson in COURSE.lessons())
    assert what.count("the check") > 100


def test_students_get_a_pin_of_all_that_is_imported() -> None:
    """Whatever lessons and coursework import comes with Python, or is pinned for students."""
    pinned = {*archive.FOR_STUDENTS, "coursework", "IPython", "mpl_toolkits"}
    paths = [*(ROOT / "coursework").glob("*.py"), *(ROOT / "source").glob("*.py")]
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            outside = {name.split(".")[0] for name in names} - sys.stdlib_module_names
            assert outside <= pinned, path


def test_a_requirement_without_a_pin_is_an_error() -> None:
    """A student's installation does not change under the lessons."""
    with pytest.raises(BundleError, match="pins no version of numpy"):
        archive.requirements("torch==2.13.0\nnumpy>=2\n", "w.whl")


@pytest.mark.full("installs PyTorch", seconds=600)
@pytest.mark.skipif("BUNDLE_VENV" not in os.environ, reason="installs PyTorch: set BUNDLE_VENV=1")
@pytest.mark.timeout(3600)
def test_from_the_zip_alone_each_lesson_opens_and_runs(bundle: Path, tmp_path: Path) -> None:
    """In a fresh environment, with the solved cells filled in: nothing else of the course is there."""
    with zipfile.ZipFile(bundle) as outer:
        outer.extractall(tmp_path)
    folder = tmp_path / "transformer-lessons"
    venv.create(folder / ".venv", with_pip=True)
    python = folder / ".venv/bin/python"
    install = [python, "-m", "pip", "install", "-q", "-r", "requirements.txt"]
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(install, cwd=folder, check=True, env=clean)
    for lesson in COURSE.lessons():
        notebook = folder / "lessons" / lesson / f"{lesson}.ipynb"
        fill(notebook, lesson)
        assert not runs(python, notebook, clean), lesson


def runs(python: Path, notebook: Path, environment: dict[str, str]) -> str:
    """Run a notebook in a kernel of its own; return what went wrong, twice, or ''.

    Once more, because nbclient now and then waits for ever for a message about a widget.
    """
    command = [python, "-m", "nbconvert", "--execute", "--to", "notebook", "--inplace"]
    command += ["--ExecutePreprocessor.timeout=300", notebook]
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode == 0:
            return ""
    return done.stderr[-2000:]


def fill(path: Path, lesson: str) -> None:
    """Put the model answers into a released notebook, as a student would."""
    text = read_lesson(COURSE.text(lesson))
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.cell_type == "code":
            cell.source = text.answer(cell.metadata["nbgrader"]["grade_id"])
    nbformat.write(notebook, path)
