"""Grades one submission: runs its cells in order, and grades each exercise as it is at its test cell.

The run remembers there how an exercise is, and asks at the end of the notebook: one fork then serves all
exercises that exclude the same functions, since a fork costs more than the questions that are asked in it.
`_reach` says which exercises are asked at their test cell, in a fork of their own. In either case, what is
not right is graded again without the notebook.

A cell that ends the process costs its own exercise only. The notebook is run again without that cell,
and the exercises that were already graded keep their scores.
"""

import os
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import takewhile
from typing import Any

from autograder.grading import outcomes
from autograder.grading.chance import may_vary
from autograder.grading.incidents import Incidents
from autograder.grading.lines import LineFinder, wants_lines
from autograder.grading.outcomes import CheckResults
from autograder.grading.runner import ExerciseRunner
from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Oracle
from autograder.model.errors import RunCrashedError, RunEndedError, RunTimedOutError
from autograder.model.exercise import Exercise
from autograder.model.report import ExerciseReport, Report
from autograder.probe.notes import Kind
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Run
from autograder.submissions.align import Part, Role, needed_cells
from coursework.engine.observation import Observation, Raised
from coursework.source_rules import Refusal, first_refusal, odd_names

# The imports that every lesson takes for granted, whatever a submission did to them.
BASICS = {
    "math": "import math",
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
}
IMPORT_BASICS = "\n".join(BASICS.values())
RESTORE_BASICS = "\n".join(f"try: {name}\nexcept NameError: {line}" for name, line in BASICS.items())
ANSWER_SECONDS = 20.0
OWN_CELL_SECONDS = 10.0  # for a cell that the student added
OWN_CELLS_SECONDS = 40.0  # for all of those together; the rest is skipped
LONG_SECONDS = 10.0  # after which an exercise is graded as soon as it is reached
MANY_TIME_OUTS = 2  # after which each limit is shorter, so that the exercises below are graded as well
SHORTER = 0.25
# By the clock of a machine that has time; see `slowdown`.
TOTAL_SECONDS = 200.0  # after which no check is begun
LAST_SECONDS = 240.0  # after which no answer is waited for
LAST_SEARCH_SECONDS = 40.0  # for the search for lines, in all answers of a submission together
MOST_SLOWDOWN = 3.5  # of a submission; the pool waits for 900 s


def slowdown() -> float:
    """Return how many times as long everything takes on this machine, busy as it is: at least 1."""
    return min(MOST_SLOWDOWN, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


class GradingSession:
    """Grades the parts of one aligned submission, in as many runs of the notebook as it takes.

    After `grade`, `incidents` holds what the submission did besides computing, and `tracebacks`
    the grader's own failures, by exercise.
    """

    def __init__(
        self,
        oracle: Oracle,
        parts: Sequence[Part],
        warm: WarmProcess,
        started: float | None = None,
        settled: Report | None = None,
    ) -> None:
        """Count the submission's time from `started` on the monotonic clock, by default from now.

        The exercises of `settled`, an earlier report, keep their results and are not graded.
        """
        self.oracle, self.parts, self._warm = oracle, _with_basics(parts), warm
        self.incidents = Incidents()
        self.tracebacks: dict[str, str] = {}
        self._exercises = {exercise.id: exercise for exercise in oracle.lesson.exercises}
        self._answers = {part.exercise: part for part in parts if part.role is not Role.TEST}
        kept = settled.exercises if settled else []
        self._settled = {each.id: each for each in kept if each.id in self._exercises}
        self._reports: dict[str, ExerciseReport] = {}
        self._raised: dict[str, Raised] = {}  # by the cell of an exercise
        self._skipped: set[int] = set()  # indices of cells that ended the process
        self._first_pass = True
        # What is still to be graded alone when the notebook has been run, by exercise.
        self._alone: dict[str, Callable[..., ExerciseReport]] = {}
        self._own_seconds = 0.0
        self._timed_out: set[str | int] = set()  # exercises, and indices of cells that are the student's own
        self._started = time.monotonic() if started is None else started
        self._slow, self._over = 1.0, False  # the greatest slowdown so far; whether the time is over

    def grade(self) -> list[ExerciseReport]:
        """Grade every exercise, and return the reports in the lesson's order."""
        for exercise in self._exercises.values():
            if report := outcomes.without_running(exercise, self._answers.get(exercise.id)):
                self._reports[exercise.id] = report
        self._reports |= self._settled
        while self._open() and not self._out_of_time():
            with ExitStack() as runs:
                run = runs.enter_context(self._run())
                self._run_notebook(run)
                self._first_pass = False
                run.leave()
                clean = run.clean()
                self.incidents.add(None, run.take_notes())
                for exercise_id, grade in self._alone.items():
                    if not clean:
                        run.close()
                        run = runs.enter_context(self._run())
                    self._keep(exercise_id, partial(grade, run=run))
                    clean = run.clean()
                    self.incidents.add(exercise_id, run.take_notes())
                self._alone.clear()
        for exercise in self._open():
            self._reports[exercise.id] = outcomes.out_of_time(exercise, round(TOTAL_SECONDS * self._slow))
        return [self._reports[exercise_id] for exercise_id in self._exercises]

    def _open(self) -> list[Exercise]:
        """Return the exercises that are not graded yet, and do not wait to be graded alone."""
        done = self._reports.keys() | self._alone.keys()
        return [each for each in self._exercises.values() if each.id not in done]

    def _out_of_time(self) -> bool:
        """Return whether the submission's time is over: once it is, it stays so, and none is taken back."""
        self._slow = max(self._slow, slowdown())
        self._over = self._over or time.monotonic() > self._started + TOTAL_SECONDS * self._slow
        return self._over

    def _limit(self, seconds: float) -> float:
        """Return how many seconds something may take that is given `seconds` in an ordinary submission."""
        return seconds * (SHORTER if len(self._timed_out) >= MANY_TIME_OUTS else 1.0)

    def _run(self) -> Run:
        """Open a run that ends with the submission's time, whatever it is doing then.

        The machine may become busy while it lasts.
        """
        return self._warm.run(self._started + LAST_SECONDS * MOST_SLOWDOWN)

    def _run_notebook(self, run: Run) -> None:
        """Run the notebook from the top, until its end or until its process has ended."""
        kept: list[Exercise] = []
        for index, part in enumerate(self.parts):
            if self._out_of_time() or not run.alive:
                return
            if part.role is Role.TEST:
                self._reach(part.exercise, run, kept)
            elif part.runs and index not in self._skipped:
                self._run_cell(index, part, run)
        for exercise in self._open():  # the cell with its test may be gone
            self._reach(exercise.id, run, kept)
        self._grade_kept(run, kept)

    def _run_cell(self, index: int, part: Part, run: Run) -> None:
        """Run one cell. One that ends the process is skipped from now on, and fails its exercise."""
        seconds = self._limit(OWN_CELL_SECONDS if part.role is Role.OWN else ANSWER_SECONDS)
        try:
            raised = self._timed(part, run, seconds)
            if raised and _out_of_memory(raised):
                run.close()  # what it still holds would be missing for the cells that follow
                raise RunCrashedError("out of memory")
        except RunEndedError as ending:
            self._skipped.add(index)
            if isinstance(ending, RunTimedOutError):
                self._timed_out.add(part.exercise or index)
            if part.role is Role.SOLUTION and part.exercise:
                self._alone[part.exercise] = partial(self._ended, ending=ending, seconds=seconds)
        else:
            self._keep_exception(part, raised)

    def _timed(self, part: Part, run: Run, seconds: float) -> dict[str, Any] | None:
        """Run a cell within its limit, and return a description of the exception it raised."""
        own = part.role is Role.OWN
        if own and self._own_seconds > OWN_CELLS_SECONDS:
            return None
        used = run.seconds
        try:
            return run.cell(part.source, seconds, self.oracle.lesson.name)
        except RunEndedError:
            self._own_seconds += seconds if own else 0.0
            raise
        finally:
            self._own_seconds += run.seconds - used if own else 0.0
            self.incidents.add(part.exercise, run.take_notes())

    def _keep_exception(self, part: Part, raised: Mapping[str, Any] | None) -> None:
        if raised and part.exercise:
            seen = Observation.of({"raised": raised}).raised
            self._raised[part.exercise] = seen or Raised("Exception", "")
        if raised and raised.get("type") == "SystemExit":
            self.incidents.add(part.exercise, [(Kind.ENDED, "exit()")])

    def _reach(self, exercise_id: str | None, run: Run, kept: list[Exercise]) -> None:
        """Keep how an exercise is at its test cell, to be graded later, or grade it now.

        It is graded now where it excludes functions but some cell of the notebook could not stand in its
        answer, and once a cell has ended a run or taken long: another may, and nothing would be graded.
        """
        exercise = next((each for each in self._open() if each.id == exercise_id), None)
        if exercise is None or exercise in kept:
            return
        long = time.monotonic() > self._started + LONG_SECONDS
        if long:
            self._grade_kept(run, kept)
        later = self._first_pass and not long and self._all_allowed(exercise, self.parts)
        if later and run.keep(exercise.id):
            kept.append(exercise)
        elif run.alive:
            self._keep(exercise.id, partial(self._graded, run=run))

    def _grade_kept(self, run: Run, kept: list[Exercise]) -> None:
        clean = bool(kept) and run.leave()
        for exercise in sorted(kept, key=_excluded):
            if run.alive:
                self._keep(exercise.id, partial(self._graded, run=run, clean=clean))
        kept.clear()

    def _keep(self, exercise_id: str, grade: Callable[[Exercise], ExerciseReport | None]) -> None:
        """Keep the report that `grade` gives, if any. A fault of the grader leaves it to a person."""
        exercise = self._exercises[exercise_id]
        if exercise_id in self._settled:
            return
        try:
            report = grade(exercise)
        except Exception:
            self.tracebacks[exercise.id] = traceback.format_exc()
            report = outcomes.grader_error(exercise)
        if report is not None:
            self._reports[exercise.id] = report

    def _graded(self, exercise: Exercise, run: Run, clean: bool | None = None) -> ExerciseReport | None:
        """Grade the answer as it stands in the notebook. Return None if it is to be graded alone as well.

        Where the exercise excludes functions, its text is read first. If another cell before it would not
        be allowed in the answer, or left something behind, the answer is only run alone. `clean` says that
        nothing was left behind, if that is known: then the run has kept how the exercise was.
        """
        if exercise.excludes and (refusal := self._refusal(exercise)):
            return outcomes.not_allowed(exercise, refusal)
        kept = clean is not None
        if exercise.excludes and not (
            clean if kept else self._all_allowed(exercise, self._before(exercise)) and run.leave()
        ):
            self._alone[exercise.id] = self._graded_alone
            return None
        with self._runner(exercise, run, kept=kept) as runner:
            first = runner.run()
            self._timed_out |= {exercise.id} if first.timed_out else set()
            if not first.perfect and not self._out_of_time():
                runner.try_examples()
        self.incidents.add(exercise.id, run.take_notes())
        if first.perfect or self._out_of_time():
            return self._report(exercise, first)
        self._alone[exercise.id] = partial(self._graded_alone, first=first)
        return None

    def _graded_alone(
        self, exercise: Exercise, run: Run, first: CheckResults | None = None
    ) -> ExerciseReport:
        """Grade an answer without the notebook, and report this or a `first` run that is better."""
        if first and self._out_of_time():
            return self._report(exercise, first)
        alone = self._run_alone(exercise, run, first)
        if first and first.merit > alone.merit:
            return self._report(exercise, first, alone)
        return self._report(exercise, alone, *filter(None, [first]))

    def _ended(self, exercise: Exercise, run: Run, ending: RunEndedError, seconds: float) -> ExerciseReport:
        """Grade an exercise whose cell ended the process, which an earlier cell may have caused."""
        alone = self._run_alone(exercise, run)
        if alone.merit:
            return self._report(exercise, alone)
        return outcomes.cell_ended(exercise, ending, seconds)

    def _run_alone(self, exercise: Exercise, run: Run, first: CheckResults | None = None) -> CheckResults:
        """Run the checks without the notebook: the answer, the helpers it needs, and right parts.

        Those that failed in a `first` run come first. No cell is ever run in the process that the probes are
        forked from, so it serves one exercise after the other, as long as the probes leave nothing behind.
        """
        cells = [IMPORT_BASICS, *self._sources(exercise)]
        with self._runner(exercise, run, self.oracle.stand_ins(exercise), cells) as runner:
            alone = runner.run(first)
            self._timed_out |= {exercise.id} if alone.timed_out else set()
            runner.try_examples()
        return alone

    def find_lines(self, report: Report, seconds: float) -> tuple[Report, dict[str, str]]:
        """Return a report of this submission with the lines to blame, and the changes that tell, by exercise.

        Each answer is searched for some `seconds` of processor time. One that has its lines is not again.
        """
        deadline = time.monotonic() + LAST_SEARCH_SECONDS * slowdown()
        finder = LineFinder(self.oracle, self._warm, deadline, seconds)
        changes: dict[str, str] = {}
        exercises = []
        for done in report.exercises:
            exercise = self._exercises.get(done.id)
            if exercise is not None and wants_lines(exercise, done):
                *helpers, source = IMPORT_BASICS, *self._sources(exercise)
                blame = finder.blame(exercise, done, helpers, source)
                done = blame.added_to(done)
                changes |= {done.id: blame.change} if blame.change else {}
            elif done.lines is None and done.failures:
                done = done.model_copy(update={"lines": []})
            exercises.append(done)
        return report.with_exercises(exercises), changes

    def _sources(self, exercise: Exercise) -> list[str]:
        """Return the cells that an answer is made of: the helpers it needs, and itself."""
        given = BASICS.keys() | self.oracle.lesson.given.keys()
        given |= {other.name for other in self.oracle.lesson.upstream(exercise)}
        helpers = needed_cells(self.parts, exercise.id, given)
        return [*helpers, self._answers[exercise.id].source]

    def _written(self, exercise: Exercise) -> list[str]:
        """Return those of the cells that an answer is made of that are not the lesson's own."""
        locked = {part.source for part in self.parts if part.role is Role.LOCKED}
        return [source for source in self._sources(exercise) if source not in locked]

    def _runner(
        self,
        exercise: Exercise,
        run: Run,
        stand_ins: Mapping[str, str] | None = None,
        cells: Sequence[str] = (),
        *,
        kept: bool = False,
    ) -> ExerciseRunner:
        source, share = self._answers[exercise.id].source, self._limit(1.0)
        varies = may_vary(self._written(exercise))
        return ExerciseRunner(
            self.oracle, exercise, run, self._out_of_time, source, stand_ins, cells, kept, share, varies
        )

    def _refusal(self, exercise: Exercise) -> Refusal | None:
        """Return what the answer, or a cell that it needs, is not to be written with; None for nothing."""
        sources = self._written(exercise)
        refusal = _refused(exercise, sources)
        odd = [f"the text {name!r}" for source in sources for name in odd_names(source)]
        odd += [refusal.what] if refusal and refusal.reflection else []
        self.incidents.add(exercise.id, ((Kind.REFLECTION, what) for what in odd))
        return refusal

    def _before(self, exercise: Exercise) -> Iterable[Part]:
        test = (Role.TEST, exercise.id)
        return takewhile(lambda part: (part.role, part.exercise) != test, self.parts)

    @staticmethod
    def _all_allowed(exercise: Exercise, parts: Iterable[Part]) -> bool:
        """Return whether an exercise excludes nothing, or each of some cells could stand in its answer."""
        written = [part.source for part in parts if part.runs and part.role is not Role.LOCKED]
        return not exercise.excludes or _refused(exercise, written) is None

    def _report(self, exercise: Exercise, best: CheckResults, *others: CheckResults) -> ExerciseReport:
        """Report the best run. Where it shows no known mistake, another may: the parts before differ.

        One that called what the exercise excludes, where the best did not, shows what those parts did.
        """
        self.incidents.add(exercise.id, ((Kind.CHANGING, title) for title in best.changing))
        raised = self._raised.get(exercise.id)
        if raised and best.undefined:
            return outcomes.cell_raised(exercise, raised, self._answers[exercise.id].source)
        also = [each for each in others if best.called_excluded or not each.called_excluded]
        tried = [] if best.perfect else [best, *also]
        source = self._answers[exercise.id].source if exercise.id in self._answers else ""
        found = (diagnose(self.oracle, exercise, done.evidence, source) for done in tried)
        return outcomes.graded(self.oracle.lesson.name, exercise, best, next(filter(None, found), []))


def _with_basics(parts: Iterable[Part]) -> list[Part]:
    """Put the basic imports first, and before each test restore those that were deleted."""
    found = [Part(Role.LOCKED, IMPORT_BASICS)]
    for part in parts:
        if part.role is Role.TEST:
            found.append(Part(Role.LOCKED, RESTORE_BASICS))
        found.append(part)
    return found


def _excluded(exercise: Exercise) -> tuple[str, ...]:
    return tuple(exercise.excludes.names) if exercise.excludes else ()


def _refused(exercise: Exercise, cells: Sequence[str]) -> Refusal | None:
    """Return the first thing in some cells that an exercise's answer is not to be written with."""
    derivatives = bool(exercise.excludes and exercise.excludes.derivatives)
    return first_refusal(cells, derivatives=derivatives)


def _out_of_memory(raised: Mapping[str, Any]) -> bool:
    message = str(raised.get("message"))
    return raised.get("type") == "MemoryError" or "can't allocate memory" in message
