"""Checks of `attention-shapes`: shapes and choices."""

from autograder.judge.exercise import Lesson
from autograder.judge.judgement import choice, number, shape_of


def add_answers(lesson: Lesson) -> None:
    """Declare the entries and the choices most often got wrong."""
    exercise = lesson.exercise("attention-shapes", 2, "answers")
    unbatched = "The batch is a dimension too: put 4 in front."
    entry = exercise.entry
    entry("q", "the shape of the queries", shape_of(4, 6, 16, hints={
        (4, 9, 16): "Queries come from x, which has 6 tokens, not from the memory.",
        (4, 6, 32): "That is x before w_q; the projection changes the last dimension.",
        (6, 16): unbatched}))  # fmt: skip
    entry("k", "the shape of the keys", shape_of(4, 9, 16, hints={
        (4, 6, 16): "Keys come from the memory, which has 9 tokens.", (9, 16): unbatched,
        (4, 16, 9): "That is kᵀ; the keys themselves are not transposed."}))  # fmt: skip
    entry("v", "the shape of the values", shape_of(4, 9, 10, hints={
        (4, 6, 10): "Values come from the memory: one for each key.", (9, 10): unbatched,
        (4, 9, 16): "Values need not be as wide as keys; look at w_v."}))  # fmt: skip
    entry("scores", "the shape of the scores", shape_of(4, 6, 9, hints={
        (4, 9, 6): "A row is a query's: 6 rows, one for each token of x.", (6, 9): unbatched,
        (4, 6, 6): "These queries meet keys of another sequence."}))  # fmt: skip
    entry("output", "the shape of the output", shape_of(4, 6, 10, hints={
        (4, 9, 10): "There is one output for each query, not for each key.", (6, 10): unbatched,
        (4, 6, 16): "The output is a mixture of values: it is as wide as they are.",
        (4, 6, 32): "Nothing here brings the output back to d_model."}))  # fmt: skip
    entry("value_vectors", "how many value vectors a sentence has", number(9, {
        6: "One for each key, not for each query.", 36: "One sentence, not the whole batch.",
        10: "That is how wide a value is, not how many there are."}))  # fmt: skip
    entry("why_scale", "why the scores are divided by √d_k", choice("c", {
        "a": "The softmax makes rows sum to 1, with or without scaling.",
        "b": "Scaling bounds nothing; only a cosine stays between −1 and 1.",
        "d": "A division does not make the product any faster."}))  # fmt: skip
    entry("other_score", "a score that works for widths 8 and 5", choice("a", {
        "b": "A dot product needs two vectors of the same width.",
        "c": "Dividing by √d_k does not help: the dot product itself needs equal widths.",
        "d": "A cosine is a dot product as well: it needs equal widths."}))  # fmt: skip
    entry("conditions", "the only conditions on the dimensions", choice("d", {
        "a": "Five queries may read seven keys; that is what cross-attention does.",
        "b": "Values may have a width of their own; the output takes it over.",
        "c": "d_k may exceed d_model: w_q and w_k can widen as well as narrow."}))  # fmt: skip
    _add_mistakes(lesson)


def _add_mistakes(lesson: Lesson) -> None:
    mistake = lesson["attention-shapes"].misconception
    mistake("scores-by-key", "Scores are laid out with a row for each key",
            "Rows are queries, columns are keys.", edits={'"scores": (4, 6, 9)': '"scores": (4, 9, 6)'})  # fmt: skip
    mistake("one-output-a-key", "There is one output for each key, it is thought",
            "Each query gets one output: a mixture of all values.",
            edits={'"output": (4, 6, 10)': '"output": (4, 9, 10)'})  # fmt: skip
    mistake("value-a-query", "There is one value for each query, it is thought",
            "Keys and values come in pairs.", edits={'"value_vectors": 9': '"value_vectors": 6'})  # fmt: skip
    mistake("scaling-normalises", "Scaling is thought to make rows sum to 1",
            "Which step makes the rows sum to 1?", edits={'"why_scale": "C"': '"why_scale": "A"'})  # fmt: skip
    mistake("d-k-bounded", "d_k is thought to be bounded by d_model",
            "Build SelfAttentionHead(6, d_k=11) and run it.",
            edits={'"conditions": "D"': '"conditions": "C"'})  # fmt: skip
