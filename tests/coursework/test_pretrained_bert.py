"""The model of lesson 8 is a verified one from this computer, or a small one that says so."""

import hashlib
from pathlib import Path

import pytest
import torch

from coursework import pretrained, pretrained_bert
from coursework.pretrained_bert import NotHereError, intact, load_bert, local_folder
from coursework.small_bert import SmallBert, SmallTokeniser

OTHER = "bert-base-uncased"


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take all places away in which files could lie, and make training short."""
    monkeypatch.setattr(pretrained, "_places", lambda: iter(()))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv(pretrained_bert.DOWNLOAD, raising=False)
    monkeypatch.setattr(pretrained_bert, "STEPS", 2)


@pytest.mark.usefixtures("nothing_here")
def test_without_files_a_small_model_is_trained_and_says_so() -> None:
    """It is called as a real one is, and the line says how to get a real one."""
    bert, tokeniser, note = load_bert()
    assert "SMALL" in note
    assert pretrained.INSTALL in note
    encoding = tokeniser("The cat sat", "the cat lay", return_tensors="pt")
    attentions = bert(**encoding, output_attentions=True).attentions
    assert attentions[0].shape == (1, 4, 9, 9)
    assert not bert.training


@pytest.mark.usefixtures("nothing_here")
def test_a_model_that_is_not_cached_is_not_downloaded() -> None:
    """Without COURSEWORK_DOWNLOAD=1 nothing is fetched, and the reason is given."""
    with pytest.raises(NotHereError, match=f"{OTHER} is not in the local cache"):
        local_folder(OTHER)


def test_weights_with_another_digest_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file of the right name with the wrong content is not read."""
    for name in (pretrained.WEIGHTS, pretrained.VOCABULARY):
        (tmp_path / name).write_bytes(b"not a model")
    monkeypatch.setattr(pretrained, "_places", lambda: iter([tmp_path]))
    with pytest.raises(NotHereError, match="is not the one of"):
        local_folder(pretrained.MODEL)


def test_a_cached_file_is_intact_if_its_name_is_its_digest(tmp_path: Path) -> None:
    """The hub's cache stores weights under their SHA-256, and links to them."""
    content = b"weights"
    blob = tmp_path / hashlib.sha256(content).hexdigest()
    blob.write_bytes(content)
    link = tmp_path / pretrained.WEIGHTS
    link.symlink_to(blob)
    assert intact(link)
    blob.write_bytes(b"tampered with")
    assert not intact(link)


def test_training_is_repeatable_and_leaves_the_random_state_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two trainings give the same model, whatever was drawn before."""
    monkeypatch.setattr(pretrained_bert, "STEPS", 2)
    torch.manual_seed(5)
    first, tokeniser = pretrained_bert.trained_pair()
    drawn = torch.rand(3)
    second, _ = pretrained_bert.trained_pair()
    assert isinstance(first, SmallBert)
    assert isinstance(tokeniser, SmallTokeniser)
    assert all(map(torch.equal, first.parameters(), second.parameters()))
    torch.manual_seed(5)
    assert torch.equal(drawn, torch.rand(3))
