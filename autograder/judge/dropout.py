"""What checks of dropout share: a rate, and the facts of `DropoutFact` with a sentence for each.

The facts hold at every draw: none depends on a seed.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch

from autograder.judge.judges import SENTENCES, matches_reference
from coursework.engine.describe import Comparison, changed_arguments, say_changed
from coursework.engine.operation import returned_tensors
from coursework.engine.operations import TwoOutputs

NEARLY_ALL = 1 - 1e-7  # drops everything; with exactly 1, scaling up what is left divides by 0
CLOSE = 1e-3  # two outputs closer than this are the same


@dataclass(frozen=True)
class DropoutFact(TwoOutputs):
    """Call a module in the modes that a fact is about, and tell from the outputs whether it holds.

    - `repeats`: in eval mode two calls give the same.
    - `drops nothing`: built with dropout 0, train mode gives what eval mode gives.
    - `drops parts`: built with a dropout of nearly 1, train mode leaves what eval mode gives when
      the parameters at `silence` are zero. `alike` says whether what is left is the same at every
      position, `zero` whether it is 0.
    - `drops inside`: built with dropout 0.9 and a feed-forward of a single hidden unit, most
      positions of train mode are as if the parameters at `silence` were zero.
    - `rate`: the share of outputs that train mode sets to 0, and the factor for the others.
    """

    fact: Literal["repeats", "drops nothing", "drops parts", "drops inside", "rate"] = "repeats"

    sent_as: ClassVar = TwoOutputs

    def __post_init__(self) -> None:
        """Choose the modes: for most facts train mode and then eval mode."""
        modes = {"repeats": (False, False), "rate": (False, True)}.get(self.fact, (True, False))
        object.__setattr__(self, "modes", modes)

    def read(self, value: Any) -> Any:
        """Return whether the fact holds; of `drops parts` and `rate` a dictionary."""
        first, second = returned_tensors(value)
        if self.fact == "rate":
            return _rate(first, second)
        if self.fact == "drops inside":
            return _mostly_same(first, second)
        same = _same(first, second)
        if self.fact != "drops parts":
            return same
        everywhere, nothing = first[:1, :1].expand_as(first), torch.zeros_like(first)
        return {"left": same, "alike": _same(first, everywhere), "zero": _same(first, nothing)}


def _rate(calm: torch.Tensor, live: torch.Tensor) -> dict[str, float]:
    """Return the share of an output in train mode that is 0, and how many times the rest is larger."""
    kept = live[live != 0] / calm[live != 0]
    factor = round(kept.median().item(), 1) if len(kept) else 0.0
    return {"zeroed": round((live == 0).float().mean().item(), 1), "factor": factor}


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=CLOSE)


def _mostly_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        return False
    touched = (~torch.isclose(one, other, atol=1e-4)).any(dim=-1)
    return bool(touched.double().mean() < 0.5)


def _about_fact(seen: Comparison) -> str:
    """Say that a fact doesn't hold, and why, if the first call changed what the second is called with."""
    changed = changed_arguments(seen)
    return say_changed(changed) if changed else SENTENCES["dropout"][seen.inputs["fact"]]


# Judges of `DropoutFact`, and of a result without dropout.
holds = matches_reference(_about_fact, any_form=True)
nothing_dropped = matches_reference(
    lambda _seen: (
        "This is not the output that you should get without dropout. If the checks above pass, "
        "something is dropped or drawn at random here that should not be."
    )
)
