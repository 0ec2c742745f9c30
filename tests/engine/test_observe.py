"""An observation tells the judge what came back, what was raised, changed and called."""

import sys
from pathlib import Path

import pytest
import torch

from coursework.engine.observe import TookTooLongError, observe
from coursework.engine.operations import CallFunction
from coursework.engine.trial import try_for


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


def importing(folder: Path, code: str) -> object:
    """Return a function that imports a module with this code, and then loops for ever."""
    (folder / "slow_module.py").write_text(f"import time\n{code}\nWHOLE = True\n")

    def answer() -> None:
        import slow_module  # type: ignore[import-not-found] # noqa: F401

        while True:
            pass

    return answer


@pytest.mark.parametrize(("code", "whole"), [("time.sleep(0.5)", True), ("while True: pass", False)])
def test_a_time_limit_leaves_no_half_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, whole: bool
) -> None:
    """An import that has begun is finished, as long as that takes no multiple of the time."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_module", raising=False)
    seen = try_for(0.2, CallFunction(()), importing(tmp_path, code), "f")
    assert seen.raised.kind == TookTooLongError.__name__
    assert hasattr(sys.modules.get("slow_module"), "WHOLE") is whole
    sys.modules.pop("slow_module", None)
