"""Lesson 1 as its author writes it: its visible tests bite, and its model answers are right."""

import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from autograder.model.lesson_text import CellKind

from .lessons import LESSONS

LESSON = LESSONS["01_embeddings"]


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the model answers define, after passing their own visible tests."""
    return LESSON.run()


def test_the_written_answer_has_a_mark_scheme_worth_its_points() -> None:
    """An assistant can mark from it: four items of half a point."""
    scheme = LESSON.cell(CellKind.WRITTEN, "recurrence").text.split("### BEGIN MARK SCHEME")[1]
    assert len(re.findall(r"^\d\. \*\*", scheme, re.MULTILINE)) == 4
    assert "half a point for each" in scheme


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tokenise", 'if piece != ""', ""),
        ("tokenise", 'if piece != ""', "if piece.strip()"),
        ("build-vocabulary", "-counts[token]", "counts[token]"),
        ("build-vocabulary", " - len(SPECIALS)", ""),
        ("build-vocabulary", "[*SPECIALS, *ranked]", "[*ranked, *SPECIALS]"),
        ("encode", "vocabulary.get(token, unknown)", "vocabulary.get(token, 0)"),
        ("encode", ", dtype=torch.long", ""),
        ("pad-batch", "row, : len(sequence)", "row, longest - len(sequence) :"),
        ("pad-batch", "pad_id, dtype", "0, dtype"),
        ("one-hot-embed", ".to(table.dtype)", ".float()"),
        ("one-hot-embed", "one_hot @ table", "one_hot @ table.detach()"),
        ("one-hot-embed", ", num_classes=table.size(0)", ""),
        ("token-embedding", " * self.scale", ""),
        ("token-embedding", ", padding_idx=pad_id", ""),
        ("nearest", "descending=True", "descending=False"),
        ("nearest", "F.cosine_similarity(table, query, dim=-1)", "table @ query"),
        (
            "nearest",
            "F.cosine_similarity(table, query, dim=-1)",
            "table @ query / table.norm(dim=-1)",
        ),
    ],
)
def test_visible_tests_bite(name: str, old: str, new: str) -> None:
    """A typical mistake is caught by the tests a student can see, or stops with an error."""
    with pytest.raises((AssertionError, RuntimeError)):
        LESSON.run({name: (old, new)}, until=name)


def test_the_product_is_the_lookup(answers: dict[str, Any]) -> None:
    """Values and gradients of both are the same."""
    torch.manual_seed(0)
    ids, table = torch.randint(0, 9, (3, 4)), torch.randn(9, 5, dtype=torch.float64)
    ours, theirs = table.clone().requires_grad_(), table.clone().requires_grad_()
    embedded, looked_up = answers["one_hot_embed"](ids, ours), F.embedding(ids, theirs)
    torch.testing.assert_close(embedded, looked_up)
    embedded.square().sum().backward()
    looked_up.square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_a_text_survives_the_way_to_ids_and_back(answers: dict[str, Any]) -> None:
    """With all of its tokens in the vocabulary nothing is lost."""
    text = "  It's 9.30 – déjà vu?\n\nAgain: déjà vu. "
    tokens = answers["tokenise"](text)
    vocabulary = answers["build_vocabulary"](tokens)
    words = list(vocabulary)
    assert "".join(words[i] for i in answers["encode"](tokens, vocabulary)) == text


def test_padding_stays_zero_through_training(answers: dict[str, Any]) -> None:
    """After steps of an optimiser the row of <pad> is what it was."""
    layer = answers["TokenEmbedding"](7, 6, pad_id=2)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimiser.zero_grad()
        (layer(torch.tensor([[1, 2, 2], [6, 5, 2]])) - 1).square().sum().backward()
        optimiser.step()
    assert not layer.embed.weight[2].any()
