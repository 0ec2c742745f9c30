"""Reads a heat map off the page: which number is where, and what is written beside it.

Everything is looked up where it is drawn, in pixels. So it makes no difference which function drew
the cells, which way the axes run, or how the labels were set. Matplotlib is imported late, because
most lessons do without it.
"""

from typing import Any, Final

import torch


class HeatMapError(Exception):
    """There is no heat map to read.

    Attributes:
        fault: one of the keys of FAULTS.
        detail: the type of what came instead.
    """

    def __init__(self, fault: str, detail: str = "") -> None:
        super().__init__(FAULTS[fault].format(kind=detail))
        self.fault, self.detail = fault, detail


FAULTS: Final = {
    "axes": "The Axes that were drawn on should be returned, not {kind}.",
    "heat map": "There is no heat map on the Axes that were returned. sns.heatmap(…, ax=ax) draws one.",
    "grid": "The cells of the heat map should lie in rows and columns.",
}
EDGE = 0.6  # pixels: a tick that is nearer to the edge of a cell stands on it
Span = tuple[float, float]  # of a row or a column, in pixels


def read_heat_map(ax: Any) -> dict[str, Any]:
    """Return `cells` (R, C), labels `rows` and `columns`, and the `scale` of colours of an Axes.

    Rows are numbered from the top, columns from the left. A cell that is left blank is NaN, a label
    that is missing is "". `on edges` says whether a label stands between two cells. Raises
    HeatMapError if it is no Axes, or if there is no heat map on it.
    """
    from numpy import ma

    picture = _picture(ax)
    table = ma.asarray(picture.get_array()).astype("float64")
    values = torch.as_tensor(ma.filled(table, float("nan"))).float()
    boxes = _boxes(picture, *values.shape)
    columns = sorted({across for across, _ in boxes})
    rows = sorted({down for _, down in boxes}, reverse=True)
    numbers = dict(zip(boxes, values.flatten().tolist(), strict=True))
    if len(numbers) != len(rows) * len(columns):
        raise HeatMapError("grid")
    down, across = _written(ax, ax.yaxis), _written(ax, ax.xaxis)
    return {
        "cells": torch.tensor([[numbers[column, row] for column in columns] for row in rows]),
        "rows": _labels(down, rows),
        "columns": _labels(across, columns),
        "on edges": any(
            abs(place - edge) <= EDGE
            for written, spans in ((down, rows), (across, columns))
            for place, _ in written
            for span in spans
            for edge in span
        ),
        "scale": [round(float(end), 4) for end in picture.get_clim()],
    }


def _picture(ax: Any) -> Any:
    """Return the mesh or image on an Axes that was drawn last."""
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyQuadMesh, QuadMesh

    if not isinstance(ax, Axes):
        raise HeatMapError("axes", "None" if ax is None else type(ax).__name__)
    meshes = [part for part in ax.collections if isinstance(part, (QuadMesh, PolyQuadMesh))]
    pictures = [part for part in (*ax.images, *meshes) if part.get_visible()]
    tables = [(part, part.get_array()) for part in pictures]
    # One number for each cell, and not a colour.
    found = [part for part, array in tables if array is not None and array.ndim == 2]
    if not found:
        raise HeatMapError("heat map")
    return found[-1]


def _boxes(picture: Any, rows: int, columns: int) -> list[tuple[Span, Span]]:
    """Return where each cell is, row by row: from left to right, and from bottom to top."""
    picture.axes.get_xlim(), picture.axes.get_ylim()  # brings the limits up to date
    corners = _corners(picture, rows, columns)
    pixels = picture.get_transform().transform(corners.reshape(-1, 2))
    grid = torch.as_tensor(pixels).reshape(rows + 1, columns + 1, 2)
    four = torch.stack([grid[:-1, :-1], grid[1:, :-1], grid[:-1, 1:], grid[1:, 1:]])
    ends = torch.stack([four.amin(0), four.amax(0)], dim=-1).flatten(0, 1)  # (R · C, 2, 2)
    spans = [[tuple(round(end, 1) for end in span) for span in box] for box in ends.tolist()]
    return [(across, down) for across, down in spans]


def _corners(picture: Any, rows: int, columns: int) -> torch.Tensor:
    """Return the corners of the cells (R + 1, C + 1, 2), in the coordinates of the data."""
    from matplotlib.image import AxesImage

    if not isinstance(picture, AxesImage):
        return torch.as_tensor(picture._coordinates)  # those of a PolyQuadMesh have no getter
    left, right, bottom, top = picture.get_extent()
    first, last = (top, bottom) if picture.origin == "upper" else (bottom, top)
    down = torch.linspace(first, last, rows + 1, dtype=torch.float64)
    across = torch.linspace(left, right, columns + 1, dtype=torch.float64)
    return torch.stack(torch.meshgrid(across, down, indexing="xy"), dim=-1)


def _written(ax: Any, axis: Any) -> list[tuple[float, str]]:
    """Return what is written along an axis, and where, in pixels."""
    axis.get_ticklabels(which="both")  # sets the labels of the ticks, as drawing does
    shown = ax.axison and axis.get_visible()
    found = []
    for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()] if shown else ():
        labels = [label.get_text() for label in (tick.label1, tick.label2) if label.get_visible()]
        place = float(ax.transData.transform([tick.get_loc()] * 2)[int(axis is ax.yaxis)])
        found += [(place, text) for text in labels if text][:1]
    return found


def _labels(written: list[tuple[float, str]], spans: list[Span]) -> list[str]:
    """Return what is written beside each row or column, "" where nothing is."""
    found = [""] * len(spans)
    for place, text in written:
        for number, (low, high) in enumerate(spans):
            if low + EDGE < place < high - EDGE:
                found[number] = found[number] or text
    return found
