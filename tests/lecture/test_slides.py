"""Slides open from disk with the network cut, and nothing on them is cut off."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from chromium import CHROMIUM, browser
from click.testing import CliRunner
from conftest import ROOT
from nbformat.v4 import new_markdown_cell
from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as LateError

from autograder.cli import main
from autograder.lecture import slides
from autograder.lecture.pages import NOISE
from autograder.lecture.slides import typeset
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError, LectureError
from autograder.model.lesson_text import read_lesson

__all__ = ["browser"]
COURSE = Course(ROOT)
LESSON = "03_attention"


def test_formulas_are_set_without_a_script() -> None:
    """TeX between dollar signs becomes MathML; prices and code are left alone."""
    plain = "costs $5 and $6, `$x \\times y$`, d_k"
    assert typeset(plain) == plain
    assert "<msqrt><mrow><msub>" in typeset(r"scaled by $\sqrt{d_k}$.")
    assert "$" not in typeset(r"$n^2 \cdot d$, or $\mathrm{PE}_{(p, 2i)}$")


def test_no_line_begins_with_the_mark_after_a_formula() -> None:
    """A browser would break before the full stop."""
    assert typeset("so $a$. Then").endswith("</math>.</span> Then")
    assert "span" not in typeset("so $a$ is")


def test_what_says_that_a_program_is_missing_is_on_no_slide() -> None:
    """Nor the second line of it, where it was broken into two."""
    told = "No diagram here: it needs the program dot. The numbered list above shows\nthe same steps.\nand more\n"
    assert NOISE.sub("", told) == "and more\n"


@pytest.mark.parametrize("formula", ["$$x$$", r"\(x\)", r"$\nosuch{x}$", r"$x_{$"])
def test_a_formula_that_slides_cannot_show_is_refused(formula: str) -> None:
    """The message names lesson and cell."""
    cell = new_markdown_cell(f"so {formula} follows", id="prose-7")
    with pytest.raises(LectureError, match="demo, cell 'prose-7'"):
        slides._typeset(cell, "demo")


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_no_lesson_has_a_formula_that_slides_cannot_show(lesson: str) -> None:
    """All of them can be converted."""
    import nbformat

    notebook = nbformat.read(COURSE.solved_notebook(lesson), as_version=4)
    for cell in notebook.cells:
        slides._typeset(cell, lesson)
    assert notebook.cells


def test_a_lesson_without_a_solved_notebook_is_refused(tmp_path: Path) -> None:
    """The message says how to build it."""
    (tmp_path / "solutions").mkdir()
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


def opened(browser: Browser, file: Path) -> tuple[Page, list[str]]:
    """Open slides from disk at 1280 × 720; every request is refused and noted, and no script may fail."""
    asked: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.route(lambda url: url != file.as_uri(), lambda route: route.abort())
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
    page.goto(file.as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    return page, asked


# Says of the current slide how far content stands out, how small text gets, and what of it is missing.
LOOK = """async () => {
  const typeOf = (image) => {  // live figures have one size of type; drawn ones are outlines, each under its size
    if (!image.src.startsWith("data:image/svg")) return 15 / 72 * 100;
    return Math.min(...[...atob(image.src.split(",")[1]).matchAll(/scale\\(([\\d.]+) -/g)].map((one) => 100 * one[1])) * 4 / 3;
  };
  const section = Reveal.getCurrentSlide(), page = section.querySelector(".page");
  const images = [...page.querySelectorAll("img")];
  await Promise.all(images.map((one) => one.decode().catch(() => 0)));
  const out = () => Math.max(section.scrollHeight - section.clientHeight, page.scrollWidth - page.clientWidth);
  await new Promise(requestAnimationFrame);  // what a picture's arrival moves has moved
  await new Promise(requestAnimationFrame);
  for (let frame = 0; frame < 200 && out() > 1; frame++) await new Promise(requestAnimationFrame);  // it is made to fit
  const text = [...page.querySelectorAll("p, li, td, th, pre, code, summary")].filter((one) => one.offsetParent);
  const sizes = text.map((one) => parseFloat(getComputedStyle(one).fontSize) * page.dataset.scale);
  const drawn = images.filter((one) => one.offsetParent).map((one) =>
    typeOf(one) * page.dataset.scale * Math.min(one.offsetHeight / one.naturalHeight, one.offsetWidth / one.naturalWidth));
  const {h, v, f} = Reveal.getIndices();
  return {place: `${h}/${v}/${f ?? ""}`, text: page.innerText, least: Math.min(99, ...sizes), drawn: Math.min(99, ...drawn),
          images: images.length, broken: images.filter((one) => !one.naturalWidth).length, out: out()};
}"""
GO_TO = """(title) => {
  const slides = Reveal.getSlides();
  const {h, v} = Reveal.getIndices(slides.find((one) => one.querySelector('h1, h2')?.textContent.includes(title)));
  Reveal.slide(h, v);
}"""
GO_TO_TEXT = """(text) => {
  const {h, v} = Reveal.getIndices(Reveal.getSlides().find((one) => one.querySelector('.page').textContent.includes(text)));
  Reveal.slide(h, v, -1);
}"""
IS_LAST = "Reveal.isLastSlide() && !Reveal.availableFragments().next"


@pytest.mark.full("Chromium, on every slide of every lesson", seconds=15)
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_every_slide_is_reached_and_fits(lesson: str, browser: Browser, tmp_path: Path) -> None:
    """With the right arrow alone, whichever answer is open.

    Nothing scrolls, is too small to read, or is missing; nothing is asked of a network, and no bar counts slides.
    """
    page, asked = opened(browser, slides.write_slides(COURSE, lesson, tmp_path))
    total, bar = page.evaluate(
        "[Reveal.getTotalSlides(), !!document.querySelector('.reveal .progress')?.offsetParent]"
    )
    seen = [page.evaluate(LOOK)]
    while not page.evaluate(IS_LAST) and len(seen) < 4 * total:
        page.keyboard.press("ArrowRight")
        seen.append(page.evaluate(LOOK))
    assert page.evaluate(IS_LAST)
    page.close()
    assert len({look["text"] for look in seen}) > max(20, 0.9 * total)
    assert {look["place"]: look["out"] for look in seen if look["out"] > 1} == {}
    assert min(look["least"] for look in seen) >= 20
    assert {
        look["place"]: look["drawn"] for look in seen if look["drawn"] < 19.95
    } == {}  # the type in pictures
    assert sum(look["images"] for look in seen) > 5
    assert not any(look["broken"] for look in seen)
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert not bar


@pytest.fixture(scope="module")
def deck(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Give the slides of one lesson, opened."""
    return opened(browser, slides.write_slides(COURSE, LESSON, tmp_path_factory.mktemp("lectures")))[0]


def test_the_overview_fits_slides_that_were_not_shown_yet(browser: Browser, tmp_path: Path) -> None:
    """Their type is as small as it takes, and nothing is cut off at the bottom."""
    page, _ = opened(browser, slides.write_slides(COURSE, "04_multi_head_attention", tmp_path))
    page.keyboard.press("o")
    page.wait_for_function("Reveal.isOverview()")
    cut_off = "Reveal.getSlides().filter((one) => one.scrollHeight > one.clientHeight + 2).length"
    page.wait_for_function(f"{cut_off} === 0")
    page.close()


def speaker_window(deck: Page) -> Page:
    """Open the speaker window. The slides may learn a moment late that an earlier test closed theirs."""
    for seconds in (1, 2, 4, 30):
        with suppress(LateError):
            with deck.expect_popup(timeout=1000 * seconds) as opened:
                deck.keyboard.press("s")
            return opened.value
    pytest.fail("no speaker window opened")


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
class TestDeck:
    """One real lesson, with its keys."""

    def test_the_next_step_opens_a_folded_answer(self, deck: Page) -> None:
        """Predict, then reveal: the answer opens with the right arrow, and closes with the left."""
        deck.evaluate(
            """() => { const section = document.querySelector('details.fragment').closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v, -1); }"""
        )
        answer = deck.locator("section.present:not(.stack) details.fragment p").first
        assert not answer.is_visible()
        deck.keyboard.press("ArrowRight")
        assert answer.is_visible()
        assert deck.evaluate(LOOK)["out"] <= 1
        deck.keyboard.press("ArrowLeft")
        assert not answer.is_visible()

    def test_an_answer_stays_open_beside_what_it_speaks_of(self, browser: Browser, tmp_path: Path) -> None:
        """The picture or table that comes after an answer closes it only for lack of room."""
        page, _ = opened(browser, slides.write_slides(COURSE, "05_encoder", tmp_path))
        page.evaluate(GO_TO_TEXT, "Now add three padding tokens")
        answer = page.locator("section.present:not(.stack) details.fragment p").first
        picture = page.locator("section.present:not(.stack) img").first
        page.keyboard.press("ArrowRight")
        assert answer.is_visible()
        assert not picture.is_visible()
        page.keyboard.press("ArrowRight")
        assert answer.is_visible()
        assert picture.is_visible()
        assert page.evaluate(LOOK)["out"] <= 1
        moving = "[...document.querySelectorAll('.page, .page *')].filter((one) => getComputedStyle(one).transitionDuration !== '0s')"
        assert page.evaluate(f"{moving}.map((one) => one.outerHTML.slice(0, 200))") == []  # a moving size cannot be fitted
        page.close()

    def test_columns_divide_no_sample_and_take_no_long_lines(self, browser: Browser, tmp_path: Path) -> None:
        """Printed text in two columns is less high; a sample under its line is in one of them."""
        page, _ = opened(browser, slides.write_slides(COURSE, "07_transformer", tmp_path))
        page.evaluate(GO_TO_TEXT, "Greedy decoding tends to repeat")
        samples = page.locator("section.present:not(.stack) .columns .sample")
        assert samples.count() >= 3
        assert samples.evaluate_all("(all) => all.every((one) => one.getClientRects().length === 1)")
        page.evaluate(GO_TO_TEXT, "always the likeliest:")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.locator("section.present:not(.stack) pre:visible").count()
        assert page.locator("section.present:not(.stack) .columns").count() == 0
        page.close()

    def test_a_few_sentences_alone_are_set_larger(self, deck: Page) -> None:
        """A slide that has steps keeps its type in all of them; so does one with something to look at."""
        sizes = deck.evaluate(
            """() => { const sizes = {alone: [], other: []};
                       for (const section of Reveal.getSlides()) {
                         const {h, v} = Reveal.getIndices(section);
                         Reveal.slide(h, v);
                         const page = section.querySelector('.page');
                         const kind = page.querySelector('img, pre, table, .fragment') ? 'other' : 'alone';
                         sizes[kind].push(parseFloat(page.style.getPropertyValue('--jp-content-font-size1')));
                       }
                       return sizes; }"""
        )
        assert max(sizes["alone"]) > 26 >= max(sizes["other"])

    def test_short_code_in_a_sentence_is_not_broken(self, deck: Page) -> None:
        """`(B, T, T)` stays on one line."""
        broken = deck.evaluate(
            """[...document.querySelectorAll('.page p code, .page li code')]
               .filter((one) => one.textContent.length < 30 && getComputedStyle(one).whiteSpace !== 'nowrap')
               .map((one) => one.textContent)"""
        )
        assert broken == []

    def test_the_keys_go_on_after_a_click_on_an_answer(self, deck: Page) -> None:
        """A summary that has the focus would take them."""
        deck.evaluate(
            """() => { const section = document.querySelector('details.fragment').closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v, -1); }"""
        )
        summary = deck.locator("section.present:not(.stack) details.fragment summary").first
        summary.click()
        assert deck.locator("section.present:not(.stack) details.fragment p").first.is_visible()
        deck.keyboard.press("ArrowRight")
        assert deck.evaluate("Reveal.getIndices().f") == 0
        deck.keyboard.press("ArrowLeft")
        assert deck.evaluate("Reveal.getIndices().f") == -1

    def test_after_a_jump_the_right_arrow_goes_through_all_slides(self, deck: Page) -> None:
        """A column does not remember where it was seen last."""
        place = "Reveal.getSlides().indexOf(Reveal.getCurrentSlide())"
        deck.evaluate("() => { for (const {h, v} of Reveal.getSlides().map((one) => Reveal.getIndices(one))) Reveal.slide(h, v); }")
        deck.keyboard.press("Home")
        assert deck.evaluate(place) == 0
        seen = {0}
        while not deck.evaluate(IS_LAST):
            deck.keyboard.press("ArrowRight")
            seen.add(deck.evaluate(place))
        assert seen == set(range(deck.evaluate("Reveal.getSlides().length")))

    def test_home_in_the_overview_leads_to_the_first_slide(self, deck: Page) -> None:
        """To its first row too, wherever in its column the slide before was."""
        deck.evaluate("Reveal.slide(0, 1)")
        assert deck.evaluate("Reveal.getIndices().v") == 1
        deck.keyboard.press("o")
        deck.wait_for_function("Reveal.isOverview()")
        deck.keyboard.press("Home")
        assert deck.evaluate("Reveal.isFirstSlide()")
        deck.keyboard.press("o")
        deck.wait_for_function("!Reveal.isOverview()")

    def test_the_speaker_window_closes_with_the_deck(self, browser: Browser, tmp_path: Path) -> None:
        """A deck that is loaded again could not reach it; `s` opens another one."""
        page, _ = opened(browser, slides.write_slides(COURSE, LESSON, tmp_path))
        first = speaker_window(page)
        page.reload()
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        for _ in range(100):
            if first.is_closed():
                break
            page.wait_for_timeout(50)
        assert first.is_closed()
        assert speaker_window(page).locator("#place").inner_text().startswith("1 of")
        page.close()

    def test_speaker_notes_open_with_a_key(self, deck: Page) -> None:
        """`n` shows the prose in full below the slide, and hides it again."""
        left_out = "Every step can be differentiated"
        assert any(left_out in cell.text for cell in read_lesson(COURSE.text(LESSON)).cells)
        deck.evaluate(GO_TO, "A soft lookup")
        notes = deck.locator(".speaker")
        assert not notes.is_visible()
        deck.keyboard.press("n")
        assert left_out in notes.inner_text()
        assert left_out not in deck.locator("section.present:not(.stack) .page").first.inner_text()
        deck.keyboard.press("n")
        assert not notes.is_visible()

    def test_the_speaker_window_follows_the_slides(self, deck: Page) -> None:
        """`s` opens a window with notes, the next slide, a clock and the time gone by; an arrow there moves on."""
        headings = deck.evaluate(
            "Reveal.getSlides().slice(0, 3).map((one) => one.querySelector('h1, h2')?.textContent)"
        )
        deck.evaluate("Reveal.slide(0, 0)")
        window = speaker_window(deck)
        assert window.locator("#place").inner_text().startswith("1 of")
        assert re.fullmatch(r"\d\d:\d\d", window.locator("#clock").inner_text())
        assert re.fullmatch(r"00:0\d", window.locator("#elapsed").inner_text())
        assert "3 · Attention" in window.locator("#current").inner_text()
        assert window.locator("#next img").is_visible()
        heading = window.locator("#current .page h1").first.evaluate("one => getComputedStyle(one).fontSize")
        assert heading == "46px"  # as on the wall, in a copy drawn smaller
        window.keyboard.press("ArrowRight")
        assert window.locator("#place").inner_text().startswith("2 of")
        assert headings[2] in window.locator("#next").inner_text()
        window.close()

    def test_the_speaker_window_shows_an_answer_when_the_room_sees_it(self, deck: Page) -> None:
        """The slide in it is as far as the one on the wall."""
        deck.evaluate(
            """() => { const section = document.querySelector('details.fragment').closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v, -1); }"""
        )
        window = speaker_window(deck)
        answer = window.locator("#current details.fragment p").first
        assert not answer.is_visible()
        deck.keyboard.press("ArrowRight")
        assert answer.is_visible()
        window.close()

    def test_the_rest_of_a_long_line_hangs_below_its_beginning(self, deck: Page) -> None:
        """Four characters further in than the line itself, in code and in what it prints."""
        indents = deck.evaluate(
            """[...document.querySelectorAll('.page .highlight pre .line')].filter((one) => /^ {4}\\S/.test(one.textContent))
               .map((one) => [parseFloat(getComputedStyle(one).paddingLeft), parseFloat(getComputedStyle(one).textIndent)])"""
        )
        assert indents
        assert all(left == pytest.approx(-first) and left > 90 for left, first in indents)
        assert not deck.evaluate(
            "[...document.querySelectorAll('.page .highlight pre')].some((one) => !one.querySelector('.line'))"
        )

    def test_each_line_of_code_stands_alone_in_the_notes(self, deck: Page) -> None:
        """In the panel as in the lecturer's own window."""
        lines = '<pre><span class="line">a = 1</span><span class="line">b = 2</span></pre>'
        window = speaker_window(deck)
        for page, place in (deck, ".speaker"), (window, "main"):
            shown = page.locator(place).evaluate(
                "(one, text) => { one.hidden = false; one.innerHTML = text; return one.innerText }", lines
            )
            assert shown.splitlines() == ["a = 1", "b = 2"]
        window.close()

    def test_every_slide_has_notes(self, deck: Page) -> None:
        """A lecturer who looks at the own screen always finds what to say."""
        notes = deck.evaluate("Reveal.getSlides().map((one) => Reveal.getSlideNotes(one) || '')")
        assert [place for place, one in enumerate(notes) if len(one.strip()) < 20] == []

    def test_the_list_of_keys_tells_the_truth(self, deck: Page) -> None:
        """`?` names `n` as the notes, which it opens, and is the only list of keys."""
        deck.keyboard.press("?")
        assert re.search(r"n\s+speaker notes", deck.locator(".speaker").inner_text())
        assert "Next slide" not in deck.locator("body").inner_text()
        deck.keyboard.press("?")
        assert not deck.locator(".speaker").is_visible()

    def test_a_click_into_a_view_leaves_the_keys(self, browser: Browser, tmp_path: Path) -> None:
        """The view has a document of its own, to which the focus would go."""
        page, _ = opened(browser, slides.write_slides(COURSE, "08_attention_visualisation", tmp_path))
        page.evaluate(
            """() => { const section = document.querySelector('.page iframe').closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v); }"""
        )
        page.wait_for_timeout(300)
        place = page.evaluate("Reveal.getSlidePastCount()")
        page.locator("section.present:not(.stack) iframe").first.click(position={"x": 40, "y": 40})
        page.wait_for_timeout(300)
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        assert page.evaluate("Reveal.getSlidePastCount()") > place
        page.close()

    def test_type_in_views_is_as_large_as_elsewhere(self, browser: Browser, tmp_path: Path) -> None:
        """20 pixels, after a frame has shrunk to its slide; nothing in it scrolls."""
        page, _ = opened(browser, slides.write_slides(COURSE, "08_attention_visualisation", tmp_path))
        views = page.locator(".page iframe")
        assert views.count() == 2
        for view in views.all():
            view.evaluate(
                "(one) => { const {h, v} = Reveal.getIndices(one.closest('section')); Reveal.slide(h, v); }"
            )
            page.wait_for_timeout(500)
            scale = view.evaluate("(one) => one.getBoundingClientRect().width / one.offsetWidth")
            inside = view.element_handle().content_frame()
            least, out = inside.evaluate(
                """() => { const type = [...document.querySelectorAll("text, select")].map((one) =>
                             parseFloat(getComputedStyle(one).fontSize) * (one.ownerSVGElement?.getScreenCTM().a ?? one.currentCSSZoom));
                           const root = document.documentElement;
                           return [Math.min(...type), root.scrollHeight - innerHeight]; }"""
            )
            assert scale * least >= 20
            assert out <= 1
        page.close()

    def test_the_right_arrow_goes_through_all_of_a_tall_exercise(self, browser: Browser, tmp_path: Path) -> None:
        """Down to its end before the next slide comes, and back up."""
        file = slides.write_slides(COURSE, "07_transformer", tmp_path, exercises=True)
        page, _ = opened(browser, file)
        tall = "(one) => one.scrollHeight > one.clientHeight + 10"
        page.evaluate(
            f"""() => {{ for (const one of Reveal.getSlides()) {{
                    const {{h, v}} = Reveal.getIndices(one); Reveal.slide(h, v);
                    if (({tall})(one)) break; }} }}"""
        )
        assert page.evaluate(f"({tall})(Reveal.getCurrentSlide())")
        place, seen = page.evaluate("Reveal.getSlidePastCount()"), 0
        while page.evaluate("Reveal.getSlidePastCount()") == place:
            one = "Reveal.getCurrentSlide()"
            seen = page.evaluate(f"{one}.scrollTop + {one}.clientHeight - {one}.scrollHeight")
            page.keyboard.press("ArrowRight")
        assert seen > -2
        page.close()

    def test_a_narrow_speaker_window_shows_both_slides(self, deck: Page) -> None:
        """In half of a screen, and on a small one."""
        window = speaker_window(deck)
        for width in (800, 1120):
            window.set_viewport_size({"width": width, "height": 700})
            window.wait_for_timeout(200)
            assert window.evaluate("document.documentElement.scrollWidth") <= width
            right = window.locator("#next").evaluate("one => one.closest('.preview').getBoundingClientRect().right")
            assert right <= width
        window.close()

    def test_the_escape_key_closes_what_is_open(self, deck: Page) -> None:
        """Before it shows all slides; and no keyboard's way to type `?` turns the screen black."""
        for key in ("?", "n"):
            deck.keyboard.press(key)
            assert deck.locator(".speaker").is_visible()
            deck.keyboard.press("Escape")
            assert not deck.locator(".speaker").is_visible()
            assert not deck.evaluate("Reveal.isOverview() || Reveal.isPaused()")

    def test_a_key_lays_the_slides_out_to_print(self, deck: Page, browser: Browser) -> None:
        """A page for each slide, all answers open, nothing cut off, and the margins of a slide."""
        paper = browser.new_page(viewport={"width": 1280, "height": 720})
        paper.goto(deck.url.split("#")[0])
        paper.wait_for_function("window.Reveal && Reveal.isReady()")
        total = paper.evaluate("Reveal.getTotalSlides()")
        paper.keyboard.press("p")
        paper.wait_for_selector(".pdf-page")
        paper.wait_for_function("!document.querySelector('.page details:not(.code, .answer, [open])')")
        assert paper.locator(".pdf-page").count() == total
        pages = paper.evaluate(
            """[...document.querySelectorAll('.pdf-page > section')].map((one) => {
                 const page = one.querySelector('.page');
                 return [page.offsetHeight * page.dataset.scale, getComputedStyle(one).paddingLeft];
               })"""
        )
        assert all(height <= 657 and left == "40px" for height, left in pages)
        paper.close()

    def test_the_code_of_a_picture_opens_with_a_key(self, deck: Page) -> None:
        """`c` opens what was folded for lack of room."""
        deck.evaluate(
            """() => { const all = [...document.querySelectorAll('details.code')];
                       const section = all.find(one => !one.closest('.fragment')).closest('section');
                       const {h, v} = Reveal.getIndices(section); Reveal.slide(h, v); }"""
        )
        source = deck.locator("section.present:not(.stack) .page > .jp-Cell details.code pre").first
        assert not source.is_visible()
        deck.keyboard.press("c")
        assert source.is_visible()
        deck.keyboard.press("c")
