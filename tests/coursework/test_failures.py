"""What goes wrong in a cell is told once and in words, still counts as a failure, and stops nothing."""

from pathlib import Path

import nbformat
import pytest
import torch
from conftest import ROOT
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from coursework.instant import failures
from coursework.instant.exercises import every_exercise
from coursework.instant.failures import WIDTH
from coursework.instant.runs import CellRun, CellRuns

LESSON = "03_attention"
SOFTMAX = """def softmax(x, dim=-1):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)"""
OWN = {
    "softmax": SOFTMAX,
    "attention-scores": "def attention_scores(q, k):\n    s = 1\n    return q.nothing",
    "causal-mask": "def causal_mask(size):\n    return (1",
    "padding-mask": "def padding_mask(ids, pad_id=0):\n    return (ids == pad_id)[:, None]",
}
RELEASED = nbformat.read(ROOT / f"release/{LESSON}/{LESSON}.ipynb", as_version=4).cells
TEST = next(cell.source for cell in RELEASED if cell.id == "softmax-test")
DEMO = next(cell.source for cell in RELEASED if "def compare(" in cell.source)
ADDED = {
    "padding-mask-test": (
        "1 / 0",
        "needs = scaled_dot_product_attention(*torch.randn(3, 2, 4))",
        "print(needs)",
        "skip('softmax')\nprint(softmax(torch.zeros(2)))",
        "check('softmax')",
        "skip('scaled-dot-product-attention')",
        "needs = scaled_dot_product_attention(*torch.randn(3, 2, 4))",
        "check()",
        "def softmax(x, dim=-1):\n    return x +",
        SOFTMAX,
        "softmax = torch.softmax\ncheck(softmax)",
        "skip('softmax')",
        TEST,
        "def scaled_dot_product_attention(q, k, v, mask=None):\n    softmax(q @ k.mT)",
        DEMO,
        "print(worst)",
        "worst = scaled_dot_product_attention(*torch.randn(3, 2, 4))[0]",
        "def scaled_dot_product_attention(q, k, v, mask=None):\n    pass",  # so neither is the answer
    )
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, nbformat.NotebookNode]:
    """A released lesson with some answers and added cells, run from top to bottom as *Run All* does."""
    notebook = nbformat.read(ROOT / f"release/{LESSON}/{LESSON}.ipynb", as_version=4)
    cells = []
    for cell in notebook.cells:
        cell.source = OWN.get(cell.id, cell.source)
        # Demos between the exercises of these tests take their time, and are tried with the lessons' texts.
        kept = "check" in cell.source or cell.source == DEMO or not cell.id.startswith("demo")
        if cell.cell_type == "code" and kept:
            cells.append(cell)
        tags = {"tags": ["raises-exception"]}
        added = [new_code_cell(source, metadata=tags) for source in ADDED.get(cell.id, ())]
        for number, each in enumerate(added):
            each.id = f"added-{number}"
        cells += added
    notebook.cells = cells
    folder = Path(tmp_path_factory.mktemp("course"), LESSON)
    folder.mkdir()
    nbformat.write(notebook, folder / f"{LESSON}.ipynb")
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    return {cell.id: cell for cell in notebook.cells}


def error(cell: nbformat.NotebookNode) -> str:
    """The one line that a cell ends in, which may have been wrapped: what `nbgrader validate` prints."""
    assert [each.output_type for each in cell.outputs].count("error") == 1
    (line,) = cell.outputs[-1].traceback
    assert all(len(each) <= WIDTH for each in line.splitlines())
    return line.replace("\n", " ")


def shown(cell: nbformat.NotebookNode) -> str:
    """The text of everything that a cell displays or prints."""
    return "\n".join(o.text if "text" in o else o.data["text/plain"] for o in cell.outputs if "ename" not in o)


def test_run_all_reaches_the_end(run: dict[str, nbformat.NotebookNode]) -> None:
    """Whatever is missing or fails on the way; the client raised nothing."""
    assert run["attention-shapes-test"].execution_count


def test_what_is_not_written_is_one_line(run: dict[str, nbformat.NotebookNode]) -> None:
    """In its test, in cells that call it, and in those that use what they would have made."""
    line = 'scaled_dot_product_attention is not written yet. Write it and run its cell, or run skip("scaled_dot_product_attention")'
    for cell in ("scaled-dot-product-attention-test", "added-1"):
        assert error(run[cell]).startswith(line), cell
        assert len(run[cell].outputs) == 1
    assert "needs is missing here, because scaled_dot_product_attention is not written" in error(run["added-2"])
    assert "not filled in, or its raise line" in error(run["attention-shapes-test"])


def test_an_exception_in_a_visible_test_is_one_card(run: dict[str, nbformat.NotebookNode]) -> None:
    """With its line in the student's cell, the traceback folded, and one line of error below."""
    cell = run["attention-scores-test"]
    assert [each.output_type for each in cell.outputs] == ["display_data", "error"]
    html = cell.outputs[0].data["text/html"]
    assert "AttributeError in line 3 of your cell" in html
    assert "<details>" in html
    assert error(cell) == "AttributeError: a visible test of attention_scores fails, as the card says."
    assert [each.output_type for each in run["padding-mask-test"].outputs] == ["display_data", "error"]


def test_a_cell_that_failed_is_named_where_its_name_is_needed(run: dict[str, nbformat.NotebookNode]) -> None:
    """It is written, so nothing says that it is not."""
    assert "its cell ended with a SyntaxError in line 2" in " ".join(error(run["causal-mask-test"]).split())


def test_other_exceptions_keep_their_traceback(run: dict[str, nbformat.NotebookNode]) -> None:
    """A ZeroDivisionError in a cell of one's own is shown as ever."""
    assert len(run["added-0"].outputs[0].traceback) > 1


def test_a_skipped_exercise_works_and_counts_as_unanswered(run: dict[str, nbformat.NotebookNode]) -> None:
    """It says so in one line; cells that need it run."""
    assert shown(run["added-3"]).startswith("softmax is skipped: a stand-in does its work in this notebook.")
    assert "0.5000, 0.5000" in shown(run["added-3"])
    assert "○ softmax: skipped." in shown(run["added-4"])
    assert not [each for each in run["added-6"].outputs if each.output_type == "error"]


def test_the_lesson_at_a_glance_says_where_each_exercise_stands(run: dict[str, nbformat.NotebookNode]) -> None:
    """With points and minutes, what is next, and how to hand in."""
    text = shown(run["added-7"])
    assert "○ `softmax` (2 points, 10 minutes): skipped: grading reads its cell as it stands" in text
    assert "✗ `padding_mask`" in text
    assert "○ `SelfAttentionHead` (4 points, 15 minutes): not written yet" in text
    assert "(not counted, 10 minutes)" in text
    assert "Next: `softmax`" in text
    assert "`hand_in()`" in text


def test_a_name_bound_elsewhere_is_not_right(run: dict[str, nbformat.NotebookNode]) -> None:
    """Nor wrong: it may be what grading takes."""
    assert "○ softmax: not checked.\nGrading may not see this:" in shown(run["added-10"])


def test_the_test_of_a_skipped_exercise_is_one_line(run: dict[str, nbformat.NotebookNode]) -> None:
    """It neither passes nor fails."""
    (output,) = run["added-12"].outputs
    line = "softmax is skipped, so this test has nothing to test.\n"
    assert output.text == line


def test_a_demo_that_uses_what_is_wrong_is_one_line(run: dict[str, nbformat.NotebookNode]) -> None:
    """So is a cell that needs what the demo would have made; a cell of one's own has its traceback."""
    line = "scaled_dot_product_attention is not right yet, so this cell cannot run."
    assert error(run["added-14"]).startswith(line)
    assert 'skip("scaled_dot_product_attention")' in error(run["added-14"])
    assert "worst is missing here" in error(run["added-15"])
    assert len(run["added-16"].outputs[-1].traceback) > 1


def test_gradients_that_were_left_switched_off_are_told() -> None:
    """An answer that switched them off may have been mended since, and a right one fails for it."""
    names: dict[str, object] = {"causal_mask": torch.ones, "torch": torch}
    runs = CellRuns(names, {"causal-mask": CellRun("causal_mask = torch.ones", None, True, torch.ones)})
    tested = next(each for each in every_exercise() if each.id == "causal-mask")
    right = "assert torch.ones(1, requires_grad=True).exp().requires_grad"
    for had_gradients, runs.source, told in (True, right, False), (False, right, True), (False, "assert 0", False):
        runs.had_gradients = had_gradients
        with torch.set_grad_enabled(had_gradients):
            _, said, _ = failures._failed(AssertionError("No gradient."), tested, runs)
        assert (said == failures.GRADIENTS_OFF) == told


def test_a_demo_that_lacks_what_is_not_written_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that it is wrong, whatever the exception that the demo ends in."""
    released = ROOT / f"release/{LESSON}/{LESSON}.ipynb"
    cell = next(cell.source for cell in RELEASED if cell.id == "scaled-dot-product-attention")
    names: dict[str, object] = {}
    exec(f"import torch\n{cell}", names)
    name = "scaled_dot_product_attention"
    runs = CellRuns(names, {"scaled-dot-product-attention": CellRun(cell, None, True, names[name])})
    runs.source = DEMO
    monkeypatch.setattr(failures, "notebook_file", lambda _names: released)
    (line,) = failures._shown(AssertionError("nothing to see"), runs)
    assert line.startswith(f"{name} is not written yet. Write it and run its cell, or run")
