"""Failed checks grouped by cause: what a dozen checks have in common is told once."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from autograder.model.report import CheckReport
from autograder.model.text import clean

_NUMBER = re.compile(r"(?<!line )(?<![\d.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")  # a line of code is no mere number
OTHER_NUMBERS: Final = "(In other checks, the numbers differ.)"


@dataclass(frozen=True)
class Failure:
    """The titles of failed checks with one cause, and the shortest of their messages.

    Where the messages differ in their numbers, the message says that its own are of one check.
    """

    titles: tuple[str, ...]
    message: str


def failures(checks: Iterable[CheckReport]) -> list[Failure]:
    """Group failed checks by cause, in order; checks without a message stay apart.

    Two messages have one cause if they differ only in their numbers, or if one ends with the other:
    "The arguments are unchanged, but the result is wrong. Query 2 attends to key 5."
    """
    failed = [check for check in checks if not check.passed]
    patterns = {_pattern(check.message) for check in failed if check.message}
    groups: dict[tuple[str, int], list[CheckReport]] = {}
    for number, check in enumerate(failed):
        key = (_cause(_pattern(check.message), patterns), 0 if check.message else number)
        groups.setdefault(key, []).append(check)
    return [_failure(group) for group in groups.values()]


def _pattern(message: str) -> str:
    return _NUMBER.sub("#", message)


def _cause(pattern: str, patterns: set[str]) -> str:
    """Return the shortest message that this one ends with, as a sentence of its own."""
    ends = [each for each in patterns if pattern == each or pattern.endswith(f" {each}")]
    return min(ends, key=len, default=pattern)


def _failure(group: list[CheckReport]) -> Failure:
    messages = [clean(check.message) for check in group]
    message = min(messages, key=len)
    if not all(each.endswith(message) for each in messages):
        message = f"{message} {OTHER_NUMBERS}"
    return Failure(tuple(check.title for check in group), message)
