"""Lesson 02, positional encoding: the five exercises of the contract."""

from autograder.judge.exercise import Lesson
from autograder.lessons.positional_encoding.answers import add_answers
from autograder.lessons.positional_encoding.layer import add_layer
from autograder.lessons.positional_encoding.learned import add_learned
from autograder.lessons.positional_encoding.shift import add_shift
from autograder.lessons.positional_encoding.table import add_table

lesson = Lesson("02_positional_encoding")
for add in (add_table, add_layer, add_shift, add_learned, add_answers):
    add(lesson)

__all__ = ["lesson"]
