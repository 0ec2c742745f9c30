"""A result of another form is compared as if the form had been right."""

from typing import Any

import pytest
import torch

from autograder.judge.forms import fix_form
from coursework.engine.compare import difference

MASK = torch.ones(4, 4, dtype=torch.bool).tril()
NUMBERS = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("got", "want", "title"),
    [
        (MASK.float(), MASK, "The result holds numbers, not True and False"),
        (torch.zeros(4, 4).masked_fill(~MASK, -torch.inf), MASK, "The result holds 0 and −∞, not True and False"),
        (NUMBERS.double(), NUMBERS, "The result is float64; float32 was expected"),
        (NUMBERS.tolist(), NUMBERS, "The result is a list; a tensor was expected"),
        ((NUMBERS, MASK), NUMBERS, "The result is a tuple; a tensor was expected"),
        (NUMBERS[None], NUMBERS, "The result has one dimension too many, at the beginning"),
        (NUMBERS.mT, NUMBERS, "The result has dimensions 1 and 2 swapped"),
        (MASK[:, None].expand(4, 4, 4), MASK[:, None], "The result has the wrong size in dimension 1: it has the size of dimension 0"),
    ],
)
def test_a_wrong_form_is_put_right(got: Any, want: Any, title: str) -> None:
    """Dtype, type and shape are told, and what is left has the right numbers."""
    done = fix_form(got, want)
    assert done is not None
    assert done.title == title
    assert difference(done.value, want) is None


@pytest.mark.parametrize("got", [NUMBERS + 1, NUMBERS[0], "text", None, object()])
def test_what_has_no_other_form_is_left(got: Any) -> None:
    """Wrong numbers, other sizes and other things are no matter of form."""
    assert fix_form(got, NUMBERS) is None


def test_the_same_thing_is_put_right_in_every_entry() -> None:
    """A pair whose entries share a wrong form becomes a pair of the right form, at once."""
    done = fix_form((NUMBERS.double(), NUMBERS.double()), (NUMBERS, NUMBERS))
    assert done is not None
    assert difference(done.value, (NUMBERS, NUMBERS)) is None
