"""Checks of `sinusoidal_encoding`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.judgement import agrees
from autograder.lessons.positional_encoding import reference
from autograder.lessons.positional_encoding.judges import LOOSE, in_float32, is_float32
from autograder.lessons.positional_encoding.symptoms import TABLE

REFUSE = "if d_model % 2 != 0:"
RAISE = 'raise ValueError(f"d_model has to be even, one sine and one cosine a pair; got {d_model}")'
EXPONENTS = "torch.arange(0, d_model, 2) / d_model"
ANGLES = "positions / 10000**exponents"
SINE, COSINE = "table[:, 0::2] = torch.sin(angles)", "table[:, 1::2] = torch.cos(angles)"
OWN_ANGLE = "Sine and cosine of a pair share one angle: sin² + cos² has to be 1. In yours, is it?"

judge = in_float32(agrees(*TABLE))


def add_table(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "sinusoidal-encoding", 5, "sinusoidal_encoding", reference=reference.sinusoidal_encoding
    )
    _add_cases(exercise)
    _add_exponent_mistakes(exercise)
    _add_angle_mistakes(exercise)
    _add_layout_mistakes(exercise)
    _add_form_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("the first positions: sine and cosine in turn", judge=judge, weight=2)
    def first_positions(_draw: Draw) -> Stimulus:
        return call(7, 6)

    @exercise.case(
        "pair by pair the waves become slower, by the right factor", judge=judge, weight=2
    )
    def later_pairs(draw: Draw) -> Stimulus:
        return call(draw.integer(33, 48), 2 * draw.integer(24, 40))

    @exercise.case("more columns than positions", judge=judge)
    def wide(draw: Draw) -> Stimulus:
        return call(5, 2 * draw.integer(30, 60))

    @exercise.case("a long text: 300 positions", judge=in_float32(agrees(*TABLE, atol=LOOSE)))
    def long_text(_draw: Draw) -> Stimulus:
        return call(300, 32)

    @exercise.case("a single pair of columns", judge=judge, weight=0.5)
    def one_pair(_draw: Draw) -> Stimulus:
        return call(9, 2)

    @exercise.case("a single position", judge=judge, weight=0.5)
    def one_position(_draw: Draw) -> Stimulus:
        return call(1, 10)

    @exercise.case("the table is float32", judge=is_float32, weight=0.5)
    def dtype(_draw: Draw) -> Stimulus:
        return call(4, 8)

    @exercise.case("an odd d_model is refused with a ValueError", weight=0.75)
    def odd_width(_draw: Draw) -> Stimulus:
        return call(6, 7)

    @exercise.case("so is a d_model of 1", weight=0.25)
    def width_one(_draw: Draw) -> Stimulus:
        return call(3, 1)


# fmt: off - a mistake reads best as a block of two or three lines


def _add_exponent_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    twice = "Write down the values of 2i for d_model = 8: 0, 2, 4, 6. Which does your code use?"
    mistake(
        "exponent-doubled",
        "The exponent is doubled: an index that goes in steps of 2 is 2i already",
        twice,
        edits={EXPONENTS: f"2 * {EXPONENTS}"},
    )
    mistake(
        "doubled-and-cosine-ahead",
        "The exponent is doubled, and the cosine of each pair has another exponent than the sine",
        f"{twice} {OWN_ANGLE}",
        edits={
            SINE: "table[:, 0::2] = torch.sin(positions / 10000 ** (2 * exponents))",
            COSINE: "table[:, 1::2] = torch.cos(positions / 10000 ** (2 * exponents + 2 / d_model))",
        },
    )
    mistake(
        "own-exponent-each-column",
        "Each column has an exponent of its own: the cosine is slower than its sine",
        OWN_ANGLE,
        edits={
            COSINE: "table[:, 1::2] = torch.cos(positions / 10000 ** (exponents + 1 / d_model))"
        },
    )
    mistake(
        "cosine-of-next-pair",
        "The cosine has the exponent of the next pair",
        OWN_ANGLE,
        edits={
            COSINE: "table[:, 1::2] = torch.cos(positions / 10000 ** (exponents + 2 / d_model))"
        },
    )
    mistake(
        "exponent-halved",
        "The exponent is i / d_model, half of what it should be",
        "i counts pairs, 0, 1, 2, …; the exponent is 2i / d_model. How large is that of the last pair?",
        edits={EXPONENTS: "torch.arange(d_model // 2) / d_model"},
    )
    mistake(
        "exponent-reaches-one",
        "The last exponent is exactly 1: divided by d_model − 2, not by d_model",
        "Some libraries space their waves like that; the paper divides by d_model.",
        edits={EXPONENTS: "torch.arange(0, d_model, 2) / max(d_model - 2, 1)"},
    )
    mistake(
        "divided-by-max-len",
        "The exponent is divided by max_len, not by d_model",
        "The waves must not change with the length of the table: which size belongs into the exponent?",
        edits={EXPONENTS: "torch.arange(0, d_model, 2) / max_len"},
    )
    mistake(
        "one-frequency",
        "All pairs have the same frequency: the exponent is 0 everywhere, or missing",
        "Print your exponents. If they are all 0: what is 2 // 8?",
        edits={EXPONENTS: "torch.arange(0, d_model, 2) // d_model"},
    )
    precedence = "Python reads from left to right: −log(10000) / d // 2 is (−log(10000) / d) // 2."
    mistake(
        "precedence",
        "The exponents are whole numbers, −1, −2, …: `/` and `//` are read from left to right",
        precedence,
        edits={ANGLES: "positions * torch.exp(-torch.arange(d_model // 2))"},
    )
    mistake(
        "precedence-of-two",
        "The exponents are whole numbers, −2, −4, …: `/` and `//` are read from left to right",
        precedence,
        edits={ANGLES: "positions * torch.exp(-torch.arange(0, d_model, 2))"},
    )
    mistake(
        "base-and-exponent-exchanged",
        "Base and exponent are exchanged",
        "10000 is raised to a power; it is not the power.",
        edits={ANGLES: "positions * exponents**1e-4"},
    )


def _add_angle_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    base = "Which number is raised to 2i / d_model in section 3.5?"
    mistake(
        "multiplied",
        "The positions are multiplied by 10000^(2i/d_model) instead of divided",
        "Later pairs should turn more slowly: how far does your last pair turn in one step?",
        edits={ANGLES: "positions * 10000**exponents"},
    )
    for name, value in (
        ("1000", "1000"),
        ("100", "100"),
        ("100000", "100000"),
        ("d-model", "d_model"),
        ("max-len", "max_len"),
    ):
        shown = value if value.isdigit() else f"`{value}`"
        mistake(
            f"base-{name}",
            f"The base is {shown}, not 10000",
            base,
            edits={ANGLES: f"positions / {value}**exponents"},
            same_as=["exponent-halved"] if name == "100" else [],
        )
    mistake(
        "base-e",
        "The base is e, not 10000: the logarithm of 10000 is missing",
        base,
        edits={ANGLES: "positions / torch.exp(exponents)"},
    )
    mistake(
        "log-ten",
        "The logarithm to base 10 is taken, but undone by exp",
        "exp undoes the natural logarithm.",
        edits={ANGLES: "positions * torch.exp(-math.log10(10000) * exponents)"},
    )
    mistake(
        "degrees",
        "The angles are taken for degrees",
        "torch.sin takes radians, and so does the formula: nothing is converted.",
        edits={ANGLES: f"torch.deg2rad({ANGLES})"},
    )
    mistake(
        "two-pi",
        "The angles are multiplied by 2π",
        "The formula has no π: the first wavelength is 2π, not 1.",
        edits={ANGLES: f"2 * math.pi * {ANGLES}"},
    )
    mistake(
        "pi",
        "The angles are multiplied by π",
        "The formula has no π: the first wavelength is 2π, not 2.",
        edits={ANGLES: f"math.pi * {ANGLES}"},
    )
    mistake(
        "staircase",
        "Positions are divided as whole numbers: neighbours share an encoding",
        "`//` drops what comes after the point. Compare two neighbouring rows of a slow pair.",
        edits={ANGLES: "positions // 10000**exponents"},
    )
    mistake(
        "fraction-of-length",
        "Positions are divided by the length of the table",
        "A step from one position to the next must mean the same in every table.",
        edits={
            "torch.arange(max_len).unsqueeze(1)": "torch.arange(max_len).unsqueeze(1) / max_len"
        },
    )
    mistake(
        "starts-at-one",
        "Positions start at 1, not at 0",
        "What should the first row be? Angles of 0.",
        edits={"torch.arange(max_len)": "torch.arange(1, max_len + 1)"},
    )
    mistake(
        "backwards",
        "Positions are counted backwards, or the angles are negative",
        "The sine of the first pair at position 1 should be 0.84.",
        edits={ANGLES: "-positions / 10000**exponents"},
    )
    mistake(
        "pairs-reversed",
        "The pairs come in the wrong order, the slowest first",
        "Pair 0 has the exponent 0: it is the fastest.",
        edits={ANGLES: f"({ANGLES}).flip(1)"},
    )


def _add_layout_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "exchanged",
        "Sine and cosine are exchanged: even columns hold the cosine",
        "Position 0 should read 0, 1, 0, 1, …: which comes first?",
        edits={
            SINE: "table[:, 0::2] = torch.cos(angles)",
            COSINE: "table[:, 1::2] = torch.sin(angles)",
        },
    )
    mistake(
        "two-halves",
        "All sines stand on the left and all cosines on the right: a legitimate layout, but not this one",
        "The exercise asks for the paper's interleaved columns: sine, cosine, sine, cosine.",
        edits={
            SINE: "table[:, : d_model // 2] = torch.sin(angles)",
            COSINE: "table[:, d_model // 2 :] = torch.cos(angles)",
        },
    )
    mistake(
        "two-halves-exchanged",
        "The cosines stand on the left and the sines on the right",
        "The exercise asks for the paper's interleaved columns: sine, cosine, sine, cosine.",
        edits={
            SINE: "table[:, : d_model // 2] = torch.cos(angles)",
            COSINE: "table[:, d_model // 2 :] = torch.sin(angles)",
        },
    )
    mistake(
        "sines-only",
        "Both columns of a pair hold the sine",
        "What does the odd column hold?",
        edits={COSINE: "table[:, 1::2] = torch.sin(angles)"},
    )
    mistake(
        "cosines-only",
        "Both columns of a pair hold the cosine",
        "What does the even column hold?",
        edits={SINE: "table[:, 0::2] = torch.cos(angles)"},
    )
    mistake(
        "odd-columns-empty",
        "The odd columns stay 0",
        "There are two assignments to make: where do the cosines go?",
        edits={COSINE: "pass"},
    )
    mistake(
        "even-columns-empty",
        "The even columns stay 0",
        "There are two assignments to make: where do the sines go?",
        edits={SINE: "pass"},
    )
    mistake(
        "even-positions",
        "Sine and cosine go by even and odd positions, not columns",
        "2i and 2i + 1 count columns; every position has both.",
        edits={
            SINE: "angles = angles.repeat_interleave(2, dim=1)",
            COSINE: "table = torch.where(positions % 2 == 0, angles.sin(), angles.cos())",
        },
    )
    mistake(
        "angles-returned",
        "The angles are returned without sine and cosine",
        "Every entry should lie between −1 and 1.",
        edits={SINE: "table[:, 0::2] = angles", COSINE: "table[:, 1::2] = angles"},
    )


def _add_form_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "transposed",
        "Rows and columns are exchanged: a column for each position",
        "Row p is the encoding of position p: the shape is (max_len, d_model).",
        edits={"return table": "return table.T"},
    )
    mistake(
        "batch-dimension",
        "The table has a batch dimension too many",
        "(max_len, d_model) broadcasts over a batch by itself.",
        edits={"return table": "return table.unsqueeze(0)"},
    )
    mistake(
        "float64",
        "The table is float64, not float32",
        "NumPy computes in float64; the next linear layer will refuse to mix the two.",
        edits={"return table": "return table.double()"},
    )
    mistake(
        "integers",
        "The table holds whole numbers: everything after the point is lost",
        "A tensor made from whole numbers keeps their dtype; `torch.zeros` alone makes floats.",
        edits={"torch.zeros(max_len, d_model)": "torch.zeros(max_len, d_model, dtype=torch.long)"},
    )
    mistake(
        "arguments-exchanged",
        "max_len and d_model are exchanged",
        "The signature names the length first.",
        edits={
            EXPONENTS: "torch.arange(0, max_len, 2) / max_len",
            "torch.arange(max_len).unsqueeze": "torch.arange(d_model).unsqueeze",
            "torch.zeros(max_len, d_model)": "torch.zeros(d_model, max_len)",
        },
    )
    mistake(
        "odd-not-refused",
        "An odd d_model is not refused, and breaks further down",
        "Check it in the first line, before anything is computed.",
        edits={REFUSE: "if False:"},
    )
    mistake(
        "odd-accepted",
        "An odd d_model is accepted: the last cosine is dropped",
        "That can be done, and some libraries do; here a ValueError is asked for.",
        edits={
            REFUSE: "if False:",
            COSINE: "table[:, 1::2] = torch.cos(angles)[:, : d_model // 2]",
        },
    )
    mistake(
        "odd-asserted",
        "An odd d_model raises another exception than ValueError",
        "`assert` raises AssertionError; `raise ValueError(...)` is asked for.",
        edits={RAISE: "raise AssertionError"},
    )
    mistake(
        "odd-returned",
        "The ValueError is returned, or printed, but not raised",
        "`return` hands it over as a result; `raise` stops the call.",
        edits={RAISE: "return None"},
    )
