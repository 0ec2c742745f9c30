"""The warm process: imports torch once, then forks a run whenever the judge hands it a channel.

Started as `python -m autograder.probe.warm FD ISOLATE MODULE…`; FD is a socket to the judge.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys

from autograder.probe import isolate, session, wire
from autograder.probe.census import Census
from autograder.probe.watch import TOO_MUCH

# What the first backward() imports, and what takes a quarter of a second then.
LATE = ("torch.fx.experimental.symbolic_shapes",)
GLANCE = 0.05  # seconds between two looks at what a run holds


def main() -> None:
    """Warm up, say so, and serve until the judge hangs up."""
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


def warm_up(modules: list[str]) -> session.QuietShell:
    """Import what lessons import, and use one processor thread so that forks are safe."""
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.ones(2, 2) @ torch.ones(2, 2)
    for name in (*LATE, *modules):
        with contextlib.suppress(
            Exception
        ):  # a lesson that imports what is not there says so itself
            importlib.import_module(name)
    shell = session.make_shell()
    gc.freeze()
    return shell


def _serve(control: socket.socket, shell: session.QuietShell, *, isolated: bool) -> None:
    """Take one command: `run` with a channel beside it, or `stop` with the number of a run."""
    message, descriptors, _, _ = socket.recv_fds(control, wire.COMMAND_SIZE, 1)
    if not message:
        raise EOFError
    word, number = message.decode().split()
    if word == "run":
        _start_run(control, shell, descriptors[0], isolated=isolated)
    elif word == "stop":
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(number), signal.SIGTERM)
    _reap()


def _start_run(
    control: socket.socket, shell: session.QuietShell, descriptor: int, *, isolated: bool
) -> None:
    keeper = os.fork()
    if keeper == 0:
        control.close()
        _keep_run(shell, socket.socket(fileno=descriptor), isolated=isolated)
    os.close(descriptor)
    wire.send(control, {"run": keeper})


def _keep_run(shell: session.QuietShell, channel: socket.socket, *, isolated: bool) -> None:
    """Be the keeper of one run: start it, wait for its end, tell the judge how it ended."""
    os.setsid()
    census = Census()
    if isolated:
        isolate.new_namespaces()
    inner = os.fork()
    if inner == 0:
        census.close()
        _run(shell, channel, isolated=isolated)
    signal.signal(signal.SIGTERM, lambda *_: _kill(inner))
    modest = _wait(inner, census)
    _, status = os.waitpid(inner, 0)
    noted = [] if modest else [(TOO_MUCH, "")]
    ending = {"session": "ended", "code": os.waitstatus_to_exitcode(status), "noted": noted}
    with contextlib.suppress(OSError):
        wire.send(channel, ending)
    os._exit(0)


def _wait(inner: int, census: Census) -> bool:
    """Wait for the end of a run; end it when it takes more than it may, and then return False."""
    ended = os.pidfd_open(inner)
    while not select.select([ended], [], [], GLANCE)[0]:
        if census.exceeded(inner):
            _kill(inner)
            return False
    return True


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _run(shell: session.QuietShell, channel: socket.socket, *, isolated: bool) -> None:
    """Be process 1 of the run: shut off, limited, silent; start the session and outlive it.

    The session is a child of its own, since the kernel spares process 1 from alarms.
    """
    code = 1
    try:
        isolate.die_with_parent()
        isolate.limit_resources()
        if isolated:
            isolate.private_folders()
            isolate.drop_capabilities()
        session.silence()
        code = _serve_in_child(shell, channel)
    finally:
        os._exit(code)


def _serve_in_child(shell: session.QuietShell, channel: socket.socket) -> int:
    """Fork the session and return how it ended, as a shell would say it (128 + signal)."""
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
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
