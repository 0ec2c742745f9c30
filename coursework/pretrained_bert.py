"""The model that lesson 08 looks into: a pretrained BERT where one is at hand, else a small one.

Nothing is downloaded unless the environment variable COURSEWORK_DOWNLOAD is 1. Weights are read
from safetensors only, and only after their SHA-256 has been compared: with the digest this course
was written with, or, for other models, with the one under which the hub's cache keeps them.
"""

import hashlib
import importlib.util
import logging
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from coursework.pretrained import INSTALL, MODEL, WEIGHTS, find_model, verified

DOWNLOAD: Final = "COURSEWORK_DOWNLOAD"
FILES: Final = ("config.json", "vocab.txt", "tokenizer_config.json", "tokenizer.json")
LIBRARIES: Final = ("transformers", "huggingface_hub")


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
        return _small(str(problem))
    size = sum(parameter.numel() for parameter in bert.parameters()) / 1e6
    layers, heads = bert.config.num_hidden_layers, bert.config.num_attention_heads
    note = f"bert is {name}: {layers} layers of {heads} heads, {size:.1f} million weights."
    return Loaded(bert, tokeniser, note)


def load_shipped() -> tuple[Any, Any]:
    """Return the shipped model and its tokeniser. Raises NotHereError, and says why."""
    bert, tokeniser = read_model(local_folder(MODEL))
    return bert, tokeniser


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
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    offline = os.environ.get(DOWNLOAD) != "1"
    try:
        weights = Path(hf_hub_download(name, WEIGHTS, local_files_only=offline))
        _fetch_rest(name, offline=offline)
    except (OSError, ValueError, HfHubHTTPError, HFValidationError) as problem:
        why = f"not in the local cache; {DOWNLOAD}=1 allows to fetch it" if offline else "not reachable"
        raise NotHereError(f"{name} is {why}") from problem
    if not intact(weights):
        raise NotHereError(f"the cached {WEIGHTS} of {name} is not what the hub says it is")
    return weights.parent


def _fetch_rest(name: str, *, offline: bool) -> None:
    """Fetch what is read besides the weights; not every model has all of it."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    for file in FILES:
        try:
            hf_hub_download(name, file, local_files_only=offline)
        except (EntryNotFoundError, LocalEntryNotFoundError):
            continue


def intact(path: Path) -> bool:
    """Return whether a file in the hub's cache has the SHA-256 that is its name there."""
    stored = path.resolve()
    with stored.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == stored.name


def read_model(folder: Path) -> tuple[Any, Any]:
    """Read model and tokeniser, in silence; attentions come from the plain ("eager") code only."""
    from transformers import AutoModel, AutoTokenizer

    with quiet():
        bert = AutoModel.from_pretrained(
            folder, attn_implementation="eager", use_safetensors=True, local_files_only=True
        )
        tokeniser = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return bert.eval(), tokeniser


class quiet:  # noqa: N801 - used as a statement: with quiet()
    """Keep the library's progress bars and reports to itself for a while."""

    def __enter__(self) -> None:
        from transformers.utils import logging as library

        library.disable_progress_bar()
        self._level = library.get_verbosity()
        library.set_verbosity(logging.ERROR)

    def __exit__(self, *_problem: object) -> None:
        from transformers.utils import logging as library

        library.set_verbosity(self._level)


def _small(reason: str) -> Loaded:
    """Return a small model, trained on the spot."""
    from coursework.small_training import trained_pair

    bert, tokeniser = trained_pair()
    note = (
        f"bert is a SMALL model that was trained just now, because {reason}. "
        f"For a real one: {INSTALL}, then restart the kernel."
    )
    return Loaded(bert, tokeniser, note)
