"""Runs the checks of one exercise against a submission, and judges what comes back."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self
from weakref import WeakKeyDictionary

from autograder.grading.shown_example import questions, read_result
from autograder.judge.evidence import Evidence, excluded_calls, judge_check
from autograder.judge.oracle import Oracle
from autograder.model.errors import RunEndedError, RunOutOfTimeError, RunTimedOutError, RunWaitedError
from autograder.model.exercise import Check, Comparison, Exercise, TestInput, Verdict
from autograder.model.report import CheckReport, Outcome
from autograder.probe.example import TryExample
from autograder.sandbox.request import Request
from autograder.sandbox.run import Probe, Run
from coursework.engine.compare import same_again
from coursework.engine.observation import Observation
from coursework.engine.observe import observed
from coursework.instant.examples import Question, Result

SCORE_STEP = 0.25
MAX_CRASHES = 2
SLOW_SECONDS = 20.0  # of processor time; checks that took longer together are not run again
PROBE_SECONDS = 10
EXAMPLE_SECONDS, EXAMPLE_SEED = 5.0, 7
TIMED_OUT = (
    "Your code did not finish within {seconds:g} seconds of processor time. Is there a loop that never ends?"
)
WAITED = (
    "Your code did not come back within {seconds:g} seconds. Is there a loop that never ends, or does it "
    "wait for something, such as `time.sleep()`?"
)
CRASHED = "Your code ended the whole Python process here. Does it call `exit()`, or use too much memory?"
CHANGED = (
    "Asked the same question twice, your code gave two different answers; the first was right. An "
    "answer must not depend on what was called before."
)
OUT_OF_TIME = (
    "Your code was stopped here, because the notebook as a whole had used up its time. Is there "
    "another cell that takes very long?"
)
NOT_RUN = "Not run, because an earlier check did not come to an end."

_requests: WeakKeyDictionary[TestInput, Request] = WeakKeyDictionary()


def describe_end(ending: RunEndedError, seconds: float) -> str:
    """Return what to tell a student whose code, given `seconds`, ended its process."""
    if isinstance(ending, RunOutOfTimeError):
        return OUT_OF_TIME
    if isinstance(ending, RunWaitedError):
        return WAITED.format(seconds=seconds)
    return TIMED_OUT.format(seconds=seconds) if isinstance(ending, RunTimedOutError) else CRASHED


@dataclass
class ExerciseRun:
    """The results of all checks of an exercise, run once with one set of earlier parts."""

    exercise: Exercise
    checks: list[CheckReport] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    endings: list[RunEndedError] = field(default_factory=list)
    changing: list[str] = field(default_factory=list)
    examples: list[Result] = field(default_factory=list)

    @property
    def perfect(self) -> bool:
        """Whether every check passed."""
        return len(self.checks) == len(self.exercise.checks) and all(c.passed for c in self.checks)

    @property
    def failed(self) -> set[str]:
        """The ids of the checks that failed."""
        return {check.id for check in self.checks if not check.passed}

    @property
    def timed_out(self) -> bool:
        """Whether some check did not end in time."""
        return any(isinstance(ending, RunTimedOutError) for ending in self.endings)

    @property
    def undefined(self) -> bool:
        """Whether no check passed, and the name or a part that the exercise asks for is missing."""
        raised = [item.got.raised for item in self.evidence]
        missing = any(each is not None and each.structural for each in raised)
        return missing and not any(check.passed for check in self.checks)

    @property
    def score(self) -> float:
        """The points earned: the share of the weights that passed, rounded down to a quarter."""
        return math.floor(self.exercise.points * self.share / SCORE_STEP + 1e-9) * SCORE_STEP

    @property
    def share(self) -> float:
        """The share of the weights that passed, from 0 to 1."""
        weights = [check.weight for check in self.exercise.checks]
        passed = (w for w, check in zip(weights, self.checks, strict=True) if check.passed)
        return sum(passed) / sum(weights)

    @property
    def merit(self) -> float:
        """What the better of two runs has more of: points, or without any the share that passed."""
        return self.score if self.exercise.points else self.share

    @property
    def outcome(self) -> Outcome:
        """How the exercise ended."""
        if self.perfect:
            return Outcome.PASSED
        if self.endings:
            return Outcome.TIMEOUT if self.timed_out else Outcome.CRASHED
        failed = [item for item in self.evidence if not item.passed]
        return Outcome.ERROR if all(map(self._raised, failed)) else Outcome.FAILED

    def _raised(self, item: Evidence) -> bool:
        """Return whether the student's code raised by itself: no part was missing, and none refused."""
        raised = item.got.raised and not item.got.raised.structural
        return bool(raised) and not excluded_calls(self.exercise, item.got)


class ExerciseRunner:
    """Runs the checks of one exercise, on a process that has run what comes before.

    Use it as a context manager: it keeps a probe open. A check that ends its probe fails, and the next one
    gets a new probe. After a time-out or `MAX_CRASHES` crashes, the remaining checks fail without being run.

    Messages quote `source`, the student's cell. Each probe first runs `cells`, with the parts that
    `stand_ins` define in place: for a process that has not run the notebook. One that has and that `kept`
    what the names meant at this exercise asks it in a probe that is shared with others.
    """

    def __init__(
        self,
        oracle: Oracle,
        exercise: Exercise,
        process: Run,
        *,
        out_of_time: Callable[[], bool],
        stand_ins: Mapping[str, str] | None = None,
        source: str,
        cells: Sequence[str] = (),
        kept: bool = False,
    ) -> None:
        self.oracle, self.exercise = oracle, exercise
        self.result = ExerciseRun(exercise)
        self._process, self._out_of_time = process, out_of_time
        self._stand_ins, self._source, self._cells = stand_ins, source, cells
        self._kept = kept
        self._probe: Probe | None = None

    def run(self, first: ExerciseRun | None = None) -> ExerciseRun:
        """Run every check, and once more some of those that passed.

        After a `first` run elsewhere, what failed there is run first. If it fails here too, this run cannot
        score more, so the other checks stay as they were.
        """
        used, result = self._process.seconds, self.result
        again = set() if first is None or first.endings else first.failed
        for check in self.exercise.checks:
            if check.id in again:
                self._run_check(check)
        if first and again and not result.endings and not any(c.passed for c in result.checks):
            result.checks += [each for each in first.checks if each.id not in again]
            result.evidence += [each for each in first.evidence if each.check.id not in again]
        else:
            for check in self.exercise.checks:
                if check.id not in again:
                    self._run_check(check)
            if self._probe is not None and self._process.seconds - used < SLOW_SECONDS:
                self._run_again(self._probe)
        order = [check.id for check in self.exercise.checks]
        result.checks.sort(key=lambda report: order.index(report.id))
        result.evidence.sort(key=lambda seen: order.index(seen.check.id))
        return result

    def _run_check(self, check: Check) -> None:
        if self._should_stop():
            self.result.checks.append(_report(check, Verdict(passed=False, message=NOT_RUN)))
            return
        report, evidence = self._tried(check, self._ready_probe())
        self.result.checks.append(report)
        self.result.evidence.append(evidence)

    def _ready_probe(self) -> Probe | None:
        if self._probe is None or not self._probe.ready:
            self._probe = self._open_probe()
        return self._probe

    @property
    def _called_excluded(self) -> bool:
        """Whether an excluded function was called, of which an example would show nothing."""
        return any(excluded_calls(self.exercise, item.got) for item in self.result.evidence)

    def _should_stop(self) -> bool:
        result = self.result
        if self._out_of_time() and not result.timed_out:
            result.endings.append(RunOutOfTimeError("the notebook as a whole is out of time"))
        gave_up = result.timed_out or len(result.endings) >= MAX_CRASHES
        return gave_up or not self._process.alive

    def _open_probe(self) -> Probe | None:
        """Fork a probe; return None if the process did not survive that."""
        try:
            excluded = self.exercise.excludes.names if self.exercise.excludes else ()
            lesson = self.oracle.lesson.name
            if self._kept:
                return self._process.turn(PROBE_SECONDS, self.exercise.id, lesson, excluded)
            return self._process.probe(PROBE_SECONDS, self._stand_ins, self._cells, lesson, excluded)
        except RunEndedError as ending:
            self.result.endings.append(ending)
            return None

    def _run_again(self, probe: Probe) -> None:
        """Ask again what passed, last first: the same question should get the same answer.

        Of each kind of operation one check is asked, the first, after which most was called. Where one of
        these gives another answer, the others are asked as well.
        """
        evidence = self.result.evidence
        asked = {n: item.test_input.operation for n, item in enumerate(evidence) if item.passed}
        kinds = {type(asked[n]): n for n in reversed(asked) if asked[n].repeated}
        sample = set(kinds.values())
        for index in sorted(sample, reverse=True):
            self._ask_again(index, probe)
        for index in reversed([*asked]) if self.result.changing else ():
            if index not in sample:
                self._ask_again(index, probe)

    def _ask_again(self, index: int, probe: Probe) -> None:
        result, first = self.result, self.result.evidence[index]
        if not probe.ready or self._out_of_time():
            return
        got = self._observe(first.check, first.test_input, probe)
        if got.ended:
            result.endings.remove(got.ended)  # the check has passed: no proof of anything
        elif not same_again(first.got, got):
            result.changing.append(first.check.title)
            result.checks[index] = _report(first.check, Verdict(passed=False, message=CHANGED))
            result.evidence[index] = replace(first, got=got, passed=False)

    def try_examples(self) -> None:
        """Ask the public examples, for the feedback; whatever goes wrong here costs nothing."""
        if self.result.perfect or self._called_excluded or not self._process.alive:
            return
        if self._should_stop() or (probe := self._ready_probe()) is None:
            return
        for question in questions(self.oracle.lesson.name, self.exercise):
            fields = {name: getattr(question, name) for name in Question.__dataclass_fields__}
            if not probe.ready or self._out_of_time():
                return
            try:
                seen = probe.observe(self._example(TryExample(fields)))
            except RunEndedError:
                return
            if result := read_result(Observation.of(seen).value):
                self.result.examples.append(result)

    def _example(self, operation: TryExample) -> Request:
        return Request(operation, self.exercise.name, EXAMPLE_SEED, EXAMPLE_SECONDS)

    def _tried(self, check: Check, probe: Probe | None) -> tuple[CheckReport, Evidence]:
        test_input = self.oracle.test_input(self.exercise, check)
        expected = self.oracle.expected(self.exercise, check, test_input)
        got = self._observe(check, test_input, probe)
        if got.ended:
            verdict = Verdict(passed=False, message=describe_end(got.ended, check.seconds))
        else:
            seen = Comparison(test_input.operation, got, expected, source=self._source)
            verdict = judge_check(self.exercise, check, seen)
        return _report(check, verdict), Evidence(check, test_input, got, expected, verdict.passed)

    def _observe(self, check: Check, test_input: TestInput, probe: Probe | None) -> Observation:
        """Return what the probe saw, or how it ended."""
        if probe is None:
            return Observation(ended=self.result.endings[-1])
        try:
            seen = probe.observe(self._request(check, test_input))
            return observed(test_input.operation, seen)
        except RunEndedError as ending:
            self.result.endings.append(ending)
            return Observation(ended=ending)

    def _request(self, check: Check, test_input: TestInput) -> Request:
        """Return what a check asks, which is packed once for a whole class."""
        if test_input not in _requests:
            asked = test_input.operation, self.exercise.name, test_input.seed, check.seconds
            _requests[test_input] = Request(*asked)
        return _requests[test_input]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the probe, unless other exercises share it."""
        try:
            if self._probe is not None and not self._kept:
                self._probe.close()
        except RunEndedError as ending:
            if not self.result.perfect:
                self.result.endings.append(ending)


def _report(check: Check, verdict: Verdict) -> CheckReport:
    message = "" if verdict.passed else verdict.message
    return CheckReport(id=check.id, title=check.title, passed=verdict.passed, message=message)
