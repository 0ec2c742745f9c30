"""results.json holds what Gradescope's specification allows, and nothing that is pending as a zero."""

import json
import random
from typing import Any

import jsonschema
import pytest
from reports.hostile import hostile_report
from reports.sample_class import POINTS, exercise, report, sample_class

from autograder.exports.gradescope import results_json
from autograder.model.report import Outcome, Report, State

# Written down from https://gradescope-autograders.readthedocs.io/en/latest/specs/
VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
TEXT_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
TEST = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "max_score": {"type": "number"},
        "status": {"enum": ["passed", "failed"]},
        "name": {"type": "string"},
        "name_format": TEXT_FORMAT,
        "number": {"type": "string"},
        "output": {"type": "string"},
        "output_format": TEXT_FORMAT,
        "tags": {"type": "array", "items": {"type": "string"}},
        "visibility": VISIBILITY,
        "extra_data": {"type": "object"},
    },
}
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score"],
    "properties": {
        "score": {"type": "number", "minimum": 0},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": TEXT_FORMAT,
        "test_output_format": TEXT_FORMAT,
        "test_name_format": TEXT_FORMAT,
        "visibility": VISIBILITY,
        "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {"type": "array", "items": TEST},
        "leaderboard": {"type": "array"},
    },
}


def _read(made: Report, **how: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(results_json(made, **how))
    jsonschema.validate(document, SCHEMA)
    return document


def test_every_report_of_a_class_fits_the_specification() -> None:
    """Scores add up to those of the report, and every exercise is a test case."""
    for made in sample_class().values():
        read = _read(made)
        assert read["score"] == pytest.approx(made.score, abs=1e-3)
        if made.is_graded:
            assert [case["extra_data"]["exercise"] for case in read["tests"]] == [ex.id for ex in made.exercises]
            given = sum(case.get("score", 0) for case in read["tests"])
            assert given == pytest.approx(made.score, abs=1e-3)


def test_what_is_pending_has_neither_score_nor_status() -> None:
    """Gradescope then counts it neither as earned nor as lost."""
    draw = random.Random(1)
    outcomes = (Outcome.PASSED, Outcome.NEEDS_MARKING, Outcome.GRADER_FAULT)
    made = report([exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=False)])
    read = _read(made)
    passed, *pending = read["tests"]
    assert (passed["status"], passed["score"]) == ("passed", passed["max_score"])
    for case in pending:
        assert not {"score", "max_score", "status"} & set(case)
    assert read["extra_data"]["pending"] == made.pending > 0


@pytest.mark.parametrize("state", [State.UNREADABLE, State.WRONG_FILE, State.ABSENT])
def test_what_could_not_be_graded_says_why(state: State) -> None:
    """There are no test cases to fail."""
    made = report([]).model_copy(update={"state": state, "reason": "it is not valid JSON"})
    read = _read(made)
    assert (read["score"], read["tests"]) == (0, [])
    assert "it is not valid JSON" in read["output"]


def test_a_penalty_and_a_missing_sandbox_are_said() -> None:
    """The total is lower, and never below zero; the student reads why."""
    draw = random.Random(1)
    made = report([exercise("softmax", Outcome.PASSED, draw)])
    read = _read(made, penalty=0.5)
    assert read["score"] == made.score - 0.5
    assert "0.5 points were taken off because it was late" in read["output"]
    assert _read(made, penalty=99.0)["score"] == 0
    assert "without a sandbox" in _read(made, sandboxed=False)["output"]


def test_an_instructors_comment_is_with_its_exercise() -> None:
    """As it was written: the format is plain text."""
    draw = random.Random(1)
    made = report([exercise(name, Outcome.NEEDS_MARKING, draw) for name in ("softmax", "causal-mask")])
    first, second = _read(made, comments={"causal-mask": "Name **one** result of x < y."})["tests"]
    assert "Your instructor's comment\nName **one** result of x < y." in second["output"]
    assert "comment" not in first["output"]


def test_what_a_submission_wrote_is_plain_text() -> None:
    """No format is one that Gradescope would render as HTML."""
    read = _read(hostile_report())
    assert read["test_output_format"] == read["output_format"] == read["test_name_format"] == "text"
    assert "\x1b" not in json.dumps(read, ensure_ascii=False)
