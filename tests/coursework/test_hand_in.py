"""`hand_in()` writes a complete copy of the saved notebook, or says what is the matter with it."""

import os
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
import torch
from conftest import ROOT

from coursework import check, hand_in
from coursework.console import WIDTH

LESSON = "03_attention"
FILE = f"{LESSON}.ipynb"


def words(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed, on one line."""
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lesson as it is released, in a folder of its own, where the kernel runs."""
    folder = tmp_path / LESSON
    folder.mkdir()
    shutil.copyfile(ROOT / f"release/{LESSON}/{FILE}", folder / FILE)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return folder / FILE


def test_importing_it_does_not_load_what_draws_cards() -> None:
    """A lesson's first cell, and each run of it in grading, does without templates until a card is shown."""
    code = "import sys; from coursework import check, hand_in, skip; print('jinja2' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False"]


def test_a_complete_notebook_is_written(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copy lies beside the lesson's folder; what is not answered is told, and is no obstacle."""
    hand_in()
    said = words(capsys)
    assert "Not answered yet: softmax (2 points), attention_scores (3 points)" in said
    assert "That is 20 of 20 points." in said
    assert "attention_cost" not in said  # a stretch exercise, which does not count
    assert "You may hand in anyway" in said
    assert "is the file to hand in" in said
    assert "Nothing has been sent" in said
    assert (notebook.parent.parent / "hand_in" / FILE).read_bytes() == notebook.read_bytes()


def test_the_day_of_saving_is_told_unless_it_is_today(
    notebook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A time alone would be taken for today's."""
    hand_in()
    assert re.search(r"as you saved it at \d\d:\d\d\. ", words(capsys))
    os.utime(notebook, (0, datetime(2026, 5, 3, 18, 20).timestamp()))
    hand_in()
    assert "as you saved it at 18:20 on 3 May 2026. " in words(capsys)


def test_no_line_is_too_long(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JupyterLab breaks a long line inside a word: `scaled_dot_product_att` and `ention`."""
    hand_in()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert any("scaled_dot_product_attention" in line for line in lines)
    assert " ".join(lines).count("Nothing has been sent") == 1


def test_what_is_answered_in_part_is_told(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dictionary of answers with some still open; a wholly answered one is not named."""
    opened = nbformat.read(notebook, as_version=4)
    (cell,) = (cell for cell in opened.cells if cell.id == "attention-shapes")
    filled = cell.source.replace("    raise NotImplementedError()", "").replace("None", "1")
    for source, told in ((filled.replace('"k": 1', '"k": None'), True), (filled, False)):
        cell.source = source
        nbformat.write(opened, notebook)
        hand_in()
        assert ("k of shapes and choices (part of 2 points)" in words(capsys)) is told


@pytest.mark.parametrize("answer", ["", " \n ", "QUESTION", "QUESTION\n\nA sentence."])
def test_of_an_answer_in_words_the_question_is_no_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    """Whoever has deleted the blank, or all, has still to answer."""
    folder = tmp_path / "01_embeddings"
    shutil.copytree(ROOT / "release/01_embeddings", folder)
    monkeypatch.chdir(folder)
    opened = nbformat.read(folder / "01_embeddings.ipynb", as_version=4)
    (cell,) = (cell for cell in opened.cells if cell.id == "recurrence")
    cell.source = answer.replace("QUESTION", cell.source.removesuffix("YOUR ANSWER HERE").rstrip())
    nbformat.write(opened, folder / "01_embeddings.ipynb")
    hand_in()
    assert ("recurrence, in your own words (2 points)" in words(capsys)) is not answer.endswith(".")


def test_what_is_not_right_on_its_examples_is_told(
    notebook: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is handed in all the same; what is right is not named."""
    monkeypatch.setitem(globals(), "causal_mask", lambda size: torch.ones(size, size, dtype=torch.bool))
    monkeypatch.setitem(globals(), "padding_mask", lambda ids, pad_id=0: (ids != pad_id)[:, None])
    hand_in()
    said = words(capsys)
    assert 'Not right yet: causal_mask. check("causal_mask") says why.' in said
    assert "is the file to hand in" in said


def test_a_deleted_cell_is_told(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copy is written, but not called complete."""
    opened = nbformat.read(notebook, as_version=4)
    opened.cells = [cell for cell in opened.cells if cell.id != "causal-mask"]
    nbformat.write(opened, notebook)
    hand_in()
    said = words(capsys)
    assert "The cell 'causal-mask' is missing." in said
    assert "look at the lines above first" in said
    assert "is the file to hand in" not in said


def test_a_damaged_notebook_is_told(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written."""
    notebook.write_text("{")
    hand_in()
    assert "cannot be read as a notebook" in words(capsys)
    assert not (notebook.parent.parent / "hand_in").exists()


def test_a_folder_that_cannot_be_written_is_told(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The notebook itself can be handed in."""
    (notebook.parent.parent / "hand_in").write_text("a file, not a folder")
    hand_in()
    assert "cannot be written" in words(capsys)


def test_elsewhere_it_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both `hand_in` and `check` without a name belong to a lesson's notebook."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    hand_in()
    said = words(capsys)
    assert "03_attention.ipynb" in said
    assert "run hand_in() there" in said
    assert not check().passed


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def causal_mask(size):\n    return torch.ones(size, size", "is not valid Python (line 2)"),
        ("def mask(size):\n    return torch.ones(size, size)", "does not define causal_mask"),
        ("%matplotlib inline\ndef causal_mask(size):\n    return torch.ones(size, size)", ""),
    ],
)
def test_an_answer_that_cannot_count_is_told(
    notebook: Path, capsys: pytest.CaptureFixture[str], source: str, told: str
) -> None:
    """It is handed in all the same; IPython's own lines are no fault, and a wrong answer is not judged."""
    opened = nbformat.read(notebook, as_version=4)
    (cell,) = (cell for cell in opened.cells if cell.id == "causal-mask")
    cell.source = source
    nbformat.write(opened, notebook)
    hand_in()
    said = words(capsys)
    assert told in said
    assert ("The cell of causal_mask" in said) is bool(told)
    assert ("look at the lines above first" in said) is bool(told)


def test_of_a_dictionary_what_is_above_a_raise_that_is_left_is_answered(
    notebook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Grading reads that, and nothing below the line. One that only says so in a comment is none."""
    cells = nbformat.read(notebook, as_version=4)
    answers = next(cell for cell in cells.cells if cell.id == "attention-shapes")
    filled = re.sub(r"None\b", "'A'", answers.source)
    table = filled.partition("# YOUR CODE HERE")[0]
    line = "raise NotImplementedError"
    below = f": nothing counts below its line {line}"
    for source, told, points in (
        (filled, f"the answers are there, and so is the line {line} below them. Grading reads the answers.", 18),
        (filled.replace("raise Not", "# raise Not"), "", 18),
        (f"{line}()\n{table}", f"shapes and choices (2 points){below}", 20),
        (f"{answers.source}\nanswers['k'] = 4", f"of shapes and choices (part of 2 points){below}", 20),
    ):
        answers.source, released = source, answers.source
        nbformat.write(cells, notebook)
        hand_in()
        answers.source, said = released, words(capsys)
        assert told in said
        assert bool(told) == (line in said)
        assert f"That is {points} of 20 points." in said


def test_a_notebook_that_was_renamed_is_told_as_that(notebook: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel keeps the name with which it was started, and saving again would not help."""
    monkeypatch.setenv("JPY_SESSION_NAME", str(notebook))
    notebook.rename(notebook.with_name("mine.ipynb"))
    hand_in()
    assert f"There is no {FILE} any more. If you renamed the notebook, give it this name again" in words(capsys)
