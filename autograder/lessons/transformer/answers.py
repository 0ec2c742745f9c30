"""Checks of `shape-trace`: the fourteen tensors."""

from collections.abc import Mapping

from autograder.judge.exercise import Lesson
from autograder.judge.judgement import shape_of

Shape = tuple[int, ...]
FLAT_HEADS = "Weights of attention have a dimension for the heads: 8, behind the batch."
ONE_HEAD_WIDE = "Heads are merged again before the output: it is d_model wide."
MODEL_WIDE = (
    "That is what goes in and what comes out; between the two linear layers it is d_ff wide."
)
SOURCE_LONG = "The decoder works on the target, which has 6 tokens."
TARGET_LONG = "The encoder works on the source, which has 9 tokens."
EMBEDDED = "Ids are whole numbers, one a token: they have no width yet."

ENTRIES: tuple[tuple[str, str, Shape, Mapping[Shape, str]], ...] = (
    ("source_ids", "the source's ids", (3, 9), {(3, 9, 70): EMBEDDED, (3, 9, 48): EMBEDDED, (3, 9, 1): EMBEDDED}),
    ("source_vectors", "the source's vectors with positions", (3, 9, 48), {
        (3, 9, 96): "Positions are added, not put beside.", (3, 9, 70): "One-hot vectors never appear; the table is read by row.",
        (3, 6, 48): TARGET_LONG}),
    ("encoder_weights", "the weights of the encoder's self-attention", (3, 8, 9, 9), {
        (3, 9, 9): FLAT_HEADS, (3, 8, 9, 6): "Queries and keys are two: these are not queries × values' width.",
        (3, 8, 6, 6): TARGET_LONG, (3, 8, 6, 9): "In the encoder queries and keys are both the source."}),
    ("encoder_attended", "the output of the encoder's self-attention", (3, 9, 48), {
        (3, 8, 9, 6): ONE_HEAD_WIDE, (3, 9, 6): ONE_HEAD_WIDE, (3, 6, 48): TARGET_LONG}),
    ("encoder_hidden", "the hidden features of the encoder's feed-forward", (3, 9, 96), {
        (3, 9, 48): MODEL_WIDE, (3, 9, 12): "Heads play no part in the feed-forward.", (3, 6, 96): TARGET_LONG}),
    ("memory", "the memory", (3, 9, 48), {
        (3, 48): "There is one vector for each source token, not one for each sentence.", (3, 6, 48): TARGET_LONG,
        (3, 3, 9, 48): "Only the top layer's output is the memory."}),
    ("decoder_input", "the ids that the decoder reads", (3, 6), {
        (3, 5): "Shifting drops the last token and puts <sos> in front: the length stays.",
        (3, 7): "Shifting drops the last token and puts <sos> in front: the length stays.", (3, 9): SOURCE_LONG,
        (3, 6, 48): EMBEDDED, (3, 6, 90): EMBEDDED}),
    ("target_vectors", "the target's vectors with positions", (3, 6, 48), {(3, 9, 48): SOURCE_LONG}),
    ("decoder_weights", "the weights of the decoder's self-attention", (3, 8, 6, 6), {
        (3, 6, 6): FLAT_HEADS, (3, 8, 9, 9): SOURCE_LONG, (3, 8, 6, 9): "That reads the source; self-attention reads the target."}),
    ("cross_weights", "the weights of cross-attention", (3, 8, 6, 9), {
        (3, 8, 9, 6): "A row is a query's, and queries come from the decoder: 6 rows.", (3, 6, 9): FLAT_HEADS,
        (3, 8, 6, 6): "Its keys are the memory: 9 of them.", (3, 8, 9, 9): SOURCE_LONG}),
    ("cross_attended", "the output of cross-attention", (3, 6, 48), {
        (3, 9, 48): "One output for each query, and queries come from the decoder.", (3, 8, 6, 6): ONE_HEAD_WIDE}),
    ("decoder_hidden", "the hidden features of the decoder's feed-forward", (3, 6, 96), {
        (3, 6, 48): MODEL_WIDE, (3, 9, 96): SOURCE_LONG}),
    ("logits", "the logits", (3, 6, 90), {
        (3, 6, 70): "The words to choose from are the target's.", (3, 9, 90): SOURCE_LONG,
        (3, 6, 48): "The last linear layer leads from d_model to the vocabulary.",
        (3, 90): "Every position is scored, not the last alone."}),
    ("probabilities", "the probabilities", (3, 6, 90), {
        (3, 6): "That is the likeliest word of each position; a softmax keeps the shape.",
        (3, 6, 1): "A softmax keeps the shape.", (3, 6, 70): "The words to choose from are the target's.",
        (3, 90): "Every position has a distribution of its own."}),
)  # fmt: skip


def add_answers(lesson: Lesson) -> None:
    """Declare the entries, and the mistakes that students make in several at once."""
    exercise = lesson.exercise("shape-trace", 2, "answers")
    for key, title, shape, hints in ENTRIES:
        exercise.entry(key, title, shape_of(*shape, hints=hints))
    mistake = exercise.misconception
    mistake("cross-laid-out-by-key", "The weights of cross-attention are laid out with a row for each key",
            "Rows are queries: the decoder asks.",
            edits={'"cross_weights": (3, 8, 6, 9)': '"cross_weights": (3, 8, 9, 6)'})  # fmt: skip
    mistake("cross-reads-target", "Cross-attention is thought to read the target",
            "Its keys and values are the memory.",
            edits={'"cross_weights": (3, 8, 6, 9)': '"cross_weights": (3, 8, 6, 6)'})  # fmt: skip
    mistake("cross-output-by-key", "Cross-attention is thought to return one vector for each source token",
            "Each query gets one output.",
            edits={'"cross_attended": (3, 6, 48)': '"cross_attended": (3, 9, 48)'})  # fmt: skip
    mistake("heads-forgotten", "The heads are forgotten in the weights of attention",
            "Eight heads, eight tables of weights for each sentence.",
            edits={'"encoder_weights": (3, 8, 9, 9)': '"encoder_weights": (3, 9, 9)'},
            also=[{'"encoder_weights": (3, 8, 9, 9)': '"encoder_weights": (3, 9, 9)',
                   '"decoder_weights": (3, 8, 6, 6)': '"decoder_weights": (3, 6, 6)',
                   '"cross_weights": (3, 8, 6, 9)': '"cross_weights": (3, 6, 9)'}])  # fmt: skip
    mistake("source-vocabulary", "The logits are as wide as the source's vocabulary",
            "The model chooses among words of the target.",
            edits={'"logits": (3, 6, 90)': '"logits": (3, 6, 70)'})  # fmt: skip
    mistake("hidden-as-wide-as-the-model", "The feed-forward is thought to be d_model wide inside",
            "Two linear layers: D to F, and F to D.",
            edits={'"encoder_hidden": (3, 9, 96)': '"encoder_hidden": (3, 9, 48)'})  # fmt: skip
    mistake("one-vector-memory", "The memory is thought to be one vector for each sentence",
            "That is what a recurrent encoder hands over; here every token keeps its own.",
            edits={'"memory": (3, 9, 48)': '"memory": (3, 48)'})  # fmt: skip
    mistake("shift-shortens", "Shifting is thought to make the target shorter",
            "One token is put in front, one is dropped.",
            edits={'"decoder_input": (3, 6)': '"decoder_input": (3, 5)'})  # fmt: skip
    mistake("probabilities-are-words", "Probabilities are taken for the words chosen",
            "A softmax changes the numbers, not the shape.",
            edits={'"probabilities": (3, 6, 90)': '"probabilities": (3, 6)'})  # fmt: skip
