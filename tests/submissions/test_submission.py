"""The file that counts is found, whatever it is called and whatever is beside it."""

import hashlib
from pathlib import Path

import pytest
from tiny_course import LESSON, RIGHT, FakeGrader, hand_in
from tiny_fixtures import book, built, course, grades, same_grader  # noqa: F401 - fixtures

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import Course
from autograder.model.report import Outcome, Report, State
from autograder.submissions.submission import Submission, look_alike, misplaced, of_no_lesson


def graded(course: Course) -> Report:
    """Grade alice's submission."""
    submission = Submission(course, "alice", LESSON, "v")
    attempt, _ = grade_submission(FakeGrader(course), submission, sandboxed=True)
    return attempt.report


@pytest.mark.parametrize("name", ["copy.ipynb", f"{LESSON} (1).ipynb", f"{LESSON}.ipynb.txt"])
def test_a_renamed_notebook_is_found(course: Course, name: str) -> None:
    """The only notebook in the folder counts; the report says which it was."""
    path = hand_in(course, "alice", **RIGHT)
    renamed = path.rename(path.with_name(name))
    report = graded(course)
    assert report.score == 18
    assert report.repairs == [f"'{name}' was graded: there is no '{LESSON}.ipynb'"]
    digest = hashlib.sha256(renamed.read_bytes()).hexdigest()
    assert Submission(course, "alice", LESSON, "v").sha256() == digest


def test_of_several_the_one_of_the_lesson_counts(course: Course) -> None:
    """Another lesson's notebook, a broken one and copies of the right one do not hide it."""
    path = hand_in(course, "alice", **RIGHT)
    for name in ("a.ipynb", "b.ipynb"):
        path.with_name(name).write_bytes(path.read_bytes())
    path.with_name("notes.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "1"}]}')
    path.with_name("half.ipynb").write_text("{")
    path.unlink()
    assert graded(course).repairs == [f"'a.ipynb' was graded: there is no '{LESSON}.ipynb'"]


def test_which_of_two_answers_counts_is_not_guessed(course: Course) -> None:
    """Of two different notebooks of the lesson neither is graded, and both are named."""
    path = hand_in(course, "alice", **RIGHT)
    path.rename(path.with_name("final.ipynb"))
    hand_in(course, "alice", double="# half").rename(path.with_name("final2.ipynb"))
    report = graded(course)
    assert report.state is State.WRONG_FILE
    assert {done.outcome for done in report.exercises} == {Outcome.MISSING}
    assert "found 'final.ipynb', 'final2.ipynb'" in report.reason


def test_other_files_beside_the_right_one_are_named(course: Course) -> None:
    """The notebook of the right name counts, even if another one has more answers."""
    path = hand_in(course, "alice", **RIGHT)
    path.rename(path.with_name("backup.ipynb"))
    hand_in(course, "alice", double="# half")
    report = graded(course)
    assert report.score == 4
    assert report.repairs == [
        f"'{LESSON}.ipynb' was graded; the folder also contains 'backup.ipynb'"
    ]


def test_folders_and_links_do_not_count(course: Course, tmp_path: Path) -> None:
    """A folder with the notebook's name is told as that, and a link beside it is not followed."""
    path = hand_in(course, "bob", **RIGHT)
    folder = course.submission("alice", LESSON)
    folder.mkdir(parents=True)
    (folder.parent / "mine.ipynb").symlink_to(path)
    report = graded(course)
    assert {done.outcome for done in report.exercises} == {Outcome.MISSING}
    assert (report.state, report.repairs) == (State.WRONG_FILE, [])
    assert report.reason == f"'{LESSON}.ipynb' is a folder: expected the notebook itself"


@pytest.mark.parametrize(
    ("name", "state"),
    [("", State.ABSENT), ("timestamp.txt", State.ABSENT), (f"{LESSON}.pdf", State.WRONG_FILE)],
)
def test_nothing_is_told_apart_from_something_else(course: Course, name: str, state: State) -> None:
    """An empty folder holds nothing; nbgrader's time stamp is not the student's; a PDF is."""
    folder = course.submission("alice", LESSON).parent
    folder.mkdir(parents=True)
    if name:
        (folder / name).touch()
    report = graded(course)
    assert (report.state, name in report.reason) == (state, state is State.WRONG_FILE or not name)


def test_the_digest_of_no_file_changes_with_the_reason(course: Course) -> None:
    """A student who had handed in nothing, and then a PDF, is graded again."""
    folder = course.submission("alice", LESSON).parent
    folder.mkdir(parents=True)
    submission = Submission(course, "alice", LESSON, "v")
    before = submission.sha256()
    (folder / "answers.pdf").touch()
    assert submission.sha256() != before


def test_students_whose_names_look_alike_are_named(course: Course) -> None:
    """In a class run and by the watch: two folders may be one student's, or somebody's who takes another's name."""
    for student in ("anna", "Anna", "bob", "<b>", "<B>"):
        (course.submitted / student / LESSON).mkdir(parents=True)
    assert look_alike(course) == "check that these are not one student: their names look alike: 'Anna', 'anna'"
    assert "'BOB', 'bob'" in look_alike(course, ["BOB"])


def test_folders_of_no_lesson_are_named(course: Course) -> None:
    """Not those of lessons, of nbgrader's other assignments, or of programs."""
    hand_in(course, "alice", **RIGHT)
    for folder in ("alice/3", "bob/lesson 1", "bob/essay", "bob/.ipynb_checkpoints"):
        (course.submitted / folder).mkdir(parents=True)
    (course.source / "essay").mkdir()
    (course.submitted / "bob" / "notes.txt").write_text("")
    assert of_no_lesson(course) == "'alice/3', 'bob/lesson 1'"


def test_notebooks_outside_of_a_lessons_folder_are_named(course: Course) -> None:
    """One folder too high, or two."""
    path = hand_in(course, "alice", **RIGHT)
    assert misplaced(course.submitted) == ""
    path.rename(course.submitted / "alice" / path.name)
    (course.submitted / "03.ipynb").write_text("{}")
    assert misplaced(course.submitted) == f"'03.ipynb', 'alice/{path.name}'"
