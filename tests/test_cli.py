"""The command line says what is wrong in one line, with exit status 2, and prints one document."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT

from autograder.cli import main
from autograder.grading import runner

SANDBOX = [] if shutil.which("bwrap") else ["--unsandboxed"]


def run(*args: str | Path) -> Result:
    """Run a command on this course."""
    return CliRunner().invoke(main, ["--course", str(ROOT), *map(str, args)])


def test_check_prints_exactly_one_document(hand_in: Callable[..., Path]) -> None:
    """--json gives what the contract says, and nothing else on standard output."""
    path = hand_in(
        "03_attention", attention_scores=lambda a: a.replace(" / math.sqrt(k.size(-1))", "")
    )
    result = run("check", path, "--json", *SANDBOX)
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert set(report) == {
        "lesson", "score", "max_score", "exercises", "repairs", "incidents", "pending",
    }  # fmt: skip
    assert report["pending"] == 0
    scores = next(ex for ex in report["exercises"] if ex["id"] == "attention-scores")
    assert set(scores) - {"example"} == {
        "id", "points", "score", "outcome", "checks", "misconceptions", "lines",
    }  # fmt: skip
    assert [m["id"] for m in scores["misconceptions"]] == ["scale-missing"]


def test_check_prints_a_table_with_hints(hand_in: Callable[..., Path]) -> None:
    """Without --json, a person reads the score, the mistake and the hint."""
    path = hand_in("03_attention", causal_mask=lambda a: a.replace(".tril()", ".triu()"))
    result = run("check", path, *SANDBOX)
    assert "18.25 of 20" in result.stdout
    assert "triangle" in result.stdout


def test_check_writes_a_page_that_stands_alone(
    hand_in: Callable[..., Path], tmp_path: Path
) -> None:
    """Beside the JSON document, which stays the only thing on standard output."""
    path, page = hand_in("03_attention"), tmp_path / "a folder" / "mine.html"
    result = run("check", path, "--json", "--page", page, *SANDBOX)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["lesson"] == "03_attention"
    assert "3 · Attention" in page.read_text(encoding="utf-8")
    assert f"wrote {page}" in result.stderr


def test_a_page_that_cannot_be_written_gets_one_line(
    hand_in: Callable[..., Path], tmp_path: Path
) -> None:
    """With exit status 2; the report was printed before."""
    (tmp_path / "file").touch()
    result = run("check", hand_in("03_attention"), "--page", tmp_path / "file" / "a.html", *SANDBOX)
    assert result.exit_code == 2
    assert result.stderr.startswith("autograder: cannot read or write")
    assert "Score:" in result.stdout


def test_check_never_writes_a_page_over_a_notebook(hand_in: Callable[..., Path]) -> None:
    """A file of another kind is refused in one line, before anything is graded."""
    path = hand_in("03_attention")
    before = path.read_bytes()
    result = run("check", path, "--page", path)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert path.read_bytes() == before


def test_check_says_where_the_traceback_of_a_grader_error_is(
    hand_in: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report stays one document, and the log is named on standard error."""

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fragment of the model answer")

    for name in ("nbgrader_config.py", "source", "release"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setattr(runner, "judge_check", broken)
    arguments = ["--course", str(tmp_path), "check", str(hand_in("03_attention")), "--json"]
    result = CliRunner().invoke(main, [*arguments, *SANDBOX])
    assert result.exit_code == 0
    assert {ex["outcome"] for ex in json.loads(result.stdout)["exercises"]} == {"grader-fault"}
    assert "fragment" not in result.stdout
    log = tmp_path / "reports" / "grader-errors.log"
    assert str(log) in result.stderr
    assert "ZeroDivisionError: a fragment of the model answer" in log.read_text()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.write_text("print(1)"), "not a notebook"),
        (
            lambda path: path.write_text('{"cells": [{"cell_type": "code", "source": "x = 1"}]}'),
            "not a notebook of this course",
        ),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_bad_input_gets_one_clear_line(
    make: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    """Exit status 2, one line on standard error, nothing on standard output."""
    path = tmp_path / "homework.ipynb"
    make(path)
    result = run("check", path, "--json")
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_an_unreleased_lesson_is_said_to_be_so(
    tmp_path: Path, hand_in: Callable[..., Path]
) -> None:
    """In a course without releases the line says what to run."""
    (tmp_path / "nbgrader_config.py").touch()
    path = hand_in("03_attention")
    result = CliRunner().invoke(main, ["--course", str(tmp_path), "check", str(path)])
    assert result.exit_code == 2
    assert "autograder build" in result.stderr


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_what_cannot_be_printed_is_one_line(option: str) -> None:
    """Help and version say so too where there is no room for them."""
    with Path("/dev/full").open("w") as full:
        asked = [sys.executable, "-m", "autograder", option]
        done = subprocess.run(asked, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
