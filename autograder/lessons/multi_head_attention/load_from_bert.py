from typing import Any

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, example, fact, facts, matches_reference, near, properties,
    through,
)
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.fixtures import BEFORE, CopyFromBert

SOURCES = {"w_q": "self.query", "w_k": "self.key", "w_v": "self.value", "w_o": "output.dense"}


def _copy(draw: Draw, d_model: int, num_heads: int, **more: Any) -> CopyFromBert:
    drawn = [draw.linear(source, d_model, d_model) for source in SOURCES.values()]
    theirs = {path: value for layer in drawn for path, value in layer.items()}
    return CopyFromBert([d_model, num_heads], theirs, **more)


def _first_wrong(seen: Comparison) -> str | None:
    theirs = seen.inputs["weights"]
    for path in seen.inputs["paths"]:
        got, (layer, part) = seen.got.value[path], path.split(".")
        if near(got, seen.expected.value[path]):
            continue
        came = [name for name, value in theirs.items() if near(got, value.to(got.dtype))]
        if any(near(got - 1, value.to(got.dtype)) for value in theirs.values()):
            return f"`{path}` changed when BERT was changed later: it is shared, not copied."
        held = f"holds `theirs.{came[0]}`" if came else "holds something else"
        said = held if (got != BEFORE).any() else "was left as it was"
        return f"`{path}` {said}, but it should hold `theirs.{SOURCES[layer]}.{part}`."
    return None


def _paths(*layers: str) -> list[str]:
    return [f"{layer}.{part}" for layer in layers for part in ("weight", "bias")]


exercise = ExerciseChecks(reference=reference.load_from_bert, judge=matches_reference(_first_wrong),
    examples=[
        example(lambda _: through("load_from_bert"), shown="load_from_bert(mine, theirs)  # of width 2"),
    ], checks=[
    Check("projections", "the layers for queries, keys and values are copied, weights and biases",
          lambda d: _copy(d, 6, 2, paths=_paths("w_q", "w_k", "w_v")), weight=2),
    Check("output-layer", "the layer after the merge is copied, weight and bias",
          lambda d: _copy(d, 8, 2, paths=_paths("w_o"))),
    Check("same-output", "your layer gives what BERT's attention gives",
          lambda d: _copy(d, 12, 3, paths=[], call=[d.normal(2, 5, 12)] * 3),
          fact("For the same input, the two layers give different outputs: some weight or bias "
               "was not copied as it is.")),
    Check("copied", "later changes to BERT don't change your layer",
          lambda d: _copy(d, 6, 3, afterwards=True)),
    Check("facts", "your layer can still be trained, and BERT is left as it was",
          lambda d: _copy(d, 6, 2, facts=True),
          facts({"trainable": "After loading, some parameter of your layer can no longer be trained.",
                 "source kept": "The weights of BERT's layer were changed. Read them, "
                                "but don't write to them."}, _first_wrong)),
    *properties(lambda d: _copy(d, 6, 2), strided=False, sizes=lambda d: [_copy(d, 1, 1), _copy(d, 48, 12)]),
])
