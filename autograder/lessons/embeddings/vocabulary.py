"""Checks of `build_vocabulary`."""

from collections.abc import Sequence
from itertools import pairwise

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.explain import arguments_kept, explained
from autograder.judge.judgement import Seen
from autograder.lessons.embeddings import reference

SPECIALS = ("<pad>", "<sos>", "<eos>", "<unk>")
NAMES = ("sea", "key", "cat", "bell", ",", ".", "gull", "rope", "salt", "tide", "sail", "moon")
TELLING = (" ", "Bread", "bread")  # what must be told apart, and what must not be dropped
COUNTS = "counts = Counter(token for token in tokens if token not in SPECIALS)"
RANKED = "ranked = sorted(counts, key=lambda token: (-counts[token], token))"
CUT = "ranked = ranked[: max_size - len(SPECIALS)]"
EVERYTHING = "everything = [*SPECIALS, *ranked]"
RETURN = "return {token: index for index, token in enumerate(everything)}"


def _shuffled(draw: Draw, tokens: Sequence[str]) -> list[str]:
    order = draw.different(len(tokens), 0, len(tokens))
    return [tokens[i] for i in order]


def _names(draw: Draw, count: int) -> list[str]:
    """Return different tokens in any order, the telling ones among them."""
    others = _shuffled(draw, NAMES)[: count - len(TELLING)]
    return _shuffled(draw, [*TELLING, *others])[:count]


def _counted(draw: Draw, counts: list[int]) -> list[str]:
    """Return a shuffled text in which tokens occur as often as `counts` says."""
    names = _names(draw, len(counts))
    return _shuffled(draw, [name for name, n in zip(names, counts, strict=True) for _ in range(n)])


def _specials(seen: Seen) -> str | None:
    got = seen.got.value
    for index, special in enumerate(SPECIALS):
        if special not in got:
            return f"{special} is not in your vocabulary; the four specials always are."
        if got[special] != index:
            return f"{special} has id {got[special]!r}; the specials come first, so it should be {index}."
    return None


def _ids_are_no_ids(seen: Seen) -> str | None:
    got = seen.got.value
    if sorted(got.values()) == list(range(len(got))):
        return None
    twice = len(set(got.values())) < len(got)
    said = "two tokens share an id" if twice else f"they are {sorted(got.values())[:6]}, …"
    return f"The ids of {len(got)} tokens should be 0 to {len(got) - 1}, each once; {said}."


def _size(seen: Seen) -> str | None:
    got, want = len(seen.got.value), len(seen.expected.value)
    if got == want:
        return None
    limit = (seen.inputs["kwargs"] or {}).get("max_size")
    asked = f" with max_size={limit}" if limit is not None else ""
    return f"Your vocabulary has {got} entries{asked}, specials included; {want} were expected."


def _order(seen: Seen) -> str | None:
    """Name two neighbours that stand in the wrong order, and why."""
    tokens, got = seen.inputs["args"][0], seen.got.value
    ranked = [token for token in sorted(got, key=got.__getitem__) if token not in SPECIALS]
    for before, after in pairwise(ranked):
        more, fewer = tokens.count(before), tokens.count(after)
        if more < fewer:
            return f"{before!r} occurs {more} times and {after!r} {fewer} times, but {before!r} comes first."
        if more == fewer and before > after:
            said = f"{before!r} and {after!r} occur {more} times each"
            return f"{said}; of the two, sorted() puts {after!r} first."
    left_out = [token for token in seen.expected.value if token not in got]
    return f"{left_out[0]!r} was left out, though it is frequent enough." if left_out else None


symptoms = (_specials, _ids_are_no_ids, _size, _order)
judge = explained(*symptoms)


def add_vocabulary(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "build-vocabulary", 3, "build_vocabulary", reference=reference.build_vocabulary
    )
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("specials first, then tokens by falling count", judge=judge, weight=2)
    def counts(draw: Draw) -> Stimulus:
        return call(_counted(draw, [9, 7, 6, 4, 3, 2, 1]))

    @exercise.case("tokens that occur equally often are in the order of sorted()", judge=judge)
    def ties(draw: Draw) -> Stimulus:
        return call(_counted(draw, [3, 5, 3, 1, 3, 5, 1, 3, 1, 1]))

    @exercise.case("max_size keeps the most frequent, the four specials counted in", judge=judge)
    def limited(draw: Draw) -> Stimulus:
        rare, often = _names(draw, 9)[:5], ["gong", "reef", "knot", "pier"]
        text = _shuffled(draw, often * 3 + often[:3] * 2 + often[:1])
        return call([*rare, rare[0], *text], max_size=draw.integer(6, 9))

    @exercise.case("max_size=4 leaves the specials alone", judge=judge, weight=0.5)
    def smallest(draw: Draw) -> Stimulus:
        return call(_counted(draw, [4, 2, 1]), max_size=4)

    @exercise.case("a max_size above what there is changes nothing", judge=judge, weight=0.5)
    def roomy(draw: Draw) -> Stimulus:
        return call(_counted(draw, [4, 3, 1]), max_size=50)

    @exercise.case("specials that occur in the text are not added twice", judge=judge)
    def specials_in_text(draw: Draw) -> Stimulus:
        text = [*_counted(draw, [6, 4, 2, 1]), *["<unk>"] * 5, *["<eos>"] * 3, "<pad>"]
        return call(_shuffled(draw, text), max_size=7)

    @exercise.case("no tokens at all: the specials are there", judge=judge, weight=0.5)
    def nothing(_draw: Draw) -> Stimulus:
        return call([])

    @exercise.case(
        "the list of tokens comes back unchanged", judge=arguments_kept(judge), weight=0.5
    )
    def arguments(draw: Draw) -> Stimulus:
        tokens = ["tide", "bell", "tide", *_counted(draw, [3, 2, 1])]
        return Stimulus("arguments_after", {"args": [tokens], "kwargs": {}})


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    # fmt: off - a mistake is a small table: title, hint, edit
    mistake(
        "ties-as-met",
        "Tokens of equal count stand in the order they were met",
        "`Counter.most_common` leaves ties as they come; the alphabet has to decide.",
        edits={RANKED: "ranked = [token for token, _ in counts.most_common()]"},
    )
    mistake(
        "ties-backwards",
        "Tokens of equal count stand in reverse alphabetical order",
        "`reverse=True` turns both parts of a sort key around; you want to turn one.",
        edits={
            RANKED: "ranked = sorted(counts, key=lambda token: (counts[token], token), reverse=True)"
        },
    )
    mistake(
        "rising-count",
        "The rarest tokens come first",
        "Which tokens should survive a small max_size?",
        edits={"(-counts[token], token)": "(counts[token], token)"},
    )
    mistake(
        "alphabet-only",
        "The tokens are sorted by the alphabet; the counts play no part",
        "Count first: the most frequent token gets the first free id.",
        edits={"(-counts[token], token)": "token"},
    )
    mistake(
        "as-met",
        "The tokens stand in the order they were met; the counts play no part",
        "Count first: the most frequent token gets the first free id.",
        edits={RANKED: "ranked = list(counts)"},
    )
    mistake(
        "by-length",
        "The tokens are sorted by their length, not by how often they occur",
        "len(token) is the number of its letters; a Counter knows how often it came.",
        edits={"-counts[token]": "-len(token)"},
    )
    mistake(
        "specials-not-counted",
        "max_size does not count the specials: there are four entries too many",
        "Ask for max_size=6 and look at len() of what comes.",
        edits={CUT: "ranked = ranked[:max_size]"},
    )
    mistake(
        "one-too-many",
        "max_size is exceeded by one",
        "How many places are left when four of them are taken?",
        edits={CUT: "ranked = ranked[: max_size - len(SPECIALS) + 1]"},
    )
    mistake(
        "one-too-few",
        "One token fewer than max_size allows is kept",
        "How many places are left when four of them are taken?",
        edits={CUT: "ranked = ranked[: max(0, max_size - len(SPECIALS) - 1)]"},
    )
    mistake(
        "max-size-ignored",
        "The argument `max_size` is ignored",
        "Ask for max_size=6 and look at len() of what comes.",
        edits={CUT: "pass"},
    )
    mistake(
        "rarest-kept",
        "max_size keeps the rarest tokens and drops the frequent ones",
        "Which end of the list does your slice keep?",
        edits={
            CUT: "ranked = ranked[len(ranked) - max_size + len(SPECIALS) :]"
            " if len(ranked) > max_size - 4 else ranked"
        },
    )
    mistake(
        "cut-before-counting",
        "max_size cuts off the text, before anything is counted",
        "A token that comes late may still be frequent: cut the ranking, not the text.",
        edits={
            COUNTS: "counts = Counter([t for t in dict.fromkeys(tokens) if t not in SPECIALS]"
            "[: None if max_size is None else max_size - 4])\n"
            "    counts = Counter({t: tokens.count(t) for t in counts})"
        },
    )
    mistake(
        "specials-counted-again",
        "A special that occurs in the text is added a second time",
        "Build it from ['<unk>', 'a'] and look: which id has <unk>, and which id is missing?",
        edits={" if token not in SPECIALS)": ")"},
    )
    mistake(
        "specials-last",
        "The specials come last",
        "<pad> is 0 for every vocabulary, whatever its size.",
        edits={EVERYTHING: "everything = [*ranked, *SPECIALS]"},
    )
    mistake(
        "specials-missing",
        "The specials are missing",
        "What would <pad> and <unk> be looked up as?",
        edits={EVERYTHING: "everything = ranked"},
    )
    mistake(
        "unknown-first",
        "The specials stand in another order than <pad>, <sos>, <eos>, <unk>",
        "Padding has id 0 in the whole course.",
        edits={EVERYTHING: 'everything = ["<unk>", "<pad>", "<sos>", "<eos>", *ranked]'},
    )
    mistake(
        "from-one",
        "The ids begin with 1",
        "`enumerate` starts with 0, as rows of a table do.",
        edits={"enumerate(everything)": "enumerate(everything, start=1)"},
    )
    mistake(
        "ids-to-tokens",
        "The dictionary leads from ids to tokens, not from tokens to ids",
        "What will you have in hand when you look something up: a token or an id?",
        edits={"{token: index for": "{index: token for"},
    )
    mistake(
        "list-returned",
        "A list of tokens is returned, not a dictionary",
        "A list answers 'which token is number 7?'; the question is 'which number has this token?'",
        edits={RETURN: "return everything"},
    )
    mistake(
        "counts-as-ids",
        "The counts are given out as ids",
        "Two tokens that occur equally often still need different ids.",
        edits={
            RETURN: "return {t: counts[t] if t in counts else i for i, t in enumerate(everything)}"
        },
    )
    mistake(
        "lower-case",
        "Tokens are turned into lower case before they are counted",
        "'Bread' and 'bread' are two tokens here.",
        edits={"Counter(token for": "Counter(token.lower() for"},
    )
    mistake(
        "white-space-dropped",
        "White space is not taken for a token",
        "The space is the most frequent token of most texts, and it has an id.",
        edits={"if token not in SPECIALS": "if token not in SPECIALS and token.strip()"},
    )
    mistake(
        "once-only-dropped",
        "Tokens that occur once are dropped",
        "Nothing but max_size limits the vocabulary.",
        edits={RANKED: f"{RANKED}\n    ranked = [token for token in ranked if counts[token] > 1]"},
    )
    mistake(
        "tokens-sorted",
        "The caller's list is sorted in place",
        "`tokens.sort()` changes the list you were given; `sorted(tokens)` makes a new one.",
        edits={COUNTS: f"tokens.sort()\n    {COUNTS}"},
    )
    # fmt: on
