"""Sentences about what is wrong with heads, for mistakes that match nothing known."""

from collections.abc import Sequence

import torch

from autograder.judge.compare import difference
from autograder.judge.judgement import Judge, Seen, Symptom, Verdict, unchanged
from autograder.judge.symptoms import whole

CLOSE = 1e-4
ARGUMENTS = ("query", "key", "value", "mask")
Pair = tuple[torch.Tensor, torch.Tensor]


def pairs(value: object, count: int) -> list[Pair]:
    """Return the (output, weights) of each call; TypeError where they are no such thing."""
    found = [value] if count == 1 else value
    if not isinstance(found, (list, tuple)) or len(found) != count:
        raise TypeError("not as many results as calls")
    results: list[Pair] = []
    for result in found:
        if not isinstance(result, (list, tuple)) or len(result) != 2:
            raise TypeError("no pair to look at")
        if not all(isinstance(part, torch.Tensor) for part in result):
            raise TypeError("no tensors to look at")
        results.append((result[0], result[1]))
    return results


def _calls(seen: Seen) -> list[tuple[Sequence[torch.Tensor], Pair, Pair]]:
    """Return arguments, what came and what was expected, call by call."""
    asked = seen.inputs["calls"]
    got, want = pairs(seen.got.value, len(asked)), pairs(seen.expected.value, len(asked))
    return list(zip(asked, got, want, strict=True))


def _allowed(args: Sequence[torch.Tensor], weights: torch.Tensor) -> torch.Tensor | None:
    """Return the mask of a call, laid out as its weights (B, H, T_q, T_k)."""
    if len(args) < len(ARGUMENTS):
        return None
    mask = args[3]
    return (mask[:, None] if mask.dim() == 3 else mask).expand_as(weights)


def weights_are_distributions(seen: Seen) -> str | None:
    """Say over what else than the keys the weights sum to 1."""
    for args, (_, weights), _ in _calls(seen):
        sums = weights.sum(-1)
        empty = torch.zeros_like(sums, dtype=torch.bool)
        allowed = _allowed(args, weights)
        if allowed is not None:
            empty = ~allowed.any(-1)
        if not sums.isfinite().all() or torch.allclose(sums[~empty], torch.ones(1, dtype=sums.dtype), atol=1e-3):
            continue
        for dim, name in ((1, "heads"), (2, "queries"), (0, "samples")):
            along = weights.sum(dim)
            if torch.allclose(along, torch.ones_like(along), atol=1e-3):
                return f"Your weights sum to 1 over the {name}, not over the keys: which dimension is the softmax over?"
        return f"Each row of weights should sum to 1 over the keys; one sums to {sums[~empty][0]:.3g}."
    return None


def mask_is_kept(seen: Seen) -> str | None:
    """Say which hidden key is read, and what a query does that may attend to nothing."""
    for args, (output, weights), _ in _calls(seen):
        allowed = _allowed(args, weights)
        if allowed is None:
            continue
        if weights.isnan().any() or output.isnan().any():
            return "There is NaN in the result: what does a query get that may attend to nothing?"
        leaked = weights.masked_fill(allowed, 0.0)
        if leaked.max() > CLOSE:
            sample, head, query, key = (int(i) for i in torch.unravel_index(leaked.argmax(), leaked.shape))
            return (
                f"In head {head} of sample {sample}, query {query} gives {leaked.max():.2f} of its "
                f"attention to key {key}, which the mask hides from it."
            )
    return None


def heads_are_alike(seen: Seen) -> str | None:
    """Say when all heads have the same weights."""
    _, (_, weights), (_, want) = _calls(seen)[0]
    if weights.size(1) > 1 and torch.allclose(weights, weights[:, :1].expand_as(weights), atol=CLOSE):
        if not torch.allclose(want, want[:, :1].expand_as(want), atol=CLOSE):
            return "All heads have the same weights: does each have its own part of the projections?"
    return None


def heads_see_a_slice(seen: Seen) -> str | None:
    """Say when a head does not notice that a feature of every token was changed (two calls)."""
    (_, (_, before), (_, wanted)), (_, (_, after), (_, wanted_after)) = _calls(seen)
    for head in range(before.size(1)):
        notices = (wanted[:, head] - wanted_after[:, head]).abs().max() > CLOSE
        if notices and torch.allclose(before[:, head], after[:, head], atol=1e-6):
            return (
                f"Head {head} does not notice when the last feature of the tokens changes: it sees "
                "only its own slice of x. Project first, then split."
            )
    return None


def future_leaks(seen: Seen) -> str | None:
    """Say which output changes when only the last token did, under a causal mask (two calls)."""
    (_, (before, _), _), (_, (after, _), _) = _calls(seen)
    moved = (before - after).abs().amax(dim=(0, 2))[:-1]  # (T - 1,)
    if moved.max() <= CLOSE:
        return None
    position = int((moved > CLOSE).nonzero()[0])
    return (
        f"The future leaks: the output at position {position} changes when only the last token does, "
        "although the mask is causal. Look at how heads are split and merged."
    )


def samples_mix(seen: Seen) -> str | None:
    """Say when a sample gives other numbers alone than in a batch (two calls)."""
    (_, (batch, _), _), (_, (alone, _), _) = _calls(seen)
    if torch.allclose(batch[:1], alone, atol=CLOSE):
        return None
    return "Sample 0 gives one result in a batch and another alone: samples are mixed with each other."


def scores_are_scaled(seen: Seen) -> str | None:
    """Say by which factor all scores are off, judging by the logarithms of the weights."""
    _, (_, weights), (_, want) = _calls(seen)[0]
    if (weights <= 0).any() or (want <= 0).any():
        return None
    got_log, want_log = weights.log(), want.log()
    got_log, want_log = (x - x.mean(-1, keepdim=True) for x in (got_log, want_log))
    ratio = (got_log * want_log).sum() / want_log.square().sum()
    off = (got_log - ratio * want_log).abs().max()
    if off > 1e-2 or (ratio - 1).abs() < 1e-2:
        return None
    return f"All scores are {ratio:.3g} times what they should be: of which width is the root taken?"


def only_the_output_differs(seen: Seen) -> str | None:
    """Say when the weights are right, so that the mistake comes after them."""
    for _, (output, weights), (want, wanted) in _calls(seen):
        if not torch.allclose(weights, wanted, atol=CLOSE):
            return None
        if output.shape == want.shape and not torch.allclose(output, want, atol=CLOSE):
            same_numbers = torch.allclose(output.flatten().sort()[0], want.flatten().sort()[0], atol=1e-3)
            if same_numbers:
                return "The output has the right numbers in the wrong places: how are heads merged?"
    return "The weights are right, the output is not: look at values, merging, w_o, and what comes after."


def only_the_weights_differ(seen: Seen) -> str | None:
    """Say when the output is right and the weights that are returned are not."""
    for _, (output, _), (want, _) in _calls(seen):
        if not torch.allclose(output, want, atol=CLOSE):
            return None
    return "The output is right; the second value returned is not the weights of every head."


GENERAL: tuple[Symptom, ...] = (
    mask_is_kept,
    weights_are_distributions,
    only_the_weights_differ,
    scores_are_scaled,
    heads_are_alike,
    only_the_output_differs,
)


def features_move(seen: Seen) -> str | None:
    """Say where the first number that is out of place comes from, in a case of all different numbers."""
    got, want = whole(seen), seen.expected.value
    wrong = (~torch.isclose(got, want)).nonzero()
    if got.shape != want.shape or not len(wrong):
        return None
    place = tuple(int(i) for i in wrong[0])
    source = (seen.inputs["args"][0] == got[place]).nonzero()
    if len(source) != 1:
        return None
    came, meant = (_names(seen, index) for index in (source[0].tolist(), _source(seen, want, place)))
    return f"Entry {list(place)} of your result is {came}; it should be {meant}."


def _source(seen: Seen, want: torch.Tensor, place: tuple[int, ...]) -> list[int]:
    found: list[int] = (seen.inputs["args"][0] == want[place]).nonzero()[0].tolist()
    return found


def _names(seen: Seen, index: list[int]) -> str:
    words = ("sample", "token", "feature") if len(index) == 3 else ("sample", "head", "token", "feature")
    return ", ".join(f"{word} {number}" for word, number in zip(words, index, strict=True))


def unchanged_call(*symptoms: Symptom) -> Judge:
    """Return a judge of a module's call: the right value, and every argument left as it was."""
    value = unchanged(*symptoms)

    def judge(seen: Seen) -> Verdict:
        named = [ARGUMENTS[int(path.split(".")[1])] for path in seen.got.changed if "." in path]
        if named:
            said = f"Your code modified {' and '.join(dict.fromkeys(named))} in place; make a new tensor instead."
            return Verdict(passed=False, message=said)
        return value(seen)

    return judge


def gradients_arrive(seen: Seen) -> Verdict:
    """Judge gradients: name the parameters that none reaches, or the first that is wrong."""
    if seen.got.raised or not isinstance(seen.got.value, dict):
        return unchanged()(seen)
    without = [path for path, value in seen.got.value.items() if value is None]
    if without:
        said = f"No gradient reaches {', '.join(f'`{path}`' for path in without)}: it would never learn."
        return Verdict(passed=False, message=said)
    wrong = [
        path
        for path, value in seen.expected.value.items()
        if difference(seen.got.value.get(path), value) is not None
    ]
    said = f"The gradient of `{wrong[0]}` is not right: is its result used as it should be?" if wrong else ""
    return Verdict(passed=not wrong, message=said)
