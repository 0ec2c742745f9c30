"""Puts what a submission did besides computing into sentences, as evidence for a person."""

from collections.abc import Iterable

from autograder.model.report import Incident
from autograder.probe.notes import Kind, Note

MAX_INCIDENTS = 50
SENTENCES: dict[str, str] = {
    Kind.NETWORK: "It tried to reach the network",
    Kind.WROTE: "It tried to write outside its temporary folder",
    Kind.PROCESS: "It started, or tried to start, another process",
    Kind.SIGNAL: "It sent a signal to a process",
    Kind.HOOK: "It hooked into the Python interpreter",
    Kind.MEMORY: "It listed the objects in the process's memory",
    Kind.PATCHED: "It replaced something that other code relies on; the original was restored",
    Kind.FLOODED: "It flooded the output",
    Kind.LEFT: "It left a process running, which was ended",
    Kind.TOO_MUCH: "It used more processes or memory than allowed, and was ended",
    Kind.ENDED: "It ended the process that its code ran in",
    Kind.NOISE: "It sent the grader something that is not an answer",
    Kind.CHANGING: "It gave a right answer once, and a wrong one when asked again",
    Kind.LOCKED_CELL: "A locked cell was changed; the original was run",
}


class Incidents:
    """The incidents of one submission, without repetitions."""

    def __init__(self) -> None:
        self.found: list[Incident] = []

    def add(self, exercise: str | None, notes: Iterable[Note]) -> None:
        """Add what was noted while an exercise's code ran. A note of unknown kind counts as noise."""
        for name, detail in notes:
            kind = str(name if name in SENTENCES else Kind.NOISE)
            said = f"{SENTENCES[kind]} ({detail})." if detail else f"{SENTENCES[kind]}."
            incident = Incident(exercise=exercise, kind=kind, message=said)
            if incident not in self.found and len(self.found) < MAX_INCIDENTS:
                self.found.append(incident)
