"""A student's pages in a browser: readable on a phone, in the dark and on paper, and by a screen reader."""

from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest
from chromium import CHROMIUM, browser
from PIL import Image
from playwright.sync_api import Browser, Locator, Page

from autograder.model.course import Course
from autograder.reports.student_pages import feedback_page, notebook_page, student_index
from autograder.reports.templating import render

from .accessible import faults
from .sample_class import LESSON
from .sample_work import EMPTY, FIRST_SCREENS, MIDDLING, PERFECT, attempt, hostile_work, work

__all__ = ["browser"]
pytestmark = [pytest.mark.full("Chromium"), pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]
WIDE, PHONE = (1280, 720), (390, 844)
HOME = Course(Path(__file__).parents[2])
PAGES: dict[str, Callable[[], str]] = {
    **{name: lambda made=made: feedback_page(work(made)) for name, made in FIRST_SCREENS.items()},
    "commented": lambda: feedback_page(work(PERFECT.with_scores({"why": 1.0}), comments={"why": "See $x$."})),
    "hostile": lambda: feedback_page(hostile_work()),
    "notebook": lambda: notebook_page(work(MIDDLING)),
    "index": lambda: student_index(
        HOME, "ada", {LESSON: [attempt(EMPTY, "a"), attempt(MIDDLING, "b"), attempt(PERFECT, "c")]}, {}
    ),
}  # fmt: skip
FIRST_SCREEN = {  # what was earned, what is wrong, what to do now
    "perfect": ["8 of 8 points graded, 2 pending", "All 4 graded exercises correct", "Wait for your instructor"],
    "middling": [
        "2.5 of 8 points graded, 2 pending", "The mask is not used", "NameError: name 'weigths' is not defined",
        "Start with Exercise 1: softmax, 2 points to gain: NameError",
    ],
    "empty": ["0 of 10 points", "No exercise has an answer yet", "Start with Exercise 1: softmax"],
    "unreadable": ["Not graded", "could not open this file", "Open it in JupyterLab, save, and hand it in again."],
}  # fmt: skip


def opened(browser: Browser, folder: Path, html: str, size: tuple[int, int], scheme: str = "light") -> Page:
    """Open a page from disk."""
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8")
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_serious_fault(browser: Browser, tmp_path: Path, name: str, scheme: str) -> None:
    """With everything unfolded, at either width."""
    for size in (WIDE, PHONE):
        page = opened(browser, tmp_path, PAGES[name](), size, scheme)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert faults(page) == []
        page.close()


def test_axe_would_find_a_fault(browser: Browser, tmp_path: Path) -> None:
    """Grey on white, and a picture without a description, on a page whose policy allows no script."""
    policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">'
    html = f'<html lang="en">{policy}<title>x</title><main><p style="color:#bbb">grey</p><img src="x"></main></html>'
    page = opened(browser, tmp_path, html, WIDE)
    assert len(faults(page)) == 2
    page.close()


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", FIRST_SCREEN)
def test_the_first_screen_answers_three_questions(
    browser: Browser, tmp_path: Path, name: str, size: tuple[int, int]
) -> None:
    """What did I earn, what is wrong, what now: all without scrolling."""
    page = opened(browser, tmp_path, PAGES[name](), size)
    seen = """() => {
        const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        let text = '', node;
        while ((node = walk.nextNode())) {
            const range = document.createRange(); range.selectNodeContents(node);
            const box = range.getBoundingClientRect();
            if (box.height && box.bottom <= innerHeight) text += node.textContent;
        }
        return text.replace(/\\s+/g, ' ');
    }"""
    text = page.evaluate(seen)
    assert [part for part in FIRST_SCREEN[name] if part not in text] == []
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone_loads_nothing_and_runs_nothing(browser: Browser, tmp_path: Path, name: str) -> None:
    """Unfolded too; its own style is in force, and nothing that a submission holds is."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    dialogs: list[str] = []
    requests: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    file = tmp_path / "page.html"
    file.write_text(PAGES[name](), encoding="utf-8")
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.querySelector('main')).paddingLeft") != "0px"
    assert dialogs == []
    assert requests == [file.as_uri()]
    page.close()


def test_what_is_wider_than_the_screen_is_shaded_where_it_goes_on(browser: Browser, tmp_path: Path) -> None:
    """At the right edge until it is scrolled to its end; what fits has no shade."""
    body = f'<pre class="numbers">{"0.1234 " * 40}</pre><pre class="numbers">1 2</pre>'
    page = opened(browser, tmp_path, f"<style>{render('student_style.j2')}</style><main>{body}</main>", (360, 640))
    wide, narrow = page.locator(".numbers").all()

    def shaded(box: Locator) -> bool:
        picture = Image.open(BytesIO(box.screenshot())).convert("L")
        return bool(picture.getpixel((picture.width - 4, 8)) < picture.getpixel((picture.width // 2, 3)) - 20)

    assert [shaded(wide), shaded(narrow)] == [True, False]
    wide.evaluate("each => each.scrollLeft = 9999")
    assert not shaded(wide)
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_headings_are_in_order_and_landmarks_are_there(browser: Browser, tmp_path: Path, name: str) -> None:
    """One h1, no level left out, one main."""
    page = opened(browser, tmp_path, PAGES[name](), WIDE)
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5')].map(each => +each.localName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1 or name == "notebook"  # the lesson's own title is the second
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert page.locator("main").count() == 1
    assert page.evaluate("document.documentElement.lang") == "en"
    page.close()


def test_the_keyboard_reaches_and_unfolds_everything(browser: Browser, tmp_path: Path) -> None:
    """Each fold opens with Enter, shows its triangle, and the focus is visible."""
    page = opened(browser, tmp_path, PAGES["middling"](), WIDE)
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.localName") == "summary":
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            page.keyboard.press("Enter")
        if page.evaluate("document.activeElement === document.body"):
            break
    folds = "[...document.querySelectorAll('details')].map(each => [each.open, getComputedStyle(each.firstElementChild).display])"
    assert page.evaluate(folds)
    assert all(fold == [True, "list-item"] for fold in page.evaluate(folds))
    page.close()


def test_paper_has_what_matters_on_a_few_pages(browser: Browser, tmp_path: Path) -> None:
    """Hints are unfolded, links to other files are left out, and dark colours too."""
    page = opened(browser, tmp_path, PAGES["middling"](), WIDE, "dark")
    printed = page.pdf(format="A4", print_background=True)
    assert 1 <= printed.count(b"/Type /Page") - printed.count(b"/Type /Pages") <= 3
    page.emulate_media(media="print", color_scheme="dark")
    assert page.get_by_text("Look at the last column.").is_visible()
    assert not page.get_by_text("All your lessons").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    page.close()
