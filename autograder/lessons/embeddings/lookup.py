"""Checks of `one_hot_embed`: the right rows, and by a matrix product."""

import torch

from autograder.judge.compare import difference
from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.explain import explained, field, part
from autograder.judge.judgement import Judge, Seen, Verdict
from autograder.judge.symptoms import constant_factor, wanted, whole
from autograder.lessons.embeddings import reference

LOOKUP = (
    "The values are right, but no matrix product makes them: rows are picked out of the table. "
    "Make one-hot rows of the ids and multiply them with the table."
)
NO_GRADIENT = (
    "No gradient reaches `table`: was it detached, copied out with .data, or sent through numpy?"
)
ONE_HOT = "one_hot = F.one_hot(ids, num_classes=table.size(0))"
CAST = "one_hot = one_hot.to(table.dtype)"
PRODUCT = "return one_hot @ table"


def _one_hot_rows(seen: Seen) -> str | None:
    got = whole(seen)
    if got.size(-1) != seen.inputs["args"][1].size(0):
        return None
    return f"Your result has shape {tuple(got.shape)}: one-hot rows themselves, as wide as the vocabulary."


def _shape(seen: Seen) -> str | None:
    got, want = tuple(whole(seen).shape), tuple(wanted(seen).shape)
    if got == want:
        return None
    return f"ids (B, S) and a table (V, D) give (B, S, D), here {want}; yours is {got}."


def _other_row(seen: Seen) -> str | None:
    """Say which row of the table came instead of the one asked for."""
    ids, table = seen.inputs["args"]
    got, want = whole(seen), wanted(seen)
    wrong = ~torch.isclose(got, want, atol=1e-4).all(dim=-1)
    sample, place = (int(i) for i in wrong.nonzero()[0])
    same = torch.isclose(table, got[sample, place], atol=1e-4).all(dim=-1)
    if not same.any():
        return None
    asked = int(ids[sample, place])
    came = int(same.int().argmax())
    return f"Sample {sample}, place {place} asks for row {asked} of the table and gets row {came}."


def _as_product() -> Judge:
    """Judge the output, then whether a product made it, then the gradient."""
    value = explained(_one_hot_rows, _shape, constant_factor(whole, wanted), _other_row)

    def judge(seen: Seen) -> Verdict:
        if seen.got.raised or seen.expected.raised or not isinstance(seen.got.value, dict):
            return value(seen)
        verdict = value(part(seen, field("output")))
        if not verdict.passed:
            return verdict
        if seen.got.value.get("product") is not True:
            return Verdict(passed=False, message=LOOKUP)
        return _extras(seen)

    return judge


def _extras(seen: Seen) -> Verdict:
    if seen.got.changed:
        return Verdict(
            passed=False, message="Your code modified ids or table in place; make new tensors."
        )
    if "gradient" not in seen.expected.value:
        return Verdict(passed=True)
    got, want = seen.got.value.get("gradient"), seen.expected.value["gradient"]
    if got is None:
        return Verdict(passed=False, message=NO_GRADIENT)
    if difference(got, want):
        return Verdict(
            passed=False, message="The gradient that reaches `table` is not the right one."
        )
    return Verdict(passed=True)


judge = _as_product()


def _asked(ids: torch.Tensor, table: torch.Tensor, **more: torch.Tensor) -> Stimulus:
    return Stimulus("product", {"args": [ids, table], "kwargs": {}, **more})


def add_lookup(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "one-hot-embed", 3, "one_hot_embed", reference=reference.one_hot_embed
    )
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("each id becomes its row of the table", judge=judge, weight=2)
    def rows(draw: Draw) -> Stimulus:
        return _asked(draw.integers(0, 11, 2, 4), draw.normal(13, 5))

    @exercise.case("the first and the last row, and a table wider than it is long", judge=judge)
    def ends(draw: Draw) -> Stimulus:
        ids = torch.tensor([[0, 6], [6, 0], [2, draw.integer(3, 6)]])
        return _asked(ids, draw.normal(7, 9))

    @exercise.case("few ids, of small numbers: the table has more rows than occur", judge=judge)
    def small_ids(draw: Draw) -> Stimulus:
        return _asked(draw.integers(0, 3, 3, 2), draw.normal(17, 4))

    @exercise.case(
        "a table with as many rows as columns: nothing is exchanged", judge=judge, weight=0.5
    )
    def square(draw: Draw) -> Stimulus:
        return _asked(draw.integers(0, 5, 5, 3), draw.normal(6, 6))

    @exercise.case("a table in float64", judge=judge)
    def double(draw: Draw) -> Stimulus:
        return _asked(draw.integers(0, 8, 1, 5), draw.normal(9, 6).double())

    @exercise.case("gradients reach the rows that were used", judge=judge)
    def learns(draw: Draw) -> Stimulus:
        ids = draw.integers(0, 9, 3, 4)
        return _asked(ids, draw.normal(11, 6), cotangent=draw.normal(3, 4, 6))


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    # fmt: off - a mistake is a small table: title, hint, edit
    mistake(
        "lookup",
        "The rows are looked up, not made by a matrix product",
        "Here you build by hand what the lookup stands for: one-hot rows times the table.",
        edits={PRODUCT: "return table[ids]"},
    )
    mistake(
        "classes-from-ids",
        "The one-hot rows are only as wide as the largest id demands",
        "With ids up to 3 and a table of 17 rows: how wide must a one-hot row be to meet the table?",
        edits={", num_classes=table.size(0)": ""},
    )
    mistake(
        "classes-from-width",
        "The one-hot rows are as wide as the vectors, not as long as the table",
        "A one-hot row has one place for each token of the vocabulary.",
        edits={"num_classes=table.size(0)": "num_classes=max(table.size(1), int(ids.max()) + 1)"},
    )
    mistake(
        "whole-numbers",
        "One-hot rows of whole numbers meet a table of floats",
        "A matrix product wants one dtype on both sides.",
        edits={CAST: "pass"},
    )
    mistake(
        "always-float32",
        "The one-hot rows are always float32, so a float64 table fails",
        "Which dtype do the one-hot rows have to have? The table knows.",
        edits={".to(table.dtype)": ".float()"},
    )
    mistake(
        "one-hot-returned",
        "The one-hot rows are returned, without the product",
        "One step is missing: what turns (B, S, V) into (B, S, D)?",
        edits={PRODUCT: "return one_hot"},
    )
    mistake(
        "detached",
        "The table is detached, so it cannot learn",
        "`.detach()`, `.data` and numpy cut the way back.",
        edits={PRODUCT: "return one_hot @ table.detach()"},
    )
    mistake(
        "table-flipped",
        "The table is turned round before the product",
        "Place i of a one-hot row meets row i of the table.",
        edits={PRODUCT: "return one_hot @ table.flip(0)"},
    )
    mistake(
        "reshaped",
        "The table is reshaped where it would have to be transposed",
        "reshape keeps the order of the numbers in memory; a transpose does not.",
        edits={PRODUCT: "return one_hot @ table.transpose(0, 1).reshape(table.shape)"},
    )
    mistake(
        "summed",
        "The vectors of a sequence are added up",
        "Every token keeps its own vector: (B, S, D).",
        edits={PRODUCT: "return (one_hot @ table).sum(dim=1)"},
    )
    mistake(
        "scaled",
        "The vectors are multiplied by √D here already",
        "That factor belongs to the next exercise.",
        edits={PRODUCT: "return one_hot @ table * math.sqrt(table.size(1))"},
    )
    mistake(
        "one-off",
        "The ids are counted from 1: every token gets the row before its own",
        "Id 0 is a row like any other: the first.",
        edits={"F.one_hot(ids,": "F.one_hot((ids - 1) % table.size(0),"},
    )
    mistake(
        "zero-is-nothing",
        "Id 0 is taken for padding and gets zeros",
        "Padding is dealt with in the next exercise; here 0 is a row like any other.",
        edits={CAST: f"{CAST} * (ids != 0).unsqueeze(-1)"},
    )
    mistake(
        "batch-second",
        "Batch and sequence are exchanged: (S, B, D)",
        "The ids are (B, S), and both dimensions stay where they are.",
        edits={PRODUCT: "return (one_hot @ table).transpose(0, 1)"},
    )
    mistake(
        "flattened",
        "Batch and sequence are run together: (B·S, D)",
        "`@` carries leading dimensions along; there is no need to flatten them.",
        edits={PRODUCT: "return one_hot.flatten(0, 1) @ table"},
    )
    mistake(
        "softmaxed",
        "The one-hot rows are sent through a softmax",
        "One entry is 1 and all others are exactly 0: nothing is mixed.",
        edits={CAST: "one_hot = torch.softmax(one_hot.to(table.dtype), dim=-1)"},
    )
    mistake(
        "normalised",
        "The vectors are scaled to length 1",
        "What comes out are the rows of the table, as they are.",
        edits={PRODUCT: "return F.normalize(one_hot @ table, dim=-1)"},
    )
    # fmt: on
