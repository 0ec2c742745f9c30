"""Live figures that write a computation out in matrices, with every number in its cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from coursework.plots import MUTED

CELL_WIDTH, CELL_HEIGHT = 0.62, 0.38  # inches
GAP: Final = 0.25
WIDEST: Final = 9.4  # inches of a line: as many pixels, at 100 an inch, as a page shows without shrinking it
TYPE: Final = 15  # points, as in all live figures
LETTER: Final = 0.125  # inches that a letter of a row's label takes
TURNED: Final = 0.075  # inches of height that a letter of a column's label takes, which is turned
TOP, BOTTOM = 0.4, 0.1  # room for the name of a matrix, and below its last row


@dataclass(frozen=True)
class Matrix:
    """A matrix (R, C) to draw: its name, its numbers, and a label for each row and column.

    Empty labels are left out; `colour` tints the cells.
    """

    name: str
    values: Tensor
    rows: Sequence[str]
    columns: Sequence[str]
    colour: str = MUTED

    @property
    def left(self) -> float:
        """Inches that the row labels take."""
        return LETTER * max(map(len, self.rows)) + (0.1 if any(self.rows) else 0.0)

    @property
    def width(self) -> float:
        """Inches from the row labels to the last column."""
        return self.left + CELL_WIDTH * self.values.size(1)

    @property
    def above(self) -> float:
        """Inches from the first row to the name, which the column labels take."""
        letters = max(len(label.strip("$")) for label in self.columns)
        return 0.22 + TURNED * letters if letters else 0.18


def equation(*parts: Matrix | str) -> Figure:
    """Draw matrices and the signs between them (such as "×"), all cells of one size.

    What is wider than a page goes on in another line, so that no page has to shrink the type.
    """
    lines = _lines(parts)
    heights = [_over(line) + _under(line) for line in lines]
    width, height = max(map(_width, lines)), sum(heights)
    figure: Figure = plt.figure(figsize=(width, height), layout="none")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0, width), ylim=(0, height))  # coordinates are inches from the lower left corner
    ax.set_axis_off()
    for line, high in zip(lines, heights, strict=True):
        height -= high
        _draw_line(ax, line, height + _under(line))
    return figure


def _lines(parts: Sequence[Matrix | str]) -> list[list[Matrix | str]]:
    """Divide an equation into lines of at most WIDEST inches; a sign stays with what follows it."""
    lines: list[list[Matrix | str]] = [[]]
    held: list[Matrix | str] = []
    for part in parts:
        held.append(part)
        if isinstance(part, Matrix):
            if lines[-1] and _width([*lines[-1], *held]) > WIDEST:
                lines.append([])
            lines[-1] += held
            held = []
    lines[-1] += held
    return lines


def _wide(part: Matrix | str) -> float:
    return part.width if isinstance(part, Matrix) else 0.14 * len(part)


def _width(line: Sequence[Matrix | str]) -> float:
    return sum(map(_wide, line)) + GAP * (len(line) + 1)


def _over(line: Sequence[Matrix | str]) -> float:
    """Return the inches that a line takes over its middle."""
    return TOP + max(_half(part) + part.above for part in line if isinstance(part, Matrix))


def _under(line: Sequence[Matrix | str]) -> float:
    """Return the inches that a line takes under its middle."""
    return BOTTOM + max(_half(part) for part in line if isinstance(part, Matrix))


def _half(matrix: Matrix) -> float:
    return CELL_HEIGHT * matrix.values.size(0) / 2


def _draw_line(ax: Axes, line: Sequence[Matrix | str], middle: float) -> None:
    """Draw matrices and signs in a row, around a height."""
    x = GAP
    for part in line:
        if isinstance(part, Matrix):
            _draw(ax, part, x + part.left, middle + _half(part))
        else:
            ax.text(x + _wide(part) / 2, middle, part, ha="center", va="center", size=17)
        x += _wide(part) + GAP


def _draw(ax: Axes, matrix: Matrix, left: float, top: float) -> None:
    """Draw a matrix from its upper left corner."""
    rows, columns = matrix.values.shape
    for row in range(rows):
        for column in range(columns):
            number = float(matrix.values[row, column])
            x, y = left + column * CELL_WIDTH, top - (row + 1) * CELL_HEIGHT
            shape = Rectangle((x, y), CELL_WIDTH, CELL_HEIGHT, fc=matrix.colour, ec="white", lw=2)
            shape.set_alpha(0.3 if number else 0.1)  # pale where it is 0
            ax.add_patch(shape)
            text = (f"{number:g}" if number == round(number, 1) else f"{number:.2f}").replace("-", "−")
            x, y, colour = x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2, "black" if number else MUTED
            ax.text(x, y, text, ha="center", va="center", size=TYPE, color=colour)
    for row, label in enumerate(matrix.rows):
        y = top - (row + 0.5) * CELL_HEIGHT
        ax.text(left - 0.08, y, label, ha="right", va="center", size=TYPE)
    for column, label in enumerate(matrix.columns):
        x = left + (column + 0.35) * CELL_WIDTH
        ax.text(x, top + 0.06, label, rotation=35, ha="left", va="bottom", size=TYPE)
    middle = left + columns * CELL_WIDTH / 2
    ax.text(middle, top + matrix.above, matrix.name, ha="center", va="bottom", size=TYPE + 1, weight="bold")
