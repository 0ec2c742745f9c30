"""Runs the checks of one exercise against a submission, and judges what comes back."""

import math
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Self
from weakref import WeakKeyDictionary

from autograder.grading.chance import OFTEN, times_to_ask
from autograder.grading.outcomes import CheckResults, describe_end, operations
from autograder.judge.oracle import Evidence, Oracle, judge_check
from autograder.model.errors import RunEndedError, RunOutOfTimeError
from autograder.model.exercise import CHECK_SECONDS, Check, Exercise, TestInput, Verdict
from autograder.model.report import CheckReport
from autograder.sandbox.run import Probe, Request, Run
from coursework.engine.describe import Comparison
from coursework.engine.examples import SEED
from coursework.engine.observation import Observation
from coursework.engine.observe import observed

MAX_CRASHES = 2
SLOW_SECONDS = 20.0  # of processor time; checks that took longer together are not run again
PROBE_SECONDS = 10
MOST_KEPT = 8  # rounds of which the packed questions stay in memory
EXAMPLE_SECONDS = 5.0
CHANGED = (
    "Asked the same question again, your code gave a different answer; the first was right. An "
    "answer must depend neither on chance nor on what was called before."
)
NOT_RUN = "Not run, because an earlier check did not come to an end."

_requests: WeakKeyDictionary[TestInput, dict[tuple[int, float], Request]] = WeakKeyDictionary()


@dataclass
class ExerciseRunner:
    """Runs the checks of one exercise, on a process that has run what comes before.

    Use it as a context manager: it keeps a probe open. A check that ends its probe fails, and the next one
    gets a new probe. After a time-out or `MAX_CRASHES` crashes, the remaining checks fail without being run.
    A question may take the `share` of a check's seconds. What passed is asked again, and often if the answer
    `varies`, as far as its text tells.

    Messages quote `source`, the student's cell. Each probe first runs `cells`, with the parts that
    `stand_ins` define in place: for a process that has not run the notebook. One that has and that `kept`
    what the names meant at this exercise asks it in a probe that is shared with others.
    """

    oracle: Oracle
    exercise: Exercise
    process: Run
    out_of_time: Callable[[], bool]
    source: str
    stand_ins: Mapping[str, str] | None = None
    cells: Sequence[str] = ()
    kept: bool = False
    share: float = 1.0
    varies: bool = False
    result: CheckResults = field(init=False)
    _probe: Probe | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Begin with no result."""
        self.result = CheckResults(self.exercise)

    def run(self, first: CheckResults | None = None) -> CheckResults:
        """Run every check, and those that passed again, in other random states.

        After a `first` run elsewhere, what failed there is run first. If it fails here too, this run cannot
        score more. What passed there then counts as passed, and is asked only for the evidence: what was
        seen with other parts must not be mixed with what is seen here.
        """
        used, result, checks = self.process.seconds, self.result, self.exercise.checks
        again = set() if first is None or first.endings else first.failed
        self._run_checks([check for check in checks if check.id in again])
        hopeless = bool(again) and not result.endings and not any(c.passed for c in result.checks)
        failed = list(result.checks)
        self._run_checks([check for check in checks if check.id not in again])
        if first and hopeless:
            result.checks = failed + [each for each in first.checks if each.id not in again]
            result.endings.clear()
        elif self._probe is not None and self.process.seconds - used < SLOW_SECONDS:
            self._run_again(self._probe)
        order = [check.id for check in checks]
        result.checks.sort(key=lambda report: order.index(report.id))
        result.evidence.sort(key=lambda seen: order.index(seen.check.id))
        return result

    def run_once(self) -> CheckResults:
        """Run every check, each asked once."""
        self._run_checks(self.exercise.checks)
        return self.result

    def passes(self) -> bool:
        """Return whether every check passes, each asked once; stop at the first that does not."""
        for check in self.exercise.checks:
            self._run_checks([check])
            if not self.result.checks[-1].passed:
                return False
        return self.result.perfect

    def _run_checks(self, checks: Sequence[Check]) -> None:
        """Run some checks, each judged while the next are computed."""
        waiting = deque(checks)
        while waiting and not self._should_stop():
            inputs = [self.oracle.test_input(self.exercise, check) for check in waiting]
            with closing(self._observations(inputs)) as observations:
                for test_input, got in zip(inputs, observations, strict=False):
                    self._judge(waiting.popleft(), test_input, got)
                    if self._should_stop():
                        break
        not_run = Verdict(passed=False, message=NOT_RUN)
        self.result.checks += [_report(check, not_run) for check in waiting]

    def _observations(self, inputs: Sequence[TestInput]) -> Generator[Observation]:
        """Yield what a probe sees of each check, until and including the one at which it ends."""
        requests = [self._request(test_input) for test_input in inputs]
        probe = self._ready_probe()
        if probe is None:
            yield Observation(ended=self.result.endings[-1])
            return
        with closing(probe.observe_all(requests)) as answers:
            try:
                for test_input, seen in zip(inputs, answers, strict=True):
                    yield observed(test_input.operation, seen)
            except RunEndedError as ending:
                self.result.endings.append(ending)
                yield Observation(ended=ending)

    def _judge(self, check: Check, test_input: TestInput, got: Observation) -> None:
        expected = self.oracle.expected(self.exercise, check, test_input)
        if got.ended:
            verdict = Verdict(passed=False, message=describe_end(got.ended, CHECK_SECONDS * self.share))
        else:
            seen = Comparison(test_input.operation, got, expected, source=self.source)
            verdict = judge_check(self.exercise, check, seen)
        self.result.checks.append(_report(check, verdict))
        self.result.evidence.append(Evidence(check, test_input, got, expected, verdict.passed))

    def _request(self, test_input: TestInput, round_: int = 0) -> Request:
        """Return what a check asks, each round in another random state; the first rounds are packed once."""
        kept = _requests.setdefault(test_input, {})
        packed, key = kept if round_ <= MOST_KEPT else {}, (round_, self.share)
        if key not in packed:
            seconds = CHECK_SECONDS * self.share
            packed[key] = Request(test_input.operation, self.exercise.name, test_input.seed + round_, seconds)
        return packed[key]

    def _ready_probe(self) -> Probe | None:
        """Return the probe, a new one if need be; None if the process did not survive a fork."""
        if self._probe is None or not self._probe.ready:
            excluded = self.exercise.excludes.names if self.exercise.excludes else ()
            lesson = self.oracle.lesson.name
            try:
                seconds = PROBE_SECONDS * self.share
                if self.kept:
                    self._probe = self.process.switch(seconds, self.exercise.id, lesson, excluded)
                else:
                    self._probe = self.process.probe(seconds, self.stand_ins, self.cells, lesson, excluded)
            except RunEndedError as ending:
                self.result.endings.append(ending)
                self._probe = None
        return self._probe

    def _should_stop(self) -> bool:
        result = self.result
        if self.out_of_time() and not result.timed_out:
            result.endings.append(RunOutOfTimeError("the notebook as a whole is out of time"))
        gave_up = result.timed_out or len(result.endings) >= MAX_CRASHES
        return gave_up or not self.process.alive

    def _run_again(self, probe: Probe) -> None:
        """Ask again what passed, smallest first: the same question should get the right answer again.

        Where one gets another answer than before, every check has to pass `OFTEN` times.
        """
        evidence = self.result.evidence
        asked = [(n, item) for n, item in enumerate(evidence) if item.passed]
        asked.sort(key=lambda each: len(self._request(each[1].test_input).frame))
        number = times_to_ask(len(asked), perfect=self.result.perfect, varies=self.varies)
        few = [n for n, item in asked if item.test_input.operation.repeated][:number]
        for round_ in range(1, OFTEN + 1):
            if self.result.changing:
                self._ask_again([n for n, _ in asked if evidence[n].passed], probe, round_)
            elif round_ <= math.ceil(number / max(len(few), 1)):
                self._ask_again(few, probe, round_)

    def _ask_again(self, indices: Sequence[int], probe: Probe, round_: int) -> None:
        """Ask some questions again. A probe that ends here proves nothing: the checks have passed."""
        result = self.result
        if not probe.ready or self.out_of_time():
            return
        before = [result.evidence[index] for index in indices]
        requests = [self._request(each.test_input, round_) for each in before]
        with suppress(RunEndedError), closing(probe.observe_all(requests)) as answers:
            for index, first, seen in zip(indices, before, answers, strict=True):
                got = observed(first.test_input.operation, seen)
                asked = Comparison(first.test_input.operation, got, first.expected)
                if not judge_check(self.exercise, first.check, asked).passed:
                    result.changing.append(first.check.title)
                    result.checks[index] = _report(first.check, Verdict(passed=False, message=CHANGED))
                    result.evidence[index] = replace(first, got=got, passed=False)
                if self.out_of_time():
                    break

    def try_examples(self) -> None:
        """Ask the public examples, for the feedback; whatever goes wrong here costs nothing.

        Where an excluded function was called, an example would show nothing.
        """
        result = self.result
        hopeless = result.perfect or result.called_excluded or self._should_stop()
        if hopeless or (probe := self._ready_probe()) is None:
            return
        asked = operations(self.oracle.lesson.name, self.exercise)
        requests = [Request(each, self.exercise.name, SEED, EXAMPLE_SECONDS) for each in asked]
        with suppress(RunEndedError), closing(probe.observe_all(requests)) as answers:
            for operation, seen in zip(asked, answers, strict=False):
                self.result.examples.append(observed(operation, seen))
                if self.out_of_time():
                    break

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the probe, unless other exercises share it."""
        try:
            if self._probe is not None and not self.kept:
                self._probe.close()
        except RunEndedError as ending:
            if not self.result.perfect:
                self.result.endings.append(ending)


def _report(check: Check, verdict: Verdict) -> CheckReport:
    message = "" if verdict.passed else verdict.message
    return CheckReport(id=check.id, title=check.title, passed=verdict.passed, message=message)
