from itertools import zip_longest

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, call, example, matches_reference, properties,
)
from autograder.lessons.embeddings import reference

WORDS = ("clock", "Bread", "harbour", "sea", "Cat", "key", "sailor", "mayor", "church", "Water")
SEPARATORS = (" ", ", ", " ", ". ", " ", "; ", " – ", "\n", "? ", " ")


def _sentence(draw: Draw, words: int) -> str:
    """Return words with separators between them; it begins and ends with a word."""
    chosen, between = draw.sampled(WORDS, words), draw.sampled(SEPARATORS, words - 1)
    return "".join(part for pair in zip(chosen, [*between, ""], strict=True) for part in pair)


def _wrong_piece(seen: Comparison) -> str | None:
    if not isinstance(seen.got.value, list):
        raise TypeError("not a list of pieces")
    pairs = enumerate(zip_longest(seen.got.value, seen.expected.value))
    place, (got, want) = next((place, pair) for place, pair in pairs if pair[0] != pair[1])
    if want is None:
        return f"There are too many pieces: piece {place} should not be there."
    if got is None:
        return f"There are too few pieces: piece {place} is missing."
    if not got:
        return f"Piece {place} is empty. Drop empty strings."
    return _wrong_text(seen, place, got, want)


def _wrong_text(seen: Comparison, place: int, got: str, want: str) -> str:
    if sorted(seen.got.value) == sorted(seen.expected.value):
        return f"The pieces are right, but their order is wrong from piece {place} on."
    if got.lower() == want.lower():
        return f"Piece {place} has different upper and lower case from the text."
    if "".join(seen.got.value) != seen.inputs["args"][0]:
        return f"Piece {place} is wrong. Joined together, the pieces should give the text."
    return f"Piece {place} begins or ends in the wrong place. Everything between two words is one piece."


exercise = ExerciseChecks(reference=reference.tokenise, judge=matches_reference(_wrong_piece, any_form=True),
    examples=[
        example(lambda _: call("The cat, it’s 2 o’clock.")),
        example(lambda _: call("  Sea!\n")),
    ], checks=[
    Check("words", "each word is a piece, and so is everything between two words",
          lambda d: call(_sentence(d, d.integer(9, 14))), weight=2, separates=("line-breaks-lost",)),
    Check("marks-outside", "a text that begins and ends with punctuation loses neither",
          lambda d: call(f'"{_sentence(d, 5)}!" '),
          separates=("white-space-dropped", "lower-case", "each-once", "line-breaks-lost")),
    Check("odd-characters", "apostrophes, numbers, underscores and letters beyond A to Z",
          lambda d: call(f"they weren't {d.integer(10, 99)}.5\nkm_away:  {_sentence(d, 3)}"
                         " – déjà vu, Zoë?!")),
    Check("no-words", "punctuation without words, and white space alone",
          lambda d: call("\n\n … ?! " * d.integer(1, 3)), weight=0.5),
    Check("nothing", "an empty text has no pieces", lambda _: call(""), weight=0.5),
    *properties(lambda d: call(f"Yes, {_sentence(d, 6)}"),
                sizes=lambda d: [call("a"), call(_sentence(d, 300))], strided=False,
                separates=["line-breaks-lost"]),
])
