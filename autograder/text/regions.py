"""Marked regions of a cell: what only the instructor sees, between BEGIN and END lines.

The markers are nbgrader's own, and are found as nbgrader finds them: anywhere in a line.
"""

import re
from collections.abc import Iterator
from enum import StrEnum


class Region(StrEnum):
    """What lies between a pair of markers."""

    SOLUTION = "SOLUTION"
    HIDDEN = "HIDDEN TESTS"
    SCHEME = "MARK SCHEME"


MARKER = re.compile(rf"(BEGIN|END) ({'|'.join(Region)})")
# What an author may have meant as a marker, although nbgrader would not recognise it.
MISSPELT = re.compile(r"^\s*#+\s*(BEGIN|END)[\s_-]*(SOLUTIONS?|HIDDEN|MARK[\s_-]*SCHEME)\b", re.IGNORECASE)


def begin(region: Region) -> str:
    """Return the line that opens a region."""
    return f"### BEGIN {region}"


def end(region: Region) -> str:
    """Return the line that closes a region."""
    return f"### END {region}"


def labelled(text: str) -> Iterator[tuple[str, Region | None]]:
    """Yield each line but the markers, with the region it lies in.

    A region inside another counts as the inner one.
    """
    inside: list[Region] = []
    for line in text.split("\n"):
        marker = MARKER.search(line)
        if marker is None:
            yield line, inside[-1] if inside else None
        elif marker[1] == "BEGIN":
            inside.append(Region(marker[2]))
        elif inside:
            inside.pop()


def without(text: str, *regions: Region) -> str:
    """Return a cell's text without some regions, and without any marker."""
    return "\n".join(line for line, region in labelled(text) if region not in regions).rstrip()


def inside(text: str, region: Region) -> str:
    """Return the text of one kind of region, markers left out."""
    return "\n".join(line for line, here in labelled(text) if here is region)


def has(text: str, region: Region) -> bool:
    """Return whether a cell opens such a region."""
    return begin(region).lstrip("# ") in text


def marker_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the markers in a text: the offset of the line, and the line."""
    for offset, line in enumerate(text.split("\n")):
        if MARKER.search(line) or MISSPELT.search(line):
            yield offset, line


def marker_problem(text: str) -> tuple[int, str] | None:
    """Return the first fault in a cell's markers: the offset of its line, and what is wrong."""
    opened: tuple[int, str] | None = None
    for offset, line in marker_lines(text):
        marker = MARKER.search(line)
        if marker is None:
            return offset, f"'{line.strip()}' is not quite one of nbgrader's markers"
        verb, name = marker.groups()
        if verb == "BEGIN" and opened:
            return offset, f"BEGIN {name} inside BEGIN {opened[1]}: close that one first"
        if verb == "END" and (opened is None or opened[1] != name):
            return offset, f"END {name} without BEGIN {name}"
        opened = (offset, name) if verb == "BEGIN" else None
    return (opened[0], f"BEGIN {opened[1]} without END {opened[1]}") if opened else None


def tucked(text: str) -> str:
    """Return a written cell with its mark scheme moved into its solution.

    nbgrader takes a mark scheme out of its own "task" cells only, and stops at any other.
    """
    scheme = inside(text, Region.SCHEME)
    answer = [inside(text, Region.SOLUTION)]
    if scheme:
        answer += ["", "**Mark scheme**", "", scheme]
    question = without(text, *Region).strip()
    return "\n".join((question, "", begin(Region.SOLUTION), *answer, end(Region.SOLUTION)))


def skeleton(text: str, *, markdown: bool) -> str:
    """Return what nbgrader makes of a solution cell for students: its stub for each solution."""
    # nbgrader takes most of a second to import, and reading a lesson does not need it.
    from nbformat.v4 import new_code_cell, new_markdown_cell
    from nbgrader.preprocessors import ClearSolutions

    new = new_markdown_cell if markdown else new_code_cell
    cell = new(text, metadata={"nbgrader": {"solution": True}})
    cleared, _ = ClearSolutions().preprocess_cell(cell, {"language": "python"}, 0)
    source: str = cleared.source
    return source
