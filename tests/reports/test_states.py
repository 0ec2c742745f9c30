"""Pending, unreadable and absent are told apart from a score of 0 wherever a score is shown."""

import csv
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import tiny_fixtures
from nbgrader.api import Gradebook
from rich.console import Console
from tiny_course import LESSON, RIGHT, hand_in

from autograder.model.course import Course
from autograder.model.report import Report, State
from autograder.reports import feedback_exporter
from autograder.reports.class_figures import figures
from autograder.reports.formgrader import FormgraderPage
from autograder.reports.publish import publish
from autograder.reports.terminal import print_report
from autograder.reports.words import report_total
from autograder.storage.recorder import Recorder

from .hostile import Tags

HANDED_IN = ("perfect", "faulty", "unreadable", "other", "empty")
NO_FILE, NO_NOTEBOOK = f"there is no file '{LESSON}.ipynb'", f"{LESSON}.ipynb is not a notebook"
AGAIN = "Open it in JupyterLab, save, and hand it in again."


@pytest.fixture(scope="module")
def graded(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """Grade a class with a student in each state, and make every page and file of it."""
    course = Course(tmp_path_factory.mktemp("class") / "course")
    shutil.copytree(built, course.root)
    hand_in(course, "perfect", **RIGHT)
    hand_in(course, "faulty", **dict.fromkeys(RIGHT, "# fault"))
    hand_in(course, "unreadable").write_text("{")
    other = hand_in(course, "other")
    other.rename(other.with_suffix(".pdf"))
    (course.submitted / "empty" / LESSON).mkdir(parents=True)
    record(course, *HANDED_IN)
    return course


def record(course: Course, *students: str) -> None:
    """Grade and record submissions, and make their feedback pages and the class's reports."""
    tiny_fixtures.record(course, *students)
    with Recorder(course) as recorder:
        recorder.book.update_or_create_student("nobody")  # on the class list, without a folder
    assert feedback_exporter.make_pages(course, LESSON, students) == {}


def report(course: Course, student: str) -> Report:
    """Return a student's report."""
    return publish(course, [LESSON]).reports[LESSON][student]


def feedback_page(course: Course, student: str) -> str:
    """Return the text of a feedback page."""
    return words_of(course.feedback_page(student, LESSON).read_text(encoding="utf-8"))


def words_of(page: str) -> str:
    """Return the text that a reader sees."""
    return Tags(re.sub(r"(?s)<style.*?</style>", "", page)).text


def formgrader(course: Course, student: str) -> str:
    """Return what formgrader shows in the first cell of the graded notebook."""
    path = course.autograded_notebook(student, LESSON)
    resources = {"submission_id": "1", "assignment_id": LESSON, "metadata": {"path": str(path.parent)}}
    page, _ = FormgraderPage().preprocess(nbformat.read(path, as_version=4), resources)
    return words_of(page.cells[0].outputs[0].data["text/html"])


def terminal(course: Course, student: str) -> str:
    """Return what `check` prints, in one line."""
    text = io.StringIO()
    print_report(report(course, student), Console(file=text, width=200))
    return " ".join(text.getvalue().split())


def class_page(course: Course, student: str) -> str:
    """Return what the class page says of a student: the row of scores, and the line in a list."""
    report(course, student)
    page = (course.reports / f"class-{LESSON}.html").read_text(encoding="utf-8")
    table = page[page.index('class="scores ') :]
    row = next(row for row in table.split("<tr>") if f">{student}" in row)
    listed = [line for line in page.splitlines() if line.startswith("<li>") and f">{student}" in line]
    return " | ".join(Tags(part).text for part in [*row.split("<td")[1:], *listed])


def front_page(course: Course, student: str) -> str:
    """Return a student's row of the heat map on the front page."""
    report(course, student)
    page = (course.reports / "class.html").read_text(encoding="utf-8")
    table = page[page.index('class="heat ') :]
    row = next(row for row in table.split("<tr>") if f">{student}" in row)
    return " | ".join(Tags(part).text for part in row.split("<td")[1:])


def csv_row(course: Course, student: str) -> str:
    """Return a student's row of the CSV file, with the names of its columns."""
    report(course, student)
    with (course.reports / f"{LESSON}.csv").open(newline="", encoding="utf-8") as file:
        row = next(row for row in csv.DictReader(file) if row["student"] == student)
    return " ".join(f"{name}={value}" for name, value in row.items())


def exported(course: Course, student: str) -> str:
    """Return the JSON document."""
    return report(course, student).model_dump_json()


SAID: list[tuple[Callable[[Course, str], str], str, list[str]]] = [
    (feedback_page, "perfect", ["18 of 18 points graded, 2 pending", "Exercise 3: why …to be graded 2 pending", "All 2 graded exercises correct"]),
    (feedback_page, "faulty", ["nothing graded yet, 20 points pending", "Nothing has been graded yet"]),
    (feedback_page, "unreadable", ["A tiny lesson: unreadable", "Not graded", AGAIN, NO_NOTEBOOK]),
    (feedback_page, "other", ["A tiny lesson: wrong file", "Not graded", "Hand in the notebook of this lesson", f"found '{LESSON}.pdf'"]),
    (feedback_page, "empty", ["A tiny lesson: absent", "Not graded", "Nothing was handed in"]),
    (formgrader, "perfect", ["18 of 18 points, without what is graded by hand"]),
    (formgrader, "faulty", ["graded by hand"]),
    (formgrader, "unreadable", ["The file could not be opened, so nothing was graded.", NO_NOTEBOOK]),
    (formgrader, "other", ["Ask for the right one.", f"found '{LESSON}.pdf'"]),
    (formgrader, "empty", ["Nothing was handed in", NO_FILE]),
    (terminal, "perfect", ["18 of 18 points graded, 2 pending", "to be graded 2 pending"]),
    (terminal, "faulty", ["nothing graded yet, 20 points pending"]),
    (terminal, "unreadable", ["unreadable", "nothing was graded", AGAIN, NO_NOTEBOOK]),
    (terminal, "empty", ["absent", "Nothing was handed in"]),
    (class_page, "perfect", [">18 | >18 | >2 | >8 | >10 | >–"]),
    (class_page, "faulty", ["> | >0 | >20 | >– | >– | >–"]),
    (class_page, "unreadable", ["unreadable | > | > | > | > | >", NO_NOTEBOOK]),
    (class_page, "other", ["wrong file | >", f"found '{LESSON}.pdf'"]),
    (class_page, "empty", ["absent | > | > | > | > | >"]),
    (class_page, "nobody", ["absent | > | > | > | > | >"]),
    (front_page, "perfect", [">100 | ", ">100, 2 pending"]),
    (front_page, "faulty", [">– | ", ">pending"]),
    (front_page, "unreadable", [">– | ", ">unreadable"]),
    (front_page, "other", [">– | ", ">wrong file"]),
    (front_page, "empty", [">– | ", ">absent"]),
    (front_page, "nobody", [">– | ", ">absent"]),
    (csv_row, "perfect", ["why= score=18.0 out_of=18.0 pending=2.0 max=20.0 to_grade=why state=graded"]),
    (csv_row, "faulty", ["double= halve= why= score= out_of=0.0 pending=20.0"]),
    (csv_row, "unreadable", ["double= halve= why= score= out_of=0.0", f"state=unreadable reason={NO_NOTEBOOK}"]),
    (csv_row, "empty", ["double= halve= why= score= out_of=0.0", f"state=absent reason={NO_FILE}"]),
    (csv_row, "nobody", ["score= out_of=0.0 pending=0 max=20.0 to_grade= state=absent reason="]),
    (exported, "perfect", ['"score":18.0,"max_score":20.0', '"pending":2.0']),
    (exported, "faulty", ['"pending":20.0']),
    (exported, "unreadable", ['"state":"unreadable"', f'"reason":"{NO_NOTEBOOK}"', '"repairs":[]']),
    (exported, "empty", ['"state":"absent"']),
]  # fmt: skip
NEVER = {
    "perfect": ["18 of 20", "18/20", "0 / 2", "0.0 / 2", "0 of 2"],
    "faulty": ["0 of 8", "0 of 20", "0 / 20", "0.0 / 20"],
    "unreadable": ["missing", "epair", "0 of", "0.0 /", "skeleton", "double:", "Exercise 1"],
    "empty": ["missing", "epair", "0 of", "0.0 /", "could not open", "double:", "Exercise 1"],
}


@pytest.mark.parametrize(
    ("shown", "student", "words"), [pytest.param(*row, id=f"{row[0].__name__}-{row[1]}") for row in SAID]
)
def test_each_state_has_its_words_everywhere(
    graded: Course, shown: Callable[[Course, str], str], student: str, words: list[str]
) -> None:
    """Each place says what is so, and nothing that would be true of another state."""
    text = " ".join(shown(graded, student).split())
    assert [word for word in words if word not in text] == []
    wrong = NEVER.get(student, []) if shown is not exported else []
    assert [word for word in wrong if word in text] == []


def test_only_what_was_graded_is_in_a_figure(graded: Course) -> None:
    """One perfect submission among six students gives means of 100 %, in one bar."""
    found = figures(LESSON, publish(graded, [LESSON]).reports[LESSON])
    assert found.spread is not None
    assert (found.graded, found.spread.mean, found.spread.median) == (2, 1.0, 1.0)
    assert [each.count for each in found.bins] == [0] * 9 + [1]
    assert {each.id: each.mean_share for each in found.exercises} == {"double": 1, "halve": 1, "why": None}
    assert found.mistakes == []
    assert {state: [*students] for state, students in found.not_graded.items()} == {
        State.UNREADABLE: ["unreadable"], State.WRONG_FILE: ["other"], State.ABSENT: ["empty", "nobody"],
    }  # fmt: skip


def test_a_class_of_unreadable_files_has_no_figures(graded: Course) -> None:
    """The page is made all the same."""
    one = report(graded, "unreadable")
    found = figures(LESSON, {"a": one})
    assert (found.spread, found.exercises) == (None, [])


def test_a_student_who_handed_in_and_was_not_graded_yet_is_not_absent(graded: Course) -> None:
    """The folder is there, so nothing is said of the student."""
    folder = graded.submission("nobody", LESSON).parent
    folder.mkdir(parents=True)
    assert "nobody" not in publish(graded, [LESSON]).reports[LESSON]
    shutil.rmtree(folder.parent)


@pytest.fixture
def by_hand(course: Course) -> Course:
    """Grade one perfect submission, and then its written answer in the gradebook."""
    hand_in(course, "perfect", **RIGHT)
    record(course, "perfect")
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        grade = book.find_grade("why", LESSON, LESSON, "perfect")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        book.db.commit()
    assert feedback_exporter.make_pages(course, LESSON, ["perfect"]) == {}
    return course


def test_a_comment_is_what_to_read_where_points_are_missing(by_hand: Course) -> None:
    """Nothing else is left to do."""
    with Gradebook(f"sqlite:///{by_hand.gradebook}", "transformer") as book:
        book.find_comment("why", LESSON, LESSON, "perfect").manual_comment = "Say why."
        book.db.commit()
    assert feedback_exporter.make_pages(by_hand, LESSON, ["perfect"]) == {}
    assert "Read your instructor's comments below." in feedback_page(by_hand, "perfect")


def test_a_score_given_by_hand_ends_the_wait_everywhere(by_hand: Course) -> None:
    """Page, box, class page and CSV show it, and nothing is pending."""
    assert report_total(report(by_hand, "perfect")) == "19.5 of 20 points"
    assert report_total(report(by_hand, "perfect"), penalty=25) == "0 of 20 points"  # never below zero
    text = feedback_page(by_hand, "perfect")
    assert "A tiny lesson: 19.5 of 20 points" in text
    assert "graded by hand · 1.5 of 2 points" in text
    assert "2 of 3 exercises correct" in text
    assert "Your instructor graded the rest and left no comment" in text
    assert "pending" not in text
    assert ">19.5 | >20 | > | >8 | >10 | >1.5" in class_page(by_hand, "perfect")
    assert "why=1.5 score=19.5 out_of=20.0 pending=0 max=20.0 to_grade= state=graded" in csv_row(
        by_hand, "perfect"
    )
