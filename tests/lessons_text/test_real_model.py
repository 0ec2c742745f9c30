"""What the lessons say that the language model writes is what it writes in the solved notebooks."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from autograder.model.course import Course
from coursework import smollm

QUOTED = re.compile(r"^# \| [A-Z] \| \*(.+?)\*", re.M)  # a row of a table of answers
OWN = {  # drawn, or shown by a control
    "next | The capital of France is",
    "layer 20 without its residual connections | What is the capital of France?",
}
DRAWN = f" | {smollm.NUMBERS}"


def joined(text: str) -> str:
    """Return a text in one line, since long ones are wrapped where they are printed."""
    return " ".join(text.split())


def printed(course: Course) -> str:
    """Return all that the solved notebooks print."""
    outputs = []
    for path in sorted((course.root / "solutions").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            outputs += [output.get("text", "") for output in cell.get("outputs", [])]
    return "\n".join(outputs)


def test_recorded_texts_are_those_of_the_solved_notebooks(course: Course) -> None:
    """Without the package a lesson shows what it would show with it."""
    shown = joined(printed(course))
    recorded = json.loads(smollm.RECORDED.read_text("utf-8"))
    for key, text in recorded.items():
        label, prompt = key.split(" | ")
        if key not in OWN and not key.endswith(DRAWN):
            forms = (f"{label}: {text}", f"{label}: {prompt}{text}")
            assert any(joined(form) in shown for form in forms), key


@pytest.mark.parametrize("source", sorted((Path(__file__).parents[2] / "source").glob("0*.py")), ids=lambda path: path.stem)
def test_each_lesson_begins_and_ends_in_the_real_model(source: Path) -> None:
    """It writes before the first exercise and in a section of its own, and what the prose quotes is recorded."""
    text = source.read_text("utf-8")
    opening, ending = text.index("from coursework.smollm import"), text.index("# ## In a real model")
    assert opening < text.index("# %% solution") < ending
    recorded = json.loads(smollm.RECORDED.read_text("utf-8")).values()
    for quote in QUOTED.findall(text[ending:]):
        assert any(str(said).strip().startswith(quote) for said in recorded), quote
