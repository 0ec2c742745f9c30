"""Checks of `attention-shapes`: shapes and choices."""

from autograder.judge.table import ExerciseChecks, choice, entry, number, shape_of

exercise = ExerciseChecks(checks=[
    entry("q", "the shape of the queries", shape_of(4, 6, 16, hints={
        (4, 9, 16): "Queries come from x, which has 6 tokens, not from the memory.",
        (4, 6, 32): "That is x before `w_q`. The projection changes the last dimension."})),
    entry("k", "the shape of the keys", shape_of(4, 9, 16, hints={
        (4, 6, 16): "Keys come from the memory, which has 9 tokens."})),
    entry("v", "the shape of the values", shape_of(4, 9, 10, hints={
        (4, 6, 10): "Values come from the memory, one for each key.",
        (4, 9, 16): "Values may have a different width from keys. Look at `w_v`."})),
    entry("scores", "the shape of the scores", shape_of(4, 6, 9, hints={
        (4, 9, 6): "Each row belongs to a query: 6 rows, one for each token of x."})),
    entry("output", "the shape of the output", shape_of(4, 6, 10, hints={
        (4, 9, 10): "There is one output for each query, not for each key.",
        (4, 6, 16): "The output is a weighted average of values, so it is as wide as they are."})),
    entry("value_vectors", "how many value vectors a sentence has", number(9, {
        6: "There is one for each key, not for each query.", 36: "Count one sentence, not the whole batch.",
        10: "That is how wide a value is, not how many there are."})),
    entry("why_scale", "why the scores are divided by √d_k", choice("c", {
        "a": "The softmax makes rows sum to 1, with or without scaling.",
        "b": "Scaling sets no bounds. Only a cosine stays between −1 and 1.",
        "d": "A division does not make the product any faster."})),
    entry("other_score", "a score that works for widths 8 and 5", choice("a", {
        "b": "A dot product needs two vectors of the same width.",
        "c": "Dividing by √d_k doesn't help: the dot product itself needs equal widths.",
        "d": "A cosine is a dot product too, so it needs equal widths."})),
    entry("conditions", "the only conditions on the dimensions", choice("d", {
        "a": "Five queries may attend to seven keys. Cross-attention does just that.",
        "b": "Values may have any width, and the output is as wide as they are.",
        "c": "d_k may exceed `d_model`: `w_q` and `w_k` can make a vector wider or narrower."})),
])
