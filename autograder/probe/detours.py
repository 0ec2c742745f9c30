"""Watches the ways that lead around torch's modes, in which `library_calls` sees what is called.

A thread begins without modes, torch's engine works out derivatives behind them, callbacks of forks and
signals run while they are off, and some functions of torch's switch them off. A graph can be traced at a
cell, when nobody looks, and run later as plain operators.
"""

import _thread
import itertools
import os
import posix
import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

import torch
from torch.fx import graph_module

from autograder.probe import handed_over
from autograder.probe.caller import caller, is_ours
from autograder.probe.library_calls import (
    both_modes,
    called_back,
    done_elsewhere,
    function_mode,
    tell,
    tell_of_evasion,
    tell_of_stand_in,
)
from autograder.probe.self_reports import (
    have_function_reported,
    have_methods_reported,
    have_module_reported,
)
from autograder.probe.stand_in_code import MODULES

SWITCHES: Final = (
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "_DisableTorchDispatch",
    "_unset_dispatch_mode",
)
STARTS: Final = (
    "start_new_thread",
    "start_new",
    "_start_new_thread",
    "start_joinable_thread",
    "_start_joinable_thread",
)


def install() -> None:
    """Watch threads, derivatives, callbacks, switches and stand-ins from now on.

    To be called once, before a student's code runs: what that has hold of already cannot be watched.
    """
    for module in MODULES:
        have_module_reported(module, tell_of_stand_in)
    for module, name in itertools.product((_thread, threading), STARTS):
        if callable(start := getattr(module, name, None)):
            setattr(module, name, _taking_part(start))
    for holder in (torch.autograd, torch.autograd.graph):
        name = "_engine_run_backward"
        engine = handed_over.wrapped(getattr(holder, name), function_mode)
        setattr(holder, name, _telling(engine, "run_backward"))
    for module in (os, posix):
        name = "register_at_fork"
        setattr(module, name, _at_fork(getattr(module, name)))
    handlers: Any = sys.modules["_signal"]  # by which `signal` sets them
    handlers.signal = _handling(handlers.signal)
    compiler: Any = torch.jit._state  # off, because no mode is told of what it compiles
    compiler.enable = _evading(compiler.enable)
    have_methods_reported(graph_module, {"recompile"}, tell_of_evasion, tell_of_evasion)
    redispatch: Any = torch._ops.OpOverload.redispatch
    have_function_reported(redispatch, _redispatched, tell_of_evasion)
    for name in SWITCHES:
        if callable(switch := getattr(torch._C, name, None)):
            setattr(torch._C, name, _evading(switch))


class _Watched:
    """What a thread runs: a function, in a thread that takes part."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take part, and run the function."""
        with both_modes():
            return self._function(*args, **kwargs)


def is_watched(function: Any) -> bool:
    """Return whether a thread that runs a function takes part."""
    return type(function) is _Watched


def _taking_part(start: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that starts a thread, and has it tell what it calls."""

    def start_watched(function: Callable[..., Any], *rest: Any, **options: Any) -> Any:
        return start(function if is_watched(function) else _Watched(function), *rest, **options)

    return start_watched


def _at_fork(register: Callable[..., None]) -> Callable[..., None]:
    """Return what registers functions for forks, which happen while no cell runs."""

    def register_watched(**functions: Callable[[], Any]) -> None:
        register(**{when: called_back(function) for when, function in functions.items()})

    return register_watched


def _handling(listen: Callable[..., Any]) -> Callable[..., Any]:
    """Return what sets a signal's handler, which may run while torch has its modes off."""

    def listen_watched(number: int, handler: Any) -> Any:
        return listen(number, called_back(handler) if callable(handler) else handler)

    return listen_watched


def _telling(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        tell(name)
        return function(*args, **kwargs)

    return call


def _redispatched(_: CodeType) -> None:
    """Report that an operator's kernel is called below the modes, unless torch itself does that."""
    made_by, through = caller(1)
    if len(through) == 1 and not is_ours(made_by):
        done_elsewhere()


def _evading(switch: Callable[..., Any]) -> Callable[..., Any]:
    def evade(*args: Any, **kwargs: Any) -> Any:
        made_by, through = caller(1)
        if made_by and not through and not is_ours(made_by):
            done_elsewhere()
        return switch(*args, **kwargs)

    return evade
