"""Checks of `position-choices`: four multiple-choice questions."""

from autograder.judge.exercise import Lesson
from autograder.judge.judgement import choice

# fmt: off - a question or a mistake reads best as a block of two or three lines


def add_answers(lesson: Lesson) -> None:
    """Declare the entries and the choices most often got wrong."""
    exercise = lesson.exercise("position-choices", 2, "answers")
    entry = exercise.entry
    entry(
        "step_of_two",
        "why the index goes in steps of 2",
        choice(
            "b",
            {
                "a": "Neighbouring columns belong together on purpose: what do the two of a pair share?",
                "c": "The table has d_model columns either way; nothing becomes narrower.",
                "d": "Every position is encoded; the index of the formula counts columns, not positions.",
            },
        ),
    )
    entry(
        "encoding_or_embedding",
        "what happens beyond the trained length",
        choice(
            "a",
            {
                "b": "A table that is learnt has only the rows it was made with; a formula has no end.",
                "c": "One of the two raises an error at position 512: try LearnedPositionalEmbedding(512, 8).",
                "d": "sinusoidal_encoding(600, 8) works: the formula holds for any position.",
            },
        ),
    )
    entry(
        "without_either",
        "what an encoder makes of the order without positions",
        choice(
            "c",
            {
                "a": "Nothing is missing as far as the shapes go; run the very first demo again.",
                "b": "That is a recurrent network. An encoder reads all tokens at once.",
                "d": "Look at the very first demo: are the vectors different?",
            },
        ),
    )
    entry(
        "two_halves",
        "what the layout in two halves changes",
        choice(
            "b",
            {
                "a": "A dot product is a sum over columns; their order does not matter to a sum.",
                "c": "Every wave is still there, in another column.",
                "d": "Compare the two heat maps: the same columns, but in other places.",
            },
        ),
    )
    mistake = lesson["position-choices"].misconception
    mistake(
        "step-skips-positions",
        "The step of 2 is thought to skip positions",
        "2i and 2i + 1 are columns of the table.",
        edits={'"step_of_two": "B"': '"step_of_two": "D"'},
    )
    mistake(
        "step-saves-memory",
        "The step of 2 is thought to make the encoding narrower",
        "Count the columns of your table.",
        edits={'"step_of_two": "B"': '"step_of_two": "C"'},
    )
    mistake(
        "embedding-goes-on",
        "A learnt table is thought to reach beyond its rows",
        "Build one with max_len=4 and give it five tokens.",
        edits={'"encoding_or_embedding": "A"': '"encoding_or_embedding": "B"'},
    )
    mistake(
        "length-does-not-matter",
        "Both kinds are thought to work as well beyond the trained length",
        "Look at the last experiment: what happened on 16 tokens?",
        edits={'"encoding_or_embedding": "A"': '"encoding_or_embedding": "C"'},
    )
    mistake(
        "order-comes-by-itself",
        "An encoder is thought to know the order by itself",
        "Shuffle the tokens and compare, as in the first demo.",
        edits={'"without_either": "C"': '"without_either": "B"'},
    )
    mistake(
        "slower-training",
        "Without positions, training is thought to take longer, but to succeed",
        "Two inputs with the same output cannot be told apart by any training.",
        edits={'"without_either": "C"': '"without_either": "D"'},
    )
    mistake(
        "layout-changes-products",
        "The layout is thought to change the dot products",
        "Reorder the terms of a sum.",
        edits={'"two_halves": "B"': '"two_halves": "A"'},
    )
    mistake(
        "layouts-equal",
        "Both layouts are thought to be the same table",
        "Compare column 1 of both.",
        edits={'"two_halves": "B"': '"two_halves": "D"'},
    )
