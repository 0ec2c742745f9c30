"""Marks lessons of a class one after the other, with a progress bar, and writes the reports."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from autograder.course import Course
from autograder.errors import CourseError
from autograder.record.class_run import grade
from autograder.record.trouble import told_plainly
from autograder.reports.publish import publish


def handed_in(course: Course) -> list[str]:
    """Return the lessons of which somebody handed something in. Raises CourseError if there is none."""
    found = sorted({folder.name for folder in course.submitted.glob("*/*") if folder.is_dir()})
    known = [name for name in found if name in course.lessons()]
    if not known:
        raise CourseError(
            f"nothing was handed in: expected {course.submitted}/<student>/<lesson>/<lesson>.ipynb; "
            "put the submissions there, or run 'nbgrader collect'"
        )
    return known


def grade_lessons(
    course: Course,
    lessons: Sequence[str],
    *,
    sandboxed: bool = True,
    workers: int | None = None,
    force: bool = False,
    console: Console | None = None,
) -> list[Path]:
    """Mark, record and explain each lesson's submissions; return the report files written."""
    shown = console or Console(stderr=True)
    for lesson in lessons:
        with _bar(shown) as bar:
            task = bar.add_task(lesson, total=None)

            def step(done: int, total: int, bar: Progress = bar, task: TaskID = task) -> None:
                bar.update(task, completed=done, total=total)

            def say(line: str, bar: Progress = bar) -> None:
                bar.console.print(line, markup=False, highlight=False)

            grade(
                course,
                lesson,
                sandboxed=sandboxed,
                workers=workers,
                force=force,
                progress=say,
                step=step,
            )
    with told_plainly(course):
        return publish(course, course.lessons())


def _bar(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True)
