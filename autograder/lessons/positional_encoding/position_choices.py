"""Checks of `position-choices`: four multiple-choice questions."""

from autograder.judge.table import ExerciseChecks, choice, entry

exercise = ExerciseChecks(checks=[
    entry("step_of_two", "why the index goes in steps of 2", choice("b", {
        "a": "Neighbouring columns form a pair on purpose. What do the two share?",
        "c": "The table has `d_model` columns either way. Nothing becomes narrower.",
        "d": "Every position is encoded: the index in the formula counts columns, not positions."})),
    entry("encoding_or_embedding", "what happens beyond the trained length", choice("a", {
        "b": "A learnt table has only the rows it was built with, but a formula works for any position.",
        "c": "One of the two raises an error at position 512. Try `LearnedPositionalEmbedding(512, 8)`.",
        "d": "`sinusoidal_encoding(600, 8)` works: the formula holds for any position."})),
    entry("without_either", "what an encoder knows of the order without positions", choice("c", {
        "a": "The shapes don't need positions, but the result does. Run the first demo again.",
        "b": "That is how a recurrent network works. An encoder reads all tokens at once.",
        "d": "Look at the first demo again. Are the vectors different?"})),
    entry("two_halves", "what the layout in two halves changes", choice("b", {
        "a": "A dot product is a sum over the columns, and the order of its terms doesn't matter.",
        "c": "Every wave is still there, but in another column.",
        "d": "Compare the two heat maps. The same columns are in different places."})),
])
