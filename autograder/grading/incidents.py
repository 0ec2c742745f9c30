"""Puts what a submission did besides computing into sentences that its author can read."""

from collections.abc import Iterable
from dataclasses import dataclass

from autograder.model.report import Incident
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


SENTENCES: dict[str, Sentences] = {
    Kind.NETWORK: Sentences(
        "Your code tried to use the network",
        "Lessons need no network, and there is none while we grade. If you didn't mean this, look "
        "for a download, or for a library that looks for updates.",
    ),
    Kind.WROTE: Sentences(
        "Your code tried to change or write a file outside its own temporary folder",
        "No exercise needs this. If you want to keep a file, write it to the current folder.",
    ),
    Kind.PROCESS: Sentences(
        "Your code started another process, or tried to",
        "No exercise needs one. If you didn't mean this, look for `multiprocessing`, `subprocess`, "
        "`os.system`, or a `DataLoader` with workers.",
    ),
    Kind.SIGNAL: Sentences(
        "Your code sent a signal to a process",
        "No exercise needs this. If you didn't mean it, look for `os.kill`.",
    ),
    Kind.HOOK: Sentences(
        "Your code asked Python to call it on every step of a program",
        "Debuggers, profilers and coverage tools do this. Remove them before you hand in.",
    ),
    Kind.MEMORY: Sentences(
        "Your code listed the objects in Python's memory",
        "Tools that look for memory leaks do this. Remove them before you hand in.",
    ),
    Kind.PATCHED: Sentences(
        "Your code replaced something that other code relies on, and we put the original back",
        "If you didn't mean this, look for an assignment to something inside a module or a class, "
        "such as `torch.exp = …`, and use a name of your own.",
    ),
    Kind.FLOODED: Sentences(
        "Your code printed so much that we dropped the rest", "Look for a `print` inside a loop."
    ),
    Kind.LEFT: Sentences(
        "A process that your code started was still running at the end, and we ended it",
        "No exercise needs another process. If you start one, wait for it to end.",
    ),
    Kind.TOO_MUCH: Sentences(
        "Your code used more memory, processes or processor time than one notebook may, and was stopped",
        "Look for a tensor that is far larger than it should be, a list that keeps growing, or a process "
        "that never ends.",
    ),
    Kind.ENDED: Sentences(
        "The Python process ended while it ran your code",
        "Look for `exit()`, `quit()` or `sys.exit()`, a recursion without end, or a tensor that is "
        "far too large.",
    ),
    Kind.NOISE: Sentences(
        "Something other than a result came back from your code's process",
        "This happens if code closes files that it didn't open, or writes to them directly. If "
        "yours does neither, the fault may be ours: show this to your instructor.",
    ),
    Kind.CHANGING: Sentences(
        "Asked the same question twice, your code gave two different answers",
        "Look for random numbers, for dropout that is on in `eval()`, or for a variable that keeps "
        "its value from one call to the next.",
    ),
    Kind.LOCKED_CELL: Sentences(
        "A locked cell was changed. We ran the original first, then your version of it",
        "Adding an import there is a common reason, and does no harm. Next time, put it into a cell "
        "of your own.",
    ),
    Kind.REFLECTION: Sentences(
        "An answer refers to internals of Python or PyTorch that no lesson teaches",
        "Read the answer. Students do not see this note, and the note itself took no points off.",
    ),
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
        return [
            _incident(exercise, kind, _listed(details)) for (exercise, kind), details in self._details.items()
        ]


def _incident(exercise: str | None, kind: str, details: str) -> Incident:
    """Return an incident. Its message quotes only what we know ourselves, not the student's process."""
    sentences, known = SENTENCES[kind], kind in KNOWN and details
    seen = f"{sentences.seen} ({details})" if known else sentences.seen
    message = f"{seen}. {sentences.advice}"
    return Incident(
        exercise=exercise,
        kind=kind,
        message=message,
        detail="" if known else details,
        hidden=kind == Kind.REFLECTION,
    )


def _listed(details: list[str]) -> str:
    """Return the first details, and how many more there are."""
    shown, rest = "; ".join(details[:MAX_DETAILS]), len(details) - MAX_DETAILS
    return f"{shown}; and {rest} more" if rest > 0 else shown
