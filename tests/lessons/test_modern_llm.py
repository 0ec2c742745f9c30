"""Lesson 09: the references are the Llama of the library transformers, and unknown mistakes are put into words.

Mistakes that no check names, and why:

- a mask or a table of angles made on the CPU at each call: only another device shows it;
- keys and values that are stored in 16 bits: nothing here is asked in 16 bits;
- angles in 16 bits, as `rotary` computes them for such an input: the same;
- a pair that is expanded to all heads and kept that way: "repeated-returned" names it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import ROOT
from keys import KEY
from mutants import check_words
from transformers import LlamaConfig, LlamaForCausalLM

from autograder.grading.grader import Grader
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.lessons.modern_llm import reference
from autograder.lessons.modern_llm.load_llama import file_name
from autograder.model.course import Course
from autograder.search.right_answers import right_answers
from coursework.rotary_positions import start_anywhere
from coursework.stand_ins_modern import rotary

LESSON = load_lesson(Course(ROOT), "09_modern_llm")
ORACLE = Oracle(LESSON, KEY)
UNUSUAL = right_answers("modern_llm")
SIZES = {"words": 31, "width": 24, "layers": 2, "heads": 6, "kv_heads": 2, "hidden": 20}
HALVES = {  # of a layer's parts in the library
    "norm1": "input_layernorm", "norm2": "post_attention_layernorm", "attention.w_q": "self_attn.q_proj",
    "attention.w_k": "self_attn.k_proj", "attention.w_v": "self_attn.v_proj", "attention.w_o": "self_attn.o_proj",
    "feed_forward.w1": "mlp.gate_proj", "feed_forward.w3": "mlp.up_proj", "feed_forward.w2": "mlp.down_proj",
}  # fmt: skip


@pytest.fixture
def mine() -> Any:
    """Return the reference with drawn weights, in double precision."""
    torch.manual_seed(9)
    model = reference.Llama(*SIZES.values(), 50.0, 1e-3)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model.double()


def library_llama(mine: Any) -> Any:
    """Return the library's Llama with the same weights; it pairs the halves of a head's features."""
    config = LlamaConfig(
        vocab_size=SIZES["words"], hidden_size=SIZES["width"], intermediate_size=SIZES["hidden"],
        num_hidden_layers=SIZES["layers"], num_attention_heads=SIZES["heads"],
        num_key_value_heads=SIZES["kv_heads"], rms_norm_eps=1e-3, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 50.0}, rope_theta=50.0,
    )  # fmt: skip
    theirs = LlamaForCausalLM(config).double().eval()
    width = SIZES["width"] // SIZES["heads"]
    with torch.no_grad():
        theirs.model.embed_tokens.weight.copy_(mine.embedding.weight)
        theirs.model.norm.weight.copy_(mine.norm.weight)
        for ours, layer in zip(mine.layers, theirs.model.layers, strict=True):
            for path, name in HALVES.items():
                weight = ours.get_submodule(path).weight
                if name in ("self_attn.q_proj", "self_attn.k_proj"):
                    pairs = weight.unflatten(0, (-1, width // 2, 2))  # (heads, K / 2, 2, D)
                    weight = pairs.transpose(1, 2).flatten(0, 2)
                layer.get_submodule(name).weight.copy_(weight)
    return theirs


def test_the_reference_is_the_librarys_llama(mine: Any) -> None:
    """With the same weights, the logits are the same, with and without a past."""
    theirs, ids = library_llama(mine), torch.randint(0, SIZES["words"], (3, 9))
    expected = theirs(ids).logits
    torch.testing.assert_close(mine(ids)[0], expected, atol=1e-5, rtol=1e-5)
    _, past = mine(ids[:, :4])
    logits, _ = mine(ids[:, 4:], past)
    torch.testing.assert_close(logits, expected[:, 4:], atol=1e-5, rtol=1e-5)


def test_greedy_texts_are_those_of_the_library(mine: Any) -> None:
    """The model answer of `generate` writes the tokens that the library writes."""
    theirs = library_llama(mine)
    generate: Any = (ORACLE.edited(LESSON["generate"], []) or {})["generate"]
    for length in (1, 4, 7):
        ids = torch.randint(1, SIZES["words"], (1, length))
        new = generate(mine, ids, 12, lambda logits: logits.argmax(dim=-1), 0)
        expected = theirs.generate(ids, max_new_tokens=12, do_sample=False, eos_token_id=0, pad_token_id=0)
        assert new.tolist() == expected[:, length:].tolist()


def test_a_file_has_a_name_for_every_weight(mine: Any) -> None:
    """The names that checks use are those of the contract, one for each parameter."""
    names = [file_name(path) for path, _ in mine.named_parameters()]
    assert len({*names}) == len(names)
    assert {"token_embd.weight", "output_norm.weight", "blk.1.ffn_gate.weight", "blk.0.attn_k.weight"} < {*names}
    copy = reference.Llama(*SIZES.values(), 50.0, 1e-3)
    tensors = {file_name(path): value for path, value in mine.named_parameters()}
    LESSON["load-llama"].reference(copy, tensors)
    ids = torch.randint(0, SIZES["words"], (2, 5))
    torch.testing.assert_close(copy(ids)[0].double(), mine(ids)[0], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("start", [0, 1, 63, 64, 300])
def test_rotary_from_goes_on_where_rotary_would_be(dtype: torch.dtype, start: int) -> None:
    """It gives the end of what `rotary` gives for a whole text, and lets gradients through."""
    x = torch.randn(2, 3, start + 5, 8, dtype=dtype, requires_grad=True)
    whole = torch.stack([rotary(each, 100.0) for each in x])
    part = start_anywhere(rotary)(x[:, :, start:], start, 100.0)
    torch.testing.assert_close(part, whole[:, :, start:], atol=1e-4, rtol=1e-4)
    part.sum().backward()
    assert x.grad is not None
    assert bool(x.grad[:, :, start:].any())


def test_rotary_from_refuses_a_base_in_place_of_the_start() -> None:
    """The two arguments are easily exchanged."""
    with pytest.raises(TypeError, match="Is it the base"):
        start_anywhere(rotary)(torch.randn(1, 2, 3, 4), 10000.0)


def test_rotary_from_works_after_a_call_in_inference_mode() -> None:
    """What it keeps of one call can be used where gradients are recorded."""
    rotary_from = start_anywhere(rotary)
    x = torch.randn(1, 2, 3, 4, requires_grad=True)
    with torch.inference_mode():
        rotary_from(torch.randn(1, 2, 3, 4))
    rotary_from(x).sum().backward()
    assert x.grad is not None


def test_numbers_of_a_model_are_those_of_the_reference() -> None:
    """The expected answers can be counted on a model, and on what it keeps."""
    sizes = (1000, 64, 4, 8, 2, 256)
    model = reference.Llama(*sizes)
    answers: Any = (ORACLE.edited(LESSON["model-numbers"], []) or {})["answers"]
    assert answers["parameters"] == sum(p.numel() for p in model.parameters())
    _, past = model(torch.tensor([[5]]))
    kept = sum(each.numel() for pair in past for each in pair)
    assert answers["cache_grouped"] == 2 * kept
    assert answers["cache_all_heads"] == 2 * kept * 8 // 2
    weights = 2 * answers["parameters"]
    assert answers["break_even"] * 2 * kept > weights >= (answers["break_even"] - 1) * 2 * kept


@pytest.mark.parametrize(
    ("exercise", "old", "new", "said"),
    [
        ("rms-norm", "* self.weight", "* self.weight * 0.5", "0.5 times what it should be"),
        ("grouped-query-attention", "rotary_from(k, before, self.base)", "rotary_from(k, before, 7.0)",
         "turned by a wrong angle"),
        ("grouped-query-attention", "return y, (k, v)", "return y, (k, 2 * v)", "keys are right, and the values"),
        ("llama", "logits = self.norm(x)", "logits = 3 * self.norm(x)", "3 times what it should be"),
        ("load-llama", "weight.copy_(tensors[name])", "weight.copy_(2 * tensors[name])", "holds something else"),
        ("generate", "written.append(token)", "written.append(token + 1)", "The first new token is wrong"),
        ("quantise", "/ 15", "/ 14", "15 steps lead from"),
    ],
)  # fmt: skip
def test_an_unknown_mistake_is_put_into_words(exercise: str, old: str, new: str, said: str) -> None:
    """What matches nothing known still gets a sentence about what is wrong."""
    check_words(ORACLE, LESSON[exercise], old, new, said)


def test_a_wrong_attention_costs_the_model_nothing(
    grader: Grader, hand_in: Callable[..., Path]
) -> None:
    """Layer and model are graded with a right attention in the place of the student's."""
    path = hand_in(
        "09_modern_llm",
        grouped_query_attention=lambda answer: answer.replace("k = rotary_from(k", "v = rotary_from(v"),
    )
    report = grader.grade("09_modern_llm", path).report
    scores = [report.exercise(name).score for name in ("llama-layer", "llama", "load-llama", "generate")]
    assert scores == [3, 3, 2, 3]
    assert report.exercise("grouped-query-attention").score != 5


def test_a_layer_norm_of_x_and_minus_x_is_accepted_as_an_rms_norm(
    grader: Grader, hand_in: Callable[..., Path]
) -> None:
    """The exercise excludes RMS norms alone, and the mean of (x, -x) is 0."""
    answer = next(each for each in UNUSUAL["rms-norm"] if "F.layer_norm" in each)
    path = hand_in("09_modern_llm", rms_norm=lambda _: answer)
    assert grader.grade("09_modern_llm", path).report.exercise("rms-norm").score == 2
