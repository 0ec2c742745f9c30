"""The commands that are compared: stock nbgrader, and ours with some number of workers."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from invented_class import hand_in, make_course
from measured import Cost, cost

from autograder.model.course import CONFIG

HERE = Path(__file__).parent.parent
SCHEDULER = 18786
OWN_CODE = {"PYTHONPATH": str(HERE)}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def stock(folder: Path, lesson: str, count: int) -> Cost:
    """Grade with nbgrader's own `autograde`, which executes the whole notebook; nothing is left out."""
    course = make_course(folder / f"stock-{lesson}", stock=True)
    hand_in(course, lesson, count)
    command = [sys.executable, "-m", "nbgrader", "autograde", lesson]
    return cost(command, course.root, OWN_CODE | {"MPLBACKEND": "agg"})


def ours(
    folder: Path, lesson: str, count: int, *options: str, code: Path = HERE, search: bool = True
) -> Cost:
    """Grade with `autograder grade`: scores, diagnoses, lines to blame, feedback pages, class report.

    `code` is the checkout whose autograder grades, with its own lesson. Without `search`, no line is looked for.
    """
    name = f"ours-{lesson}-{count}-{'-'.join(options)}-{code.name}-{search}"
    course = make_course(folder / name.replace("/", "_"))
    hand_in(course, lesson, count)
    if not search:
        with (course.root / CONFIG).open("a", encoding="utf-8") as config:
            config.write("c.LineSearch.seconds = 0\n")
    if code != HERE:
        for part in (course.source, course.release):
            shutil.copytree(code / part.name, part, dirs_exist_ok=True)
    return cost(command(lesson, *options), course.root, {"PYTHONPATH": str(code)})


def demo_lines(folder: Path) -> Iterator[tuple[str, float]]:
    """Run `autograder demo`, and yield what it prints, with the seconds after which it is there."""
    started, demo = time.monotonic(), [sys.executable, "-m", "autograder", "demo", "--folder", str(folder)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(demo, env=os.environ | OWN_CODE, cwd=HERE, **options) as running:
        for line in running.stdout or ():
            yield line.strip(), time.monotonic() - started
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, demo)


def command(lesson: str, *options: str) -> list[str]:
    """Return the command that grades a lesson."""
    return [sys.executable, "-m", "autograder", "grade", lesson, *options]


@contextmanager
def local_cluster(workers: int, folder: Path) -> Iterator[str]:
    """Run a scheduler and workers with one thread each on this machine, and give the address."""
    folder.mkdir()
    address = f"tcp://127.0.0.1:{SCHEDULER}"
    dask = [sys.executable, "-m", "dask"]
    commands = [[*dask, "scheduler", "--host", "127.0.0.1", "--port", str(SCHEDULER), "--no-dashboard"]]
    commands += [
        [*dask, "worker", address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder / f"{n}")]
        for n in range(workers)
    ]
    environment = os.environ | ONE_THREAD | OWN_CODE
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen(each, cwd=folder, env=environment, **quiet) for each in commands]
    try:
        time.sleep(10)  # until all workers have registered
        yield address
    finally:
        for each in reversed(running):
            each.terminate()
            each.wait()
        shutil.rmtree(folder, ignore_errors=True)
