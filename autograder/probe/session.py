"""The inside of a run: runs a notebook's cells, forks wherever the grader asks for it, and answers questions.

Process 1 of a run is the first session. It runs nothing of a student's, and forks the *notebook*, which runs
the cells. A *probe* is a fork of the notebook as it stands, or of process 1. Each fork answers on a channel
of its own, one command after the other, while the session that it came from waits for its end:

- `fork`, which comes with a channel: fork. The fork takes stand-ins, runs cells, and says that it is ready.
  The answer, once the fork has ended, is its exit status.
- `cell`: run a cell. The answer describes the exception it raised, if any.
- `keep`: remember what each name means now; `switch`: have the names mean again what was kept.
- `observe`: run an operation, and say what was seen. Further questions may be sent before it is answered.
- `ask`: remember an operation; `try`: run a cell in place of one that this process has not run yet, then do
  as `observe` does with the operation. Many cells are tried, and the operation travels once.
- `leave`: look for processes and files that were left behind.
"""

import __future__

import contextlib
import gc
import math
import os
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Final

import torch
from IPython.core.interactiveshell import InteractiveShell

from autograder.probe import isolate, wire
from autograder.probe.notes import AuditHook, Kind, Note, Notes
from autograder.probe.originals import Originals
from autograder.probe.shell import QuietShell, replace_input, replace_streams
from coursework.engine import operations, parts, products  # noqa: F401 - loaded early: before any stand-in is deleted
from coursework.engine.observe import describe, observe
from coursework.engine.operation import hide_modules, make, with_tensors
from coursework.exclusions import exclude
from coursework.scope import keep_handed_out

TRIED: Final = ""  # in place of an exercise: what the names meant before a cell was tried
EXITED, FAILED = 3, 4  # exit statuses of a fork: by SystemExit, by any other exception


class Inherited:
    """The shell that cells run in, and what is known of Python and torch before a student's code runs.

    The warm process makes it once for all runs, because it takes long to make.
    """

    originals: Originals
    own: Originals  # those that the probe itself relies on

    def __init__(self, shell: QuietShell) -> None:
        self.shell = shell
        replace_input()
        self.remember()

    def remember(self) -> None:
        """Take everything that is loaded by now as genuine. To be called after every import."""
        self.originals, self.own = Originals(InteractiveShell), Originals(whole=False)
        gc.freeze()  # so that no collection writes to memory that the runs share


@dataclass
class Session:
    """One process of a run: its channel to the grader, what it has from the warm process, and what it notes.

    `no_processes` is a filter of system calls for probes whose exercise excludes functions: another program,
    or a process that was forked before, would not know of the overridden kernels.
    """

    channel: socket.socket
    inherited: Inherited
    notes: Notes
    hook: AuditHook
    no_processes: bytes
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)  # names and meanings, by exercise
    question: dict[str, Any] = field(default_factory=dict)  # what each cell that is tried is asked
    called: set[str] = field(default_factory=set)  # excluded functions, since the last question

    @property
    def names(self) -> dict[str, Any]:
        """What the names in a cell mean."""
        names: dict[str, Any] = self.inherited.shell.user_ns
        return names

    def restore(self, *, after_a_call: bool = False) -> list[Note]:
        """Put back what the code replaced, and return the notes since the last call.

        After a call, only what the probe relies on: what else an answer replaces is its own affair.
        """
        known = self.inherited.own if after_a_call else self.inherited.originals
        known.restore(self.notes)
        return self.notes.take()


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[Callable[[], float]]:
    """End this process after `seconds` of processor time, even inside a C loop. Yields a clock of that time.

    Code can switch this off. The grader counts as well, from outside (`sandbox.run`).
    """
    started = time.process_time()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield lambda: time.process_time() - started
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def serve(channel: socket.socket, inherited: Inherited, no_processes: bytes) -> None:
    """Be process 1 of a run: answer the grader's commands until the stream ends."""
    notes = Notes()
    replace_streams(notes)
    session = Session(channel, inherited, notes, AuditHook(notes), no_processes)
    hide_modules("autograder", "coursework.engine")
    session.hook.start()
    _answer_all(session)


def _answer_all(session: Session) -> None:
    with contextlib.suppress(EOFError):
        while True:
            command = wire.receive(session.channel)
            answer = ANSWERS[command["do"]](session, command)
            wire.send(session.channel, {"noted": session.notes.take(), **answer})


def _fork(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    """Fork, wait until the fork ends, and return its exit status."""
    keep_handed_out(command["lesson"])
    descriptor = socket.recv_fds(session.channel, 1, 1)[1][0]
    with session.hook.paused():
        child = os.fork()
    if child == 0:
        session.channel.close()
        session.channel = socket.socket(fileno=descriptor)
        _be_fork(session, command)
    os.close(descriptor)
    _, status = os.waitpid(child, 0)
    return {"fork": "ended", "code": os.waitstatus_to_exitcode(status)}


def _be_fork(session: Session, command: dict[str, Any]) -> None:
    try:
        os.setsid()
        isolate.adopt_orphans()
        excluded = command.pop("excluded")
        if excluded and session.no_processes:
            isolate.filter_system_calls(session.no_processes)
        ran = bool(command["cells"])
        with time_limit(command["seconds"]):
            _prepare(session, command)
        if excluded:  # from now on: a cell may compare its answer with torch's own
            exclude(excluded, session.called.add)
        # Without cells all is as the session left it. To look again would copy memory that forks share.
        wire.send(session.channel, {"fork": "ready", "noted": session.restore(after_a_call=not ran)})
        _answer_all(session)
    except SystemExit:
        os._exit(EXITED)
    except BaseException:
        os._exit(FAILED)
    os._exit(0)


def _prepare(session: Session, command: dict[str, Any]) -> None:
    """Take stand-ins and run cells, with the stand-ins in place before each.

    Student code can look at every frame that leads to it. So the sources of the stand-ins are dropped
    before it runs; what stays is compiled, without names for its text.
    """
    flags = __future__.annotations.compiler_flag  # they may name what only the grader has imported
    stand_ins = {
        name: compile(source, "<stand-in>", "exec", flags, optimize=2)
        for name, source in command.pop("stand_ins").items()
    }
    for cell in command.pop("cells"):
        for name, code in stand_ins.items():
            session.names[name] = _stand_in(name, code)
        session.inherited.shell.run_cell(cell, store_history=False, silent=True)


def _stand_in(name: str, code: CodeType) -> Any:
    """Return a right version of an earlier part; no name of the student's is in its scope."""
    scope = {"__name__": "__main__", "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    exec(code, scope)  # noqa: S102 - a stand-in, sent by the grader
    return scope[name]


def _run_cell(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    keep_handed_out(command["lesson"])
    with time_limit(command["seconds"]) as clock:
        result = session.inherited.shell.run_cell(command["source"], store_history=False, silent=True)
        problem = result.error_before_exec or result.error_in_exec
        raised = describe(problem) if problem else None
    return {"cell": "done", "raised": raised, "seconds": clock(), "noted": session.restore()}


def _keep(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    session.kept[command["exercise"]] = dict(session.names)
    return {"kept": command["exercise"]}


def _switch(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    """Go back to what each name meant at an exercise: a cell further down may define it anew.

    Functions look names up in the shell's own dictionary, so this is filled, not replaced.
    """
    session.names.clear()
    session.names.update(session.kept[command["exercise"]])
    return {"kept": command["exercise"]}


def _observe(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    asked = make(command["operation"], command["fields"])
    session.called.clear()
    with time_limit(command["seconds"]) as clock:
        seen = observe(asked, session.names, command["name"], command["seed"])
        noted = session.restore(after_a_call=True)
    return {**seen, "excluded": sorted(session.called), "seconds": clock(), "noted": noted}


def _try(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    """Run a cell, with every name as it was before the first that was tried, and observe what it defined.

    An exception of the cell changes nothing: as in a notebook, what it defined before that stays. The text is
    dropped before the cell runs, as that of a stand-in is.
    """
    question = session.question
    asked = with_tensors(make(question["operation"], question["fields"]), torch.Tensor.clone)
    before = session.kept.setdefault(TRIED, dict(session.names))
    session.names.clear()
    session.names.update(before)
    session.called.clear()
    with time_limit(question["seconds"]) as clock:
        with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
            code = compile(command.pop("source"), "<answer>", "exec", dont_inherit=True)
            exec(code, session.names)  # noqa: S102 - a student's, as every cell is
        seen = observe(asked, session.names, question["name"], question["seed"])
        noted = session.restore(after_a_call=True)
    return {**seen, "excluded": sorted(session.called), "seconds": clock(), "noted": noted}


def _ask(session: Session, command: dict[str, Any]) -> dict[str, Any]:
    session.question = command
    return {"kept": command["name"]}


def _leave(session: Session, _command: dict[str, Any]) -> dict[str, Any]:
    """Note if child processes are still running; those that have ended are collected, and do not count."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
        left = True
        session.notes.add(Kind.LEFT, "")
    except ChildProcessError:
        left = False
    files = any(os.listdir(folder) for folder in isolate.WRITABLE_FOLDERS)  # noqa: PTH208 - whether there are any
    return {"left": left or files, "noted": session.notes.take()}


ANSWERS: Final = {
    "fork": _fork, "cell": _run_cell, "keep": _keep, "switch": _switch, "observe": _observe, "ask": _ask,
    "try": _try, "leave": _leave,
}  # fmt: skip
