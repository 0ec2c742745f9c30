"""Lesson 08, attention visualisation: the eight exercises of the contract."""

import seaborn as sns
from matplotlib import pyplot as plt

from autograder.judge.exercise import Lesson
from autograder.lessons.attention_visualisation.best_span import add_best_span
from autograder.lessons.attention_visualisation.entropy import add_entropy
from autograder.lessons.attention_visualisation.maps import add_maps
from autograder.lessons.attention_visualisation.pair import add_pair
from autograder.lessons.attention_visualisation.picture import add_picture
from autograder.lessons.attention_visualisation.previous import add_previous
from autograder.lessons.attention_visualisation.rollout import add_rollout
from coursework.scope import NEEDS, stand_in

NAME = "08_attention_visualisation"
GIVEN = {name: stand_in(name) for name in NEEDS[NAME]}
lesson = Lesson(NAME, given={**GIVEN, "plt": plt, "sns": sns})
for add in (
    add_maps,
    add_picture,
    add_pair,
    add_previous,
    add_entropy,
    add_rollout,
    add_best_span,
):
    add(lesson)
lesson.exercise("reading-attention", 1, "", written=True)

__all__ = ["lesson"]
