"""Tries an exercise's cases on a student's names, and judges what comes back."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autograder.judge.diagnose import Evidence
from autograder.judge.exercise import Case, Exercise, Stimulus
from autograder.judge.judgement import Seen, Verdict
from autograder.judge.observation import Observation
from autograder.judge.workbench import Workbench
from autograder.results import CheckReport, Outcome
from autograder.sandbox.client import Probe, Run, RunEndedError

STEP = 0.25
MAX_CRASHES = 2
SLOW = 20.0
ENDED = {
    "timeout": "Your code did not finish in {seconds:g} seconds: is there a loop that never ends?",
    "crashed": "Your code ended its whole process here (`exit()`, or too much memory, perhaps).",
}
CHANGED = (
    "It held once, and did not when asked again with other numbers: an answer may not depend on "
    "what was called before. {message}"
)
NOT_TRIED = "Not tried, because an earlier check did not come to an end."


@dataclass
class Attempt:
    """All cases of an exercise, tried once with one set of earlier parts."""

    exercise: Exercise
    checks: list[CheckReport] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    endings: list[str] = field(default_factory=list)
    changing: list[str] = field(default_factory=list)

    @property
    def perfect(self) -> bool:
        """Whether every check passed."""
        return len(self.checks) == len(self.exercise.cases) and all(c.passed for c in self.checks)

    @property
    def score(self) -> float:
        """The points earned: the share of the weights, rounded down to a quarter."""
        weights = [case.weight for case in self.exercise.cases]
        earned = sum(w for w, check in zip(weights, self.checks, strict=True) if check.passed)
        share = earned / sum(weights)
        return math.floor(self.exercise.points * share / STEP + 1e-9) * STEP

    @property
    def outcome(self) -> Outcome:
        """How the exercise ended."""
        if self.perfect:
            return Outcome.PASSED
        if self.endings:
            return Outcome.TIMEOUT if "timeout" in self.endings else Outcome.CRASHED
        failed = [item for item in self.evidence if not item.passed]
        raised = all(item.got.raised and not item.got.raised.structural for item in failed)
        return Outcome.ERROR if raised else Outcome.FAILED


class Attempter:
    """Tries one exercise on a run, opening probes as they are needed."""

    def __init__(
        self, bench: Workbench, exercise: Exercise, seed: int, out_of_time: Callable[[], bool]
    ) -> None:
        self.bench, self.exercise, self.seed = bench, exercise, seed
        self._out_of_time = out_of_time

    def try_on(self, run: Run, overrides: Sequence[str] = (), rerun: str | None = None) -> Attempt:
        """Try every case; a case that ends its process costs itself, then two cost the rest."""
        attempt, started = Attempt(self.exercise), time.monotonic()
        probe: Probe | None = None
        for case in self.exercise.cases:
            if self._give_up(attempt, run):
                attempt.checks.append(_report(case, Verdict(passed=False, message=NOT_TRIED)))
                continue
            if probe is None or not probe.ready:
                probe = self._open(run, overrides, rerun, attempt)
            self._try_case(attempt, case, probe)
        if probe is not None:
            if time.monotonic() - started < SLOW:  # the notebook's time is for all of its exercises
                self._ask_again(attempt, probe)
            self._close(probe, attempt)
        return attempt

    def _ask_again(self, attempt: Attempt, probe: Probe) -> None:
        """Try what passed once more, last first and with fresh inputs: answers must not depend on state."""
        for index in reversed(range(len(attempt.evidence))):
            first = attempt.evidence[index]
            if not first.passed or not probe.ready or self._out_of_time():
                continue
            report, again = self._tried(attempt, first.case, probe, self.seed + 1)
            if not again.passed:
                attempt.changing.append(first.case.title)
                message = CHANGED.format(message=report.message)
                attempt.checks[index] = report.model_copy(update={"message": message})
                attempt.evidence[index] = again

    def _give_up(self, attempt: Attempt, run: Run) -> bool:
        if self._out_of_time() and "timeout" not in attempt.endings:
            attempt.endings.append("timeout")
        dead = "timeout" in attempt.endings or len(attempt.endings) >= MAX_CRASHES
        return dead or not run.alive

    def _open(
        self, run: Run, overrides: Sequence[str], rerun: str | None, attempt: Attempt
    ) -> Probe | None:
        try:
            return run.probe(10, overrides, rerun)
        except RunEndedError as ending:
            attempt.endings.append(ending.reason)
            return None

    def _try_case(self, attempt: Attempt, case: Case, probe: Probe | None) -> None:
        report, evidence = self._tried(attempt, case, probe, self.seed)
        attempt.checks.append(report)
        attempt.evidence.append(evidence)

    def _tried(
        self, attempt: Attempt, case: Case, probe: Probe | None, seed: int
    ) -> tuple[CheckReport, Evidence]:
        stimulus = self.exercise.stimulus(case, seed)
        expected = self.bench.expected(self.exercise, stimulus)
        got = self._observe(attempt, case, stimulus, probe)
        if got.ended:
            said = ENDED.get(got.ended, ENDED["crashed"]).format(seconds=case.seconds)
            verdict = Verdict(passed=False, message=said)
        else:
            verdict = self._judge(case, Seen(stimulus.inputs, got, expected))
        return _report(case, verdict), Evidence(case, stimulus, got, expected, verdict.passed)

    def _observe(
        self, attempt: Attempt, case: Case, stimulus: Stimulus, probe: Probe | None
    ) -> Observation:
        """Return what was seen; how the probe ended, where it did not live to tell."""
        if probe is None:
            return Observation(ended=attempt.endings[-1])
        try:
            return Observation.of(probe.observe(stimulus.scenario, stimulus.inputs, case.seconds))
        except RunEndedError as ending:
            attempt.endings.append(ending.reason)
            return Observation(ended=ending.reason)

    def _judge(self, case: Case, seen: Seen) -> Verdict:
        """Judge a case; what the exercise forbids counts as not written."""
        for name in sorted(seen.got.library):
            if name in self.exercise.forbidden:
                return Verdict(passed=False, message=self.exercise.forbidden[name])
        return case.judge(seen)

    def _close(self, probe: Probe, attempt: Attempt) -> None:
        try:
            probe.close()
        except RunEndedError as ending:
            if not attempt.perfect:
                attempt.endings.append(ending.reason)


def _report(case: Case, verdict: Verdict) -> CheckReport:
    message = "" if verdict.passed else verdict.message
    return CheckReport(id=case.id, title=case.title, passed=verdict.passed, message=message)
