"""What was seen when an operation ran. What the student's process says is checked here before use."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PLACE = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4})*")  # a tensor among the arguments


@dataclass(frozen=True)
class Raised:
    """An exception, as the probe described it.

    Of a part that is missing, `fault`, `path` and `detail` say more. The student's code had a hand in
    all of it, so messages repeat none of it as it is.
    """

    kind: str
    message: str
    bases: tuple[str, ...] = ()
    line: int | None = None
    text: str = ""
    fault: str = ""
    path: str = ""
    detail: str = ""

    @property
    def structural(self) -> bool:
        """Whether a name, an attribute or a parameter is not as the exercise asks."""
        return self.kind == "Structure"


@dataclass(frozen=True)
class Observation:
    """The result of one operation: a value or an exception, and side effects.

    `excluded` are the functions that were called and refused, by the names that students know. `ended` is
    the grader's own exception, instead of everything else, if the process ended before it answered.
    """

    value: Any = None
    raised: Raised | None = None
    changed: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    ended: Any = None

    @classmethod
    def of(cls, seen: Mapping[str, Any]) -> "Observation":
        """Read a probe's answer; a field of the wrong form is taken as absent."""
        raised = seen.get("raised")
        return cls(
            value=seen.get("value"),
            raised=_raised(raised) if isinstance(raised, Mapping) else None,
            changed=tuple(path for path in _texts(seen.get("changed")) if PLACE.fullmatch(path)),
            excluded=_texts(seen.get("excluded")),
        )


def _raised(seen: Mapping[str, Any]) -> Raised:
    line = seen.get("line")
    return Raised(
        kind=_text(seen.get("type", "Exception"), 100),
        message=_text(seen.get("message"), 1000),
        bases=_texts(seen.get("bases")),
        line=line if type(line) is int and 0 < line < 10**6 else None,
        text=_text(seen.get("text"), 200),
        fault=_text(seen.get("fault"), 100),
        path=_text(seen.get("path"), 200),
        detail=_text(seen.get("detail"), 200),
    )


def _text(value: Any, limit: int) -> str:
    """Return text that every page can show; what is none is taken as absent."""
    plain = value if isinstance(value, str) else ""
    return plain[:limit].encode("utf-8", "replace").decode("utf-8")


def _texts(items: Any) -> tuple[str, ...]:
    return tuple(_text(i, 200) for i in items) if isinstance(items, (list, tuple)) else ()
