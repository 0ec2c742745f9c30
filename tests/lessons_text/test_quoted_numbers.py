r"""Numbers quoted in a lesson's prose are those that its solved notebook prints.

`quoted/NN.yaml` lists them for lesson NN, an entry for each sentence:

    - says: at distance 10 it is 0.0002   # a part of the prose, word for word; line breaks don't matter
      shown: distance 10 .* 0\.0002       # a regular expression, found in what one cell prints

Figures count as prose through their alt texts. The outputs are those of `solutions/`, committed with
the lesson, so that a rebuild which changes a number fails here until the sentence is changed, too.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from autograder.model.lesson_text import CellKind

from .lesson_run import ROOT, shown
from .lessons import LESSONS

QUOTED = Path(__file__).with_name("quoted")


class Quote(NamedTuple):
    """A part of a lesson's prose, and the pattern of the output that shows it."""

    lesson: str
    says: str
    shown: str


def _quotes() -> list[Quote]:
    """Return all entries of all lessons, in order."""
    found = []
    for path in sorted(QUOTED.glob("*.yaml")):
        (lesson,) = [name for name in LESSONS if name.startswith(path.stem)]
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            found.append(Quote(lesson, **entry))
    return found


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _prose(lesson: str) -> str:
    """Return all that a student reads in a lesson: its texts and the comments in its code."""
    return _squeezed(" ".join(shown(cell) for cell in LESSONS[lesson].cells if cell.kind is not CellKind.TEST))


def _printed(lesson: str) -> list[str]:
    """Return what each cell of the solved notebook prints, as text."""
    notebook = json.loads((ROOT / f"solutions/{lesson}.ipynb").read_text(encoding="utf-8"))
    return ["".join(map(_text, cell.get("outputs", []))) for cell in notebook["cells"]]


def _text(output: dict[str, Any]) -> str:
    """Return the text of one output; a picture has none, nor has the repr of a figure."""
    text = output.get("text", output.get("data", {}).get("text/html", ""))
    return text if isinstance(text, str) else "".join(text)


@pytest.mark.parametrize("quote", _quotes(), ids=lambda quote: f"{quote.lesson[:2]}: {quote.says[:50]}")
def test_a_number_in_prose_is_the_one_that_is_printed(quote: Quote) -> None:
    """The sentence is in the lesson, and a cell's output matches its pattern."""
    assert _squeezed(quote.says) in _prose(quote.lesson), "this sentence is no longer in the lesson"
    assert not re.search(quote.shown, ""), "this pattern matches anything"
    matching = [text for text in _printed(quote.lesson) if re.search(quote.shown, text)]
    assert matching, f"no cell prints {quote.shown!r}"
