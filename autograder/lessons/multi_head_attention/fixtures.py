"""Operations of lesson 04: dropout on attention weights, and weights copied from torch or from a BERT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import torch
from torch import nn

from coursework.engine.operation import Answer, Operation, StructureError, attribute, first_tensor, load
from coursework.engine.operations import ModuleOperation

LAYERS = ("w_q", "w_k", "w_v", "w_o")
OWN = tuple(f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias"))
CLOSE = 1e-3
BIAS: Final = 1.0  # of w_o, where the outputs are read of which dropout took away a part


@dataclass(frozen=True)
class DropoutOnWeights(ModuleOperation):
    """Call an attention whose loaded weights make every value 1, and tell what dropout does to it.

    The result is the output with dropout, and without it in eval mode. Three facts are read from them, which
    are the same at every draw. `changes`: the outputs differ. `bias`: no output is less than the bias of
    `w_o`, as some are when dropout comes after it. `together`: all features of a head are scaled alike, as
    they are when whole weights are dropped.
    """

    faults: ClassVar = {"query": "The output should have the shape of the query."}

    def run(self, answer: Answer) -> Any:
        without = replace(self, init=self.init[:2], train=False)
        return [asked.output(asked.build(answer)(*self.calls[0])) for asked in (self, without)]

    def read(self, value: Any) -> dict[str, bool]:
        live, calm = map(self.output, value)
        if (calm - 1).abs().max() > CLOSE:  # else `w_o` is not used, nor its bias
            live, calm = live - BIAS, calm - BIAS
        factors = (live / calm).nan_to_num(1.0)  # 0 / 0 is no change
        heads = factors.reshape(*factors.shape[:-1], self.init[1], -1)  # (B, T_q, H, K)
        spread = heads.amax(-1) - heads.amin(-1)
        return {
            "changes": bool((factors - 1).abs().max() > CLOSE),
            "bias": bool(live.min() > -CLOSE),
            "together": bool(spread.max() < CLOSE),
        }

    def output(self, value: Any) -> torch.Tensor:
        """Return the output, alone or with weights; StructureError if it is not of the query's shape."""
        found = first_tensor(value)
        if found.shape != self.calls[0][0].shape:
            raise StructureError("query", detail=str(tuple(found.shape)))
        return found


BEFORE: Final = 3.0  # what each parameter is before: 0 would hide that something was added to it


@dataclass(frozen=True)
class CopyFromTorch(Operation):
    """Let the function copy an nn.MultiheadAttention into a MultiHeadAttention of numbers that are `BEFORE`.

    `init` is d_model and num_heads, `weights` the parameters of torch's layer. The result holds the
    parameters at `paths`, with `call` also the output for these arguments. With `afterwards`, 1 is
    added to torch's layer before the result is read. With `facts`, `trainable` and `source kept` say
    what the function left of the two layers. The first is about the layer itself and stays a claim.
    """

    init: Sequence[int]
    weights: Mapping[str, torch.Tensor]
    paths: Sequence[str] = OWN
    call: Sequence[torch.Tensor] = ()
    batch_first: bool = True
    double: bool = False
    facts: bool = False
    afterwards: bool = False

    names = frozenset(["MultiHeadAttention", *OWN, *LAYERS])

    def run(self, answer: Answer) -> Mapping[str, Any]:
        d_model, num_heads = self.init
        theirs = self.source()
        mine = answer.find("MultiHeadAttention")(d_model, num_heads).eval()
        for path, value in self.weights.items():
            load(theirs, path, value)
        for path in OWN:
            load(mine, path, torch.full_like(attribute(mine, path), BEFORE))
        if self.double:
            theirs, mine = theirs.double(), mine.double()
        answer.find()(mine, theirs)
        found: dict[str, Any] = {}
        if self.facts:
            learnt = {id(p) for p in mine.parameters() if p.requires_grad}
            found["trainable"] = all(id(attribute(mine, path)) in learnt for path in OWN)
            found["source"] = {path: attribute(theirs, path).detach() for path in self.weights}
        for parameter in theirs.parameters() if self.afterwards else ():
            parameter.data.add_(1.0)
        if self.call:
            found["output"] = mine(*self.call)[0].detach()
        return found | {path: attribute(mine, path).detach() for path in self.paths}

    def read(self, value: Any) -> Any:
        if not self.facts:
            return value
        source, loaded = value["source"], self.weights.items()
        kept = all(torch.equal(source[path], right) for path, right in loaded)
        return {**{key: value[key] for key in value if key != "source"}, "source kept": kept}

    def source(self) -> nn.Module:
        """Make the layer to copy from; its weights are loaded afterwards."""
        d_model, num_heads = self.init
        return nn.MultiheadAttention(d_model, num_heads, batch_first=self.batch_first)


@dataclass(frozen=True)
class CopyFromBert(CopyFromTorch):
    """Let the function copy the attention of a BERT layer into a MultiHeadAttention.

    As `CopyFromTorch`, with the layer's parameters by their paths in a BERT.
    """

    def source(self) -> nn.Module:
        """Make layers under the names of `bert.encoder.layer[i].attention` in the library transformers."""
        width, heads, output, attention = self.init[0], nn.Module(), nn.Module(), nn.Module()
        for name in ("query", "key", "value"):
            heads.add_module(name, nn.Linear(width, width))
        output.add_module("dense", nn.Linear(width, width))
        output.add_module("LayerNorm", nn.LayerNorm(width))
        attention.add_module("self", heads)
        attention.add_module("output", output)
        return attention
