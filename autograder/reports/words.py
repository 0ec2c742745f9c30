"""The words every page, table and file shares: what an outcome is called and what to do about it.

Everything that reaches a reader passes through `clean` first: messages can hold whatever a
submission printed, raised or is called.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.results import CheckReport, ExerciseReport, NamedMistake, Outcome

# Control characters can move a terminal's cursor, bidirectional marks can reorder a page's text.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
LONGEST = 1200


@dataclass(frozen=True)
class Wording:
    """How one outcome is put: a sign, a label, a sentence to act on, a next step in few words."""

    sign: str
    label: str
    sentence: str
    todo: str


WORDING: dict[Outcome, Wording] = {
    Outcome.PASSED: Wording(
        "✓", "right", "Every check passed. Nothing to do here.", "nothing: done"
    ),
    Outcome.FAILED: Wording(
        "✗", "not yet right", "This does not yet do what the exercise asks.", "read the hint"
    ),
    Outcome.UNANSWERED: Wording(
        "○",
        "unanswered",
        "You left the skeleton as it was, so there was nothing to mark. Write your answer where "
        "the cell says YOUR CODE HERE or YOUR ANSWER HERE. The text above it has all you need, "
        "and the folded hints are there to be opened.",
        "write an answer",
    ),
    Outcome.ERROR: Wording(
        "!",
        "error",
        "Python stopped in your code before it gave an answer. The message below says where to "
        "look. Restart the kernel and run all cells from the top: an error that shows up only "
        "then often means a name that is defined further down, or in a cell since deleted.",
        "mend the error",
    ),
    Outcome.TIMEOUT: Wording(
        "⧖",
        "out of time",
        "Your code was still running when its time was up. Look for a loop whose condition never "
        "changes, or for a Python loop over single numbers where one tensor operation would do.",
        "find what is slow",
    ),
    Outcome.CRASHED: Wording(
        "↯",
        "crashed",
        "The Python process died while it ran your code. Usual causes are a tensor far larger "
        "than meant, a function that calls itself without end, or a call such as exit(). Restart "
        "the kernel and run the cells one by one to see which one takes it down.",
        "find what dies",
    ),
    Outcome.MISSING: Wording(
        "?",
        "missing",
        "We could not find this exercise in the notebook you handed in: its cell was deleted or "
        "changed beyond recognition. Open a fresh copy of the lesson, paste your code into this "
        "exercise's own cell there, run it, and hand that copy in or show it to your instructor.",
        "use a fresh copy",
    ),
    Outcome.NEEDS_MARKING: Wording(
        "…",
        "to be read",
        "A person reads and marks this answer. Until they have, its points are missing from the "
        "total.",
        "wait for a person",
    ),
    Outcome.GRADER_FAULT: Wording(
        "⚠",
        "our fault",
        "Something went wrong on our side, not in your code. It costs you nothing: the points "
        "stay open until a person has looked.",
        "wait for a person",
    ),
}

NO_SANDBOX = (
    "Marked without a sandbox: the code ran with the rights of whoever marked it, so nothing kept "
    "it from the tests, the marks or the other answers."
)


@dataclass(frozen=True)
class Failure:
    """Checks that failed with the same message: told once, however many there are."""

    titles: tuple[str, ...]
    message: str


def clean(text: str, longest: int = LONGEST) -> str:
    """Return text fit to print: no control or direction marks, no lone surrogates, cut to length.

    A cut says that it was made. Line breaks and tabs stay.
    """
    text = _UNPRINTABLE.sub("", _ANSI.sub("", text.replace("\r\n", "\n")))
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    return text if len(text) <= longest else f"{text[:longest].rstrip()} … (cut)"


def marks(value: float | None) -> str:
    """Return a score as people write it: 2, 0.5, 1.33; a dash where it is still open."""
    return "–" if value is None else f"{round(value, 2):g}"


def sentence(exercise: ExerciseReport) -> str:
    """Return what happened and what to do, in a sentence or three for the student."""
    wording = WORDING[exercise.outcome]
    failed, total = len(exercise.failures), len(exercise.checks)
    if exercise.outcome is not Outcome.FAILED or not 0 < failed < total:
        return wording.sentence
    verb = "does" if failed == 1 else "do"
    return f"Part of it works: {total - failed} of {total} checks passed, {failed} {verb} not yet."


def next_step(exercise: ExerciseReport) -> str:
    """Return the one thing to do next where checks failed; empty where there is no such thing."""
    if exercise.outcome is not Outcome.FAILED:
        return ""
    if exercise.misconceptions:
        return "Change that, run the visible tests again, and see which of these are left."
    return (
        "Take the first of these. Build the smallest input it could mean, work the answer out by "
        "hand, and print the shape after every line of yours."
    )


def failures(checks: Iterable[CheckReport]) -> list[Failure]:
    """Group failed checks by message, in order; checks without one stay apart."""
    groups: dict[str, list[str]] = {}
    for number, check in enumerate(check for check in checks if not check.passed):
        groups.setdefault(check.message or f"\0{number}", []).append(check.title)
    return [
        Failure(tuple(titles), clean(text) if text[0] != "\0" else "")
        for text, titles in groups.items()
    ]


def distinct(mistakes: Iterable[NamedMistake]) -> list[NamedMistake]:
    """Return named mistakes in order, each id once."""
    found: dict[str, NamedMistake] = {}
    for mistake in mistakes:
        found.setdefault(mistake.id, mistake)
    return list(found.values())
