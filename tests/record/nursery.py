"""Starts class runs that can be killed: `python -m record.nursery`, orders on standard input.

An order is a number of seconds and a course's folder. A run of that course is forked, so that it need not import
anything first, and the whole of it is killed when the seconds are over. The answer is one line.
"""

import os
import signal
import sys
import time
import traceback
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from autograder.course import Course
from autograder.record import class_run, feedback, pool, version
from autograder.reports.publish import publish

from .tiny_course import LESSON, make_fake

STEP = 0.001
HEAVY = ("autograder.build.gradebook", "nbconvert.exporters.html", "alembic.script", "jupyterlab_pygments")


def main() -> None:
    """Do as told until there is nothing more to do."""
    version.PACKAGE = Path(os.devnull)  # whoever works on the grader meanwhile
    pool.get_context = feedback.get_context = lambda _: get_context("fork")
    for name in HEAVY:
        import_module(name)
    print("ready", flush=True)
    for order in sys.stdin:
        seconds, folder = order.rstrip("\n").split(" ", 1)
        print(_run(Course(Path(folder)), float(seconds)), flush=True)


def _run(course: Course, seconds: float) -> str:
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(_grade(course))
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return f"{os.waitstatus_to_exitcode(status)} {time.monotonic() - started}"
        time.sleep(STEP)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"killed {seconds}"


def _grade(course: Course) -> int:
    try:
        class_run.grade(course, LESSON, workers=2, progress=lambda _: None, make=make_fake)
        publish(course, [LESSON])
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
