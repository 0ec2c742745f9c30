"""The class page is complete, self-contained and small, and shows hostile texts as text."""

import random
import re
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from autograder.model.report import Outcome, Report
from autograder.reports.class_page import class_page

from .hostile import HANDLER, SCRIPT, Tags, hostile_report
from .sample_class import LESSON, exercise, report, sample_class

MADE_AT = datetime(2026, 3, 4, 9, 30)
CHROMIUM = shutil.which("chromium")


def _page(reports: dict[str, Report], *, sandboxed: bool = True) -> str:
    return class_page({LESSON: reports}, sandboxed=sandboxed, made_at=MADE_AT)


def test_every_student_is_listed_and_linked() -> None:
    """Each name links to the student's feedback page, relative to reports/."""
    made = sample_class()
    links = Tags(_page(made)).links
    for student in made:
        assert f"../feedback/{student}/{LESSON}/{LESSON}.html" in links


def test_the_page_loads_nothing_from_anywhere() -> None:
    """All links lead to feedback or within the page, and no element loads anything."""
    page = _page(sample_class())
    tags = Tags(page)
    assert all(link.startswith(("#", "../feedback/")) for link in tags.links)
    assert not {"link", "img", "iframe", "object"} & set(tags.names)
    assert not re.search(r"https?:|url\(|@import", page)


def test_hostile_names_and_messages_stay_text() -> None:
    """The page has one script, ours, and no handler; hostile texts are readable."""
    page = _page({HANDLER + SCRIPT: hostile_report()})
    tags = Tags(page)
    assert tags.names.count("script") == 1
    assert "img" not in tags.names
    assert not {name for name in tags.attributes if name.startswith("on")}
    assert HANDLER in tags.text
    assert "\x1b" not in page
    page.encode()


def test_figures_stand_in_the_text() -> None:
    """The page can be read without its bars."""
    draw = random.Random(1)
    right = report([exercise("softmax", Outcome.PASSED, draw)])
    lost = report([exercise("softmax", Outcome.TIMEOUT, draw)])
    text = Tags(_page({"a": right, "b": right, "c": lost})).text
    assert "correct 2 · out of time 1" in text
    assert "mean 67 % of the points" in text
    assert "No known mistake was found" in text


def test_a_missing_sandbox_is_announced() -> None:
    """The page says so if answers ran without one, and only then."""
    assert "without a sandbox" in _page(sample_class(2), sandboxed=False)
    assert "without a sandbox" not in _page(sample_class(2))


def test_without_graded_submissions_the_page_says_so() -> None:
    """No lesson, or a lesson without submissions, is not an error."""
    assert "Nothing has been graded yet" in class_page({}, sandboxed=True, made_at=MADE_AT)
    assert "Nothing has been graded yet" in _page({})


def test_eight_lessons_of_300_students_stay_below_a_megabyte() -> None:
    """A phone can open the page of a big class."""
    lessons = {f"{n:02d}_lesson": sample_class(300, seed=n) for n in range(1, 9)}
    page = class_page(lessons, sandboxed=True, made_at=MADE_AT)
    assert len(page.encode()) < 1_000_000


@pytest.fixture
def browser_page(tmp_path: Path) -> Iterator[tuple[Page, Path]]:
    """Yield a phone-sized browser tab and a file to show."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 390, "height": 800}), tmp_path / "class.html"
        browser.close()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser_the_table_sorts_and_finds_and_nothing_hostile_runs(
    browser_page: tuple[Page, Path],
) -> None:
    """At phone width, without overflow; the page's policy lets only its own script run."""
    page, file = browser_page
    file.write_text(_page({**sample_class(), HANDLER: hostile_report()}), encoding="utf-8")
    dialogs: list[str] = []
    requests: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    totals = "[...document.querySelectorAll('.scores .all')].map(cell => Number(cell.textContent))"
    page.locator(".scores th:nth-child(2) button").click()
    assert page.evaluate(totals) == sorted(page.evaluate(totals))
    page.locator(".scores th:nth-child(2) button").click()
    assert page.evaluate(totals) == sorted(page.evaluate(totals), reverse=True)
    page.get_by_label("Find a student").fill("weber")
    assert page.locator(".scores tbody tr:visible").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert dialogs == []
    assert requests == [file.as_uri()]
