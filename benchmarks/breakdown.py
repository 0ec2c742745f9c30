"""Where the time of one submission goes: by the kind of command that its run is asked."""

import contextlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from autograder.demo import answered
from autograder.grading.grader import Grader
from autograder.model.course import Course
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Probe, Run

ROUNDS = 3
KINDS = {
    "run": "start of a run: fork, namespaces, limits",
    "cell": "cells of the notebook",
    "probe": "forks, for the exercises that exclude the same",
    "observe": "waiting for what these forks answer",
    "end": "ends of these forks",
    "close": "end of the run: until nothing of it is left",
}
METHODS: dict[str, tuple[type, str]] = {
    "run": (WarmProcess, "run"),
    "cell": (Run, "cell"),
    "probe": (Run, "probe"),
    "observe": (Probe, "receive"),
    "end": (Probe, "close"),
    "close": (Run, "close"),
}


class Stopwatch:
    """Counts calls and seconds by kind."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)

    def around(self, function: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Return a function that is timed."""

        def timed(owner: Any, *given: Any, **named: Any) -> Any:
            started = time.monotonic()
            try:
                return function(owner, *given, **named)
            finally:
                self.calls[kind] += 1
                self.seconds[kind] += time.monotonic() - started

        return timed


def breakdown(course: Course, lesson: str) -> tuple[float, Stopwatch]:
    """Return the seconds that the model answers of a lesson take, the best of three, and on what."""
    import nbformat

    torch.set_num_threads(1)
    best = float("inf"), Stopwatch()
    with tempfile.TemporaryDirectory() as folder, Grader(course) as grader:
        path = Path(folder) / f"{lesson}.ipynb"
        nbformat.write(answered(course, lesson, {}), path)
        grader.grade(lesson, path)
        for _ in range(ROUNDS):
            watch, started = Stopwatch(), time.monotonic()
            with contextlib.ExitStack() as patches:
                for kind, (owner, name) in METHODS.items():
                    method = watch.around(getattr(owner, name), kind)
                    patches.enter_context(patch.object(owner, name, method))
                grader.grade(lesson, path)
            best = min(best, (time.monotonic() - started, watch), key=lambda done: done[0])
    return best
