"""The process in which earlier answers are tried: `python -m coursework.trial_child`.

It reads a job as JSON from its input, and writes a line of JSON before and after each step, so that
whoever waits knows which step never came to an end. What the answers print goes nowhere.
"""

import json
import os
import sys
from typing import Any, TextIO


def main() -> None:
    """Try the job that comes in."""
    job = json.load(sys.stdin)
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _silence()
    _try_all(job, report)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _say(report: TextIO, **line: str) -> None:
    report.write(json.dumps(line) + "\n")
    report.flush()


def _try_all(job: dict[str, Any], report: TextIO) -> None:
    """Go through the lessons in order; a part that was refused is replaced by its stand-in."""
    from coursework import cells, scope

    _say(report, step="ready")
    settled: dict[str, str] = job["settled"]
    parts: dict[str, Any] = {}
    for lesson, names in job["wanted"].items():
        parts |= {name: scope.stand_in(name) for name in names}
        if all(settled.get(name) for name in names):
            continue
        _say(report, begin=lesson)
        needed = {name: parts.get(name, scope.stand_in(name)) for name in scope.NEEDS.get(lesson, ())}
        found = cells.run(lesson, job["cells"][lesson], needed)
        _say(report, end=lesson)
        for name in names:
            if name not in settled:
                _say(report, begin=name)
                settled[name] = _problem(name, found)
                _say(report, end=name, problem=settled[name])
            if not settled[name]:
                parts[name] = found[name]


def _problem(name: str, found: dict[str, Any]) -> str:
    """Return why a part cannot be used, or nothing where it can."""
    from coursework import parity

    if name not in found:
        return "is not there"
    try:
        parity.check(name, found[name])
    except NotImplementedError:
        return "is not filled in yet"
    except parity.DisagreementError as problem:
        return str(problem)
    except BaseException as problem:
        return f"raised {type(problem).__name__}"
    return ""


if __name__ == "__main__":
    main()
