"""Knows the code of the course's stand-ins, by which they are recognised under any name."""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import cache_from_source
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from coursework import scope, stand_ins, stand_ins_models

MOST_REMEMBERED: Final = 10_000  # code objects; an answer has dozens
MODULES: Final = (stand_ins, stand_ins_models)
FILES: Final = frozenset(  # where their code is kept, as text and compiled
    name for file in map(inspect.getfile, MODULES) for name in (file, cache_from_source(file))
)
identity: Final = object.__hash__  # like `id`, but raises no audit event


class CodeSet:
    """A set of code objects that is quick to ask: each of them takes microseconds to hash."""

    def __init__(self, codes: Iterable[CodeType] = ()) -> None:
        self.codes = frozenset(codes)
        # By identity, which is in use for as long as the code is kept here.
        self._asked: dict[int, tuple[CodeType, bool]] = {}

    def __contains__(self, code: CodeType | None) -> bool:
        known = self._asked.get(identity(code))
        return known[1] if known else self._look_up(code)

    def _look_up(self, code: CodeType | None) -> bool:
        if code is None:
            return False
        if len(self._asked) >= MOST_REMEMBERED:
            self._asked.clear()
        found = code in self.codes
        self._asked[identity(code)] = code, found
        return found

    def __bool__(self) -> bool:
        return bool(self.codes)


@dataclass(frozen=True)
class StandIns:
    """The code of the course's stand-ins: of those that a lesson hands out, and of those it refuses."""

    given: CodeSet = field(default_factory=CodeSet)
    refused: CodeSet = field(default_factory=CodeSet)


NO_STAND_INS: Final = StandIns()


def nested(code: CodeType) -> set[CodeType]:
    """Return a code object and those of the functions and classes in it."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {code}.union(*map(nested, inner))


def functions_of(found: Any) -> Iterator[FunctionType]:
    """Yield a function, or the functions that a class itself defines."""
    if isinstance(found, type):
        for value in vars(found).values():
            yield from functions_of(value)
    else:
        found = getattr(found, "__func__", getattr(found, "fget", found))
        if isinstance(found, FunctionType):
            yield found


def functions_in(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions that a module defines, and those of its classes."""
    for value in vars(module).values():
        if getattr(value, "__module__", "") == module.__name__:
            yield from functions_of(value)


def code_of(found: Any) -> set[CodeType]:
    """Return the code of a function, or of what a class itself defines."""
    return set().union(*(nested(function.__code__) for function in functions_of(found)))


def code_in(module: ModuleType) -> set[CodeType]:
    """Return the code of the functions and classes that a module defines."""
    return set().union(*(nested(function.__code__) for function in functions_in(module)))


@lru_cache(maxsize=1)
def stand_ins_by_lesson() -> Mapping[str, StandIns]:
    """Return the stand-ins of every lesson, as they are when this is first asked."""
    return {lesson: _stand_ins(lesson) for lesson in (*scope.NEEDS, *scope.ORIGIN.values())}


def _stand_ins(lesson: str) -> StandIns:
    """Refuse the stand-ins for parts of this lesson and of later ones.

    As long as a lesson hands out no whole model, everything in their module is refused.
    """
    every = set().union(*map(code_in, MODULES))
    own = [code_of(scope.stand_in(name)) for name in scope.ORIGIN if scope.ORIGIN[name] >= lesson]
    given = [scope.stand_in(name) for name in scope.NEEDS.get(lesson, ())]
    if not any(getattr(part, "__module__", "") == stand_ins_models.__name__ for part in given):
        own.append(code_in(stand_ins_models))
    refused = set().union(*own).difference(*map(code_of, given))
    return StandIns(CodeSet(every - refused), CodeSet(refused))
