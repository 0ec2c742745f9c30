"""The two pages of `autograder written` as HTML: one answer to grade, and the list of all."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

from markupsafe import Markup

from autograder.model.text import clean_name
from autograder.reports.student_pages import Titles
from autograder.reports.templating import policy_hash, render
from autograder.reports.words import points
from autograder.written.answers import AnswerText, WrittenAnswer

LONGEST_COMMENT = 10_000  # characters
STEP_KEYS = "qwertyuio"  # of the points between whole ones, from left to right; whole points have their digit
_FRACTIONS = {0.25: "¼", 0.5: "½", 0.75: "¾"}
STYLE = render("student_style.j2") + render("written_style.j2")
SCRIPT = render("written_script.j2")
POLICY = (
    f"default-src 'none'; style-src '{policy_hash(STYLE)}'; script-src '{policy_hash(SCRIPT)}'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'"
)


@dataclass(frozen=True)
class View:
    """How somebody wants to go through the answers; it travels in the query of each address."""

    by_student: bool = False
    names_hidden: bool = False
    keys_off: bool = False

    def query(self, **changes: str | bool) -> str:
        """Return the view as a query, with some of it changed and with other fields added."""
        values = {name: changes.pop(name, value) for name, value in vars(self).items()} | changes
        text = urlencode({name: "yes" if value is True else value for name, value in values.items() if value})
        return f"?{text}" if text else ""


@dataclass(frozen=True)
class ScoreStep:
    """One score that can be given: as a number, as it is shown, and the key that gives it."""

    score: float
    label: str
    key: str


def steps(answer: WrittenAnswer) -> list[ScoreStep]:
    """Return the scores that an answer can get, from left to right."""
    keys, made = iter(STEP_KEYS), []
    for score in answer.steps:
        whole, rest = int(score), score % 1
        label = f"{whole if whole or not rest else ''}{_FRACTIONS.get(rest, '')}"
        made.append(ScoreStep(score, label, next(keys, "") if rest else str(whole) if whole < 10 else ""))
    return made


@dataclass(frozen=True)
class Stored:
    """What was stored from the page before: the answer as it is now, and what somebody else had given it."""

    done: WrittenAnswer
    replaced: Sequence[str] = ()


@dataclass(frozen=True)
class Gone:
    """An answer that is no longer there: what became of it, and the comment that was typed for it."""

    said: str
    comment: str = ""


def digest(comment: str) -> str:
    """Return what tells one comment from another; a form carries it back."""
    return hashlib.sha256(comment.encode()).hexdigest()[:16]


def name(answer: WrittenAnswer, view: View, numbers: Mapping[str, int]) -> str:
    """Return the student's name and id, as far as known, or the number that stands for them."""
    if view.names_hidden:
        return f"Student {numbers[answer.student]}"
    full = clean_name(answer.full_name)
    return f"{full} ({answer.student})" if full else answer.student


def answer_page(
    answer: WrittenAnswer,
    text: AnswerText,
    answers: Sequence[WrittenAnswer],
    view: View,
    *,
    titles: Titles,
    numbers: Mapping[str, int],
    note: Stored | Gone | None = None,
    problem: str = "",
    comment: str | None = None,
) -> str:
    """Return the page of one answer. `comment` is what somebody typed, if that was not stored."""
    place = next(number for number, each in enumerate(answers) if each.id == answer.id)
    return _page(
        "written_answer.html.j2",
        answers,
        view,
        answer=answer,
        text=text,
        title=titles.exercise(answer.exercise).replace("`", ""),
        lesson=titles.lesson,
        name=name(answer, view, numbers),
        number=place + 1,
        steps=steps(answer),
        numbers=numbers,
        note=note,
        problem=problem,
        comment=answer.comment if comment is None else comment,
        was_comment=digest(answer.comment),
        longest=LONGEST_COMMENT,
    )


def list_page(
    answers: Sequence[WrittenAnswer],
    view: View,
    *,
    titles: Mapping[str, Titles],
    numbers: Mapping[str, int],
    note: Stored | Gone | None = None,
) -> str:
    """Return the page that lists all answers, question by question."""
    questions = [
        (titles[lesson].lesson, titles[lesson].exercise(exercise).replace("`", ""), list(given))
        for (lesson, exercise), given in groupby(answers, key=lambda each: (each.lesson, each.exercise))
    ]
    return _page(
        "written_list.html.j2",
        answers,
        view,
        questions=questions,
        names={each.id: name(each, view, numbers) for each in answers},
        numbers=numbers,
        note=note,
    )


def _page(
    template: str,
    answers: Sequence[WrittenAnswer],
    view: View,
    *,
    numbers: Mapping[str, int],
    note: Stored | Gone | None,
    **values: object,
) -> str:
    stored = note if isinstance(note, Stored) else None
    # Safe: our own style sheet and script, nothing is inserted into them.
    return render(
        template,
        style=Markup(STYLE),  # noqa: S704
        script=Markup(SCRIPT),  # noqa: S704
        policy=POLICY,
        view=view,
        points=points,
        graded=sum(each.score is not None for each in answers),
        count=len(answers),
        answers=answers,
        note=stored,
        noted=name(stored.done, view, numbers) if stored else "",
        gone=note if isinstance(note, Gone) else None,
        **values,
    )
