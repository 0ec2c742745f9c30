"""The gradebook CSV that Canvas imports.

The rules are those of Canvas' own importer:
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb
The first columns are Student, ID, SIS User ID, SIS Login ID and Section, in this order. The second row
holds the points possible. A column belongs to the assignment whose title or "title (id)" is its
heading. An empty cell leaves Canvas' score as it is.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from autograder.exports.class_scores import ClassScores
from autograder.exports.roster import ONE_FOLDER, POINTS, Person, Roster
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError, SettingsError
from autograder.model.nbgrader_config import settings
from autograder.reports.csv_file import csv_text
from autograder.reports.student_pages import titles as titles_in_text

COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
ASSIGNMENT = re.compile(r"(.*) \(\d+\)")
# Canvas works these out itself, for the course and for each group of assignments, and ignores them in a file.
TOTAL = re.compile(r".*\b(Current|Final) (Score|Points|Grade)")
WORD = re.compile(r"[^\W_]+")
OF_NO_LESSON = {"lesson", "assignment", "notebook", "exercise", "homework", "coursework", "a", "an", "the"}
SETTING = "c.CanvasExport.columns"


def canvas_csv(scores: ClassScores, roster: Roster, titles: Mapping[str, str], *, partial: bool) -> str:
    """Return the file for Canvas. Scores with pending points are empty, unless `partial` asks for them.

    `titles` are the headings of the lessons' columns, from `column_titles`. A student who is only in the
    roster has a row without scores. Raises CourseError if the roster is Moodle's, and if Canvas would take
    two folders for one person: it does not tell logins apart by case.
    """
    if roster.system == "Moodle":
        raise CourseError(
            "the roster is a grading worksheet of Moodle: an export for Canvas fills in the gradebook that "
            "Canvas exports (Grades › Export); give that with --roster"
        )
    known = roster.known(scores.students)
    rows, logins = [], dict[str, str]()
    for student in scores.students:
        who = known.get(student, Person())
        login = who.login or who.student or student
        if (other := logins.setdefault(login.casefold(), student)) != student:
            raise CourseError(f"the folders '{other}' and '{student}' are one login for Canvas: {ONE_FOLDER}")
        cells = [lesson.cell(student, partial=partial) for lesson in scores.lessons]
        rows.append([who.full_name or student, who.canvas_id, who.number, login, who.section, *cells])
    for who in roster.without(known):
        nothing = [None] * len(scores.lessons)
        login = who.login or who.student_id
        rows.append([who.full_name, who.canvas_id, who.number, login, who.section, *nothing])
    headings = [titles[each.lesson] for each in scores.lessons]
    points = [each.max_score for each in scores.lessons]
    return csv_text([[*COLUMNS, *headings], [POINTS, "", "", "", "", *points], *rows])


def column_titles(course: Course, scores: ClassScores, roster: Roster) -> dict[str, str]:
    """Return the heading of each lesson's column: the configured one, or the roster's, or the lesson's name.

    The roster's column is found by the lesson's number, its title, or both: "Lesson 3 Attention (88123)",
    "03", "Attention". A title is the folder's, or the one at the head of the lesson's text. Raises
    CourseError if several columns could be meant, if two lessons have one, or if the setting names no lesson.
    """
    names = [each.lesson for each in scores.lessons]
    columns: Mapping[str, str] = settings(course).CanvasExport.get("columns", {})
    try:
        said = {course.lesson(name): column for name, column in columns.items()}
    except CourseError as problem:
        raise SettingsError(f"{SETTING} in {CONFIG}: {problem}") from problem
    if len(said) < len(columns):
        raise SettingsError(f"{SETTING} in {CONFIG} names a lesson twice: {', '.join(columns)}")
    titles = {name: said.get(name) or _found(course, name, roster.headings) for name in names}
    for lesson, title in titles.items():
        if lesson in said and roster.headings and title not in roster.headings:
            raise CourseError(f"{SETTING} in {CONFIG} has the column '{title}', and the roster has none such")
        if other := next((name for name in names if titles[name] == title and name != lesson), None):
            raise CourseError(f"'{title}' would hold {lesson} and {other}: set {SETTING} in {CONFIG}")
    return titles


def _found(course: Course, lesson: str, headings: Collection[str]) -> str:
    columns = [each for each in headings if each not in COLUMNS and not TOTAL.fullmatch(each)]
    called = (lesson, titles_in_text(course, lesson).lesson) if columns else ()
    found = [each for each in columns if _is_about(called, _plain(each))]
    named = [each for each in found if _plain(each).casefold() == lesson.casefold()]
    if len(found) > 1 and len(named) != 1:
        raise CourseError(
            f"{' or '.join(map(repr, found))} in the roster could be {lesson}: say which in {CONFIG}, "
            f'as in {SETTING} = {{"{lesson}": "{found[0]}"}}'
        )
    return next(iter(named or found), lesson)


def _plain(heading: str) -> str:
    match = ASSIGNMENT.fullmatch(heading)
    return match[1] if match else heading


def _words(text: str) -> list[str]:
    """Return the words that tell one lesson from another, numbers without zeros in front."""
    words = (word for word in WORD.findall(text.casefold()) if word not in OF_NO_LESSON)
    return [str(int(word)) if word.isdecimal() else word for word in words]


def _without(number: str, words: list[str]) -> list[str]:
    place = words.index(number) if number in words else len(words)
    return words[:place] + words[place + 1 :]


def _is_about(called: Sequence[str], heading: str) -> bool:
    """Return whether a heading has a lesson's number or title, and nothing that contradicts it.

    The lesson is `called` by the name of its folder, which begins with the number, and by its own title.
    """
    number = _words(called[0])[0]
    titles = [title for name in called if (title := _without(number, _words(name)))]
    words = _words(heading)
    others = _without(number, words)
    if others in titles:
        return True
    if number not in words or any(word.isdecimal() for word in others):
        return False
    return not others or any(others[: len(title)] == title for title in titles)
