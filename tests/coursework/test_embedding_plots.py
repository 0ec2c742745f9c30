"""The figures of lesson 1 show the tokens, ids and vectors they are given."""

from typing import Any

import pytest
import torch

from coursework import embedding_plots

pytestmark = pytest.mark.usefixtures("drawing")


def written(ax: Any) -> list[str]:
    """Return the texts inside the axes, in the order they were drawn."""
    return [text.get_text() for text in ax.texts]


def test_a_strip_shows_every_token_and_makes_white_space_visible() -> None:
    """Spaces, tabs and new lines become marks one can see; long texts wrap."""
    ax: Any = embedding_plots.token_strip(["a", " ", "b", ".\n", "\t"] * 9, columns=20)
    assert written(ax)[:5] == ["a", "·", "b", ".↵", "→"]
    assert len({text.get_position()[1] for text in ax.texts}) > 1
    assert len(ax.texts) == 45


def test_a_batch_shows_ids_with_their_words() -> None:
    """Each place holds its id and, below, what it stands for."""
    ax: Any = embedding_plots.batch_grid(torch.tensor([[1, 2], [2, 0]]), ["<pad>", "a", " "])
    assert written(ax) == ["1", "a", "2", "·", "2", "·", "0", "<pad>"]


def test_bars_stand_in_order_with_their_values() -> None:
    """The first name is at the top."""
    ax: Any = embedding_plots.bars(["queen", "kings"], [0.51, 0.46], title="king")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["queen", "kings"]
    assert ax.yaxis_inverted()
    assert written(ax) == ["0.51", "0.46"]


def test_fading_names_its_lines() -> None:
    """The legend says which is which."""
    ax: Any = embedding_plots.fading([0, 1], {"one": [1.0, 0.1], "two": [1.0, 0.5]}, "reaction")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_a_plane_keeps_what_differs_most() -> None:
    """Points on a line in space stay in their order and distances; signs do not flip."""
    line = torch.tensor([1.0, 2.0, 2.0]) / 3
    vectors = torch.tensor([0.0, 1.0, 5.0])[:, None] * line
    flat = embedding_plots.plane(vectors)
    assert torch.allclose(flat[:, 0], torch.tensor([-2.0, -1.0, 3.0]), atol=1e-5)
    assert torch.allclose(flat[:, 1], torch.zeros(3), atol=1e-5)


def test_a_plane_can_be_told_its_first_axis() -> None:
    """Across is the direction asked for, up the largest difference of what is left."""
    vectors = torch.tensor([[0.0, 0.0, 9.0], [1.0, 0.0, -9.0], [2.0, 0.1, 0.0]])
    flat = embedding_plots.plane(vectors, across=torch.tensor([5.0, 0.0, 0.0]))
    assert torch.allclose(flat[:, 0], torch.tensor([-1.0, 0.0, 1.0]), atol=1e-5)
    assert torch.allclose(flat[:, 1].abs(), torch.tensor([9.0, 9.0, 0.0]), atol=0.1)


def test_a_map_names_every_word_without_covering_another() -> None:
    """Words that lie on one point are written around it."""
    groups = {"one": ["cat", "dog"], "two": ["sea", "ship"]}
    vectors = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [4.0, 1.0]])
    ax: Any = embedding_plots.word_map(vectors, groups, arrows=[("cat", "ship")])
    assert set(written(ax)) == {"cat", "dog", "sea", "ship"}
    assert len({text.get_position() for text in ax.texts}) == 4
