"""Checks of `nearest`."""

from itertools import pairwise

import torch
import torch.nn.functional as F

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.explain import explained
from autograder.judge.judgement import Seen, unchanged
from autograder.judge.symptoms import whole
from autograder.lessons.embeddings import reference

SIMILARITY = "similarity = F.cosine_similarity(table, query, dim=-1)"
ORDER = "order = similarity.argsort(descending=True)"
RETURN = "return order[:k]"


def _fan(draw: Draw, rows: int, width: int, low: float = -0.9) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a table and a query whose cosines are spread evenly from `low` to 0.93, shuffled.

    The rows' lengths differ so much that neither dot products nor distances give the same order.
    """
    query = draw.normal(width) + 1.0  # not around zero: a correlation is not a cosine
    towards = F.normalize(query, dim=-1)
    across = draw.normal(rows, width)
    across = F.normalize(across - (across @ towards)[:, None] * towards, dim=-1)
    cosines = torch.linspace(low, 0.93, rows)[draw.different(rows, 0, rows)][:, None]
    lengths = 4.0 ** torch.linspace(-1.5, 1.5, rows)[draw.different(rows, 0, rows)][:, None]
    return lengths * (cosines * towards + (1 - cosines**2).sqrt() * across), query


def _kind(seen: Seen) -> str | None:
    got, k = whole(seen), seen.inputs["args"][2]
    if got.is_floating_point():
        return "Row numbers are asked for (int64); these are floats: the similarities themselves?"
    if got.shape != (k,):
        return f"{k} rows were asked for: shape ({k},); yours is {tuple(got.shape)}."
    return None


def _no_row(seen: Seen) -> str | None:
    got, rows = whole(seen), len(seen.inputs["args"][0])
    outside = got[(got < 0) | (got >= rows)]
    if len(outside):
        return f"{int(outside[0])} is no row of a table with {rows} rows."
    twice = [int(row) for row in got if int((got == row).sum()) > 1]
    return f"Row {twice[0]} is in your result more than once." if twice else None


def _zero_row(seen: Seen) -> str | None:
    """Say when a row of zeros stands in the wrong place."""
    table, got, want = seen.inputs["args"][0], whole(seen).tolist(), seen.expected.value.tolist()
    for row in (~table.any(dim=-1)).nonzero().flatten().tolist():
        if (got.index(row) if row in got else -1) != (want.index(row) if row in want else -1):
            return f"Row {row} is all zeros: its similarity is 0 (not NaN), which is above any negative one."
    return None


def _wrong_order(seen: Seen) -> str | None:
    """Name two rows of the result that stand in the wrong order, with their cosines."""
    table, query, _ = seen.inputs["args"]
    cosines = F.cosine_similarity(table, query, dim=-1)
    got = whole(seen)
    for before, after in pairwise(got.tolist()):
        if cosines[before] < cosines[after] - 1e-3:
            values = f"{cosines[before]:.2f}, row {after} has {cosines[after]:.2f}"
            return f"Row {before} has the cosine {values}, but row {before} comes first."
    best = int(seen.expected.value[0])
    return f"Row {best} has the largest cosine, {cosines[best]:.2f}, and is not the first of yours."


symptoms = (_kind, _no_row, _zero_row, _wrong_order)
judge = explained(*symptoms)


def add_nearest(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("nearest", 3, "nearest", reference=reference.nearest)
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("rows by falling cosine, whatever their lengths", judge=judge, weight=2)
    def rows(draw: Draw) -> Stimulus:
        return call(*_fan(draw, 12, 7), 5)

    @exercise.case("the single nearest row", judge=judge)
    def one(draw: Draw) -> Stimulus:
        return call(*_fan(draw, 9, 6), 1)

    @exercise.case("all rows, down to those that point the other way", judge=judge)
    def everything(draw: Draw) -> Stimulus:
        return call(*_fan(draw, 8, 5), 8)

    @exercise.case("a query that is itself a row of the table comes first", judge=judge, weight=0.5)
    def itself(draw: Draw) -> Stimulus:
        table, query = _fan(draw, 10, 6)
        table[draw.integer(0, 10)] = query
        return call(table, query, 4)

    @exercise.case("a row of zeros has similarity 0", judge=judge)
    def zero_row(draw: Draw) -> Stimulus:
        table, query = _fan(draw, 10, 8, low=-0.85)
        cosines = F.cosine_similarity(table, query, dim=-1)
        table[cosines.abs().argmin()] = 0.0
        return call(table, query, 10)

    @exercise.case("a table and a query in float64", judge=judge, weight=0.5)
    def double(draw: Draw) -> Stimulus:
        table, query = _fan(draw, 11, 9)
        return call(table.double(), query.double(), 6)

    @exercise.case("table and query come back unchanged", judge=unchanged(*symptoms), weight=0.5)
    def arguments(draw: Draw) -> Stimulus:
        return call(*_fan(draw, 7, 4), 3)


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    # fmt: off - a mistake is a small table: title, hint, edit
    mistake(
        "dot-product",
        "The dot product decides, so long rows win",
        "Divide by both lengths, or scale the rows to length 1 first.",
        edits={SIMILARITY: "similarity = table @ query"},
    )
    mistake(
        "euclidean",
        "The distance decides, not the angle",
        "A row that points the same way as the query is near, however long it is.",
        edits={SIMILARITY: "similarity = -(table - query).norm(dim=-1)"},
    )
    mistake(
        "rows-not-normalised",
        "Only the query is scaled to length 1; the rows keep their lengths",
        "The query's length changes all scores alike. Whose lengths change the order?",
        edits={SIMILARITY: "similarity = table @ F.normalize(query, dim=-1)"},
        same_as=["dot-product"],
    )
    mistake(
        "columns-normalised",
        "The columns of the table are scaled to length 1, not its rows",
        "One row is one word: which dimension runs along a row?",
        edits={SIMILARITY: "similarity = F.normalize(table, dim=0) @ query"},
    )
    mistake(
        "squared-length",
        "The dot product is divided by the squared length of the rows",
        "cos = q·r / (‖q‖ ‖r‖): each length once.",
        edits={
            SIMILARITY: "similarity = (table @ query) / (table * table).sum(dim=-1)"
            ".clamp(min=1e-12)"
        },
    )
    mistake(
        "centred",
        "The mean of each row is taken off first: that is a correlation, not a cosine",
        "The cosine uses the vectors as they are.",
        edits={
            SIMILARITY: "similarity = F.cosine_similarity(table - table.mean(dim=-1, keepdim=True), "
            "query - query.mean(), dim=-1)"
        },
    )
    mistake(
        "absolute",
        "The sign of the cosine is dropped: rows that point the other way count as near",
        "Which is nearer: a right angle, or the opposite direction?",
        edits={ORDER: "order = similarity.abs().argsort(descending=True)"},
    )
    mistake(
        "ascending",
        "The farthest rows come first",
        "By falling similarity: argsort and sort rise unless told otherwise.",
        edits={"descending=True": "descending=False"},
    )
    mistake(
        "last-k",
        "The right rows come in rising order",
        "The most similar row comes first.",
        edits={RETURN: "return order[:k].flip(0)"},
    )
    mistake(
        "by-row-number",
        "The right rows come, sorted by their numbers",
        "Their order is by similarity, not by row number.",
        edits={RETURN: "return order[:k].sort().values"},
    )
    mistake(
        "zero-is-nan",
        "A row of zeros gives NaN, which then counts as the most similar",
        "0 / 0 is NaN. F.normalize and F.cosine_similarity divide more carefully.",
        edits={SIMILARITY: "similarity = table @ query / (table.norm(dim=-1) * query.norm())"},
    )
    mistake(
        "zero-comes-last",
        "A row of zeros is put behind all others",
        "Its similarity is 0, which is more than a negative one.",
        edits={
            ORDER: "order = similarity.masked_fill(~table.any(dim=-1), -torch.inf)"
            ".argsort(descending=True)"
        },
    )
    mistake(
        "first-skipped",
        "The nearest row is skipped",
        "Leaving out the word itself is for the caller to do: here row 1 of the order is not special.",
        edits={RETURN: "return order[1 : k + 1]"},
    )
    mistake(
        "similarities",
        "The similarities are returned, not the rows they belong to",
        "You want to know which rows, not how similar they are: topk and sort give both.",
        edits={RETURN: "return similarity[order][:k]"},
    )
    mistake(
        "pair",
        "Similarities and rows are both returned",
        "`topk` returns two things; one was asked for.",
        edits={RETURN: "return similarity[order][:k], order[:k]"},
    )
    mistake(
        "vectors",
        "The vectors are returned, not the row numbers",
        "A row number can be turned into a word; a vector cannot.",
        edits={RETURN: "return table[order[:k]]"},
    )
    mistake(
        "k-ignored",
        "All rows are returned, however many were asked for",
        "The result has k entries.",
        edits={RETURN: "return order"},
    )
    mistake(
        "one-too-many",
        "There is one row too many",
        "order[:k] has k entries.",
        edits={RETURN: "return order[: k + 1]"},
    )
    mistake(
        "ranks",
        "The rank of each row is returned, not the rows in their order",
        "argsort of an argsort says how high each row ranks; you want which row ranks highest.",
        edits={RETURN: "return order.argsort()[:k]"},
    )
    mistake(
        "from-one",
        "The rows are counted from 1",
        "The first row is row 0.",
        edits={RETURN: "return order[:k] + 1"},
    )
    mistake(
        "int32",
        "The row numbers are int32, not int64",
        "argsort and topk give a LongTensor; leave it so.",
        edits={RETURN: "return order[:k].int()"},
    )
    mistake(
        "list-returned",
        "A list is returned, not a tensor",
        "The result is a LongTensor of shape (k,).",
        edits={RETURN: "return order[:k].tolist()"},
    )
    mistake(
        "in-place",
        "The table is scaled in place, which changes the caller's tensor",
        "`table /= …` writes into the tensor you were given.",
        edits={
            SIMILARITY: "table /= table.norm(dim=-1, keepdim=True).clamp(min=1e-12)\n"
            "    " + SIMILARITY
        },
    )
    # fmt: on
