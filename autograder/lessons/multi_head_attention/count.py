"""Checks of `parameter_count`."""

from autograder.judge.draw import Draw
from autograder.judge.exercise import Lesson, Stimulus, call
from autograder.judge.judgement import Seen, agrees
from autograder.lessons.multi_head_attention import reference

LAYER = "one_layer = d_model * d_model + d_model"
TOTAL = "return 4 * one_layer"


def _in_words(seen: Seen) -> str:
    d_model, heads = seen.inputs["args"]
    return (
        f"For d_model {d_model} and {heads} heads it is not {seen.got.value}. Build the layer in this "
        "size and add up `p.numel()` over its parameters: which layer accounts for the difference?"
    )


def add_count(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "parameter-count", 2, "parameter_count", reference=reference.parameter_count
    )
    judge = agrees(_in_words)

    @exercise.case("a small layer with two heads", judge=judge)
    def small(_draw: Draw) -> Stimulus:
        return call(6, 2)

    @exercise.case("the layer of the paper: width 512, eight heads", judge=judge)
    def paper(_draw: Draw) -> Stimulus:
        return call(512, 8)

    @exercise.case("a single head", judge=judge)
    def one_head(_draw: Draw) -> Stimulus:
        return call(9, 1)

    @exercise.case("as many heads as features", judge=judge)
    def many_heads(_draw: Draw) -> Stimulus:
        return call(14, 14)

    mistake = exercise.misconception
    build = "Print the shapes of `MultiHeadAttention(6, 2).parameters()`, then with 3 heads."
    mistake("no-biases", "The biases are not counted", "A linear layer n → m has m biases besides its n · m weights.",
            edits={LAYER: "one_layer = d_model * d_model"})  # fmt: skip
    mistake("times-heads", "The count is multiplied by the number of heads", build,
            edits={TOTAL: "return 4 * one_layer * num_heads"})  # fmt: skip
    mistake("projections-times-heads", "Every head is given projections of full width", build,
            edits={TOTAL: "return 3 * one_layer * num_heads + one_layer"})  # fmt: skip
    mistake("divided-by-heads", "The count is divided by the number of heads", build,
            edits={TOTAL: "return 4 * one_layer // num_heads"})  # fmt: skip
    mistake("no-output-layer", "w_o is not counted", "How many linear layers are there?",
            edits={TOTAL: "return 3 * one_layer"})  # fmt: skip
    mistake("one-bias", "Only one of the four biases is counted", "Each of the four layers has a bias.",
            edits={LAYER: "one_layer = d_model * d_model", TOTAL: "return 4 * one_layer + d_model"})  # fmt: skip
    mistake("bias-of-one-number", "A bias is taken for a single number", "A layer has one bias for each of its outputs.",
            edits={LAYER: "one_layer = d_model * d_model + 1"})  # fmt: skip
    mistake("output-layer-for-each-head", "There is thought to be a w_o for each head",
            "The heads are merged first; then one w_o follows.",
            edits={TOTAL: "return 3 * one_layer + num_heads * one_layer"})  # fmt: skip
    mistake("small-projections", "The heads are thought to share small K × K projections",
            "w_q, w_k and w_v lead from D to D; the heads are cut afterwards.",
            edits={TOTAL: "width = d_model // num_heads\n    return 3 * (width * width + width) + one_layer"})  # fmt: skip
    mistake("one-layer", "Only one of the four layers is counted", "How many linear layers are there?",
            edits={TOTAL: "return one_layer"})  # fmt: skip
    mistake("float", "The count is a float", "`/` makes a float even of whole numbers; `//` does not.",
            edits={TOTAL: "return 4.0 * one_layer"})  # fmt: skip
