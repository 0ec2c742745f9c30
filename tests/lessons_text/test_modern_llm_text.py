"""Lesson 9 as its author writes it: its visible tests bite."""

import re

import pytest
import torch

from coursework.another_llama import AnotherLlama

from .lesson_run import BITES
from .lessons import LESSONS

LESSON = LESSONS["09_modern_llm"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("rms-norm", "x.pow(2).mean", "(x - x.mean(dim=-1, keepdim=True)).pow(2).mean"),
        ("rms-norm", "torch.sqrt(mean_square + self.eps)", "(torch.sqrt(mean_square) + self.eps)"),
        ("rms-norm", "* self.weight", "* (1 + self.weight)"),
        ("rms-norm", "return x / ", "return (x - x.mean(dim=-1, keepdim=True)) / "),
        ("grouped-query-attention", "num_heads % num_kv_heads != 0", "False"),
        ("grouped-query-attention", "d_model % num_heads != 0", "False"),
        ("grouped-query-attention", "values = v.repeat_interleave(shared, dim=1)",
         "values = v.repeat(1, shared, 1, 1)"),
        ("grouped-query-attention", "q = rotary_from(q, before, self.base)", "pass"),
        ("grouped-query-attention", "k = rotary_from(k, before, self.base)", "pass"),
        ("grouped-query-attention", "k = rotary_from(k, before, self.base)",
         "k, v = (rotary_from(each, before, self.base) for each in (k, v))"),
        ("grouped-query-attention", "before = 0 if past is None else past[0].size(2)", "before = 0"),
        ("grouped-query-attention", "places <= places[before:].unsqueeze(1)", "places <= places[-1]"),
        ("grouped-query-attention", "k = torch.cat([past[0], k], dim=2)", "k = torch.cat([k, past[0]], dim=2)"),
        ("grouped-query-attention", "v = torch.cat([past[1], v], dim=2)", "v = torch.cat([past[0], v], dim=2)"),
        ("grouped-query-attention", "num_kv_heads * self.d_head, bias=False)", "num_kv_heads * self.d_head)"),
        ("llama-layer", "self.attention(self.norm1(x), past)", "self.attention(x, past)"),
        ("llama-layer", "self.attention(self.norm1(x), past)", "self.attention(self.norm1(x))"),
        ("llama-layer", "x = x + attended", "x = attended"),
        ("llama-layer", "self.feed_forward(self.norm2(x))", "self.feed_forward(self.norm1(x))"),
        ("llama-layer", "x = x + self.feed_forward(self.norm2(x))", "x = self.norm2(x + self.feed_forward(x))"),
        ("llama-layer", "num_kv_heads, base)", "num_kv_heads)"),
        ("llama-layer", "self.norm1 = RMSNorm(d_model, eps)", "self.norm1 = RMSNorm(d_model)"),
        ("llama", "x = self.embedding(ids)", "x = self.embedding(ids) * self.embedding.embedding_dim**0.5"),
        ("llama", "self.norm(x) @", "x @"),
        ("llama", "past[number]", "past[0]"),
        ("llama", "present = []", "present = [] if past is None else past"),
        ("load-llama", '"ffn_gate": layer.feed_forward.w1', '"ffn_gate": layer.feed_forward.w3'),
        ("load-llama", "raise ValueError(f\"{name} is left over\")", "continue"),
        ("load-llama", "weight.copy_(tensors[name])", "weight.data = tensors[name]"),
        ("generate", "model.eval()", "pass"),
        ("generate", "torch.no_grad()", "torch.enable_grad()"),
        ("generate", "model.train(was_training)", "pass"),
        ("generate", "choose(logits[:, -1])", "choose(logits[:, 0])"),
        ("generate", "model(given, past)", "model(given)"),
        ("generate", "given = token.unsqueeze(1)", "given = torch.cat([given, token.unsqueeze(1)], dim=1)"),
        ("generate", "if token.item() == end_id:", "if False:"),
        ("model-numbers", '"parameters": 302_144', '"parameters": 302_144.0'),
        ("quantise", "/ 15", "/ 16"),
        ("quantise", "torch.round(", "torch.floor("),
        ("quantise", "weight.size(1) % block != 0", "False"),
        ("quantise", ".to(torch.uint8)", ""),
    ],
)  # fmt: skip
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see."""
    with pytest.raises(BITES):
        LESSON.run({name: (old, new)}, until=name)


def test_the_lines_of_the_friend_are_those_that_are_run() -> None:
    """Case 1 shows the attention in place of which `AnotherLlama` stands: its logits are the same."""
    (shown,) = [found for cell in LESSON.cells if (found := re.search(r"```python\n(.*?)\n```", cell.text, re.DOTALL))]
    answer = LESSON.text.answer("grouped-query-attention").split("\n")
    right = [number for number, line in enumerate(answer) if " = rotary_from(" in line or "torch.cat(" in line]
    old = "\n".join(answer[right[0] : right[-1] + 1])
    given = [
        "new_q, new_k, new_v, base = q, k, v, self.base",
        "past_k, past_v = past or (k[:, :, :0], v[:, :, :0])",
        *shown[1].split("\n"),
    ]
    new = "\n".join(" " * 8 + line for line in given)
    sizes = {"vocab_size": 11, "d_model": 16, "num_layers": 2, "num_heads": 4, "num_kv_heads": 2, "d_ff": 24, "base": 100.0}
    logits = []
    for edits in ({}, {"grouped-query-attention": (old, new)}):
        scope = LESSON.scope_before("load-llama", edits)
        torch.manual_seed(0)
        model = scope["Llama"](**sizes).eval()
        friend = model if edits else AnotherLlama(model, 100.0)
        past, found = None, []
        with torch.no_grad():
            for ids in torch.arange(7).split(2):
                here, past = friend(ids.unsqueeze(0), past)
                found.append(here)
        logits.append(torch.cat(found, dim=1))
    assert torch.allclose(*logits, atol=1e-4)
