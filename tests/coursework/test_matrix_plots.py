"""A computation drawn in matrices shows every number, name and label."""

import torch
from matplotlib import pyplot as plt

from coursework.matrix_plots import WIDEST, Matrix, equation


def test_an_equation_shows_its_parts() -> None:
    """Signs, names and labels are written, and every number is in its cell."""
    left = Matrix("q", torch.tensor([[3.0, -1.0]]), ["its"], ["a", "b"])
    right = Matrix("z", torch.tensor([[0.256]]), [""], [""])
    figure = equation(left, "×", right)
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert sorted(t for t in shown if t) == sorted(["3", "−1", "0.26", "its", "a", "b", "q", "z", "×"])
    plt.close(figure)


def test_cells_have_one_size_and_stay_on_the_page() -> None:
    """A tall matrix and a wide one are drawn to the same scale, side by side."""
    tall = Matrix("tall", torch.ones(6, 1), ["row"] * 6, [""])
    wide = Matrix("wide", torch.ones(1, 5), [""], ["column"] * 5)
    figure = equation(tall, "=", wide)
    (ax,) = figure.axes
    boxes = [patch.get_bbox() for patch in ax.patches]
    assert len(boxes) == 11
    assert len({(round(b.width, 6), round(b.height, 6)) for b in boxes}) == 1
    right, top = ax.get_xlim()[1], ax.get_ylim()[1]
    assert all(b.x0 > 0 and b.x1 < right and b.y0 > 0 and b.y1 < top for b in boxes)
    assert max(b.x1 for b in boxes[:6]) < min(b.x0 for b in boxes[6:])
    plt.close(figure)


def test_a_long_equation_goes_on_in_another_line() -> None:
    """No figure is so wide that a page shrinks its type; a sign stands before what it leads to."""
    part = Matrix("m", torch.ones(2, 6), [""] * 2, [""] * 6)
    figure = equation(part, "×", part, "=", part, "softmax →", part)
    (ax,) = figure.axes
    assert figure.get_figwidth() <= WIDEST
    places = {text.get_text(): text.get_position() for text in ax.texts}
    assert places["="][0] < places["×"][0]
    assert places["×"][1] > places["="][1] > places["softmax →"][1]
    boxes = [patch.get_bbox() for patch in ax.patches]
    assert len({(round(b.width, 6), round(b.height, 6)) for b in boxes}) == 1
    assert all(b.y0 > 0 and b.y1 < figure.get_figheight() for b in boxes)
    plt.close(figure)


def test_a_name_stands_close_above_its_matrix() -> None:
    """The longer the labels of the columns, which are turned, the higher; it stays on the page."""
    heights = {}
    for label in ("", "cat", "possessive"):
        figure = equation(Matrix("name", torch.ones(1, 2), ["row"], [label] * 2))
        (ax,) = figure.axes
        (name,) = [text for text in ax.texts if text.get_text() == "name"]
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts if text.get_text() == label != ""]
        assert all(box.y1 < name.get_window_extent().y0 for box in boxes)
        assert name.get_window_extent().y1 < figure.bbox.height
        heights[label] = figure.get_figheight()
        plt.close(figure)
    assert heights[""] < heights["cat"] < heights["possessive"]
