"""A visible test that fails shows its message, and still counts as a failure everywhere."""

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

MESSAGE = "Each row should sum to 1: is <dim> the last one?"


@pytest.fixture(scope="module")
def run() -> nbformat.NotebookNode:
    """A notebook with a failing assert, run in a kernel until its end."""
    cells = [
        "from coursework import check",
        f"def helper():\n    assert 1 == 2, {MESSAGE!r}\nhelper()",
        "check('causal-mask')",
        "1 / 0",
    ]
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    options = {"resources": {"metadata": {"path": str(ROOT)}}}
    NotebookClient(notebook, timeout=120, allow_errors=True, **options).execute()
    return notebook


def test_the_message_is_a_card_with_the_traceback_folded_away(run: nbformat.NotebookNode) -> None:
    """Its text is escaped."""
    shown = run.cells[1].outputs[0].data["text/html"]
    assert "&lt;dim&gt;" in shown
    assert "<details>" in shown
    assert "helper" in shown


def test_the_cell_still_ends_in_an_error(run: nbformat.NotebookNode) -> None:
    """With one line where the frames would stand: `nbgrader validate` prints it."""
    error = run.cells[1].outputs[-1]
    assert (error.output_type, error.ename, error.evalue) == ("error", "AssertionError", MESSAGE)
    assert error.traceback == [f"AssertionError: {MESSAGE}"]


def test_the_card_is_displayed_once(run: nbformat.NotebookNode) -> None:
    """`check(…)` as the last line of a cell shows no second copy, and no object."""
    assert [output.output_type for output in run.cells[2].outputs] == ["display_data"]


def test_other_exceptions_keep_their_traceback(run: nbformat.NotebookNode) -> None:
    """A ZeroDivisionError is shown as ever."""
    assert [output.output_type for output in run.cells[3].outputs] == ["error"]
    assert len(run.cells[3].outputs[0].traceback) > 1


def test_running_all_cells_stops_at_it() -> None:
    """The reply to Jupyter says that the cell failed."""
    cells = [new_code_cell("from coursework import check\nassert False, 'no'")]
    client = NotebookClient(
        new_notebook(cells=cells), timeout=120, resources={"metadata": {"path": str(ROOT)}}
    )
    with pytest.raises(CellExecutionError):
        client.execute()
