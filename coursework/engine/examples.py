"""The public examples of exercises, and what known mistakes give on them.

They are inputs, right results and the signatures of known mistakes. Nothing that is graded is among them.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from safetensors.torch import load_file

from coursework.engine.compare import is_right
from coursework.engine.observation import Observation
from coursework.engine.operation import Operation, make
from coursework.engine.values import Opaque, decode
from coursework.example_files import FOLDER, document, lessons

SEED = 20170612  # of the random state in which an example is tried
PROJECTIONS, DIRECTIONS = 4, 9803
TOLERANCE = 1e-4  # of the length of the vector of all floats, and at least of 1
DIGITS = 16  # of the digest
MOST_ALIKE = 3  # mistakes that are told besides the one
RIGHT = "right"  # the form of every right result


@dataclass(frozen=True)
class Signature:
    """What identifies a result on an example, by which a known mistake is recognised without storing it.

    Two results have equal signatures if they are equal within rounding. `form` is a digest of all that is
    exact (types, shapes, whole numbers, texts, exceptions). `numbers` are four random projections of the
    floats, which change by little when the floats do. All right results have one signature: a student's own
    words in an expected exception make no difference.
    """

    form: str
    numbers: tuple[float, ...]
    length: float = 0.0

    def matches(self, other: "Signature") -> bool:
        """Return whether two results are the same within rounding."""
        room = TOLERANCE * max(1.0, self.length)
        pairs = zip(self.numbers, other.numbers, strict=True)
        return self.form == other.form and all(abs(a - b) <= room for a, b in pairs)


@dataclass(frozen=True)
class KnownMistake:
    """A mistake that shows on the examples of an exercise, with the signature of its result on each.

    Two `titles` are two mistakes that were made together or, with `either`, two that no example tells
    apart. There is a hint for each title.
    """

    titles: Sequence[str]
    hints: Sequence[str]
    either: bool
    signatures: Sequence[Signature]


@dataclass(frozen=True)
class Example:
    """One public example: what is done with an answer, how that reads as a call, and the right result.

    `names` are those of its arguments. `picture` says how its result is drawn, "" for tables alone.
    """

    operation: Operation
    shown: str
    expected: Observation
    names: Sequence[str] = ()
    picture: str = ""


@dataclass(frozen=True)
class Recognised:
    """The likeliest known mistake, from results on the examples of an exercise.

    Attributes:
        title, hint: those of the mistake.
        alike: titles of other mistakes that give these results as well.
        exact: whether all results are those of this mistake, or of two.
        are_two: whether exactly these results are those of two known mistakes that were made together.
        places: which of the results are wrong as this mistake alone makes them.
    """

    title: str
    hint: str
    alike: Sequence[str]
    exact: bool
    are_two: bool
    places: Sequence[int]


@dataclass(frozen=True)
class ExampleSet:
    """All examples of one exercise, with the mistakes that show on them."""

    exercise: str
    name: str
    examples: Sequence[Example]
    mistakes: Sequence[KnownMistake]

    def recognise(self, got: Sequence[Observation]) -> Recognised | None:
        """Return the likeliest known mistake, None if no wrong result is known.

        That is the one that gives exactly these results. Of two that were made together, it is the one that
        explains more of the results by itself. Where several were made, it is the one that explains most, a
        value among them: many mistakes end in the same exception.
        """
        pairs = zip(got, self.examples, strict=True)
        signatures = [sign(seen, example.expected) for seen, example in pairs]
        same = [each for each in self.mistakes if matching(signatures, each.signatures)]
        exact = same[0] if same else None
        single = [each for each in self.mistakes if each.either or len(each.titles) == 1]
        if exact and exact not in single and not any(map(_tells, got, self.examples)):
            exact = None  # whatever loses the result looks like this
        tied: list[KnownMistake] = []
        if exact is None:
            telling = {n for n, pair in enumerate(zip(got, self.examples, strict=True)) if _tells(*pair)}
            if not (tied := _likeliest(signatures, single, telling)):
                return None
            known = tied[0]
        else:
            parts = [each for each in single if each.titles[0] in exact.titles]
            known = exact if exact in single else [*_likeliest(signatures, parts), exact][0]
        title = known.titles[0]
        forms = [_explained(signatures, each.signatures) for each in single if each.titles[0] == title]
        either = [each.titles[1:] for each in same if each.either and each.titles[0] == title]
        others = dict.fromkeys(each.titles[0] for each in tied if each.titles[0] != title)
        return Recognised(
            title,
            known.hints[0],
            alike=either[0] if either else tuple(others)[:MOST_ALIKE],
            exact=exact is not None,
            are_two=exact is not None and exact not in single,
            places=sorted(set().union(*forms)),
        )


def _tells(got: Observation, example: Example) -> bool:
    """Return whether there is a wrong result to tell mistakes by."""
    return got.raised is None and got.value is not None and not is_right(got, example.expected)


def _likeliest(
    got: Sequence[Signature], mistakes: Sequence[KnownMistake], telling: Set[int] | None = None
) -> list[KnownMistake]:
    """Return the mistake that explains most of the results, and then its equals; none if none explains any.

    Of two that explain as many, it is the one that shows least elsewhere. With `telling`, only a mistake
    counts that explains one of these results and spoils none of the right ones.
    """
    explained = [_explained(got, each.signatures) for each in mistakes]
    ranks = []
    for known, places in zip(mistakes, explained, strict=True):
        shows = {n for n, each in enumerate(known.signatures) if each.form != RIGHT}
        spoils = any(got[n].form == RIGHT for n in shows)
        counts = telling is None or (not spoils and bool(places & telling))
        ranks.append((len(places) if counts else 0, -len(shows)))
    best = max(range(len(ranks)), key=lambda n: ranks[n], default=0)
    if not ranks or not ranks[best][0]:
        return []
    pairs = zip(mistakes, explained, ranks, strict=True)
    return [mistakes[best], *(each for each, places, rank in pairs if rank[0] and places == explained[best])]


def _explained(got: Sequence[Signature], known: Sequence[Signature]) -> set[int]:
    """Return the places of the wrong results that are those of a mistake."""
    pairs = enumerate(zip(got, known, strict=True))
    return {place for place, (one, other) in pairs if one.form != RIGHT and one.matches(other)}


def matching(some: Sequence[Signature], others: Sequence[Signature]) -> bool:
    """Return whether the results on all examples of an exercise are the same within rounding."""
    return all(one.matches(other) for one, other in zip(some, others, strict=True))


def sign(got: Observation, expected: Observation) -> Signature:
    """Return the signature of a result."""
    if is_right(got, expected):
        return Signature(RIGHT, (0.0,) * PROJECTIONS)
    floats: list[torch.Tensor] = []
    raised = got.raised
    exception = (raised.kind, raised.message, raised.fault, raised.path, raised.detail) if raised else ()
    parts = (exception, got.changed, *_forms(got.value, floats))
    form = hashlib.sha256(repr(parts).encode()).hexdigest()[:DIGITS]
    flat = torch.cat(floats) if floats else torch.zeros(0, dtype=torch.float64)
    directions = torch.Generator().manual_seed(DIRECTIONS)
    weights = torch.randn(flat.numel(), PROJECTIONS, generator=directions, dtype=torch.float64)
    return Signature(form, tuple((flat @ weights).tolist()), math.sqrt(float(flat @ flat)))


def _forms(value: Any, floats: list[torch.Tensor]) -> Iterator[Any]:
    """Yield what is exact about a value; its floats are added to `floats`."""
    if isinstance(value, torch.Tensor):
        yield (str(value.dtype), tuple(value.shape))
        if value.is_floating_point():
            flat = value.detach().double().flatten()
            finite = flat.isfinite()
            yield flat[~finite].tolist()
            yield [] if finite.all() else finite.nonzero().flatten().tolist()
            floats.append(flat[finite])
        else:
            yield value.flatten().tolist()
    elif isinstance(value, float):
        yield from _forms(torch.tensor([value], dtype=torch.float64), floats)
    elif isinstance(value, (list, tuple)):
        yield (type(value).__name__, len(value))
        for item in value:
            yield from _forms(item, floats)
    elif isinstance(value, Mapping):
        yield ("dict", len(value))
        for key, item in value.items():
            yield repr(key)
            yield from _forms(item, floats)
    else:
        yield value.kind if isinstance(value, Opaque) else repr(value)


def find(name: str, lesson: str = "") -> ExampleSet | None:
    """Return the examples of an exercise, by its id or by what it defines, of any lesson or of one."""
    sets = (found for each in ([lesson] if lesson else lessons()) for found in read(each))
    return next((found for found in sets if name in (found.exercise, found.name)), None)


@cache
def read(lesson: str) -> tuple[ExampleSet, ...]:
    """Return the examples of a lesson such as '03_attention'; none if it has no file of them."""
    found = document(lesson).get("exercises", ())
    tensors = load_file(FOLDER / f"{lesson}.safetensors") if found else {}
    return tuple(_example_set(stored, tensors) for stored in found)


def _example_set(stored: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> ExampleSet:
    examples = []
    for each in stored["examples"]:
        operation = decode(each["operation"], tensors)
        asked = make(operation["operation"], operation["fields"])
        expected = Observation.of(decode(each["expected"], tensors))
        examples.append(Example(asked, each["shown"], expected, each["names"], each["picture"]))
    numbers = tensors.get(f"{stored['exercise']} mistakes", torch.zeros(0)).tolist()
    mistakes = []
    for row, (texts, either, forms) in enumerate(stored["mistakes"]):
        titles, hints = zip(*(stored["texts"][number] for number in texts), strict=True)
        known = zip((stored["forms"][number] for number in forms), numbers[row], strict=True)
        signatures = [Signature(form, tuple(projected)) for form, projected in known]
        mistakes.append(KnownMistake(titles, hints, bool(either), signatures))
    return ExampleSet(stored["exercise"], stored["name"], examples, mistakes)
