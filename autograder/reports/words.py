"""The words that all pages, tables and files share: what each outcome is called and what to do next.

Every text passes through `clean` before it reaches a reader: a message can contain anything that a
submission printed, raised or used as a name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from autograder.model.report import CheckReport, ExerciseReport, NamedMistake, Outcome

# Control characters can move a terminal's cursor, direction marks can reorder the text of a page.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
LONGEST = 1200


@dataclass(frozen=True)
class Wording:
    """How one outcome is put: a sign, a label, a sentence for the student, a next step."""

    sign: str
    label: str
    sentence: str
    todo: str


WORDING: dict[Outcome, Wording] = {
    Outcome.PASSED: Wording("✓", "correct", "Every check passed.", "nothing"),
    Outcome.FAILED: Wording(
        "✗",
        "not correct yet",
        "Your answer doesn't do what the exercise asks yet.",
        "read the hint",
    ),
    Outcome.UNANSWERED: Wording(
        "○",
        "unanswered",
        "You didn't change the skeleton, so there was nothing to grade. Write your answer where "
        "the cell says YOUR CODE HERE or YOUR ANSWER HERE. If you are stuck, open the hints below "
        "the tests.",
        "write an answer",
    ),
    Outcome.ERROR: Wording(
        "!",
        "error",
        "Your code raised an error before it returned a result. The message below says where. "
        "Restart the kernel and run all cells from the top: an error that appears only then often "
        "means that a name is defined further down, or in a cell that you have deleted.",
        "fix the error",
    ),
    Outcome.TIMEOUT: Wording(
        "⧖",
        "out of time",
        "Your code was still running at its time limit. Look for a loop that never ends, or for a "
        "Python loop over single numbers that one tensor operation could replace.",
        "find what is slow",
    ),
    Outcome.CRASHED: Wording(
        "↯",
        "crashed",
        "The Python process died while it ran your code. The usual causes are a tensor that is "
        "far too large, a recursion without end, or a call such as exit(). Restart the kernel and "
        "run the cells one by one to find the one that crashes.",
        "find what crashes",
    ),
    Outcome.MISSING: Wording(
        "?",
        "missing",
        "We couldn't find this exercise in the notebook you submitted: its cell was deleted or "
        "changed beyond recognition. Open a fresh copy of the lesson, paste your code into this "
        "exercise's cell, run it, and submit that copy or show it to your instructor.",
        "use a fresh copy",
    ),
    Outcome.NEEDS_MARKING: Wording(
        "…",
        "to be graded",
        "Your instructor grades this answer by hand. Until then, its points are missing from the "
        "total.",
        "to be graded by hand",
    ),
    Outcome.GRADER_FAULT: Wording(
        "⚠",
        "grader error",
        "The autograder failed on this exercise. This is not your fault, and it costs you no "
        "points: your instructor will grade your answer by hand.",
        "to be graded by hand",
    ),
}

NO_SANDBOX = (
    "Graded without a sandbox: the code ran with the instructor's own rights, so nothing kept it "
    "away from the tests, the scores or the other answers."
)


@dataclass(frozen=True)
class Failure:
    """The titles of failed checks that share a message."""

    titles: tuple[str, ...]
    message: str


def clean(text: str, longest: int = LONGEST) -> str:
    """Return printable text: no control or direction marks, no lone surrogates, cut to length.

    Text that was cut says so. Line breaks and tabs are kept.
    """
    text = _UNPRINTABLE.sub("", _ANSI.sub("", text.replace("\r\n", "\n")))
    text = text.encode("utf-8", "replace").decode("utf-8").strip()
    return text if len(text) <= longest else f"{text[:longest].rstrip()} … (cut)"


def points(value: float | None) -> str:
    """Return a score in the usual form: 2, 0.5, 1.33, or a dash if it is still open."""
    return "–" if value is None else f"{round(value, 2):g}"


def sentence(exercise: ExerciseReport) -> str:
    """Return a few sentences for the student: what happened and what to do."""
    wording = WORDING[exercise.outcome]
    failed, total = len(exercise.failures), len(exercise.checks)
    if exercise.outcome is not Outcome.FAILED or not 0 < failed < total:
        return wording.sentence
    return f"Part of it works: {total - failed} of {total} checks passed, {failed} failed."


def next_step(exercise: ExerciseReport) -> str:
    """Return what to do next if checks failed; empty for any other outcome."""
    if exercise.outcome is not Outcome.FAILED:
        return ""
    if exercise.misconceptions:
        return "Change that, run the visible tests again, and see which of these remain."
    return (
        "Start with the first of these. Write down the smallest input it applies to, work out the "
        "result by hand, and print the shape after every line of your code."
    )


def failures(checks: Iterable[CheckReport]) -> list[Failure]:
    """Group failed checks by message, in order; checks without a message stay apart."""
    groups: dict[tuple[str, int], list[str]] = {}
    for number, check in enumerate(checks):
        if not check.passed:
            key = (check.message, 0 if check.message else number)
            groups.setdefault(key, []).append(check.title)
    return [Failure(tuple(titles), clean(message)) for (message, _), titles in groups.items()]


def distinct(mistakes: Iterable[NamedMistake]) -> list[NamedMistake]:
    """Return named mistakes in order, each id once."""
    found: dict[str, NamedMistake] = {}
    for mistake in mistakes:
        found.setdefault(mistake.id, mistake)
    return list(found.values())
