"""Grades one submission inside Gradescope's container, and writes its results.json.

The zip that `gradescope_zip` makes starts this module. Gradescope puts what the student handed in into
/autograder/submission, and reads /autograder/results/results.json:
https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

import shutil
import sys
from pathlib import Path

import click

from autograder.exports.gradescope import results_json
from autograder.grading.grade_submission import grade_submission, with_lines
from autograder.grading.grader import Grader
from autograder.grading.version import lesson_version
from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.text import clean
from autograder.submissions.submission import MOST_FILES, Submission

STUDENT = "student"


def run(course: Course, lesson: str, handed_in: Path, *, sandboxed: bool) -> str:
    """Grade the notebook in a folder; return results.json.

    Whatever the file is, there is a result. Raises AutograderError if the grader cannot run at all.
    """
    folder = course.submission(STUDENT, lesson).parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sorted(handed_in.iterdir())[:MOST_FILES]:
        if not path.is_symlink() and path.is_file():
            shutil.copyfile(path, folder / path.name, follow_symlinks=False)
    submission = Submission(course, STUDENT, lesson, lesson_version(course, lesson))
    with Grader(course, sandboxed=sandboxed) as grader:
        attempt, _ = grade_submission(grader, submission, sandboxed=sandboxed)
        attempt = with_lines(grader, submission, attempt)
    if attempt.detail:
        click.echo(attempt.detail)  # Gradescope shows it to instructors alone
    return results_json(attempt.report, sandboxed=sandboxed)


@click.command()
@click.argument("lesson")
@click.option("--root", type=click.Path(path_type=Path), default=Path("/autograder"))
@click.option("--unsandboxed", is_flag=True)
def main(lesson: str, root: Path, *, unsandboxed: bool) -> None:
    """Grade ROOT/submission with the course in ROOT/source, and write ROOT/results/results.json."""
    try:
        text = run(Course(root / "source"), lesson, root / "submission", sandboxed=not unsandboxed)
    except AutograderError as problem:
        click.echo(f"autograder: {clean(str(problem))}", err=True)
        sys.exit(2)  # without a result, Gradescope tells the instructor that the autograder failed
    (root / "results").mkdir(exist_ok=True)
    (root / "results" / "results.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
