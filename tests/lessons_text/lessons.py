"""The nine lessons, each read once for all tests."""

from typing import Any

import torch

from coursework.pretrained_bert import WORDS
from coursework.small_bert import SmallBert, SmallTokeniser

from .lesson_run import LessonRun

NAMES = (
    "01_embeddings", "02_positional_encoding", "03_attention", "04_multi_head_attention", "05_encoder",
    "06_decoder", "07_transformer", "08_attention_visualisation", "09_modern_llm",
)  # fmt: skip


def _small_bert() -> dict[str, Any]:
    """Return what the demo of lesson 08 loads: here a model of a few weights, untrained."""
    tokeniser = SmallTokeniser(WORDS.split())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return {"bert": SmallBert(len(tokeniser)), "tokeniser": tokeniser}


LESSONS = {name: LessonRun(name) for name in NAMES}
LESSONS["08_attention_visualisation"].extras.update(_small_bert())
