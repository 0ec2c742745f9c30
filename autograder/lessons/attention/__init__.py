"""Lesson 03, attention: the seven exercises of the contract."""

from autograder.judge.exercise import Lesson
from autograder.lessons.attention.answers import add_answers
from autograder.lessons.attention.head import add_head
from autograder.lessons.attention.masks import add_masks
from autograder.lessons.attention.product import add_product
from autograder.lessons.attention.scores import add_scores
from autograder.lessons.attention.weights import add_softmax

lesson = Lesson("03_attention")
for add in (add_softmax, add_scores, add_masks, add_product, add_head, add_answers):
    add(lesson)

__all__ = ["lesson"]
