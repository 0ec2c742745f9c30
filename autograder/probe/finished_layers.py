"""Sees torch's finished layers at work without a mode of torch's, which would look at every call there is.

Their functions in Python report by themselves that they run. The operators, to which these turn where they
can, are replaced in the dispatcher, so that compiled code and other threads find nothing else; the layers
then use the functions.
"""

import sys
import weakref
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, Final

import torch
from torch.ao.nn.quantizable.modules import activation as quantizable
from torch.nn.modules import transformer

from autograder.probe.library_calls import reports_itself, tell, tell_of_evasion
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

_replaced: Final[list[Any]] = []  # replacements last as long as the library that holds them


def install() -> None:
    """Have torch's finished layers tell that they run. To be called once, before a student's code runs."""
    attention: Any = torch.nn.functional.multi_head_attention_forward
    have_function_reported(attention, _ran, tell_of_evasion)
    for module in (transformer, quantizable):
        have_methods_reported(module, STEPS, _ran, tell_of_evasion)
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
    """Have layers that torch has imported since then tell that they run, too."""
    module = sys.modules.get(LATE)
    if type(module) is ModuleType:
        have_methods_reported(module, LATE_STEPS, _ran, tell_of_evasion)


def _ran(_: CodeType) -> None:
    tell(FINISHED[0])


def _is_of(finaliser: Any, library: Any) -> bool:
    """Return whether a finaliser is the library's: a call of it would bring torch's operators back."""
    found = finaliser.peek()
    return found is not None and found[0] is library


def _refusal(name: str) -> Callable[..., Any]:
    """Return what runs in place of an operator."""

    def refuse(*_: Any, **__: Any) -> Any:
        tell(name)
        raise RuntimeError(OFF)

    return refuse
