"""Grading written answers in a browser, by keys alone: the points are in the gradebook, the page and the CSV."""

import csv
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from chromium import CHROMIUM, browser
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, expect
from reports.accessible import faults
from reports.hostile import NASTY
from tiny_course import LESSON
from tiny_fixtures import ReadGrades

from autograder.model.course import Course
from autograder.storage.gradebook import open_gradebook

from .conftest import Browser, browse, record, serve

__all__ = ["browse", "browser"]
pytestmark = [pytest.mark.full("Chromium"), pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]
PATIENCE = 350  # milliseconds: a key that comes sooner is the one before, pressed twice


BOXES = """() => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector("legend"));
  return [range, document.querySelector(".move")].map(each => each.getBoundingClientRect().toJSON());
}"""


def press(page: Page, key: str) -> None:
    """Press a key that leads to another page, whose clock stands still until then."""
    page.clock.fast_forward(PATIENCE)
    with page.expect_navigation():
        page.keyboard.press(key)


def grade_three(page: Page, address: str) -> None:
    """Grade all three answers without a mouse."""
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.clock.install()
    page.clock.pause_at(datetime.now() + timedelta(days=1))
    page.goto(address)
    expect(page.locator("[data-key=n]")).to_be_focused()  # the first that is not graded
    with page.expect_navigation():
        page.keyboard.press("Enter")
    press(page, "2")
    page.keyboard.press("2")  # too soon: pressed twice
    assert page.title().startswith("1 of 3 · bela")
    page.keyboard.press("c")
    page.keyboard.type("21 q: no key grades here. See $x$.")
    page.keyboard.press("Escape")
    press(page, "t")
    press(page, "w")
    assert page.get_by_text("All 3 answers are graded.").is_visible()
    press(page, "z")  # back to the last one
    assert page.get_by_role("heading", name="emil").is_visible()
    press(page, "q")
    assert page.get_by_text("3 of 3 graded", exact=True).is_visible()
    assert trouble == []
    page.close()


def test_three_answers_by_keys(browser: Chromium, handed_in: Course, grades: ReadGrades) -> None:
    """Points whole and half, a comment, a step back to one that was graded, and a key that was held down."""
    with open_gradebook(handed_in) as opened:
        for server in serve(handed_in, opened):
            grade_three(browser.new_page(), server.server.address)
    given = {"ada": 2.0, "bela": 1.5, "emil": 0.25}
    assert {student: grades(student)["why"] for student in given} == {
        student: (None, score, False) for student, score in given.items()
    }
    with (handed_in.reports / f"{LESSON}.csv").open(encoding="utf-8-sig") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {student: float(rows[student]["why"]) for student in given} == given
    for student, score in given.items():
        text = handed_in.feedback_page(student, LESSON).read_text(encoding="utf-8")
        assert f"{score:g} of 2 points" in text
    assert "no key grades here" in handed_in.feedback_page("bela", LESSON).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(
    browser: Chromium, browse: Browser, handed_in: Course, scheme: str, tmp_path: Path
) -> None:
    """On either page, wide and on a phone, with an answer that tries to break it; nothing overflows sideways."""
    record(handed_in, "bela", NASTY.replace("\udc80", "") + "\n\n" + "| a | b |\n|--|--|\n" + "| x | y |\n" * 3)
    browse.grade("ada", points="1.5", comment="Fine.")
    for place in ("", browse.place("ada"), browse.place("bela")):
        for width, height in ((1280, 720), (390, 844)):
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            page.goto(browse.server.address + place)
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            assert faults(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            page.close()


@pytest.mark.parametrize("width", [390, 660, 1280])
def test_no_button_covers_what_the_points_are(browser: Chromium, browse: Browser, width: int) -> None:
    """Before an answer is graded, and after."""
    for points in ("", "1.5"):
        browse.grade("ada", points=points)
        page = browser.new_page(viewport={"width": width, "height": 844})
        page.goto(browse.server.address + browse.place("ada"))
        boxes = page.evaluate(BOXES)
        page.close()
        legend, buttons = boxes
        assert legend["bottom"] <= buttons["top"] or legend["right"] <= buttons["left"] or buttons["bottom"] <= legend["top"]


def test_nothing_that_was_typed_is_lost(browser: Chromium, browse: Browser) -> None:
    """Leaving by a link with a comment that is not stored asks first; moving on stores it."""
    page = browser.new_page()
    page.goto(browse.server.address + browse.place("ada"))
    page.get_by_label("Comment").fill("A thought.")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("link", name="All answers").click()
    page.wait_for_timeout(PATIENCE)
    assert asked == ["beforeunload"]
    press_next = page.get_by_role("button", name="Next")
    with page.expect_navigation():
        press_next.click()
    assert asked == ["beforeunload"]
    assert "A thought.</textarea>" in browse.request(browse.place("ada")).text
    page.close()


def test_keys_can_be_turned_off(browser: Chromium, browse: Browser, grades: ReadGrades) -> None:
    """For who speaks to the computer, or rests a hand on the keys; Tab and Enter still grade."""
    page = browser.new_page()
    page.goto(browse.server.address + browse.place("ada"))
    page.get_by_role("link", name="Turn keys off").click()
    page.wait_for_timeout(PATIENCE)
    page.keyboard.press("2")
    page.wait_for_timeout(PATIENCE)
    assert grades("ada")["why"] == (None, None, True)
    page.get_by_role("button", name="1.75 of 2 points").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert grades("ada")["why"] == (None, 1.75, False)
    page.close()
