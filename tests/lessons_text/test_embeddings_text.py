"""Lesson 1 as its author writes it: it holds the contract, and its visible tests bite."""

import re
from pathlib import Path
from typing import Any

import jupytext
import pytest
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "source" / "01_embeddings.py"
POINTS = {
    "tokenise": 2, "build-vocabulary": 3, "encode": 2, "pad-batch": 2, "one-hot-embed": 3,
    "token-embedding": 3, "nearest": 3,
}  # fmt: skip
REGION = re.compile(r"### BEGIN SOLUTION.*?### END SOLUTION", re.DOTALL)
CELLS = [(cell.metadata.get("title", ""), cell) for cell in jupytext.read(TEXT).cells]


def source(title: str) -> str:
    """Return the source of the one cell with this title."""
    (found,) = [cell.source for name, cell in CELLS if name == title]
    return str(found)


def run(edits: dict[str, tuple[str, str]] | None = None, until: str = "") -> dict[str, Any]:
    """Run setup, answers and visible tests up to the test of `until`, with answers edited."""
    scope: dict[str, Any] = {}
    exec(source("setup"), scope)
    exec(source("given"), scope)
    for name, points in POINTS.items():
        old, new = (edits or {}).get(name, ("", ""))
        answer = source(f"solution {name}")
        assert old in answer, f"the answer to {name} no longer contains {old!r}"
        exec(answer.replace(old, new) if old else answer, scope)
        exec(source(f"test {name} {points}"), scope)
        if name == until:
            break
    return scope


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """Return what the model answers define, after passing their own visible tests."""
    return run()


def test_exercises_come_in_the_contracts_order_with_its_points() -> None:
    """Every solution is followed by its test, the written one comes last, and they make 20 points."""
    graded = [title for title, _ in CELLS if title.startswith(("solution", "test", "written"))]
    expected = [t for name, p in POINTS.items() for t in (f"solution {name}", f"test {name} {p}")]
    assert graded == [*expected, "written recurrence 2"]
    assert sum(POINTS.values()) + 2 == 20


def test_the_written_answer_has_a_mark_scheme_worth_its_points() -> None:
    """An assistant can mark from it: four items of half a point."""
    scheme = source("written recurrence 2").split("### BEGIN MARK SCHEME")[1]
    assert len(re.findall(r"^\d\. \*\*", scheme, re.MULTILINE)) == 4
    assert "half a point for each" in scheme


def test_every_test_is_followed_by_folded_hints() -> None:
    """After each test come two or three hints, from a nudge on, folded away."""
    following = [CELLS[i + 1][1] for i, (t, _) in enumerate(CELLS) if t.startswith("test")]
    assert all(2 <= cell.source.count("<details><summary>Hint") <= 3 for cell in following)


def test_every_figure_exists_and_can_be_read_aloud() -> None:
    """Each picture is there, with alt text that says what it shows."""
    found = re.findall(r"!\[(.*?)\]\((images/.*?)\)", TEXT.read_text(encoding="utf-8"))
    assert len(found) == 3
    for alt, path in found:
        assert len(alt) > 80, path
        assert (ROOT / path).is_file(), path


@pytest.mark.parametrize("name", list(POINTS))
def test_skeletons_run_and_give_nothing_away(name: str) -> None:
    """Without its solution a cell still defines its name, and says nothing of the answer."""
    blank = REGION.sub("raise NotImplementedError()", source(f"solution {name}"))
    assert "SOLUTION" not in blank
    scope: dict[str, Any] = {}
    exec(source("setup"), scope)
    exec(source("given"), scope)
    exec(blank, scope)
    with pytest.raises(NotImplementedError):
        exec(source(f"test {name} {POINTS[name]}"), scope)


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
        run({name: (old, new)}, until=name)


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
