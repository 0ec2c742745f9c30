"""Grades again what a changed check touches, and says what that changes before anything is written."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from nbgrader.api import MissingEntry

from autograder.grading.grade_submission import Result
from autograder.grading.loop import GradingLoop
from autograder.grading.pool import Pool
from autograder.grading.version import exercise_versions
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.model.text import counted
from autograder.reports.feedback_exporter import require_settings
from autograder.reports.publish import publish
from autograder.storage.attempts import AttemptLog
from autograder.storage.gradebook import ByHand, given_by_hand
from autograder.storage.io_errors import plain_io_errors, wait_for_gradebook
from autograder.storage.recorder import SMALLEST, Recorder
from autograder.submissions.submission import Submission


@dataclass(frozen=True)
class Regraded:
    """One submission that was graded again: the attempt before, and what came now.

    `by_hand` is what a person gave, by exercise: it stays. `penalty` is what was taken off for lateness, and
    `penalty_now` what will be.
    """

    before: Attempt
    result: Result
    by_hand: Mapping[str, ByHand] = field(default_factory=dict)
    penalty: float = 0.0
    penalty_now: float = 0.0

    @property
    def kept_changes(self) -> Result:
        """The result, with the changes that tell the lines of what was not graded again."""
        attempt, notebook = self.result
        kept = {done.id for done in attempt.report.exercises if done.lines}
        changes = {name: change for name, change in self.before.changes.items() if name in kept}
        return attempt.model_copy(update={"changes": attempt.changes | changes}), notebook

    @property
    def points(self) -> tuple[float, float]:
        """The student's points before and now: with what was given by hand, less what lateness costs."""
        before, now = (self._score(report) for report in (self.before.report, self.result[0].report))
        return before - self.penalty, now - self.penalty_now

    @property
    def differences(self) -> list[str]:
        """What changes for the student, one line for each exercise; none if all is as before."""
        earlier = {each.id: each for each in self.before.report.exercises}
        now = self.result[0].report.exercises
        found = [
            f"{line}{_stays(self.by_hand.get(each.id))}"
            for each in now
            if (line := _difference(earlier.get(each.id), each))
        ]
        if abs(self.penalty - self.penalty_now) > SMALLEST:
            points = counted(round(self.penalty_now, 2), "point")
            found.append(f"taken off for lateness: {self.penalty:g} → {points}")
        return found

    def _score(self, report: Report) -> float:
        given = {
            each.id: self.by_hand[each.id].added_to(each.score)
            for each in report.exercises
            if each.id in self.by_hand
        }
        return report.with_scores(given).score

    def with_gradebook(self, recorder: Recorder, by_hand: Mapping[str, ByHand]) -> "Regraded":
        """Return it with what the gradebook holds of the student besides the grader's own scores."""
        done = replace(self, by_hand=by_hand)
        student, lesson = self.before.student, self.before.lesson
        try:
            submitted = recorder.book.find_submission_notebook(lesson, lesson, student)
            now = recorder.penalty(student, lesson, done._score(self.result[0].report))
        except MissingEntry:  # nothing is held: the gradebook is new
            return done
        return replace(done, penalty=submitted.late_submission_penalty or 0.0, penalty_now=now)


def regrade(course: Course, lesson: str, pool: Pool) -> list[Regraded]:
    """Grade again, in each submission that was graded before, the exercises whose checks have changed.

    Nothing is written. A submission whose file has changed since is left to a class run. Raises as
    `grade_lessons` does, and CourseError if nothing was graded before.
    """
    require_settings(course)
    loop = GradingLoop(course, lesson, sandboxed=pool.sandboxed)
    checks = exercise_versions(course, lesson, loop.version)
    before = AttemptLog(course.reports).graded(lesson)
    asked = (
        _touched(loop.submission(student), attempt, checks, loop.version, sandboxed=pool.sandboxed)
        for student, attempt in sorted(before.items())
    )
    todo = [submission for submission in asked if submission is not None]
    with closing(pool.grade_all(todo)) as results:
        done = [Regraded(before[result[0].student], result) for result in results]
    if done:
        with plain_io_errors(course), Recorder(course) as recorder:
            given = given_by_hand(recorder.book, lesson)
            done = [each.with_gradebook(recorder, given.get(each.before.student, {})) for each in done]
    return sorted(done, key=lambda each: each.before.student)


def _touched(
    submission: Submission, attempt: Attempt, checks: dict[str, str], version: str, *, sandboxed: bool
) -> Submission | None:
    """Return the submission with what need not be graded again; None if there is nothing to grade."""
    if submission.sha256() != attempt.sha256:
        return None
    if not attempt.report.is_graded and attempt.settles(attempt.sha256, version, sandboxed=sandboxed):
        return None
    kept = [
        each
        for each in attempt.report.exercises
        if attempt.checks.get(each.id) == checks.get(each.id)
        and each.outcome is not Outcome.GRADER_ERROR
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
    if (before.score, before.points, before.outcome) != (now.score, now.points, now.outcome):
        return f"{now.id}: {_score(before)} → {_score(now)}"
    names = [", ".join(m.id for m in each.misconceptions) or "none" for each in (before, now)]
    if names[0] != names[1]:
        return f"{now.id}: {_score(now)}; mistakes named: {names[0]} → {names[1]}"
    return f"{now.id}: {_score(now)}; other messages"


def _stays(given: ByHand | None) -> str:
    """Name what a person gave to the exercise, which does not change with it."""
    if given is None:
        return ""
    parts = [] if given.score is None else [f"the {given.score:g} given by hand"]
    parts += [f"the extra credit {given.extra_credit:g}"] if given.extra_credit else []
    return f"; {' and '.join(parts)} stay{'' if len(parts) > 1 else 's'}" if parts else ""


def _score(report: ExerciseReport) -> str:
    score = "open" if report.score is None else f"{report.score:g}"
    return f"{score} of {report.points:g} ({report.outcome})"


def apply(course: Course, lesson: str, done: Sequence[Regraded], pool: Pool) -> list[str]:
    """Write what was graded again, as a class run does, and return what a person should know.

    Scores and comments that were given by hand stay: the answers are the same. A student of whom something
    newer was recorded meanwhile is left out.
    """
    with plain_io_errors(course):
        wait_for_gradebook(course)
        loop = GradingLoop(course, lesson, sandboxed=pool.sandboxed)
        log = AttemptLog(course.reports)
        when = {student: attempt.graded_at for student, attempt in log.latest(lesson).items()}
        done = [each for each in done if each.before.student in when]  # the others were removed
        new = [each.before.student for each in done if when[each.before.student] != each.before.graded_at]
        said = [f"{student}: graded again in the meantime, so left unchanged" for student in new]
        done = [each for each in done if each.before.student not in new]
        said += [
            f"{recorded.attempt.student}: {score}"
            for recorded in loop.record(each.kept_changes for each in done)
            for score in recorded.withdrawn
        ]
        newest = log.latest(lesson)  # of everybody: an earlier writing may have been interrupted
        try:
            for _ in loop.find_lines(pool, (each for each in newest.values() if _lacks_lines(loop, each))):
                pass  # each is kept as it comes
        except AutograderError as problem:
            said.append(f"the search for the line ended early: {problem}")
        failed = loop.make_pages(loop.stale(newest))
        said += [f"{student}: no feedback page ({why})" for student, why in failed.items()]
        log.export()
        publish(course, course.lessons())
    return said


def _lacks_lines(loop: GradingLoop, attempt: Attempt) -> bool:
    """Return whether the lines are to be looked for in the file that was graded, by the checks of now."""
    submission = loop.submission(attempt.student)
    same = attempt.settles(submission.sha256(), loop.version, sandboxed=loop.sandboxed)
    return same and loop.wants_lines(attempt)
