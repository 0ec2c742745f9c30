"""The corpus is Shakespeare where the file is at hand, else our own page, and it says which."""

import hashlib
import re
from pathlib import Path

import pytest

from coursework import corpus
from coursework.corpus import PAGE


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


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do as if the package with Shakespeare's works were not installed."""
    monkeypatch.setattr(corpus, "PACKAGE", "no_such_package_here")


@pytest.mark.usefixtures("no_package")
def test_without_package_and_file_the_long_text_is_a_synthetic_play(course: Path) -> None:
    """Always the same play, long enough to learn from, and the note says how to get the real thing."""
    found = corpus.load_long_corpus()
    assert found.text == corpus.load_long_corpus().text
    assert len(found.text) > 200_000
    assert "synthetic play" in found.note
    assert corpus.INSTALL in found.note
    assert str(course) not in found.note


def put_works(folder: Path, works: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a package of works that Python can find."""
    texts = folder / "someplays" / "texts"
    texts.mkdir(parents=True)
    for name, text in works.items():
        (texts / f"{name}_gut.txt").write_text(text, encoding="ascii")
    monkeypatch.setattr(corpus, "PACKAGE", "someplays")
    monkeypatch.syspath_prepend(str(folder))


def test_works_of_another_hash_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the right name with other texts is refused, and the reason given."""
    put_works(tmp_path, {"a_play": "ACT I.\nOther words."}, monkeypatch)
    with pytest.raises(corpus.NoShakespeareError, match="are not those"):
        corpus.shakespeare()


def test_title_and_characters_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A play starts with its first heading, a poem with its first verse, and "THE END" goes."""
    play = "A PLAY\n\nby William Shakespeare\n\nPERSONS\n\nA CLOWN.\n\nACT I.\n\nCLOWN.\nWords.\n\nTHE END"
    poem = "A POEM\nby William Shakespeare\n\n\nA verse.\n"
    put_works(tmp_path, {"b": play, "a": poem}, monkeypatch)
    digest = hashlib.sha256((poem + play).encode()).hexdigest()
    monkeypatch.setattr(corpus, "SHA256", digest)
    assert corpus.shakespeare() == {"a": "A verse.", "b": "ACT I.\n\nCLOWN.\nWords."}


def test_the_installed_works_are_the_ones_we_know() -> None:
    """Where the package is installed, its texts have the right hash, and no list of characters is left."""
    try:
        works = corpus.shakespeare()
    except corpus.NoShakespeareError as problem:
        assert "not installed" in str(problem)  # noqa: PT017 - another reason is a failure
        pytest.skip("the package is not installed")
    assert len(works) == 42
    assert works["hamlet"].startswith("ACT I.")
    assert not [name for name, text in works.items() if re.search("by William Shakespeare", text[:300])]


def test_verbs_of_the_play_agree_with_their_subjects() -> None:
    """One thing vanishes, many vanish."""
    play = corpus.synthetic_play(40)
    answers = re.findall(r"\tThe (\w+) (\w+) (?:under|by|on|in|behind|at|above|before) ", play)
    assert len(answers) > 50
    assert all(noun.endswith("s") != verb.endswith("s") for noun, verb in answers)


@pytest.mark.usefixtures("no_package")
def test_with_a_file_the_long_text_is_shakespeare(course: Path) -> None:
    """The file is preferred to the play."""
    put(course / "data", "To be")
    assert corpus.load_long_corpus().text == "To be"
