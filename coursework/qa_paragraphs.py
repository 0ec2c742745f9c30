"""Paragraphs written by hand, with questions and accepted answers: no model of ours was trained on them.

`WORKED` is the paragraph of lesson 08; we looked at its answers while we made the training data.
`UNSEEN` was written before training and only used to measure. The text is in `data/qa_paragraphs.toml`.
"""

import tomllib
from pathlib import Path
from typing import Any, Final, NamedTuple


class Passage(NamedTuple):
    """A paragraph, and questions with the answers that count as right: none where it doesn't say."""

    paragraph: str
    questions: dict[str, tuple[str, ...]]


def _passage(stored: dict[str, Any]) -> Passage:
    questions = {question: tuple(accepted) for question, accepted in stored["questions"].items()}
    return Passage(stored["paragraph"], questions)


_STORED: Final = tomllib.loads((Path(__file__).parent / "data/qa_paragraphs.toml").read_text("utf-8"))
WORKED: Final = _passage(_STORED["worked"])
UNSEEN: Final = tuple(map(_passage, _STORED["unseen"]))
