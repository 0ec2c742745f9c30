"""Measures what grading costs, beside stock nbgrader on the same submissions, and writes RESULTS.md.

All figures of a table come from one run, one after the other, on a machine that should be idle: compare
ratios, not seconds. If only some parts are asked for, the others stay as they are. `--quick` takes small
samples, to see that it works, and writes nothing.
"""

import argparse
import os
import platform
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from breakdown import KINDS, breakdown
from graders import HERE, OWN_CODE, command, demo_lines, local_cluster, ours, stock
from invented_class import hand_in, make_course
from measured import cost

from autograder.model.course import Course

RESULTS = Path(__file__).with_name("RESULTS.md")
ABOUT = (
    f"# What grading costs\n\nWritten by `make bench`: Python {platform.python_version()}, "
    f"{len(os.sched_getaffinity(0))} cores. The invented submissions hold one or two known mistakes in one or two "
    "exercises. Seconds differ between machines; the ratios of a table come from one run."
)
LONG = "07_transformer"  # stock nbgrader trains it anew for each submission


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def beside_stock(folder: Path, *, quick: bool) -> Iterator[str]:
    """Grade the same submissions with stock nbgrader and with ours, lesson by lesson."""
    cores = len(os.sched_getaffinity(0))
    rows, sums = [], [0.0, 0.0, 0.0]
    lessons = Course.of_program().lessons()
    for lesson in lessons[2:3] if quick else lessons:
        sample, whole = (1, 4) if quick else (1, 8) if lesson == LONG else (2, 24)
        seconds = [
            stock(folder, lesson, sample).each(sample),
            ours(folder, lesson, whole, "--workers", "1").each(whole),
            ours(folder, lesson, whole).each(whole),
        ]
        sums = [a + b for a, b in zip(sums, seconds, strict=True)]
        rows.append([lesson, f"{sample} and {whole}", *_ratios(seconds)])
        print(*rows[-1], flush=True)
    rows.append(["all", "", *_ratios(sums)])
    yield "## Beside stock nbgrader"
    yield (
        "Seconds for each submission. Stock is `nbgrader autograde` with its own Execute, on the first of "
        "the same submissions. Ours includes the start of the command, diagnosis, feedback pages and the "
        f"class report. The machine has {cores} cores."
    )
    yield table(
        ["lesson", "submissions", "stock, s", "ours, 1 worker, s", "ratio", f"ours, {cores} workers, s", "ratio"],
        rows,
    )


def _ratios(seconds: Sequence[float]) -> list[str]:
    theirs, *own = seconds
    return [f"{theirs:.1f}", *(text for each in own for text in (f"{each:.2f}", f"{theirs / each:.0f}"))]


def growth(folder: Path, *, quick: bool) -> Iterator[str]:
    """Grade lesson 03 for classes of growing size, and once more with nothing new."""
    rows = []
    for count in (4, 8) if quick else (10, 100, 300):
        course = make_course(folder / f"growth-{count}")
        hand_in(course, "03_attention", count)
        first, second = (cost(command("03"), course.root, OWN_CODE) for _ in range(2))
        rows.append(
            [f"{count}", f"{first.wall:.1f}", f"{first.each(count):.2f}", f"{second.wall:.1f}", f"{first.megabytes:.0f}"]
        )
        print(*rows[-1], flush=True)
    yield "## As the class grows"
    yield "Lesson 03 with all cores. The second run has nothing new to grade."
    yield table(["submissions", "first run, s", "each, s", "second run, s", "largest process, MB"], rows)


def on_dask(folder: Path, *, quick: bool) -> Iterator[str]:
    """Grade the same class on 1, 2 and 4 local dask workers."""
    count, seconds = 4 if quick else 100, {}
    for workers in (1, 2, 4):
        with local_cluster(workers, folder / f"dask{workers}") as address:
            options = "--cluster", address, "--cluster-in-clear"
            place = folder / f"{workers}-workers"
            place.mkdir()
            seconds[workers] = ours(place, "03_attention", count, *options).wall
            print(workers, seconds[workers], flush=True)
    yield "## On dask workers"
    yield (
        f"Lesson 03, {count} submissions, workers of one thread on this machine. The scheduler, the command and "
        "the feedback pages have the same cores; with one worker, they have a core to themselves."
    )
    rows = [[f"{n}", f"{s:.1f}", f"{seconds[1] / s:.2f}"] for n, s in seconds.items()]
    yield table(["workers", "seconds", "times faster than one"], rows)


def inside(folder: Path, *, quick: bool) -> Iterator[str]:
    """Say where the time of one submission goes."""
    course, rows = Course.of_program(), []
    lessons = course.lessons()
    for lesson in lessons[2:3] if quick else lessons:
        total, watch = breakdown(course, lesson)
        parts = [f"{watch.seconds[kind]:.2f} ({watch.calls[kind]})" for kind in KINDS]
        rest = total - sum(watch.seconds[kind] for kind in KINDS)
        rows.append([lesson, f"{total:.2f}", *parts, f"{rest:.2f}"])
    yield "## Where the time of a submission goes"
    yield "Model answers, in a grader that is warm: seconds, and in brackets how often. " + "; ".join(
        f"*{kind}*: {what}" for kind, what in KINDS.items()
    ) + "; *rest*: reading and aligning the notebook, judging, the page."
    yield table(["lesson", "all", *KINDS, "rest"], rows)


def in_demo(folder: Path, *, quick: bool) -> Iterator[str]:
    """Say where the time of `make demo` goes, once everything is installed."""
    rows, at = [], 0.0
    for line, at in demo_lines(folder / "demo"):
        if line.startswith("a feedback page"):
            rows.append(["the first feedback page is there after", f"{at:.0f}"])
        elif lesson := re.match(r"(\w+) +(\d+) graded.* (\d+) s$", line):
            rows.append([f"{lesson[1]}, {lesson[2]} submissions", lesson[3]])
    yield "## Inside the demo"
    yield "`autograder demo`, after installation, with two processes that grade. The lines to blame are included."
    yield table(["part", "seconds"], [*rows, ["all", f"{at:.0f}"]])


def with_search(folder: Path, *, quick: bool) -> Iterator[str]:
    """Grade the same class with the search for the lines to blame, and without."""
    rows, lessons = [], Course.of_program().lessons()
    for lesson in lessons[2:3] if quick else lessons[:5]:
        count = 4 if quick else 24
        found, without = (ours(folder, lesson, count, search=search).wall for search in (True, False))
        rows.append([lesson, f"{without:.1f}", f"{found:.1f}", f"{found / without:.2f}"])
        print(*rows[-1], flush=True)
    yield "## With the lines to blame"
    yield "A class of 24 with mistakes, with all cores: seconds without the search, and with it."
    yield table(["lesson", "without, s", "with, s", "ratio"], rows)


def against_before(folder: Path, *, quick: bool) -> Iterator[str]:
    """Grade the same class with this code and with that of the checkout that $BEFORE names, in turns."""
    before = Path(os.environ["BEFORE"])
    rows, lessons = [], Course.of_program().lessons()
    for lesson in lessons[2:3] if quick else lessons[:5]:
        count = 4 if quick else 24
        one = ("--workers", "1")
        old, new = (ours(folder, lesson, count, *one, code=code, search=False).cpu for code in (before, HERE))
        rows.append([lesson, f"{old:.1f}", f"{new:.1f}", f"{new / old:.2f}"])
        print(*rows[-1], flush=True)
    yield "## Against the commit before"
    yield (
        "Seconds of processor time of the machine, for a class of 24 with mistakes: reading, grading, "
        f"diagnosis, pages and the class report, without the lines. Before is {os.environ.get('BEFORE_IS', before.name)}."
    )
    yield table(["lesson", "before, s", "now, s", "ratio"], rows)


PARTS: dict[str, Callable[..., Iterator[str]]] = {
    "stock": beside_stock, "inside": inside, "dask": on_dask, "growth": growth, "demo": in_demo,
    "search": with_search,
    "before": against_before,
}  # fmt: skip


def main() -> None:
    """Measure the parts that are asked for, by default all, and write RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small samples; prints, and writes nothing")
    asked = parser.parse_args()
    measured = f"Measured on {datetime.now(UTC):%Y-%m-%d}."
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.parts or [part for part in PARTS if part != "before" or "BEFORE" in os.environ]:
            part = "\n\n".join([*PARTS[name](Path(folder), quick=asked.quick), measured])
            print(part, flush=True)
            if not asked.quick:  # after each part: the whole takes half an hour
                old = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
                RESULTS.write_text(with_part(old, part), encoding="utf-8")


def with_part(old: str, part: str) -> str:
    """Return the results with a part in place of the one with its heading, or at the end."""
    _, *parts = re.split(r"\n\n(?=## )", old.strip())
    headings = [each.partition("\n")[0] for each in parts]
    heading = part.partition("\n")[0]
    at = headings.index(heading) if heading in headings else len(parts)
    parts[at : at + 1] = [part]
    return "\n\n".join([ABOUT, *parts]) + "\n"


if __name__ == "__main__":
    main()
