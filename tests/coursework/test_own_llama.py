"""A student's Llama on the weights of SmolLM2: its texts, its attention, and the model of transformers."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from lessons_text.lesson_run import LessonRun

from coursework import llama_twin, own_llama, smollm
from coursework.another_llama import AnotherLlama

PROMPTS = (
    "The capital of France is", "Once upon a time", "def add(a, b):", "Water boils at", "My favourite colour is",
    "In 1969, astronauts", "The Transformer is", "2, 4, 6, 8,", "Dear Sir or Madam,", "To be, or not to be",
)  # fmt: skip


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """Lesson 9 with its model answers."""
    return LessonRun("09_modern_llm").run()


@pytest.fixture(scope="module")
def own(lesson: dict[str, Any]) -> torch.nn.Module:
    """The lesson's model with the real weights."""
    model = lesson["Llama"](**smollm.SIZES)
    lesson["load_llama"](model, smollm.load().tensors)
    own_llama.share_weights(model)
    return model


def test_memory_holds_the_weights_once(own: torch.nn.Module) -> None:
    """Every tensor of the course's model is a parameter of the student's, and it still speaks."""
    mine = {weight.data_ptr() for weight in own.parameters()}
    assert {tensor.data_ptr() for tensor in smollm.load().tensors.values()} == mine
    ids = smollm.load().encode("The capital of France is")
    assert smollm.load().decode(list(smollm.load().generate(ids, 1))) == " Paris"


def test_weights_that_differ_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if only the last number does."""
    model = torch.nn.Linear(9, 9, bias=False)
    same, other = model.weight.detach().clone(), model.weight.detach().clone()
    other[-1, -1] += 1
    lm = smollm.SmolLM({"token_embd.weight": same, "other": other}, tokeniser=None)
    monkeypatch.setattr(smollm, "load", lambda: lm)
    own_llama.share_weights(model)
    assert lm.tensors["token_embd.weight"].data_ptr() == lm.table.data_ptr() == model.weight.data_ptr()
    assert lm.tensors["other"] is other


@pytest.mark.full("400 tokens, each by two models", seconds=120)
def test_it_writes_what_transformers_writes(lesson: dict[str, Any], own: torch.nn.Module) -> None:
    """Greedily, 40 tokens after each of ten prompts."""
    theirs: Any = llama_twin.transformers_llama(smollm.load().tensors)
    for prompt in PROMPTS:
        ids = smollm.load().encode(prompt)
        mine = lesson["generate"](own, ids, 40, smollm.likeliest, own_llama.END)
        written = theirs.generate(ids, max_new_tokens=40, do_sample=False, eos_token_id=own_llama.END, pad_token_id=0)
        assert mine[0].tolist() == written[0, ids.size(1) :].tolist(), prompt


@torch.no_grad()
def test_its_logits_are_those_of_transformers(own: torch.nn.Module) -> None:
    """With the rows of queries and keys reordered, and only then."""
    ids = smollm.load().encode("Anna gave Tom a book. Who has the book now?")
    mine = own(ids)[0]
    right, wrong = (
        llama_twin.transformers_llama(smollm.load().tensors, reorder=reorder)(ids).logits for reorder in (True, False)
    )
    assert (mine - right).abs().max() < 1e-3
    assert (mine - wrong).abs().max() > 1


def test_maps_are_those_of_the_course_s_model(own: torch.nn.Module) -> None:
    """A hook finds the weights of every head, and is gone afterwards."""
    ids = smollm.load().encode("The cat sat on the mat because it was tired.")
    maps = own_llama.attention_maps(own, ids)
    assert torch.allclose(maps, smollm.attention_maps(ids), atol=1e-4)
    streams = own_llama.residual_streams(own, ids)
    assert torch.equal(streams[0], smollm.load().table[ids[0]])
    assert streams.shape == (31, ids.size(1), 576)
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in own.modules())


def test_a_default_dtype_ends_with_its_block() -> None:
    """Also after an exception."""
    with suppress(KeyError), own_llama.default_dtype(torch.bfloat16):
        built = torch.nn.Linear(2, 2)
        raise KeyError
    assert built.weight.dtype == torch.bfloat16
    assert torch.get_default_dtype() == torch.float32


@torch.no_grad()
def test_a_broken_cache_is_right_without_a_past(own: torch.nn.Module) -> None:
    """It is wrong from the second call on, and leaves the past that it is given as it was."""
    broken, ids = AnotherLlama(own), smollm.load().encode("The capital of France is")
    (mine, past), (theirs, _) = own(ids[:, :3]), broken(ids[:, :3])
    assert torch.equal(mine, theirs)
    before = past[0][0].clone()
    assert (own(ids[:, 3:], past)[0] - broken(ids[:, 3:], past)[0]).abs().max() > 1
    assert torch.equal(past[0][0], before)


def test_without_weights_it_shows_what_was_recorded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """No code of the student's is run, and the line says how to get the weights."""

    def missing() -> smollm.SmolLM:
        raise smollm.NotInstalledError(smollm.INSTALL)

    recorded = tmp_path / "texts.json"
    recorded.write_text(json.dumps({"mine | Hello": "there"}), "utf-8")
    monkeypatch.setattr(smollm, "load", missing)
    monkeypatch.setattr(smollm, "RECORDED", recorded)
    monkeypatch.setattr(smollm, "_said", set())
    smollm._texts.cache_clear()
    own_llama.say(lambda *_: pytest.fail("there is no model"), None, "Hello", "mine")
    smollm._texts.cache_clear()
    said = capsys.readouterr().out
    assert said.startswith("mine: there\nRecorded")
    assert smollm.INSTALL in said
