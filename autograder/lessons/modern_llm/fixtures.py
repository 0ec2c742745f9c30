"""What lesson 09 needs beside the student's code: files of weights, and a scripted model with a cache.

This module is the only one of the lesson that the sandbox sees.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from coursework.engine.modern_parts import WRITING, ids_given, logits_given
from coursework.engine.operation import Answer, Operation, attribute, first_tensor, load
from coursework.engine.operations import TwoOutputs

VOCABULARY = 21  # of the scripted model; 17 of its words are given by its rule, a prime
OTHER = 3  # what it writes where its rule gives `end_id`
FIRST_WORD = 4  # of those that its rule gives
NEVER = 99  # a place that no text reaches


@dataclass(frozen=True)
class FirstOutputs(TwoOutputs):
    """As `TwoOutputs`, for a module that returns its past besides its output."""

    def _output(self, built: nn.Module, number: int) -> torch.Tensor:
        return first_tensor(built.eval()(*self.calls[number]))


@dataclass(frozen=True)
class LoadTensors(Operation):
    """Let the function copy `tensors` into a Llama with the weights `before`, built with `init`.

    The result holds the weights at `paths`; with `facts`, also what the function left of the model and of the
    dictionary. `double` asks for a model in float64. With `afterwards`, 1 is added to every tensor before the
    result is read.

    With `refused`, a ValueError is expected: the result says whether it came, or another exception, what its
    message named, and whether the model is as it was. It should name one of `refused`.
    """

    init: Sequence[int]
    tensors: Mapping[str, torch.Tensor]
    before: Mapping[str, torch.Tensor]
    paths: Sequence[str] = ()
    refused: Sequence[str] = ()
    facts: bool = False
    afterwards: bool = False
    double: bool = False

    arguments_in: ClassVar[Sequence[str]] = ("tensors",)

    @property
    def names(self) -> frozenset[str]:
        """The weights of the model, by their paths."""
        return frozenset(["Llama", *self.before])

    def run(self, answer: Answer) -> Any:
        model = answer.find("Llama")(*self.init)
        for path, value in self.before.items():
            load(model, path, value)
        model = (model.double() if self.double else model).train()
        given = {name: tensor.clone() for name, tensor in self.tensors.items()}
        if self.refused:
            said, other = _refusal(answer.find(), model, given)
            left = {path: attribute(model, path).detach() for path in self.before}
            return {"message": said, "other": other, "left": left}
        answer.find()(model, given)
        found: dict[str, Any] = {}
        if self.facts:
            trained = {id(p) for p in model.parameters() if p.requires_grad}
            found["trainable"] = all(id(attribute(model, path)) in trained for path in self.before)
            found["given"] = {name: _copied(entry) for name, entry in given.items()}
        for tensor in given.values() if self.afterwards else ():
            tensor.add_(1.0)
        return found | {path: attribute(model, path).detach() for path in self.paths}

    def read(self, value: Any) -> Any:
        if self.refused:
            said, other, left = value["message"], bool(value["other"]), value["left"]
            came = isinstance(said, str) or other
            return {
                "another exception": other,
                "refused": came,
                "named": isinstance(said, str) and any(name in said for name in self.refused),
                "unchanged": not came or all(torch.equal(left[path], self.before[path]) for path in left),
            }
        if not self.facts:
            return value
        given = value["given"]
        kept = given.keys() == self.tensors.keys() and all(
            given[name] is not None and torch.equal(given[name], tensor)
            for name, tensor in self.tensors.items()
        )
        return {**{key: value[key] for key in value if key != "given"}, "dictionary kept": kept}


def _refusal(load_llama: Any, model: nn.Module, tensors: dict[str, torch.Tensor]) -> tuple[str | None, bool]:
    """Return what the ValueError says that should come, None without one, and whether another came."""
    try:
        load_llama(model, tensors)
    except ValueError as problem:
        return str(problem)[:2000], False
    except NotImplementedError:  # of an answer that is not written yet
        raise
    except Exception:
        return None, True
    return None, False


def _copied(entry: Any) -> torch.Tensor | None:
    return entry.clone() if isinstance(entry, torch.Tensor) else None


class ScriptedModel(nn.Module):
    """A model with a cache that writes by a rule: the next token follows from `factor` and all tokens so far.

    Its past is what a Llama's would be, a list of pairs, one for each of two layers, (1, 1, P, 2) each; the
    tokens so far are read from there. After `end` tokens of its own it writes `end_id`. `length` is that of
    the prompt. It notes how it is called, and fails at call number `fails_at`.
    """

    fails_at = -1

    def __init__(self, factor: int, length: int, end: int, end_id: int) -> None:
        super().__init__()
        self.factor, self.length, self.end, self.end_id = factor, length, end, end_id
        self.weight = nn.Parameter(torch.ones(1))
        self.dropout = nn.Dropout(0.5)
        self.lengths: list[int] = []
        self.in_train_mode, self.with_gradient = False, False

    def forward(self, ids: torch.Tensor, past: Any = None) -> tuple[torch.Tensor, list[Any]]:
        """(1,T), a list of two pairs -> logits (1,T,V), a new list of two pairs."""
        self.in_train_mode |= self.training or self.dropout.training
        self.with_gradient |= torch.is_grad_enabled()
        self.lengths.append(ids_given(ids).size(1))
        if len(self.lengths) == self.fails_at:
            raise PlannedError
        new = ids[:, None, :, None].float().expand(-1, -1, -1, 2)  # (1, 1, T, 2)
        pairs = [(new, new + 1)] * 2
        if past is not None:
            grown = zip(past, pairs, strict=True)
            pairs = [(torch.cat([k, a], dim=2), torch.cat([v, b], dim=2)) for (k, v), (a, b) in grown]
        tokens = [round(number) for number in pairs[0][0][0, 0, :, 0].tolist()]
        logits = torch.arange(VOCABULARY).sin().repeat(*ids.shape, 1)
        for place in range(ids.size(1)):
            known = tokens[: len(tokens) - ids.size(1) + place + 1]
            logits[0, place, self.word(known, 5)] = 2.0
            logits[0, place, self.next(known)] = 3.0 + place / 10  # an earlier position is less sure
        return logits * self.weight, pairs

    def next(self, tokens: Sequence[int]) -> int:
        """Return what follows these tokens; inside the prompt, where nobody asks, a token of no text."""
        if len(tokens) < self.length:
            return 0
        return self.end_id if len(tokens) - self.length == self.end else self.word(tokens, 0)

    def word(self, tokens: Sequence[int], shift: int) -> int:
        """Return what the rule gives; for each shift below 17 another word. No word is given for ever."""
        mixed = self.factor * sum((place + 2) * token for place, token in enumerate(tokens))
        mixed += 5 * len(tokens) + shift
        found = FIRST_WORD + mixed % (VOCABULARY - FIRST_WORD)
        return OTHER if found == self.end_id else found


class PlannedError(Exception):
    """What `choose` or the model raises, where it is asked to."""


@dataclass(frozen=True)
class Write(Operation):
    """Let the function write with a scripted model; the result is the new ids (1, N).

    `factor` is the model's; it writes `end_id` after `end` tokens. `choose` takes the token of rank `rank`
    (0 is the likeliest) of the logits that it is given.
    """

    factor: int
    ids: torch.Tensor
    max_new: int
    end: int = NEVER
    end_id: int = 2
    rank: int = 0
    train: bool = False

    arguments_in: ClassVar[Sequence[str]] = ("ids",)

    faults: ClassVar = WRITING

    def run(self, answer: Answer) -> Any:
        return self.written(answer)[2]

    def written(self, answer: Answer) -> tuple[ScriptedModel, list[torch.Tensor], Any]:
        """Return the model afterwards, the logits that `choose` was given, and what the function returned."""
        model, asked = self.model(), []

        def choose(logits: torch.Tensor) -> torch.Tensor:
            asked.append(logits_given(logits, VOCABULARY).detach().clone())
            return logits.sort(dim=-1, descending=True).indices[:, self.rank]

        return model, asked, answer.find()(model, self.ids, self.max_new, choose, self.end_id)

    def model(self) -> ScriptedModel:
        """Return the model in its mode."""
        return ScriptedModel(self.factor, self.ids.size(1), self.end, self.end_id).train(self.train)



@dataclass(frozen=True)
class WriteFacts(Write):
    """Let the function write; the result is how it called the model and `choose`: claims.

    A call of either after the last token is allowed, and left out.
    """

    def run(self, answer: Answer) -> Any:
        model, asked, ids = self.written(answer)
        count = ids.size(1) if isinstance(ids, torch.Tensor) and ids.dim() == 2 else 0
        first, *more = model.lengths or [0]
        return {
            "prompt at once": first == self.ids.size(1) and model.lengths.count(first) == 1,
            "one at a time": {*more} <= {1} and len(more) <= count,
            "in train mode": model.in_train_mode,
            "with gradient": model.with_gradient,
            "gradient in the result": isinstance(ids, torch.Tensor) and ids.requires_grad,
            "train mode afterwards": model.training,
            "trainable afterwards": model.weight.requires_grad,
            "logits": torch.cat(asked[:count]) if asked[:count] else None,
        }


@dataclass(frozen=True)
class FailingWrite(Write):
    """Let the function write with a `choose` or a model that raises at its third call.

    `where` is "choose" or "model". The result is the mode that the model is left in, whether an exception
    reached the caller, and whether that was another one, raised in its place.
    """

    where: str = "choose"

    def run(self, answer: Answer) -> Any:
        model, calls = self.model(), 0
        if self.where == "model":
            model.fails_at = 3

        def choose(logits: torch.Tensor) -> torch.Tensor:
            nonlocal calls
            calls += 1
            if self.where == "choose" and calls == 3:
                raise PlannedError
            return logits_given(logits, VOCABULARY).argmax(dim=-1)

        raised, replaced = False, False
        try:
            answer.find()(model, self.ids, self.max_new, choose, self.end_id)
        except PlannedError:
            raised = True
        except Exception as problem:
            if not isinstance(problem.__context__, PlannedError):
                raise
            raised = replaced = True
        return {
            "exception reaches the caller": raised,
            "another in its place": replaced,
            "train mode afterwards": model.training,
        }
