"""What lesson 06 needs beside the student's code: a layer that decodes one position after another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, ClassVar

import torch
from torch import nn

from coursework import scope
from coursework.engine.operation import (
    Answer, Operation, attribute, load, returned_pair, returned_tensor,
)

# Taken while there still is one: a run keeps only what its lesson hands out.
CAUSAL_DECODER_LAYER: Any = scope.stand_in("CausalDecoderLayer")


@dataclass(frozen=True)
class DecodeSteps(Operation):
    """Let the function decode texts in turns, one position a call; the result is a list of outputs.

    `init` and `weights` make the causal decoder layer, the course's own. Each of `texts` is a list of
    positions (B, 1, D) and has a cache of its own; the first call for a text passes none.
    """

    init: Sequence[int]
    weights: Mapping[str, torch.Tensor] = field(default_factory=dict)
    texts: Sequence[Sequence[torch.Tensor]] = ()

    arguments_in: ClassVar[Sequence[str]] = ("texts",)

    names = frozenset(["outputs", "one position a call"])
    faults: ClassVar = {
        "pair": "Return a pair: the output for this position, and the cache for the next one."
    }

    def run(self, answer: Answer) -> Any:
        return self.decoded(answer, self.layer())

    def layer(self) -> nn.Module:
        """Return the layer, in eval mode and in the texts' dtype."""
        layer: nn.Module = CAUSAL_DECODER_LAYER(*self.init)
        for path, value in self.weights.items():
            load(layer, path, value)
        return layer.to(self.texts[0][0].dtype).eval()

    def decoded(self, answer: Answer, layer: nn.Module) -> list[torch.Tensor]:
        """Return the outputs (B, T, D) of each text."""
        caches: list[tuple[Any, ...]] = [() for _ in self.texts]
        outputs: list[list[torch.Tensor]] = [[] for _ in self.texts]
        for step in zip_longest(*self.texts):
            for number, x in enumerate(step):
                if x is None:  # this text has ended
                    continue
                output, cache = returned_pair(answer.find()(layer, x, *caches[number]))
                outputs[number].append(returned_tensor(output))
                caches[number] = (cache,)
        return [torch.cat(ys, dim=1).detach() for ys in outputs]


@dataclass(frozen=True)
class DecodeFacts(DecodeSteps):
    """Decode, and say whether the feed-forward sees one position a call, which stays a claim."""

    def run(self, answer: Answer) -> Any:
        layer, seen = self.layer(), [0]
        watched = attribute(layer, "feed_forward.linear1")
        watched.register_forward_hook(lambda _part, args, _output: seen.append(args[0].shape[-2]))
        outputs = self.decoded(answer, layer)
        return {"one position a call": max(seen) <= 1, "outputs": outputs}
