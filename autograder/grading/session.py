"""Grades one submission: runs its cells in order, and grades each exercise at its test cell.

A cell that ends the process costs its own exercise only. The notebook is run again without that cell,
and the exercises that were already graded keep their scores.
"""

import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.grading import outcomes
from autograder.grading.incidents import Incidents
from autograder.grading.runner import ExerciseRun, ExerciseRunner
from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Oracle
from autograder.model.errors import RunCrashedError, RunEndedError
from autograder.model.exercise import Exercise
from autograder.model.observation import Observation, Raised
from autograder.model.report import ExerciseReport
from autograder.probe.notes import Kind
from autograder.sandbox.client import Run, WarmProcess
from autograder.submissions.align import Part, Role

ANSWER_SECONDS = 20.0
OWN_CELL_SECONDS = 10.0  # for a cell that the student added
OWN_CELLS_SECONDS = 40.0  # for all of those together; the rest is skipped
TOTAL_SECONDS = 200.0


class GradingSession:
    """Grades the parts of one aligned submission, in as many runs of the notebook as it takes.

    After `grade`, `incidents` holds what the submission did besides computing, and `tracebacks`
    the grader's own failures, by exercise.
    """

    def __init__(self, oracle: Oracle, parts: Sequence[Part], seed: int) -> None:
        self.oracle, self.parts, self.seed = oracle, parts, seed
        self.incidents = Incidents()
        self.tracebacks: dict[str, str] = {}
        self._exercises = {exercise.id: exercise for exercise in oracle.lesson.exercises}
        self._answers = {part.exercise: part for part in parts if part.role is not Role.TEST}
        self._reports: dict[str, ExerciseReport] = {}
        self._raised: dict[str, Raised] = {}  # by the cell of an exercise
        self._skipped: set[int] = set()  # indices of cells that ended the process
        self._own_seconds = 0.0
        self._deadline = time.monotonic() + TOTAL_SECONDS

    def grade(self, warm: WarmProcess) -> list[ExerciseReport]:
        """Grade every exercise, and return the reports in the lesson's order."""
        for exercise in self._exercises.values():
            if report := outcomes.without_running(exercise, self._answers.get(exercise.id)):
                self._reports[exercise.id] = report
        while self._open() and not self._out_of_time():
            with warm.run() as run:
                self._run_notebook(run)
                run.leave()
                self.incidents.add(None, run.take_notes())
        for exercise in self._open():
            self._reports[exercise.id] = outcomes.out_of_time(exercise, TOTAL_SECONDS)
        return [self._reports[exercise_id] for exercise_id in self._exercises]

    def _open(self) -> list[Exercise]:
        """Return the exercises that are not graded yet."""
        return [each for each in self._exercises.values() if each.id not in self._reports]

    def _out_of_time(self) -> bool:
        return time.monotonic() > self._deadline

    def _run_notebook(self, run: Run) -> None:
        """Run the notebook from the top, until its end or until its process has ended."""
        for index, part in enumerate(self.parts):
            if self._out_of_time() or not run.alive:
                return
            if part.role is Role.TEST:
                self._grade_exercise(part.exercise, run)
            elif part.runs and index not in self._skipped:
                self._run_cell(index, part, run)
        for exercise in self._open():  # the cell with its test is gone
            if run.alive:
                self._grade_exercise(exercise.id, run)

    def _run_cell(self, index: int, part: Part, run: Run) -> None:
        """Run one cell. One that ends the process is skipped from now on, and fails its exercise."""
        try:
            raised = self._timed(part, run)
            if raised and _out_of_memory(raised):
                run.close()  # what it still holds would be missing for the cells that follow
                raise RunCrashedError("out of memory")
        except RunEndedError as ending:
            self._skipped.add(index)
            if part.role is Role.SOLUTION and part.exercise:
                exercise = self._exercises[part.exercise]
                report = outcomes.cell_ended(exercise, ending, ANSWER_SECONDS)
                self._reports[exercise.id] = report
        else:
            self._keep_exception(part, raised)

    def _timed(self, part: Part, run: Run) -> dict[str, Any] | None:
        """Run a cell within its limits, and return a description of the exception it raised."""
        own = part.role is Role.OWN
        if own and self._own_seconds > OWN_CELLS_SECONDS:
            return None
        started = time.monotonic()
        try:
            return run.cell(part.source, OWN_CELL_SECONDS if own else ANSWER_SECONDS)
        finally:
            self._own_seconds += time.monotonic() - started if own else 0.0
            self.incidents.add(part.exercise, run.take_notes())

    def _keep_exception(self, part: Part, raised: Mapping[str, Any] | None) -> None:
        if raised and part.exercise:
            seen = Observation.of({"raised": raised}).raised
            self._raised[part.exercise] = seen or Raised("Exception", "")
        if raised and raised.get("type") == "SystemExit":
            self.incidents.add(part.exercise, [(Kind.ENDED, "exit()")])

    def _grade_exercise(self, exercise_id: str | None, run: Run) -> None:
        """Grade an exercise unless it is graded already. A fault of the grader leaves it to a person."""
        exercise = self._exercises.get(exercise_id or "")
        if exercise is None or exercise.id in self._reports:
            return
        try:
            report = self._graded(exercise, run)
        except Exception:
            self.tracebacks[exercise.id] = traceback.format_exc()
            report = outcomes.grader_fault(exercise)
        self._reports[exercise.id] = report

    def _graded(self, exercise: Exercise, run: Run) -> ExerciseReport:
        """Grade the answer with the student's earlier parts, then with right ones; keep the better."""
        best = latest = self._run_checks(exercise, run)
        stand_ins = self.oracle.stand_ins(exercise)
        if not best.perfect and stand_ins and run.alive:
            latest = self._run_checks(exercise, run, stand_ins)
            best = latest if latest.score >= best.score else best
        self.incidents.add(exercise.id, run.take_notes())
        self.incidents.add(exercise.id, ((Kind.CHANGING, title) for title in best.changing))
        raised = self._raised.get(exercise.id)
        if raised and best.undefined:
            return outcomes.cell_raised(exercise, raised, self._answers[exercise.id].source)
        mistakes = [] if best.perfect else diagnose(self.oracle, exercise, latest.evidence)
        return outcomes.graded(exercise, best, mistakes)

    def _run_checks(
        self, exercise: Exercise, run: Run, stand_ins: Sequence[str] = ()
    ) -> ExerciseRun:
        return ExerciseRunner(
            self.oracle,
            exercise,
            run,
            seed=self.seed,
            out_of_time=self._out_of_time,
            stand_ins=stand_ins,
            source=self._answers[exercise.id].source,
        ).run()


def _out_of_memory(raised: Mapping[str, Any]) -> bool:
    message = str(raised.get("message"))
    return raised.get("type") == "MemoryError" or "can't allocate memory" in message
