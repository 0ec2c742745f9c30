"""Notes what a submission does besides computing: evidence for a person, never a penalty.

The interpreter itself reports sockets, files, processes and the like (PEP 578), to a hook that
cannot be taken away again. What of torch, of the language and of the probe was replaced is found by
comparing with how it was, and put back before anything is judged. Code that is out to deceive can
get round both; the sandbox does not rest on them, and values are judged elsewhere.
"""

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

MOST = 20  # notes of one kind: the first few say as much as all of them
HARMLESS = ("fc-list", "uname")  # matplotlib looks for fonts, platform for the processor
FLOOD = 8 * 2**20  # bytes printed
OURS: Final = ("/tmp", "/dev")  # noqa: S108 - the sandbox's own
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

Note = tuple[str, str]

NETWORK = "network"
WROTE = "wrote-outside"
PROCESS = "started-process"
SIGNAL = "signalled"
HOOK = "hooked-interpreter"
MEMORY = "searched-memory"
PATCHED = "patched"
FLOODED = "flooded-output"
LEFT = "left-process"
TOO_MUCH = "too-much"

EVENTS: Final = {
    "socket.connect": NETWORK,
    "socket.getaddrinfo": NETWORK,
    "socket.gethostbyname": NETWORK,
    "socket.sendto": NETWORK,
    "urllib.Request": NETWORK,
    "os.remove": WROTE,
    "os.rename": WROTE,
    "os.mkdir": WROTE,
    "os.rmdir": WROTE,
    "os.chmod": WROTE,
    "os.truncate": WROTE,
    "os.symlink": WROTE,
    "os.link": WROTE,
    "subprocess.Popen": PROCESS,
    "os.system": PROCESS,
    "os.fork": PROCESS,
    "os.forkpty": PROCESS,
    "os.posix_spawn": PROCESS,
    "os.exec": PROCESS,
    "os.kill": SIGNAL,
    "os.killpg": SIGNAL,
    "sys.settrace": HOOK,
    "sys.setprofile": HOOK,
    "sys.addaudithook": HOOK,
    "gc.get_objects": MEMORY,
    "gc.get_referrers": MEMORY,
    "object.__setattr__": PATCHED,
}


class Watch:
    """What was noted in this process since it was last asked."""

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._told: dict[str, int] = {}
        self._busy = True
        self._printed = 0

    def start(self) -> None:
        """Begin to listen. There is no end to it: an audit hook stays."""
        sys.addaudithook(self._heard)
        self._busy = False

    def note(self, kind: str, detail: str) -> None:
        """Add a note; of many of one kind, the first few are kept."""
        self._told[kind] = self._told.get(kind, 0) + 1
        if self._told[kind] <= MOST and (kind, detail) not in self._notes:
            self._notes.append((kind, detail[:200]))

    def take(self) -> list[Note]:
        """Return the notes, and begin anew."""
        taken, self._notes = self._notes, []
        return taken

    def printed(self, size: int) -> None:
        """Count what is printed: a flood is noted once."""
        before, self._printed = self._printed, self._printed + size
        if before <= FLOOD < self._printed:
            self.note(FLOODED, f"more than {FLOOD // 2**20} MB")

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Listen to nothing while the probe itself forks or sends."""
        before, self._busy = self._busy, True
        try:
            yield
        finally:
            self._busy = before

    def _heard(self, event: str, args: tuple[Any, ...]) -> None:
        """Be told of one event by the interpreter; whatever was raised here would be theirs."""
        if self._busy or not (event == "open" or event in EVENTS):
            return
        self._busy = True
        try:
            self._consider(event, args)
        except Exception:
            self.note(EVENTS.get(event, WROTE), event)
        finally:
            self._busy = False

    def _consider(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            if _path(args[0]) and int(args[2] or 0) & WRITING and _outside(args[0]):
                self.note(WROTE, str(args[0]))
            return
        kind = EVENTS[event]
        if event == "object.__setattr__" and args[1] != "__code__":
            return
        if event == "subprocess.Popen" and args[0] in HARMLESS:
            return
        if kind == WROTE and not (_path(args[0]) and _outside(args[0])):
            return
        if event == "socket.connect" and isinstance(args[1], (str, bytes)):
            return  # a socket of this machine's, which the sandbox has none of
        self.note(kind, f"{event} {_short(args)}".strip())


def _path(value: Any) -> bool:
    return isinstance(value, (str, bytes, os.PathLike))


def _outside(path: Any) -> bool:
    full = os.path.realpath(os.fsdecode(path))
    return not any(full == folder or full.startswith(f"{folder}/") for folder in OURS)


def _short(args: tuple[Any, ...]) -> str:
    plain = [str(arg) for arg in args if isinstance(arg, (str, bytes, int, list, tuple))]
    return " ".join(plain)[:120]


class _Counted(io.RawIOBase):
    """A stream that keeps nothing, and counts."""

    def __init__(self, count: Callable[[int], None]) -> None:
        self._count = count

    def writable(self) -> bool:
        """Return True: that is what it is for."""
        return True

    def write(self, data: Any) -> int:
        """Count the bytes."""
        self._count(len(data))
        return len(data)

    def fileno(self) -> int:
        """Return the descriptor that the process's own output goes to, which is nowhere."""
        return 1


def nowhere(count: Callable[[int], None]) -> io.TextIOWrapper:
    """Return a text stream that keeps nothing, and counts its bytes."""
    buffered = io.BufferedWriter(_Counted(count))
    return io.TextIOWrapper(buffered, encoding="utf-8", errors="replace", line_buffering=True)
