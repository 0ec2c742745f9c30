"""The corpus is Shakespeare where the file is at hand, else our own page, and it says which."""

import re
from pathlib import Path

import pytest

from coursework import corpus
from coursework.synthetic_play import synthetic_play
from coursework.text import PAGE


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move the course to an empty folder, with no variable set."""
    root = tmp_path / "course"
    root.mkdir()
    monkeypatch.setattr(corpus, "COURSE", root)
    monkeypatch.delenv(corpus.VARIABLE, raising=False)
    return root


def put(folder: Path, text: str) -> None:
    """Write a corpus file into a folder."""
    folder.mkdir(parents=True)
    (folder / corpus.FILE).write_text(text, encoding="utf-8")


def test_without_a_file_it_is_our_page(course: Path) -> None:
    """The page itself, and a note that says so and how to get more."""
    found = corpus.load_corpus()
    assert found.text == PAGE
    assert "our own page" in found.note
    assert str(course) not in found.note


def test_places_in_their_order(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable wins over the course's folder, and that over the shared one beside it."""
    put(course.parent / "shared" / "data", "To be")
    assert corpus.load_corpus().text == "To be"
    put(course / "data", "or not")
    assert corpus.load_corpus().text == "or not"
    put(tmp_path / "named", "to be")
    monkeypatch.setenv(corpus.VARIABLE, str(tmp_path / "named"))
    assert corpus.load_corpus().text == "to be"
    assert "Shakespeare" in corpus.load_corpus().note


def test_what_cannot_be_read_is_passed_over(course: Path) -> None:
    """An empty file, or one that is no text, is as good as none."""
    put(course / "data", "  \n")
    assert corpus.load_corpus().text == PAGE
    (course / "data" / corpus.FILE).write_bytes(b"\xff\xfe\x00\x80")
    assert corpus.load_corpus().text == PAGE


def test_without_a_file_the_long_text_is_a_synthetic_play(course: Path) -> None:
    """Always the same play, long enough to learn from, and said to be made up."""
    found = corpus.load_long_corpus()
    assert found.text == corpus.load_long_corpus().text
    assert len(found.text) > 200_000
    assert "made up" in found.note
    assert str(course) not in found.note


def test_verbs_of_the_play_agree_with_their_subjects() -> None:
    """One thing vanishes, many vanish."""
    play = synthetic_play(40)
    answers = re.findall(r"\tThe (\w+) (\w+) (?:under|by|on|in|behind|at|above|before) ", play)
    assert len(answers) > 50
    assert all(noun.endswith("s") != verb.endswith("s") for noun, verb in answers)


def test_with_a_file_the_long_text_is_shakespeare(course: Path) -> None:
    """The file is preferred to the play."""
    put(course / "data", "To be")
    assert corpus.load_long_corpus().text == "To be"
