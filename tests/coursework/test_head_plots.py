"""Features by head: numbers fit into narrow cells."""

import torch
from matplotlib import pyplot as plt

from coursework.head_plots import by_head


def test_whole_numbers_are_written_without_decimals() -> None:
    """Otherwise 10.00 would run into the next cell."""
    figure = by_head({"q": torch.tensor([[10.0, 0.0, 0.71, -7.07]])}, ["I"], num_heads=2, limits=(-10, 10))
    (ax,) = figure.axes
    assert [text.get_text() for text in ax.texts][:4] == ["10", "0", "0.71", "−7.07"]
    plt.close(figure)
