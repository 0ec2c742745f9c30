"""Slides hold an idea each; tests, set-up and hints are not for the room, answers are folded.

A lesson opened in front of a room is a copy: whatever happens to it, the course stays as it is.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from autograder.cli import main
from autograder.lecture import pages
from autograder.lecture.pages import CONTROLS, live_notebook, slide_notebook, solved_lesson, without_controls
from autograder.model.course import Course
from autograder.model.lesson_text import read_lesson

COURSE = Course(ROOT)
LESSON = "03_attention"


def made(lesson: str, layout: Any, **options: bool) -> Any:
    """Return a lesson's notebook, laid out."""
    return layout(*solved_lesson(COURSE, lesson), **options)


def copied(lesson: str, folder: Path, *, student: bool = False) -> Path:
    """Return the notebook of a copy made in a folder."""
    pages.copy_lesson(COURSE, lesson, folder, student=student)
    return pages.copy_path(COURSE, lesson, folder, student=student)


def kinds(notebook: Any) -> list[str]:
    """Return the slide type of each cell."""
    return [cell.metadata.get("slideshow", {}).get("slide_type", "") for cell in notebook.cells]


def sources(notebook: Any) -> str:
    """Return all text of a notebook."""
    return "\n".join(cell.source for cell in notebook.cells)


@pytest.fixture(scope="module")
def slides() -> Any:
    """A real lesson as it is exported."""
    return made(LESSON, slide_notebook)


@pytest.fixture(scope="module")
def live() -> Any:
    """The same lesson as it is run live."""
    return made(LESSON, live_notebook)


def test_a_live_lesson_has_all_of_its_code_in_order(live: Any) -> None:
    """Every cell of the solved lesson is there and runs, whether it is on a slide or not."""
    solved = nbformat.read(COURSE.solved_notebook(LESSON), as_version=4)
    code = [cell.source for cell in solved.cells if cell.cell_type == "code"]
    assert [cell.source for cell in live.cells if cell.cell_type == "code"] == code


def test_a_live_lesson_hides_set_up_tests_and_hints(live: Any) -> None:
    """They are in the notebook, and skipped."""
    skipped = {cell.id for cell, kind in zip(live.cells, kinds(live), strict=True) if kind == "skip"}
    assert {"setup-1", "softmax", "softmax-test", "attention-shapes-test"} <= skipped
    assert not any("What is assessed" in cell.source for cell in live.cells if cell.id not in skipped)
    assert not any("<summary>Hint" in cell.source for cell in live.cells if cell.id not in skipped)
    assert len([one for one in kinds(live) if one in ("slide", "subslide")]) < 80


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_a_live_slide_shows_an_output_that_answers_its_question_only_with_the_next_step(lesson: str) -> None:
    """The lecturer has run everything before, so it would stand there before anybody could predict."""
    asked = False
    for cell in made(lesson, live_notebook).cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "")
        if kind in ("slide", "subslide"):
            asked = False
        if kind not in ("skip", "notes"):
            assert not (asked and cell.cell_type == "code" and cell.outputs and kind != "fragment"), cell.source
            asked = cell.cell_type == "markdown" and (asked or "**Predict" in cell.source)


def test_a_live_lesson_folds_the_speaker_notes(live: Any) -> None:
    """The notebook beside the slides would say everything twice, and running markdown unfolds it."""
    cells = [cell for cell, kind in zip(live.cells, kinds(live), strict=True) if kind == "notes"]
    assert cells
    assert all(cell.cell_type == "raw" and cell.source.startswith("Speaker notes\n") for cell in cells)
    assert all(cell.metadata["jupyter"]["source_hidden"] for cell in cells)


def test_an_exercise_shows_what_it_teaches_and_not_its_code(slides: Any) -> None:
    """Its equation, its picture and its statement; one that only asks questions is a line."""
    text = sources(slides)
    assert "### Exercise 1: `softmax`\n\nYour function must work along any dimension" in text
    assert "images/attention_pipeline.svg" in text
    assert "(equation 1)" in text
    assert "**Exercise** · shapes and choices" in text
    assert '"conditions"' not in text
    for about_the_task in ("accepted", "minutes, easy", "You may use", "Fill in the dictionary"):
        assert about_the_task not in text


def test_no_key_sentence_lacks_its_premises(slides: Any) -> None:
    """What stands between the first sentence and the last one shown is shown too."""
    assert "it **breaks for large scores**" in sources(slides)
    assert re.search(r"largest score of the row.*\$e\^\{-c\}\$.*With the maximum", sources(slides))


def test_the_room_sees_no_points_no_code_of_exercises_and_no_glossary(slides: Any) -> None:
    """What is assessed is for students; the rest of the lesson is there."""
    text = sources(slides)
    for absent in ("points)", "NotImplementedError", "exponentials", "What is assessed", "Glossary"):
        assert absent not in text
    assert "attention_scores" in text
    assert "no_cat = torch.ones" in text


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_a_deck_without_exercises_holds_no_model_answer(lesson: str) -> None:
    """None of the code cells that students fill in is on it, nor a written answer."""
    answered = [cell for cell in read_lesson(COURSE.text(lesson)).cells if cell.kind.is_answered]
    deck = made(lesson, slide_notebook)
    assert answered
    assert not {cell.exercise for cell in answered} & {cell.id for cell in deck.cells}
    assert "Model answer" not in sources(deck)


ELSEWHERE = re.compile(
    r"\b[Oo]n the (?:left|right)\b[ ,]*(?:only|the|each)|^Left and right|\b[Tt]he (?:orange|blue) (?:line|bars|one)\b"
    r"(?! of the plot)|[Pp]rinted line|\b(?:model|prompts|figure|picture) above\b|^These are the heads|^(?:The )?\w+ of these heads",
    re.MULTILINE,
)


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_no_slide_of_words_points_at_what_is_elsewhere(lesson: str) -> None:
    """Without something to look at, it has no left, no orange line, and nothing above."""
    text, notebook, folder = solved_lesson(COURSE, lesson)
    for about, cell in zip(text.cells, notebook.cells, strict=True):
        cell.source = about.text if about.kind.is_markdown else cell.source
    words, seen, found = "", False, []
    for cell in [*slide_notebook(text, notebook, folder).cells, new_markdown_cell(metadata={"slideshow": {"slide_type": "slide"}})]:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "")
        if kind in ("slide", "subslide"):
            found += [] if seen else ELSEWHERE.findall(words)
            words, seen = "", False
        if kind != "notes":
            words += cell.source + "\n" if cell.cell_type == "markdown" else ""
            seen = seen or "![" in cell.source or any("image/png" in str(one) for one in cell.get("outputs", []))
    assert found == []


def slides_of(lesson: str) -> list[str]:
    """Return the code and words of each slide of a lesson's text, without the notes."""
    text, notebook, folder = solved_lesson(COURSE, lesson)
    for about, cell in zip(text.cells, notebook.cells, strict=True):
        cell.source = about.text if about.kind.is_markdown else cell.source
    found: list[str] = []
    for cell in slide_notebook(text, notebook, folder).cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type", "")
        if kind in ("slide", "subslide"):
            found.append("")
        if found and kind not in ("notes", "skip"):
            found[-1] += cell.source + "\n"
    return found


SAID = [
    ("01_embeddings", '"rows shuffled"', "`↵`"),
    ("01_embeddings", "neighbours(table[word]", "`##` marks"),
    ("01_embeddings", "nearest(model.table, row, 8)", "**nearest tokens**"),
    ("05_encoder", "x.grad.norm()", "almost nine tenths"),
    ("08_attention_visualisation", '"without eight"', "`↵`"),
    ("08_attention_visualisation", 'title="decoder self-attention"', "blank above the diagonal"),
    ("08_attention_visualisation", 'title="encoder self-attention"', "both sides of the diagonal"),
    ("08_attention_visualisation", '"mean entropy (nats)"', "Layer 0 is broad"),
    ("08_attention_visualisation", '"weight on [CLS] and [SEP]"', "In layers 1 to 4"),
    ("08_attention_visualisation", "attention_plots.ablation(", "a broad head of the encoder"),
]


@pytest.mark.parametrize(("lesson", "shown", "says"), SAID)
def test_a_slide_says_what_its_output_shows(lesson: str, shown: str, says: str) -> None:
    """What a room needs to read an output is on its slide, not only in the notes."""
    assert any(shown in slide and says in slide for slide in slides_of(lesson))


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_no_slide_speaks_about_controls_that_are_not_there(lesson: str) -> None:
    """Neither do the speaker notes."""
    prose = [cell.source for cell in made(lesson, slide_notebook).cells if cell.cell_type != "code"]
    stale = re.compile(r"running kernel|slider|[Dd]rag |run the cell|press Enter|YOUR CODE|run `skip\(")
    assert [text for text in prose if stale.search(text)] == []


def test_long_prose_is_in_the_notes_and_its_key_sentences_on_the_slide(slides: Any) -> None:
    """A slide keeps what defines a term; the lecturer reads the paragraph in full."""
    notes = "\n".join(
        cell.source for cell, kind in zip(slides.cells, kinds(slides), strict=True) if kind == "notes"
    )
    shown = "\n".join(
        cell.source for cell, kind in zip(slides.cells, kinds(slides), strict=True) if kind != "notes"
    )
    assert "**weighted mean of the values**" in shown
    assert "Every step can be differentiated" in notes
    assert "Every step can be differentiated" not in shown


def test_exported_slides_fold_answers_under_what_students_see() -> None:
    """The skeleton is shown, and the answer follows, marked for folding."""
    slides = made(LESSON, slide_notebook, exercises=True)
    cells = {cell.id: (place, cell) for place, cell in enumerate(slides.cells)}
    place, skeleton = cells["softmax-skeleton"]
    assert "raise NotImplementedError" in skeleton.source
    assert slides.cells[place + 1].id == "softmax"
    assert slides.cells[place + 1].metadata["tags"] == ["answer"]
    assert not kinds(slides)[place + 1]


def test_a_written_answer_is_folded_too() -> None:
    """The question is shown and its answer folded, and marked as one that the right arrow does not open."""
    notebook = made("05_encoder", slide_notebook, exercises=True)
    written = [cell for cell in notebook.cells if "<summary>Model" in cell.source]
    assert len(written) == 2
    assert all(cell.source.startswith('<details class="answer">') for cell in written)
    assert all(cell.source.count("<details") == cell.source.count("</details>") for cell in written)


def test_exported_slides_leave_out_what_needs_a_kernel(slides: Any) -> None:
    """No controls, no tests, no hints; the still picture before the controls is there."""
    text = sources(slides)
    assert "@interact" not in text
    assert "visible tests pass" not in text
    assert "<summary>Hint" not in text
    assert "sorted_weights" in text


def test_html_beside_controls_takes_their_place_on_a_slide() -> None:
    """A box to type in comes with a recorded conversation; controls without any are left out."""
    still, bare = (
        new_code_cell("box()", outputs=[new_output("display_data", {CONTROLS: {}, **more})])
        for more in ({"text/html": "<p>said</p>"}, {})
    )
    shown = without_controls(still)
    assert [dict(output.data) for output in shown.outputs] == [{"text/html": "<p>said</p>"}]
    assert CONTROLS in still.outputs[0].data
    assert without_controls(bare) is None


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_controls_have_a_still_picture_before_them(lesson: str) -> None:
    """Under the same heading as a cell with controls, another cell draws or prints something still."""
    notebook = nbformat.read(COURSE.solved_notebook(lesson), as_version=4)
    widget = "application/vnd.jupyter.widget-view+json"
    drawn = False
    for cell in notebook.cells:
        if cell.source.startswith(("# ", "## ")) and cell.cell_type == "markdown":
            drawn = False
        found = [kind for output in cell.get("outputs", []) for kind in output.get("data", {})]
        assert widget not in found or drawn
        drawn = drawn or "image/png" in found or any("text" in output for output in cell.get("outputs", []))


def test_every_slide_without_a_heading_says_what_it_is_under(slides: Any) -> None:
    """Whoever looks up finds out where the lecture is."""
    for cell, kind in zip(slides.cells, kinds(slides), strict=True):
        if kind in ("slide", "subslide") and not cell.source.lstrip().startswith("#"):
            assert cell.metadata["title"]


def test_cell_ids_are_unique_and_the_notebooks_valid(slides: Any, live: Any) -> None:
    """Split cells get ids of their own."""
    for notebook in (slides, live):
        ids = [cell.id for cell in notebook.cells]
        assert len(ids) == len(set(ids))
        nbformat.validate(notebook)


def test_the_solved_lesson_comes_with_its_pictures(tmp_path: Path) -> None:
    """Every picture it shows lies beside it, and the slides' settings are in it."""
    notebook = copied("03_attention", tmp_path)
    assert notebook.parent == tmp_path
    assert (tmp_path / "images" / "attention_retrieval.svg").is_file()
    assert nbformat.read(notebook, as_version=4).metadata["rise"]["scroll"] is True


def test_the_released_lesson_is_what_a_student_has(tmp_path: Path) -> None:
    """The same bytes, in a folder of its own."""
    notebook = copied("03_attention", tmp_path, student=True)
    assert notebook.read_bytes() == COURSE.release_notebook("03_attention").read_bytes()
    assert notebook.parent.name == "03_attention"


@pytest.mark.parametrize("options", [(), ("--student",)])
def test_the_command_makes_a_copy_and_says_where(tmp_path: Path, options: tuple[str, ...]) -> None:
    """`make lesson N=3` and `make student N=3`, JupyterLab aside."""
    command = ["open", "3", "--no-lab", "--folder", str(tmp_path), *options]
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 0, told.output
    assert Path(told.output.split(": ")[1].strip()).is_file()


@pytest.mark.parametrize("options", [(), ("--student",)])
def test_an_edited_copy_is_never_written_over(tmp_path: Path, options: tuple[str, ...]) -> None:
    """It is opened as its owner left it, and the command says so."""
    command = ["open", "3", "--no-lab", "--folder", str(tmp_path), *options]
    copy = Path(CliRunner().invoke(main, command).output.split(": ")[1].strip())
    copy.write_text("mine")
    told = CliRunner().invoke(main, command)
    assert copy.read_text() == "mine"
    assert "as you left it" in told.output
    assert told.output.strip().endswith(f": {copy}")


def test_a_jupyterlab_that_does_not_start_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, for one: the last line says what to do, and where the copy is."""
    monkeypatch.setattr("autograder.lecture.pages.lab_command", lambda _: [sys.executable, "-c", "raise SystemExit(1)"])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    told = CliRunner().invoke(main, ["open", "3", "--folder", str(tmp_path)])
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    assert "JupyterLab ended with status 1, and said above why; if it refused to run as root, be another user" in told.stderr
    assert str(tmp_path / "03_attention.ipynb") in told.stderr


def test_a_signal_that_ends_jupyterlab_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JupyterLab itself said nothing then, and did start."""
    ends = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr("autograder.lecture.pages.lab_command", lambda _: [sys.executable, "-c", ends])
    monkeypatch.setattr("os.geteuid", lambda: 0)
    told = CliRunner().invoke(main, ["open", "3", "--folder", str(tmp_path)])
    assert told.exit_code == 2
    assert f": JupyterLab was killed by signal 9; your copy is {tmp_path / '03_attention.ipynb'}; " in told.stderr


def test_ctrl_c_is_left_to_jupyterlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks whether to shut down: it is not killed while it does."""
    asks = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(1)"
    monkeypatch.setattr("autograder.lecture.pages.lab_command", lambda _: [sys.executable, "-c", asks])
    told = CliRunner().invoke(main, ["open", "3", "--folder", str(tmp_path)])
    assert told.exit_code == 0, told.output


def test_jupyterlab_sees_the_copy_and_nothing_else(tmp_path: Path) -> None:
    """Its root is the folder of the copy, and formgrader does not look for a course there."""
    command = pages.lab_command(tmp_path / "03_attention.ipynb")
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert any("formgrader=False" in part for part in command)


# Runs the set-up of notebooks, each in its own folder, and says what was brought in from where.
SET_UP = """
import json, os, sys
for path in sys.argv[1:]:
    os.chdir(os.path.dirname(path))
    cells = json.load(open(path))["cells"]
    (setup,) = [cell for cell in cells if cell["id"] == "setup-1"]
    exec("".join(setup["source"]), {})
"""


def test_any_lesson_can_be_opened_first(tmp_path: Path) -> None:
    """What earlier lessons build is there: without them next door, stand-ins take over."""
    paths = []
    for name in COURSE.lessons():
        paths += [copied(name, tmp_path / name / "solved")]
        paths += [copied(name, tmp_path / name / "released", student=True)]
    done = subprocess.run(
        [sys.executable, "-c", SET_UP, *map(str, paths)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MultiHeadAttention: the stand-in, since") >= 2
    assert "Decoder: the stand-in, since" in done.stdout


def test_set_up_and_checks_are_known_by_their_looks() -> None:
    """Imports and calls that show nothing are set-up; a definition, or an output, is not."""
    assert pages.only_sets_up(new_code_cell("import math\n\nplots.use_style()"))
    assert not pages.only_sets_up(new_code_cell("def f(): ..."))
    shown = new_code_cell("print(1)", outputs=[new_output("stream", text="1\n")])
    assert not pages.only_sets_up(shown)
    card = [new_output("display_data", {"text/html": "<p>right</p>"})]
    assert pages.only_checks(new_code_cell('check("softmax")', outputs=card))
    assert not pages.only_checks(new_code_cell('print(check("softmax"))', outputs=card))
