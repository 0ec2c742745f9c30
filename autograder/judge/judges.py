"""Judges: each decides about one comparison and says why, in words a student can act on."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
import yaml

from autograder.model.exercise import Judge, Verdict
from coursework.engine.compare import ATOL, RTOL, difference, of_type, same_form
from coursework.engine.describe import (
    Comparison,
    Explainer,
    about_gradients,
    cell_of,
    changed_arguments,
    describe,
    entry_of,
    listed,
    say_changed,
)
from coursework.engine.exceptions import say_raised

SENTENCES: Final[Mapping[str, Mapping[str, str]]] = yaml.safe_load(
    Path(__file__).with_name("sentences.yaml").read_text("utf-8")
)
PASSED = Verdict(passed=True)


def failed(message: str) -> Verdict:
    """Return the verdict of a failed check."""
    return Verdict(passed=False, message=message)


def matches_reference(
    *explainers: Explainer, atol: float = ATOL, rtol: float = RTOL, any_form: bool = False
) -> Judge:
    """Return a judge that wants the reference's value, or an exception of the reference's kind.

    The explainers, the tolerances and `any_form` are those of `describe`.
    """

    def judge(seen: Comparison) -> Verdict:
        said = describe(seen, explainers, atol=atol, rtol=rtol, any_form=any_form)
        return failed(said) if said else PASSED

    return judge


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
        if changed := changed_arguments(seen, names):
            return failed(say_changed(changed))
        verdict = value(seen)
        if verdict.passed or seen.got.raised or not titled:
            return verdict
        return failed(f"The arguments are unchanged, but the result is wrong. {verdict.message}")

    return judge


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


def choice(right: str, feedback: Mapping[str, str]) -> Judge:
    """Return a judge of a multiple-choice answer, with a sentence for each wrong choice.

    Upper and lower case make no difference, in the answer or here.
    """
    said = {letter.lower(): sentence for letter, sentence in feedback.items()}

    def judge(seen: Comparison) -> Verdict:
        given = seen.got.value
        if isinstance(given, (list, tuple)):
            of = of_type(given)
            return failed(f"The answer should be a letter in quotes, not {of}. Write the letter alone.")
        if not isinstance(given, str):
            return _not_answered(seen, "a letter in quotes")
        letter = given.strip().strip("().").lower()
        options = ", ".join(sorted({right, *feedback}))
        unknown = f"Your answer is not one of the options ({options.upper()})."
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


def gradients_match(names: Sequence[str] = (), *, output: Judge | None = None) -> Judge:
    """Return a judge of `ModuleGradients` and `FunctionGradients`: what is not reached, or is wrong.

    `names` are the names of the arguments, for gradients of arguments. `output` judges the output
    of a function first.
    """
    of_output = output or matches_reference()

    def explainer(seen: Comparison) -> str | None:
        got = seen.got.value
        if lost := [path for path in got.get("unregistered", ()) if path in seen.operation.names]:
            return _not_trained(lost)
        if "output" in got and (said := of_output(entry_of(seen, "output")).message):
            return said
        return about_gradients(names)(seen)

    return matches_reference(explainer, any_form=True)


def unregistered(seen: Comparison) -> str | None:
    """Say which weights an optimiser would miss, of a `ReadState` of the fact `registered`."""
    lost = [path for path in seen.expected.value if seen.got.value.get(path) is False]
    return _not_trained(lost) if lost else None


def _not_trained(paths: Sequence[str]) -> str:
    missed = "it. Is it" if len(paths) == 1 else "them. Is each of them"
    return (
        f"{listed(paths)} cannot be trained: `parameters()` does not find {missed} an nn.Parameter, "
        "in an nn.Module or an nn.ModuleList?"
    )
