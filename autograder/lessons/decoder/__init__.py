"""Lesson 06, the decoder: the six exercises of the contract."""

from autograder.judge.exercise import Lesson
from autograder.lessons.decoder.answers import add_answers
from autograder.lessons.decoder.block import add_block
from autograder.lessons.decoder.layer import add_layer
from autograder.lessons.decoder.mask import add_mask
from autograder.lessons.decoder.shift import add_shift
from autograder.lessons.decoder.stack import add_stack
from coursework import stand_ins

GIVEN = (
    "MultiHeadAttention",
    "TokenEmbedding",
    "PositionalEncoding",
    "padding_mask",
    "LayerNorm",
    "FeedForward",
    "causal_mask",
)
lesson = Lesson("06_decoder", given={name: getattr(stand_ins, name) for name in GIVEN})
for add in (add_shift, add_mask, add_layer, add_stack, add_block, add_answers):
    add(lesson)

__all__ = ["lesson"]
