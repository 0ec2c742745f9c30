"""What layer 0 of a BERT reads from a sentence: its input, its attention layer and its weights.

The small model that stands in where no pretrained one is at hand is put into BERT's form, so that
lesson 4 can treat both alike.
"""

from copy import deepcopy
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from coursework.pretrained_bert import Loaded
from coursework.small_bert import SmallBert
from coursework.stand_ins import MultiHeadAttention


class Reading(NamedTuple):
    """A sentence at layer 0: tokens, input `x` (1, S, D), the attention layer, weights (H, S, S).

    `attention` has `self.query`, `self.key`, `self.value` and `output.dense`, as
    `bert.encoder.layer[0].attention` has.
    """

    tokens: list[str]
    x: Tensor
    attention: Any
    weights: Tensor


class _Heads(nn.Module):
    """The part of BERT's attention before `output.dense`: x (1, S, D) -> merged heads, weights."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.query, self.key, self.value = attention.w_q, attention.w_k, attention.w_v
        self._inner = deepcopy(attention)
        with torch.no_grad():  # without its last layer, the attention returns the merged heads
            self._inner.w_o.weight.copy_(torch.eye(attention.w_o.out_features))
            self._inner.w_o.bias.zero_()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the heads side by side (1, S, D), and their weights (1, H, S, S)."""
        merged, weights = self._inner(x, x, x)
        return merged, weights


class _Attention(nn.Module):
    """An attention of the small model with the names that BERT's parts have."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        self.self = _Heads(attention)
        self.output = nn.Module()
        self.output.dense = attention.w_o


def read_sentence(loaded: Loaded, sentence: str) -> Reading:
    """Run layer 0 of a loaded model on a sentence."""
    encoded = loaded.tokeniser(sentence, return_tensors="pt")
    tokens = loaded.tokeniser.convert_ids_to_tokens(encoded["input_ids"][0])
    ids, segments = encoded["input_ids"], encoded["token_type_ids"]
    with torch.no_grad():
        if isinstance(loaded.bert, SmallBert):
            x = loaded.bert.embed(ids, segments, None)
            own: Any = loaded.bert.layers[0]
            attention: Any = _Attention(own.attention)
        else:
            x = loaded.bert.embeddings(input_ids=ids, token_type_ids=segments)
            attention = loaded.bert.encoder.layer[0].attention
        weights = attention.self(x)[1][0]
    return Reading(tokens, x, attention, weights)
