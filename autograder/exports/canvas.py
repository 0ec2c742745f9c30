"""The gradebook CSV that Canvas imports: a row for each student, a column for each lesson.

The rules are those of Canvas' own importer:
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb
The first columns are Student, ID, SIS User ID, SIS Login ID and Section, in this order. The second row
holds the points possible. A column belongs to the assignment whose title or "title (id)" is its
heading. An empty cell leaves Canvas' score as it is.
"""

import re
from collections.abc import Sequence

from autograder.exports.class_scores import ClassScores
from autograder.exports.roster import Person, Roster
from autograder.reports.csv_file import csv_text

WHO = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS = "Points Possible"
TITLE = re.compile(r"(.*) \(\d+\)")


def canvas_csv(scores: ClassScores, roster: Roster, *, partial: bool) -> str:
    """Return the file. Scores with pending points are empty, unless `partial` asks for them.

    If the roster is a gradebook exported from Canvas, its ids and its headings are used, so that Canvas
    finds every student and every assignment again.
    """
    known, _ = roster.split(scores.students)
    rows = []
    for student in scores.students:
        who = known.get(student, Person())
        name, login = who.full_name or student, who.login or who.student or student
        cells = [lesson.cell(student, partial=partial) for lesson in scores.lessons]
        rows.append([name, who.canvas_id, who.number, login, who.section, *cells])
    titles = [_title(each.lesson, roster.headings) for each in scores.lessons]
    points = [each.max_score for each in scores.lessons]
    return csv_text([[*WHO, *titles], [POINTS, "", "", "", "", *points], *rows])


def _title(lesson: str, headings: Sequence[str]) -> str:
    """Return the heading of a lesson's assignment in the roster, or else the lesson's name."""
    for heading in headings:
        match = TITLE.fullmatch(heading)
        if (match[1] if match else heading).casefold() == lesson.casefold():
            return heading
    return lesson
