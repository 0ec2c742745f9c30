"""The class report: a front page, a page for each lesson, and one of similar answers.

Each page is one file that loads nothing. Its policy allows no script but our own, which only sorts and
filters what can be read without it. Everything that comes from a submission is escaped and cut to length.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from markupsafe import Markup

from autograder.model.report import Outcome, Report
from autograder.reports.class_answers import RUN, LessonAnswers
from autograder.reports.class_figures import FALL, FEWEST, CourseFigures, LessonFigures, course_figures
from autograder.reports.class_specimens import Specimens
from autograder.reports.similar_answers import (
    LEAST_IN_ALL,
    LEAST_SHARE,
    MOST_PAIRS,
    shown_lines,
    similar_pairs,
)
from autograder.reports.templating import policy_hash, render
from autograder.reports.words import NO_SANDBOX, STATES, STRETCH, WORDING

FRONT, SIMILAR = "class.html", "class-similar.html"
FORMGRADER = "http://localhost:8888/formgrader"  # JupyterLab on this machine, as it starts by default
MOST_SHOWN = 3  # exercises of one pair that stand side by side; the others are named
NOTHING = LessonAnswers({}, {})
STEPS = 11  # colours of the heat map, from 0 to 100 %


@dataclass(frozen=True)
class ClassReport:
    """What the pages show. `indexes` are the students who have an index page of their own."""

    lesson_reports: Mapping[str, Mapping[str, Report]]
    answers: Mapping[str, LessonAnswers]
    sandboxed: bool
    made_at: datetime
    formgrader: str = FORMGRADER
    indexes: Set[str] = frozenset()

    def pages(self) -> dict[str, str]:
        """Return the pages by file name; all lie in reports/, beside each other."""
        course = course_figures(self.lesson_reports)
        lessons = {lesson_page(one.lesson): self._lesson(course, one) for one in course.lessons}
        front = self._render("class_front.html.j2", course, fall=round(FALL * 100))
        return {FRONT: front, **lessons, SIMILAR: self._similar(course)}

    def _lesson(self, course: CourseFigures, one: LessonFigures) -> str:
        answers = self.answers.get(one.lesson, NOTHING)
        specimens = Specimens(answers, (row.student for row in course.rows))
        return self._render("class_lesson.html.j2", course, one=one, specimen=specimens.of, fewest=FEWEST)

    def _similar(self, course: CourseFigures) -> str:
        pairs = similar_pairs(self.answers)
        return self._render(
            "class_similar.html.j2",
            course,
            pairs=pairs[:MOST_PAIRS],
            left_out=max(len(pairs) - MOST_PAIRS, 0),
            lines=shown_lines,
            most=MOST_SHOWN,
            least=LEAST_SHARE,
            least_tokens=round(LEAST_IN_ALL),
            runs=RUN,
        )

    def _render(self, template: str, course: CourseFigures, **values: object) -> str:
        script = render("class_script.j2")
        return render(
            template,
            course=course,
            outcomes=list(Outcome),
            wordings=WORDING,
            states=STATES,
            stretch=STRETCH,
            links=Links(self.formgrader, self.indexes),
            name=lesson_name,
            correlation=correlation,
            step=step,
            steps=STEPS,
            no_sandbox="" if self.sandboxed else NO_SANDBOX,
            made_at=self.made_at,
            script=Markup(script),  # noqa: S704 - our own file, nothing is inserted into it
            script_hash=policy_hash(script),
            **values,
        )


@dataclass(frozen=True)
class Links:
    """The addresses that pages link to, relative to reports/."""

    formgrader: str
    indexes: Set[str]
    front: str = FRONT
    similar: str = SIMILAR

    def lesson(self, lesson: str) -> str:
        """Return the address of a lesson's page."""
        return quote(lesson_page(lesson))

    def csv(self, lesson: str) -> str:
        """Return the address of a lesson's scores."""
        return quote(f"{lesson}.csv")

    def feedback(self, student: str, lesson: str) -> str:
        """Return the address of a student's feedback page."""
        folder, name = quote(student, safe=""), quote(lesson, safe="")
        return f"../feedback/{folder}/{name}/{name}.html"

    def student(self, student: str) -> str:
        """Return the address of the page of all lessons of a student; empty if there is none."""
        return f"../feedback/{quote(student, safe='')}/index.html" if student in self.indexes else ""

    def queue(self, lesson: str) -> str:
        """Return the address of formgrader's list of a lesson's submissions."""
        name = quote(lesson, safe="")
        return f"{self.formgrader.rstrip('/')}/gradebook/{name}/{name}"


def step(share: float) -> int:
    """Return the number of the colour for a share from 0 to 1."""
    return min(max(round(share * (STEPS - 1)), 0), STEPS - 1)


def lesson_page(lesson: str) -> str:
    """Return the file name of a lesson's page."""
    return f"class-{lesson}.html"


def lesson_name(lesson: str) -> str:
    """Return a lesson's name as a page shows it: "03 attention"."""
    return lesson.replace("_", " ")


def correlation(value: float | None) -> str:
    """Return a correlation with its sign and two digits: "+0.41"; a dash if there is none."""
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")
