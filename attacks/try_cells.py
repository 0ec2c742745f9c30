"""Grade single cells: `python attacks/try_cells.py FILE...`, each file begins with `# lesson exercise`."""

import sys
import tempfile
import time
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from conftest import REAL_COURSE, solve

from autograder.grading.grader import Grader


def main() -> None:
    with Grader(REAL_COURSE) as grader, tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:]:
            text = Path(name).read_text()
            for each in text.split("\n#---\n"):
                lesson, exercise = each.split("\n", 1)[0].lstrip("# ").split()[:2]
                notebook = solve(REAL_COURSE, lesson, {exercise: lambda _: each})
                wanted = {exercise, f"{exercise}-test"}
                notebook.cells = [
                    c for c in notebook.cells
                    if (i := c.metadata.get("nbgrader", {})).get("grade_id") in wanted
                    or (i.get("locked") and not i.get("grade"))
                ]
                path = Path(folder) / f"{lesson}.ipynb"
                nbformat.write(notebook, path)
                began = time.monotonic()
                report = grader.grade(lesson, path).report
                got = report.exercise(exercise)
                print(f"{Path(name).name}: {got.score}/{got.points} {got.outcome} {time.monotonic() - began:.1f}s")
                for check in got.checks:
                    if not check.passed:
                        print("    ", check.id, "|", check.message[:160])
                for incident in report.incidents:
                    print("     incident", incident.kind, "|", incident.detail[:100])


main()
