"""Each CSV file is read back by another reader, by the rules of the system that it is for."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin
from tiny_course import LESSON

from autograder.exports.canvas import canvas_csv, column_titles
from autograder.exports.class_scores import NBGRADER_COLUMNS as COLUMNS
from autograder.exports.class_scores import ClassScores, course_csv, nbgrader_csv
from autograder.exports.roster import Roster, read_roster
from autograder.model.course import Course
from autograder.reports.csv_file import csv_text

PLAIN = {LESSON: LESSON}  # a column that has the lesson's name


def _frame(text: str) -> pd.DataFrame:
    """Return the file as pandas reads it, with every cell as text and empty cells as ""."""
    return pd.read_csv(io.StringIO(text, newline=""), dtype=str, keep_default_na=False)


def _canvas(text: str) -> dict[str, dict[str, str]]:
    """Return scores by login and heading, read as Canvas' gradebook_importer.rb reads a file."""
    header, points, *rows = (list(row) for row in pd.read_csv(
        io.StringIO(text, newline=""), dtype=str, keep_default_na=False, header=None
    ).to_numpy())  # fmt: skip
    assert "Student" in header[0]
    assert "ID" in header[1]
    assert re.search(r"SIS\s+User\s+ID", header[2])
    assert re.search(r"SIS\s+Login\s+ID", header[3])
    assert "Section" in header[4]
    assert "Points Possible" in points[0]
    assert all(float(cell) > 0 for cell in points[5:])
    for cell in (cell for row in rows for cell in row[5:]):
        assert re.fullmatch(r"(\d+(\.\d+)?)?", cell)
    return {row[3]: dict(zip(header[5:], row[5:], strict=True)) for row in rows}


def test_nbgraders_columns_and_numbers_are_nbgraders_own(
    graded: Course, scores: ClassScores, tmp_path: Path
) -> None:
    """Where nothing is pending, the file says what `nbgrader export` says."""
    plugin = CsvExportPlugin()
    plugin.to = str(tmp_path / "theirs.csv")
    with Gradebook(f"sqlite:///{graded.gradebook}", "transformer") as book:
        plugin.export(book)
    theirs = _frame(Path(plugin.to).read_text()).set_index("student_id")
    ours = _frame(nbgrader_csv(scores, Roster(), partial=False)).set_index("student_id")
    assert list(_frame(nbgrader_csv(scores, Roster(), partial=False)).columns) == list(COLUMNS)
    for student in ("ada", "bo", "di", "eve"):
        for column in ("assignment", "duedate", "timestamp"):
            assert ours.loc[student, column] == theirs.loc[student, column]
        for column in ("raw_score", "late_submission_penalty", "score", "max_score"):
            assert float(ours.loc[student, column]) == float(theirs.loc[student, column])
    assert float(ours.loc["bo", "score"]) == 17.5


def test_a_pending_score_is_empty_in_nbgraders_file(scores: ClassScores) -> None:
    """With --partial it holds the points so far."""
    rows = _frame(nbgrader_csv(scores, Roster(), partial=False)).set_index("student_id")
    assert (rows.loc["cyd", "raw_score"], rows.loc["cyd", "score"]) == ("", "")
    rows = _frame(nbgrader_csv(scores, Roster(), partial=True)).set_index("student_id")
    assert float(rows.loc["cyd", "score"]) == 18


def test_canvas_finds_students_scores_and_points(scores: ClassScores, roster_file: Path) -> None:
    """Late work has its penalty; pending, unreadable and absent are empty."""
    read = _canvas(canvas_csv(scores, read_roster(roster_file), PLAIN, partial=False))
    assert {login: row[LESSON] for login, row in read.items()} == {
        "ada": "20.0", "bo": "17.5", "cyd": "", "di": "", "eve": "", "zoe": "",
    }  # fmt: skip
    partial = _canvas(canvas_csv(scores, Roster(), PLAIN, partial=True))
    assert partial["cyd"][LESSON] == "18.0"


def test_canvas_gets_its_own_ids_and_headings_back(
    graded: Course, scores: ClassScores, tmp_path: Path
) -> None:
    """A gradebook exported from Canvas is the roster: the assignment is found by its id."""
    path = tmp_path / "canvas.csv"
    path.write_text(
        f"Student,ID,SIS User ID,SIS Login ID,Section,{LESSON} (77),Final Score\n"
        "    Points Possible,,,,,20,(read only)\n"
        '"Lovelace, Ada",501,1001,ada,Group A,,\n'
    )
    roster = read_roster(path)
    text = canvas_csv(scores, roster, column_titles(graded, scores, roster), partial=False)
    assert _canvas(text)["ada"] == {f"{LESSON} (77)": "20.0"}
    row = _frame(text).set_index("SIS Login ID").loc["ada"]
    assert (row["Student"], row["ID"], row["Section"]) == ("Lovelace, Ada", "501", "Group A")


def test_one_file_has_everything_of_everybody(scores: ClassScores, roster_file: Path) -> None:
    """Late flags and penalties stand beside the scores, and the roster's absentees have a row."""
    rows = _frame(course_csv(scores, read_roster(roster_file))).set_index("student")
    assert list(rows.index) == ["ada", "bo", "cyd", "di", "eve", "zoe"]
    bo = rows.loc["bo"]
    assert [bo[f"{LESSON} {name}"] for name in ("score", "seconds late", "penalty", "state")] == [
        "19.5", "86400", "2.0", "graded",
    ]  # fmt: skip
    assert (bo["total"], bo["total of"], bo["id"]) == ("17.5", "20.0", "1002")
    cyd = rows.loc["cyd"]
    assert (cyd["name"], cyd[f"{LESSON} pending"], cyd["total of"]) == ("Cyd O'Neill, Jr", "2.0", "18.0")
    assert rows.loc["zoe", f"{LESSON} state"] == rows.loc["eve", f"{LESSON} state"] == "absent"
    assert (rows.loc["di", f"{LESSON} state"], rows.loc["di", "total"]) == ("unreadable", "")
    assert {rows.loc[who, "total of"] for who in ("ada", "di", "eve", "zoe")} == {"20.0"}


def test_a_lesson_that_was_not_handed_in_counts_in_the_total(scores: ClassScores) -> None:
    """Two students' totals are out of the same points, and one who was absent has not lost sight of it."""
    two = ClassScores([*scores.lessons, replace(scores.lessons[0], lesson="04_next", scores={})], scores.students)
    rows = _frame(course_csv(two, Roster())).set_index("student")
    assert (rows.loc["ada", "total"], rows.loc["ada", "total of"]) == ("20.0", "40.0")


@pytest.mark.parametrize("text", ["-", "+", "-5", "+1.5", "-0,5"])
def test_a_dash_or_a_number_is_no_formula(text: str) -> None:
    """Moodle writes a dash for no date, and gets it back as it was."""
    assert csv_text([[text]]) == f'"{text}"\r\n' if "," in text else f"{text}\r\n"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t=", "\r="])
def test_no_cell_of_any_file_is_run_by_a_spreadsheet(
    scores: ClassScores, tmp_path: Path, sign: str
) -> None:
    """Names, e-mails, ids and sections come from other people: each is defused."""
    path = tmp_path / "roster.csv"
    evil = f"{sign}cmd|' /C calc'!A0"
    path.write_text(
        "SIS User ID,Student,ID,SIS Login ID,Section,Email\n"
        f'"{evil}","{evil}","{evil}",ada,"{evil}","{evil}"\n',
        newline="",
    )
    roster = read_roster(path)
    assert roster.find("ada") is not None
    for text in (
        nbgrader_csv(scores, roster, partial=True),
        canvas_csv(scores, roster, PLAIN, partial=True),
        course_csv(scores, roster),
    ):
        assert "cmd|" in text
        for cell in _frame(text).to_numpy().ravel():
            assert not re.match(r"\s*[=+@]|\s*-(?!\d)", cell)
            assert not cell.startswith(("\t", "\r"))
