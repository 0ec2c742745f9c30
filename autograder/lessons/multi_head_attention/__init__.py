"""Lesson 04, multi-head attention: the six exercises of the contract."""

from autograder.judge.exercise import Lesson
from autograder.lessons.multi_head_attention.answers import add_answers
from autograder.lessons.multi_head_attention.count import add_count
from autograder.lessons.multi_head_attention.heads import add_heads
from autograder.lessons.multi_head_attention.layer import add_layer
from autograder.lessons.multi_head_attention.loading import add_loading
from coursework import stand_ins

lesson = Lesson(
    "04_multi_head_attention",
    given={"scaled_dot_product_attention": stand_ins.scaled_dot_product_attention},
)
for add in (add_heads, add_layer, add_loading, add_count, add_answers):
    add(lesson)

__all__ = ["lesson"]
