"""Tells code that is what its file's name says from code that only bears the name.

Whose code is running is told by that name (see `caller`), so a student's code must make none under the name
of a file of torch's, a library's, Python's or ours.
"""

import os
from pathlib import Path
from types import FrameType
from typing import Any, Final

from autograder.probe import self_reports, stand_in_code
from autograder.probe.caller import is_believed, is_installed

PUTS_TOGETHER: Final = "code.__new__"
MAKES_CODE: Final = ("compile", PUTS_TOGETHER)  # their second argument says which file it is from
READS_CODE: Final = ("marshal.load", "marshal.loads")
IMPORT: Final = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
PYC_HEADER: Final = 16  # bytes before the code in a compiled file
WRITABLE: Final = ("/tmp", "/dev")  # noqa: S108 - the sandbox's own


def is_forged(event: str, args: tuple[Any, ...], frame: FrameType) -> bool:
    """Return whether code is made that could pass for torch's, a library's, Python's or ours.

    What Python imports is genuine if it is the content of a file that no run can write. `event` is one of
    `MAKES_CODE` and `READS_CODE`, `args` are Python's for it, and `frame` is where it happens.
    """
    if event in READS_CODE:
        return _is_read_forged(frame.f_locals.get("bytecode_path"), args[0], frame)
    if event == PUTS_TOGETHER and self_reports.is_copied(args[0]):
        return True
    name = args[1]
    if type(name) not in (str, bytes, type(None)):
        return True  # a name with methods of its own could say something else each time
    return _is_made_forged(os.fsdecode(name or ""), args[0], frame)


def is_import(frame: FrameType) -> bool:
    """Return whether a frame is of Python's own import."""
    return frame.f_code.co_filename in IMPORT


def is_writable(path: Any) -> bool:
    """Return whether a run could have written a file."""
    full = os.path.realpath(os.fsdecode(path))
    return any(full == folder or full.startswith(f"{folder}/") for folder in WRITABLE)


def _is_read_forged(place: Any, content: Any, frame: FrameType) -> bool:
    if place in stand_in_code.FILES:
        return True
    return not (is_import(frame) and _stands_in(place, content, PYC_HEADER))


def _is_made_forged(file: str, content: Any, frame: FrameType) -> bool:
    if is_believed(file):
        return not (is_import(frame) and _stands_in(file, content))
    if is_installed(file):  # some libraries read their own text
        return not _stands_in(file, content)
    return file in stand_in_code.FILES  # made anew, they would not report that they run


def _stands_in(place: Any, content: Any, start: int = 0) -> bool:
    """Return whether a file that no run can write has this content, from some byte on."""
    if type(content) is str:
        content = content.encode()
    if type(place) is not str or type(content) is not bytes or is_writable(place):
        return False
    try:
        return Path(place).read_bytes()[start:] == content
    except OSError:
        return False
