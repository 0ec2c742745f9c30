"""Judges for results that are not tensors alone: lists, dictionaries, and what became of arguments."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from autograder.judge.compare import difference
from autograder.judge.judgement import Judge, Seen, Symptom, Verdict, agrees

CHANGED = (
    "Your code changed argument {0} for its caller (append, +=, sort, setdefault, …); "
    "build something new and leave the argument alone."
)


def explained(*symptoms: Symptom) -> Judge:
    """Return a judge that wants the reference's value; any difference is put into words.

    Unlike `agrees`, it asks the symptoms about results of another length or shape as well.
    """
    judge_value = agrees()

    def judge(seen: Seen) -> Verdict:
        verdict = judge_value(seen)
        if verdict.passed or seen.got.raised or seen.expected.raised:
            return verdict
        said = next(filter(None, (_asked(symptom, seen) for symptom in symptoms)), None)
        return Verdict(passed=False, message=said or verdict.message)

    return judge


def arguments_kept(inner: Judge) -> Judge:
    """Return a judge of `arguments_after`: the right result, and every argument as it was."""

    def judge(seen: Seen) -> Verdict:
        if seen.got.raised or seen.expected.raised:
            return inner(seen)
        after = part(seen, field("arguments"))
        kept, given = after.got.value, after.expected.value
        if not isinstance(kept, (list, tuple)) or len(kept) != len(given):
            return Verdict(passed=False, message="The arguments could not be looked at afterwards.")
        for place, (now, before) in enumerate(zip(kept, given, strict=True), start=1):
            if difference(now, before):
                return Verdict(passed=False, message=CHANGED.format(place))
        return inner(part(seen, field("result")))

    return judge


def field(name: str) -> Callable[[Any], Any]:
    """Return a function that picks an entry of a dictionary, None where there is none."""
    return lambda value: value.get(name) if isinstance(value, dict) else None


def part(seen: Seen, pick: Callable[[Any], Any]) -> Seen:
    """Return what was seen with a part of both values in the place of the whole."""
    got = replace(seen.got, value=pick(seen.got.value))
    expected = replace(seen.expected, value=pick(seen.expected.value))
    return Seen(seen.inputs, got, expected)


def _asked(symptom: Symptom, seen: Seen) -> str | None:
    try:
        return symptom(seen)
    except (RuntimeError, IndexError, KeyError, TypeError, AttributeError, ValueError):
        return None  # a symptom that does not fit what came back has nothing to say
