"""Checks of `head-shapes`: shapes and choices."""

from autograder.judge.exercise import Exercise, Lesson
from autograder.judge.judgement import choice, number, shape_of

UNBATCHED = "The batch of one sentence is a dimension too: put a 1 in front."
HEADS_SECOND = "Heads come second: batch, heads, tokens, width."
FOUR = "Heads are a dimension of their own here: this tensor has four."
THREE = "Here heads are not apart: batch, tokens, features."


def add_answers(lesson: Lesson) -> None:
    """Declare the entries and the choices most often got wrong."""
    exercise = lesson.exercise("head-shapes", 2, "answers")
    _add_walk(exercise)
    _add_matrices(exercise)
    _add_choices(exercise)
    _add_mistakes(exercise)


def _add_walk(exercise: Exercise) -> None:
    entry = exercise.entry
    whole = {(1, 2, 3, 3): THREE, (3, 6): UNBATCHED, (1, 6, 3): "A row for each token: tokens come before features."}
    apart = {(1, 3, 6): FOUR, (2, 3, 3): UNBATCHED, (1, 3, 2, 3): HEADS_SECOND,
             (1, 2, 3, 6): "A head has its share of the features: 6 / 2.",
             (1, 3, 3): FOUR}  # fmt: skip
    entry("q", "the queries, out of w_q", shape_of(1, 3, 6, hints={
        **whole, (1, 3, 3): "w_q makes the queries of all heads: D to D."}))  # fmt: skip
    entry("q_heads", "the queries, split into heads", shape_of(1, 2, 3, 3, hints=apart))
    entry("scores", "the scores of all heads", shape_of(1, 2, 3, 3, hints={
        **apart, (1, 2, 3, 6): "A score is one number for a query and a key: T_q by T_k."}))  # fmt: skip
    entry("mixed", "what the heads read", shape_of(1, 2, 3, 3, hints=apart))
    entry("merged", "the same, merged", shape_of(1, 3, 6, hints={
        **whole, (1, 3, 3): "Heads are laid side by side, not added up: 2 · 3 features."}))  # fmt: skip
    entry("output", "the output of w_o", shape_of(1, 3, 6, hints={
        **whole, (1, 3, 3): "w_o leads from D to D."}))  # fmt: skip


def _add_matrices(exercise: Exercise) -> None:
    entry = exercise.entry
    one_head = {(4, 4): "That is the matrix of both heads together.", (2, 2): "A head reads all 4 features of a token.",
                (2, 4): "In the paper's notation a token is multiplied from the left: x W, 4 rows."}  # fmt: skip
    entry("head_w_q", "the matrix for the queries of one head", shape_of(4, 2, hints=one_head))
    entry("head_w_v", "the matrix for the values of one head", shape_of(4, 2, hints=one_head))
    entry("w_o", "the matrix after the merge", shape_of(4, 4, hints={
        (2, 4): "The heads are merged before: 2 · 2 features go in.",
        (4, 2): "What comes out is as wide as a token."}))  # fmt: skip
    entry("projections", "how many small projections there are", number(6, {
        3: "Each head has three of its own.", 8: "W^O is not one of them, and there is one for all heads.",
        2: "One each for queries, keys and values, in each of two heads.",
        7: "W^O is not one of them.", 12: "Two heads with three matrices each."}))  # fmt: skip


def _add_choices(exercise: Exercise) -> None:
    entry = exercise.entry
    entry("sees", "which features reach the scores of a head", choice("b", {
        "a": "That would be so if x were split before it is projected.",
        "c": "A head's width is D / H; what it reads is the whole token.",
        "d": "Heads do not take turns: each has its own projections of the whole token."}))  # fmt: skip
    entry("more_heads", "what more heads cost", choice("c", {
        "a": "More heads are narrower heads: the matrices stay D × D.",
        "b": "The matrices stay D × D, however they are cut.",
        "d": "w_o leads from D to D, whatever the number of heads."}))  # fmt: skip
    entry("sharing", "what makes heads differ", choice("a", {
        "b": "Heads with shared weights on slices of x are the well-known mistake.",
        "c": "Every head sees every position the mask allows.",
        "d": "Dropout is noise in training; in eval mode heads differ as well."}))  # fmt: skip


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("heads-behind-tokens", "Heads are put behind the tokens",
            "Attention runs over the last two dimensions: tokens and width.",
            edits={'"q_heads": (1, 2, 3, 3)': '"q_heads": (1, 3, 2, 3)'})  # fmt: skip
    mistake("heads-added-up", "Heads are thought to be added up when they are merged",
            "Concat: side by side.", edits={'"merged": (1, 3, 6)': '"merged": (1, 3, 3)'})  # fmt: skip
    mistake("full-width-heads", "Every head is thought to be d_model wide",
            "The heads share d_model among them.",
            edits={'"head_w_q": (4, 2)': '"head_w_q": (4, 4)', '"head_w_v": (4, 2)': '"head_w_v": (4, 4)'})  # fmt: skip
    mistake("slices", "A head is thought to see only its slice of the token",
            "Project first, then split: every projected feature may come from all of x.",
            edits={'"sees": "B"': '"sees": "A"'})  # fmt: skip
    mistake("heads-cost", "More heads are thought to mean more parameters",
            "Count them: MultiHeadAttention(8, 2) and MultiHeadAttention(8, 4).",
            edits={'"more_heads": "C"': '"more_heads": "A"'})  # fmt: skip
    mistake("weights-shared", "Heads are thought to share their weights",
            "Which rows of w_q.weight make the queries of head 2?",
            edits={'"sharing": "A"': '"sharing": "B"'})  # fmt: skip
