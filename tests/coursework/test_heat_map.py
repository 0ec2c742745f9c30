"""A heat map is read as a reader sees it, whichever functions drew it and labelled it."""

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
import seaborn as sns
import torch
from matplotlib import pyplot as plt
from matplotlib import ticker

from coursework.heat_map import HeatMapError, read_heat_map

W = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.0, 0.5]])
ROWS, COLUMNS = ["a", "b", "c"], ["p", "q", "r", "s"]
N, M = 3, 4
IMAGE_TICKS = "ax.set_xticks(range(M), COLUMNS); ax.set_yticks(range(N), ROWS)"
MESH_TICKS = "ax.set_xticks(MIDDLES[:M], COLUMNS); ax.set_yticks(MIDDLES[:N], ROWS)"
NAMES = {
    "W": W, "M": M, "N": N, "ROWS": ROWS, "COLUMNS": COLUMNS, "MIDDLES": [0.5, 1.5, 2.5, 3.5],
    "np": np, "plt": plt, "sns": sns, "ticker": ticker,
}  # fmt: skip

RIGHT = {
    "image": f"ax.imshow(W, vmin=0, vmax=1); {IMAGE_TICKS}",
    "image of lists": f"ax.imshow(W.tolist(), clim=(0, 1), aspect='auto'); {IMAGE_TICKS}",
    "matshow": f"ax.matshow(W, norm=plt.Normalize(0, 1)); {IMAGE_TICKS}",
    "origin below": "ax.imshow(W[::-1], origin='lower', vmin=0, vmax=1); ax.set_xticks(range(M), COLUMNS); ax.set_yticks(range(N), ROWS[::-1])",
    "origin below, inverted": f"ax.imshow(W, origin='lower', vmin=0, vmax=1); ax.invert_yaxis(); {IMAGE_TICKS}",
    "extent": f"ax.imshow(W, vmin=0, vmax=1, extent=(0, M, N, 0)); {MESH_TICKS}",
    "extent upwards": "ax.imshow(W, vmin=0, vmax=1, extent=(0, M, 0, N)); ax.set_xticks(MIDDLES[:M], COLUMNS); ax.set_yticks(MIDDLES[:N][::-1], ROWS)",
    "columns reversed twice": "ax.imshow(W[:, ::-1], vmin=0, vmax=1); ax.invert_xaxis(); ax.set_xticks(range(M), COLUMNS[::-1]); ax.set_yticks(range(N), ROWS)",
    "mesh": "ax.pcolormesh(W[::-1], vmin=0, vmax=1, edgecolors='w'); ax.set_xticks(MIDDLES[:M], COLUMNS); ax.set_yticks(MIDDLES[:N], ROWS[::-1])",
    "mesh on the right": f"ax.pcolormesh(W, vmin=0, vmax=1); ax.invert_yaxis(); ax.yaxis.tick_right(); ax.xaxis.tick_top(); {MESH_TICKS}",
    "mesh around its places": f"ax.pcolormesh(range(M), range(N), W, vmin=0, vmax=1, shading='nearest'); ax.invert_yaxis(); {IMAGE_TICKS}",
    "mesh transposed back": f"Y, X = np.meshgrid(range(N + 1), range(M + 1)); ax.pcolormesh(X, Y, W.T, vmin=0, vmax=1); ax.invert_yaxis(); {MESH_TICKS}",
    "polygons": f"ax.pcolor(W, vmin=0, vmax=1); ax.set_ylim(N, 0); {MESH_TICKS}",
    "fast mesh": f"ax.pcolorfast(W, vmin=0, vmax=1); ax.set_ylim(N, 0); {MESH_TICKS}",
    "fixed formatter": "ax.imshow(W, vmin=0, vmax=1); [(a.set_major_locator(ticker.FixedLocator(range(len(t)))), a.set_major_formatter(ticker.FixedFormatter(t))) for a, t in ((ax.xaxis, COLUMNS), (ax.yaxis, ROWS))]",
    "formatter by function": "ax.imshow(W, vmin=0, vmax=1); [(a.set_major_locator(ticker.MultipleLocator(1)), a.set_major_formatter(lambda x, _, t=t: t[round(x)] if 0 <= x < len(t) else '')) for a, t in ((ax.xaxis, COLUMNS), (ax.yaxis, ROWS))]",
    "minor ticks": "ax.imshow(W, vmin=0, vmax=1); ax.set_xticks([]); ax.set_xticks(range(M), COLUMNS, minor=True); ax.set_yticks(range(N), ROWS)",
    "pyplot": "plt.imshow(W); plt.clim(0, 1); plt.xticks(range(M), COLUMNS, rotation=45); plt.yticks(range(N), ROWS); plt.colorbar(); plt.tight_layout()",
    "properties": "ax.imshow(W); ax.images[0].set_clim(0, 1); plt.setp(ax, xticks=range(M), yticks=range(N), xticklabels=COLUMNS, yticklabels=ROWS)",
    "seaborn": "sns.heatmap(W, vmin=0, vmax=1, ax=ax, annot=True, linewidths=1, xticklabels=COLUMNS, yticklabels=ROWS)",
    "labels set later": "sns.heatmap(W, vmin=0, vmax=1, ax=ax, xticklabels=False, yticklabels=False); ax.set(xticks=MIDDLES[:M], yticks=MIDDLES[:N]); ax.set(xticklabels=COLUMNS, yticklabels=ROWS)",
    "figure closed": f"ax.imshow(W, vmin=0, vmax=1); {IMAGE_TICKS}; plt.close(ax.figure)",
}  # fmt: skip
PLACES = {
    "subplots": lambda: plt.subplots()[1],
    "mosaic": lambda: plt.subplot_mosaic("AB")[1]["B"],
    "by hand": lambda: plt.figure().add_axes((0.2, 0.1, 0.5, 0.8)),
    "grid": lambda: plt.figure(layout="constrained").add_gridspec(2, 2).subplots()[1, 0],
    "subfigure": lambda: plt.figure().subfigures(1, 2)[0].subplots(),
    "no pyplot": lambda: mpl.figure.Figure().subplots(),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    plt.switch_backend("module://autograder.probe.still_canvas")
    yield
    plt.close("all")


def drawn(code: str, ax: object) -> object:
    """Run a line of code that draws on `ax`, which is the current Axes too, and return `ax`."""
    if "plt." in code:
        plt.sca(ax)
    exec(code, {**NAMES, "ax": ax})
    return ax


@pytest.mark.parametrize("how", RIGHT)
def test_what_is_drawn_is_read(how: str) -> None:
    """The same picture, drawn in many ways, gives the same reading."""
    found = read_heat_map(drawn(RIGHT[how], PLACES["subplots"]()))
    torch.testing.assert_close(found["cells"], torch.tensor(W, dtype=torch.float32))
    assert (found["rows"], found["columns"], found["scale"]) == (ROWS, COLUMNS, [0.0, 1.0])


@pytest.mark.parametrize("where", PLACES)
def test_it_may_be_drawn_anywhere(where: str) -> None:
    """However the Axes were made."""
    found = read_heat_map(drawn(RIGHT["image"], PLACES[where]()))
    assert (found["rows"], found["columns"], found["scale"]) == (ROWS, COLUMNS, [0.0, 1.0])


def test_a_picture_that_is_upside_down_is_read_so() -> None:
    """A mesh grows upwards: without inverting an axis, its first row is at the bottom."""
    found = read_heat_map(drawn(f"ax.pcolormesh(W); {MESH_TICKS}", PLACES["subplots"]()))
    assert found["rows"] == ROWS[::-1]
    assert found["cells"][0].tolist() == pytest.approx(W[-1].tolist())


@pytest.mark.parametrize(
    "hidden",
    [
        "ax.axis('off')",
        "ax.yaxis.set_visible(False)",
        "ax.tick_params(labelleft=False)",
        "ax.set_yticks([])",
        "ax.set_yticks([place - 3 for place in range(N)], ROWS)",
    ],
)
def test_labels_that_no_reader_sees_are_missing(hidden: str) -> None:
    """Hidden ones, and those that stand elsewhere."""
    found = read_heat_map(drawn(f"{RIGHT['image']}; {hidden}", PLACES["subplots"]()))
    assert found["rows"] == ["", "", ""]


def test_labels_between_two_cells_belong_to_neither() -> None:
    """The ticks of an image are at whole numbers, where a mesh has the edges of its cells."""
    found = read_heat_map(drawn(f"sns.heatmap(W, ax=ax); {IMAGE_TICKS}", PLACES["subplots"]()))
    assert (found["rows"], found["columns"]) == ([""] * N, [""] * M)
    assert found["on edges"]
    assert not read_heat_map(drawn(RIGHT["image"], PLACES["subplots"]()))["on edges"]


@pytest.mark.parametrize("code", ["pass", "ax.imshow(plt.cm.viridis(W))", "ax.plot(W)"])
def test_where_there_are_no_numbers_there_is_no_heat_map(code: str) -> None:
    """Nothing drawn, colours in place of numbers, and lines."""
    with pytest.raises(HeatMapError, match="heat map"):
        read_heat_map(drawn(code, PLACES["subplots"]()))


def test_a_figure_is_not_axes() -> None:
    """What is drawn on is wanted, and not what it is in."""
    with pytest.raises(HeatMapError, match="Axes"):
        read_heat_map(plt.figure())
