"""The command line of bubblewrap: which parts of the machine a submission can see.

See bwrap(1). Its own /proc/1/environ keeps the caller's environment despite --clearenv, so it is
started with an empty environment, and sets `ENVIRONMENT` inside.
"""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from autograder.sandbox.explain import BUBBLEWRAP, not_installed

HOME = Path("/sandbox")
VENV = HOME / "venv"
BASE = HOME / "python"  # for a Python that lies in one of `HIDDEN`
PACKAGES = Path(__file__).resolve().parent.parent
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts")
HIDDEN = ("/tmp", "/dev", "/proc")  # noqa: S108 - what a run has folders of its own for
LIBRARIES = ("lib", "lib64", "local/lib")  # of a Python, relative to its prefix

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "LANG": "C.UTF-8",
    "PYTHONPATH": str(HOME),
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONBREAKPOINT": "0",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": "/tmp/matplotlib",  # noqa: S108 - the sandbox's own
    "IPYTHONDIR": "/tmp/ipython",  # noqa: S108 - the sandbox's own
    "OMP_NUM_THREADS": "1",
    "TQDM_DISABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "COURSEWORK_STAND_INS": "1",
    # What would be compiled runs as plain Python, where its calls can be seen.
    "PYTORCH_JIT": "0",
    "TORCHDYNAMO_DISABLE": "1",
}


def find_bubblewrap() -> str:
    """Return the path of bwrap. Raises SandboxMissingError, which says how to install it."""
    found = shutil.which("bwrap")
    if found is None:
        raise not_installed(f"{BUBBLEWRAP} (bwrap)")
    return found


def command(program: list[str]) -> list[str]:
    """Return the bwrap command that runs `program` isolated from the rest of the machine."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    options += ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL"]
    options += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--chdir", "/tmp"]  # noqa: S108 - inside
    for path in SYSTEM:
        options += ["--ro-bind-try", path, path]
    for outside, inside in [*_python_folders(), *_own_code()]:
        options += ["--ro-bind", str(outside), str(inside)]
    for folder in _copies_inside():
        options += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    for name, value in (ENVIRONMENT | _moved()).items():
        options += ["--setenv", name, value]
    read_only = ["--remount-ro", "/dev", "--remount-ro", "/"]
    return [find_bubblewrap(), *options, *read_only, "--", *program]


def python() -> str:
    """Return the path of this interpreter inside the sandbox."""
    executable = Path(os.path.abspath(sys.executable))  # noqa: PTH100 - links stay as they are
    if _is_hidden():
        return str(BASE / executable.resolve().relative_to(Path(sys.base_prefix).resolve()))
    if sys.prefix == sys.base_prefix:
        return str(executable)
    return str(VENV / executable.relative_to(sys.prefix))


def _own_code() -> list[tuple[Path, Path]]:
    """Return what of this project is visible, and where: coursework, probe and lessons' fixtures."""
    visible = [PACKAGES / "probe", *sorted(PACKAGES.glob("lessons/*/fixtures.py"))]
    inside = HOME / PACKAGES.name
    return [
        (PACKAGES.parent / "coursework", HOME / "coursework"),
        *((path, inside / path.relative_to(PACKAGES)) for path in visible),
    ]


def _copies_inside() -> list[Path]:
    """Return where the checks would be visible inside, installed into one of the folders of Python.

    Each is covered by an empty folder. Of our code, only what `_own_code` names is to be seen.
    """
    mounted = [*_python_folders(), *((Path(path), Path(path)) for path in SYSTEM)]
    return [inside / copy.relative_to(outside) for outside, inside in mounted for copy in _copies(outside)]


def _copies(folder: Path) -> list[Path]:
    """Return the copies of this package in a folder of Python: this one, and any that is installed."""
    patterns = (f"{libraries}/python3*/*-packages/{PACKAGES.name}" for libraries in LIBRARIES)
    found = {path for pattern in patterns for path in folder.glob(pattern) if path.is_dir()}
    return sorted(found | ({PACKAGES} if PACKAGES.is_relative_to(folder) else set()))


def _python_folders() -> list[tuple[Path, Path]]:
    """Return the folders of Python, and where they are visible: the interpreter's, and the venv's.

    A virtual environment is found by the place of its interpreter, so it may be mounted elsewhere.
    Its own place may be below a folder that does not exist inside, such as the course's. The interpreter
    is visible in its own place, where its libraries are looked for, and where runs see it.
    """
    base = Path(sys.base_prefix)
    folders = [] if base.is_relative_to("/usr") else [(base, BASE if _is_hidden() else base)]
    if sys.prefix != sys.base_prefix:
        folders.append((Path(sys.prefix), VENV))
    return folders


def _is_hidden() -> bool:
    """Return whether this Python lies where a run sees a folder of its own instead."""
    return any(Path(sys.base_prefix).is_relative_to(folder) for folder in HIDDEN)


def _moved() -> dict[str, str]:
    """Return the variables by which a Python that is visible at `BASE` finds its library and its venv.

    It finds its own modules by itself. In its own place, it finds everything.
    """
    if not _is_hidden():
        return {}
    found = {"LD_LIBRARY_PATH": str(BASE / "lib")}
    if sys.prefix != sys.base_prefix:
        packages = Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
        found["PYTHONPATH"] = f"{HOME}:{VENV / packages}"
    return found
