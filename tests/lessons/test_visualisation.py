"""Lesson 8: right answers in unusual forms pass, and what cannot be named is listed with its reason."""


import pytest
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
MAPS_BY_TYPE = """
def attention_maps(model, src, tgt):
    kept = []
    modules = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    handles = [m.register_forward_hook(lambda m, i, o: kept.append((m, o[1]))) for m in modules]
    before = {m: m.training for m in model.modules()}
    with torch.inference_mode():
        model.eval().decode(tgt, model.encode(src), src)
    for h in handles: h.remove()
    for m, t in before.items(): m.training = t
    seen = {m: w for m, w in kept}
    names = {m: n for n, m in model.named_modules()}
    pick = lambda word, end: torch.cat([w for m, w in seen.items() if names[m].startswith(word) and names[m].endswith(end)])
    return {"cross": pick("decoder", "cross_attention"), "encoder": pick("encoder", "self_attention"), "decoder": pick("decoder", "self_attention")}
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
PICTURE_BY_FRAME = """
def plot_attention(weights, queries, keys, ax=None):
    import pandas as pd, numpy as np
    if ax is None:
        fig = plt.figure(figsize=(30, 30))
        ax = fig.gca()
    frame = pd.DataFrame(np.array(weights.tolist()), index=list(queries), columns=list(keys))
    result = sns.heatmap(frame, vmin=0., vmax=1., annot=True, fmt=".1f", square=True, cmap="viridis", linewidths=.5,
                         xticklabels=True, yticklabels=True, ax=ax)
    result.set(xlabel="keys", ylabel="queries", title="attention")
    return result
"""
PICTURE_BY_TICKS = """
def plot_attention(weights, queries, keys, ax=None):
    ax = sns.heatmap(weights.cpu(), ax=ax, vmin=0, vmax=1, cmap="mako", xticklabels=False, yticklabels=False)
    ax.set_xticks(torch.arange(len(keys)) + 0.5)
    ax.set_xticklabels(keys, rotation=90)
    ax.set_yticks(torch.arange(len(queries)) + 0.5, queries)
    ax.xaxis.tick_top()
    return ax
"""
PICTURE_BY_MESH = """
def plot_attention(weights, queries, keys, ax=None):
    ax = ax or plt.subplots()[1]
    mesh = ax.pcolormesh(weights.detach().flip(0).numpy())
    mesh.set_clim(0, 1)
    plt.colorbar(mesh, ax=ax)
    ax.set_yticks([len(queries) - i - 0.5 for i in range(len(queries))], queries)
    ax.set_xticks([i + 0.5 for i in range(len(keys))], labels=keys)
    return ax
"""
PAIR_BY_ATTRIBUTES = """
def sentence_pair_attention(model, tokeniser, a, b):
    inputs = tokeniser([a], [b], padding=True, truncation=True, return_tensors="pt").to(model.device)
    model.eval()
    out = model(inputs.input_ids, token_type_ids=inputs.token_type_ids, attention_mask=inputs.attention_mask,
                output_attentions=True, return_dict=True)
    tokens = inputs.tokens()
    sep = tokens.index(tokeniser.sep_token)
    return torch.stack([layer[0] for layer in out["attentions"]]).detach(), tokens, sep + 1
"""
PAIR_BY_CONFIGURATION = """
def sentence_pair_attention(model, tokeniser, a, b):
    model.config.output_attentions = True
    enc = tokeniser(a, text_pair=b)
    enc = {k: torch.tensor([v]) for k, v in enc.items()}
    with torch.inference_mode():
        out = model(**enc)
    ids = enc["input_ids"][0]
    start = (enc["token_type_ids"][0] == 1).nonzero()[0, 0]
    return torch.stack(out[2]).squeeze(1), tuple(tokeniser.convert_ids_to_tokens(ids)), start
"""
PAIR_BY_ENCODE = """
def sentence_pair_attention(model, tokeniser, a, b):
    ids = tokeniser.encode(a, b, return_tensors="pt")
    start = len(tokeniser.encode(a))
    types = torch.zeros_like(ids)
    types[:, start:] = 1
    out = model(input_ids=ids, token_type_ids=types, output_attentions=True)
    return torch.vstack(out.attentions), [tokeniser.convert_ids_to_tokens(i.item()) for i in ids.flatten()], start
"""
PAIR_BY_BATCH = """
def sentence_pair_attention(model, tokeniser, a, b):
    enc = tokeniser([(a, b)], return_tensors="pt")
    att = model(**enc, output_attentions=True).attentions
    toks = ["[CLS]"] + tokeniser.tokenize(a) + ["[SEP]"] + tokeniser.tokenize(b) + ["[SEP]"]
    return torch.concat(tuple(att), dim=0), toks, len(tokeniser.tokenize(a)) + 2
"""
PREVIOUS_BY_LOOP = """
def previous_token_score(attentions):
    L, H, S, _ = attentions.shape
    out = attentions.new_zeros(L, H)
    for l in range(L):
        for h in range(H):
            out[l, h] = sum(attentions[l, h, i, i - 1] for i in range(1, S)) / (S - 1)
    return out
"""
PREVIOUS_BY_MASK = """
def previous_token_score(attentions):
    s = attentions.size(-1)
    pick = torch.diag(torch.ones(s - 1, dtype=attentions.dtype), -1)
    return torch.einsum("lhqk,qk->lh", attentions, pick) / (s - 1)
"""
ENTROPY_BY_XLOGY = "def attention_entropy(weights):\n    return -torch.xlogy(weights, weights).sum(-1)\n"
ENTROPY_BY_CLAMP = "def attention_entropy(weights):\n    return -(weights * weights.clamp(min=1e-12).log()).sum(-1)\n"
ENTROPY_BY_NAN = "def attention_entropy(weights):\n    return -(weights * torch.log(weights)).nan_to_num(0.0).sum(dim=-1)\n"
ROLLOUT_BY_HEADS = """
def attention_rollout(attentions):
    eye = torch.eye(attentions.shape[-1]).to(attentions)
    result = None
    for a in attentions.mean(1) + eye:
        a = a / a.sum(-1)[:, None]
        result = a if result is None else torch.matmul(a, result)
    return result
"""
ROLLOUT_FROM_ABOVE = """
def attention_rollout(attentions):
    n = attentions.size(2)
    joint = torch.eye(n, dtype=attentions.dtype)
    for l in reversed(range(len(attentions))):
        m = (attentions[l].sum(0) / attentions.size(1) + torch.eye(n, dtype=attentions.dtype)) * .5
        joint = joint @ F.normalize(m, p=1, dim=1)
    return joint
"""
SPAN_BY_LOOPS = """
def best_span(start_logits, end_logits, max_length):
    best, where = float("-inf"), (0, 0)
    for s in range(len(start_logits)):
        for e in range(s, min(len(end_logits), s + max_length)):
            if start_logits[s] + end_logits[e] > best:
                best, where = start_logits[s] + end_logits[e], (s, e)
    return where
"""
SPAN_BY_NUMPY = """
def best_span(start_logits, end_logits, max_length):
    import numpy as np
    s, e = start_logits.numpy(), end_logits.numpy()
    t = s[:, None] + e[None]
    i, j = np.indices(t.shape)
    t = np.where((i <= j) & (j < i + max_length), t, -np.inf)
    return np.unravel_index(t.argmax(), t.shape)
"""
SPAN_BY_TENSORS = """
def best_span(start_logits, end_logits, max_length):
    p = torch.outer(start_logits.double().softmax(0), end_logits.double().softmax(0)).triu().tril(max_length - 1)
    return list(torch.unravel_index(p.argmax(), p.shape))
"""


@pytest.mark.parametrize(
    ("exercise", "cell"),
    [
        ("attention_maps", MAPS_BY_PATCHING),
        ("attention_maps", MAPS_BY_TYPE),
        ("attention_maps", MAPS_BY_HAND),
        ("plot_attention", PICTURE_BY_FRAME),
        ("plot_attention", PICTURE_BY_TICKS),
        ("plot_attention", PICTURE_BY_MESH),
        ("sentence_pair_attention", PAIR_BY_ATTRIBUTES),
        ("sentence_pair_attention", PAIR_BY_CONFIGURATION),
        ("sentence_pair_attention", PAIR_BY_ENCODE),
        ("sentence_pair_attention", PAIR_BY_BATCH),
        ("previous_token_score", PREVIOUS_BY_LOOP),
        ("previous_token_score", PREVIOUS_BY_MASK),
        ("attention_entropy", ENTROPY_BY_XLOGY),
        ("attention_entropy", ENTROPY_BY_CLAMP),
        ("attention_entropy", ENTROPY_BY_NAN),
        ("attention_rollout", ROLLOUT_BY_HEADS),
        ("attention_rollout", ROLLOUT_FROM_ABOVE),
        ("best_span", SPAN_BY_LOOPS),
        ("best_span", SPAN_BY_NUMPY),
        ("best_span", SPAN_BY_TENSORS),
    ],
)
def test_unusual_forms_pass(exercise: str, cell: str) -> None:
    """Patched forwards, layers run by hand, data frames, loops, NumPy, tensors for ints: all pass."""
    assert failures(ORACLE, LESSON[exercise.replace("_", "-")], cell) == {}


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
