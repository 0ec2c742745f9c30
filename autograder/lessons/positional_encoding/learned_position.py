from autograder.judge import modules
from autograder.judge.table import (
    CallModule, Check, Draw, ExerciseChecks, example, gradients_match, module, no_side_effects, properties,
)
from autograder.lessons.positional_encoding import judges, reference
from coursework.engine.operations import in_float64


def _calls(d: Draw, max_len: int, d_model: int, *sizes: tuple[int, int], train: bool = False) -> CallModule:
    """Load a table drawn by the judge, and call with one batch for each size (B, S)."""
    table = {"embed.weight": d.normal(max_len, d_model)}
    batches = [[d.normal(*size, d_model)] for size in sizes]
    return module([max_len, d_model], table, *batches, train=train)


exercise = ExerciseChecks(reference=reference.LearnedPositionalEmbedding, judge=judges.sum_judge,
    examples=[
        example(lambda d: _calls(d, 4, 2, (1, 3))),
        example(lambda d: _calls(d, 3, 2, (2, 2))),
        example(lambda d: _calls(d, 2, 2, (1, 3))),
        example(lambda d: modules.gradients(_calls(d, 3, 2, (1, 2)), d.normal(1, 2, 2)),
                shown="LearnedPositionalEmbedding(3, 2)(x), with gradients"),
    ], checks=[
    Check("batch", "position s of every sample gets row s of the learnt table",
          lambda d: _calls(d, 30, 8, (3, 6)), weight=2),
    Check("large-batch", "a batch larger than the length of the text, and of the table",
          lambda d: _calls(d, 7, 10, (9, 4))),
    Check("full-length", "a single sample, as long as the table", lambda d: _calls(d, 7, 4, (1, 7))),
    Check("cube", "as many samples as tokens as features: the length is the second dimension",
          lambda d: _calls(d, 40, 6, (6, 6))),
    Check("calls", "a short text, then a longer one: calls are independent",
          lambda d: _calls(d, 12, 6, (2, 3), (4, 9), (2, 1))),
    Check("train-mode", "train mode makes no difference: there is no dropout here",
          lambda d: _calls(d, 20, 8, (4, 10), train=True), weight=0.5),
    Check("too-long", "a text longer than the table is refused with a ValueError",
          lambda d: _calls(d, 5, 8, (2, 6)), raises="ValueError"),
    Check("arguments", "the input is left unchanged, in float64 too",
          lambda d: in_float64(_calls(d, 9, 6, (2, 5))),
          judges.any_float(no_side_effects(judges.wrong_row, names=["x"])), weight=0.5),
    Check("gradients", "gradients reach the rows that were used, and x",
          lambda d: modules.gradients(_calls(d, 8, 6, (3, 5)), d.normal(3, 5, 6), of_arguments=True),
          gradients_match(["x"])),
    *properties(lambda d: _calls(d, 9, 6, (2, 5)),
                sizes=lambda d: [_calls(d, 1, 1, (1, 1)), _calls(d, 300, 24, (3, 280))]),
])
