"""Photograph the pages that README shows, from the invented class of `make demo`.

Run by `make pictures`. Each picture is of a real page, opened from disk in Chromium.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Picture:
    """One picture: its file, the page below the course folder, and how much of the page to show."""

    name: str
    page: str
    width: int
    height: int
    card: str = ""  # of the exercises' cards, show this one only


PICTURES = (
    Picture("feedback.png", "feedback/bela/03_attention/03_attention.html", 860, 1470, "causal-mask"),
    Picture("class_report.png", "reports/class.html", 1100, 896),
)
SHOW_ONE_CARD = """name => document.querySelectorAll("section.card").forEach(
    each => { each.hidden = each.id !== "exercise-" + name })"""


def photograph(browser: Browser, picture: Picture, course: Path) -> None:
    """Open a page from disk and save its top as a picture."""
    size = {"width": picture.width, "height": picture.height}
    page = browser.new_page(viewport=size, color_scheme="light")
    page.goto((course / picture.page).resolve().as_uri())
    if picture.card:
        page.evaluate(SHOW_ONE_CARD, picture.card)
    page.screenshot(path=FOLDER / picture.name)
    page.close()


def main(course: Path) -> None:
    """Make every picture from the pages of a course. Needs Chromium."""
    missing = [picture.page for picture in PICTURES if not (course / picture.page).is_file()]
    if missing:
        sys.exit(f"no {', '.join(missing)} in {course}: run 'make demo' first")
    with sync_playwright() as playwright:
        options = ["--no-sandbox"]  # pages of our own; root, as in a container, needs it
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        for picture in PICTURES:
            photograph(browser, picture, course)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
