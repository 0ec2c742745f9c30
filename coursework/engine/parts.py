"""Examples that need more than plain data: small models to decode from, to train and to look into.

Each function takes the student's answer and plain inputs, calls the answer, and returns what is to
be compared. `CallThrough` is the operation that does so.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import nn

from coursework import scope
from coursework.engine.operation import Answer, Fault, StructureError, returned_something
from coursework.engine.operations import CallFunction
from coursework.heat_map import read_heat_map
from coursework.small_bert import SmallBert, SmallTokeniser

SOS, EOS, LOST, WORDS, WIDTH = 1, 2, 3, 10, 4
PIECES = ("the", "cat", "sat", "it", "slept", ".")


class Echo(nn.Module):
    """A model that repeats its source, word by word, and then ends.

    If the tokens so far are not the beginning of `<sos>`, source, `<eos>`, it says LOST.
    """

    pad_id = 10

    def __init__(self, sos_id: int, eos_id: int) -> None:
        super().__init__()
        self.sos_id, self.eos_id = sos_id, eos_id
        self.weight = nn.Parameter(torch.ones(1))
        self.encoded, self.trained, self.with_gradient = 0, False, False

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        """(B,S) -> (B,S,1)."""
        self.encoded += len(src)
        return src[..., None].float() * self.weight

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, _src: torch.Tensor) -> torch.Tensor:
        """(B,T), (B,S,1), (B,S) -> logits (B,T,WORDS + 1)."""
        self.trained |= self.training
        self.with_gradient |= torch.is_grad_enabled()
        words = memory[..., 0].round().long()
        logits = torch.zeros(*tgt.shape, WORDS + 1)
        for row, (tokens, source) in enumerate(zip(tgt.tolist(), words.tolist(), strict=True)):
            said = [self.sos_id, *(w for w in source if w != self.pad_id), self.eos_id]
            for place in range(len(tokens)):
                told = said[: place + 2] if tokens[: place + 1] == said[: place + 1] else [LOST]
                logits[row, place, told[-1] if len(told) == place + 2 else LOST] = 3.0 + place
        return logits

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """(B,S), (B,T) -> logits (B,T,WORDS)."""
        return self.decode(tgt, self.encode(src), src)


def greedy_decode(answer: Any, src: torch.Tensor, max_len: int, **ends: int) -> Any:
    """Decode from a model that repeats its source: the ids without columns of padding, and some facts."""
    model = Echo(ends.get("sos_id", SOS), ends.get("eos_id", EOS)).train()
    ids = returned_something(answer(model, src, max_len, **ends))
    if isinstance(ids, torch.Tensor) and ids.dim() == 2:
        used = (ids != model.pad_id).any(dim=0).nonzero()
        ids = ids[:, : int(used[-1]) + 1] if len(used) else ids
    facts = {
        "decoded in eval mode": not model.trained,
        "without gradients": not model.with_gradient,
        "mode as it was": model.training,
        "each source encoded once": model.encoded == len(src),
        "gradients on afterwards": torch.is_grad_enabled() and model.weight.requires_grad,
    }
    answer(model.eval(), src, max_len, **ends)
    facts["mode as it was"] &= not model.training
    return {"ids": ids, **facts}


class Counter(nn.Module):
    """The smallest model with an encoder and a decoder: each next word depends on one before it."""

    pad_id = 0

    def __init__(self) -> None:
        super().__init__()
        angles = torch.arange(WORDS * WORDS, dtype=torch.float32).reshape(WORDS, WORDS)
        self.table = nn.Parameter(angles.sin())
        self.dropout = nn.Dropout(0.99)
        self.seen_in_train_mode = False

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        """(B,S) -> (B,S,WORDS)."""
        return self.table[src]

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, _src: torch.Tensor) -> torch.Tensor:
        """(B,T), (B,S,WORDS), (B,S) -> logits (B,T,WORDS)."""
        self.seen_in_train_mode = self.training
        return self.table[tgt] + memory.mean(dim=1, keepdim=True)

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """(B,S), (B,T) -> logits (B,T,WORDS)."""
        return self.decode(tgt, self.encode(src), src)


def train_step(answer: Any, src: torch.Tensor, tgt: torch.Tensor, smoothing: float = 0.0) -> Any:
    """Train a small model for two steps: the losses, a row of its weights afterwards, its mode."""
    model = Counter().eval()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = [answer(model, src, tgt, optimiser, smoothing=smoothing) for _ in range(2)]
    weights = model.table.detach()[:4, :6]
    return {"losses": losses, "weights": weights, "in train mode": model.seen_in_train_mode}


class FourLayers(nn.Module):
    """The four layers of an attention, all numbers 0.5: zeros would hide that something was added."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            layer = nn.Linear(2, 2)
            nn.init.constant_(layer.weight, 0.5)
            nn.init.constant_(layer.bias, 0.5)
            setattr(self, name, layer)


def load_from_torch(answer: Any) -> Any:
    """Load PyTorch's attention of width 2, whose numbers count up from 1, into four layers."""
    theirs = nn.MultiheadAttention(2, 2)  # two heads: a split by heads shows
    with torch.no_grad():
        count = 1.0
        for parameter in theirs.parameters():
            parameter.copy_(torch.arange(count, count + parameter.numel()).reshape(parameter.shape))
            count += parameter.numel()
    mine = _loaded(answer, theirs)
    shared = {id(parameter) for parameter in theirs.parameters()}
    copied = all(id(parameter) not in shared for parameter in mine.parameters())
    return _read(mine) | {"copied": copied}


def _read(mine: nn.Module) -> dict[str, Any]:
    """Return the numbers of a module, and whether all can still be trained."""
    numbers = {name: p.detach().clone() for name, p in mine.named_parameters()}
    return {**numbers, "trainable": all(p.requires_grad for p in mine.parameters())}


def _loaded(answer: Any, theirs: nn.Module) -> nn.Module:
    """Let the answer copy an attention of width 2 into four layers, and change it afterwards."""
    mine = FourLayers()
    answer(mine, theirs)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(100)  # shows in whatever shares its memory
    return mine


def attention_maps(answer: Any, src: torch.Tensor, tgt: torch.Tensor) -> Any:
    """Collect the maps of a small Transformer with fixed weights, in train mode and then in eval mode."""
    model = _part("Transformer")(WORDS, WORDS, WIDTH, 2, 1, 6, 16, 0.5)
    _fill(model, 1.5)
    maps = answer(model.train(), src, tgt)
    kept = model.training
    answer(model.eval(), src, tgt)
    return {**maps, "mode as it was": kept and not model.training} if isinstance(maps, dict) else maps


def sentence_pair_attention(answer: Any, a: str, b: str) -> Any:
    """Ask for the attentions of two sentences in a small BERT with fixed weights."""
    tokeniser = SmallTokeniser(PIECES)
    model = SmallBert(len(tokeniser), d_model=4, num_heads=2, num_layers=1)
    _fill(model, 2.0)
    found = answer(model.eval(), tokeniser, a, b)
    if isinstance(found, (tuple, list)) and len(found) == 3:
        return (*found[:2], whole_number(found[2]))
    return found


def best_span(answer: Any, start_logits: torch.Tensor, end_logits: torch.Tensor, max_length: int) -> Any:
    """Ask for a span; a pair of integers of any kind, or a tensor of two, comes back as a pair of ints."""
    found = answer(start_logits, end_logits, max_length)
    if hasattr(found, "tolist") and getattr(found, "ndim", 0) == 1:
        found = tuple(found.tolist())
    return tuple(map(whole_number, found)) if isinstance(found, (tuple, list)) else found


def whole_number(value: Any) -> Any:
    """Return an int for an int of any kind, or a tensor of one; anything else as it is."""
    if isinstance(value, (bool, float)):
        return value
    if isinstance(value, torch.Tensor):
        return int(value) if value.dim() == 0 and not value.is_floating_point() else value
    try:
        return value.__index__()
    except AttributeError:
        return value


def _fill(model: nn.Module, scale: float) -> None:
    """Give a model fixed weights, whatever the random state."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(scale * drawn * max(parameter.size(-1), 1) ** -0.5)


def plot_attention(answer: Any, weights: torch.Tensor, queries: Sequence[str], keys: Sequence[str]) -> Any:
    """Let the answer draw on the second of two Axes, and read what is there; no figure stays open."""
    from matplotlib import pyplot as plt

    figure, (first, given) = plt.subplots(1, 2)
    before = plt.get_fignums()
    try:
        plt.sca(first)
        read = read_heat_map(answer(weights, queries, keys, ax=given))
        return {**read, "drawn elsewhere": first.has_data()}
    finally:
        for number in {*plt.get_fignums()} - {*before} | {figure.number}:
            plt.close(number)


def noam_rates(answer: Any, _step: int, d_model: int, warmup: int) -> Any:
    """Return whether step 0 gives a finite number, and the rates of the next 30 steps, in thousandths."""
    rates = [1000.0 * float(answer(n, d_model, warmup)) for n in range(31)]
    return math.isfinite(rates[0]), torch.tensor(rates[1:])


def _part(name: str) -> Any:
    return scope.stand_in(name)  # when it is needed: not every lesson hands out each


def decode_step(
    answer: Any,
    x: torch.Tensor,
    _kind: Any = scope.stand_in("CausalDecoderLayer"),  # noqa: B008 - taken early on purpose
) -> Any:
    """Feed the positions of x (B, T, 4) one by one to a causal decoder layer with fixed weights.

    The layer's class is taken early: in the sandbox it is gone once a lesson's run has begun.
    """
    layer = _kind(4, 2, 6).eval()
    _fill(layer, 1.0)
    outputs, cache = [], None
    with torch.no_grad():
        for place in range(x.size(1)):
            y, cache = answer(layer, x[:, place : place + 1], cache)
            outputs.append(y)
    return torch.cat(outputs, dim=1)


def silence_head(answer: Any, x: torch.Tensor, head: int) -> Any:
    """Return the output of a two-headed attention inside the context, and after it."""
    attention = _part("MultiHeadAttention")(x.size(-1), 2).eval()
    _fill(attention, 1.0)
    before = attention(x, x, x)[0]
    with answer(attention, head):
        inside = attention(x, x, x)[0]
    after = attention(x, x, x)[0]
    return {"inside": inside.detach(), "as before": bool(torch.equal(before, after))}


def dropped_attention(answer: Any, x: torch.Tensor, dropout: float) -> Any:
    """Return the output of an attention in train mode; its weights may be before or after dropout."""
    attention = answer(x.size(-1), 1, dropout).train()
    for name in ("w_q", "w_k", "w_v", "w_o"):
        _fill(getattr(attention, name), 1.0)
    found = attention(x, x, x)
    return found[0] if isinstance(found, (tuple, list)) and found else found


class BertAttention(nn.Module):
    """Layers with the names that `bert.encoder.layer[i].attention` has in the library transformers."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.self, self.output = nn.Module(), nn.Module()
        for name in ("query", "key", "value"):
            setattr(self.self, name, nn.Linear(d_model, d_model))
        self.output.dense = nn.Linear(d_model, d_model)
        self.output.LayerNorm = nn.LayerNorm(d_model)


def load_from_bert(answer: Any) -> Any:
    """Load BERT's attention of width 2, whose numbers count up from 1, into four layers."""
    theirs = BertAttention(2)
    layers = [part for part in theirs.modules() if isinstance(part, nn.Linear)]
    with torch.no_grad():
        for number, layer in enumerate(layers):
            layer.weight.copy_(torch.arange(1.0, 5.0).reshape(2, 2) + 10 * number)
            layer.bias.copy_(torch.arange(5.0, 7.0) + 10 * number)
    return _read(_loaded(answer, theirs))


def sample_next(answer: Any, logits: torch.Tensor, **options: float) -> Any:
    """Return which tokens come up in 2000 draws for each row of logits."""
    generator = torch.Generator().manual_seed(3)
    drawn = answer(logits.repeat(2000, 1), generator=generator, **options)
    if isinstance(drawn, torch.Tensor) and drawn.dim() != 1:
        raise StructureError(Fault.OUTPUT_SHAPE, detail=str(tuple(drawn.shape)))
    return sorted({*drawn.tolist()})


TRIALS: Final[Mapping[str, Callable[..., Any]]] = {
    trial.__name__: trial
    for trial in (
        attention_maps, best_span, decode_step, dropped_attention, greedy_decode, load_from_bert,
        load_from_torch, noam_rates, plot_attention, sample_next, sentence_pair_attention, silence_head,
        train_step,
    )
}  # fmt: skip


@dataclass(frozen=True)
class CallThrough(CallFunction):
    """Call the function of `TRIALS` that is named `through`, with the answer and the arguments."""

    through: str = ""

    names = frozenset((
        *(f"w_{layer}.{part}" for layer in "qkvo" for part in ("weight", "bias")),  # of `FourLayers`
        *("cells", "rows", "columns", "scale"),  # of a heat map
    ))  # fmt: skip

    def run(self, answer: Answer) -> Any:
        """Call it."""
        return TRIALS[self.through](answer.find(), *self.args, **self.kwargs)
