"""Sees torch's finished layers at work without a mode of torch's, which would look at every call there is.

Their functions in Python report by themselves that they run. The operators, to which these turn where they
can, are replaced in the dispatcher, so that compiled code and other threads find nothing else; the layers
then use the functions.
"""

import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import torch
from torch.ao.nn.quantizable.modules import activation as quantizable
from torch.nn.modules import transformer

from autograder.probe.library_calls import done_elsewhere, reports_itself, tell
from autograder.probe.self_reports import have_function_reported, have_methods_reported
from autograder.probe.words import FINISHED

OPERATORS: Final = ("_native_multi_head_attention", "_transformer_encoder_layer_fwd")
BACKENDS: Final = ("CPU", "NestedTensorCPU")
# What does a layer's work, or a step of it.
STEPS: Final = frozenset(("forward", "_forward_impl", "_sa_block", "_mha_block", "_ff_block"))
# The attention of ONNX, which torch imports when it is first asked for.
LATE: Final = "torch.onnx.ops._impl"
LATE_STEPS: Final = frozenset(("_get_scale_factor", "_get_qk_output_for_aten_spda"))
OFF: Final = "torch's fast path for attention is switched off here"

_found: Final[set[str]] = set()
_replaced: Final[list[Any]] = []  # replacements last as long as the library that holds them


def install() -> None:
    """Have torch's finished layers tell that they run. To be called once, before a student's code runs."""
    attention: Any = torch.nn.functional.multi_head_attention_forward
    have_function_reported(
        attention, lambda _: tell("multi_head_attention_forward"), lambda _: done_elsewhere()
    )
    for module in (transformer, quantizable):
        have_methods_reported(
            module, STEPS, lambda _: tell(FINISHED[0]), lambda _: done_elsewhere()
        )
    torch.backends.mha.set_fastpath_enabled(False)
    make: Any = torch.library.Library
    library = make("aten", "IMPL")
    for name in OPERATORS:
        for backend in BACKENDS:
            library.impl(name, _refusal(name), backend)
    for undo in [each for each in weakref.finalize._registry if _is_of(each, library)]:  # type: ignore[attr-defined]
        undo.detach()
    _replaced.append(library)
    for word in FINISHED:
        reports_itself(word)


def look_again() -> None:
    """Have what torch has imported since tell that it runs as well."""
    module = sys.modules.get(LATE)
    if type(module) is ModuleType and LATE not in _found:
        _found.add(LATE)
        have_methods_reported(
            module, LATE_STEPS, lambda _: tell(FINISHED[0]), lambda _: done_elsewhere()
        )


def _is_of(finaliser: Any, library: Any) -> bool:
    """Return whether a finaliser belongs to a library: whoever calls it has torch's operators back."""
    found = finaliser.peek()
    return found is not None and found[0] is library


def _refusal(name: str) -> Callable[..., Any]:
    """Return what runs in place of an operator."""

    def refuse(*_: Any, **__: Any) -> Any:
        tell(name)
        raise RuntimeError(OFF)

    return refuse
