"""Who called torch is found through torch's own functions; code with a borrowed name is noticed."""

import contextlib
import importlib
import marshal
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from autograder.probe import library_calls
from autograder.probe.caller import caller, is_believed
from autograder.probe.genuine_code import is_forged


class _Asks(TorchFunctionMode):
    """Asks who called each of torch's functions, under its own roof."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, tuple[str, list[str]]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        frame, through = caller(1)
        self.found[func.__name__] = (frame.f_code.co_name if frame else "", through)
        return func(*args, **(kwargs or {}))


def test_the_caller_is_found_through_torchs_functions() -> None:
    """A call inside a layer is put down to the code that called the layer."""
    with _Asks() as asks:
        nn.Linear(2, 3)(torch.ones(1, 2))
    who, through = asks.found["linear"]
    assert who == "test_the_caller_is_found_through_torchs_functions"
    assert through[0] == "forward"
    assert "_call_impl" in through


@pytest.mark.parametrize(
    ("name", "believed"),
    [
        (torch.nn.functional.__file__, True),
        (torch.__file__.replace("__init__.py", "not_there.py"), True),
        (library_calls.__file__, True),
        (contextlib.__file__, True),
        ("<frozen importlib._bootstrap_external>", True),
        ("<ipython-input-1>", False),
        ("/tmp/torch/nn/functional.py", False),
        ("", False),
    ],
)
def test_torchs_and_our_files_are_believed(name: str, believed: bool) -> None:
    """A file elsewhere that is called the same is not."""
    assert is_believed(name) is believed


def _replaced(name: str) -> None:
    compile("1", "<cell>", "eval").replace(co_filename=name)


def _compiled(name: str) -> None:
    compile("1", name, "eval")


def _named_oddly(_: str) -> None:
    compile("1", type("Name", (str,), {})("<cell>"), "eval")


def _read(_: str) -> None:
    marshal.loads(marshal.dumps(compile("1", "<cell>", "eval")))


def _loaded(name: str) -> None:
    SourceFileLoader("x", name).source_to_code("1", name)  # type: ignore[arg-type]


def _forged(make: Callable[[str], None]) -> bool:
    """Return whether code that is made meanwhile is found to be forged."""
    heard, listening = [], True

    def hear(event: str, args: tuple[Any, ...]) -> None:
        if listening and event in ("compile", "code.__new__", "marshal.loads"):
            heard.append(is_forged(event, args, sys._getframe(1)))

    sys.addaudithook(hear)
    make(torch.nn.functional.__file__)
    listening = False
    assert heard
    return any(heard)


@pytest.mark.parametrize("make", [_replaced, _compiled, _named_oddly, _read, _loaded])
def test_code_with_a_borrowed_name_is_noticed(make: Callable[[str], None]) -> None:
    """Compiled, copied, read from bytes or handed to Python's loader: Python reports each of these."""
    assert _forged(make)


def _imported(_: str) -> None:
    sys.modules.pop("torch.utils.bundled_inputs", None)
    importlib.import_module("torch.utils.bundled_inputs")


def _from_its_source(name: str) -> None:
    SourceFileLoader("x", name).source_to_code(Path(name).read_bytes(), name)


def _ordinary(_: str) -> None:
    compile("1", "<cell>", "eval")


@pytest.mark.parametrize("make", [_imported, _from_its_source, _ordinary])
def test_what_python_imports_is_not_forged(make: Callable[[str], None]) -> None:
    """A module of torch's may be imported, and then compiled, when a student's code first needs it."""
    assert not _forged(make)
