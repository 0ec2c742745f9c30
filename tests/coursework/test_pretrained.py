"""Word vectors come from verified files that are here, or say in so many words that they are made up."""

from pathlib import Path

import pytest
import safetensors.torch
import torch
import torch.nn.functional as F

from coursework import pretrained
from coursework.pretrained import WordTable, word_table
from coursework.small_bert import word_pieces

QUESTIONS = [("king", "man", "woman", "queen"), ("brother", "boy", "girl", "sister"),
             ("kitten", "cat", "dog", "puppy"), ("tokyo", "japan", "china", "beijing")]  # fmt: skip


def best(table: WordTable, a: str, b: str, c: str) -> str:
    """Return the word nearest to a − b + c, the three themselves left out."""
    similarity = F.cosine_similarity(table.vectors, table[a] - table[b] + table[c], dim=-1)
    ranked = (table.words[row] for row in similarity.argsort(descending=True).tolist())
    return next(word for word in ranked if word not in (a, b, c))


def folder(tmp_path: Path, words: list[str]) -> Path:
    """Write a tiny model: a table of two numbers a word, and its vocabulary."""
    table = torch.arange(2.0 * len(words)).view(len(words), 2)
    safetensors.torch.save_file({pretrained.TABLE: table}, tmp_path / pretrained.WEIGHTS)
    (tmp_path / pretrained.VOCABULARY).write_text("\n".join(words) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take all places away in which files could lie."""
    monkeypatch.setattr(pretrained, "_places", lambda: iter(()))


@pytest.mark.usefixtures("nothing_here")
def test_without_files_the_table_is_made_up_and_says_so() -> None:
    """The note says that it is made up, why, and how to get the real one."""
    table = word_table()
    assert not table.real
    assert "MADE UP" in table.note
    assert pretrained.INSTALL in table.note
    assert len(table.vectors) == len(table.words) == 56


@pytest.mark.usefixtures("nothing_here")
@pytest.mark.parametrize(("a", "b", "c", "answer"), QUESTIONS)
def test_the_made_up_table_answers_the_lessons_questions(
    a: str, b: str, c: str, answer: str
) -> None:
    """King − man + woman is queen there as well."""
    assert best(word_table(), a, b, c) == answer


@pytest.mark.usefixtures("nothing_here")
def test_the_made_up_table_is_the_same_every_time() -> None:
    """No state of a random generator changes it."""
    torch.manual_seed(1)
    first = word_table().vectors
    torch.manual_seed(2)
    assert torch.equal(first, word_table().vectors)


def test_files_with_another_digest_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of the same name that is not the one verified is left alone, and the note says so."""
    monkeypatch.setattr(pretrained, "_places", lambda: iter([folder(tmp_path, ["a", "b"])]))
    table = word_table()
    assert not table.real
    assert "is not the one" in table.note


def test_verified_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first folder with both files is taken: row i belongs to line i of the vocabulary."""
    empty = tmp_path / "empty"
    empty.mkdir()
    places = [empty, folder(tmp_path, ["[PAD]", "sea", "##gull"])]
    monkeypatch.setattr(pretrained, "_places", lambda: iter(places))
    monkeypatch.setattr(pretrained, "verified", lambda _: True)
    table = word_table()
    assert table.real
    assert table["sea"].tolist() == [2.0, 3.0]
    assert word_pieces("seagull", table.ids) == ["sea", "##gull"]
    assert word_pieces("seal", table.ids) == ["[UNK]"]
    with pytest.raises(KeyError, match="no vector of its own"):
        table["ocean"]


def test_a_vocabulary_of_another_length_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words and vectors that cannot belong together are never paired."""
    place = folder(tmp_path, ["a", "b"])
    (place / pretrained.VOCABULARY).write_text("a\nb\nc\n", encoding="utf-8")
    monkeypatch.setattr(pretrained, "_places", lambda: iter([place]))
    monkeypatch.setattr(pretrained, "verified", lambda _: True)
    assert not word_table().real


def test_the_hubs_cache_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is not installed, a snapshot in the hub's cache will do."""
    snapshot = tmp_path / pretrained.HUB_FOLDER / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    folder(snapshot, ["a"])
    monkeypatch.setattr(pretrained, "PACKAGE", "no_such_package_here")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    assert pretrained.find_model() == snapshot


@pytest.mark.parametrize(("a", "b", "c", "answer"), QUESTIONS)
def test_the_real_table_answers_the_lessons_questions(a: str, b: str, c: str, answer: str) -> None:
    """What the lesson says of the real vectors is so."""
    table = word_table()
    if not table.real:
        pytest.skip("the pretrained files are not installed")
    assert best(table, a, b, c) == answer
    assert table.vectors.shape == (30522, 384)
