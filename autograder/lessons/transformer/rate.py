"""Checks of `noam_rate`."""

import math
from typing import Any

from autograder.judge.exercise import Lesson, Stimulus, call
from autograder.judge.judgement import Seen, Verdict, agrees, say_raised
from autograder.lessons.transformer import reference

FALLING, RISING = "falling = step**-0.5", "rising = step * warmup**-1.5"
RETURN = "return d_model**-0.5 * min(falling, rising)"


def _ratio(seen: Seen) -> str | None:
    got, want, step = float(seen.got.value), seen.expected.value, seen.inputs["args"][0]
    return f"At step {step} your rate is {got:.4g}, {got / want:.4g} times what it should be."


def _finite(seen: Seen) -> Verdict:
    """Judge step 0: any finite number will do."""
    if seen.got.raised:
        return Verdict(
            passed=False,
            message=f"{say_raised(seen.got.raised)} Step 0 should give a finite number.",
        )
    given = seen.got.value
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return agrees()(seen)
    return Verdict(passed=math.isfinite(given), message="Step 0 should give a finite number.")


judge = agrees(_ratio, atol=1e-12, rtol=1e-5)


def add_rate(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("noam-rate", 1, "noam_rate", reference=reference.noam_rate)

    @exercise.case("the rise, with the default warm-up", judge=judge)
    def rising(_draw: Any) -> Stimulus:
        return call(700, 512)

    @exercise.case("the peak", judge=judge)
    def peak(_draw: Any) -> Stimulus:
        return call(4000, 512)

    @exercise.case("the fall, at another width and warm-up", judge=judge)
    def falling(_draw: Any) -> Stimulus:
        return call(3000, 96, warmup=250)

    @exercise.case("the first step", judge=judge)
    def first(_draw: Any) -> Stimulus:
        return call(1, 256, 100)

    @exercise.case("step 0 gives a finite number", judge=_finite)
    def zero(_draw: Any) -> Stimulus:
        return call(0, 512)

    mistake = exercise.misconception
    mistake("step-zero", "Step 0 is a division by zero", "What is 0 ** -0.5?",
            edits={"step = max(step, 1)": "pass"})  # fmt: skip
    mistake("larger-of-both", "The larger of the two curves is taken, not the smaller",
            "The rate is to begin near 0 and to end near 0.", edits={"min(": "max("})  # fmt: skip
    mistake("wrong-power-of-warmup", "The exponent of warmup is −0.5, not −1.5",
            "The two curves have to meet at step = warmup.", edits={RISING: "rising = step * warmup**-0.5"})  # fmt: skip
    mistake("width-missing", "The factor d_model^(−0.5) is missing", "A wider model learns more slowly.",
            edits={RETURN: "return min(falling, rising)"})  # fmt: skip
    mistake("width-upside-down", "The rate is multiplied by √d_model, not divided",
            "A wider model learns more slowly.", edits={"d_model**-0.5 *": "d_model**0.5 *"})  # fmt: skip
    mistake("width-without-root", "The rate is divided by d_model, not by its root",
            "The exponent is −0.5.", edits={"d_model**-0.5 *": "d_model**-1.0 *"})  # fmt: skip
    mistake("never-falls", "The rate never falls", "Equation 3 is the smaller of two curves.",
            edits={RETURN: "return d_model**-0.5 * rising"})  # fmt: skip
    mistake("never-rises", "There is no warm-up: the rate only falls", "Equation 3 is the smaller of two curves.",
            edits={RETURN: "return d_model**-0.5 * falling"})  # fmt: skip
    mistake("warmup-fixed", "The warm-up is always 4000 steps", "Try it with warmup=250.",
            edits={RISING: "rising = step * 4000**-1.5"})  # fmt: skip
    mistake("counts-from-zero", "Steps are counted from 0: step 1 gets the rate of step 2",
            "The paper counts from 1; treat only step 0 apart.", edits={"step = max(step, 1)": "step = step + 1"})  # fmt: skip
    mistake("too-steep-a-fall", "The rate falls as 1/step, not as 1/√step",
            "At four times the warm-up it is half the peak.",
            edits={FALLING: "falling = warmup**0.5 / step"})  # fmt: skip
