"""The sandbox is looked at by starting it."""

import shutil
from pathlib import Path

import pytest
from broken_sandbox import SAID, broken_bwrap

from autograder.doctor import sandbox
from autograder.model.course import Course
from autograder.model.errors import MachineError

__all__ = ["broken_bwrap"]
HERE = Course(Path.cwd())


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_a_sandbox_that_starts_is_fine() -> None:
    """And so is the process in it."""
    assert sandbox.libseccomp(HERE).status == "ok"
    assert sandbox.bubblewrap(HERE).status == "ok"
    found = sandbox.excluded(HERE)
    assert (found.status, "in the sandbox" in found.said) == ("ok", True)


@pytest.mark.usefixtures("broken_bwrap")
def test_a_sandbox_that_does_not_start_is_a_problem() -> None:
    """It says what the three lines say; excluded functions are looked at all the same."""
    found = sandbox.bubblewrap(HERE)
    assert found.status == "problem"
    assert SAID in found.said
    assert found.fix
    assert "without a sandbox" in sandbox.excluded(HERE).said


def test_an_excluded_function_that_gets_through_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process refuses to start, and says which; the doctor does not recommend itself."""

    def refuse(**_: object) -> None:
        raise MachineError("torch.softmax is not refused")

    monkeypatch.setattr(sandbox, "WarmProcess", refuse)
    found = sandbox.excluded(HERE)
    assert found.status == "problem"
    assert found.said == "torch.softmax is not refused"
