"""A student's page in a real formgrader: whatever it holds, an instructor's click changes no score."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nbformat.v4 import new_markdown_cell
from playwright.sync_api import Page, sync_playwright
from tiny_course import LESSON, FakeGraded, FakeGrader, hand_in
from tiny_fixtures import ReadGrades, book, built, course, grades, same_grader  # noqa: F401 - fixtures

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import CONFIG, Course
from autograder.reports import feedback_exporter
from autograder.reports.formgrader import graded_notebook
from autograder.storage.gradebook import open_gradebook
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission

from .page_attacks import ATTACKS, CLICKS

CHROMIUM = shutil.which("chromium")
SECONDS = 120  # on a busy machine
pytestmark = [
    pytest.mark.full("Chromium, and nbgrader's own server", seconds=60),
    pytest.mark.timeout(1200),
    pytest.mark.usefixtures("same_grader"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
Open = Callable[[str], Page]
MATHJAX = "window.MathJax = {Hub: {Startup: {signal: {Interest() {}}}, Config() {}, Queue() {}}}"  # no network


class KeepsProse(FakeGrader):
    """A grader that keeps a student's own cell in front of the lesson, as the real one does."""

    prose = ""

    def _graded(self, lesson: str, answers: dict[str, str]) -> FakeGraded:
        graded = super()._graded(lesson, answers)
        graded.notebook.cells.insert(0, new_markdown_cell(self.prose, id="own"))
        return graded


def record(course: Course, student: str, prose: str) -> None:
    """Hand in, grade and record a notebook with this text in a cell of its own, above the lesson.

    There it comes before formgrader's own elements of the same ids. A copy in an answer would catch the
    clicks that are meant for it.
    """
    hand_in(course, student, why="Because.")
    grader = KeepsProse(course)
    grader.prose = prose
    submission = Submission(course, student, LESSON, "v")
    attempt, notebook = grade_submission(grader, submission, sandboxed=True)
    with Recorder(course) as recorder:
        recorder.record(attempt, graded_notebook(notebook, attempt))


@pytest.fixture(params=[True, False], ids=["with-our-filter", "without-our-filter"])
def formgrader(
    course: Course, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[Open, bool]]:
    """Start JupyterLab with nbgrader's extension; give a function that opens a student's page.

    Without our filter, formgrader shows markdown by nbconvert's own rules: a graded notebook has to be
    safe in itself.
    """
    (tmp_path / ".jupyter").mkdir()
    if not request.param:
        settings = (course.root / CONFIG).read_text()
        (course.root / CONFIG).write_text(settings.replace("c.HTMLExporter.filters", "unused"))
    with contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={course.root}"]
    env = os.environ | {"HOME": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path / ".jupyter")}
    server = subprocess.Popen(
        command, cwd=course.root, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/api")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page()
            page.set_default_timeout(SECONDS * 1000)
            page.route("https://cdnjs.cloudflare.com/**", lambda route: route.fulfill(body=MATHJAX))
            yield lambda student: opened(page, course, address, student), request.param
            browser.close()
    finally:
        server.terminate()
        server.wait(20)


def wait_for(address: str) -> None:
    """Wait until a server answers."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=5).close()
            return
        time.sleep(0.3)
    raise TimeoutError(address)


def opened(page: Page, course: Course, address: str, student: str) -> Page:
    """Open a student's notebook as an instructor does, and wait until the scores are bound."""
    with open_gradebook(course) as book:
        key = book.find_submission_notebook(LESSON, LESSON, student).id
    with page.expect_response(lambda reply: "/api/comments" in reply.url):
        page.goto(f"{address}/formgrader/submissions/{key}/")
    page.wait_for_function("formgrader.comments && formgrader.comments.loaded && formgrader.grades.loaded")
    return page


def click_everywhere(page: Page) -> None:
    """Click in many places of the page that are no control of formgrader's own."""
    size = page.viewport_size or {"width": 1280, "height": 720}
    for x in (30, size["width"] // 2, size["width"] - 30):
        for y in range(120, size["height"], 90):
            ours = "([x, y]) => !!document.elementFromPoint(x, y)?.closest('button, input, textarea, a, summary, .help')"
            if not page.evaluate(ours, [x, y]):
                page.mouse.click(x, y)
    page.wait_for_timeout(700)


def shown(page: Page) -> dict[str, object]:
    """Return what formgrader's scripts could bind to in what the student wrote."""
    return page.evaluate(
        """() => {
        const found = {attributes: [], elements: []};
        for (const root of document.querySelectorAll('.rendered_html')) {
            if (root.closest('.output_html, .output')) continue;
            for (const each of root.querySelectorAll('*')) {
                found.elements.push(each.localName);
                for (const attribute of each.attributes) found.attributes.push(attribute.name);
            }
        }
        return found;
    }"""
    )


def test_no_click_changes_a_score_and_nothing_binds(
    course: Course,
    formgrader: tuple[Open, bool],
    grades: ReadGrades,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each attack in a cell above the lesson; one that is let through gives points."""
    opening, filtered = formgrader
    chosen = CLICKS if filtered else ATTACKS  # test_safe_html_attacks tries the others on either filter
    students = {f"s{number}": name for number, name in enumerate(chosen)}
    for student, name in students.items():
        record(course, student, ATTACKS[name])
    before = {student: grades(student) for student in students}
    dialogs: list[str] = []
    for student, name in students.items():
        page = opening(student)
        page.once("dialog", lambda dialog: dialogs.append(dialog.message))
        found = shown(page)
        assert set(found["attributes"]) <= {"alt", "src", "href", "title", "align", "open", "tabindex"}, name
        assert not {"script", "style", "iframe", "form", "svg", "math"} & set(found["elements"]), name
        if name in CLICKS:
            click_everywhere(page)
    assert dialogs == []
    assert {student: grades(student) for student in before} == before
    assert feedback_exporter.make_pages(course, LESSON, ["s0"]) == {}
    link = opening("s0").get_by_role("link", name="The student's feedback page").first
    with page.expect_popup() as popup:
        link.click()
    popup.value.get_by_role("heading", name="A tiny lesson").wait_for()  # Jupyter's server has it at this address
    popup.value.close()
    monkeypatch.setattr("autograder.reports.formgrader.inert", lambda source: source)
    record(course, "control", CLICKS["full credit by class"])
    click_everywhere(opening("control"))
    manual = [row[1] for row in grades("control").values()]
    assert any(manual) is not filtered  # without either wall the attack works: it is one
