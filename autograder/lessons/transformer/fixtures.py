"""What lesson 07 needs beside the student's code: parts to pass in, a scripted model, a small one to train.

This module is the only one of the lesson that the sandbox sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import nn

from coursework.engine.operation import Answer, Operation, attribute
from coursework.engine.operations import ModuleOperation

WIDTH, WORDS = 6, 12  # of the parts to pass in
VOCABULARY = 17  # of the scripted model
FIRST_SOURCE = 4  # the first token of source 0; source 1 begins with 5, and so on
FIRST_WORD = 6  # of those that a rule can say; smaller ones are special
LONGEST = 9  # words until a row that has not ended loses the thread
PLACES = 13  # at which a row may end, or beyond the longest; prime, so that each has its token
LOST = 3  # what the scripted model says if it is not called as it should be
RATE = 0.5  # the learning rate of training


class OwnEncoder(nn.Module):
    """An encoder like no other: it adds to each token the mean of the tokens that its mask shows."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.linspace(-1, 1, WORDS * WIDTH).sin().reshape(WORDS, WIDTH))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B,S), mask that broadcasts to (B,S,S) -> (B,S,WIDTH)."""
        x = self.table[ids]
        return x + _means(x, mask, ids.size(1))


class OwnDecoder(nn.Module):
    """A decoder of the same kind, which adds means of the memory as well."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.linspace(0, 9, WORDS * WIDTH).cos().reshape(WORDS, WIDTH))

    def forward(
        self,
        ids: torch.Tensor,
        memory: torch.Tensor,
        self_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """(B,T), (B,S,WIDTH), masks -> (B,T,WIDTH)."""
        x, length = self.table[ids], ids.size(1)
        return x + _means(x, self_mask, length) + 2 * _means(memory, memory_mask, length)


def _means(x: torch.Tensor, mask: torch.Tensor | None, queries: int) -> torch.Tensor:
    """Return, for each query, the mean of x (B, N, WIDTH) over what the mask shows it."""
    size = (x.size(0), queries, x.size(1))
    shown = torch.ones(size) if mask is None else mask.expand(size).to(x.dtype)
    return shown @ x / shown.sum(dim=-1, keepdim=True).clamp(min=1)


@dataclass(frozen=True)
class PassParts(ModuleOperation):
    """Build the class with an encoder and a decoder passed in, and call it once with (src, tgt).

    Each is passed in alone as well. The result holds the tables of the parts afterwards, the logits, zero at
    <pad>, whether the parts are in use, which is about the model itself and stays a claim, and of the part
    that was built beside one, all matrices, each divided by the bound of Xavier-uniform.
    """

    names = frozenset(["encoder", "decoder", "logits"])

    def run(self, answer: Answer) -> Any:
        build = answer.find()
        parts: dict[str, nn.Module] = {"encoder": OwnEncoder(), "decoder": OwnDecoder()}
        alone: dict[str, nn.Module] = {"encoder": OwnEncoder(), "decoder": OwnDecoder()}
        model = build(*self.init, **parts).eval()
        used, tables, matrices = {}, {}, {}
        for (name, part), beside in zip(alone.items(), ("decoder", "encoder"), strict=True):
            other = build(*self.init, **{name: part})
            used[f"{name} in use"] = attribute(model, name) is parts[name] and attribute(other, name) is part
            both = [each.get_parameter("table").detach() for each in (parts[name], part)]
            tables[f"{name} table"] = torch.stack(both)
            built = [each.detach() for each in attribute(other, beside).parameters() if each.dim() == 2]
            bounds = [(6 / sum(each.shape)) ** 0.5 for each in built]
            scaled = [(m / bound).flatten() for m, bound in zip(built, bounds, strict=True)]
            matrices[f"{beside} start"] = torch.cat(scaled)
        src, tgt = self.calls[0]
        logits = model(src, tgt).masked_fill((tgt == 0)[..., None], 0.0)
        return {**used, **tables, **matrices, "logits": logits}

    def read(self, value: Any) -> Any:
        found = {key: value[key] for key in ("encoder in use", "decoder in use", "logits")}
        for name, part in (("encoder", OwnEncoder()), ("decoder", OwnDecoder())):
            found[f"{name} untouched"] = torch.equal(value[f"{name} table"], part.table.expand(2, -1, -1))
            start = value[f"{name} start"]  # of a uniform distribution from −1 to 1, 1 / √3 is the spread
            found[f"{name} start"] = bool(0.5 < start.std() < 0.65 and start.abs().max() < 1 + 1e-4)
        return found


class Scripted(nn.Module):
    """A model that speaks by a rule as long as it is called as it should be, and notes how it is called.

    Each next word follows from `factor`, the source and the words so far; nowhere does the model hold
    what it will say. A source is known by its first token, and so is its memory; the second one says
    where it ends. If a row is not given all its tokens so far, or gets another row's memory, the
    likeliest next word is LOST.
    """

    def __init__(self, factor: int, pad_id: int, sos_id: int = 1, eos_id: int = 2) -> None:
        super().__init__()
        self.factor, self.pad_id, self.sos_id, self.eos_id = factor, pad_id, sos_id, eos_id
        self.weight = nn.Parameter(torch.ones(1))
        self.encoded_rows = 0
        self.in_train_mode, self.with_gradient, self.after_the_end = False, False, False

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        """(B,S) -> (B,S,1), a memory that names its source."""
        self.encoded_rows += len(src)
        self._note()
        return src[..., None].float() * self.weight

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        """(B,T), (B,S,1), (B,S) -> logits (B,T,V)."""
        self._note()
        self.after_the_end |= bool((tgt[:, 1:] == self.eos_id).any(dim=1).all())
        scores = torch.linspace(0, 1, VOCABULARY).repeat(*tgt.shape, 1)
        for row, (tokens, source) in enumerate(zip(tgt.tolist(), src[:, :2].tolist(), strict=True)):
            known = memory[row, :2, 0].detach().round().tolist() == source
            for place in range(len(tokens)):
                word = self._next(tokens[: place + 1], source) if known else LOST
                scores[row, place] += place / 100  # a later position is a likelier one, for any word
                scores[row, place, word] = 2.0 + (0.5 if place % 2 else 0.0)
        return scores * self.weight

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """(B,S), (B,T) -> logits (B,T,V)."""
        return self.decode(tgt, self.encode(src), src)

    def _note(self) -> None:
        self.in_train_mode |= self.training
        self.with_gradient |= torch.is_grad_enabled()

    def _next(self, tokens: list[int], source: list[int]) -> int:
        """Return what follows if the row has heard its own words so far, else LOST."""
        said = self.sos_id
        for place, token in enumerate(tokens):
            if token != said:
                return LOST
            said = FIRST_WORD + (self.factor * token + 5 * source[0] + place) % (VOCABULARY - FIRST_WORD)
            if place == end_of(source[1], self.factor):
                said = self.eos_id
        return said if len(tokens) <= LONGEST else LOST


def end_of(token: int, factor: int) -> int:
    """Return the place at which a source ends whose second token is `token`."""
    return (token * factor) % PLACES


def token_of_end(end: int, factor: int) -> int:
    """Return the token that ends a source there: the inverse of `end_of`."""
    return next(t for t in range(FIRST_SOURCE, VOCABULARY) if end_of(t, factor) == end)


@dataclass(frozen=True)
class Decode(Operation):
    """Let the function decode from a scripted model; the result is its ids (B, at most max_len).

    `factor` is the model's; `kwargs` (`sos_id`, `eos_id`) go to the function and to the model; `train` is
    its mode.
    """

    factor: int
    src: torch.Tensor
    max_len: int
    kwargs: Mapping[str, int] = field(default_factory=dict)
    pad_id: int = 0
    train: bool = False

    arguments_in: ClassVar[Sequence[str]] = ("src",)

    def run(self, answer: Answer) -> Any:
        return self.decode(answer)[1]

    def read(self, value: Any) -> Any:
        # Trailing columns of nothing but padding are dropped: a function may return them or not.
        if not isinstance(value, torch.Tensor) or value.dim() != 2 or value.size(1) > self.max_len:
            return value
        used = (value != self.pad_id).any(dim=0).nonzero()
        return value[:, : int(used[-1]) + 1] if len(used) else value

    def decode(self, answer: Answer) -> tuple[Scripted, Any]:
        """Return the model after decoding, and what the function returned."""
        model = Scripted(self.factor, self.pad_id, **self.kwargs).train(self.train)
        return model, answer.find()(model, self.src, self.max_len, **self.kwargs)


@dataclass(frozen=True)
class DecodeFacts(Decode):
    """Let the function decode from a scripted model; the result is what it did to the model: claims."""

    def run(self, answer: Answer) -> Any:
        model, ids = self.decode(answer)
        return {
            "sources encoded": model.encoded_rows,
            "in train mode": model.in_train_mode,
            "with gradient": model.with_gradient,
            "called after the end": model.after_the_end,
            "mode afterwards": model.training,
            "trainable afterwards": model.weight.requires_grad,
            "gradient in the result": isinstance(ids, torch.Tensor) and ids.requires_grad,
        }


class SmallModel(nn.Module):
    """The smallest model with an encoder and a decoder: logits from one token and the whole source.

    `weights` are `source` (V, D), `target` (V, D), `out` (D, V) and `bias` (V,).
    """

    pad_id = 0

    def __init__(self, weights: Mapping[str, torch.Tensor], dropout: float) -> None:
        super().__init__()
        for name, value in weights.items():
            self.register_parameter(name, nn.Parameter(value.clone()))
        self.dropout = nn.Dropout(dropout)

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        """(B,S) -> (B,S,D)."""
        return self.get_parameter("source")[src] * (src != self.pad_id)[..., None]

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, _src: torch.Tensor) -> torch.Tensor:
        """(B,T), (B,S,D), (B,S) -> logits (B,T,V)."""
        features = torch.tanh(self.get_parameter("target")[tgt] + memory.sum(dim=1, keepdim=True))
        logits: torch.Tensor = self.dropout(features) @ self.get_parameter("out")
        return logits + self.get_parameter("bias")

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """(B,S), (B,T) -> logits (B,T,V)."""
        return self.decode(tgt, self.encode(src), src)


class CountingSGD(torch.optim.SGD):
    """Plain gradient descent that counts its steps, and those for which there was a gradient."""

    steps = useful = 0

    def step(self, closure: Any = None) -> Any:
        """Take a step and count it."""
        self.steps += 1
        result = super().step(closure)  # a closure may be what makes the gradients
        gradients = (p.grad for group in self.param_groups for p in group["params"])
        self.useful += any(grad is not None and bool(grad.any()) for grad in gradients)
        return result


CountingSGD.step.hooked = True  # type: ignore[attr-defined] # or torch replaces it at first use


@dataclass(frozen=True)
class TrainSteps(Operation):
    """Let the function train a small model, one step for each (src, tgt) of `batches`.

    `train` is the model's mode at first; `kwargs` go to the function. The result holds the losses,
    the weights and the mode afterwards, and how often the optimiser stepped. The last two are claims.
    """

    weights: Mapping[str, torch.Tensor]
    batches: Sequence[Sequence[torch.Tensor]]
    kwargs: Mapping[str, float] = field(default_factory=dict)
    train: bool = True
    dropout: float = 0.0

    arguments_in: ClassVar[Sequence[str]] = ("batches",)

    @property
    def arguments(self) -> Sequence[Any]:
        """The tensors of all batches, one after the other."""
        return [tensor for batch in self.batches for tensor in batch]

    def run(self, answer: Answer) -> Any:
        return self.trained(answer)[1]

    def trained(self, answer: Answer) -> tuple[SmallModel, dict[str, Any]]:
        """Return the model after training, and the report."""
        model = SmallModel(self.weights, self.dropout).train(self.train)
        optimiser = CountingSGD(model.parameters(), lr=RATE)
        step = answer.find()
        losses = [step(model, src, tgt, optimiser, **self.kwargs) for src, tgt in self.batches]
        after = {name: value.detach().clone() for name, value in model.named_parameters()}
        counts = {"steps": optimiser.steps, "steps with a gradient": optimiser.useful}
        return model, {"losses": losses, "weights": after, **counts}


@dataclass(frozen=True)
class ModeAfterwards(TrainSteps):
    """Let the function train a small model; the result says as well whether it is in train mode then."""

    def run(self, answer: Answer) -> Any:
        model, report = self.trained(answer)
        return {**report, "train mode": model.training}


@dataclass(frozen=True)
class SampleShares(Operation):
    """Draw `draws` ids for each row of logits (B, V), and read how often each came, (B, V)."""

    logits: torch.Tensor
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 40_000
    seed: int = 1

    arguments_in: ClassVar[Sequence[str]] = ("logits", "kwargs")
    named: ClassVar[Sequence[str]] = ("kwargs",)

    def run(self, answer: Answer) -> Any:
        many = self.logits.repeat_interleave(self.draws, dim=0)
        generator = torch.Generator().manual_seed(self.seed)
        return answer.find()(many, **self.kwargs, generator=generator)

    def read(self, value: Any) -> Any:
        rows, size = self.logits.shape
        if isinstance(value, torch.Tensor) and value.shape == (rows, size):
            raise ValueError(f"{rows * self.draws} ids are expected")  # shares are what is read
        if not isinstance(value, torch.Tensor) or value.shape != (rows * self.draws,):
            return value
        if value.dtype != torch.int64 or value.min() < 0 or value.max() >= size:
            return value
        counts = torch.stack([torch.bincount(row, minlength=size) for row in value.view(rows, -1)])
        return counts / self.draws


@dataclass(frozen=True)
class SampleTwice(Operation):
    """Draw from logits (B, V) with one seed twice, and with another, and read what agrees."""

    logits: torch.Tensor

    arguments_in: ClassVar[Sequence[str]] = ("logits",)

    names = frozenset(["same seed, same words", "another seed, other words"])

    def run(self, answer: Answer) -> Any:
        sample, generators = answer.find(), [torch.Generator().manual_seed(seed) for seed in (1, 1, 2)]
        return [sample(self.logits, generator=generator) for generator in generators]

    def read(self, value: Any) -> dict[str, bool]:
        first, second, third = value
        return {
            "same seed, same words": torch.equal(first, second),
            "another seed, other words": not torch.equal(first, third),
        }
