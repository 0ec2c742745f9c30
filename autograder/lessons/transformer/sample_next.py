"""Checks of `sample_next`: how often each token is drawn, in thousands of draws."""

import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, PublicExample, call, example, facts, matches_reference,
    no_side_effects, properties, through,
)
from autograder.lessons.transformer import reference
from autograder.lessons.transformer.fixtures import SampleShares, SampleTwice

SHARES = torch.tensor([0.40, 0.25, 0.15, 0.10, 0.06, 0.04])
FACTS = {
    "same seed, same words": "Two calls with the same seed should sample equal tokens. Pass `generator` on.",
    "another seed, other words": "Two calls with different seeds give the same tokens. Is anything sampled?",
}


def _which_are_left(seen: Comparison) -> str | None:
    got, want = seen.got.value, seen.expected.value
    if not isinstance(got, torch.Tensor) or got.shape != want.shape:
        return None
    if bool(((got > 0) & (want == 0)).any()):
        return "Some tokens are sampled that should have been cut off."
    if bool(((got == 0) & (want > 0.01)).any()):
        return "Some tokens are never sampled, although they should be kept."
    return "The right tokens are sampled, but with the wrong frequencies. Is a step missing or out of order?"


def _logits(draw: Draw, rows: int = 1) -> torch.Tensor:
    """Return logits (rows, 6) with the probabilities SHARES: row i is row 0 rolled by i.

    In row 0, no token has its place in the sorted order: it is a cycle through all six.
    """
    cycle = torch.tensor(draw.different(6, 0, 6))
    first = torch.empty(6)
    first[cycle] = SHARES[cycle.roll(1)].log() + 0.5
    return torch.stack([first.roll(row) for row in range(rows)])


OFTEN = matches_reference(_which_are_left, atol=0.05, rtol=0.0)  # twenty standard deviations


def _shares(id_: str, title: str, *, weight: float = 1.0, rows: int = 1, **options: float) -> Check:
    return Check(id_, title, lambda d: SampleShares(_logits(d, rows), options), OFTEN, weight)


LOGITS = torch.tensor([[0.1, 0.4, 0.3, 0.2]]).log()  # those of these four probabilities


def _drawn(**options: float) -> PublicExample:
    given = ", ".join(f"{name}={value}" for name, value in options.items())
    return example(lambda _: through("sample_next", LOGITS, **options),
                   shown=f"sample_next(logits, {given})  # 2000 times: which tokens come up")


exercise = ExerciseChecks(reference=reference.sample_next,
    examples=[
        example(lambda _: call(LOGITS, temperature=0)),
        _drawn(top_k=2),
        _drawn(top_p=0.6),
        _drawn(top_k=3, top_p=0.8),
    ], checks=[
    _shares("plain", "without options, tokens are sampled from the softmax", weight=2, rows=2),
    _shares("colder", "temperature 0.5 makes likely tokens more likely", temperature=0.5),
    _shares("hotter", "temperature 2 makes unlikely tokens more likely", temperature=2.0),
    Check("zero", "temperature 0 returns the argmax of each row",
          lambda d: call(_logits(d, 5), temperature=0)),
    _shares("top-k", "top_k = 3 keeps three tokens", top_k=3),
    _shares("top-k-large", "a top_k above V keeps all tokens", top_k=50, weight=0.5),
    Check("top-k-one", "top_k = 1 keeps the argmax", lambda d: call(_logits(d, 40), top_k=1), weight=0.5),
    _shares("top-p", "top_p = 0.7 keeps three tokens: two reach only 0.65", top_p=0.7),
    _shares("top-p-none", "top_p = 0 still keeps the most likely token", top_p=0.0, weight=0.5),
    _shares("top-k-then-p", "after top_k = 4 the probabilities are renormalised: two tokens reach 0.7",
            top_k=4, top_p=0.7),
    _shares("all-three", "the temperature comes first: at 0.5 two tokens reach 0.7",
            temperature=0.5, top_k=5, top_p=0.7),
    Check("generator", "the samples come from the generator",
          lambda d: SampleTwice(_logits(d, 40)), facts(FACTS)),
    Check("arguments", "the logits are left unchanged", lambda d: call(_logits(d, 40), 0.7, 1, 0.9),
          no_side_effects(names=["logits"]), 0.5),
    *properties(lambda d: call(_logits(d, 40), 0.7, 1),
                sizes=lambda d: [call(torch.zeros(1, 1)), call(_logits(d, 60), 0.8, 1)]),
])
