"""Lesson 01, embeddings: the eight exercises of the contract."""

import re
from collections import Counter

from autograder.judge.exercise import Lesson
from autograder.lessons.embeddings.batches import add_batches
from autograder.lessons.embeddings.ids import add_encode
from autograder.lessons.embeddings.layer import add_layer
from autograder.lessons.embeddings.lookup import add_lookup
from autograder.lessons.embeddings.neighbours import add_nearest
from autograder.lessons.embeddings.tokens import add_tokenise
from autograder.lessons.embeddings.vocabulary import add_vocabulary

GIVEN = {"re": re, "Counter": Counter, "SPECIALS": ("<pad>", "<sos>", "<eos>", "<unk>")}

lesson = Lesson("01_embeddings", given=GIVEN)
for add in (
    add_tokenise,
    add_vocabulary,
    add_encode,
    add_batches,
    add_lookup,
    add_layer,
    add_nearest,
):
    add(lesson)
lesson.exercise("recurrence", 2, "", written=True)

__all__ = ["lesson"]
