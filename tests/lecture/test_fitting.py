"""No slide of any deck scrolls on a projector of 1280 × 720, whichever answer is open."""

from pathlib import Path

import pytest
from chromium import CHROMIUM, browser
from conftest import ROOT
from playwright.sync_api import Browser

from autograder.lecture import slides
from autograder.model.course import Course

__all__ = ["browser"]
COURSE = Course(ROOT)

# Walks through a deck, and says how far content stands out of each slide, and how small text gets.
WALK = """async () => {
  const found = [];
  for (let more = true; more;) {
    const section = Reveal.getCurrentSlide(), page = section.querySelector(".page");
    await Promise.all([...page.querySelectorAll("img")].map((one) => one.decode().catch(() => 0)));
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    const text = [...page.querySelectorAll("p, li, td, th, pre")].filter((one) => one.offsetParent);
    const sizes = text.map((one) => parseFloat(getComputedStyle(one).fontSize) * page.dataset.scale);
    found.push({place: location.hash, least: Math.min(99, ...sizes),
                out: Math.max(section.scrollHeight - section.clientHeight,
                              page.scrollWidth - page.clientWidth)});
    more = !Reveal.isLastSlide() || Reveal.availableFragments().next;
    Reveal.next();
  }
  return {found, bar: !!document.querySelector(".reveal .progress")?.offsetParent};
}"""


@pytest.mark.full("Chromium, on every slide of every lesson", seconds=15)
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_no_slide_scrolls(lesson: str, browser: Browser, tmp_path: Path) -> None:
    """Nothing stands out below or at the side, all text stays legible, and no bar counts slides."""
    file = slides.write_slides(COURSE, lesson, tmp_path)
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(file.as_uri())
    page.wait_for_function("window.Reveal && Reveal.isReady()")
    walked = page.evaluate(WALK)
    page.close()
    assert len(walked["found"]) > 20
    assert [one["place"] for one in walked["found"] if one["out"] > 1] == []
    assert min(one["least"] for one in walked["found"]) >= 20
    assert not walked["bar"]
