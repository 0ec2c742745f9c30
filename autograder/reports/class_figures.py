"""The figures of a class: of each lesson, and of all lessons together.

Every figure is of what has been graded. A submission counts with its share of the points graded so far, from
0 to 1, so that pending points are neither earned nor lost. Where nothing was graded, because a file could not
be opened or nothing was handed in, a submission counts in no figure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from operator import attrgetter
from statistics import fmean, median, pstdev, quantiles

from autograder.model.report import ExerciseReport, NamedMistake, Outcome, Report, State
from autograder.reports.words import distinct, with_detail

BINS = 10
FEWEST = 10  # answers without which a correlation says nothing
FALL = 0.20  # by how much results have to fall against the class to be listed
FEWEST_LESSONS = 3  # graded lessons without which nothing is called falling
MOST_PER_STUDENT = 8  # incidents or repairs shown for one student; the rest are counted

Reports = Mapping[str, Report]  # by student
_Answer = tuple[str, ExerciseReport]  # student and report
_Answers = Mapping[str, list[_Answer]]  # by exercise, in lesson order


@dataclass(frozen=True)
class Bin:
    """One bar of a distribution: from `low` to `high` percent, `height` of the tallest bar."""

    low: int
    high: int
    count: int
    height: float


@dataclass(frozen=True)
class Spread:
    """The middle of some shares, and the quarters on both sides of it."""

    count: int
    mean: float
    low: float
    median: float
    high: float


def spread(shares: Sequence[float]) -> Spread | None:
    """Return mean, median and quartiles; None without shares.

    Quartiles are interpolated between the two nearest values (`statistics.quantiles`, inclusive).
    """
    if not shares:
        return None
    values = [*shares, *shares] if len(shares) == 1 else list(shares)
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return Spread(len(shares), fmean(shares), low, middle, high)


def bins(shares: Sequence[float]) -> list[Bin]:
    """Count shares in equal bins; the last one includes full scores."""
    # 1e-9 puts 0.6 / 0.2, which is just below 3 in floating point, into the bin that starts at 0.6
    counts = Counter(min(max(int(share * BINS + 1e-9), 0), BINS - 1) for share in shares)
    tallest, width = max(counts.values(), default=1), 100 // BINS
    return [Bin(n * width, (n + 1) * width, counts[n], counts[n] / tallest) for n in range(BINS)]


def point_biserial(right: Sequence[bool], others: Sequence[float]) -> float | None:
    """Return the correlation of a right answer with the rest of the lesson, from -1 to 1.

    With M1 and M0 the means of `others` among right and wrong answers, p and q their shares, and s
    the standard deviation of all `others` (divided by n):

        r = (M1 - M0) / s * sqrt(p q)

    `others` leave out the exercise itself, which would otherwise correlate with its own points.
    Returns None for fewer than 10 answers, and where all are right, all are wrong, or `others` are
    all the same.

    Sources: F. M. Lord and M. R. Novick, Statistical Theories of Mental Test Scores (1968);
    S. Henrysson, Correction of item-total correlations in item analysis, Psychometrika 28 (1963).
    """
    ones = [other for is_right, other in zip(right, others, strict=True) if is_right]
    zeros = [other for is_right, other in zip(right, others, strict=True) if not is_right]
    deviation = pstdev(others) if others else 0.0
    if len(others) < FEWEST or not ones or not zeros or deviation < 1e-9:
        return None
    share = len(ones) / len(others)
    return (fmean(ones) - fmean(zeros)) / deviation * sqrt(share * (1 - share))


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
        return sorted(self.exercises, key=lambda each: (each.mean_share or 0.0) if each.is_ranked else 2.0)

    @property
    def students_by_hand(self) -> int:
        """How many students have an answer that is to be graded by hand."""
        return len({student for queue in self.by_hand for student in queue.students})


def figures(lesson: str, reports: Reports) -> LessonFigures:
    """Return the figures of one lesson; `reports` maps student to report and may not be empty."""
    ordered = dict(sorted(reports.items()))
    graded = {student: report for student, report in ordered.items() if report.is_graded}
    shares = [report.share for report in graded.values() if report.share is not None]
    answers: dict[str, list[_Answer]] = {name: [] for name in exercise_ids(graded.values())}
    for student, report in graded.items():
        for each in report.exercises:
            answers[each.id].append((student, each))
    not_graded = {
        state: {each: report.reason for each, report in ordered.items() if report.state is state}
        for state in State
        if state is not State.GRADED
    }
    return LessonFigures(
        lesson=lesson,
        reports=ordered,
        graded=len(graded),
        spread=spread(shares),
        bins=bins(shares),
        exercises=[_exercise(name, given, graded) for name, given in answers.items()],
        mistakes=_mistakes(answers, len(graded)),
        incidents=_notes(
            Note(student, each.exercise or "", each.kind, with_detail(each))
            for student, report in ordered.items()
            for each in report.incidents
        ),
        repairs=_notes(
            Note(student, "", "", repair) for student, report in ordered.items() for repair in report.repairs
        ),
        by_hand=_by_hand(answers),
        not_graded={state: students for state, students in not_graded.items() if students},
    )


def exercise_ids(reports: Iterable[Report]) -> list[str]:
    """Return the ids of all exercises that occur, in lesson order."""
    return list(dict.fromkeys(each.id for report in reports for each in report.exercises))


def _exercise(exercise_id: str, given: list[_Answer], reports: Reports) -> ExerciseFigures:
    """Return how the class did in one exercise, and whose failure matches no known mistake."""
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


def _mistakes(answers: _Answers, class_size: int) -> list[MistakeCount]:
    """Return the known mistakes, the most common first, then in lesson order."""
    named: dict[tuple[str, str], NamedMistake] = {}
    students: dict[tuple[str, str], list[str]] = {}
    for exercise, given in answers.items():
        for student, answer in given:
            for mistake in distinct(answer.misconceptions):
                named.setdefault((exercise, mistake.id), mistake)
                students.setdefault((exercise, mistake.id), []).append(student)
    counts = [
        MistakeCount(*key, one.title, one.hint, students[key], len(students[key]) / class_size)
        for key, one in named.items()
    ]
    return sorted(counts, key=lambda mistake: -len(mistake.students))


def _by_hand(answers: _Answers) -> list[ManualQueue]:
    queues: dict[tuple[str, Outcome], list[str]] = {}
    for exercise, given in answers.items():
        for student, answer in given:
            if answer.is_pending:
                queues.setdefault((exercise, answer.outcome), []).append(student)
    return [ManualQueue(*key, students) for key, students in queues.items()]


def _notes(found: Iterable[Note]) -> list[Note]:
    """Return each student's first notes; a last one says how many more there were."""
    notes: list[Note] = []
    for student, group in groupby(found, key=attrgetter("student")):
        of_student = list(group)
        notes += of_student[:MOST_PER_STUDENT]
        if (rest := len(of_student) - MOST_PER_STUDENT) > 0:
            notes.append(Note(student, "", "", f"and {rest} more"))
    return notes


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
    exercises = [
        RankedExercise(one.lesson, each, [m for m in one.mistakes if m.exercise == each.id])
        for one in lessons
        for each in one.exercises
        if each.is_ranked
    ]
    hardest = sorted(exercises, key=lambda each: each.figures.mean_share or 0.0)
    return CourseFigures(lessons, rows, _needs(lessons, rows), hardest)


def _needs(lessons: list[LessonFigures], rows: list[StudentRow]) -> list[Need]:
    """Return the students to look after, those with the most lessons lost first."""
    medians = {one.lesson: one.spread.median for one in lessons if one.spread}
    needs = []
    for row in rows:
        missing: dict[State, list[str]] = {}
        for name, report in row.reports.items():
            if not report.is_graded:
                missing.setdefault(report.state, []).append(name)
        zero = [name for name, report in row.reports.items() if report.share == 0]
        needs.append(Need(row, zero, missing, _fall(row, medians)))
    listed = [need for need in needs if need.zero or need.missing or need.fall]
    return sorted(listed, key=lambda need: (-need.lost, -need.fall))


def _fall(row: StudentRow, medians: Mapping[str, float]) -> float:
    """Return by how much a student's last two lessons lie below the earlier ones; 0 if by little.

    Each lesson counts by its distance to the class's median, so that a hard lesson alone is no fall.
    """
    distances = [each.share - medians[name] for name, each in row.reports.items() if each.share is not None]
    if len(distances) < FEWEST_LESSONS:
        return 0.0
    fall = fmean(distances[:-2]) - fmean(distances[-2:])
    return fall if fall >= FALL - 1e-9 else 0.0
