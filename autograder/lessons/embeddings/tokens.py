"""Checks of `tokenise`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.explain import explained
from autograder.judge.judgement import Seen
from autograder.lessons.embeddings import reference

WORDS = ("clock", "Bread", "harbour", "sea", "Cat", "key", "sailor", "mayor", "church", "Water")
MARKS = (" ", ", ", " ", ". ", " ", "; ", " – ", "\n", "? ", " ")
SPLIT = 're.split(r"\\b", text)'
RETURN = 'return [piece for piece in pieces if piece != ""]'


def sentence(draw: Draw, words: int) -> str:
    """Return words drawn at random with marks between them; it begins and ends with a word."""
    chosen = [WORDS[i] for i in draw.integers(0, len(WORDS), words).tolist()]
    marks = [MARKS[i] for i in draw.integers(0, len(MARKS), words - 1).tolist()]
    return "".join(part for pair in zip(chosen, [*marks, ""], strict=True) for part in pair)


def _empty_pieces(seen: Seen) -> str | None:
    pieces = list(seen.got.value)
    if "" not in pieces:
        return None
    return (
        f"There is an empty string among the pieces, at place {pieces.index('')}; none should be."
    )


def _not_the_text(seen: Seen) -> str | None:
    """Say where the pieces, joined, stop being the text."""
    text, joined = seen.inputs["args"][0], "".join(seen.got.value)
    if joined == text:
        return None
    if joined == text.lower():
        return "The text comes back in lower case; tokens keep the letters they have."
    place = next(
        (i for i, (a, b) in enumerate(zip(text, joined, strict=False)) if a != b), len(joined)
    )
    if place == len(text):
        return f"Joined together, your pieces go on after the text's end: …{joined[place:][:12]!r}."
    near = text[max(0, place - 8) : place + 8]
    return (
        f"Joined together, your pieces are not the text: near {near!r} the character {text[place]!r} "
        "is not where it was."
    )


def _wrong_cut(seen: Seen) -> str | None:
    """Say which piece is cut in another place than at a word's edge."""
    for piece in seen.got.value:
        inner = reference.tokenise(piece)
        if len(inner) > 1:
            return f"{piece!r} is one of your pieces, though words begin or end inside it: {inner}."
    pairs = zip(seen.got.value, seen.expected.value, strict=False)
    for place, (got, want) in enumerate(pairs):
        if got != want:
            return f"Piece {place} is {got!r}, though no word begins or ends where it is cut off."
    return None


judge = explained(_empty_pieces, _not_the_text, _wrong_cut)


def add_tokenise(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("tokenise", 2, "tokenise", reference=reference.tokenise)
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case(
        "words, and what stands between them, each become a piece", judge=judge, weight=2
    )
    def words(draw: Draw) -> Stimulus:
        return call(sentence(draw, draw.integer(9, 14)))

    @exercise.case("a text that begins and ends with a mark loses neither", judge=judge)
    def marks_outside(draw: Draw) -> Stimulus:
        return call(f'"{sentence(draw, 5)}!" ')

    @exercise.case("apostrophes, numbers, underscores and letters beyond A to Z", judge=judge)
    def odd_characters(draw: Draw) -> Stimulus:
        number = draw.integer(10, 99)
        return call(f"they weren't {number}.5 km_away:  {sentence(draw, 3)} – déjà vu, Zoë?!")

    @exercise.case("marks without any word, and white space alone", judge=judge, weight=0.5)
    def no_words(draw: Draw) -> Stimulus:
        return call("\n\n … ?! " * draw.integer(1, 3))

    @exercise.case("an empty text has no pieces", judge=judge, weight=0.5)
    def nothing(_draw: Draw) -> Stimulus:
        return call("")


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    # fmt: off - a mistake is a small table: title, hint, edit
    mistake(
        "white-space-dropped",
        "White space is thrown away",
        "Join your pieces: is it the text again, or does it run together?",
        edits={RETURN: "return [piece for piece in pieces if piece.strip()]"},
    )
    mistake(
        "pieces-stripped",
        "The pieces are stripped of their spaces",
        "A piece such as ', ' has a space in it, and keeps it.",
        edits={RETURN: "return [piece.strip() for piece in pieces if piece.strip()]"},
    )
    mistake(
        "split-at-spaces",
        "The text is split at white space, which is lost, and marks stick to words",
        "Is 'clock.' a word? And what does `str.split` do with the spaces?",
        edits={SPLIT: "text.split()"},
    )
    mistake(
        "spaces-as-pieces",
        "Only white space is split off: marks stick to their words",
        "In 'the clock.' the full stop is outside the word; there is a boundary before it.",
        edits={SPLIT: 're.split(r"(\\s+)", text)'},
    )
    mistake(
        "words-only",
        "Only the words are kept; what stands between them is lost",
        "Everything belongs to some piece. What `re.split` splits at is lost, unless it has no width.",
        edits={SPLIT: 're.findall(r"\\w+", text)'},
    )
    mistake(
        "marks-dropped",
        "Words and spaces are kept, but marks are lost",
        "Everything in the text belongs to some piece: commas too.",
        edits={SPLIT: 're.findall(r"\\w+|\\s+", text)'},
    )
    mistake(
        "marks-one-by-one",
        "Each mark and each space becomes a piece of its own",
        "In 'sea, and' no word begins or ends between the comma and the space.",
        edits={SPLIT: 're.findall(r"\\w+|\\W", text)'},
    )
    mistake(
        "characters",
        "The text is split into single characters",
        "A boundary lies only where a word begins or ends.",
        edits={SPLIT: "list(text)"},
    )
    mistake(
        "inside-words",
        "The text is split inside words instead of at their edges",
        "\\b and \\B are opposites.",
        edits={'r"\\b"': 'r"\\B"'},
    )
    mistake(
        "not-raw",
        'The pattern is "\\b" without the r in front: that is a backspace, not a boundary',
        'Print len("\\b") and len(r"\\b").',
        edits={'r"\\b"': '"\\b"'},
    )
    mistake(
        "lower-case",
        "The text is turned into lower case",
        "Joined together, the pieces have to be the text as it was.",
        edits={SPLIT: 're.split(r"\\b", text.lower())'},
    )
    mistake(
        "contractions-kept",
        "Apostrophes are taken for letters",
        "A boundary also lies on both sides of the apostrophe of weren't.",
        edits={SPLIT: "re.findall(r\"[\\w']+|[^\\w']+\", text)"},
    )
    mistake(
        "english-only",
        "Only A to Z are taken for letters",
        "Is the é of déjà part of its word?",
        edits={SPLIT: 're.split(r"\\b", text, flags=re.ASCII)'},
    )
    mistake(
        "ends-cut-off",
        "The first and the last piece are dropped, whatever they hold",
        "The outer pieces are empty only where the text begins or ends with a word.",
        edits={RETURN: "return pieces[1:-1]"},
    )
    mistake(
        "each-once",
        "Each piece is kept once only",
        "A text says 'the' many times; collecting the different ones comes in the next exercise.",
        edits={RETURN: 'return list(dict.fromkeys(piece for piece in pieces if piece != ""))'},
    )
    mistake(
        "empty-kept",
        "Empty strings are left among the pieces",
        "A text that begins with a word has a boundary at its very start: what lies before it?",
        edits={RETURN: "return pieces"},
    )
    # fmt: on
