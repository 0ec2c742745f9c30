"""A pretrained BERT's layers, with the vectors that went into and came out of each of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from coursework.pretrained import INSTALL, MODEL
from coursework.pretrained_bert import NotHereError, local_folder, quiet, read_model

WIDTH, HEADS, D_FF, DEPTH, VOCABULARY = 384, 12, 1536, 6, 30_522  # of all-MiniLM-L6-v2


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
    note = f"A BERT with RANDOM weights, because {problem}. For the real one: {INSTALL}."
    return _run(bert, ids, mask, note)


@torch.no_grad()
def _run(bert: Any, ids: Tensor, mask: Tensor, note: str) -> BertRun:
    output = bert(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    return BertRun(bert.encoder.layer, output.hidden_states, mask.bool(), note)
