"""A query of words is the sum that it describes, and a mistyped one is answered in a sentence."""

import pytest
import torch

from coursework.pretrained import WordTable, combine

TABLE = WordTable(("king", "man", "woman"), torch.tensor([[5.0, 1.0], [1.0, 0.0], [0.0, 2.0]]), False, "")


@pytest.mark.parametrize(
    ("query", "vector"),
    [
        ("king", [5, 1]), ("king - man + woman", [4, 3]), ("King−man+WOMAN", [4, 3]),
        ("- man king", [4, 1]), ("man - king", [-4, -1]),
    ],
)  # fmt: skip
def test_words_are_added_and_subtracted(query: str, vector: list[float]) -> None:
    """Signs may be hyphens or minus signs, with or without spaces; a sign holds for one word."""
    assert combine(TABLE, query)[0].tolist() == vector


def test_the_words_are_returned_in_order() -> None:
    """A caller can leave them out of the answer."""
    assert combine(TABLE, "king - man + woman")[1] == ["king", "man", "woman"]


@pytest.mark.parametrize(("query", "said"), [("king - duke", "'duke' has no vector"), (" + ", "write a word")])
def test_what_has_no_vector_is_named(query: str, said: str) -> None:
    """The message can be shown as it is."""
    with pytest.raises(KeyError, match=said):
        combine(TABLE, query)
