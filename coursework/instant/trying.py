"""Asks a student's function or class an example's question, and leaves everything else as it was."""

import contextlib
import copy
import io
import random
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map, tree_map_only

from coursework.instant.comparing import same_value
from coursework.instant.examples import Question, Result

SEED = 20170612
SECONDS = 5.0


class TookTooLongError(Exception):
    """An answer did not come to an end on a small example."""


class PartError(Exception):
    """A part that an example needs is not where the exercise asks for it."""


def ask(question: Question, answer: Any, seconds: float | None = SECONDS) -> Result:
    """Return what an answer gives; an exception is a result like any other.

    The random state, gradient mode, default dtype and device, and the mode and weights of whatever
    the student built before stay as they are. What the answer prints is dropped. Without `seconds`,
    there is no limit of time.
    """
    asked = _fields(question)
    handed = asked["calls"] if asked["calls"] is not None else _arguments(asked)
    before = copy.deepcopy(handed)
    try:
        with _quiet(), _own_state(), _time_limit(seconds):
            value = _run(asked, answer)
    except Exception as problem:
        return Result(raised=type(problem).__name__, message=_message(problem))
    changed = [n for n, pair in enumerate(zip(before, handed, strict=True)) if not _same(*pair)]
    return Result(_detached(value), changed=tuple(changed))


def _fields(question: Question) -> dict[str, Any]:
    """Return a question's fields, copied, so that an answer cannot change the example."""
    plain = {name: getattr(question, name) for name in Question.__dataclass_fields__}
    return {name: _copied(value) for name, value in plain.items()}


def _copied(value: Any) -> Any:
    return tree_map_only(torch.Tensor, torch.Tensor.clone, tree_map(lambda leaf: leaf, value))


def _arguments(question: Mapping[str, Any]) -> list[Any]:
    return [*question["args"], *question["kwargs"].values()]


def _same(a: Any, b: Any) -> bool:
    """Return whether an argument is as it was; objects that are not plain data are not looked into."""
    plain = (torch.Tensor, list, tuple, dict, str, int, float, type(None))
    return not isinstance(a, plain) or same_value(a, b)


def _run(question: Mapping[str, Any], answer: Any) -> Any:
    args, kwargs = question["args"], question["kwargs"]
    if question["through"]:
        module, _, name = question["through"].partition(":")
        return getattr(import_module(module), name)(answer, *args, **kwargs)
    if question["calls"] is None:
        return answer(*args, **kwargs)
    return _call_module(answer(*args, **kwargs), question)


def _call_module(built: Any, question: Mapping[str, Any]) -> Any:
    if not isinstance(built, nn.Module):
        raise PartError("The class should be an nn.Module.")
    for path, weight in question["weights"].items():
        _load(built, path, weight)
    built.train(question["train"])
    results = [built(*arguments) for arguments in question["calls"]]
    return results[0] if len(results) == 1 else results


def _load(built: nn.Module, path: str, weight: torch.Tensor) -> None:
    """Copy a weight to where the exercise asks for it. Raises PartError if nothing like it is there."""
    here: Any = built
    for step in path.split("."):
        try:
            here = here[int(step)] if step.isdigit() else getattr(here, step)
        except (AttributeError, IndexError, TypeError):
            raise PartError(f"Your module has no `{path}`: nothing is found at `{step}`.") from None
    if not isinstance(here, torch.Tensor):
        raise PartError(f"`{path}` should be a parameter, not {type(here).__name__}.")
    if here.shape != weight.shape:
        came, wanted = tuple(here.shape), tuple(weight.shape)
        raise PartError(f"`{path}` has shape {came}; expected {wanted}.")
    with torch.no_grad():
        here.copy_(weight)


def _message(problem: Exception) -> str:
    try:
        return str(problem)[:500]
    except Exception:
        return ""


def _detached(value: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), value)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    nowhere = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _own_state() -> Iterator[None]:
    """Give the answer a fixed random state and torch's defaults, and put everything back afterwards."""
    state, dtype, device = random.getstate(), torch.get_default_dtype(), torch.get_default_device()
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.set_default_dtype(torch.float32)
            random.seed(SEED)
            torch.default_generator.manual_seed(SEED)
            yield
    finally:
        random.setstate(state)
        torch.set_default_dtype(dtype)
        if device != torch.get_default_device():
            torch.set_default_device(device)


@contextlib.contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TookTooLongError after some seconds, where alarms can be set."""
    possible = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    if seconds is None or not possible:
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TookTooLongError(f"no result after {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
