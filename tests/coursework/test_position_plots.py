"""The figures of lesson 2 draw what the encodings say, and measure it without knowing the formula."""

from typing import Any

import pytest
import torch

from coursework import position_plots

pytestmark = pytest.mark.usefixtures("drawing")


def encoding(size: int, width: int, base: float = 10000.0) -> torch.Tensor:
    """Return sines and cosines of geometric speeds, interleaved (size, width)."""
    speed = base ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.outer(torch.arange(size, dtype=torch.float64), speed)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()


def test_tables_share_one_scale_and_whole_numbered_ticks() -> None:
    """Equal colours mean equal values, and no tick stands between two positions."""
    figure: Any = position_plots.tables({"one": torch.rand(9, 4), "two": -torch.rand(9, 4)})
    first, second, *_ = figure.axes
    assert [ax.images[0].get_clim() for ax in (first, second)] == [(-1.0, 1.0)] * 2
    assert [ax.get_title() for ax in (first, second)] == ["one", "two"]
    assert all(tick == int(tick) for ax in (first, second) for tick in ax.get_yticks())


def test_waves_are_the_columns_of_their_pair() -> None:
    """The panel of pair 1 holds columns 2 and 3."""
    table = encoding(20, 8)
    figure: Any = position_plots.waves(table, pairs=[1, 3])
    sine, cosine = figure.axes[0].lines
    assert sine.get_ydata() == pytest.approx(table[:, 2].tolist())
    assert cosine.get_ydata() == pytest.approx(table[:, 3].tolist())
    assert [ax.get_ylabel() for ax in figure.axes] == ["pair 1", "pair 3"]


def test_hands_point_to_sine_and_cosine() -> None:
    """Position 0 points up, and the hand turns clockwise."""
    table = encoding(2, 8)
    figure: Any = position_plots.dials(table[0], table[1], range(2), ("before", "after"))
    before, after = figure.axes[0].lines
    assert (before.get_xdata()[1], before.get_ydata()[1]) == pytest.approx((0.0, 1.0))
    assert (after.get_xdata()[1], after.get_ydata()[1]) == pytest.approx(
        tuple(table[1, :2].tolist())
    )


def test_speeds_are_measured_in_the_table() -> None:
    """With d_model 8 the four pairs turn by 1, 0.1, 0.01 and 0.001."""
    assert position_plots.turned_per_position(encoding(2, 8)).tolist() == pytest.approx(
        [1, 0.1, 0.01, 0.001]
    )


@pytest.mark.parametrize("base", [10.0, 10000.0, 1e8])
def test_another_base_is_what_the_formula_gives(base: float) -> None:
    """Changing measured speeds equals computing the encoding with that base."""
    changed = position_plots.with_base(encoding(50, 16), base)
    torch.testing.assert_close(changed, encoding(50, 16, base), atol=1e-4, rtol=0)


def test_still_columns_are_counted() -> None:
    """A constant column is still, a wave is not; the doubled exponent has many more of them."""
    assert position_plots.still_columns(torch.tensor([[0.0, 1.0], [0.5, 1.0]])) == 1
    counts = [position_plots.still_columns(encoding(100, 512, base)) for base in (1e4, 1e8)]
    assert counts[1] > 3 * counts[0]
