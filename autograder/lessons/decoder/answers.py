"""Checks of `decoder-choices`: masks, memory and width."""

from autograder.judge.exercise import Lesson
from autograder.judge.judgement import choice, number


def add_answers(lesson: Lesson) -> None:
    """Declare the entries and the choices most often got wrong."""
    exercise = lesson.exercise("decoder-choices", 1, "answers")
    entry = exercise.entry
    entry("self_mask", "the mask of the decoder's self-attention", choice("c", {
        "a": "Its keys are target tokens, 6 of them, and some of them are padding.",
        "b": "Its keys are target tokens: the padding of the source is none of its business.",
        "d": "Then every position would see the tokens it has to predict."}))  # fmt: skip
    entry("memory_mask", "the mask of the cross-attention", choice("b", {
        "a": "The whole source is there before the first word is written; nothing of it is the future.",
        "c": "Its keys are source tokens; their padding is what has to be hidden.",
        "d": "The encoder's outputs at padded positions are still there, and would be read."}))  # fmt: skip
    entry("from_encoder", "what comes from the encoder", choice("a", {
        "b": "The queries belong to the tokens that ask: those of the target.",
        "c": "Each decoder layer has a w_k and a w_v of its own.",
        "d": "All decoder layers read the output of the last encoder layer (section 3.1)."}))  # fmt: skip
    entry("output_width", "the width of the decoder's output", number(50, {
        70: "What is chosen is a word of the target.",
        32: "That is the width before `project`.",
        6: "That is the number of positions; for each of them one word is chosen.",
        9: "The length of the source has no influence on the width.",
        1: "One number is not a choice among words; the most probable id comes after the decoder.",
        300: "For each position, not for all six together.",
        1200: "For each position of each sample, not for all of them together."}))  # fmt: skip
    _add_mistakes(lesson)


def _add_mistakes(lesson: Lesson) -> None:
    mistake = lesson["decoder-choices"].misconception
    mistake("source-padding-in-self-attention", "The decoder's self-attention is thought to hide the source's padding",
            "Whose tokens are the keys of a self-attention?",
            edits={'"self_mask": "C"': '"self_mask": "B"'})  # fmt: skip
    mistake("no-causal-mask", "The decoder's self-attention is thought to need no causal mask",
            "What may position 2 know when it predicts token 2?",
            edits={'"self_mask": "C"': '"self_mask": "D"'})  # fmt: skip
    mistake("causal-cross-attention", "The cross-attention is thought to be causal",
            "Is there anything in the source that is not known yet?",
            edits={'"memory_mask": "B"': '"memory_mask": "A"'})  # fmt: skip
    mistake("memory-not-masked", "The memory is thought to need no mask",
            "How long is the memory of a padded sentence?",
            edits={'"memory_mask": "B"': '"memory_mask": "D"'})  # fmt: skip
    mistake("queries-from-encoder", "The queries of the cross-attention are thought to come from the encoder",
            "Each query gets one output. How many outputs should there be?",
            edits={'"from_encoder": "A"': '"from_encoder": "B"'})  # fmt: skip
    mistake("keys-handed-over", "The encoder is thought to hand over its keys and values",
            "Look at the attributes of `DecoderLayer.cross_attention`: which of them make keys and values?",
            edits={'"from_encoder": "A"': '"from_encoder": "C"'})  # fmt: skip
    mistake("layer-by-layer", "Decoder layer i is thought to read encoder layer i",
            "How many memories does `Decoder.forward` take?",
            edits={'"from_encoder": "A"': '"from_encoder": "D"'})  # fmt: skip
    mistake("width-of-the-source", "The output is thought to be as wide as the source vocabulary",
            "Words of which language are written?", edits={'"output_width": 50': '"output_width": 70'})  # fmt: skip
    mistake("width-of-the-model", "The output is thought to be d_model wide",
            "What does `project` lead to?", edits={'"output_width": 50': '"output_width": 32'})  # fmt: skip
