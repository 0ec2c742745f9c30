"""Tries a student's answer for a limited time, on whatever system the notebook runs."""

import builtins
import contextlib
import ctypes
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TextIO

from coursework.engine.examples import SEED
from coursework.engine.observation import Observation
from coursework.engine.observe import TookTooLongError, describe, try_answer
from coursework.engine.operation import Answer, Operation

ALONE: Final = threading.Lock()  # excluded functions are those of the process: what runs meanwhile waits
FILE: Final = "<student cell>"  # by this name, exceptions are told with the line of the cell


@dataclass(frozen=True)
class _Do(Operation):
    """Do something that gives no result."""

    what: Callable[[], None]

    def run(self, answer: Answer) -> None:  # noqa: ARG002 - there is none yet
        """Do it."""
        self.what()


def try_for(
    seconds: float, operation: Operation, answer: Any, name: str, *, printed: TextIO | None = None,
    seed: int = SEED,
) -> Observation:  # fmt: skip
    """Run an operation as `try_answer` does, and end it after some seconds also where there are no alarms.

    As in grading, `input` returns an empty line: no alarm ends a notebook that waits for somebody to type.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    with _nobody_types():
        if in_main_thread and hasattr(signal, "setitimer"):
            return try_answer(operation, answer, name, seed, seconds, printed=printed)
        try:
            with _limit_by_thread(seconds):
                return try_answer(operation, answer, name, seed, printed=printed)
        except TookTooLongError as late:
            return Observation.of({"raised": describe(late)})


@contextlib.contextmanager
def _nobody_types() -> Iterator[None]:
    usual, builtins.input = builtins.input, lambda _prompt="": ""
    try:
        yield
    finally:
        builtins.input = usual


@contextlib.contextmanager
def _limit_by_thread(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError in this thread after some seconds; it cannot end a single long call."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    here = ctypes.c_ulong(threading.get_ident())
    timer = threading.Timer(seconds, raise_in, (here, ctypes.py_object(TookTooLongError)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        raise_in(here, None)  # one that was not raised yet is not raised any more


def runs(source: str, scope: dict[str, Any], seconds: float) -> bool:
    """Return whether a cell runs to its end in some seconds; its names are in `scope` then."""

    def run() -> None:
        exec(compile(source, FILE, "exec", dont_inherit=True), scope)  # noqa: S102 - the student's own

    return try_for(seconds, _Do(run), None, "").raised is None


def took_too_long(seen: Observation) -> bool:
    """Return whether an answer was ended by its time limit."""
    return seen.raised is not None and seen.raised.kind == TookTooLongError.__name__
