"""Slides open from disk with the network cut, and nothing on them is cut off."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT
from nbformat.v4 import new_markdown_cell
from playwright.sync_api import Page, sync_playwright

from autograder.cli import main
from autograder.lecture import slides
from autograder.lecture.slides import typeset
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError, LectureError

CHROMIUM = shutil.which("chromium")
LESSON = "03_attention"


def test_formulas_are_set_without_a_script() -> None:
    """TeX between dollar signs becomes MathML; prices and code are left alone."""
    plain = "costs $5 and $6, `$x \\times y$`, d_k"
    assert typeset(plain) == plain
    assert "<msqrt><mrow><msub>" in typeset(r"scaled by $\sqrt{d_k}$.")
    assert "$" not in typeset(r"$n^2 \cdot d$, or $\mathrm{PE}_{(p, 2i)}$")


@pytest.mark.parametrize("formula", ["$$x$$", r"\(x\)", r"$\nosuch{x}$", r"$x_{$"])
def test_a_formula_that_slides_cannot_show_is_refused(formula: str) -> None:
    """The message names lesson and cell."""
    cell = new_markdown_cell(f"so {formula} follows", id="prose-7")
    with pytest.raises(LectureError, match="demo, cell 'prose-7'"):
        slides._typeset(cell, "demo")


@pytest.mark.parametrize("lesson", Course(ROOT).lessons())
def test_no_lesson_has_a_formula_that_slides_cannot_show(lesson: str) -> None:
    """All of them can be converted."""
    import nbformat

    notebook = nbformat.read(Course(ROOT).solved_notebook(lesson), as_version=4)
    for cell in notebook.cells:
        slides._typeset(cell, lesson)
    assert notebook.cells


def test_a_lesson_without_a_solved_notebook_is_refused(tmp_path: Path) -> None:
    """The message says how to build it."""
    with pytest.raises(CourseError, match="autograder build 03_attention"):
        slides.slides(Course(tmp_path), LESSON)


def test_the_command_writes_to_lectures(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`autograder lectures 1`: one file, with no reference to anything outside it, and no bare image."""
    for name in ("source", "solutions", CONFIG):
        (tmp_path / name).symlink_to(ROOT / name)
    told = CliRunner().invoke(main, ["--course", str(tmp_path), "lectures", "1"])
    assert told.output == "wrote lectures/01_embeddings.slides.html\n"
    assert not [record for record in caplog.records if "image" in record.getMessage()]
    page = (tmp_path / "lectures" / "01_embeddings.slides.html").read_text(encoding="utf-8")
    assert len(page) < 4_000_000
    page = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'<(script|link|img|iframe)[^>]*\s(src|href)="(?!data:)', page)


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, list[str]]]:
    """The slides of a lesson, opened from disk at 1280 × 720; every request is refused and noted."""
    file = tmp_path_factory.mktemp("lectures") / "03.slides.html"
    file.write_text(slides.slides(Course(ROOT), LESSON), encoding="utf-8")
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.route(lambda url: url != file.as_uri(), lambda route: route.abort())
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
        page.goto(file.as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        yield page, asked
        browser.close()


LOOK = """async () => {
  const section = Reveal.getCurrentSlide(), page = section.querySelector('.page');
  await Promise.all([...page.querySelectorAll('img')].map(image => image.decode().catch(() => 0)));
  await new Promise(requestAnimationFrame);  // what a picture's arrival moves has moved
  await new Promise(requestAnimationFrame);
  const broken = [...page.querySelectorAll('img')].filter(image => !image.naturalWidth);
  const scale = +page.dataset.scale, shown = [...page.querySelectorAll('p, li, td, th, pre, code, summary')];
  const sizes = shown.filter(one => one.offsetParent).map(one => scale * parseFloat(getComputedStyle(one).fontSize));
  return {text: page.innerText, least: Math.min(99, ...sizes), broken: broken.length,
          images: page.querySelectorAll('img').length,
          over: section.scrollHeight - section.clientHeight, wide: page.scrollWidth - page.clientWidth};
}"""


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
class TestDeck:
    """One real lesson, walked through from the first slide to the last."""

    def test_every_slide_is_reached_and_fits(self, deck: tuple[Page, list[str]]) -> None:
        """With the right arrow alone; nothing is cut off, shrunk beyond reading, or missing."""
        page, asked = deck
        total = page.evaluate("Reveal.getTotalSlides()")
        seen = []
        for _ in range(4 * total):
            seen.append(page.evaluate(LOOK))
            page.keyboard.press("ArrowRight")
            if page.evaluate("Reveal.isLastSlide() && !Reveal.availableFragments().next"):
                break
        seen.append(page.evaluate(LOOK))
        assert page.evaluate("Reveal.isLastSlide()")
        assert len({look["text"] for look in seen}) > 0.9 * total
        assert all(look["least"] >= 20 for look in seen)
        cut_off = [look["text"] for look in seen if max(look["over"], look["wide"]) > 1]
        assert not cut_off
        assert sum(look["images"] for look in seen) > 10
        assert not any(look["broken"] for look in seen)
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []

    def test_the_next_step_opens_a_folded_answer(self, deck: tuple[Page, list[str]]) -> None:
        """Predict, then reveal: the answer opens with the right arrow, and closes with the left."""
        page, _ = deck
        page.evaluate(
            """() => { const section = document.querySelector('details.fragment').closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v, -1); }"""
        )
        answer = page.locator("section.present:not(.stack) details.fragment p").first
        assert not answer.is_visible()
        page.keyboard.press("ArrowRight")
        assert answer.is_visible()
        assert page.evaluate(LOOK)["over"] <= 1
        page.keyboard.press("ArrowLeft")
        assert not answer.is_visible()

    def test_speaker_notes_open_with_a_key(self, deck: tuple[Page, list[str]]) -> None:
        """`n` shows the prose in full below the slide, and hides it again."""
        page, _ = deck
        page.evaluate(
            """() => { const section = document.querySelector('aside.notes').closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v); }"""
        )
        notes = page.locator(".speaker")
        assert not notes.is_visible()
        page.keyboard.press("n")
        assert "Every step can be differentiated" in notes.inner_text()
        page.keyboard.press("n")
        assert not notes.is_visible()

    def test_the_speaker_window_follows_the_slides(self, deck: tuple[Page, list[str]]) -> None:
        """`s` opens a window for the lecturer's own screen; an arrow pressed there moves on."""
        page, _ = deck
        page.evaluate("Reveal.slide(0, 0)")
        with page.expect_popup() as opened:
            page.keyboard.press("s")
        assert "1 of" in opened.value.locator("body").inner_text()
        opened.value.keyboard.press("ArrowRight")
        assert "2 of" in opened.value.locator("body").inner_text()
        opened.value.close()

    def test_the_code_of_a_picture_opens_with_a_key(self, deck: tuple[Page, list[str]]) -> None:
        """`c` opens what was folded for lack of room."""
        page, _ = deck
        page.evaluate(
            """() => { const all = [...document.querySelectorAll('details.code')];
                       const section = all.find(one => !one.closest('.fragment')).closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v); }"""
        )
        source = page.locator("section.present:not(.stack) .page > .jp-Cell details.code pre").first
        assert not source.is_visible()
        page.keyboard.press("c")
        assert source.is_visible()
        page.keyboard.press("c")
