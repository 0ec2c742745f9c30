"""Checks of `shape-trace`: the fourteen tensors from ids to probabilities."""

from autograder.judge.table import ExerciseChecks, entry, shape_of

MODEL_WIDE = "That is the input and the output. Between the two linear layers, it is `d_ff` wide."
SOURCE_LONG = "The decoder works on the target, which has 6 tokens."
TARGET_LONG = "The encoder works on the source, which has 9 tokens."
SHIFTED = "Shifting drops the last token and puts <sos> first, so the length stays the same."
TARGET_WORDS = "The model chooses from the target vocabulary."

exercise = ExerciseChecks(checks=[
    entry("source_ids", "the source's ids", shape_of(3, 9)),
    entry("source_vectors", "the source's vectors with positions", shape_of(3, 9, 48, hints={
        (3, 9, 96): "Positions are added to the features, not concatenated with them.",
        (3, 9, 70): "There are no one-hot vectors: the embedding looks up rows of the table.",
        (3, 6, 48): TARGET_LONG})),
    entry("encoder_weights", "the weights of the encoder's self-attention", shape_of(3, 8, 9, 9, hints={
        (3, 8, 6, 6): TARGET_LONG,
        (3, 8, 9, 6): "The last two dimensions count queries and keys, not the width of a head.",
        (3, 8, 6, 9): "In the encoder, both queries and keys come from the source."})),
    entry("encoder_attended", "the output of the encoder's self-attention", shape_of(3, 9, 48, hints={
        (3, 9, 6): "The heads are merged before the output, so it is `d_model` wide.",
        (3, 6, 48): TARGET_LONG})),
    entry("encoder_hidden", "the encoder feed-forward network's hidden features", shape_of(3, 9, 96, hints={
        (3, 9, 48): MODEL_WIDE, (3, 6, 96): TARGET_LONG,
        (3, 9, 12): "The feed-forward network has no heads."})),
    entry("memory", "the memory", shape_of(3, 9, 48, hints={
        (3, 48): "There is one vector for each source token, not one for each sentence.",
        (3, 6, 48): TARGET_LONG})),
    entry("decoder_input", "the ids that the decoder reads", shape_of(3, 6, hints={
        (3, 5): SHIFTED, (3, 7): SHIFTED, (3, 9): SOURCE_LONG})),
    entry("target_vectors", "the target's vectors with positions", shape_of(3, 6, 48, hints={
        (3, 9, 48): SOURCE_LONG})),
    entry("decoder_weights", "the weights of the decoder's self-attention", shape_of(3, 8, 6, 6, hints={
        (3, 8, 9, 9): SOURCE_LONG,
        (3, 8, 6, 9): "That is cross-attention. The keys of self-attention come from the target."})),
    entry("cross_weights", "the weights of cross-attention", shape_of(3, 8, 6, 9, hints={
        (3, 8, 9, 6): "Each row belongs to a query, and queries come from the decoder: 6 rows.",
        (3, 8, 6, 6): "Its keys come from the memory, which has 9 vectors.", (3, 8, 9, 9): SOURCE_LONG})),
    entry("cross_attended", "the output of cross-attention", shape_of(3, 6, 48, hints={
        (3, 9, 48): "There is one output for each query, and queries come from the decoder."})),
    entry("decoder_hidden", "the decoder feed-forward network's hidden features", shape_of(3, 6, 96, hints={
        (3, 6, 48): MODEL_WIDE, (3, 9, 96): SOURCE_LONG})),
    entry("logits", "the logits", shape_of(3, 6, 90, hints={
        (3, 6, 70): TARGET_WORDS, (3, 9, 90): SOURCE_LONG,
        (3, 6, 48): "The last linear layer maps `d_model` features to the vocabulary."})),
    entry("probabilities", "the probabilities", shape_of(3, 6, 90, hints={
        (3, 6): "Those are the most likely tokens. A softmax keeps the shape.", (3, 6, 70): TARGET_WORDS})),
])
