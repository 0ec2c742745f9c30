"""What to tell a student about a wrong result: the same sentence in the notebook and on the feedback page.

Where no explainer of an exercise knows wrong numbers, `PATTERNS` may say how they relate to the right ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn import functional
from torch.utils._pytree import tree_leaves

from coursework.engine.compare import ATOL, MANY_TIMES, RTOL, Difference, difference, times
from coursework.engine.exceptions import StudentCell, is_unfinished, say_raised, what_raised
from coursework.engine.observation import Observation, Raised
from coursework.engine.operation import Operation, fields_of
from coursework.engine.operations import CallFunction, ModuleOperation

UNFIT = (RuntimeError, LookupError, TypeError, AttributeError, ValueError)
Pattern = Callable[[torch.Tensor, torch.Tensor], str | None]
CLOSE = 1e-3  # numbers that a pattern takes for equal
MOST_NAMED = 3  # paths in one sentence
MOST_ROWS = 100  # more are not compared with each other


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
        f"Your code modified {' and '.join(arguments)} in place (`x[…] = …`, `+=`, `masked_fill_`, `append`, "
        "…). Make a new object instead."
    )


def about_gradients(names: Sequence[str] = ()) -> Explainer:
    """Return an explainer of wrong gradients; `names` are those of the arguments."""

    def explainer(seen: Comparison) -> str | None:
        mine, right = (each.value.get("gradients", each.value) for each in (seen.got, seen.expected))
        if isinstance(right, list):
            mine, right = ({f"argument {n}": g for n, g in enumerate(each)} for each in (mine, right))
        wrong = {path: mine.get(path) for path, value in right.items() if difference(mine.get(path), value)}
        if lost := [path for path, gradient in wrong.items() if gradient is None]:
            return say_lost(lost, names)
        which, are = ("gradient", "is") if len(wrong) == 1 else ("gradients", "are")
        return f"The {which} of {listed([*wrong], names)} {are} wrong." if wrong else None

    return explainer


def say_lost(paths: Sequence[str], names: Sequence[str] = ()) -> str:
    """Return that no gradient reaches some arguments and parameters."""
    return f"No gradient reaches {listed(paths, names)}: nothing is learnt there."


def listed(paths: Sequence[str], names: Sequence[str] = ()) -> str:
    """Return paths as code; an argument by its number goes by its name in `names`."""
    numbered = dict(enumerate(names))
    named = [
        numbered.get(int(p.split()[1]), p) if p.startswith("argument ") else p for p in paths[:MOST_NAMED]
    ]
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return ", ".join(f"`{name}`" for name in named) + more


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


def pattern(got: Any, want: Any, arguments: Any = ()) -> str | None:
    """Return a sentence on how a wrong tensor of floats relates to the right one, or None.

    `arguments` are those of the call, among which a term may be found that is missing or too much. Of a
    dictionary, only the `output` is looked at: what else we note about a call is not the student's result.
    """
    if isinstance(got, Mapping) and isinstance(want, Mapping):
        got, want = got.get("output"), want.get("output")
    leaves = list(zip(tree_leaves(got), tree_leaves(want), strict=False))
    for number, (mine, right) in enumerate(leaves):
        if _comparable(mine, right) and not _close(mine, right):
            pair = mine.detach().double(), right.detach().double()
            found = (find(*pair) for find in PATTERNS)
            if said := _term(*pair, arguments) or next(filter(None, found), None):
                return f"In entry {number} of the result, {_lower(said)}" if len(leaves) > 1 else said
    return None


def _lower(sentence: str) -> str:
    """Return a sentence without the capital that it begins with."""
    return f"{sentence[0].lower()}{sentence[1:]}"


def _term(got: torch.Tensor, want: torch.Tensor, arguments: Any) -> str | None:
    """Say when the result differs from the right one by an argument of the call."""
    for given in tree_leaves(arguments):
        if _comparable(given, want) and not _close(given, torch.zeros_like(given)):
            if _close(got, want + given):
                return "Every number is too large by the input. Is the input added once too often?"
            if _close(got, want - given):
                return "Every number is too small by the input. Is the input added?"
    return None


def _comparable(mine: Any, right: Any) -> bool:
    """Return whether both are tensors of finite floats, of one shape and more than one entry."""
    pair = [value for value in (mine, right) if isinstance(value, torch.Tensor)]
    finite = len(pair) == 2 and all(t.is_floating_point() and t.isfinite().all() for t in pair)
    return finite and mine.shape == right.shape and mine.numel() > 1


def _close(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=CLOSE, rtol=CLOSE)


def _sign(got: torch.Tensor, want: torch.Tensor) -> str | None:
    return "Every number has the wrong sign." if _close(got, -want) else None


def _factor(got: torch.Tensor, want: torch.Tensor) -> str | None:
    large = want.abs() > 10 * CLOSE
    if large.sum() < 2 or got.abs().max() < CLOSE:
        return None
    ratio = (got[large] / want[large]).median()
    if not _close(got, want * ratio):
        return None
    return f"Every number is {times(ratio.item(), 1.0)}. Is a factor missing, or one too many?"


def _offset(got: torch.Tensor, want: torch.Tensor) -> str | None:
    offset = (got - want).median()
    return "Every number is off by the same amount." if _close(got, want + offset) else None


def _constant(got: torch.Tensor, want: torch.Tensor) -> str | None:
    first = got.flatten()[0]
    if not _close(got, first.expand_as(got)) or _close(want, want.flatten()[0].expand_as(want)):
        return None
    return "Every number is the same: the input makes no difference."


def _exchanged(got: torch.Tensor, want: torch.Tensor) -> str | None:
    for one in range(got.dim()):
        for other in range(one + 1, got.dim()):
            if got.shape[one] == got.shape[other] and _close(got.transpose(one, other), want):
                return f"Dimensions {one} and {other} are swapped."
    return None


def _permuted(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say along which dimension the right entries come in another order, or moved by some places."""
    for dim, size in enumerate(got.shape):
        if not 2 < size <= MOST_ROWS:
            continue
        mine, right = (each.movedim(dim, 0).reshape(size, -1) for each in (got, want))
        source = torch.cdist(mine, right, p=torch.inf).argmin(1)  # where each entry comes from
        if len(set(source.tolist())) == size and _close(mine, right[source]):
            return f"Along dimension {dim}, the entries are right but {_order(source)}."
        if overlap := next((k for k in (1, -1) if _moved(mine, right, k)), 0):
            return f"Along dimension {dim}, the entries are {_places(overlap)}."
    return None


def _order(source: torch.Tensor) -> str:
    size = len(source)
    if torch.equal(source, torch.arange(size).flip(0)):
        return "in reverse order"
    shift = int(-source[0]) % size
    if torch.equal(source, torch.arange(size).roll(shift)):
        return _places(shift if shift <= size // 2 else shift - size) + ", and wrap around at the end"
    return "in the wrong order"


def _places(shift: int) -> str:
    places = f"{abs(shift)} place{'' if abs(shift) == 1 else 's'}"
    return f"{places} too {'late' if shift > 0 else 'early'}"


def _moved(mine: torch.Tensor, right: torch.Tensor, shift: int) -> bool:
    """Return whether all rows but those at the edge are those of `shift` places before."""
    inner = slice(max(shift, 0), len(mine) + min(shift, 0))
    return _close(mine[inner], right.roll(shift, 0)[inner])


def _rearranged(got: torch.Tensor, want: torch.Tensor) -> str | None:
    if _close(got.flatten().sort().values, want.flatten().sort().values):
        return "The numbers are right, but in the wrong places. Is there a reshape in place of a transpose?"
    return None


def _function(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say when one more function was applied to every number, or one too few."""
    for words, function in FUNCTIONS.items():
        expected = function(want)
        if expected.isfinite().all() and not _close(expected, want) and _close(got, expected):
            return f"Every number is {words} what it should be."
    return None


def _normalised(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say when the result was normalised once more, or should have been."""
    for dim in range(got.dim()):
        if got.size(dim) < 2:
            continue
        for words, function in NORMALISATIONS.items():
            if _close(got, function(want, dim)):
                return f"The numbers went through {words} along dimension {dim}, but they shouldn't have."
            if _close(function(got, dim), want):
                return f"The numbers should go through {words} along dimension {dim}."
    return None


def _factor_each(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say along which dimension all numbers share one factor, or one difference."""
    for dim, size in enumerate(got.shape):
        if size < 3 or want.abs().amax() < CLOSE:
            continue
        factor = (got * want).sum(dim, keepdim=True) / (want * want).sum(dim, keepdim=True)
        if _close(got, want * factor):
            return (
                f"Along dimension {dim}, all numbers are off by the same factor, which differs from row to "
                "row. Over which dimension do you sum, or normalise?"
            )
        if _close(got - want, (got - want).mean(dim, keepdim=True).expand_as(got)):
            return (
                f"Along dimension {dim}, all numbers are off by the same amount, which differs from "
                "row to row. Is a term missing, or added to the wrong rows?"
            )
    return None


def _some_rows(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say which entries along one dimension are wrong, where the others are right."""
    wrong = ~torch.isclose(got, want, atol=CLOSE, rtol=CLOSE)
    for dim in range(got.dim()):
        others = [d for d in range(got.dim()) if d != dim]
        hit = wrong.any(dim=others) if others else wrong
        if 0 < hit.sum() < len(hit):
            places = [int(place) for place in hit.nonzero()[:, 0]]
            listed = ", ".join(map(str, places[:5])) + (", …" if len(places) > 5 else "")
            which = f"index {listed} is" if hit.sum() == 1 else f"indices {listed} are"
            return f"Along dimension {dim}, only {which} wrong; the rest is right."
    return None


def _spread(got: torch.Tensor, want: torch.Tensor) -> str | None:
    """Say when all values are wrong and vary too little, or too much."""
    ratio = got.std() / want.std()
    known = want.std() > CLOSE and 1 / MANY_TIMES < ratio < MANY_TIMES and not 0.8 < ratio < 1.25
    if not known or torch.isclose(got, want).any():
        return None
    how = "much" if ratio > 1 else "little"
    question = "" if ratio > 1 else " Is something scaled down, or normalised twice?"
    return (
        f"Every value is wrong, and the values vary too {how}: their standard deviation is "
        f"{times(ratio.item(), 1.0)}.{question}"
    )


FUNCTIONS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "1 minus": lambda right: 1 - right,
    "the square of": torch.square,
    "the square root of": torch.sqrt,
    "1 divided by": torch.reciprocal,
    "the exponential of": torch.exp,
    "the logarithm of": torch.log,
    "never negative, but otherwise": torch.relu,
    "the absolute value of": torch.abs,
    "a whole number close to": torch.round,
    "the tanh of": torch.tanh,
}
NORMALISATIONS: Mapping[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "a softmax": torch.softmax,
    "a log-softmax": torch.log_softmax,
    "a division by their sum": lambda right, dim: right / right.sum(dim, keepdim=True),
    "a division by their length": lambda right, dim: functional.normalize(right, dim=dim),
    "a normalisation to mean 0 and variance 1": lambda right, dim: (
        (right - right.mean(dim, keepdim=True)) / right.std(dim, correction=0, keepdim=True)
    ),
}
PATTERNS: tuple[Pattern, ...] = (
    _sign, _constant, _factor, _offset, _exchanged, _permuted, _rearranged, _some_rows, _function,
    _normalised, _factor_each, _spread,
)  # fmt: skip
