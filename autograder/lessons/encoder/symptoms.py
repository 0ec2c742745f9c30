"""Sentences about what is wrong with a norm, a layer or a stack, for mistakes that match nothing known."""

from collections.abc import Sequence

import torch

from autograder.judge.compare import difference
from autograder.judge.judgement import Judge, Seen, Symptom, Verdict, unchanged
from autograder.judge.symptoms import whole

CLOSE = 1e-4


def outputs(seen: Seen) -> list[torch.Tensor]:
    """Return the output of each call; TypeError where they are no tensors of the right shape."""
    count = len(seen.inputs["calls"])
    got = [seen.got.value] if count == 1 else seen.got.value
    want = [seen.expected.value] if count == 1 else seen.expected.value
    if not isinstance(got, (list, tuple)) or len(got) != count:
        raise TypeError("not as many results as calls")
    fits = (
        isinstance(a, torch.Tensor) and a.shape == b.shape for a, b in zip(got, want, strict=True)
    )
    if not all(fits):
        raise TypeError("no tensors to look at")
    return list(got)


def weights_unused(path: str = "") -> Symptom:
    """Say when a norm does not use its weight, or its bias, given what it should have come to."""

    def symptom(seen: Seen) -> str | None:
        got, want = whole(seen), seen.expected.value
        weight, bias = _norm(seen, path)
        bare = (want - bias) / weight
        forms = {
            "Neither `weight` nor `bias` is used": bare,
            "`bias` is not added": bare * weight,
            "`weight` is not used": bare + bias,
            "`bias` is added before `weight` multiplies": (bare + bias) * weight,
        }
        return next((f"{text}." for text, form in forms.items() if _near(got, form)), None)

    return symptom


def not_standard(seen: Seen) -> str | None:
    """Say what a norm leaves of a token's mean and spread, once weight and bias are taken away."""
    got, want = whole(seen), seen.expected.value
    weight, bias = _norm(seen)
    mine, right = (got - bias) / weight, (want - bias) / weight
    mean, token = mine.mean(-1).abs().flatten().max(0)
    if mean > 0.01:
        said = (
            "with weight and bias taken away again, the features of each token should have mean 0"
        )
        return f"{said[0].upper()}{said[1:]}; those of token {int(token)} have {mean:.2g}. Over what is the mean taken?"
    ratios = (mine.std(-1) / right.std(-1)).flatten()
    if torch.allclose(ratios, torch.ones_like(ratios), atol=1e-3):
        return None
    if torch.allclose(ratios, ratios[0], rtol=1e-3):
        return f"Every number, before weight and bias, is {ratios[0]:.3g} times what it should be: which variance is it?"
    worst = ratios[(ratios - 1).abs().argmax()]
    return (
        f"The spread of a token's features is up to {worst:.3g} times what it should be, and not the same "
        "for all tokens: what stands under the root, and over what is the variance taken?"
    )


def ends_in_norm(path: str) -> Symptom:
    """Say when an output does not look as if the norm at `path` had come last."""

    def symptom(seen: Seen) -> str | None:
        got = outputs(seen)[0]
        weight, bias = _norm(seen, path)
        bare = (got - bias) / weight
        normed = (
            bare.mean(-1).abs().max() < 0.01
            and (bare.var(-1, unbiased=False) - 1).abs().max() < 0.05
        )
        if normed:
            return None
        return f"The output does not look as if `{path}` had made it: is this norm the last thing that happens?"

    return symptom


def always(said: str) -> Symptom:
    """Return a symptom that says the same of whatever came, as long as its shape is right."""

    def symptom(seen: Seen) -> str | None:
        return said if outputs(seen) else None

    return symptom


def samples_mix(seen: Seen) -> str | None:
    """Say when a sample gives other numbers alone than in a batch (two calls)."""
    batch, alone = outputs(seen)
    if _near(batch[:1], alone):
        return None
    return (
        "Sample 0 gives one result in a batch and another alone: samples are mixed with each other."
    )


def hidden_is_heard(seen: Seen) -> str | None:
    """Say which token notices a change at places that the mask hides (two calls, padding mask)."""
    before, after = outputs(seen)
    mask = seen.inputs["calls"][0][1][:, 0]  # (B, S)
    moved = ((before - after).abs().amax(-1) > CLOSE) & mask
    if not moved.any():
        return None
    sample, token = (int(i) for i in moved.nonzero()[0])
    return (
        f"Token {token} of sample {sample} notices what stands in the padding, which the mask hides: "
        "does the mask reach the attention?"
    )


def padding_counts(seen: Seen) -> str | None:
    """Say when real tokens come out differently with padding behind them (a long and a short call)."""
    long, short = outputs(seen)
    size = short.size(1)
    if _near(long[:1, :size], short):
        return None
    return (
        f"The {size} real tokens of a sentence come out differently when padding follows, although the mask "
        "hides it. Does every layer get the mask?"
    )


def who_moves(seen: Seen) -> str | None:
    """Put into words which positions moved and should not have, or the other way round (`block_hears`)."""
    got, want = whole(seen), seen.expected.value
    if got.shape != want.shape:
        return None
    deaf, alert = (want & ~got).any(0).nonzero().flatten(), (got & ~want).any(0).nonzero().flatten()
    if len(deaf):
        return f"The output at position {int(deaf[0])} stays the same although it should change."
    return (
        f"The output at position {int(alert[0])} changes although it should stay the same."
        if len(alert)
        else None
    )


def untouched(names: Sequence[str], *symptoms: Symptom) -> Judge:
    """Return a judge of a module's call: the right value, and every argument left as it was."""
    value = unchanged(*symptoms)

    def judge(seen: Seen) -> Verdict:
        touched = [names[int(path.split(".")[1])] for path in seen.got.changed if "." in path]
        if touched:
            said = f"Your code modified {' and '.join(dict.fromkeys(touched))} in place; make a new tensor instead."
            return Verdict(passed=False, message=said)
        return value(seen)

    return judge


def it_learns(seen: Seen) -> Verdict:
    """Judge gradients: name the parameters that are not found or not reached, or the first that is wrong."""
    got, want = seen.got.value, seen.expected.value
    if seen.got.raised or not isinstance(got, dict):
        return unchanged()(seen)
    if got.get("not found"):
        return _no(f"{_listed(got['not found'])} cannot be trained: `parameters()` does not find it. "
                   "Is it an nn.Parameter, in an nn.Module (or an nn.ModuleList)?")  # fmt: skip
    without = [path for path, value in want.items() if value is not None and got.get(path) is None]
    if without:
        return _no(f"No gradient reaches {_listed(without)}.")
    wrong = [
        p
        for p, value in want.items()
        if value is not None and difference(got.get(p), value) is not None
    ]
    return _no(f"The gradient of `{wrong[0]}` is not right.") if wrong else Verdict(passed=True)


def _no(said: str) -> Verdict:
    return Verdict(passed=False, message=said)


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(f"`{path}`" for path in paths[:3]) + more


def _norm(seen: Seen, path: str = "") -> tuple[torch.Tensor, torch.Tensor]:
    """Return weight and bias of the norm at a path."""
    prefix = f"{path}." if path else ""
    weights = seen.inputs["weights"]
    return weights[f"{prefix}weight"], weights[f"{prefix}bias"]


def _near(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=CLOSE, rtol=CLOSE)
