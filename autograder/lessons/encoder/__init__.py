"""Lesson 05, the encoder: four parts to build and two questions to answer in words."""

from autograder.judge.exercise import Lesson
from autograder.lessons.encoder.feed import add_feed_forward
from autograder.lessons.encoder.layer import add_layer
from autograder.lessons.encoder.norm import add_norm
from autograder.lessons.encoder.stack import add_stack
from coursework import scope

lesson = Lesson(
    "05_encoder", given={name: scope.stand_in(name) for name in scope.NEEDS["05_encoder"]}
)
for add in (add_norm, add_feed_forward, add_layer, add_stack):
    add(lesson)
lesson.exercise("dense-layers", 1, "", written=True)
lesson.exercise("skip-connections", 2, "", written=True)

__all__ = ["lesson"]
