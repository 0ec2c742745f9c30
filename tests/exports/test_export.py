"""`autograder export` writes the files of each format, and says what to know about them."""

import csv
import json
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from nbgrader.api import Gradebook
from tiny_course import LESSON, RIGHT, hand_in
from tiny_fixtures import record

from autograder.cli import main
from autograder.model.course import Course
from autograder.reports import feedback_exporter


def _run(course: Course, *args: str | Path) -> Result:
    return CliRunner().invoke(main, ["--course", str(course.root), "export", *map(str, args)])


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("nbgrader", ["nbgrader.csv"]),
        ("canvas", ["canvas.csv"]),
        ("course", ["course.csv"]),
        ("gradescope", [f"gradescope/{LESSON}/{name}/results.json" for name in ("ada", "bo", "cyd", "di")]),
    ],
)
def test_each_format_writes_its_files(graded: Course, name: str, files: list[str]) -> None:
    """Into exports/, and --json names them."""
    done = _run(graded, name, "3", "--json")
    assert done.exit_code == 0, done.stderr
    assert sorted(json.loads(done.stdout)["written"]) == [f"exports/{file}" for file in files]
    assert all((graded.root / "exports" / file).stat().st_size for file in files)


def test_comments_written_in_formgrader_go_to_gradescope(graded: Course) -> None:
    """To the student they are for."""
    with Gradebook(f"sqlite:///{graded.gradebook}", "transformer") as opened:
        opened.find_comment("why", LESSON, LESSON, "bo").manual_comment = "Which inverse?"
        opened.db.commit()
    assert _run(graded, "gradescope", "3").exit_code == 0
    results = {path.parent.name: path.read_text() for path in (graded.root / "exports").rglob("results.json")}
    assert [name for name, text in sorted(results.items()) if "Which inverse?" in text] == ["bo"]


def test_what_was_left_empty_is_said(graded: Course, roster_file: Path, tmp_path: Path) -> None:
    """Once, on standard error, with who is not on the roster; --partial leaves nothing empty."""
    done = _run(graded, "canvas", "--roster", roster_file, "--folder", tmp_path / "out")
    assert "1 score left empty, because points are pending" in done.stderr
    assert "2 students are not on the roster: di; eve\n" in done.stderr
    assert "1 of 4 on the roster handed in nothing: Zoë Zed\n" in done.stderr
    assert f"no column of the roster is {LESSON}, so Canvas will offer to make one" in done.stderr
    assert (tmp_path / "out" / "canvas.csv").is_file()
    assert "left empty" not in _run(graded, "canvas", "--partial").stderr


def test_penalties_are_those_of_the_due_date_of_now(graded: Course) -> None:
    """A later one takes them back without another grading; the note comes once."""
    with Gradebook(f"sqlite:///{graded.gradebook}", "transformer") as opened:
        opened.update_or_create_assignment(LESSON, duedate=datetime(2026, 4, 1))
    said = "penalties for lateness changed for 1 submission"
    assert said in _run(graded, "course").stderr
    with (graded.exports / "course.csv").open(encoding="utf-8-sig") as file:
        (bo,) = (row for row in csv.DictReader(file) if row["student"] == "bo")
    assert (float(bo[f"{LESSON} seconds late"]), float(bo[f"{LESSON} penalty"])) == (0, 0)
    assert said not in _run(graded, "course").stderr


def test_many_who_handed_in_nothing_are_counted(graded: Course, tmp_path: Path) -> None:
    """Ten are named, and two of one name by their ids as well."""
    people = ["ada,Ada L", "z1,'Lee, Ann'", "z2,'Lee, Ann'", *(f"z{number},Z{number}" for number in range(3, 15))]
    (tmp_path / "own.csv").write_text("\n".join(["student id,name", *people]).replace("'", '"'), encoding="utf-8")
    told = _run(graded, "course", "--roster", tmp_path / "own.csv").stderr
    names = "; ".join(["Lee, Ann (z1)", "Lee, Ann (z2)", *(f"Z{number}" for number in range(3, 11))])
    assert f"note: 14 of 15 on the roster handed in nothing: {names}; and 4 more\n" in told


@pytest.mark.parametrize(("name", "eve"), [
    ("course", "eve,Eve Example,eve@x.edu,"), ("canvas", "Eve Example,,,eve,"), ("nbgrader", "eve,Example,Eve,eve@x.edu,"),
])
def test_without_a_roster_people_are_those_of_the_class_list(graded: Course, name: str, eve: str) -> None:
    """And who handed in nothing is in the file as well; an e-mail finds nobody else's folder."""
    record(graded, hand_in(graded, "eve.e", **RIGHT).parent.parent.name)
    with Gradebook(f"sqlite:///{graded.gradebook}", "transformer") as opened:
        opened.update_or_create_student("eve", email="eve@x.edu")
        opened.update_or_create_student("cyd", email="eve.e@x.edu")
    done = _run(graded, name)
    assert done.exit_code == 0, done.stderr
    text = (graded.exports / f"{name}.csv").read_text(encoding="utf-8")
    assert eve in text
    assert "ada" in text


def test_folders_that_differ_only_in_case_keep_their_own_names(graded: Course) -> None:
    """Without a roster each is found in the class list as it is spelt."""
    record(graded, *(hand_in(graded, each, **RIGHT).parent.parent.name for each in ("Ada", "ADA")))
    assert _run(graded, "course").exit_code == 0
    assert {"Ada", "ADA", "ada"} <= {
        row.partition(",")[0] for row in (graded.exports / "course.csv").read_text(encoding="utf-8").splitlines()
    }


def test_an_export_for_canvas_without_its_gradebook_says_what_it_holds(graded: Course, tmp_path: Path) -> None:
    """Logins: that is right only where students' ids are logins."""
    own, canvas = tmp_path / "own.csv", tmp_path / "canvas.csv"
    own.write_text("student id,name\nada,Ada L\n", encoding="utf-8")
    canvas.write_text(f"Student,ID,SIS User ID,SIS Login ID,Section,{LESSON} (1)\nA,7,1,ada,S,\n", encoding="utf-8")
    said = "Canvas finds students by login"
    assert said in _run(graded, "canvas").stderr
    assert said in _run(graded, "canvas", "--roster", own).stderr
    assert said not in _run(graded, "canvas", "--roster", canvas).stderr


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-pretrained.txt"])
def test_a_course_without_the_projects_files_is_told_which(graded: Course, name: str) -> None:
    """One line names the file, and where to get it."""
    if name != "requirements.txt":
        (graded.root / "requirements.txt").write_text("torch==2.13.0\n")
    done = _run(graded, "gradescope-autograder", "3")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert f"no {name} in the course folder" in done.stderr


def test_moodle_needs_its_own_worksheet(graded: Course, roster_file: Path) -> None:
    """One line says which file."""
    done = _run(graded, "moodle", "--roster", roster_file)
    assert done.exit_code == 2
    assert "fills in its grading worksheet" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("extra", "noted"), [(0.0, False), (0.5, True)])
def test_scores_that_moodle_would_ignore_are_named(
    graded: Course, tmp_path: Path, extra: float, noted: bool
) -> None:
    """Extra credit can take a score above the maximum, and Moodle's import says nothing of it."""
    with Gradebook(f"sqlite:///{graded.gradebook}", "transformer") as opened:
        opened.find_grade("why", LESSON, LESSON, "ada").extra_credit = extra
        opened.db.commit()
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text("Identifier,Email address,Grade,Last modified (grade)\nParticipant 1,ada@x.edu,,-\n")
    done = _run(graded, "moodle", "3", "--roster", worksheet)
    assert done.exit_code == 0, done.stderr
    assert ("so Moodle ignores them: the scores of ada" in done.stderr) is noted


def test_a_folder_that_cannot_be_made_gets_one_line(graded: Course, tmp_path: Path) -> None:
    """With exit status 2; here a file is in the way."""
    (tmp_path / "file").touch()
    done = _run(graded, "course", "--folder", tmp_path / "file" / "out")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("autograder: ")


def test_a_roster_that_is_not_there_gets_one_line(graded: Course, tmp_path: Path) -> None:
    """With exit status 2."""
    done = _run(graded, "canvas", "--roster", tmp_path / "none.csv")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)


@pytest.fixture
def listed(graded: Course) -> Course:
    """Ada's e-mail on the class list has nothing of her id in it."""
    with Gradebook(f"sqlite:///{graded.gradebook}", "transformer") as opened:
        opened.update_or_create_student("ada", first_name="Ada", last_name="King", email="countess@x.edu")
    return graded


def test_the_class_lists_email_finds_a_row_of_moodles(listed: Course, tmp_path: Path) -> None:
    """A worksheet without ids has the grade and the feedback of everybody on the class list."""
    assert feedback_exporter.make_pages(listed, LESSON, ["ada"]) == {}
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        "Identifier,Full name,ID number,Email address,Grade,Maximum grade,Last modified (grade)\n"
        "Participant 1,A King,,Countess@x.edu,,20.00,-\n"
    )
    done = _run(listed, "moodle", "3", "--roster", worksheet)
    assert done.exit_code == 0, done.stderr
    assert "4 students are not on the roster: bo; cyd; di; eve\n" in done.stderr
    assert "handed in nothing" not in done.stderr
    (row,) = csv.DictReader((listed.exports / f"moodle-{LESSON}.csv").read_text(encoding="utf-8-sig").splitlines())
    assert row["Grade"] == "20.0"
    with zipfile.ZipFile(listed.exports / f"moodle-{LESSON}-feedback.zip") as zipped:
        assert f"A King_1_assignfeedback_file/{LESSON}.html" in zipped.namelist()


@pytest.mark.parametrize(("name", "ada"), [("course", "ada,Ada King,countess@x.edu,"), ("nbgrader", "ada,King,Ada,countess@x.edu,")])
def test_a_row_keeps_name_and_email_of_the_class_list(listed: Course, tmp_path: Path, name: str, ada: str) -> None:
    """A roster adds what the class list lacks, and takes nothing away from who is not on it."""
    roster = tmp_path / "roster.csv"
    roster.write_text("name,email\nA. K.,countess@x.edu\nBo Lee,bo@x.edu\n", encoding="utf-8")
    assert _run(listed, name, "3", "--roster", roster).exit_code == 0
    text = (listed.exports / f"{name}.csv").read_text(encoding="utf-8-sig")
    eve = "eve,Eve Example,," if name == "course" else "eve,Example,Eve,,"
    assert all(each in text for each in (ada, "Bo Lee", eve))
    assert "A. K." not in text


@pytest.mark.parametrize(("points", "noted"), [("100", True), ("20", False), ("20,00", False), ("(read only)", False)])
def test_points_that_differ_in_canvas_are_noted(graded: Course, tmp_path: Path, points: str, noted: bool) -> None:
    """Canvas keeps its own, so 20 of 20 would be 20 of 100 there."""
    roster = tmp_path / "canvas.csv"
    roster.write_text(
        f'Student,ID,SIS User ID,SIS Login ID,Section,{LESSON} (1)\n    Points Possible,,,,,"{points}"\nA,7,1,ada,S,\n'
    )
    done = _run(graded, "canvas", "--roster", roster)
    assert done.exit_code == 0, done.stderr
    said = (
        f"note: '{LESSON} (1)' has 100 points in Canvas, and {LESSON} has 20: Canvas keeps its own, so set the points "
        "of the assignment to 20 there\n"
    )
    assert (said in done.stderr) is noted
    assert ("points in Canvas" in done.stderr) is noted


@pytest.mark.parametrize("name", ["nbgrader", "canvas", "moodle", "course"])
def test_no_export_makes_one_person_of_two_folders(graded: Course, tmp_path: Path, name: str) -> None:
    """It is refused, the folders are named, and no file is written."""
    record(graded, *(hand_in(graded, each, **RIGHT).parent.parent.name for each in ("Ada", "ADA")))
    roster = tmp_path / "roster.csv"
    roster.write_text("Identifier,Email address,Grade,Last modified (grade)\nParticipant 1,ada@x.edu,,-\n")
    if name == "canvas":
        roster.write_text("Student,SIS Login ID\nAda,ada\n")
    done = _run(graded, name, "3", "--roster", roster)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "the folders 'ADA', 'Ada', 'ada' are all" in done.stderr
    assert not graded.exports.exists()
