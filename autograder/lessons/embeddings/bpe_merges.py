from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, Operation, arguments, call, example, matches_reference,
    properties,
)
from autograder.lessons.embeddings import reference

WORDS = ("salt", "salty", "last", "lasting", "sail", "sailor", "tail", "tall", "tallest", "stall", "listen")
TIES = ("ties-as-met", "ties-backwards")
ALL_TIED = ("dc", "ba", "fe", "ab", "zy")


def _counted(draw: Draw, words: int) -> dict[str, int]:
    chosen = draw.shuffled(WORDS)[:words]
    return dict(zip(chosen, draw.different(words, 2, 40), strict=True))


def _made_of(draw: Draw, letters: str, words: int, length: int) -> dict[str, int]:
    """Return made-up words of a few letters, in which many pairs repeat and overlap."""
    made = ("".join(draw.sampled(letters, draw.integer(length, 2 * length))) for _ in range(words))
    return {word: draw.integer(1, 9) for word in made}


def _runs(draw: Draw) -> Operation:
    """Ask for runs of one letter, of odd and even lengths; which letter is drawn."""
    one, other = sorted(draw.sampled("abcdefghijklm", 1) + draw.sampled("nopqrstuvwxyz", 1))
    return call({one * 5 + other: 2, one * 7: 3, one * 3: 2, other + one + other: 1}, 6)


def _wrong_merge(seen: Comparison) -> str | None:
    got, want = seen.got.value, seen.expected.value
    if not isinstance(got, list):
        raise TypeError("not a list of pairs")
    for place, (mine, right) in enumerate(zip(got, want, strict=False)):
        if mine != right:
            before = "; those before it are right" if place else ""
            return f"Merge {place} is wrong{before}. {_about(mine, right)}"
    return "There are too many merges." if len(got) > len(want) else "There are too few merges."


def _about(mine: object, right: tuple[str, str]) -> str:
    if not isinstance(mine, (tuple, list)):
        return "Each merge is a pair of two pieces."
    if "".join(map(str, mine)) == "".join(right):
        return "It makes the right piece, but from the wrong pair."
    return "Another pair is more frequent, or equally frequent and earlier in the order of sorted()."



exercise = ExerciseChecks(
    reference=reference.bpe_merges, judge=matches_reference(_wrong_merge, any_form=True),
    examples=[
        example(lambda _: call({"aaa": 2, "ab": 3}, 2)),
        example(lambda _: call({"sea": 5, "seal": 2, "tea": 4}, 4)),
        example(lambda _: call({"ba": 1, "dc": 1}, 9)),
    ], checks=[
    Check("words", "the most frequent pair is merged, again and again",
          lambda d: call(_counted(d, 8), 7), weight=2,
          separates=(*TIES, "characters-only", "word-counts-ignored")),
    Check("counts", "a pair counts as often as its word occurs",
          lambda d: call({"ab": d.integer(20, 30), **dict.fromkeys(["cda", "cdb", "cde"], 2)}, 3)),
    Check("ties", "among equally frequent pairs, the one that sorted() puts first is merged",
          lambda d: call(dict.fromkeys(d.shuffled(ALL_TIED), 3), 4), separates=("ties-as-met",)),
    Check("overlap", "'aaa' contains (a, a) twice, and becomes 'aa a'", _runs),
    Check("repeats", "a pair that occurs several times in a word is merged everywhere",
          lambda d: call(_made_of(d, "xyz", 9, 7), 12), separates=(*TIES, "first-only", "right-to-left")),
    Check("exhausted", "it stops when no word has a pair left",
          lambda d: call({"to": d.integer(2, 9), "a": 3, "tot": 1}, 50)),
    Check("nothing", "without words there are no merges", lambda _: call({}, 5), weight=0.5),
    arguments(lambda d: call(dict.fromkeys(("zy", "dc", "ba"), d.integer(2, 9)), 2), _wrong_merge,
              names=["counts"], any_form=True),
    *properties(lambda d: call(_counted(d, 6), 5), separates=TIES, strided=False,
                sizes=lambda d: [call({"x": 1}, 1), call({"aaa": 1}, 2),
                                 call(_made_of(d, "abcdef", 60, 5), 60)]),
])
