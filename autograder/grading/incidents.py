"""Puts what a submission did besides computing into sentences that its author can read."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from autograder.model.report import Incident
from autograder.model.text import first_few
from autograder.probe.notes import Kind, Note

MAX_DETAILS = 5  # shown of one kind in one exercise; the rest are counted
MAX_KEPT = 100
MAX_DETAIL = 120  # characters
KNOWN = frozenset({Kind.CHANGING, Kind.LOCKED_CELL, Kind.REFLECTION})  # noted by the grader itself


@dataclass(frozen=True)
class Sentences:
    """What was seen, and what its author can do about it if it was not meant."""

    seen: str
    advice: str


_FILE = Path(__file__).with_suffix(".yaml")
SENTENCES = {
    Kind(kind): Sentences(**said) for kind, said in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()
}


class Incidents:
    """The incidents of one submission: one for each exercise and kind, with what was noted."""

    def __init__(self) -> None:
        self._details: dict[tuple[str | None, str], list[str]] = {}

    def add(self, exercise: str | None, notes: Iterable[Note]) -> None:
        """Add what was noted while an exercise's code ran. A note of unknown kind counts as noise."""
        for name, detail in notes:
            kind = str(name if name in SENTENCES else Kind.NOISE)
            details = self._details.setdefault((exercise, kind), [])
            new = detail and detail[:MAX_DETAIL] not in details
            if new and len(details) < MAX_KEPT:
                details.append(detail[:MAX_DETAIL])

    @property
    def found(self) -> list[Incident]:
        """The incidents, in the order in which they were first seen."""
        return [_incident(exercise, Kind(kind), found) for (exercise, kind), found in self._details.items()]


def _incident(exercise: str | None, kind: Kind, details: list[str]) -> Incident:
    """Return an incident. Its message quotes only what we know ourselves, not the student's process."""
    shown = "; ".join(first_few(details, MAX_DETAILS))
    known = kind in KNOWN and shown
    seen = f"{SENTENCES[kind].seen} ({shown})" if known else SENTENCES[kind].seen
    return Incident(
        exercise=exercise,
        kind=kind,
        message=f"{seen}. {SENTENCES[kind].advice}",
        detail="" if known else shown,
        hidden=kind is Kind.REFLECTION,
    )
