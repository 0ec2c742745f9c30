"""Checks of `sentence_pair_attention`, with a small BERT of drawn weights."""

from typing import Any

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, example, matches_reference, near, properties, shape_difference,
    through,
)
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.fixtures import AttendToPairs

WORDS = ("the", "cat", "sat", "on", "mat", "lay", "rug", "sun", "dog", "a", "old", "is")
PIECES = (*WORDS, "warm", "##er", "##ing", "##s", "walk", "play", ".", ",")


def _about_triple(seen: Comparison) -> str | None:
    got, want = seen.got.value, seen.expected.value
    if isinstance(want, list):  # several pairs of sentences
        return None
    if not isinstance(got, (tuple, list)) or len(got) != 3:
        return "Return three things: attentions, tokens, `sentence_b_start`."
    if list(got[1]) != want[1]:
        return _about_tokens(list(got[1]), want[1])
    if got[2] != want[2]:
        how = "large" if got[2] > want[2] else "small"
        return f"`sentence_b_start` is too {how}: it should be the index of the first token of sentence b."
    return _about_attentions(got[0], want[0])


def _about_tokens(got: list[str], want: list[str]) -> str:
    said = "The tokens should be those of the tokeniser, specials included and in pieces."
    if len(got) != len(want):
        return f"{said} Yours are too {'many' if len(got) > len(want) else 'few'}."
    place = next(n for n, pair in enumerate(zip(got, want, strict=True)) if len({*pair}) > 1)
    return f"{said} Token {place} is wrong."


def _about_attentions(got: Any, want: Any) -> str | None:
    if got.shape != want.shape:
        came = shape_difference(got.shape, want.shape)
        return f"The attentions should have shape (L, H, S, S). Yours have {came}."
    if near(got, want):
        return None
    if near(got.mT, want):
        return "In the attentions, queries and keys are swapped."
    return (
        "The attentions have the right shape but are not those of the model for this pair. Was it given "
        "everything that the tokeniser returns, segments included?"
    )


def _sentence(draw: Draw, words: int) -> str:
    return " ".join(WORDS[int(place)] for place in draw.integers(0, len(WORDS), words))


def _asked(draw: Draw, *pairs: tuple[str, str], **sizes: int) -> AttendToPairs:
    """Ask for pairs of sentences, with a vocabulary in an order of its own."""
    order = draw.different(len(PIECES), 0, len(PIECES))
    sizes = {"d_model": 12, "num_heads": 3, "num_layers": 2, **sizes}
    return AttendToPairs([PIECES[place] for place in order], sizes, draw.integer(0, 2**31), pairs)


def _lengths(draw: Draw, *lengths: tuple[int, int], **sizes: int) -> AttendToPairs:
    pairs = [(_sentence(draw, first), _sentence(draw, second)) for first, second in lengths]
    return _asked(draw, *pairs, **sizes)


def _twice(draw: Draw) -> AttendToPairs:
    sentence = _sentence(draw, 4)
    return _asked(draw, (sentence, sentence))


exercise = ExerciseChecks(reference=reference.sentence_pair_attention,
    judge=matches_reference(_about_triple, any_form=True),
    examples=[
        example(lambda _: through("sentence_pair_attention", "the cat sat", "it slept."), "heat",
                shown="sentence_pair_attention(model, tokeniser, a, b)"),
    ], checks=[
    Check("two-sentences", "a sentence of six words, and one of four",
          lambda d: _lengths(d, (6, 4)), weight=2),
    Check("longer-second", "sentence b is the longer one", lambda d: _lengths(d, (2, 7))),
    Check("pieces", "words of several tokens, capitals, punctuation, an unknown word",
          lambda d: _asked(d, (f"The warmer dogs, {_sentence(d, 2)}.", "Walking is zzz, playing."))),
    Check("twice", "the same sentence twice", _twice, weight=0.5),
    Check("other-sizes", "three layers with two heads, and then another pair",
          lambda d: _lengths(d, (3, 5), (5, 3), num_layers=3, num_heads=2)),
    Check("one-head", "one layer with one head",
          lambda d: _lengths(d, (3, 2), num_layers=1, num_heads=1), weight=0.5),
    *properties(lambda d: _lengths(d, (4, 3)),
                sizes=lambda d: [_lengths(d, (1, 1)), _lengths(d, (14, 12))], strided=False),
])
