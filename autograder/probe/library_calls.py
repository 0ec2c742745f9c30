"""Sees which of torch's functions an answer calls, by whatever path it reaches them.

A function mode sees torch's Python functions, whatever they were imported as. Below it, a dispatch mode
sees what the dispatcher runs: compiled code, `torch.ops`, another library that calls torch. Both belong
to a thread, so `install` has every new thread take part. What the course's own stand-ins call does not
count as the student's, and a stand-in that the lesson does not hand out counts as a library function.
"""

import _thread
import contextlib
import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from coursework import scope, stand_ins, stand_ins_models

AUTOGRAD: Final = "autograd"  # the word for asking torch for a derivative
AUTOGRAD_NAMES: Final = frozenset({"grad", "backward", "run_backward", "make_dual", "_make_dual"})
SWITCHES: Final = ("DisableTorchFunction", "DisableTorchFunctionSubclass", "_unset_dispatch_mode")
STARTS: Final = (
    "start_new_thread",
    "start_new",
    "_start_new_thread",
    "start_joinable_thread",
    "_start_joinable_thread",
)
STAND_IN: Final = "coursework"  # the word for a stand-in that does the work
ELSEWHERE: Final = "elsewhere"  # the word for work that is done where nobody can look
NOT_FUNCTIONS: Final = (STAND_IN, ELSEWHERE)
NAMESPACES: Final = frozenset(
    {"aten", "prim", "prims", "profiler", "sparse", "quantized", "mkldnn"}
)
TORCH: Final = torch.__file__.rpartition("/")[0] + "/"
PASSED_OVER: Final = (globals(), vars(contextlib), vars(threading))  # whose frames stand between
PROBE: Final = "autograder."

_active: list["LibraryCalls"] = []  # the observation that is being made, if any
_trusted: set[CodeType] = set()  # the code of what the grader puts in place
_installed = threading.local()
_probe: list[dict[str, Any]] = []  # the names of our own modules, once `install` has run


@dataclass(frozen=True)
class StandIns:
    """The code of the course's stand-ins: of those that a lesson hands out, and of those it refuses."""

    given: frozenset[CodeType] = frozenset()
    refused: frozenset[CodeType] = frozenset()


NO_STAND_INS: Final = StandIns()


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
        self._known: dict[str, str] = {}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Collect from now on, in this thread and in those that `install` made take part."""
        _active.append(self)
        try:
            if not (self.words or self.refused):
                yield
            else:
                with _FunctionMode(), _dispatch_mode(on=self.below):
                    yield
        finally:
            _active.remove(self)

    def called(self, name: str) -> None:
        """Take note of a call, unless it is a trusted part's own."""
        word = self._word(name)
        if not (word or self.refused or self.below):
            return
        caller, through = _caller()
        word = word or next(filter(None, map(self._word, through)), "")
        code = caller.f_code if caller else None
        if code in self.refused:
            self.found.add(STAND_IN)
        entry = through[-1] if through else name
        trusted = code in _trusted or (code in self.given and self._names(code, word, entry))
        if word and not trusted and not (word == AUTOGRAD and _is_ours(caller)):
            self.found.add(word)

    def evaded(self) -> None:
        """Take note of work that nobody can look at: behind a switch, in compiled code, in a process."""
        self.found.add(ELSEWHERE)

    def _names(self, code: CodeType | None, word: str, entry: str) -> bool:
        """Return whether a stand-in's code itself names a function that a word is part of.

        `entry` is the function of torch's that it called, in which the word's may be called in turn.
        Others are called through it: by an attribute that was replaced, or an argument.
        """
        names = code.co_names if code else ()
        return entry in names or any(self._word(name) == word for name in names)

    def _word(self, name: str) -> str:
        """Return the first of the words that a function's name contains, or ''."""
        if name not in self._known:
            self._known[name] = next((word for word in self.words if _means(name, word)), "")
        return self._known[name]


def _means(name: str, word: str) -> bool:
    return name in AUTOGRAD_NAMES if word == AUTOGRAD else word in name


def _dispatch_mode(*, on: bool = True) -> contextlib.AbstractContextManager[Any]:
    mode: Any = _DispatchMode
    return mode() if on else contextlib.nullcontext()


class _FunctionMode(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _tell(str(getattr(func, "__name__", "")))
        return func(*args, **(kwargs or {}))


class _DispatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch's
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave out a guard against a compiler that is off here, and that takes a second to import."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _tell(str(getattr(func, "__name__", "")))
        if getattr(func, "namespace", "aten") not in NAMESPACES:
            done_elsewhere()  # an operator whose Python code no mode is told of
        return func(*args, **(kwargs or {}))


def done_elsewhere() -> None:
    """Tell the observations that are being made of work that nobody can look at."""
    for calls in _active:
        calls.evaded()


def _tell(name: str) -> None:
    for calls in _active:
        calls.called(name)


def _caller() -> tuple[FrameType | None, list[str]]:
    """Return the innermost frame that is neither torch's nor ours, and torch's functions up to it.

    Those tell of what torch does in Python, of functions that no mode is told of.
    """
    frame: FrameType | None = sys._getframe(2)
    through = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(TORCH):
            through.append(frame.f_code.co_name)
        elif not any(frame.f_globals is names for names in PASSED_OVER):
            return frame, through
        frame = frame.f_back
    return None, through


def _is_ours(frame: FrameType | None) -> bool:
    """Return whether a frame is of one of our modules. Anybody's module may say that it has their name."""
    known = _probe or _own_modules()
    return frame is not None and any(frame.f_globals is names for names in known)


def _own_modules() -> list[dict[str, Any]]:
    return [vars(module) for name, module in [*sys.modules.items()] if name.startswith(PROBE)]


def trust(code: CodeType) -> None:
    """Let code call what it likes, with everything that is defined in it."""
    _trusted.update(nested(code))


def nested(code: CodeType) -> set[CodeType]:
    """Return a code object and those of the functions and classes in it."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {code}.union(*map(nested, inner))


def code_of(found: Any) -> set[CodeType]:
    """Return the code of a function, or of what a class itself defines."""
    if isinstance(found, type):
        return set().union(*map(code_of, vars(found).values()))
    found = getattr(found, "__func__", getattr(found, "fget", found))
    code = getattr(found, "__code__", None)
    return nested(code) if isinstance(code, CodeType) else set()


def code_in(module: ModuleType) -> set[CodeType]:
    """Return the code of the functions and classes that a module defines."""
    own = (
        each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__
    )
    return set().union(*map(code_of, own))


def install() -> None:
    """Have every thread that starts from now on take part, and see derivatives and switches.

    To be called before a student's code runs: what that has hold of already cannot be watched.
    """
    _probe[:] = _own_modules()
    for module, name in itertools.product((_thread, threading), STARTS):
        if callable(start := getattr(module, name, None)):
            setattr(module, name, _taking_part(start))
    for holder in (torch.autograd, torch.autograd.graph):
        name = "_engine_run_backward"
        setattr(holder, name, _telling(getattr(holder, name), "run_backward"))
    for name in SWITCHES:
        if callable(switch := getattr(torch._C, name, None)):
            setattr(torch._C, name, _evading(switch))


def _taking_part(start: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that starts a thread, and has it tell what it calls."""

    def start_watched(function: Callable[..., Any], *rest: Any, **options: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            if getattr(_installed, "done", False):
                return function(*args, **kwargs)
            _installed.done = True
            with _FunctionMode(), _dispatch_mode():
                return function(*args, **kwargs)

        return start(run, *rest, **options)

    return start_watched


def _telling(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def tell(*args: Any, **kwargs: Any) -> Any:
        _tell(name)
        return function(*args, **kwargs)

    return tell


def _evading(switch: Callable[..., Any]) -> Callable[..., Any]:
    def evade(*args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        if not (caller.f_code.co_filename.startswith(TORCH) or _is_ours(caller)):
            done_elsewhere()
        return switch(*args, **kwargs)

    return evade


@lru_cache(maxsize=1)
def stand_ins_by_lesson() -> Mapping[str, StandIns]:
    """Return the stand-ins of every lesson, as they are now, before a student's code runs."""
    return {lesson: _stand_ins(lesson) for lesson in (*scope.NEEDS, *scope.ORIGIN.values())}


def _stand_ins(lesson: str) -> StandIns:
    """Refuse the stand-ins for parts of this lesson and of later ones.

    As long as a lesson hands out no whole model, everything in their module is refused.
    """
    every = code_in(stand_ins) | code_in(stand_ins_models)
    own = [code_of(scope.stand_in(name)) for name in scope.ORIGIN if scope.ORIGIN[name] >= lesson]
    given = [scope.stand_in(name) for name in scope.NEEDS.get(lesson, ())]
    if not any(getattr(part, "__module__", "") == stand_ins_models.__name__ for part in given):
        own.append(code_in(stand_ins_models))
    refused = frozenset().union(*own).difference(*map(code_of, given))
    return StandIns(frozenset(every - refused), refused)
