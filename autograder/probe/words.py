"""The words by which an exercise names the library functions that it excludes."""

from collections.abc import Sequence
from typing import Final

FINISHED: Final = ("multi_head_attention", "transformer_encoder_layer")  # all of attention at once
AUTOGRAD: Final = "autograd"  # the word for asking torch for a derivative
AUTOGRAD_NAMES: Final = frozenset({"grad", "backward", "run_backward", "make_dual", "_make_dual"})


class WordIn(dict[str, str]):
    """The first of some words that is part of a function's name, '' for none, by the name."""

    def __init__(self, words: Sequence[str]) -> None:
        """Take parts of names, such as "softmax"; `AUTOGRAD` stands for derivatives."""
        super().__init__()
        self._words = tuple(words)

    def __missing__(self, name: str) -> str:
        found = self[name] = next((word for word in self._words if _means(name, word)), "")
        return found


def _means(name: str, word: str) -> bool:
    return name in AUTOGRAD_NAMES if word == AUTOGRAD else word in name
