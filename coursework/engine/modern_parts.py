"""Examples of lesson 9 that need more than plain data: a model with a cache to write with, and one to load.

As those in `parts`, they call the student's answer on something small, and return what is to be compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

from coursework.engine.operation import Answer
from coursework.engine.operations import CallFunction

WORDS: Final = 10
TOP: Final = 3.0  # the likeliest token's logit
WIDTH, KEYS, HIDDEN, TOKENS = 4, 2, 3, 5  # of the model to load


class Adder(nn.Module):
    """A model with a cache: the next token is the sum of all tokens so far, without its tens."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.calls: list[int] = []
        self.trained, self.with_gradient = False, False

    def forward(self, ids: torch.Tensor, past: Any = None) -> tuple[torch.Tensor, list[Any]]:
        """(1,T), a list with a pair (1,1,P,1) -> logits (1,T,WORDS), a list with a pair (1,1,P+T,1)."""
        self.calls.append(ids.size(1))
        self.trained |= self.training
        self.with_gradient |= torch.is_grad_enabled()
        new = ids[:, None, :, None].float()
        both = new if past is None else torch.cat([past[0][0], new], dim=2)
        sums = both[..., 0].cumsum(dim=-1)[:, 0, -ids.size(1) :].round().long() % WORDS  # (1, T)
        return TOP * nn.functional.one_hot(sums, WORDS) * self.weight, [(both, both)]


@dataclass(frozen=True)
class WriteExample(CallFunction):
    """Let the function write with the adder; the result is the new ids, and how the model was called.

    `args` are those of the call, with words in place of the model and of `choose`, which picks the likeliest
    token, or with a `step` another one that many ids further on. `train` is the model's mode. A call after
    the last token is left out. With `fails`, `choose` raises at its second call, and the result is the mode
    of the model afterwards.
    """

    step: int = 0
    fails: bool = False
    train: bool = True

    def run(self, answer: Answer) -> Any:
        """Call it."""
        _, ids, max_new, _, end_id = self.args
        model = Adder().train(self.train)
        as_given: list[bool] = []

        def choose(logits: torch.Tensor) -> torch.Tensor:
            if self.fails and as_given:
                raise InterruptedError
            as_given.append(logits.shape == (1, WORDS) and bool(logits.max() == TOP))
            return (logits.argmax(dim=-1) + self.step) % WORDS

        try:
            new = answer.find()(model, ids, max_new, choose, end_id)
        except InterruptedError:
            return {"train mode afterwards": model.training}
        written = new.size(1) if isinstance(new, torch.Tensor) and new.dim() == 2 else 0
        return {
            "ids": new,
            "tokens in each call of the model": model.calls[: max(written, 1)],
            "further calls": len(model.calls) > written + 1,
            "choose gets the logits": all(as_given),
            "in eval mode": not model.trained,
            "without gradients": not model.with_gradient,
            "train mode afterwards": model.training,
            "gradients on afterwards": torch.is_grad_enabled() and model.weight.requires_grad,
        }


class Part(nn.Module):
    """Parts under names, each a module or the sizes of a matrix or vector of zeros."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part if isinstance(part, nn.Module) else _zeros(*part))


def _zeros(*sizes: int) -> nn.Module:
    """Return a module with one weight of zeros."""
    module = nn.Module()
    module.register_parameter("weight", nn.Parameter(torch.zeros(*sizes)))
    return module


def small_llama() -> nn.Module:
    """Return the parts of a Llama of two layers, all zeros."""
    layers = [
        Part(
            norm1=(WIDTH,),
            attention=Part(w_q=(WIDTH, WIDTH), w_k=(KEYS, WIDTH), w_v=(KEYS, WIDTH), w_o=(WIDTH, WIDTH)),
            norm2=(WIDTH,),
            feed_forward=Part(w1=(HIDDEN, WIDTH), w2=(WIDTH, HIDDEN), w3=(HIDDEN, WIDTH)),
        )
        for _ in range(2)
    ]
    return Part(embedding=(TOKENS, WIDTH), layers=nn.ModuleList(layers), norm=(WIDTH,))


@dataclass(frozen=True)
class LoadExample(CallFunction):
    """Let the function load a small Llama in float64; the result is its weights, and some facts.

    `kwargs` hold the shapes of the tensors by their names in the file. With `spoilt`, one of them is missing,
    left over or of another shape: then the result says whether a ValueError names it, and whether the model
    is as it was.
    """

    spoilt: str = ""

    def run(self, answer: Answer) -> Any:
        """Call it, and change the tensors afterwards, which shows in whatever shares their memory."""
        model, tensors = small_llama().double(), counted(self.kwargs)
        weights = dict(model.named_parameters())
        try:
            answer.find()(model, tensors)
        except ValueError as problem:
            if not self.spoilt:
                raise
            kept = not any(bool(weight.any()) for weight in weights.values())
            return {"a ValueError names it": self.spoilt in str(problem), "the model is unchanged": kept}
        found: dict[str, Any] = {
            "dictionary as it was": tensors.keys() == self.kwargs.keys(),
            "trainable": all(weight.requires_grad for weight in model.parameters()),
            "gradients on afterwards": torch.is_grad_enabled(),
        }
        for tensor in tensors.values():
            tensor.add_(100)
        return found | {name: p.detach().clone() for name, p in model.named_parameters()}


def counted(shapes: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Return a tensor of each shape, every second in float64, that counts up from 10, 20, and so on."""
    found = {}
    for number, (name, shape) in enumerate(shapes.items(), start=1):
        size = int(torch.Size(shape).numel())
        dtype = torch.float64 if number % 2 else torch.float32
        found[name] = 10.0 * number + torch.arange(size, dtype=dtype).reshape(tuple(shape)) / 10
    return found
