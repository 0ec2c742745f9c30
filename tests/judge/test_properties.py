"""Every exercise notices an answer that is right, but lacks a property that every answer should have.

The faults are planted into the model answers: after the right result is known, an argument is
modified, gradients are left off, a result is detached, and so on.
"""

import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from conftest import REAL_COURSE
from keys import KEY
from mutants import answer_with

from autograder.judge.oracle import Oracle, judge_check
from autograder.lessons.loading import load_lesson
from autograder.model.exercise import ANSWERS, Check, Exercise, Lesson
from coursework.engine.describe import Comparison

HELPERS = """
_planted = []

def _all(args, kwargs):
    return [*args, *kwargs.values()]

def _tensors(args, kwargs):
    from torch.utils._pytree import tree_leaves
    return [leaf for leaf in tree_leaves([args, kwargs]) if isinstance(leaf, torch.Tensor)]

def _modify(number, args, kwargs):
    given = _all(args, kwargs)[number : number + 1]
    for value in given[0][:1] if given and isinstance(given[0], list) else []:
        given += [value] if isinstance(value, torch.Tensor) else []
    for value in given:
        if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
            value.data = value.data.logical_not() if value.dtype == torch.bool else value.data + 1
        elif isinstance(value, list):
            value.append(value[0] if value else 1)
        elif isinstance(value, dict):
            value["another"] = 7
        else:
            continue
        _planted.append(number)

def _detached(result):
    from torch.utils._pytree import tree_map_only
    return tree_map_only(torch.Tensor, torch.Tensor.detach, result)

def _refuse_large(args, kwargs):
    sizes = [size for tensor in _tensors(args, kwargs) for size in tensor.shape]
    sizes += [len(value) for value in _all(args, kwargs) if isinstance(value, (list, str))]
    sizes += [value for value in args if type(value) is int]
    if max(sizes, default=0) > 30:
        raise RuntimeError("too large")

def _want_contiguous(args, kwargs):
    for tensor in _tensors(args, kwargs):
        if not tensor.is_contiguous():
            raise RuntimeError("view size is not compatible")

def _words_first(args):
    ids = [n for n, x in enumerate(args) if isinstance(x, torch.Tensor) and x.dtype == torch.long and x.dim() == 2]
    moved = list(args)
    for n in ids:
        moved[n] = args[n].gather(1, (args[n] == 0).long().argsort(dim=1, stable=True))
    return moved
"""
FUNCTION = """
_right = {name}

def {name}(*args, **kwargs):
    {before}
    result = _right(*args, **kwargs)
    {after}
    return result
"""
MODULE = """
_Right = {name}

class {name}(_Right):
    def forward(self, *args, **kwargs):
        {before}
        result = super().forward(*args, **kwargs)
        {after}
        return result
"""
SETTINGS = {
    "gradients are left off": "torch.set_grad_enabled(False)",
    "the default dtype is set": "torch.set_default_dtype(torch.float64)",
    "the default device is set": "torch.set_default_device('meta')",
    "the random seed is set": "torch.manual_seed(0)",
}
OF_A_MODULE = {
    "the mode is changed": "self.train(not self.training)",
    "a part's mode is changed": "[part.train(not part.training) for part in self.modules()]",
    "the weights are changed": "[weight.data.mul_(2) for weight in self.parameters()]",
}
LEARNS = ("learns", "gradients")
NO_GRADIENTS = {  # of functions: what NumPy may compute, what is a choice or a count, what is looked at
    *("tokenise", "build-vocabulary", "encode", "pad-batch", "nearest", "sinusoidal-encoding"),
    *("shift-matrix", "causal-mask", "padding-mask"),
    *("load-from-torch", "parameter-count", "shift-right"),
    *("target-mask", "greedy-decode", "noam-rate", "train-step", "language-windows"),
    *("attention-maps", "plot-attention", "sentence-pair-attention", "previous-token-score"),
    *("attention-entropy", "attention-rollout", "best-span"),
    "decode-step",  # it generates, in eval mode
}
NO_GRADIENTS |= {"bpe-merges", "attention-cost", "load-from-bert", "sample-next", "silence-head"}
NO_GRADIENTS |= {"load-llama", "generate", "quantise"}
NO_TENSORS = {
    *(
        "tokenise",
        "build-vocabulary",
        "encode",
        "sinusoidal-encoding",
        "shift-matrix",
        "causal-mask",
    ),
    *("load-from-torch", "parameter-count", "noam-rate", "sentence-pair-attention"),
}
NO_TENSORS |= {"bpe-merges", "attention-cost", "load-from-bert", "silence-head", "load-llama"}
HANDED_MODULES = {"load-from-torch", "load-from-bert", "silence-head"}  # of all sizes
PADDED = {
    "padding-mask",
    "encoder",
    "target-mask",
    "transformer",
    "label-smoothing-loss",
    "attention-maps",
}
PADDED |= {"train-step"}
FEW_ARGUMENTS = range(4)
MAY_CHANGE = {("decode-step", 2)}  # the contract leaves the caller no use for an old cache
OPTIONAL = (None, inspect.Parameter.empty)  # what has no default, and what may be left out


@cache
def oracle(lesson: Lesson) -> Oracle:
    """Return the oracle of a lesson, one for all tests of a process."""
    return Oracle(lesson, KEY)


def _exercises() -> Iterator[Any]:
    for name in REAL_COURSE.lessons():
        lesson = load_lesson(REAL_COURSE, name)
        for exercise in lesson.exercises:
            if not exercise.written and exercise.name != ANSWERS:
                yield pytest.param(lesson, exercise, id=f"{name[:2]}-{exercise.id}")


every_exercise = pytest.mark.parametrize(("lesson", "exercise"), list(_exercises()))


def planted(exercise: Exercise, before: str = "pass", after: str = "pass") -> str:
    """Return the model answer with something done before or after each call."""
    frame = MODULE if isinstance(exercise.reference, type) else FUNCTION
    wrapped = frame.format(name=exercise.name, before=before, after=after)
    return f"{exercise.answer}\n{HELPERS}\n{wrapped}"


def failures(
    lesson: Lesson, exercise: Exercise, cell: str, *only: str
) -> Iterator[tuple[Check, str]]:
    """Yield each check, or each of `only`, that an answer fails, with its message."""
    judge, names = oracle(lesson), names_of(lesson, exercise, cell)
    checks = {check.id: check for check in exercise.checks}
    for check in (checks[name] for name in only or checks if name in checks):
        asked = judge.test_input(exercise, check)
        expected = judge.expected(exercise, check, asked)
        got = judge.observe(exercise, names, asked)
        verdict = judge_check(exercise, check, Comparison(asked.operation, got, expected))
        if not verdict.passed:
            yield check, verdict.message


def names_of(lesson: Lesson, exercise: Exercise, cell: str) -> dict[str, Any]:
    """Return what a cell defines."""
    return oracle(lesson).edited(exercise, [answer_with(exercise, cell)]) or {}


def failed(lesson: Lesson, exercise: Exercise, cell: str, *only: str) -> set[str]:
    """Return the ids of the checks, or of those among `only`, that an answer fails."""
    return {check.id for check, _ in failures(lesson, exercise, cell, *only)}


@every_exercise
def test_a_modified_argument_is_noticed(lesson: Lesson, exercise: Exercise) -> None:
    """Each argument that can be modified: a tensor, a mask, a list and what is in it, a dictionary."""
    ids = sorted((check.id for check in exercise.checks), key=lambda name: name != "arguments")
    quick = [name for name in ids if name not in ("sizes", "defaults")]
    for number in FEW_ARGUMENTS:
        if (exercise.id, number) in MAY_CHANGE:
            continue
        cell = planted(exercise, after=f"_modify({number}, args, kwargs)")
        found = any(
            "in place" in message for _, message in failures(lesson, exercise, cell, *quick)
        )
        assert found or not names_of(lesson, exercise, cell)["_planted"], number


@every_exercise
def test_a_changed_setting_is_noticed(lesson: Lesson, exercise: Exercise) -> None:
    """What is left changed for the whole process fails the check that is named for it."""
    faults = SETTINGS | (OF_A_MODULE if isinstance(exercise.reference, type) else {})
    for fault, code in faults.items():
        if fault == "the weights are changed" and exercise.id == "positional-encoding":
            continue  # it has none
        assert failed(lesson, exercise, planted(exercise, after=code), "settings"), fault


@every_exercise
def test_a_setting_that_is_restored_is_no_fault(lesson: Lesson, exercise: Exercise) -> None:
    """Code that uses `no_grad` for a while, or draws random numbers, passes every check."""
    before = (
        "torch.rand(3)\n        " if isinstance(exercise.reference, type) else "torch.rand(3)\n    "
    )
    before += "with torch.no_grad(), torch.random.fork_rng(): torch.manual_seed(3)"
    assert failed(lesson, exercise, planted(exercise, before=before)) == set()


@every_exercise
def test_a_detached_result_is_noticed(lesson: Lesson, exercise: Exercise) -> None:
    """Wherever gradients are asked for: in every module, and in functions inside of models."""
    has_row = any(check.id in LEARNS for check in exercise.checks)
    assert has_row is (exercise.id not in NO_GRADIENTS)
    cell = planted(exercise, after="result = _detached(result)")
    assert failed(lesson, exercise, cell, *LEARNS) or not has_row


@every_exercise
def test_another_default_is_noticed(lesson: Lesson, exercise: Exercise) -> None:
    """Each argument with a default that is a value."""
    known = inspect.signature(exercise.reference).parameters.values()
    for name, default in ((p.name, p.default) for p in known if p.default not in OPTIONAL):
        other = default + 1 if isinstance(default, int) else 1.5 * default + 0.1
        changed = f"\nimport inspect, functools\n_known = inspect.signature({exercise.name})\n"
        changed += f"_other = functools.partial({exercise.name}, {name}={other!r})\n"
        changed += f"_names = list(_known.parameters)\n_place = _names.index('{name}')\n"
        changed += f"_inner = {exercise.name}\n"
        changed += f"def {exercise.name}(*args, **kwargs):\n"
        changed += f"    given = len(args) > _place or '{name}' in kwargs\n"
        changed += "    return (_inner if given else _other)(*args, **kwargs)\n"
        assert failed(lesson, exercise, exercise.answer + changed), name


@every_exercise
def test_an_answer_for_small_sizes_only_is_noticed(lesson: Lesson, exercise: Exercise) -> None:
    """What refuses sizes that no visible test has."""
    if exercise.id not in HANDED_MODULES:
        large = planted(exercise, before="_refuse_large(args, kwargs)")
        assert failed(lesson, exercise, large, "sizes")


@every_exercise
def test_an_answer_for_contiguous_tensors_only_is_noticed(
    lesson: Lesson, exercise: Exercise
) -> None:
    """`view` on an argument works only if it is contiguous."""
    has_row = any(check.id == "layout" for check in exercise.checks)
    assert has_row is (exercise.id not in NO_TENSORS)
    cell = planted(exercise, before="_want_contiguous(args, kwargs)")
    assert failed(lesson, exercise, cell, "layout") or not has_row


@every_exercise
def test_an_answer_for_padding_at_the_end_only_is_noticed(
    lesson: Lesson, exercise: Exercise
) -> None:
    """Where ids are padded and the answer looks at them, padding may come first."""
    if exercise.id in PADDED:
        cell = planted(exercise, before="args = _words_first(args)")
        assert failed(lesson, exercise, cell, "padding-first", "padding-anywhere")
