"""SmolLM2 on a student's own code: how it writes, and what its layers attend to.

Lesson 9 loads the weights of SmolLM2 into the student's `Llama`. Where the weights are missing, its texts are
shown as they were recorded, and its pictures are left out.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coursework import smollm

END: Final = smollm.SPECIAL.index("<|im_end|>")  # the id that ends an answer
Choose = Callable[[Tensor], Tensor]
Generate = Callable[[nn.Module, Tensor, int, Choose, int], Tensor]


def say(
    generate: Generate,
    model: nn.Module | None,
    text: str,
    label: str,
    *,
    tokens: int = 40,
    choose: Choose = smollm.likeliest,
) -> None:
    """Print `label` and how a model continues a text, with a student's `generate`.

    `label` also names the recorded text, which is printed where the weights are missing.
    """

    def write(lm: smollm.SmolLM) -> str:
        assert model is not None, "the weights are here: run the cell that loads them first"
        new = generate(model, lm.encode(text), tokens, choose, END)[0].tolist()
        unseen = smollm.NOTHING if END in new else f"({len(new)} special tokens, which are not shown)"
        return lm.decode(new).replace("\n", smollm.BREAK) or unseen

    smollm.line(label, text, write)


def share_weights(model: nn.Module) -> None:
    """Let the course's SmolLM2 use the weights of a student's copy, so that memory holds them once.

    Only tensors that are equal, bit for bit, are replaced.
    """
    tensors: Any = smollm.load().tensors
    copies = {_fingerprint(weight): weight.detach() for weight in model.parameters()}
    for name, tensor in tensors.items():
        copy = copies.get(_fingerprint(tensor))
        if copy is not None and torch.equal(copy, tensor):
            tensors[name] = copy
    smollm.load().table = tensors["token_embd.weight"]
    del tensor
    with suppress(OSError, AttributeError):  # glibc keeps what is freed; others have no such function
        ctypes.CDLL(None).malloc_trim(0)


def _fingerprint(tensor: Tensor) -> tuple[torch.Size, tuple[float, ...]]:
    """Return what two different weights hardly share: the shape and some of the numbers."""
    return tensor.shape, tuple(tensor.flatten()[:64].tolist())


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Let what is built inside a `with` block have weights of another dtype from the start.

    A conversion afterwards would need memory for both.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def show_tokens(text: str, label: str) -> None:
    """Print a text as the tokens that the model reads, with a line break as ↵ and a space as ␣."""

    def split(lm: smollm.SmolLM) -> str:
        pieces = [lm.tokeniser.id_to_token(each) for each in lm.encode(text)[0].tolist()]
        return " ".join(piece.replace("Ċ", smollm.BREAK).replace("Ġ", "␣") for piece in pieces)

    smollm.line(label, text, split)


@torch.no_grad()
def attention_maps(model: nn.Module, ids: Tensor, base: float = smollm.BASE) -> Tensor:
    """Return the attention weights (L, H, T, T) of a student's `Llama` for ids (1, T).

    A hook on each attention sees its input and the rotated keys that it returns. Only the queries are
    computed again.
    """
    maps: list[Tensor] = []

    def look(attention: Any, given: tuple[Any, ...], named: dict[str, Any], result: Any) -> None:
        x, keys = given[0] if given else named["x"], result[1][0]  # (1, T, D) and (1, G, T, K)
        queries = attention.w_q(x).unflatten(-1, (-1, keys.size(-1))).movedim(2, 1)  # (1, H, T, K)
        rotated = smollm.rotate_pairs(queries[0], base)[None]
        identity = torch.eye(x.size(1)).expand(*keys.shape[:3], -1)  # as values, it gives the weights
        weights = F.scaled_dot_product_attention(rotated, keys, identity, is_causal=True, enable_gqa=True)
        maps.append(weights[0])

    parts: Any = model
    hooks = [layer.attention.register_forward_hook(look, with_kwargs=True) for layer in parts.layers]
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(maps)


@torch.no_grad()
def residual_streams(model: nn.Module, ids: Tensor) -> Tensor:
    """Return what enters each layer of a student's `Llama`, and what leaves the last, (L + 1, T, D)."""
    seen: list[Tensor] = []

    def look(_norm: nn.Module, given: tuple[Any, ...]) -> None:
        seen.append(given[0][0])  # (T, D)

    parts: Any = model
    norms = [*(layer.norm1 for layer in parts.layers), parts.norm]
    hooks = [norm.register_forward_pre_hook(look) for norm in norms]
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(seen)
