"""Checks of `head-shapes`: shapes and choices."""

from autograder.judge.authoring import (
    PASSED, Comparison, ExerciseChecks, Fault, Judge, Verdict, choice, entry, number, shape_of,
)

SPLIT = shape_of(1, 2, 3, 3, hints={
    (1, 3, 2, 3): "Heads come second: batch, heads, tokens, width.",
    (1, 2, 3, 6): "Each head has its share of the features: 6 / 2."})
LONGER = shape_of(1, 2, 5, 3, hints={
    (1, 5, 2, 3): "Heads come second: batch, heads, tokens, width.",
    (1, 2, 3, 5): "The tokens come before the width of a head: 5 tokens, each 3 wide.",
    (1, 2, 5, 5): "A head is 6 / 2 = 3 features wide, whatever the number of tokens.",
    (1, 2, 5, 6): "Each head has its share of the features: 6 / 2."})
ONE_HEAD = shape_of(4, 2, hints={
    (4, 4): "That is the matrix for both heads together.",
    (2, 2): "A head reads all 4 features of a token.",
    (2, 4): "In the paper's notation, x W, the token is on the left, so W has 4 rows."})


def _if_given(judge: Judge) -> Judge:
    """Return a judge that accepts a dictionary without the entry: the contract does not ask for it."""

    def decide(seen: Comparison) -> Verdict:
        left_out = seen.got.raised is not None and seen.got.raised.fault == Fault.NO_ENTRY
        return PASSED if left_out else judge(seen)

    return decide


exercise = ExerciseChecks(checks=[
    entry("q", "the queries, as w_q returns them", shape_of(1, 3, 6, hints={
        (1, 3, 3): "`w_q` makes the queries of all heads: D to D."})),
    entry("q_heads", "the queries, split into heads", SPLIT),
    entry("scores", "the scores of all heads", shape_of(1, 2, 3, 3, hints={
        (1, 2, 3, 6): "There is one score for each query and key: T_q by T_k."})),
    entry("mixed", "the outputs of both heads", SPLIT),
    entry("merged", "the outputs of both heads, merged", shape_of(1, 3, 6, hints={
        (1, 3, 3): "Heads are concatenated, not added up: 2 · 3 features."})),
    entry("output", "the output of w_o", shape_of(1, 3, 6, hints={(1, 3, 3): "`w_o` maps D to D."})),
    entry("five_q_heads", "the queries of five tokens, split into heads", _if_given(LONGER)),
    entry("five_scores", "the scores of five tokens", _if_given(shape_of(1, 2, 5, 5, hints={
        (1, 2, 5, 3): "There is one score for each query and key: T_q by T_k, without the width.",
        (1, 2, 3, 3): "There are five tokens now, so there are five queries and five keys."}))),
    entry("five_mixed", "the outputs of both heads for five tokens", _if_given(LONGER)),
    entry("head_w_q", "the matrix for the queries of one head", ONE_HEAD),
    entry("head_w_v", "the matrix for the values of one head", ONE_HEAD),
    entry("w_o", "the matrix after the merge", shape_of(4, 4, hints={
        (2, 4): "The heads are merged first: 2 · 2 features go in.",
        (4, 2): "The output is as wide as a token."})),
    entry("projections", "how many small projections there are", number(6, {
        3: "Each head has its own three.", 2: "Count queries, keys and values in each of the two heads.",
        8: "W^O is not one of them, and there is only one W^O for all heads.",
        7: "W^O is not one of them.", 12: "There are two heads, with three matrices each."})),
    entry("sees", "which features reach the scores of a head", choice("b", {
        "a": "That would be true if x were split before the projection.",
        "c": "A head's width is D / H, but it reads the whole token.",
        "d": "Heads don't divide the features of x among them: each projects the whole token."})),
    entry("more_heads", "what more heads cost", choice("c", {
        "a": "More heads only means narrower heads: the matrices stay D × D.",
        "b": "The matrices stay D × D, however they are split.",
        "d": "`w_o` maps D to D, whatever the number of heads."})),
    entry("sharing", "what makes heads differ", choice("a", {
        "b": "Heads with shared weights on slices of x are a common mistake.",
        "c": "Every head sees every position that the mask allows.",
        "d": "Dropout is noise during training, but heads differ in eval mode too."})),
])
