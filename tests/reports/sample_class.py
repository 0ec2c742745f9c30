"""A synthetic class that submitted lesson 03; the same seed gives the same class."""

import random

from autograder.model.report import CheckReport, ExerciseReport, Incident, NamedMistake, Outcome, Report

LESSON = "03_attention"
POINTS = {
    "softmax": 2,
    "attention-scores": 3,
    "causal-mask": 2,
    "padding-mask": 2,
    "scaled-dot-product-attention": 5,
    "self-attention-head": 4,
    "attention-shapes": 2,
}
TITLES = {
    "softmax": ["Rows add up to 1", "Entries of ±10 000 stay finite", "It works along any `dim`"],
    "attention-scores": ["Five queries meet seven keys", "Any number of leading dimensions"],
    "causal-mask": ["Position i may attend to itself and to what came before", "It is boolean"],
    "padding-mask": ["Real tokens are True", "The shape is (B, 1, S)"],
    "scaled-dot-product-attention": [
        "Five queries read seven keys and values of another width",
        "A query that may attend to nothing gives zeros, not NaN",
        "What is masked gets a weight of exactly 0",
        "The arguments are left as they were",
    ],
    "self-attention-head": ["`d_k` may exceed `d_model`", "Every parameter gets a gradient"],
    "attention-shapes": ["The shape of the scores", "Why √d_k"],
}
MISTAKES = {
    "softmax": [
        NamedMistake(
            id="no-shift",
            title="The largest entry is not subtracted before `exp`",
            hint="What is exp(1000) in float32? Which number can you take off a row for free?",
        )
    ],
    "attention-scores": [
        NamedMistake(
            id="scale-missing",
            title="The scores are not divided by √d_k",
            hint="Compare the spread of q·k for d_k = 4 and d_k = 400.",
        ),
        NamedMistake(
            id="scale-without-root",
            title="The scores are divided by d_k, not by its root",
            hint="How does the standard deviation of a sum of d_k products grow with d_k?",
        ),
    ],
    "causal-mask": [
        NamedMistake(
            id="mask-inverted",
            title="The mask is the other way round",
            hint="In this course True means: may attend.",
        )
    ],
    "scaled-dot-product-attention": [
        NamedMistake(
            id="mask-after-softmax",
            title="The mask is applied after the softmax",
            hint="Add up a row of your weights. What should it come to?",
        ),
        NamedMistake(
            id="empty-row-nan",
            title="A query that may attend to nothing gives NaN",
            hint="What does your softmax do with a row that is minus infinity throughout?",
        ),
    ],
}
MESSAGES = [
    "For q of shape (2, 5, 16) and k of shape (2, 7, 16) the result is off by up to 11.3, "
    "in all 70 entries.",
    "The result has the shape (2, 7, 5); expected was (2, 5, 7).",
    "The result holds 12 NaN.",
]
NAMES = [
    "abara", "bjornsson", "castillo", "dubois", "eriksen", "fontaine", "garcia", "haddad",
    "ivanova", "jansen", "kowalski", "lindqvist", "moreau", "nakamura", "okafor", "petrov",
    "quispe", "rossi", "schmidt", "takahashi", "ueda", "vargas", "weber", "yilmaz",
]  # fmt: skip
WRONG = [Outcome.FAILED] * 14 + [
    Outcome.UNANSWERED, Outcome.UNANSWERED, Outcome.UNANSWERED, Outcome.ERROR, Outcome.ERROR,
    Outcome.TIMEOUT, Outcome.CRASHED, Outcome.MISSING, Outcome.BY_HAND, Outcome.GRADER_ERROR,
]  # fmt: skip


def exercise(exercise_id: str, outcome: Outcome, draw: random.Random) -> ExerciseReport:
    """Make the report of one exercise that fits its outcome."""
    points, titles = POINTS[exercise_id], TITLES[exercise_id]
    if outcome is Outcome.PASSED:
        checks = [CheckReport(id=f"c{n}", title=text, passed=True) for n, text in enumerate(titles)]
        return ExerciseReport(
            id=exercise_id, points=points, score=points, outcome=outcome, checks=checks
        )
    if outcome is not Outcome.FAILED:
        score = None if outcome.is_pending else 0
        return ExerciseReport(
            id=exercise_id, points=points, score=score, outcome=outcome, checks=_errors(outcome)
        )
    return _failed(exercise_id, draw)


def _errors(outcome: Outcome) -> list[CheckReport]:
    """Return the failed checks of an error; other outcomes have none."""
    message = "NameError: name 'sofmax' is not defined (line 4 of your cell)"
    titles = ["Five queries read seven keys", "A single query"] if outcome is Outcome.ERROR else []
    return [CheckReport(id=text, title=text, passed=False, message=message) for text in titles]


def _failed(exercise_id: str, draw: random.Random) -> ExerciseReport:
    """Make an answer that fails at least one check, mostly with a known mistake."""
    titles = TITLES[exercise_id]
    bad = set(draw.sample(range(len(titles)), draw.randint(1, len(titles))))
    checks = [
        CheckReport(
            id=f"c{n}", title=text, passed=n not in bad,
            message=draw.choice(MESSAGES) if n in bad else "",
        )
        for n, text in enumerate(titles)
    ]  # fmt: skip
    named = MISTAKES.get(exercise_id, [])
    count = draw.choice([0, 1, 1, 1, 2]) if named else 0
    score = POINTS[exercise_id] * (len(titles) - len(bad)) / len(titles)
    return ExerciseReport(
        id=exercise_id, points=POINTS[exercise_id], score=score, outcome=Outcome.FAILED,
        checks=checks, misconceptions=draw.sample(named, min(count, len(named))),
    )  # fmt: skip


def report(exercises: list[ExerciseReport], **more: object) -> Report:
    """Make a report of these exercises; its score is the sum of their scores."""
    return Report.model_validate(
        {
            "lesson": LESSON,
            "score": sum(each.score or 0 for each in exercises),
            "max_score": sum(each.points for each in exercises),
            "exercises": exercises,
            **more,
        }
    )


def sample_class(students: int = 24, seed: int = 7) -> dict[str, Report]:
    """Return student to report, with some repairs and an incident."""
    draw = random.Random(seed)
    made = {}
    for number in range(students):
        skill = draw.uniform(0.35, 1.0)
        outcomes = [Outcome.PASSED if draw.random() < skill else draw.choice(WRONG) for _ in POINTS]
        exercises = [exercise(name, how, draw) for name, how in zip(POINTS, outcomes, strict=True)]
        made[f"{NAMES[number % len(NAMES)]}{number:03d}"] = report(exercises, **_extras(number))
    return made


def _extras(number: int) -> dict[str, object]:
    """Return repairs and incidents for a few students."""
    repairs = ["The cell of `causal-mask` was there twice; the later one counts."]
    incident = Incident(exercise="softmax", kind="open", message="tried to read /home/scores.db")
    return {
        "repairs": repairs if number % 6 == 2 else [],
        "incidents": [incident] if number % 20 == 5 else [],
    }
