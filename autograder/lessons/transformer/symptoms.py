"""Sentences about what is wrong with a whole model, for mistakes that match nothing known."""

from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge.compare import difference
from autograder.judge.judgement import Seen, Symptom, Verdict, agrees

CLOSE = 1e-3


def results(seen: Seen) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return what came and what was expected, call by call; TypeError where they are no tensors."""
    got, want = seen.got.value, seen.expected.value
    pairs = list(zip(got, want, strict=True)) if isinstance(want, list) else [(got, want)]
    for pair in pairs:
        if not all(isinstance(part, torch.Tensor) for part in pair):
            raise TypeError("no tensors to look at")
    return pairs


def probabilities(seen: Seen) -> str | None:
    """Say when the last dimension holds probabilities, or their logarithms, instead of logits."""
    got, want = results(seen)[-1]
    rows, right = (part[part.abs().sum(-1) > 0] for part in (got, want))  # without blanked padding
    if not len(rows) or _ones(right.softmax(-1).sum(-1) * 0 + right.sum(-1)):
        return None
    if _ones(rows.sum(-1)) and rows.min() >= 0:
        return "Each row sums to 1: there is a softmax in the model. Logits are wanted, whatever they sum to."
    if _ones(rows.exp().sum(-1)) and not _ones(right.exp().sum(-1)):
        return "The exponentials of each row sum to 1: there is a log-softmax in the model; logits are wanted."
    return None


def _ones(sums: torch.Tensor) -> bool:
    return bool(torch.allclose(sums, torch.ones_like(sums), atol=CLOSE))


def samples(padded: Sequence[int], what: str) -> Symptom:
    """Say when just the samples with padding are wrong."""

    def symptom(seen: Seen) -> str | None:
        got, want = results(seen)[-1]
        wrong = {i for i in range(len(want)) if not torch.allclose(got[i], want[i], atol=CLOSE)}
        if wrong and wrong <= set(padded) and len(padded) < len(want):
            return (
                f"Samples without padding {what} are right, those with it are not: who reads <pad>?"
            )
        return None

    return symptom


def where(seen: Seen) -> str | None:
    """Say from which position on the output is wrong, the same in all samples."""
    got, want = results(seen)[-1]
    wrong = (got - want).abs().amax(dim=(0, 2)) > CLOSE
    if wrong.all() or not wrong.any():
        return None
    places = ", ".join(str(int(place)) for place in wrong.nonzero()[:6, 0])
    return f"Only the output at position {places} is wrong; at the others it is right."


GENERAL: tuple[Symptom, ...] = (probabilities, where)


def moved(changed: str, first: int | None) -> Any:
    """Return a judge of `moves`: what was changed, and the first position that may notice.

    None stands for: no position may notice.
    """

    def symptom(seen: Seen) -> str | None:
        got, want = seen.got.value, seen.expected.value
        if not isinstance(got, list) or len(got) != len(want):
            return None
        leaks = [
            place
            for place, (is_, should) in enumerate(zip(got, want, strict=True))
            if is_ and not should
        ]
        deaf = [
            place
            for place, (is_, should) in enumerate(zip(got, want, strict=True))
            if should and not is_
        ]
        if leaks:
            rest = (
                "; no output should."
                if first is None
                else f", although only positions from {first} on may notice."
            )
            return f"{changed} changes the output at position {leaks[0]}{rest}"
        return (
            f"{changed} does not change the output at position {deaf[0]}; it should."
            if deaf
            else None
        )

    return _with_kind(symptom)


def _with_kind(symptom: Symptom) -> Any:
    """As agrees(symptom), but the symptom speaks of lists of True and False too."""
    plain = agrees()

    def judge(seen: Seen) -> Verdict:
        verdict = plain(seen)
        if verdict.passed or seen.got.raised:
            return verdict
        return Verdict(passed=False, message=symptom(seen) or verdict.message)

    return judge


def facts(words: dict[str, str], *symptoms: Symptom) -> Any:
    """Return a judge of a dictionary of facts, with a sentence for each that is not as it should be."""
    plain = agrees(*symptoms)

    def judge(seen: Seen) -> Verdict:
        verdict = plain(seen)
        if verdict.passed or seen.got.raised or not isinstance(seen.got.value, dict):
            return verdict
        for key, value in seen.expected.value.items():
            if difference(seen.got.value.get(key), value) is not None and key in words:
                return Verdict(passed=False, message=words[key].format(seen.got.value.get(key)))
        return verdict

    return judge


def starts(seen: Seen) -> str | None:
    """Say which matrix does not start Xavier-uniform, and how it starts."""
    wrong = {path: how for path, how in seen.got.value.items() if how != "right"}
    if not wrong:
        return None
    path, how = next(iter(wrong.items()))
    many = (
        f"{len(wrong)} of {len(seen.got.value)} matrices do"
        if len(wrong) > 1
        else "One matrix does"
    )
    return f"{many} not start Xavier-uniform; `{path}`, for one, is {how}."


def first_weights(seen: Seen) -> Verdict:
    """Judge how matrices start."""
    verdict = agrees()(seen)
    if verdict.passed or seen.got.raised or not isinstance(seen.got.value, dict):
        return verdict
    return Verdict(passed=False, message=starts(seen) or verdict.message)


def not_registered(seen: Seen) -> Verdict:
    """Judge which parameters an optimiser would be given."""
    verdict = agrees()(seen)
    if verdict.passed or seen.got.raised or not isinstance(seen.got.value, dict):
        return verdict
    hidden = [path for path, known in seen.got.value.items() if known is False]
    if not hidden:
        return verdict
    said = f"`model.parameters()` does not contain `{hidden[0]}`: is it in a plain list?"
    return Verdict(passed=False, message=said)
