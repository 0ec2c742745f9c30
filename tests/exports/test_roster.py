"""A roster is read whoever made it: by hand, by Canvas, or by Moodle."""

from pathlib import Path

import pytest

from autograder.exports.roster import Roster, read_roster
from autograder.model.errors import CourseError
from autograder.storage.class_list import Listed

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,03_tiny (77)\n"
    "    Points Possible,,,,,20\n"
    '"Lovelace, Ada",501,1001,ada,Group A,\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade)\n"
    "Participant 9001,Ada Lovelace,ada@example.edu,Submitted,,20.00,-\n"
)
CLASS = [Listed("muell01", "Jörg", "Müller", "Joerg@uni.example"), Listed("joerg", "Jörg", "Meier", "j.meier@uni.example")]


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


@pytest.mark.parametrize("name", ["Student, Test", "Test Student"])
def test_canvas_test_student_is_left_out(tmp_path: Path, name: str) -> None:
    """Who has a login, but hands in nothing. In a list of your own, the name is anybody's."""
    roster = _read(tmp_path, f'{CANVAS}"{name}",502,,8d0d5e1f,Group A,\n')
    assert [each.student_id for each in roster.people] == ["ada"]
    assert roster.notes == [f"Canvas' test student was left out: '{name}'"]
    own = _read(tmp_path, f'student id,name\ntest,"{name}"\n')
    assert (len(own.people), own.notes) == (1, [])


def test_a_row_without_an_id_is_named(tmp_path: Path) -> None:
    """An empty row is not, nor are Canvas' rows about its columns."""
    roster = _read(tmp_path, "student id,name,group\nada,Ada,1\n,Bo Lee,1\n,,\n,,2\n")
    assert [each.student_id for each in roster.people] == ["ada"]
    (note,) = roster.notes
    assert note.endswith("there is no student id, login, id number or e-mail in it: line 3 (Bo Lee); line 5")
    assert _read(tmp_path, f"{CANVAS},,,,,Manual Posting\n").notes == []


@pytest.mark.parametrize("separator", [";", "\t"])
def test_what_a_spreadsheet_saves_is_read(tmp_path: Path, separator: str) -> None:
    """With its byte order mark, its separator, and headings in either case."""
    text = separator.join(("USERNAME", "E-Mail")) + "\n" + separator.join(("ada", "a@b.c")) + "\n"
    (ada,) = _read(tmp_path, text, "utf-8-sig").people
    assert (ada.student, ada.email) == ("ada", "a@b.c")


def test_a_row_with_too_few_cells_or_empty_ones_at_its_end_is_read(tmp_path: Path) -> None:
    """Spreadsheets save both."""
    people = _read(tmp_path, "username,email\nada\nbo,bo@b.c,, \n").people
    assert [(each.student, each.email) for each in people] == [("ada", ""), ("bo", "bo@b.c")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("ada,Lovelace, Ada,ada@b.c\nbo,Bo,bo@b.c\n", "line 2 of the roster .* has 4 cells, and there are 3 headings"),
        ('ada,"Lovelace, Ada,ada@b.c\nbo,Bo,bo@b.c\n', "is a quotation mark left open"),
    ],
)
def test_a_row_that_would_become_another_persons_is_refused(tmp_path: Path, rows: str, said: str) -> None:
    """A name's comma moves what is behind it, and an open quotation mark swallows the lines below."""
    with pytest.raises(CourseError, match=said):
        _read(tmp_path, "username,name,email\n" + rows)


def test_an_id_number_may_hold_a_slash(tmp_path: Path) -> None:
    """Only Moodle's German word makes a roster a German one."""
    assert [each.number for each in _read(tmp_path, "login,ID number\nada,CS/B123\n").people] == ["CS/B123"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour,size\nred,3\n", "no column to know students by"),
        (
            'ID,"Vollständiger Name",ID-Nummer,E-Mail-Adresse\nTeilnehmer/in501,"Jörg Müller",7,j@x.org\n',
            "are not the expected ones: if it comes from Canvas or Moodle, export it in English",
        ),
        ("Identifiant,Nom complet,Adresse de courriel\nParticipant 501,Zoé Petit,z@x.org\n", "export it in English"),
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


def test_a_folder_that_could_be_two_peoples_is_refused(tmp_path: Path) -> None:
    """The same name at two domains, or a name that is another's id number: a guess could give away a score."""
    roster = _read(tmp_path, "email\nada@one.edu\nada@two.edu\n")
    with pytest.raises(CourseError, match=r"'ada' could be that of 'ada@one.edu', 'ada@two.edu'"):
        roster.find("ada")
    assert roster.find("ada@two.edu") is roster.people[1]
    roster = _read(tmp_path, "name,email,id number\nWeb B,web@x.edu,7\nEve E,eve@x.edu,web\n")
    with pytest.raises(CourseError, match=r"'web' could be that of 'Web B', 'Eve E'.*column 'student id'"):
        roster.find("web")


@pytest.mark.parametrize(
    "row", ["joerg@uni.example,,", "alias@uni.example,joerg@uni.example,", ",muell01,", "alias@uni.example,,MUELL01"]
)
def test_a_student_is_found_by_the_class_lists_email(tmp_path: Path, row: str) -> None:
    """As by an id or a login, in either case; an e-mail may stand under either heading."""
    roster = _read(tmp_path, f"email,login,id number\nada@uni.example,ada,7\n{row}\n").with_emails(CLASS[:1])
    assert roster.find("muell01") is roster.people[1]
    assert roster.known(["ada", "muell01"]) == {"ada": roster.people[0], "muell01": roster.people[1]}


def test_the_class_lists_email_tells_more_than_a_name_before_the_at(tmp_path: Path) -> None:
    """So that one Jörg does not get the other's scores, nor are both one."""
    roster = _read(tmp_path, "email\njoerg@uni.example\nj.meier@uni.example\n").with_emails(CLASS)
    first, second = roster.people
    assert roster.known(["joerg", "muell01"]) == {"joerg": second, "muell01": first}


def test_who_has_another_email_than_the_class_list_is_somebody_else(tmp_path: Path) -> None:
    """The name before the @ is the same: neither a score, nor a feedback page, nor a folder goes to them."""
    listed = [Listed("bela", "Bela", "B", "bela@uni.example")]
    roster = _read(tmp_path, "name,email\nChris Bird,bela@gmail.example\n").with_emails(listed)
    assert roster.find("bela") is None
    with pytest.raises(CourseError, match="'Chris Bird' on the roster would be 'bela', whose e-mail on the class list is"):
        roster.folders(["bela"])
    roster = _read(tmp_path, "student id,name,email\nbela,Bela B,new@uni.example\n").with_emails(listed)
    assert roster.find("bela") is roster.people[0]  # an id says who it is, and the list may be out of date
    assert roster.folders(["bela"]) == ["bela"]


def test_an_email_and_an_id_that_are_two_peoples_are_refused(tmp_path: Path) -> None:
    """A guess could give away a score; the message names both."""
    roster = _read(tmp_path, "name,email,id number\nJ M,joerg@uni.example,7\nEve,eve@x.edu,muell01\n")
    with pytest.raises(CourseError, match="'muell01' could be that of 'J M', 'Eve'"):
        roster.with_emails(CLASS).find("muell01")


def test_two_folders_of_one_email_are_never_one_person(tmp_path: Path) -> None:
    """The message says what becomes of the work in them."""
    roster = _read(tmp_path, "name,email\nJ M,joerg@uni.example\n").with_emails(CLASS[:1])
    with pytest.raises(CourseError, match=r"'joerg', 'muell01' are all J M.*move the work to the right one in submitted/"):
        roster.known(["joerg", "muell01"])


def test_a_student_id_says_whose_folder_it_is(tmp_path: Path) -> None:
    """Whatever else has the same text."""
    roster = _read(tmp_path, "student id,id number\nweb,7\neve,web\n")
    assert roster.find("web") is roster.people[0]


@pytest.mark.parametrize("folders", [("anna", "Anna"), ("anna", "ANNA", "77"), ("77", "anna@x.edu")])
def test_two_folders_are_never_one_person(tmp_path: Path, folders: tuple[str, ...]) -> None:
    """The message names them, and the person."""
    roster = _read(tmp_path, "name,email,id number\nAnna A,anna@x.edu,77\nBo,bo@x.edu,78\n")
    said = ", ".join(f"'{each}'" for each in folders)
    with pytest.raises(CourseError, match=f"the folders {said} are all Anna A on the roster"):
        roster.known(["bo", *folders])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_unicode_text_of_a_spreadsheet_is_read(tmp_path: Path, encoding: str) -> None:
    """Excel calls UTF-16 "Unicode text"."""
    (person,) = _read(tmp_path, "username\tname\nzoe\tZoë\n", encoding).people
    assert (person.student, person.name) == ("zoe", "Zoë")


def test_text_in_another_encoding_says_how_to_save_it(tmp_path: Path) -> None:
    """Not which byte could not be decoded."""
    with pytest.raises(CourseError, match=r"not Unicode text; save it as 'CSV UTF-8'$"):
        _read(tmp_path, "username,name\nzoe,Zoë\n", "latin-1")


@pytest.mark.parametrize(
    ("headings", "system"),
    [(CANVAS, "Canvas"), (MOODLE, "Moodle"), ("student id,email\nada,a@b.c\n", "")],
)
def test_a_roster_knows_where_it_comes_from(tmp_path: Path, headings: str, system: str) -> None:
    """So that no format takes another's."""
    assert _read(tmp_path, headings).system == system


@pytest.mark.parametrize(
    ("text", "student_id", "names"),
    [
        (CANVAS, "ada", ("Ada", "Lovelace")),
        (MOODLE, "ada", ("Ada Lovelace", "")),
        ("id number,first name,last name\n7,Ada,King\n", "7", ("Ada", "King")),
    ],
)
def test_a_class_list_can_be_made_of_any_roster(
    tmp_path: Path, text: str, student_id: str, names: tuple[str, str]
) -> None:
    """With a folder's name for everybody, and names as far as they are known."""
    (person,) = _read(tmp_path, text).people
    assert (person.student_id, person.both_names) == (student_id, names)
