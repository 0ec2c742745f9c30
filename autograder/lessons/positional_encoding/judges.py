"""Judges of lesson 02: a wrong dtype costs its own check only, and laws count, not one form."""

from dataclasses import replace
from typing import Any

import torch

from autograder.judge.compare import difference
from autograder.judge.judgement import PASSED, Judge, Seen, Symptom, Verdict, agrees, say_raised
from autograder.lessons.positional_encoding.reference import sinusoidal_encoding

LOOSE = 1e-3  # float32 angles at position 300 differ by 2e-4 between ways of computing them
FARTHEST = 200


def single(value: Any) -> Any:
    """Return a floating tensor as float32, also those of a list; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [single(item) for item in value]
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def in_float32(judge: Judge) -> Judge:
    """Return a judge that does not mind which floating type came back."""

    def lenient(seen: Seen) -> Verdict:
        got = replace(seen.got, value=single(seen.got.value))
        expected = replace(seen.expected, value=single(seen.expected.value))
        return judge(Seen(seen.inputs, got, expected))

    return lenient


def is_float32(seen: Seen) -> Verdict:
    """Want float32, whatever the numbers are."""
    if seen.got.raised:
        return Verdict(passed=False, message=say_raised(seen.got.raised))
    value = seen.got.value
    if not isinstance(value, torch.Tensor):
        return agrees()(seen)
    if value.dtype == torch.float32:
        return PASSED
    name = str(value.dtype).removeprefix("torch.")
    text = f"The result is {name}; float32 was expected, or the next layer will not take it."
    return Verdict(passed=False, message=text)


def table_is(*symptoms: Symptom) -> Judge:
    """Return a judge of the buffer: it is one, and holds the table, a batch dimension of 1 or not."""

    def judge(seen: Seen) -> Verdict:
        if seen.got.raised:
            return Verdict(passed=False, message=say_raised(seen.got.raised))
        kind, value = seen.got.value["kind"], single(seen.got.value["value"])
        if kind != "buffer":
            return Verdict(passed=False, message=KINDS[kind])
        if isinstance(value, torch.Tensor) and value.dim() == 3:
            value = value.squeeze(0) if value.size(0) == 1 else value.squeeze(1)
        got, want = replace(seen.got, value=value), seen.expected.value["value"]
        return agrees(*symptoms)(Seen(seen.inputs, got, replace(seen.expected, value=want)))

    return judge


KINDS = {
    "parameter": "`pe` is a parameter: an optimiser would find it. A buffer is not learnt.",
    "attribute": "`pe` is an ordinary attribute: `.to(device)` leaves it behind. Register it as a buffer.",
}


def learns_nothing(seen: Seen) -> Verdict:
    """Want a module without parameters."""
    if seen.got.raised:
        return Verdict(passed=False, message=say_raised(seen.got.raised))
    total = seen.got.value["total"]
    if total == 0:
        return PASSED
    return Verdict(
        passed=False, message=f"{total} numbers are to be learnt here; there should be none."
    )


def drops_out(seen: Seen) -> Verdict:
    """Want dropout on the sum, at the given rate."""
    if seen.got.raised:
        return Verdict(passed=False, message=say_raised(seen.got.raised))
    got, want = seen.got.value, seen.expected.value
    if difference(got, want, atol=0.11, rtol=0.02) is None:
        return PASSED
    zeroed, rate = got["zeroed"], want["zeroed"]
    if zeroed == 0:
        text = f"With dropout={rate:g} in train mode no entry of the result is 0: what does dropout act on?"
    elif abs(zeroed - rate) > 0.11:
        text = f"With dropout={rate:g} in train mode {zeroed:.0%} of the entries are 0."
    else:
        text = f"What dropout keeps is multiplied by {got['factor']:g}; 1 / (1 − p) was expected."
    return Verdict(passed=False, message=text)


def moves(*symptoms: Symptom) -> Judge:
    """Return a judge that wants PE[p + offset] == M @ PE[p], for every p up to 200."""
    value = agrees(*symptoms)

    def judge(seen: Seen) -> Verdict:
        verdict = value(seen)
        if verdict.passed or seen.got.raised:
            return verdict
        got = seen.got.value
        offset, width = seen.inputs["args"]
        right_form = isinstance(got, torch.Tensor) and got.shape == (width, width)
        return PASSED if right_form and holds(got, offset) else verdict

    return judge


def holds(matrix: torch.Tensor, offset: int) -> bool:
    """Return whether a matrix (D, D) moves every encoding by `offset` positions."""
    low, high = max(0, -offset), FARTHEST
    table = sinusoidal_encoding(high + max(0, offset) + 1, matrix.size(0))
    moved = table[low : high + 1] @ matrix.T
    return torch.allclose(moved, table[low + offset : high + 1 + offset], atol=2 * LOOSE)


def learns(judge: Judge) -> Judge:
    """Return the judge of a gradient, with a plain word for a graph that is cut."""

    def with_words(seen: Seen) -> Verdict:
        raised = seen.got.raised
        cut = raised is not None and "does not require grad" in raised.message
        missing = isinstance(seen.got.value, dict) and None in seen.got.value.values()
        if cut or missing:
            text = "No gradient reaches `embed`: is it frozen, detached or not used?"
            return Verdict(passed=False, message=text)
        return judge(seen)

    return with_words
