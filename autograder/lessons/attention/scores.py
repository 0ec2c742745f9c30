"""Checks of `attention_scores`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Lesson, Stimulus, call
from autograder.judge.judgement import agrees, unchanged
from autograder.judge.symptoms import constant_factor, transposed, wanted, whole
from autograder.lessons.attention import reference

ROOT = " / math.sqrt(k.size(-1))"
SWAP = "k.transpose(-2, -1)"
symptoms = (constant_factor(whole, wanted), transposed)
judge = agrees(*symptoms)


def add_scores(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "attention-scores", 3, "attention_scores", reference=reference.attention_scores
    )

    @exercise.case("five queries meet seven keys", judge=judge, weight=2)
    def cross(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 5, 16), draw.normal(2, 7, 16))

    @exercise.case("as many queries as keys as features: nothing is exchanged", judge=judge)
    def square(draw: Draw) -> Stimulus:
        return call(draw.normal(6, 6, 6), draw.normal(6, 6, 6))

    @exercise.case("further leading dimensions (batch and heads) are carried along", judge=judge)
    def leading_dimensions(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 3, 5, 8), draw.normal(2, 3, 4, 8))

    @exercise.case("it works without a batch", judge=judge)
    def no_batch(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 32), draw.normal(5, 32))

    @exercise.case("a single query and a single key, in float64", judge=judge)
    def single(draw: Draw) -> Stimulus:
        return call(draw.normal(3, 1, 5).double(), draw.normal(3, 1, 5).double())

    @exercise.case("queries and keys come back unchanged", judge=unchanged(*symptoms))
    def arguments(draw: Draw) -> Stimulus:
        return call(draw.normal(2, 4, 9), draw.normal(2, 6, 9))

    _add_misconceptions(lesson)


def _add_misconceptions(lesson: Lesson) -> None:
    mistake = lesson["attention-scores"].misconception
    scale = "Which length does √d_k speak of? Print the scores for d_k = 4 and d_k = 400."
    mistake("scale-missing", "The scores are not divided by √d_k",
            "Compare the spread of q·k for d_k = 4 and d_k = 400.", edits={ROOT: ""})  # fmt: skip
    mistake("divided-by-d-k", "The scores are divided by d_k, not by its square root",
            "The standard deviation of q·k grows like a root: which, and what undoes it?",
            edits={ROOT: " / k.size(-1)"})  # fmt: skip
    mistake("multiplied", "The scores are multiplied by √d_k instead of divided",
            "Scaling is there to keep large d_k from saturating the softmax.",
            edits={ROOT: " * math.sqrt(k.size(-1))"})  # fmt: skip
    mistake("scaled-by-keys", "The scores are divided by the root of the number of keys", scale,
            edits={"k.size(-1)": "k.size(-2)"})  # fmt: skip
    mistake("scaled-by-queries", "The scores are divided by the root of the number of queries", scale,
            edits={"k.size(-1)": "q.size(-2)"})  # fmt: skip
    mistake("scaled-by-first", "The scores are divided by the root of the first dimension, the batch",
            scale, edits={"k.size(-1)": "k.size(0)"})  # fmt: skip
    mistake("scaled-by-eight", "The scores are divided by 8, whatever d_k is",
            "√64 = 8 is right for one width only; the width is in the shape of k.",
            edits={"math.sqrt(k.size(-1))": "8"})  # fmt: skip
    mistake("floor-division", "The scores are divided with `//`, which rounds down",
            "`/` divides; `//` throws the fraction away.",
            edits={ROOT: " // math.sqrt(k.size(-1))"})  # fmt: skip
    mistake("exchanged", "Queries and keys are exchanged: the scores are transposed",
            "Row i of the scores belongs to query i; count the rows for 5 queries and 7 keys.",
            edits={f"q @ {SWAP}": "k @ q.transpose(-2, -1)"})  # fmt: skip
    mistake("reshaped", "The keys are reshaped instead of transposed",
            "reshape keeps the order of the numbers in memory; a transpose does not.",
            edits={SWAP: "k.reshape(*k.shape[:-2], k.size(-1), k.size(-2))"})  # fmt: skip
    mistake("transposed-one-two", "Dimensions 1 and 2 are exchanged, whatever the number of dimensions",
            "Count from the end: −2 and −1 are right for two, three and four dimensions.",
            edits={SWAP: "k.transpose(1, 2)"})  # fmt: skip
    mistake("not-transposed", "The keys are not transposed",
            "Write down the two shapes of the matrix product; which have to match?",
            edits={SWAP: "k"})  # fmt: skip
    mistake("cosine", "Queries and keys are scaled to length 1: that is the cosine",
            "The paper's score is the dot product over √d_k; lengths count.",
            edits={"q @ ": "F.normalize(q, dim=-1) @ ", SWAP: f"F.normalize(k, dim=-1){SWAP[1:]}",
                   ROOT: ""})  # fmt: skip
    mistake("softmaxed", "The softmax is already taken here",
            "This function returns scores; turning them into weights comes later.",
            edits={"return q @": "return torch.softmax(q @", ROOT: f"{ROOT}, dim=-1)"})  # fmt: skip
    mistake("in-place", "The queries are scaled in place, which changes the caller's tensor",
            "`q /= s` writes into the tensor you were given.",
            edits={"return q @": "q /= math.sqrt(k.size(-1))\n    return q @", ROOT: ""})  # fmt: skip
