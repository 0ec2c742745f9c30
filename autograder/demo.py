"""An invented class: model answers with known mistakes in them, graded as a real class would be."""

import copy
import random
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import nbformat
from nbformat import NotebookNode
from rich.console import Console

from autograder.grading.loop import grade_lesson
from autograder.grading.pool import Pool
from autograder.judge.oracle import edited_source
from autograder.lessons.loading import load_lesson
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError
from autograder.model.lesson_text import read_lesson
from autograder.reports.feedback_exporter import require_settings
from autograder.reports.publish import publish
from autograder.reports.words import percent
from autograder.sandbox.start import sandbox_problem
from autograder.submissions.released import grade_id, is_solution, released_notebook

NAMES = (
    "ada", "bela", "chidi", "dora", "emre", "farah", "goro", "hanna", "ines", "jamal", "kofi", "lena",
    "mira", "noor", "otto", "priya", "quentin", "ravi", "sara", "tomas", "umar", "vera", "wei", "yusuf",
)  # fmt: skip
PERFECT = frozenset({"ada", "goro", "wei"})
EMPTY, BROKEN = "quentin", "umar"
AHEAD = NAMES[1::6]  # who has handed in all lessons; the others have come as far as the third
ALL_HANDED_IN = 3
FIRST = "bela"  # whose page of the first lesson is there first
MARKER = "demo.txt"  # a folder without it is never replaced


def answered(course: Course, lesson: str, edits: dict[str, str]) -> NotebookNode:
    """Return the released notebook with the model answers in it; `edits` replace some."""
    notebook = copy.deepcopy(released_notebook(course, lesson))
    text = read_lesson(course.text(lesson))
    for cell in notebook.cells:
        name = grade_id(cell)
        if name and is_solution(cell):
            cell.source = edits.get(name, text.answer(name))
    return notebook


def fresh_course(home: Course, folder: Path) -> Course:
    """Lay out a course in `folder` with the lessons of `home`, in place of an earlier demo's.

    Raises CourseError if anything but an earlier demo is there.
    """
    marker = folder / MARKER
    if folder.exists():
        if any(folder.iterdir()) and not marker.exists():
            raise CourseError(
                f"{folder} is not empty and holds no earlier demo: expected {MARKER} in it; "
                "move it away, or name another folder with --folder"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    marker.write_text("Made by 'autograder demo', which may replace this folder.\n", encoding="utf-8")
    shutil.copy(home.root / CONFIG, folder / CONFIG)
    for part in (home.source, home.release):
        shutil.copytree(part, folder / part.name)
    return Course(folder)


def hand_in(course: Course, lesson: str, students: Iterable[str]) -> None:
    """Write what students of the class submit for a lesson."""
    for student in students:
        path = course.submission(student, lesson)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(invented(course, lesson, student), encoding="utf-8")


def invented(course: Course, lesson: str, student: str) -> str:
    """Return the text of the notebook that a student submits: known mistakes, chosen by name."""
    if student == EMPTY:
        return course.release_notebook(lesson).read_text(encoding="utf-8")
    edits = {} if student in PERFECT else dict(_mistakes(course, lesson, student))
    text: str = nbformat.writes(answered(course, lesson, edits))
    return text[: len(text) // 2] if student == BROKEN else text


def _mistakes(course: Course, lesson: str, student: str) -> Iterator[tuple[str, str]]:
    """Yield one or two exercises with a mistake in each, sometimes with two."""
    dice = random.Random(f"{lesson}/{student}")  # noqa: S311 - an invented class, no secret
    known = [ex for ex in load_lesson(course, lesson).exercises if ex.mistakes and ex.points]
    for exercise in dice.sample(known, dice.choice((1, 1, 2))):
        # as in a real class, some mistakes are far more common than others
        weights = [1 / (rank + 1) for rank in range(len(exercise.mistakes))]
        picked = dice.choices(exercise.mistakes, weights, k=dice.choice((1, 1, 1, 2)))
        chosen = list({mistake.id: mistake for mistake in picked}.values())
        both = edited_source(exercise, chosen)  # None where two do not go together
        yield exercise.id, both or chosen[0].apply(exercise.answer)


def run_demo(home: Course, folder: Path, console: Console) -> None:
    """Make the class, grade it, and say where to look.

    Where no sandbox starts, the class is graded all the same, because we wrote every line of it. Every
    page says so.
    """
    problem = sandbox_problem()
    if problem:
        what, fix, _ = str(problem).splitlines()
        console.print(what, fix, soft_wrap=True, highlight=False, markup=False, sep="\n")
        console.print("This invented class is graded without it, and every page says so.")
    course = fresh_course(home, folder)
    require_settings(course)
    first, *rest = course.lessons()
    class_report = ("the class report", course.reports / "class.html")
    later = len(rest) + 1 - ALL_HANDED_IN
    more = f", and {len(AHEAD)} who are ahead {later} more" if later > 0 else ""
    count = min(len(rest) + 1, ALL_HANDED_IN)
    console.print(f"a class of {len(NAMES)} hands in {count} lessons{more}", highlight=False)
    with Pool(sandboxed=problem is None) as pool:
        pool.warm_up(course)
        hand_in(course, first, [FIRST])  # alone, so that there is something to read within seconds
        grade_lesson(course, first, pool, console=console, verbose=False)
        _say_where(console, "To read meanwhile", ("a feedback page", course.feedback_page(FIRST, first)))
        for number, lesson in enumerate((first, *rest)):
            hand_in(course, lesson, NAMES if number < ALL_HANDED_IN else AHEAD)
            started = time.monotonic()
            attempts = grade_lesson(course, lesson, pool, console=console, verbose=False)
            console.print(_lesson_line(lesson, attempts, time.monotonic() - started), highlight=False)
            if lesson in (first, course.lessons()[-1]):
                publish(course, course.lessons())
            if lesson == first and rest:
                _say_where(console, "So far of this lesson", class_report)
    scores = ("scores as CSV", course.reports / f"{first}.csv")
    _say_where(console, "Where to look", class_report, scores, ("nbgrader's gradebook", course.gradebook))


def _lesson_line(lesson: str, attempts: Sequence[Attempt], seconds: float) -> str:
    shares = [each.report.share for each in attempts if each.report.share is not None]
    return f"{lesson:<28}{len(shares)} graded, {percent(fmean(shares))} on average, {seconds:.0f} s"


def _say_where(console: Console, title: str, *places: tuple[str, Path]) -> None:
    console.print(f"[bold]{title}[/bold]")
    for what, path in places:
        console.print(f"  {what:<22}{path}", soft_wrap=True, highlight=False)
