"""A slide of text repeats the picture that it is about; most slides have something to look at.

Heights are about right.
"""

import base64
from typing import Any

import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from test_pages import COURSE, made, slide_notebook

from autograder.lecture import breaks, pages, paging
from autograder.lecture.pages import laid_out, solved_lesson
from autograder.lecture.paging import KEPT, Piece, accompanied, kept, marked

SIZE = (600).to_bytes(4, "big") + (300).to_bytes(4, "big")
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + SIZE).decode()
ASKED = "**Predict.** Why?\n\n<details><summary>Answer</summary>\n\nSo.\n\n</details>"
IMAGES = ROOT / "solutions"
STANDING = ("You will be able to", "After this lesson you can", "What you can do now")


def text(source: str, height: float = 100, slide: str = "subslide") -> Piece:
    """Return prose that begins a slide."""
    return marked(Piece(new_markdown_cell(source), height), slide)


def code(output: Any, slide: str = "") -> Piece:
    """Return code with an output."""
    return marked(next(laid_out(new_code_cell("x = 1", outputs=[output]), "")), slide)


def drawn(slide: str = "") -> Piece:
    """Return code that drew a picture."""
    return code(new_output("display_data", {"image/png": PICTURE}), slide)


def test_text_about_a_picture_keeps_it_in_view() -> None:
    """Until the next heading."""
    pieces = [text("## Title"), drawn(), text("The line falls."), text("## Next")]
    shown = list(accompanied(pieces))
    tags = [piece.cell.metadata.get("tags", []) for piece in shown]
    assert tags == [[], [paging.FOLDED], [], [KEPT], []]
    assert shown[3].cell.source == ""
    assert "image/png" in shown[3].cell.outputs[0].data


@pytest.mark.parametrize("heading", ["### Exercise 2: `softmax`", "## Stretch: `attention_cost`"])
def test_an_exercise_does_not_keep_what_was_shown_before_it(heading: str) -> None:
    """It is about something else; an output left there would look like a part of the task."""
    printed = code(new_output("stream", text="no scale: gibberish\n"))
    assert len(list(accompanied([text("## Title"), printed, text(heading), text("Count the cost.")]))) == 4


def test_a_stretch_exercise_is_a_section_of_its_own() -> None:
    """The line at the top of its slides says so, and not the name of the section before."""
    pieces = [text("## In a real model"), text("## Stretch: `attention_cost`"), text("Count the cost.")]
    titles = [piece.cell.metadata.get("title") for piece in paging.titled(pieces)]
    assert titles == [None, None, "Stretch: `attention_cost`"]


def test_a_slide_that_comes_to_another_subject_keeps_nothing() -> None:
    """What was shown before would stand below the new heading."""
    task = marked(Piece(new_markdown_cell("### Exercise 2: `softmax`"), 100), "")
    assert len(list(accompanied([text("## Title"), drawn(), text("So it is small."), task]))) == 4


def test_a_slide_that_announces_a_picture_does_not_repeat_another() -> None:
    """It would look like the one that is announced."""
    announced = text("**As waves.** Here are some of the columns as curves.")
    assert len(list(accompanied([text("## Title"), drawn(), announced, drawn("subslide")]))) == 4


def test_words_in_bold_come_to_another_subject() -> None:
    """They are a heading in all but type; a question about what was shown is none."""
    shown = [text("## Title"), drawn()]
    assert len(list(accompanied([*shown, text("**All words at once.** Stack the queries.")]))) == 3
    assert len(list(accompanied([*shown, text("**Predict, then reveal.** Which is darker?")]))) == 4


def test_code_that_is_to_be_read_stays_open() -> None:
    """In a case the mistake is in the code; elsewhere code without output is folded for lack of room."""
    source = "\n".join(f"x{n} = {n}" for n in range(5))
    cell = Piece(new_code_cell(source), 200, folded=paging.NOTHING)
    row = [text("### Case: no end"), cell, text("### Next"), cell]
    assert [piece.folded for piece in paging.opened_cases(row)] == [0, 0, 0, paging.NOTHING]


@pytest.mark.parametrize(("source", "number"), [("The last column.", 4), (ASKED, 3)])
def test_a_printed_table_is_kept_for_a_comment_but_not_for_a_question(source: str, number: int) -> None:
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
        next(laid_out(new_code_cell("train()", outputs=[new_output("stream", text=bar)]), "")).cell.outputs
        == []
    )
    some = new_output("stream", text=f"{bar}four hundred\n")
    assert next(laid_out(new_code_cell("x", outputs=[some]), "")).cell.outputs[0].text == "four hundred\n"


def test_the_code_of_a_picture_is_folded_and_wide_pictures_stand_alone() -> None:
    """A slide has two pictures in a row only if their type stays legible."""
    one, other = (new_output("display_data", {"image/png": PICTURE}) for _ in range(2))
    (narrow,) = laid_out(new_code_cell("plot()", outputs=[one]), "")
    assert narrow.cell.metadata["tags"] == [paging.FOLDED]
    first, second = laid_out(new_code_cell("plot()", outputs=[one, other]), "")
    assert first.cell.source == "plot()"
    assert second.cell.source == ""
    assert all(len(piece.cell.outputs) == 1 for piece in (first, second))


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_no_deck_shows_a_progress_bar(lesson: str) -> None:
    """Whatever the notebook printed while it trained."""
    outputs = [output for cell in made(lesson, slide_notebook).cells for output in cell.get("outputs", [])]
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


def test_most_slides_have_something_to_look_at() -> None:
    """A picture, an output, code or a table: on more than two of three slides, and in any lesson on most.

    No picture is made illegible to stand beside text.
    """
    found = sights()
    seen = [one for slides in found.values() for one in slides]
    assert sum(seen) / len(seen) > 2 / 3
    assert all(sum(slides) / len(slides) > 0.5 for slides in found.values())


def test_few_slides_are_nearly_empty() -> None:
    """Fewer than one of twelve, with their answers open; their neighbours are full."""
    slides = [slide for lesson in COURSE.lessons() for slide in paging.by_slide(divided(lesson))]
    empty = [slide for slide in slides if sum(piece.height + piece.opens for piece in slide) < 190]
    assert len(empty) < len(slides) / 12


def divided(lesson: str) -> list[Piece]:
    """Return the pieces of a lesson as they are divided into slides."""
    text, notebook, folder = solved_lesson(COURSE, lesson)
    pairs = pages.taught(zip(text.cells, notebook.cells, strict=True))
    pieces = (piece for about, cell in pairs for piece in pages._exported(text, about, cell, folder))
    return list(breaks.paged(piece for piece in pieces if piece.slide != "skip"))


def starts(*pieces: Piece) -> list[int]:
    """Return the places of the pieces that begin a slide."""
    return [place for place, piece in enumerate(breaks.paged(pieces)) if piece.slide in paging.STARTS]


def prose(source: str, height: float = 100, *, leads: bool = False, slide: str = "") -> Piece:
    """Return prose."""
    return Piece(new_markdown_cell(source), height, slide, leads=leads)


def test_a_small_exercise_stands_with_what_it_is_about() -> None:
    """Its author's wish for a slide is not a law; where there is much, it is granted."""
    title, exercise = prose("## Masks", 200, slide="slide"), "### Exercise 1: `mask`\n\nReturn it."
    assert starts(title, prose(exercise, 140, slide="subslide")) == [0]
    assert starts(prose("## Masks", 450, slide="slide"), prose(exercise, 350, slide="subslide")) == [0, 1]


def test_a_heading_of_a_section_begins_a_slide() -> None:
    """However short the sections are."""
    assert starts(prose("## A", 60, slide="slide"), prose("## B", 60, slide="slide")) == [0, 1]


def test_a_sentence_that_announces_an_output_is_on_its_slide() -> None:
    """The break comes before the sentence, even if the slide before it has room for it."""
    output = new_output("stream", text="a line\n" * 15)
    row = [prose("## A", 330, slide="slide"), prose("Here is the list:", leads=True), code(output)]
    assert starts(*row) == [0, 1]


def test_the_sentence_that_reads_a_picture_out_is_on_its_slide() -> None:
    """Text before the picture makes room for it."""
    assert starts(prose("## A", 400, slide="slide"), drawn(), prose("The line falls.", 84)) == [0, 1]


def test_an_output_appears_after_the_question_that_it_answers() -> None:
    """Whether the question has a folded answer of its own or not."""
    for question in (ASKED, "**Predict.** Which is larger?", "Look. **Predict:** which?"):
        row = list(breaks.paged([prose("## A", 60, slide="slide"), prose(question), drawn()]))
        assert [piece.slide for piece in paging.revealed(row)] == ["slide", "", "fragment"]


def test_what_comes_under_another_heading_answers_no_question() -> None:
    """The output of an exercise is not the answer to a question before it."""
    row = [prose("## A", 60, slide="slide"), prose(ASKED, 60), prose("### Exercise 1: `f`", 60), drawn()]
    assert [piece.slide for piece in paging.revealed(row)] == ["slide", "", "", ""]


def test_a_sentence_that_announces_does_not_read_out_what_is_above_it() -> None:
    """It goes with what it announces, even if it stands in a cell of its own."""
    lesson = [Piece(new_markdown_cell("## A"), 300, "slide"), drawn()]
    said = next(iter(pages._abridged("Here are the logits behind it.", "", "said", IMAGES)))
    assert said.leads
    assert starts(*lesson, said, drawn()) == [0, 2]


def test_no_heading_waits_for_an_answer() -> None:
    """What follows an answer on its slide appears with it."""
    row = [prose("## A", 60, slide="slide"), prose(ASKED, 60), drawn(), prose("### Exercise 1: `f`", 60)]
    assert starts(*row) == [0, 3]


def test_markup_takes_no_room() -> None:
    """Neither the stars of bold type nor the commands of a formula make another line."""
    words = "word " * 18
    assert paging.prose_height(f"**{words}** $\\mathrm{{x}}$", IMAGES) == paging.prose_height(words, IMAGES)


def test_paragraphs_of_html_are_as_high_as_they_are_many() -> None:
    """A conversation leaves its slide room for what comes before it."""
    said = new_output("display_data", {"text/html": "<p>you: hello</p><p>model: hello</p>"})
    assert paging.outputs_height({"outputs": [said]}) == 2 * paging.HTML_LINE


def test_folded_text_takes_one_line() -> None:
    """What is folded away takes no room."""
    long = ASKED.replace("So.", "So. " * 300)
    assert paging.prose_height(long, IMAGES) == paging.prose_height(ASKED, IMAGES)


def test_no_type_of_a_drawn_figure_is_smaller_than_20_pixels_on_a_slide() -> None:
    """Its size is 15 points or more, and the figure as wide and as high as a slide at most."""
    for path in sorted((ROOT / "images").glob("*.svg")):
        text = path.read_text(encoding="utf-8")
        size = paging.SVG_SIZE.search(text)
        assert size
        shown = min(1.0, 1200 / (float(size[1]) * paging.PT), 586 / (float(size[2]) * paging.PT))
        points = 100 * min(map(float, paging.TYPE.findall(text)))
        assert points * paging.PT * shown >= 19.9, path.name


def test_a_figure_is_as_high_as_it_is_drawn_or_shrunk() -> None:
    """All figures of the course have a size that is read, and none is higher than a slide."""
    figures = sorted((ROOT / "images").glob("*.svg"))
    heights = {path.name: paging.figure_height(path) for path in figures}
    assert all(100 < height <= paging.FIGURE_HEIGHT for height in heights.values())
    assert len(set(heights.values())) > len(heights) / 2


@pytest.mark.parametrize(("lines", "height"), [(1, 54), (10, 306)])
def test_code_is_as_high_as_its_lines(lines: int, height: int) -> None:
    """A line of code takes 28 pixels, and the box around it 26 more."""
    assert paging.code_height("x\n" * lines) == height


def test_pictures_of_one_cell_share_rows() -> None:
    """Three pictures take two rows; a picture and text stand below each other."""
    text = new_output("stream", text="a\nb\n")
    picture = new_output("display_data", {"image/png": PICTURE})
    assert paging.outputs_height(new_code_cell(outputs=[text])) == 2 * 26 + 14
    one = paging.outputs_height(new_code_cell(outputs=[picture]))
    assert one == pytest.approx(paging.LEGIBLE * 300 + 14)
    three = paging.outputs_height(new_code_cell(outputs=[picture] * 3))
    assert three == pytest.approx(2 * one)
    assert paging.outputs_height(new_code_cell(outputs=[picture, text])) > one


def test_columns_make_no_printed_text_higher() -> None:
    """Short lines take two columns where there are many; long ones would be broken, and stay in one."""
    short, long = (new_output("stream", text=f"{'x' * width}\n" * 30) for width in (20, 90))
    assert paging.outputs_height({"outputs": [short]}) == 15 * 26 + 14
    assert paging.outputs_height({"outputs": [long]}) == 30 * 26 + 14
