"""The class report: a front page, a page for each lesson, and one of similar answers.

Each page is one file that loads nothing. Its policy allows no script but our own, which only sorts and
filters what can be read without it. Everything that comes from a submission is escaped and cut to length.
"""

from collections.abc import Callable, Mapping, Set
from datetime import datetime
from functools import partial
from types import MappingProxyType

from markupsafe import Markup

from autograder.model.report import Report
from autograder.reports import similar_answers
from autograder.reports.class_answers import LessonAnswers
from autograder.reports.class_changes import Changes, change_groups
from autograder.reports.class_figures import FALL, FEWEST, LOW, OUTCOMES, course_figures
from autograder.reports.templating import policy_hash, render
from autograder.reports.words import NO_SANDBOX, STATES, STRETCH, WORDING

FRONT, SIMILAR = "class.html", "class-similar.html"
FORMGRADER = "http://localhost:8888/formgrader"  # JupyterLab on this machine, as it starts by default
MOST_SHOWN = 3  # exercises of one pair that stand side by side; the others are named
STEPS = 11  # colours of the heat map, from 0 to 100 %


def class_pages(
    lesson_reports: Mapping[str, Mapping[str, Report]],
    answers: Mapping[str, LessonAnswers],
    *,
    sandboxed: bool,
    made_at: datetime,
    formgrader: str = FORMGRADER,
    indexes: Set[str] = frozenset(),
    changes: Mapping[str, Changes] = MappingProxyType({}),
    extra: Set[str] = frozenset(),
    late: Set[str] = frozenset(),
    full_names: Mapping[str, str] | None = None,
    with_mistake: Callable[[str, str, str], str] = lambda *_: "",
) -> dict[str, str]:
    """Return the pages by file name; all lie in reports/, beside each other.

    Reports, answers and `changes`, those that would make wrong answers right, go by lesson. `indexes` are the
    students who have an index page of their own, `extra` the lessons that enter no total, and
    `late` those of which points were taken off for lateness. `full_names` has the names of students, where
    they are known. `with_mistake` returns the model answer with a known mistake in it, by lesson, exercise
    and id of the mistake, or "".
    """
    course, script = course_figures(lesson_reports, extra), render("class_script.j2")
    page = partial(
        render,
        course=course,
        outcomes=OUTCOMES,
        wordings=WORDING,
        states=STATES,
        stretch=STRETCH,
        formgrader=formgrader,
        indexes=indexes,
        full_names=full_names or {},
        correlation=lambda value: "–" if value is None else f"{value:+.2f}".replace("-", "−"),
        step=step,
        steps=STEPS,
        no_sandbox="" if sandboxed else NO_SANDBOX,
        made_at=made_at,
        script=Markup(script),  # noqa: S704 - our own file, nothing is inserted into it
        script_hash=policy_hash(script),
    )
    pages = {FRONT: page("class_front.html.j2", fall=round(FALL * 100), low=round(LOW * 100))}
    for one in course.lessons:
        pages[f"class-{one.lesson}.html"] = page(
            "class_lesson.html.j2",
            one=one,
            is_late=one.lesson in late,
            with_mistake=partial(with_mistake, one.lesson),
            fewest=FEWEST,
            changes=change_groups(one.reports, changes.get(one.lesson, {})),
        )
    pairs = similar_answers.similar_pairs(answers)
    pages[SIMILAR] = page(
        "class_similar.html.j2",
        pairs=pairs[: similar_answers.MOST_PAIRS],
        left_out=max(len(pairs) - similar_answers.MOST_PAIRS, 0),
        lines=similar_answers.shown_lines,
        most=MOST_SHOWN,
        least=similar_answers.LEAST_SHARE,
        least_tokens=round(similar_answers.LEAST_IN_ALL),
        runs=similar_answers.RUN,
    )
    return pages


def step(share: float) -> int:
    """Return the number of the colour for a share from 0 to 1."""
    return min(max(round(share * (STEPS - 1)), 0), STEPS - 1)
