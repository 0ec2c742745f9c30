"""Adds and subtracts word vectors as a line of text says: "king - man + woman"."""

import re
from typing import Final

import torch
from torch import Tensor

from coursework.pretrained import WordTable

PARTS: Final = re.compile(r"[+−-]|[^\s+−-]+")
SIGNS: Final = {"+": 1, "-": -1, "−": -1}


def combine(table: WordTable, query: str) -> tuple[Tensor, list[str]]:
    """Return the sum (D,) that a query describes, and the words in it, in order.

    Raises KeyError, with a sentence for the reader, for a word without a vector or no word at all.
    """
    total, words, sign = torch.zeros_like(table.vectors[0]), [], 1
    for part in PARTS.findall(query.lower()):
        if part in SIGNS:
            sign = SIGNS[part]
        else:
            total, sign = total + sign * table[part], 1
            words.append(part)
    if not words:
        raise KeyError("write a word, or several with + and - between them")
    return total, words
