"""Checks of `load_from_torch`."""

from typing import Any

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus
from autograder.judge.judgement import Seen, agrees
from autograder.lessons.multi_head_attention import reference

OWN = [f"{layer}.{part}" for layer in ("w_q", "w_k", "w_v", "w_o") for part in ("weight", "bias")]
WEIGHTS = "w_q, w_k, w_v = theirs.in_proj_weight.chunk(3)"
BIASES = "b_q, b_k, b_v = theirs.in_proj_bias.chunk(3)"
PARTS = ("queries", "keys", "values")


def add_loading(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "load-from-torch", 4, "load_from_torch", reference=reference.load_from_torch
    )
    _add_cases(exercise)
    _add_mistakes(exercise)


def _load(draw: Draw, d_model: int, num_heads: int, paths: list[str], **more: Any) -> Stimulus:
    """Ask for the parameters at `paths`, loaded from a layer of torch's with drawn weights."""
    theirs = {
        "in_proj_weight": draw.normal(3 * d_model, d_model, scale=d_model**-0.5),
        "in_proj_bias": draw.normal(3 * d_model, scale=0.5),
        **draw.linear("out_proj", d_model, d_model),
    }
    asked = {"init": [d_model, num_heads], "into": "MultiHeadAttention", "weights": theirs}
    usual = {"batch_first": True, "double": False, "facts": False, "afterwards": False, "calls": []}
    return Stimulus("load_weights", {**asked, "own": OWN, "paths": paths, **usual, **more})


def _add_cases(exercise: Exercise) -> None:
    judge = agrees(_which_is_wrong)

    @exercise.case("the weights of queries, keys and values arrive in their places", judge=judge, weight=2)
    def weights(draw: Draw) -> Stimulus:
        return _load(draw, 6, 2, ["w_q.weight", "w_k.weight", "w_v.weight"])

    @exercise.case("their biases arrive as well", judge=judge)
    def biases(draw: Draw) -> Stimulus:
        return _load(draw, 6, 3, ["w_q.bias", "w_k.bias", "w_v.bias"])

    @exercise.case("the output layer arrives, weight and bias", judge=judge)
    def output_layer(draw: Draw) -> Stimulus:
        return _load(draw, 8, 2, ["w_o.weight", "w_o.bias"])

    @exercise.case("both layers give the same output")
    def same_output(draw: Draw) -> Stimulus:
        calls = [[draw.normal(3, length, 8) for length in (4, 5, 5)]]
        return _load(draw, 8, 2, [], calls=calls)

    @exercise.case("it copies: what happens to the other layer afterwards changes nothing", judge=agrees(_shared))
    def copied(draw: Draw) -> Stimulus:
        return _load(draw, 6, 2, OWN, afterwards=True)

    @exercise.case("the layer can still be trained, and the other one is left as it was", judge=agrees(_facts, _which_is_wrong))
    def facts(draw: Draw) -> Stimulus:
        return _load(draw, 6, 2, OWN, facts=True)

    @exercise.case("a layer with the length first, of another size, in float64", judge=judge, weight=0.5)
    def length_first(draw: Draw) -> Stimulus:
        return _load(draw, 9, 3, OWN, batch_first=False, double=True)


def _pieces(seen: Seen) -> dict[str, torch.Tensor]:
    """Return the pieces of the other layer, by what a student would call them."""
    source = seen.inputs["weights"]
    pieces = {"the weight of out_proj": source["out_proj.weight"], "the bias of out_proj": source["out_proj.bias"]}
    for name, whole in (("in_proj_weight", source["in_proj_weight"]), ("in_proj_bias", source["in_proj_bias"])):
        for part, piece in zip(PARTS, whole.chunk(3), strict=True):
            pieces[f"the {part}' part of {name}"] = piece
    return pieces


def _which_is_wrong(seen: Seen) -> str | None:
    """Say what the first wrong parameter holds, and what it should hold."""
    pieces = _pieces(seen)
    for path in seen.inputs["paths"]:
        got, want = seen.got.value[path], seen.expected.value[path]
        if got.shape == want.shape and torch.allclose(got, want, atol=1e-4):
            continue
        meant = _name_of(want, pieces)
        if not got.any():
            return f"`{path}` was left as it was; it should hold {meant}."
        held = _name_of(got, pieces) or _name_of(got.mT if got.dim() == 2 else got, pieces, ", transposed")
        return f"`{path}` holds {held or 'something else'}; it should hold {meant}."
    return None


def _name_of(value: torch.Tensor, pieces: dict[str, torch.Tensor], suffix: str = "") -> str:
    for name, piece in pieces.items():
        if value.shape == piece.shape and torch.allclose(value, piece.to(value.dtype), atol=1e-4):
            return name + suffix
    return ""


def _shared(seen: Seen) -> str | None:
    """Say which parameters moved along when the other layer was changed by adding 1 to it."""
    shared = [
        path
        for path in seen.inputs["paths"]
        if torch.allclose(seen.got.value[path], seen.expected.value[path] + 1.0, atol=1e-4)
    ]
    if shared:
        named = ", ".join(f"`{path}`" for path in shared)
        return f"{named} changed when the other layer was changed afterwards: shared, not copied."
    return _which_is_wrong(seen)


def _facts(seen: Seen) -> str | None:
    if not seen.got.value["trainable"]:
        return "After loading, not every parameter of your layer can be trained any more."
    if not seen.got.value["source unchanged"]:
        return "The weights of PyTorch's layer were changed: they are to be read, not written."
    return None


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    stacked = "The first D rows make queries, the next D keys, the last D values."
    mistake("keys-first", "The three parts are taken in the order keys, queries, values", stacked,
            edits={WEIGHTS: "w_k, w_q, w_v = theirs.in_proj_weight.chunk(3)",
                   BIASES: "b_k, b_q, b_v = theirs.in_proj_bias.chunk(3)"})  # fmt: skip
    mistake("values-second", "The three parts are taken in the order queries, values, keys", stacked,
            edits={WEIGHTS: "w_q, w_v, w_k = theirs.in_proj_weight.chunk(3)",
                   BIASES: "b_q, b_v, b_k = theirs.in_proj_bias.chunk(3)"})  # fmt: skip
    mistake("keys-values-queries", "The three parts are taken in the order keys, values, queries", stacked,
            edits={WEIGHTS: "w_k, w_v, w_q = theirs.in_proj_weight.chunk(3)",
                   BIASES: "b_k, b_v, b_q = theirs.in_proj_bias.chunk(3)"})  # fmt: skip
    mistake("weights-in-other-order", "The weights are taken in another order than they are stacked, the biases in the right one",
            stacked, edits={WEIGHTS: "w_k, w_q, w_v = theirs.in_proj_weight.chunk(3)"})  # fmt: skip
    mistake("biases-in-other-order", "The biases are taken in another order than they are stacked, the weights in the right one",
            stacked, edits={BIASES: "b_k, b_q, b_v = theirs.in_proj_bias.chunk(3)"})  # fmt: skip
    heads = "theirs.num_heads, 3, theirs.embed_dim // theirs.num_heads"
    mistake("head-by-head", "The weights are read as if they were stacked head by head", stacked,
            edits={WEIGHTS: f"w_q, w_k, w_v = theirs.in_proj_weight.view({heads}, theirs.embed_dim).transpose(0, 1).flatten(1, 2)",
                   BIASES: f"b_q, b_k, b_v = theirs.in_proj_bias.view({heads}).transpose(0, 1).flatten(1)"})  # fmt: skip
    mistake("taking-turns", "Every third row is taken, as if queries, keys and values took turns", stacked,
            edits={WEIGHTS: "w_q, w_k, w_v = (theirs.in_proj_weight[i::3] for i in range(3))",
                   BIASES: "b_q, b_k, b_v = (theirs.in_proj_bias[i::3] for i in range(3))"})  # fmt: skip
    mistake("same-for-all", "Queries, keys and values all get the first part", stacked,
            edits={WEIGHTS: "w_q = w_k = w_v = theirs.in_proj_weight[:theirs.embed_dim]",
                   BIASES: "b_q = b_k = b_v = theirs.in_proj_bias[:theirs.embed_dim]"})  # fmt: skip
    _add_omissions(exercise)
    _add_handling(exercise)


def _copies(*names: str) -> dict[str, str]:
    """Return edits that drop the copies into these parameters."""
    taken = {"w_o.weight": "theirs.out_proj.weight", "w_o.bias": "theirs.out_proj.bias"}
    taken |= {f"w_{x}.weight": f"w_{x}" for x in "qkv"} | {f"w_{x}.bias": f"b_{x}" for x in "qkv"}
    return {f"mine.{name}.copy_({taken[name]})": "pass" for name in names}


def _add_omissions(exercise: Exercise) -> None:
    mistake = exercise.misconception
    eight = "Eight tensors have to arrive: a weight and a bias for each of four layers."
    mistake("no-biases", "No bias is copied", eight, edits=_copies(*OWN[1::2]))
    mistake("no-projection-biases", "The biases of queries, keys and values are not copied", eight,
            edits=_copies("w_q.bias", "w_k.bias", "w_v.bias"))  # fmt: skip
    mistake("no-output-layer", "The output layer is not copied", eight, edits=_copies("w_o.weight", "w_o.bias"))
    mistake("no-output-bias", "The bias of the output layer is not copied", eight, edits=_copies("w_o.bias"))
    mistake("output-layer-only", "Only the output layer is copied", eight, edits=_copies(*OWN[:6]))
    mistake("nothing-arrives", "Nothing is written into the layer",
            "`layer = other` gives a local name a new meaning; the parameter itself stays as it was.",
            edits=_copies(*OWN))  # fmt: skip


def _rebound(template: str) -> dict[str, str]:
    """Return edits that put something else in the place of each copy."""
    return {old: template.format(old.split(".copy_(")[0], old.split(".copy_(")[1][:-1]) for old in _copies(*OWN)}


def _add_handling(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("shared", "The weights are shared, not copied",
            "Train one layer for a step and look at the other. Which operation makes numbers of its own?",
            edits=_rebound("{0}.data = {1}.data"))  # fmt: skip
    mistake("output-layer-shared", "The output layer is the other one's own, not a copy",
            "`mine.w_o = theirs.out_proj` makes two names for one layer.",
            edits={"mine.w_o.weight.copy_(theirs.out_proj.weight)": "mine.w_o = theirs.out_proj",
                   "mine.w_o.bias.copy_(theirs.out_proj.bias)": "pass"})  # fmt: skip
    mistake("transposed", "The weights are transposed on the way",
            "Both layers keep a weight as nn.Linear does: rows are outputs.",
            edits={"copy_(w_q)": "copy_(w_q.T)", "copy_(w_k)": "copy_(w_k.T)", "copy_(w_v)": "copy_(w_v.T)",
                   "copy_(theirs.out_proj.weight)": "copy_(theirs.out_proj.weight.T)"})  # fmt: skip
    mistake("projections-transposed", "The weights of queries, keys and values are transposed on the way",
            "Both layers keep a weight as nn.Linear does: rows are outputs.",
            edits={"copy_(w_q)": "copy_(w_q.T)", "copy_(w_k)": "copy_(w_k.T)", "copy_(w_v)": "copy_(w_v.T)"})  # fmt: skip
    mistake("watched-by-autograd", "Parameters are written in place while autograd is watching, which it forbids",
            "Writing into a parameter is not part of the computation: `with torch.no_grad():`.",
            edits={"with torch.no_grad():": "if True:"})  # fmt: skip
    mistake("frozen", "The layer cannot be trained afterwards: its parameters ask for no gradient",
            "`requires_grad` of every parameter should still be True.",
            edits={"    with torch.no_grad():": "    mine.requires_grad_(False)\n    with torch.no_grad():"})  # fmt: skip
    mistake("wrong-way", "The weights are copied the wrong way: PyTorch's layer gets ours",
            "`a.copy_(b)` writes into a.",
            edits=_rebound("{1}.copy_({0})"))  # fmt: skip
