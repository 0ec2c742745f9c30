"""Drops saved outputs and attachments from a notebook's bytes, before they are parsed.

Outputs are most of a large file, and grading uses none of them. Skipping them costs no memory, however
many values they hold.
"""

import re
from collections.abc import Iterator

from autograder.model.errors import SubmissionError

MAX_TOKENS = 4_000_000  # about three seconds
# A string, possibly cut off by the end of the file, or a bracket. Possessive: nothing is ever retried.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|[\[\]{}]', re.S)
_DROPPED = frozenset({b'"outputs"', b'"attachments"'})
_COLON = re.compile(rb"\s*+:\s*+([\[{])")
_IN_A_CELL = 3  # a cell is an object in a list in an object


def without_outputs(data: bytes) -> bytes:
    """Return a notebook's JSON with empty outputs and attachments.

    Bytes that are not JSON give bytes that are not JSON. Raises SubmissionError if there are too many
    values to look at.
    """
    kept, done = [], 0
    for start, end in _values(data):
        kept += [data[done:start], b"null"]
        done = end
    return b"".join([*kept, data[done:]])


def _values(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the values to drop begin and end."""
    depth = start = outside = 0
    for number, found in enumerate(_TOKEN.finditer(data)):
        if number > MAX_TOKENS:
            raise SubmissionError("the file is not a notebook: it holds too many values")
        first, end = found.span()
        if data[first] in b"{[":
            depth += 1
        elif data[first] in b"}]":
            depth -= 1
            if start and depth == outside:
                yield start, end
                start = 0
        elif not start and depth >= _IN_A_CELL and data[first : min(end, first + 14)] in _DROPPED:
            colon = _COLON.match(data, end)
            start, outside = (colon.start(1), depth) if colon else (0, 0)
