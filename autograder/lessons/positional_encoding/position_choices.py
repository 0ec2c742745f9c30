"""Checks of `position-choices`: four multiple-choice questions."""

from autograder.judge.authoring import ExerciseChecks, entry
from autograder.judge.judges import choice

exercise = ExerciseChecks(checks=[
    entry("step_of_two", "why the index goes in steps of 2", choice("b", {
        "a": "Neighbouring columns form a pair on purpose: what do the two share?",
        "c": "The table has d_model columns either way; nothing becomes narrower.",
        "d": "Every position is encoded: the index in the formula counts columns, not positions."})),
    entry("encoding_or_embedding", "what happens beyond the trained length", choice("a", {
        "b": "A learnt table has only the rows it was built with; a formula works for any position.",
        "c": "One of the two raises an error at position 512: try LearnedPositionalEmbedding(512, 8).",
        "d": "sinusoidal_encoding(600, 8) works: the formula holds for any position."})),
    entry("without_either", "what an encoder makes of the order without positions", choice("c", {
        "a": "The shapes do not need positions, but the result does: run the first demo again.",
        "b": "That is how a recurrent network works. An encoder reads all tokens at once.",
        "d": "Look at the first demo again: are the vectors different?"})),
    entry("two_halves", "what the layout in two halves changes", choice("b", {
        "a": "A dot product is a sum over the columns, and their order does not matter to a sum.",
        "c": "Every wave is still there, in another column.",
        "d": "Compare the two heat maps: the same columns are in different places."})),
])
