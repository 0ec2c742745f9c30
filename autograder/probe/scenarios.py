"""What a probe can be asked to do with a student's names.

Each scenario is a function of the namespace and the inputs. The judge runs the same scenario on
reference code, in its own process, and compares.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from autograder.probe import decoding
from autograder.probe.product import multiplies

Namespace = Mapping[str, Any]
Inputs = Mapping[str, Any]
Scenario = Callable[[Namespace, Inputs], Any]


class StructureError(Exception):
    """A name, an attribute or a parameter's shape is not what the exercise asks for."""


def look_up(namespace: Namespace, name: str) -> Any:
    """Return what the student bound to `name`; StructureError where there is nothing."""
    if name not in namespace:
        raise StructureError(f"There is no `{name}`: was the cell run, is the name spelt so?")
    if _is_ready_made(namespace[name]):
        raise StructureError(
            f"`{name}` is the stand-in that comes with the course: write your own."
        )
    return namespace[name]


def _is_ready_made(found: Any) -> bool:
    """Return whether a function or class comes from the package that students are given."""
    kinds = found.__mro__ if isinstance(found, type) else (found,)
    return any(str(getattr(kind, "__module__", "")).startswith("coursework.") for kind in kinds)


def call(namespace: Namespace, inputs: Inputs) -> Any:
    """Call the function `name` with `args` and `kwargs`."""
    function = look_up(namespace, inputs["name"])
    return function(*inputs["args"], **inputs["kwargs"])


def gradient(namespace: Namespace, inputs: Inputs) -> Any:
    """Call, then pull `cotangent` back through the (first) output to every float argument."""
    args = [_leaf(arg) for arg in inputs["args"]]
    result = look_up(namespace, inputs["name"])(*args, **inputs["kwargs"])
    output = result[0] if isinstance(result, (tuple, list)) else result
    output.backward(inputs["cotangent"])
    return {"output": output, "gradients": [_gradient_of(arg) for arg in args]}


def variable(namespace: Namespace, inputs: Inputs) -> Any:
    """Return the entry `key` of the dictionary `name`."""
    table = look_up(namespace, inputs["name"])
    if not isinstance(table, Mapping):
        raise StructureError(f"`{inputs['name']}` should be a dictionary, not {kind_of(table)}.")
    if inputs["key"] not in table:
        raise StructureError(f"`{inputs['name']}` has no entry '{inputs['key']}'.")
    return table[inputs["key"]]


def module(namespace: Namespace, inputs: Inputs) -> Any:
    """Build the class `name`, load `weights`, set the mode, and call it once per entry of `calls`."""
    built = build(namespace, inputs)
    outputs = [built(*args) for args in inputs["calls"]]
    return outputs[0] if len(outputs) == 1 else outputs


def module_gradient(namespace: Namespace, inputs: Inputs) -> Any:
    """As `module`, then the gradients of the loaded parameters for a given cotangent."""
    built = build(namespace, inputs)
    result = built(*inputs["calls"][0])
    output = result[0] if isinstance(result, (tuple, list)) else result
    output.backward(inputs["cotangent"])
    return {path: _gradient_of(attribute(built, path)) for path in inputs["weights"]}


def parameters(namespace: Namespace, inputs: Inputs) -> Any:
    """Build the class and count what it would learn: shapes by attribute, and the total."""
    built = build(namespace, inputs)
    shapes = {path: tuple(attribute(built, path).shape) for path in inputs["attributes"]}
    distinct = {id(p): p for p in built.parameters() if p.requires_grad}
    return {"shapes": shapes, "total": sum(p.numel() for p in distinct.values())}


def buffer(namespace: Namespace, inputs: Inputs) -> Any:
    """Build the class and say what its attribute `buffer` is, and hand over the tensor."""
    built, name = build(namespace, inputs), inputs["buffer"]
    if name in dict(built.named_buffers(remove_duplicate=False)):
        kind = "buffer"
    else:
        kind = "parameter" if name in dict(built.named_parameters()) else "attribute"
    return {"kind": kind, "value": attribute(built, name)}


def dropout(namespace: Namespace, inputs: Inputs) -> Any:
    """Call once in eval and once in train mode, and compare: nothing here depends on the draws.

    `zeroed` is the share of entries that train mode sets to 0, to one place; `factor` is what it
    multiplies the others by, in the middle of them.
    """
    built = build(namespace, inputs)
    with torch.no_grad():
        calm, live = (built.train(mode)(*inputs["calls"][0]) for mode in (False, True))
    kept = live[live != 0] / calm[live != 0]
    factor = round(kept.median().item(), 1) if len(kept) else 0.0
    return {"zeroed": round((live == 0).float().mean().item(), 1), "factor": factor}


def build(namespace: Namespace, inputs: Inputs) -> nn.Module:
    """Construct the class `name` and load its weights by attribute."""
    built = look_up(namespace, inputs["name"])(*inputs["init"], **inputs["init_kwargs"])
    if not isinstance(built, nn.Module):
        raise StructureError(f"`{inputs['name']}(…)` should be an nn.Module, not {kind_of(built)}.")
    for path, value in inputs["weights"].items():
        load(built, path, value)
    return built.train(inputs["train"])


def load(built: nn.Module, path: str, value: torch.Tensor) -> None:
    """Copy a tensor into the parameter at an attribute path such as `w_q.weight`."""
    parameter = attribute(built, path)
    if not isinstance(parameter, torch.Tensor):
        raise StructureError(f"`{path}` should be a parameter, not {kind_of(parameter)}.")
    if parameter.shape != value.shape:
        raise StructureError(
            f"`{path}` has shape {tuple(parameter.shape)}; the exercise asks for {tuple(value.shape)}."
        )
    with torch.no_grad():
        parameter.copy_(value)


def attribute(built: Any, path: str) -> Any:
    """Follow a dotted path, with numbers for entries of a list; StructureError where it ends."""
    here, walked = built, ""
    for step in path.split("."):
        try:
            here = here[int(step)] if step.isdigit() else getattr(here, step)
        except (AttributeError, IndexError, TypeError):
            owner = f"`{walked}`" if walked else f"Your {type(built).__name__}"
            raise StructureError(f"{owner} has no attribute `{step}`.") from None
        if here is None:
            raise StructureError(f"`{path}`: `{step}` is None (was bias=False used?).")
        walked = f"{walked}.{step}".lstrip(".")
    return here


def kind_of(value: object) -> str:
    """Return a short name of a value's type."""
    return "None" if value is None else type(value).__name__


def module_double(namespace: Namespace, inputs: Inputs) -> Any:
    """As `module`, in float64."""
    built = build(namespace, inputs).double()
    outputs = [built(*args) for args in inputs["calls"]]
    return outputs[0] if len(outputs) == 1 else outputs


def dropout_facts(namespace: Namespace, inputs: Inputs) -> Any:
    """Say what dropout does to an attention of `heads` heads whose values are all 1.

    `changes`: the output is not what it is in eval mode, built without dropout. `together`: the
    features of a head always share one fate, as they do when whole weights are dropped. These are
    facts, not numbers: they are the same at every draw.
    """
    plain = {**inputs, "init": inputs["init"][:2], "train": False}
    before, after = (_first_output(build(namespace, asked), inputs) for asked in (plain, inputs))
    fates = (after / before).nan_to_num(1.0)  # nothing stays nothing
    fates = fates.reshape(*fates.shape[:-1], inputs["heads"], -1)  # (B, Tq, H, K)
    spread = fates.amax(-1) - fates.amin(-1)  # (B, Tq, H)
    return {"changes": bool((fates - 1).abs().max() > 1e-3), "together": bool(spread.max() < 1e-3)}


def _first_output(built: nn.Module, inputs: Inputs) -> torch.Tensor:
    result = built(*inputs["calls"][0])
    output = result[0] if isinstance(result, (tuple, list)) and result else result
    if not isinstance(output, torch.Tensor) or output.shape != inputs["calls"][0][0].shape:
        raise StructureError("The output should have the shape of the query.")
    return output.detach()


def load_weights(namespace: Namespace, inputs: Inputs) -> Any:
    """Let the function `name` copy an nn.MultiheadAttention with `weights` into the class `into`.

    Returns what is asked for: the parameters at `paths`, as they are once the source has been
    changed afterwards where `afterwards` is set; with `facts`, whether they can still be trained and
    whether the source came through unchanged; with `calls`, the output of the first.
    """
    d_model, heads = inputs["init"]
    theirs = nn.MultiheadAttention(d_model, heads, batch_first=inputs["batch_first"])
    mine = look_up(namespace, inputs["into"])(*inputs["init"]).eval()
    for path, value in inputs["weights"].items():
        load(theirs, path, value)
    for path in inputs["own"]:
        load(mine, path, torch.zeros_like(attribute(mine, path)))
    if inputs["double"]:
        theirs, mine = theirs.double(), mine.double()
    look_up(namespace, inputs["name"])(mine, theirs)
    return _loaded(mine, theirs, inputs)


def _loaded(mine: nn.Module, theirs: nn.Module, inputs: Inputs) -> Any:
    found: dict[str, Any] = {}
    if inputs["facts"]:
        learnt = {id(p) for p in mine.parameters() if p.requires_grad}
        found["trainable"] = all(id(attribute(mine, path)) in learnt for path in inputs["own"])
        before = inputs["weights"].items()
        found["source unchanged"] = all(torch.equal(attribute(theirs, p), v) for p, v in before)
    if inputs["afterwards"]:
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.add_(1.0)
    if inputs["calls"]:
        found["output"] = mine(*inputs["calls"][0])[0].detach()
    return found | {path: attribute(mine, path).detach() for path in inputs["paths"]}


def _leaf(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.clone().requires_grad_()
    return value


def _gradient_of(value: Any) -> Any:
    return value.grad if isinstance(value, torch.Tensor) else None


def arguments_after(namespace: Namespace, inputs: Inputs) -> Any:
    """Call the function, and look at its arguments afterwards: lists and dictionaries change too."""
    return {"result": call(namespace, inputs), "arguments": inputs["args"]}


def product(namespace: Namespace, inputs: Inputs) -> Any:
    """Call the function with ids and a table: its output, and whether it multiplies with the table.

    With a `cotangent` among the inputs, the gradient of the table as well.
    """
    function = look_up(namespace, inputs["name"])
    ids, table = inputs["args"]
    if "cotangent" not in inputs:
        output = function(ids, table)
        return {"output": output, "product": multiplies(function, ids, table)}
    pulled = gradient(namespace, {**inputs, "kwargs": {}})
    seen = {"output": pulled["output"], "gradient": pulled["gradients"][1]}
    return {**seen, "product": multiplies(function, ids, table)}


SCENARIOS: dict[str, Scenario] = {
    "call": call,
    "gradient": gradient,
    "variable": variable,
    "module": module,
    "module_gradient": module_gradient,
    "parameters": parameters,
    "buffer": buffer,
    "dropout": dropout,
    "arguments_after": arguments_after,
    "product": product,
    "module_double": module_double,
    "dropout_facts": dropout_facts,
    "load_weights": load_weights,
    "moves": decoding.moves,
    "dropout_fact": decoding.dropout_fact,
    "all_gradients": decoding.all_gradients,
    "unregistered": decoding.unregistered,
}


def add(scenarios: Mapping[str, Scenario]) -> None:
    """Add a module's scenarios. ValueError if a name is taken: two lessons would share it unawares."""
    taken = scenarios.keys() & SCENARIOS.keys()
    if taken:
        raise ValueError(f"expected new names for scenarios; {sorted(taken)} exist already")
    SCENARIOS.update(scenarios)


import autograder.probe.attention  # noqa: E402 - it adds its scenarios, and builds on what stands above
import autograder.probe.blocks  # noqa: E402 - and so does this
import autograder.probe.models  # noqa: E402, F401 - and this
