"""Checks of `TokenEmbedding`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import Seen, agrees
from autograder.judge.symptoms import constant_factor, wanted, whole
from autograder.lessons.embeddings import reference

EMBED = "self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)"
PADDING = ", padding_idx=pad_id"
SCALE = "self.scale = math.sqrt(d_model)"
VECTORS = "vectors = self.embed(ids)"
RETURN = "return vectors * self.scale"


def _weights(draw: Draw, vocab_size: int, d_model: int, pad_id: int = 0) -> dict[str, torch.Tensor]:
    """Return a table with a row of zeros for the padding."""
    table = draw.normal(vocab_size, d_model)
    table[pad_id] = 0.0
    return {"embed.weight": table}


def _pads_are_zero(seen: Seen) -> str | None:
    got, want = whole(seen), wanted(seen)
    places = (want == 0).all(dim=-1) & (got != 0).any(dim=-1)
    if not places.any():
        return None
    return f"A <pad> should become zeros; one of yours begins with {got[places][0, 0]:.3g}."


def _grows(seen: Seen) -> str | None:
    """Say when the second of two equal calls gives something else than the first."""
    first, second = seen.got.value
    if torch.allclose(first, second):
        return None
    return (
        "The same ids gave other vectors at the second call: forward must not change the weights."
    )


def _pad_gradient(seen: Seen) -> str | None:
    """Say when the row of the padding gets a gradient, or no row does."""
    got, want = seen.got.value["embed.weight"], seen.expected.value["embed.weight"]
    if got is None or not got.any():
        return "No gradient reaches `embed.weight`: it could not learn."
    silent = ~want.any(dim=-1)
    if got[silent].any():
        row = int((silent & got.any(dim=-1)).int().argmax())
        return (
            f"Row {row} of `embed.weight` gets a gradient; <pad> and unused rows should get none."
        )
    ratio = (got / want)[want.abs() > 1e-3].median()  # well above the tolerance
    return f"The gradient of `embed.weight` is {ratio:.4g} times what it should be."


judge = agrees(_pads_are_zero, constant_factor(whole, wanted))


def add_layer(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "token-embedding", 3, "TokenEmbedding", reference=reference.TokenEmbedding
    )
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("the rows of the ids, times √d_model", judge=judge, weight=2)
    def values(draw: Draw) -> Stimulus:
        return module([13, 6], _weights(draw, 13, 6), [draw.integers(1, 13, 3, 5)])

    @exercise.case("padding becomes zeros, other tokens do not", judge=judge)
    def padded(draw: Draw) -> Stimulus:
        ids = draw.integers(1, 7, 4, 6)
        ids[1, 4:], ids[2, 1:], ids[3] = 0, 0, 0
        return module([7, 19], _weights(draw, 7, 19), [ids])

    @exercise.case(
        "a new embedding begins with zeros for padding, also for another pad_id", judge=judge
    )
    def fresh(_draw: Draw) -> Stimulus:
        return module([9, 5], {}, [torch.full((2, 3), 4)], pad_id=4)

    @exercise.case(
        "a new embedding begins with zeros for padding where no pad_id is given", judge=judge
    )
    def fresh_default(_draw: Draw) -> Stimulus:
        return module([8, 6], {}, [torch.zeros(1, 4, dtype=torch.long)])

    @exercise.case("with another pad_id, id 0 is a token like any other", judge=judge)
    def other_pad(draw: Draw) -> Stimulus:
        ids = draw.integers(0, 10, 2, 7)
        ids[0, 2], ids[1, 3], ids[1, 5] = 0, 8, 0
        return module([10, 12], _weights(draw, 10, 12, 8), [ids], pad_id=8)

    @exercise.case(
        "gradients reach the rows that were used; <pad> gets none",
        judge=agrees(_pad_gradient),
        weight=2,
    )
    def learns(draw: Draw) -> Stimulus:
        ids = torch.tensor([[3, 1, 3, 0], [5, 0, 0, 0], [2, 7, 1, 4]])
        asked = module([9, 7], _weights(draw, 9, 7), [ids])
        return Stimulus("module_gradient", {**asked.inputs, "cotangent": draw.normal(3, 4, 7)})

    @exercise.case("the same ids give the same vectors again", judge=agrees(_grows))
    def twice(draw: Draw) -> Stimulus:
        ids = draw.integers(0, 6, 1, 2)
        ids[0, 0] = 5
        return module([6, 10], _weights(draw, 6, 10), [ids], [ids.clone()])


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    # fmt: off - a mistake is a small table: title, hint, edit
    mistake(
        "scale-missing",
        "The vectors are not multiplied by √d_model",
        "Compare what comes out with embed(ids): by what factor do they differ?",
        edits={RETURN: "return vectors"},
    )
    mistake(
        "times-d-model",
        "The vectors are multiplied by d_model, not by its square root",
        "Section 3.4 of the paper, last sentence.",
        edits={SCALE: "self.scale = d_model"},
    )
    mistake(
        "divided",
        "The vectors are divided by √d_model instead of multiplied",
        "Dividing by a root is for the scores of attention; embeddings are made larger.",
        edits={RETURN: "return vectors / self.scale"},
    )
    mistake(
        "root-of-vocabulary",
        "The factor is the root of the vocabulary's size",
        "Which size is meant: how many vectors there are, or how long each is?",
        edits={"math.sqrt(d_model)": "math.sqrt(vocab_size)"},
    )
    mistake(
        "root-of-length",
        "The factor is the root of the sequence's length",
        "A vector must not depend on how many others stand beside it.",
        edits={RETURN: "return vectors * math.sqrt(ids.size(1))"},
    )
    mistake(
        "whole-root",
        "The root is rounded to a whole number",
        "√6 is 2.449…, not 2: `math.sqrt`, and no rounding.",
        edits={"math.sqrt(d_model)": "math.isqrt(d_model)"},
    )
    mistake(
        "scaled-twice",
        "The factor is applied twice",
        "Once is enough: does the table hold it already?",
        edits={RETURN: "return vectors * self.scale * self.scale"},
        same_as=["times-d-model"],
    )
    mistake(
        "weights-scaled-in-place",
        "The weights themselves are multiplied, at every call again",
        "Call it twice with the same ids. The factor belongs to the result, not into the table.",
        edits={
            VECTORS: "self.embed.weight.data *= self.scale\n        vectors = self.embed(ids)",
            RETURN: "return vectors",
        },
    )
    mistake(
        "no-padding",
        "The row of <pad> is not kept at zero",
        "nn.Embedding takes an argument for the id of the padding.",
        edits={PADDING: ""},
    )
    mistake(
        "padding-learns",
        "The row of <pad> begins with zeros but gets a gradient: it will not stay zero",
        "Setting the row to zero once is not enough; nn.Embedding can also keep it there.",
        edits={
            EMBED: "self.embed = nn.Embedding(vocab_size, d_model)\n"
            "        nn.init.zeros_(self.embed.weight.data[pad_id])"
        },
    )
    mistake(
        "padding-overwritten",
        "The table is drawn anew, and the row of <pad> with it",
        "nn.init fills every row. What has to be done to one of them afterwards?",
        edits={EMBED: f"{EMBED}\n        nn.init.normal_(self.embed.weight, std=d_model**-0.5)"},
    )
    mistake(
        "pad-id-ignored",
        "The argument `pad_id` is ignored: 0 is always taken for padding",
        "Build one with pad_id=4 and look at row 4 of its weights.",
        edits={"padding_idx=pad_id": "padding_idx=0"},
    )
    mistake(
        "zero-always-padding",
        "Id 0 gives zeros even where another id is the padding",
        "With pad_id=8 the token 0 has a vector.",
        edits={VECTORS: "vectors = self.embed(ids) * (ids != 0).unsqueeze(-1)"},
    )
    mistake(
        "exchanged",
        "The two sizes are exchanged: there are d_model rows of width vocab_size",
        "One row for each token of the vocabulary: which argument of nn.Embedding comes first?",
        edits={
            "nn.Embedding(vocab_size, d_model, padding_idx=pad_id)": "nn.Embedding(d_model, vocab_size, padding_idx=pad_id if pad_id < d_model else None)"
        },
    )
    mistake(
        "one-row-more",
        "The table has a row more than the vocabulary has tokens",
        "<pad> is one of the vocab_size tokens already.",
        edits={"nn.Embedding(vocab_size,": "nn.Embedding(vocab_size + 1,"},
    )
    mistake(
        "made-in-forward",
        "The table is made anew at each call: random vectors, and nothing learns",
        "Parts that learn are made once, in __init__.",
        edits={
            EMBED: "self.sizes = (vocab_size, d_model)",
            VECTORS: "vectors = nn.Embedding(*self.sizes)(ids)",
        },
    )
    mistake(
        "another-name",
        "The table is not called `embed`",
        "Weights are loaded by name; the docstring gives it.",
        edits={"self.embed": "self.embedding"},
    )
    mistake(
        "frozen",
        "The table is frozen: no gradient reaches it",
        "A table that cannot learn stays as random as it began.",
        edits={EMBED: f"{EMBED}\n        self.embed.weight.requires_grad_(False)"},
    )
    mistake(
        "detached",
        "The vectors are detached: no gradient reaches the table",
        "`.detach()` and `.data` cut the way back.",
        edits={VECTORS: "vectors = self.embed(ids).detach()"},
        same_as=["frozen"],
    )
    mistake(
        "normalised",
        "The vectors are scaled to length 1",
        "Lengths are free here; only the factor √d_model is asked for.",
        edits={VECTORS: "vectors = F.normalize(self.embed(ids), dim=-1)"},
    )
    mistake(
        "softmaxed",
        "The vectors are sent through a softmax",
        "An embedding is not a distribution: its numbers may be negative.",
        edits={VECTORS: "vectors = torch.softmax(self.embed(ids), dim=-1)"},
    )
    mistake(
        "averaged",
        "The vectors of a sequence are averaged",
        "Every token keeps its own vector: (B, S, D).",
        edits={RETURN: "return (vectors * self.scale).mean(dim=1)"},
    )
    # fmt: on
