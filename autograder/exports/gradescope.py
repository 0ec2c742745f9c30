"""A graded submission as Gradescope's results.json, and the zip that makes Gradescope run our checks.

The formats are Gradescope's own: https://gradescope-autograders.readthedocs.io/en/latest/specs/
Each exercise is a test case. One whose points are pending has neither score nor status, so that
Gradescope counts it neither as earned nor as lost; a question graded by hand belongs beside it in the
assignment's outline.

The zip has `setup.sh` and `run_autograder` at its root, the first run once when the image is built, the
second for every submission. It holds the checks, the model answers and the lesson's key, so that the same
answer gets the same score there as here. It is for instructors alone.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError
from autograder.model.files import files_in, zipped
from autograder.model.report import ExerciseReport, Outcome, Report
from autograder.model.text import counted
from autograder.reports import words
from autograder.storage.course_key import lesson_key
from coursework.edits.places import blame

PACKAGES = Path(__file__).resolve().parents[2]
VERSIONS = ("3.13", "3.12", "3.11")  # newest first
TESTS = "\n# tests\n"  # what stands below it in requirements.txt is not needed to grade
PROGRAMS = ("setup.sh", "run_autograder")


def results_json(
    report: Report, *, sandboxed: bool = True, penalty: float = 0.0, comments: Mapping[str, str] | None = None
) -> str:
    """Return a report as results.json, with the instructor's comments by exercise.

    A penalty for lateness is taken off the total.
    """
    said = comments or {}
    shown = [each for each in report.exercises if report.is_graded or each.id in said]
    results = {
        "score": round(max(0.0, report.score - penalty), 4),
        "output": "\n".join(_summary(report, sandboxed=sandboxed, penalty=penalty)),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",  # it is for the instructor, and may hold a path
        "tests": [_test_case(each, said.get(each.id, "")) for each in shown],
        "extra_data": {
            "lesson": report.lesson,
            "state": report.state.value,
            "pending": report.pending,
            "max_score": report.max_score,
            "penalty": penalty,
        },
    }
    return json.dumps(results, indent=2)


def _summary(report: Report, *, sandboxed: bool, penalty: float) -> list[str]:
    lines = [f"{report.lesson}: {words.report_total(report)}"]
    if not report.is_graded:
        lines += [words.STATES[report.state].sentence, report.reason]
    if penalty:
        were = "was" if penalty == 1 else "were"
        lines.append(f"{counted(round(penalty, 2), 'point')} {were} taken off because it was late.")
    if report.repairs:
        lines += ["", "Repaired before grading (no points taken off)", *report.repairs]
    if told := report.told_incidents:
        notes = [f"{words.place(incident)}: {incident.message}" for incident in told]
        lines += ["", "Noticed while the code ran (a note takes no points off)", *notes]
    return [*lines, *([] if sandboxed else ["", words.NO_SANDBOX])]


def _test_case(exercise: ExerciseReport, comment: str) -> dict[str, Any]:
    """Return one exercise as a test case; a stretch exercise has a status and no points."""
    case: dict[str, Any] = {
        "name": f"{exercise.id}: {words.wording(exercise).label}",
        "output": "\n".join(_feedback(exercise, comment)),
        "visibility": "visible",
        "extra_data": {"exercise": exercise.id, "outcome": exercise.outcome.value},
    }
    if exercise.score is None:
        return case
    if not exercise.is_stretch:
        case |= {"score": round(exercise.score, 4), "max_score": exercise.points}
    passed = exercise.outcome is Outcome.PASSED or exercise.score >= exercise.points > 0
    return case if exercise.is_skipped else case | {"status": "passed" if passed else "failed"}


def _feedback(exercise: ExerciseReport, comment: str) -> list[str]:
    lines = [words.sentence(exercise)]
    if comment:
        lines += ["", "Your instructor's comment", comment]
    for mistake in words.distinct(exercise.misconceptions):
        lines += ["", f"{mistake.label}: {mistake.title}", mistake.hint]
    if where := blame(exercise.lines):
        lines += ["", where]
    if example := exercise.example:
        parts = (("", example.inputs), ("yours", example.yours), ("expected", example.expected))
        lines += ["", f"Example: {example.call}"]
        lines += [text for part in parts for text in part if text]
    for failure in words.failures(exercise.checks):
        lines += ["", *(f"✗ {title}" for title in failure.titles), failure.message]
    return [*lines, *(["", words.next_step(exercise)] if words.next_step(exercise) else [])]


def gradescope_zip(course: Course, lesson: str, *, sandboxed: bool) -> bytes:
    """Return the zip for one lesson.

    `sandboxed=False` is for images that do not let bubblewrap run: submissions then run with the
    rights of the grader, and every result says so. Raises CourseError if the lesson was never released.
    """
    return zipped(dict(_contents(course, lesson, sandboxed=sandboxed)), programs=PROGRAMS)


def _contents(course: Course, lesson: str, *, sandboxed: bool) -> Iterator[tuple[str, bytes]]:
    listed = course.needed("requirements.txt").read_text(encoding="utf-8").partition(TESTS)[0]
    yield from _scripts(lesson, listed, sandboxed=sandboxed)
    yield "requirements.txt", listed.encode()
    for name in ("requirements-pretrained.txt", CONFIG):
        yield name, course.needed(name).read_bytes()
    key = course.lesson_key(lesson).relative_to(course.root)
    yield key.as_posix(), lesson_key(course, lesson).hex().encode()
    for name in course.lessons():
        yield f"source/{name}.py", course.text(name).read_bytes()
    released = course.release_notebook(lesson).parent
    for path in files_in(released):
        yield f"release/{lesson}/{path.relative_to(released).as_posix()}", path.read_bytes()
    for package in ("autograder", "coursework"):
        for path in files_in(PACKAGES / package):
            yield path.relative_to(PACKAGES).as_posix(), path.read_bytes()


def _scripts(lesson: str, listed: str, *, sandboxed: bool) -> Iterator[tuple[str, bytes]]:
    torch = re.search(r"^torch==\S+$", listed, re.MULTILINE)
    if torch is None:
        raise CourseError("requirements.txt pins no version of torch: add it")
    filled_in = {
        "lesson": lesson,
        "options": "" if sandboxed else " --unsandboxed",
        "torch": torch[0],
        "versions": VERSIONS,
        "oldest": VERSIONS[-1],
    }
    templates = Environment(
        loader=PackageLoader("autograder.exports", "scripts"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - shell, not HTML
    )
    for name in PROGRAMS:
        yield name, templates.get_template(f"{name}.j2").render(filled_in).encode()
