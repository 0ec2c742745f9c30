"""SmolLM2 runs on the parts it is given, as the original does, and its texts are those that were recorded."""

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from matplotlib import pyplot as plt
from torch import Tensor, nn

from coursework import smollm
from coursework.console import WIDTH
from coursework.smollm import KV_HEADS, LAYERS, PLAIN, Gated, Parts, SmolLM

PROMPT = "The capital of France is"


@pytest.fixture(scope="module")
def model() -> SmolLM:
    """The model, read once."""
    return smollm.load()


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No package with weights is installed."""
    smollm.load.cache_clear()
    monkeypatch.setattr(smollm, "PACKAGE", "no_such_package")
    yield
    smollm.load.cache_clear()


def tokens(model: SmolLM, count: int = 6, **options: Any) -> list[int]:
    """Return the likeliest tokens after the prompt."""
    return list(model.generate(model.encode(PROMPT), count, **options))


def test_it_speaks(model: SmolLM) -> None:
    """It knows the capital of France, and says so at once."""
    assert model.decode(tokens(model, 2)) == " Paris."


@pytest.mark.full("the original model, built with transformers", seconds=15)
def test_its_logits_are_those_of_transformers(model: SmolLM) -> None:
    """On the same weights, transformers' Llama gives the same logits."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, rms_norm_eps=1e-5, tie_word_embeddings=True, rope_theta=100_000.0,
    )  # fmt: skip
    original = LlamaForCausalLM(config).eval()
    names = {
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    }  # fmt: skip
    with torch.no_grad():
        original.model.embed_tokens.weight.copy_(model.table)
        original.model.norm.weight.copy_(model.tensors["output_norm.weight"])
        for number, layer in enumerate(original.model.layers):
            for theirs, ours in names.items():
                weight = model.tensors[f"blk.{number}.{ours}.weight"]
                if ours in ("attn_q", "attn_k"):  # transformers turns (i, i + K/2) together, the file (2i, 2i + 1)
                    weight = weight.view(-1, 32, 2, 576).transpose(1, 2).reshape(-1, 576)
                layer.get_submodule(theirs).weight.copy_(weight)
        ids = model.encode("Once upon a time, there was a little robot who")
        difference = model(ids)[0] - original(ids).logits
    assert difference.abs().max() < 1e-3


def test_with_and_without_a_cache_it_writes_the_same(model: SmolLM) -> None:
    """The cache saves work and changes nothing, however the text is fed."""
    assert tokens(model, cache=True) == tokens(model, cache=False)
    ids = model.encode(PROMPT)
    _, past = model(ids[:, :3])
    rest, present = model(ids[:, 3:], past)
    torch.testing.assert_close(rest, model(ids)[0][:, 3:], atol=1e-3, rtol=1e-3)
    assert past[0][0].size(2) == 3
    assert present[0][0].size(2) == ids.size(1)


class NoFeedForward(nn.Module):
    """Adds nothing."""

    def __init__(self, *_sizes: int) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """Return zeros like x."""
        return torch.zeros_like(x)


BROKEN: dict[str, Any] = {
    "embedding": lambda ids, table: 24 * table[ids],
    "attention": lambda q, k, v, mask: v,
    "mask": lambda size: torch.ones(size, size, dtype=torch.bool),
    "split": lambda x, heads: x.reshape(1, heads, x.size(1), -1),
    "merge": lambda x: x.reshape(1, x.size(2), -1),
    "heads": lambda z, layer: 2 * z,
    "rotary": lambda x, base: x,
    "feed_forward": NoFeedForward,
    "residual": lambda x, y: y,
}


@pytest.mark.parametrize("part", [each.name for each in fields(PLAIN)])
def test_each_part_is_used(model: SmolLM, part: str) -> None:
    """A part that is broken in all layers changes the logits, and in one layer changes them otherwise."""
    ids, broken = model.encode(PROMPT), Parts(**{part: BROKEN[part]})
    right = model(ids)[0]
    one, everywhere = (model(ids, parts=broken, layers=which)[0] for which in ([12], None))
    assert not torch.allclose(right, everywhere, atol=1e-2)
    if part != "embedding":  # comes before all layers
        assert not torch.allclose(right, one, atol=1e-2)
        assert not torch.allclose(one, everywhere, atol=1e-2)


def test_parts_may_be_written_otherwise(model: SmolLM) -> None:
    """An attention may return its output alone, and any part that computes the same changes nothing."""

    def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        assert q.shape[:2] == k.shape[:2]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def shifted(x: Tensor, base: float) -> Tensor:
        return smollm.rotate_pairs(F.pad(x, (0, 0, 500, 0)), base)[:, 500:]

    parts = Parts(attention=attention, rotary=shifted, feed_forward=lambda d, f: Gated(d, f))
    ids = model.encode(PROMPT)
    torch.testing.assert_close(model(ids, parts=parts)[0], model(ids)[0], atol=2e-2, rtol=1e-3)
    assert len(model(ids)[1]) == LAYERS
    assert model(ids)[1][0][0].size(1) == KV_HEADS


def test_it_prints_token_by_token_and_answers_questions(capsys: pytest.CaptureFixture[str]) -> None:
    """The label comes first, then prompt and continuation; of a conversation only the answer is shown."""
    smollm.write(PROMPT, "right", tokens=2)
    assert capsys.readouterr().out == f"right: {PROMPT} Paris.\n"
    smollm.write("What is 2 + 2?", chat=True, tokens=12)
    said = capsys.readouterr().out
    assert "4" in said
    assert "<|" not in said


def test_a_silent_head_says_the_same_everywhere() -> None:
    """Its output is its mean over the positions, in its own layer; the other heads stay as they are."""
    z = torch.randn(1, 9, 5, 4)
    silent = smollm.silence({(3, 0), (3, 7), (4, 2)})(z, 3)
    torch.testing.assert_close(silent[:, [0, 7]], z[:, [0, 7]].mean(2, keepdim=True).expand(-1, -1, 5, -1))
    rest = [1, 2, 3, 4, 5, 6, 8]
    assert torch.equal(silent[:, rest], z[:, rest])


def test_attention_maps_are_causal_distributions(model: SmolLM) -> None:
    """For each layer and head a row of weights for each token, over itself and those before it."""
    ids = model.encode(PROMPT)
    maps = smollm.attention_maps(ids)
    assert maps.shape == (LAYERS, 9, ids.size(1), ids.size(1))
    torch.testing.assert_close(maps.sum(-1), torch.ones(maps.shape[:-1]))
    assert not maps.triu(1).any()


def test_it_ends_where_the_model_ends(model: SmolLM) -> None:
    """The mark at the end of an answer is not part of it."""
    ends = model.tokeniser.token_to_id("<|im_end|>")
    assert tokens(model, choose=lambda logits: torch.tensor([ends])) == []


def test_next_tokens_are_drawn() -> None:
    """The likeliest tokens come with their probabilities, in falling order, a bar for each."""
    found = smollm.next_tokens(PROMPT, 3)
    assert next(iter(found)) == " Paris"
    assert [bar.get_width() for bar in plt.gca().patches] == sorted(found.values())
    plt.close()


def test_parts_that_give_nan_are_told(model: SmolLM) -> None:
    """NaN is no end of an answer: the likeliest of nothing would be the token that ends a text."""
    with pytest.raises(ValueError, match="NaN"):
        tokens(model, parts=Parts(attention=lambda q, k, v, mask: v * torch.nan))


def test_random_numbers_do_not_depend_on_the_model(model: SmolLM) -> None:
    """Where it is missing, a lesson goes on with the same random numbers."""
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    smollm._built.cache_clear()
    tokens(model, 1)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.usefixtures("missing")
def test_without_the_package_recorded_texts_are_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One line says how to get the model, once in a session, and the lesson runs on."""
    recorded = tmp_path / "texts.json"
    recorded.write_text(json.dumps({f"right | {PROMPT}": " Paris.", f"next | {PROMPT}": {" Paris": 0.77}}))
    monkeypatch.setattr(smollm, "RECORDED", recorded)
    monkeypatch.setattr(smollm, "_said", set())
    smollm._texts.cache_clear()
    smollm.write(PROMPT, "right")
    said = capsys.readouterr().out
    assert said.startswith(f"right: {PROMPT} Paris.\n")
    assert max(map(len, said.splitlines())) <= WIDTH
    assert smollm.INSTALL in said
    assert not smollm.installed()
    smollm.write(PROMPT, "right")
    assert capsys.readouterr().out == f"right: {PROMPT} Paris. (recorded)\n"
    smollm.write("Another prompt ")
    said = capsys.readouterr().out
    assert said == "Another prompt … (no text was recorded for this prompt) (recorded)\n"
    assert smollm.INSTALL not in said
    assert smollm.next_tokens(PROMPT) == {" Paris": 0.77}
    smollm._texts.cache_clear()


def test_numbers_are_worked_out_or_as_they_were_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With few digits, in whatever lists and dictionaries they are."""
    monkeypatch.setattr(smollm, "RECORDED", tmp_path / "texts.json")
    monkeypatch.setenv(smollm.RECORD, "1")
    smollm._texts.cache_clear()
    found = {"one": [1.23456, 2], "other": 12345.6}
    assert smollm.numbers("mine", lambda: found, model="here") == found
    assert smollm.numbers("mine", lambda: pytest.fail("there is no model"), None) == {"one": [1.23, 2], "other": 12300}
    smollm._texts.cache_clear()


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with another hash is not read."""
    package = tmp_path / "other_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError")
    (package / smollm.FILE).write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(smollm, "PACKAGE", "other_weights")
    with pytest.raises(smollm.NotInstalledError, match="is not the"):
        smollm.find_weights()
