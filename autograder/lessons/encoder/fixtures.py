"""What the checks of lesson 05 need beside the student's code."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autograder.probe.answer import Answer, returned_tensor
from autograder.probe.modules import ModuleOperation


@dataclass(frozen=True)
class Survivors(ModuleOperation):
    """Call once in train mode, with weights for which every output is 1 if nothing is dropped.

    The result holds `largest`, the factor by which what is left is scaled, and `some zeros`. Both
    are the same at every draw, and, unlike DropoutFact's rate, no output of eval mode is needed.
    """

    def run(self, answer: Answer) -> Mapping[str, Any]:
        """Build, call, and look at the output."""
        output = returned_tensor(self.build(answer)(*self.calls[0])).detach()
        return {"largest": round(output.max().item(), 3), "some zeros": bool((output == 0).any())}
