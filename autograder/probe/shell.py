"""The IPython that cells run in, and its standard streams: silent, and forgiving about magics."""

import builtins
import contextlib
import getpass
import io
import os
import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from autograder.probe.notes import Kind, Notes
from coursework.allowed import LINE_MAGICS

FLOOD = 8 * 2**20  # bytes printed by one process before it is noted


class _Sink(io.RawIOBase):
    """A binary stream that drops what is written, and notes a flood once."""

    def __init__(self, notes: Notes) -> None:
        self._notes, self._printed = notes, 0

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Count the bytes and drop them."""
        before, self._printed = self._printed, self._printed + len(data)
        if before <= FLOOD < self._printed:
            self._notes.add(Kind.FLOODED, f"more than {FLOOD // 2**20} MB")
        return len(data)

    def fileno(self) -> int:
        """Return the descriptor of the standard output, which `silence` has sent to /dev/null."""
        return 1


def replace_streams(notes: Notes) -> None:
    """Drop what Python prints from now on."""
    buffered = io.BufferedWriter(_Sink(notes))
    sys.stdout = sys.stderr = io.TextIOWrapper(
        buffered, encoding="utf-8", errors="replace", line_buffering=True
    )


def replace_input() -> None:
    """Let `input` and `getpass` return an empty line from now on."""
    builtins.input = getpass.getpass = _empty_line


def _empty_line(*_prompt: object, **_stream: object) -> str:
    return ""


def silence() -> None:
    """Connect the process's own standard streams to /dev/null."""
    sys.stdout.flush()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


class QuietShell(InteractiveShell):  # type: ignore[misc] # IPython is not typed for us
    """An IPython that prints nothing and runs no shell command."""

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """Run a line magic that a later cell could need. Any other, and one that fails, does nothing."""
        if magic_name not in LINE_MAGICS:
            return None
        with contextlib.suppress(Exception):
            return super().run_line_magic(magic_name, line, _stack_depth=_stack_depth + 1)
        return None

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Run a cell under its magic, or as plain Python if there is no such magic."""
        if self.find_cell_magic(magic_name) is None:
            return self.ex(self.transform_cell(cell))
        return super().run_cell_magic(magic_name, line, cell)

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the grader reports exceptions itself."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the grader reports syntax errors itself."""

    def ask_exit(self) -> None:
        """Ignore `exit` and `quit`."""

    def system(self, cmd: str) -> None:
        """Run no shell command: in the sandbox there is nothing to install or to look at."""

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:  # noqa: ARG002 - IPython's signature
        """Return the output of a command that was not run: none."""
        return [] if split else ""


def make_shell() -> QuietShell:
    """Return a shell for runs to inherit. Making it in the warm process saves each run the time."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.cache_size = 0
    shell: QuietShell = QuietShell.instance(config=config)
    shell.user_ns["__name__"] = "__main__"
    return shell
