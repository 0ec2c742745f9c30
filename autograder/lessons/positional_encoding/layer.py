"""Checks of `PositionalEncoding`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees, unchanged
from autograder.lessons.positional_encoding import reference
from autograder.lessons.positional_encoding.judges import (
    LOOSE,
    drops_out,
    in_float32,
    is_float32,
    learns_nothing,
    table_is,
)
from autograder.lessons.positional_encoding.symptoms import LAYER, TABLE

DROPOUT = "self.dropout = nn.Dropout(dropout)"
BUFFER = 'self.register_buffer("pe", sinusoidal_encoding(max_len, d_model))'
LENGTH = "length = x.size(1)"
REFUSE = "if length > self.pe.size(0):"
RAISE = 'raise ValueError(f"the table has {self.pe.size(0)} positions, the input {length}")'
ADD = "x = x + self.pe[:length]"
RETURN = "return self.dropout(x)"
judge = in_float32(agrees(*LAYER))
far = in_float32(agrees(*LAYER, atol=LOOSE))
untouched = in_float32(unchanged(*LAYER))


def add_layer(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "positional-encoding", 5, "PositionalEncoding", reference=reference.PositionalEncoding
    )
    _add_value_cases(exercise)
    _add_form_cases(exercise)
    _add_slice_mistakes(exercise)
    _add_sum_mistakes(exercise)
    _add_buffer_mistakes(exercise)
    _add_dropout_mistakes(exercise)


def _add_value_cases(exercise: Exercise) -> None:
    @exercise.case("position s of every sample gets row s of the table", judge=judge, weight=2)
    def batch(draw: Draw) -> Stimulus:
        return module([12, 30], {}, [draw.normal(3, 7, 12)])

    @exercise.case("a larger batch than the text is long, or the table", judge=judge)
    def large_batch(draw: Draw) -> Stimulus:
        return module([8, 6], {}, [draw.normal(9, 4, 8)])

    @exercise.case("one sample alone, as long as the table", judge=judge)
    def full_length(draw: Draw) -> Stimulus:
        return module([10, 7], {}, [draw.normal(1, 7, 10)])

    @exercise.case(
        "as many samples as tokens as features: the length is the second dimension", judge=judge
    )
    def cube(draw: Draw) -> Stimulus:
        return module([6, 20], {}, [draw.normal(6, 6, 6)])

    @exercise.case(
        "a short text, then a longer one: nothing is kept from call to call", judge=judge
    )
    def calls(draw: Draw) -> Stimulus:
        return module(
            [6, 11], {}, [draw.normal(2, 3, 6)], [draw.normal(4, 9, 6)], [draw.normal(2, 1, 6)]
        )

    @exercise.case("300 positions fit into a table of the default length", judge=far)
    def default_length(draw: Draw) -> Stimulus:
        return module([16], {}, [draw.normal(2, 300, 16)])

    @exercise.case("in eval mode dropout is off", judge=judge)
    def calm(draw: Draw) -> Stimulus:
        return module([8, 15, 0.9], {}, [draw.normal(4, 10, 8)])

    @exercise.case("in train mode dropout acts on the sum of both", judge=drops_out)
    def live(draw: Draw) -> Stimulus:
        inputs = module([32, 60, 0.8], {}, [draw.normal(8, 50, 32)]).inputs
        return Stimulus("dropout", inputs)


def _add_form_cases(exercise: Exercise) -> None:
    @exercise.case("a text longer than the table is refused with a ValueError")
    def too_long(draw: Draw) -> Stimulus:
        return module([8, 5], {}, [draw.normal(2, 6, 8)])

    @exercise.case("the tensor you are given comes back unchanged", judge=untouched, weight=0.5)
    def arguments(draw: Draw) -> Stimulus:
        return module([6, 9], {}, [draw.normal(2, 5, 6)])

    @exercise.case("float32 in, float32 out", judge=is_float32, weight=0.5)
    def dtype(draw: Draw) -> Stimulus:
        return module([6, 9], {}, [draw.normal(2, 5, 6)])

    @exercise.case("it works in float64", judge=judge, weight=0.5)
    def double(draw: Draw) -> Stimulus:
        return module([6, 9], {}, [draw.normal(2, 5, 6).double()])

    @exercise.case("`pe` is a buffer and holds the table", judge=table_is(*TABLE))
    def table(_draw: Draw) -> Stimulus:
        return Stimulus("buffer", {**module([14, 25], {}).inputs, "buffer": "pe"})

    @exercise.case("nothing in it is learnt", judge=learns_nothing, weight=0.5)
    def nothing_learnt(_draw: Draw) -> Stimulus:
        return Stimulus("parameters", {**module([14, 25], {}).inputs, "attributes": []})


# fmt: off - a mistake reads best as a block of two or three lines


def _add_slice_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    second = "x is (batch, length, features): which of the three counts positions?"
    mistake(
        "sliced-by-batch",
        "The table is cut to the size of the batch, not to the length of the text",
        second,
        edits={LENGTH: "length = x.size(0)"},
    )
    mistake(
        "length-first",
        "The first dimension is taken for the length: each sample gets one position for all its tokens",
        second,
        edits={LENGTH: "length = x.size(0)", "self.pe[:length]": "self.pe[:length].unsqueeze(1)"},
    )
    mistake(
        "sliced-by-width",
        "The table is cut to the width of the embeddings, not to the length of the text",
        second,
        edits={LENGTH: "length = x.size(-1)"},
    )
    mistake(
        "one-row",
        "A single row of the table is added to all positions: a colon is missing",
        "`pe[5]` is one row, `pe[:5]` the first five. Is what you add different at each position?",
        edits={"self.pe[:length]": "self.pe[length]"},
    )
    mistake(
        "last-row",
        "The row of the last position is added to all of them",
        "`pe[4]` is one row, `pe[:5]` the first five. Is what you add different at each position?",
        edits={"self.pe[:length]": "self.pe[length - 1]"},
    )
    mistake(
        "first-row",
        "The row of position 0 is added everywhere",
        "Is what you add different at each position?",
        edits={"self.pe[:length]": "self.pe[:1]"},
    )
    mistake(
        "whole-table",
        "The whole table is added, whatever the length of the text",
        "A text of S tokens needs the first S rows.",
        edits={"self.pe[:length]": "self.pe"},
    )
    mistake(
        "last-rows",
        "The last rows of the table are taken, not the first",
        "Position 0 gets row 0, however long the table is.",
        edits={"self.pe[:length]": "self.pe[-length:]"},
    )
    mistake(
        "starts-at-one",
        "Position 0 gets row 1: all rows are off by one",
        "Position 0 gets row 0.",
        edits={"self.pe[:length]": "self.pe[1 : length + 1]"},
    )
    mistake(
        "counts-through-the-batch",
        "Positions are counted on from sample to sample",
        "The second sample starts at position 0 again.",
        edits={ADD: "x = (x.flatten(0, 1) + self.pe[: x.size(0) * length]).view_as(x)"},
    )
    mistake(
        "table-shrinks",
        "The table is cut for good: a longer text after a short one finds too few rows",
        "Cutting `self.pe` in `forward` changes the module; take a slice and leave the table whole.",
        edits={ADD: "self.pe = self.pe[:length]\n        x = x + self.pe"},
    )
    mistake(
        "batch-limited",
        "The size of the batch is compared with the table, not the length of the text",
        second,
        edits={REFUSE: "if x.size(0) > self.pe.size(0):"},
    )
    mistake(
        "too-long-not-refused",
        "A text that is too long is not refused, and breaks in the addition",
        "Compare S with the number of rows first, and raise a ValueError.",
        edits={REFUSE: "if False:"},
    )
    mistake(
        "too-long-cut",
        "A text that is too long is cut, without a word",
        "Lost tokens should not go unnoticed: raise a ValueError.",
        edits={RAISE: "length = self.pe.size(0)\n            x = x[:, :length]"},
    )
    mistake(
        "full-length-refused",
        "A text exactly as long as the table is refused",
        "max_len rows are enough for max_len tokens: > or >=?",
        edits={REFUSE: "if length >= self.pe.size(0):"},
    )
    mistake(
        "too-long-asserted",
        "A text that is too long raises another exception than ValueError",
        "`raise ValueError(...)` is asked for.",
        edits={RAISE: "raise AssertionError"},
        same_as=["too-long-not-refused"],
    )


def _add_sum_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "multiplied",
        "Positions are multiplied with the tokens, not added",
        "What comes out for a token of zeros? It should be the position.",
        edits={ADD: "x = x * self.pe[:length]"},
    )
    mistake(
        "concatenated",
        "Positions are put beside the tokens instead of added",
        "The output has the width of the input: (B, S, D).",
        edits={ADD: "x = torch.cat([x, self.pe[:length].expand_as(x)], dim=-1)"},
    )
    mistake(
        "scaled-here",
        "The tokens are multiplied by √d_model here as well",
        "TokenEmbedding of lesson 1 has done that already.",
        edits={ADD: "x = x * math.sqrt(x.size(-1)) + self.pe[:length]"},
    )
    mistake(
        "sum-scaled",
        "The positions are multiplied by √d_model",
        "The factor belongs to the token embedding alone.",
        edits={ADD: "x = x + self.pe[:length] * math.sqrt(x.size(-1))"},
    )
    mistake(
        "tokens-lost",
        "The positions alone are returned; the tokens are lost",
        "What comes out has to depend on x.",
        edits={ADD: "x = self.pe[:length].expand_as(x)"},
    )
    mistake(
        "positions-lost",
        "Nothing is added to the tokens",
        "Is the result of the addition kept?",
        edits={ADD: "x + self.pe[:length]"},
    )
    mistake(
        "subtracted",
        "The positions are subtracted",
        "dropout(x + pe): mind the sign.",
        edits={ADD: "x = x - self.pe[:length]"},
    )
    mistake(
        "in-place",
        "The tokens are changed in place, which changes the caller's tensor",
        "`x += p` writes into the tensor you were given; `x + p` makes a new one.",
        edits={ADD: "x += self.pe[:length]"},
    )
    mistake(
        "pair-returned",
        "More than the sum is returned",
        "One tensor, (B, S, d_model).",
        edits={RETURN: "return self.dropout(x), self.pe[:length]"},
    )


def _add_buffer_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "plain-attribute",
        "`pe` is an ordinary attribute, not a buffer",
        'After `.to("cuda")`, where is the table? `register_buffer` makes it move along.',
        edits={BUFFER: "self.pe = sinusoidal_encoding(max_len, d_model)"},
    )
    mistake(
        "learnt-table",
        "The table is a parameter, so training would change it",
        "The positions are computed once and stay; a tensor that only moves along is a buffer.",
        edits={BUFFER: "self.pe = nn.Parameter(sinusoidal_encoding(max_len, d_model))"},
    )
    mistake(
        "frozen-parameter",
        "The table is a parameter, even if a frozen one, not a buffer",
        "Frozen parameters still turn up in `parameters()`. What registers a tensor that is none?",
        edits={
            BUFFER: "fixed = sinusoidal_encoding(max_len, d_model)\n"
            "        self.pe = nn.Parameter(fixed, requires_grad=False)"
        },
    )
    mistake(
        "another-name",
        "The table is not called `pe`",
        "Later lessons and the checks find it by this name.",
        edits={BUFFER: BUFFER.replace('"pe"', '"table"'), "self.pe": "self.table"},
    )
    mistake(
        "sizes-exchanged",
        "max_len and d_model are exchanged in the table",
        "sinusoidal_encoding takes the length first.",
        edits={"sinusoidal_encoding(max_len, d_model)": "sinusoidal_encoding(d_model, max_len)"},
    )
    mistake(
        "max-len-ignored",
        "max_len is ignored: the table always has 512 rows",
        "Build one with max_len=5 and ask for the shape of pe.",
        edits={"sinusoidal_encoding(max_len, d_model)": "sinusoidal_encoding(512, d_model)"},
    )
    mistake(
        "float64",
        "The table is float64, and so is everything it is added to",
        "The next linear layer will refuse float64 input.",
        edits={
            "sinusoidal_encoding(max_len, d_model)": "sinusoidal_encoding(max_len, d_model).double()"
        },
    )


def _add_dropout_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "no-dropout",
        "There is no dropout",
        "Call the module in train mode with dropout=0.9: how many entries are 0?",
        edits={RETURN: "return x"},
    )
    mistake(
        "dropout-on-positions",
        "Dropout acts on the positions alone, not on the sum",
        "Section 5.4 applies it to the sums of embeddings and positional encodings.",
        edits={ADD: "x = x + self.dropout(self.pe[:length])", RETURN: "return x"},
    )
    mistake(
        "dropout-on-tokens",
        "Dropout acts on the tokens alone, not on the sum",
        "Section 5.4 applies it to the sums of embeddings and positional encodings.",
        edits={ADD: "x = self.dropout(x) + self.pe[:length]", RETURN: "return x"},
    )
    mistake(
        "dropout-always-on",
        "Dropout does not stop in eval mode",
        "F.dropout is at work unless it is told `training=self.training`.",
        edits={RETURN: "return F.dropout(x, self.dropout.p)"},
    )
    mistake(
        "dropout-rate-fixed",
        "The argument `dropout` is ignored: the rate is always 0.1",
        "Build one with dropout=0.9 and count the zeros in train mode.",
        edits={DROPOUT: "self.dropout = nn.Dropout(0.1)"},
    )
    mistake(
        "dropout-half",
        "The argument `dropout` is ignored: the rate is always 0.5",
        "nn.Dropout() without an argument drops half.",
        edits={DROPOUT: "self.dropout = nn.Dropout()"},
    )
    mistake(
        "dropout-keeps",
        "The rate of dropout is taken for the share that is kept",
        "nn.Dropout takes the share that is set to 0.",
        edits={DROPOUT: "self.dropout = nn.Dropout(1 - dropout)"},
    )
    mistake(
        "dropout-not-scaled",
        "What dropout keeps is not scaled up by 1 / (1 − p)",
        "nn.Dropout scales, so that sums keep their mean; leave it to the library.",
        edits={RETURN: "return self.dropout(x) * (1 - self.dropout.p if self.training else 1)"},
    )
    mistake(
        "dropout-twice",
        "Dropout acts twice: on the tokens, and again on the sum",
        "Once, on the sum.",
        edits={ADD: "x = self.dropout(x) + self.pe[:length]"},
    )
