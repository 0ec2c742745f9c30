"""The Python that runs submissions may lie anywhere, also where each run has a folder of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from autograder.sandbox import bubblewrap

pytestmark = [pytest.mark.sandbox, pytest.mark.full("copies an interpreter", seconds=10)]
BASE = Path(sys.base_prefix)
LIBRARY = Path(os.__file__).parent.relative_to(BASE)
EXECUTABLE = Path("bin") / f"python3.{sys.version_info.minor}"
PROGRAM = """
from autograder.sandbox.client import WarmProcess
with WarmProcess() as warm, warm.run() as run:
    raised = run.cell("import sys, wave, torch; raise ValueError(sys.executable)", 20)
    print(raised["type"], raised["message"])
"""


def _link(source: Path, target: Path) -> None:
    """Copy a folder with hard links."""
    try:
        shutil.copytree(source, target, copy_function=os.link, symlinks=True, ignore=shutil.ignore_patterns("test"))
    except (OSError, shutil.Error) as problem:
        pytest.skip(f"no hard links to {source} from here: {problem!s:.200}")


def _venv(folder: Path, base: Path) -> Path:
    """Make a virtual environment of a Python with our packages in it; return its interpreter."""
    make = [base / EXECUTABLE, "-m", "venv", "--without-pip", folder]
    subprocess.run(make, check=True, capture_output=True)
    packages = LIBRARY.name + "/site-packages"
    (folder / "lib" / packages).rmdir()
    _link(Path(sys.prefix) / "lib" / packages, folder / "lib" / packages)
    return folder / "bin" / "python"


def _told(python: Path) -> list[str]:
    """Return what a run says that its interpreter is."""
    program = [python, "-c", PROGRAM]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_virtual_environment_may_lie_in_tmp(tmp_path: Path) -> None:
    """The folder is hidden inside, and the environment is found all the same."""
    assert tmp_path.is_relative_to("/tmp")
    assert _told(_venv(tmp_path / "venv", BASE)) == ["ValueError", f"{bubblewrap.VENV}/bin/python"]


@pytest.mark.skipif(Path("/usr") == BASE, reason="the distribution's Python cannot be moved")
def test_the_interpreter_itself_may_lie_in_tmp(tmp_path: Path) -> None:
    """A run can still import what the process had not imported before it."""
    base = tmp_path / "python"
    (base / "bin").mkdir(parents=True)
    shutil.copy2(Path(sys.executable).resolve(), base / EXECUTABLE)
    _link(BASE / LIBRARY, base / LIBRARY)
    for library in (BASE / "lib").glob("libpython*.so*"):
        shutil.copy2(library, base / "lib" / library.name)
    found = subprocess.run(
        [base / EXECUTABLE, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(base)
    assert _told(_venv(tmp_path / "venv", base)) == ["ValueError", f"{bubblewrap.BASE}/{EXECUTABLE}"]
