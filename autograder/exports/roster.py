"""Who is in the class: names, e-mails and the identifiers of other systems, from a CSV file.

The file may be a list of your own, the gradebook that Canvas exports, or the grading worksheet that
Moodle exports. Columns are recognised by their headings, in any order and in either case.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.model.errors import CourseError
from autograder.model.text import some_of

if TYPE_CHECKING:
    from autograder.storage.class_list import Listed

# The headings under which each field is found; the first that the file has counts.
HEADINGS = {
    "student": ("student id", "student_id", "nbgrader", "username", "user name"),
    "name": ("full name", "name"),
    "first_name": ("first name", "first_name", "given name"),
    "last_name": ("last name", "last_name", "surname", "family name"),
    "email": ("email address", "e-mail address", "email", "e-mail", "mail"),
    "number": ("sis user id", "id number", "idnumber", "number"),
    "login": ("sis login id", "login"),
    "canvas_id": ("canvas id",),
    "section": ("section",),
    "moodle_id": ("identifier",),
}
CANVAS = {"student": "name", "id": "canvas_id"}  # what Canvas means by two plain headings
KEYS = ("student", "login", "number", "email")  # what a student's folder can be named after
IDS = ("canvas_id", "moodle_id")  # what other systems know a person by
MOODLE_ONLY = {"identifier", "maximum grade", "last modified (grade)"}  # headings of no other file
CANVAS_ONLY = {"sis user id", "sis login id"}
GERMAN = re.compile(r"Teilnehmer/in\d+")  # how a German Moodle identifies a person
IN_ENGLISH = "if it comes from Canvas or Moodle, export it in English"
POINTS = "Points Possible"  # the name in Canvas' row of the points of each column
ONE_FOLDER = (
    "one person has one folder; move the work to the right one in submitted/, remove the others with "
    "'autograder students --remove', and grade again"
)
TEST_STUDENT = {"student, test", "test student"}  # whom Canvas adds to every course


@dataclass(frozen=True)
class Person:
    """One row of a roster; what the file does not say is empty. `row` is the row as it stands."""

    student: str = ""
    name: str = ""
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    number: str = ""
    login: str = ""
    canvas_id: str = ""
    section: str = ""
    moodle_id: str = ""
    row: Mapping[str, str] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """The name as the file has it, or else put together from first and last name."""
        return self.name or f"{self.first_name} {self.last_name}".strip()

    @property
    def student_id(self) -> str:
        """What the person's folder is called if nobody says otherwise."""
        return self.student or self.login or self.email.partition("@")[0] or self.number

    @property
    def both_names(self) -> tuple[str, str]:
        """First and last name; a name in one piece without a comma is a first name."""
        last, comma, first = self.name.partition(",")
        if self.first_name or self.last_name or not comma:
            return self.first_name or self.name, self.last_name
        return first.strip(), last.strip()

    def __str__(self) -> str:
        return self.full_name or self.email or self.student_id


@dataclass(frozen=True)
class Roster:
    """The people of a class, the headings of their file, and what a folder may be named after.

    `notes` say, a line each, which rows were left out. `points` are what Canvas says of its columns, by
    heading, and `emails` those of the class list, by folder.
    """

    people: Sequence[Person] = ()
    headings: Sequence[str] = ()
    keys: Sequence[str] = KEYS
    notes: Sequence[str] = ()
    points: Mapping[str, str] = field(default_factory=dict)
    emails: Mapping[str, str] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """The system that exported the file: "Moodle", "Canvas", or '' for a list of your own."""
        return _system(self.headings)

    def names(self, people: Iterable[Person]) -> list[str]:
        """Return the people's names for a message, each with the id if others have the same name."""
        count = Counter(map(str, self.people))
        return [f"{each} ({each.student_id})" if count[str(each)] > 1 else str(each) for each in people]

    @cached_property
    def _texts(self) -> list[tuple[Person, set[str]]]:
        """Each person with all that a folder can be named after."""
        return [(each, {getattr(each, key).casefold() for key in self.keys}) for each in self.people]

    def with_emails(self, class_list: "Iterable[Listed]") -> "Roster":
        """Return the roster with the e-mails of the class list, by which its rows are found as well."""
        return replace(self, emails={each.student: each.email for each in class_list if each.email})

    def find(self, student: str) -> Person | None:
        """Return the person whose submissions are in the folder `student`, if there is one.

        A folder is named after the student's id, login, number or e-mail, with or without its domain. The
        e-mail that the class list has for the folder finds a person, too, and tells more than a name
        without its domain: that counts for nobody who has another e-mail. Raises CourseError if it could be
        several people's: a guess could give away a score.
        """
        name, email = student.casefold(), self.emails.get(student, "").casefold()
        listed = [person for person, texts in self._texts if email and email in texts]
        named = [
            person
            for person, texts in self._texts
            if name in (texts if listed or _has_another(email, texts) else _short(texts))
        ]
        found = [*listed, *(person for person in named if person not in listed)]
        exact = [person for person in found if person.student == student]
        exact = exact or [person for person in found if person.student.casefold() == student.casefold()]
        if len(found) > 1 and len(exact) != 1:
            raise CourseError(
                f"the folder '{student}' could be that of {_listed(found)} on the roster: "
                "add a column 'student id' with the names of the folders"
            )
        return next(iter(exact or found), None)

    def known(self, students: Sequence[str]) -> dict[str, Person]:
        """Return the person of each student who is on the roster.

        Raises CourseError if two folders belong to one person, or one folder could be two people's.
        """
        known = {student: person for student in students if (person := self.find(student))}
        folders: dict[int, list[str]] = {}
        for student, person in known.items():
            folders.setdefault(id(person), []).append(student)
        for names in folders.values():
            if len(names) > 1:
                raise CourseError(
                    f"the folders {_listed(names)} are all {known[names[0]]} on the roster: {ONE_FOLDER}"
                )
        return known

    def folders(self, students: Collection[str] = ()) -> list[str]:
        """Return the name of each person's folder: the one among `students` that is theirs, or else their id.

        Raises CourseError as `known` does, if two people would have one folder, if the file and the class
        list have different ids for one e-mail, or different e-mails for one id, and if a student id differs
        from a folder's name only in case, unless the e-mail is the same.
        """
        known = {id(person): student for student, person in self.known(sorted(students)).items()}
        owners: dict[str, Person] = {}
        for person in self.people:
            name = known.get(id(person), person.student_id)
            email, own = (
                self.emails.get(name, "").casefold(),
                {person.email.casefold(), person.login.casefold()},
            )
            unknown = id(person) not in known and not person.student
            if unknown and _has_another(email.casefold(), own):
                raise CourseError(
                    f"'{person}' on the roster would be '{name}', whose e-mail on the class list is {email}: "
                    "add a column 'student id' with an id for each, or correct the class list"
                )
            only_case = person.student != name and person.student.casefold() == name.casefold()
            if only_case and not (email and email.casefold() in own):
                raise CourseError(
                    f"'{person.student}' on the roster and '{name}' in the class differ only in case: write "
                    f"'{name}' in the file if they are one person, or else give one of them another id"
                )
            if person.student and name.casefold() not in _short(getattr(person, key) for key in KEYS):
                raise CourseError(
                    f"'{person.student}' on the roster has the e-mail of '{name}' on the class list: one "
                    "person has one id; change the file, or remove the other with 'autograder students "
                    "--remove'"
                )
            if (other := owners.setdefault(name, person)) is not person:
                raise CourseError(
                    f"the id '{name}' would be that of {_listed([other, person])} on the roster: "
                    "add a column 'student id' with an id for each"
                )
        return [*owners]

    def without(self, known: Mapping[str, Person]) -> list[Person]:
        """Return the people who are none of the `known`."""
        found = {id(person) for person in known.values()}
        return [person for person in self.people if id(person) not in found]


def _listed(things: Sequence[object]) -> str:
    return ", ".join(f"'{each}'" for each in things)


def _has_another(email: str, texts: Iterable[str]) -> bool:
    """Return whether there is an e-mail, and some texts hold e-mails but not this one."""
    others = {text for text in texts if "@" in text}
    return bool(email and others) and email not in others


def _short(texts: Iterable[str]) -> set[str]:
    """Return texts, and those that are e-mails without their domains, too, in lower case."""
    plain = {text.casefold() for text in texts}
    return plain | {text.partition("@")[0] for text in plain}


def read_roster(path: Path) -> Roster:
    """Read a roster. Raises CourseError if it is no CSV file of people with a column to know them by."""
    try:
        content = path.read_bytes()
        utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # "Unicode text" of Excel
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except OSError as error:
        raise CourseError(f"cannot read the roster {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CourseError(
            f"cannot read the roster {path}: it is not Unicode text; save it as 'CSV UTF-8'"
        ) from error
    # a comma, or the semicolon or tab of a spreadsheet
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = _rows(reader, path)
    headings = [heading.strip() for heading in reader.fieldnames or ()]
    columns = _columns(headings)
    if not set(columns) & {*KEYS}:
        raise CourseError(
            f"the roster {path} has no column to know students by: expected one of 'student id', "
            f"'login', 'id number' or 'email', found {', '.join(headings) or 'nothing'}; {IN_ENGLISH}"
        )
    people, without_id, notes = list[Person](), list[str](), list[str]()
    points: Mapping[str, str] = {}
    from_canvas = _system(headings) == "Canvas"
    for line, row in rows:
        cells = {key.strip(): (value or "").strip() for key, value in row.items()}  # a short row lacks some
        person = Person(**{name: cells[heading] for name, heading in columns.items()}, row=cells)
        name = person.full_name.casefold()
        if from_canvas and name in TEST_STUDENT:
            notes.append(f"Canvas' test student was left out: '{person.full_name}'")
        elif from_canvas and name == POINTS.casefold():
            points = cells
        elif any(getattr(person, key) for key in KEYS):
            people.append(person)
        elif any(cells.values()) and (name or not from_canvas):  # Canvas' other rows about columns have none
            without_id.append(f"line {line} ({person.full_name})" if name else f"line {line}")
    if without_id:
        notes.append(
            f"left out of {path}, because there is no student id, login, id number or e-mail in it: "
            f"{some_of(without_id)}"
        )
    _require_people(people, path)
    return Roster(people, headings, notes=notes, points=points)


def _require_people(people: Sequence[Person], path: Path) -> None:
    """Raise CourseError unless there are people, under headings that we know, each with ids of their own."""
    if not people:
        raise CourseError(f"the roster {path} names nobody: expected a line for each student")
    if GERMAN.fullmatch(people[0].number):
        raise CourseError(f"the headings of the roster {path} are not the expected ones: {IN_ENGLISH}")
    for key in (*KEYS, *IDS):
        values = Counter(getattr(person, key).casefold() for person in people)
        twice = [value for value, count in values.items() if value and count > 1]
        if twice:
            raise CourseError(f"the roster {path} has two rows of '{twice[0]}': expected one")


def stated_points(text: str) -> float | None:
    """Return the points in a cell of Canvas or Moodle; None if it holds no number."""
    try:
        return float(text.replace(",", "."))  # of either language
    except ValueError:
        return None


def _system(headings: Iterable[str]) -> str:
    plain = {heading.casefold() for heading in headings}
    return "Moodle" if plain & MOODLE_ONLY else "Canvas" if plain & CANVAS_ONLY else ""


def _rows(reader: "csv.DictReader[str]", path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return each row by heading, with the number of its line.

    Raises CourseError for a line whose cells would go to the wrong person.

    An open quotation mark swallows the lines below it, and a comma in a name without quotation marks shifts
    the cells after it by one.
    """
    rows = []
    try:
        for row in reader:
            beyond = row.pop(None, [])  # where DictReader puts what has no heading
            if any(cell.strip() for cell in beyond):
                count = len(reader.fieldnames or ())
                raise CourseError(
                    f"line {reader.line_num} of the roster {path} has {count + len(beyond)} cells, and there "
                    f"are {count} headings: put a name with a comma in quotation marks"
                )
            rows.append((reader.line_num, row))
    except csv.Error as error:
        raise CourseError(
            f"cannot read the roster {path}: {error} in line {reader.line_num}; "
            "is a quotation mark left open?"
        ) from error
    return rows


def _columns(headings: Sequence[str]) -> dict[str, str]:
    plain = {heading.casefold(): heading for heading in headings}
    found = {
        name: plain[alias]
        for name, aliases in HEADINGS.items()
        for alias in reversed(aliases)
        if alias in plain
    }
    from_canvas = "sis login id" in plain or "sis user id" in plain
    own = CANVAS if from_canvas else {"student": "student", "id": "number"}
    for alias, name in own.items():
        if alias in plain:
            found.setdefault(name, plain[alias])
    return found
