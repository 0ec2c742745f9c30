"""The words that all pages, tables and files share: outcomes, states, scores, and what to do next.

Every text passes through `clean` before it reaches a reader: a message can contain anything that a
submission printed, raised or used as a name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autograder.model.report import ExerciseReport, Incident, NamedMistake, Outcome, Report, State

STRETCH = "stretch: not counted"  # in place of the score of an exercise without points
SKIPPED = "This exercise is optional, and you left it as it was."


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
        "✗", "not correct yet", "Your answer doesn't do what the exercise asks yet.", "read the hint"
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
        "Your code raised an error before it returned a result. The message below says where.",
        "fix the error",
    ),
    Outcome.TIMEOUT: Wording(
        "◔",
        "out of time",
        "Your code was still running when it reached the time limit. Look for a loop that never "
        "ends, or for a Python loop over single numbers that one tensor operation could replace.",
        "find what is slow",
    ),
    Outcome.CRASHED: Wording(
        "↯",
        "crashed",
        "The Python process died while it ran your code. The usual causes are a tensor that is "
        "far too large, endless recursion, or a call such as exit(). Restart the kernel and "
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
        "Your instructor grades this answer by hand. Until then, its points are pending: they count "
        "neither for you nor against you.",
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
BY_HAND = Wording("✎", "graded by hand", "Your instructor graded this answer by hand.", "nothing")


@dataclass(frozen=True)
class StateWording:
    """How one state of a submission is put: a label, sentences for the student, one for a class."""

    label: str
    sentence: str
    explanation: str


STATES: dict[State, StateWording] = {
    State.GRADED: StateWording("graded", "Your notebook was graded.", "Graded."),
    State.UNREADABLE: StateWording(
        "unreadable",
        "We could not open this file; nothing was graded. Open it in JupyterLab, save, and hand it in again.",
        "The file could not be opened, so nothing was graded. Ask for it again.",
    ),
    State.WRONG_FILE: StateWording(
        "wrong file",
        "We couldn't find this lesson's notebook in what you handed in, so nothing was graded. Hand in "
        "the notebook of this lesson, under its original name.",
        "No single notebook of this lesson was found among the files, so nothing was graded. Ask for "
        "the right one.",
    ),
    State.ABSENT: StateWording("absent", "Nothing was handed in for this lesson.", "Nothing was handed in."),
}

NO_SANDBOX = (
    "Graded without a sandbox: the code ran with the instructor's own rights, so nothing kept it "
    "away from the tests, the scores or the other answers."
)


def points(value: float | None) -> str:
    """Return a score in the usual form: 2, 0.5, 1.33, or "pending" if it has not been given."""
    return "pending" if value is None else f"{round(value, 2):g}"


def total(score: float, max_score: float, pending: float) -> str:
    """Return a score of some points, of which some may be pending, in words."""
    if not pending:
        return f"{points(score)} of {points(max_score)} points"
    if pending == max_score:
        return f"nothing graded yet, {points(pending)} points pending"
    return f"{points(score)} of {points(max_score - pending)} points graded, {points(pending)} pending"


def report_total(report: Report) -> str:
    """Return what a submission scored, or the state that it is in."""
    if not report.is_graded:
        return STATES[report.state].label
    return total(report.score, report.max_score, report.pending)


def percent(share: float | None) -> str:
    """Return a share from 0 to 1 in percent, or a dash if there is none."""
    return "–" if share is None else f"{share * 100:.0f} %"


def exercise_total(score: float | None, max_score: float) -> str:
    """Return what an exercise scored: "1.5 of 2 points", or "2 points pending"."""
    if not max_score:
        return STRETCH
    unit = "point" if max_score == 1 else "points"
    if score is None:
        return f"{points(max_score)} {unit} pending"
    return f"{points(score)} of {points(max_score)} {unit}"


def is_full(exercise: ExerciseReport) -> bool:
    """Return whether an exercise has all of its points, or more with extra credit."""
    return exercise.score is not None and exercise.score >= exercise.points


def wording(exercise: ExerciseReport) -> Wording:
    """Return how an exercise's outcome is put; one that was pending may be graded by now."""
    if exercise.outcome.is_pending and not exercise.is_pending:
        return BY_HAND
    return WORDING[exercise.outcome]


def with_detail(incident: Incident) -> str:
    """Return an incident for the instructor: the student's process may have written the detail."""
    return f"{incident.message} [{incident.detail}]" if incident.detail else incident.message


def place(incident: Incident) -> str:
    """Return where an incident happened."""
    return incident.exercise or "outside the exercises"


def sentence(exercise: ExerciseReport) -> str:
    """Return a few sentences for the student: what happened and what to do."""
    if exercise.is_skipped:
        return SKIPPED
    failed, count = len(exercise.failures), len(exercise.checks)
    if exercise.outcome is not Outcome.FAILED or not 0 < failed < count:
        return wording(exercise).sentence
    return f"Part of it works: {count - failed} of {count} checks passed, {failed} failed."


def next_step(exercise: ExerciseReport) -> str:
    """Return what to do next if checks failed; empty for any other outcome."""
    if exercise.outcome is not Outcome.FAILED:
        return ""
    if exercise.misconceptions:
        return (
            "Fix that, and run the tests in your notebook. They do not include the checks listed "
            "here, which run again when you hand in again."
        )
    return (
        "Start with the first of these. Write down the smallest input it applies to, work out the "
        "result by hand, and print the shape after every line of your code."
    )


def distinct(mistakes: Iterable[NamedMistake]) -> list[NamedMistake]:
    """Return named mistakes in order, each id once."""
    found: dict[str, NamedMistake] = {}
    for mistake in mistakes:
        found.setdefault(mistake.id, mistake)
    return list(found.values())
