"""Checks of `shift_matrix`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.lessons.positional_encoding import reference
from autograder.lessons.positional_encoding.judges import in_float32, is_float32, moves
from autograder.lessons.positional_encoding.symptoms import SHIFT

ANGLES = "offset / 10000 ** (even / d_model)"
LEFT_TOP, RIGHT_TOP = (
    "matrix[even, even] = torch.cos(angles)",
    "matrix[even, odd] = torch.sin(angles)",
)
LEFT_LOW, RIGHT_LOW = (
    "matrix[odd, even] = -torch.sin(angles)",
    "matrix[odd, odd] = torch.cos(angles)",
)
THEOREM = (
    "Put position 0, (0, 1), into the first block: out must come sin b and cos b, in this order."
)

judge = in_float32(moves(*SHIFT))


def add_shift(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("shift-matrix", 4, "shift_matrix", reference=reference.shift_matrix)
    _add_cases(exercise)
    _add_block_mistakes(exercise)
    _add_angle_mistakes(exercise)
    _add_form_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("three positions on, from every position", judge=judge, weight=2)
    def forward(_draw: Draw) -> Stimulus:
        return call(3, 8)

    @exercise.case("one position on, in a wider encoding", judge=judge)
    def one_step(draw: Draw) -> Stimulus:
        return call(1, 2 * draw.integer(6, 9))

    @exercise.case("backwards: a negative offset", judge=judge, weight=2)
    def back(draw: Draw) -> Stimulus:
        return call(-draw.integer(4, 9), 10)

    @exercise.case("an offset of 0 is the identity", judge=judge)
    def stay(_draw: Draw) -> Stimulus:
        return call(0, 6)

    @exercise.case("a single pair", judge=judge, weight=0.5)
    def one_pair(_draw: Draw) -> Stimulus:
        return call(2, 2)

    @exercise.case("a long way on", judge=judge)
    def far(draw: Draw) -> Stimulus:
        return call(draw.integer(50, 90), 12)

    @exercise.case("the matrix is float32", judge=is_float32, weight=0.5)
    def dtype(_draw: Draw) -> Stimulus:
        return call(4, 6)


# fmt: off - a mistake reads best as a block of two or three lines


def _add_block_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "turns-back",
        "It turns the wrong way: the minus sign stands at the other sine, or the matrix is transposed",
        f"{THEOREM} M stands on the left of the vector.",
        edits={
            RIGHT_TOP: "matrix[even, odd] = -torch.sin(angles)",
            LEFT_LOW: "matrix[odd, even] = torch.sin(angles)",
        },
    )
    mistake(
        "no-minus",
        "The minus sign in front of one of the sines is missing",
        "cos(a + b) = cos a cos b − sin a sin b.",
        edits={LEFT_LOW: "matrix[odd, even] = torch.sin(angles)"},
    )
    mistake(
        "both-minus",
        "Both sines have a minus sign",
        "sin(a + b) = sin a cos b + cos a sin b.",
        edits={RIGHT_TOP: "matrix[even, odd] = -torch.sin(angles)"},
    )
    mistake(
        "sine-and-cosine-exchanged",
        "Sines stand on the diagonal of a block, and cosines beside it",
        "For an offset of 0 the block has to be the identity: which of the two is 1 at an angle of 0?",
        edits={
            LEFT_TOP: "matrix[even, even] = torch.sin(angles)",
            RIGHT_TOP: "matrix[even, odd] = torch.cos(angles)",
            LEFT_LOW: "matrix[odd, even] = -torch.cos(angles)",
            RIGHT_LOW: "matrix[odd, odd] = torch.sin(angles)",
        },
    )
    mistake(
        "sines-missing",
        "Only the diagonal is filled: the sines of the blocks are missing",
        "sin(a + b) needs cos a as well as sin a.",
        edits={RIGHT_TOP: "pass", LEFT_LOW: "pass"},
    )
    mistake(
        "cosines-missing",
        "The diagonal is empty: the cosines of the blocks are missing",
        "For an offset of 0 the matrix has to be the identity.",
        edits={LEFT_TOP: "pass", RIGHT_LOW: "pass"},
    )
    mistake(
        "second-row-empty",
        "The second row of each block is missing",
        "A pair has two entries: one row makes the new sine, the other the new cosine.",
        edits={LEFT_LOW: "pass", RIGHT_LOW: "pass"},
    )
    mistake(
        "two-halves",
        "The blocks fit a table with all sines on the left: here the columns are interleaved",
        "Pair i sits in rows and columns 2i and 2i + 1.",
        edits={ANGLES: f"{ANGLES}\n    even, odd = even // 2, even // 2 + d_model // 2"},
    )
    mistake(
        "reflected",
        "A block for a table that has the cosine first",
        "The even column holds the sine. Write the vector as (sin a, cos a).",
        edits={LEFT_TOP: "matrix[even, even] = -torch.cos(angles)"},
    )


def _add_angle_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "exponent-doubled",
        "The exponent of the angles is doubled: an index in steps of 2 is 2i already",
        "Pair 1 of d_model 8 turns by a tenth of the offset.",
        edits={"even / d_model": "2 * even / d_model"},
    )
    mistake(
        "exponent-halved",
        "The exponent of the angles is i / d_model, half of what it should be",
        "Pair 1 of d_model 8 turns by a tenth of the offset.",
        edits={"even / d_model": "even / 2 / d_model"},
    )
    mistake(
        "one-angle",
        "All pairs turn by the same angle",
        "Each pair is a clock of its own, with a speed of its own.",
        edits={ANGLES: "torch.full(even.shape, float(offset))"},
    )
    mistake(
        "offset-ignored",
        "The offset is not used: the matrix always moves by 1",
        "Try an offset of 0.",
        edits={ANGLES: "1 / 10000 ** (even / d_model)"},
    )
    mistake(
        "absolute",
        "The sign of the offset is lost",
        "Back is not the same as forth: try −3 and 3.",
        edits={ANGLES: "abs(offset) / 10000 ** (even / d_model)"},
    )
    mistake(
        "multiplied",
        "The offset is multiplied by 10000^(2i/d_model) instead of divided",
        "Later pairs turn more slowly.",
        edits={ANGLES: "offset * 10000.0 ** (even / d_model)"},
    )
    mistake(
        "staircase",
        "The offset is divided as a whole number",
        "`//` drops what comes after the point.",
        edits={ANGLES: "offset // 10000 ** (even / d_model)"},
    )
    mistake(
        "base-1000",
        "The base of the angles is 1000, not 10000",
        "The angle is that of exercise 1, with the offset for the position.",
        edits={ANGLES: "offset / 1000 ** (even / d_model)"},
    )
    mistake(
        "degrees",
        "The angles are taken for degrees",
        "torch.sin takes radians: nothing is converted.",
        edits={ANGLES: f"torch.deg2rad({ANGLES})"},
    )
    mistake(
        "pairs-reversed",
        "The pairs come in the wrong order, the slowest first",
        "Pair 0 turns by the offset itself.",
        edits={ANGLES: f"({ANGLES}).flip(0)"},
    )
    mistake(
        "one-too-many",
        "It moves by one position more than asked for",
        "Moving by 0 has to be the identity.",
        edits={ANGLES: "(offset + 1) / 10000 ** (even / d_model)"},
    )
    mistake(
        "negative-refused",
        "Negative offsets break: a row of the table is looked up for the offset",
        "Compute the angles instead; they exist for negative offsets too.",
        edits={ANGLES: "torch.arange(offset + 1)[offset] / 10000 ** (even / d_model)"},
    )


def _add_form_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake(
        "rolled-identity",
        "The matrix shifts the entries of a vector, not the position that it encodes",
        "What has to change is the angle of each pair, not the place of its entries.",
        edits={"return matrix": "return torch.eye(d_model).roll(offset, dims=0)"},
    )
    mistake(
        "one-position-only",
        "It fits a single position: the outer product of two encodings",
        "The matrix must be right for every p, so it cannot be made from one of them.",
        edits={
            "return matrix": "zero = torch.zeros(d_model)\n    zero[1::2] = 1\n"
            "    return torch.outer(matrix @ zero, zero) / (d_model / 2)"
        },
    )
    mistake(
        "diagonal",
        "A diagonal matrix that holds the encoding of the offset",
        "A product entry by entry cannot mix sin a with cos a.",
        edits={
            "return matrix": "zero = torch.zeros(d_model)\n    zero[1::2] = 1\n"
            "    return torch.diag(matrix @ zero)"
        },
    )
    mistake(
        "vector-returned",
        "A vector is returned, not a matrix",
        "The shape is (d_model, d_model).",
        edits={"return matrix": "return matrix.sum(dim=1)"},
    )
    mistake(
        "blocks-stacked",
        "The blocks are returned in a stack, not laid along the diagonal of one matrix",
        "The shape is (d_model, d_model).",
        edits={
            "return matrix": "return torch.stack([matrix[i : i + 2, i : i + 2] for i in range(0, d_model, 2)])"
        },
    )
    mistake(
        "float64",
        "The matrix is float64, not float32",
        "It has to multiply a float32 table.",
        edits={"return matrix": "return matrix.double()"},
    )
    mistake(
        "identity-added",
        "The identity is added to the rotation",
        "M takes PE[p] to PE[p + offset] itself, not to the difference.",
        edits={"return matrix": "return torch.eye(d_model) + matrix"},
    )
    mistake(
        "difference-only",
        "It gives the difference of both encodings, not the later one",
        "M takes PE[p] to PE[p + offset] itself, not to the difference.",
        edits={"return matrix": "return matrix - torch.eye(d_model)"},
    )
