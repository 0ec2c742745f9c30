"""The warm process: imports torch once, then forks a run whenever the grader sends a channel.

Started as `python -m autograder.keeper.warm FD FILTERS`. FD is a socket to the grader, which first sends the
names of the modules to import, and is told which excluded functions this version of torch would still run.
FILTERS are the filters of system calls in hexadecimal, or `plain` for runs that are not isolated.

A run is three processes: its *keeper*, which stays outside the run's process namespace and session, so that
no signal from inside reaches it, limits it, ends it and reports its end; process 1 inside them; and the
session, a child of process 1, since the kernel does not deliver alarms to process 1.
"""

import contextlib
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from autograder.keeper import forks
from autograder.keeper.huge_pages import collapse_memory
from autograder.keeper.resource_monitor import ResourceMonitor
from autograder.probe import isolate, session, wire
from autograder.probe.inherited import Inherited
from autograder.probe.notes import Kind
from autograder.probe.shell import make_shell
from autograder.probe.streams import silence
from coursework.exclusions import not_refused

FEW_RUNS = 3  # before memory is moved to huge pages, which costs what some five runs gain by it
MONITOR_SECONDS = 0.1  # between two looks at the resources of a run
LATE = {  # what packages import when they first need it, which else every run would do
    "torch": ("torch.utils._device", "torch.profiler._cupti_monitor"),
    "IPython": ("bdb",),
    "matplotlib": ("matplotlib.backends.backend_agg", "PIL.features"),
}


class Programs(NamedTuple):
    """Filters that a run loads into the kernel. Without isolation, none is loaded."""

    forbidding: bytes = b""  # system calls that no lesson needs
    asking: bytes = b""  # asks the keeper before a fork
    no_processes: bytes = b""  # forbids starting another process

    @property
    def isolated(self) -> bool:
        """Whether runs are isolated."""
        return bool(self.forbidding)


def main() -> None:
    """Warm up, report that, and serve until the grader closes the socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    plain = sys.argv[2] == isolate.PLAIN
    programs = Programs() if plain else Programs(*map(bytes.fromhex, sys.argv[2].split(":")))
    isolate.new_session_keyring()
    inherited, not_refused = warm_up(wire.receive(control)["modules"])
    wire.send(control, {"warm": "ready", "not_refused": not_refused})
    runs = 0
    with contextlib.suppress(EOFError):
        while True:
            started = _serve(control, inherited, programs) == "run"
            runs += started
            if started and runs == FEW_RUNS:
                collapse_memory()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def warm_up(modules: Iterable[str]) -> tuple[Inherited, list[str]]:
    """Import what lessons import, and make what the runs inherit.

    Torch uses a single thread, which makes forking safe. A module that is not installed is left to
    the lesson that imports it. The excluded functions that are not refused are returned as well.
    """
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    (torch.ones(2, 2, requires_grad=True) @ torch.ones(2, 2)).exp().sum().backward()  # type: ignore[no-untyped-call]
    trial = _start_trial()
    shell = make_shell()
    _import(modules)
    return Inherited(shell), _trial_result(trial)


def _start_trial() -> tuple[int, int]:
    """Try in a fork, which keeps the overrides to itself, whether every excluded function is refused."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.write(writing, json.dumps(not_refused()).encode())
        os._exit(0)
    os.close(writing)
    return child, reading


def _trial_result(trial: tuple[int, int]) -> list[str]:
    child, reading = trial
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    found: list[str] = json.loads(said) if said else ["nothing: the trial itself failed"]
    return found


def _import(modules: Iterable[str]) -> None:
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    for package in LATE.keys() & sys.modules.keys():
        for name in LATE[package]:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _serve(control: socket.socket, inherited: Inherited, programs: Programs) -> str:
    """Carry out one command, and return its word.

    `run` comes with a channel; `stop` and `used` with the number of a run. The answer to `used` is the
    processor time of its processes, and whether one computes now: the kernel says so, and no run can hide
    it. `import` is followed by the names of further modules.
    """
    message, descriptors, _, _ = socket.recv_fds(control, wire.COMMAND_SIZE, 1)
    if not message:
        raise EOFError
    word, number = message.decode().split()
    if word == "run":
        _start_run(control, inherited, descriptors[0], programs)
    elif word == "stop":
        _stop_run(int(number))
    elif word == "used":
        seconds, computes = _used(int(number))
        wire.send(control, {"seconds": seconds, "computes": computes})
    elif word == "import":
        _import(wire.receive(control)["modules"])
        inherited.remember()
        wire.send(control, {"warm": "ready"})
    return word


def _stop_run(keeper: int) -> None:
    """Have a keeper end its run, and collect its exit status, until which its number is its own."""
    _kill(keeper, signal.SIGTERM)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(keeper, 0)


def _used(keeper: int) -> tuple[float, bool]:
    monitor = ResourceMonitor()
    try:
        return monitor.usage(keeper)
    finally:
        monitor.close()


def _start_run(control: socket.socket, inherited: Inherited, descriptor: int, programs: Programs) -> None:
    """Fork the keeper of a run, and tell the grader its number."""
    keeper = os.fork()
    if keeper == 0:
        control.close()
        _keep_run(inherited, socket.socket(fileno=descriptor), programs)
    os.close(descriptor)
    wire.send(control, {"run": keeper})


def _keep_run(inherited: Inherited, channel: socket.socket, programs: Programs) -> NoReturn:
    """Be the keeper of one run: start it, wait for its end, and report that."""
    os.setsid()
    isolate.adopt_orphans()
    monitor = ResourceMonitor()
    ours, theirs = socket.socketpair()
    if programs.isolated:
        isolate.new_namespaces()
    inner = os.fork()
    if inner == 0:
        monitor.close()
        ours.close()
        _be_process_1(inherited, channel, theirs, programs)
    theirs.close()
    signal.signal(signal.SIGTERM, lambda *_: _end(monitor))
    within_limits = _wait(inner, monitor, forks.take_over(ours))
    _end(monitor)
    _, status = os.waitpid(inner, 0)  # of process 1: returns when its whole namespace is gone
    noted = [] if within_limits else [(Kind.TOO_MUCH, "")]
    ending = {"session": "ended", "code": os.waitstatus_to_exitcode(status), "noted": noted}
    channel.setblocking(False)  # nobody may be reading
    with contextlib.suppress(OSError):
        wire.send(channel, ending)
    os._exit(0)


def _wait(inner: int, monitor: ResourceMonitor, listener: int | None) -> bool:
    """Wait for the end of a run, and agree to its forks. Return False if it exceeded the limits."""
    ended = os.pidfd_open(inner)
    limit = forks.ForkLimit(listener, lambda: monitor.threads(inner)) if listener else None
    looked = time.monotonic()
    while True:
        ready = select.select([ended, *([listener] if listener else [])], [], [], MONITOR_SECONDS)[0]
        if ended in ready:
            return True
        if limit and ready and not limit.answer():
            return False
        if time.monotonic() - looked >= MONITOR_SECONDS:
            looked = time.monotonic()
            if monitor.exceeded(inner):
                return False


def _end(monitor: ResourceMonitor) -> None:
    """Kill everything below this keeper. With process 1, the kernel kills its whole namespace."""
    for process in monitor.family(os.getpid()):
        if process.pid != os.getpid():
            _kill(process.pid)


def _kill(process: int, number: signal.Signals = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _be_process_1(
    inherited: Inherited, channel: socket.socket, keeper: socket.socket, programs: Programs
) -> NoReturn:
    """Be process 1 of the run: isolate and limit it, run the session, and end with its status."""
    code = 1
    try:
        os.setsid()
        isolate.die_with_parent()
        isolate.close_descriptors(channel.fileno(), keeper.fileno())
        isolate.limit_resources()
        isolate.new_session_keyring()
        if programs.isolated:
            _isolate(programs, keeper)
        keeper.close()
        silence()
        code = _run_session(inherited, channel, programs.no_processes)
    finally:
        os._exit(code)


def _isolate(programs: Programs, keeper: socket.socket) -> None:
    isolate.limit_processes()
    isolate.private_folders()
    isolate.drop_capabilities()
    isolate.filter_system_calls(programs.forbidding)
    forks.hand_over(programs.asking, keeper)


def _run_session(inherited: Inherited, channel: socket.socket, no_processes: bytes) -> int:
    """Fork the session and return its exit status as a shell would: 128 + signal if one ended it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            session.serve(channel, inherited, no_processes)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    main()
