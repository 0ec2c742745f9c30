from collections.abc import Sequence
from typing import Any

import torch

from autograder.judge.table import (
    Check, Comparison, Draw, ExerciseChecks, Operation, example, facts, matches_reference, near, properties,
)
from autograder.lessons.modern_llm import drawn, reference
from autograder.lessons.modern_llm.fixtures import LoadTensors
from coursework.engine.modern_parts import LoadExample, small_llama

INIT = (11, 8, 3, 4, 2, 6)
PARTS = {
    "norm1": "attn_norm", "attention.w_q": "attn_q", "attention.w_k": "attn_k", "attention.w_v": "attn_v",
    "attention.w_o": "attn_output", "norm2": "ffn_norm", "feed_forward.w1": "ffn_gate",
    "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
}  # fmt: skip
TAIL = ".weight"
REFUSED = {
    "another exception": "The exception should be a ValueError. Check names and shapes yourself, before "
                         "anything else fails, and raise it.",
    "refused": "A ValueError should be raised here, but none was.",
    "named": "The message of the ValueError doesn't contain the full name of the tensor, as the file has it.",
    "unchanged": "The ValueError comes too late: some weights of the model are changed by then. "
                 "Check everything before you copy anything.",
}


def file_name(path: str) -> str:
    """Return the name in the file of the weight at a path of the model."""
    part = path.removesuffix(TAIL)
    if not part.startswith("layers."):
        return {"embedding": "token_embd", "norm": "output_norm"}[part] + TAIL
    _, number, part = part.split(".", 2)
    return f"blk.{number}.{PARTS[part]}{TAIL}"


def _tensors(d: Draw, init: drawn.Init) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return drawn tensors by their names in the file, in a drawn order, and others by the model's paths."""
    weights = drawn.model(d, init)
    named = {file_name(path): d.normal(*value.shape) for path, value in weights.items()}
    return {name: named[name] for name in d.shuffled([*named])}, weights


def _load(d: Draw, *parts: str, init: Sequence[int] = INIT, **fields: Any) -> LoadTensors:
    """Load a file; the result holds the weights whose paths contain one of `parts`."""
    tensors, before = _tensors(d, init)
    paths = [path for path in before if any(part in f".{path}" for part in parts)]
    return LoadTensors(init, tensors, before, paths, **fields)


def _in_16_bits(d: Draw) -> Operation:
    """Load a file whose tensors are in 16 bits, and one of them in 64, into a model in 32 bits."""
    tensors, before = _tensors(d, INIT)
    changed = {name: tensor.to(torch.float16) for name, tensor in tensors.items()}
    first = next(iter(changed))
    changed[first] = changed[first].double()
    return LoadTensors(INIT, changed, before, [*before])


def _without(d: Draw, name: str) -> Operation:
    tensors, before = _tensors(d, INIT)
    del tensors[name]
    return LoadTensors(INIT, tensors, before, refused=[name])


def _with(d: Draw, extra: dict[str, torch.Tensor], *, first: bool = False) -> Operation:
    """Load a file with further tensors, or with others in the place of some."""
    tensors, before = _tensors(d, INIT)
    names = [*extra, *tensors] if first else [*tensors, *extra]
    given = {name: {**tensors, **extra}[name] for name in names}
    return LoadTensors(INIT, given, before, refused=[*extra])


def _larger_file(d: Draw) -> Operation:
    """Load a file of four layers into a model of three: every tensor of the fourth is left over."""
    tensors, _ = _tensors(d, (*INIT[:2], 4, *INIT[3:]))
    _, before = _tensors(d, INIT)
    return LoadTensors(INIT, tensors, before, refused=[name for name in tensors if name.startswith("blk.3.")])


def _smaller_file(d: Draw) -> Operation:
    """Load a file of two layers into a model of three: every tensor of the third is missing."""
    tensors, _ = _tensors(d, (*INIT[:2], 2, *INIT[3:]))
    _, before = _tensors(d, INIT)
    wanted = [file_name(path) for path in before if path.startswith("layers.2.")]
    return LoadTensors(INIT, tensors, before, refused=wanted)


def _wider_file(d: Draw) -> Operation:
    tensors, _ = _tensors(d, (INIT[0], 16, *INIT[2:]))
    _, before = _tensors(d, INIT)
    return LoadTensors(INIT, tensors, before, refused=[*tensors])


def _first_wrong(seen: Comparison) -> str | None:
    """Say of the first wrong weight which tensor it holds."""
    tensors = seen.inputs["tensors"]
    for path in seen.inputs["paths"]:
        got, want = seen.got.value[path], seen.expected.value[path]
        if got.dtype != want.dtype or near(got, want):
            continue
        held = next((name for name, tensor in tensors.items() if near(got, tensor.to(got.dtype))), "")
        kept = near(got, seen.inputs["before"][path].to(got.dtype))
        came = f"holds `{held}`" if held else "was left as it was" if kept else "holds something else"
        return f"`{path}` {came}, but it should hold `{file_name(path)}`."
    return None


def _example(spoilt: str = "", shape: Sequence[int] = ()) -> LoadExample:
    """Load a file from the last tensor to the first; `spoilt` gets a shape, or is left out."""
    shapes = {file_name(path): tuple(p.shape) for path, p in reversed([*small_llama().named_parameters()])}
    if shape:
        shapes[spoilt] = tuple(shape)
    elif spoilt:
        del shapes[spoilt]
    return LoadExample((), shapes=shapes, spoilt=spoilt)


exercise = ExerciseChecks(reference=reference.load_llama, judge=matches_reference(_first_wrong),
    examples=[
        example(lambda _: _example(),
                shown="load_llama(model, tensors)  # two layers; tensor n of the file begins with 10 · n"),
        example(lambda _: _example("blk.1.attn_q.weight"),
                shown="load_llama(model, tensors)  # without blk.1.attn_q.weight"),
        example(lambda _: _example("blk.2.attn_q.weight", (4, 4)),
                shown="load_llama(model, tensors)  # with blk.2.attn_q.weight"),
        example(lambda _: _example("blk.0.attn_k.weight", (4, 2)),
                shown="load_llama(model, tensors)  # with a blk.0.attn_k.weight of (4, 2)"),
    ], checks=[
    Check("attention", "the four matrices of every attention",
          lambda d: _load(d, ".attention."), weight=2),
    Check("feed-forward", "the three matrices of every feed-forward network: gate, up and down",
          lambda d: _load(d, ".feed_forward."), weight=2),
    Check("norms-and-table", "the norms and the table",
          lambda d: _load(d, ".norm", ".embedding"), weight=1.5),
    Check("one-layer", "a model of one layer", lambda d: _load(d, "", init=(5, 6, 1, 3, 1, 4)), weight=0.5),
    Check("many-layers", "a model of twelve layers, so that some numbers have two digits",
          lambda d: _load(d, "", init=(5, 4, 12, 2, 1, 3))),
    Check("copied", "later changes to the tensors don't change the model",
          lambda d: _load(d, "", afterwards=True)),
    Check("facts", "the model can still be trained, and the dictionary is left as it was",
          lambda d: _load(d, ".w_q", facts=True),
          facts({"trainable": "After loading, some parameter of the model can no longer be trained.",
                 "dictionary kept": "The dictionary was modified in place. Read it, but don't change it."},
                _first_wrong)),
    Check("model-in-float64", "a model in float64 stays in float64",
          lambda d: _load(d, "", double=True), weight=0.5),
    Check("file-in-16-bits", "tensors in other dtypes are converted to that of the model",
          _in_16_bits, weight=0.5),
    Check("missing", "a tensor of a layer is missing: a ValueError names it, and the model is unchanged",
          lambda d: _without(d, f"blk.{d.integer(0, 3)}.{d.sampled([*PARTS.values()], 1)[0]}.weight"),
          facts(REFUSED), separates=["layers-from-one"]),
    Check("ends-missing", "the final norm is missing: a ValueError names it, and the model is unchanged",
          lambda d: _without(d, "output_norm.weight"), facts(REFUSED), weight=0.5),
    Check("left-over", "a tensor is left over: a ValueError names it, and the model is unchanged",
          lambda d: _with(d, {"blk.1.attn_q.bias": d.normal(8)}), facts(REFUSED)),
    Check("larger-file", "the file has more layers than the model", _larger_file, facts(REFUSED), weight=0.5,
          separates=["numbers-in-order"]),
    Check("smaller-file", "the file has fewer layers than the model",
          _smaller_file, facts(REFUSED), weight=0.5),
    Check("other-shape", "a tensor has another shape: a ValueError names it, and the model is unchanged",
          lambda d: _with(d, {"blk.2.attn_k.weight": d.normal(8, 4)}), facts(REFUSED),
          separates=["numbers-in-order"]),
    Check("shape-that-spreads", "a norm of a single number is refused as well",
          lambda d: _with(d, {"blk.0.ffn_norm.weight": d.normal(1)[0]}), facts(REFUSED), weight=0.5,
          separates=["numbers-in-order"]),
    Check("wider-file", "every tensor has another shape", _wider_file, facts(REFUSED), weight=0.5),
    *properties(lambda d: _load(d, ""), strided=False,
                sizes=lambda d: [_load(d, "", init=(1, 2, 1, 1, 1, 1)),
                                 _load(d, "", init=(40, 32, 2, 8, 2, 50))]),
])
