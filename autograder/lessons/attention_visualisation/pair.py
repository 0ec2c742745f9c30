"""Checks of `sentence_pair_attention`, with a small BERT of drawn weights."""

from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.judgement import Seen, agrees
from autograder.lessons.attention_visualisation import reference

PIECES = (
    "the", "cat", "sat", "on", "mat", "lay", "rug", "sun", "warm", "##er", "##ing", "##s", "dog", "walk",
    "play", ".", ",", "a", "old", "is",
)  # fmt: skip
WORDS = ("the", "cat", "sat", "on", "mat", "lay", "rug", "sun", "dog", "a", "old", "is")
ENCODE = 'encoding = tokeniser(a, b, return_tensors="pt")'
RUN = "output = model(**encoding, output_attentions=True)"
STACK = "attentions = torch.cat(output.attentions)"
TOKENS = 'tokens = tokeniser.convert_ids_to_tokens(encoding["input_ids"][0].tolist())'
START = 'sentence_b_start = encoding["token_type_ids"][0].tolist().index(1)'
RETURN = "return attentions, tokens, sentence_b_start"


def _about(seen: Seen) -> str | None:
    """Say which of the three is wrong, of the first pair of sentences that is."""
    got, want = seen.got.value, seen.expected.value
    pairs = zip(got, want, strict=True) if isinstance(want, list) else [(got, want)]
    for one, right in pairs:
        if not isinstance(one, (tuple, list)) or len(one) != 3:
            return "Three things should be returned: attentions, tokens, sentence_b_start."
        said = _tokens(one[1], right[1]) or _start(one[2], right) or _numbers(one[0], right[0])
        if said:
            return said
    return None


def _tokens(got: Any, want: list[str]) -> str | None:
    if not isinstance(got, (list, tuple)) or not all(isinstance(token, str) for token in got):
        return "The tokens should be a list of strings, as the tokeniser names them."
    if list(got) == want:
        return None
    return f"The tokens should be {want}, with the special ones and in pieces; yours are {list(got)[:30]}."


def _start(got: Any, right: Any) -> str | None:
    if got == right[2] and not isinstance(got, bool):
        return None
    if not isinstance(got, int):
        return (
            "sentence_b_start should be a whole number: the index of the first token of sentence b."
        )
    tokens = right[1]
    here = f"which is {tokens[got]!r}" if 0 <= got < len(tokens) else "where there is none"
    return f"sentence_b_start should be the index of the first token of sentence b; in {tokens} it is not {got}, {here}."


def _numbers(got: Any, want: torch.Tensor) -> str | None:
    if not isinstance(got, torch.Tensor):
        return "The attentions should be one tensor (L, H, S, S)."
    if got.shape != want.shape:
        return f"The attentions should have the shape (L, H, S, S) = {tuple(want.shape)}; yours have {tuple(got.shape)}."
    if torch.allclose(got, want, atol=1e-3):
        return None
    if torch.allclose(got.mT, want, atol=1e-3):
        return "In the attentions queries and keys are exchanged."
    return (
        "The attentions have the right shape but are not those of the model for this pair: was it given "
        "everything that the tokeniser returns, segments included?"
    )


def _judge(seen: Seen) -> Any:
    verdict = agrees()(seen)
    said = None if verdict.passed or seen.got.raised else _about(seen)
    return verdict if said is None else type(verdict)(passed=False, message=said)


def add_pair(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "sentence-pair-attention", 3, "sentence_pair_attention",
        reference=reference.sentence_pair_attention,
    )  # fmt: skip
    _add_cases(exercise)
    _add_attentions(exercise)
    _add_tokens(exercise)


def _sentence(draw: Draw, words: int) -> str:
    return " ".join(WORDS[int(place)] for place in draw.integers(0, len(WORDS), words))


def _asked(draw: Draw, *calls: tuple[str, str], **sizes: int) -> Stimulus:
    """Ask for pairs of sentences, with a vocabulary in an order of its own."""
    order = draw.different(len(PIECES), 0, len(PIECES))
    made = {"d_model": 12, "num_heads": 3, "num_layers": 2, **sizes}
    inputs = {"pieces": [PIECES[place] for place in order], "sizes": made}
    calls_ = [list(pair) for pair in calls]
    return Stimulus(
        "sentence_pair", {**inputs, "weights_seed": draw.integer(0, 2**31), "calls": calls_}
    )


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("a sentence of six words, and one of four", judge=_judge, weight=2)
    def two_sentences(draw: Draw) -> Stimulus:
        return _asked(draw, (_sentence(draw, 6), _sentence(draw, 4)))

    @exercise.case("sentence b is the longer one", judge=_judge)
    def longer_second(draw: Draw) -> Stimulus:
        return _asked(draw, (_sentence(draw, 2), _sentence(draw, 7)))

    @exercise.case("words in several pieces, capitals, punctuation, an unknown word", judge=_judge)
    def pieces(draw: Draw) -> Stimulus:
        return _asked(draw, (f"The warmer dogs, {_sentence(draw, 2)}.", "Walking is zzz, playing."))

    @exercise.case("the same sentence twice", judge=_judge, weight=0.5)
    def twice(draw: Draw) -> Stimulus:
        sentence = _sentence(draw, 4)
        return _asked(draw, (sentence, sentence))

    @exercise.case("three layers with two heads, and then another pair", judge=_judge)
    def other_sizes(draw: Draw) -> Stimulus:
        pairs = [(_sentence(draw, 3), _sentence(draw, 5)), (_sentence(draw, 5), _sentence(draw, 3))]
        return _asked(draw, *pairs, num_layers=3, num_heads=2)

    @exercise.case("one layer with one head", judge=_judge, weight=0.5)
    def one_head(draw: Draw) -> Stimulus:
        return _asked(draw, (_sentence(draw, 3), _sentence(draw, 2)), num_layers=1, num_heads=1)


def _add_attentions(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("segments-missing", "The model is not told which token belongs to which sentence",
            "What does the tokeniser return besides input_ids, and what happens to it?",
            edits={"**encoding": 'encoding["input_ids"]'},
            also=[{"**encoding": 'input_ids=encoding["input_ids"], attention_mask=encoding["attention_mask"]'}])  # fmt: skip
    mistake("not-asked-for", "The model is not asked for its attentions",
            "Without output_attentions=True they are not returned.", edits={", output_attentions=True": ""})  # fmt: skip
    mistake("batch-kept", "The batch dimension is still there", "(L, H, S, S): take the only sample of each layer.",
            edits={STACK: "attentions = torch.stack(output.attentions)"},
            also=[{STACK: "attentions = torch.stack(output.attentions, dim=1)"}])  # fmt: skip
    mistake("tuple", "The attentions are left as they come: a tuple of layers",
            "One tensor (L, H, S, S) is asked for.", edits={STACK: "attentions = output.attentions"},
            also=[{STACK: "attentions = [layer[0] for layer in output.attentions]"}])  # fmt: skip
    mistake("last-layer-only", "Only one layer is returned", "(L, H, S, S): all layers.",
            edits={STACK: "attentions = output.attentions[-1]"},
            also=[{STACK: "attentions = output.attentions[0]"}, {STACK: "attentions = output.attentions[-1][0]"}])  # fmt: skip
    mistake("heads-averaged", "The heads are averaged", "(L, H, S, S): every head has a map of its own.",
            edits={STACK: f"{STACK}.mean(dim=1)"})  # fmt: skip
    mistake("heads-before-layers", "Layers and heads are exchanged", "(L, H, S, S): layers first.",
            edits={STACK: f"{STACK}.transpose(0, 1)"})  # fmt: skip
    mistake("hidden-states", "The hidden states are returned, not the attentions",
            "output.attentions is what was asked for.", edits={STACK: "attentions = output.last_hidden_state"})  # fmt: skip
    mistake("sentences-exchanged", "The sentences are exchanged", "a comes first.",
            edits={"tokeniser(a, b,": "tokeniser(b, a,"})  # fmt: skip
    mistake("lesson-model", "The lesson's own `bert` is used, whatever model is handed in",
            "The function is given a model and a tokeniser; it should work with any.",
            edits={"model(**": "bert(**"}, also=[{"model(**": "bert(**", "tokeniser(": "tokenizer("}])  # fmt: skip


def _add_tokens(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("joined", "The sentences are joined to one before the tokeniser sees them",
            "A tokeniser takes a pair: tokeniser(a, b). What stands between the two then?",
            edits={ENCODE: 'encoding = tokeniser(a + " " + b, return_tensors="pt")'},
            also=[{ENCODE: 'encoding = tokeniser(a + " " + b, return_tensors="pt")', START: "sentence_b_start = len(tokeniser.tokenize(a)) + 1"},
                  {ENCODE: 'encoding = tokeniser(a + " [SEP] " + b, return_tensors="pt")', START: 'sentence_b_start = tokens.index("[SEP]") + 1'}])  # fmt: skip
    mistake("at-the-separator", "sentence_b_start is the index of [SEP], not of the token behind it",
            "[CLS] and [SEP] are tokens as well: count both.",
            edits={".index(1)": ".index(1) - 1"})  # fmt: skip
    mistake("one-too-far", "sentence_b_start is one too large", "Indices begin with 0.",
            edits={".index(1)": ".index(1) + 1"})  # fmt: skip
    mistake("specials-forgotten", "The special tokens are not counted in sentence_b_start",
            "[CLS] stands before a, and [SEP] behind it.", edits={START: "sentence_b_start = len(tokeniser.tokenize(a))"})  # fmt: skip
    mistake("counts-words", "Words are counted, not tokens",
            "One word may be several pieces, and punctuation is a token of its own.",
            edits={START: "sentence_b_start = len(a.split()) + 2"},
            also=[{START: "sentence_b_start = len(a.split()) + 1"}])  # fmt: skip
    mistake("length-of-b", "The length of sentence b is returned, not where it starts",
            "The sum of the segment ids counts the ones; where is the first?",
            edits={START: 'sentence_b_start = int(encoding["token_type_ids"].sum())'})  # fmt: skip
    mistake("last-separator", "The start is counted from the last [SEP]", "There are two; which one ends sentence a?",
            edits={START: "sentence_b_start = len(tokens)"},
            also=[{START: "sentence_b_start = len(tokens) - 1"}])  # fmt: skip
    mistake("ids-for-tokens", "The ids are returned, not the tokens",
            "convert_ids_to_tokens makes strings of them.", edits={TOKENS: 'tokens = encoding["input_ids"][0].tolist()'})  # fmt: skip
    mistake("plain-words", "The tokens are the words of the text, not those of the model",
            "bertviz needs a label for every row of the attentions.", edits={TOKENS: "tokens = a.split() + b.split()"},
            also=[{TOKENS: "tokens = tokeniser.tokenize(a) + tokeniser.tokenize(b)"}])  # fmt: skip
    mistake("no-special-tokens", "The special tokens are left out",
            "The model was trained with [CLS] and [SEP].", edits={"tokeniser(a, b,": "tokeniser(a, b, add_special_tokens=False,"})  # fmt: skip
    mistake("order-of-results", "The three results come in another order", "attentions, tokens, sentence_b_start.",
            edits={RETURN: "return tokens, attentions, sentence_b_start"})  # fmt: skip
    mistake("two-results", "sentence_b_start is not returned", "Three things are asked for.",
            edits={RETURN: "return attentions, tokens"})  # fmt: skip
