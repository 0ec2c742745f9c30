"""Grades a class's submissions for one lesson, from the folder `submitted` to the feedback pages."""

import os
from collections.abc import Sequence
from contextlib import closing

from rich.console import Console

from autograder.grading.cluster_access import Cluster
from autograder.grading.pages import make_pages, stale_pages
from autograder.grading.pool import MakeGrader, Pool, make_grader
from autograder.grading.version import lesson_version
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.text import clean
from autograder.reports.graded_notebook import graded_page
from autograder.reports.progress import grading_progress
from autograder.reports.words import report_total
from autograder.storage import error_log
from autograder.storage.attempts import Attempt, AttemptLog
from autograder.storage.autograded import stored_attempt
from autograder.storage.io_errors import plain_io_errors, wait_for_gradebook
from autograder.storage.recorder import Recorder
from autograder.submissions.released import fingerprint
from autograder.submissions.submission import Submission, submitted_by


def grade_lesson(
    course: Course,
    lesson: str,
    *,
    sandboxed: bool = True,
    workers: int | None = None,
    force: bool = False,
    console: Console | None = None,
    make: MakeGrader = make_grader,
    pool: Pool | None = None,
) -> list[Attempt]:
    """Grade and record every submission of a lesson; return each student's newest attempt.

    A submission that was graded before is skipped, unless its file, the lesson or the grader
    changed, or `force` is set, so an interrupted run continues where it stopped. `workers` is the
    number of processes, by default one per core; they grade with what `make` gives, unless there is a
    `pool` already. Progress is shown on `console`, by default standard error. Raises CourseError if
    there are no submissions, if the results cannot be written or if the cluster cannot be reached, and
    SandboxMissingError if there is no sandbox.
    """
    console = console or Console(stderr=True)
    with plain_io_errors(course):
        submissions = _submissions(course, lesson, console)
        wait_for_gradebook(course)
        log = AttemptLog(course.reports)
        newest = log.latest(lesson)
        todo = [
            submission
            for submission in submissions
            if force or not _is_settled(submission, newest.get(submission.student), sandboxed)
        ]
        if todo:
            from autograder.authoring.release import register  # takes half a second to import

            register(course, lesson)
        skipped = len(submissions) - len(todo)
        rest = f", {skipped} graded before" if skipped else ""
        say(console, f"{lesson}: {_count(todo, 'submission')} to grade{rest}")
        pool = pool or make_pool(workers, sandboxed=sandboxed, make=make)
        newest |= _grade_and_record(course, pool, todo, console)
        log.export()
        students = [submission.student for submission in submissions]
        _make_pages(course, lesson, students, pool, console)
        return [newest[student] for student in students]


def make_pool(
    workers: int | None = None,
    cluster: Cluster | None = None,
    *,
    sandboxed: bool,
    make: MakeGrader = make_grader,
) -> Pool:
    """Return what grades: processes of this machine, by default one per core, or a cluster."""
    number = workers or len(os.sched_getaffinity(0))
    if cluster is None:
        return Pool(number, sandboxed=sandboxed, make=make)
    from autograder.grading.cluster import ClusterPool  # dask takes a second to import

    return ClusterPool(cluster, number, sandboxed=sandboxed)


def _submissions(course: Course, lesson: str, console: Console) -> list[Submission]:
    """Return the submission of each student with a folder for the lesson, in order."""
    version = lesson_version(course, lesson)
    students, others = submitted_by(course, lesson)
    for name in others:
        say(console, f"{lesson}: the folder '{name}' was left out: its name cannot be a student's")
    if not students:
        raise nothing_submitted(course, lesson)
    return [Submission(course, student, lesson, version) for student in students]


def nothing_submitted(course: Course, lesson: str = "<lesson>") -> CourseError:
    """Return the error for a course, or a lesson, without submissions."""
    expected = course.submission("<student>", lesson)
    return CourseError(
        f"there are no submissions: expected {expected}; put them there, or run 'nbgrader collect'"
    )


def _is_settled(submission: Submission, attempt: Attempt | None, sandboxed: bool) -> bool:
    """Return whether this attempt graded the submission as it is now and was recorded completely."""
    if attempt is None:
        return False
    same = attempt.settles(submission.sha256(), submission.version, sandboxed=sandboxed)
    return same and attempt == stored_attempt(submission.course, submission.student, submission.lesson)


def _grade_and_record(
    course: Course, pool: Pool, todo: Sequence[Submission], console: Console
) -> dict[str, Attempt]:
    """Grade, and record each submission when it is done; return the attempts by student."""
    made: dict[str, Attempt] = {}
    if not todo:
        return made
    with (
        Recorder(course) as recorder,
        closing(pool.grade_all(todo)) as results,
        grading_progress(console) as bar,
    ):
        texts = fingerprint(course, todo[0].lesson).texts
        for attempt, notebook in bar.track(results, total=len(todo), description=todo[0].lesson):
            withdrawn = recorder.keep(attempt, graded_page(notebook, attempt, texts))
            made[attempt.student] = attempt
            say(console, f"[{len(made)}/{len(todo)}] {_line(attempt)}")
            for score in withdrawn:
                say(console, f"  {attempt.student}: {score}")
    errors = sum(bool(attempt.detail) for attempt in made.values())
    if errors:
        path = (course.reports / error_log.FILE).relative_to(course.root)
        say(console, f"{errors} grader error{'' if errors == 1 else 's'}: see {path}")
    return made


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def say(console: Console, line: str) -> None:
    """Print a line for the instructor, cleaned of what a terminal would act on."""
    indent = " " * (len(line) - len(line.lstrip(" ")))
    console.print(indent + clean(line), markup=False, highlight=False, soft_wrap=True)


def _line(attempt: Attempt) -> str:
    report = attempt.report
    reason = f" ({clean(report.reason, 200)})" if report.reason else ""
    error = " (grader error)" if attempt.faulty else ""
    return f"{attempt.student}: {report_total(report)}{reason}{error}"


def _make_pages(course: Course, lesson: str, students: Sequence[str], pool: Pool, console: Console) -> None:
    stale = stale_pages(course, lesson, students)
    if not stale:
        return
    say(console, f"{lesson}: making {_count(stale, 'feedback page')}")
    for student, problem in make_pages(course, lesson, stale, pool).items():
        say(console, f"  {student}: no feedback page ({problem}); the scores are recorded")
