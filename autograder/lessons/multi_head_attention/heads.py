"""Checks of `split_heads` and `merge_heads`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Lesson, Stimulus, call, gradient
from autograder.judge.judgement import agrees, unchanged
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.symptoms import features_move

VIEW = "x.view(batch, length, num_heads, d_model // num_heads)"
SPLIT = "return x.transpose(1, 2)"
SWAP = "x = x.transpose(1, 2)"
MERGE = "x.reshape(batch, length, num_heads * width)"
judge = agrees(features_move)


def add_heads(lesson: Lesson) -> None:
    """Declare both exercises, their cases and their misconceptions."""
    _add_split(lesson)
    _add_merge(lesson)


def _add_split(lesson: Lesson) -> None:
    exercise = lesson.exercise("split-heads", 2, "split_heads", reference=reference.split_heads)

    @exercise.case("each head gets its own features of every token", judge=judge, weight=2)
    def own_features(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 5, 12), 3)

    @exercise.case("as many samples as tokens as heads: nothing is exchanged", judge=judge)
    def square(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 3, 9), 3)

    @exercise.case("a single head, in float64, with the argument left unchanged", judge=unchanged(features_move))
    def one_head(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 4, 6).double(), 1)

    @exercise.case("a single token, in heads of width one", judge=judge, weight=0.5)
    def one_token(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 1, 5), 5)

    @exercise.case("gradients find their way back", judge=judge, weight=0.5)
    def learns(draw: Draw) -> Stimulus:
        return gradient(draw.normal(2, 3, 8), 2, cotangent=draw.normal(2, 2, 3, 4))

    mistake = exercise.misconception
    order = "Print `x.view(...)` for x = torch.arange(18.).view(1, 3, 6): whose numbers are in head 0?"
    mistake("view-alone", "The sizes are written in the order wanted, but no number is moved: tokens are mixed", order,
            edits={VIEW: "x.reshape(batch, num_heads, length, d_model // num_heads)",
                   SPLIT: "return x"})  # fmt: skip
    mistake("not-transposed", "Heads stand behind the tokens: (B, S, H, K), not (B, H, S, K)",
            "Which dimension should come second, so that each head holds all tokens?",
            edits={SPLIT: "return x"})  # fmt: skip
    mistake("interleaved", "Heads take turns with the features: head 0 gets features 0, H, 2H, …",
            "Head h owns features h·K to (h+1)·K, which lie next to each other.",
            edits={VIEW: "x.view(batch, length, d_model // num_heads, num_heads).transpose(2, 3)"})  # fmt: skip
    mistake("heads-first", "Heads come before the batch: (H, B, S, K)",
            "The batch stays in front; heads come second.",
            edits={SPLIT: "return x.permute(2, 0, 1, 3)"})  # fmt: skip
    mistake("heads-in-batch", "Heads are folded into the batch: (B·H, S, K)",
            "Keep four dimensions: batch, heads, tokens, width.",
            edits={SPLIT: "return x.transpose(1, 2).flatten(0, 1)"})  # fmt: skip
    mistake("features-before-tokens", "Tokens and features are exchanged within each head: (B, H, K, S)",
            "A head holds a row for each token.",
            edits={SPLIT: "return x.permute(0, 2, 3, 1)"})  # fmt: skip
    mistake("heads-for-width", "The number of heads is taken for their width",
            "With D = 12 and 3 heads, how wide is a head?",
            edits={VIEW: "x.view(batch, length, d_model // num_heads, num_heads)"})  # fmt: skip
    mistake("every-head-everything", "Every head gets all features, not its own part of them",
            "The last dimension should be K = D / H wide.",
            edits={VIEW: "x.unsqueeze(2).expand(batch, length, num_heads, d_model)"})  # fmt: skip
    mistake("tokens-divided", "The tokens are shared out among the heads, not the features",
            "Every head sees every token, and a part of its features.",
            edits={VIEW: "x.unflatten(1, (num_heads, -1))", SPLIT: "return x"})  # fmt: skip
    mistake("tokens-and-batch", "Dimension 0 is exchanged with the heads, and the batch lost its place",
            "transpose takes two dimensions; which two should change places?",
            edits={SPLIT: "return x.transpose(0, 2)"})  # fmt: skip
    mistake("first-heads-features", "Every head gets the features of the first head",
            "Compare heads 0 and 1 of your result.",
            edits={SPLIT: "x = x[:, :, :1].expand(-1, -1, num_heads, -1)\n    return x.transpose(1, 2)"})  # fmt: skip


def _add_merge(lesson: Lesson) -> None:
    exercise = lesson.exercise("merge-heads", 2, "merge_heads", reference=reference.merge_heads)

    @exercise.case("the heads of each token lie side by side", judge=judge, weight=2)
    def side_by_side(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 3, 5, 4))

    @exercise.case("as many samples as heads as tokens as features: nothing is exchanged", judge=judge)
    def square(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 3, 3, 3))

    @exercise.case("a single head, in float64, with the argument left unchanged", judge=unchanged(features_move))
    def one_head(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 1, 4, 6).double())

    @exercise.case("a single token, in heads of width one", judge=judge, weight=0.5)
    def one_token(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 5, 1, 1))

    @exercise.case("gradients find their way back", judge=judge, weight=0.5)
    def learns(draw: Draw) -> Stimulus:
        return gradient(draw.normal(2, 2, 3, 4), cotangent=draw.normal(2, 3, 8))

    mistake = exercise.misconception
    mistake("not-transposed", "The heads are reshaped as they lie: a row holds one head of several tokens",
            "Before the numbers of a token can be put in one row, its heads have to lie next to each other.",
            edits={SWAP: "pass"})  # fmt: skip
    mistake("view-after-transpose", "`view` is used on a transposed tensor, which it refuses",
            "A transpose moves no numbers; `reshape` copies where it must, or `.contiguous()` before `.view`.",
            edits={"x.reshape(": "x.view("})  # fmt: skip
    mistake("interleaved", "The features of the heads take turns, instead of whole heads side by side",
            "A token starts with all of head 0, then all of head 1.",
            edits={SWAP: "x = x.permute(0, 2, 3, 1)"})  # fmt: skip
    mistake("summed", "The heads are added up, not laid side by side",
            "The result is H · K wide.", edits={MERGE: "x.sum(dim=2)"})  # fmt: skip
    mistake("averaged", "The heads are averaged, not laid side by side",
            "The result is H · K wide.", edits={MERGE: "x.mean(dim=2)"})  # fmt: skip
    mistake("four-dimensions", "Only the dimensions are exchanged: the result still has four",
            "Three dimensions are wanted: batch, tokens, features.", edits={f"return {MERGE}": "return x"})  # fmt: skip
    mistake("along-tokens", "The heads are put one below the other: (B, H·S, K)",
            "Each token has one row in the result.",
            edits={SWAP: "pass", MERGE: "x.flatten(1, 2)"})  # fmt: skip
    mistake("batch-folded", "Batch and tokens are folded into one dimension",
            "Keep the batch in front: three dimensions.", edits={MERGE: "x.flatten(2).flatten(0, 1)"})  # fmt: skip
    mistake("reversed", "The heads come in reverse order", "Head 0 comes first.",
            edits={SWAP: "x = x.transpose(1, 2).flip(2)"})  # fmt: skip
    mistake("features-and-tokens", "Tokens and features are exchanged",
            "transpose takes two dimensions: heads and tokens should change places.",
            edits={SWAP: "x = x.transpose(1, 3)"})  # fmt: skip
    mistake("batch-and-tokens", "Samples and tokens are exchanged",
            "The batch stays in front.", edits={SWAP: "x = x.permute(2, 0, 1, 3)"})  # fmt: skip
