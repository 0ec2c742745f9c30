"""A slide of text repeats the picture that it is about; nearly every slide has something to look at."""

import base64
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from test_pages import COURSE, made, slide_notebook

from autograder.lecture.pages import laid_out
from autograder.lecture.paging import KEPT, Piece, accompanied, kept, marked

SIZE = (600).to_bytes(4, "big") + (300).to_bytes(4, "big")
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + SIZE).decode()
ASKED = "**Predict.** Why?\n\n<details><summary>Answer</summary>\n\nSo.\n\n</details>"
STANDING = ("You will be able to", "After this lesson you can", "What you can do now")


def text(source: str, height: float = 100, slide: str = "subslide") -> Piece:
    """Return prose that begins a slide."""
    return marked(Piece(new_markdown_cell(source), height), slide)


def code(output: Any, slide: str = "") -> Piece:
    """Return code with an output."""
    return marked(laid_out(new_code_cell("x = 1", outputs=[output]), ""), slide)


def drawn(slide: str = "") -> Piece:
    """Return code that drew a picture."""
    return code(new_output("display_data", {"image/png": PICTURE}), slide)


def test_text_about_a_picture_keeps_it_in_view() -> None:
    """Until the next heading."""
    pieces = [text("## Title"), drawn(), text("The line falls."), text("## Next")]
    shown = list(accompanied(pieces))
    tags = [piece.cell.metadata.get("tags", []) for piece in shown]
    assert tags == [[], [], [], [KEPT], []]
    assert shown[3].cell.source == ""
    assert "image/png" in shown[3].cell.outputs[0].data


@pytest.mark.parametrize(("source", "number"), [("The last column.", 4), (ASKED, 3)])
def test_a_printed_table_is_kept_for_a_comment_but_not_for_a_question(
    source: str, number: int
) -> None:
    """A question has an answer of its own."""
    printed = code(new_output("stream", text="a 1\nb 2\n"))
    assert len(list(accompanied([text("## Title"), printed, text(source)]))) == number


def test_figures_and_tables_of_prose_are_kept_without_their_text() -> None:
    """What frames show is not: it would run twice."""
    figure = kept(text("Look.\n\n![two lines](images/a.svg)"))
    assert figure
    assert figure.cell.source == "![two lines](images/a.svg)"
    table = kept(text("Look.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nMore."))
    assert table
    assert table.cell.source == "| a | b |\n|---|---|\n| 1 | 2 |"
    assert kept(text("Words.")) is None
    assert kept(code(new_output("display_data", {"text/html": "<iframe></iframe>"}))) is None


def test_progress_bars_are_no_output() -> None:
    """The lines around them stay."""
    bar = "100%|████████| 150/150 [00:00<00:00, 156.99it/s, loss 0.016]\n"
    assert (
        laid_out(
            new_code_cell("train()", outputs=[new_output("stream", text=bar)]), ""
        ).cell.outputs
        == []
    )
    some = new_output("stream", text=f"{bar}four hundred\n")
    assert laid_out(new_code_cell("x", outputs=[some]), "").cell.outputs[0].text == "four hundred\n"


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_no_deck_shows_a_progress_bar(lesson: str) -> None:
    """Whatever the notebook printed while it trained."""
    outputs = [
        output for cell in made(lesson, slide_notebook).cells for output in cell.get("outputs", [])
    ]
    assert outputs
    assert not any("%|" in output.get("text", "") for output in outputs)


def sights() -> dict[str, list[bool]]:
    """Return, for each lesson, which of its slides have something to look at; goals and recap aside."""
    found = {}
    for lesson in COURSE.lessons():
        slides: list[list[Any]] = []
        for cell in made(lesson, slide_notebook).cells:
            if cell.metadata.get("slideshow", {}).get("slide_type") in ("slide", "subslide"):
                slides.append([])
            if cell.metadata.get("slideshow", {}).get("slide_type") != "notes":
                slides[-1].append(cell)
        found[lesson] = [
            any(_seen(cell) for cell in slide)
            for slide in slides
            if not any(words in slide[0].source for words in STANDING)
        ]
    return found


def _seen(cell: Any) -> bool:
    if cell.cell_type == "code":
        return bool(cell.outputs) or "folded" not in cell.metadata.get("tags", [])
    return "![" in cell.source or bool(kept(Piece(cell, 0)))


def test_nearly_every_slide_has_something_to_look_at() -> None:
    """A picture, an output, code or a table: on more than six of seven slides, and in any lesson on most."""
    found = sights()
    seen = [one for slides in found.values() for one in slides]
    assert sum(seen) / len(seen) > 6 / 7
    assert all(sum(slides) / len(slides) > 0.7 for slides in found.values())
