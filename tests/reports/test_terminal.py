"""The terminal shows all of a report in 80 columns and plain words, and how far a class run is."""


import io
import random
from io import StringIO

import pytest
from rich.console import Console

from autograder.model.report import Outcome, Report
from autograder.reports.terminal import grading_progress, print_report
from autograder.reports.words import WORDING

from .hostile import hostile_report
from .sample_class import POINTS, exercise, report, sample_class


def _printed(made: Report, *, sandboxed: bool = True, width: int = 80, colour: bool = False) -> str:
    text = io.StringIO()
    system = "truecolor" if colour else None
    console = Console(file=text, width=width, force_terminal=colour, color_system=system)
    print_report(made, console, sandboxed=sandboxed)
    return text.getvalue()


def _with(*outcomes: Outcome) -> Report:
    draw = random.Random(3)
    return report([exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=False)])


def test_no_line_is_wider_than_80_columns() -> None:
    """Every report of a class fits an ordinary terminal."""
    for made in sample_class().values():
        assert max(map(len, _printed(made).splitlines())) <= 80


def test_every_exercise_stands_whole_in_one_line_with_outcome_and_score() -> None:
    """At 80 columns, even the lesson's longest id is not broken."""
    made = _with(*[Outcome.ERROR] * 7)
    lines = _printed(made).splitlines()
    for each in made.exercises:
        line = next(line for line in lines if line.split()[:1] == [each.id])
        assert "! error" in line
        assert f"0 of {each.points:g}" in line


@pytest.mark.parametrize("outcome", Outcome)
def test_each_outcome_is_named(outcome: Outcome) -> None:
    """The label is in the table; what to do follows unless there is nothing to do."""
    text = _printed(_with(outcome))
    assert WORDING[outcome].label in text
    below = text.split("Score: ")[1]
    quiet = outcome in (Outcome.PASSED, Outcome.BY_HAND)
    assert ("softmax" in below) is not quiet


def test_the_score_says_what_is_pending() -> None:
    """Two earned points and three pending ones are told apart."""
    text = _printed(_with(Outcome.PASSED, Outcome.GRADER_ERROR))
    assert "Score: 2 of 2 points graded, 3 pending" in text
    assert "3 pending" in next(line for line in text.splitlines() if "grader error" in line)


def test_the_same_advice_is_given_once() -> None:
    """Seven untouched skeletons are listed together, above one paragraph."""
    text = _printed(_with(*[Outcome.UNANSWERED] * 7))
    assert text.count("There is no answer in the exercise's own cell") == 1
    assert "○ softmax, attention-scores, causal-mask" in text


def test_what_to_do_next_is_said_once() -> None:
    """Seven failures get one paragraph of advice, with their names; a passed exercise gets none."""
    text = _printed(_with(*[Outcome.FAILED] * 6, Outcome.PASSED))
    above, below = " ".join(text.split()).split("What to do next")
    assert "what each line of your code gives" not in above
    assert "when you hand in again" not in above
    said = [below.count("what each line of your code gives"), below.count("when you hand in again")]
    assert set(said) <= {0, 1}
    assert any(said)
    assert all(name in below for name in POINTS if name in above.split("Score:")[1])
    passed = next(line for line in text.splitlines() if "✓ correct" in line)
    assert "nothing" not in passed
    assert passed.split()[-2] == "of"
    assert "What to do next" not in _printed(_with(Outcome.PASSED))


def test_a_sentence_about_an_outcome_is_said_once() -> None:
    """Two answers that ran out of time share the explanation."""
    text = " ".join(_printed(_with(Outcome.TIMEOUT, Outcome.TIMEOUT)).split())
    assert text.count("Look for a loop that never ends") == 1


def test_markup_and_terminal_codes_of_a_submission_are_not_obeyed() -> None:
    """Rich markup is printed literally; escape codes and direction marks are removed."""
    made = hostile_report().model_copy(update={"repairs": ["[red]not markup[/red] \x1b[2J"]})
    text = _printed(made)
    assert "[red]not markup[/red]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_colour_adds_nothing_but_colour() -> None:
    """Without the codes, the coloured output is the plain one."""
    made = _with(Outcome.FAILED, Outcome.TIMEOUT)
    coloured = _printed(made, colour=True)
    assert "\x1b[" in coloured
    plain = Console(file=io.StringIO()).render_str("").from_ansi(coloured).plain
    squeeze = [line.rstrip() for line in plain.splitlines()]
    assert squeeze == [line.rstrip() for line in _printed(made).splitlines()]


def test_a_missing_sandbox_is_announced() -> None:
    """The last line says so if there was none."""
    assert "without a sandbox" in _printed(_with(Outcome.PASSED), sandboxed=False)
    assert "without a sandbox" not in _printed(_with(Outcome.PASSED))


def _bar(done: int, *, terminal: bool = True) -> str:
    """Return what a bar shows of a run of 12 that takes six seconds for each."""
    clock = iter(float(6 * tick) for tick in range(1000))
    text = StringIO()
    console = Console(file=text, width=100, force_terminal=terminal, color_system=None)
    with grading_progress(console) as bar:
        bar.get_time = lambda: next(clock)
        task = bar.add_task("03_attention", total=12)
        for _ in range(done):
            bar.advance(task)
        if terminal:
            console.print(bar.get_renderable())
    return text.getvalue()


def test_the_total_stands_there_from_the_start() -> None:
    """Before the first result too, and no unknown total."""
    shown = _bar(0)
    assert "0/12" in shown
    assert "0/?" not in shown


def test_the_time_left_follows_the_results() -> None:
    """After some results it is a number."""
    shown = _bar(6)
    assert "6/12" in shown
    assert "0:0" in shown


def test_nothing_is_drawn_into_a_file() -> None:
    """A log holds no bars."""
    assert _bar(3, terminal=False) == ""
