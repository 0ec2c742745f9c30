"""Measures whether the line that is told is the one that the author of a wrong answer made wrong.

    python benchmarks/lines.py [NN ...] [--each N] [--held-out] [--answers] [--write]

The answers are those of `blind/`: an answer is a whole cell, `lines` are the wrong lines, and what is missing
stands behind the lines `after`. A place that is told is right if it holds one of them, or the gap; several
places are right together if each of them is. One that says that another place would do as well is right if
one of the two is.
"""

import argparse
import logging
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import torch
import yaml
from run import RESULTS, table, with_part

from autograder.grading.grader import Grader
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.report import ExerciseReport, WrongLines
from autograder.submissions.released import released_notebook

HERE = Path(__file__).parent
COURSE = Course(HERE.parent)
HEADING = "## The line to blame"
ABOUT = (
    "Wrong answers of `blind/`, {}, by whether one place is wrong or several. Right: each place that is told is "
    "one that the author made wrong. Titled: a known mistake, or else the kind of the change, says what is "
    "wrong. Seconds by the clock, for grading and the search."
)
COLUMNS = ("places", "answers", "told", "right", "wrong", "titled", "seconds each")


@dataclass(frozen=True)
class Answer:
    """One wrong answer, and where its author made it wrong."""

    lesson: str
    exercise: str
    code: str
    lines: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def places(self) -> int:
        """How many places are wrong: neighbouring lines are one."""
        lines = sorted(self.lines)
        apart = sum(1 for one, other in pairwise(lines) if other > one + 1)
        return len(self.after) + (apart + 1 if lines else 0)

    def holds(self, place: WrongLines) -> bool:
        """Return whether a place that is told holds a wrong line, or lies at a gap where something is missing."""
        told = range(place.first, place.last + 1)
        return any(line in told for line in self.lines) or any(
            gap in told or gap + 1 in told for gap in self.after
        )


def answers(lesson: str, folder: str = "blind") -> Iterator[Answer]:
    """Yield the wrong answers to one lesson."""
    path = HERE / folder / f"{lesson}.yaml"
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else ():
        lines, after = (_numbers(entry.get(name, [])) for name in ("lines", "after"))
        if lines or after:
            yield Answer(lesson, entry["exercise"], entry["code"], lines, after)


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def verdict(answer: Answer, told: list[WrongLines]) -> str:
    """Return whether what is told is right or wrong; "" if nothing is."""
    if not told:
        return ""
    held = [answer.holds(place) for place in told]
    together = len(told) > 1 and "would do as well" not in told[0].what
    return "right" if (all(held) if together else any(held)) else "wrong"


def check(grader: Grader, answer: Answer, folder: Path) -> ExerciseReport:
    """Hand in the released notebook with one answer, and return the report of its exercise."""
    notebook = nbformat.from_dict(released_notebook(COURSE, answer.lesson))
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == answer.exercise:
            cell.source = answer.code
    path = folder / f"{answer.lesson}.ipynb"
    nbformat.write(notebook, path)
    return grader.grade(answer.lesson, path, lines=True).report.exercise(answer.exercise)


def main() -> None:
    """Print a table of the lessons that were asked for, and the answers if they were."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("lessons", nargs="*", help="numbers of lessons, such as 03")
    parser.add_argument("--each", type=int, default=1, help="measure only every Nth answer")
    parser.add_argument("--held-out", action="store_true", help="those that nothing was tuned by")
    parser.add_argument("--answers", action="store_true", help="print a line for each answer")
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    asked = parser.parse_args()
    logging.disable()
    torch.set_num_threads(1)
    counts: dict[str, Counter[str]] = {"one": Counter(), "several": Counter()}
    folder_of_answers = "blind/held_out" if asked.held_out else "blind"
    with Grader(COURSE) as grader, TemporaryDirectory() as folder:
        for lesson in COURSE.lessons():
            if asked.lessons and lesson[:2] not in asked.lessons:
                continue
            load_lesson(COURSE, lesson)
            for number, answer in enumerate(answers(lesson, folder_of_answers)):
                if number % asked.each:
                    continue
                began = time.monotonic()
                report = check(grader, answer, Path(folder))
                if not report.failures:
                    continue
                said = verdict(answer, report.lines or [])
                count = counts["one" if answer.places == 1 else "several"]
                count.update(answers=1, told=bool(said), right=said == "right", wrong=said == "wrong")
                count["titled"] += bool(report.misconceptions)
                count["milliseconds"] += round(1000 * (time.monotonic() - began))
                if asked.answers:
                    told = [(each.first, each.last, each.what) for each in report.lines or ()]
                    marked = [*answer.lines, *(f"after {line}" for line in answer.after)]
                    print(f"{lesson[:2]} {answer.exercise} {marked}: {said or '-'} {told}", flush=True)
    rows = []
    for name, count in counts.items():
        n = count["answers"] or 1
        shares = [f"{100 * count[each] / n:.0f} %" for each in ("told", "right", "wrong", "titled")]
        rows.append([name, str(count["answers"]), *shares, f"{count['milliseconds'] / n / 1000:.1f}"])
    about = "every answer" if asked.each == 1 else f"one of {asked.each} answers"
    about += ", of those that nothing was tuned by" if asked.held_out else ""
    part = "\n\n".join([HEADING, ABOUT.format(about), table([*COLUMNS], rows)])
    print(part)
    if asked.write:
        part += f"\n\nMeasured on {datetime.now(UTC):%Y-%m-%d}."
        RESULTS.write_text(with_part(RESULTS.read_text(encoding="utf-8"), part), encoding="utf-8")


if __name__ == "__main__":
    main()
