"""Large and strange files cost bounded time and memory: what a run here takes is the limit that is kept."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from autograder.model.errors import SubmissionError
from autograder.submissions.notebook_file import MAX_CELLS, MAX_SOURCES, only_what_counts, read_submission

# Of processor time, and of memory above what the program takes itself. Measured: at most 3 s and 260 MB.
SECONDS, MEGABYTES = 10, 500
CELL = '{"cell_type": "code", "source": "x = 1", "outputs": [%s], "metadata": {}}'
MEASURED = """
import re, sys, time
from pathlib import Path
from autograder.model.errors import SubmissionError
from autograder.submissions.notebook_file import read_submission
def peak():  # since the program started; getrusage's would include that of the parent
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before, started = peak(), time.process_time()
try:
    said = len(read_submission(Path(sys.argv[1])).cells)
except SubmissionError as error:
    said = str(error)
print(time.process_time() - started, (peak() - before) / 1024, said, sep="|")
"""


def notebook(*cells: str) -> bytes:
    """Return a notebook of these cells, which are JSON already."""
    return b'{"cells": [' + ",".join(cells).encode() + b'], "metadata": {}, "nbformat": 4}'


MEGABYTE = 2**20
# What a file holds, made when it is needed, and what is said of it.
STRANGE: dict[str, tuple[Callable[[], bytes], str]] = {
    "output of 240 MB": (lambda: notebook(CELL % ('"%s"' % ("A" * 240 * MEGABYTE))), "1"),
    "escaped output of 200 MB": (lambda: notebook(CELL % ('"%s"' % (r"\"" * 100 * MEGABYTE))), "1"),
    "numbers of 100 MB in an output": (lambda: notebook(CELL % ("1," * 50 * MEGABYTE + "1")), "1"),
    "output of many lines": (lambda: notebook(CELL % (r'"abc\n",' * 3 * MEGABYTE + '""')), "1"),
    "string without end": (lambda: b'{"cells": [{"outputs": ["' + rb"\"" * 99 * MEGABYTE, "16 MB"),
    "source of 240 MB": (lambda: notebook('{"source": "%s"}' % ("A" * 240 * MEGABYTE)), "16 MB"),
    "larger than is read": (lambda: b" " * 257 * MEGABYTE, "256 MB"),
    "empty objects": (lambda: notebook("{}," * 4 * MEGABYTE + "{}"), "too many"),
    "a million cells": (lambda: notebook(",".join(["{}"] * 990_000)), "2000"),
    "many numbers": (lambda: notebook(CELL % "", "1," * 3_900_000 + "1"), "1"),
    "many strings": (lambda: notebook(CELL % "", '"ab",' * 3_300_000 + "1"), "1"),
    "many keys": (lambda: notebook(json.dumps({str(n): 0 for n in range(1_100_000)})), "1"),
    "wide characters": (lambda: notebook('{"source": "%s"}' % ("\U0001f600" * 4_000_000)), "1"),
    "deep lists": (lambda: b'{"cells": ' + b"[" * 900_000, "not valid JSON"),
    "deep objects": (lambda: b'{"cells": ' + b'{"a":' * 900_000, "not valid JSON"),
    "nulls": (lambda: b"\0" * 15 * MEGABYTE, "not valid JSON"),
    "UTF-16": (lambda: notebook(CELL % "").decode().encode("utf-16"), "1"),
    "UTF-16 of 100 MB": (lambda: ("x" * 50 * MEGABYTE).encode("utf-16"), "16 MB"),
}


@pytest.mark.full("files of hundreds of megabytes", seconds=3)
@pytest.mark.parametrize("name", STRANGE)
def test_a_file_costs_bounded_time_and_memory(name: str, tmp_path: Path) -> None:
    """It is read without its outputs, or refused with the reason."""
    path, (content, said) = tmp_path / "n.ipynb", STRANGE[name]
    path.write_bytes(content())
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seconds, memory, answer = done.stdout.strip().split("|")
    assert said in answer
    assert float(seconds) < SECONDS
    assert float(memory) < MEGABYTES


@pytest.mark.parametrize("number", ["1" * 5000, "NaN", "-Infinity", "1e999999", "-0", "1" * 300])
def test_numbers_that_no_tool_writes_cost_nothing(number: str, tmp_path: Path) -> None:
    """In an execution count, a size or a version."""
    path = tmp_path / "n.ipynb"
    cell = '{"cell_type": "code", "source": "x = 1", "execution_count": ' + number + "}"
    path.write_bytes(notebook(cell).replace(b"4}", number.encode() + b"}"))
    assert [cell.source for cell in read_submission(path).cells] == ["x = 1"]


def test_the_last_of_two_equal_keys_counts(tmp_path: Path) -> None:
    """As in JupyterLab, so a person and the grader see the same."""
    path = tmp_path / "n.ipynb"
    path.write_text('{"cells": [], "cells": [{"source": "a", "source": "b"}]}')
    assert [cell.source for cell in read_submission(path).cells] == ["b"]


def test_long_cells_are_cut_and_the_notebook_says_so(tmp_path: Path) -> None:
    """A cell that is too long costs itself; pictures pasted into prose cost nothing."""
    path = tmp_path / "n.ipynb"
    picture = "![x](data:image/png;base64,%s)" % ("iVBORw0KGgo" * 50_000)
    prose = [{"cell_type": "markdown", "source": picture}] * 20
    code = [{"cell_type": "code", "source": text} for text in ("x" * 1_000_000, "y = 2")]
    path.write_text(json.dumps({"cells": [*prose, *code]}))
    found = read_submission(path)
    assert found.cells[-1].source == "y = 2"
    assert len(found.repairs) == 1
    assert sum(len(cell.source) for cell in found.cells) < MAX_SOURCES


def test_what_grading_uses_is_kept() -> None:
    """Whatever is called like something that is dropped; and all of it when the file is cut off."""
    about = {"nbgrader": {"grade_id": "a", "grade": False}, "tags": ["demo"], "id": "x"}
    kept = {
        "outputs": 1,
        "metadata": {"kernelspec": {"name": "python3", "widgets": {}}, "language_info": {"version": [3]}},
        "cells": [{"source": ['"outputs": [1]', "x"], "cell_type": "outputs", "metadata": about}],
    }
    text = json.dumps(kept).encode()
    assert only_what_counts(text) == text
    old = json.dumps({"worksheets": [{"cells": [{"input": ["a", "b"], "metadata": {}}]}]}).encode()
    assert only_what_counts(old) == old
    assert only_what_counts(b'{"cells": [{"outputs": [') == b'{"cells": [{"outputs": ['


def test_what_grading_does_not_use_is_dropped() -> None:
    """Outputs, attachments, and the metadata of widgets and other tools, whatever brackets they hold."""
    cell = {"outputs": [{"data": {"a": ["]"]}}], "attachments": {"x": "}"}, "source": "", "metadata": {"rise": {"a": []}}}
    full = {"metadata": {"widgets": {"state": {"a": "}"}}, "papermill": [1]}, "cells": [cell]}
    assert json.loads(only_what_counts(json.dumps(full).encode())) == {
        "metadata": {"widgets": None, "papermill": None},
        "cells": [{"outputs": None, "attachments": None, "source": "", "metadata": {"rise": None}}],
    }


BULKY = "A" * 17 * MEGABYTE


@pytest.mark.parametrize(
    "where",
    ["the state of widgets", "metadata of a cell", "an attachment", "an output", "pictures in a text"],
)
def test_what_is_saved_beside_the_text_never_makes_a_notebook_too_large(where: str, tmp_path: Path) -> None:
    """JupyterLab saves the state of widgets in the notebook, and Colab pictures in the text."""
    prose = {"cell_type": "markdown", "source": "see below", "metadata": {"nbgrader": {"grade_id": "why"}}}
    whole: dict[str, Any] = {"cells": [prose], "metadata": {"kernelspec": {"language": "R"}}}
    state = {"application/vnd.jupyter.widget-state+json": {"state": {"1f": {"state": {"value": BULKY}}}}}
    match where:
        case "the state of widgets":
            whole["metadata"]["widgets"] = state
        case "metadata of a cell":
            prose["metadata"] |= {"tool": [BULKY]}
        case "an attachment":
            prose["attachments"] = {"image.png": {"image/png": BULKY}}
        case "an output":
            whole["cells"].append({"cell_type": "code", "source": "", "outputs": [{"data": {"image/png": BULKY}}]})
        case _:
            prose["source"] = f"see ![x](data:image/png;base64,{BULKY}) below"
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps(whole, indent=1))
    found = read_submission(path)
    assert found.cells[0].grade_id == "why"
    assert found.cells[0].source.endswith(" below")
    assert found.repairs == ["the notebook names another kernel, 'R'; it was run as Python"]


def test_more_cells_than_anyone_writes_are_left_out(tmp_path: Path) -> None:
    """And the report says so."""
    path = tmp_path / "n.ipynb"
    path.write_bytes(notebook(*[CELL % ""] * (MAX_CELLS + 5)))
    found = read_submission(path)
    assert (len(found.cells), len(found.repairs)) == (MAX_CELLS, 1)
    with pytest.raises(SubmissionError, match="no such file"):
        read_submission(tmp_path / "none.ipynb")
