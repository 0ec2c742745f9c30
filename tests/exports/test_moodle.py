"""Moodle's worksheet and zip are read back by the rules of Moodle's two importers."""

import csv
import io
import zipfile
from pathlib import Path

import pytest
from tiny_course import LESSON

from autograder.exports.class_scores import ClassScores
from autograder.exports.moodle import feedback_folder, feedback_zip, worksheet
from autograder.exports.roster import Person, Roster, read_roster
from autograder.model.course import Course
from autograder.model.errors import CourseError

HEADER = (
    "Identifier,Full name,ID number,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)
ROW = '{id},"{name}",,{mail},Submitted for grading,{grade},{most},Yes,"Sunday, 1 March 2026, 11:00",-,Fine'


def _worksheet(folder: Path, *, most: str = "20.00", name: str = "Ada Lovelace") -> Roster:
    rows = [
        ROW.format(id="Participant 9001", name=name, mail="ada@x.edu", grade="", most=most),
        ROW.format(id="Participant 9002", name="Bo_Bo", mail="bo@x.edu", grade="3.00", most=most),
        ROW.format(id="Participant 9003", name="Cyd C", mail="cyd@x.edu", grade="", most=most),
        ROW.format(id="Participant 9004", name="Zoe Z", mail="zoe@x.edu", grade="", most=most),
    ]
    path = folder / "worksheet.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8-sig")
    return read_roster(path)


def _imported(text: str) -> dict[int, float]:
    """Return the grades that importgradeslib.php would take, by participant."""
    reader = csv.DictReader(io.StringIO(text, newline=""))
    assert {"Identifier", "Grade", "Last modified (grade)"} <= set(reader.fieldnames or ())
    found = {}
    for row in reader:
        participant = int(row["Identifier"][len("Participant") :])
        grade = float(row["Grade"]) if row["Grade"] else None
        if grade is not None and 0 <= grade <= float(row["Maximum Grade"]):
            found[participant] = grade
    return found


def _unpacked(content: bytes) -> dict[tuple[int, str, str], str]:
    """Return the names that importziplib.php would give the files, by participant and plugin."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        for entry in archive.namelist():
            folder, _, name = entry.partition("/")
            info = folder.split("_", 4)
            assert len(info) >= 4
            assert info[1].isdigit()
            found[int(info[1]), f"{info[2]}_{info[3]}", name] = archive.read(entry).decode()
    return found


def test_moodle_takes_final_grades_and_leaves_the_rest(scores: ClassScores, tmp_path: Path) -> None:
    """Pending ones are empty; those whom we do not know keep their row, without a grade."""
    text = worksheet(scores.lessons[0], _worksheet(tmp_path), partial=False)
    assert _imported(text) == {9001: 20.0, 9002: 17.5}
    partial = worksheet(scores.lessons[0], _worksheet(tmp_path), partial=True)
    assert _imported(partial) == {9001: 20.0, 9002: 17.5, 9003: 18.0}


def test_without_a_worksheet_it_is_asked_for(scores: ClassScores) -> None:
    """Nobody is told of a roster that was not given."""
    with pytest.raises(CourseError, match="fills in its grading worksheet; export the worksheet"):
        worksheet(scores.lessons[0], Roster(), partial=False)


def test_the_worksheet_keeps_moodles_rows_and_no_comments(scores: ClassScores, tmp_path: Path) -> None:
    """Comments that were imported again could change what a teacher wrote."""
    rows = list(csv.DictReader(io.StringIO(worksheet(scores.lessons[0], _worksheet(tmp_path), partial=False))))
    assert [row["Identifier"] for row in rows] == [f"Participant {n}" for n in (9001, 9002, 9003, 9004)]
    assert "Feedback comments" not in rows[0]
    assert rows[0]["Last modified (submission)"] == "Sunday, 1 March 2026, 11:00"
    assert {row["Last modified (grade)"] for row in rows} == {"-"}  # Moodle's own sign for no date


def test_a_name_that_a_spreadsheet_would_run_is_defused(scores: ClassScores, tmp_path: Path) -> None:
    """It is the student's own choice in Moodle."""
    text = worksheet(scores.lessons[0], _worksheet(tmp_path, name="=1+1"), partial=False)
    assert "'=1+1" in text


def test_another_maximum_is_refused(scores: ClassScores, tmp_path: Path) -> None:
    """Moodle would take 20 of 100 without a word."""
    with pytest.raises(CourseError, match=r"maximum grade is 100\.00, the points of 03_tiny are 20"):
        worksheet(scores.lessons[0], _worksheet(tmp_path, most="100.00"), partial=False)


@pytest.mark.parametrize("heading", ["Maximum grade", "MAXIMUM GRADE"])
def test_headings_count_in_either_case(scores: ClassScores, tmp_path: Path, heading: str) -> None:
    """Moodle has changed its capitals; the file keeps the ones that it had."""
    header = HEADER.replace("Maximum Grade", heading).replace("Grade can", "grade can")
    path = tmp_path / "worksheet.csv"
    row = ROW.format(id="Participant 9001", name="Ada L", mail="ada@x.edu", grade="", most="{most}")
    path.write_text(f"{header}\n{row.format(most='20.00')}\n")
    (read,) = csv.DictReader(io.StringIO(worksheet(scores.lessons[0], read_roster(path), partial=False)))
    assert (read["Grade"], read[heading], read["grade can be changed"]) == ("20.0", "20.00", "Yes")
    path.write_text(f"{header}\n{row.format(most='100.00')}\n")
    with pytest.raises(CourseError, match=r"maximum grade is 100\.00"):
        worksheet(scores.lessons[0], read_roster(path), partial=False)


def test_a_roster_without_identifiers_is_refused(scores: ClassScores, roster_file: Path) -> None:
    """The message says which file Moodle needs."""
    with pytest.raises(CourseError, match="no column 'Identifier'"):
        worksheet(scores.lessons[0], read_roster(roster_file), partial=False)


def test_every_page_reaches_its_student(with_feedback: Course, scores: ClassScores, tmp_path: Path) -> None:
    """Each folder names one participant; secrets of the exchange stay here."""
    secret = with_feedback.feedback_page("ada", LESSON).with_name("submission_secret.txt")
    secret.write_text("s3cret")
    content = feedback_zip(with_feedback, scores.lessons[0], _worksheet(tmp_path))
    found = _unpacked(content)
    assert {key for key in found if key[2] == f"{LESSON}.html"} == {
        (participant, "assignfeedback_file", f"{LESSON}.html") for participant in (9001, 9002, 9003)
    }  # fmt: skip
    assert not any("secret" in name for _, _, name in found)
    page = with_feedback.feedback_page("ada", LESSON).read_text(encoding="utf-8")
    link = '<li><a href="../index.html">All your lessons</a></li>'
    assert link in page, "Moodle has no place for the page that it leads to"
    assert found[9001, "assignfeedback_file", f"{LESSON}.html"] == page.replace(link, "")
    assert not [name for name, text in found.items() if "../index.html" in text]
    assert feedback_zip(with_feedback, scores.lessons[0], _worksheet(tmp_path)) == content


def test_no_name_can_leave_its_folder_or_add_a_field() -> None:
    """Underscores separate Moodle's fields, slashes folders."""
    assert feedback_folder(Person(name="../a_b/c", moodle_id="Participant 7")) == "a b c_7_assignfeedback_file"
    assert feedback_folder(Person(moodle_id="Participant 7")) == "Student_7_assignfeedback_file"
    with pytest.raises(CourseError, match="expected 'Participant 1234'"):
        feedback_folder(Person(name="Ada", moodle_id="Ada"))


def test_a_gradebook_of_canvas_is_refused(scores: ClassScores, tmp_path: Path) -> None:
    """The message says what it is, and what is needed."""
    path = tmp_path / "canvas.csv"
    path.write_text("Student,ID,SIS User ID,SIS Login ID,Section\nAda,1,2,ada,A\n")
    with pytest.raises(CourseError, match=r"the roster is a gradebook of Canvas.*export the worksheet"):
        worksheet(scores.lessons[0], read_roster(path), partial=False)
