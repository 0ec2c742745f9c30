"""Judges look at results and at what became of the arguments, and put both into words."""

from typing import Any

import pytest
import torch

from autograder.judge.judges import gradients_match, guarded, matches_reference, no_side_effects
from autograder.judge.properties import with_settings_kept
from coursework.engine.describe import Comparison
from coursework.engine.observation import Observation, Raised
from coursework.engine.operation import Operation
from coursework.engine.operations import AskForSettings, CallFunction, CallModule, ModuleGradients, Setting

PLAIN = CallFunction([])


def seen(got: Any, expected: Any, operation: Operation = PLAIN) -> Comparison:
    """Return a comparison of two values."""
    return Comparison(operation, Observation(value=got), Observation(value=expected))


def test_explainers_may_be_asked_about_any_form() -> None:
    """A list of another length gets the sentence; an explainer that breaks on it is passed over."""
    judge = matches_reference(
        lambda s: s.got.value[99], lambda _: None, lambda _: "too short", any_form=True
    )
    assert judge(seen(["a"], ["a", "b"])).message == "too short"
    assert judge(seen(["a", "b"], ["a", "b"])).passed
    assert "too few entries" in matches_reference()(seen(["a"], ["a", "b"])).message


def test_of_several_calls_the_first_wrong_one_is_explained() -> None:
    """An explainer of a single call is asked about that call, and the message says which it is."""
    asked = CallModule(calls=[[1], [2], [3]])
    got = [torch.zeros(3), torch.tensor([1.0, 2.0, 4.0]), torch.ones(3)]
    right = [torch.zeros(3), torch.tensor([2.0, 4.0, 8.0]), torch.zeros(3)]
    assert matches_reference()(seen(got, right, asked)).message.startswith("Call 2 of 3: Every")
    said = matches_reference(
        lambda s: f"asked for {s.inputs['calls'][0][0]:d}" if s.got.value.dim() else ""
    )
    assert said(seen(got, right, asked)).message == "Call 2 of 3: asked for 2"


def test_a_changed_argument_fails_though_the_result_is_right() -> None:
    """The message says which argument: by the table's name, by keyword, or counted from 1."""

    def told(place: str, *names: str) -> str:
        asked = CallFunction([[1, 2], {"a": 1}], {"mask": None})
        changed = Comparison(asked, Observation(3, changed=(place,)), Observation(3))
        return no_side_effects(names=names)(changed).message

    assert no_side_effects()(seen(3, 3, CallFunction([1]))).passed
    assert "argument 1" in told("0.1")
    assert "`words`" in told("1", "ids", "words")
    assert "`mask`" in told("2", "ids", "words")


def test_of_several_calls_of_a_module_the_argument_is_named() -> None:
    """The first number of a place is the call."""
    asked = CallModule(calls=[[1, [2]], [1, [2]]])
    changed = Comparison(asked, Observation([3, 3], changed=("1.1.0",)), Observation([3, 3]))
    assert "`mask`" in no_side_effects(names=["x", "mask"])(changed).message


def test_a_wrong_result_is_not_taken_for_a_changed_argument() -> None:
    """The check's title is about arguments; the message says that they are as they were."""
    asked = CallFunction([[1, 2]])
    told = no_side_effects()(seen(0.5, 0.25, asked)).message
    assert told.startswith(
        "The arguments are unchanged, but the result is wrong. The result is too"
    )
    assert no_side_effects(titled=False)(seen(0.5, 0.25, asked)).message.startswith("The result")


def test_an_argument_that_was_not_passed_is_not_told() -> None:
    """A process could say any number."""
    changed = Comparison(CallFunction([1, 2]), Observation(3, changed=("987",)), Observation(3))
    assert no_side_effects()(changed).passed


def test_hostile_values_fail_without_breaking_the_judge() -> None:
    """What comes back need not be what the operation would have sent."""
    asked = AskForSettings([PLAIN])
    right = {"results": [3], **dict.fromkeys(Setting, True)}
    judge = guarded(with_settings_kept(matches_reference()))
    assert judge(seen(right, right, asked)).passed
    for value in (None, 7, {"results": 5}, {**right, "results": [4]}, {**right, "results": [3, 3]}):
        assert not judge(seen(value, right, asked)).passed


def test_an_exception_has_no_arguments_to_look_at() -> None:
    """Where nothing was returned, nothing is unpacked."""
    raised = Comparison(PLAIN, Observation(raised=Raised("KeyError", "")), Observation(1))
    assert "KeyError" in no_side_effects()(raised).message


@pytest.mark.parametrize(
    ("got", "said"),
    [
        ({"w": None, "b": None}, "No gradient reaches `w`, `b`"),
        ({"w": torch.ones(2), "b": torch.zeros(1)}, "The gradient of `w` is wrong."),
        ({"unregistered": ["w"]}, "does not find it. Is it an nn.Parameter"),
        ({"unregistered": ["w", "b"]}, "does not find them. Is each of them an nn.Parameter"),
    ],
)
def test_gradients_are_told_by_parameter(got: dict[str, Any], said: str) -> None:
    """What is not registered, not reached, or wrong."""
    right = {"w": torch.zeros(2), "b": torch.zeros(1), "unregistered": []}
    asked = ModuleGradients(paths=["w", "b"])
    assert said in gradients_match()(seen({**right, **got}, right, asked)).message


def test_an_unregistered_path_that_was_not_asked_for_is_not_told() -> None:
    """A process could say any."""
    right = {"w": torch.zeros(2), "unregistered": []}
    asked = ModuleGradients(paths=["w"])
    told = gradients_match()(seen({**right, "unregistered": ["leak"]}, right, asked)).message
    assert told
    assert "leak" not in told
