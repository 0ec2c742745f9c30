"""A backend of matplotlib that lays figures out and saves them, and leaves out drawing on the screen.

seaborn draws every heat map once, only to see whether labels overlap. No one looks at that picture.
"""

from matplotlib.backends.backend_agg import FigureCanvasAgg


class FigureCanvas(FigureCanvasAgg):  # type: ignore[misc] # matplotlib is not typed for us
    """A canvas that stays blank until the figure is saved."""

    def draw(self) -> None:
        """Draw nothing, and count as drawn."""
        self.figure.stale = False
