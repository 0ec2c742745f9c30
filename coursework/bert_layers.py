"""What layer 0 of a BERT reads from a sentence: its input, its attention layer and its weights.

The small model that stands in where no pretrained one is at hand is put into BERT's form, so that
lesson 4 can treat both alike.

`run_bert` gives a pretrained BERT's layers, with the vectors that went into and came out of each of them.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from coursework.console import wrapped
from coursework.data_packages import how_to_get
from coursework.pretrained import INSTALL, MODEL
from coursework.pretrained_bert import Loaded, NotHereError, local_folder, quiet, read_model
from coursework.small_bert import SmallBert
from coursework.stand_ins import MultiHeadAttention

WIDTH, HEADS, D_FF, DEPTH, VOCABULARY = 384, 12, 1536, 6, 30_522  # of all-MiniLM-L6-v2


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


class BertRun(NamedTuple):
    """BERT's layers, and what they did with some sentences.

    `states[i]` (B, S, D) went into layer i, `states[i + 1]` came out of it; `real` (B, S) is True
    where a token is no padding. `note` says which model this is.
    """

    layers: Sequence[Any]
    states: Sequence[Tensor]
    real: Tensor
    note: str


def run_bert(sentences: Sequence[str]) -> BertRun:
    """Run all-MiniLM-L6-v2 on sentences. Without its files, run a random model of the same sizes."""
    try:
        bert, tokeniser = read_model(local_folder(MODEL))
    except NotHereError as problem:
        return _random(str(problem))
    encoded = tokeniser(list(sentences), padding=True, return_tensors="pt")
    note = f"{MODEL}: {DEPTH} layers, {HEADS} heads, width {WIDTH}, feed-forward width {D_FF}."
    return _run(bert, encoded["input_ids"], encoded["attention_mask"], note)


def _random(problem: str) -> BertRun:
    from transformers import BertConfig, BertModel

    sizes = BertConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=DEPTH, num_attention_heads=HEADS,
        intermediate_size=D_FF,
    )  # fmt: skip
    with quiet():
        bert = BertModel(sizes).eval()
    ids = torch.randint(1000, VOCABULARY, (2, 11))
    mask = (torch.arange(11) < torch.tensor([[7], [11]])).long()
    note = f"A BERT with RANDOM weights, because {problem}. {how_to_get('the real one', INSTALL)}"
    return _run(bert, ids, mask, wrapped(note))


@torch.no_grad()
def _run(bert: Any, ids: Tensor, mask: Tensor, note: str) -> BertRun:
    output = bert(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    return BertRun(bert.encoder.layer, output.hidden_states, mask.bool(), note)
