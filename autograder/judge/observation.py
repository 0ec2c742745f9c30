"""What was seen when a scenario ran: the student's half is checked here before anything uses it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raised:
    """An exception, as the probe described it."""

    kind: str
    message: str
    bases: tuple[str, ...] = ()
    line: int | None = None
    text: str = ""

    @property
    def structural(self) -> bool:
        """Whether a name, an attribute or a parameter is not as the exercise asks."""
        return self.kind == "Structure"


@dataclass(frozen=True)
class Observation:
    """The result of one scenario: a value or an exception, and side effects."""

    value: Any = None
    raised: Raised | None = None
    changed: tuple[str, ...] = ()
    library: frozenset[str] = frozenset()
    ended: str | None = None

    @classmethod
    def of(cls, seen: Mapping[str, Any]) -> "Observation":
        """Read a probe's answer; a field of the wrong form is taken as absent."""
        raised = seen.get("raised")
        return cls(
            value=seen.get("value"),
            raised=_raised(raised) if isinstance(raised, Mapping) else None,
            changed=_texts(seen.get("changed")),
            library=frozenset(_texts(seen.get("library"))),
        )


def _raised(seen: Mapping[str, Any]) -> Raised:
    line = seen.get("line")
    return Raised(
        kind=str(seen.get("type", "Exception")),
        message=str(seen.get("message", "")),
        bases=_texts(seen.get("bases")),
        line=line if isinstance(line, int) else None,
        text=str(seen.get("text", "")),
    )


def _texts(items: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in items) if isinstance(items, (list, tuple)) else ()
