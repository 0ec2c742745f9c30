"""A lesson at a glance is readable in a narrow window."""

import pytest
from chromium import CHROMIUM, browser
from playwright.sync_api import Browser

from coursework.instant.exercises import exercises_of
from coursework.instant.glance import DONE, OPEN, TO_RUN, ExerciseState, Glance

__all__ = ["browser"]
# What JupyterLab sets for tables of outputs.
JUPYTERLAB = ".out table { table-layout: fixed } .out td, .out th { max-width: none; white-space: normal; padding: 0.5em }"


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize("lesson", ["04_multi_head_attention", "09_modern_llm"])
def test_nothing_of_the_table_is_cut_off(browser: Browser, lesson: str) -> None:
    """It stays inside its card, and names break rather than stand out."""
    words = "not right yet: check({0.name}) says why"
    states = [ExerciseState(each, "✗", words.format(each)) for each in exercises_of(lesson)]
    page = browser.new_page(viewport={"width": 360, "height": 700})
    page.set_content(f"<style>{JUPYTERLAB}</style><div class='out'>{Glance(lesson, states).html}</div>")
    table, card = (page.locator(each).bounding_box() for each in ("table", "section"))
    assert table is not None
    assert card is not None
    assert table["x"] + table["width"] <= card["x"] + card["width"]
    page.close()


def test_an_exercise_has_one_name() -> None:
    """It is that of what its cell defines, as in every other message; answers go by their heading."""
    named = {each.id: each.called for lesson in ("06_decoder", "09_modern_llm") for each in exercises_of(lesson)}
    assert (named["decode-step"], named["quantise"]) == ("`decode_step`", "`quantise`")
    assert named["model-numbers"] == "the numbers of a model"
    told = Glance("06_decoder", [ExerciseState(each, "○", "") for each in exercises_of("06_decoder")])
    assert "`decode_step`" in told.text
    assert "decode with a cache" not in told.text + told.html


def test_after_a_restart_the_answers_that_are_there_only_have_to_run() -> None:
    """They are not counted as work that is left."""
    exercises = exercises_of("04_multi_head_attention")
    waiting = [ExerciseState(each, OPEN, TO_RUN) for each in exercises]
    assert Glance("04", waiting).next == "Next: run the cells that have not run, with Run > Run All Cells."
    first, second, *others = waiting
    left = [ExerciseState(first.exercise, OPEN, ""), second, *(ExerciseState(each.exercise, DONE, "") for each in others)]
    said = f"with Run > Run All Cells. About {first.exercise.minutes} minutes of exercises are left."
    assert Glance("04", left).next.endswith(said)
