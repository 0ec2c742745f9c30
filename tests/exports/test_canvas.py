"""A lesson's column is found in Canvas' gradebook, and nobody else's file is taken for one."""

from pathlib import Path

import pytest
from tiny_course import LESSON

from autograder.exports.canvas import canvas_csv, column_titles
from autograder.exports.class_scores import ClassScores, LessonScores
from autograder.exports.roster import Roster, read_roster
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError


def _scores(*lessons: str, students: tuple[str, ...] = ()) -> ClassScores:
    return ClassScores([LessonScores(lesson, 20.0, None, {}) for lesson in lessons], students)


def _titles(course: Course, *headings: str, lessons: tuple[str, ...] = ("03_attention",)) -> list[str]:
    roster = Roster((), ("Student", "ID", *headings))
    return [*column_titles(course, _scores(*lessons), roster).values()]


@pytest.mark.parametrize(
    "heading",
    [
        "03_attention (1)", "Lesson 3 Attention (88123)", "3: attention", "Lesson 03", "Attention (7)",
        "Homework 3 – Attention, part one",
    ],
)  # fmt: skip
def test_a_column_is_found_by_number_or_title(course: Course, heading: str) -> None:
    """The others stay as they are."""
    others = ("Lesson 2 (1)", "Quiz 3 (2)", "08 Attention visualisation (3)", "Final Score", "Attention span")
    assert _titles(course, *others, heading) == [heading]


@pytest.mark.parametrize(
    "heading",
    [
        "5 · The encoder (88125)", "The encoder (88125)", "5. The encoder (1)", "5: The encoder (1)",
        "5 - The encoder (1)", "Lesson 05: the encoder (1)", "Lesson 5 – The Encoder (1)", "Encoder (1)",
    ],
)  # fmt: skip
def test_a_column_is_found_by_the_title_at_the_head_of_the_lesson(course: Course, heading: str) -> None:
    """It is what students see, and the folder may be called otherwise."""
    course.text("05_stack").write_text("# %% [markdown]\n# # 5 · The encoder\n")
    others = ("6 · The encoder (1)", "Quiz 5: The encoder (2)", "The encoder quiz (3)", "The", "Homework")
    assert _titles(course, *others, heading, lessons=("05_stack",)) == [heading]


def test_a_title_may_hold_a_number_or_nothing_but_the_lessons(course: Course) -> None:
    """The first is no other lesson's number, and the second is no column's title."""
    course.text("04_gpt").write_text("# %% [markdown]\n# # 4 · From GPT 2 on\n")
    assert _titles(course, "4: From GPT 3 on", "4: From GPT 2 on", lessons=("04_gpt",)) == ["4: From GPT 2 on"]
    course.text("04_gpt").write_text("# %% [markdown]\n# # Lesson 4\n")
    assert _titles(course, "Homework", "Lesson 4 (1)", lessons=("04_gpt",)) == ["Lesson 4 (1)"]


def test_without_a_column_the_lesson_has_its_own_name(course: Course) -> None:
    """A quiz of the same number is none of it."""
    assert _titles(course, "Quiz 3 (2)", "Lesson 4 (3)") == ["03_attention"]


def test_a_total_that_canvas_works_out_is_no_lessons_column(course: Course) -> None:
    """A group of assignments may be called like the lesson; scores in its columns would be ignored."""
    totals = ["Lesson 3 Attention Current Score", "Lesson 3 Attention Unposted Final Points", "Final Grade"]
    assert _titles(course, "Week three (1)", *totals) == ["03_attention"]
    assert _titles(course, *totals, "Lesson 3 (88123)") == ["Lesson 3 (88123)"]


def test_two_columns_that_could_be_meant_are_refused(course: Course) -> None:
    """The message says where to say which; the lesson's own name decides."""
    with pytest.raises(CourseError, match=r"'Lesson 3 \(1\)' or 'Attention \(2\)'.*c\.CanvasExport\.columns"):
        _titles(course, "Lesson 3 (1)", "Attention (2)")
    assert _titles(course, "Lesson 3 (1)", "03_attention (2)") == ["03_attention (2)"]


def test_the_configuration_names_a_column(course: Course) -> None:
    """One that is not in the roster, or is another lesson's, is refused."""
    with (course.root / CONFIG).open("a") as config:
        config.write(f'\nc.CanvasExport.columns = {{"{LESSON}": "Looking back (5)"}}\n')
    assert _titles(course, "Lesson 3 (1)", "Looking back (5)", lessons=(LESSON,)) == ["Looking back (5)"]
    with pytest.raises(CourseError, match="has the column 'Looking back"):
        _titles(course, "Lesson 3 (1)", lessons=(LESSON,))
    with pytest.raises(CourseError, match=f"would hold {LESSON} and 04_looking_back"):
        _titles(course, "Looking back (5)", "04_back (5)", lessons=(LESSON, "04_looking_back"))


def test_the_configuration_names_lessons_as_commands_do(course: Course) -> None:
    """By number or by name; one that is no lesson is refused, not passed over."""
    config, before = course.root / CONFIG, (course.root / CONFIG).read_text()
    config.write_text(before + '\nc.CanvasExport.columns = {"03": "Looking back (5)"}\n')
    assert _titles(course, "Lesson 3 (1)", "Looking back (5)", lessons=(LESSON,)) == ["Looking back (5)"]
    config.write_text(before + '\nc.CanvasExport.columns = {"03_tny": "Looking back (5)"}\n')
    with pytest.raises(CourseError, match=r"c\.CanvasExport\.columns in nbgrader_config\.py: no lesson '03_tny'"):
        _titles(course, "Lesson 3 (1)", "Looking back (5)", lessons=(LESSON,))
    config.write_text(before + f'\nc.CanvasExport.columns = {{"03": "A (1)", "{LESSON}": "B (2)"}}\n')
    with pytest.raises(CourseError, match="names a lesson twice"):
        _titles(course, "A (1)", "B (2)", lessons=(LESSON,))


def test_the_scores_are_in_the_rosters_column(graded: Course, scores: ClassScores, tmp_path: Path) -> None:
    """Those without work keep their row."""
    path = tmp_path / "canvas.csv"
    path.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Lesson 3 Tiny (88123)\n    Points Possible,,,,,20\n"
        '"Lovelace, Ada",501,1001,ada,A,\n"Zed, Zoe",502,1009,zoe,A,\n'
    )
    roster = read_roster(path)
    text = canvas_csv(scores, roster, column_titles(graded, scores, roster), partial=False)
    header, _, *rows = text.splitlines()
    assert header.endswith(",Lesson 3 Tiny (88123)")
    assert '"Lovelace, Ada",501,1001,ada,A,20.0' in rows
    assert '"Zed, Zoe",502,1009,zoe,A,' in rows


def test_a_worksheet_of_moodle_is_refused(scores: ClassScores, tmp_path: Path) -> None:
    """The message says which file is needed."""
    path = tmp_path / "worksheet.csv"
    path.write_text("Identifier,Full name,Email address,Grade\nParticipant 1,Ada,ada@x.edu,\n")
    with pytest.raises(CourseError, match=r"worksheet of Moodle.*gradebook that Canvas exports"):
        canvas_csv(scores, read_roster(path), {LESSON: LESSON}, partial=False)


def test_folders_that_are_one_login_for_canvas_are_refused() -> None:
    """Without a roster, too: Canvas does not tell logins apart by case."""
    with pytest.raises(CourseError, match="'Anna' and 'anna' are one login"):
        canvas_csv(_scores(LESSON, students=("Anna", "anna")), Roster(), {LESSON: LESSON}, partial=False)
