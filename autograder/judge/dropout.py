"""What checks of dropout share: a rate, and the facts of `DropoutFact` with a sentence for each.

The facts hold at every draw: none depends on a seed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch

from autograder.judge.judges import PASSED, SENTENCES, failed, matches_reference
from autograder.model.exercise import Verdict
from coursework.engine.compare import difference
from coursework.engine.describe import Comparison, changed_arguments, say_changed
from coursework.engine.operation import returned_tensors
from coursework.engine.operations import TwoOutputs

NEARLY_ALL = 1 - 1e-7  # drops everything; with exactly 1, scaling up what is left divides by 0
SOME = 0.4  # the rate of `places`
CLOSE = 1e-3  # two outputs closer than this are the same
FORMS_CLOSE = 1e-2  # two forms of `places` closer than this are the same; rounding moves them by 1e-5
MOST_FORMS = 60  # no right answer has so many
TOGETHER = (
    "all samples lose the same entries",
    "all tokens lose the same features",
    "tokens are dropped whole",
)


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
    - `rate`: the share of outputs that train mode sets to 0, the factor for the others, and the
      dimensions along which they are dropped together.
    - `places`: the forms in which tokens come out of train mode, if all are alike as they go in.
    """

    fact: Literal["repeats", "drops nothing", "drops parts", "drops inside", "rate", "places"] = "repeats"

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
        if self.fact == "places":
            return _places(first, second)
        if self.fact == "drops inside":
            return _mostly_same(first, second)
        same = _same(first, second)
        if self.fact != "drops parts":
            return same
        everywhere, nothing = first[:1, :1].expand_as(first), torch.zeros_like(first)
        return {"left": same, "alike": _same(first, everywhere), "zero": _same(first, nothing)}


def _rate(calm: torch.Tensor, live: torch.Tensor) -> dict[str, Any]:
    """Return the share of zeros in train mode, the factor of the rest, and what `together` says."""
    kept = live[live != 0] / calm[live != 0]
    factor = round(kept.median().item(), 1) if len(kept) else 0.0
    zeroed = (live == 0).float().mean().item()
    shared = together(live == 0) if 0 < zeroed < 1 else []  # a shared mask has too few draws for a share
    return {"zeroed": 0.0 if shared else round(zeroed, 1), "factor": factor, "together": shared}


def together(mask: torch.Tensor) -> list[int]:
    """Return the dimensions along which a mask that was drawn at random does not vary."""
    dims = [dim for dim, size in enumerate(mask.shape) if size > 1]
    return [dim for dim in dims if bool((mask == mask.narrow(dim, 0, 1)).all())]


def _places(live: torch.Tensor, calm: torch.Tensor) -> dict[str, Any]:
    """Return the forms in which tokens come out of each mode, and the dimensions along which all are alike.

    A form is told by one number, a sum of the token's features. Where there are many forms, or few draws of a
    shared mask, some do not come up every time: none is told then.
    """
    factors = torch.arange(1, live.size(-1) + 1, dtype=live.dtype).sqrt()
    drawn = live @ factors
    forms = _apart(drawn)
    many = len(forms) > MOST_FORMS
    shared = [] if many or len(forms) == 1 else _seldom_apart(drawn, forms)
    still = _apart(calm @ factors)[:2]
    return {"eval mode": still, "forms": forms[:0] if many or shared else forms, "together": shared}


def _seldom_apart(drawn: torch.Tensor, forms: torch.Tensor) -> list[int]:
    """Return the dimensions along which no more than half of the forms are found, wherever one looks.

    A mask that is shared along a dimension halves the forms there at least. Other masks may not be shared,
    so that the outputs are not all alike. Independent draws, 40 or more, show more than half somewhere.
    """
    which = torch.searchsorted(forms - FORMS_CLOSE / 2, drawn, right=True)[..., None]
    found = which == torch.arange(1, len(forms) + 1)  # (B, T, forms)
    dims = [dim for dim, size in enumerate(drawn.shape) if size > 1]
    return [dim for dim in dims if found.any(dim).sum(-1).max() <= len(forms) / 2]


def _apart(numbers: torch.Tensor) -> torch.Tensor:
    """Return in ascending order the numbers that are not close to the one before."""
    ordered = numbers.flatten().sort().values
    return ordered[torch.cat([ordered.new_ones(1), ordered.diff()]) > FORMS_CLOSE]


def layer_places(attentions: Sequence[str], *memory: torch.Tensor) -> DropoutFact:
    """Ask for `places` of a layer with one hidden unit, whose input holds the same token everywhere.

    Each attention puts out a single feature, and the feed-forward two, whatever the attention weights:
    12 forms of an output for each attention's two. Two thousand tokens show the rarest with a probability
    of 1 - 1e-13.
    """
    x = torch.tensor([-2.0, 1.0, 0.0, -2.0, 2.0, 1.0]).repeat(50, 40, 1)
    loaded = {
        "feed_forward.linear1.weight": torch.tensor([[-0.5, -0.5, 0.5, -0.5, -0.5, 0.5]]),
        "feed_forward.linear1.bias": torch.tensor([3.0]),
        "feed_forward.linear2.weight": torch.tensor([[1.0], [0], [0], [1], [0], [0]]),
        "feed_forward.linear2.bias": torch.tensor([-3.0, 0, 0, -2, 0, 0]),
    }
    for number, (attention, size) in enumerate(zip(attentions, (1.0, 3.0), strict=False), start=1):
        loaded |= _puts_out(attention, number, size)
    loaded |= _plain_norms("", len(attentions) + 1)
    return DropoutFact([6, 2, 1, SOME], loaded, [[x, *memory]], fact="places")


def _puts_out(attention: str, feature: int, size: float) -> dict[str, torch.Tensor]:
    """Return weights of an attention that puts out `size` as one feature, and 0 as the others."""
    return {
        f"{attention}.w_v.weight": torch.zeros(6, 6),
        f"{attention}.w_v.bias": torch.zeros(6),
        f"{attention}.w_o.bias": size * torch.eye(6)[feature],
    }


def _plain_norms(path: str, norms: int) -> dict[str, torch.Tensor]:
    """Return weights 1 and biases 0 for the norms of a layer."""
    parts = (("weight", torch.ones(6)), ("bias", torch.zeros(6)))
    return {f"{path}norm{number}.{part}": value for number in range(1, norms + 1) for part, value in parts}


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=CLOSE)


def _mostly_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        return False
    touched = (~torch.isclose(one, other, atol=1e-4)).any(dim=-1)
    return bool(touched.double().mean() < 0.5)


def _about_fact(seen: Comparison) -> str:
    """Say that a fact doesn't hold, and why, if the first call changed what the second is called with."""
    if changed := changed_arguments(seen):
        return say_changed(changed)
    if seen.inputs["fact"] == "places":
        return drops_together(seen) or _about_places(seen.got.value, seen.expected.value)
    return SENTENCES["dropout"][seen.inputs["fact"]]


# Judges of `DropoutFact`, and of a result without dropout.
holds = matches_reference(_about_fact, any_form=True)
nothing_dropped = matches_reference(
    lambda _seen: (
        "This is not the output that you should get without dropout. If the checks above pass, "
        "something is dropped or drawn at random here that should not be."
    )
)


def in_place(seen: Comparison) -> Verdict:
    """Want the reference's forms of `places`; of an answer that is wrong in eval mode too, more than one."""
    got, want = seen.got.value, seen.expected.value
    if seen.got.raised or changed_arguments(seen):
        return holds(seen)
    elsewhere = bool(difference(got["eval mode"], want["eval mode"]))
    if len(got["forms"]) == 1:
        return failed(
            "With the same token everywhere, all outputs of train mode are alike. Is anything dropped?"
        )
    return PASSED if elsewhere and not got["together"] else holds(seen)


def drops_together(seen: Comparison) -> str | None:
    """Say along which dimension a mask of dropout does not vary."""
    dims = seen.got.value["together"]
    if not dims:
        return None
    return f"In train mode, {TOGETHER[dims[0]]}. Dropout should decide about each number separately."


def _about_places(got: Mapping[str, Any], want: Mapping[str, Any]) -> str:
    more = len(got["forms"]) - len(want["forms"]) if len(got["forms"]) else 1
    if more > 0:
        return "More is dropped than should be. Does dropout act in a place that the exercise doesn't name?"
    if more < 0:
        return (
            "Less is dropped than should be. Does dropout act in every place that the exercise names, and on "
            "each feature separately?"
        )
    return (
        "What dropout leaves has the wrong size. Is it scaled by 1 / (1 − dropout) in every place, and only "
        "once?"
    )
