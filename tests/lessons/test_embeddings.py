"""Lesson 01: unusual right answers pass, wrong ones of other people's making are seen and named.

Mistakes of the catalogue that no edit stands for, and why:

- E01, ids as floats or one-hot rows: `nn.Embedding` refuses them, so the student sees the error at
  once; `encode` that returns floats or one-hot rows is named there.
- E11, one table for two languages: needs two vocabularies, which come in lesson 07.
- E12, "similar tokens start close": a belief, answered in the lesson, not a result of code.
- E13, tied weights copied instead of shared: nothing is tied here; the contract of lesson 06 gives
  the output layer weights of its own.
"""

import inspect
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.lessons import load_lesson
from autograder.marker import Marker
from autograder.results import ExerciseReport

LESSON = "01_embeddings"
HandIn = Callable[..., Path]
NAMES = {"tokenise": "tokenise", "vocabulary": "build_vocabulary", "encode": "encode", "pad": "pad_batch",
         "product": "one_hot_embed", "layer": "token_embedding", "nearest": "nearest"}  # fmt: skip

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


def told(marker: Marker, hand_in: HandIn, name: str, cell: str) -> ExerciseReport:
    """Mark the lesson with one cell replaced; every other exercise must keep its points."""
    answer = NAMES[name.split("-")[0]]
    report = marker.mark(LESSON, hand_in(LESSON, **{answer: cell})).report
    exercise = report.exercise(answer.replace("_", "-"))
    others = [ex for ex in report.exercises if ex.id not in (exercise.id, "recurrence")]
    assert all(ex.score == ex.points for ex in others)
    return exercise


@pytest.mark.parametrize("name", RIGHT)
def test_unusual_right_answers_pass(name: str, marker: Marker, hand_in: HandIn) -> None:
    """Loops, numpy, other functions, other containers: full marks all the same."""
    exercise = told(marker, hand_in, name, RIGHT[name])
    assert exercise.failures == []
    assert exercise.score == exercise.points


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_written_another_way_are_named(
    name: str, marker: Marker, hand_in: HandIn
) -> None:
    """A known mistake is named whatever the code looks like."""
    mistake, cell = WRONG[name]
    exercise = told(marker, hand_in, name, cell)
    assert exercise.score is not None
    assert exercise.score < exercise.points
    assert mistake in {named.id for named in exercise.misconceptions}, exercise


@pytest.mark.parametrize("name", [name for name in WRONG if WRONG[name][0] == "lookup"])
def test_a_lookup_earns_nothing(name: str, marker: Marker, hand_in: HandIn) -> None:
    """However the rows are fetched, it is not the product that was asked for, and it is said so."""
    exercise = told(marker, hand_in, name, WRONG[name][1])
    assert exercise.score == 0
    assert "no matrix product" in exercise.checks[0].message


@pytest.mark.parametrize(
    ("answer", "cell", "said"),
    [
        ("tokenise", "def tokenise(text):\n    return text.replace(',', '').split(' ')", "near"),
        ("tokenise", "def tokenise(text):\n    return re.split(r'\\b', text) + ['x']", "empty string"),
        ("build_vocabulary", "def build_vocabulary(tokens, max_size=None):\n"
         "    return dict(zip([*SPECIALS, *set(tokens)], [0, 1, 2, 3, *[7] * 999]))", "share an id"),
        ("encode", "def encode(tokens, vocabulary):\n"
         "    return torch.tensor([vocabulary.get(t, 2) for t in tokens], dtype=torch.long)",
         "is not in the vocabulary"),
        ("pad_batch", "def pad_batch(sequences, pad_id=0):\n    n = max(map(len, sequences))\n"
         "    return torch.tensor([list(s) + [-1] * (n - len(s)) for s in sequences])",
         "it should be padding"),
        ("one_hot_embed", "def one_hot_embed(ids, table):\n"
         "    return 2 * F.one_hot(ids, len(table)).to(table) @ table", "2 times"),
        ("token_embedding", "class TokenEmbedding(nn.Module):\n"
         "    def __init__(self, vocab_size, d_model, pad_id=0):\n        super().__init__()\n"
         "        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)\n"
         "    def forward(self, ids):\n        return 3 * self.embed(ids)", "a scale factor is off"),
        ("nearest", "def nearest(table, query, k):\n"
         "    return torch.topk(table.norm(dim=-1), k).indices", "has the cosine"),
    ],
)  # fmt: skip
def test_a_mistake_like_no_other_is_put_into_words(
    answer: str, cell: str, said: str, marker: Marker, hand_in: HandIn
) -> None:
    """What matches nothing known still gets a sentence about what is wrong with it."""
    report = marker.mark(LESSON, hand_in(LESSON, **{answer: cell})).report
    messages = [check.message for check in report.exercise(answer.replace("_", "-")).failures]
    assert any(said in message for message in messages), messages


@pytest.mark.parametrize(
    "exercise", [ex.name for ex in load_lesson(LESSON).exercises if ex.reference]
)
def test_references_stand_on_their_own(exercise: str) -> None:
    """Sent as text into a student's process, a stand-in finds all it needs."""
    made = next(ex.reference for ex in load_lesson(LESSON).exercises if ex.name == exercise)
    scope = {"torch": torch, "nn": nn, "F": F, "math": math}
    exec(inspect.getsource(made), scope)
    assert exercise in scope


def test_the_written_answer_waits_for_a_person(marker: Marker, hand_in: HandIn) -> None:
    """Recurrence is not marked by the machine, and everything else is."""
    report = marker.mark(LESSON, hand_in(LESSON)).report
    assert [exercise.id for exercise in report.waiting()] == ["recurrence"]
    assert report.score == 18
