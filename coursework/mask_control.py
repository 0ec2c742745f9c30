"""A mask to click on: a grid of buttons, and a drawing that follows it."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import torch
from ipywidgets import Button, GridBox, HBox, Label, Layout, Output, ToggleButton, VBox
from torch import Tensor

Show = Callable[[Tensor], None]
SIDE: Final = "44px"
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
        """Call `show` with the mask, in the place below the buttons."""
        with self._output:
            self._output.clear_output(wait=True)
            self._show(self.mask)

    def widget(self) -> VBox:
        """Return the buttons, with the drawing below them."""
        header = [Label(""), *map(Label, self._labels)]
        rows = [[Label(label), *row] for label, row in zip(self._labels, self.cells, strict=True)]
        columns = f"70px repeat({len(self._labels)}, {SIDE})"
        layout = Layout(grid_template_columns=columns, grid_gap="2px")
        grid = GridBox([*header, *chain.from_iterable(rows)], layout=layout)
        buttons = [Button(description=name, layout=Layout(width="auto")) for name in self.presets]
        for button in buttons:
            button.on_click(lambda clicked: self.set(self.presets[clicked.description]))
        title = Label("rows: queries, columns: keys; ✓ = may attend")
        return VBox([title, grid, HBox(buttons), self._output])

    def _clicked(self, change: dict[str, Any]) -> None:
        button: ToggleButton = change["owner"]
        button.description = ALLOWED if button.value else BLOCKED
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
    layout = Layout(width=SIDE, padding="0")
    return ToggleButton(value=on, description=ALLOWED if on else BLOCKED, layout=layout)
