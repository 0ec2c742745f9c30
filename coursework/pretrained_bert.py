"""The model that lesson 08 looks into: a pretrained BERT where one is at hand, else a small one.

Nothing is downloaded unless the environment variable COURSEWORK_DOWNLOAD is 1. Weights are read
from safetensors only, and only after their SHA-256 has been compared: with the digest this course
was written with, or, for other models, with the one under which the hub's cache keeps them.
"""

import contextlib
import importlib.util
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coursework.console import wrapped
from coursework.data_packages import has_sha256, how_to_get
from coursework.pretrained import INSTALL, MODEL, WEIGHTS, find_model, verified
from coursework.small_bert import CLS, SEP, SmallBert, SmallTokeniser

DOWNLOAD: Final = "COURSEWORK_DOWNLOAD"
FILES: Final = ("config.json", "vocab.txt", "tokenizer_config.json", "tokenizer.json")
LIBRARIES: Final = ("transformers", "huggingface_hub")
# Of the small model that stands in where no pretrained one is at hand.
WORDS: Final = (
    "the a cat sat on mat lay rug dog ran over old bridge was and not my sister plays piano belongs to it "
    "in under house sun red small big walked boat river green tree bird sang slept chair table"
)
STEPS: Final = 700
BATCH: Final = 48


class Loaded(NamedTuple):
    """A model in eval mode, its tokeniser, and a line that says what they are."""

    bert: Any
    tokeniser: Any
    note: str


class NotHereError(Exception):
    """A pretrained model cannot be used; the message says why."""


def load_bert(name: str = MODEL) -> Loaded:
    """Return the model called `name` where its verified files are here, else a small one.

    `bert-base-uncased` and other BERTs are looked for in the local cache of the Hugging Face hub.
    """
    try:
        folder = local_folder(name)
        bert, tokeniser = read_model(folder)
    except NotHereError as problem:
        note = (
            f"bert is a SMALL model that was trained just now, because {problem}. "
            f"{how_to_get('a real one', INSTALL)}"
        )
        return Loaded(*trained_pair(), wrapped(note))
    size = sum(parameter.numel() for parameter in bert.parameters()) / 1e6
    layers, heads = bert.config.num_hidden_layers, bert.config.num_attention_heads
    note = f"bert is {name}: {layers} layers of {heads} heads, {size:.1f} million weights."
    return Loaded(bert, tokeniser, note)


def load_shipped() -> tuple[Any, Any]:
    """Return the shipped model and its tokeniser. Raises NotHereError, and says why."""
    return read_model(local_folder(MODEL))


def local_folder(name: str) -> Path:
    """Return the folder with the verified files of a model. Raises NotHereError, and says why."""
    if missing := [library for library in LIBRARIES if importlib.util.find_spec(library) is None]:
        raise NotHereError(f"the library {missing[0]} is not installed")
    if name != MODEL:
        return _hub_folder(name)
    folder = find_model()
    if folder is None:
        raise NotHereError(f"no files of {MODEL} were found")
    if not verified(folder / WEIGHTS):
        raise NotHereError(f"the {WEIGHTS} that was found is not the one of {MODEL}")
    return folder


def _hub_folder(name: str) -> Path:
    """Return where the hub's cache has a model, fetching it first where that is allowed."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    offline = os.environ.get(DOWNLOAD) != "1"
    try:
        weights = Path(hf_hub_download(name, WEIGHTS, local_files_only=offline))
        for file in FILES:
            with contextlib.suppress(EntryNotFoundError, LocalEntryNotFoundError):  # not every model has all
                hf_hub_download(name, file, local_files_only=offline)
    except (OSError, ValueError, HfHubHTTPError, HFValidationError) as problem:
        why = f"not in the local cache; {DOWNLOAD}=1 allows to fetch it" if offline else "not reachable"
        raise NotHereError(f"{name} is {why}") from problem
    if not intact(weights):
        raise NotHereError(f"the cached {WEIGHTS} of {name} is not what the hub says it is")
    return weights.parent


def intact(path: Path) -> bool:
    """Return whether a file in the hub's cache has the SHA-256 that is its name there."""
    stored = path.resolve()
    return has_sha256(stored, stored.name)


def read_model(folder: Path) -> tuple[Any, Any]:
    """Read model and tokeniser, in silence; attentions come from the plain ("eager") code only."""
    from transformers import AutoModel, AutoTokenizer

    with quiet():
        bert = AutoModel.from_pretrained(
            folder, attn_implementation="eager", use_safetensors=True, local_files_only=True
        )
        tokeniser = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return bert.eval(), tokeniser


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the library's progress bars and reports to itself for a while."""
    from transformers.utils import logging as library

    library.disable_progress_bar()
    level = library.get_verbosity()
    library.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        library.set_verbosity(level)


def trained_pair() -> tuple[SmallBert, SmallTokeniser]:
    """Return a small model, trained from a fixed seed in some seconds, and its tokeniser.

    It learns two things that heads of real BERTs are known to do (Clark et al. 2019, arXiv:1906.04341,
    sections 3.1 and 4): to name the token before each token, and, for a word that occurs in both
    sentences, the place where it stands in the other one.
    """
    tokeniser = SmallTokeniser(WORDS.split())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = SmallBert(len(tokeniser), d_model=64, num_heads=4, num_layers=2, max_len=64)
        _train(model, len(tokeniser))
    return model.eval(), tokeniser


def _train(model: SmallBert, vocabulary: int) -> None:
    """Learn both tasks at once, from word salad: only attention can solve them."""
    heads = nn.ModuleList(nn.Linear(64, classes) for classes in (vocabulary, 64))
    weights = [*model.parameters(), *heads.parameters()]
    adam = torch.optim.Adam(weights, lr=2e-3)
    for step in range(STEPS):
        for group in adam.param_groups:
            group["lr"] = 2e-3 * min((step + 1) / 50, 1 - step / STEPS)
        ids, segments, before, counterpart = _batch(vocabulary)
        states = model(ids, token_type_ids=segments).last_hidden_state  # (B, S, D)
        losses = [
            F.cross_entropy(head(states).transpose(1, 2), target, ignore_index=-1)
            for head, target in zip(heads, (before, counterpart), strict=True)
        ]
        adam.zero_grad()
        torch.autograd.backward(torch.stack(losses).sum())
        adam.step()


def _batch(vocabulary: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ids, segments, the token before each, and the place of its counterpart, −1 if none."""
    first, second = (int(size) for size in torch.randint(3, 9, (2,)))
    words = torch.stack([torch.randperm(vocabulary - 5)[: first + second] for _ in range(BATCH)]) + 5
    a, b = words[:, :first], words[:, first:]
    shared = min(first, second) * 2 // 3
    for row in range(BATCH):
        b[row, torch.randperm(second)[:shared]] = a[row, torch.randperm(first)[:shared]]
    column = torch.full((BATCH, 1), SEP)
    ids = torch.cat([torch.full_like(column, CLS), a, column, b, column], dim=1)  # (B, S)
    segments = (torch.arange(ids.size(1)) >= first + 2).long().expand_as(ids)
    before = ids.roll(1, dims=1).index_fill(1, torch.tensor(0), -1)
    same = (ids[:, :, None] == ids[:, None]) & (segments[:, :, None] != segments[:, None])
    same &= (ids > SEP)[:, :, None]
    counterpart = torch.where(same, torch.arange(ids.size(1)), -1).amax(dim=-1)
    return ids, segments, before, counterpart
