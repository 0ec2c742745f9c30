"""Explainers: each says in a sentence what is wrong with a result, or has nothing to say.

One that breaks on a result of another form is passed over (see `coursework.engine.describe.explain`), so
none of them looks at types first. Where several calls were made, explainers see the list of results first,
which those of a single call break on, and then the first wrong call alone, which `outputs` breaks on.
"""

from collections.abc import Mapping

import torch

from autograder.judge.judges import matches_reference
from autograder.model.exercise import Judge
from coursework.engine.compare import difference
from coursework.engine.describe import Comparison, Explainer

CLOSE = 1e-3
RANDOM = (
    "Two calls with the same input give different results. Does something stay random in eval mode, "
    "such as an `F.dropout` without `training=self.training`?"
)


def near(one: torch.Tensor, other: torch.Tensor, tolerance: float = CLOSE) -> bool:
    """Return whether two tensors have one shape and nearly the same numbers."""
    return one.shape == other.shape and torch.allclose(one, other, atol=tolerance, rtol=tolerance)


def fact(sentence: str) -> Judge:
    """Return a judge of a fact that should be as in the reference; the sentence says what is wrong."""
    return matches_reference(lambda _seen: sentence, any_form=True)


def facts(sentences: Mapping[str, str], *explainers: Explainer) -> Judge:
    """Return a judge of a dictionary of facts, with a sentence for each that is wrong.

    The explainers speak where none is wrong.
    """

    def explainer(seen: Comparison) -> str | None:
        got, want = seen.got.value, seen.expected.value
        wrong = [key for key in want if key in sentences and difference(got.get(key), want[key])]
        return sentences[wrong[0]] if wrong else None

    return matches_reference(explainer, *explainers, any_form=True)


def outputs(seen: Comparison) -> list[torch.Tensor]:
    """Return the (first) output of each of several calls; TypeError if there is only one."""
    if len(seen.inputs["calls"]) < 2:
        raise TypeError("only one call was made")
    values = seen.got.value
    return [value[0] if isinstance(value, (list, tuple)) else value for value in values]


def samples_mix(seen: Comparison) -> str | None:
    """Say when sample 0 gives other numbers alone (second and third call) than in its batch (first call)."""
    batch, alone, again = outputs(seen)
    if not near(alone, again, 1e-4):
        return RANDOM
    if near(batch[:1], alone, 1e-4):
        return None
    return "Sample 0 gives a different result in a batch than alone: samples are mixed."


def positions_mix(seen: Comparison) -> str | None:
    """Say when token 2 gives other numbers alone (second and third call) than in its sentence (first)."""
    sentence, token, again = outputs(seen)
    if not near(token, again):
        return RANDOM
    if near(sentence[:, 2:3], token):
        return None
    return "Token 2 gives a different result in its sentence than alone: tokens are mixed with each other."


def positions_change(changed: str, *, what: str = "output") -> Judge:
    """Return a judge of `ChangedPositions`: exactly the reference's positions should change.

    `changed` says what was changed between the two calls, such as "target token 2 changes".
    """

    def explainer(seen: Comparison) -> str:
        got, want = seen.got.value, seen.expected.value
        sample, position = (got != want).nonzero()[0].tolist()
        where = f"the {what} at position {position} of sample {sample}"
        if got[sample, position]:
            return f"When {changed}, {where} changes, but it must not."
        return f"When {changed}, {where} should change, but it doesn't."

    return matches_reference(explainer)


def ends_in_norm(path: str) -> Explainer:
    """Say when a result is not the output of the norm at `path`, with which post-norm ends."""

    def explainer(seen: Comparison) -> str | None:
        bare = without_norm(seen.got.value.double(), seen, f"{path}.")
        mean, variance = bare.mean(-1), bare.var(-1, unbiased=False)
        if mean.abs().max() < 1e-2 and (variance - 1).abs().max() < 5e-2:
            return None
        return (
            f"The result is not the output of `{path}`: without that norm's weight and bias, every "
            "position should have mean 0 and variance 1. Is this norm the last step?"
        )

    return explainer


def without_norm(output: torch.Tensor, seen: Comparison, prefix: str = "") -> torch.Tensor:
    """Return an output without the weight and bias of a norm, whose paths begin with `prefix`."""
    weight, bias = (seen.inputs["weights"][f"{prefix}{part}"] for part in ("weight", "bias"))
    bare: torch.Tensor = (output - bias) / weight
    return bare


def are_probabilities(seen: Comparison) -> str | None:
    """Say when logits have been through a softmax or log-softmax."""
    rows = seen.got.value[seen.got.value.abs().sum(-1) > 0]  # blanked padding left out
    for name, sums in (("softmax", rows.sum(-1)), ("log-softmax", rows.exp().sum(-1))):
        if len(rows) and near(sums, torch.ones_like(sums)):
            return f"At each position, this is the result of a {name}. Return logits."
    return None


def attention_weights(weights: torch.Tensor, allowed: torch.Tensor | None = None) -> str | None:
    """Say what is wrong with weights (…, T_q, T_k), given a mask that broadcasts to them.

    Hidden keys should get nothing, a query that may attend to nothing zeros, and every other row
    should sum to 1.
    """
    everything = torch.ones_like(weights, dtype=torch.bool)
    seen = everything if allowed is None else allowed.expand_as(weights)
    empty, leaked = ~seen.any(-1), weights.nan_to_num().masked_fill(seen, 0.0)
    filled = empty & (weights != 0).any(-1)
    if filled.any():
        query = int(filled.nonzero()[0, -1])
        return f"Query {query} may attend to nothing, so its weights should all be 0. Yours are not."
    if leaked.max() > 1e-4:
        *_, query, key = (leaked == leaked.max()).nonzero()[0].tolist()
        return f"Query {query} attends to key {key}, which the mask hides (False = may not attend)."
    return None if empty.all() else _rows_sum_to_one(weights[~empty], weights)


def _rows_sum_to_one(rows: torch.Tensor, whole: torch.Tensor) -> str | None:
    """Say when rows (N, T_k) are no distributions, and whether the columns of `whole` are instead."""
    sums, columns = rows.sum(-1), whole.sum(-2)
    if near(sums, torch.ones_like(sums)) or not sums.isfinite().all():
        return None
    if near(columns, torch.ones_like(columns)):
        return "The columns of your weights sum to 1, not the rows. Which dimension is normalised?"
    how = "more" if (sums > 1 + CLOSE).any() else "less"
    return f"Every row of weights should sum to 1. Some of yours sum to {how}."
