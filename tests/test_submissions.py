"""A right answer gets its points, whatever state its notebook is in.

The notebooks in `submissions/` hold right answers to two exercises of lesson 03, without the other five,
and are named after what was done to them. Those in `mangled/` were damaged by a tool or by hand. The
answers in `harmless/` do unusual things that the grader must not mind.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.grading.grader import Grader
from autograder.model.errors import SubmissionError, WrongFileError
from autograder.model.report import Outcome, Report

LESSON = "03_attention"
CORPUS = Path(__file__).parent / "submissions"
PASSED = Outcome.PASSED
ANSWERED = ("softmax", "causal-mask")


@dataclass(frozen=True)
class Row:
    """The outcomes of the two exercises of a notebook, and the repairs that are listed."""

    repairs: tuple[str, ...] = ()
    softmax: Outcome = PASSED
    causal_mask: Outcome = PASSED


def defined(*exercises: str) -> tuple[str, ...]:
    """Return the repairs of answers that were found by their content."""
    return tuple(f"{name}: the answer was recognised by what it defines" for name in exercises)


def kernel(name: str) -> Row:
    """Return the row of a notebook for another language."""
    return Row((f"the notebook names another kernel, '{name}'; it was run as Python",))


TWICE = Row(("softmax: the notebook has 2 copies of the cell; the last one counts",))
RETYPED = "{}: the cell's type was changed; it was read as code"
SOFTMAX, MASK, BOTH = defined("softmax"), defined("causal-mask"), defined("softmax", "causal-mask")

# Every notebook that is not named here gets full points for both, without a repair.
ROWS = {
    "answer-in-a-new-cell": Row(SOFTMAX),
    "answer-in-the-test-cell": Row(SOFTMAX),
    "answer-of-comments": Row(softmax=Outcome.UNANSWERED),
    "answers-in-one-own-cell-on-top": Row(BOTH),
    "cell-magic-on-two-copies": TWICE,
    "deleted-answer": Row(softmax=Outcome.MISSING),
    "duplicated-cell": TWICE,
    "grade-ids-of-answer-and-test-swapped": Row(SOFTMAX),
    "grade-ids-swapped": Row(BOTH),
    "import-in-a-locked-cell": Row(
        ("locked cell 'setup-1' was changed; the original was run first",)
    ),
    "kernel-of-julia": kernel("Julia 1.10"),
    "kernel-of-r": kernel("R"),
    "latin-1": Row(("the file is not in UTF-8; unreadable characters were replaced by '\ufffd'",)),
    "merged-answers": Row(MASK),
    "merged-first-one-wrong": Row(MASK, softmax=Outcome.FAILED),
    "merged-into-the-later-cell": Row(SOFTMAX),
    "merged-with-tests": Row(MASK),
    "metadata-less": Row(BOTH),
    "nbformat-3": Row(("the notebook is in an old format, nbformat 3; it was converted",)),
    "nbgrader-metadata-garbled": Row(BOTH),
    "one-grade-id-on-all-cells": Row(MASK),
    "reordered": Row(("the answers were out of order; they were run in the lesson's order",)),
    "retyped-to-markdown": Row((RETYPED.format("softmax"),)),
    "retyped-to-raw": Row((RETYPED.format("softmax"), RETYPED.format("causal-mask"))),
    "sources-null": Row(softmax=Outcome.UNANSWERED),
    "split-cell": Row(("softmax: the answer was in 2 cells, which were joined",)),
    "string-without-end": Row(softmax=Outcome.ERROR),
    "tabs-and-spaces": Row(softmax=Outcome.ERROR),
    "thousands-of-cells": Row(("the notebook has more than 2000 cells; the rest was left out",)),
}
SLOW = "slow-loop-within-its-limit"  # takes nearly all the time that it may
INCIDENTS = {
    "exit-in-an-own-cell": ["ended-process"],
    "threads-and-processes": ["started-process"],
}
SETTINGS = {"default-dtype-set-inside": "softmax", "seeds-changed": "causal-mask"}
REFUSED = {
    "a-list": "it has no cells",
    "conflict-markers": "not valid JSON",
    "empty-file": "the file is empty",
    "not-a-notebook": "not valid JSON",
    "of-another-lesson": "not of lesson '03_attention'",
    "truncated": "not valid JSON",
}


def notebooks(folder: str) -> list[object]:
    """Return the notebooks of a folder that can be graded, as parameters; every third is in `make test`."""
    paths = sorted(p for p in (CORPUS / folder).glob("*.ipynb") if p.stem not in REFUSED)
    left_out = {path: 1 for n, path in enumerate(paths) if n % 3} | {
        path: 30 for path in paths if path.stem == SLOW
    }
    more = pytest.mark.full
    marks = {path: more("minutes in the sandbox", seconds=seconds) for path, seconds in left_out.items()}
    return [pytest.param(path, id=path.stem, marks=marks.get(path, ())) for path in paths]


def points(report: Report) -> dict[str, float | None]:
    """Return the scores above 0, by exercise."""
    return {done.id: done.score for done in report.exercises if done.score}


@pytest.mark.parametrize("path", notebooks("mangled"))
def test_a_mangled_notebook_is_graded(path: Path, grader: Grader) -> None:
    """Right answers count, a broken one costs its own exercise, and every repair is listed."""
    row = ROWS.get(path.stem, Row())
    report = grader.grade(LESSON, path).report
    wanted = {"softmax": row.softmax, "causal-mask": row.causal_mask}
    assert {name: report.exercise(name).outcome for name in wanted} == wanted
    assert points(report) == {name: 2 for name, outcome in wanted.items() if outcome is PASSED}
    assert tuple(report.repairs) == row.repairs
    told = ["locked-cell"] if any("locked cell" in said for said in row.repairs) else []
    assert [incident.kind for incident in report.incidents] == told
    others = {done.outcome for done in report.exercises if done.id not in wanted}
    assert others == {Outcome.MISSING}


@pytest.mark.parametrize("path", notebooks("harmless"))
def test_an_unusual_right_answer_gets_its_points(path: Path, grader: Grader) -> None:
    """There are no repairs, and no incidents but those that a person may want to know of.

    What it changes of PyTorch's settings costs the check of these, and nothing else.
    """
    report = grader.grade(LESSON, path).report
    failed = [(done.id, check.id) for done in report.exercises for check in done.failures]
    told = {name: [check for each, check in failed if each == name] for name in ANSWERED}
    assert told == {name: ["settings"] * (SETTINGS.get(path.stem) == name) for name in ANSWERED}
    unharmed = {name: 2 for name in ANSWERED if not told[name]}
    assert points(report).items() >= unharmed.items()
    assert report.repairs == []
    assert [incident.kind for incident in report.incidents] == INCIDENTS.get(path.stem, [])


@pytest.mark.parametrize(("stem", "reason"), REFUSED.items())
def test_a_file_that_is_not_a_notebook_of_the_lesson_is_refused(
    stem: str, reason: str, grader: Grader
) -> None:
    """The error gives the reason in one line, and a class run gives every exercise `missing`."""
    with pytest.raises(SubmissionError, match=reason) as refusal:
        grader.grade(LESSON, CORPUS / "mangled" / f"{stem}.ipynb")
    assert isinstance(refusal.value, WrongFileError) is (stem == "of-another-lesson")
    report = grader.grade_broken(LESSON).report
    assert {done.outcome for done in report.exercises} == {Outcome.MISSING}
    assert report.repairs == []


def test_every_row_has_its_notebook() -> None:
    """No row is left over from a notebook that was renamed or deleted."""
    there = {path.stem for path in (CORPUS / "mangled").glob("*.ipynb")}
    assert {*ROWS, *REFUSED} <= there
