"""A mask to click on: a grid of buttons, and a drawing that follows it."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch
from ipywidgets import Button, GridBox, HBox, Label, Layout, Output, ToggleButton, VBox
from torch import Tensor

Show = Callable[[Tensor], None]
# In pixels, as `plots.heatmap` draws its rows and what is above them: the buttons stand beside their rows.
HEAD, ROW, GAP, WIDTH = 94, 55, 2, 44
LEAST = 300  # pixels in which the drawing can still be read
ALLOWED, BLOCKED = "✓", "×"


class MaskControl:
    """Buttons for each cell of a square mask; `show` is called with the mask when one is clicked."""

    def __init__(self, labels: Sequence[str], start: Tensor, show: Show) -> None:
        """Take a label for each position, and the mask (S, S) to start with."""
        self._labels, self._show = labels, show
        self._output, self._held = Output(), False
        self.cells = [[_toggle(on=on) for on in row] for row in start.bool().tolist()]
        for button in chain.from_iterable(self.cells):
            button.observe(self._clicked, names="value")
        self.presets = {
            "all": torch.ones_like(start),
            "causal": torch.ones_like(start).tril(),
            "only itself": torch.eye(len(start), dtype=torch.bool),
        }

    @property
    def mask(self) -> Tensor:
        """The mask (S, S) as it is clicked now."""
        return torch.tensor([[button.value for button in row] for row in self.cells])

    def set(self, mask: Tensor) -> None:
        """Show another mask, and draw once."""
        self._held = True
        for row, wanted in zip(self.cells, mask.tolist(), strict=True):
            for button, on in zip(row, wanted, strict=True):
                button.value = on
        self._held = False
        self.draw()

    def draw(self) -> None:
        """Call `show` with the mask, in the place beside the buttons."""
        with self._output:
            self._output.clear_output(wait=True)
            self._show(self.mask)

    def widget(self) -> VBox:
        """Return the buttons, with the drawing beside them: its rows are as high as theirs."""
        header = [Label(""), *map(Label, self._labels)]
        centred = Layout(align_self="center")
        rows = [
            [Label(label, layout=centred), *row] for label, row in zip(self._labels, self.cells, strict=True)
        ]
        count = len(self._labels)
        layout = Layout(
            grid_template_columns=f"48px repeat({count}, {WIDTH}px)",
            grid_template_rows=f"{HEAD}px repeat({count}, {ROW}px)",
            grid_gap=f"{GAP}px",
            align_items="flex-end",
            flex="0 0 auto",
        )
        grid = GridBox([*header, *chain.from_iterable(rows)], layout=layout)
        buttons = [Button(description=name, layout=Layout(width="auto")) for name in self.presets]
        for button in buttons:
            button.on_click(lambda clicked: self.set(self.presets[clicked.description]))
        title = Label("rows: queries, columns: keys; ✓ = may attend")
        # Where there is no room for both side by side, the drawing goes below.
        self._output.layout = Layout(flex=f"1 1 {LEAST}px", min_width="0")
        return VBox([title, HBox(buttons), HBox([grid, self._output], layout=Layout(flex_flow="row wrap"))])

    def _clicked(self, change: dict[str, Any]) -> None:
        button: ToggleButton = change["owner"]
        button.description = ALLOWED if button.value else BLOCKED
        button.button_style = "primary" if button.value else ""
        if not self._held:
            self.draw()


def interact_mask(labels: Sequence[str], *, start: Tensor) -> Callable[[Show], Show]:
    """Return a decorator that draws a function of a mask, and draws it again at each click.

    labels: a name for each position; start: BoolTensor (S, S). Needs a running kernel.
    """

    def decorate(show: Show) -> Show:
        from IPython.display import display

        control = MaskControl(labels, start, show)
        display(control.widget())
        control.draw()
        return show

    return decorate


def _toggle(*, on: bool) -> ToggleButton:
    layout = Layout(width=f"{WIDTH}px", height=f"{ROW}px", margin="0", padding="0")
    style = "primary" if on else ""  # colour is not the only sign: it says ✓ or ×
    return ToggleButton(value=on, description=ALLOWED if on else BLOCKED, button_style=style, layout=layout)
