from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, arguments, call, example, matches_reference, properties,
)
from autograder.lessons.embeddings import reference

KNOWN = ("the", "harbour", "had", "two", "clocks", ",", "and", "bread", ".", "key")
STRANGE = ("zeppelin", "Quartz", "<mask>", "xyz")


def _vocabulary(draw: Draw) -> dict[str, int]:
    tokens = [*reference.SPECIALS, " ", *draw.shuffled(KNOWN)]
    return {token: index for index, token in enumerate(tokens)}


def _wrong_token(seen: Comparison) -> str | None:
    tokens, vocabulary = seen.inputs["args"]
    place = int((seen.got.value != seen.expected.value).nonzero()[0])
    if tokens[place] in vocabulary:
        return f"Token {place} is in the vocabulary, but it doesn't get its id."
    return f"Token {place} is not in the vocabulary, so it should get the id of <unk>."


exercise = ExerciseChecks(reference=reference.encode, judge=matches_reference(_wrong_token),
    examples=[
        example(lambda _: call(["the", "sea", "xyz", "The", "<pad>"], {"<pad>": 0, "<sos>": 1, "<eos>": 2,
                "<unk>": 3, "sea": 4, "the": 5})),
        example(lambda _: call([], {"<pad>": 0, "<sos>": 1, "<eos>": 2, "<unk>": 3})),
    ], checks=[
    Check("known", "each token becomes its id",
          lambda d: call([*d.sampled(KNOWN, 7), " ", "<eos>", "<pad>"], _vocabulary(d))),
    Check("unknown", "a token that is not in the vocabulary becomes <unk>",
          lambda d: call([STRANGE[d.integer(0, 4)], *d.sampled(KNOWN, 3), "The", "bread", "", "BREAD"],
                         _vocabulary(d))),
    Check("nothing", "an empty list gives an empty LongTensor", lambda d: call([], _vocabulary(d))),
    Check("single", "a single token", lambda d: call(["key"], _vocabulary(d)), weight=0.5),
    arguments(lambda d: call([*d.sampled(KNOWN, 3), *STRANGE], _vocabulary(d)), _wrong_token,
              names=["tokens", "vocabulary"]),
    *properties(lambda d: call([*d.sampled(KNOWN, 3), *STRANGE], _vocabulary(d)), strided=False,
                sizes=lambda d: [call(["?"], _vocabulary(d)), call(d.sampled(KNOWN, 500), _vocabulary(d))]),
])
