"""The operation behind a public example: what the student's notebook does with it, done in the sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import coursework.instant.parts  # noqa: F401 - loaded before any stand-in is deleted
from coursework.engine.operation import Answer, Operation
from coursework.instant.examples import Question
from coursework.instant.trying import ask


@dataclass(frozen=True)
class TryExample(Operation):
    """Ask an answer the question with these fields; the result is a dictionary of a Result's fields."""

    question: Mapping[str, Any]

    def run(self, answer: Answer) -> Any:
        """Ask. An exception is part of the result; the grader's own limits end what takes too long."""
        result = ask(Question(**self.question), answer.find(), seconds=None)
        return {name: getattr(result, name) for name in ("value", "raised", "message", "changed")}
