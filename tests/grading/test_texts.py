"""What student code says is capped and printable in every place that keeps it."""

import json
from collections.abc import Callable
from pathlib import Path

from autograder.grading.grade_submission import grade_submission
from autograder.grading.grader import Grader
from autograder.model.course import Course
from autograder.reports.formgrader import graded_notebook
from autograder.reports.student_pages import page_of_one
from autograder.submissions.submission import Submission

LESSON = "03_attention"
LOUD = '''
import sys
def {name}(*args, **kwargs):
    text = "\\x1b[2J\\u202e=cmd()<script>" + "A" * 30_000_000
    print(text)
    raise type("\\x1b]0;x\\x07" + "B" * 1_000_000, (Exception,), {{}})(text)
'''


def test_a_message_of_30_megabytes_stays_small_everywhere(
    course: Course, grader: Grader, hand_in: Callable[..., Path], tmp_path: Path
) -> None:
    """In the JSON document, the log, the graded notebook and the pages."""
    path = hand_in(
        LESSON, softmax=LOUD.format(name="softmax"), causal_mask=LOUD.format(name="causal_mask")
    )
    graded = grader.grade(LESSON, path)
    report = graded.report
    assert report.exercise("softmax").score == 0
    page = page_of_one(course, report, graded.notebook, sandboxed=True)
    for text in (report.model_dump_json(), page):
        assert len(text) < 200_000
        assert not set("\x1b\u202e\x07") & set(text)
        assert "\\u001b" not in text
        assert "<script>" not in text or text.startswith("{")


def test_a_graded_notebook_of_such_a_submission_is_small(course: Course, grader: Grader, tmp_path: Path) -> None:
    """Its cells hold at most what a page can show, with unprintable characters replaced."""
    handed_in = Course(tmp_path).submission("mallory", LESSON)
    handed_in.parent.mkdir(parents=True)
    cells = [
        {"cell_type": "code", "source": "def softmax(x, dim=-1):\n    return '\x1b[2J\u202e'" + "\n#" * 90_000},
        *[{"cell_type": "markdown", "source": "\u202e<b class=x>" + "a " * 9_000}] * 90,
    ]
    handed_in.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    graded = grader.grade(LESSON, handed_in)
    (tmp_path / "source").symlink_to(Path(__file__).parents[2] / "source")
    submission = Submission(Course(tmp_path), "mallory", LESSON, "v")
    attempt, _ = grade_submission(_Fixed(graded), submission, sandboxed=True)
    page = graded_notebook(graded.notebook, attempt)
    whole = json.dumps(page, ensure_ascii=False)
    assert len(whole) < 1_000_000
    assert not set("\x1b\u202e") & set(whole)
    assert "class=x" not in whole


class _Fixed:
    """A grader that has graded already."""

    def __init__(self, graded: object) -> None:
        self.graded = graded

    def grade(self, *_: object) -> object:
        """Return it."""
        return self.graded
