"""Starts class runs that can be killed: `python -m grading.nursery`, with orders on standard input.

An order is a number of seconds and a course folder. A run of that course is forked, which saves it
the imports, and all its processes are killed when the time is up. The answer is one line.
"""

import os
import signal
import sys
import time
import traceback
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from tiny_course import LESSON, make_fake

from autograder.grading import loop, pool, version
from autograder.model.course import Course
from autograder.reports.publish import publish

STEP = 0.001
HEAVY = ("autograder.authoring.release", "nbconvert.exporters.html", "alembic.script", "jupyterlab_pygments")


def main() -> None:
    """Carry out orders until standard input ends."""
    version.PACKAGE = Path(os.devnull)  # the code may be edited while the test runs
    pool.get_context = lambda _: get_context("fork")
    for name in HEAVY:
        import_module(name)
    print("ready", flush=True)
    for order in sys.stdin:
        seconds, folder = order.rstrip("\n").split(" ", 1)
        print(_run(Course(Path(folder)), float(seconds)), flush=True)


def _run(course: Course, seconds: float) -> str:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os._exit(_grade(course))
    os.setpgid(child, child)  # here too: a kill may come before the child has begun
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
        with pool.Pool(2, sandboxed=True, make=make_fake) as workers:
            loop.grade_lesson(course, LESSON, workers, console=Console(quiet=True))
        publish(course, [LESSON])
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
