"""Wrong numbers are put into words by how they relate to the right ones."""

import pytest
import torch

from autograder.judge.judges import matches_reference
from coursework.engine.describe import Comparison, pattern
from coursework.engine.observation import Observation
from coursework.engine.operations import CallFunction

torch.manual_seed(0)
RIGHT = torch.randn(3, 4, 4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (-RIGHT, "wrong sign"),
        (RIGHT * 4, "4 times"),
        (RIGHT + 2, "same amount"),
        (RIGHT.mT.contiguous(), "Dimensions 1 and 2"),
        (RIGHT.flatten().flip(0).reshape(3, 4, 4), "wrong places"),
        (torch.zeros(3, 4, 4), "the input makes no difference"),
        (torch.cat([RIGHT[:2], torch.randn(1, 4, 4)]), "Along dimension 0, only index 2"),
        (RIGHT[:, [2, 0, 3, 1]], "Along dimension 1, the entries are right but in the wrong order"),
        (RIGHT.flip(2), "in reverse order"),
        (RIGHT.roll(1, 1), "1 place too late, and wrap around at the end"),
        (torch.cat([torch.randn(3, 1, 4), RIGHT[:, :-1]], 1), "Along dimension 1, the entries are 1 place too late."),
        (RIGHT**2, "the square of what"),
        (1 - RIGHT, "1 minus what"),
        (RIGHT.relu(), "never negative"),
        (RIGHT.softmax(1), "through a softmax along dimension 1"),
        (RIGHT * torch.tensor([5.0, 2.0, 3.0, 4.0])[:, None], "all numbers are off by the same factor"),
        (RIGHT + torch.tensor([1.0, 2.0, 3.0, 4.0])[:, None], "all numbers are off by the same amount"),
        (torch.randn(3, 4, 4) * 0.2, "vary too little"),
        (torch.randn(3, 4, 4) * 5, "vary too much"),
    ],
)
def test_a_relation_is_recognised(wrong: torch.Tensor, said: str) -> None:
    """Sign, factor, offset, order, parts, functions, normalisations and spread are told."""
    assert said in str(pattern(wrong, RIGHT))


def test_a_term_of_the_input_is_found() -> None:
    """A result that lacks the input, or holds it once too often, is told so."""
    given = torch.randn(3, 4, 4)
    assert "added once too often" in str(pattern(RIGHT + given, RIGHT, [given]))
    assert "Is the input added?" in str(pattern(RIGHT - given, RIGHT, [[torch.tensor(3)], given]))


def test_the_entry_of_a_pair_is_named() -> None:
    """Of two results, the one that follows a pattern is told."""
    said = pattern((torch.randn(3, 4, 4), -RIGHT), (RIGHT, RIGHT))
    assert said == "In entry 1 of the result, every number has the wrong sign."


def test_equal_or_unrelated_values_have_no_pattern() -> None:
    """Nothing is said of equal tensors, of other shapes, or of NaN."""
    assert pattern(RIGHT, RIGHT) is None
    assert pattern(torch.randn(2, 2), RIGHT) is None
    assert pattern(RIGHT * float("nan"), RIGHT) is None
    assert pattern(RIGHT + 5e-4, RIGHT) is None


def test_a_result_of_another_type_is_told_so_though_it_holds_the_right_numbers() -> None:
    """A pair in place of a tensor is about the type; its numbers follow no pattern worth telling."""
    operation = CallFunction(())
    seen = Comparison(operation, Observation((RIGHT + 1e-6, RIGHT)), Observation(RIGHT))
    assert "is a tuple" in matches_reference()(seen).message


def test_of_a_dictionary_only_the_output_is_put_into_words() -> None:
    """What is noted about a call beside its output, such as the weights of a loaded model, is no result."""
    assert "wrong sign" in str(pattern({"output": -RIGHT, "note": 1}, {"output": RIGHT, "note": 1}))
    assert pattern({"norm1.weight": 2 * RIGHT}, {"norm1.weight": RIGHT}) is None
