"""The lessons as pages: what students have, with what its demos gave, and nothing beside."""

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner
from conftest import ROOT
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from autograder.cli import main
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.site.build import write_site
from autograder.site.page import NEEDS_KERNEL, LessonPage

COURSE = Course(ROOT)
SKELETON = "def half(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
ANSWER = "def half(x):\n    return x / 2"
PICTURE = {"image/png": "aWNv"}


def code(name: str, source: str, **output: object) -> NotebookNode:
    """Return a code cell that gave something."""
    outputs = [new_output("display_data", output)] if output else []
    return new_code_cell(source, id=name, outputs=outputs)


def answer(source: str, **output: object) -> NotebookNode:
    """Return the cell that a student fills in."""
    cell = code("half", source, **output)
    cell.metadata["nbgrader"] = {"solution": True, "grade": False, "grade_id": "half"}
    return cell


def test_code_is_the_released_and_outputs_are_those_of_equal_code() -> None:
    """An answer shows nothing of the solved notebook; nor do a test, a check, and a cell that has changed."""
    test = {"nbgrader": {"grade": True, "grade_id": "half-test"}}
    released = [answer(SKELETON), code("t", "assert half"), code("c", 'check("half")'), code("d", "draw()"), code("e", "new()")]
    said = {"text/plain": "TOLD"}
    solved = [answer(ANSWER, **said), code("t", "assert half", **said), code("c", 'check("half")', **said),
              code("d", "draw()", **PICTURE), code("e", "old()", **said)]  # fmt: skip
    released[1].metadata = solved[1].metadata = test
    page = LessonPage("01", new_notebook(cells=released), new_notebook(cells=solved), b"")
    whole = "".join(block.html + block.outputs for block in page.blocks)
    assert "YOUR CODE HERE" in whole
    assert "return" not in BeautifulSoup(whole, "html.parser").get_text()
    assert "TOLD" not in whole
    assert [bool(block.outputs) for block in page.blocks] == [False, False, False, True, False]
    assert page.blocks[0].exercise == "half"
    assert [block.is_test for block in page.blocks] == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ({"application/vnd.jupyter.widget-view+json": {}, "text/plain": "VBox()"}, NEEDS_KERNEL),
        ({"application/vnd.jupyter.widget-view+json": {}, "text/html": "<b>still</b>"}, "<b>still</b>"),
        ({"text/plain": "a < b"}, "<pre>a &lt; b</pre>"),
        ({"text/html": "<b>bold</b>", "text/plain": "x"}, "<b>bold</b>"),
    ],
)
def test_each_kind_of_output_is_shown_its_own_way(output: dict[str, object], shown: str) -> None:
    """A control is announced, unless HTML takes its place; text is escaped, and a view of our own is shown as it is."""
    notebook = new_notebook(cells=[code("d", "show()", **output)])
    (block,) = LessonPage("01", notebook, notebook, b"").blocks
    assert block.outputs == shown


def test_headings_can_be_linked_to_and_found() -> None:
    """Twice the same gets another name; what is folded is in no search; code under a heading is."""
    cells = [
        new_markdown_cell("# One\n\nfirst words\n\n## Masks\n\nto see\n\n<details><summary>Hint</summary>\n\nsecret\n\n</details>"),
        code("d", "def triangle(): ..."),
        new_markdown_cell("## Masks\n\nagain"),
    ]  # fmt: skip
    page = LessonPage("01", new_notebook(cells=cells), new_notebook(cells=cells), b"")
    assert page.title == "One"
    assert [(one.id, one.level) for one in page.sections] == [("one", 0), ("masks", 1), ("masks-1", 1)]
    assert "triangle" in page.sections[1].text
    assert "secret" not in "".join(one.text for one in page.sections)
    assert all(f'id="{one.id}"' in page.blocks[0].html + page.blocks[2].html for one in page.sections)


def test_a_formula_in_a_heading_is_found_with_its_signs() -> None:
    """A root and a fraction have no character of their own in MathML."""
    cells = [new_markdown_cell(r"# One" "\n\n" r"## Why $\sqrt{d_k}$, not $\frac{a}{b}$" "\n\n" r"by $1/\sqrt{d_k}$ each")]
    (_, section) = LessonPage("01", new_notebook(cells=cells), new_notebook(cells=cells), b"").sections
    assert section.title == "Why √dk, not a/b"
    assert "1/√dk" in section.text


def test_a_lesson_says_what_it_teaches() -> None:
    """From its own first cell and its points."""
    said = "# One\n\n**You will be able to**\n\n- add $x$;\n- see.\n\n**Time** about 9 minutes\n\nMore."
    graded = answer(SKELETON)
    graded.metadata["nbgrader"]["points"] = 2
    notebook = new_notebook(cells=[new_markdown_cell(said), graded])
    page = LessonPage("01", notebook, notebook, b"")
    assert [BeautifulSoup(each, "html.parser").get_text() for each in page.goals] == ["add x;", "see."]
    assert page.facts == "<strong>Time</strong> about 9 minutes"
    assert page.points == 2


def test_what_answers_a_prediction_is_folded() -> None:
    """A reader who is asked to predict a picture does not see it first."""
    cells = [new_markdown_cell("**Predict, then run.** Up or down?"), code("d", "draw()", **PICTURE)]
    assert LessonPage("01", new_notebook(cells=cells), new_notebook(cells=cells), b"").blocks[1].is_revealed


@pytest.mark.full("reads every page of the course", seconds=10)
def test_the_course_is_written_whole(tmp_path: Path) -> None:
    """`autograder site`: a page, a notebook and all pictures for each lesson, every link within leads somewhere."""
    done = CliRunner().invoke(main, ["--course", str(ROOT), "site", "--folder", str(tmp_path), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"written": [str(tmp_path / "index.html")]}
    assert write_site(COURSE, tmp_path) == tmp_path / "index.html"  # over itself
    for page in tmp_path.rglob("index.html"):
        html = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        places = [part[name] for name in ("href", "src") for part in html.select(f"[{name}]")]
        within = [place for place in places if not place.startswith(("data:", "https://"))]
        for file, _, part in (place.partition("#") for place in within):
            target = page.parent / file if file else page
            assert target.is_file(), file
            if part:
                assert f'id="{part}"' in target.read_text(encoding="utf-8")
        loaded = [part["src"] for part in html.select("[src]")] + [part["href"] for part in html.select("link")]
        assert not [place for place in loaded if place.startswith("http")]
    for lesson in COURSE.lessons():
        text = (tmp_path / lesson / "index.html").read_text(encoding="utf-8")
        assert f'download="{lesson}.ipynb"' in text
        assert (tmp_path / lesson / f"{lesson}.ipynb").is_file()
        assert '<h1 id="' in text
        assert '<a href="../index.html#work">what it needs to run</a>' in text
    work = BeautifulSoup((tmp_path / "index.html").read_text(encoding="utf-8"), "html.parser").select_one("#work")
    assert work
    assert all(words in work.get_text() for words in ("coursework", "zip", "HOWTO.md", "Assignment List"))
    assert (tmp_path / "sections.js").read_text(encoding="utf-8").startswith("const SECTIONS = [")


def test_a_first_page_of_something_else_is_never_written_over(tmp_path: Path) -> None:
    """Which would be lost without a word."""
    (tmp_path / "index.html").write_text("<h1>My own page</h1>")
    with pytest.raises(CourseError, match=r"index\.html is not a page of this course: move it"):
        write_site(COURSE, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_a_page_that_gives_an_answer_away_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command names the answer, and nothing is left behind."""
    from autograder.model.lesson_text import read_lesson

    told = read_lesson(COURSE.text("03_attention")).answer("scaled-dot-product-attention")
    notebook = new_notebook(cells=[new_markdown_cell("# Told"), code("d", told)])
    monkeypatch.setattr("autograder.site.build._lesson", lambda _, name: LessonPage(name, notebook, notebook, b""))
    done = CliRunner().invoke(main, ["--course", str(ROOT), "site", "--folder", str(tmp_path)])
    assert done.exit_code == 2
    assert "gives away the solution of 03_attention/scaled-dot-product-attention" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["site"], ["lectures", "03"], ["open", "03", "--no-lab"]])
def test_without_the_solutions_the_command_says_where_they_come_from(tmp_path: Path, command: list[str]) -> None:
    """A folder that is enough to grade with has none, and no figures to build them from."""
    (tmp_path / "nbgrader_config.py").touch()
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "03_attention.py").touch()
    done = CliRunner().invoke(main, ["--course", str(tmp_path), *command])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert f"no solutions in the course folder: expected {tmp_path / 'solutions'}; copy it from the project" in done.stderr
