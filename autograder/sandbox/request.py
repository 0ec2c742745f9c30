"""What a probe is asked, and what it looks for meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from autograder.probe import wire
from autograder.probe.operation import Operation, fields_of, path_of


@dataclass(frozen=True)
class Watch:
    """What to look for while an answer runs: parts of function names, and stand-ins not handed out.

    `below` looks below Python's names as well; `lesson` says whose stand-ins are refused.
    """

    words: Sequence[str] = ()
    below: bool = False
    lesson: str = ""


NOTHING = Watch()


@dataclass(frozen=True, eq=False)
class Request:
    """What a probe is asked: an operation, run on what the student bound to `name`.

    `seed` sets the random state, `seconds` of processor time is what the answer may use, and `watch` says
    what to look for meanwhile.
    """

    operation: Operation
    name: str
    seed: int
    seconds: float
    watch: Watch = NOTHING

    @cached_property
    def frame(self) -> bytes:
        """The command to a probe as it is sent, packed once for the whole class."""
        command = {
            "do": "observe",
            "operation": path_of(self.operation),
            "fields": fields_of(self.operation),
            "name": self.name,
            "seed": self.seed,
            "seconds": self.seconds,
            "words": list(self.watch.words),
            "below": self.watch.below,
            "lesson": self.watch.lesson,
        }
        return wire.pack(command)
