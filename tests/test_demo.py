"""The demo makes a class as instructors meet it, and marks it to the end."""

import csv
import shutil
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from broken_sandbox import SAID, broken_bwrap
from nbgrader.api import Gradebook
from rich.console import Console

from autograder import demo
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError, SettingsError
from autograder.storage.attempts import AttemptLog

__all__ = ["broken_bwrap"]
LESSON = "03_attention"


@pytest.mark.full("grades a class", seconds=45)
def test_the_demo_marks_its_class(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perfect, empty and broken submissions end as they should; the rest lose marks, with a name."""
    monkeypatch.setattr(Course, "lessons", lambda self: [LESSON])
    monkeypatch.setattr(demo, "NAMES", ("ada", "bela", "chidi", "dora", demo.EMPTY, demo.BROKEN))
    with (tmp_path / "said.txt").open("w") as said:
        demo.run_demo(course, tmp_path / "demo", Console(file=said, width=200))
    made = Course(tmp_path / "demo")
    reports = {name: a.report for name, a in AttemptLog(made.reports).latest(LESSON).items()}
    assert reports["ada"].score == 20
    assert {ex.outcome for ex in reports[demo.EMPTY].exercises} == {"unanswered"}
    assert reports[demo.BROKEN].state == "unreadable"
    for student in ("bela", "chidi", "dora"):
        assert reports[student].score < 20
        assert any(ex.misconceptions for ex in reports[student].exercises)
    _the_books_agree(made, {name: report.score for name, report in reports.items()})
    told = (tmp_path / "said.txt").read_text().splitlines()
    pages = [line for line in told if f"feedback/{demo.FIRST}/{LESSON}/{LESSON}.html" in line]
    (lesson,) = (line for line in told if line.startswith(LESSON))
    assert "5 graded" in lesson  # and a line for each of them would be far more
    assert told.index(pages[0]) < told.index(lesson)
    assert len(told) <= 10
    assert "class.html" in told[-3]
    for student in reports:
        assert (made.feedback / student / LESSON / f"{LESSON}.html").is_file()
    assert f"feedback/bela/{LESSON}" in (made.reports / "class.html").read_text()


def _the_books_agree(made: Course, scores: dict[str, float]) -> None:
    """Gradebook, CSV and log give the same totals."""
    with (made.reports / f"{LESSON}.csv").open(newline="") as file:
        assert {row["student"]: float(row["score"] or 0) for row in csv.DictReader(file)} == scores
    with Gradebook(f"sqlite:///{made.gradebook}", "transformer") as book:
        for student, score in scores.items():
            assert book.find_submission(LESSON, student).score == pytest.approx(score)


def test_a_second_demo_replaces_the_first(course: Course, tmp_path: Path) -> None:
    """Nothing of an earlier demo is left."""
    folder = tmp_path / "demo"
    demo.fresh_course(course, folder)
    (folder / "submitted" / "nobody" / LESSON).mkdir(parents=True)
    made = demo.fresh_course(course, folder)
    assert LESSON in made.lessons()
    demo.hand_in(made, LESSON, demo.NAMES)
    assert not (made.submitted / "nobody").exists()
    assert len(list(made.submitted.iterdir())) == len(demo.NAMES)
    shutil.rmtree(folder)


def test_only_those_who_are_ahead_have_handed_in_the_later_lessons(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer waits for three whole lessons, not for nine."""
    graded: list[Attempt] = []
    monkeypatch.setattr(demo, "Pool", lambda **_: MagicMock())
    monkeypatch.setattr(demo, "grade_lesson", lambda *_, **__: graded)
    monkeypatch.setattr(demo, "publish", lambda *_: None)
    monkeypatch.setattr(demo, "fmean", lambda _: 0.0)
    with (tmp_path / "said.txt").open("w") as said:
        demo.run_demo(course, tmp_path / "demo", Console(file=said, width=200))
    made = Course(tmp_path / "demo")
    students = {
        lesson: {path.parent.parent.name for path in made.submitted.glob(f"*/{lesson}/*.ipynb")}
        for lesson in made.lessons()
    }
    whole = [lesson for lesson, names in students.items() if names == {*demo.NAMES}]
    assert whole == made.lessons()[:3]
    assert all(names == {*demo.AHEAD} for lesson, names in students.items() if lesson not in whole)
    assert (tmp_path / "said.txt").read_text().startswith("a class of 24 hands in 3 lessons, and 4 who")


def test_a_setting_that_cannot_be_used_stops_the_demo_before_anything_is_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its settings are those of the course that it is made from."""
    home = Course(tmp_path / "home")
    for folder in (home.source, home.release):
        folder.mkdir(parents=True)
    (home.root / CONFIG).write_text("c = get_config()\nc.GenerateFeedback.permissions = 'x'\n")
    monkeypatch.setattr(demo, "Pool", MagicMock(side_effect=AssertionError("graded")))
    with pytest.raises(SettingsError, match=f"{CONFIG} cannot be used: "):
        demo.run_demo(home, tmp_path / "demo", Console(quiet=True))


def test_the_demo_never_replaces_anything_but_a_demo(course: Course, tmp_path: Path) -> None:
    """A folder that somebody named by mistake keeps its files."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CourseError, match="holds no earlier demo"):
        demo.fresh_course(course, tmp_path)
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.full("grades a class", seconds=45)
@pytest.mark.usefixtures("broken_bwrap")
def test_the_demo_goes_on_without_a_sandbox(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bubblewrap is there and cannot start, it says why, and every page says that it went on."""
    monkeypatch.setattr(Course, "lessons", lambda self: [LESSON])
    monkeypatch.setattr(demo, "NAMES", ("ada", "bela"))
    said = tmp_path / "said.txt"
    with said.open("w") as file:
        demo.run_demo(course, tmp_path / "demo", Console(file=file, width=200))
    told = said.read_text().splitlines()
    assert SAID in told[0]
    assert "without it" in told[2]
    made = Course(tmp_path / "demo")
    assert not any(attempt.sandboxed for attempt in AttemptLog(made.reports))
    pages = [*made.reports.glob("*.html"), *made.feedback.rglob("*.html")]
    assert len(pages) > 4
    assert [page.name for page in pages if "sandbox" not in page.read_text(encoding="utf-8")] == []
