"""Checks of `LearnedPositionalEmbedding`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees, unchanged
from autograder.lessons.positional_encoding import reference
from autograder.lessons.positional_encoding.judges import in_float32, learns
from autograder.lessons.positional_encoding.symptoms import LAYER

TABLE = "self.embed = nn.Embedding(max_len, d_model)"
LENGTH = "length = x.size(1)"
REFUSE = "if length > self.embed.num_embeddings:"
RAISE = (
    'raise ValueError(f"there are {self.embed.num_embeddings} positions, the input has {length}")'
)
POSITIONS = "torch.arange(length, device=x.device)"
RETURN = "return x + self.embed(positions)"
judge = in_float32(agrees(*LAYER))


def _built(
    draw: Draw, max_len: int, d_model: int, *sizes: tuple[int, int], train: bool = False
) -> Stimulus:
    """Build with a table drawn by the judge, and call with one batch per size (B, S)."""
    weights = {"embed.weight": draw.normal(max_len, d_model)}
    calls = [[draw.normal(batch, length, d_model)] for batch, length in sizes]
    return module([max_len, d_model], weights, *calls, train=train)


def add_learned(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "learned-position",
        4,
        "LearnedPositionalEmbedding",
        reference=reference.LearnedPositionalEmbedding,
    )
    _add_cases(exercise)
    _add_lookup_mistakes(exercise)
    _add_sum_mistakes(exercise)
    _add_learning_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case(
        "position s of every sample gets row s of the learnt table", judge=judge, weight=2
    )
    def batch(draw: Draw) -> Stimulus:
        return _built(draw, 30, 8, (3, 6))

    @exercise.case("a larger batch than the text is long, or the table", judge=judge)
    def large_batch(draw: Draw) -> Stimulus:
        return _built(draw, 7, 10, (9, 4))

    @exercise.case("one sample alone, as long as the table", judge=judge)
    def full_length(draw: Draw) -> Stimulus:
        return _built(draw, 7, 4, (1, 7))

    @exercise.case(
        "as many samples as tokens as features: the length is the second dimension", judge=judge
    )
    def cube(draw: Draw) -> Stimulus:
        return _built(draw, 40, 6, (6, 6))

    @exercise.case(
        "a short text, then a longer one: nothing is kept from call to call", judge=judge
    )
    def calls(draw: Draw) -> Stimulus:
        return _built(draw, 12, 6, (2, 3), (4, 9), (2, 1))

    @exercise.case("train mode is no different: there is no dropout here", judge=judge, weight=0.5)
    def train_mode(draw: Draw) -> Stimulus:
        return _built(draw, 20, 8, (4, 10), train=True)

    @exercise.case("a text longer than the table is refused with a ValueError")
    def too_long(draw: Draw) -> Stimulus:
        return _built(draw, 5, 8, (2, 6))

    @exercise.case(
        "the tensor you are given comes back unchanged, in float64 too",
        judge=in_float32(unchanged(*LAYER)),
        weight=0.5,
    )
    def arguments(draw: Draw) -> Stimulus:
        asked = _built(draw, 9, 6)
        return Stimulus("module", {**asked.inputs, "calls": [[draw.normal(2, 5, 6).double()]]})

    @exercise.case("gradients reach the rows that were used", judge=learns(agrees()))
    def gradients(draw: Draw) -> Stimulus:
        asked = _built(draw, 8, 6, (3, 5))
        return Stimulus("module_gradient", {**asked.inputs, "cotangent": draw.normal(3, 5, 6)})


# fmt: off - a mistake reads best as a block of two or three lines


def _add_lookup_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    second = "x is (batch, length, features): which of the three counts positions?"
    mistake(
        "counts-samples",
        "As many positions are looked up as there are samples, not tokens",
        second,
        edits={LENGTH: "length = x.size(0)"},
    )
    mistake(
        "length-first",
        "The first dimension is taken for the length: each sample gets one position for all its tokens",
        second,
        edits={
            LENGTH: "length = x.size(0)",
            "self.embed(positions)": "self.embed(positions).unsqueeze(1)",
        },
    )
    mistake(
        "counts-features",
        "As many positions are looked up as there are features, not tokens",
        second,
        edits={LENGTH: "length = x.size(-1)"},
    )
    mistake(
        "looks-up-tokens",
        "The table is looked up with the tokens' own numbers, not with positions",
        "Which row is added must not depend on what x holds.",
        edits={POSITIONS: "x[..., 0].abs().long()"},
    )
    mistake(
        "whole-table",
        "The whole table is added, whatever the length of the text",
        "A text of S tokens needs the first S rows.",
        edits={"self.embed(positions)": "self.embed.weight"},
    )
    mistake(
        "starts-at-one",
        "Positions start at 1, not at 0",
        "Position 0 gets row 0.",
        edits={POSITIONS: "torch.arange(1, length + 1)"},
    )
    mistake(
        "one-position",
        "All tokens get the row of one position",
        "Is what you add different at each position?",
        edits={POSITIONS: "torch.tensor([length - 1])"},
    )
    mistake(
        "position-zero-everywhere",
        "All tokens get row 0",
        "Is what you add different at each position?",
        edits={POSITIONS: "torch.zeros(length, dtype=torch.long)"},
    )
    mistake(
        "reversed",
        "Positions are counted from the end of the text",
        "Position 0 gets row 0.",
        edits={POSITIONS: "torch.arange(length).flip(0)"},
    )
    mistake(
        "counts-through-the-batch",
        "Positions are counted on from sample to sample",
        "The second sample starts at position 0 again.",
        edits={POSITIONS: "torch.arange(x.size(0) * length).view(x.size(0), length)"},
    )
    mistake(
        "random-positions",
        "Positions are drawn at random",
        "Position s gets row s, at every call.",
        edits={POSITIONS: "torch.randint(length, (length,))"},
    )
    mistake(
        "sizes-exchanged",
        "max_len and d_model are exchanged in the table",
        "One row for each position, each of width d_model.",
        edits={TABLE: "self.embed = nn.Embedding(d_model, max_len)"},
    )
    mistake(
        "one-row-more",
        "The table has one row too many",
        "max_len positions, 0 to max_len − 1.",
        edits={TABLE: "self.embed = nn.Embedding(max_len + 1, d_model)"},
    )
    mistake(
        "too-long-not-refused",
        "A text that is too long is not refused with a ValueError",
        "The table itself raises an IndexError. Compare the lengths first, and raise a ValueError.",
        edits={REFUSE: "if False:"},
    )
    mistake(
        "too-long-clamped",
        "Positions that are too large all get the last row",
        "Such a text is to be refused with a ValueError.",
        edits={
            RAISE: "pass",
            POSITIONS: "torch.arange(length).clamp(max=self.embed.num_embeddings - 1)",
        },
    )
    mistake(
        "too-long-wrapped",
        "Positions that are too large start again at row 0",
        "Such a text is to be refused with a ValueError.",
        edits={RAISE: "pass", POSITIONS: "torch.arange(length) % self.embed.num_embeddings"},
    )
    mistake(
        "too-long-cut",
        "A text that is too long is cut, without a word",
        "Lost tokens should not go unnoticed: raise a ValueError.",
        edits={RAISE: "length = self.embed.num_embeddings\n            x = x[:, :length]"},
    )
    mistake(
        "full-length-refused",
        "A text exactly as long as the table is refused",
        "max_len rows are enough for max_len tokens: > or >=?",
        edits={REFUSE: "if length >= self.embed.num_embeddings:"},
    )
    mistake(
        "batch-limited",
        "The size of the batch is compared with the table, not the length of the text",
        second,
        edits={REFUSE: "if x.size(0) > self.embed.num_embeddings:"},
    )


def _add_sum_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "tokens-lost",
        "The positions alone are returned; the tokens are lost",
        "x + embed(0 … S − 1).",
        edits={RETURN: "return self.embed(positions).expand_as(x)"},
    )
    mistake(
        "multiplied",
        "Positions are multiplied with the tokens, not added",
        "What comes out for a token of zeros? It should be the position.",
        edits={RETURN: "return x * self.embed(positions)"},
    )
    mistake(
        "concatenated",
        "Positions are put beside the tokens instead of added",
        "The output has the width of the input: (B, S, D).",
        edits={RETURN: "return torch.cat([x, self.embed(positions).expand_as(x)], dim=-1)"},
    )
    mistake(
        "scaled",
        "The positions are multiplied by √d_model",
        "That factor belongs to the token embedding of lesson 1.",
        edits={RETURN: "return x + self.embed(positions) * math.sqrt(x.size(-1))"},
    )
    mistake(
        "tokens-scaled",
        "The tokens are multiplied by √d_model",
        "The token embedding of lesson 1 has done that already.",
        edits={RETURN: "return x * math.sqrt(x.size(-1)) + self.embed(positions)"},
    )
    mistake(
        "in-place",
        "The tokens are changed in place, which changes the caller's tensor",
        "`x += p` writes into the tensor you were given; `x + p` makes a new one.",
        edits={RETURN: "x += self.embed(positions)\n        return x"},
    )
    mistake(
        "dropout",
        "There is dropout in it",
        "This layer only adds: train and eval mode are the same.",
        edits={RETURN: "return F.dropout(x + self.embed(positions), 0.1, self.training)"},
    )
    mistake(
        "not-added",
        "Nothing is added to the tokens",
        "Is the result of the lookup used?",
        edits={RETURN: "return x"},
    )


def _add_learning_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "detached",
        "The table is cut off from the gradient: it never learns",
        "`detach()`, `.data` and `no_grad` keep gradients out. Print embed.weight.grad after backward().",
        edits={RETURN: "return x + self.embed(positions).detach()"},
    )
    mistake(
        "made-in-forward",
        "The table is made anew at each call, so it is random and never learns",
        "Parts that learn are made once, in __init__.",
        edits={RETURN: "return x + nn.Embedding(*self.embed.weight.shape)(positions)"},
    )
    mistake(
        "sinusoids",
        "The table is computed, not learnt: these are the sinusoids",
        "`embed` should be looked up; its rows are what training changes.",
        edits={RETURN: "return x + sinusoidal_encoding(length, x.size(-1))"},
    )
    mistake(
        "padding-row",
        "Row 0 is declared to be padding, so position 0 never learns",
        "padding_idx is for token ids. Here 0 is the first position.",
        edits={TABLE: "self.embed = nn.Embedding(max_len, d_model, padding_idx=0)"},
    )
    mistake(
        "bare-parameter",
        "`embed` is a bare parameter, not an nn.Embedding",
        "It learns as well, but the course looks for embed.weight.",
        edits={
            TABLE: "self.embed = nn.Parameter(torch.randn(max_len, d_model))",
            "self.embed.num_embeddings": "self.embed.size(0)",
            "self.embed(positions)": "self.embed[positions]",
        },
    )
    mistake(
        "another-name",
        "The table is not called `embed`",
        "Weights are found by this name.",
        edits={"self.embed": "self.position"},
    )
