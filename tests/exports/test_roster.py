"""A roster is read whoever made it: by hand, by Canvas, or by Moodle."""

from pathlib import Path

import pytest

from autograder.exports.roster import Roster, read_roster
from autograder.model.errors import CourseError

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,03_tiny (77)\n"
    "    Points Possible,,,,,20\n"
    '"Lovelace, Ada",501,1001,ada,Group A,\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade)\n"
    "Participant 9001,Ada Lovelace,ada@example.edu,Submitted,,20.00,-\n"
)


def _read(folder: Path, text: str, encoding: str = "utf-8") -> Roster:
    path = folder / "roster.csv"
    path.write_text(text, encoding=encoding)
    return read_roster(path)


def test_a_list_of_your_own(roster_file: Path) -> None:
    """Names with commas and accents come through; both parts make the full name."""
    roster = read_roster(roster_file)
    cyd, zoe = roster.find("cyd"), roster.find("zoe")
    assert cyd is not None
    assert zoe is not None
    assert (cyd.full_name, cyd.email, cyd.number) == ("Cyd O'Neill, Jr", "cyd@example.edu", "1003")
    assert zoe.first_name == "Zoë"
    assert roster.find("nobody") is None


def test_a_gradebook_from_canvas(tmp_path: Path) -> None:
    """Its Student is a name and its ID is Canvas' own; the row of points is no person."""
    (ada,) = _read(tmp_path, CANVAS).people
    assert (ada.name, ada.canvas_id, ada.number, ada.login) == ("Lovelace, Ada", "501", "1001", "ada")


def test_a_worksheet_from_moodle(tmp_path: Path) -> None:
    """A student is known by the e-mail, with or without its domain."""
    roster = _read(tmp_path, MOODLE, "utf-8-sig")
    assert roster.find("ada") is roster.find("ada@example.edu")
    ada = roster.find("ADA")
    assert ada is not None
    assert ada.moodle_id == "Participant 9001"


@pytest.mark.parametrize("separator", [";", "\t"])
def test_what_a_spreadsheet_saves_is_read(tmp_path: Path, separator: str) -> None:
    """With its byte order mark, its separator, and headings in either case."""
    text = separator.join(("USERNAME", "E-Mail")) + "\n" + separator.join(("ada", "a@b.c")) + "\n"
    (ada,) = _read(tmp_path, text, "utf-8-sig").people
    assert (ada.student, ada.email) == ("ada", "a@b.c")


def test_a_row_with_too_many_or_too_few_cells_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Neither stops the export."""
    people = _read(tmp_path, "username,email\nada\nbo,bo@b.c,more,still more\n").people
    assert [(each.student, each.email) for each in people] == [("ada", ""), ("bo", "bo@b.c")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour,size\nred,3\n", "no column to know students by"),
        ("", "found nothing"),
        ("username\nada\nADA\n", "two rows of 'ada'"),
    ],
)
def test_a_file_that_is_no_roster_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """The message says what is wrong with it."""
    with pytest.raises(CourseError, match=said):
        _read(tmp_path, text)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Absent, or not text."""
    with pytest.raises(CourseError, match="cannot read the roster"):
        read_roster(tmp_path / "none.csv")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\xff\xfe\x00")
    with pytest.raises(CourseError, match="cannot read the roster"):
        read_roster(tmp_path / "picture.csv")


def test_two_people_who_could_be_meant_are_nobody(tmp_path: Path) -> None:
    """The same name at two domains is ambiguous; a guess could give away a score."""
    roster = _read(tmp_path, "email\nada@one.edu\nada@two.edu\n")
    assert roster.find("ada") is None
    assert roster.find("ada@two.edu") is roster.people[1]
