"""The figures of a class, lesson by lesson: the numbers behind the class page.

Every figure is of what has been graded. A submission counts with its share of the points graded so far,
so that points which are pending are neither earned nor lost. Where nothing was graded, because a file
could not be opened or nothing was handed in, a submission counts in no figure.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from urllib.parse import quote

from autograder.model.report import ExerciseReport, NamedMistake, Outcome, Report, State
from autograder.reports.words import distinct, with_detail

BINS = 10
MOST_PER_STUDENT = 8  # incidents or repairs shown for one student; the rest are counted

Reports = Mapping[str, Report]  # by student


@dataclass(frozen=True)
class Bin:
    """One bar of the distribution: from `low` to `high` percent, `height` of the tallest bar."""

    low: int
    high: int
    count: int
    height: float


@dataclass(frozen=True)
class Difficulty:
    """How the class did in one exercise. `mean_share` is of the `graded` answers; None without any."""

    id: str
    points: float
    mean_share: float | None
    graded: int
    pending: int
    outcomes: list[tuple[Outcome, int]]
    unexplained: list[str]


@dataclass(frozen=True)
class MistakeCount:
    """A known mistake in one exercise, and the students who made it."""

    exercise: str
    title: str
    hint: str
    students: list[str]
    share: float


@dataclass(frozen=True)
class Note:
    """An incident or a repair; `exercise` and `kind` may be empty."""

    student: str
    exercise: str
    kind: str
    message: str


@dataclass(frozen=True)
class ManualQueue:
    """The students whose answers to one exercise are to be graded by hand, and why."""

    exercise: str
    outcome: Outcome
    students: list[str]


@dataclass(frozen=True)
class LessonFigures:
    """The figures of one lesson; `reports` is ordered by student.

    `mean` and `median` are of the shares of graded points, from 0 to 1; None if there are none.
    """

    lesson: str
    reports: dict[str, Report]
    graded: int
    mean: float | None
    median: float | None
    bins: list[Bin]
    exercises: list[Difficulty]
    mistakes: list[MistakeCount]
    incidents: list[Note]
    repairs: list[Note]
    by_hand: list[ManualQueue]
    not_graded: dict[State, dict[str, str]]  # by state and student, the reason

    def feedback(self, student: str) -> str:
        """Return the address of a student's feedback page, relative to reports/class.html."""
        folder, lesson = quote(student, safe=""), quote(self.lesson, safe="")
        return f"../feedback/{folder}/{lesson}/{lesson}.html"

    def answer(self, student: str, exercise_id: str) -> ExerciseReport | None:
        """Return one student's exercise, or None if the report has none of that id."""
        exercises = self.reports[student].exercises
        return next((each for each in exercises if each.id == exercise_id), None)

    def has_feedback(self, student: str) -> bool:
        """Return whether the student has a feedback page: those who handed in nothing may not."""
        return self.reports[student].state is not State.ABSENT

    @property
    def students_by_hand(self) -> int:
        """How many students have an answer that is to be graded by hand."""
        return len({student for queue in self.by_hand for student in queue.students})


def figures(lesson: str, reports: Reports) -> LessonFigures:
    """Return the figures of one lesson; `reports` maps student to report and may not be empty."""
    ordered = dict(sorted(reports.items()))
    graded = {student: report for student, report in ordered.items() if report.is_graded}
    shares = [report.share for report in graded.values() if report.share is not None]
    answers = list(_answers(graded))
    return LessonFigures(
        lesson=lesson,
        reports=ordered,
        graded=len(graded),
        mean=fmean(shares) if shares else None,
        median=median(shares) if shares else None,
        bins=_bins(shares),
        exercises=[_difficulty(each, answers) for each in exercise_ids(graded.values())],
        mistakes=_mistakes(answers, len(graded)),
        incidents=_notes(ordered, _incidents),
        repairs=_notes(ordered, _repairs),
        by_hand=_by_hand(answers),
        not_graded=_not_graded(ordered),
    )


def _not_graded(reports: Reports) -> dict[State, dict[str, str]]:
    """Return the students of whom nothing was graded, and why, by state."""
    found: dict[State, dict[str, str]] = {}
    for state in State:
        here = {each: report.reason for each, report in reports.items() if report.state is state}
        if here and state is not State.GRADED:
            found[state] = here
    return found


def exercise_ids(reports: Iterable[Report]) -> list[str]:
    """Return the ids of all exercises that occur, in lesson order."""
    return list(dict.fromkeys(each.id for report in reports for each in report.exercises))


def counted_ids(reports: Iterable[Report]) -> list[str]:
    """Return the ids of all exercises that have points, in lesson order."""
    found = (each for report in reports for each in report.exercises if not each.is_stretch)
    return list(dict.fromkeys(each.id for each in found))


_Answer = tuple[str, ExerciseReport]  # student and report


def _answers(reports: Reports) -> Iterator[_Answer]:
    """Yield every exercise of every student, exercise by exercise in lesson order."""
    for exercise_id in exercise_ids(reports.values()):
        for student, report in reports.items():
            yield from ((student, each) for each in report.exercises if each.id == exercise_id)


def _bins(shares: list[float]) -> list[Bin]:
    """Count shares in equal bins; the last one includes full scores."""
    # 1e-9 puts 0.6 / 0.2, which is just below 3 in floating point, into the bin that starts at 0.6
    counts = Counter(min(max(int(share * BINS + 1e-9), 0), BINS - 1) for share in shares)
    tallest, width = max(counts.values(), default=1), 100 // BINS
    return [
        Bin(index * width, (index + 1) * width, counts[index], counts[index] / tallest)
        for index in range(BINS)
    ]


def _difficulty(exercise_id: str, answers: list[_Answer]) -> Difficulty:
    """Return how the class did in one exercise, and whose failure matches no known mistake."""
    given = [(student, each) for student, each in answers if each.id == exercise_id]
    points = max(each.points for _, each in given)
    graded = [each.score / points for _, each in given if each.score is not None and points]
    counts = Counter(each.outcome for _, each in given)
    return Difficulty(
        id=exercise_id,
        points=points,
        mean_share=fmean(graded) if graded else None,
        graded=len(graded),
        pending=sum(each.is_pending for _, each in given),
        outcomes=[(outcome, counts[outcome]) for outcome in Outcome if counts[outcome]],
        unexplained=[
            student
            for student, each in given
            if each.outcome is Outcome.FAILED and not each.misconceptions
        ],
    )


def _mistakes(answers: list[_Answer], class_size: int) -> list[MistakeCount]:
    """Return the known mistakes, the most common first, then in lesson order."""
    named: dict[tuple[str, str], NamedMistake] = {}
    students: dict[tuple[str, str], list[str]] = {}
    for student, answer in answers:
        for mistake in distinct(answer.misconceptions):
            named.setdefault((answer.id, mistake.id), mistake)
            students.setdefault((answer.id, mistake.id), []).append(student)
    counts = [
        MistakeCount(key[0], one.title, one.hint, students[key], len(students[key]) / class_size)
        for key, one in named.items()
    ]
    return sorted(counts, key=lambda mistake: -len(mistake.students))


def _by_hand(answers: list[_Answer]) -> list[ManualQueue]:
    """Return what is to be graded by hand, exercise by exercise."""
    queues: dict[tuple[str, Outcome], list[str]] = {}
    for student, answer in answers:
        if answer.is_pending:
            queues.setdefault((answer.id, answer.outcome), []).append(student)
    return [ManualQueue(*key, students) for key, students in queues.items()]


def _notes(reports: Reports, of_student: Callable[[str, Report], list[Note]]) -> list[Note]:
    """Return each student's first notes; a last one says how many more there were."""
    notes: list[Note] = []
    for student, report in reports.items():
        found = of_student(student, report)
        notes += found[:MOST_PER_STUDENT]
        if (rest := len(found) - MOST_PER_STUDENT) > 0:
            notes.append(Note(student, "", "", f"and {rest} more"))
    return notes


def _incidents(student: str, report: Report) -> list[Note]:
    return [Note(student, it.exercise or "", it.kind, with_detail(it)) for it in report.incidents]


def _repairs(student: str, report: Report) -> list[Note]:
    return [Note(student, "", "", repair) for repair in report.repairs]
