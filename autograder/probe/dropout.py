"""Operations that establish facts about dropout. They hold at every draw: none depends on a seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from autograder.probe.answer import Answer, attribute, load, returned_tensor
from autograder.probe.modules import ModuleOperation

CLOSE = 1e-3
Fact = Literal["repeats", "drops nothing", "drops parts", "drops inside", "rate"]


@dataclass(frozen=True)
class DropoutFact(ModuleOperation):
    """Build the class, call it in the modes that a fact is about, and say whether the fact holds.

    - `repeats`: in eval mode two calls give the same.
    - `drops nothing`: built with dropout 0, train mode gives what eval mode gives.
    - `drops parts`: built with a dropout of nearly 1, train mode leaves what eval mode gives when
      the parameters at `silence` are zero. `alike` says whether what is left is the same at every
      position, `zero` whether it is 0.
    - `drops inside`: built with dropout 0.9 and a feed-forward of a single hidden unit, most
      positions of train mode are as if the parameters at `silence` were zero.
    - `rate`: the share of outputs that train mode sets to 0, and the factor for the others.

    Weights that do not fit are skipped, except for `rate`.
    """

    fact: Fact = "repeats"
    silence: Sequence[str] = ()

    @property
    def names(self) -> frozenset[str]:
        """The paths of weights, and of those that are set to 0."""
        return super().names | frozenset(self.silence)

    def run(self, answer: Answer) -> Any:
        """Build the class and establish the fact."""
        if self.fact == "rate":
            return self._rate(self.build(answer))
        return _FACTS[self.fact](self, self.build_leniently(answer))

    def call(self, built: nn.Module, *, train: bool = False) -> torch.Tensor:
        """Return the output of the first call in a mode."""
        return returned_tensor(built.train(train)(*self.calls[0])).detach()

    def silenced(self, built: nn.Module) -> torch.Tensor:
        """Return the output in eval mode once the parameters at `silence` are zero."""
        for path in self.silence:
            load(built, path, torch.zeros_like(attribute(built, path)))
        return self.call(built)

    def _repeats(self, built: nn.Module) -> bool:
        return _same(self.call(built), self.call(built))

    def _drops_nothing(self, built: nn.Module) -> bool:
        return _same(self.call(built, train=True), self.call(built))

    def _drops_parts(self, built: nn.Module) -> Mapping[str, bool]:
        left = self.call(built, train=True)
        return {
            "left": _same(left, self.silenced(built)),
            "alike": _same(left, left[:1, :1].expand_as(left)),
            "zero": _same(left, torch.zeros_like(left)),
        }

    def _drops_inside(self, built: nn.Module) -> bool:
        got, without = self.call(built, train=True), self.silenced(built)
        if got.shape != without.shape:
            return False
        touched = (~torch.isclose(got, without, atol=1e-4)).any(dim=-1)
        return bool(touched.double().mean() < 0.5)

    def _rate(self, built: nn.Module) -> Mapping[str, float]:
        calm, live = self.call(built), self.call(built, train=True)
        kept = live[live != 0] / calm[live != 0]
        factor = round(kept.median().item(), 1) if len(kept) else 0.0
        return {"zeroed": round((live == 0).float().mean().item(), 1), "factor": factor}


_FACTS = {
    "repeats": DropoutFact._repeats,
    "drops nothing": DropoutFact._drops_nothing,
    "drops parts": DropoutFact._drops_parts,
    "drops inside": DropoutFact._drops_inside,
}


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=CLOSE)
