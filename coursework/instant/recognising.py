"""Recognises a known mistake, or two made together, by the signatures of the results."""

from collections.abc import Sequence

from coursework.instant.examples import ExampleSet, KnownMistake, Result
from coursework.instant.signature import Signature, sign


def recognise(examples: ExampleSet, got: Sequence[Result]) -> KnownMistake | None:
    """Return the known mistake that gives exactly these results; single ones are tried first."""
    signatures = [sign(result) for result in got]
    for mistake in examples.mistakes:
        rows = zip(mistake.forms, mistake.numbers.tolist(), strict=True)
        known = (Signature(form, tuple(numbers), 0.0) for form, numbers in rows)
        if all(mine.matches(other) for mine, other in zip(signatures, known, strict=True)):
            return mistake
    return None
