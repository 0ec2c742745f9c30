"""The standard streams of a run: nothing to read, and a place that drops and counts what is printed."""

import builtins
import getpass
import io
import os
import sys
from typing import Any

from autograder.probe.notes import Kind, Notes

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
