"""An extra lesson has a column of its own everywhere, and is in no total, unless the course says otherwise."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tiny_course import LESSON

from autograder.cli import main
from autograder.exports.class_scores import ClassScores, class_scores, course_csv
from autograder.exports.roster import Roster
from autograder.model.course import CONFIG, Course
from autograder.model.lesson_text import header, read_lesson
from autograder.model.nbgrader_config import outside_totals
from autograder.reports.class_pages import FRONT
from autograder.reports.publish import publish
from autograder.reports.student_pages import student_index
from autograder.storage.attempts import AttemptLog

PLAIN, EXTRA = "coursework: {points: 20}", "coursework: {points: 20, extra: true}"
COUNTED = "\nc.Totals.count_extra = True\n"


@pytest.fixture
def extra(graded: Course) -> Course:
    """The graded class, whose only lesson is extra."""
    text = graded.text(LESSON).read_text(encoding="utf-8")
    graded.text(LESSON).write_text(text.replace(PLAIN, EXTRA), encoding="utf-8")
    return graded


def _count_extra(course: Course) -> None:
    with (course.root / CONFIG).open("a", encoding="utf-8") as config:
        config.write(COUNTED)


def test_the_lessons_header_declares_it_and_the_course_may_count_it(graded: Course, extra: Course) -> None:
    """One field in one text; one setting in nbgrader_config.py."""
    assert read_lesson(extra.text(LESSON)).extra
    assert outside_totals(extra) == {LESSON}
    _count_extra(extra)
    assert outside_totals(extra) == set()
    extra.text(LESSON).write_text(extra.text(LESSON).read_text().replace(EXTRA, PLAIN), encoding="utf-8")
    assert not read_lesson(graded.text(LESSON)).extra


@pytest.mark.parametrize(
    "text", ["", "import math\n", "# ---\n# jupyter: [\n# ---\n", "# ---\n# jupyter:\n#   coursework: 20\n# ---\n"]
)
def test_what_is_no_header_declares_nothing(graded: Course, text: str) -> None:
    """A text that is being written stops no report."""
    graded.text(LESSON).write_text(text, encoding="utf-8")
    assert header(graded.text(LESSON)) == {}
    assert outside_totals(graded) == set()


def _row(scores: ClassScores, student: str) -> dict[str, str]:
    rows = csv.DictReader(io.StringIO(course_csv(scores, Roster())))
    return next(row for row in rows if row["student"] == student)


def test_it_has_its_columns_and_is_in_no_total(extra: Course) -> None:
    """Beside another lesson, and alone, when nothing is left to add up."""
    scores = class_scores(extra)
    alone = _row(scores, "ada")
    assert (alone[f"{LESSON} score"], alone["total"], alone["total of"]) == ("20.0", "", "0.0")
    other = replace(scores.lessons[0], lesson="04_next", is_extra=False)
    both = _row(ClassScores([*scores.lessons, other], scores.students), "ada")
    assert (both[f"{LESSON} score"], both["total"], both["total of"]) == ("20.0", "20.0", "20.0")
    _count_extra(extra)
    assert _row(class_scores(extra), "ada")["total"] == "20.0"


@pytest.mark.parametrize("said", [True, False])
def test_who_exports_to_canvas_hears_that_canvas_would_add_it_up(extra: Course, *, said: bool) -> None:
    """The column is there either way."""
    if not said:
        _count_extra(extra)
    done = CliRunner().invoke(main, ["--course", str(extra.root), "export", "canvas"])
    assert done.exit_code == 0, done.stderr
    assert (f"{LESSON} is extra: tick" in done.stderr) == said
    assert LESSON in (extra.exports / "canvas.csv").read_text(encoding="utf-8").splitlines()[0]


def test_the_class_report_gives_it_a_column_and_no_part_in_all(extra: Course) -> None:
    """Who hands in nothing is no cause for worry; a changed setting makes the pages anew."""
    publish(extra, [LESSON])
    front = (extra.reports / FRONT).read_text(encoding="utf-8")
    assert '<span class="soft">extra</span>' in front
    assert "not handed in" in front
    assert "<b>0</b> may need help" in front
    assert '<td class="all">–' in front
    _count_extra(extra)
    publish(extra, [LESSON])
    front = (extra.reports / FRONT).read_text(encoding="utf-8")
    assert '<span class="soft">extra</span>' not in front
    assert "<b>2</b> may need help" in front
    assert '<td class="all" data-v="1.0">100' in front


def test_a_students_index_lists_it_apart_from_the_total(extra: Course, read: Callable[[str], str]) -> None:
    """The total is that of the other lessons; without any, there is none."""
    attempts = AttemptLog(extra.reports).of_student("ada")
    alone = read(student_index(extra, "ada", attempts, {}))
    assert "extra, not in the total" in alone
    assert "so far, in" not in alone
    both = read(student_index(extra, "ada", {**attempts, "04_next": attempts[LESSON]}, {}))
    assert "18 of 18 points graded, 2 pending so far, in 1 lesson." in both
    _count_extra(extra)
    counted = read(student_index(extra, "ada", {**attempts, "04_next": attempts[LESSON]}, {}))
    assert "36 of 36 points graded, 4 pending so far, in 2 lessons." in counted


@pytest.fixture
def read() -> Callable[[str], str]:
    """Give a function: the words of a page, in one line."""
    return lambda page: " ".join(page[page.index("</style>") :].split())
