"""The figures of a class, lesson by lesson: the numbers behind the class page.

Every figure is of what has been graded. A submission counts with its share of the points graded so far,
so that points which are pending are neither earned nor lost. Where nothing was graded, because a file
could not be opened or nothing was handed in, a submission counts in no figure.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from autograder.model.report import ExerciseReport, NamedMistake, Outcome, Report, State
from autograder.reports.class_statistics import Bin, Spread, bins, point_biserial, spread
from autograder.reports.words import distinct, with_detail

MOST_PER_STUDENT = 8  # incidents or repairs shown for one student; the rest are counted

Reports = Mapping[str, Report]  # by student


@dataclass(frozen=True)
class ExerciseFigures:
    """How the class did in one exercise.

    `mean_share` is of the `graded` answers, None without any; low is hard. `discrimination` is the
    point-biserial correlation of full points with the rest of the lesson.
    """

    id: str
    points: float
    mean_share: float | None
    discrimination: float | None
    graded: int
    pending: int
    outcomes: list[tuple[Outcome, int]]
    unexplained: list[str]

    @property
    def is_ranked(self) -> bool:
        """Whether enough answers have been graded to call the exercise hard or easy."""
        return self.mean_share is not None and self.graded >= self.pending


@dataclass(frozen=True)
class MistakeCount:
    """A known mistake in one exercise, and the students who made it."""

    exercise: str
    id: str
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

    `spread` is of the shares of graded points, from 0 to 1; None if nothing was graded.
    """

    lesson: str
    reports: dict[str, Report]
    graded: int
    spread: Spread | None
    bins: list[Bin]
    exercises: list[ExerciseFigures]
    mistakes: list[MistakeCount]
    incidents: list[Note]
    repairs: list[Note]
    by_hand: list[ManualQueue]
    not_graded: dict[State, dict[str, str]]  # by state and student, the reason

    def answer(self, student: str, exercise_id: str) -> ExerciseReport | None:
        """Return one student's exercise, or None if the report has none of that id."""
        exercises = self.reports[student].exercises
        return next((each for each in exercises if each.id == exercise_id), None)

    @property
    def hardest(self) -> list[ExerciseFigures]:
        """The exercises, the hardest first; those that are mostly pending, or not counted, last."""
        return sorted(self.exercises, key=_difficulty)

    @property
    def students_by_hand(self) -> int:
        """How many students have an answer that is to be graded by hand."""
        return len({student for queue in self.by_hand for student in queue.students})


def _difficulty(exercise: ExerciseFigures) -> float:
    """Return the key that puts hard exercises first, and those without a mean last."""
    return exercise.mean_share if exercise.mean_share is not None and exercise.is_ranked else 2.0


def figures(lesson: str, reports: Reports) -> LessonFigures:
    """Return the figures of one lesson; `reports` maps student to report and may not be empty."""
    ordered = dict(sorted(reports.items()))
    graded = {student: report for student, report in ordered.items() if report.is_graded}
    shares = [report.share for report in graded.values() if report.share is not None]
    answers = list(_answers(graded))
    ids = exercise_ids(graded.values())
    return LessonFigures(
        lesson=lesson,
        reports=ordered,
        graded=len(graded),
        spread=spread(shares),
        bins=bins(shares),
        exercises=[_exercise(each, answers, graded) for each in ids],
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


def _exercise(exercise_id: str, answers: list[_Answer], reports: Reports) -> ExerciseFigures:
    """Return how the class did in one exercise, and whose failure matches no known mistake."""
    given = [(student, each) for student, each in answers if each.id == exercise_id]
    points = max(each.points for _, each in given)
    graded = [each.score / points for _, each in given if each.score is not None and points]
    counts = Counter(each.outcome for _, each in given)
    return ExerciseFigures(
        id=exercise_id,
        points=points,
        mean_share=fmean(graded) if graded else None,
        discrimination=_discrimination(given, reports) if points else None,
        graded=len(graded),
        pending=sum(each.is_pending for _, each in given),
        outcomes=[(outcome, counts[outcome]) for outcome in Outcome if counts[outcome]],
        unexplained=[
            student for student, each in given if each.outcome is Outcome.FAILED and not each.misconceptions
        ],
    )


def _discrimination(given: list[_Answer], reports: Reports) -> float | None:
    """Return whether those who solve an exercise do well in the others; see `point_biserial`."""
    right, others = [], []
    for student, answer in given:
        points = reports[student].graded_points - answer.points
        if answer.score is not None and points > 0:
            right.append(answer.score >= answer.points)
            others.append((reports[student].score - answer.score) / points)
    return point_biserial(right, others)


def _mistakes(answers: list[_Answer], class_size: int) -> list[MistakeCount]:
    """Return the known mistakes, the most common first, then in lesson order."""
    named: dict[tuple[str, str], NamedMistake] = {}
    students: dict[tuple[str, str], list[str]] = {}
    for student, answer in answers:
        for mistake in distinct(answer.misconceptions):
            named.setdefault((answer.id, mistake.id), mistake)
            students.setdefault((answer.id, mistake.id), []).append(student)
    counts = [
        MistakeCount(*key, one.title, one.hint, students[key], len(students[key]) / class_size)
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
