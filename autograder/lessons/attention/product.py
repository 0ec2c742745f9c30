"""Checks of `scaled_dot_product_attention`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees, unchanged
from autograder.judge.symptoms import (
    empty_rows_are_zero,
    hidden_keys_get_nothing,
    rows_sum_to_one,
    second,
)
from autograder.lessons.attention import reference

LIBRARY = (
    "F.scaled_dot_product_attention does the work here; build it from your own scores and softmax."
)
HIDE = "scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)"
FILL = "torch.finfo(scores.dtype).min"
CLEAR = "weights = weights.masked_fill(~mask, 0.0)"


def _mask(seen: Seen) -> torch.Tensor | None:
    mask = seen.inputs["kwargs"].get("mask")
    return mask if isinstance(mask, torch.Tensor) else None


SYMPTOMS = (
    empty_rows_are_zero(second, _mask),
    hidden_keys_get_nothing(second, _mask),
    rows_sum_to_one(second),
)
judge = agrees(*SYMPTOMS)


def add_product(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "scaled-dot-product-attention",
        5,
        "scaled_dot_product_attention",
        reference=reference.scaled_dot_product_attention,
        forbidden={
            "scaled_dot_product_attention": LIBRARY,
            "multi_head_attention_forward": LIBRARY,
        },
    )
    _add_plain_cases(exercise)
    _add_masked_cases(exercise)
    _add_mask_mistakes(exercise)
    _add_other_mistakes(exercise)


def _qkv(draw: Draw, *leading: int, scale: float = 1.0) -> list[torch.Tensor]:
    """Five queries of width 16 read seven keys, with values of width 3."""
    q, k = draw.normal(*leading, 5, 16, scale=scale), draw.normal(*leading, 7, 16, scale=scale)
    return [q, k, draw.normal(*leading, 7, 3)]


def _add_plain_cases(exercise: Exercise) -> None:
    @exercise.case("five queries read seven keys, values of another width", judge=judge, weight=2)
    def cross(draw: Draw) -> Stimulus:
        return call(*_qkv(draw, 2))

    @exercise.case(
        "queries, keys and values of equal sizes: every softmax is over the keys", judge=judge
    )
    def square(draw: Draw) -> Stimulus:
        return call(draw.normal(6, 6, 6), draw.normal(6, 6, 6), draw.normal(6, 6, 6))

    @exercise.case("it works without a batch", judge=judge)
    def no_batch(draw: Draw) -> Stimulus:
        return call(*_qkv(draw))

    @exercise.case(
        "q, k, v and the mask come back unchanged, in float64 too", judge=unchanged(*SYMPTOMS)
    )
    def arguments(draw: Draw) -> Stimulus:
        q, k, v = _qkv(draw, 2)
        return call(q.double(), k.double(), v.double(), mask=draw.mask(2, 5, 7))


def _add_masked_cases(exercise: Exercise) -> None:
    @exercise.case("keys that the mask hides get no weight at all", judge=judge, weight=2)
    def masked(draw: Draw) -> Stimulus:
        return call(*_qkv(draw, 2), mask=draw.mask(2, 5, 7))

    @exercise.case("a square mask is not exchanged with its transpose", judge=judge)
    def square_mask(draw: Draw) -> Stimulus:
        x = draw.normal(3, 6, 4)
        return call(x, draw.normal(3, 6, 4), x, mask=draw.mask(6, 6, share=0.5))

    @exercise.case("a padding mask (B, 1, T_k) hides the same keys from every query", judge=judge)
    def padding(draw: Draw) -> Stimulus:
        real = torch.arange(7) < torch.tensor([4, 7, 2])[:, None]
        return call(*_qkv(draw, 3), mask=real.unsqueeze(1))

    @exercise.case("batch and heads, with one mask for all heads", judge=judge)
    def heads(draw: Draw) -> Stimulus:
        return call(*_qkv(draw, 2, 3), mask=draw.mask(2, 1, 5, 7))

    @exercise.case("a hidden key gets nothing even when all others score far below it", judge=judge)
    def large_scores(draw: Draw) -> Stimulus:
        q, k, v = _qkv(draw, 2)
        hidden = torch.arange(7) == 4
        aligned = torch.where(
            hidden[:, None], q.mean(-2, keepdim=True) * 200, -q.mean(-2, keepdim=True) * 200 + k
        )
        return call(
            q + 2,
            aligned + torch.where(hidden[:, None], 300.0, -300.0),
            v,
            mask=~hidden.expand(2, 5, 7),
        )

    @exercise.case("a query that may attend to nothing gets zeros, not NaN", judge=judge)
    def nothing_to_see(draw: Draw) -> Stimulus:
        mask = draw.mask(2, 5, 7)
        mask[0, 2], mask[1, 4] = False, False
        return call(*_qkv(draw, 2), mask=mask)


def _add_mask_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("mask-ignored", "The mask is not used",
            "Call it with a mask that hides the last key and look at the last column of the weights.",
            edits={HIDE: "pass", CLEAR: "pass"})  # fmt: skip
    mistake("mask-inverted", "True and False of the mask are exchanged: True = may attend",
            "Where the mask is False, the score is to be replaced.",
            edits={"~mask": "mask"},
            also=[{CLEAR: "pass", FILL: "float('-inf')", "~mask": "mask"},
                  {CLEAR: "pass", "~mask": "mask"}])  # fmt: skip
    mistake("mask-after-softmax", "The mask is applied after the softmax, and the rest not shared out again",
            "Add up a row of the weights: what became of the share of the hidden keys?",
            edits={HIDE: "pass"})  # fmt: skip
    mistake("mask-after-softmax-shared-out", "The mask is applied after the softmax, and the rest scaled up again",
            "Where hidden keys take nearly all of a row, what is left to divide by? Hide the scores instead.",
            edits={HIDE: "pass", CLEAR: f"{CLEAR}\n        weights = weights / weights.sum(-1, keepdim=True)"},
            also=[{HIDE: "pass", CLEAR: f"{CLEAR}\n        weights = (weights / weights.sum(-1, keepdim=True)).nan_to_num()"},
                  {HIDE: "pass", CLEAR: f"{CLEAR}\n        weights = weights / (weights.sum(-1, keepdim=True) + 1e-9)"}])  # fmt: skip
    mistake("mask-multiplied", "The scores are multiplied by the mask: a hidden score becomes 0, not −∞",
            "A score of 0 is a score like any other: exp(0) = 1.",
            edits={HIDE: "scores = scores * mask", CLEAR: "pass"})  # fmt: skip
    mistake("mask-added", "The mask is added to the scores as 0 and 1",
            "Adding 1 to what may be seen hides nothing.",
            edits={HIDE: "scores = scores + mask", CLEAR: "pass"})  # fmt: skip
    mistake("weak-fill", "Hidden scores are filled with a number that is not small enough",
            "−10 is below most scores, not below all: try scores of −1000.",
            edits={FILL: "-10.0", CLEAR: "pass"})  # fmt: skip
    mistake("tiny-fill", "Hidden scores are filled with a tiny number (1e-20), not a very negative one",
            "1e-20 is almost 0, and exp(0) = 1.",
            edits={FILL: "1e-20", CLEAR: "pass"}, same_as=["mask-multiplied"])  # fmt: skip
    mistake("fill-discarded", "The result of masked_fill is thrown away",
            "masked_fill returns a new tensor; masked_fill_ changes the old one.",
            edits={HIDE: "scores.masked_fill(~mask, float('-inf'))", CLEAR: "pass"},
            same_as=["mask-ignored"])  # fmt: skip
    mistake("empty-row-nan", "A query that may attend to nothing gets NaN",
            "A row of −∞ has no largest entry and a sum of 0: what should its weights be?",
            edits={FILL: "float('-inf')", CLEAR: "pass"})  # fmt: skip
    mistake("empty-row-uniform", "A query that may attend to nothing attends to everything alike",
            "If all scores of a row are the same very negative number, the softmax is uniform.",
            edits={CLEAR: "pass"})  # fmt: skip
    mistake("mask-transposed", "Rows and columns of the mask are exchanged",
            "Row = query, column = key, as in the scores.",
            edits={"~mask": "~mask.transpose(-2, -1)"})  # fmt: skip
    mistake("always-causal", "A causal mask is built in; the argument is not used",
            "The caller decides what is hidden; try a mask that hides the first key.",
            edits={"if mask is not None:\n        scores": "mask = torch.ones_like(scores, dtype=torch.bool).tril()\n"
                   "    if mask is not None:\n        scores"})  # fmt: skip


def _add_other_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("softmax-over-queries", "The softmax is over the queries: columns sum to 1, not rows",
            "Each query shares out 1 among the keys. Which dimension holds the keys?",
            edits={"dim=-1": "dim=-2"})  # fmt: skip
    mistake("softmax-over-dim-1", "The softmax is over dimension 1, whatever the number of dimensions",
            "Count from the end: the keys are the last dimension of the scores.",
            edits={"dim=-1": "dim=1"})  # fmt: skip
    mistake("softmax-over-batch", "The softmax is over the first dimension, the batch",
            "A sample must not depend on its neighbours in the batch.",
            edits={"dim=-1": "dim=0"})  # fmt: skip
    mistake("scaled-twice", "The scores are divided by √d_k twice",
            "attention_scores has already done it.",
            edits={"attention_scores(q, k)": "attention_scores(q, k) / math.sqrt(k.size(-1))"})  # fmt: skip
    mistake("scale-missing", "The scores are not divided by √d_k",
            "Compare the spread of q·k for d_k = 4 and d_k = 400; attention_scores does it for you.",
            edits={"attention_scores(q, k)": "q @ k.transpose(-2, -1)"})  # fmt: skip
    mistake("dropout-always", "Dropout is applied to the weights, in a function that should give the same each time",
            "Call it twice on the same tensors. `F.dropout` is live unless told otherwise.",
            edits={"weights = softmax(scores, dim=-1)": "weights = F.dropout(softmax(scores, dim=-1), 0.1)"})  # fmt: skip
    mistake("no-softmax", "The scores are used as weights, without a softmax",
            "Weights are positive and every row sums to 1.",
            edits={"softmax(scores, dim=-1)": "scores"})  # fmt: skip
    mistake("exchanged-pair", "Output and weights are returned in the wrong order",
            "The output comes first.", edits={"return output, weights": "return weights, output"})  # fmt: skip
    mistake("output-only", "Only the output is returned",
            "Return a pair: output, weights.", edits={"return output, weights": "return output"})  # fmt: skip
    mistake("scores-returned", "The scores are returned in the place of the weights",
            "The second of the pair is what the softmax made of the scores.",
            edits={"return output, weights": "return output, scores"})  # fmt: skip
    mistake("queries-and-keys-exchanged", "Queries and keys are exchanged in the scores",
            "Row i of the scores belongs to query i.",
            edits={"attention_scores(q, k)": "attention_scores(k, q)"})  # fmt: skip
    mistake("mixes-scores", "The values are mixed by the scores, not by the weights",
            "Each output is an average of values; only weights that sum to 1 make averages.",
            edits={"output = weights @ v": "output = scores @ v"})  # fmt: skip
    mistake("in-place", "The queries are changed in place",
            "An operation that ends in an underscore, or `*=`, writes into the caller's tensor.",
            edits={"scores = attention_scores(q, k)": "scores = attention_scores(q, k)\n    q *= 0.5"})  # fmt: skip
