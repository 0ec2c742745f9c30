from typing import Any

import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, example, fact, facts, matches_reference, near, properties,
    through,
)
from autograder.lessons.multi_head_attention import reference
from autograder.lessons.multi_head_attention.fixtures import BEFORE, CopyFromTorch


def _copy(draw: Draw, d_model: int, num_heads: int, **more: Any) -> CopyFromTorch:
    theirs = {
        "in_proj_weight": draw.normal(3 * d_model, d_model, scale=d_model**-0.5),
        "in_proj_bias": draw.normal(3 * d_model, scale=0.5),
        **draw.linear("out_proj", d_model, d_model),
    }
    return CopyFromTorch([d_model, num_heads], theirs, **more)


def _first_wrong(seen: Comparison) -> str | None:
    pieces = _pieces(seen.inputs["weights"])
    for path in seen.inputs["paths"]:
        got, want = seen.got.value[path], seen.expected.value[path]
        if not near(got, want):
            came = f"holds {_content(got, pieces)}" if (got != BEFORE).any() else "was left as it was"
            return f"`{path}` {came}, but it should hold {_content(want, pieces)}."
    return None


def _pieces(theirs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the pieces of torch's layer by the names that a student would use."""
    found = {f"out_proj.{part}": theirs[f"out_proj.{part}"] for part in ("weight", "bias")}
    for name in ("in_proj_weight", "in_proj_bias"):
        parts = zip(("queries", "keys", "values"), theirs[name].chunk(3), strict=True)
        found |= {f"the {part}' part of {name}": piece for part, piece in parts}
    return found


def _content(value: torch.Tensor, pieces: dict[str, torch.Tensor]) -> str:
    """Name the piece that a parameter holds, as it was, transposed, or changed after the copy."""
    forms = {"": value, ", transposed": value.t(), ", changed later (shared, not copied)": value - 1}
    named = (
        name + how for how, form in forms.items() for name, piece in pieces.items()
        if near(form, piece.to(form.dtype))
    )
    return next(named, "something else")


exercise = ExerciseChecks(reference=reference.load_from_torch, judge=matches_reference(_first_wrong),
    examples=[
        example(lambda _: through("load_from_torch"),
                shown="load_from_torch(mine, nn.MultiheadAttention(2, 2))"),
    ], checks=[
    Check("weights", "the weights for queries, keys and values are copied to the right layers",
          lambda d: _copy(d, 6, 2, paths=["w_q.weight", "w_k.weight", "w_v.weight"]), weight=2),
    Check("biases", "their biases are copied too",
          lambda d: _copy(d, 6, 3, paths=["w_q.bias", "w_k.bias", "w_v.bias"])),
    Check("output-layer", "the output layer is copied, weight and bias",
          lambda d: _copy(d, 8, 2, paths=["w_o.weight", "w_o.bias"])),
    Check("same-output", "both layers give the same output",
          lambda d: _copy(d, 8, 2, call=[d.normal(3, length, 8) for length in (4, 5, 5)], paths=[]),
          fact("For the same input, the two layers give different outputs: some weight or bias "
               "was not copied as it is.")),
    Check("copied", "later changes to the other layer don't change yours",
          lambda d: _copy(d, 6, 2, afterwards=True)),
    Check("facts", "the layer can still be trained, and the other one is left as it was",
          lambda d: _copy(d, 6, 2, facts=True),
          facts({"trainable": "After loading, some parameter of your layer can no longer be trained.",
                 "source kept": "The weights of PyTorch's layer were changed. Read them, "
                                "but don't write to them."}, _first_wrong)),
    Check("length-first", "a layer with the length first, of another size, in float64",
          lambda d: _copy(d, 9, 3, batch_first=False, double=True), weight=0.5),
    *properties(lambda d: _copy(d, 6, 2), strided=False, sizes=lambda d: [_copy(d, 1, 1), _copy(d, 48, 6)]),
])
