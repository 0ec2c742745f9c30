"""A mask to click on: what is clicked is what is drawn."""

import pytest
import torch
from ipywidgets import Button, GridBox, HBox
from matplotlib import pyplot as plt
from torch import Tensor

from coursework import plots
from coursework.mask_control import GAP, HEAD, ROW, MaskControl, interact_mask

LABELS = ["a", "b", "c"]
CAUSAL = torch.ones(3, 3, dtype=torch.bool).tril()


@pytest.fixture
def drawn() -> list[Tensor]:
    """Return the masks that were drawn, in order."""
    return []


@pytest.fixture
def control(drawn: list[Tensor]) -> MaskControl:
    """Return a control that starts with a causal mask."""
    return MaskControl(LABELS, CAUSAL, drawn.append)


def test_a_click_changes_one_cell_and_draws(control: MaskControl, drawn: list[Tensor]) -> None:
    """The drawing gets the mask with this cell turned over, and the button says so."""
    control.cells[0][2].value = True
    wanted = CAUSAL.clone()
    wanted[0, 2] = True
    (mask,) = drawn
    assert torch.equal(mask, wanted)
    assert mask.dtype == torch.bool
    assert control.cells[0][2].description == "✓"
    assert control.cells[0][1].description == "×"
    assert [button.button_style for button in control.cells[0]] == ["primary", "", "primary"]


def test_a_preset_draws_once(control: MaskControl, drawn: list[Tensor]) -> None:
    """All cells change, and there is one drawing."""
    control.set(control.presets["all"])
    assert [mask.all().item() for mask in drawn] == [True]
    assert {button.description for row in control.cells for button in row} == {"✓"}


def test_buttons_for_presets_work(control: MaskControl, drawn: list[Tensor]) -> None:
    """Each of the buttons above the grid sets its mask."""
    _, buttons, beside = control.widget().children
    grid = beside.children[0]
    assert isinstance(grid, GridBox)
    assert len(grid.children) == 16
    assert isinstance(buttons, HBox)
    for button in buttons.children:
        assert isinstance(button, Button)
        button.click()
    assert [torch.equal(m, control.presets[b.description]) for m, b in zip(drawn, buttons.children, strict=True)] == [True] * 3


def test_the_drawing_goes_below_where_there_is_no_room_beside(control: MaskControl) -> None:
    """It is not squeezed into what the buttons leave."""
    *_, beside = control.widget().children
    assert beside.layout.flex_flow == "row wrap"
    assert beside.children[1].layout.flex == "1 1 300px"


def test_the_decorator_draws_at_once_and_keeps_the_function(drawn: list[Tensor]) -> None:
    """The first picture needs no click."""

    def show(mask: Tensor) -> None:
        drawn.append(mask)

    assert interact_mask(LABELS, start=CAUSAL)(show) is show
    assert torch.equal(drawn[0], CAUSAL)


def test_a_row_of_buttons_stands_beside_its_row_of_the_heat_map() -> None:
    """As the heat map is drawn now: a row as high as a button, below a head of the same height."""
    plots.use_style()
    words = ["the", "cat", "drank", "its", "milk"]
    ax = plots.heatmap(torch.rand(5, 5), words, words, title="weights")
    ax.figure.draw_without_rendering()
    rows, whole = ax.get_window_extent(), ax.figure.get_tightbbox()
    above = (whole.y1 + 0.1) * ax.figure.dpi - rows.y1  # Jupyter leaves a margin of a tenth of an inch
    assert rows.height / 5 == pytest.approx(ROW + GAP, abs=1)
    assert above == pytest.approx(HEAD + GAP, abs=3)
    plt.close(ax.figure)
