"""The student's fragments are complete, escaped, and don't give an answer away."""

import random

import pytest
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

from autograder.model.report import CheckReport, ExerciseReport, Incident, NamedMistake, Outcome
from autograder.reports.feedback import MOST, exercise_feedback, summary
from autograder.reports.words import WORDING

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
    """A student reads the outcome, what to do, and the points."""
    made = exercise("softmax", outcome, random.Random(1))
    text = Tags(exercise_feedback(made, sandboxed=True)).text
    assert WORDING[outcome].label in text.lower()
    assert ("2 points pending" in text) == outcome.is_pending
    assert "2 points" in text
    if outcome is not Outcome.FAILED:
        assert WORDING[outcome].sentence in text
    assert "0 of 2 points" not in text or not outcome.is_pending


def test_mistakes_come_first_then_failures_then_what_passed_folded() -> None:
    """The cause is read before its symptoms, and the checks that passed come last."""
    page = exercise_feedback(_failed(), sandboxed=True)
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
    """The numbers are the report's own, and one point is in the singular."""
    assert "0.5 of 3 points" in Tags(exercise_feedback(_failed(), sandboxed=True)).text
    assert "1 of 1 point\n" in Tags(exercise_feedback(_failed(points=1, score=1), sandboxed=True)).text


def test_an_answer_that_passed_shows_no_failures() -> None:
    """Nothing sounds like a failure."""
    text = Tags(exercise_feedback(exercise("softmax", Outcome.PASSED, random.Random(1)), sandboxed=True)).text
    assert "checks failed" not in text
    assert "Next:" not in text
    assert "known mistake" not in text


def test_hostile_text_stays_text() -> None:
    """No element, handler or terminal code of a submission reaches the page."""
    for page in (
        exercise_feedback(hostile_exercise(), sandboxed=True),
        summary(hostile_report(), sandboxed=True),
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
    """A feedback page needs no network."""
    tags = Tags(exercise_feedback(_failed(), sandboxed=False) + summary(hostile_report(), sandboxed=False))
    assert all(link.startswith("#") for link in tags.links)
    assert "url(" not in tags.text
    assert "@import" not in tags.text


def test_a_missing_sandbox_is_announced_everywhere() -> None:
    """Both fragments say so without a sandbox, and neither does with one."""
    made = report([_failed()])
    for sandboxed in (True, False):
        for page in (exercise_feedback(_failed(), sandboxed=sandboxed), summary(made, sandboxed=sandboxed)):
            assert ("without a sandbox" in page) is not sandboxed


def test_the_summary_links_what_to_fix_in_lesson_order() -> None:
    """Exercises to fix link to their answer cells, the others don't."""
    draw = random.Random(2)
    outcomes = [Outcome.PASSED, Outcome.ERROR, Outcome.MISSING, Outcome.NEEDS_MARKING]
    made = report([exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=False)])
    tags = Tags(summary(made, sandboxed=True))
    assert tags.links == ["#comment-attention-scores", "#comment-causal-mask"]
    assert "1 of 3 graded exercises correct" in tags.text
    assert WORDING[Outcome.NEEDS_MARKING].sentence in tags.text


def test_a_perfect_notebook_gets_one_line() -> None:
    """It has no list of exercises to fix."""
    made = report([exercise(name, Outcome.PASSED, random.Random(1)) for name in POINTS])
    tags = Tags(summary(made, sandboxed=True))
    assert "All 7 exercises correct" in tags.text
    assert tags.links == []


def test_a_long_list_of_incidents_is_cut_and_counted() -> None:
    """The page stays readable, however many there are."""
    flood = [Incident(exercise=None, kind="open", message=f"no {n}") for n in range(MOST + 30)]
    page = summary(report([_failed()], incidents=flood), sandboxed=True)
    assert "and 30 more" in page
    assert f"no {MOST}<" not in page


def test_nbgraders_own_page_shows_the_fragment_whole() -> None:
    """Nbconvert doesn't change the fragment or its style."""
    fragment = exercise_feedback(_failed(), sandboxed=True)
    data = {"text/plain": "0.5", "text/html": fragment}
    output = new_output("execute_result", data, execution_count=1)
    cell = new_code_cell("grade('03_attention/softmax')", outputs=[output], execution_count=1)
    page, _ = HTMLExporter(template_name="classic").from_notebook_node(new_notebook(cells=[cell]))
    assert fragment.strip() in page
    assert HANDLER not in page
