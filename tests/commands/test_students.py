"""`autograder students`: who is in the class, and how somebody leaves it without a trace."""

import datetime as dt
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tiny_course import LESSON, RIGHT, hand_in
from tiny_fixtures import ReadGrades, record

from autograder.cli import main
from autograder.model.course import Course
from autograder.reports import feedback_exporter
from autograder.reports.publish import publish
from autograder.storage.attempts import ArrivalLog, AttemptLog, log_error
from autograder.storage.class_list import class_list


def _run(course: Course, *args: str | Path, answer: str = "") -> Result:
    return CliRunner().invoke(main, ["--course", str(course.root), "students", *map(str, args)], input=answer)


def _import(course: Course, text: str) -> Result:
    path = course.root.parent / "class.csv"
    path.write_text(text, encoding="utf-8")
    return _run(course, "--import", path)


@pytest.fixture
def graded(course: Course) -> Course:
    """Quirina and Zebulon are graded, with pages and reports, an entry in the log of errors, and an export."""
    for student in ("quirina", "zebulon"):
        hand_in(course, student, **RIGHT)
        log_error(course.reports, dt.datetime.now(dt.UTC), f"{student}, {LESSON}", f"KeyError: {student} broke")
    record(course, "quirina", "zebulon")
    assert feedback_exporter.make_pages(course, LESSON, ["quirina", "zebulon"]) == {}
    publish(course, [LESSON])
    AttemptLog(course.reports).export()
    (course.exports / "gradescope" / LESSON / "quirina").mkdir(parents=True)
    ArrivalLog(course.reports).add(f"quirina/{LESSON}/1", "quirina", LESSON, "")
    return course


def _traces(course: Course, student: str) -> list[str]:
    """Return the files that name a student in their path or their text; neither databases nor exports."""
    return sorted(
        str(path.relative_to(course.root))
        for path in course.root.rglob("*")
        if not path.is_relative_to(course.exports) and (
            student in path.relative_to(course.root).parts
            or (path.suffix in (".html", ".csv", ".jsonl", ".log") and student in path.read_text(encoding="utf-8"))
        )
    )


def _rows(course: Course) -> str:
    """Return all rows of the database of attempts and arrivals."""
    with closing(sqlite3.connect(course.reports / "attempts.db")) as database:
        return "\n".join(database.iterdump())


def test_a_list_of_your_own_becomes_the_class_list(course: Course) -> None:
    """Twice is once, and a name that changed is changed."""
    assert _import(course, "student id,name,email\nada,Ada L,a@x.edu\nbo,,\n").output == (
        "2 students added, 0 changed, 0 as before\nadded: ada; bo\n"
    )
    done = _import(course, "student id,name,email\nada,Ada King,\nbo,,\ncyd,,\n")
    assert done.output == "1 student added, 1 changed, 1 as before\nadded: cyd\nada: name 'Ada L' → 'Ada King'\n"
    assert [(each.student, each.first_name, each.email) for each in class_list(course)] == [
        ("ada", "Ada King", "a@x.edu"), ("bo", "", ""), ("cyd", "", ""),
    ]  # fmt: skip


def test_what_an_import_changed_is_named(course: Course) -> None:
    """Each name and e-mail from what to what, of as many people as a line names; a program gets all of it."""
    names = [f"s{number:02}" for number in range(13)]
    _import(course, "student id,name\n" + "".join(f"{name},Old\n" for name in names))
    newer = "student id,name,email\n" + "".join(f"{name},New,{name}@x.edu\n" for name in names)
    told = _import(course, newer).output.splitlines()
    assert told[0] == "0 students added, 13 changed, 0 as before"
    assert told[1] == "s00: name 'Old' → 'New', e-mail none → 's00@x.edu'"
    assert told[10:] == ["s09: name 'Old' → 'New', e-mail none → 's09@x.edu'", "and 3 more"]
    (course.root.parent / "newest.csv").write_text("student id,email\ns00,new@x.edu\n")
    found = json.loads(_run(course, "--import", course.root.parent / "newest.csv", "--json").stdout)
    (changed,) = found["changed"]
    assert changed == {
        "before": {"student": "s00", "first_name": "New", "last_name": "", "email": "s00@x.edu"},
        "after": {"student": "s00", "first_name": "New", "last_name": "", "email": "new@x.edu"},
    }


def test_the_first_command_of_a_course_makes_its_gradebook(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the environment was not activated, and so nbgrader's own programs are not on the path."""
    course.gradebook.unlink()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = _import(course, "student id\nada\n")
    assert (done.exit_code, done.output) == (0, "1 student added, 0 changed, 0 as before\nadded: ada\n"), done.stderr


def test_a_gradebook_of_canvas_gives_names_in_two_parts(course: Course) -> None:
    """The id is the login."""
    done = _import(course, 'Student,ID,SIS User ID,SIS Login ID,Section\n"King, Ada",1,77,ada,A\n')
    assert done.exit_code == 0, done.stderr
    (ada,) = class_list(course)
    assert (ada.student, ada.first_name, ada.last_name) == ("ada", "Ada", "King")


def test_another_systems_file_does_not_mix_two_names(course: Course) -> None:
    """A name in one piece replaces first and last name, but where they read the same, the two parts stay."""
    _import(course, 'Student,ID,SIS Login ID\n"Kovács, Béla",1,bela\n"King, Ada",2,ada\n')
    done = _import(course, "student id,name\nbela,Bela Kovacs\nada,Ada King\n")
    assert done.output == "0 students added, 1 changed, 1 as before\nbela: name 'Béla Kovács' → 'Bela Kovacs'\n"
    names = {each.student: (each.first_name, each.last_name) for each in class_list(course)}
    assert names == {"bela": ("Bela Kovacs", ""), "ada": ("Ada", "King")}


def test_who_is_not_in_the_newer_file_is_named(course: Course) -> None:
    """They stay: somebody else decides who has left the course."""
    _import(course, "student id\nada\nbo\ncyd\n")
    done = _import(course, "student id\nbo\n")
    assert done.output.splitlines()[1:] == ["2 students of the class not in the file, and left as before: ada; cyd"]
    assert len(class_list(course)) == 3


def test_many_who_are_not_in_the_file_are_counted(course: Course) -> None:
    """Some of them are named."""
    _import(course, "student id\n" + "".join(f"s{number:02}\n" for number in range(13)))
    told = _import(course, "student id\ns12\n").output.splitlines()[1]
    assert told == (
        "12 students of the class not in the file, and left as before: "
        + "; ".join(f"s{number:02}" for number in range(10))
        + "; and 2 more"
    )


def test_who_handed_in_before_keeps_the_folders_name(course: Course) -> None:
    """Folders may be named after another column than the one that an id would be made of."""
    hand_in(course, "77", **RIGHT)
    assert _import(course, "email,id number\nada@x.edu,77\nbo@x.edu,78\n").exit_code == 0
    assert [each.student for each in class_list(course)] == ["77", "bo"]


@pytest.mark.parametrize(
    "text",
    [
        "Identifier,Full name,Email address,Maximum grade\nParticipant 1,Jörg Müller,Joerg@uni.example,20\n",
        'Student,ID,SIS User ID,SIS Login ID,Section\n"Müller, Jörg",1,muell01,muell01@uni.example,A\n',
        'Student,ID,SIS User ID,SIS Login ID,Section\n"Müller, Jörg",1,77,joerg@uni.example,A\n',
    ],
)
def test_who_is_on_the_class_list_does_not_become_two_people(course: Course, text: str) -> None:
    """An export of Canvas or Moodle may know them by the e-mail, or by an id beside another login."""
    _import(course, "student id,name,email\nmuell01,Jörg Müller,joerg@uni.example\n")
    done = _import(course, text)
    assert done.exit_code == 0, done.stderr
    assert [each.student for each in class_list(course)] == ["muell01"]


def test_another_id_for_an_email_of_the_class_list_is_refused(course: Course) -> None:
    """Two ids may be one person's or two people's: the message names both, and nobody is changed."""
    _import(course, "student id,name,email\nmuell01,Jörg Müller,joerg@uni.example\n")
    done = _import(course, "student id,name,email\njm42,J. M.,joerg@uni.example\n")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "'jm42' on the roster has the e-mail of 'muell01' on the class list: one person has one id" in done.stderr
    assert [each.full_name for each in class_list(course)] == ["Jörg Müller"]


@pytest.mark.parametrize("listed", ["ben,Ben Own,ben@x.edu", "ben,Ben Own,", ""])
def test_ids_that_differ_only_in_case_are_not_taken_for_one_person(course: Course, listed: str) -> None:
    """The message names both, and nobody is changed; the same e-mail says that they are one."""
    if listed:
        _import(course, f"student id,name,email\n{listed}\n")
    else:
        hand_in(course, "ben", **RIGHT)
    before = class_list(course)
    for email in ("other@x.edu", ""):
        done = _import(course, f"student id,name,email\nBEN,Benjamin Other,{email}\n")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert "'BEN' on the roster and 'ben' in the class differ only in case" in done.stderr
        assert class_list(course) == before
    done = _import(course, "student id,name,email\nBEN,Ben O.,Ben@x.edu\n")
    assert done.exit_code == (0 if "@" in listed else 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("student id\n../ada\n", "cannot be a student's id"),
        ("email\nada@x.edu\nAda@y.edu\n", "differ only in case"),
        (
            "email,name\nann@math.x.edu,Ann Lee\nann@phys.x.edu,Ann Wu\nbo@x.edu,\n",
            "the id 'ann' would be that of 'Ann Lee', 'Ann Wu' on the roster: add a column 'student id'",
        ),
        ("colour\nred\n", "no column to know students by"),
        ("student id,name\n,\n", "names nobody"),
    ],
)
def test_what_cannot_be_a_class_list_adds_nobody(course: Course, text: str, said: str) -> None:
    """With one line and status 2."""
    done = _import(course, text)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr
    assert class_list(course) == []


def test_the_list_shows_what_each_handed_in(course: Course) -> None:
    """Also who is not on it; for a program as JSON."""
    assert "nobody is on the class list" in _run(course).output
    _import(course, "student id,name\nada,Ada\nbo,\n")
    hand_in(course, "ada", **RIGHT)
    hand_in(course, "zoe", **RIGHT)
    told = _run(course).output
    assert [line.split() for line in told.splitlines() if line.strip().startswith("ada")] == [["ada", "Ada", "03"]]
    assert "2 students\n1 handed in, and not on the list until graded: zoe\n" in told
    rows = json.loads(_run(course, "--json").output)["students"]
    assert [(row["student"], row["handed_in"]) for row in rows] == [("ada", [LESSON]), ("bo", [])]


def test_an_empty_folder_is_no_lesson_handed_in(course: Course) -> None:
    """The reports call the student absent; a file of any other kind counts."""
    _import(course, "student id\nada\nbo\n")
    for student in ("ada", "bo", "zoe"):
        course.submission(student, LESSON).parent.mkdir(parents=True)
    course.submission("bo", LESSON).with_name("answers.pdf").write_text("x")
    rows = json.loads(_run(course, "--json").output)["students"]
    assert [(row["student"], row["handed_in"]) for row in rows] == [("ada", []), ("bo", [LESSON])]
    assert "zoe" not in _run(course).output


def test_a_student_who_is_removed_leaves_nothing(graded: Course, grades: ReadGrades) -> None:
    """Neither work nor scores, in no file; everybody else's are as they were."""
    before = grades("zebulon")
    assert _traces(graded, "quirina")
    done = _run(graded, "--remove", "quirina", answer="y\n")
    assert done.exit_code == 0, done.stderr
    assert "Remove quirina with all submissions, feedback and scores, and with 1 graded attempt? This can't be undone." in done.output
    assert "quirina" not in _rows(graded)
    assert _traces(graded, "quirina") == []
    assert [each.student for each in class_list(graded)] == ["zebulon"]
    assert AttemptLog(graded.reports).of_student("quirina") == {}
    assert grades("zebulon") == before
    assert "zebulon" in (graded.reports / f"{LESSON}.csv").read_text()
    assert "zebulon broke" in (graded.reports / "grader-errors.log").read_text()


def test_what_was_exported_stays(graded: Course) -> None:
    """It says so: the files may have been given to another system. So does what was downloaded from one."""
    (graded.root / "downloaded").mkdir()
    done = _run(graded, "--remove", "quirina", "--yes")
    assert "the files in exports/ and downloaded/ stay as they are" in done.stderr
    assert (graded.exports / "gradescope" / LESSON / "quirina").is_dir()


def test_the_last_student_takes_the_lessons_pages_along(graded: Course) -> None:
    """No file still names them."""
    assert _run(graded, "--remove", "quirina", "--remove", "zebulon", "--yes").exit_code == 0
    assert _traces(graded, "quirina") == _traces(graded, "zebulon") == []
    assert "Nothing has been graded yet" in (graded.reports / "class.html").read_text()


def test_nobody_is_removed_without_a_yes(graded: Course) -> None:
    """Everything stays."""
    before = _traces(graded, "quirina")
    assert _run(graded, "--remove", "quirina", answer="\n").exit_code == 1
    assert _traces(graded, "quirina") == before
    assert len(class_list(graded)) == 2


@pytest.mark.parametrize("name", ["nobody", "..", "../..", ""])
def test_only_a_student_can_be_removed(graded: Course, name: str) -> None:
    """A folder outside is none."""
    done = _run(graded, "--remove", name, "--yes")
    assert done.exit_code == 2
    assert "no student" in done.stderr
    assert graded.submitted.is_dir()


def test_if_one_is_no_student_nobody_is_removed(graded: Course) -> None:
    """Not even those who are named before."""
    assert _run(graded, "--remove", "quirina", "--remove", "quirin", "--yes").exit_code == 2
    assert len(class_list(graded)) == 2


def test_import_and_remove_do_not_go_together(course: Course, tmp_path: Path) -> None:
    """Nothing is done."""
    path = tmp_path / "class.csv"
    path.write_text("student id\nbo\n")
    done = _run(course, "--import", path, "--remove", "ada")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert class_list(course) == []


def test_a_program_reads_what_was_done(graded: Course, tmp_path: Path) -> None:
    """One document each; questions and notes go to standard error."""
    path = tmp_path / "class.csv"
    path.write_text("student id,name\nbo,Bo\n,Cy\nzebulon,\n")
    done = _run(graded, "--import", path, "--json")
    assert json.loads(done.stdout) == {
        "added": ["bo"], "changed": [], "as_before": ["zebulon"], "not_in_file": ["quirina"],
    }  # fmt: skip
    assert "line 3 (Cy)" in done.stderr
    done = _run(graded, "--remove", "bo", "--remove", "quirina", "--json", answer="y\ny\n")
    assert json.loads(done.stdout) == {"removed": ["bo", "quirina"]}
