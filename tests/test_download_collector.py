"""What Canvas and Moodle give as a download is sorted by nbgrader's own command, under the students' ids."""

import zipfile

import pytest
from test_nbgrader_plugin import Command, nbgrader  # noqa: F401 - a fixture
from tiny_course import LESSON, hand_in
from tiny_fixtures import built, course, same_grader  # noqa: F401 - fixtures

from autograder.model.course import Course
from autograder.storage.class_list import Listed, add_students

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section
"Lovelace, Ada",1234,77,ada,A
"Hopper, Grace",1235,78,grace,A
"""
MOODLE = """Identifier,Full name,Email address,Maximum grade
Participant 1234,Ada Lovelace,ada@example.edu,20
Participant 1235,Grace Hopper,grace@example.edu,20
"""
DOWNLOADS = {
    "canvas": (CANVAS, f"lovelaceada_1234_567890_{LESSON}.ipynb", f"hopper_LATE_1235_567891_{LESSON}-1.ipynb"),
    "moodle, in folders": (
        MOODLE,
        f"Ada Lovelace_1234_assignsubmission_file/{LESSON}.ipynb",
        f"Grace Hopper_1235_assignsubmission_file_/{LESSON}.ipynb",
    ),
    "moodle, flat": (
        MOODLE,
        f"Ada Lovelace_1234_assignsubmission_file_{LESSON}.ipynb",
        f"Grace Hopper_1235_assignsubmission_file_{LESSON}.ipynb",
    ),
}


def download(course: Course, roster: str, *names: str) -> None:
    """Put a download and a roster where an instructor would."""
    (course.root / "roster.csv").write_text(roster)
    archive = course.root / "downloaded" / LESSON / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "submissions.zip", "w") as download:
        for name in names:
            download.write(course.release_notebook(LESSON), name)


def handed_in(course: Course) -> set[str]:
    """Return the notebooks under `submitted`."""
    return {path.relative_to(course.submitted).as_posix() for path in course.submitted.rglob("*.ipynb")}


@pytest.mark.parametrize(("roster", "first", "second"), DOWNLOADS.values(), ids=DOWNLOADS)
def test_each_notebook_goes_to_its_student(
    course: Course, nbgrader: Command, roster: str, first: str, second: str
) -> None:
    """Under the id that the class list has for the person; late, and as a second attempt, too."""
    download(course, roster, first, second)
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 0
    assert handed_in(course) == {f"{student}/{LESSON}/{LESSON}.ipynb" for student in ("ada", "grace")}


@pytest.mark.parametrize(("roster", "name"), [
    ("Student,ID,SIS User ID,SIS Login ID,Section\nJ M,1234,muell01,muell01@uni.example,A\n", "jm_1234_5_{}.ipynb"),
    ("Student,ID,SIS User ID,SIS Login ID,Section\nJ M,1234,,joerg@uni.example,A\n", "jm_1234_5_{}.ipynb"),
    ("Identifier,Email address,Maximum grade\nParticipant 1234,joerg@uni.example,20\n", "J M_1234_assignsubmission_file_{}.ipynb"),
])  # fmt: skip
def test_who_is_on_the_class_list_has_that_folder(course: Course, nbgrader: Command, roster: str, name: str) -> None:
    """Found by id or e-mail, whatever the login is."""
    add_students(course, [Listed("muell01", "Jörg", "Müller", "joerg@uni.example")])
    download(course, roster, name.format(LESSON))
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 0
    assert handed_in(course) == {f"muell01/{LESSON}/{LESSON}.ipynb"}


def test_one_person_with_two_folders_is_named(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """With what to do about the work that lies in the wrong one; nothing is sorted."""
    add_students(course, [Listed("muell01", "Jörg", "Müller", "joerg@uni.example")])
    hand_in(course, "joerg")
    roster = MOODLE.replace("ada@example.edu", "joerg@uni.example")
    download(course, roster, DOWNLOADS["moodle, flat"][1])
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 1
    assert "the folders 'joerg', 'muell01' are all" in (said := capfd.readouterr().err)
    assert "move the work to the right one in submitted/" in said
    assert handed_in(course) == {f"joerg/{LESSON}/{LESSON}.ipynb"}


@pytest.mark.parametrize(
    ("roster", "name"),
    [
        (CANVAS, "lovelaceada_1234_567890_x_1235_assignsubmission_file_{}.ipynb"),
        (MOODLE, "Ada Lovelace_1234_assignsubmission_file/x_1235_1_{}.ipynb"),
        (MOODLE, "Ada Lovelace_1234_assignsubmission_file_x_1235_assignsubmission_file_{}.ipynb"),
    ],
)
def test_a_name_that_a_student_chose_is_nobody_elses(
    course: Course, nbgrader: Command, roster: str, name: str
) -> None:
    """Only what the system itself writes tells whose a file is."""
    download(course, roster, name.format(LESSON))
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 0
    assert {path.split("/")[0] for path in handed_in(course)} == {"ada"}


def test_a_list_of_ones_own_is_refused(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """It lacks the numbers that the systems write."""
    download(course, "student id,name\nada,Ada\n", f"lovelaceada_1234_567890_{LESSON}.ipynb")
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 1
    assert "neither from Canvas nor from Moodle" in capfd.readouterr().err


def test_of_several_uploads_the_newest_counts(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """It says which is left out, and of whom; everybody else's work is sorted as well."""
    first, newest = f"lovelaceada_1234_567890_{LESSON}-9.ipynb", f"lovelaceada_1234_567899_{LESSON}-10.ipynb"
    download(course, CANVAS, newest, first, DOWNLOADS["canvas"][2])
    archive = course.root / "downloaded" / LESSON / "archive" / "submissions.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for name in (newest, first, DOWNLOADS["canvas"][2]):
            zipped.writestr(name, name)
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 0
    assert handed_in(course) == {f"{student}/{LESSON}/{LESSON}.ipynb" for student in ("ada", "grace")}
    assert course.submission("ada", LESSON).read_text() == newest
    assert f"Lovelace, Ada: '{first}' is left out, because '{newest}' is newer" in capfd.readouterr().err


def test_a_file_with_a_dot_in_its_name_takes_nobodys_place(course: Course, nbgrader: Command) -> None:
    """Of two names that differ only after the first dot, neither is cut to the other."""
    folder = "Ada Lovelace_1234_assignsubmission_file"
    download(course, MOODLE, f"{folder}/{LESSON}.ipynb", f"{folder}/{LESSON}.v2.ipynb")
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 0
    assert handed_in(course) == {f"ada/{LESSON}/{LESSON}{end}.ipynb" for end in ("", ".v2")}


def test_what_nothing_orders_is_left_out_by_name(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """As in two downloads from Moodle."""
    _, first, second = DOWNLOADS["moodle, flat"]
    download(course, MOODLE, f"1/{first}", f"2/{first}", f"1/{second}")
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 0
    assert handed_in(course) == {f"grace/{LESSON}/{LESSON}.ipynb"}
    assert f"Ada Lovelace: 2 files '{first}', and nothing says which is newer: left out" in capfd.readouterr().err


def test_two_people_never_share_a_folder(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two e-mails that differ only after the @ give one id: nothing is sorted."""
    roster = MOODLE.replace("grace@example.edu", "ada@example.org")
    download(course, roster, *DOWNLOADS["moodle, flat"][1:])
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 1
    assert "the id 'ada' would be that of 'Ada Lovelace', 'Grace Hopper'" in capfd.readouterr().err
    assert not handed_in(course)


def test_who_is_not_on_the_roster_is_kept_by_number(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """It says so; what has no number is left out."""
    download(course, CANVAS, f"turing_1236_567892_{LESSON}.ipynb", "notes.ipynb")
    assert nbgrader("zip_collect", LESSON, "--DownloadCollector.roster=roster.csv") == 0
    assert handed_in(course) == {f"1236/{LESSON}/{LESSON}.ipynb"}
    assert "nobody on the roster has the number 1236" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [([], "name the roster of your system"), (["--DownloadCollector.roster=none.csv"], "cannot read the roster")],
)
def test_without_a_roster_nothing_is_sorted(
    course: Course, nbgrader: Command, capfd: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """One line says what is missing."""
    download(course, CANVAS, f"lovelaceada_1234_567890_{LESSON}.ipynb")
    assert nbgrader("zip_collect", LESSON, *arguments) == 1
    assert says in capfd.readouterr().err
    assert not handed_in(course)


def test_a_pattern_of_your_own_is_nbgraders(course: Course, nbgrader: Command) -> None:
    """Files of any other system are sorted by nbgrader's own collector."""
    download(course, "", f"ada-{LESSON}.ipynb")
    pattern = r".*/(?P<student_id>\w+)-(?P<file_id>\w+)\.ipynb"
    assert nbgrader("zip_collect", LESSON, f"--DownloadCollector.named_regexp={pattern}") == 0
    assert handed_in(course) == {f"ada/{LESSON}/{LESSON}.ipynb"}
