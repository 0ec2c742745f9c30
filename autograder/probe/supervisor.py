"""The supervisor of a run: starts it, limits it, ends it, and reports its end.

A run is a supervisor, which stays outside the run's process namespace and session, so that no signal from
inside reaches it, and process 1 inside them, which forks the rest (see `session`). No signal from inside
reaches process 1 either, and neither runs anything of a student's.

Before a run starts a process or a thread, the kernel asks its supervisor (seccomp_unotify(2)). RLIMIT_NPROC
does not bind the machine's administrator, and a monitor that looks now and then is too late: a fork bomb
takes the processor from it.
"""

import contextlib
import ctypes
import fcntl
import os
import platform
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from autograder.probe import isolate, wire
from autograder.probe.notes import Kind
from autograder.probe.resource_monitor import ResourceMonitor
from autograder.probe.session import Inherited, serve
from autograder.probe.shell import silence

MONITOR_SECONDS = 0.1  # between two looks at the resources of a run
SECCOMP = {"x86_64": 317, "aarch64": 277}  # the number of seccomp(2), by machine
SET_MODE_FILTER, NEW_LISTENER = 1, 1 << 3
RECEIVE, SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV and _SEND
REQUEST_SIZE = 80  # bytes of struct seccomp_notif, which begins with an id of 8
CONTINUE = 1
RECENT_SECONDS = 0.02  # a process that was agreed to so long ago may not be counted yet

_libc = ctypes.CDLL(None, use_errno=True)


class Programs(NamedTuple):
    """Filters that a run loads into the kernel. Without isolation, none is loaded."""

    forbidding: bytes = b""  # system calls that no lesson needs
    asking: bytes = b""  # asks the supervisor before a fork
    no_processes: bytes = b""  # forbids starting another process

    @property
    def isolated(self) -> bool:
        """Whether runs are isolated."""
        return bool(self.forbidding)


def supervise(inherited: Inherited, channel: socket.socket, programs: Programs) -> NoReturn:
    """Be the supervisor of one run: start it, wait for its end, and report that."""
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
    within_limits = _wait(inner, monitor, take_over(ours))
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
    limit = ForkLimit(listener, lambda: monitor.threads(inner)) if listener else None
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
    """Kill everything below this supervisor. With process 1, the kernel kills its whole namespace."""
    for process in monitor.family(os.getpid()):
        if process.pid != os.getpid():
            kill(process.pid)


def kill(process: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a process, if there still is one."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _be_process_1(
    inherited: Inherited, channel: socket.socket, supervisor: socket.socket, programs: Programs
) -> NoReturn:
    """Be process 1 of the run: isolate and limit it, and answer the grader until it closes the channel."""
    code = 1
    try:
        os.setsid()
        isolate.die_with_parent()
        isolate.close_descriptors(channel.fileno(), supervisor.fileno())
        isolate.limit_resources()
        isolate.new_session_keyring()
        if programs.isolated:
            isolate.limit_processes()
            isolate.private_folders()
            isolate.drop_capabilities()
            isolate.filter_system_calls(programs.forbidding)
            hand_over(programs.asking, supervisor)
        supervisor.close()
        silence()
        serve(channel, inherited, programs.no_processes)
        code = 0
    finally:
        os._exit(code)


def hand_over(program: bytes, to: socket.socket) -> None:
    """Have forks of this process wait for an answer, and give the right to answer away.

    Where the kernel cannot do this, the other end gets nothing, and forks do not wait.
    """
    number = SECCOMP.get(platform.machine(), -1)
    loaded = isolate.program_of(program)
    listener = _libc.syscall(number, SET_MODE_FILTER, NEW_LISTENER, ctypes.byref(loaded))
    with to:
        if listener >= 0:
            socket.send_fds(to, [b"1"], [listener])
            os.close(listener)


def take_over(source: socket.socket) -> int | None:
    """Return the descriptor on which a run's forks ask; None where they do not."""
    with source:
        _, descriptors, _, _ = socket.recv_fds(source, 1, 1)
    return descriptors[0] if descriptors else None


class ForkLimit:
    """Answers a run's forks: as many processes and threads as there may be, and no more.

    A fork that was agreed to counts until the process should be there. On a busy machine that may take
    longer, and then some more are agreed to before the run is ended. A longer time would end honest runs,
    whose threads all start at once.
    """

    def __init__(self, listener: int, count: Callable[[], int]) -> None:
        self._listener, self._count = listener, count
        self._agreed: list[float] = []  # when, on the monotonic clock

    def answer(self) -> bool:
        """Let the fork that waits go on. Return False, and leave it waiting, if it is one too many."""
        request = bytearray(REQUEST_SIZE)
        try:
            fcntl.ioctl(self._listener, RECEIVE, request)
            now = time.monotonic()
            self._agreed = [then for then in self._agreed if now - then < RECENT_SECONDS]
            if self._count() + len(self._agreed) >= isolate.MAX_PROCESSES:
                return False
            self._agreed.append(now)
            reply = struct.pack("=QqiI", struct.unpack_from("=Q", request)[0], 0, 0, CONTINUE)
            fcntl.ioctl(self._listener, SEND, reply)
        except OSError:  # whoever asked was killed meanwhile
            pass
        return True
