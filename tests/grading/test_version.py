"""A version changes with whatever can change a score, and with nothing else."""

import ast
from pathlib import Path

import pytest
from conftest import ROOT
from tiny_course import LESSON

from autograder.grading import version
from autograder.grading.version import lesson_version, scoring_files
from autograder.model.course import Course
from autograder.model.errors import CourseError, LessonTextError

SCORING = (
    "autograder/model/exercise.py",
    "autograder/model/lesson_text.py",
    "autograder/probe/session.py",
    "coursework/engine/operations.py",
    "autograder/sandbox/client.py",
    "autograder/judge/oracle.py",
    "autograder/lessons/loading.py",
    "autograder/lessons/attention/reference.py",
    "autograder/lessons/attention/softmax.py",
    "autograder/lessons/attention/softmax.yaml",
    "autograder/submissions/align.py",
    "autograder/submissions/submission.py",
    "autograder/grading/grade_submission.py",
    "autograder/grading/grader.py",
    "autograder/grading/session.py",
    "autograder/grading/runner.py",
    "autograder/grading/chance.py",
    "autograder/grading/outcomes.py",
    "autograder/grading/incidents.py",
    "coursework/scope.py",
    "coursework/small_bert.py",
    "coursework/stand_ins.py",
    "coursework/stand_ins_models.py",
    "coursework/corpus.py",
    "coursework/data/allowed.toml",
)
NOT_SCORING = (
    "autograder/cli.py",
    "autograder/commands/grade.py",
    "autograder/nbgrader_plugin.py",
    "autograder/authoring/build.py",
    "autograder/bundle/archive.py",
    "autograder/lecture/slides.py",
    "autograder/reports/terminal.py",
    "autograder/storage/attempts.py",
    "autograder/grading/pool.py",
    "autograder/grading/cluster.py",
    "autograder/grading/suggest.py",
    "autograder/grading/loop.py",
    "autograder/grading/lines.py",
    "autograder/search/search.py",
    "autograder/grading/version.py",
    "autograder/grading/regrade.py",
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of a project with one-line files in the place of ours, used as the grader."""
    for name in (*SCORING, *NOT_SCORING):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(version, "PACKAGE", tmp_path / "autograder")
    return tmp_path


OTHER = tuple(name for name in SCORING if name.startswith("autograder/lessons/attention/"))
OWN = tuple(name.replace("attention", "tiny") for name in OTHER)


@pytest.mark.parametrize("name", [*sorted({*SCORING} - {*OTHER}), *OWN, "autograder/judge/new.py"])
def test_code_that_can_change_a_score_counts(course: Course, package: Path, name: str) -> None:
    """A submission is graded again after it was edited."""
    before = lesson_version(course, LESSON)
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("2")
    assert lesson_version(course, LESSON) != before


@pytest.mark.parametrize("name", [*NOT_SCORING, *OTHER])
def test_code_that_builds_stores_or_shows_does_not(
    course: Course, package: Path, name: str
) -> None:
    """An edit of a slide, a page or the pool does not grade the class again."""
    before = lesson_version(course, LESSON)
    (package / name).write_text("2")
    assert lesson_version(course, LESSON) == before


def test_the_lists_above_name_real_files() -> None:
    """Each file exists and is on its side; each module of `grading` is on one of them."""
    scoring = {path.relative_to(ROOT).as_posix() for path in scoring_files(ROOT / "autograder")}
    assert set(SCORING) <= scoring
    assert not scoring & set(NOT_SCORING)
    assert all((ROOT / name).is_file() for name in NOT_SCORING)
    modules = {f"autograder/grading/{path.name}" for path in ROOT.glob("autograder/grading/*.py")}
    assert modules - {"autograder/grading/__init__.py"} <= {*SCORING, *NOT_SCORING}


def test_the_whole_coursework_counts() -> None:
    """References, fixtures and the cells of lessons import it, so no module is left out."""
    assert {*ROOT.glob("coursework/**/*.py")} <= {*scoring_files(ROOT / "autograder")}


def test_no_lesson_imports_another_lessons_checks() -> None:
    """So the checks of another lesson cannot change a score."""
    for path in (ROOT / "autograder" / "lessons").glob("*/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = getattr(node, "module", None) if isinstance(node, ast.ImportFrom) else None
            if (module or "").startswith("autograder.lessons."):
                assert (module or "").split(".")[2] == path.parent.name, path


def test_text_and_release_count(course: Course) -> None:
    """An edit of the lesson's text, or of its released notebook, gives another version."""
    seen = {lesson_version(course, LESSON)}
    for path in (course.text(LESSON), course.release_notebook(LESSON)):
        path.write_text(path.read_text() + "\n")
        seen.add(lesson_version(course, LESSON))
    assert len(seen) == 3


def test_a_lesson_that_does_not_exist_is_an_error(course: Course) -> None:
    """Without a text or a release, the message says what was expected."""
    with pytest.raises(CourseError, match="05_none"):
        lesson_version(course, "05_none")
    course.release_notebook(LESSON).unlink()
    with pytest.raises(CourseError, match="autograder build"):
        lesson_version(course, LESSON)


def test_points_that_do_not_add_up_are_an_error(course: Course) -> None:
    """The build refuses the text as well, in the same words: scores would be of another sum than the one declared."""
    text = course.text(LESSON)
    text.write_text(text.read_text().replace("test double 8", "test double 9"))
    with pytest.raises(LessonTextError, match=r"03_tiny\.py:1: the exercises' points add up to 21; the header declares 20"):
        lesson_version(course, LESSON)


def test_checks_with_a_syntax_error_have_a_version(tmp_path: Path) -> None:
    """It is grading that names the line, in `regrade` as in `grade`."""
    module = tmp_path / "softmax.py"
    module.write_text("from autograder.judge import masks\nf(x=1, lambda d: d)\n")
    assert [*version._own_files(module, {module})] == [module.read_bytes(), b""]
