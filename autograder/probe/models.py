"""Scenarios for whole models: their parts, their first weights, decoding, and a step of training."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from autograder.probe.scenarios import Inputs, Namespace, add, attribute, build, look_up

CLOSE = 1e-4
FEATURES = 6
LOST = 3  # what a scripted model says when it is not asked as it should be


def methods(namespace: Namespace, inputs: Inputs) -> Any:
    """Build, then run one of `methods` ('' is the call itself) per entry of `calls`.

    Where `real` holds a mask (B, L), the other positions of that result are blanked: padding's own
    outputs are nobody's business. `double` asks for float64.
    """
    built = build(namespace, inputs)
    built = built.double() if inputs.get("double") else built
    results = []
    for method, args, real in zip(inputs["methods"], inputs["calls"], inputs["real"], strict=True):
        result = (attribute(built, method) if method else built)(*args)
        fits = isinstance(result, torch.Tensor) and real is not None
        if fits and result.shape[:2] == real.shape and result.dim() == 3:
            result = result.masked_fill(~real[..., None], 0.0)
        results.append(result)
    return results[0] if len(results) == 1 else results


def rows_moved(namespace: Namespace, inputs: Inputs) -> Any:
    """Return, position by position, whether the output of the two `calls` differs.

    With `rows`, the first that many samples are compared; one or the other call may have more.
    """
    built = build(namespace, inputs)
    before, after = (built(*args)[: inputs["rows"]] for args in inputs["calls"])
    return ((before - after).abs().amax(dim=(0, 2)) > CLOSE).tolist()


def registered(namespace: Namespace, inputs: Inputs) -> Any:
    """Return, for each of `attributes`, whether an optimiser would be given it."""
    built = build(namespace, inputs)
    known = {id(parameter) for parameter in built.parameters()}
    return {path: id(attribute(built, path)) in known for path in inputs["attributes"]}


def defaults(namespace: Namespace, inputs: Inputs) -> Any:
    """Return default values of the constructor of `name`, and `attributes` of what it builds."""
    found = inspect.signature(look_up(namespace, inputs["name"])).parameters
    values = {name: found[name].default for name in inputs["arguments"] if name in found}
    built = build(namespace, inputs)
    return values | {name: attribute(built, name) for name in inputs["attributes"]}


def gradients_at(namespace: Namespace, inputs: Inputs) -> Any:
    """As `module`, then the gradients of the parameters at `paths` for a given cotangent."""
    built = build(namespace, inputs)
    built(*inputs["calls"][0]).backward(inputs["cotangent"])
    return {path: attribute(built, path).grad for path in inputs["paths"]}


def starts(namespace: Namespace, inputs: Inputs) -> Any:
    """Say how each matrix at `attributes` starts, leaving out row `skip` of embeddings."""
    built = build(namespace, inputs)
    return {path: _start(attribute(built, path), inputs["skip"]) for path in inputs["attributes"]}


def _start(matrix: torch.Tensor, skip: int) -> str:
    """Compare a matrix with the uniform distribution of Glorot and Bengio 2010, equation 16."""
    bound = (6 / sum(matrix.shape)) ** 0.5
    kept = [row for row in range(len(matrix)) if row != skip]
    values = matrix.detach()[kept]
    spread = float(values.std()) / (bound / 3**0.5)
    largest = float(values.abs().max()) / bound
    if spread > 1.2:
        return "too wide"
    if spread < 0.8:
        return "too narrow"
    return "right" if 0.9 < largest < 1 + 1e-4 else "not uniform"


class _OwnEncoder(nn.Module):
    """An encoder unlike any other: each token beside the mean of the tokens its mask shows."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.linspace(-1, 1, 12 * FEATURES).sin().reshape(12, FEATURES))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        x = self.table[ids]  # (B, S, FEATURES)
        return x + _means(x, mask, ids.size(1))


class _OwnDecoder(nn.Module):
    """A decoder of the same kind, over a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.linspace(0, 9, 12 * FEATURES).cos().reshape(12, FEATURES))

    def forward(
        self,
        ids: torch.Tensor,
        memory: torch.Tensor,
        self_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        x, length = self.table[ids], ids.size(1)
        return x + _means(x, self_mask, length) + 2 * _means(memory, memory_mask, length)


def _means(x: torch.Tensor, mask: torch.Tensor | None, queries: int) -> torch.Tensor:
    """Return, for each query, the mean of x (B, N, FEATURES) over what the mask shows it."""
    size = (x.size(0), queries, x.size(1))
    shown = torch.ones(size) if mask is None else mask.expand(size).to(x.dtype)
    return shown @ x / shown.sum(dim=-1, keepdim=True).clamp(min=1)


def own_parts(namespace: Namespace, inputs: Inputs) -> Any:
    """Build with parts handed in; say whether they are the ones in use, and untouched."""
    parts: dict[str, nn.Module] = {"encoder": _OwnEncoder(), "decoder": _OwnDecoder()}
    before = {name: part.get_parameter("table").detach().clone() for name, part in parts.items()}
    model = look_up(namespace, inputs["name"])(*inputs["init"], **inputs["init_kwargs"], **parts)
    model.eval()
    facts = {f"{name} in use": attribute(model, name) is part for name, part in parts.items()}
    for name, part in parts.items():
        facts[f"{name} untouched"] = torch.equal(part.get_parameter("table"), before[name])
    src, tgt = inputs["calls"][0]
    logits = model(src, tgt)
    return {**facts, "logits": logits.masked_fill((tgt == 0)[..., None], 0.0)}


class Scripted(nn.Module):
    """A model that says what a script says, as long as it is asked in the right way.

    `script` has a row of tokens for each source; a source is known by its first token, and so is its
    memory. Whoever feeds less than all tokens so far, or another row's memory, hears LOST.
    """

    def __init__(self, script: torch.Tensor, inputs: Inputs) -> None:
        super().__init__()
        self.script, self.sos_id, self.eos_id = script, inputs["sos"], inputs["calls_eos"]
        self.vocab_size, self.pad_id = inputs["vocab"], inputs["pad"]
        self.weight = nn.Parameter(torch.ones(1))
        self.encoded, self.rows = 0, 0
        self.in_train_mode, self.with_gradient, self.needlessly = False, False, False

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        """Return a memory (B, S, 1) that names its source."""
        self.encoded += 1
        self.rows += len(src)
        self._note()
        return src[..., None].float() * self.weight

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        """Return logits (B, T, V)."""
        self._note()
        self.needlessly |= bool((tgt[:, 1:] == self.eos_id).any(dim=1).all())
        scores = torch.linspace(0, 1, self.vocab_size).repeat(*tgt.shape, 1)  # (B, T, V)
        for row, (tokens, source) in enumerate(zip(tgt.tolist(), src[:, 0].tolist(), strict=True)):
            known = round(float(memory[row, 0, 0].detach())) == source
            for place in range(len(tokens)):
                word = self._next(tokens[: place + 1], source) if known else LOST
                scores[row, place, word] = 2.0 + (0.5 if place % 2 else 0.0)
        return scores * self.weight

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Encode and decode."""
        return self.decode(tgt, self.encode(src), src)

    def _note(self) -> None:
        self.in_train_mode |= self.training
        self.with_gradient |= torch.is_grad_enabled()

    def _next(self, tokens: list[int], source: int) -> int:
        said = [self.sos_id, *self.script[source - 4].tolist()]
        step = len(tokens)
        return said[step] if step < len(said) and tokens == said[:step] else LOST


def greedy(namespace: Namespace, inputs: Inputs) -> Any:
    """Let the function `name` decode from a scripted model; return what it did to the model."""
    model = Scripted(inputs["script"], inputs).train(inputs["train"])
    src, max_len = inputs["calls"][0]
    ids = look_up(namespace, inputs["name"])(model, src, max_len, **inputs["kwargs"])
    if not inputs["facts"]:
        return _trimmed(ids, max_len, model.pad_id)
    return {
        "sources encoded": model.rows,
        "in train mode": model.in_train_mode,
        "with gradient": model.with_gradient,
        "asked after the end": model.needlessly,
        "mode afterwards": model.training,
        "trainable afterwards": model.weight.requires_grad,
        "gradient in the result": isinstance(ids, torch.Tensor) and ids.requires_grad,
    }


def _trimmed(ids: Any, max_len: int, pad_id: int) -> Any:
    """Drop columns of nothing but padding at the end of ids (B, at most max_len): they are free."""
    if not isinstance(ids, torch.Tensor) or ids.dim() != 2 or ids.size(1) > max_len:
        return ids
    used = (ids != pad_id).any(dim=0).nonzero()
    return ids[:, : int(used[-1]) + 1] if len(used) else ids


class _Small(nn.Module):
    """The smallest model with an encoder and a decoder: next logits from a token and the source."""

    pad_id = 0

    def __init__(self, weights: Mapping[str, torch.Tensor], dropout: float) -> None:
        super().__init__()
        self.source = nn.Parameter(weights["source"].clone())  # (V, D)
        self.target = nn.Parameter(weights["target"].clone())  # (V, D)
        self.out = nn.Parameter(weights["out"].clone())  # (D, V)
        self.bias = nn.Parameter(weights["bias"].clone())  # (V,)
        self.dropout = nn.Dropout(dropout)

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        real = (src != self.pad_id)[..., None]
        return self.source[src] * real

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, _src: torch.Tensor) -> torch.Tensor:
        features = self.dropout(torch.tanh(self.target[tgt] + memory.sum(dim=1, keepdim=True)))
        logits: torch.Tensor = features @ self.out + self.bias
        return logits

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.decode(tgt, self.encode(src), src)
        return logits


class _Noting(torch.optim.SGD):
    """Plain gradient descent that counts its steps, and those for which there was a gradient."""

    steps = useful = 0

    def step(self, closure: Any = None) -> Any:
        self.steps += 1
        result = super().step(closure)  # which may be what makes the gradients
        gradients = (p.grad for group in self.param_groups for p in group["params"])
        self.useful += any(grad is not None and bool(grad.any()) for grad in gradients)
        return result


def training(namespace: Namespace, inputs: Inputs) -> Any:
    """Let the function `name` train a small model by plain gradient descent, one step per call.

    Returns the losses, the weights afterwards, and how often the optimiser stepped.
    """
    model = _Small(inputs["weights"], inputs["dropout"]).train(inputs["train"])
    optimiser = _Noting(model.parameters(), lr=inputs["rate"])
    step: Callable[..., Any] = look_up(namespace, inputs["name"])
    losses = [step(model, *args, optimiser, **inputs["kwargs"]) for args in inputs["calls"]]
    after = {name: value.detach().clone() for name, value in model.named_parameters()}
    counts = {"steps": optimiser.steps, "steps with a gradient": optimiser.useful}
    return {"losses": losses, "weights": after, **counts}


add(
    {
        "methods": methods,
        "rows_moved": rows_moved,
        "registered": registered,
        "defaults": defaults,
        "gradients_at": gradients_at,
        "starts": starts,
        "own_parts": own_parts,
        "greedy": greedy,
        "training": training,
    }
)
