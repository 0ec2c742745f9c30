"""What a run may answer: one model for each kind of frame, checked field by field.

A run holds a student's code, which can write anything into the channel. A frame that does not fit its
model is not repaired or guessed at: it ends the run, as noise.
"""

from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from autograder.probe.wire import WireError

MAX_SECONDS = 1e6  # no run takes longer

Line = Annotated[str, Field(max_length=200)]
Text = Annotated[str, Field(max_length=1000)]
Status = Annotated[int, Field(ge=-255, le=255)]  # an exit status; negative for a signal
Seconds = Annotated[float, Field(ge=0, le=MAX_SECONDS, allow_inf_nan=False)]
Noted = Annotated[list[tuple[Line, Line]], Field(max_length=400)]  # kind and detail of each
Lines = Annotated[list[Line], Field(max_length=1000)]


class Frame(BaseModel):
    """One answer, with what was noted since the last one."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    noted: Noted
    seconds: Seconds = 0.0


class RaisedFrame(BaseModel):
    """An exception, as `coursework.engine.observe.describe` puts it."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    type: Line
    bases: Lines
    message: Text
    line: Annotated[int, Field(ge=0, lt=10**9)] | None
    text: Line
    fault: Line = ""
    path: Line = ""
    detail: Line = ""


class SessionEnded(Frame):
    """The run is over; its supervisor says so."""

    session: Literal["ended"]
    code: Status


class ForkReady(Frame):
    """The answer to `fork`, from the fork."""

    fork: Literal["ready"]


class ForkEnded(Frame):
    """A fork's exit status, from the process that it was forked from."""

    fork: Literal["ended"]
    code: Status


class CellDone(Frame):
    """The answer to `cell`."""

    cell: Literal["done"]
    raised: RaisedFrame | None


class Kept(Frame):
    """The answer to `keep`, `switch` and `ask`: it is done."""

    kept: Line


class Left(Frame):
    """The answer to `leave`: whether anything is left behind."""

    left: bool


class Seen(Frame):
    """The answer to `observe`. The value is whatever `wire` can carry."""

    value: Any
    raised: RaisedFrame | None
    changed: Lines
    excluded: Lines


Answer = TypeVar("Answer", bound=Frame)


def checked(answer: Any, *expected: type[Answer]) -> Answer:
    """Return an answer as one of the frames that were expected. Raises WireError if it is none of them."""
    try:
        found: Answer = _adapter(expected).validate_python(answer)
    except ValidationError:  # its text would quote what came
        raise WireError("a frame of another form") from None
    except RecursionError:
        raise WireError("a frame that is too deep") from None
    return found


@lru_cache
def _adapter(expected: tuple[type[Frame], ...]) -> TypeAdapter[Any]:
    kinds: Any = Union[expected]  # noqa: UP007 - known only now
    return TypeAdapter(kinds)
