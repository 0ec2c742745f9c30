import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, arguments, call, defaults, example, matches_reference,
    properties,
)
from coursework import stand_ins_models

ENDS = torch.tensor([[9, 9, 9, 9, 9, 2], [9, 9, 9, 2, 0, 0], [9, 9, 2, 0, 0, 0]])


def _words(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(4, 30, *shape)


def _wrong_place(seen: Comparison) -> str | None:
    row, place = (seen.got.value != seen.expected.value).nonzero()[0].tolist()
    where = f"Position {place} of row {row}"
    if place == 0:
        return f"{where} should hold the start token, but it doesn't."
    came = (seen.inputs["args"][0] == seen.got.value[row, place]).nonzero().tolist()
    meant = f"; it should hold token {place - 1} of that row."
    if len(came) != 1:
        return f"{where} holds the wrong token{meant}"
    return f"{where} holds token {came[0][1]} of row {came[0][0]} of the target{meant}"


exercise = ExerciseChecks(reference=stand_ins_models.shift_right, judge=matches_reference(_wrong_place),
    examples=[
        example(lambda _: call(torch.tensor([[5, 7, 4, 2], [9, 2, 0, 0]]))),
        example(lambda _: call(torch.tensor([[6, 8], [4, 9]]), sos_id=3)),
    ], checks=[
    Check("shifted", "the start token first, the last token dropped",
          lambda d: call(_words(d, 3, 5)), weight=2),
    Check("square", "as many samples as tokens: each row is shifted, not the batch",
          lambda d: call(_words(d, 4, 4))),
    Check("with-padding", "the end token and padding are shifted like any other token",
          lambda d: call(_words(d, 3, 6).where(ENDS == 9, ENDS))),
    Check("other-start", "the given start token is used",
          lambda d: call(_words(d, 2, 4), sos_id=d.integer(31, 40))),
    Check("one-token", "a target of one token becomes the start token",
          lambda d: call(_words(d, 3, 1)), weight=0.5),
    arguments(lambda d: call(_words(d, 2, 7)), _wrong_place, names=["target"], weight=1),
    *properties(lambda d: call(_words(d, 3, 5)),
                sizes=lambda d: [call(_words(d, 1, 1)), call(_words(d, 60, 70)),
                                 call(d.integers(40_000, 70_000, 2, 3))]),
    defaults(lambda d: [call(_words(d, 3, 5))], sos_id=(1, 7)),
])
