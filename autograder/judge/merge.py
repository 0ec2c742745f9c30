"""Merges several changes to one source, token by token, where they do not touch."""

import re
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

TOKENS = re.compile(r"\w+|[^\S\n]+|.", re.DOTALL)

Change = tuple[int, int, tuple[str, ...]]  # from one token to another, and what is put there


def merged(source: str, *changed: str) -> str | None:
    """Return a source with all changes made to it; None where two of them meet."""
    changes = sorted(change for other in changed for change in _changes(source, other))
    for (start, end, _), (following, _, _) in pairwise(changes):
        if following < end or (following == start and start < end):
            return None
    tokens = _tokens(source)
    for start, end, new in reversed(changes):
        tokens[start:end] = new
    return "".join(tokens)


@lru_cache(maxsize=500)
def _changes(source: str, other: str) -> tuple[Change, ...]:
    before, after = _tokens(source), _tokens(other)
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple((a, b, tuple(after[c:d])) for kind, a, b, c, d in codes if kind != "equal")


def _tokens(source: str) -> list[str]:
    return TOKENS.findall(source)
