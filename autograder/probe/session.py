"""A run: executes a notebook's cells in IPython, and forks a probe wherever the grader asks for one.

The grader sends one command at a time, and each gets one answer:

- `cell`: run a cell. The answer describes the exception it raised, if any.
- `probe`: fork. The fork takes stand-ins, runs cells, and then answers `observe` commands until
  `end`. After that the session itself answers with the fork's exit status.
- `leave`: look for processes and files that were left behind.
"""

import contextlib
import math
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import torch

from autograder.probe import finished_layers, library_calls, wire
from autograder.probe.audit_hook import AuditHook
from autograder.probe.inherited import Inherited
from autograder.probe.isolate import WRITABLE_FOLDERS, adopt_orphans
from autograder.probe.library_calls import LibraryCalls
from autograder.probe.limits import time_limit
from autograder.probe.notes import Kind, Note, Notes
from autograder.probe.observe import describe, observe
from autograder.probe.operation import hide_modules, make
from autograder.probe.shell import QuietShell
from autograder.probe.stand_in_code import StandIns
from autograder.probe.standing_watch import StandingWatch
from autograder.probe.streams import replace_streams

EXITED, FAILED = 3, 4  # exit statuses of a probe: by SystemExit, by any other exception


@dataclass(frozen=True)
class Session:
    """One run: the channel to the grader, what it has from the warm process, and what watches over it."""

    channel: socket.socket
    inherited: Inherited
    notes: Notes
    hook: AuditHook
    standing: StandingWatch

    @property
    def shell(self) -> QuietShell:
        """The shell that its cells run in."""
        return self.inherited.shell

    def refused(self, lesson: str) -> StandIns:
        """Return a lesson's stand-ins, given and refused; none for ''."""
        return self.inherited.refused(lesson)

    def settle(self) -> list[Note]:
        """Put back what the code replaced, and return the notes since the last call."""
        self.inherited.originals.restore(self.notes)
        return self.notes.take()


def serve(channel: socket.socket, inherited: Inherited) -> None:
    """Answer the grader's commands until the stream ends."""
    adopt_orphans()
    notes = Notes()
    replace_streams(notes)
    hook, standing = AuditHook(notes), StandingWatch()
    session = Session(channel, inherited, notes, hook, standing)
    hide_modules()
    session.hook.start()
    with contextlib.suppress(EOFError), library_calls.told(standing):
        while True:
            command = wire.receive(channel)
            answer = _answer(session, command)
            wire.send(channel, {**answer, "noted": session.settle()})


def _answer(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    if command["do"] == "cell":
        return _run_cell(session, command)
    if command["do"] == "probe":
        return _probe(session, command)
    if command["do"] == "leave":
        return _leave(session)
    raise wire.WireError(f"unknown command {command['do']!r}: expected cell, probe or leave")


def _leave(session: Session) -> dict[str, Any]:
    """Note if child processes are still running; those that have ended do not count."""
    if left := _has_children():
        session.notes.add(Kind.LEFT, "")
    files = any(os.listdir(folder) for folder in WRITABLE_FOLDERS)  # noqa: PTH208 - whether there are any
    return {"session": "over", "clean": not (left or files or session.standing.taken)}


def _run_cell(session: Session, command: Mapping[str, Any]) -> dict[str, Any]:
    """Run a cell, and look what it takes if its lesson is named."""
    session.standing.refuse(session.refused(command["lesson"]))
    with time_limit(command["seconds"]) as clock:
        result = session.shell.run_cell(command["source"], store_history=False, silent=True)
        problem = result.error_before_exec or result.error_in_exec
        raised = describe(problem) if problem else None
    session.standing.refuse(session.refused(command["lesson"]))
    found = sorted(session.standing.taken)
    return {"cell": "done", "raised": raised, "library": found, "seconds": clock.seconds}


def _probe(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    """Fork a probe, wait until it ends, and return its exit status."""
    helpers = _has_children()
    with session.hook.paused():
        child = os.fork()
    if child == 0:
        _serve_probe(session, command, helpers=helpers)
    _, status = os.waitpid(child, 0)
    return {"probe": "ended", "code": os.waitstatus_to_exitcode(status)}


def _has_children() -> bool:
    """Return whether a process that the code started is still running, after collecting those that ended."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    return True


def _serve_probe(session: Session, command: dict[str, Any], *, helpers: bool) -> None:
    """Be the probe: never returns. `helpers` says that other processes could work for it."""
    channel, shell = session.channel, session.shell
    adopt_orphans()
    try:
        refused = session.refused(command.pop("lesson"))
        session.standing.refuse(refused)
        with time_limit(command["seconds"]):
            _prepare(shell, command)
        session.standing.refuse(refused)
        wire.send(channel, {"probe": "ready", "noted": session.settle()})
        while (order := _received(channel))["do"] == "observe":
            asked = make(order["operation"], order["fields"])
            with time_limit(order["seconds"]) as clock:
                calls = _calls(session, order)
                if helpers or _has_children() or library_calls.foreign_mode_is_on():
                    calls.evaded()
                seen = observe(asked, shell.user_ns, order["name"], order["seed"], calls)
                seen["library"] = sorted({*seen["library"], *session.standing.taken})
                noted = session.settle()
            _send(channel, {**seen, "seconds": clock.seconds, "noted": noted})
    except SystemExit:
        os._exit(EXITED)
    except BaseException:
        os._exit(FAILED)
    os._exit(0)


def _received(channel: socket.socket) -> Any:
    with library_calls.unwatched():
        return wire.receive(channel)


def _send(channel: socket.socket, answer: Mapping[str, Any]) -> None:
    """Send what is of plain types, so that packing it runs no code of a student's."""
    with library_calls.unwatched():
        wire.send(channel, answer)


def _calls(session: Session, order: Mapping[str, Any]) -> library_calls.LibraryCalls:
    """Return what looks for the library functions that an exercise excludes."""
    with session.hook.paused():
        finished_layers.look_again()
    own = session.refused(order["lesson"])
    return LibraryCalls(order["words"], below=order["below"], stand_ins=own)


def _prepare(shell: QuietShell, command: dict[str, Any]) -> None:
    """Take stand-ins and run cells, with the stand-ins in place before each.

    Student code can look at every frame that leads to it. So the sources of the stand-ins are dropped
    before it runs; what stays is compiled, without names for its text.
    """
    stand_ins = [compile(s, "<stand-in>", "exec", optimize=2) for s in command.pop("stand_ins")]
    cells = command.pop("cells")
    for code in stand_ins:
        library_calls.trust(code)
    for cell in cells:
        for code in stand_ins:
            _stand_in(code, shell.user_ns)
        shell.run_cell(cell, store_history=False, silent=True)


def _stand_in(code: CodeType, names: dict[str, Any]) -> None:
    """Define a right version of an earlier part, whatever the names `torch` or `F` mean by now."""
    scope = {**names, "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    before = dict(scope)
    exec(code, scope)  # noqa: S102 - a stand-in, sent by the grader
    names.update({name: value for name, value in scope.items() if before.get(name) is not value})
