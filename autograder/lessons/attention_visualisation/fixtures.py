"""What lesson 08 does beside the student's code: models to look into, pictures read off the page."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn
from torch.utils._pytree import tree_leaves, tree_map_only

from coursework.engine import parts
from coursework.engine.operation import Answer, Operation, StructureError, kind_of, load
from coursework.heat_map import FAULTS, HeatMapError, read_heat_map
from coursework.small_bert import SmallBert, SmallTokeniser
from coursework.stand_ins import MultiHeadAttention
from coursework.stand_ins_models import Decoder, Encoder, Transformer

BACKEND = "module://autograder.probe.still_canvas"


@dataclass(frozen=True)
class CollectMaps(Operation):
    """Let the answer collect the maps of a Transformer with given weights, once per entry of `calls`.

    `sizes` are the vocabularies, d_model, heads, layers and d_ff. With `passed`, encoder and decoder
    are handed to the constructor. With `interrupted`, there is a call before them, in which the model raises.
    With `facts`, the result is what became of the model instead. Whether
    its weights are unchanged is read from its `state`, before and after, and whether the last maps are from
    `maps`, as they were returned and after a further call. The rest is about the model itself and
    stays a claim.
    """

    sizes: Sequence[int]
    weights: Mapping[str, torch.Tensor]
    calls: Sequence[Sequence[torch.Tensor]]
    options: Mapping[str, Any] = field(default_factory=dict)
    train: bool = False
    double: bool = False
    passed: bool = False
    facts: bool = False
    interrupted: bool = False

    arguments_in: ClassVar[Sequence[str]] = ("calls",)
    names = frozenset(["encoder", "decoder", "cross"])
    faults: ClassVar = {"map": "Every map should be a tensor, not {kind}."}

    @property
    def arguments(self) -> Sequence[Any]:
        """The ids of all calls, one after the other."""
        return [ids for call in self.calls for ids in call]

    def run(self, answer: Answer) -> Any:
        model, collect = self._model(), answer.find()
        before = _state(model)
        if self.interrupted:
            src, tgt = self.calls[0]
            with suppress(Exception):
                collect(model, src, torch.full_like(tgt, self.sizes[1]))  # no id of the vocabulary
        results = []
        for args in self.calls:
            results.append(maps := collect(model, *args))
            for found in maps.values() if isinstance(maps, dict) else ():
                if not isinstance(found, (torch.Tensor, list, tuple)):
                    raise StructureError("map", detail=kind_of(found))
        if not self.facts:
            return results[0] if len(results) == 1 else results
        kept = tree_map_only(torch.Tensor, torch.Tensor.clone, results[-1])
        with torch.no_grad():
            model(*[torch.cat([ids, ids], dim=1) for ids in self.calls[-1]])
        return {
            "hooks left": sum(_hooks(part) for part in model.modules()),
            "train mode afterwards": model.training,
            "parts in another mode": sum(p.training != model.training for p in model.modules()),
            "trainable afterwards": all(weight.requires_grad for weight in model.parameters()),
            "state": [before, dict(model.state_dict())],
            "maps": [kept, results[-1]],
        }

    def read(self, value: Any) -> Any:
        if not self.facts:
            return value
        found = {key: value[key] for key in value if key not in ("state", "maps")}
        pairs = zip(*map(tree_leaves, value["maps"]), strict=False)
        same = all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in pairs)
        return {**found, "weights unchanged": _same_state(*value["state"]), "changed later": not same}

    def _model(self) -> nn.Module:
        source, target, d_model, heads, layers, d_ff = self.sizes
        parts = {}
        if self.passed:
            sizes = (d_model, layers, heads, d_ff, 64, self.options.get("dropout", 0.1))
            parts = {"encoder": Encoder(source, *sizes), "decoder": Decoder(target, *sizes)}
        options = {**self.options, **parts}
        model = Transformer(source, target, d_model, heads, layers, d_ff, 64, **options)
        for path, value in self.weights.items():
            load(model, path, value)
        return (model.double() if self.double else model).train(self.train)


def _state(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _same_state(before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor]) -> bool:
    return before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def _hooks(part: nn.Module) -> int:
    """Count what is registered on a module, and a `forward` that replaces its own."""
    replaced = part.__dict__.get("forward")
    own = replaced is None or getattr(replaced, "__func__", None) is type(part).forward
    registered = (part._forward_hooks, part._forward_pre_hooks, part._backward_hooks)
    return sum(len(hooks) for hooks in registered) + (not own)


@dataclass(frozen=True)
class AttendToPairs(Operation):
    """Ask for the attentions of each pair in `calls`, from a small BERT with drawn weights.

    `pieces` is the vocabulary of its tokeniser, `sizes` go to the model, `seed` draws its weights.
    """

    pieces: Sequence[str]
    sizes: Mapping[str, int]
    seed: int
    calls: Sequence[Sequence[str]]

    faults: ClassVar = {"array": "The attentions should be a tensor, not a NumPy array."}

    def run(self, answer: Answer) -> Any:
        tokeniser, generator = SmallTokeniser(self.pieces), torch.Generator().manual_seed(self.seed)
        model, function = SmallBert(len(tokeniser), **self.sizes), answer.find()
        with torch.no_grad():
            for value in model.parameters():
                scale = 1.5 * value.size(-1) ** -0.5 if value.dim() > 1 else 0.3
                shift = 1.0 if value.dim() == 1 else 0.0
                value.copy_(shift + scale * torch.randn(value.shape, generator=generator))
        found = [_with_whole_start(function(model, tokeniser, *pair)) for pair in self.calls]
        return found[0] if len(found) == 1 else found


def _with_whole_start(found: Any) -> Any:
    if not isinstance(found, (tuple, list)) or len(found) != 3:
        return found
    attentions, tokens, start = found
    if type(attentions).__name__ == "ndarray":
        raise StructureError("array")
    return attentions, tokens, parts.whole_number(start)


@dataclass(frozen=True)
class DrawHeatMap(Operation):
    """Let the answer draw, and describe the heat map as it appears on the page.

    With `second`, it is handed the second of two Axes, of which the first is the current one. With `kind`,
    the result is whether `cells` are drawn, as seaborn does, and not an image.
    """

    weights: torch.Tensor
    queries: Sequence[str]
    keys: Sequence[str]
    second: bool = False
    kind: bool = False

    arguments_in: ClassVar[Sequence[str]] = ("weights",)
    repeated: ClassVar[bool] = False  # a picture takes as long as a hundred calls
    faults: ClassVar = FAULTS

    @property
    def arguments(self) -> Sequence[Any]:
        """The weights, and the lists of labels."""
        return [self.weights, self.queries, self.keys]

    def run(self, answer: Answer) -> Any:
        from matplotlib import pyplot as plt

        if plt.get_backend() != BACKEND:
            plt.switch_backend(BACKEND)
        plt.close("all")
        try:
            draw = answer.find()
            if self.kind:
                ax = draw(*self.arguments)
                read_heat_map(ax)  # raises where there is none
                return {"cells": bool(ax.collections)}
            if not self.second:
                return read_heat_map(draw(*self.arguments))
            first, given = plt.subplots(1, 2)[1]
            plt.sca(first)
            returned = draw(*self.arguments, ax=given)
            found = read_heat_map(returned)
            return {**found, "on the axes given": returned is given, "elsewhere": first.has_data()}
        except HeatMapError as problem:
            raise StructureError(problem.fault, detail=problem.detail) from None
        finally:
            plt.close("all")


class InterruptedHereError(Exception):
    """Raised inside a context by our own code, and caught by it."""


@dataclass(frozen=True)
class RunSilenced(Operation):
    """Run an attention with given weights while the answer silences one of its heads.

    `sizes` are d_model and the number of heads. The attention is in train mode or, without `train`, in eval
    mode. The result is the output for x (B, S, D), or, with `facts`, what became of the attention after the
    context, which `interrupted` leaves by an exception. Whether `output` and `weights` are as before is read
    from both. Whether weights are `trainable` and `hooks` gone, and whether every `mode` is as it was, is
    about the attention itself and stays a claim.
    """

    sizes: Sequence[int]
    weights: Mapping[str, torch.Tensor]
    x: torch.Tensor
    head: int
    facts: bool = False
    interrupted: bool = False
    train: bool = True

    arguments_in: ClassVar[Sequence[str]] = ("x",)
    names = frozenset(["output", "weights", "trainable", "hooks", "mode"])

    def run(self, answer: Answer) -> Any:
        attention = MultiHeadAttention(*self.sizes).train(self.train)
        for path, value in self.weights.items():
            load(attention, path, value)
        attention = attention.to(self.x.dtype)
        silence, before = answer.find(), _state(attention)
        modes = [part.training for part in attention.modules()]
        whole = attention(self.x, self.x, self.x)[0].detach().clone()
        with suppress(InterruptedHereError), silence(attention, self.head):
            inside = attention(self.x, self.x, self.x)[0].detach().clone()
            if self.interrupted:
                raise InterruptedHereError
        if not self.facts:
            return inside
        return {
            "output": [whole, attention(self.x, self.x, self.x)[0]],
            "weights": [before, dict(attention.state_dict())],
            "trainable": all(parameter.requires_grad for parameter in attention.parameters()),
            "mode": modes == [part.training for part in attention.modules()],
            "hooks": not any(part._forward_pre_hooks or part._forward_hooks for part in attention.modules()),
        }

    def read(self, value: Any) -> Any:
        if not self.facts:
            return value
        (whole, again), states = value["output"], value["weights"]
        return {
            **{key: value[key] for key in ("trainable", "hooks", "mode")},
            "output": torch.allclose(again, whole, atol=1e-5),
            "weights": _same_state(*states),
        }
