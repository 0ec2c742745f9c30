"""results.json holds what Gradescope allows and no pending zero; the zip runs the same checks there."""


import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import REAL_COURSE, ROOT
from reports.hostile import hostile_report
from reports.sample_class import POINTS, exercise, report, sample_class

from autograder.exports.gradescope import gradescope_zip, results_json
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.report import Outcome, Report, State
from autograder.storage.course_key import lesson_key

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
    outcomes = (Outcome.PASSED, Outcome.BY_HAND, Outcome.GRADER_ERROR)
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
    assert "1 point was taken off because it was late" in _read(made, penalty=1.0)["output"]
    assert _read(made, penalty=99.0)["score"] == 0
    assert "without a sandbox" in _read(made, sandboxed=False)["output"]


def test_an_instructors_comment_is_with_its_exercise() -> None:
    """As it was written: the format is plain text."""
    draw = random.Random(1)
    made = report([exercise(name, Outcome.BY_HAND, draw) for name in ("softmax", "causal-mask")])
    first, second = _read(made, comments={"causal-mask": "Name **one** result of x < y."})["tests"]
    assert "Your instructor's comment\nName **one** result of x < y." in second["output"]
    assert "comment" not in first["output"]


def test_what_a_submission_wrote_is_plain_text() -> None:
    """No format is one that Gradescope would render as HTML."""
    read = _read(hostile_report())
    assert read["test_output_format"] == read["output_format"] == read["test_name_format"] == "text"
    assert "\x1b" not in json.dumps(read, ensure_ascii=False)


LESSON = "03_attention"
MISTAKE = {"attention_scores": lambda answer: answer.replace(" / math.sqrt(k.size(-1))", "")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The course of this repository, with a key of its own."""
    root = tmp_path_factory.mktemp("home")
    for name in ("nbgrader_config.py", "requirements.txt", "requirements-pretrained.txt", "source", "release"):
        (root / name).symlink_to(ROOT / name)
    return Course(root)


@pytest.fixture(scope="module")
def content(home: Course) -> bytes:
    """The zip of one lesson."""
    return gradescope_zip(home, LESSON, sandboxed=shutil.which("bwrap") is not None)


def _extracted(content: bytes, root: Path) -> Path:
    """Lay out what Gradescope's harness lays out, with an environment that is ready."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(root / "source")
        for entry in archive.infolist():
            (root / "source" / entry.filename).chmod(entry.external_attr >> 16)
    shutil.copy2(root / "source" / "run_autograder", root / "run_autograder")
    (root / "venv").symlink_to(Path(sys.prefix))
    (root / "submission").mkdir()
    return root


def _run(root: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "AUTOGRADER_ROOT": str(root)}
    return subprocess.run(
        [str(root / "run_autograder")],
        cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip


def test_both_scripts_are_programs_at_the_root(content: bytes) -> None:
    """By the specification; and the shell can read them."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in ("setup.sh", "run_autograder"):
            assert archive.getinfo(name).external_attr >> 16 == 0o755
            text = archive.read(name).decode()
            assert text.startswith("#!/usr/bin/env bash\n")
            assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
        setup = archive.read("setup.sh").decode()
    torch = re.search(r"^torch==\S+$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert torch is not None
    assert torch[0] in setup
    assert "{{" not in setup


def test_the_zip_has_what_grading_needs_and_no_more(content: bytes, home: Course) -> None:
    """Checks, texts, the release and the key of this lesson; no test, no submission, no compiled file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        assert archive.read(f"keys/{LESSON}.key").decode() == lesson_key(home, LESSON).hex()
        assert "pytest" not in archive.read("requirements.txt").decode()
    assert home.key.name not in names
    assert f"release/{LESSON}/{LESSON}.ipynb" in names
    assert f"source/{LESSON}.py" in names
    assert "autograder/lessons/attention/softmax.yaml" in names
    assert not [name for name in names if name.startswith("tests/") or name.endswith(".pyc")]
    assert sum(name.endswith(".ipynb") for name in names) == 1


def test_equal_courses_give_equal_zips(content: bytes, home: Course) -> None:
    """So that a new one is a change of the course."""
    assert gradescope_zip(home, LESSON, sandboxed=shutil.which("bwrap") is not None) == content


def test_unsandboxed_is_said_in_so_many_words(home: Course) -> None:
    """The script has the option only if the instructor asked for it."""
    for sandboxed in (True, False):
        with zipfile.ZipFile(io.BytesIO(gradescope_zip(home, LESSON, sandboxed=sandboxed))) as archive:
            assert ("--unsandboxed" in archive.read("run_autograder").decode()) is not sandboxed


def test_a_lesson_that_was_never_released_is_refused(home: Course) -> None:
    """The message says what to run."""
    with pytest.raises(CourseError, match="no released lesson"):
        gradescope_zip(home, "09_nothing", sandboxed=True)


@pytest.mark.full("runs the zip as Gradescope does", seconds=15)
def test_a_submission_gets_the_same_score_there(
    content: bytes, hand_in: Callable[..., Path], tmp_path: Path
) -> None:
    """Run as Gradescope's harness would: the mistake is named, and a file of any name is found."""
    root = _extracted(content, tmp_path / "autograder")
    shutil.copy(hand_in(LESSON, **MISTAKE), root / "submission" / "my homework.ipynb")
    done = _run(root)
    assert done.returncode == 0, done.stderr
    results = json.loads((root / "results" / "results.json").read_text())
    assert results["score"] == 17
    cases = {case["extra_data"]["exercise"]: case for case in results["tests"]}
    assert cases["attention-scores"]["score"] == 0
    assert "The scores are not divided by √d_k" in cases["attention-scores"]["output"]
    assert "Everything passes with" in cases["attention-scores"]["output"]
    assert "'my homework.ipynb' was graded" in results["output"]


@pytest.mark.full("runs the zip as Gradescope does", seconds=15)
def test_nothing_and_links_get_a_result_too(content: bytes, tmp_path: Path) -> None:
    """A link to a file of the grader's is not followed; the student reads that there is no notebook."""
    root = _extracted(content, tmp_path / "autograder")
    (root / "submission" / f"{LESSON}.ipynb").symlink_to(REAL_COURSE.release_notebook(LESSON))
    assert _run(root).returncode == 0
    results = json.loads((root / "results" / "results.json").read_text())
    assert (results["score"], results["tests"]) == (0, [])
    assert results["extra_data"]["state"] == "absent"


@pytest.mark.full("runs the zip as Gradescope does", seconds=15)
def test_a_grader_that_cannot_run_writes_no_score(content: bytes, tmp_path: Path) -> None:
    """Gradescope then tells the instructor, and the student gets no zero."""
    root = _extracted(content, tmp_path / "autograder")
    (root / "source" / "keys" / f"{LESSON}.key").write_text("damaged")
    done = _run(root)
    assert done.returncode == 2
    assert "is damaged" in done.stderr
    assert not (root / "results" / "results.json").exists()
