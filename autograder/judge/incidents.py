"""Puts into words what a submission did besides computing: evidence for a person to look at."""

from collections.abc import Iterable

from autograder.probe import watch
from autograder.results import Incident

MOST = 50
SENTENCES = {
    watch.NETWORK: "It tried to reach the network",
    watch.WROTE: "It tried to write outside its temporary folder",
    watch.PROCESS: "It started, or tried to start, another process",
    watch.SIGNAL: "It sent a signal to a process",
    watch.HOOK: "It hooked into the Python interpreter",
    watch.MEMORY: "It listed the objects in the process's memory",
    watch.PATCHED: "It replaced something that others rely on; the original was put back",
    watch.FLOODED: "It flooded the output",
    watch.LEFT: "It left a process running, which was ended",
    "ended-process": "It ended the process that its code ran in",
    watch.TOO_MUCH: "It took more processes or memory than it may, and was ended",
    "noise": "It sent the marker something that is not an answer",
    "changing-answer": "It gave a right answer once, and a wrong one when asked again",
    "locked-cell": "A locked cell was changed; the original was run",
}


class Incidents:
    """The incidents of one submission, each said once."""

    def __init__(self) -> None:
        self.found: list[Incident] = []

    def add(self, exercise: str | None, notes: Iterable[tuple[str, str]]) -> None:
        """Add what was noted while an exercise was at work. What is no note of ours is noise."""
        for kind, detail in notes:
            known = kind if kind in SENTENCES else "noise"
            said = f"{SENTENCES[known]} ({detail})." if detail else f"{SENTENCES[known]}."
            incident = Incident(exercise=exercise, kind=known, message=said)
            if incident not in self.found and len(self.found) < MOST:
                self.found.append(incident)
