"""Operations of lesson 9: texts that a module reads in pieces, a model to write with, and one to load.

The last two are for public examples, as the functions in `parts` are: they call the student's answer on
something small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from coursework.engine.operation import Answer, StructureError, kind_of, returned_pair, returned_something
from coursework.engine.operations import CallFunction, CallModule

PAST: Final = "past"
PAIR: Final = {"pair": "Return a pair: the output, and the keys and values so far."}
WRITING: Final = {
    "logits": "`choose` should get the logits of the last position, of shape (1, V). "
    "Print the shape of what it gets.",
    "ids": "The model should get ids of shape (1, T): the prompt, and then one token at a time, of shape "
    "(1, 1). Print the shape of what it gets.",
}
WORDS: Final = 10
TOP: Final = 3.0  # the likeliest token's logit
WIDTH, KEYS, HIDDEN, TOKENS = 4, 2, 3, 5  # of the model to load


@dataclass(frozen=True)
class InPieces(CallModule):
    """Build the class, and call it once for each entry of `calls`; a pair comes back each time.

    An argument PAST stands for the past that the call before returned. `wanted` says what is kept of each
    call: "output", "past" or "both". With `last`, the result is what the last call gave, else a list if there
    are several.
    """

    wanted: str = "both"
    last: bool = False

    faults: ClassVar = PAIR

    def call(self, built: nn.Module) -> Any:
        """Call a module that is built already, piece by piece."""
        past, found = None, list[Any]()
        for call in self.calls:
            output, past = returned_pair(built(*_with_past(call, past)))
            found.append({"output": output, "past": past, "both": (output, past)}[self.wanted])
        return found[-1] if self.last or len(found) == 1 else found


def _with_past(call: Sequence[Any], past: Any) -> list[Any]:
    """Return the arguments of a call, with a past in the place of PAST."""
    return [past if isinstance(argument, str) else argument for argument in call]


@dataclass(frozen=True)
class TwoWaysOn(CallModule):
    """Call with the first entry of `calls`, and with each of the others, in which PAST is the first one's.

    The result holds the outputs of all calls, and whether the past that the first call returned is as it was
    afterwards, with the same tensors in the same places. The latter is about the process, and stays a claim.
    """

    faults: ClassVar = PAIR
    names = frozenset(["past as it was"])

    def call(self, built: nn.Module) -> Any:
        """Call a module that is built already."""
        first, *others = self.calls
        output, past = returned_pair(built(*first))
        before = tree_leaves(past)
        copies = [leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in before]
        outputs = [output, *(returned_pair(built(*_with_past(call, past)))[0] for call in others)]
        after = tree_leaves(past)
        kept = len(after) == len(before) and all(map(_is_kept, after, before, copies))
        return {"outputs": outputs, "past as it was": kept}


def _is_kept(now: Any, then: Any, copy: Any) -> bool:
    """Return whether a leaf of a past is the object that it was, and holds the numbers that it held."""
    if isinstance(then, torch.Tensor):
        return now is then and now.shape == copy.shape and bool(torch.equal(now, copy))
    return bool(now is then)


def ids_given(given: Any) -> torch.Tensor:
    """Return what a model is called with; StructureError if it is not of two dimensions, (1, T)."""
    if not isinstance(given, torch.Tensor) or given.dim() != 2:
        raise StructureError("ids", detail=_form_of(given))
    return given


def logits_given(given: Any, words: int) -> torch.Tensor:
    """Return what `choose` is called with; StructureError if it is not (1, `words`)."""
    if not isinstance(given, torch.Tensor) or given.shape != (1, words):
        raise StructureError("logits", detail=_form_of(given))
    return given


def _form_of(given: Any) -> str:
    """Return what tells a wrong argument from others: a tensor's shape, or the type."""
    return str(tuple(given.shape)) if isinstance(given, torch.Tensor) else kind_of(given)


class Adder(nn.Module):
    """A model with a cache: the next token is the sum of all tokens so far, without its tens."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.calls: list[int] = []
        self.trained, self.with_gradient = False, False

    def forward(self, ids: torch.Tensor, past: Any = None) -> tuple[torch.Tensor, list[Any]]:
        """(1,T), a list with a pair (1,1,P,1) -> logits (1,T,WORDS), a list with a pair (1,1,P+T,1)."""
        self.calls.append(ids_given(ids).size(1))
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

    faults: ClassVar = WRITING

    def run(self, answer: Answer) -> Any:
        """Call it."""
        _, ids, max_new, _, end_id = self.args
        model = Adder().train(self.train)
        as_given: list[bool] = []

        def choose(logits: torch.Tensor) -> torch.Tensor:
            if self.fails and as_given:
                raise InterruptedError
            as_given.append(bool(logits_given(logits, WORDS).max() == TOP))
            return (logits.argmax(dim=-1) + self.step) % WORDS

        try:
            new = returned_something(answer.find()(model, ids, max_new, choose, end_id))
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
    """Parts under names, each a module or the sizes of a matrix or vector of ones."""

    def __init__(self, **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part if isinstance(part, nn.Module) else _ones(*part))


def _ones(*sizes: int) -> nn.Module:
    """Return a module with one weight of ones."""
    module = nn.Module()
    module.register_parameter("weight", nn.Parameter(torch.ones(*sizes)))
    return module


def small_llama() -> nn.Module:
    """Return the parts of a Llama of two layers, all ones."""
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

    `shapes` are those of the tensors by their names in the file. With `spoilt`, one of them is missing,
    left over or of another shape: then the result says whether a ValueError names it, and whether the model
    is as it was.
    """

    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    spoilt: str = ""

    def run(self, answer: Answer) -> Any:
        """Call it, and change the tensors afterwards, which shows in whatever shares their memory."""
        model, tensors = small_llama().double(), counted(self.shapes)
        weights = dict(model.named_parameters())
        try:
            answer.find()(model, tensors)
        except Exception as problem:
            if not self.spoilt or isinstance(problem, NotImplementedError):  # of an answer to be written
                raise
            kept = all(bool(weight.eq(1).all()) for weight in weights.values())
            named = isinstance(problem, ValueError) and self.spoilt in str(problem)
            return {
                "a ValueError comes": isinstance(problem, ValueError),
                "it names the tensor": named,
                "the model is unchanged": kept,
            }
        found: dict[str, Any] = {
            "dictionary as it was": tensors.keys() == self.shapes.keys(),
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
