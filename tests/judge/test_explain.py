"""Lists, dictionaries and changed arguments are judged, and put into words."""

from typing import Any

from autograder.judge.explain import arguments_kept, explained
from autograder.judge.judgement import Seen
from autograder.judge.observation import Observation, Raised


def seen(got: Any, expected: Any) -> Seen:
    """Return one case with these two values."""
    return Seen({}, Observation(value=got), Observation(value=expected))


def test_symptoms_are_asked_about_any_difference() -> None:
    """A list of another length gets the sentence; a symptom that breaks on it is passed over."""
    judge = explained(lambda s: s.got.value[99], lambda _: None, lambda _: "too short")
    assert judge(seen(["a"], ["a", "b"])).message == "too short"
    assert judge(seen(["a", "b"], ["a", "b"])).passed


def test_without_a_symptom_the_difference_itself_is_told() -> None:
    """No failure is left without a sentence."""
    assert "1 entries" in explained()(seen(["a"], ["a", "b"])).message


def test_a_changed_argument_fails_though_the_result_is_right() -> None:
    """The message says which argument, counted from 1."""
    judge = arguments_kept(explained())
    right = {"result": 3, "arguments": [[1, 2], {"a": 1}]}
    assert judge(seen(right, right)).passed
    changed = judge(seen({"result": 3, "arguments": [[1, 2], {"a": 1, "b": 2}]}, right))
    assert not changed.passed
    assert "argument 2" in changed.message


def test_hostile_values_fail_without_breaking_the_judge() -> None:
    """What comes back need not be what the scenario would have sent."""
    right = {"result": 3, "arguments": [[1, 2]]}
    for value in (None, 7, {"arguments": 5}, {"result": 4, "arguments": []}):
        assert not arguments_kept(explained())(seen(value, right)).passed


def test_an_exception_is_told_as_one() -> None:
    """Nothing is unpacked where the call raised."""
    raised = Seen({}, Observation(raised=Raised("KeyError", "'x'")), Observation(value=1))
    assert "KeyError" in arguments_kept(explained())(raised).message
