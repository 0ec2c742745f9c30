"""Checks whether the sandbox starts on this machine: the namespaces and filters of a run, without torch.

bubblewrap may be installed and still fail to start. Ubuntu, hardened kernels and most containers forbid
the namespaces that it makes, or those that each run makes inside it (see `autograder.sandbox.explain`).
"""

import subprocess
from functools import lru_cache

from autograder.model.errors import SandboxMissingError
from autograder.sandbox import bubblewrap
from autograder.sandbox.explain import cannot_start
from autograder.sandbox.system_calls import filter_programs

TRIAL_SECONDS = 30.0
PROGRAM = """
import os, sys
from autograder.probe import isolate
isolate.new_namespaces()
run = os.fork()
if run == 0:
    isolate.private_folders()
    isolate.drop_capabilities()
    isolate.filter_system_calls(bytes.fromhex(sys.argv[1].split(":")[0]))
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(run, 0)[1]))
"""


def require_sandbox() -> None:
    """Return if the sandbox starts; takes 0.1 s at the first call.

    Raises SandboxMissingError, which says in three lines what is wrong and how to fix it.
    """
    _try(bubblewrap.find_bubblewrap(), filter_programs())


def sandbox_problem() -> SandboxMissingError | None:
    """Return why there is no sandbox, None if there is one."""
    try:
        require_sandbox()
    except SandboxMissingError as problem:
        return problem
    return None


@lru_cache(maxsize=4)
def _try(_bwrap: str, rules: str) -> None:
    """Run the trial with the bubblewrap that was found. Successes are cached, failures are not."""
    program = [bubblewrap.python(), "-S", "-c", PROGRAM, rules]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, in the sandbox
            bubblewrap.command(program),
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise cannot_start(f"it did nothing for {TRIAL_SECONDS:g} s") from None
    except OSError as problem:  # such as a bwrap for another kind of processor
        raise cannot_start(str(problem)) from problem
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise cannot_start(said[0] if said else f"exit status {done.returncode}")
