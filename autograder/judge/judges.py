"""Judges: each decides about one comparison and says why, in words a student can act on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from autograder.model.exercise import Comparison, Explainer, Judge, Verdict
from coursework.engine.compare import ATOL, RTOL, Difference, difference, of_type, same_form
from coursework.engine.exceptions import Cell, is_unfinished, say_raised, what_raised
from coursework.engine.observation import Raised
from coursework.engine.operations import CallFunction, ModuleOperation
from coursework.engine.patterns import pattern

PASSED = Verdict(passed=True)
UNFIT = (RuntimeError, LookupError, TypeError, AttributeError, ValueError)


def failed(message: str) -> Verdict:
    """Return the verdict of a failed check."""
    return Verdict(passed=False, message=message)


def matches_reference(
    *explainers: Explainer, atol: float = ATOL, rtol: float = RTOL, any_form: bool = False
) -> Judge:
    """Return a judge that wants the reference's value, or an exception of the reference's kind.

    Where numbers differ, the first explainer that has something to say does so. It is asked about
    the whole result, and then, if there were several calls, about the first that went wrong. With
    `any_form`, explainers are also asked about results of another type, length or shape.
    """

    def judge(seen: Comparison) -> Verdict:
        if seen.expected.raised:
            return _wants_exception(seen, seen.expected.raised)
        if seen.got.raised:
            return failed(say_raised(seen.got.raised, cell_of(seen)))
        names = seen.operation.names
        found = difference(seen.got.value, seen.expected.value, atol=atol, rtol=rtol, names=names)
        if found is None:
            return PASSED
        asked = explainers if any_form or found.about_numbers else ()
        said = explain(asked, seen)
        return failed(said or _about_first_wrong_call(asked, seen, found))

    return judge


def _about_first_wrong_call(asked: Sequence[Explainer], seen: Comparison, found: Difference) -> str:
    """Say what is wrong with the first call that goes wrong, or with the only one."""
    operation: Any = seen.operation
    calls, got, want = getattr(operation, "calls", ()), seen.got.value, seen.expected.value
    which = ""
    if len(calls) > 1 and isinstance(got, (list, tuple)) and len(got) == len(calls):
        wrong = (n for n, pair in enumerate(zip(got, want, strict=True)) if difference(*pair))
        number = next(wrong, 0)
        seen = part_of(seen, lambda results: results[number])
        seen = replace(seen, operation=replace(operation, calls=[calls[number]]))
        names = operation.names
        found = difference(seen.got.value, seen.expected.value, names=names) or found
        which = f"Call {number + 1} of {len(calls)}: "
    said = explain(asked, seen)
    if not said and found.about_numbers:
        said = pattern(seen.got.value, seen.expected.value, seen.operation.arguments)
    return which + (said or found.text)


def no_side_effects(
    *explainers: Explainer, names: Sequence[str] = (), any_form: bool = False, titled: bool = True
) -> Judge:
    """Return a judge that wants the reference's value, and every argument left as it was.

    `names` are the arguments' names, for the message; without them they are numbered from 1.
    `any_form` is that of `matches_reference`. `titled` says that arguments are what the check's title
    is about, so that a message about a wrong result has to say that they are unchanged.
    """
    value = matches_reference(*explainers, any_form=any_form)

    def judge(seen: Comparison) -> Verdict:
        changed = {_argument(place, seen) for place in seen.got.changed} & _arguments(seen)
        if changed:
            return failed(_in_place([_called(number, seen, names) for number in sorted(changed)]))
        verdict = value(seen)
        if verdict.passed or seen.got.raised or not titled:
            return verdict
        return failed(f"The arguments are unchanged, but the result is wrong. {verdict.message}")

    return judge


def _in_place(changed: Sequence[str]) -> str:
    return (
        f"Your code modified {' and '.join(changed)} in place (`+=`, `masked_fill_`, `append`, …). "
        "Make a new object instead."
    )


def _called(number: int, seen: Comparison, names: Sequence[str]) -> str:
    """Return what an argument is called, by number: its name, if the table or the call gives it."""
    known = dict(enumerate(names))
    if isinstance(seen.operation, CallFunction):
        known |= dict(enumerate(seen.operation.kwargs, start=len(seen.operation.args)))
    return f"`{known[number]}`" if number in known else f"argument {number + 1}"


def _argument(place: str, seen: Comparison) -> int:
    """Return which argument a place such as '1.0' belongs to; a module's first number is the call."""
    numbers = [int(number) for number in place.split(".")]
    of_a_call = isinstance(seen.operation, ModuleOperation)
    return numbers[1] if of_a_call and len(numbers) > 1 else numbers[0]


def _arguments(seen: Comparison) -> set[int]:
    """Return the numbers of the arguments that were passed: a process could say any."""
    passed = seen.operation.arguments
    calls = passed if isinstance(seen.operation, ModuleOperation) else [passed]
    return set(range(max(map(len, calls), default=0)))


def entry_of(seen: Comparison, key: str) -> Comparison:
    """Return a comparison of one entry of the two dictionaries, None for a missing one."""
    return part_of(seen, lambda value: value.get(key) if isinstance(value, dict) else None)


def part_of(seen: Comparison, pick: Callable[[Any], Any]) -> Comparison:
    """Return a comparison of a part of both values."""
    got = replace(seen.got, value=pick(seen.got.value))
    expected = replace(seen.expected, value=pick(seen.expected.value))
    return replace(seen, got=got, expected=expected)


def guarded(judge: Judge) -> Judge:
    """Return a judge that does not break on a result of another form than the reference's.

    If the form is right and the judge breaks all the same, that is a grader error and is raised.
    """

    def judge_safely(seen: Comparison) -> Verdict:
        try:
            return judge(seen)
        except Exception:
            if same_form(seen.got.value, seen.expected.value):
                raise
        found = difference(seen.got.value, seen.expected.value, names=seen.operation.names)
        return failed(found.text if found else "The result has the wrong form.")

    return judge_safely


def explain(explainers: Sequence[Explainer], seen: Comparison) -> str | None:
    """Return what the first explainer says that has something to say about a result.

    One that breaks on the result's form has nothing to say.
    """
    for explainer in explainers:
        try:
            said = explainer(seen)
        except UNFIT:
            continue
        if said:
            return said
    return None


def cell_of(seen: Comparison) -> Cell:
    """Return what is known of the answer besides what its process says."""
    names = seen.operation.names | ({seen.name} if seen.name else set())
    return Cell(seen.source, names, seen.operation.faults)


def _wants_exception(seen: Comparison, wanted: Raised) -> Verdict:
    raised = seen.got.raised
    if raised is None:
        return failed(f"A {wanted.kind} should be raised here, but none was.")
    if wanted.kind in raised.bases:
        return PASSED
    if raised.structural or is_unfinished(raised):
        return failed(say_raised(raised, cell_of(seen)))
    return failed(
        f"A {wanted.kind} should be raised here, but your code raised "
        f"{what_raised(raised, cell_of(seen))}. Look at the argument before you use it, and raise the "
        f"{wanted.kind} yourself."
    )


def choice(right: str, feedback: Mapping[str, str]) -> Judge:
    """Return a judge of a multiple-choice answer, with a sentence for each wrong choice.

    Upper and lower case make no difference, in the answer or here.
    """
    said = {letter.lower(): sentence for letter, sentence in feedback.items()}

    def judge(seen: Comparison) -> Verdict:
        given = seen.got.value
        if not isinstance(given, str):
            return _not_answered(seen, "a letter in quotes")
        letter = given.strip().strip("().").lower()
        options = ", ".join(sorted({right, *feedback}))
        unknown = f"Your answer is not one of the options ({options})."
        return PASSED if letter == right.lower() else failed(said.get(letter, unknown))

    return judge


def shape_of(*right: int, hints: Mapping[tuple[int, ...], str] | None = None) -> Judge:
    """Return a judge of a shape given as tuple, list or torch.Size, with hints for common errors."""

    def judge(seen: Comparison) -> Verdict:
        if not isinstance(seen.got.value, (tuple, list, torch.Size)):
            return _not_answered(seen, "a shape such as (2, 3)")
        given = tuple(seen.got.value)
        if not all(isinstance(size, (int, float)) for size in given):
            return failed("A shape is made of numbers, as in (2, 3).")
        known = hints or {}
        return PASSED if given == right else failed(known.get(given) or _about_shape(given, right))

    return judge


def number(right: float, hints: Mapping[float, str] | None = None) -> Judge:
    """Return a judge of a number, with hints for common errors."""

    def judge(seen: Comparison) -> Verdict:
        given = seen.got.value
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            return _not_answered(seen, "a number")
        known = (hints or {}).get(given, "This is not the right number.")
        return PASSED if given == right else failed(known)

    return judge


def _about_shape(given: tuple[Any, ...], right: tuple[int, ...]) -> str:
    if len(given) != len(right):
        few = "few" if len(given) < len(right) else "many"
        return f"Your shape has too {few} dimensions; this tensor has {len(right)}."
    if sorted(map(str, given)) == sorted(map(str, right)):
        return "Your shape has the right sizes in the wrong order."
    return "This is not its shape. Work out what each dimension counts."


def _not_answered(seen: Comparison, wanted: str) -> Verdict:
    """Say why an entry is no answer: it raised, is empty, or is of another type."""
    if seen.got.raised:
        return failed(say_raised(seen.got.raised, cell_of(seen)))
    if seen.got.value is None:
        return failed("No answer was given.")
    return failed(f"The answer should be {wanted}, not {of_type(seen.got.value)}.")
