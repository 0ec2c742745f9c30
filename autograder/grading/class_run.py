"""Grades a class, lesson by lesson, from the folder `submitted` to the feedback pages and the reports."""

from collections.abc import Sequence
from contextlib import closing

from rich.console import Console

from autograder.grading.loop import GradingLoop
from autograder.grading.pool import Pool
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.text import clean
from autograder.reports.publish import Published, publish
from autograder.reports.terminal import grading_progress
from autograder.reports.words import report_total
from autograder.storage.attempts import ERROR_LOG, Attempt, AttemptLog
from autograder.storage.io_errors import plain_io_errors, wait_for_gradebook
from autograder.submissions.submission import Submission, look_alike, of_no_lesson, submitted_by


def submitted_lessons(course: Course) -> list[str]:
    """Return the lessons with at least one submission. Raises CourseError if there are none."""
    found = {folder.name for folder in course.submitted.glob("*/*") if folder.is_dir()}
    lessons = sorted(found & set(course.lessons()))
    if not lessons:
        raise _nothing_submitted(course)
    return lessons


def grade_lessons(
    course: Course, lessons: Sequence[str], pool: Pool, *, force: bool = False, console: Console | None = None
) -> Published:
    """Grade each lesson's submissions (see `grade_lesson`), and write the reports of all lessons.

    The pool should be persistent, so that its workers start once.
    """
    console = console or Console(stderr=True)
    if names := of_no_lesson(course):
        _say(console, f"left out because no lesson has that name: {names}")
    if line := look_alike(course):
        _say(console, line)
    for lesson in lessons:
        grade_lesson(course, lesson, pool, force=force, console=console)
    with plain_io_errors(course):
        return publish(course, course.lessons())


def grade_lesson(
    course: Course,
    lesson: str,
    pool: Pool,
    *,
    force: bool = False,
    console: Console | None = None,
    lines: bool = True,
) -> list[Attempt]:
    """Grade and record every submission of a lesson; return each student's newest attempt.

    A submission that was graded before is skipped, unless its file, the lesson or the grader
    changed, or `force` is set, so an interrupted run continues where it stopped. Progress is shown on
    `console`, by default standard error: a bar in a terminal, and, with `lines`, what happens. Raises
    CourseError if there are no submissions, if the results cannot be written or if the cluster cannot be
    reached, and SandboxMissingError if there is no sandbox.
    """
    shown = console or Console(stderr=True)
    console = shown if lines else Console(quiet=True)
    with plain_io_errors(course):
        loop = GradingLoop(course, lesson, sandboxed=pool.sandboxed)
        students, others = submitted_by(course, lesson)
        for name in others:
            _say(console, f"{lesson}: the folder '{name}' was left out: its name cannot be a student's")
        if not students:
            raise _nothing_submitted(course, lesson)
        wait_for_gradebook(course)
        log = AttemptLog(course.reports)
        newest = log.latest(lesson)
        submissions = [loop.submission(student) for student in students]
        todo = [each for each in submissions if force or not loop.is_settled(each, newest.get(each.student))]
        skipped = len(submissions) - len(todo)
        rest = f", {skipped} graded before" if skipped else ""
        _say(console, f"{lesson}: {_count(todo, 'submission')} to grade{rest}")
        newest |= _grade(loop, pool, todo, console, shown)
        log.export()
        _make_pages(loop, pool, students, console)
        return [newest[student] for student in students]


def _nothing_submitted(course: Course, lesson: str = "<lesson>") -> CourseError:
    expected = course.submission("<student>", lesson)
    return CourseError(
        f"there are no submissions: expected {expected}; put them there, or run 'nbgrader collect'"
    )


def _grade(
    loop: GradingLoop, pool: Pool, todo: Sequence[Submission], console: Console, shown: Console
) -> dict[str, Attempt]:
    """Grade, and say how each submission went, with a bar on `shown`; return the attempts by student."""
    made: dict[str, Attempt] = {}
    if not todo:
        return made
    with closing(loop.grade(pool, todo)) as results, grading_progress(shown) as bar:
        for done in bar.track(results, total=len(todo), description=loop.lesson):
            attempt, report = done.attempt, done.attempt.report
            made[attempt.student] = attempt
            reason = f" ({clean(report.reason, 200)})" if report.reason else ""
            error = " (grader error)" if attempt.faulty else ""
            total = f"{report_total(report)}{reason}{error}"
            _say(console, f"[{len(made)}/{len(todo)}] {attempt.student}: {total}")
            for score in done.withdrawn:
                _say(console, f"  {attempt.student}: {score}")
    errors = sum(bool(attempt.detail) for attempt in made.values())
    if errors:
        path = (loop.course.reports / ERROR_LOG).relative_to(loop.course.root)
        _say(console, f"{errors} grader error{'' if errors == 1 else 's'}: see {path}")
    return made


def _make_pages(loop: GradingLoop, pool: Pool, students: Sequence[str], console: Console) -> None:
    if stale := loop.stale(students):
        _say(console, f"{loop.lesson}: making {_count(stale, 'feedback page')}")
        for student, problem in loop.make_pages(stale, pool).items():
            _say(console, f"  {student}: no feedback page ({problem}); the scores are recorded")


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _say(console: Console, line: str) -> None:
    """Print a line for the instructor, cleaned of what a terminal would act on."""
    indent = " " * (len(line) - len(line.lstrip(" ")))
    console.print(indent + clean(line), markup=False, highlight=False, soft_wrap=True)
