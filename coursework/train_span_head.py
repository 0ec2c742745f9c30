"""Train the span head of lesson 08: `python -m coursework.train_span_head`, about half an hour on two cores.

The examples are made by `synthetic_qa`; no paragraph written by a person is seen in training.
"""

import sys
from pathlib import Path
from random import Random
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from coursework.pretrained_bert import load_shipped
from coursework.span_model import WEIGHTS, SpanModel
from coursework.synthetic_qa import Example, example

STEPS: Final = 1300
BATCH: Final = 8
RATE: Final = 1.5e-3


def main(path: Path = WEIGHTS) -> None:
    """Train on synthetic paragraphs, and write the weights."""
    torch.manual_seed(0)
    random = Random(0)  # noqa: S311 - examples, no secrets
    bert, tokeniser = load_shipped()
    bert.set_attn_implementation("sdpa")
    model = SpanModel(bert).train()
    weights = list(model.trained().values())
    adam = torch.optim.AdamW(weights, lr=RATE, weight_decay=0.0)
    seen: list[float] = []
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = RATE * min((step + 1) / 60, 1 - step / STEPS)
        with torch.autocast("cpu", torch.bfloat16):  # twice as fast, and good enough to learn from
            loss = _loss(model, tokeniser, [example(random) for _ in range(BATCH)])
        adam.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        seen.append(loss.item())
        if step % 50 == 49:
            print(f"step {step + 1:5}  loss {sum(seen[-50:]) / 50:.3f}", flush=True)
            model.save(path)
    model.save(path)


def _loss(model: SpanModel, tokeniser: Any, examples: list[Example]) -> Tensor:
    """Return the mean cross-entropy of starts and ends, over the paragraph's tokens."""
    pairs = ([e.question for e in examples], [e.paragraph for e in examples])
    encoding = tokeniser(*pairs, padding=True, return_tensors="pt", return_offsets_mapping=True)
    places = encoding.pop("offset_mapping")  # (B, S, 2)
    second = encoding["token_type_ids"].bool()
    start = torch.tensor([e.start for e in examples])[:, None]
    end = torch.tensor([e.end for e in examples])[:, None]
    inside = second & (places[..., 0] >= start) & (places[..., 1] <= end) & (places[..., 1] > 0)
    first = inside.int().argmax(dim=-1)
    last = first + inside.sum(dim=-1) - 1
    logits = model(**encoding).float().masked_fill(~second[..., None], -1e4)
    starts, ends = logits.unbind(dim=-1)  # (B, S) each
    return (F.cross_entropy(starts, first) + F.cross_entropy(ends, last)) / 2


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
