"""What a submission did besides computing, noted as evidence for a person. A note takes no points off."""

from enum import StrEnum

MAX_PER_KIND = 20
MAX_DETAIL = 200

Note = tuple[str, str]  # a kind and a detail


class Kind(StrEnum):
    """What a note is about. The first nine are noted by the run, the others by the grader.

    What REFLECTION is about is shown to instructors only.
    """

    NETWORK = "network"
    WROTE = "wrote-outside"
    PROCESS = "started-process"
    SIGNAL = "signalled"
    HOOK = "hooked-interpreter"
    MEMORY = "searched-memory"
    PATCHED = "patched"
    FLOODED = "flooded-output"
    LEFT = "left-process"
    TOO_MUCH = "too-much"
    ENDED = "ended-process"
    NOISE = "noise"
    CHANGING = "changing-answer"
    LOCKED_CELL = "locked-cell"
    REFLECTION = "reflection"


class Notes:
    """The notes of one process: the first few of each kind, without repetitions."""

    def __init__(self) -> None:
        self._new: list[Note] = []
        self._count: dict[str, int] = {}

    def add(self, kind: Kind, detail: str) -> None:
        """Add a note, unless there are enough of its kind already."""
        self._count[kind] = self._count.get(kind, 0) + 1
        if self._count[kind] <= MAX_PER_KIND and (kind, detail) not in self._new:
            self._new.append((kind, detail[:MAX_DETAIL]))

    def take(self) -> list[Note]:
        """Return the notes added since the last call."""
        taken, self._new = self._new, []
        return taken
