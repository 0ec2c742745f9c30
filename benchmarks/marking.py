"""What marking costs: each lesson's model answers, one after the other.

Prints seconds for one more student of a class, and their ratio to importing torch in a fresh
process, measured in the same run. The machine may be shared, so the ratios are what to compare.
Judge and probes take turns, so that the wall clock of an idle machine is what they use together; of
the judge's own part the processor time is given too.
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
    """Return the processor seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def import_torch() -> float:
    """Return the seconds that importing torch takes in a fresh process."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.monotonic() - started


def rounds(course: Course, lesson: str, count: int) -> tuple[float, float]:
    """Return judge's and wall seconds of a marker that marks the model answers `count` times."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{lesson}.ipynb"
        nbformat.write(Answers(lesson, course).notebook({}), path)
        before, started = cpu(), time.monotonic()
        with Marker(course) as marker:
            for _ in range(count):
                marker.mark(lesson, path)
        return cpu() - before, time.monotonic() - started


def main() -> None:
    """Measure and print the table."""
    course = Course.find()
    torch = import_torch()
    table, total = Table("lesson", "judge s", "all s", "all ÷ import torch"), 0.0
    for lesson in course.lessons():
        rounds(course, lesson, 1)  # what is read and built once for a lesson is not a student's cost
        one, many = rounds(course, lesson, 1), rounds(course, lesson, 1 + ROUNDS)
        judge, everything = ((b - a) / ROUNDS for a, b in zip(one, many, strict=True))
        total += everything
        table.add_row(lesson, f"{judge:.2f}", f"{everything:.2f}", f"{everything / torch:.2f}")
    table.add_row("all", "", f"{total:.2f}", f"{total / torch:.2f}")
    Console().print(f"import torch: {torch:.2f} s", table)


if __name__ == "__main__":
    main()
