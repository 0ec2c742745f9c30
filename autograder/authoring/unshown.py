"""Tells an author which known mistakes show on none of the public examples."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from autograder.authoring.examples import FOLDER
from autograder.model.course import Course


def unshown(course: Course, written: Sequence[Path]) -> list[str]:
    """Return a line for each exercise with such mistakes, of the examples among the files written."""
    documents = [path for path in written if path.suffix == ".json" and path.parent == course.root / FOLDER]
    return [
        line
        for path in documents
        for exercise in json.loads(path.read_text(encoding="utf-8"))["exercises"]
        for line in _lines(exercise)
    ]


def _lines(exercise: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line, if there is a mistake that no row is about, pairs aside."""
    shown = {
        number for texts, either, _ in exercise["mistakes"] if either or len(texts) == 1 for number in texts
    }
    missing = [title for number, (title, _) in enumerate(exercise["texts"]) if number not in shown]
    if missing:
        total = len(exercise["texts"])
        share = f"{total - len(missing)} of {total} known mistakes show on an example"
        yield f"{exercise['exercise']}: {share}; these do not: {'; '.join(missing)}"
