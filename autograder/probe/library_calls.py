"""Sees which of torch's functions an answer calls, by whatever path it reaches them.

A function mode sees torch's Python functions, whatever they were imported as. Below it, a dispatch mode
sees what the dispatcher runs: compiled code, `torch.ops`, another library that calls torch. Torch switches
a mode off while it runs what the mode was told of, so `handed_over` looks at what could call the
student's code back meanwhile, and `detours` at threads, which begin without modes, and at switches.
What the course's own stand-ins call does not count as the student's. A stand-in that the lesson does not
hand out counts as a library function, and reports by itself that it runs.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.probe import handed_over
from autograder.probe.caller import caller, is_ours
from autograder.probe.gradients import backpropagate
from autograder.probe.handed_over import OF_C
from autograder.probe.stand_in_code import NO_STAND_INS, StandIns, nested
from autograder.probe.words import AUTOGRAD, WordIn

STAND_IN: Final = "coursework"  # the word for a stand-in that does the work
ELSEWHERE: Final = "elsewhere"  # the word for work that is done where nobody can look
NOT_FUNCTIONS: Final = (STAND_IN, ELSEWHERE)
NAMESPACES: Final = frozenset(
    {"aten", "prim", "prims", "profiler", "sparse", "quantized", "mkldnn"}
)

# As they are before `detours` replaces them.
unwatched = torch._C.DisableTorchFunction  # for the probe's own work, which nobody needs to look at
get_function_stack_at = torch._C._get_function_stack_at
function_stack_depth = torch._C._len_torch_function_stack
get_dispatch_stack_at = torch._C._get_dispatch_stack_at
dispatch_stack_depth = torch._C._len_torch_dispatch_stack

OWN_DERIVATIVE: Final = backpropagate.__code__
# What tensors are asked most often, and what computes nothing: their attributes, sizes and kinds.
LOOKS: Final = frozenset({"__get__", "size", "dim", "is_floating_point", "_set_grad_enabled"})

_active: list["LibraryCalls"] = []  # the observation that is being made, if any
_told_otherwise: set[str] = set()  # the words whose functions report by themselves
_trusted: set[CodeType] = set()  # the code of what the grader puts in place


class LibraryCalls:
    """Collects which of some words occur in the names of the functions that are called.

    Args:
        words: parts of names, such as "softmax"; `AUTOGRAD` stands for derivatives.
        below: look below Python's names as well, which takes longer.
        stand_ins: those of the course, of which some may not do the work.
    """

    def __init__(
        self, words: Sequence[str], *, below: bool = False, stand_ins: StandIns = NO_STAND_INS
    ) -> None:
        self.words, self.below = tuple(words), below
        self.refused, self.given = stand_ins.refused, stand_ins.given
        self.found: set[str] = set()
        self._word_in = WordIn(words)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Collect from now on, in this thread and in those that `detours` made take part."""
        with told(self):
            if _told_otherwise.issuperset(self.words):
                yield
            else:
                with function_mode(), _dispatch_mode(on=self.below):
                    yield

    def called(self, name: str) -> None:
        """Take note of a call of one of torch's functions, unless it is a trusted part's own.

        Below Python's names, of what the call came through as well: torch has functions of Python's that
        it does not tell of.
        """
        word = self._word_in[name]
        if not (word or self.below):
            return
        frame, through = caller(2)
        word = word or next(filter(None, map(self._word_in.__getitem__, through)), "")
        if word and not self._is_trusted(frame, word, through or [name]):
            self.found.add(word)

    def ran(self, code: CodeType) -> None:
        """Take note of a stand-in that runs, if the lesson refuses it."""
        if code in self.refused:
            self.found.add(STAND_IN)

    def evaded(self) -> None:
        """Take note of work that nobody can look at: behind a switch, in compiled code, in a process."""
        self.found.add(ELSEWHERE)

    def _is_trusted(self, frame: FrameType | None, word: str, through: Sequence[str]) -> bool:
        code = frame.f_code if frame else None
        if word == AUTOGRAD and code is OWN_DERIVATIVE:
            return is_ours(frame.f_back if frame else None)
        ours = code in _trusted or code in self.given
        return ours and self._names(code, word, through[-1])

    def _names(self, code: CodeType | None, word: str, entry: str) -> bool:
        """Return whether a stand-in's code itself names a function that a word is part of.

        `entry` is the function of torch's that it called, in which the word's may be called in turn.
        Others are called through it: by an attribute that was replaced, or an argument.
        """
        names = code.co_names if code else ()
        return entry in names or any(self._word_in[name] == word for name in names)


def _dispatch_mode(*, on: bool = True) -> contextlib.AbstractContextManager[Any]:
    mode: Any = _DispatchMode
    return mode() if on else contextlib.nullcontext()


class _FunctionMode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(getattr(func, "__name__", ""))
        if name not in LOOKS:
            tell(name)
        if dispatch_stack_depth() and foreign_mode_is_on():
            done_elsewhere()
        if type(func) not in OF_C and not handed_over.runs_no_code(func):
            done_elsewhere()
        if not kwargs and handed_over.are_plain(args):  # as nearly always
            return func(*args)
        return _call(func, args, kwargs or {})


def _call(func: Any, args: Any, kwargs: Any) -> Any:
    """Call one of torch's functions, having looked at what it is handed."""
    try:
        args = handed_over.handed(args, called_back)
        kwargs = handed_over.handed_by_name(kwargs, called_back)
    except handed_over.ForeignObjectError:
        done_elsewhere()
    return func(*args, **kwargs)


def called_back(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for torch to call back: meanwhile its modes are on again."""
    return handed_over.wrapped(function, both_modes)


@contextlib.contextmanager
def both_modes() -> Iterator[None]:
    """See torch's functions and what the dispatcher runs, whatever is seen already."""
    with _FunctionMode(), _dispatch_mode():
        yield


def function_mode() -> contextlib.AbstractContextManager[Any]:
    """Return what sees torch's Python functions from now on, unless that is seen to already."""
    return contextlib.nullcontext() if is_on() else _FunctionMode()


def is_on() -> bool:
    """Return whether torch's Python functions are seen in this thread, whatever else looks at them."""
    stack = map(get_function_stack_at, range(function_stack_depth()))
    return any(type(mode) is _FunctionMode for mode in stack)


def foreign_mode_is_on() -> bool:
    """Return whether a dispatch mode is on in this thread that is not ours: torch runs its code."""
    stack = map(get_dispatch_stack_at, range(dispatch_stack_depth()))
    return any(type(mode) is not _DispatchMode for mode in stack)


class _DispatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch's
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave out a guard against a compiler that is off here, and that takes a second to import."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tell(str(getattr(func, "__name__", "")))
        if getattr(func, "namespace", "aten") not in NAMESPACES:
            done_elsewhere()  # an operator whose Python code no mode is told of
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def told(calls: LibraryCalls) -> Iterator[None]:
    """Tell an observation of calls."""
    _active.append(calls)
    try:
        yield
    finally:
        _active.remove(calls)


def keep_told(calls: LibraryCalls) -> bool:
    """Return whether an observation was still told of calls. From now on it is."""
    found = any(each is calls for each in _active)
    if not found:
        _active.append(calls)
    return found


def done_elsewhere() -> None:
    """Tell the observations that are being made of work that nobody can look at."""
    for calls in _active:
        calls.evaded()


def reports_itself(word: str) -> None:
    """Use no mode of torch's for a word from now on: `tell` is called wherever its functions run."""
    _told_otherwise.add(word)


def tell(name: str) -> None:
    """Tell the observations that are being made of a call of torch's function of this name."""
    for calls in _active:
        if calls.words:
            calls.called(name)


def tell_of_stand_in(code: CodeType) -> None:
    """Tell the observations that are being made of a stand-in that runs."""
    for calls in _active:
        calls.ran(code)


def tell_of_evasion(_: CodeType) -> None:
    """Tell the observations that are being made of code that runs where nobody can look."""
    done_elsewhere()


def trust(code: CodeType) -> None:
    """Let code call what it names, with everything that is defined in it."""
    _trusted.update(nested(code))
