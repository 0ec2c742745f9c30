"""Tries a student's answer for a limited time, on whatever system the notebook runs."""

import builtins
import contextlib
import ctypes
import importlib.machinery
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, TextIO

from coursework.engine.examples import SEED
from coursework.engine.observation import Observation
from coursework.engine.observe import TookTooLongError, try_answer
from coursework.engine.operation import Answer, Operation

ALONE: Final = threading.Lock()  # excluded functions are those of the process: what runs meanwhile waits
MOST_EXTENSIONS: Final = 10  # of the time limit, during imports
IMPORT_SYSTEM: Final = importlib.machinery.ModuleSpec.__init__.__code__.co_filename
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
    with _nobody_types():
        return try_answer(operation, answer, name, seed, printed=printed, limit=_time_limit(seconds))


@contextlib.contextmanager
def _nobody_types() -> Iterator[None]:
    usual, builtins.input = builtins.input, lambda _prompt="": ""
    try:
        yield
    finally:
        builtins.input = usual


def _time_limit(seconds: float) -> contextlib.AbstractContextManager[None]:
    """Return what raises TookTooLongError after some seconds, by an alarm where one can be set."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    alarms = in_main_thread and hasattr(signal, "setitimer")
    return _limit_by_alarm(seconds) if alarms else _limit_by_thread(seconds)


@contextlib.contextmanager
def _limit_by_alarm(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError in the main thread.

    An import is not broken off, since it would leave half a module for the rest of the kernel's life: the
    answer gets as long again, but not for ever.
    """
    latest = time.monotonic() + MOST_EXTENSIONS * seconds

    def stop(_number: int, frame: FrameType | None) -> None:
        files = (each.f_code.co_filename for each, _line in traceback.walk_stack(frame))
        if IMPORT_SYSTEM in files and time.monotonic() < latest:
            signal.setitimer(signal.ITIMER_REAL, seconds)
        else:
            raise TookTooLongError(f"no result after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _limit_by_thread(seconds: float) -> Iterator[None]:
    """Raise TookTooLongError in this thread, whichever it is; it cannot end a single long call."""
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
    return exception_of(source, scope, seconds) is None


def exception_of(
    source: str, scope: dict[str, Any], seconds: float, file: str = FILE
) -> BaseException | None:
    """Return what a cell raises in some seconds, None if it runs to its end; its names are in `scope` then.

    Its traceback begins in the cell, whose code goes by the name of `file`.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            exec(compile(source, file, "exec", dont_inherit=True), scope)  # noqa: S102 - the student's own
        except BaseException as problem:
            trace = problem.__traceback__
            raised.append(problem.with_traceback(trace.tb_next if trace else None))
            raise

    try_for(seconds, _Do(run), None, "")
    return raised[0] if raised else None


def took_too_long(seen: Observation) -> bool:
    """Return whether an answer was ended by its time limit."""
    return seen.raised is not None and seen.raised.kind == TookTooLongError.__name__
