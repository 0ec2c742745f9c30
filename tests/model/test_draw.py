"""What is drawn depends on the key and on what it is for, and on nothing else."""

import torch

from autograder.model.draw import Draw


def test_the_same_key_and_labels_draw_the_same() -> None:
    """Whatever else was drawn in the process before."""
    first = Draw(b"key", "lesson", "exercise", "check")
    torch.manual_seed(1)
    Draw(b"key", "other").normal(5)
    second = Draw(b"key", "lesson", "exercise", "check")
    assert torch.equal(first.normal(4, 3), second.normal(4, 3))
    assert first.seed == second.seed


def test_each_key_and_each_label_draws_something_else() -> None:
    """Lesson, exercise, check and attempt each make a difference."""
    labels = [("a", "b", "c"), ("b", "a", "c"), ("a", "b"), ("a", "b", "c", "1"), ("ab", "c")]
    draws = [Draw(key, *each) for key in (b"key", b"other") for each in labels]
    assert len({tuple(draw.normal(3).tolist()) for draw in draws}) == len(draws)


def test_the_seed_of_the_process_does_not_give_the_inputs_away() -> None:
    """The student's process knows its random state, and draws other numbers from it."""
    draw = Draw(b"key", "a")
    mine = torch.randn(3, generator=torch.Generator().manual_seed(draw.seed))
    assert not torch.allclose(mine, draw.normal(3))
