"""Checks of `best_span`."""

from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.lessons.attention_visualisation import reference

TOTALS = "totals = start_logits[:, None] + end_logits[None, :]"
BEST = "best = totals.masked_fill(~allowed, -math.inf).argmax()"
SPLIT = "start, end = divmod(best.item(), len(start_logits))"


def _judge(check: Any) -> Any:
    """As `check`, but the sentence says what is wrong with the span."""

    def judge(seen: Seen) -> Any:
        verdict = check(seen)
        said = None if verdict.passed or seen.got.raised or seen.got.changed else _about(seen)
        return verdict if said is None else type(verdict)(passed=False, message=said)

    return judge


def _about(seen: Seen) -> str | None:
    got, want = seen.got.value, seen.expected.value
    starts, ends, most = seen.inputs["args"]
    if not isinstance(got, tuple) or len(got) != 2 or any(type(place) is not int for place in got):
        return "A span is a pair of whole numbers, (start, end)."
    start, end = got
    if not (0 <= start < len(starts) and 0 <= end < len(ends)):
        return f"({start}, {end}) lies outside of the {len(starts)} tokens: the end is the last token of the span."
    if end < start:
        return f"({start}, {end}) ends before it starts."
    if end >= start + most:
        return f"({start}, {end}) has {end - start + 1} tokens where max_length is {most}."
    mine, best = (float(starts[i] + ends[j]) for i, j in (got, want))
    return f"({start}, {end}) sums to {mine:.2f}, but there is an allowed span that sums to {best:.2f}."


judge = _judge(agrees())


def _span(starts: torch.Tensor, ends: torch.Tensor, most: int) -> Stimulus:
    return Stimulus("span", {"args": [starts, ends, most], "kwargs": {}})


def _peaks(
    draw: Draw, size: int, starts: dict[int, float], ends: dict[int, float]
) -> list[torch.Tensor]:
    """Return noise between −1 and 1 with peaks at given places."""
    both = []
    for peaks in (starts, ends):
        logits = draw.normal(size, scale=0.3).clamp(-1, 1)
        for place, height in peaks.items():
            logits[place] = height
        both.append(logits)
    return both


def add_best_span(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("best-span", 2, "best_span", reference=reference.best_span)
    _add_cases(exercise)
    _add_edges(exercise)
    _add_misconceptions(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("the highest sum of all allowed spans", judge=judge, weight=2)
    def drawn(draw: Draw) -> Stimulus:
        return _span(draw.normal(12, scale=2.0), draw.normal(12, scale=2.0), 5)

    @exercise.case("the best end lies before the best start", judge=judge)
    def crossed(draw: Draw) -> Stimulus:
        starts, ends = _peaks(draw, 11, {8: 6.0, 3: 4.0}, {2: 6.0, 5: 4.5, 9: 2.0})
        return _span(starts, ends, 4)

    @exercise.case("the best start and the best end lie too far apart", judge=judge)
    def far_apart(draw: Draw) -> Stimulus:
        starts, ends = _peaks(draw, 13, {1: 6.0, 8: 4.0}, {11: 6.0, 3: 3.0})
        return _span(starts, ends, 4)

    @exercise.case("a span of exactly max_length tokens is allowed, one more is not", judge=judge)
    def boundary(draw: Draw) -> Stimulus:
        starts, ends = _peaks(draw, 10, {2: 6.0}, {6: 5.0, 5: 3.5, 4: 2.5})
        return _span(starts, ends, 4)

    @exercise.case("all logits are negative", judge=judge)
    def negative(draw: Draw) -> Stimulus:
        starts, ends = _peaks(draw, 9, {4: -3.0}, {6: -2.0})
        return _span(starts - 5, ends - 5, 3)


def _add_edges(exercise: Exercise) -> None:
    @exercise.case("max_length is 1: a single token", judge=judge)
    def single(draw: Draw) -> Stimulus:
        starts, ends = _peaks(draw, 8, {2: 5.0, 6: 3.0}, {3: 5.0, 6: 3.5})
        return _span(starts, ends, 1)

    @exercise.case("the whole text may be the span, and max_length may exceed it", judge=judge)
    def whole(draw: Draw) -> Stimulus:
        starts, ends = _peaks(draw, 7, {0: 5.0}, {6: 5.0})
        return _span(starts, ends, 30)

    @exercise.case("the last token, alone", judge=judge, weight=0.5)
    def last(draw: Draw) -> Stimulus:
        starts, ends = _peaks(draw, 7, {6: 5.0}, {6: 5.0, 0: 7.0})
        return _span(starts, ends, 3)

    @exercise.case("a text of one token", judge=judge, weight=0.5)
    def one_token(draw: Draw) -> Stimulus:
        return _span(draw.normal(1) - 3, draw.normal(1) - 3, 4)

    @exercise.case("float64, and the logits stay as they are", judge=_judge(unchanged()))
    def arguments(draw: Draw) -> Stimulus:
        return _span(draw.normal(9).double(), draw.normal(9).double(), 3)


def _add_misconceptions(exercise: Exercise) -> None:
    mistake = exercise.misconception
    apart = {SPLIT: "start, end = start_logits.argmax().item(), end_logits.argmax().item()"}
    mistake("apart", "The best start and the best end are looked for apart",
            "They may not go together: the end before the start, or far behind it.", edits=apart)  # fmt: skip
    mistake("start-first", "The best start is fixed first, and then its best end",
            "A slightly worse start may have a much better end.",
            edits={SPLIT: "start = start_logits.argmax().item(); end = start + end_logits[start:start + max_length].argmax().item()"})  # fmt: skip
    mistake("end-first", "The best end is fixed first, and then its best start",
            "A slightly worse end may have a much better start.",
            edits={SPLIT: "end = end_logits.argmax().item(); low = max(0, end - max_length + 1); start = low + start_logits[low:end + 1].argmax().item()"})  # fmt: skip
    mistake("backwards-allowed", "Spans that end before they start are allowed",
            "start ≤ end: which half of the matrix of sums is that?", edits={".triu()": ""})  # fmt: skip
    mistake("max-length-ignored", "max_length is ignored", "end < start + max_length.",
            edits={".tril(max_length - 1)": ""})  # fmt: skip
    mistake("one-too-long", "A span may be one token longer than max_length",
            "From start to start + max_length are max_length + 1 tokens.",
            edits={"tril(max_length - 1)": "tril(max_length)"})  # fmt: skip
    mistake("one-too-short", "A span of exactly max_length tokens is not allowed",
            "end < start + max_length: with max_length 1, start = end.",
            edits={"tril(max_length - 1)": "tril(max_length - 2)"})  # fmt: skip
    mistake("single-tokens-left-out", "Spans of one token are not allowed", "start ≤ end, not start < end.",
            edits={".triu()": ".triu(1)"})  # fmt: skip
    mistake("end-behind", "The end is the place behind the span, as in a slice",
            "Here the end is the last token of the span.", edits={"return start, end": "return start, end + 1"})  # fmt: skip
    mistake("exchanged", "Start and end are exchanged", "Rows of the matrix of sums are starts, columns are ends.",
            edits={"return start, end": "return end, start"},
            also=[{TOTALS: "totals = start_logits[None, :] + end_logits[:, None]"}])  # fmt: skip
    mistake("multiplied", "The logits are multiplied, not added",
            "Two bad logits, −4 and −5, make a splendid product.", edits={"[:, None] + end": "[:, None] * end"})  # fmt: skip
    mistake("hidden-are-zero", "Spans that are not allowed get a sum of 0",
            "When all logits are negative, 0 is the highest of all.",
            edits={"-math.inf": "0.0"}, also=[{BEST: "best = (totals * allowed).argmax()"}])  # fmt: skip
    mistake("best-sum-starts-at-zero", "The search starts from a best sum of 0",
            "When all logits are negative nothing is ever better.",
            edits={"return start, end": "return (start, end) if totals[start, end] > 0 else (0, 0)"})  # fmt: skip
    mistake("lowest", "The lowest sum is looked for", "argmin or argmax?",
            edits={"-math.inf).argmax()": "math.inf).argmin()"})  # fmt: skip
    mistake("flat-index", "The number of the entry is returned, not its row and column",
            "argmax counts through the flattened matrix.", edits={SPLIT: "start = end = best.item()"},
            also=[{"return start, end": "return best.item()"}])  # fmt: skip
    mistake("length-for-end", "The length of the span is returned instead of its end", "(start, end).",
            edits={"return start, end": "return start, end - start + 1"})  # fmt: skip
    mistake("sum-too", "More than the two places is returned", "(start, end), nothing else.",
            edits={"return start, end": "return start, end, totals[start, end].item()"})  # fmt: skip
