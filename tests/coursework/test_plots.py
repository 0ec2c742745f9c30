"""The live figures say what the tensors say, and can be read from the back row."""

from typing import Any

import matplotlib as mpl
import pytest
import torch

from coursework import plots

pytestmark = pytest.mark.usefixtures("drawing")

WORDS = ["the", "cat", "sat"]


def panels(figure: Any) -> list[Any]:
    """Return the axes of a figure, whose artists matplotlib types more widely than it draws."""
    return list(figure.axes)


def written(ax: Any) -> list[str]:
    """Return the texts inside the axes, in the order they were drawn."""
    return [text.get_text() for text in ax.texts]


def test_style_is_legible_from_the_back_row() -> None:
    """No text of a figure is smaller than 12 points."""
    ax: Any = plots.heatmap(torch.rand(3, 3), WORDS, WORDS, title="weights")
    ax.figure.canvas.draw()
    texts = [*ax.texts, ax.title, *ax.get_xticklabels(), *ax.get_yticklabels()]
    assert min(text.get_size() for text in texts) >= 12


def test_heatmap_puts_queries_down_and_keys_across() -> None:
    """Rows carry the first labels, columns the second, and each cell its own number."""
    ax: Any = plots.heatmap(torch.tensor([[0.1, 0.2, 0.7]]), ["its"], WORDS)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["its"]
    assert [label.get_text() for label in ax.get_xticklabels()] == WORDS
    assert written(ax) == ["0.10", "0.20", "0.70"]


def test_heatmap_names_what_is_not_a_number() -> None:
    """NaN and −∞ are written as such, with a true minus sign."""
    ax: Any = plots.heatmap(
        torch.tensor([[torch.nan, -torch.inf, -1.0]]), ["q"], WORDS, limits=(-1, 1)
    )
    assert written(ax) == ["NaN", "−∞", "−1.00"]


def test_heatmap_draws_tensors_that_need_gradients() -> None:
    """Weights straight out of a layer can be drawn, and are left as they were."""
    weights = torch.rand(2, 3, requires_grad=True)
    plots.heatmap(weights, ["a", "b"], WORDS)
    assert weights.requires_grad


def test_heatmaps_share_one_colour_scale() -> None:
    """Equal colours mean equal weights in all panels."""
    pair = {"small": torch.full((1, 3), 0.1), "large": torch.full((1, 3), 0.9)}
    figure: Any = plots.heatmaps(pair, ["q"], WORDS)
    assert [ax.images[0].get_clim() for ax in figure.axes] == [(0.0, 1.0), (0.0, 1.0)]
    assert [ax.get_title() for ax in figure.axes] == ["small", "large"]


def test_relabel_names_the_panel_anew() -> None:
    """A panel takes new labels after it was drawn."""
    figure: Any = plots.heatmaps({"one": torch.rand(3, 3)}, WORDS, WORDS)
    plots.relabel(figure.axes[0], WORDS[::-1], WORDS[::-1])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == WORDS[::-1]


def test_masks_cross_out_what_is_false() -> None:
    """There is one cross for each False, in its place."""
    mask = torch.tensor([[True, False, False], [True, True, False]])
    (ax,) = panels(plots.masks({"causal": mask}, ["a", "b"], WORDS))
    assert [text.get_position() for text in ax.texts] == [(1, 0), (2, 0), (2, 1)]
    assert ax.images[0].get_array().tolist() == mask.int().tolist()


def test_bars_write_minus_infinity_instead_of_drawing_it() -> None:
    """A masked score has no bar and reads −∞."""
    (ax,) = panels(plots.bars({"masked": torch.tensor([1.5, -torch.inf, 0.5])}, WORDS))
    assert [bar.get_height() for bar in ax.patches] == [1.5, 0.0, 0.5]
    assert written(ax) == ["1.50", "−∞", "0.50"]


def test_bars_mark_and_share_a_scale() -> None:
    """Marked bars have the colour of what is wrong, and `top` holds for every panel."""
    series = {name: torch.rand(3) for name in ("one", "two", "three")}
    figure: Any = plots.bars(series, WORDS, marked=["sat"], top=2.0)
    assert [ax.get_title() for ax in figure.axes] == list(series)
    assert {ax.get_ylim() for ax in figure.axes} == {(0.0, 2.0)}
    colours = [mpl.colors.to_hex(bar.get_facecolor()) for bar in figure.axes[0].patches]
    assert colours == [c.lower() for c in (plots.QUERY, plots.QUERY, plots.WRONG)]


def test_distributions_stand_in_a_grid() -> None:
    """One row of panels per name, one column per setting, all from 0 to 1."""
    grid = {"raw": [torch.rand(4)] * 3, "scaled": [torch.rand(4)] * 3}
    figure: Any = plots.distributions(grid, ["4", "32", "512"])
    assert [ax.get_title() for ax in figure.axes] == ["4", "32", "512", "", "", ""]
    assert [ax.get_ylabel() for ax in figure.axes] == ["raw", "", "", "scaled", "", ""]
    assert {ax.get_ylim() for ax in figure.axes} == {(0.0, 1.05)}


def test_mixture_marks_the_weighted_mean() -> None:
    """The star stands at weights @ values."""
    values, weights = torch.tensor([[0.0, 0.0], [4.0, 2.0]]), torch.tensor([0.25, 0.75])
    ax: Any = plots.mixture(values, weights, ["a", "b"])
    assert ax.collections[-1].get_offsets().tolist() == [[3.0, 1.5]]
    assert written(ax) == ["a 0.25", "b 0.75"]


def test_curves_start_at_zero_and_name_every_line() -> None:
    """A curve of slopes does not exaggerate, and its ticks are the widths themselves."""
    ax: Any = plots.curves(
        (1, 4), {"with": [0.1, 0.2], "without": [0.1, 0.0]}, labels=("d_k", "y"), base=2
    )
    assert ax.get_ylim()[0] == 0.0
    assert ax.get_ylim()[1] > 0.205  # the marker of the highest point is whole
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["with", "without"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "4"]
