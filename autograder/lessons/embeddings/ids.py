"""Checks of `encode`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.explain import arguments_kept, explained
from autograder.judge.judgement import Seen
from autograder.judge.symptoms import whole
from autograder.lessons.embeddings import reference

KNOWN = ("the", "harbour", "had", "two", "clocks", ",", "and", "bread", ".", "key")
STRANGE = ("zeppelin", "Quartz", "<mask>", "xyz")
GET = "vocabulary.get(token, unknown)"
RETURN = "return torch.tensor(ids, dtype=torch.long)"


def _vocabulary(draw: Draw) -> dict[str, int]:
    order = draw.different(len(KNOWN), 0, len(KNOWN))
    words = [*("<pad>", "<sos>", "<eos>", "<unk>"), " ", *(KNOWN[i] for i in order)]
    return {word: index for index, word in enumerate(words)}


def _words(draw: Draw, count: int) -> list[str]:
    return [KNOWN[i] for i in draw.integers(0, len(KNOWN), count).tolist()]


def _length(seen: Seen) -> str | None:
    got, want = whole(seen), len(seen.inputs["args"][0])
    if got.dim() != 1:
        return f"Expected a tensor with one dimension, got shape {tuple(got.shape)}."
    return (
        None if len(got) == want else f"{want} tokens should give {want} ids; yours are {len(got)}."
    )


def _wrong_token(seen: Seen) -> str | None:
    """Say which token got which id."""
    got, want = whole(seen), seen.expected.value
    place = int((got != want).nonzero()[0])
    token = seen.inputs["args"][0][place]
    if token not in seen.inputs["args"][1]:
        return f"{token!r} is not in the vocabulary; it got the id {got[place]}, not that of <unk>."
    return f"{token!r} has the id {want[place]} in the vocabulary; yours is {got[place]}."


symptoms = (_length, _wrong_token)
judge = explained(*symptoms)


def add_encode(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("encode", 2, "encode", reference=reference.encode)
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("each token becomes its id", judge=judge)
    def known(draw: Draw) -> Stimulus:
        return call([*_words(draw, 7), " ", "<eos>"], _vocabulary(draw))

    @exercise.case("a token that is not in the vocabulary becomes <unk>", judge=judge)
    def unknown(draw: Draw) -> Stimulus:
        tokens = [STRANGE[draw.integer(0, 4)], *_words(draw, 3), "The", "bread", "", "BREAD"]
        return call(tokens, _vocabulary(draw))

    @exercise.case("an empty list gives an empty LongTensor", judge=judge)
    def nothing(draw: Draw) -> Stimulus:
        return call([], _vocabulary(draw))

    @exercise.case("a single token", judge=judge, weight=0.5)
    def single(draw: Draw) -> Stimulus:
        return call(["key"], _vocabulary(draw))

    @exercise.case(
        "tokens and vocabulary come back unchanged", judge=arguments_kept(judge), weight=0.5
    )
    def arguments(draw: Draw) -> Stimulus:
        args = [[*_words(draw, 3), *STRANGE], _vocabulary(draw)]
        return Stimulus("arguments_after", {"args": args, "kwargs": {}})


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    # fmt: off - a mistake is a small table: title, hint, edit
    mistake(
        "unknown-as-padding",
        "Unknown tokens become <pad>, not <unk>",
        "Padding will be masked: a word that is not known would vanish as if it had not been said.",
        edits={GET: "vocabulary.get(token, 0)"},
    )
    mistake(
        "unknown-dropped",
        "Unknown tokens are left out",
        "There should be as many ids as tokens: count them.",
        edits={"for token in tokens": "for token in tokens if token in vocabulary"},
    )
    mistake(
        "unknown-raises",
        "An unknown token raises a KeyError",
        "Square brackets insist; a dictionary also has a way to ask that takes a default.",
        edits={GET: "vocabulary[token]"},
    )
    mistake(
        "unknown-minus-one",
        "Unknown tokens become −1",
        "No table has a row −1 that means 'unknown'; <unk> is in the vocabulary for this.",
        edits={GET: "vocabulary.get(token, -1)"},
    )
    mistake(
        "unknown-beyond",
        "Unknown tokens get an id beyond the vocabulary",
        "The embedding table has no row for it.",
        edits={GET: "vocabulary.get(token, len(vocabulary))"},
    )
    mistake(
        "vocabulary-grows",
        "Unknown tokens are added to the vocabulary",
        "Encoding a text must not change the vocabulary: the table has no row for a new word.",
        edits={GET: "vocabulary.setdefault(token, len(vocabulary))"},
    )
    mistake(
        "vocabulary-filled",
        "Unknown tokens are written into the vocabulary, as <unk>",
        "`setdefault` asks and writes; you only want to ask.",
        edits={GET: "vocabulary.setdefault(token, unknown)"},
    )
    mistake(
        "float-when-empty",
        "The dtype is left to PyTorch, and an empty list becomes floats",
        "Look at torch.tensor([]).dtype, and say which one you want.",
        edits={", dtype=torch.long": ""},
    )
    mistake(
        "floats",
        "The ids are floats",
        "nn.Embedding takes whole numbers: int64.",
        edits={"dtype=torch.long": "dtype=torch.float"},
    )
    mistake(
        "int32",
        "The ids are int32, not int64",
        "A LongTensor holds int64; that is torch.long.",
        edits={"dtype=torch.long": "dtype=torch.int32"},
    )
    mistake(
        "list-returned",
        "A list is returned, not a tensor",
        "The table is indexed with tensors of ids.",
        edits={RETURN: "return ids"},
    )
    mistake(
        "batched",
        "There is a batch dimension too many",
        "One text gives one dimension; the batch comes in the next exercise.",
        edits={"torch.tensor(ids,": "torch.tensor([ids],"},
    )
    mistake(
        "lower-case",
        "Tokens are turned into lower case first",
        "'The' is not in this vocabulary, though 'the' is.",
        edits={"(token, unknown)": "(token.lower(), unknown)"},
    )
    mistake(
        "framed",
        "<sos> and <eos> are added",
        "As many ids as tokens; the frame comes where a decoder needs it (lesson 6).",
        edits={RETURN: "ids = [vocabulary['<sos>'], *ids, vocabulary['<eos>']]\n    " + RETURN},
    )
    mistake(
        "one-hot",
        "One-hot rows are returned, not ids",
        "An id is a single number; one-hot rows come in exercise 5, and only to be thrown away again.",
        edits={RETURN: "return F.one_hot(torch.tensor(ids, dtype=torch.long), len(vocabulary))"},
    )
    # fmt: on
