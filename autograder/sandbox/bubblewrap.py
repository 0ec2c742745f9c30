"""The command line of bubblewrap: what of the machine a submission can see, which is little.

See bwrap(1). Its own /proc/1/environ keeps the caller's environment despite --clearenv, so it is
started with an empty one (`ENVIRONMENT` is set inside).
"""

import shutil
import site
import sys
from pathlib import Path

from autograder.errors import SandboxMissingError

HOME = Path("/sandbox")
PACKAGES = Path(__file__).resolve().parent.parent
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts")
INSTALL = "sudo apt-get install bubblewrap"

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
}


def find_bubblewrap() -> str:
    """Return the path of bwrap; SandboxMissingError with the line that installs it otherwise."""
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxMissingError(
            f"no sandbox: bubblewrap (bwrap) is not installed; install it with '{INSTALL}', "
            "or say --unsandboxed to run submissions with your own rights"
        )
    return found


def command(program: list[str]) -> list[str]:
    """Return the bwrap command that runs `program` shut off from the rest of the machine."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    options += ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox", "--cap-drop", "ALL"]
    for path in SYSTEM:
        options += ["--ro-bind-try", path, path]
    for path in _python_folders():
        options += ["--ro-bind", str(path), str(path)]
    options += ["--ro-bind", str(PACKAGES / "probe"), str(HOME / "autograder/probe")]
    options += ["--ro-bind", str(PACKAGES.parent / "coursework"), str(HOME / "coursework")]
    options += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--chdir", "/tmp"]  # noqa: S108 - inside
    for name, value in ENVIRONMENT.items():
        options += ["--setenv", name, value]
    return [find_bubblewrap(), *options, "--remount-ro", "/", "--", *program]


def _python_folders() -> list[Path]:
    """Return the interpreter's folders and its site-packages, outermost first, none twice."""
    folders = [Path(sys.base_prefix), Path(sys.prefix), *map(Path, site.getsitepackages())]
    wanted: list[Path] = []
    for folder in folders:
        inside = any(folder.is_relative_to(kept) for kept in (*wanted, Path("/usr")))
        if folder.is_dir() and not inside:
            wanted.append(folder)
    return wanted
