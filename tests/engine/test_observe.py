"""An observation tells the judge what came back, what was raised, changed and called."""

import torch

from coursework.engine.observe import observe
from coursework.engine.operations import CallFunction


def ask(function: object, *args: object) -> dict[str, object]:
    """Observe one call of a function."""
    return observe(CallFunction(args), {"f": function}, "f", 1)


def test_a_value_comes_back() -> None:
    """What the function returns is the value; nothing was raised."""
    seen = ask(lambda x: x + 1, 2)
    assert (seen["value"], seen["raised"]) == (3, None)


def test_changed_arguments_are_noticed() -> None:
    """An argument modified in place is named by its position."""
    assert ask(lambda x, y: y.mul_(2), torch.ones(2), torch.ones(2))["changed"] == ["1"]


def test_a_missing_name_is_a_structural_error() -> None:
    """A name that is not there is told apart from an error in the student's code."""
    seen = observe(CallFunction([]), {}, "f", 1)
    assert seen["raised"]["type"] == "Structure"


def test_the_random_state_and_defaults_are_the_same_each_time() -> None:
    """What was drawn or set before makes no difference."""
    first = ask(lambda: torch.randn(3))["value"]
    torch.set_default_dtype(torch.float64)
    second = ask(lambda: torch.randn(3))["value"]
    assert torch.equal(first, second)  # type: ignore[arg-type] # tensors
    assert torch.get_default_dtype() is torch.float32
