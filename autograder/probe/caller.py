"""Finds the code that called torch: the innermost frame that is neither torch's nor the watch's own.

Whose code is running is told by the name of its file. Code can be made under any name, so the audit hook
counts it as work out of sight when a student's code makes some under a name that is believed here.
"""

import contextlib
import os
import sys
import threading
from enum import Enum
from types import FrameType
from typing import Final

import torch

MOST_REMEMBERED: Final = 10_000  # names of files; a run has hundreds
TORCH: Final = torch.__file__.rpartition("/")[0] + "/"
OURS: Final = __file__.rpartition("probe/")[0]
BETWEEN: Final = frozenset(
    (
        *(
            f"{OURS}probe/{name}.py"
            for name in (
                "library_calls",
                "finished_layers",
                "self_reports",
                "handed_over",
                "caller",
            )
        ),
        *(contextlib.__file__, threading.__file__),
    )
)
CELL_FILES: Final = ("<student cell>", "ipython-input", "ipykernel")
LIBRARIES: Final = (TORCH.removesuffix("torch/"), os.__file__.rpartition("/")[0] + "/")
FROZEN: Final = "<frozen "  # modules of Python's own


class _Whose(Enum):
    TORCHS = "torch's"
    BETWEEN = "the watch's own, or passed through"
    ANYBODYS = "anybody's"


class _WhoseFile(dict[str, _Whose]):
    """Whose a file is, by its name; each is looked at once."""

    def __missing__(self, name: str) -> _Whose:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        other = _Whose.BETWEEN if name in BETWEEN else _Whose.ANYBODYS
        found = self[name] = _Whose.TORCHS if name.startswith(TORCH) else other
        return found


_whose = _WhoseFile()


def is_believed(name: str) -> bool:
    """Return whether code from a file of this name is taken for torch's, Python's or ours."""
    return _whose[name] is not _Whose.ANYBODYS or name.startswith((OURS, FROZEN))


def is_of_a_cell(name: str) -> bool:
    """Return whether code from a file of this name is a cell's."""
    return any(part in name for part in CELL_FILES)


def is_installed(name: str) -> bool:
    """Return whether code from a file of this name is taken for a library's, or Python's own."""
    return name.startswith(LIBRARIES) and name.endswith(".py")


def is_ours(frame: FrameType | None) -> bool:
    """Return whether a frame is of one of our modules."""
    return frame is not None and frame.f_code.co_filename.startswith(OURS)


def caller(depth: int) -> tuple[FrameType | None, list[str]]:
    """Return the innermost frame that is neither torch's nor ours, and torch's functions up to it.

    The search begins `depth` frames above the one that asks.
    """
    frame: FrameType | None = sys._getframe(depth + 1)
    through: list[str] = []
    while frame is not None:
        code = frame.f_code
        whose = _whose[code.co_filename]
        if whose is _Whose.ANYBODYS:
            return frame, through
        if whose is _Whose.TORCHS:
            through.append(code.co_name)
        frame = frame.f_back
    return None, through
