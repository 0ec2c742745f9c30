"""Prose is split where a slide may end, and heights are about right."""

import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_output

from autograder.lecture import blocks

IMAGES = ROOT / "solutions"
FOLDED = (
    "**Predict.** What now?\n\n<details><summary>Answer</summary>\n\nThis.\n\nThat.\n\n</details>"
)


def test_a_heading_stays_with_what_follows_and_a_list_with_what_announces_it() -> None:
    """Otherwise prose may end after any paragraph."""
    text = "## Title\n\nFirst.\n\nSecond:\n\n- one\n- two\n\nThird."
    assert blocks.blocks(text) == ["## Title\n\nFirst.", "Second:\n\n- one\n- two", "Third."]


def test_a_question_stays_with_its_folded_answer() -> None:
    """Folded text is never cut, blank lines in it or not."""
    assert blocks.blocks(f"Before.\n\n{FOLDED}\n\nAfter.") == ["Before.", FOLDED, "After."]


def test_code_in_fences_is_one_block() -> None:
    """A blank line in code ends nothing."""
    fence = "```\na = 1\n\nb = 2\n```"
    assert blocks.blocks(f"Text.\n\n{fence}") == ["Text.", fence]


def test_folded_text_takes_one_line() -> None:
    """What is folded away takes no room."""
    long = FOLDED.replace("This.", "This. " * 300)
    assert blocks.prose_height(long, IMAGES) == blocks.prose_height(FOLDED, IMAGES)


def test_a_figure_is_as_high_as_it_is_drawn_or_shrunk() -> None:
    """All figures of the course have a size that is read, and none is higher than a slide."""
    figures = sorted((ROOT / "images").glob("*.svg"))
    heights = {path.name: blocks.figure_height(path) for path in figures}
    assert all(100 < height <= blocks.FIGURE_HEIGHT for height in heights.values())
    assert len(set(heights.values())) > len(heights) / 2


@pytest.mark.parametrize(("lines", "height"), [(1, 54), (10, 306)])
def test_code_is_as_high_as_its_lines(lines: int, height: int) -> None:
    """A line of code takes 28 pixels, and the box around it 26 more."""
    assert blocks.code_height("x\n" * lines) == height


def test_pictures_of_one_cell_share_rows() -> None:
    """Three pictures take two rows; a picture and text stand below each other."""
    text = new_output("stream", text="a\nb\n")
    picture = new_output("display_data", {"image/png": PNG})
    assert blocks.outputs_height(new_code_cell(outputs=[text])) == 2 * 26 + 14
    one = blocks.outputs_height(new_code_cell(outputs=[picture]))
    assert one == blocks.GIVES * 560 + 14
    three = blocks.outputs_height(new_code_cell(outputs=[picture] * 3))
    assert three == pytest.approx(2 * 0.8 * one)
    assert blocks.outputs_height(new_code_cell(outputs=[picture, text])) > one


# the first 24 bytes of a picture 600 × 300: signature, IHDR, size
PNG = "iVBORw0KGgoAAAANSUhEUgAAAlgAAAEs"


def test_set_up_and_checks_are_known_by_their_looks() -> None:
    """Imports and calls that show nothing are set-up; a definition, or an output, is not."""
    assert blocks.only_sets_up(new_code_cell("import math\n\nplots.use_style()"))
    assert not blocks.only_sets_up(new_code_cell("def f(): ..."))
    shown = new_code_cell("print(1)", outputs=[new_output("stream", text="1\n")])
    assert not blocks.only_sets_up(shown)
    card = [new_output("display_data", {"text/html": "<p>right</p>"})]
    assert blocks.only_checks(new_code_cell('check("softmax")', outputs=card))
    assert not blocks.only_checks(new_code_cell('print(check("softmax"))', outputs=card))
