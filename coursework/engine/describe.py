"""What to tell a student about a wrong result: the same sentence in the notebook and on the feedback page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coursework.engine.compare import ATOL, RTOL, Difference, difference
from coursework.engine.exceptions import StudentCell, is_unfinished, say_raised, what_raised
from coursework.engine.observation import Observation, Raised
from coursework.engine.operation import Operation, fields_of
from coursework.engine.operations import CallFunction, ModuleOperation
from coursework.engine.patterns import pattern

UNFIT = (RuntimeError, LookupError, TypeError, AttributeError, ValueError)


@dataclass(frozen=True)
class Comparison:
    """What was asked, what the answer gave, and what the reference gives.

    `name` is what the exercise defines, `source` the student's cell as it was handed in. Messages
    name the one and quote lines of the other.
    """

    operation: Operation
    got: Observation
    expected: Observation
    name: str = ""
    source: str = ""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """The operation's fields by name."""
        return fields_of(self.operation)


Explainer = Callable[[Comparison], str | None]


def describe(
    seen: Comparison,
    explainers: Sequence[Explainer] = (),
    *,
    atol: float = ATOL,
    rtol: float = RTOL,
    any_form: bool = False,
) -> str:
    """Return what is wrong with a value or an exception, "" if it is as expected.

    Where numbers differ, the first of the `explainers` that has something to say does so. They are asked
    about the whole result, and then, if there were several calls, about the first that went wrong. With
    `any_form`, they are also asked about results of another type, length or shape.
    """
    if seen.expected.raised:
        return _about_exception(seen, seen.expected.raised)
    if seen.got.raised:
        return say_raised(seen.got.raised, cell_of(seen))
    names = seen.operation.names
    found = difference(seen.got.value, seen.expected.value, atol=atol, rtol=rtol, names=names)
    if found is None:
        return ""
    asked = explainers if any_form or found.about_numbers else ()
    return explain(asked, seen) or _about_first_wrong_call(asked, seen, found)


def _about_exception(seen: Comparison, wanted: Raised) -> str:
    raised = seen.got.raised
    if raised is None:
        return f"A {wanted.kind} should be raised here, but none was."
    if wanted.kind in raised.bases:
        return ""
    if raised.structural or is_unfinished(raised):
        return say_raised(raised, cell_of(seen))
    return (
        f"A {wanted.kind} should be raised here, but your code raised "
        f"{what_raised(raised, cell_of(seen))}. Look at the argument before you use it, and raise the "
        f"{wanted.kind} yourself."
    )


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


def changed_arguments(seen: Comparison, names: Sequence[str] = ()) -> list[str]:
    """Return what to call the arguments that an answer modified.

    A place such as '1.0' begins with the number of the argument, for a module with that of the call. Of
    what a process says, only numbers of arguments that were passed count.
    """
    of_calls = isinstance(seen.operation, ModuleOperation)
    passed = seen.operation.arguments
    calls = passed if of_calls else [passed]
    most = max(map(len, calls), default=0)
    places = ([int(number) for number in place.split(".")] for place in seen.got.changed)
    changed = {place[1] if of_calls and len(place) > 1 else place[0] for place in places}
    known = dict(enumerate(names))
    if isinstance(seen.operation, CallFunction):
        known |= dict(enumerate(seen.operation.kwargs, start=len(seen.operation.args)))
    return [f"`{known[n]}`" if n in known else f"argument {n + 1}" for n in sorted(changed) if n < most]


def say_changed(arguments: Sequence[str]) -> str:
    """Return what to tell a student whose code modified arguments."""
    return (
        f"Your code modified {' and '.join(arguments)} in place (`+=`, `masked_fill_`, `append`, …). "
        "Make a new object instead."
    )


def entry_of(seen: Comparison, key: str) -> Comparison:
    """Return a comparison of one entry of the two dictionaries, None for a missing one."""
    return part_of(seen, lambda value: value.get(key) if isinstance(value, dict) else None)


def part_of(seen: Comparison, pick: Callable[[Any], Any]) -> Comparison:
    """Return a comparison of a part of both values."""
    got = replace(seen.got, value=pick(seen.got.value))
    expected = replace(seen.expected, value=pick(seen.expected.value))
    return replace(seen, got=got, expected=expected)


def cell_of(seen: Comparison) -> StudentCell:
    """Return what is known of the answer besides what its process says."""
    names = seen.operation.names | ({seen.name} if seen.name else set())
    return StudentCell(seen.source, names, seen.operation.faults)
