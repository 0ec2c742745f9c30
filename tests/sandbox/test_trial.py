"""Whether the sandbox starts is tried, and everything that grades refuses in three lines where it does not."""

import shutil
import sys
from pathlib import Path

import pytest
from broken_sandbox import SAID, broken_bwrap
from click.testing import CliRunner
from conftest import ROOT

from autograder.cli import main
from autograder.model.errors import MachineError, SandboxMissingError
from autograder.sandbox import bubblewrap, system_calls
from autograder.sandbox import start as start_module
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.explain import INSTALL
from autograder.sandbox.start import require_sandbox, sandbox_problem, start

__all__ = ["broken_bwrap"]
LESSON = "03_attention"
needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@needs_bubblewrap
def test_a_sandbox_that_works_is_not_refused() -> None:
    """The trial passes where runs are isolated."""
    require_sandbox()
    assert sandbox_problem() is None


@needs_bubblewrap
def test_a_sandbox_that_allows_no_namespaces_inside_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under Ubuntu's own profile: bubblewrap starts, and a run's own namespaces are forbidden."""
    plain = bubblewrap.command

    def without(program: list[str]) -> list[str]:
        made = plain(program)
        return [made[0], "--unshare-user", "--disable-userns", *made[1:]]

    monkeypatch.setattr(bubblewrap, "command", without)
    monkeypatch.setattr("autograder.sandbox.start.filter_programs", lambda: "00:00")  # not tried before
    with pytest.raises(SandboxMissingError, match="unshare"):
        require_sandbox()


def test_it_is_tried_again_after_a_failure(broken_bwrap: Path) -> None:
    """The machine may have been set up in the meantime; a success before says nothing about this bwrap."""
    for _ in range(2):
        with pytest.raises(SandboxMissingError, match=SAID):
            start(sandboxed=True)
    broken_bwrap.write_text("#!/bin/sh\nexit 0\n")
    require_sandbox()


@pytest.mark.parametrize(
    "arguments",
    [
        ("grade", LESSON),
        ("check", "FILE"),
        ("check", "FILE", "--json"),
        ("regrade", LESSON),
        ("watch", "FOLDER", "--once"),
    ],
)
@pytest.mark.usefixtures("broken_bwrap")
def test_commands_refuse_in_three_lines(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """With exit status 2, and before they do anything."""
    for name in ("nbgrader_config.py", "source", "release"):
        (tmp_path / name).symlink_to(ROOT / name)
    notebook = tmp_path / "submitted" / "ada" / LESSON / f"{LESSON}.ipynb"
    notebook.parent.mkdir(parents=True)
    shutil.copy(ROOT / "release" / LESSON / f"{LESSON}.ipynb", notebook)
    places = {"FILE": str(notebook), "FOLDER": str(tmp_path / "submitted")}
    words = [places.get(word, word) for word in arguments]
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(main, ["--course", str(tmp_path), *words])
    assert result.exit_code == 2
    first, second, third = result.stderr.splitlines()
    assert first.startswith("autograder: no sandbox: ")
    assert SAID in first
    assert second
    assert "--unsandboxed" in third
    assert "autograder doctor" in third
    assert result.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_bubblewrap_is_told_in_the_same_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three lines, with the command that installs it."""
    monkeypatch.setenv("PATH", "")
    problem = sandbox_problem()
    assert problem is not None
    first, second, third = str(problem).splitlines()
    assert "bubblewrap (bwrap) is not installed" in first
    assert INSTALL in second
    assert "--unsandboxed" in third


@needs_bubblewrap
def test_a_missing_libseccomp_is_told_in_the_same_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three lines too; what was built before the library went is forgotten."""
    system_calls.filter_programs.cache_clear()
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    try:
        with pytest.raises(SandboxMissingError) as caught:
            require_sandbox()
    finally:
        system_calls.filter_programs.cache_clear()
    first, second, _ = str(caught.value).splitlines()
    assert "libseccomp is not installed" in first
    assert INSTALL in second


def test_a_process_that_ends_at_once_names_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox is fine, but what should warm up in it fails: the last line that it printed is told."""
    monkeypatch.setattr(start_module, "PLAIN", "no filter")
    with pytest.raises(MachineError, match=r"did not start: ValueError.*'autograder doctor' checks this machine"):
        WarmProcess(sandboxed=False)
