"""Tries answers of earlier lessons: `python -m coursework.earlier_trial`.

It reads a job as JSON from its input, and writes a line of JSON before and after each step, so that the
parent knows which step never came to an end. What the answers print goes nowhere. A part is usable when it is
right on its public examples, and has the gradients of its stand-in.
"""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import torch

from coursework import scope
from coursework.cells import defines
from coursework.earlier import NOT_THERE, RAISES, run_cells
from coursework.engine.compare import difference, is_right
from coursework.engine.examples import SEED, Example, find
from coursework.engine.observe import try_answer
from coursework.engine.operation import Answer, Operation
from coursework.engine.operations import CallFunction, CallModule, FunctionGradients, ModuleGradients


def main() -> None:
    """Try the job that comes in: the lessons in order. A part that was refused gives way to its stand-in."""
    job = json.load(sys.stdin)
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)

    def say(**line: str) -> None:
        report.write(json.dumps(line) + "\n")
        report.flush()

    say(step="ready")
    verdicts: dict[str, str] = job["verdicts"]
    parts: dict[str, Any] = {}
    for lesson, names in job["wanted"].items():
        parts |= {name: scope.stand_in(name) for name in names}
        if all(verdicts.get(name) for name in names):
            continue
        say(begin=lesson)
        needed = {name: parts.get(name, scope.stand_in(name)) for name in scope.NEEDS.get(lesson, ())}
        found = run_cells(lesson, job["cells"][lesson], needed)
        say(end=lesson)
        for name in names:
            if name not in verdicts:
                say(begin=name)
                verdicts[name] = problem_of(name, found, job["cells"][lesson])
                say(end=name, problem=verdicts[name])
            if not verdicts[name]:
                parts[name] = found[name]


def problem_of(name: str, found: dict[str, Any], cells: Sequence[str] = ()) -> str:
    """Return why a part cannot be used, '' where it can. `cells` are those that it should come from."""
    if name not in found:
        return RAISES if any(defines(text, name) for text in cells) else NOT_THERE
    known = find(name, scope.ORIGIN[name])
    assert known is not None
    for example in known.examples:
        got = try_answer(example.operation, found[name], name, SEED)
        if got.raised and got.raised.kind == "NotImplementedError":
            return "is not filled in yet"
        if not is_right(got, example.expected):
            if not got.raised or got.raised.structural or example.expected.raised:
                return f'fails `check("{name}")` there'
            lacks = got.raised.kind == "NameError"
            return f"raised {got.raised.kind}" + (f" ({got.raised.message})" if lacks else "")
    parts = (found[name], scope.stand_in(name))
    try:
        theirs, right = (_gradients(known.examples[0], name, part) for part in parts)
    except Exception as problem:
        return f"raised {type(problem).__name__} where gradients were asked for"
    return "differs in its gradients from PyTorch's" if difference(theirs, right) else ""


class _Part(Answer):
    """An answer that may be a stand-in."""

    def find(self, name: str = "") -> Any:
        """Return what is bound to a name."""
        return self.namespace[name or self.name]


def _gradients(example: Example, name: str, part: Any) -> Any:
    """Return what a part gives on an example, and all gradients of a fixed mixture of its output."""
    asked, output = example.operation, example.expected.value
    first = output[0] if isinstance(output, (tuple, list)) else output
    mixture = torch.linspace(-1, 1, first.numel()).reshape(first.shape)
    again: Operation
    if isinstance(asked, CallModule):
        inputs = (asked.init, asked.weights, asked.calls, asked.init_kwargs)
        again = ModuleGradients(*inputs, cotangent=mixture, of_arguments=True, registration=True)
    else:
        assert isinstance(asked, CallFunction)
        again = FunctionGradients(asked.args, asked.kwargs, mixture)
    return again.run(_Part({name: part}, name))


if __name__ == "__main__":
    main()
