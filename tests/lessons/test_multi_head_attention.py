"""Lesson 4's checks: unusual right answers pass, and unknown mistakes get a sentence."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence, messages

from autograder.grading.grader import Grader
from autograder.judge.diagnose import diagnose
from autograder.judge.oracle import Evidence, Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

LESSON = "04_multi_head_attention"
ORACLE = Oracle(load_lesson(Course(ROOT), LESSON), KEY)
HandIn = Callable[..., Path]

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
MERGE_BY_EINSUM = """
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
HEADS_SEE_SLICES = """\
own = torch.block_diag(*[torch.ones(q.size(-1), q.size(-1))] * self.num_heads).to(q.dtype)
        q = split_heads(F.linear(query, self.w_q.weight * own, self.w_q.bias), self.num_heads)
        k = split_heads(F.linear(key, self.w_k.weight * own, self.w_k.bias), self.num_heads)
        """
ANSWERS_AS_LISTS = """
answers = {k: list(v) if isinstance(v, tuple) else v for k, v in {
    "q": (1, 3, 6), "q_heads": (1, 2, 3, 3), "scores": (1, 2, 3, 3), "mixed": torch.Size([1, 2, 3, 3]),
    "merged": (1, 3, 6), "output": (1, 3, 6), "five_q_heads": (1, 2, 5, 3),
    "five_scores": (1, 2, 5, 5), "five_mixed": [1, 2, 5, 3], "head_w_q": (4, 2), "head_w_v": (4, 2), "w_o": (4, 4),
    "projections": 6.0, "sees": " b", "more_heads": "(c)", "sharing": "a", "an extra": 1}.items()}
"""


def tried(exercise: str, source: str) -> list[Evidence]:
    """Try a source in the place of an exercise's model answer."""
    checks = ORACLE.lesson[exercise]
    return evidence(ORACLE, checks, [answer_with(checks, source)])


@pytest.mark.parametrize(
    ("exercise", "source"),
    [
        pytest.param("split-heads", SPLIT_BY_NUMPY, id="split-by-numpy"),
        pytest.param("split-heads", SPLIT_BY_PERMUTE, id="split-by-permute"),
        pytest.param("merge-heads", MERGE_BY_LOOP, id="merge-by-loop"),
        pytest.param("merge-heads", MERGE_BY_EINSUM, id="merge-by-einsum"),
        pytest.param("multi-head-attention", FUSED, id="projections-fused"),
        pytest.param("multi-head-attention", BY_LOOPS, id="head-by-head"),
        pytest.param("multi-head-attention", FOLDED, id="heads-folded-into-the-batch"),
        pytest.param("load-from-torch", LOAD_BY_DATA, id="load-by-data"),
        pytest.param("load-from-torch", LOAD_NEW_PARAMETERS, id="load-new-parameters"),
        pytest.param("load-from-torch", LOAD_STATE, id="load-a-state-dict"),
        pytest.param("parameter-count", COUNT_BY_BUILDING, id="count-by-building"),
        pytest.param("head-shapes", ANSWERS_AS_LISTS, id="shapes-as-lists"),
    ],
)
def test_unusual_right_answers_pass(exercise: str, source: str) -> None:
    """Numpy, einsum, loops, fused projections, folded heads, buffers, parts registered twice."""
    assert messages(tried(exercise, source)) == []


@pytest.mark.parametrize(
    ("exercise", "old", "new", "said"),
    [
        ("multi-head-attention", "return output, weights", "return output * 1.1, weights", "The weights are right, but the output is not"),
        ("multi-head-attention", "return output, weights", "return output.roll(1, -1), weights", "the right numbers in the wrong places"),
        ("multi-head-attention", "return output, weights", "return output, weights.roll(1, 1)", "The output is right, but the second value"),
        ("multi-head-attention", "return output, weights", "return output, weights ** 2", "Every row of weights should sum to 1"),
        ("multi-head-attention", "(q, k, v, mask)", "(1.3 * q, k, v, mask)", "The weights are already wrong"),
        ("multi-head-attention", "(q, k, v, mask)", "(q.flip(2), k, v, mask)", "The weights are already wrong"),
        ("multi-head-attention", "mask.unsqueeze(1)", "mask.unsqueeze(1).roll(1, -1)", "which the mask hides"),
        ("multi-head-attention", "merge_heads(mixed)", "merge_heads(mixed).roll(-1, 1)", "The future leaks"),
        ("multi-head-attention", "_, weights =", f"{HEADS_SEE_SLICES}_, weights =", "it sees only its own slice of x"),
        ("multi-head-attention", "return output, weights", "return output - output.mean(0), weights", "samples are mixed"),
        ("multi-head-attention", "self.w_v(value)", "self.w_v(value).detach()", "No gradient reaches `w_v.weight`"),
        ("split-heads", "x.transpose(1, 2)", "x.transpose(1, 2).roll(1, 1)", "It should be sample 0, token 0, feature 0"),
        ("split-heads", "x.transpose(1, 2)", "(x / 2 + x.detach() / 2).transpose(1, 2)", "The gradient of `x` is wrong."),
        ("merge-heads", "return x.reshape", "return x.flip(1).reshape", "It should be sample 0, head 0, token 0, feature 0"),
        ("load-from-torch", "copy_(w_k)", "copy_(w_k.flip(0))", "`w_k.weight` holds something else, but it should hold the keys' part"),
        ("load-from-torch", "mine.w_v.bias.copy_(b_v)", "pass", "`w_v.bias` was left as it was"),
        ("load-from-torch", "mine.w_o.bias.copy_(theirs.out_proj.bias)", "mine.w_o.bias.data = theirs.out_proj.bias.data", "shared, not copied"),
        ("parameter-count", "4 * one_layer", "4 * one_layer + 7", "The count is too large."),
        ("parameter-count", "4 * one_layer", "4 * one_layer - 2", "Which bias is missing?"),
        ("parameter-count", "4 * one_layer", "2 * one_layer", "smaller than the number of weights"),
    ],
)  # fmt: skip
def test_an_unknown_mistake_gets_a_sentence(exercise: str, old: str, new: str, said: str) -> None:
    """What matches nothing known is put into words, and no known mistake is blamed for it."""
    checks = ORACLE.lesson[exercise]
    assert old in checks.answer
    seen = tried(exercise, checks.answer.replace(old, new))
    assert diagnose(ORACLE, checks, seen) == []
    assert any(said in message for message in messages(seen)), messages(seen)


def test_what_changes_no_number_is_no_mistake() -> None:
    """Only outputs count."""
    answer = ORACLE.lesson["multi-head-attention"].answer
    source = answer.replace("output = self.w_o", "output = 0 * query.mean() + self.w_o")
    assert messages(tried("multi-head-attention", source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "from coursework.stand_ins import MultiHeadAttention",
        "import coursework.stand_ins as s\nclass MultiHeadAttention(s.MultiHeadAttention):\n    pass",
    ],
)
def test_the_stand_in_is_no_answer(source: str) -> None:
    """What students are given for later lessons earns nothing in the lesson it belongs to."""
    told = messages(tried("multi-head-attention", source))
    assert len(told) == len(ORACLE.lesson["multi-head-attention"].checks)
    assert all("write your own" in message for message in told)


def test_a_missing_entry_costs_itself_only() -> None:
    """Entries of the dictionary are graded one by one."""
    answer = ORACLE.lesson["head-shapes"].answer
    seen = tried("head-shapes", answer.replace('"q": (1, 3, 6),', ""))
    assert [item.check.id for item in seen if not item.passed] == ["q"]


def test_a_wrong_layer_costs_neither_loading_nor_counting(grader: Grader, hand_in: HandIn) -> None:
    """Later exercises are graded with a right layer in the place of a wrong one."""
    path = hand_in(LESSON, multi_head_attention="class MultiHeadAttention:\n    pass")
    report = grader.grade(LESSON, path).report
    assert report.score == 12
    assert report.exercise("multi-head-attention").score == 0
