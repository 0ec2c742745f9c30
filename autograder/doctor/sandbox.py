"""The sandbox, and the process in it that refuses what exercises exclude."""

from autograder.doctor.finding import Finding, ok, problem
from autograder.model.course import Course
from autograder.model.errors import AutograderError, SandboxMissingError
from autograder.sandbox.bubblewrap import find_bubblewrap
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.start import require_sandbox, sandbox_problem
from autograder.sandbox.system_calls import filter_programs

CELL_SECONDS = 10.0


def libseccomp(_course: Course) -> Finding:
    """Check whether the filter of system calls can be built."""
    try:
        filter_programs()
    except SandboxMissingError as missing:
        return _told(missing)
    return ok("the filter of system calls can be built")


def bubblewrap(_course: Course) -> Finding:
    """Check whether bubblewrap starts, and a run can be isolated in it."""
    try:
        require_sandbox()
    except SandboxMissingError as missing:
        return _told(missing)
    return ok(f"{find_bubblewrap()} starts, and a run in it can be isolated")


def excluded(_course: Course) -> Finding:
    """Start the process that runs submissions. It does not start if an excluded function still runs."""
    sandboxed = sandbox_problem() is None
    where = "in the sandbox" if sandboxed else "without a sandbox, for this check alone"
    try:
        with WarmProcess(sandboxed=sandboxed) as warm, warm.run() as run:
            raised = run.cell("import torch", CELL_SECONDS)
    except AutograderError as error:
        return problem(str(error.args[0]), "use the versions that requirements.txt pins: 'make setup'")
    if raised:
        return problem(f"a run cannot import torch: {raised['message']}", "run 'make setup' again")
    return ok(f"the process that runs submissions starts, {where}")


def _told(missing: SandboxMissingError) -> Finding:
    """Return the first two of an error's three lines."""
    said, fix, *_ = str(missing).splitlines()
    return problem(said, fix)
