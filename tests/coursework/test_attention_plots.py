"""Figures of lesson 8: every head has its panel, its title and its dot."""

from collections.abc import Iterator

import pytest
import torch
from matplotlib import pyplot as plt

from coursework import attention_plots


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close what was drawn."""
    yield
    plt.close("all")


def test_a_grid_has_a_panel_for_every_head_drawn_by_the_students_function() -> None:
    """Layers go down, heads across; each panel is drawn once, on its own Axes."""
    maps, drawn = torch.rand(2, 3, 4, 5), []
    figure = attention_plots.grid(
        maps, list("abcd"), list("vwxyz"), draw=lambda weights, *_, ax: drawn.append((weights, ax))
    )
    assert [ax.get_title() for ax in figure.axes][:4] == [
        "layer 0, head 0", "layer 0, head 1", "layer 0, head 2", "layer 1, head 0",
    ]  # fmt: skip
    assert all(torch.equal(weights, maps.flatten(0, 1)[i]) for i, (weights, _) in enumerate(drawn))
    assert len({id(ax) for _, ax in drawn}) == 6


def test_the_best_head_is_framed() -> None:
    """One frame, around the largest score."""
    ax = attention_plots.scores(torch.tensor([[0.1, 0.2, 0.9], [0.3, 0.0, 0.1]]), "scores")
    (frame,) = ax.patches
    assert (round(frame.get_x()), round(frame.get_y())) == (2, 0)


def test_two_scales_are_drawn_beside_each_other() -> None:
    """Above each map has a scale of its own; below all go from 0 to 1."""
    figure = attention_plots.scales({"sharp": torch.eye(3), "faint": torch.eye(3) * 0.1 + 0.3})
    limits = [ax.images[0].get_clim() for ax in figure.axes if ax.images]
    assert limits[0] == limits[2] == limits[3] == (0.0, 1.0)
    assert limits[1] == pytest.approx((0.3, 0.4))


def test_every_head_has_a_dot() -> None:
    """By layer, and by entropy and accuracy."""
    ax = attention_plots.by_layer(torch.rand(3, 4), "entropy", limit=2.0, name="even")
    assert [len(dots.get_offsets()) for dots in ax.collections] == [4, 4, 4]
    rows = [("encoder", 0.5, 1.0), ("decoder", 0.2, 0.9), ("cross", 1.0, 0.4), ("cross", 0.1, 1.0)]
    ax = attention_plots.ablation(rows, 1.0)
    assert [len(dots.get_offsets()) for dots in ax.collections] == [1, 1, 2]


def test_the_span_is_shaded_and_its_tokens_are_named() -> None:
    """Tokens around the span, eight on either side, are labelled."""
    tokens = [f"t{place}" for place in range(40)]
    figure = attention_plots.span(tokens, torch.rand(40), torch.rand(40), (20, 22), "logit")
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_xticklabels()] == tokens[12:31]
    assert ax.patches
