"""The lessons in a browser, opened from disk: on a screen, a phone, in the dark and on paper."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import CHROMIUM, browser
from conftest import ROOT
from PIL import Image
from playwright.sync_api import Browser, Page

from autograder.model.course import Course
from autograder.model.files import write
from autograder.site.build import site

__all__ = ["browser"]
pytestmark = [
    pytest.mark.full("Chromium", seconds=15),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
WIDE, PHONE = (1280, 800), (390, 844)
COURSE = Course(ROOT)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the site of the real course."""
    folder = tmp_path_factory.mktemp("site")
    for name, content in site(COURSE).items():
        write(folder / name, content)
    return folder


@pytest.fixture
def lesson(browser: Browser, pages: Path) -> Iterator[Page]:
    """Open lesson 03."""
    page = browser.new_page(viewport={"width": WIDE[0], "height": WIDE[1]})
    page.goto((pages / "03_attention/index.html").as_uri())
    yield page
    page.close()


@pytest.mark.parametrize("name", ["index.html", *(f"{lesson}/index.html" for lesson in COURSE.lessons())])
def test_a_page_fits_and_loads_nothing(browser: Browser, pages: Path, name: str) -> None:
    """At either width: nothing is cut off at the side, even unfolded, and nothing comes from the network."""
    page, asked = browser.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((pages / name).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for width, height in (WIDE, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
    page.close()


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")])
@pytest.mark.parametrize("name", ["index.html", *(f"{lesson}/index.html" for lesson in COURSE.lessons())])
def test_axe_finds_nothing(
    browser: Browser, pages: Path, name: str, size: tuple[int, int], scheme: str
) -> None:
    """With everything unfolded."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page.goto((pages / name).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    found = Axe().run(page).response["violations"]
    assert [(each["help"], [node["target"] for node in each["nodes"]]) for each in found] == []
    page.close()


def test_figures_and_tables_keep_their_size_on_a_phone(browser: Browser, pages: Path) -> None:
    """They scroll sideways rather than shrink until their type cannot be read; in the dark they are dimmed, and never inverted."""
    phone = browser.new_page(viewport={"width": PHONE[0], "height": PHONE[1]}, color_scheme="dark")
    phone.goto((pages / "03_attention/index.html").as_uri())
    widths = phone.evaluate("[...document.querySelectorAll('.output img')].map(each => [each.width, each.naturalWidth])")
    assert widths
    assert all(shown >= min(natural, 600) for shown, natural in widths)
    table = "document.querySelector('.prose table')"
    assert phone.evaluate(f"{table}.offsetWidth") > PHONE[0]
    look = phone.evaluate("(({filter, backgroundColor}) => [filter, backgroundColor])(getComputedStyle(document.querySelector('.output img')))")
    assert look == ["brightness(0.85)", "rgb(255, 255, 255)"]  # the words say what is dark
    phone.close()


def test_the_shadow_of_what_can_be_scrolled_lies_beside_the_text(browser: Browser, pages: Path) -> None:
    """On a phone in the dark: it is darker than the text, and no line runs into it."""
    phone = browser.new_page(viewport={"width": PHONE[0], "height": PHONE[1]}, color_scheme="dark")
    phone.goto((pages / "03_attention/index.html").as_uri())
    is_wide = "each => each.scrollWidth > each.clientWidth"
    wide = [each for each in phone.locator(".prose:has(> p):has(table)").all() if each.evaluate(is_wide)]
    assert wide
    space = """each => Math.min(...[...each.querySelectorAll(":scope > p")].map(
        p => each.getBoundingClientRect().right - p.getBoundingClientRect().right))"""
    assert min(each.evaluate(space) for each in wide) >= 8  # its width: half a rem
    line = wide[0].locator("> p").last.bounding_box()
    shown = Image.open(io.BytesIO(phone.screenshot(full_page=True))).convert("L")
    strip = shown.crop((PHONE[0] - 12, int(line["y"]), PHONE[0], int(line["y"] + line["height"])))
    assert 40 < strip.getextrema()[1] < 120  # of the text, 232
    phone.close()


def test_a_notebook_is_saved_and_not_shown(lesson: Page, pages: Path) -> None:
    """From disk, too: the file that students get."""
    released = COURSE.release_notebook("03_attention")
    place = (pages / "03_attention/index.html").as_uri()
    lesson.goto(place)
    with lesson.expect_download() as saved:
        lesson.click(f"a[download='{released.name}']")
    assert saved.value.suggested_filename == released.name
    assert saved.value.path().read_bytes() == released.read_bytes()
    assert lesson.url == place


def test_no_word_is_cut_in_what_is_found(lesson: Page) -> None:
    """An excerpt begins and ends between words, and the index says what each lesson teaches."""
    lesson.fill("#words", "divide")
    whole = {text for each in lesson.evaluate("SECTIONS") for text in each["text"].split()}
    for piece in lesson.locator("#found p").all_text_contents():
        assert set(piece.strip("… ").split()) <= whole
    lesson.goto(lesson.url.replace("03_attention/", ""))
    assert lesson.get_by_text("20 points · Time about 90 minutes").count() >= 1
    assert lesson.get_by_text("derive the factor").is_visible()


def test_the_search_finds_sections_of_other_lessons(lesson: Page) -> None:
    """The words are marked, titles come first, and a click leads to the section."""
    lesson.fill("#words", "byte-pair MERGE")
    assert lesson.locator("#found mark").first.text_content().lower() in ("byte-pair", "merge")
    lesson.locator("#found a", has_text="1 ·").first.click()
    lesson.wait_for_url("**/01_embeddings/index.html#*")
    lesson.fill("#words", "attention")
    assert lesson.text_content("#count").endswith(f"the first {lesson.locator('#found li').count()} of them below")
    lesson.fill("#words", "<img src=x onerror=alert(1)>")
    assert lesson.text_content("#count") == "0 sections"
    lesson.fill("#words", "causal_mask")
    assert "causal_mask" in lesson.locator("#found a").first.text_content()
    lesson.press("#words", "Escape")
    assert lesson.locator("#found li").count() == 0


def test_exercises_are_open_and_hints_folded(lesson: Page) -> None:
    """As students have them."""
    assert lesson.locator("#exercise-softmax").is_visible()
    assert "YOUR CODE HERE" in lesson.text_content("#exercise-softmax")
    hints = lesson.locator("main details", has_text="Hint 1")
    assert hints.count() > 3
    assert not any(each.evaluate("each => each.open") for each in hints.all())


def test_contents_are_folded_on_a_phone_alone(browser: Browser, pages: Path, lesson: Page) -> None:
    """Beside the text on a screen; on a phone the lesson comes first."""
    assert lesson.locator(".side a").first.is_visible()
    phone = browser.new_page(viewport={"width": PHONE[0], "height": PHONE[1]})
    phone.goto((pages / "03_attention/index.html").as_uri())
    assert not phone.locator(".side a").first.is_visible()
    assert phone.locator("h1").bounding_box()["y"] < 300
    phone.close()


def test_on_paper_there_is_the_lesson_alone(lesson: Page) -> None:
    """No search and no contents, and long lines of code are wrapped."""
    lesson.emulate_media(media="print")
    assert not lesson.locator("#words").is_visible()
    assert not lesson.locator(".side").is_visible()
    lesson.set_viewport_size({"width": 700, "height": 1000})
    assert lesson.evaluate("[...document.querySelectorAll('.scroll .code pre')].every(e => e.scrollWidth <= e.clientWidth)")
