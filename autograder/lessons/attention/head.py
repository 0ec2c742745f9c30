"""Checks of `SelfAttentionHead`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.lessons.attention import reference

CALL = "scaled_dot_product_attention(q, k, v, mask)"
QUERIES = "q = self.w_q(x)"
INLINE = (
    "((lambda s: torch.softmax(s if mask is None else s.masked_fill({mask}, -1e9), {dim}))"
    "(attention_scores(q, k)) @ v, None)"
)
DEFAULT = "d_k = d_model if d_k is None else d_k"


def _weights(draw: Draw, d_model: int, d_k: int) -> dict[str, torch.Tensor]:
    return {
        **draw.linear("w_q", d_model, d_k),
        **draw.linear("w_k", d_model, d_k),
        **draw.linear("w_v", d_model, d_model),
    }


def add_head(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "self-attention-head", 4, "SelfAttentionHead", reference=reference.SelfAttentionHead
    )
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("every token reads all tokens, with d_k below d_model", weight=2)
    def narrow(draw: Draw) -> Stimulus:
        return module([8, 5], _weights(draw, 8, 5), [draw.normal(3, 6, 8)])

    @exercise.case("d_k is d_model where none is given")
    def default_width(draw: Draw) -> Stimulus:
        return module([7], _weights(draw, 7, 7), [draw.normal(2, 5, 7)])

    @exercise.case("d_k may exceed d_model")
    def wide(draw: Draw) -> Stimulus:
        return module([6, 11], _weights(draw, 6, 11), [draw.normal(2, 4, 6)])

    @exercise.case("a causal mask keeps the future out")
    def causal(draw: Draw) -> Stimulus:
        mask = torch.ones(6, 6, dtype=torch.bool).tril()
        return module([8, 5], _weights(draw, 8, 5), [draw.normal(2, 6, 8), mask])

    @exercise.case("a padding mask of each sample's own length")
    def padding(draw: Draw) -> Stimulus:
        mask = (torch.arange(6) < torch.tensor([6, 2, 4])[:, None]).unsqueeze(1)
        return module([8, 3], _weights(draw, 8, 3), [draw.normal(3, 6, 8), mask])

    @exercise.case("one token alone, then another batch: nothing is kept from call to call")
    def calls(draw: Draw) -> Stimulus:
        return module([4, 6], _weights(draw, 4, 6), [draw.normal(1, 1, 4)], [draw.normal(2, 5, 4)])

    @exercise.case("gradients reach all three projections")
    def learns(draw: Draw) -> Stimulus:
        asked = module([5, 4], _weights(draw, 5, 4), [draw.normal(2, 6, 5)])
        return Stimulus("module_gradient", {**asked.inputs, "cotangent": draw.normal(2, 6, 5)})


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("mask-not-passed", "The mask is not passed on to the attention",
            "`forward` takes a mask: where does it go?",
            edits={CALL: "scaled_dot_product_attention(q, k, v)"})  # fmt: skip
    mistake("keys-from-queries", "The keys are made by w_q: w_k is never used",
            "Three projections, three uses. Which one gets no gradient?",
            edits={"k = self.w_k(x)": "k = self.w_q(x)"})  # fmt: skip
    mistake("queries-from-keys", "The queries are made by w_k: w_q is never used",
            "Three projections, three uses. Which one gets no gradient?",
            edits={"q = self.w_q(x)": "q = self.w_k(x)"})  # fmt: skip
    mistake("exchanged", "Queries and keys are exchanged",
            "Who asks, and who is asked? The first argument of the attention is the queries.",
            edits={CALL: "scaled_dot_product_attention(k, q, v, mask)"})  # fmt: skip
    mistake("values-not-projected", "The values are the tokens themselves: w_v is never used",
            "What a token says when it is read is w_v(x), not x.",
            edits={"v = self.w_v(x)": "v = x"})  # fmt: skip
    mistake("raw-input", "The attention reads x, not the projections",
            "Print what goes into the attention: q, k and v, or x three times?",
            edits={CALL: "scaled_dot_product_attention(x, x, x, mask)"})  # fmt: skip
    mistake("scaled-by-d-model", "The scores are scaled by √d_model, not by √d_k",
            "The width that counts is that of the vectors in the dot product.",
            edits={QUERIES: f"{QUERIES} * math.sqrt(self.w_q.out_features / x.size(-1))"})  # fmt: skip
    mistake("scale-missing", "The scores are not divided by √d_k",
            "scaled_dot_product_attention divides for you; does your own way?",
            edits={QUERIES: f"{QUERIES} * math.sqrt(self.w_q.out_features)"})  # fmt: skip
    mistake("divided-by-d-k", "The scores are divided by d_k, or by √d_k twice",
            "The attention has divided already.",
            edits={QUERIES: f"{QUERIES} / math.sqrt(self.w_q.out_features)"})  # fmt: skip
    mistake("softmax-over-queries", "The softmax is over the queries: columns sum to 1, not rows",
            "Each query shares out 1 among the keys: that is the last dimension of the scores.",
            edits={CALL: INLINE.format(mask="~mask", dim=1)})  # fmt: skip
    mistake("softmax-over-batch", "The softmax is over the batch",
            "A sample must not depend on its neighbours in the batch.",
            edits={CALL: INLINE.format(mask="~mask", dim=0)})  # fmt: skip
    mistake("mask-inverted", "True and False of the mask are exchanged",
            "True = may attend.", edits={CALL: INLINE.format(mask="mask", dim=-1)})  # fmt: skip
    mistake("residual", "The input is added to the output",
            "The skip connection comes in lesson 05, around the head, not in it.",
            edits={"return output": "return output + x"})  # fmt: skip
    mistake("pair-returned", "Output and weights are both returned",
            "A head returns its output alone.", edits={"return output": "return output, _"})  # fmt: skip
    mistake("weights-returned", "The weights are returned, not the output",
            "The output comes first in the pair that the attention returns.",
            edits={"return output": "return _"})  # fmt: skip
    mistake("values-narrow", "w_v makes values of width d_k, not d_model",
            "A single head has nothing behind it to bring d_k back to d_model.",
            edits={"self.w_v = nn.Linear(d_model, d_model)": "self.w_v = nn.Linear(d_model, d_k)"})  # fmt: skip
    mistake("no-bias", "The projections have no bias",
            "nn.Linear as it comes has one; leave it in.",
            edits={"nn.Linear(d_model, d_k)": "nn.Linear(d_model, d_k, bias=False)",
                   "nn.Linear(d_model, d_model)": "nn.Linear(d_model, d_model, bias=False)"})  # fmt: skip
    mistake("d-k-ignored", "The argument d_k is ignored",
            "Build a head with d_k=3 and print w_q.", edits={DEFAULT: "d_k = d_model"})  # fmt: skip
    mistake("d-k-limited", "d_k is kept from exceeding d_model",
            "Nothing in the dot product asks for that: only q and k have to agree.",
            edits={DEFAULT: "d_k = d_model if d_k is None else min(d_k, d_model)"})  # fmt: skip
    mistake("default-missing", "d_k=None is not replaced by d_model",
            "SelfAttentionHead(d_model=7) must work.", edits={DEFAULT: "pass"})  # fmt: skip
    mistake("always-causal", "A causal mask is built in",
            "An encoder's head reads the whole sentence; the caller decides by the mask.",
            edits={CALL: "scaled_dot_product_attention(q, k, v, "
                   "torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril() if mask is None else mask)"})  # fmt: skip
    mistake("projection-made-in-forward", "The values' projection is made anew at each call: it never learns",
            "Parts that learn are made once, in __init__.",
            edits={"v = self.w_v(x)": "v = nn.Linear(x.size(-1), x.size(-1))(x)"})  # fmt: skip
