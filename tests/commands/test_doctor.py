"""`autograder doctor` prints what it found, and its exit status says whether grading works."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT

from autograder import doctor as module
from autograder.cli import main
from autograder.doctor import CHECKS, Finding, NamedCheck, examine, ok, problem, warning
from autograder.model.course import Course

LONG = "sudo " + " ".join(f"part-{number}" for number in range(40))


def _broken(_: Course) -> Finding:
    raise ImportError("no module named psutil")


def _doctor(monkeypatch: pytest.MonkeyPatch, *checks: NamedCheck, options: tuple[str, ...] = ()) -> Result:
    def those(course: Course) -> object:
        return examine(course, checks)

    monkeypatch.setattr(module, "examine", those)
    return CliRunner().invoke(main, ["--course", str(ROOT), "doctor", *options])


def _gives(finding: Finding) -> Callable[[Course], Finding]:
    return lambda _: finding


FINE = ("fine", _gives(ok("all is well")))
ODD = ("odd", _gives(warning("something is odd", "buy a new one")))
BAD = ("bad", _gives(problem("it is broken", LONG)))


def test_what_is_fine_gets_a_row_and_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """With exit status 0."""
    result = _doctor(monkeypatch, FINE)
    assert (result.exit_code, result.output.split()) == (0, ["fine", "ok", "all", "is", "well"])


def test_a_warning_keeps_nobody_from_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to do, with exit status 0."""
    result = _doctor(monkeypatch, FINE, ODD)
    assert result.exit_code == 0
    assert "odd: buy a new one\n" in result.output


def test_a_problem_has_exit_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command is printed in one line, however long it is."""
    result = _doctor(monkeypatch, FINE, BAD)
    assert result.exit_code == 1
    assert f"bad: {LONG}\n" in result.output


def test_a_check_that_fails_is_a_problem_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are still made."""
    result = _doctor(monkeypatch, ("broken", _broken), FINE, options=("--json",))
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert [each["status"] for each in document["checks"]] == ["problem", "ok"]
    assert "ImportError: no module named psutil" in document["checks"][0]["said"]


def test_a_program_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """--json prints one document."""
    result = _doctor(monkeypatch, FINE, ODD, options=("--json",))
    assert json.loads(result.stdout) == {
        "ok": True,
        "checks": [
            {"name": "fine", "status": "ok", "said": "all is well", "fix": ""},
            {"name": "odd", "status": "warning", "said": "something is odd", "fix": "buy a new one"},
        ],
    }


def test_every_part_of_the_machine_is_looked_at() -> None:
    """By a name of its own."""
    names = [name for name, _ in CHECKS]
    assert len(set(names)) == len(names) == 17


def test_this_machine_can_be_examined() -> None:
    """Each check comes to an end, and says something; whatever is not in order comes with a fix."""
    for name, found in examine(Course(ROOT)):
        assert found.said, name
        assert "could not be looked at" not in found.said
        assert bool(found.fix) is (found.status != "ok"), name
