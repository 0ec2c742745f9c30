import torch

from autograder.judge.table import Check, Draw, ExerciseChecks, call, example, no_side_effects, properties
from autograder.lessons.attention_visualisation import reference


BACK = torch.eye(6)[None, None, [0, *range(5)]]  # always one token back, and the first one to itself


def attentions(draw: Draw, layers: int, heads: int, size: int) -> torch.Tensor:
    """Return rows of weights (L, H, S, S) that sum to one."""
    return draw.normal(layers, heads, size, size, scale=1.5).softmax(dim=-1)


exercise = ExerciseChecks(reference=reference.previous_token_score,
    examples=[
        example(lambda _: call(torch.tensor([[[[1.0, 0.0, 0.0], [0.7, 0.3, 0.0], [0.1, 0.5, 0.4]]]]))),
        example(lambda d: call(attentions(d, 2, 3, 4))),
    ], checks=[
    Check("heads", "a score for every head of every layer", lambda d: call(attentions(d, 3, 4, 7)), weight=2),
    Check("square", "as many layers as heads as tokens", lambda d: call(attentions(d, 4, 4, 4))),
    Check("two-tokens", "two tokens: only one of them has a token before it",
          lambda d: call(attentions(d, 2, 3, 2))),
    Check("perfect", "a head that always looks one token back scores 1",
          lambda _: call(BACK.clone()), weight=0.5),
    Check("double", "float64, with the weights left unchanged",
          lambda d: call(attentions(d, 2, 5, 6).double()), no_side_effects(names=["attentions"])),
    *properties(lambda d: call(attentions(d, 2, 3, 5)),
                sizes=lambda d: [call(attentions(d, 1, 1, 2)), call(attentions(d, 8, 12, 60))]),
])
