"""Judges decide about one observation, and say why in words a student can act on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from autograder.judge.compare import ATOL, RTOL, difference, same_form
from autograder.judge.observation import Observation, Raised
from autograder.judge.patterns import pattern


@dataclass(frozen=True)
class Verdict:
    """Whether a check passed, and what to tell the student if not."""

    passed: bool
    message: str = ""


PASSED = Verdict(passed=True)


@dataclass(frozen=True)
class Seen:
    """One case at work: what was asked, what came, what the reference gives for the same."""

    inputs: Mapping[str, Any]
    got: Observation
    expected: Observation


Judge = Callable[[Seen], Verdict]
Symptom = Callable[[Seen], str | None]


def agrees(*symptoms: Symptom, atol: float = ATOL, rtol: float = RTOL) -> Judge:
    """Return a judge that wants the reference's value, or an exception of the reference's kind.

    Where the numbers differ, the first symptom that has something to say explains how.
    """

    def judge(seen: Seen) -> Verdict:
        if seen.expected.raised:
            return _wants_exception(seen.got, seen.expected.raised)
        if seen.got.raised:
            return Verdict(passed=False, message=say_raised(seen.got.raised))
        found = difference(seen.got.value, seen.expected.value, atol=atol, rtol=rtol)
        if found is None:
            return PASSED
        said = _first_symptom(symptoms, seen) if found.kind in ("value", "nan", "inf") else None
        said = said or pattern(seen.got.value, seen.expected.value)
        return Verdict(passed=False, message=said or f"{found.text}.")

    return judge


def unchanged(*symptoms: Symptom) -> Judge:
    """Return a judge that wants the right value and every argument left as it was."""
    value = agrees(*symptoms)

    def judge(seen: Seen) -> Verdict:
        if seen.got.changed:
            where = " and ".join(
                f"argument {int(path.split('.')[0]) + 1}" for path in seen.got.changed
            )
            return Verdict(
                passed=False,
                message=f"Your code modified {where} in place (`+=`, `masked_fill_`, …); "
                "make a new tensor instead.",
            )
        return value(seen)

    return judge


def firm(judge: Judge) -> Judge:
    """Return a judge that does not break on what came back in another form than was asked for.

    Where the form is right and the judge breaks all the same, the fault is ours and is raised.
    """

    def guarded(seen: Seen) -> Verdict:
        try:
            return judge(seen)
        except Exception:
            if same_form(seen.got.value, seen.expected.value):
                raise
        found = difference(seen.got.value, seen.expected.value)
        text = found.text if found else "The result is not of the form that was asked for"
        return Verdict(passed=False, message=f"{text}.")

    return guarded


def _first_symptom(symptoms: Sequence[Symptom], seen: Seen) -> str | None:
    for symptom in symptoms:
        try:
            said = symptom(seen)
        except (RuntimeError, IndexError, TypeError, AttributeError, ValueError):
            continue  # a symptom that does not fit what came back has nothing to say
        if said:
            return said
    return None


def _wants_exception(got: Observation, wanted: Raised) -> Verdict:
    if got.raised is None:
        return Verdict(passed=False, message=f"A {wanted.kind} should be raised here; none was.")
    if wanted.kind in got.raised.bases:
        return PASSED
    return Verdict(
        passed=False,
        message=f"A {wanted.kind} should be raised here; what came was {say_raised(got.raised)}",
    )


def say_raised(raised: Raised) -> str:
    """Return an exception in a sentence, with the line of the student's cell it came from."""
    if raised.structural:
        return raised.message
    if raised.kind == "NotImplementedError":
        return "The cell still raises NotImplementedError: the part to fill in is not filled in."
    place = (
        f" (line {raised.line} of your cell: `{raised.text}`)"
        if raised.line and raised.text
        else ""
    )
    message = raised.message.strip().splitlines()[0] if raised.message.strip() else "no message"
    return f"Your code raised {raised.kind}: {message}{place}."


def choice(right: str, feedback: Mapping[str, str]) -> Judge:
    """Return a judge of a multiple-choice answer, with a sentence for each wrong choice."""

    def judge(seen: Seen) -> Verdict:
        if seen.got.raised:
            return Verdict(passed=False, message=say_raised(seen.got.raised))
        given = seen.got.value
        if not isinstance(given, str):
            return Verdict(passed=False, message=_not_answered(given, "a letter in quotes"))
        letter = given.strip().strip("().").lower()
        if letter == right.lower():
            return PASSED
        options = ", ".join(sorted({right, *feedback}))
        said = feedback.get(letter, f"'{given[:40]}' is not one of the options ({options}).")
        return Verdict(passed=False, message=said)

    return judge


def shape_of(*right: int, hints: Mapping[tuple[int, ...], str] | None = None) -> Judge:
    """Return a judge of a shape given as tuple, list or torch.Size, with a hint for wrong ones."""

    def judge(seen: Seen) -> Verdict:
        if seen.got.raised:
            return Verdict(passed=False, message=say_raised(seen.got.raised))
        given = seen.got.value
        if not isinstance(given, (tuple, list, torch.Size)):
            return Verdict(passed=False, message=_not_answered(given, "a shape such as (2, 3)"))
        if not all(isinstance(size, (int, float)) for size in given):
            return Verdict(passed=False, message="A shape is made of numbers, as in (2, 3).")
        if tuple(given) == right:
            return PASSED
        said = (hints or {}).get(tuple(given), _about_shape(tuple(given), right))
        return Verdict(passed=False, message=said)

    return judge


def number(right: float, hints: Mapping[float, str] | None = None) -> Judge:
    """Return a judge of a number, with a hint for wrong ones that are common."""

    def judge(seen: Seen) -> Verdict:
        if seen.got.raised:
            return Verdict(passed=False, message=say_raised(seen.got.raised))
        given = seen.got.value
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            return Verdict(passed=False, message=_not_answered(given, "a number"))
        if given == right:
            return PASSED
        return Verdict(passed=False, message=(hints or {}).get(given, f"{given} is not right."))

    return judge


def _about_shape(given: tuple[Any, ...], right: tuple[int, ...]) -> str:
    if len(given) != len(right):
        return f"{given} has {len(given)} dimensions; this tensor has {len(right)}."
    if sorted(map(str, given)) == sorted(map(str, right)):
        return f"{given} has the right sizes in the wrong order."
    return f"{given} is not its shape: ask of each dimension what it counts."


def _not_answered(given: Any, wanted: str) -> str:
    if given is None:
        return "No answer was given."
    return f"{type(given).__name__} is not the form of an answer here; {wanted} is."
