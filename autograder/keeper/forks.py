"""Has the kernel ask before a run starts a process or a thread (seccomp_unotify(2)).

RLIMIT_NPROC does not bind the machine's administrator, and a monitor that looks now and then is too
late: a fork bomb takes the processor from it. So each fork of a run waits until its keeper has agreed.
"""

import ctypes
import fcntl
import os
import platform
import socket
import struct
import time
from collections.abc import Callable

from autograder.probe.isolate import MAX_PROCESSES, program_of

SECCOMP = {"x86_64": 317, "aarch64": 277}  # the number of seccomp(2), by machine
SET_MODE_FILTER, NEW_LISTENER = 1, 1 << 3
RECEIVE, SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV and _SEND
REQUEST_SIZE = 80  # bytes of struct seccomp_notif, which begins with an id of 8
CONTINUE = 1
RECENT_SECONDS = 0.02  # a process that was agreed to so long ago may not be counted yet

_libc = ctypes.CDLL(None, use_errno=True)


def hand_over(program: bytes, to: socket.socket) -> None:
    """Have forks of this process wait for an answer, and give the right to answer away.

    Where the kernel cannot do this, the other end gets nothing, and forks do not wait.
    """
    number = SECCOMP.get(platform.machine(), -1)
    loaded = program_of(program)
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
    """Answers a run's forks: as many processes and threads as there may be, and no more."""

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
            if self._count() + len(self._agreed) >= MAX_PROCESSES:
                return False
            self._agreed.append(now)
            reply = struct.pack("=QqiI", struct.unpack_from("=Q", request)[0], 0, 0, CONTINUE)
            fcntl.ioctl(self._listener, SEND, reply)
        except OSError:  # whoever asked was killed meanwhile
            pass
        return True
