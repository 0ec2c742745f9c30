"""Grades again what a changed check touches, and says what that changes before anything is written."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from autograder.grading.grade_submission import Result
from autograder.grading.loop import GradingLoop
from autograder.grading.pool import Pool
from autograder.grading.version import exercise_versions
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.report import ExerciseReport, Outcome
from autograder.reports.publish import publish
from autograder.storage.attempts import AttemptLog
from autograder.storage.io_errors import plain_io_errors, wait_for_gradebook
from autograder.submissions.submission import Submission


@dataclass(frozen=True)
class Regraded:
    """One submission that was graded again: the attempt before, and what came now."""

    before: Attempt
    result: Result

    @property
    def kept_changes(self) -> Result:
        """The result, with the changes that tell the lines of what was not graded again."""
        attempt, notebook = self.result
        kept = {done.id for done in attempt.report.exercises if done.lines}
        changes = {name: change for name, change in self.before.changes.items() if name in kept}
        return attempt.model_copy(update={"changes": attempt.changes | changes}), notebook

    @property
    def differences(self) -> list[str]:
        """What changes for the student, one line for each exercise; none if all is as before."""
        earlier = {each.id: each for each in self.before.report.exercises}
        now = self.result[0].report.exercises
        return [line for each in now if (line := _difference(earlier.get(each.id), each))]


def regrade(course: Course, lesson: str, pool: Pool) -> list[Regraded]:
    """Grade again, in each submission that was graded before, the exercises whose checks have changed.

    Nothing is written. A submission whose file has changed since is left to a class run. Raises as
    `grade_lesson` does, and CourseError if nothing was graded before.
    """
    loop = GradingLoop(course, lesson, sandboxed=pool.sandboxed)
    checks = exercise_versions(course, lesson, loop.version)
    before = AttemptLog(course.reports).graded(lesson)
    asked = (
        _touched(loop.submission(student), attempt, checks, sandboxed=pool.sandboxed)
        for student, attempt in sorted(before.items())
    )
    todo = [submission for submission in asked if submission is not None]
    with closing(pool.grade_all(todo)) as results:
        done = [Regraded(before[result[0].student], result) for result in results]
    return sorted(done, key=lambda each: each.before.student)


def _touched(
    submission: Submission, attempt: Attempt, checks: dict[str, str], *, sandboxed: bool
) -> Submission | None:
    """Return the submission with what need not be graded again; None if there is nothing to grade."""
    if submission.sha256() != attempt.sha256:
        return None
    kept = [
        each
        for each in attempt.report.exercises
        if attempt.checks.get(each.id) == checks.get(each.id)
        and each.outcome is not Outcome.GRADER_FAULT
        and (attempt.sandboxed or not sandboxed)
    ]
    names = {each.id for each in kept}
    if checks.keys() <= names:
        return None
    incidents = [each for each in attempt.report.incidents if each.exercise in names]
    update = {"exercises": kept, "incidents": incidents}
    settled = attempt.report.model_copy(update=update) if attempt.report.is_graded else None
    return replace(submission, settled=settled)


def _difference(before: ExerciseReport | None, now: ExerciseReport) -> str:
    """Say how the result of an exercise changes; '' if it does not."""
    if before is None:
        return f"{now.id}: new, {_score(now)}"
    before, now = before.as_graded, now.as_graded
    if before == now:
        return ""
    if (before.score, before.outcome) != (now.score, now.outcome):
        return f"{now.id}: {_score(before)} → {_score(now)}"
    names = [", ".join(m.id for m in each.misconceptions) or "none" for each in (before, now)]
    if names[0] != names[1]:
        return f"{now.id}: {_score(now)}; mistakes named: {names[0]} → {names[1]}"
    return f"{now.id}: {_score(now)}; other messages"


def _score(report: ExerciseReport) -> str:
    score = "open" if report.score is None else f"{report.score:g}"
    return f"{score} of {report.points:g} ({report.outcome})"


def apply(course: Course, lesson: str, done: Sequence[Regraded], pool: Pool) -> list[str]:
    """Write what was graded again, as a class run does, and return what a person should know.

    Scores and comments that were given by hand stay: the answers are the same.
    """
    with plain_io_errors(course):
        wait_for_gradebook(course)
        loop = GradingLoop(course, lesson, sandboxed=pool.sandboxed)
        said = [
            f"{recorded.attempt.student}: {score}"
            for recorded in loop.record(each.kept_changes for each in done)
            for score in recorded.withdrawn
        ]
        log = AttemptLog(course.reports)
        newest = log.latest(lesson)
        graded = [newest[each.before.student] for each in done]
        for _ in loop.find_lines(pool, filter(loop.wants_lines, graded)):
            pass  # each is kept as it comes
        failed = loop.make_pages(loop.stale(each.before.student for each in done), pool)
        said += [f"{student}: no feedback page ({why})" for student, why in failed.items()]
        log.export()
        publish(course, course.lessons())
    return said
