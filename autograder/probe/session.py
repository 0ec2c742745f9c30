"""A run: executes a notebook's cells in IPython, and forks a probe wherever the grader asks for one.

The grader sends one command at a time, and each gets one answer:

- `cell`: run a cell. The answer describes the exception it raised, if any.
- `keep`: remember what each name means now.
- `probe`: fork. The fork takes stand-ins, runs cells, and then answers `observe` commands until
  `end`. After that the session itself answers with the fork's exit status. On `turn`, its names mean
  what was kept.
- `leave`: look for processes and files that were left behind.
"""

import __future__

import contextlib
import math
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch

from autograder.probe import isolate, wire
from autograder.probe.audit_hook import AuditHook
from autograder.probe.inherited import Inherited
from autograder.probe.limits import time_limit
from autograder.probe.notes import Kind, Note, Notes
from autograder.probe.shell import QuietShell
from autograder.probe.streams import replace_streams
from coursework.engine.observe import describe, observe
from coursework.engine.operation import hide_modules, make
from coursework.exclusions import exclude
from coursework.scope import keep_handed_out

EXITED, FAILED = 3, 4  # exit statuses of a probe: by SystemExit, by any other exception


@dataclass(frozen=True)
class Session:
    """One run: the channel to the grader, what it has from the warm process, and what it notes.

    `no_processes` is a filter of system calls for probes whose exercise excludes functions: another program,
    or a process that was forked before, would not know of the overridden kernels.
    """

    channel: socket.socket
    inherited: Inherited
    notes: Notes
    hook: AuditHook
    no_processes: bytes
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)  # names and meanings, by exercise

    @property
    def shell(self) -> QuietShell:
        """The shell that its cells run in."""
        return self.inherited.shell

    def settle(self, *, after_a_call: bool = False) -> list[Note]:
        """Put back what the code replaced, and return the notes since the last call.

        After a call, only what the probe relies on: what else an answer replaces is its own affair.
        """
        known = self.inherited.own if after_a_call else self.inherited.originals
        known.restore(self.notes)
        return self.notes.take()


def serve(channel: socket.socket, inherited: Inherited, no_processes: bytes) -> None:
    """Answer the grader's commands until the stream ends."""
    isolate.adopt_orphans()
    notes = Notes()
    replace_streams(notes)
    session = Session(channel, inherited, notes, AuditHook(notes), no_processes)
    hide_modules("autograder", "coursework.engine")
    session.hook.start()
    with contextlib.suppress(EOFError):
        while True:
            answer = _answer(session, wire.receive(channel))
            # Only a cell replaces anything here. To look again would copy memory that forks share.
            noted = session.settle() if "cell" in answer else notes.take()
            wire.send(channel, {**answer, "noted": noted})


def _answer(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    if command["do"] == "cell":
        return _run_cell(session, command)
    if command["do"] == "probe":
        return _probe(session, command)
    if command["do"] == "keep":
        session.kept[command["exercise"]] = dict(session.shell.user_ns)
        return {"kept": command["exercise"]}
    if command["do"] == "leave":
        return _leave(session)
    raise wire.WireError(f"unknown command {command['do']!r}: expected cell, keep, probe or leave")


def _leave(session: Session) -> dict[str, Any]:
    """Note if child processes are still running; those that have ended do not count."""
    if left := _has_children():
        session.notes.add(Kind.LEFT, "")
    files = any(os.listdir(folder) for folder in isolate.WRITABLE_FOLDERS)  # noqa: PTH208 - whether there are any
    return {"session": "over", "clean": not (left or files)}


def _run_cell(session: Session, command: Mapping[str, Any]) -> dict[str, Any]:
    keep_handed_out(command["lesson"])
    with time_limit(command["seconds"]) as clock:
        result = session.shell.run_cell(command["source"], store_history=False, silent=True)
        problem = result.error_before_exec or result.error_in_exec
        raised = describe(problem) if problem else None
    return {"cell": "done", "raised": raised, "seconds": clock.seconds}


def _probe(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    """Fork a probe, wait until it ends, and return its exit status."""
    keep_handed_out(command["lesson"])
    with session.hook.paused():
        child = os.fork()
    if child == 0:
        _serve_probe(session, command)
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


def _serve_probe(session: Session, command: dict[str, Any]) -> None:
    """Be the probe: never returns."""
    channel, shell = session.channel, session.shell
    isolate.adopt_orphans()
    try:
        excluded = command.pop("excluded")
        if excluded and session.no_processes:
            isolate.filter_system_calls(session.no_processes)
        ran = bool(command["cells"])
        with time_limit(command["seconds"]):
            _prepare(shell, command)
        called: set[str] = set()
        if excluded:  # from now on: a cell may compare its answer with torch's own
            exclude(excluded, called.add)
        # Without cells all is as the session left it. To look again would copy memory that forks share.
        noted = session.settle(after_a_call=not ran)
        wire.send(channel, {"probe": "ready", "noted": noted})
        while (order := wire.receive(channel))["do"] != "end":
            if order["do"] == "turn":
                _turn(session, order["exercise"])
                continue
            asked = make(order["operation"], order["fields"])
            called.clear()
            with time_limit(order["seconds"]) as clock:
                seen = observe(asked, shell.user_ns, order["name"], order["seed"])
                noted = session.settle(after_a_call=True)
            seen["excluded"] = sorted(called)
            wire.send(channel, {**seen, "seconds": clock.seconds, "noted": noted})
    except SystemExit:
        os._exit(EXITED)
    except BaseException:
        os._exit(FAILED)
    os._exit(0)


def _turn(session: Session, exercise: str) -> None:
    """Go back to what each name meant at an exercise: a cell further down may define it anew.

    Functions look names up in the shell's own dictionary, so this is filled, not replaced.
    """
    names = session.shell.user_ns
    names.clear()
    names.update(session.kept[exercise])
    wire.send(session.channel, {"probe": "ready", "noted": session.notes.take()})


def _prepare(shell: QuietShell, command: dict[str, Any]) -> None:
    """Take stand-ins and run cells, with the stand-ins in place before each.

    Student code can look at every frame that leads to it. So the sources of the stand-ins are dropped
    before it runs; what stays is compiled, without names for its text.
    """
    flags = __future__.annotations.compiler_flag  # they may name what only the grader has imported
    stand_ins = {
        name: compile(source, "<stand-in>", "exec", flags, optimize=2)
        for name, source in command.pop("stand_ins").items()
    }
    cells = command.pop("cells")
    for cell in cells:
        for name, code in stand_ins.items():
            shell.user_ns[name] = _stand_in(name, code)
        shell.run_cell(cell, store_history=False, silent=True)


def _stand_in(name: str, code: CodeType) -> Any:
    """Return a right version of an earlier part; no name of the student's is in its scope."""
    scope = {"__name__": "__main__", "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    exec(code, scope)  # noqa: S102 - a stand-in, sent by the grader
    return scope[name]
