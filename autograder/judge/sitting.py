"""One submission, marked: runs its cells in order, and tries each exercise where its test stands.

A cell that ends the process costs its own exercise. The run starts again without it, and the
exercises that were already marked keep their marks.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.align import Part, Role
from autograder.judge.attempt import ENDED, Attempt, Attempter
from autograder.judge.diagnose import diagnose
from autograder.judge.exercise import Exercise
from autograder.judge.incidents import Incidents
from autograder.judge.judgement import say_raised
from autograder.judge.observation import Observation, Raised
from autograder.judge.workbench import Workbench
from autograder.results import CheckReport, ExerciseReport, NamedMistake, Outcome
from autograder.sandbox.client import Run, RunEndedError, WarmProcess

ANSWER_SECONDS = 20.0
OWN_SECONDS = 10.0
OWN_BUDGET = 40.0
TOTAL_SECONDS = 200.0
FAULTY = "the autograder could judge it"
FAULT = "The autograder failed here. This is not your fault: a person will mark it."
OUT_OF_TIME = "Not tried: the notebook as a whole took longer than {seconds:g} seconds."


class Sitting:
    """Marks the parts of one aligned submission."""

    def __init__(self, bench: Workbench, parts: Sequence[Part], seed: int) -> None:
        self.bench, self.parts, self.seed = bench, parts, seed
        self.reports: dict[str, ExerciseReport] = {}
        self.incidents = Incidents()
        self._answers = {part.exercise: part for part in parts if part.role is not Role.TEST}
        self._errors: dict[str, Raised] = {}
        self._ended: dict[int, str] = {}
        self._own_time = 0.0
        self._deadline = time.monotonic() + TOTAL_SECONDS

    def mark(self, warm: WarmProcess) -> list[ExerciseReport]:
        """Mark every exercise of the lesson and return the reports in its order."""
        for exercise in self.bench.lesson.exercises:
            self._without_running(exercise)
        while not self._complete():
            if self._out_of_time():
                self._stop()
                break
            with warm.run() as run:
                self._walk(run)
                run.leave()
                self.incidents.add(None, run.take_notes())
        return [self.reports[exercise.id] for exercise in self.bench.lesson.exercises]

    def _complete(self) -> bool:
        return all(exercise.id in self.reports for exercise in self.bench.lesson.exercises)

    def _stop(self) -> None:
        """Settle what is left when the whole notebook has had its time."""
        message = OUT_OF_TIME.format(seconds=TOTAL_SECONDS)
        check = CheckReport(
            id="runs", title="the notebook runs in time", passed=False, message=message
        )
        for exercise in self.bench.lesson.exercises:
            if exercise.id not in self.reports:
                self._settle(exercise, Outcome.TIMEOUT, 0.0, [check])

    def _without_running(self, exercise: Exercise) -> None:
        """Settle what needs no run: cells that are missing, left alone, or written by hand."""
        part = self._answers.get(exercise.id)
        if part is None or part.missing:
            self._settle(exercise, Outcome.MISSING, 0.0)
        elif part.unanswered:
            self._settle(exercise, Outcome.UNANSWERED, 0.0)
        elif exercise.written:
            self._settle(exercise, Outcome.NEEDS_MARKING, None)

    def _settle(
        self,
        exercise: Exercise,
        outcome: Outcome,
        score: float | None,
        checks: Sequence[CheckReport] = (),
        named: Sequence[NamedMistake] = (),
    ) -> None:
        self.reports[exercise.id] = ExerciseReport(
            id=exercise.id,
            points=exercise.points,
            score=score,
            outcome=outcome,
            checks=list(checks),
            misconceptions=list(named),
        )

    def _walk(self, run: Run) -> None:
        """Run the notebook from the top, until its end or the end of the process."""
        for index, part in enumerate(self.parts):
            if self._out_of_time():
                return
            if part.role is Role.TEST:
                self._reach_test(part, run)
                if not run.alive:
                    return
            elif part.runs and index not in self._ended and not self._run_part(index, part, run):
                return
        for exercise in self.bench.lesson.exercises:  # a test cell that is nowhere is no excuse
            if exercise.id not in self.reports and run.alive:
                self._mark_exercise(exercise, run)

    def _run_part(self, index: int, part: Part, run: Run) -> bool:
        """Run one cell; False when its process did not live, after noting whose fault it was."""
        own = part.role is Role.OWN
        if own and self._own_time > OWN_BUDGET:
            return True
        started = time.monotonic()
        try:
            raised = run.cell(part.source, OWN_SECONDS if own else ANSWER_SECONDS)
        except RunEndedError as ending:
            return self._cell_gone(index, part, ending.reason)
        finally:
            self._own_time += (time.monotonic() - started) if own else 0.0
            self.incidents.add(part.exercise, run.take_notes())
        if raised and part.exercise:
            self._errors[part.exercise] = _raised(raised)
        if raised and raised.get("type") == "SystemExit":
            self.incidents.add(part.exercise, [("ended-process", "exit()")])
        if raised and _out_of_memory(raised):  # what it holds would be missing to all that follows
            run.close()
            return self._cell_gone(index, part, "crashed")
        return True

    def _cell_gone(self, index: int, part: Part, reason: str) -> bool:
        """Leave a cell out from now on that ended the process; False, since the run is over."""
        self._ended[index] = reason
        if part.role is Role.SOLUTION and part.exercise:
            self._cell_ended(part.exercise, reason)
        return False

    def _cell_ended(self, exercise_id: str, reason: str) -> None:
        """Settle an exercise whose cell ended the process just by being run."""
        exercise = self.bench.lesson[exercise_id]
        message = ENDED.get(reason, ENDED["crashed"]).format(seconds=ANSWER_SECONDS)
        check = CheckReport(id="runs", title="the cell runs", passed=False, message=message)
        outcome = Outcome.TIMEOUT if reason == "timeout" else Outcome.CRASHED
        self._settle(exercise, outcome, 0.0, [check])

    def _reach_test(self, part: Part, run: Run) -> None:
        known = {exercise.id: exercise for exercise in self.bench.lesson.exercises}
        exercise = known.get(part.exercise or "")
        if exercise is not None and exercise.id not in self.reports:
            self._mark_exercise(exercise, run)

    def _mark_exercise(self, exercise: Exercise, run: Run) -> None:
        """Try an answer, and settle its exercise; a fault of ours leaves it to a person."""
        try:
            self._try_exercise(exercise, run)
        except Exception as fault:
            message = f"{FAULT} ({type(fault).__name__}: {fault})"
            check = CheckReport(id="grader", title=FAULTY, passed=False, message=message)
            self._settle(exercise, Outcome.GRADER_FAULT, None, [check])

    def _try_exercise(self, exercise: Exercise, run: Run) -> None:
        """Try the student's answer with their own earlier parts and with right ones; keep the better."""
        attempter = Attempter(self.bench, exercise, self.seed, self._out_of_time)
        best = telling = attempter.try_on(run)
        stand_ins = self.bench.stand_ins(exercise)
        if not best.perfect and stand_ins and run.alive:
            source = self._answers[exercise.id].source
            telling = attempter.try_on(run, stand_ins, source)
            best = telling if telling.score >= best.score else best
        self.incidents.add(exercise.id, run.take_notes())
        self.incidents.add(exercise.id, (("changing-answer", title) for title in best.changing))
        self._conclude(exercise, best, telling)

    def _conclude(self, exercise: Exercise, best: Attempt, telling: Attempt) -> None:
        error = self._errors.get(exercise.id)
        if error and not any(check.passed for check in best.checks) and _undefined(best):
            check = CheckReport(
                id="runs", title="the cell runs", passed=False, message=say_raised(error)
            )
            self._settle(exercise, Outcome.ERROR, 0.0, [check])
            return
        named = diagnose(self.bench, exercise, telling.evidence) if not best.perfect else []
        mistakes = [NamedMistake(id=m.id, title=m.title, hint=m.hint) for m in named]
        self._settle(exercise, best.outcome, best.score, best.checks, mistakes)

    def _out_of_time(self) -> bool:
        return time.monotonic() > self._deadline


def _out_of_memory(raised: Mapping[str, Any]) -> bool:
    return raised.get("type") == "MemoryError" or "can't allocate memory" in str(
        raised.get("message")
    )


def _undefined(attempt: Attempt) -> bool:
    return any(
        item.got.raised is not None and item.got.raised.structural for item in attempt.evidence
    )


def _raised(seen: Mapping[str, Any]) -> Raised:
    return Observation.of({"raised": seen}).raised or Raised("Exception", "")
