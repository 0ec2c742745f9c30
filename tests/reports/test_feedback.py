"""The student's fragments: complete, escaped, and without what gives an answer away."""

import random

import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

from autograder.reports.feedback import MOST, explain, preface
from autograder.reports.words import WORDING
from autograder.results import CheckReport, ExerciseReport, Incident, NamedMistake, Outcome

from .hostile import HANDLER, Tags, hostile_exercise, hostile_report
from .sample_class import POINTS, exercise, report


def _failed(**changes: object) -> ExerciseReport:
    base = ExerciseReport(
        id="softmax", points=3, score=0.5, outcome=Outcome.FAILED,
        checks=[
            CheckReport(id="a", title="Rows add up to 1", passed=True),
            CheckReport(id="b", title="Any `dim` works", passed=False, message="off by 2"),
        ],
        misconceptions=[NamedMistake(id="m", title="No shift", hint="What is exp(1000)?")],
    )  # fmt: skip
    return base.model_copy(update=changes)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_tells_what_happened_and_the_score(outcome: Outcome) -> None:
    """A student reads the outcome in words, a sentence to act on, and the points."""
    made = exercise("softmax", outcome, random.Random(1))
    text = Tags(explain(made, sandboxed=True)).text
    assert WORDING[outcome].label in text.lower()
    assert ("still open" in text) == outcome.waits_for_a_person
    assert "2 points" in text
    if outcome is not Outcome.FAILED:
        assert WORDING[outcome].sentence in text


def test_mistakes_come_first_then_failures_then_what_passed_folded() -> None:
    """The cause is read before the symptoms, and what works does not stand in the way."""
    page = explain(_failed(), sandboxed=True)
    order = [
        "No shift",
        "What is exp(1000)?",
        "Any <code>dim</code> works",
        "off by 2",
        "<details>",
        "Rows add up",
    ]
    places = [page.index(part) for part in order]
    assert places == sorted(places)


def test_score_and_points_are_those_of_the_report() -> None:
    """The numbers are the report's own, and one point is not called points."""
    assert "0.5 of 3 points" in Tags(explain(_failed(), sandboxed=True)).text
    assert "1 of 1 point\n" in Tags(explain(_failed(points=1, score=1), sandboxed=True)).text


def test_an_answer_that_passed_is_not_told_of_failures() -> None:
    """Nothing reads as a fault where there is none."""
    text = Tags(explain(exercise("softmax", Outcome.PASSED, random.Random(1)), sandboxed=True)).text
    assert "does not yet" not in text
    assert "Next:" not in text
    assert "known mistake" not in text


def test_hostile_text_stays_text() -> None:
    """No element, handler or terminal code of a submission's reaches the page."""
    for page in (
        explain(hostile_exercise(), sandboxed=True),
        preface(hostile_report(), sandboxed=True),
    ):
        tags = Tags(page)
        assert not {"script", "img"} & set(tags.names)
        assert not {name for name in tags.attributes if name.startswith("on")}
        assert "<script>alert(1)</script>" in tags.text
        assert "{{ 7*7 }}" in tags.text
        assert "\x1b" not in page
        assert tags.names.count("style") == 1
        page.encode()


def test_the_fragment_loads_nothing() -> None:
    """A feedback page is read without a network."""
    tags = Tags(explain(_failed(), sandboxed=False) + preface(hostile_report(), sandboxed=False))
    assert all(link.startswith("#") for link in tags.links)
    assert "url(" not in tags.text
    assert "@import" not in tags.text


def test_the_missing_sandbox_is_told_everywhere() -> None:
    """Without a sandbox both fragments say so, with one neither does."""
    made = report([_failed()])
    for sandboxed in (True, False):
        for page in (explain(_failed(), sandboxed=sandboxed), preface(made, sandboxed=sandboxed)):
            assert ("without a sandbox" in page) is not sandboxed


def test_the_preface_says_where_to_look_in_lesson_order() -> None:
    """Exercises in need of a look are linked to their answer cells, the others are not."""
    draw = random.Random(2)
    outcomes = [Outcome.PASSED, Outcome.ERROR, Outcome.MISSING, Outcome.NEEDS_MARKING]
    made = report([exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=False)])
    tags = Tags(preface(made, sandboxed=True))
    assert tags.links == ["#comment-attention-scores", "#comment-causal-mask"]
    assert "1 of 4 exercises right" in tags.text
    assert WORDING[Outcome.NEEDS_MARKING].sentence in tags.text


def test_all_right_is_said_plainly() -> None:
    """A perfect notebook gets one line and no list."""
    made = report([exercise(name, Outcome.PASSED, random.Random(1)) for name in POINTS])
    tags = Tags(preface(made, sandboxed=True))
    assert "All 7 exercises right" in tags.text
    assert tags.links == []


def test_a_flood_of_incidents_is_cut_and_counted() -> None:
    """A page stays readable whatever a submission provokes."""
    flood = [Incident(exercise=None, kind="open", message=f"no {n}") for n in range(MOST + 30)]
    page = preface(report([_failed()], incidents=flood), sandboxed=True)
    assert "and 30 more" in page
    assert f"no {MOST}<" not in page


def test_nbgraders_own_page_shows_the_fragment_whole() -> None:
    """Nbconvert passes the fragment on as it is, style included."""
    fragment = explain(_failed(), sandboxed=True)
    data = {"text/plain": "0.5", "text/html": fragment}
    output = new_output("execute_result", data, execution_count=1)
    cell = new_code_cell("grade('03_attention/softmax')", outputs=[output], execution_count=1)
    page, _ = HTMLExporter(template_name="classic").from_notebook_node(new_notebook(cells=[cell]))
    assert fragment.strip() in page
    assert HANDLER not in page
