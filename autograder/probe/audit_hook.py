"""Notes what the Python interpreter reports about a submission: sockets, files, processes and the like.

The events come from the interpreter itself (PEP 578), and Python code cannot remove the hook. Code that
sets out to deceive it can, with ctypes for example. The sandbox does not rely on it.
"""

import contextlib
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

from autograder.probe import detours, self_reports
from autograder.probe.caller import is_believed, is_installed, is_of_a_cell
from autograder.probe.genuine_code import (
    MAKES_CODE,
    READS_CODE,
    is_forged,
    is_import,
    is_writable,
)
from autograder.probe.library_calls import done_elsewhere
from autograder.probe.notes import Kind, Notes
from coursework import stand_ins

HARMLESS: Final = ("fc-list", "uname")  # matplotlib looks for fonts, platform for the processor
PLAIN_TOOLS: Final = (
    *("cat", "date", "df", "echo", "false", "free", "hostname", "ls", "lscpu", "nvidia-smi", "pwd"),
    *("true", "uname", "which"),
)  # no answer can be worked out in them
TOOL_FOLDERS: Final = ("/bin/", "/usr/bin/")
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

EVENTS: Final = {
    event: kind
    for kind, events in {
        Kind.NETWORK: "socket.connect socket.getaddrinfo socket.gethostbyname socket.sendto "
        "urllib.Request",
        Kind.WROTE: "open os.remove os.rename os.mkdir os.rmdir os.chmod os.truncate os.symlink "
        "os.link",
        Kind.PROCESS: "subprocess.Popen os.system os.fork os.forkpty os.posix_spawn os.exec "
        "cpython.PyInterpreterState_New",
        Kind.SIGNAL: "os.kill os.killpg",
        Kind.HOOK: "sys.settrace sys.setprofile sys.addaudithook",
        Kind.MEMORY: "gc.get_objects gc.get_referrers gc.get_referents",
        Kind.PATCHED: "object.__setattr__",
    }.items()
    for event in events.split()
}


READS: Final = "object.__getattr__"
UNSEEN: Final = (Kind.PROCESS, Kind.HOOK)  # what these run, or replace, cannot be looked at
# The events of code that is about to run, and which of their arguments the code is.
RUNS_CODE: Final = {"exec": 0, "function.__new__": 0, "object.__setattr__": 2}
IMPORTS: Final = "import"
# Modules with whole layers of attention, which no part of a lesson is to be made from.
LAYERS: Final = re.compile(r"transformers\.models\.(?!auto\.).*\.modeling_")
STARTS_THREAD: Final = "_thread.start_new_thread"
LOOKED_AT: Final = (*MAKES_CODE, *READS_CODE, STARTS_THREAD)
WANTED: Final = frozenset((*EVENTS, *LOOKED_AT, *RUNS_CODE, IMPORTS))
MODULES_AND_CLASSES: Final = (ModuleType, type)
COURSEWORK: Final = stand_ins.__file__.rpartition("/")[0] + "/"


class AuditHook:
    """Adds a note for each event of a process that a person may want to know about."""

    def __init__(self, notes: Notes) -> None:
        self._notes, self._paused = notes, True
        self._busy: set[int] = set()  # the threads in which an event is being looked at

    def start(self) -> None:
        """Install the hook, for as long as the process lives."""
        sys.addaudithook(self._listener())
        self._paused = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Ignore events while the probe does work of its own."""
        before, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = before

    def _listener(self) -> Callable[[str, tuple[Any, ...]], None]:
        """Return a plain function, which is cheapest: Python calls it for every `id()` and `f_code`."""
        wanted, handle = WANTED, self._on_event

        def listen(event: str, args: tuple[Any, ...]) -> None:
            if event in wanted or (event == READS and args[1] == "__code__"):
                handle(event, args)

        return listen

    def _on_event(self, event: str, args: tuple[Any, ...]) -> None:
        """Handle an event. An exception here would be raised in the student's code, so none leaves."""
        if self._paused:
            return
        thread = threading.get_ident()
        if thread in self._busy:  # looking may cause another event, or run code of a student's
            if event in LOOKED_AT or event in RUNS_CODE or EVENTS.get(event) in UNSEEN:
                done_elsewhere()
            return
        self._busy.add(thread)
        try:
            self._look(event, args, sys._getframe(2))
        except Exception:
            if event in EVENTS:
                self._notes.add(EVENTS[event], event)
            else:
                done_elsewhere()
        finally:
            self._busy.discard(thread)

    def _look(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        """Note an event, and report what hides work from the watch over library calls."""
        if event == READS and self_reports.is_reporting(args[0]):
            if not is_believed(frame.f_code.co_filename):  # torch's compiler reads it, too
                done_elsewhere()
            return
        if event == IMPORTS:
            if LAYERS.match(args[0]) and not _is_for_the_course(frame):
                done_elsewhere()
            return
        if event in RUNS_CODE:
            _look_at_code(args[RUNS_CODE[event]])
        if event in LOOKED_AT:
            if _works_elsewhere(event, args, frame):
                done_elsewhere()
        elif event in EVENTS and not _is_harmless(event, args, frame):
            self._notes.add(EVENTS[event], _describe(event, args))
            unseen = EVENTS[event] in UNSEEN and not _is_plain_tool(event, args)
            if unseen or (EVENTS[event] is Kind.PATCHED and _is_genuine(args[0])):
                done_elsewhere()


def _look_at_code(code: Any) -> None:
    """Report functions of the course's and of torch's whose code, or text, is about to run anew."""
    self_reports.tell_of_copies(code)
    if isinstance(code, CodeType):
        name = code.co_filename
        if not (is_of_a_cell(name) or is_believed(name) or is_installed(name)):
            self_reports.tell_of_copied_text(code)


def _works_elsewhere(event: str, args: tuple[Any, ...], frame: FrameType) -> bool:
    """Return whether a thread starts unwatched, or code is made under a name that is not its own."""
    if event == STARTS_THREAD:
        return not detours.is_watched(args[0])
    return is_forged(event, args, frame)


def _is_genuine(changed: Any) -> bool:
    """Return whether something is a module, a class, or a function of torch's or of those that watch."""
    if type(changed) is FunctionType:
        return is_believed(changed.__code__.co_filename)
    return isinstance(changed, MODULES_AND_CLASSES)


def _is_for_the_course(frame: FrameType | None) -> bool:
    """Return whether a module is imported for the course's own code, which may work with whole models."""
    while frame is not None and (is_installed(frame.f_code.co_filename) or is_import(frame)):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(COURSEWORK)


def _imports_itself(frame: FrameType | None) -> bool:
    """Return whether a library does something while it is imported, with no code but a library's between."""
    while frame is not None and is_installed(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and is_import(frame)


def _is_harmless(event: str, args: tuple[Any, ...], frame: FrameType) -> bool:
    """Return whether an event is part of ordinary work with torch or matplotlib."""
    if event == "open" and not int(args[2] or 0) & WRITING:
        return True
    if EVENTS[event] is Kind.WROTE:
        return not isinstance(args[0], (str, bytes, os.PathLike)) or is_writable(args[0])
    if event == "object.__setattr__":
        kinds: dict[str, Any] = {"__code__": FunctionType, "__class__": MODULES_AND_CLASSES}
        changed = args[1] in kinds and isinstance(args[0], kinds[args[1]])
        torchs = is_believed(frame.f_code.co_filename)  # which does so itself
        return not changed or torchs or _imports_itself(frame)
    if event == "subprocess.Popen":
        return args[0] in HARMLESS
    if event == "socket.connect":
        return isinstance(args[1], (str, bytes))  # a Unix socket, of which the sandbox has none
    return False


def _is_plain_tool(event: str, args: tuple[Any, ...]) -> bool:
    """Return whether a program is started that computes nothing, and is what its name says."""
    if event != "subprocess.Popen" or args[3] is not None:  # an environment of its own
        return False
    found = shutil.which(args[0]) or ""
    return args[0] in PLAIN_TOOLS and found.startswith(TOOL_FOLDERS)


def _describe(event: str, args: tuple[Any, ...]) -> str:
    if event == "open":
        return str(args[0])
    plain = [str(arg) for arg in args if isinstance(arg, (str, bytes, int, list, tuple))]
    return f"{event} {' '.join(plain)[:120]}".strip()
