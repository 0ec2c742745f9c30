"""Checks of `head-shapes`: shapes and choices."""

from autograder.judge.table import ExerciseChecks, choice, entry, number, shape_of

SPLIT = shape_of(4, 2, 5, 3, hints={
    (4, 5, 2, 3): "Heads come second: batch, heads, tokens, width.",
    (4, 2, 3, 5): "The tokens come before the width of a head: 5 tokens, each 3 wide.",
    (4, 2, 5, 5): "A head is 6 / 2 = 3 features wide, whatever the number of tokens.",
    (4, 2, 5, 6): "Each head has its share of the features: 6 / 2."})
ONE_HEAD = shape_of(4, 2, hints={
    (4, 4): "That is the matrix for both heads together.",
    (2, 2): "A head reads all 4 features of a token.",
    (2, 4): "In the paper's notation, x W, the token is on the left, so W has 4 rows."})

exercise = ExerciseChecks(checks=[
    entry("q_heads", "the queries, split into heads", SPLIT),
    entry("scores", "the scores of all heads", shape_of(4, 2, 5, 5, hints={
        (4, 2, 5, 3): "There is one score for each query and key: T_q by T_k, without the width.",
        (4, 5, 5): "Each head has scores of its own."})),
    entry("mixed", "the outputs of both heads", SPLIT),
    entry("merged", "the outputs of both heads, merged", shape_of(4, 5, 6, hints={
        (4, 5, 3): "Heads are concatenated, not added up: 2 · 3 features."})),
    entry("head_w_q", "the matrix for the queries of one head", ONE_HEAD),
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
