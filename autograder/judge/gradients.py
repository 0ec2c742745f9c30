"""Judges of gradients and of what an optimiser would find."""

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.judge.judges import entry_of, matches_reference
from autograder.model.exercise import Comparison, Judge
from coursework.engine.compare import difference

MANY = 3


def gradients_match(names: Sequence[str] = (), *, output: Judge | None = None) -> Judge:
    """Return a judge of `ModuleGradients` and `FunctionGradients`: what is not reached, or is wrong.

    `names` are the names of the arguments, for gradients of arguments. `output` judges the output
    of a function first.
    """
    of_output = output or matches_reference()

    def explainer(seen: Comparison) -> str | None:
        got = seen.got.value
        if lost := [path for path in got.get("unregistered", ()) if path in seen.operation.names]:
            return _not_trained(lost)
        if "output" in got and (said := of_output(entry_of(seen, "output")).message):
            return said
        return _about_gradients(_wrong(got, seen.expected.value), names)

    return matches_reference(explainer, any_form=True)


def _about_gradients(wrong: Mapping[str, Any], names: Sequence[str]) -> str | None:
    lost = [path for path, gradient in wrong.items() if gradient is None]
    if lost:
        return f"No gradient reaches {_listed(lost, names)}: nothing is learnt there."
    if not wrong:
        return None
    which, are = ("gradient", "is") if len(wrong) == 1 else ("gradients", "are")
    return f"The {which} of {_listed([*wrong], names)} {are} wrong."


def _wrong(got: dict[str, Any], want: dict[str, Any]) -> dict[str, Any]:
    """Return the gradients that are not as expected, by path or argument."""
    mine, right = (value.get("gradients", value) for value in (got, want))
    if isinstance(right, list):
        mine, right = ({f"argument {n}": g for n, g in enumerate(each)} for each in (mine, right))
    return {path: mine.get(path) for path, value in right.items() if difference(mine.get(path), value)}


def unregistered(seen: Comparison) -> str | None:
    """Say which weights an optimiser would miss, of a `ReadState` of the fact `registered`."""
    lost = [path for path in seen.expected.value if seen.got.value.get(path) is False]
    return _not_trained(lost) if lost else None


def _not_trained(paths: Sequence[str]) -> str:
    missed = "it. Is it" if len(paths) == 1 else "them. Is each of them"
    return (
        f"{_listed(paths)} cannot be trained: `parameters()` does not find {missed} an nn.Parameter, "
        "in an nn.Module or an nn.ModuleList?"
    )


def _listed(paths: Sequence[str], names: Sequence[str] = ()) -> str:
    numbered = dict(enumerate(names))
    named = [numbered.get(int(p.split()[1]), p) if p.startswith("argument ") else p for p in paths[:MANY]]
    more = f" and {len(paths) - MANY} more" if len(paths) > MANY else ""
    return ", ".join(f"`{name}`" for name in named) + more
