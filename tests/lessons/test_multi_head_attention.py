"""Lesson 4's checks: unusual right answers pass, and unknown mistakes get a sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.lessons import load_lesson
from autograder.marker import Marker

LESSON = "04_multi_head_attention"
HandIn = Callable[..., Path]

# Lines of MISTAKES.md, section 4, that no edit names, and why their outputs cannot tell.
UNNAMED = {
    "M02": "a belief, answered in the text and by a choice; the computation is the same",
    "M17": "w_q to w_o are attributes by contract, so a Python list cannot hide them",
    "M18": "there is no list of heads by contract; one shared layer is named 'one-layer-for-all'",
    "M20": "keeping the graph of stored weights costs memory, not numbers; the averaged and the last head are named",
    "M22": "the bias policy is fixed by the contract: forgetting biases is named in both exercises",
    "M25": "a belief, answered in the text, by a choice and by parameter-count",
}

SPLIT_BY_NUMPY = """
import numpy as np
def split_heads(x, num_heads):
    parts = np.split(np.arange(x.shape[-1]), num_heads)
    return torch.stack([x[..., torch.from_numpy(p)] for p in parts], 1)
"""
SPLIT_BY_PERMUTE = """
def split_heads(x, num_heads):
    return x.unflatten(2, (num_heads, -1)).permute([0, 2, 1, 3]).contiguous()
"""
MERGE_BY_LOOP = """
def merge_heads(x):
    out = torch.zeros(x.shape[0], x.shape[2], x.shape[1] * x.shape[3], dtype=x.dtype)
    for h in range(x.shape[1]):
        out[:, :, h * x.shape[3]:(h + 1) * x.shape[3]] = x[:, h]
    return out
"""
MERGE_BY_EINOPS_LIKE = """
def merge_heads(x):
    return torch.einsum("bhsk->bshk", x).flatten(start_dim=-2)
"""
FUSED = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads: raise ValueError("no")
        self.h, self.p = num_heads, dropout
        self.w_q = nn.Linear(d_model, d_model); self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model); self.w_o = nn.Linear(d_model, d_model)
        self.register_buffer("scale", torch.tensor((d_model // num_heads) ** -0.5))
        self.parts = nn.ModuleList([self.w_q, self.w_k, self.w_v])
    def forward(self, query, key, value, mask=None):
        w = torch.cat([m.weight for m in self.parts]); b = torch.cat([m.bias for m in self.parts])
        d = query.shape[-1]
        q = F.linear(query, w[:d], b[:d]); kk = F.linear(key, w[d:2*d], b[d:2*d]); v = F.linear(value, w[2*d:], b[2*d:])
        B, T, S = query.shape[0], query.shape[1], key.shape[1]
        q, kk, v = q.view(B, T, self.h, -1), kk.view(B, S, self.h, -1), v.view(B, S, self.h, -1)
        s = torch.einsum("bthk,bshk->bhts", q, kk) * self.scale
        if mask is not None:
            if mask.dim() == 2: mask = mask[None]
            s = s.masked_fill(mask[:, None] == 0, -1e9)
        w = torch.softmax(s, -1)
        if mask is not None:
            w = w * mask[:, None]
        w = F.dropout(w, self.p, self.training)
        return [self.w_o(torch.einsum("bhts,bshk->bthk", w, v).reshape(B, T, d)), w]
"""
BY_LOOPS = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        assert_ok(d_model, num_heads)
        self.layers = nn.ModuleDict({n: nn.Linear(d_model, d_model) for n in "qkvo"})
        self.w_q, self.w_k, self.w_v, self.w_o = (self.layers[n] for n in "qkvo")
        self.num_heads, self.drop = num_heads, nn.Dropout(dropout)
    def forward(self, query, key, value, mask=None):
        k = query.size(-1) // self.num_heads
        outs, ws = [], []
        for h in range(self.num_heads):
            part = slice(h * k, (h + 1) * k)
            w = scaled_dot_product_attention(self.w_q(query)[..., part], self.w_k(key)[..., part],
                                             self.w_v(value)[..., part], mask)[1]
            outs.append(self.drop(w) @ self.w_v(value)[..., part]); ws.append(w)
        return self.w_o(torch.cat(outs, -1)), torch.stack(ws, 1)

def assert_ok(d, h):
    if d / h != d // h:
        raise ValueError("uneven")
"""
FOLDED = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError
        self.n = num_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model))
        self.dropout = dropout
    def fold(self, x):
        b, t, d = x.shape
        return x.reshape(b, t, self.n, d // self.n).transpose(1, 2).reshape(b * self.n, t, d // self.n)
    def forward(self, query, key, value, mask=None):
        b, t, d = query.shape
        if mask is not None and mask.dim() == 3:
            mask = mask.repeat_interleave(self.n, 0)
        _, w = scaled_dot_product_attention(self.fold(self.w_q(query)), self.fold(self.w_k(key)), self.fold(self.w_v(value)), mask)
        out = F.dropout(w, self.dropout, self.training).bmm(self.fold(self.w_v(value)))
        out = out.view(b, self.n, t, d // self.n).permute(0, 2, 1, 3).flatten(2)
        return self.w_o(out), w.view(b, self.n, t, -1)
"""
LOAD_BY_DATA = """
def load_from_torch(mine, theirs):
    d = theirs.embed_dim
    for i, layer in enumerate([mine.w_q, mine.w_k, mine.w_v]):
        layer.weight.data = theirs.in_proj_weight.data[i * d:(i + 1) * d].clone()
        layer.bias.data.copy_(theirs.in_proj_bias[i * d:(i + 1) * d])
    mine.w_o.load_state_dict(theirs.out_proj.state_dict())
"""
LOAD_NEW_PARAMETERS = """
import copy
def load_from_torch(mine, theirs):
    for name, w, b in zip("qkv", theirs.in_proj_weight.split(theirs.embed_dim), theirs.in_proj_bias.split(theirs.embed_dim)):
        layer = getattr(mine, f"w_{name}")
        layer.weight = nn.Parameter(w.detach().clone())
        layer.bias = nn.Parameter(torch.tensor(b.tolist(), dtype=b.dtype))
    mine.w_o = copy.deepcopy(theirs.out_proj)
    return mine
"""
LOAD_STATE = """
@torch.no_grad()
def load_from_torch(mine, theirs):
    s = theirs.state_dict()
    state = {"w_o.weight": s["out_proj.weight"], "w_o.bias": s["out_proj.bias"]}
    for n, w, b in zip(["w_q", "w_k", "w_v"], s["in_proj_weight"].chunk(3), s["in_proj_bias"].chunk(3)):
        state[n + ".weight"], state[n + ".bias"] = w, b
    mine.load_state_dict(state, strict=False)
"""
COUNT_BY_BUILDING = """
def parameter_count(d_model, num_heads):
    return sum(p.numel() for p in MultiHeadAttention(d_model, num_heads).parameters())
"""
ANSWERS_AS_LISTS = """
answers = {k: list(v) if isinstance(v, tuple) else v for k, v in {
    "q": (1, 3, 6), "q_heads": (1, 2, 3, 3), "scores": (1, 2, 3, 3), "mixed": torch.Size([1, 2, 3, 3]),
    "merged": (1, 3, 6), "output": (1, 3, 6), "head_w_q": (4, 2), "head_w_v": (4, 2), "w_o": (4, 4),
    "projections": 6.0, "sees": " b", "more_heads": "(c)", "sharing": "a", "an extra": 1}.items()}
"""


@pytest.mark.parametrize(
    "cells",
    [
        {"split_heads": SPLIT_BY_NUMPY, "merge_heads": MERGE_BY_LOOP, "multi_head_attention": FUSED,
         "load_from_torch": LOAD_BY_DATA, "parameter_count": COUNT_BY_BUILDING, "head_shapes": ANSWERS_AS_LISTS},
        {"split_heads": SPLIT_BY_PERMUTE, "merge_heads": MERGE_BY_EINOPS_LIKE, "multi_head_attention": BY_LOOPS,
         "load_from_torch": LOAD_NEW_PARAMETERS},
        {"multi_head_attention": FOLDED, "load_from_torch": LOAD_STATE},
    ],
    ids=["fused", "loops", "folded"],
)  # fmt: skip
def test_unusual_right_answers_pass(cells: dict[str, str], marker: Marker, hand_in: HandIn) -> None:
    """Numpy, einsum, loops, fused projections, folded heads, buffers, parts registered twice."""
    report = marker.mark(LESSON, hand_in(LESSON, **cells)).report
    assert [check for ex in report.exercises for check in ex.failures] == []
    assert report.score == 20


@pytest.mark.parametrize(
    ("exercise", "old", "new", "said"),
    [
        ("multi_head_attention", "return output, weights", "return output * 1.1, weights", "The weights are right, the output is not"),
        ("multi_head_attention", "return output, weights", "return output, weights ** 2", "sum to 1 over the keys"),
        ("multi_head_attention", "(q, k, v, mask)", "(1.3 * q, k, v, mask)", "All scores are 1.3 times"),
        ("multi_head_attention", "(q, k, v, mask)", "(q.flip(2), k, v, mask)", "The weights are wrong already"),
        ("multi_head_attention", "mask.unsqueeze(1)", "mask.unsqueeze(1).roll(1, -1)", "which the mask hides"),
        ("multi_head_attention", "merge_heads(mixed)", "merge_heads(mixed).roll(-1, 1)", "The future leaks"),
        ("multi_head_attention", "output = self.w_o", "output = 0 * query.mean() + self.w_o", ""),
        ("multi_head_attention", "return output, weights", "return output - output.mean(0), weights", "samples are mixed"),
        ("split_heads", "x.transpose(1, 2)", "x.transpose(1, 2).flip(1)", "it should be sample 0, token 0, feature 0"),
        ("merge_heads", "return x.reshape", "return x.flip(1).reshape", "it should be sample 0, head 0, token 0, feature 0"),
        ("load_from_torch", "copy_(w_k)", "copy_(w_k.flip(0))", "`w_k.weight` holds something else; it should hold the keys' part"),
        ("load_from_torch", "mine.w_v.bias.copy_(b_v)", "pass", "`w_v.bias` was left as it was"),
        ("parameter_count", "4 * one_layer", "4 * one_layer + 7", "Build the layer in this size"),
    ],
)  # fmt: skip
def test_an_unknown_mistake_gets_a_sentence(
    exercise: str, old: str, new: str, said: str, marker: Marker, hand_in: HandIn
) -> None:
    """What matches nothing known is put into words, and no known mistake is blamed for it."""
    path = hand_in(LESSON, **{exercise: lambda answer: answer.replace(old, new)})
    told = marker.mark(LESSON, path).report.exercise(exercise.replace("_", "-"))
    if not said:
        assert told.score == told.points
        return
    assert told.score is not None
    assert told.score < told.points
    assert told.misconceptions == []
    assert any(said in check.message for check in told.failures), told.failures
    assert not any("differ from what was expected" in check.message for check in told.failures)


@pytest.mark.parametrize(
    "cell",
    [
        "from coursework.stand_ins import MultiHeadAttention",
        "import coursework.stand_ins as s\nclass MultiHeadAttention(s.MultiHeadAttention):\n    pass",
    ],
)
def test_the_stand_in_is_no_answer(cell: str, marker: Marker, hand_in: HandIn) -> None:
    """What students are given for later lessons earns nothing in the lesson it belongs to."""
    told = marker.mark(LESSON, hand_in(LESSON, multi_head_attention=cell)).report.exercise(
        "multi-head-attention"
    )
    assert told.score == 0
    assert all("write your own" in check.message for check in told.failures)


def test_a_wrong_layer_costs_neither_loading_nor_counting(marker: Marker, hand_in: HandIn) -> None:
    """Later exercises are marked with a right layer in the place of a wrong one."""
    report = marker.mark(
        LESSON, hand_in(LESSON, multi_head_attention="class MultiHeadAttention:\n    pass")
    ).report
    assert report.score == 12
    assert report.exercise("multi-head-attention").score == 0


def test_a_missing_answer_costs_itself_only(marker: Marker, hand_in: HandIn) -> None:
    """Entries of the dictionary are marked one by one."""
    path = hand_in(LESSON, head_shapes=lambda answer: answer.replace('"q": (1, 3, 6),', ""))
    told = marker.mark(LESSON, path).report.exercise("head-shapes")
    assert [check.id for check in told.failures] == ["q"]


def test_what_cannot_be_named_is_listed() -> None:
    """The list above names lines of section 4, and the mistakes it points to exist."""
    lesson = load_lesson(LESSON)
    named = {m.id for ex in lesson.exercises for m in ex.misconceptions}
    assert {
        "one-layer-for-all",
        "weights-averaged",
        "last-head-only",
        "no-biases",
        "no-bias",
    } <= named
    assert all(line[0] == "M" and 1 <= int(line[1:]) <= 26 for line in UNNAMED)
