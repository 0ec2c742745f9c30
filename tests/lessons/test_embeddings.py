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
         "    def forward(self, ids):\n        return 3 * self.embed(ids)", "Is a factor missing, or one too many?"),
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
