"""Checks of `decoder-choices`: masks, memory and width."""

from autograder.judge.table import ExerciseChecks, choice, entry, number

exercise = ExerciseChecks(checks=[
    entry("self_mask", "the decoder's self-attention mask", choice("c", {
        "a": "The keys are the 6 target tokens, and some of them are padding.",
        "b": "The keys are target tokens, so the source's padding doesn't matter here.",
        "d": "Then every position would see the tokens it has to predict."})),
    entry("memory_mask", "the mask of the cross-attention", choice("b", {
        "a": "The whole source is known before the first token is generated, so none of it is in the future.",
        "c": "The keys are source tokens, so their padding has to be hidden.",
        "d": "The encoder returns vectors for padding too. Without a mask, they would be read."})),
    entry("from_encoder", "what comes from the encoder", choice("a", {
        "b": "There is one query for each target token, so queries come from the target.",
        "c": "Each decoder layer has its own w_k and w_v.",
        "d": "All decoder layers read the output of the last encoder layer (section 3.1)."})),
    entry("output_width", "the width of the decoder's output", number(50, {
        70: "The decoder chooses from the target vocabulary.",
        32: "That is the width before `project`.",
        6: "That is the number of positions. How many tokens are there to choose from at each?",
        9: "That is the length of the source, which does not affect the width.",
        1: "The decoder scores every token in the vocabulary. Choosing one comes later.",
        300: "That counts all six positions together. The width is that of one position.",
        1200: "That counts all positions of all samples together. The width is that of one position."})),
])
