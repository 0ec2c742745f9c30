"""The warm process: imports torch once, then forks a run whenever the grader sends a channel.

Started as `python -m autograder.probe.warm FD MODE MODULE…`, where FD is a socket to the grader and MODE
is `isolated` or `plain`. A run is three processes: its *keeper*, which stays outside the run's
namespaces, limits it and reports its end; process 1 inside them; and the session, a child of
process 1, since the kernel does not deliver alarms to process 1.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
from typing import NoReturn

from autograder.probe import isolate, session, wire
from autograder.probe.notes import Kind
from autograder.probe.resource_monitor import ResourceMonitor
from autograder.probe.shell import QuietShell, make_shell
from autograder.probe.streams import silence

# The first backward() imports it, which takes a quarter of a second.
IMPORTED_LATE = ("torch.fx.experimental.symbolic_shapes",)
MONITOR_SECONDS = 0.05  # between two looks at the resources of a run


def main() -> None:
    """Warm up, report that, and serve until the grader closes the socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    isolated = sys.argv[2] == "isolated"
    shell = warm_up(sys.argv[3:])
    wire.send(control, {"warm": "ready"})
    with contextlib.suppress(EOFError):
        while True:
            _serve(control, shell, isolated=isolated)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def warm_up(modules: list[str]) -> QuietShell:
    """Import what lessons import, and make a shell for the runs.

    Torch uses a single thread, which makes forking safe. A module that is not installed is left to
    the lesson that imports it.
    """
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.ones(2, 2) @ torch.ones(2, 2)
    for name in (*IMPORTED_LATE, *modules):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    shell = make_shell()
    gc.freeze()
    return shell


def _serve(control: socket.socket, shell: QuietShell, *, isolated: bool) -> None:
    """Carry out one command: `run` with a channel beside it, or `stop` with the number of a run."""
    message, descriptors, _, _ = socket.recv_fds(control, wire.COMMAND_SIZE, 1)
    if not message:
        raise EOFError
    word, number = message.decode().split()
    if word == "run":
        _start_run(control, shell, descriptors[0], isolated=isolated)
    elif word == "stop":
        _kill(int(number), signal.SIGTERM)
    _reap()


def _start_run(
    control: socket.socket, shell: QuietShell, descriptor: int, *, isolated: bool
) -> None:
    """Fork the keeper of a run, and tell the grader its number."""
    keeper = os.fork()
    if keeper == 0:
        control.close()
        _keep_run(shell, socket.socket(fileno=descriptor), isolated=isolated)
    os.close(descriptor)
    wire.send(control, {"run": keeper})


def _keep_run(shell: QuietShell, channel: socket.socket, *, isolated: bool) -> NoReturn:
    """Be the keeper of one run: start it, wait for its end, and report that."""
    os.setsid()
    monitor = ResourceMonitor()
    if isolated:
        isolate.new_namespaces()
    inner = os.fork()
    if inner == 0:
        monitor.close()
        _be_process_1(shell, channel, isolated=isolated)
    signal.signal(signal.SIGTERM, lambda *_: _kill(inner))
    within_limits = _wait(inner, monitor)
    _, status = os.waitpid(inner, 0)
    noted = [] if within_limits else [(Kind.TOO_MUCH, "")]
    ending = {"session": "ended", "code": os.waitstatus_to_exitcode(status), "noted": noted}
    with contextlib.suppress(OSError):
        wire.send(channel, ending)
    os._exit(0)


def _wait(inner: int, monitor: ResourceMonitor) -> bool:
    """Wait for the end of a run. Return False if it was killed for exceeding the limits."""
    ended = os.pidfd_open(inner)
    while not select.select([ended], [], [], MONITOR_SECONDS)[0]:
        if monitor.exceeded(inner):
            _kill(inner)
            return False
    return True


def _kill(process: int, number: signal.Signals = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _be_process_1(shell: QuietShell, channel: socket.socket, *, isolated: bool) -> NoReturn:
    """Be process 1 of the run: isolate and limit it, run the session, and end with its status."""
    code = 1
    try:
        isolate.die_with_parent()
        isolate.limit_resources()
        if isolated:
            isolate.private_folders()
            isolate.drop_capabilities()
        silence()
        code = _run_session(shell, channel)
    finally:
        os._exit(code)


def _run_session(shell: QuietShell, channel: socket.socket) -> int:
    """Fork the session and return its exit status as a shell would: 128 + signal if one ended it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            session.serve(channel, shell)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _reap() -> None:
    """Collect the exit statuses of keepers that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
