"""What to try after an exception: looks it up in advice.yaml."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

import yaml

ADVICE = Path(__file__).with_name("advice.yaml")


@cache
def rows() -> Mapping[str, Mapping[str, str]]:
    """Return the advice for each type of exception, by a pattern in the message."""
    found: dict[str, dict[str, str]] = yaml.safe_load(ADVICE.read_text(encoding="utf-8"))
    return found


def advice(kinds: Iterable[str], message: str, may_name: Callable[[str], bool]) -> str:
    """Return what to try after an exception, "" if nothing is known.

    `kinds` are its types, the nearest first. `may_name` decides whether a name that the message
    mentions may be repeated.
    """
    for kind in kinds:
        for pattern, said in rows().get(kind, {}).items():
            found = re.search(pattern, message)
            name = found.groupdict().get("name") if found else None
            if found and ("{name}" not in said or (name and may_name(name))):
                return said.replace("{name}", name or "")
    return ""


def cause(kinds: Iterable[str], message: str) -> str:
    """Return which row an exception belongs to, whatever it names; "" if none."""
    for kind in kinds:
        for pattern in rows().get(kind, {}):
            if re.search(pattern, message):
                return f"{kind}: {pattern}"
    return ""
