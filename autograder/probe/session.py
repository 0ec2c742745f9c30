"""A run: executes a notebook's cells in IPython, and forks a probe wherever the judge asks for one.

Commands come from the judge one at a time; each gets one answer:

- `cell`: run a cell; the answer says whether it raised.
- `probe`: fork; the fork applies `overrides`, runs `rerun`, and then answers `observe` commands
  until `end`. When it is gone, the session itself answers with how the fork ended.
"""

import builtins
import contextlib
import getpass
import math
import os
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autograder.probe import attention, blocks, decoding, models, scenarios, wire
from autograder.probe import observe as observing
from autograder.probe.isolate import adopt_orphans
from autograder.probe.observe import describe, observe
from autograder.probe.originals import Originals
from autograder.probe.watch import LEFT, Watch, nowhere

PROBE = (attention, blocks, decoding, models, scenarios, observing)


class QuietShell(InteractiveShell):  # type: ignore[misc] # IPython is not typed for us
    """An IPython without history, colour or front end, in which a failing magic is only skipped."""

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """Run a magic; one that fails, or is not there, does nothing."""
        with contextlib.suppress(Exception):
            return super().run_line_magic(magic_name, line, _stack_depth=_stack_depth + 1)
        return None

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Run a cell under its magic; one that is not there is passed over, and the cell is run."""
        if self.find_cell_magic(magic_name) is None:
            return self.ex(self.transform_cell(cell))
        return super().run_cell_magic(magic_name, line, cell)

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Show nothing: the judge puts errors into words."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Show nothing: the judge puts errors into words."""

    def ask_exit(self) -> None:
        """Make `exit` in a cell harmless."""

    def system(self, cmd: str) -> None:
        """Run no shell command: there is nothing to install from, and nothing of theirs to look at."""

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:  # noqa: ARG002 - IPython's
        """Return the output of a command that is not run: none."""
        return [] if split else ""


def make_shell() -> QuietShell:
    """Return a shell ready for a run; cheap to have in a warm process before forking."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.cache_size = 0
    shell: QuietShell = QuietShell.instance(config=config)
    shell.user_ns["__name__"] = "__main__"
    return shell


@dataclass(frozen=True)
class Session:
    """One run: the shell its cells run in, the line to the judge, and what is kept an eye on."""

    channel: socket.socket
    shell: QuietShell
    watch: Watch
    originals: Originals

    def settle(self) -> list[tuple[str, str]]:
        """Put back what the code replaced; return what was noted since the last time."""
        self.originals.restore(self.watch.note)
        return self.watch.take()


def nothing_typed(*_prompt: object, **_stream: object) -> str:
    """Stand in for `input`: somebody presses return, and that is all."""
    return ""


def serve(channel: socket.socket, shell: QuietShell) -> None:
    """Answer the judge's commands until the stream ends."""
    adopt_orphans()
    builtins.input = getpass.getpass = nothing_typed
    session = Session(channel, shell, Watch(), Originals(*PROBE, InteractiveShell, QuietShell))
    sys.stdout = sys.stderr = nowhere(session.watch.printed)
    session.watch.start()
    with contextlib.suppress(EOFError):
        while True:
            command = wire.receive(channel)
            answer = _answer(session, command)
            wire.send(channel, {**answer, "noted": session.settle()})


def _answer(session: Session, command: Mapping[str, Any]) -> dict[str, Any]:
    if command["do"] == "cell":
        return run_cell(session.shell, command["source"], command["seconds"])
    if command["do"] == "probe":
        return _probe(session, command)
    if command["do"] == "leave":
        return _leave(session)
    raise wire.WireError(f"unknown command {command['do']!r}")


def _leave(session: Session) -> dict[str, Any]:
    """Look for processes that are still there at the end."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass  # those that have ended are none
        session.watch.note(LEFT, "")
    return {"session": "over"}


def run_cell(shell: QuietShell, source: str, seconds: int) -> dict[str, Any]:
    """Run a cell's text; the kernel ends the process when `seconds` are over."""
    with alarm(seconds):
        result = shell.run_cell(source, store_history=False, silent=True)
    problem = result.error_before_exec or result.error_in_exec
    return {"cell": "done", "raised": describe(problem) if problem else None}


@contextlib.contextmanager
def alarm(seconds: float) -> Any:
    """End this process by SIGALRM after `seconds`, even inside a C loop."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _probe(session: Session, command: Mapping[str, Any]) -> dict[str, Any]:
    """Fork a probe, wait for its end, and say how it ended."""
    with session.watch.paused():
        child = os.fork()
    if child == 0:
        _serve_probe(session, command)
    _, status = os.waitpid(child, 0)
    return {"probe": "ended", "code": os.waitstatus_to_exitcode(status)}


def _serve_probe(session: Session, command: Mapping[str, Any]) -> None:
    """Be the probe: never returns."""
    channel, shell = session.channel, session.shell
    try:
        with alarm(command["seconds"]):
            for source in command["overrides"]:
                _stand_in(source, shell.user_ns)
            if command["rerun"]:
                shell.run_cell(command["rerun"], store_history=False, silent=True)
        wire.send(channel, {"probe": "ready", "noted": session.settle()})
        while (order := wire.receive(channel))["do"] == "observe":
            with alarm(order["seconds"]):
                seen = observe(order["scenario"], shell.user_ns, order["inputs"])
                noted = session.settle()
            wire.send(channel, {**seen, "noted": noted})
    except SystemExit:
        os._exit(3)
    except BaseException:
        os._exit(4)
    os._exit(0)


def _stand_in(source: str, names: dict[str, Any]) -> None:
    """Put a right part in the place of an earlier one, whatever `torch` or `F` mean by now."""
    scope = {**names, "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "math": math}
    before = dict(scope)
    exec(source, scope)  # noqa: S102 - a stand-in's source, from the judge
    names.update({name: value for name, value in scope.items() if before.get(name) is not value})


def silence() -> None:
    """Send everything printed nowhere, and give it nothing to read."""
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
