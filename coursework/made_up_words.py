"""A small made-up table of word vectors, for rooms without the real one.

Each word is a point on a few axes that have names; nothing here was learnt from text. Directions
mean something because they were put there by hand, which is the difference from a trained table.
"""

from typing import Final

import torch
from torch import Tensor

AXES: Final = ("person", "female", "male", "royal", "young", "family", "animal", "feline", "canine",
               "food", "fruit", "drink", "day", "weekend", "country", "capital", "france", "italy",
               "germany", "japan", "china", "motion", "walking", "swimming", "past", "music")  # fmt: skip
OWN_AXES: Final = 12  # what sets a word apart from all others
OWN_SIZE: Final = 0.1

WORDS: Final[dict[str, str]] = {
    "man": "person male", "woman": "person female", "boy": "person male young",
    "girl": "person female young", "king": "person male royal royal",
    "queen": "person female royal royal", "prince": "person male royal royal young",
    "princess": "person female royal royal young", "father": "person male family",
    "mother": "person female family", "brother": "person male young family",
    "sister": "person female young family", "uncle": "person male family family",
    "aunt": "person female family family", "cat": "animal feline", "dog": "animal canine",
    "kitten": "animal feline young", "puppy": "animal canine young", "lion": "animal feline feline",
    "wolf": "animal canine canine", "horse": "animal motion", "mouse": "animal animal",
    "bread": "food food", "cheese": "food food", "butter": "food food", "soup": "food drink",
    "apple": "food fruit", "pear": "food fruit", "lemon": "food fruit", "milk": "food drink drink",
    "tea": "drink drink", "coffee": "drink drink", "monday": "day day", "tuesday": "day day",
    "friday": "day day", "saturday": "day day weekend", "sunday": "day day weekend",
    "france": "country france", "italy": "country italy", "germany": "country germany",
    "japan": "country japan", "china": "country china", "paris": "capital france",
    "rome": "capital italy", "berlin": "capital germany", "tokyo": "capital japan",
    "beijing": "capital china", "walk": "motion walking", "walked": "motion walking past",
    "swim": "motion swimming", "swam": "motion swimming past", "run": "motion motion",
    "ran": "motion motion past", "violin": "music music", "piano": "music music",
    "song": "music",
}  # fmt: skip


def made_up_words() -> tuple[tuple[str, ...], Tensor]:
    """Return the words and their vectors (V, D); the same at every call.

    A word's axes are those it is listed with, twice where it lies twice as far along one. A little
    of its own on the last axes keeps words of one kind apart.
    """
    vectors = torch.zeros(len(WORDS), len(AXES) + OWN_AXES)  # (V, D)
    for row, features in enumerate(WORDS.values()):
        for feature in features.split():
            vectors[row, AXES.index(feature)] += 1.0
    generator = torch.Generator().manual_seed(1)
    vectors[:, len(AXES) :] = OWN_SIZE * torch.randn(len(WORDS), OWN_AXES, generator=generator)
    return tuple(WORDS), vectors
