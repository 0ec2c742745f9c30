"""What a probe is asked."""

from dataclasses import dataclass
from functools import cached_property

from autograder.probe import wire
from coursework.engine.operation import Operation, packed


@dataclass(frozen=True, eq=False)
class Request:
    """What a probe is asked: an operation, run on what the student bound to `name`.

    `seed` sets the random state, and `seconds` of processor time is what the answer may use.
    """

    operation: Operation
    name: str
    seed: int
    seconds: float

    @cached_property
    def frame(self) -> bytes:
        """The command to a probe as it is sent, packed once for the whole class."""
        command = {
            "do": "observe",
            **packed(self.operation),
            "name": self.name,
            "seed": self.seed,
            "seconds": self.seconds,
        }
        return wire.pack(command)
