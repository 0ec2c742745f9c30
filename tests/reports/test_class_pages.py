"""The class report is complete, self-contained, legible and small, and shows hostile texts as text."""


import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from chromium import CHROMIUM, browser
from playwright.sync_api import Browser, Page

from autograder.model.report import ExerciseReport, Incident, NamedMistake, Outcome, Report, State
from autograder.reports.class_answers import LessonAnswers, StudentAnswer
from autograder.reports.class_pages import FRONT, SIMILAR, STEPS, class_pages, step

from .accessible import faults
from .hostile import HANDLER, SCRIPT, Tags, hostile_report
from .sample_class import LESSON, exercise, report, sample_class
from .sample_course import LESSONS, MADE_AT, name, sample_pages, sample_reports

__all__ = ["browser"]
PAGE = f"class-{LESSON}.html"
STOLEN = f"def softmax(x):\n    # {HANDLER}\n    return '{SCRIPT}', " + ", ".join(f"x.f{n}" for n in range(60))


def _pages(reports: dict[str, Report], **more: object) -> dict[str, str]:
    return class_pages(**{"lesson_reports": {LESSON: reports}, "answers": {}, "sandboxed": True, "made_at": MADE_AT, **more})


def _hostile() -> dict[str, str]:
    """Return the pages of a class in which two students with hostile names hand in the same hostile code."""
    names = (HANDLER + SCRIPT, "eve")
    given = {student: StudentAnswer(STOLEN, is_code=True) for student in names}
    given |= {name(n): StudentAnswer(f"def softmax(x):\n    return x.g{n}", is_code=True) for n in range(8)}
    reports = {**sample_class(), **dict.fromkeys(names, hostile_report())}
    broken = report([]).with_file(State.UNREADABLE, SCRIPT + HANDLER, [])
    return _pages(reports | {"x": broken}, answers={LESSON: LessonAnswers({"softmax": given}, {})})


def test_there_is_a_page_for_the_class_for_each_lesson_and_for_similar_answers() -> None:
    """Every page links to every other by names that exist."""
    pages = sample_pages(4)
    assert list(pages) == [FRONT, *(f"class-{lesson}.html" for lesson in LESSONS), SIMILAR]
    for page in pages.values():
        links = {link.partition("#")[0] for link in Tags(page).links}
        assert pages.keys() <= links
        local = {link for link in links if link.endswith(".html") and not link.startswith("../")}
        assert local <= pages.keys()


def test_every_student_is_listed_and_linked() -> None:
    """Both pages link to the feedback page, relative to reports/; an index page is linked if there is one."""
    made = sample_class()
    pages = _pages(made, indexes={"ueda020"})
    for student in made:
        address = f"../feedback/{student}/{LESSON}/{LESSON}.html"
        assert address in Tags(pages[FRONT]).links
        assert address in Tags(pages[PAGE]).links
    indexes = [link for link in Tags(pages[FRONT]).links if link.endswith("/index.html")]
    assert set(indexes) == {"../feedback/ueda020/index.html"}


def test_students_are_shown_by_name_where_it_is_known() -> None:
    """The id stands beside the name, which is escaped like anything else; an unknown name is the id alone."""
    pages = _pages(sample_class(2) | {"s2": report([])}, full_names={"s2": "Ada <b>Byron</b>"})
    assert 'Ada &lt;b&gt;Byron&lt;/b&gt; <span class="soft">s2</span>' in pages[FRONT]


def test_links_survive_any_folder_name() -> None:
    """A name with a space, a quote or a hash still links to that student's page."""
    [right] = sample_class(1).values()
    pages = _pages({'a b#"?': right})
    assert f"../feedback/a%20b%23%22%3F/{LESSON}/{LESSON}.html" in Tags(pages[FRONT]).links


def test_what_waits_links_to_formgrader_and_scores_to_the_csv() -> None:
    """The address of formgrader is the course's."""
    waiting = report([exercise("softmax", Outcome.BY_HAND, random.Random(1))])
    pages = _pages({"a": waiting}, formgrader="https://hub.example/formgrader/")
    queue = f"https://hub.example/formgrader/gradebook/{LESSON}/{LESSON}"
    assert queue in Tags(pages[FRONT]).links
    assert {queue, f"{LESSON}.csv"} <= set(Tags(pages[PAGE]).links)


@pytest.mark.parametrize("page", [FRONT, PAGE, SIMILAR])
def test_no_page_loads_anything(page: str) -> None:
    """No element loads anything, and links stay on the machine."""
    made = _hostile()[page]
    tags = Tags(made)
    assert all(re.match(r"#|\.\./feedback/|class|03_|http://localhost:8888/formgrader/", link) for link in tags.links)
    assert not {"link", "img", "iframe", "object"} & set(tags.names)
    assert not re.search(r"url\(|@import", made)


@pytest.mark.parametrize("page", [FRONT, PAGE, SIMILAR])
def test_hostile_names_messages_and_code_stay_text(page: str) -> None:
    """The page has one script, ours, and no handler; hostile texts are readable."""
    made = _hostile()[page]
    tags = Tags(made)
    assert tags.names.count("script") == 1
    assert "img" not in tags.names
    assert not {attribute for attribute in tags.attributes if attribute.startswith("on")}
    assert HANDLER in tags.text
    assert "\x1b" not in made
    assert "\u202e" not in made
    made.encode()


def test_figures_stand_in_the_text() -> None:
    """The page can be read without its bars."""
    draw = random.Random(1)
    right = report([exercise("softmax", Outcome.PASSED, draw)])
    lost = report([exercise("softmax", Outcome.TIMEOUT, draw)])
    pages = _pages({"a": right, "b": right, "c": lost})
    text = Tags(pages[PAGE]).text
    assert "correct 2 · out of time 1" in text
    assert "67 %" in text
    assert "No known mistake was found" in text
    assert "Nothing is waiting" in Tags(pages[FRONT]).text
    assert "No such pair was found" in Tags(pages[SIMILAR]).text


def test_a_mistake_has_its_count_its_question_and_the_model_answer_with_it() -> None:
    """No student's code stands there. Without such an answer there is nothing to unfold."""
    [mistake] = hostile_report().exercises[0].misconceptions
    wrong = ExerciseReport(
        id="softmax", points=2, score=0, outcome=Outcome.FAILED,
        misconceptions=[mistake.model_copy(update={"id": "no-root", "title": "No root", "hint": "How wide?"})],
    )  # fmt: skip
    given = {"ada": StudentAnswer("def softmax(x):\n    return x * 7  # by ada", is_code=True)}
    answers, known = {LESSON: LessonAnswers({"softmax": given}, {})}, {(LESSON, "softmax", "no-root"): "a < root"}
    page = _pages({"ada": report([wrong])}, answers=answers, with_mistake=lambda *key: known.get(key, ""))[PAGE]
    text = Tags(page).text
    assert "1 of 1 (100 %)" in text
    assert "Ask the class: How wide?" in text
    assert "The model answer with this mistake" in text
    assert "<code>a &lt; root</code>" in page
    assert "by ada" not in page
    assert "with this mistake" not in _pages({"ada": report([wrong])}, answers=answers)[PAGE]


def test_what_is_excluded_stands_apart_and_nothing_untrue_is_promised() -> None:
    """A note takes no points off, but the code that it is about may have made an answer fail."""
    banned = NamedMistake(id="not-allowed", title="The answer uses os.system")
    made = sample_class()
    first = next(name for name, each in made.items() if each.exercises)
    exercises = [made[first].exercises[0].model_copy(update={"misconceptions": [banned]}), *made[first].exercises[1:]]
    incident = Incident(exercise="softmax", kind="started-process", message="It started a process.")
    made[first] = made[first].model_copy(update={"exercises": exercises, "incidents": [incident]})
    pages = _pages(made)
    page = pages[f"class-{LESSON}.html"]
    mistakes, excluded = page.index('id="mistakes"'), page.index('id="excluded"')
    assert mistakes < excluded < page.index("The answer uses os.system")
    for text in (pages[FRONT], page):
        assert "A note takes no points off; if the same code also made an answer fail" in text
        assert "accident. No points were taken off" not in text


def test_a_missing_sandbox_is_announced() -> None:
    """The pages say so if answers ran without one, and only then."""
    with_one, without = (_pages(sample_class(2), sandboxed=each) for each in (True, False))
    for page in (FRONT, PAGE):
        assert "without a sandbox" in without[page]
        assert "without a sandbox" not in with_one[page]


def test_without_graded_submissions_the_page_says_so() -> None:
    """No lesson, or a lesson without submissions, is not an error."""
    for pages in (_pages({}), _pages({}, lesson_reports={})):
        assert "Nothing has been graded yet" in pages[FRONT]
        assert list(pages) == [FRONT, SIMILAR]


def test_pages_of_eight_lessons_and_300_students_stay_below_half_a_megabyte() -> None:
    """A phone can open every page of a big class."""
    pages = class_pages(sample_reports(300), {}, sandboxed=True, made_at=MADE_AT)
    assert max(len(page.encode()) for page in pages.values()) < 500_000


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """Yield a phone-sized browser tab."""
    page = browser.new_page(viewport={"width": 390, "height": 800})
    yield page
    page.close()


def _show(tab: Page, folder: Path, made: dict[str, str], page: str) -> None:
    for file, text in made.items():
        (folder / file).write_text(text, encoding="utf-8")
    tab.goto((folder / page).as_uri())


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser_students_of_all_lessons_are_sorted_and_found(tab: Page, tmp_path: Path) -> None:
    """By the keyboard alone: numbers before words in both directions, and one search for all tables."""
    _show(tab, tmp_path, sample_pages(60), FRONT)
    shares = "[...document.querySelectorAll('.heat td.all')].map(cell => Number(cell.dataset.v ?? NaN))"
    button = tab.locator(".heat th:nth-child(2) button")
    button.focus()
    tab.keyboard.press("Enter")
    rising = tab.evaluate(shares)
    assert rising == sorted(rising)
    assert tab.locator(".heat th[aria-sort=ascending]").inner_text().startswith("All")
    tab.keyboard.press("Enter")
    assert tab.evaluate(shares) == sorted(rising, reverse=True)
    lesson = "[...document.querySelectorAll('.heat tbody tr')].map(row => row.cells[2].dataset.v !== undefined)"
    for _ in range(2):  # in both directions, what has no score comes last
        tab.locator(".heat th:nth-child(3) button").click()
        scored = tab.evaluate(lesson)
        assert scored == sorted(scored, reverse=True)
    tab.get_by_label("Find a student").fill(name(3))
    assert tab.locator(".heat tbody tr:visible").count() == 1
    assert "1 of 60 students" in tab.locator("#found").inner_text()
    tab.get_by_label("Find a student").fill("largest entry is not sub")  # a mistake
    assert tab.locator(".ranked tbody tr:visible").count() == 8  # in one exercise of each lesson
    tab.get_by_label("Find a student").fill("")
    assert tab.locator(".heat tbody tr:visible").count() == 60


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser_what_an_instructor_has_to_do_comes_before_the_long_tables(tab: Page, tmp_path: Path) -> None:
    """In a class of 300, on the first screen of a laptop, with the mistakes of the class right below it."""
    top = "id => document.getElementById(id).getBoundingClientRect().top"
    lesson = f"class-{LESSONS[4]}.html"
    for page, first, then in ((FRONT, ["help", "by-hand"], "hardest"), (lesson, ["by-hand"], "mistakes")):
        tab.set_viewport_size({"width": 1280, "height": 800})
        _show(tab, tmp_path, sample_pages(300), page)
        assert max(tab.evaluate(top, each) for each in first) < 400
        assert tab.evaluate(top, then) < 800
        tab.set_viewport_size({"width": 390, "height": 844})
        assert max(tab.evaluate(top, each) for each in first) < tab.evaluate(top, then) < 1500
        assert tab.evaluate(top, then) < tab.evaluate(top, "scores")


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_in_a_browser_nothing_hostile_runs_and_no_page_scrolls_sideways(tab: Page, tmp_path: Path) -> None:
    """At phone width and with everything unfolded; the policy lets only our own script run."""
    dialogs: list[str] = []
    requests: list[str] = []
    tab.on("dialog", lambda dialog: dialogs.append(dialog.message))
    tab.on("request", lambda request: requests.append(request.url))
    for page in (FRONT, PAGE, SIMILAR):
        _show(tab, tmp_path, _hostile(), page)
        tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert dialogs == []
    assert requests == [(tmp_path / page).as_uri() for page in (FRONT, PAGE, SIMILAR)]


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_axe_finds_no_serious_fault(tab: Page, tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    """On each kind of page, at either width, with everything unfolded, in a class with pairs to compare."""
    tab.emulate_media(color_scheme=scheme)
    for page in (FRONT, f"class-{LESSONS[0]}.html", SIMILAR):
        _show(tab, tmp_path, sample_pages(40), page)
        tab.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for width in (390, 1280):
            tab.set_viewport_size({"width": width, "height": 800})
            assert (page, width, faults(tab)) == (page, width, [])


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, by WCAG 2.2."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_heat_maps_text_stands_out_by_wcag() -> None:
    """In light and in dark, each step has a colour, and the contrast of its text is at least 4.5 to 1."""
    steps = re.findall(r"[.]h\d+{background-color:(#\w{6});color:(#\w{6})}", sample_pages(2)[FRONT])
    assert len(steps) == 2 * STEPS
    for colours in steps:
        low, high = sorted(map(_luminance, colours))
        assert (high + 0.05) / (low + 0.05) >= 4.5, colours


@pytest.mark.parametrize(("share", "number"), [(0, 0), (0.04, 0), (0.5, 5), (0.96, 10), (1, 10), (1.5, 10)])
def test_steps_go_from_nothing_to_everything(share: float, number: int) -> None:
    """Both ends have a step; a bonus beyond 100 % has the last."""
    assert step(share) == number


def test_lesson_pages_name_students_as_the_front_page_does() -> None:
    """The scores, what could not be opened and who is absent: an id alone says little to a teacher of 300."""
    class_ = sample_class(8)
    names = {student: f"Name of {student}" for student in class_}
    _, _, shown = _pages(class_, full_names=names)[PAGE].partition('id="scores"')
    assert [name for name in names.values() if name not in shown] == []
