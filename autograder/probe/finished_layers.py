"""Sees torch's finished attention at work without a mode of torch's, which would look at every call there is.

All of it comes down to one function of Python's and two operators. The function reports by itself that it
runs. The operators, to which torch's layers turn where they can, are replaced in the dispatcher, so that
compiled code and other threads find nothing else; the layers then use the function.
"""

from collections.abc import Callable
from typing import Any, Final

import torch

from autograder.probe.library_calls import done_elsewhere, reports_itself, tell
from autograder.probe.self_reports import have_function_reported
from autograder.probe.words import FINISHED

OPERATORS: Final = ("_native_multi_head_attention", "_transformer_encoder_layer_fwd")
BACKENDS: Final = ("CPU", "NestedTensorCPU")
OFF: Final = "torch's fast path for attention is switched off here"

_replaced: Final[list[Any]] = []  # replacements last as long as the library that holds them


def install() -> None:
    """Have torch's finished layers tell that they run. To be called once, before a student's code runs."""
    attention: Any = torch.nn.functional.multi_head_attention_forward
    have_function_reported(
        attention, lambda _: tell("multi_head_attention_forward"), lambda _: done_elsewhere()
    )
    torch.backends.mha.set_fastpath_enabled(False)
    make: Any = torch.library.Library
    library = make("aten", "IMPL")
    for name in OPERATORS:
        for backend in BACKENDS:
            library.impl(name, _refusal(name), backend)
    _replaced.append(library)
    for word in FINISHED:
        reports_itself(word)


def _refusal(name: str) -> Callable[..., Any]:
    """Return what runs in place of an operator."""

    def refuse(*_: Any, **__: Any) -> Any:
        tell(name)
        raise RuntimeError(OFF)

    return refuse
