"""Tells a submission that is still being written from one that is whole."""

import time
from collections.abc import Callable, Iterable

from autograder.model.errors import SubmissionError
from autograder.submissions.file_access import read_handed_in
from autograder.submissions.notebook_file import MAX_BYTES
from autograder.submissions.submission import SECRET
from autograder.watch.inbox import Arrival, fingerprint

QUIET = 2.0  # seconds without a change after which a file that looks whole is whole
PATIENCE = 60.0  # seconds without a change after which it is graded as it is
State = tuple[tuple[str, int, int], ...]


class Settling:
    """Remembers since when each submission has been as it is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Measure with `clock`, in seconds."""
        self._clock = clock
        self._seen: dict[str, tuple[State, float]] = {}

    def is_whole(self, arrival: Arrival) -> bool:
        """Return whether a submission can be graded now.

        nbgrader writes the secret last, so that a submission of the exchange that has one is complete.
        Anything else has to stay unchanged for a while, and for longer if its notebook breaks off.
        """
        place, state, now = str(arrival.folder), fingerprint(arrival.folder), self._clock()
        before, since = self._seen.get(place, ((), now))
        if before != state:
            since = now
        self._seen[place] = state, since
        names = {name for name, *_ in state}
        if arrival.from_exchange and SECRET in names:
            return True
        unchanged = now - since
        return unchanged >= PATIENCE or (unchanged >= QUIET and _looks_whole(arrival, names))

    def forget(self, arrival: Arrival) -> None:
        """Forget a submission that was taken care of."""
        self._seen.pop(str(arrival.folder), None)


def _looks_whole(arrival: Arrival, names: Iterable[str]) -> bool:
    """Return whether there is a notebook, and each ends as JSON does.

    One that cannot be read at all counts as whole: the student is told why.
    """
    notebooks = [name for name in names if name.endswith(".ipynb")]
    try:
        contents = [read_handed_in(arrival.folder / name, MAX_BYTES) for name in notebooks]
    except SubmissionError:
        return True
    return bool(notebooks) and all(content.rstrip().endswith(b"}") for content in contents)
