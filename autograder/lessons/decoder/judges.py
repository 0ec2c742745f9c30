"""Judges and symptoms of lesson 06: sentences for mistakes that match nothing known."""

from collections.abc import Sequence

import torch

from autograder.judge.compare import difference
from autograder.judge.judgement import PASSED, Judge, Seen, Symptom, Verdict, agrees, unchanged

CLOSE = 1e-3


def has_nan(seen: Seen) -> str | None:
    """Say when there is NaN."""
    if any(result.isnan().any() for result in _results(seen.got.value)):
        return "There is NaN in the result: is some query left with nothing to attend to?"
    return None


def ends_in_norm(norm: str) -> Symptom:
    """Say when a result is not what the last norm puts out; the exercise asks for post-norm."""

    def symptom(seen: Seen) -> str | None:
        for result in _results(seen.got.value):
            if not _is_normed(result, seen, norm):
                return (
                    f"The result is not what `{norm}` puts out (without its weight and bias every "
                    f"position should have mean 0 and variance 1). With post-norm `{norm}` comes last."
                )
        return None

    return symptom


def does_not_end_in_norm(*norms: str) -> Symptom:
    """Say when a result is what some norm puts out, though the exercise asks for pre-norm."""

    def symptom(seen: Seen) -> str | None:
        results = _results(seen.got.value)
        for norm in norms:
            if all(_is_normed(result, seen, norm) for result in results):
                return (
                    f"The result comes straight out of `{norm}`. With pre-norm the norms lie before "
                    "the sub-layers, and an addition comes last."
                )
        return None

    return symptom


def _is_normed(result: torch.Tensor, seen: Seen, norm: str) -> bool:
    weight, bias = (seen.inputs["weights"][f"{norm}.{part}"] for part in ("weight", "bias"))
    plain = (result.double() - bias.double()) / weight.double()
    mean, variance = plain.mean(-1), plain.var(-1, unbiased=False)
    return bool((mean.abs() < 1e-2).all() and ((variance - 1).abs() < 5e-2).all())


def passes_nothing_on(seen: Seen) -> str | None:
    """Say when the result is the input itself."""
    first = seen.inputs["calls"][0][0]
    got = _results(seen.got.value)[0]
    if got.shape == first.shape and torch.allclose(got, first.to(got.dtype), atol=CLOSE):
        return "The result is x itself: no sub-layer has any effect."
    return None


def are_probabilities(seen: Seen) -> str | None:
    """Say when logits have been through a softmax, and over what."""
    for result in _results(seen.got.value):
        if torch.allclose(result.exp().sum(-1), torch.ones(1, dtype=result.dtype), atol=CLOSE):
            return "The exponentials at each position sum to 1: a log-softmax is inside. Return logits."
        for dim, name in ((-1, "words"), (-2, "positions"), (0, "samples")):
            sums = result.sum(dim)
            if torch.allclose(sums, torch.ones_like(sums), atol=CLOSE):
                return f"The numbers sum to 1 over the {name}: a softmax is inside. Return logits."
    return None


def say(sentence: str) -> Symptom:
    """Return a last resort: what to look at, when nothing more is known."""

    def symptom(_seen: Seen) -> str | None:
        return sentence

    return symptom


def calls_differ(sentence: str) -> Symptom:
    """Say when only some of several calls are wrong: which, and what that tells."""

    def symptom(seen: Seen) -> str | None:
        got, want = _results(seen.got.value), _results(seen.expected.value)
        right = [difference(one, other) is None for one, other in zip(got, want, strict=True)]
        if len(right) < 2 or not any(right):
            return None
        return f"Of {len(right)} calls, number {right.index(False) + 1} goes wrong. {sentence}"

    return symptom


def moves_rightly(changed: str, *, moving: str = "output") -> Judge:
    """Return a judge of what moves, (B, T): it wants exactly what moves in the reference to move.

    `changed` is what was changed between the two calls, in the student's words.
    """

    def symptom(seen: Seen) -> str | None:
        got, want = seen.got.value, seen.expected.value
        sample, position = (int(i) for i in (got != want).nonzero()[0])
        where = f"position {position} of sample {sample}"
        if got[sample, position]:
            return f"When {changed}, the {moving} at {where} changes, and it must not."
        return f"When {changed}, the {moving} at {where} should change, and it does not."

    return agrees(symptom)


def fact(sentence: str) -> Judge:
    """Return a judge of a fact that should be as in the reference; the sentence says what is wrong."""
    return agrees(say(sentence))


def unchanged_call(names: Sequence[str], *symptoms: Symptom) -> Judge:
    """Return a judge of a module's call: the right value, and every argument left as it was."""
    value = unchanged(*symptoms)

    def judge(seen: Seen) -> Verdict:
        named = [names[int(path.split(".")[1])] for path in seen.got.changed if "." in path]
        if named:
            said = f"Your code modified {' and '.join(dict.fromkeys(named))} in place (`+=`, …); make a new tensor."
            return Verdict(passed=False, message=said)
        return value(seen)

    return judge


def gradients(names: Sequence[str]) -> Judge:
    """Return a judge of gradients by path; `names` are those of the arguments."""

    def judge(seen: Seen) -> Verdict:
        got = seen.got.value
        if seen.got.raised or not isinstance(got, dict):
            return agrees()(seen)
        wrong = [
            path
            for path, value in seen.expected.value.items()
            if difference(got.get(path), value) is not None
        ]
        if not wrong:
            return PASSED
        without = [path for path in wrong if got.get(path) is None]
        listed = ", ".join(f"`{_name(path, names)}`" for path in (without or wrong)[:4])
        said = (
            f"No gradient reaches {listed}: what comes before it would never learn from this output."
            if without
            else f"The gradient of {listed} is not right: is its result used as it should be?"
        )
        return Verdict(passed=False, message=said)

    return judge


def registered(seen: Seen) -> Verdict:
    """Judge whether PyTorch knows every parameter; name the first that it does not."""
    lost = seen.got.value
    if seen.got.raised or not isinstance(lost, list) or not lost:
        return agrees()(seen)
    said = (
        f"`parameters()` does not list `{lost[0]}`: an optimiser, `.to(device)` and `.eval()` would "
        "miss it. Is it in a plain Python list?"
    )
    return Verdict(passed=False, message=said)


def _name(path: str, names: Sequence[str]) -> str:
    return names[int(path.split()[1])] if path.startswith("argument ") else path


def _results(value: object) -> list[torch.Tensor]:
    """Return the results of one call or of several; TypeError where they are no tensors."""
    found = list(value) if isinstance(value, (list, tuple)) else [value]
    if not found or not all(isinstance(result, torch.Tensor) for result in found):
        raise TypeError("no tensors to look at")
    return [result for result in found if isinstance(result, torch.Tensor)]
