"""Lesson 07, the Transformer: the eight exercises of the contract."""

from autograder.judge.exercise import Lesson
from autograder.lessons.transformer.answers import add_answers
from autograder.lessons.transformer.decoding import add_decoding
from autograder.lessons.transformer.language import add_language_model
from autograder.lessons.transformer.loss import add_loss
from autograder.lessons.transformer.model import add_transformer
from autograder.lessons.transformer.rate import add_rate
from autograder.lessons.transformer.step import add_step
from autograder.lessons.transformer.windows import add_windows
from coursework.scope import NEEDS, stand_in

NAME = "07_transformer"
lesson = Lesson(
    NAME,
    given={name: stand_in(name) for name in NEEDS[NAME]},
    imports=["torch._dynamo"],  # by optimisers
)
for add in (
    add_transformer,
    add_decoding,
    add_loss,
    add_rate,
    add_step,
    add_windows,
    add_language_model,
    add_answers,
):
    add(lesson)

__all__ = ["lesson"]
