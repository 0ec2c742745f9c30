"""A synthetic course of eight lessons, with reports and answers; the same seed gives the same course."""

import random
import re
from datetime import datetime

from autograder.model.report import Incident, Outcome, Report, State
from autograder.reports.class_answers import LessonAnswers, StudentAnswer
from autograder.reports.class_pages import class_pages

from .sample_class import NAMES, POINTS, WRONG, exercise, report

MADE_AT = datetime(2026, 3, 4, 9, 30)
LESSONS = (
    "01_embeddings", "02_positional_encoding", "03_attention", "04_multi_head_attention", "05_encoder",
    "06_decoder", "07_transformer", "08_attention_visualisation",
)  # fmt: skip
SKELETON = "def solve(q, k, mask=None):\n    raise NotImplementedError"
MODEL = "def solve(q, k, mask=None):\n    return (q @ k.transpose(-2, -1)).softmax(dim=-1)"
# Each line can be written in several ways; {0} is a name of the student's own, {1} a number.
LINES = (
    ("{0} = q.size(-1) ** {1}", "{0} = math.sqrt(q.shape[-1]) + {1}", "{0} = float(k.size(2)) / {1}"),
    ("{0} = q @ k.transpose(-2, -1)", "{0} = torch.matmul(q, k.mT) * {1}", "{0} = torch.einsum('bqd,bkd->bqk', q, k)"),
    ("if mask is not None:\n        {0} = q.masked_fill(~mask, -{1}.0)", "{0} = torch.where(mask, q, -1e9 * {1})", "assert mask.dtype is torch.bool, {1}"),
    ("{0} = q - q.max(dim=-1, keepdim=True).values", "{0} = q - q.amax(-1, keepdim=True) + {1}", "for {0} in range({1}):\n        q = q - q.mean()"),
    ("{0} = torch.exp(q) / {1}", "{0} = q.exp().clamp(min={1})", "{0} = torch.pow(torch.tensor(2.718), q)"),
    ("{0} = q / q.sum(-1, keepdim=True)", "{0} = q.div(q.sum(dim=2, keepdim=True) + {1})", "{0} = torch.softmax(q, -1)"),
)  # fmt: skip


def sample_reports(students: int = 300) -> dict[str, dict[str, Report]]:
    """Return lesson to student to report; some students hand in nothing, or a broken file."""
    return {
        lesson: {name(n): _report(lesson, place, n) for n in range(students)}
        for place, lesson in enumerate(LESSONS)
    }


def name(number: int) -> str:
    """Return the name of a student."""
    return f"{NAMES[number % len(NAMES)]}{number:03d}"


def _report(lesson: str, place: int, number: int) -> Report:
    draw = random.Random(f"{lesson}/{number}")
    skill = random.Random(number).uniform(0.5, 1.05) - 0.03 * place
    fading = 0.5 if number % 17 == 4 and place > 4 else 0.0
    outcomes = [
        Outcome.PASSED if draw.random() < skill - fading else draw.choice(WRONG) for _ in POINTS
    ]
    if place in (4, 7):
        outcomes[-1] = Outcome.BY_HAND
    made = report(
        [exercise(each, how, draw) for each, how in zip(POINTS, outcomes, strict=True)],
        lesson=lesson,
    )
    if draw.random() < 0.03:
        state = draw.choice([State.ABSENT, State.ABSENT, State.UNREADABLE, State.WRONG_FILE])
        return report([], lesson=lesson).with_file(state, "it is not valid JSON", [])
    incident = Incident(exercise="softmax", kind="open", message="tried to read /home/scores.db")
    return made.model_copy(update={"incidents": [incident]}) if draw.random() < 0.004 else made


def code(draw: random.Random) -> str:
    """Return an answer that a student might write alone."""
    lines = [_line(ways, draw) for ways in LINES for _ in range(draw.choice((1, 1, 2)))]
    return "\n    ".join(["def solve(q, k, mask=None):", *lines, "return q"])


def _line(ways: tuple[str, ...], draw: random.Random) -> str:
    own, number = draw.choice("abcdefgh"), draw.choice((1, 1, 1, 2, 3, 0.5, 10, 64))
    return draw.choice(ways).format(own, number)


def disguised(answer: str) -> str:
    """Return the same answer with other names, comments, blank lines and a docstring."""
    lines = answer.splitlines()
    lines[1:1] = ['    """My own work."""', ""]
    text = "\n".join(f"{line}  # {number}" if line else "" for number, line in enumerate(lines))
    for old, new in (("q", "query"), ("k", "key"), ("mask", "allowed")):
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def sample_answers(students: int = 300) -> dict[str, LessonAnswers]:
    """Return lesson to answers; everybody works alone."""
    known = [StudentAnswer(SKELETON, is_code=True), StudentAnswer(MODEL, is_code=True)]
    return {
        lesson: LessonAnswers(
            {each: _given(lesson, each, students) for each in POINTS}, dict.fromkeys(POINTS, known)
        )
        for lesson in LESSONS
    }


def _given(lesson: str, exercise_id: str, students: int) -> dict[str, StudentAnswer]:
    draw = random.Random(f"{lesson}/{exercise_id}")
    return {name(number): StudentAnswer(code(draw), is_code=True) for number in range(students)}


def sample_pages(students: int = 300) -> dict[str, str]:
    """Return the pages of the class report of the course."""
    return class_pages(
        sample_reports(students), sample_answers(students), sandboxed=True, made_at=MADE_AT
    )
