"""Whatever a student writes, there are all pages: the student's own, the class's and formgrader's."""

import random
import runpy
import time

import pytest
from nbconvert.exporters import HTMLExporter
from tiny_course import LESSON, FakeGrader, hand_in
from traitlets.config import Config

from autograder.grading.grade_submission import grade_submission
from autograder.model.course import CONFIG, Course
from autograder.reports.feedback_exporter import make_pages
from autograder.reports.formgrader import graded_notebook
from autograder.reports.mathml import typeset_markdown
from autograder.reports.publish import publish
from autograder.reports.safe_html import DEEPEST, LONGEST, inert
from autograder.storage.attempts import AttemptLog
from autograder.storage.recorder import Recorder
from autograder.submissions.submission import Submission

pytestmark = pytest.mark.usefixtures("same_grader")
OPENED = ("<b>", "<div>", "<pre>", "<code>", "<sub>", "<i><b><s>", "<details>", "<ul><li>", "<table><tr><td>", "<svg>")
DEEP = {
    **{tag: "$x$ " + tag * 6000 for tag in OPENED},
    "closed": "$x$ " + "<b>" * 2000 + "</b>" * 2000,
    "around a formula": "<b>" * 2000 + "$x$" + "</b>" * 2000,
    "lists": "$x$\n" + "".join("  " * depth + "- a\n" for depth in range(140)),
    "numbers": "$x$\n" + "1. " * 6000,
    "quotes": "$x$\n\n" + ">" * 15_000 + " a",
    "quoted lists": "$x$\n\n" + "> - " * 4500 + "a",
    "emphasis": "$x$ " + "*a **b " * 2500,
    "brackets": "$x$ " + "[" * 9000 + "]" * 9000,
    "links": "[a](" * 4000 + ")" * 4000 + "$x$",
    "formulas in formulas": "$" + "x^{" * 140 + "x" + "}" * 140 + "$",
    "fractions": "$" + r"\frac{" * 90 + "$",
    "environments": r"\begin{align}" * 1500,
    "table": "|" + "a|" * 90 + "\n|" + "-|" * 90 + ("\n|" + "$x$|" * 90) * 50,
}
LONG = {
    "dollars": "$" * 3_000_000,
    "formulas": "$x$" * 1_000_000,
    "line": "a" * 5_000_000,
    "entities": "&#36;x&#36;&amp;&#0;&#55296;&" * 1000,
    "comments": "$x$<!--" * 3000,
    "attribute": "<a " + "b=c " * 4900 + ">$x$",
    "references": "[a]: b\n" * 2800 + "[a]" * 10,
    "rules": "a|b\n-|-\n" + "$x$|y\n" * 2800,
    "direction": "$x$ \u202e\u2066abc\u2069\u061c" * 1000,
    "controls": "".join(map(chr, range(0x300))) * 20,
    "half characters": "\ud800\udfff$x$" * 3000,
    "accents": "$x$ a" + "\u0301" * 19_000,
}
TEXTS = DEEP | LONG
FEW = ("<b>", "table", "environments", "line", "entities", "half characters", "controls")  # one of each sort
ALSO = pytest.mark.full("another text of the same sorts", seconds=1)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in FEW else ALSO) for name in TEXTS])
def test_any_text_has_html_in_bounded_time(name: str) -> None:
    """On a student's page, in the graded notebook, and from there in formgrader."""
    started = time.process_time()
    pages = typeset_markdown(TEXTS[name]), inert(TEXTS[name]), typeset_markdown(inert(TEXTS[name]))
    assert time.process_time() - started < 12
    assert all(page.strip() and len(page) < 60 * LONGEST for page in pages)


def test_what_is_nested_too_deeply_is_shown_as_it_was_written() -> None:
    """Browsers flatten it as well, and each step that follows may rely on the limit."""
    deep = "<b>" * DEEPEST
    assert typeset_markdown(f"{deep}my answer") == f"<pre>{'&lt;b&gt;' * DEEPEST}my answer</pre>"
    assert "<b>my answer</b>" in typeset_markdown("<b>my answer")


@pytest.mark.full("a page of each kind for each text", seconds=30)
def test_any_text_has_all_pages(course: Course) -> None:
    """As a written answer, in a code cell, and from the words of all of them at random."""
    draw = random.Random(5)
    words = [text[:40] for text in TEXTS.values()]
    mixed = ["".join(draw.choices(words, k=400)) for _ in range(4)]
    texts = dict(enumerate([*list(TEXTS.values())[::4], *mixed]))
    settings = Config()
    runpy.run_path(str(course.root / CONFIG), {"get_config": lambda: settings})
    exporter = HTMLExporter(config=settings, template_name="classic")
    resources = {"assignment_id": LESSON, "submission_id": "1"}
    log = AttemptLog(course.reports)
    for number, text in texts.items():
        text = text.encode("utf-8", "replace").decode()
        hand_in(course, f"s{number}", why=text, double=f"# right\n{text}")
        submission = Submission(course, f"s{number}", LESSON, "v")
        attempt, notebook = grade_submission(FakeGrader(course), submission, sandboxed=True)
        with Recorder(course) as recorder:
            recorder.record(attempt, graded_notebook(notebook, attempt))
        html, _ = exporter.from_filename(str(course.autograded_notebook(f"s{number}", LESSON)), dict(resources))
        assert "Mark scheme" in html
    assert len(list(log)) == len(texts)
    assert make_pages(course, LESSON, [f"s{number}" for number in texts]) == {}
    assert all((course.feedback / f"s{number}" / LESSON / "notebook.html").is_file() for number in texts)
    assert (course.reports / "class.html") in publish(course, [LESSON]).paths
