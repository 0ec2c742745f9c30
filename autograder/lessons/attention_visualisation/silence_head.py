"""Checks of `silence_head`: the output inside the context, and what is left after it."""

from autograder.judge import weights
from autograder.judge.table import (
    Check, Draw, ExerciseChecks, example, facts, properties, through,
)
from autograder.lessons.attention_visualisation import reference
from autograder.lessons.attention_visualisation.fixtures import RunSilenced

FACTS = {
    "weights": "After the context, the weights of the attention are not exactly what they were before.",
    "mode": "After the context, the attention is in a different mode: train mode or eval mode.",
    "hooks": "After the context, a hook is still registered on the attention.",
    "trainable": "After the context, some weights of the attention no longer require gradients.",
    "output": "After the context, the attention gives a different output than before.",
}


def _run(draw: Draw, width: int, heads: int, head: int, **options: bool) -> RunSilenced:
    drawn = weights.attention(draw, "", width)
    return RunSilenced([width, heads], drawn, draw.normal(2, 5, width), head, **options)


exercise = ExerciseChecks(reference=reference.silence_head,
    examples=[
        example(lambda d: through("silence_head", d.normal(1, 2, 4), 1),
                shown="with silence_head(attention, 1): attention(x, x, x)"),
        example(lambda d: through("silence_head", d.normal(1, 2, 4), 0),
                shown="with silence_head(attention, 0): attention(x, x, x)"),
    ], checks=[
    Check("first", "head 0 of three adds nothing to the output, and the other heads do",
          lambda d: _run(d, 12, 3, 0), weight=2),
    Check("last", "the last of four heads", lambda d: _run(d, 8, 4, 3)),
    Check("middle", "a head in the middle, of two features", lambda d: _run(d, 10, 5, 2)),
    Check("only", "the only head: only the output bias is left", lambda d: _run(d, 6, 1, 0), weight=0.5),
    Check("restored", "afterwards, everything is as it was before",
          lambda d: _run(d, 12, 3, 1, facts=True), facts(FACTS)),
    Check("interrupted", "after an exception, and from eval mode, too, everything is as it was before",
          lambda d: _run(d, 12, 4, 2, facts=True, interrupted=True, train=False), facts(FACTS)),
    *properties(lambda d: _run(d, 12, 3, 2), strided=False,
                sizes=lambda d: [_run(d, 1, 1, 0), _run(d, 48, 12, 7)]),
])
