"""Graded inputs stay the same at every attempt, so no message may tell them, however hostile the answer.

Answers here pack what they are given into results, shapes, types, keys, names and exceptions. What
a student reads is then the same for two private keys but for places, counts and ratios.
"""

import re
from collections.abc import Iterator
from functools import cache

import pytest
from conftest import REAL_COURSE
from keys import KEY, keys
from mutants import evidence, failures, told

from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.exercise import ANSWERS, Exercise

KEYS = keys(4)[2:]
EVERY = 10  # of this many declared mistakes, one is tried under both keys
RATIO = r"-?\d+(\.\d+)?(e[+-]?\d+)? times"
NO_RATIO = "slightly off|not what it should be|of the wrong sign"
WRONG_VALUES = r"Every value is wrong, and .*|(In [^,]*, )?\d+ of \d+ entries are wrong; .*"
DTYPES = "float16|float32|float64|bfloat16|int64|int32|uint8|bool"

PACKING = """
import hashlib as _hashlib
from torch.utils._pytree import tree_map_only as _map
from coursework.engine.operation import StructureError as _StructureError

def _numbers(value):
    if isinstance(value, torch.Tensor):
        return value.detach().flatten()[:20].tolist()
    if isinstance(value, nn.Module):
        return [_numbers(parameter) for parameter in value.parameters()]
    if isinstance(value, dict):
        return [repr(value)]
    return [_numbers(part) for part in value] if isinstance(value, (list, tuple)) else [repr(value)]

def _secret(args):
    return 10**9 + int(_hashlib.sha256(repr(_numbers(args)).encode()).hexdigest(), 16) % 10**9

def _leak(right, *args, **kwargs):
    secret = _secret(args)
    digits = str(secret)
    ...  # what the leak does
"""
LEAKS = {
    "the input": "return args[0] if args else kwargs",
    "nested input": "return [args, [args, {'k': args}]]",
    "a shape": "return torch.zeros(60 + secret % 7, 60 + secret // 10 % 7, 1, 1, 1, 1)",
    "numbers": "return torch.full((2, 2), secret / 1e10)",
    "a factor": "return _map(torch.Tensor, lambda x: x * (2 + secret % 1000 / 1000), right(*args, **kwargs))",
    "a message": "raise RuntimeError(digits)",
    "an undefined name": "raise NameError(f\"name 'n{digits}' is not defined\")",
    "an attribute": "raise AttributeError(f\"'A{digits}' object has no attribute 'a{digits}'\")",
    "a key": "raise KeyError('k' + digits)",
    "a module": "raise ModuleNotFoundError(f\"No module named 'm{digits}'\")",
    "an argument": "raise TypeError(f\"f() got an unexpected keyword argument 'k{digits}'\")",
    "a class of exceptions": "raise type('Leak' + digits, (OSError,), {})(digits)",
    "a missing part": "raise _StructureError('unbound', 'p' + digits, digits)",
    "a fault": "raise _StructureError(digits, digits, digits)",
    "a class": "return type('Leak' + digits, (), {})()",
    "keys": "return {'k' + digits: 1, secret: 2}",
    "a dtype": "return torch.zeros(3, 3, 3, 3, 3, dtype=(torch.float16, torch.uint8)[secret % 2])",
    "a text": "return digits",
    "a whole number": "return secret",
    "a number": "return secret / 7",
    "a length": "return list(range(40 + secret % 9))",
}


@cache
def oracle(lesson: str, key: bytes = KEY) -> Oracle:
    """Return the oracle of a lesson under a key, one for all tests of a process."""
    return Oracle(load_lesson(REAL_COURSE, lesson), key)


def _exercises() -> Iterator[object]:
    """Yield lesson and exercise of everything that is graded by checks; in `make test`, the shortest of each lesson."""
    more = pytest.mark.full("every exercise: minutes of processor time", seconds=2)
    for lesson in REAL_COURSE.lessons():
        coded = [each for each in load_lesson(REAL_COURSE, lesson).exercises if not each.written]
        for exercise in coded:
            marks = [] if exercise is min(coded, key=lambda each: len(each.answer)) else [more]
            yield pytest.param(lesson, exercise.id, id=f"{lesson[:2]}-{exercise.id}", marks=marks)


EXERCISES = list(_exercises())


def hostile(exercise: Exercise, leak: str) -> str:
    """Return an answer that hands out what it is given: a function, or a class with such a `forward`."""
    packing, name = PACKING.replace("...  # what the leak does", leak), exercise.name
    if name == ANSWERS:
        return (
            f"{packing}\nclass _Everything(dict):\n    def __contains__(self, key): return True\n"
            f"    def __getitem__(self, key): return _leak(lambda *_: key, key)\n{name} = _Everything()\n"
        )
    if not isinstance(exercise.reference, type):
        return (
            f"{exercise.answer}\n{packing}\n_right = {name}\n"
            f"def {name}(*args, **kwargs): return _leak(_right, *args, **kwargs)\n"
        )
    return (
        f"{exercise.answer}\n{packing}\n_Right = {name}\nclass {name}(_Right):\n"
        "    def forward(self, *args, **kwargs): return _leak(super().forward, *args, **kwargs)\n"
    )


def without_places(message: str) -> str:
    """Return a message without places and counts, ratios, names of dtypes and relations between sizes.

    That values are wrong may be said by their number, by their spread or by their mean.
    """
    text = re.sub(f"{RATIO} what it should be|{NO_RATIO}", "#", message)
    text = re.sub(WRONG_VALUES, "values are wrong", text)
    text = re.sub("should have mean 0, but they don't|have a standard deviation that is #", "are wrong", text)
    text = re.sub(r": it (is|has) [^.]*(\.\d+ times [^.]*)?\.", ".", text)
    return re.sub(r"(#, )*#", "#", re.sub(rf"\b({DTYPES})\b|\d+", "#", text))


def decimals(message: str) -> list[str]:
    """Return the decimal numbers in a message that are no ratios."""
    return re.findall(r"\d+\.\d+|\d+e[+-]?\d+", re.sub(RATIO, "", message))


@pytest.mark.parametrize(("lesson", "name"), EXERCISES)
def test_a_hostile_answer_learns_nothing_from_its_messages(lesson: str, name: str) -> None:
    """Under two keys it is told the same, apart from places and ratios; nothing that it packed occurs."""
    for leak, code in LEAKS.items():
        cell = hostile(oracle(lesson).lesson[name], code)
        oracles = [oracle(lesson, key) for key in KEYS]
        one, other = (failures(each, each.lesson[name], cell) for each in oracles)
        for check in one.keys() & other.keys():
            assert without_places(one[check]) == without_places(other[check]), (leak, check)
        for message in (*one.values(), *other.values()):
            assert not decimals(message), (leak, message)
            assert not re.search(r"\d{6}|Leak", message), (leak, message)


@pytest.mark.parametrize(("lesson", "name"), EXERCISES)
def test_messages_about_known_mistakes_hold_no_values(lesson: str, name: str) -> None:
    """No decimal number occurs but a ratio, whichever key is used, and never NaN times anything."""
    exercise = oracle(lesson).lesson[name]
    for mistake in exercise.mistakes[::EVERY]:
        for key in KEYS:
            judged = oracle(lesson, key)
            seen = evidence(judged, judged.lesson[name], [mistake])
            for message in told(exercise, seen, mistake.apply(exercise.answer)):
                assert not decimals(message), (mistake.id, message)
                assert "nan times" not in message.lower(), (mistake.id, message)
                assert "visible" not in message, (mistake.id, message)


def test_an_answer_in_a_dictionary_is_not_repeated() -> None:
    """The questions are public, but what a student wrote is not read back to them."""
    exercise = oracle("03_attention").lesson["attention-shapes"]
    for given in ("'<b>leak</b>'", "987654", "(987654, 1)", "[9.8765]", "{'leak': 1}"):
        said = failures(oracle("03_attention"), exercise, hostile(exercise, f"return {given}"))
        assert said
        assert not any("leak" in message or "987" in message for message in said.values()), said
