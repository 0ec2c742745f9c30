"""What marking costs: each lesson's model answers, one after the other.

Prints seconds of processor time (judge and probes together) and of wall clock for one student, and
both as a ratio to importing torch in a fresh process, measured in the same run. The machine may be
shared, so the ratios are what to compare.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from rich.console import Console
from rich.table import Table

from autograder.course import Course
from autograder.demo import Answers
from autograder.marker import Marker

ROUNDS = 3


def cpu() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def import_torch() -> tuple[float, float]:
    """Return processor and wall seconds of importing torch in a fresh process."""
    before, started = cpu(), time.monotonic()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return cpu() - before, time.monotonic() - started


def rounds(course: Course, lesson: str, count: int) -> tuple[float, float]:
    """Return processor and wall seconds of a marker that marks the model answers `count` times."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{lesson}.ipynb"
        nbformat.write(Answers(lesson, course).notebook({}), path)
        before, started = cpu(), time.monotonic()
        with Marker(course, sandboxed=False) as marker:  # bubblewrap hides what its children used
            for _ in range(count):
                marker.mark(lesson, path)
        return cpu() - before, time.monotonic() - started


def main() -> None:
    """Measure and print the table."""
    course = Course.find()
    torch_cpu, torch_wall = import_torch()
    table = Table("lesson", "cpu s", "wall s", "cpu ÷ import torch", "wall ÷ import torch")
    for lesson in course.lessons():
        rounds(course, lesson, 1)  # what is read and built once for a lesson is not a student's cost
        one, many = rounds(course, lesson, 1), rounds(course, lesson, 1 + ROUNDS)
        used, took = ((b - a) / ROUNDS for a, b in zip(one, many, strict=True))
        table.add_row(
            lesson,
            f"{used:.2f}",
            f"{took:.2f}",
            f"{used / torch_cpu:.2f}",
            f"{took / torch_wall:.2f}",
        )
    Console().print(f"import torch: {torch_cpu:.2f} s cpu, {torch_wall:.2f} s wall", table)


if __name__ == "__main__":
    main()
