"""Draws words and other tokens for the inputs of this lesson."""

from collections.abc import Sequence

from autograder.judge.authoring import Draw


def sampled(draw: Draw, options: Sequence[str], count: int) -> list[str]:
    """Return `count` of the options; one may be drawn several times."""
    return [options[i] for i in draw.integers(0, len(options), count).tolist()]


def shuffled(draw: Draw, tokens: Sequence[str]) -> list[str]:
    """Return the tokens in a random order."""
    return [tokens[i] for i in draw.different(len(tokens), 0, len(tokens))]
