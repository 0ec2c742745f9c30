"""Lesson 8: right answers in unusual forms pass, and what cannot be named is listed with its reason."""


import torch
from conftest import ROOT
from keys import KEY
from mutants import failures

from autograder.judge.oracle import Oracle
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from coursework.small_bert import SmallBert, SmallTokeniser
from coursework.stand_ins_models import Transformer

LESSON = load_lesson(Course(ROOT), "08_attention_visualisation")
ORACLE = Oracle(LESSON, KEY)

MAPS_BY_PATCHING = """
def attention_maps(model, src, tgt):
    found = {"encoder": [], "decoder": [], "cross": []}
    patched = []
    def wrap(module, key):
        original = module.forward
        def forward(*args, **kwargs):
            output, weights = original(*args, **kwargs)
            found[key] += [weights.squeeze(0)]
            return output, weights
        module.forward = forward
        patched.append(module)
    for layer in model.encoder.layers: wrap(layer.self_attention, "encoder")
    for layer in model.decoder.layers:
        wrap(layer.self_attention, "decoder"); wrap(layer.cross_attention, "cross")
    mode = model.training
    model.eval()
    model(src, tgt)
    if mode: model.train()
    for module in patched: del module.forward
    return {k: torch.stack(v) for k, v in found.items()}
"""
MAPS_BY_HAND = """
def attention_maps(model, src, tgt):
    mode = model.training
    model.train(False)
    s_mask, t_mask = padding_mask(src, model.pad_id), target_mask(tgt, model.pad_id)
    x, e = model.encoder.position(model.encoder.embedding(src)), []
    for layer in model.encoder.layers:
        e.append(layer.self_attention(x, x, x, s_mask)[1])
        x = layer(x, s_mask)
    y, d, c = model.decoder.position(model.decoder.embedding(tgt)), [], []
    for layer in model.decoder.layers:
        a, w = layer.self_attention(y, y, y, t_mask)
        d.append(w)
        c.append(layer.cross_attention(layer.norm1(y + a), x, x, s_mask)[1])
        y = layer(y, x, t_mask, s_mask)
    model.train(mode)
    return dict(encoder=torch.cat(e), decoder=torch.cat(d), cross=torch.cat(c))
"""
def test_a_forward_that_stays_replaced_counts_as_a_hook() -> None:
    """Patching without undoing it leaves something behind, whatever it is called."""
    cell = MAPS_BY_PATCHING.replace("    for module in patched: del module.forward\n", "")
    told = failures(ORACLE, LESSON["attention-maps"], cell).values()
    assert any("Hooks are still on the model" in message for message in told)


def test_a_cache_that_outlives_the_call_is_noticed() -> None:
    """A list that lives outside the function grows from call to call."""
    cell = "kept = {'encoder': [], 'decoder': [], 'cross': []}\n" + MAPS_BY_HAND.replace(
        "    model.train(mode)\n",
        "    model.train(mode)\n    for k, v in zip(kept, (e, d, c)): kept[k] += v\n    e, d, c = kept.values()\n",
    )
    assert failures(ORACLE, LESSON["attention-maps"], cell)


def test_the_reference_agrees_with_what_a_hook_hears() -> None:
    """Weights computed from w_q and w_k are those that the modules return, padding included."""
    model = Transformer(11, 13, 8, 2, 2, 12).eval()
    heard: list[torch.Tensor] = []
    for layer in model.encoder.layers:
        layer.self_attention.register_forward_hook(lambda *seen: heard.append(seen[2][1][0]))
    src, tgt = torch.tensor([[5, 9, 4, 2, 0]]), torch.tensor([[1, 7, 12]])
    model(src, tgt)
    computed = reference.attention_maps(model, src, tgt)["encoder"]
    torch.testing.assert_close(computed, torch.stack(heard[:2]), atol=1e-5, rtol=1e-5)


def test_the_small_tokeniser_lays_out_a_pair_as_bert_does() -> None:
    """[CLS] a [SEP] b [SEP], segments 0 and 1, words in pieces, unknown ones as [UNK]."""
    tokeniser = SmallTokeniser(["the", "warm", "##er", "cat", "."])
    encoding = tokeniser("The warmer cat.", "the dog", return_tensors="pt")
    pieces = ["[CLS]", "the", "warm", "##er", "cat", ".", "[SEP]", "the", "[UNK]", "[SEP]"]
    assert encoding.tokens() == pieces
    assert encoding["token_type_ids"][0].tolist() == [0] * 7 + [1] * 3
    assert encoding.sequence_ids() == [None, 0, 0, 0, 0, 0, None, 1, 1, None]
    assert tokeniser(["the", "the cat"], padding=True)["attention_mask"] == [[1, 1, 1, 0], [1, 1, 1, 1]]


def test_the_small_model_returns_attentions_only_when_asked() -> None:
    """As a model of transformers: by name, by attribute or by place, one tensor for each layer."""
    model = SmallBert(9, 8, 2, 3)
    ids = torch.tensor([[2, 5, 6, 3]])
    assert model(ids).attentions is None
    found = model(ids, output_attentions=True)
    assert [tuple(part.shape) for part in found.attentions] == [(1, 2, 4, 4)] * 3
    assert found["attentions"] is found[2] is found.attentions
    assert not model.training
