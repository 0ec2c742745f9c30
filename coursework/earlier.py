"""Brings the parts a student built in earlier lessons into a later one, or stand-ins for them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from coursework import cells, neighbours, scope

FORCE: Final = "COURSEWORK_STAND_INS"
HERE: Final = Path()


def load_earlier(lesson: str, folder: Path = HERE) -> dict[str, Any]:
    """Return the parts that `lesson` begins with, by name, and print where each comes from.

    They are the student's own where an earlier notebook lies next door and its part agrees with
    PyTorch in a quick check, run in a process of its own. Whatever is wrong with it, the stand-in
    takes over. The environment variable COURSEWORK_STAND_INS=1 asks for stand-ins only.
    """
    wanted = scope.wanted(lesson)
    found = {origin: _look_for(origin, folder) for origin in wanted}
    problems = _problems(wanted, found)
    parts = _let_in(wanted, found, problems)
    for name in scope.NEEDS[lesson]:
        print(f"{name}: {_whence(found[scope.ORIGIN[name]], problems[name])}")
    return {name: parts[name] for name in scope.NEEDS[lesson]}


def _look_for(origin: str, folder: Path) -> neighbours.Neighbour:
    if os.environ.get(FORCE):
        return neighbours.Neighbour(problem=f"{FORCE} is set")
    return neighbours.find(origin, folder)


def _problems(wanted: Mapping[str, list[str]], found: Mapping[str, neighbours.Neighbour]) -> dict[str, str]:
    """Return why each part cannot be used, or ''. No process is started when nothing was found."""
    problems = {name: found[origin].problem for origin, names in wanted.items() for name in names}
    usable = {origin: names for origin, names in wanted.items() if found[origin].cells}
    if usable:
        from coursework import trial

        problems |= trial.try_parts(usable, {origin: found[origin].cells for origin in usable})
    return problems


def _let_in(
    wanted: Mapping[str, list[str]], found: Mapping[str, neighbours.Neighbour], problems: Mapping[str, str]
) -> dict[str, Any]:
    """Run the definitions of every lesson of which some part passed, and pick those parts."""
    parts: dict[str, Any] = {}
    for origin, names in wanted.items():
        parts |= {name: scope.stand_in(name) for name in names}
        passed = [name for name in names if not problems[name]]
        if passed:
            needed = {name: parts[name] for name in scope.NEEDS.get(origin, ())}
            own = cells.run(origin, found[origin].cells, needed)
            parts |= {name: own[name] for name in passed if name in own}
    return parts


def _whence(neighbour: neighbours.Neighbour, problem: str) -> str:
    if not problem:
        return f"yours, from {neighbour.path}"
    yours = f"yours in {neighbour.path} " if neighbour.cells else ""
    return f"the stand-in, since {yours}{problem}"
