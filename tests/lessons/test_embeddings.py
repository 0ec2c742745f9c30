"""Lesson 01: right answers in unusual forms pass; wrong ones in other forms are seen and named.

Mistakes of the catalogue that no edit stands for, and why:

- E01, ids as floats or one-hot rows: `nn.Embedding` refuses them, so the student sees the error at
  once; `encode` that returns floats or one-hot rows is named there.
- E11, one table for two languages: needs two vocabularies, which come in lesson 07.
- E12, "similar tokens start close": a belief, answered in the lesson, not a result of code.
- E13, tied weights copied instead of shared: nothing is tied here; the contract of lesson 06 gives
  the output layer weights of its own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence, grade_mistake, messages

from autograder.grading.grader import Grader
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course

LESSON = "01_embeddings"
ORACLE = Oracle(load_lesson(Course(ROOT), LESSON), KEY)
NAMES = {"tokenise": "tokenise", "vocabulary": "build-vocabulary", "encode": "encode", "pad": "pad-batch",
         "product": "one-hot-embed", "layer": "token-embedding", "nearest": "nearest"}  # fmt: skip

RIGHT = {
    "tokenise-findall": r'''
def tokenise(text):
    import re as regex
    return regex.findall(r"\w+|\W+", text)''',
    "tokenise-by-hand": '''
def tokenise(text):
    out = []
    for c in text:
        word = c.isalnum() or c == "_"
        if out and word == last:
            out[-1] += c
        else:
            out.append(c)
        last = word
    return tuple(out)''',
    "tokenise-filter": r'''
def tokenise(text):
    parts = re.split(r"(\b)", text)
    while "" in parts: parts.remove("")
    return parts''',
    "vocabulary-stable-sorts": '''
def build_vocabulary(tokens, max_size=None):
    from collections import OrderedDict
    vocab = OrderedDict((s, i) for i, s in enumerate(["<pad>", "<sos>", "<eos>", "<unk>"]))
    counts = {}
    for t in tokens:
        counts[t] = counts.get(t, 0) + 1
    for t in sorted(sorted(counts), key=lambda t: counts[t], reverse=True):
        if max_size and len(vocab) >= max_size:
            break
        if t not in vocab:
            vocab[t] = len(vocab)
    return vocab''',
    "vocabulary-numpy": '''
import numpy as np
def build_vocabulary(tokens, max_size=None):
    words, n = np.unique(np.array(tokens, dtype=object), return_counts=True) if tokens else ([], [])
    rest = [words[i] for i in np.argsort(-np.array(n), kind="stable") if words[i] not in SPECIALS]
    full = list(SPECIALS) + rest
    return dict((w, i) for i, w in enumerate(full[:max_size]))''',
    "vocabulary-most-common": '''
def build_vocabulary(tokens: list, max_size: int = None):
    common = Counter(sorted(t for t in tokens if t not in SPECIALS)).most_common()
    keep = [t for t, _ in common]
    if max_size is not None:
        keep = keep[:max_size - 4]
    return {**{s: i for i, s in enumerate(SPECIALS)}, **{t: i + 4 for i, t in enumerate(keep)}}''',
    "encode-loop": '''
def encode(tokens, vocabulary):
    out = torch.full((len(tokens),), 3).long()
    for i, t in enumerate(tokens):
        if t in vocabulary: out[i] = vocabulary[t]
    return out''',
    "encode-by-order": '''
def encode(tokens, vocabulary):
    words = list(vocabulary)
    return torch.LongTensor([words.index(t) if t in words else words.index("<unk>") for t in tokens])''',
    "encode-numpy": '''
import numpy as np
def encode(tokens, vocabulary):
    return torch.from_numpy(np.array([vocabulary.get(t, 3) for t in tokens], dtype=np.int64))''',
    "pad-sequence": '''
from torch.nn.utils.rnn import pad_sequence
def pad_batch(sequences, pad_id=0):
    rows = [torch.as_tensor(s, dtype=torch.long) for s in sequences]
    return pad_sequence(rows, batch_first=True, padding_value=pad_id)''',
    "pad-lists": '''
def pad_batch(sequences, pad_id=0):
    n = max(map(len, sequences))
    rows = [[int(t) for t in s] + [pad_id] * (n - len(s)) for s in sequences]
    return torch.tensor(rows, dtype=torch.int64)''',
    "pad-functional": '''
def pad_batch(sequences, pad_id=0):
    n = max([len(s) for s in sequences])
    rows = [torch.as_tensor(s).long() for s in sequences]
    return torch.stack([F.pad(s, (0, n - len(s)), value=pad_id) for s in rows])''',
    "product-eye": '''
def one_hot_embed(ids, table):
    return torch.eye(table.shape[0], dtype=table.dtype)[ids] @ table''',
    "product-scatter": '''
def one_hot_embed(ids, table):
    rows = torch.zeros(*ids.shape, len(table), dtype=table.dtype).scatter_(-1, ids.unsqueeze(-1), 1)
    return torch.einsum("bsv,vd->bsd", rows, table)''',
    "product-compare": '''
def one_hot_embed(ids, table):
    hot = (ids[:, :, None] == torch.arange(table.size(0))).type_as(table)
    return torch.matmul(hot.view(-1, table.size(0)), table).view(*ids.shape, -1)''',
    "product-loops": '''
def one_hot_embed(ids, table):
    out = []
    for row in ids:
        for i in row:
            hot = torch.zeros(table.size(0), dtype=table.dtype)
            hot[i] = 1.0
            out.append(sum(hot[v] * table[v] for v in range(len(table))))
    return torch.stack(out).reshape(ids.size(0), ids.size(1), table.size(1))''',
    "product-broadcast": '''
def one_hot_embed(ids, table):
    return (F.one_hot(ids, len(table)).unsqueeze(-1) * table).sum(dim=-2)''',
    "product-sparse": '''
def one_hot_embed(ids, table):
    hot = F.one_hot(ids.flatten(), len(table)).to(table.dtype).to_sparse()
    return torch.sparse.mm(hot, table).view(*ids.shape, -1)''',
    "product-linear": '''
def one_hot_embed(ids, table):
    return F.linear(F.one_hot(ids, len(table)).to(table), table.t())''',
    "product-bmm": '''
def one_hot_embed(ids, table):
    return torch.bmm(F.one_hot(ids, len(table)).to(table.dtype), table.expand(len(ids), -1, -1))''',
    "layer-functional": '''
class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, pad_id=0):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model, pad_id)
        self.tables = nn.ModuleList([self.embed])
        self.register_buffer("root", torch.tensor(d_model ** 0.5))
    def forward(self, ids):
        return F.embedding(ids, self.embed.weight, padding_idx=self.embed.padding_idx) * self.root''',
    "layer-own-initialisation": '''
class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, pad_id=0):
        super().__init__()
        self.d = d_model
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        nn.init.normal_(self.embed.weight, 0, d_model ** -0.5)
        with torch.no_grad():
            self.embed.weight[pad_id].fill_(0)
    def forward(self, ids):
        return self.embed(ids) * torch.sqrt(torch.tensor(self.d, dtype=self.embed.weight.dtype))''',
    "layer-masked": '''
class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, pad_id=0):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.embed.weight.data[pad_id] = 0
        self.pad_id, self.d_model = pad_id, d_model
    def forward(self, ids):
        keep = (ids != self.pad_id).unsqueeze(-1)
        return math.sqrt(self.d_model) * self.embed(ids) * keep''',
    "nearest-normalise": '''
def nearest(table, query, k):
    sims = F.normalize(table, dim=1) @ query
    return torch.topk(sims, k)[1]''',
    "nearest-loop": '''
def nearest(table, query, k):
    def cos(r):
        n = float(r.norm() * query.norm())
        return 0.0 if n == 0 else float(r @ query) / n
    return torch.tensor(sorted(range(len(table)), key=lambda i: -cos(table[i]))[:k])''',
    "nearest-numpy": '''
import numpy as np
def nearest(table, query, k):
    t, q = table.numpy(), query.numpy()
    norms = np.linalg.norm(t, axis=1)
    s = np.divide(t @ q, norms, out=np.zeros_like(norms), where=norms > 0)
    return torch.from_numpy(np.argsort(-s)[:k].copy())''',
    "nearest-epsilon": '''
def nearest(table, query, k):
    s = (table * query).sum(-1) / (table.norm(dim=-1) * query.norm() + 1e-8)
    return s.sort(descending=True).indices[:k]''',
}  # fmt: skip

WRONG = {
    "product-index": ("lookup", "def one_hot_embed(ids, table):\n    return table[ids]"),
    "product-functional": ("lookup", "def one_hot_embed(ids, table):\n    return F.embedding(ids, table)"),
    "product-select": ("lookup", "def one_hot_embed(ids, table):\n"
                       "    return table.index_select(0, ids.reshape(-1)).view(*ids.shape, -1)"),
    "product-module": ("lookup", "def one_hot_embed(ids, table):\n"
                       "    e = nn.Embedding.from_pretrained(table)\n    return e(ids)"),
    "product-gather": ("lookup", "def one_hot_embed(ids, table):\n"
                       "    i = ids.reshape(-1, 1).expand(-1, table.size(1))\n"
                       "    return table.gather(0, i).view(*ids.shape, -1)"),
    "product-rows": ("lookup", "def one_hot_embed(ids, table):\n"
                     "    rows = [torch.stack([table[i] for i in row.tolist()]) for row in ids]\n"
                     "    return torch.stack(rows)"),
    "product-take": ("lookup", "def one_hot_embed(ids, table):\n    hot = F.one_hot(ids, len(table))\n"
                     "    return torch.take_along_dim(table.expand(len(ids), -1, -1), "
                     "hot.argmax(-1, keepdim=True).expand(-1, -1, table.size(1)), 1)"),
    "product-unbind": ("lookup", "def one_hot_embed(ids, table):\n    rows = table.unbind()\n"
                       "    return torch.stack([torch.stack([rows[i] for i in r]) for r in ids])"),
    "tokenise-words": ("words-only", "def tokenise(text):\n"
                       "    return [w for w in re.split(r'\\W+', text) if w]"),
    "vocabulary-ties": ("ties-as-met", "def build_vocabulary(tokens, max_size=None):\n"
                        "    c = Counter(t for t in tokens if t not in SPECIALS)\n"
                        "    n = None if max_size is None else max_size - 4\n"
                        "    both = [*SPECIALS, *(t for t, _ in c.most_common(n))]\n"
                        "    return {t: i for i, t in enumerate(both)}"),
    "encode-pad": ("unknown-as-padding", "def encode(tokens, vocabulary):\n"
                   "    return torch.LongTensor([vocabulary[t] if t in vocabulary else 0 for t in tokens])"),
    "pad-left": ("left-padded", "def pad_batch(sequences, pad_id=0):\n    n = max(map(len, sequences))\n"
                 "    return torch.tensor([[pad_id] * (n - len(s)) + list(s) for s in sequences])"),
    "pad-in-place": ("lists-lengthened", "def pad_batch(sequences, pad_id=0):\n"
                     "    n = max(map(len, sequences))\n"
                     "    for s in sequences:\n        while isinstance(s, list) and len(s) < n:\n"
                     "            s.append(pad_id)\n"
                     "    return torch.stack([F.pad(torch.as_tensor(s), (0, n - len(s)), value=pad_id)"
                     " for s in sequences])"),
    "layer-plain": ("no-padding", "class TokenEmbedding(nn.Module):\n"
                    "    def __init__(self, vocab_size, d_model, pad_id=0):\n        super().__init__()\n"
                    "        self.embed = nn.Embedding(vocab_size, d_model)\n        self.d = d_model\n"
                    "    def forward(self, ids):\n        return self.d ** 0.5 * self.embed(ids)"),
    "nearest-dot": ("dot-product", "def nearest(table, query, k):\n"
                    "    return torch.topk((table * query).sum(1), k).indices"),
    "nearest-distance": ("euclidean", "def nearest(table, query, k):\n"
                         "    return torch.cdist(query[None], table)[0].topk(k, largest=False).indices"),
}  # fmt: skip


def graded(exercise: str, cell: str) -> dict[str, Any]:
    """Grade a cell as the answer of an exercise: its score, named mistakes and failed checks."""
    asked = ORACLE.lesson[exercise]
    return grade_mistake(ORACLE, asked, answer_with(asked, cell))


def told(exercise: str, cell: str) -> list[str]:
    """Return the messages that a cell gets as the answer of an exercise."""
    asked = ORACLE.lesson[exercise]
    return messages(evidence(ORACLE, asked, [answer_with(asked, cell)]))


@pytest.mark.parametrize("name", RIGHT)
def test_unusual_right_answers_pass(name: str) -> None:
    """Loops, numpy, other functions and other containers get full points."""
    exercise = NAMES[name.split("-")[0]]
    assert graded(exercise, RIGHT[name]) == {
        "score": ORACLE.lesson[exercise].points, "named": [], "failed": []
    }  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_in_another_form_are_named(name: str) -> None:
    """A known mistake is named whatever the code looks like."""
    mistake, cell = WRONG[name]
    found = graded(NAMES[name.split("-")[0]], cell)
    assert found["failed"]
    assert mistake in found["named"]


@pytest.mark.parametrize("name", [name for name in WRONG if WRONG[name][0] == "lookup"])
def test_a_lookup_earns_nothing(name: str) -> None:
    """However the rows are fetched, it is not the product that the exercise asks for."""
    cell = WRONG[name][1]
    assert graded("one-hot-embed", cell)["score"] == 0
    assert "come from a matrix product" in told("one-hot-embed", cell)[0]


@pytest.mark.parametrize(
    ("exercise", "cell", "said"),
    [
        ("tokenise", "def tokenise(text):\n    return text.replace(',', '').split(' ')", "should give the text"),
        ("tokenise", "def tokenise(text):\n    return re.split(r'\\b', text)", "Piece 0 is empty"),
        ("tokenise", "def tokenise(text):\n    return re.split(r'\\b', text)[1:3]", "too few pieces"),
        ("build-vocabulary", "def build_vocabulary(tokens, max_size=None):\n"
         "    n = {t: len(t) * tokens.count(t) for t in sorted(set(tokens) - set(SPECIALS))}\n"
         "    ranked = sorted(n, key=n.get, reverse=True)\n"
         "    return {t: i for i, t in enumerate([*SPECIALS, *ranked][:max_size])}", "in the wrong order"),
        ("build-vocabulary", "def build_vocabulary(tokens, max_size=None):\n"
         "    return {t: i for i, t in enumerate(SPECIALS)}", "too few entries"),
        ("encode", "def encode(tokens, vocabulary):\n"
         "    return torch.tensor([vocabulary.get(t, 2) for t in tokens], dtype=torch.long)",
         "not in the vocabulary"),
        ("pad-batch", "def pad_batch(sequences, pad_id=0):\n    n = max(map(len, sequences))\n"
         "    return torch.tensor([list(s) + [-1] * (n - len(s)) for s in sequences])",
         "entries are wrong"),
        ("one-hot-embed", "def one_hot_embed(ids, table):\n"
         "    return 2 * F.one_hot(ids, len(table)).to(table) @ table", "2 times"),
        ("one-hot-embed", "def one_hot_embed(ids, table):\n"
         "    return F.one_hot((ids + 2) % len(table), len(table)).to(table) @ table", "entries are wrong"),
        ("one-hot-embed", "def one_hot_embed(ids, table):\n"
         "    return F.one_hot(ids, len(table)).to(table) @ table.data", "missing or wrong"),
        ("token-embedding", "class TokenEmbedding(nn.Module):\n"
         "    def __init__(self, vocab_size, d_model, pad_id=0):\n        super().__init__()\n"
         "        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)\n"
         "    def forward(self, ids):\n        return 3 * self.embed(ids)", "a scale factor is off"),
        ("token-embedding", "class TokenEmbedding(nn.Module):\n"
         "    def __init__(self, vocab_size, d_model, pad_id=0):\n        super().__init__()\n"
         "        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)\n"
         "    def forward(self, ids):\n        return self.embed(ids) * self.embed.embedding_dim**0.5 + 1",
         "off by the same amount"),
        ("nearest", "def nearest(table, query, k):\n"
         "    return torch.topk(table.norm(dim=-1), k).indices", "higher cosine with the query"),
        ("nearest", "def nearest(table, query, k):\n"
         "    return torch.arange(len(table), len(table) + k)", "entries are wrong"),
    ],
)  # fmt: skip
def test_an_unknown_mistake_is_described(exercise: str, cell: str, said: str) -> None:
    """An answer that matches no known mistake still gets a sentence about what is wrong with it."""
    assert any(said in message for message in told(exercise, cell)), told(exercise, cell)


def test_a_solved_lesson_gets_all_points_but_the_written_ones(
    grader: Grader, hand_in: Callable[..., Path]
) -> None:
    """The whole way through the sandbox: only `recurrence` waits to be graded by hand."""
    report = grader.grade(LESSON, hand_in(LESSON)).report
    assert [exercise.id for exercise in report.pending_exercises()] == ["recurrence"]
    assert report.score == 18
