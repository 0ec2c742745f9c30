"""The build makes everything a lesson needs, the same each time, and check sees what is stale."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from lesson_texts import NAME, SQUARE, changed

from autograder.authoring.build import build, check
from autograder.model.course import Course
from autograder.model.errors import CourseError, LessonTextError

MADE = [
    f"release/{NAME}/{NAME}.ipynb",
    f"release/{NAME}/images/square.svg",
    f"solutions/{NAME}.ipynb",
    "solutions/images/square.svg",
    f"source/{NAME}/{NAME}.ipynb",
    f"source/{NAME}/images/square.svg",
]


def _state(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(p.relative_to(root)): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def _solution(course: Course) -> Path:
    return course.solutions / f"{NAME}.ipynb"


def test_building_twice_changes_nothing(course: Course) -> None:
    """The first time makes six files and no gradebook; the second touches none, and check agrees."""
    before = set(_state(course.root))
    written = build(course)
    assert sorted(str(path.relative_to(course.root)) for path in written) == MADE
    state = _state(course.root)
    assert set(state) - before == set(MADE)
    assert build(course) == []
    check(course)
    assert _state(course.root) == state


def test_answers_are_run_only_where_they_changed(built: Course) -> None:
    """An edit of a test's hidden side or of prose elsewhere leaves outputs; a new answer renews."""
    path = _solution(built)
    path.write_text(path.read_text().replace("True\\n", "Kept\\n"))
    build(built)
    assert "Kept" in path.read_text()
    built.text(NAME).write_text(changed("# # A small lesson", "# # A small lesson\n#\n# One more sentence."))
    assert path in build(built)
    assert "Kept" in path.read_text()
    assert "One more sentence." in path.read_text()
    built.text(NAME).write_text(changed("    two = 2\n", "    two = 2\n    two = two\n"))
    assert path in build(built)
    assert "Kept" not in path.read_text()


def test_answers_that_were_not_run_are_run_later(course: Course) -> None:
    """Without execution they are written as they are, which check does not let pass."""
    build(course, execute=False)
    assert 'execution_count": null' in _solution(course).read_text()
    with pytest.raises(CourseError, match=r"solutions/01_small.ipynb: was not run"):
        check(course)
    assert build(course) == [_solution(course)]
    check(course)


def test_a_broken_lesson_writes_nothing(built: Course) -> None:
    """An answer that fails its own test leaves the notebooks of before."""
    state = _state(built.root)
    built.text(NAME).write_text(changed('"expected 6"', '"expected 6"; assert False'))
    with pytest.raises(LessonTextError, match="double-test"):
        build(built)
    after = _state(built.root)
    assert {name for name in after if after[name] != state.get(name)} == {f"source/{NAME}.py"}


def _edit_release(course: Course) -> str:
    path = course.release_notebook(NAME)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "!"
    nbformat.write(notebook, path)
    return "release/01_small/01_small.ipynb: cell 'prose-1' differs"


def _edit_text(course: Course) -> str:
    course.text(NAME).write_text(changed("1: doubling", "1: twice"))
    return "source/01_small/01_small.ipynb: cell 'prose-2' differs"


def _edit_picture(course: Course) -> str:
    (course.images / "square.svg").write_text(SQUARE.replace("2", "3"))
    return "release/01_small/images/square.svg: missing or different"


def _drop_solution(course: Course) -> str:
    _solution(course).unlink()
    return "solutions/01_small.ipynb: missing or unreadable"


def _old_picture(course: Course) -> str:
    (course.source / NAME / "images" / "old.svg").write_text(SQUARE)
    return "source/01_small/images/old.svg: left over"


def _old_solution_picture(course: Course) -> str:
    (course.solutions / "images" / "old.svg").write_text(SQUARE)
    return "solutions/images/old.svg: left over"


@pytest.mark.parametrize(
    "edit",
    [_edit_release, _edit_text, _edit_picture, _drop_solution, _old_picture, _old_solution_picture],
)
def test_check_sees_what_is_stale_and_build_mends_it(built: Course, edit: object) -> None:
    """Whatever differs is listed and nothing is written; building then puts it right."""
    assert callable(edit)
    says = edit(built)
    state = _state(built.root)
    with pytest.raises(CourseError) as caught:
        check(built)
    assert says in str(caught.value)
    assert _state(built.root) == state
    build(built)
    check(built)


def test_a_folder_without_pictures_goes_with_the_last_one(built: Course) -> None:
    """A lesson that shows no picture any more leaves no empty folder behind."""
    built.text(NAME).write_text(changed("# ![A square of side two](images/square.svg)", "# Nothing to see."))
    build(built)
    assert not (built.release / NAME / "images").exists()
    assert not (built.solutions / "images").exists()


def test_what_counts_are_cells(built: Course) -> None:
    """A notebook saved by an editor, with the same cells, is up to date."""
    path = built.source_notebook(NAME)
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.language_info.version = "3.13.1"
    nbformat.write(notebook, path)
    check(built)


@pytest.mark.parametrize("folder", ["source", "release"])
def test_other_files_in_a_lesson_are_refused(course: Course, folder: str) -> None:
    """Nbgrader would hand out whatever lies beside the notebook."""
    build(course, execute=False)
    (course.root / folder / NAME / "answers.json").write_text("{}")
    with pytest.raises(CourseError, match=rf"{folder}/01_small/answers.json' was not made"):
        build(course, execute=False)


def test_a_course_without_lessons_says_so(tmp_path: Path) -> None:
    """Nothing to build is an error, not a success."""
    with pytest.raises(CourseError, match="no lessons"):
        build(Course(tmp_path))


def test_an_exercise_of_another_lesson_is_refused(course: Course) -> None:
    """`check("double")` names no lesson, and a page that shows an exercise looks it up by its id."""
    shutil.copy(course.text(NAME), course.text("02_other"))
    with pytest.raises(LessonTextError, match=r"01_small.py:\d+: cell 'double': duplicate id: 02_other.py has it"):
        build(course, [NAME], execute=False)


def test_the_stock_command_makes_the_same_release(course: Course) -> None:
    """`nbgrader generate_assignment`, run by hand, writes the bytes that the build wrote."""
    build(course, execute=False)
    released = course.release_notebook(NAME).read_bytes()
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", NAME, "--force"]
    environment = os.environ | {"PATH": path}
    subprocess.run(command, cwd=course.root, env=environment, check=True, capture_output=True)
    assert course.release_notebook(NAME).read_bytes() == released
