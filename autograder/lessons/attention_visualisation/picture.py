"""Checks of `plot_attention`: what is read off the page, wherever matplotlib keeps it."""

from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.judgement import Seen, Verdict, agrees
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.picture_mistakes import add_mistakes

CLOSE = 1e-4


def _cells(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say how the cells differ."""
    if got.shape == want.shape and torch.allclose(got, want, atol=CLOSE):
        return None
    for turned, said in (
        (want.T, "Queries and keys are exchanged: queries go down, keys across."),
        (want.flip(0), "The rows are upside down: the first query belongs on top."),
        (want.flip(1), "The columns are reversed: the first key belongs on the left."),
    ):
        if got.shape == turned.shape and torch.allclose(got, turned, atol=CLOSE):
            return said
    if got.shape != want.shape:
        return f"The heat map has {got.size(0)} rows and {got.size(1)} columns; {want.size(0)} queries and {want.size(1)} keys were given."
    return "The heat map shows other numbers than the weights it was given."


def _labels(got: list[str], want: list[str], what: str) -> str | None:
    """Say how the labels of one side differ."""
    if got == want:
        return None
    if not any(got):
        return f"The {what} are not labelled with their tokens."
    if got[::-1] == want:
        return f"The {what} are labelled in reverse order."
    missing = [token for mine, token in zip(got, want, strict=False) if not mine]
    if missing and all(mine in ("", token) for mine, token in zip(got, want, strict=False)):
        return f"{len(missing)} of {len(want)} {what} have no label, {missing[0]!r} for one: every token wants its own."
    return f"The {what} should be labelled {want[:8]}; in your picture they are {got[:8]}."


def _about(got: dict[str, Any], want: dict[str, Any]) -> str | None:
    """Say what is wrong with the picture, the first thing a reader would notice."""
    if got.get("on the axes given") is False:
        return "The picture is not on the Axes that were handed over as `ax`."
    if got.get("elsewhere"):
        return "Something was drawn on other Axes than those that were handed over."
    said = _cells(got["cells"], want["cells"])
    said = said or _labels(got["rows"], want["rows"], "queries (rows)")
    said = said or _labels(got["columns"], want["columns"], "keys (columns)")
    if said:
        return said
    low, high = got["scale"]
    return f"The colour scale goes from {low:g} to {high:g}; fix it to 0 and 1, so that pictures compare."


def _judge(seen: Seen) -> Verdict:
    verdict = agrees()(seen)
    if seen.got.changed:
        return Verdict(passed=False, message="The weights were changed by drawing them.")
    if verdict.passed or seen.got.raised or not isinstance(seen.got.value, dict):
        return verdict
    return Verdict(
        passed=False, message=_about(seen.got.value, seen.expected.value) or verdict.message
    )


def add_picture(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "plot-attention", 3, "plot_attention", reference=reference.plot_attention
    )
    _add_cases(exercise)
    _add_labels(exercise)
    add_mistakes(exercise)


def _asked(
    weights: torch.Tensor, queries: list[str], keys: list[str], onto: str = "own"
) -> Stimulus:
    return Stimulus("picture", {"calls": [[weights, queries, keys]], "onto": onto})


def _tokens(count: int, letter: str) -> list[str]:
    return [f"{letter}{place}" for place in range(count)]


def _weights(draw: Draw, queries: int, keys: int) -> torch.Tensor:
    return draw.normal(queries, keys, scale=1.5).softmax(dim=-1)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("five queries down, seven keys across", judge=_judge, weight=2)
    def five_by_seven(draw: Draw) -> Stimulus:
        return _asked(_weights(draw, 5, 7), _tokens(5, "q"), _tokens(7, "k"))

    @exercise.case("drawn on the Axes that are handed over, and on no other", judge=_judge)
    def axes_given(draw: Draw) -> Stimulus:
        return _asked(_weights(draw, 4, 3), _tokens(4, "q"), _tokens(3, "k"), "second")

    @exercise.case("as many queries as keys: nothing is exchanged or upside down", judge=_judge)
    def square(draw: Draw) -> Stimulus:
        return _asked(_weights(draw, 6, 6), _tokens(6, "q"), _tokens(6, "k"))

    @exercise.case(
        "the colour scale goes from 0 to 1, also where all weights are small", judge=_judge
    )
    def small_weights(draw: Draw) -> Stimulus:
        weights = 0.1 + 0.05 * draw.normal(4, 9).sigmoid()
        return _asked(weights / weights.sum(dim=-1, keepdim=True), _tokens(4, "q"), _tokens(9, "k"))


def _add_labels(exercise: Exercise) -> None:
    @exercise.case("every one of 36 keys is labelled", judge=_judge)
    def many_keys(draw: Draw) -> Stimulus:
        return _asked(_weights(draw, 3, 36), _tokens(3, "q"), _tokens(36, "k"))

    @exercise.case("every one of 38 queries is labelled", judge=_judge, weight=0.5)
    def many_queries(draw: Draw) -> Stimulus:
        return _asked(_weights(draw, 38, 4), _tokens(38, "q"), _tokens(4, "k"))

    @exercise.case("tokens that occur more than once keep their places", judge=_judge)
    def repeated(draw: Draw) -> Stimulus:
        sentence = ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"]
        return _asked(_weights(draw, 8, 8), sentence, sentence)

    @exercise.case("a single query", judge=_judge, weight=0.5)
    def single(draw: Draw) -> Stimulus:
        return _asked(_weights(draw, 1, 5), ["<sos>"], ["4", "0", "7", "0", "<eos>"])
