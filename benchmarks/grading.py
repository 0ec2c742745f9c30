"""Measures the cost of grading: the model answers of each lesson, one submission after another.

Prints the seconds that one more student of a class takes, and their ratio to importing torch in a fresh
process of the same run. On a shared machine, compare the ratios. The grader and its probes take turns, so
on an idle machine the wall clock shows what both use. The grader's own processor time is given too.
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

from autograder.demo import Answers
from autograder.grading.grader import Grader
from autograder.model.course import Course

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
    """Return the processor and wall seconds of a grader that grades the model answers `count` times."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{lesson}.ipynb"
        nbformat.write(Answers(lesson, course).notebook({}), path)
        before, started = cpu(), time.monotonic()
        with Grader(course) as grader:
            for _ in range(count):
                grader.grade(lesson, path)
        return cpu() - before, time.monotonic() - started


def main() -> None:
    """Measure and print the table."""
    course = Course.find()
    torch = import_torch()
    table, total = Table("lesson", "grader s", "all s", "all ÷ import torch"), 0.0
    for lesson in course.lessons():
        rounds(course, lesson, 1)  # what is read once per lesson is not the cost of a student
        one, many = rounds(course, lesson, 1), rounds(course, lesson, 1 + ROUNDS)
        grader, everything = ((b - a) / ROUNDS for a, b in zip(one, many, strict=True))
        total += everything
        table.add_row(lesson, f"{grader:.2f}", f"{everything:.2f}", f"{everything / torch:.2f}")
    table.add_row("all", "", f"{total:.2f}", f"{total / torch:.2f}")
    Console().print(f"import torch: {torch:.2f} s", table)


if __name__ == "__main__":
    main()
