from itertools import pairwise

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, Operation, arguments, call, defaults, example, matches_reference,
    properties,
)
from autograder.lessons.embeddings import reference

NAMES = ("sea", "key", "cat", "bell", ",", ".", "gull", "rope", "salt", "tide", "sail", "moon")
ALWAYS = (" ", "Bread", "bread")  # a token that is easily dropped, and two that differ only in case
CAPITALS = ["Wharf", "anchor"]  # in this order for sorted(), in the other one regardless of case
NEAR = ["<b>", "os"]  # in angle brackets, and a part of <sos>
MANY = [f"word{n % 80}" for n in range(200)]
OFTEN = ["gong", "reef", "knot", "pier"]


def _names(draw: Draw, count: int) -> list[str]:
    others = draw.shuffled(NAMES)[: count - len(ALWAYS)]
    return draw.shuffled([*ALWAYS, *others])[:count]


def _counted(draw: Draw, *counts: int) -> list[str]:
    """Return a shuffled text in which a different token occurs as often as each count says."""
    names = _names(draw, len(counts))
    return draw.shuffled([name for name, n in zip(names, counts, strict=True) for _ in range(n)])


def _frequent_last(draw: Draw) -> Operation:
    """Put the rare tokens first, so that those met first are not the most frequent."""
    rare = _names(draw, 9)[:5]
    text = draw.shuffled(OFTEN * 4 + OFTEN[:3] * 2 + OFTEN[:1])
    return call([*rare, rare[0], *text], max_size=draw.integer(6, 9))


def _specials_in_text(draw: Draw) -> Operation:
    text = [*_counted(draw, 6, 4, 2, 1), *["<unk>"] * 5, *["<eos>"] * 3, "<pad>"]
    return call(draw.shuffled(text), max_size=7)


def _wrong_size(seen: Comparison) -> str | None:
    got, want = len(seen.got.value), len(seen.expected.value)
    how = "many" if got > want else "few"
    said = f"Your vocabulary has too {how} entries. Count the four special tokens, and each other token once."
    return said if got != want else None


def _wrong_tokens(seen: Comparison) -> str | None:
    got, want = seen.got.value, seen.expected.value
    if any(got.get(token) != want[token] for token in reference.SPECIALS):
        return "The four special tokens should have ids 0 to 3, in order."
    if got.keys() == want.keys():
        return None
    return "The wrong tokens are kept. Keep those that occur most often; sorted() decides ties."


def _wrong_order(seen: Comparison) -> str | None:
    tokens, got = seen.inputs["args"][0], seen.got.value
    known = got.keys() & set(tokens) - set(reference.SPECIALS)
    ranked = sorted(known, key=lambda token: (got[token], token))
    for place, (before, after) in enumerate(pairwise(ranked)):
        more, fewer = tokens.count(before), tokens.count(after)
        if (-more, before) > (-fewer, after):
            said = f"After the special tokens, tokens {place} and {place + 1} are in the wrong order:"
            if more == fewer:
                return f"{said} both occur equally often, so sorted() decides."
            return f"{said} the second of them occurs more often."
    return None


EXPLAINERS = (_wrong_size, _wrong_tokens, _wrong_order)

exercise = ExerciseChecks(
    reference=reference.build_vocabulary, judge=matches_reference(*EXPLAINERS, any_form=True),
    examples=[
        example(lambda _: call(["b", "Sea", " ", "b", " ", "a", " "])),
        example(lambda _: call(["x", *"b ba a", "c", "d", "e", *["<unk>"] * 3], max_size=6)),
        example(lambda _: call(["b", "a"], max_size=9)),
        example(lambda _: call(["b", "a", "b"], max_size=5)),
    ], checks=[
    Check("counts", "special tokens first, then the others from most to least frequent",
          lambda d: call(_counted(d, 9, 7, 6, 4, 3, 2, 1)), weight=2),
    Check("ties", "tokens that occur equally often are in the order of sorted()",
          lambda d: call(d.shuffled([*_counted(d, 3, 5, 3, 1, 3, 5, 1, 3, 1, 1), *CAPITALS, *NEAR]))),
    Check("limited", "max_size counts the special tokens, and keeps the most frequent others", _frequent_last,
          separates=("ties-as-met",)),
    Check("smallest", "max_size=4 leaves only the special tokens",
          lambda d: call(_counted(d, 4, 2, 1), max_size=4), weight=0.5),
    Check("roomy", "a max_size above the number of tokens changes nothing",
          lambda d: call(_counted(d, 4, 3, 1), max_size=50), weight=0.5,
          separates=("alphabet-only", "as-met", "by-length")),
    Check("specials-in-text", "special tokens that occur in the text are not added twice", _specials_in_text,
          separates=("alphabet-only", "as-met", "by-length", "cut-before-counting", "lower-case",
                     "white-space-dropped")),
    Check("nothing", "no tokens at all: the special tokens are still there", lambda _: call([]), weight=0.5),
    arguments(lambda d: call(["tide", "wave", "tide", *_counted(d, 3, 2, 1)]), *EXPLAINERS,
              names=["tokens"], any_form=True),
    *properties(lambda d: call(_counted(d, 9, 7, 6, 4, 3, 2, 1)),
                sizes=lambda d: [call(["key"]), call(d.shuffled(MANY))], strided=False),
    defaults(lambda d: [call(_counted(d, 5, 3, 2))], max_size=(None, 5)),
])
