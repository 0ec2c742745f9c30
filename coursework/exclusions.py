"""What an exercise may exclude, and how: the kernels of the excluded operators are overridden.

Whatever path leads to an operator, by a function, a method, a module, a script, a thread or `torch.ops`, it
ends in a kernel, so that is where it is refused. Kernels are overridden through `torch.library`, which is
public. `not_refused` calls every excluded function once, and says which this version of torch still runs.
"""

import ast
import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import nn

# The dispatch keys of all kinds of tensors on a CPU. A key for which an operator has no kernel does no harm.
EVERY_CPU_TENSOR: Final = ("CPU", "SparseCPU", "NestedTensorCPU", "MkldnnCPU", "QuantizedCPU")
# Made of other operators. Torch refuses kernels of these for the rarer tensors.
COMPOSITE: Final = ("_batch_norm_impl_index", "rms_norm", "cross_entropy_loss")
FINISHED: Final = "nn.MultiheadAttention"
TORCH: Final = ("torch", "nn", "F")  # what the names of its functions begin with in a cell
# Other functions that end in the same operators, without capitals and underscores.
ENDS_IN: Final[Mapping[str, Sequence[str]]] = {
    "batchnorm": ("instancenorm",),
    "softmax": ("softmin", "gumbelsoftmax"),
    "logsoftmax": ("crossentropy", "crossentropyloss"),
    "crossentropy": ("crossentropyloss",),
}


class ExcludedFunctionError(RuntimeError):
    """A function was called that the exercise excludes."""


@dataclass(frozen=True)
class Exclusion:
    """Functions of torch that some exercises exclude together.

    Args:
        operators: the operators that do the work, by the name that a student knows.
        calls: a call of every public function that leads to one of the operators, by its name.
        python: functions written in Python that do the work as well.
    """

    operators: Mapping[str, str]
    calls: Mapping[str, Callable[[], Any]]
    python: Sequence[Callable[..., Any]] = ()

    @property
    def names(self) -> frozenset[str]:
        """What is refused, by the names that students know."""
        return frozenset(self.operators) | {_public_name(each) for each in self.python}


def _public_name(function: Callable[..., Any]) -> str:
    """Return what a function of torch's, or the class whose forward it is, is called in a lesson."""
    name = function.__qualname__.removesuffix(".forward")
    return f"nn.{name}" if hasattr(nn, name) else f"F.{name}"


def _square() -> torch.Tensor:
    return torch.ones(2, 4, 4)


def _run(layer: nn.Module, inputs: int = 1) -> Any:
    with torch.set_grad_enabled(layer.training):
        return layer(*[_square()] * inputs)


DERIVATIVES: Final = "derivatives"  # excluded by the text alone: no kernel computes derivatives alone
EXCLUSIONS: Final[Mapping[str, Exclusion]] = {
    "softmax": Exclusion(
        operators={
            "torch.softmax": "_softmax _softmax.out _safe_softmax _masked_softmax",
            "torch.log_softmax": "_log_softmax _log_softmax.out",
            "torch.sparse.softmax": "_sparse_softmax",
            "torch.sparse.log_softmax": "_sparse_log_softmax",
        },
        calls={
            "torch.softmax": lambda: torch.softmax(_square(), -1),
            "torch.log_softmax": lambda: torch.log_softmax(_square(), -1),
            "F.softmin": lambda: F.softmin(_square(), -1),
            "nn.Softmax": lambda: nn.Softmax(-1)(_square()),
            "torch.special.softmax": lambda: torch.special.softmax(_square(), -1),
            "torch.sparse.softmax": lambda: torch.sparse.softmax(_square()[0].to_sparse(), 1),
            "F.cross_entropy": lambda: F.cross_entropy(_square()[0], torch.zeros(4, dtype=torch.long)),
        },
    ),
    "scaled_dot_product": Exclusion(
        operators={
            "F.scaled_dot_product_attention": "_scaled_dot_product_flash_attention_for_cpu"
            " _scaled_dot_product_attention_math _scaled_dot_product_fused_attention_overrideable"
        },
        calls={
            "F.scaled_dot_product_attention": lambda: F.scaled_dot_product_attention(
                *(_square()[:, None],) * 3
            ),
            "F.scaled_dot_product_attention with a mask": lambda: F.scaled_dot_product_attention(
                *(_square().requires_grad_(),) * 3, attn_mask=torch.ones(4, 4, dtype=torch.bool)
            ),
        },
    ),
    # Others do what layer norm does: for one group, for x turned on its side, for x without its mean.
    "norms": Exclusion(
        operators={
            "F.layer_norm": "native_layer_norm native_layer_norm.out",
            "F.group_norm": "native_group_norm native_group_norm.out",
            "F.batch_norm": "native_batch_norm native_batch_norm.out _native_batch_norm_legit"
            " _native_batch_norm_legit.no_stats _batch_norm_impl_index _batch_norm_with_update",
            "F.rms_norm": "rms_norm _fused_rms_norm",
        },
        calls={
            "F.layer_norm": lambda: F.layer_norm(_square(), (4,)),
            "nn.LayerNorm": lambda: nn.LayerNorm(4)(_square()),
            "F.group_norm": lambda: F.group_norm(_square(), 1),
            "F.batch_norm": lambda: F.batch_norm(_square(), None, None, training=True),
            "F.instance_norm": lambda: F.instance_norm(_square()),
            "F.rms_norm": lambda: F.rms_norm(_square(), (4,)),
            "F.local_response_norm": lambda: F.local_response_norm(_square(), 2),
        },
        python=(F.local_response_norm,),
    ),
    # Alone: an RMS norm may be built from the layer norm of (x, -x), whose mean is 0.
    "rms_norm": Exclusion(
        operators={"F.rms_norm": "rms_norm _fused_rms_norm"},
        calls={
            "F.rms_norm": lambda: F.rms_norm(_square(), (4,)),
            "nn.RMSNorm": lambda: nn.RMSNorm(4)(_square()),
        },
    ),
    "cross_entropy": Exclusion(
        operators={"F.cross_entropy": "cross_entropy_loss"},
        calls={
            "F.cross_entropy": lambda: F.cross_entropy(_square()[0], torch.zeros(4, dtype=torch.long)),
            "nn.CrossEntropyLoss": lambda: nn.CrossEntropyLoss(label_smoothing=0.1)(
                _square()[0].requires_grad_(), torch.zeros(4, dtype=torch.long)
            ),
        },
        # Not every version has both.
        python=[getattr(F, name) for name in ("cross_entropy", "linear_cross_entropy") if hasattr(F, name)],
    ),
    "finished_attention": Exclusion(
        operators={
            FINISHED: "_native_multi_head_attention",
            "nn.TransformerEncoderLayer": "_transformer_encoder_layer_fwd",
        },
        calls={
            FINISHED: lambda: _run(nn.MultiheadAttention(4, 2), 3),
            f"{FINISHED} in eval mode": lambda: _run(nn.MultiheadAttention(4, 2, batch_first=True).eval(), 3),
            "nn.TransformerEncoderLayer": lambda: _run(nn.TransformerEncoderLayer(4, 2, 4)),
            "nn.TransformerEncoderLayer in eval mode": lambda: _run(
                nn.TransformerEncoderLayer(4, 2, 4, batch_first=True).eval()
            ),
            "nn.TransformerDecoderLayer": lambda: _run(nn.TransformerDecoderLayer(4, 2, 4), 2),
        },
        python=(
            F.multi_head_attention_forward,
            *(nn.MultiheadAttention.forward, nn.Transformer.forward),
            *(nn.TransformerEncoder.forward, nn.TransformerEncoderLayer.forward),
            *(nn.TransformerDecoder.forward, nn.TransformerDecoderLayer.forward),
        ),
    ),
}

_overridden: Final[list[torch.library.Library]] = []  # an override lasts as long as its library


def exclude(names: Iterable[str], called: Callable[[str], None]) -> None:
    """From now on, refuse the functions of these exclusions in this process and its forks.

    A call raises ExcludedFunctionError, after passing `called` the name that students know. Names of
    exclusions that have no kernels, such as DERIVATIVES, are left to `coursework.source_rules`.
    """
    make: Any = torch.library.Library
    library = make("aten", "IMPL")
    _overridden.append(library)
    for exclusion in [EXCLUSIONS[name] for name in names if name in EXCLUSIONS]:
        for known, operators in exclusion.operators.items():
            for operator, key in product(operators.split(), EVERY_CPU_TENSOR):
                if operator in COMPOSITE and key != "CPU":
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # torch warns of every override
                    library.impl(operator, _refusal(known, called), key)
        for replaced in exclusion.python:
            # Replace the code, so that references that were taken earlier refuse too.
            function: Any = replaced
            function.__code__, function.__defaults__ = _refused.__code__, None
            function.__kwdefaults__ = {"_refuse": _refusal(_public_name(function), called)}


@contextlib.contextmanager
def excluded(names: Iterable[str], called: Callable[[str], None]) -> Iterator[None]:
    """Refuse the functions of these exclusions for a while: afterwards everything works as before."""
    names = list(names)
    replaced: list[Any] = [each for name in names if name in EXCLUSIONS for each in EXCLUSIONS[name].python]
    before = [(each, each.__code__, each.__defaults__, each.__kwdefaults__) for each in replaced]
    exclude(names, called)
    try:
        yield
    finally:
        library: Any = _overridden.pop()
        library._destroy()  # what the library does at its own end, whoever still refers to it
        for function, code, defaults, keywords in before:
            function.__code__, function.__defaults__, function.__kwdefaults__ = code, defaults, keywords


def as_written(name: str, source: str) -> str:
    """Return what a cell calls an excluded function, such as "nn.LayerNorm" for "F.layer_norm".

    That is the name itself where the cell calls nothing of torch that is like it.
    """
    plain = _plain(name)
    wanted = {plain, *ENDS_IN.get(plain, ())}
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        calls = [ast.unparse(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
        of_torch = [each for each in calls if each.partition(".")[0] in TORCH and each.isascii()]
        return next((each for each in of_torch if _plain(each) in wanted), name)
    return name


def _plain(name: str) -> str:
    """Return the last part of a name without what sets functions and classes apart."""
    return re.sub(r"_|\dd$", "", name.rpartition(".")[2].lower())


def excluded_part(module: nn.Module, names: Iterable[str]) -> str:
    """Return the name of a part of a module that these exclusions refuse to call, "" for none."""
    found = [EXCLUSIONS[name] for name in names if name in EXCLUSIONS]
    named = {call for each in found for call in each.calls if call.startswith("nn.")}
    kinds = {getattr(nn, name.removeprefix("nn."), None): name for name in named}
    forwards = {function: _public_name(function) for each in found for function in each.python}
    for part in module.modules():
        forward: Any = type(part).forward
        if known := forwards.get(forward) or next((kinds[k] for k in type(part).__mro__ if k in kinds), ""):
            return known
    return ""


def _refused(*_: Any, _refuse: Callable[..., Any], **__: Any) -> Any:
    return _refuse()


def _refusal(name: str, called: Callable[[str], None]) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        called(name)
        raise ExcludedFunctionError(f"`{name}` is excluded in this exercise.")

    return refuse


def not_refused() -> list[str]:
    """Exclude everything, call every excluded function, and return the names of those that ran.

    Call this in a process of its own, because the exclusions stay in force.
    """
    exclude(EXCLUSIONS, lambda _name: None)
    calls = {name: call for each in EXCLUSIONS.values() for name, call in each.calls.items()}
    ran = set(calls)
    for name, call in calls.items():
        with contextlib.suppress(Exception):  # whatever else it raises, it was not refused
            try:
                call()
            except ExcludedFunctionError:
                ran.remove(name)
    return sorted(ran)
