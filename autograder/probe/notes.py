"""What a submission did besides computing, noted as evidence for a person.

A note takes no points off, and neither the sandbox nor a score relies on one. Most come from the events that
the interpreter itself reports (PEP 578).
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final

from autograder.probe.isolate import WRITABLE_FOLDERS

MAX_PER_KIND = 20
MAX_DETAIL = 200

Note = tuple[str, str]  # a kind and a detail


class Kind(StrEnum):
    """What a note is about. Those up to TOO_MUCH are noted while a submission runs, the others by the grader.

    What REFLECTION is about is shown to instructors only.
    """

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
    ENDED = "ended-process"
    NOISE = "noise"
    CHANGING = "changing-answer"
    LOCKED_CELL = "locked-cell"
    REFLECTION = "reflection"


class Notes:
    """The notes of one process: the first few of each kind, without repetitions."""

    def __init__(self) -> None:
        self._new: list[Note] = []
        self._count: dict[str, int] = {}

    def add(self, kind: Kind, detail: str) -> None:
        """Add a note, unless there are enough of its kind already."""
        self._count[kind] = self._count.get(kind, 0) + 1
        if self._count[kind] <= MAX_PER_KIND and (kind, detail) not in self._new:
            self._new.append((kind, detail[:MAX_DETAIL]))

    def take(self) -> list[Note]:
        """Return the notes added since the last call."""
        taken, self._new = self._new, []
        return taken


HARMLESS: Final = ("fc-list", "uname")  # matplotlib looks for fonts, platform for the processor
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS: Final = {
    event: kind
    for kind, events in {
        Kind.NETWORK: "socket.connect socket.getaddrinfo socket.gethostbyname socket.sendto urllib.Request",
        Kind.WROTE: "open os.remove os.rename os.mkdir os.rmdir os.chmod os.truncate os.symlink os.link",
        Kind.PROCESS: "subprocess.Popen os.system os.fork os.forkpty os.posix_spawn os.exec "
        "cpython.PyInterpreterState_New",
        Kind.SIGNAL: "os.kill os.killpg",
        Kind.HOOK: "sys.settrace sys.setprofile sys.addaudithook",
        Kind.MEMORY: "gc.get_objects gc.get_referrers gc.get_referents",
    }.items()
    for event in events.split()
}


class AuditHook:
    """Adds a note for each event of a process that a person may want to know about."""

    def __init__(self, notes: Notes) -> None:
        self._notes, self._paused = notes, True

    def start(self) -> None:
        """Install the hook, for as long as the process lives."""
        known = EVENTS

        def listen(event: str, args: tuple[Any, ...]) -> None:
            if event in known and not self._paused:
                self._on_event(event, args)

        sys.addaudithook(listen)
        self._paused = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Ignore events while the probe does work of its own."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def _on_event(self, event: str, args: tuple[Any, ...]) -> None:
        """Note an event. An exception here would be raised in the student's code, so none leaves."""
        with self.paused():  # looking may cause another event
            try:
                if not _is_harmless(event, args):
                    self._notes.add(EVENTS[event], _describe(event, args))
            except Exception:
                self._notes.add(EVENTS[event], event)


def _is_harmless(event: str, args: tuple[Any, ...]) -> bool:
    """Return whether an event is part of ordinary work with torch or matplotlib."""
    if event == "open" and not int(args[2] or 0) & WRITING:
        return True
    if EVENTS[event] is Kind.WROTE:
        return not isinstance(args[0], (str, bytes, os.PathLike)) or _is_writable(args[0])
    if event == "subprocess.Popen":
        return args[0] in HARMLESS
    if event == "socket.connect":
        return isinstance(args[1], (str, bytes))  # a Unix socket, of which the sandbox has none
    return False


def _is_writable(path: Any) -> bool:
    full = os.path.realpath(os.fsdecode(path))
    folders = (*WRITABLE_FOLDERS, "/dev")
    return any(full == folder or full.startswith(f"{folder}/") for folder in folders)


def _describe(event: str, args: tuple[Any, ...]) -> str:
    if event == "open":
        return str(args[0])
    plain = [str(arg) for arg in args if isinstance(arg, (str, bytes, int, list, tuple))]
    return f"{event} {' '.join(plain)[:120]}".strip()
