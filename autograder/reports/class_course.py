"""The figures of a course: students by lessons, the trend, hard exercises, and who needs help."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from autograder.model.report import Report, State
from autograder.reports.class_figures import ExerciseFigures, LessonFigures, MistakeCount, Note, figures

FALL = 0.20  # by how much results have to fall against the class to be listed
FEWEST_LESSONS = 3  # graded lessons without which nothing is called falling


@dataclass(frozen=True)
class StudentRow:
    """One student's lessons. A lesson that is not in `reports` has not been graded yet."""

    student: str
    reports: dict[str, Report]

    @property
    def share(self) -> float | None:
        """The share of all points graded so far, over all lessons; None without any."""
        points = sum(each.graded_points for each in self.reports.values())
        return sum(each.score for each in self._graded) / points if points > 0 else None

    @property
    def pending(self) -> float:
        """The points of all lessons that are still to be graded by hand."""
        return sum(each.pending for each in self._graded)

    @property
    def _graded(self) -> list[Report]:
        return [each for each in self.reports.values() if each.is_graded]


@dataclass(frozen=True)
class Need:
    """A student who needs help, and the lessons that say so; `fall` is a share, 0 if there is none."""

    row: StudentRow
    zero: list[str]
    missing: dict[State, list[str]]
    fall: float

    @property
    def lost(self) -> int:
        """How many lessons brought no points."""
        return len(self.zero) + sum(map(len, self.missing.values()))


@dataclass(frozen=True)
class RankedExercise:
    """An exercise with its lesson and its most common known mistake."""

    lesson: str
    figures: ExerciseFigures
    mistakes: list[MistakeCount]


@dataclass(frozen=True)
class CourseFigures:
    """The figures of all lessons; `needs` begins with the most urgent, `exercises` with the hardest."""

    lessons: list[LessonFigures]
    rows: list[StudentRow]
    needs: list[Need]
    exercises: list[RankedExercise]

    @property
    def graded(self) -> int:
        """How many submissions were graded."""
        return sum(each.graded for each in self.lessons)

    @property
    def not_opened(self) -> int:
        """How many submissions could not be opened, or are of something else."""
        states = (State.UNREADABLE, State.WRONG_FILE)
        return sum(len(each.not_graded.get(state, {})) for each in self.lessons for state in states)

    @property
    def by_hand(self) -> int:
        """How many answers are to be graded by hand."""
        return sum(len(queue.students) for each in self.lessons for queue in each.by_hand)

    @property
    def incidents(self) -> list[tuple[str, Note]]:
        """The incidents of all lessons, each with its lesson."""
        return [(each.lesson, note) for each in self.lessons for note in each.incidents]

    @property
    def median(self) -> float | None:
        """The median of what students earned of their graded points over all lessons."""
        shares = [row.share for row in self.rows if row.share is not None]
        return median(shares) if shares else None


def course_figures(lesson_reports: Mapping[str, Mapping[str, Report]]) -> CourseFigures:
    """Return the figures of a course; a lesson without reports is left out."""
    lessons = [figures(name, each) for name, each in sorted(lesson_reports.items()) if each]
    students = sorted({student for one in lessons for student in one.reports})
    rows = [
        StudentRow(student, {one.lesson: one.reports[student] for one in lessons if student in one.reports})
        for student in students
    ]
    return CourseFigures(lessons, rows, _needs(lessons, rows), _ranked(lessons))


def _needs(lessons: list[LessonFigures], rows: list[StudentRow]) -> list[Need]:
    """Return the students to look after, those with the most lessons lost first."""
    medians = {one.lesson: one.spread.median for one in lessons if one.spread}
    found = [_need(row, medians) for row in rows]
    listed = [need for need in found if need.zero or need.missing or need.fall]
    return sorted(listed, key=lambda need: (-need.lost, -need.fall))


def _need(row: StudentRow, medians: Mapping[str, float]) -> Need:
    return Need(
        row=row,
        zero=[name for name, each in row.reports.items() if each.share == 0],
        missing=_missing(row),
        fall=_fall(row, medians),
    )


def _missing(row: StudentRow) -> dict[State, list[str]]:
    """Return the lessons of which nothing was graded, by the reason."""
    found: dict[State, list[str]] = {}
    for name, each in row.reports.items():
        if not each.is_graded:
            found.setdefault(each.state, []).append(name)
    return found


def _fall(row: StudentRow, medians: Mapping[str, float]) -> float:
    """Return by how much a student's last two lessons lie below the earlier ones; 0 if by little.

    Each lesson counts by its distance to the class's median, so that a hard lesson alone is no fall.
    """
    distances = [each.share - medians[name] for name, each in row.reports.items() if each.share is not None]
    if len(distances) < FEWEST_LESSONS:
        return 0.0
    fall = fmean(distances[:-2]) - fmean(distances[-2:])
    return fall if fall >= FALL - 1e-9 else 0.0


def _ranked(lessons: list[LessonFigures]) -> list[RankedExercise]:
    """Return the exercises of all lessons, the hardest first; without those that are mostly pending."""
    found = [
        RankedExercise(one.lesson, each, [m for m in one.mistakes if m.exercise == each.id])
        for one in lessons
        for each in one.exercises
        if each.is_ranked
    ]
    return sorted(found, key=lambda each: each.figures.mean_share or 0.0)
