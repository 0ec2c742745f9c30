"""The one loop of grading: what is settled is skipped, the rest is graded and recorded, and pages follow.

A class run, the watch and a regrade use `GradingLoop`, on this machine or on a cluster; `nbgrader autograde`
brings its own loop, and records in the same way. They differ in where submissions come from, and in which
pool grades them. `grade_lessons` is the class run: from the folder `submitted` to feedback pages and reports.

Two marks let an interrupted run go on where it stopped. The autograded folder is written last, after
gradebook and log, so an attempt is recorded if the notebook there holds it (`is_settled`). A page gets the
time of that notebook once it is complete, and is fresh as long as the two times are equal (`stale`). Where
only scores change, the page's time is set to 0.
"""

from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from nbformat import NotebookNode
from rich.console import Console

from autograder.grading.grade_submission import Result
from autograder.grading.pool import Pool
from autograder.grading.version import lesson_version
from autograder.model.attempt import Attempt
from autograder.model.course import ERROR_LOG, Course
from autograder.model.errors import AutograderError, CourseError
from autograder.model.nbgrader_config import search_seconds
from autograder.model.report import Report
from autograder.model.text import clean, counted
from autograder.reports import feedback_exporter
from autograder.reports.formgrader import graded_notebook
from autograder.reports.publish import Published, publish
from autograder.reports.terminal import grading_progress
from autograder.reports.words import report_total, taken_off
from autograder.storage.attempts import AttemptLog
from autograder.storage.gradebook import LessonGrades, Withdrawn, student_grades
from autograder.storage.io_errors import plain_io_errors, wait_for_gradebook
from autograder.storage.recorder import Recorder, amend, stored_attempt, without_time
from autograder.submissions.released import fingerprint
from autograder.submissions.submission import Submission, look_alike, misplaced, of_no_lesson, submitted_by


@dataclass(frozen=True)
class Recorded:
    """A recorded attempt, what was given by hand that it withdrew, and what the student has now.

    `report` has the scores given by hand that stay, and `penalty` is what is taken off for lateness.
    """

    attempt: Attempt
    withdrawn: list[Withdrawn]
    report: Report
    penalty: float

    @property
    def total(self) -> str:
        """What the student has now in words, as on the feedback page."""
        late = f" ({taken_off(self.penalty)} for lateness)" if self.penalty else ""
        return f"{report_total(self.report, self.penalty)}{late}"


class GradingLoop:
    """Grades submissions for one lesson as it is now, and records what they get.

    Raises CourseError if the lesson has no text or was never released. Programs call
    `feedback_exporter.require_settings` once, before they grade.
    """

    def __init__(self, course: Course, lesson: str, *, sandboxed: bool = True) -> None:
        self.course, self.lesson, self.sandboxed = course, lesson, sandboxed
        self.version = lesson_version(course, lesson)
        self._searches = search_seconds(course) > 0

    def submission(self, student: str) -> Submission:
        """Return a student's submission, to be graded by the lesson's current version."""
        return Submission(self.course, student, self.lesson, self.version)

    def is_settled(self, submission: Submission, newest: Attempt | None) -> bool:
        """Return whether the student's `newest` attempt graded the submission as it is now.

        The attempt also has to be the one in the autograded folder, which is written last: then it was
        recorded completely.
        """
        if newest is None:
            return False
        same = newest.settles(submission.sha256(), self.version, sandboxed=self.sandboxed)
        return same and newest == stored_attempt(self.course, submission.student, self.lesson)

    def register(self) -> None:
        """Make sure that the gradebook knows the lesson; see `authoring.release.register`."""
        from autograder.authoring.release import register  # takes half a second to import

        register(self.course, self.lesson)

    def graded_notebook(self, attempt: Attempt, notebook: NotebookNode) -> NotebookNode:
        """Return the aligned notebook with the attempt and its feedback in it."""
        return graded_notebook(notebook, attempt, fingerprint(self.course, self.lesson).texts)

    def grade(self, pool: Pool, todo: Sequence[Submission]) -> Generator[Recorded, None, None]:
        """Grade submissions, and yield each when it is recorded, in any order.

        Raises the AutograderErrors that would stop every submission alike.
        """
        with closing(pool.grade_all(todo)) as results:
            yield from self.record(results)

    def record(self, results: Iterable[Result]) -> Generator[Recorded, None, None]:
        """Write each result into the gradebook, the log and the autograded folder as it comes.

        One whose student was removed meanwhile is dropped.
        """
        recorder = None
        with ExitStack() as stack:
            for attempt, notebook in results:
                if recorder is None:  # now, while the pool grades the next ones
                    self.register()
                    recorder = stack.enter_context(Recorder(self.course))
                withdrawn = recorder.record(attempt, self.graded_notebook(attempt, notebook))
                if withdrawn is None:
                    continue
                now = student_grades(recorder.book, attempt.student).get(self.lesson, LessonGrades())
                report = attempt.report.with_scores(now.scores)
                yield Recorded(attempt, withdrawn, report, now.late_penalty)

    def find_lines(self, pool: Pool, attempts: Iterable[Attempt]) -> Generator[Attempt, None, None]:
        """Look for the lines that are wanted in recorded attempts; keep and yield each that now says more."""
        before = {each.student: each for each in attempts}
        graded = [replace(self.submission(each.student), graded=each) for each in before.values()]
        for attempt in pool.find_lines(graded):
            if self.keep_lines(before[attempt.student], attempt):
                yield attempt

    def wants_lines(self, attempt: Attempt) -> bool:
        """Return whether the lines to blame are to be looked for in what was recorded."""
        return attempt.report.is_unsearched and self._searches

    def keep_lines(self, before: Attempt, attempt: Attempt) -> bool:
        """Keep what a search found in an attempt, and return whether the stored one now says more."""
        return attempt != before and amend(self.course, attempt)

    def stale(self, students: Iterable[str]) -> list[str]:
        """Return the students whose pages are absent or older than the scores."""
        return [name for name in students if feedback_exporter.is_stale(self.course, name, self.lesson)]

    def make_pages(self, students: Sequence[str]) -> dict[str, str]:
        """Make these students' pages; return what went wrong, by student."""
        return feedback_exporter.make_pages(self.course, self.lesson, students)


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

    Raises SettingsError, before anything is graded, if a setting would break recording or page-making.
    """
    feedback_exporter.require_settings(course)
    console = console or Console(stderr=True)
    if names := of_no_lesson(course):
        _say(console, f"left out, because no lesson has that name: {names}")
    if names := misplaced(course.submitted):
        _say(console, f"left out, because a notebook belongs in submitted/STUDENT/LESSON/: {names}")
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
    verbose: bool = True,
) -> list[Attempt]:
    """Grade and record every submission of a lesson; return each student's newest attempt.

    A submission that was graded before is skipped, unless its file, the lesson or the grader
    changed, or `force` is set, so an interrupted run continues where it stopped. Progress is shown on
    `console`, by default standard error: a bar in a terminal, and, if `verbose`, what happens. Raises
    CourseError if there are no submissions, if the results cannot be written or if the cluster cannot be
    reached, and SandboxMissingError if there is no sandbox.
    """
    shown = console or Console(stderr=True)
    console = shown if verbose else Console(quiet=True)
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
        _say(console, f"{lesson}: {counted(len(todo), 'submission')} to grade{rest}")
        newest |= _grade(loop, pool, todo, console, shown)
        # without those who were removed meanwhile
        newest = {each: newest[each] for each in students if loop.submission(each).folder.is_dir()}
        recorded = {each.student for each in todo}  # these have their stamps
        feedback_exporter.renew_stamps(course, lesson, newest.keys() - recorded)
        for student, (before, now) in feedback_exporter.renew_penalties(course, lesson).items():
            _say(console, f"  {student}: {before:g} → {taken_off(now)} for lateness")
        for line in without_time(course, lesson, newest):
            _say(console, line)
        # those of an earlier run too, if it was stopped before the search
        newest |= _find_lines(loop, pool, newest, console)
        log.export()
        _make_pages(loop, newest, console)
        return [*newest.values()]


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
            attempt = done.attempt
            made[attempt.student] = attempt
            reason = f" ({clean(done.report.reason, 200)})" if done.report.reason else ""
            error = " (grader error)" if attempt.faulty else ""
            _say(console, f"[{len(made)}/{len(todo)}] {attempt.student}: {done.total}{reason}{error}")
            for score in done.withdrawn:
                _say(console, f"  {attempt.student}: {score}")
    errors = sum(bool(attempt.detail) for attempt in made.values())
    if errors:
        path = (loop.course.reports / ERROR_LOG).relative_to(loop.course.root)
        _say(console, f"{counted(errors, 'grader error')}: see {path}")
    return made


def _find_lines(
    loop: GradingLoop, pool: Pool, newest: dict[str, Attempt], console: Console
) -> dict[str, Attempt]:
    """Look for the lines to blame, now that the scores are recorded; return what was searched, by student."""
    if todo := [each for each in newest.values() if loop.wants_lines(each)]:
        _say(
            console,
            f"{loop.lesson}: looking for the line in {counted(len(todo), 'submission')} with wrong answers",
        )
    found: dict[str, Attempt] = {}
    try:
        found.update((attempt.student, attempt) for attempt in loop.find_lines(pool, todo))
    except AutograderError as problem:  # the scores are recorded, and pages can do without
        _say(console, f"{loop.lesson}: the search for the line ended early: {problem}")
    if found:
        searched = [each for one in found.values() for each in one.report.exercises if each.may_have_lines]
        told = sum(bool(each.lines) for each in searched)
        _say(console, f"{loop.lesson}: found the line in {told} of {len(searched)} wrong answers")
    return found


def _make_pages(loop: GradingLoop, students: Iterable[str], console: Console) -> None:
    if stale := loop.stale(students):
        _say(console, f"{loop.lesson}: making {counted(len(stale), 'feedback page')}")
        for student, problem in loop.make_pages(stale).items():
            _say(console, f"  {student}: no feedback page ({problem}); the scores are recorded")


def _say(console: Console, line: str) -> None:
    """Print a line for the instructor, cleaned of what a terminal would act on."""
    indent = " " * (len(line) - len(line.lstrip(" ")))
    console.print(indent + clean(line), markup=False, highlight=False, soft_wrap=True)
