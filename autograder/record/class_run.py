"""A class's submissions for one lesson, from the folder `submitted` to marks and feedback pages."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

from autograder.build import register
from autograder.course import Course
from autograder.errors import CourseError
from autograder.record import feedback
from autograder.record.attempts import Attempt, AttemptLog
from autograder.record.autograded import stored_attempt
from autograder.record.handed import Handed
from autograder.record.pool import MakeMarker, Pool, make_marker
from autograder.record.recording import Recorder
from autograder.record.trouble import insist_on_a_free_gradebook, told_plainly
from autograder.record.version import lesson_version

Progress = Callable[[str], None]
Step = Callable[[int, int], None]


def no_step(_done: int, _total: int) -> None:
    """Draw no progress bar."""


def grade(
    course: Course,
    lesson: str,
    *,
    sandboxed: bool = True,
    workers: int | None = None,
    force: bool = False,
    progress: Progress = print,
    step: Step = no_step,
    make: MakeMarker = make_marker,
) -> list[Attempt]:
    """Mark, record and explain every submission of a lesson; return each student's newest attempt.

    What was marked before is passed over, unless the file, the lesson or the grader changed, or
    `force` is set; so a run that was interrupted goes on where it stopped. Raises CourseError
    where there is nothing to mark or to mark with, or no way to write it down; SandboxMissingError
    where there is no sandbox. `progress` is told a line at a time, `step` how many of how many
    submissions are marked.
    """
    with told_plainly(course):
        version = lesson_version(course, lesson)
        students = _students(course, lesson)
        submissions = [Handed(course, student, lesson, version) for student in students]
        insist_on_a_free_gradebook(course)
        register(course, lesson)
        attempts = AttemptLog(course.reports).latest(lesson)
        todo = [
            handed
            for handed in submissions
            if force or not _settled(handed, attempts.get(handed.student), sandboxed)
        ]
        _say_what_is_done(progress, lesson, len(submissions), len(todo))
        pool = Pool(workers or _workers(), sandboxed=sandboxed, make=make)
        attempts |= _mark_and_keep(course, pool, todo, attempts, progress, step=step)
        _explain(course, lesson, students, pool.workers, progress)
        return [attempts[handed.student] for handed in submissions]


def _students(course: Course, lesson: str) -> list[str]:
    """Return the students with a folder for the lesson. Raises CourseError if there is none."""
    folders: Iterable[Path] = course.submitted.glob(f"*/{lesson}")
    students = sorted(folder.parent.name for folder in folders if folder.is_dir())
    if not students:
        raise CourseError(
            f"nothing was handed in for '{lesson}': expected "
            f"{course.submitted}/<student>/{lesson}/{lesson}.ipynb; "
            "put the submissions there, or run 'nbgrader collect'"
        )
    return students


def _settled(handed: Handed, attempt: Attempt | None, sandboxed: bool) -> bool:
    """Whether a submission was marked as it is now, and recorded to the end."""
    if attempt is None or not attempt.settles(handed.sha256(), handed.version, sandboxed=sandboxed):
        return False
    return stored_attempt(handed.course, handed.student, handed.lesson) == attempt


def _mark_and_keep(
    course: Course,
    pool: Pool,
    todo: Sequence[Handed],
    known: dict[str, Attempt],
    progress: Progress,
    *,
    step: Step,
) -> dict[str, Attempt]:
    """Mark and record, each as it is done; return the attempts by student."""
    made: dict[str, Attempt] = {}
    if not todo:
        return made
    with Recorder(course) as recorder, closing(pool.mark_all(todo)) as results:
        for attempt, notebook in results:
            taken_back = recorder.keep(attempt, notebook, known.get(attempt.student))
            made[attempt.student] = attempt
            progress(f"[{len(made)}/{len(todo)}] {_line(attempt)}")
            step(len(made), len(todo))
            for mark in taken_back:
                progress(f"  {attempt.student}: {mark}")
    return made


def _line(attempt: Attempt) -> str:
    report = attempt.report
    waiting = sum(1 for _ in report.waiting())
    rest = f", {waiting} to mark by hand" if waiting else ""
    fault = " (the grader failed on it)" if attempt.faulty else ""
    return f"{attempt.student}: {report.score:g}/{report.max_score:g}{rest}{fault}"


def _explain(
    course: Course, lesson: str, students: Sequence[str], workers: int, progress: Progress
) -> None:
    """Make the feedback pages that are absent or older than the marks."""
    stale = [student for student in students if feedback.is_stale(course, student, lesson)]
    if not stale:
        return
    progress(f"{lesson}: making {len(stale)} feedback pages")
    failed = feedback.generate(course, lesson, stale, workers=workers)
    for student, problem in failed.items():
        progress(f"  {student}: no feedback page ({problem}); the marks stand")


def _say_what_is_done(progress: Progress, lesson: str, all_of_them: int, todo: int) -> None:
    before = all_of_them - todo
    rest = f", {before} marked before" if before else ""
    progress(f"{lesson}: {todo} submissions to mark{rest}")


def _workers() -> int:
    """Return how many markers to keep at work: one a core."""
    return len(os.sched_getaffinity(0))
