"""A student's index: every lesson and attempt, with what changed from one attempt to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from urllib.parse import quote

from autograder.model.course import Course
from autograder.model.report import ExerciseReport, Report
from autograder.reports.feedback_words import standing
from autograder.reports.history import Step, steps
from autograder.reports.student_pages import render_page
from autograder.reports.titles import Titles, titles
from autograder.reports.words import NO_SANDBOX, report_total, total
from autograder.storage.attempts import Attempt
from autograder.storage.gradebook import LessonGrades


@dataclass(frozen=True)
class LessonView:
    """One lesson of a student: its attempts, and the newest report with the gradebook's scores."""

    name: str
    titles: Titles
    steps: Sequence[Step]
    report: Report
    late_penalty: float

    @property
    def title(self) -> str:
        """What the lesson is called."""
        return self.titles.lesson

    @property
    def page(self) -> str:
        """The address of its feedback page, relative to the index."""
        lesson = quote(self.name, safe="")
        return f"{lesson}/{lesson}.html"

    @property
    def total(self) -> str:
        """The newest score in words."""
        if not self.report.is_graded:
            return report_total(self.report)
        earned = self.report.score - self.late_penalty
        return total(earned, self.report.max_score, self.report.pending)

    @property
    def to_fix(self) -> Sequence[ExerciseReport]:
        """The exercises that need work."""
        return standing(self.report).to_fix if self.report.is_graded else []

    def total_of(self, step: Step) -> str:
        """Return what an attempt scored by itself."""
        return report_total(step.attempt.report)


def student_index(
    course: Course,
    student: str,
    attempts: Mapping[str, Sequence[Attempt]],
    grades: Mapping[str, LessonGrades],
) -> str:
    """Return the page as HTML; `attempts` are those of each lesson, oldest first."""
    lessons = [
        _lesson(course, lesson, steps(made), grades.get(lesson, LessonGrades()))
        for lesson, made in sorted(attempts.items())
    ]
    sandboxed = all(made[-1].sandboxed for made in attempts.values())
    return render_page(
        "student_index.html.j2",
        student=student,
        lessons=lessons,
        total=_sum(lessons),
        no_sandbox="" if sandboxed else NO_SANDBOX,
    )


def _lesson(course: Course, lesson: str, made: Sequence[Step], grades: LessonGrades) -> LessonView:
    newest = made[-1].attempt.report
    return LessonView(
        lesson, titles(course, lesson), made, newest.with_scores(grades.scores), grades.late_penalty
    )


def _sum(lessons: Sequence[LessonView]) -> str:
    """Return the total of all graded lessons in words."""
    graded = [each for each in lessons if each.report.is_graded]
    if not graded:
        return "Nothing graded"
    sums = (
        (each.report.score - each.late_penalty, each.report.max_score, each.report.pending) for each in graded
    )
    return total(*reduce(lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] + b[2]), sums))
