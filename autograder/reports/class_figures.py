"""The figures of a class: of each lesson, and of all lessons together.

Every figure is of what has been graded. A submission counts with its share of the points graded so far, from
0 to 1, so that pending points are neither earned nor lost. Where nothing was graded, because a file could not
be opened or nothing was handed in, a submission counts in no figure.

An extra lesson has figures of its own like any other, and counts in no share, median, fall or need for help.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from statistics import correlation, fmean, median, pstdev, quantiles

from autograder.model.report import EXCLUDED, ExerciseReport, NamedMistake, Outcome, Report, State
from autograder.reports.words import BY_HAND, WORDING, Wording, distinct, with_detail, wording

BINS = 10
FEWEST = 10  # answers without which a correlation says nothing
LOW = 0.50  # students below this share of all points are listed if they are also FALL below the median
FALL = 0.20  # by how much results have to fall against the class to be listed
FEWEST_LESSONS = 3  # graded lessons without which nothing is called falling
MOST_PER_STUDENT = 8  # incidents or repairs shown for one student; the rest are counted

# How an answer ended, in the words of the pages, by the name of its colour.
OUTCOMES: Mapping[str, Wording] = {outcome.value: how for outcome, how in WORDING.items()} | {
    "by-hand": BY_HAND
}

Reports = Mapping[str, Report]  # by student
_Given = list[tuple[str, ExerciseReport]]  # the answers to one exercise, by student


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
    if len(others) < FEWEST or len(set(right)) < 2 or pstdev(others) < 1e-9:
        return None
    return correlation([*map(float, right)], others)  # with ones and zeros, Pearson's is the point-biserial


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
class ExerciseFigures:
    """How the class did in one exercise.

    `mean_share` is of the `graded` answers, None without any; low is hard. `discrimination` is the
    point-biserial correlation of full points with the rest of the lesson. The most common known mistake
    comes first; `unexplained` are the students whose failure matches none.
    """

    lesson: str
    id: str
    points: float
    mean_share: float | None
    discrimination: float | None
    graded: int
    pending: int
    outcomes: list[tuple[str, Wording, int]]
    mistakes: list[MistakeCount]
    excluded: list[MistakeCount]  # what answers used although the exercise excludes it
    unexplained: list[str]

    @property
    def is_ranked(self) -> bool:
        """Whether enough answers have been graded to call the exercise hard or easy."""
        return self.mean_share is not None and self.graded >= self.pending


@dataclass(frozen=True)
class Note:
    """An incident or a repair; `exercise` and `kind` may be empty."""

    student: str
    exercise: str
    kind: str
    message: str


@dataclass(frozen=True)
class LessonFigures:
    """The figures of one lesson; `reports` is ordered by student.

    `spread` is of the shares of graded points, from 0 to 1; None if nothing was graded. `by_hand` holds the
    students with an answer to be graded by hand, by exercise and outcome, those of most students first.
    """

    lesson: str
    reports: dict[str, Report]
    graded: int
    spread: Spread | None
    bins: list[Bin]
    exercises: list[ExerciseFigures]
    mistakes: list[MistakeCount]
    excluded: list[MistakeCount]
    incidents: list[Note]
    repairs: list[Note]
    by_hand: dict[tuple[str, Outcome], list[str]]
    not_graded: dict[State, dict[str, str]]  # by state and student, the reason

    @property
    def incident_count(self) -> int:
        """How many incidents there were, shown or not."""
        return sum(len(report.incidents) for report in self.reports.values())

    @property
    def hardest(self) -> list[ExerciseFigures]:
        """The exercises, the hardest first; those that are mostly pending, or not counted, last."""
        return sorted(self.exercises, key=lambda each: (each.mean_share or 0.0) if each.is_ranked else 2.0)

    @property
    def students_by_hand(self) -> int:
        """How many students have an answer that is to be graded by hand."""
        return len({student for students in self.by_hand.values() for student in students})


def figures(lesson: str, reports: Reports) -> LessonFigures:
    """Return the figures of one lesson; `reports` maps student to report and may not be empty."""
    ordered = dict(sorted(reports.items()))
    graded = {student: report for student, report in ordered.items() if report.is_graded}
    shares = [report.share for report in graded.values() if report.share is not None]
    answers: dict[str, _Given] = defaultdict(list)  # by exercise, in lesson order
    not_graded: dict[State, dict[str, str]] = {state: {} for state in State}
    for student, report in ordered.items():
        if not report.is_graded:
            not_graded[report.state][student] = report.reason
            continue
        for each in report.exercises:
            answers[each.id].append((student, each))
    by_hand: dict[tuple[str, Outcome], list[str]] = defaultdict(list)
    for exercise, given in answers.items():
        for student, answer in given:
            if answer.is_pending:
                by_hand[exercise, answer.outcome].append(student)
    exercises = [_exercise(lesson, name, given, graded) for name, given in answers.items()]
    mistakes = [mistake for each in exercises for mistake in each.mistakes]
    return LessonFigures(
        lesson=lesson,
        reports=ordered,
        graded=len(graded),
        spread=spread(shares),
        bins=bins(shares),
        exercises=exercises,
        mistakes=sorted(mistakes, key=lambda mistake: -len(mistake.students)),
        excluded=[each for exercise in exercises for each in exercise.excluded],
        incidents=_notes(
            Note(student, each.exercise or "", each.kind, with_detail(each))
            for student, report in ordered.items()
            for each in report.incidents
        ),
        repairs=_notes(
            Note(student, "", "", repair) for student, report in ordered.items() for repair in report.repairs
        ),
        by_hand=dict(sorted(by_hand.items(), key=lambda item: -len(item[1]))),
        not_graded={state: students for state, students in not_graded.items() if students},
    )


def _exercise(lesson: str, exercise_id: str, given: _Given, reports: Reports) -> ExerciseFigures:
    points = max(each.points for _, each in given)
    graded = [each.score / points for _, each in given if each.score is not None and points]
    counts = Counter(wording(each) for _, each in given)
    right, others = [], []
    for student, answer in given:
        rest = reports[student].graded_points - answer.points
        if answer.score is not None and points and rest > 0:
            right.append(answer.score >= answer.points)
            others.append((reports[student].score - answer.score) / rest)
    named: dict[str, NamedMistake] = {}
    made_by: dict[str, list[str]] = defaultdict(list)
    for student, answer in given:
        for mistake in distinct(answer.known_mistakes):
            named.setdefault(mistake.id, mistake)
            made_by[mistake.id].append(student)
    counted = [
        MistakeCount(exercise_id, key, one.title, one.hint, made_by[key], len(made_by[key]) / len(reports))
        for key, one in named.items()
    ]
    return ExerciseFigures(
        lesson=lesson,
        id=exercise_id,
        points=points,
        mean_share=fmean(graded) if graded else None,
        discrimination=point_biserial(right, others),
        graded=len(graded),
        pending=sum(each.is_pending for _, each in given),
        outcomes=[(name, how, counts[how]) for name, how in OUTCOMES.items() if counts[how]],
        mistakes=sorted(
            (each for each in counted if each.id not in EXCLUDED), key=lambda mistake: -len(mistake.students)
        ),
        excluded=[each for each in counted if each.id in EXCLUDED],
        unexplained=[
            student for student, each in given if each.outcome is Outcome.FAILED and not each.known_mistakes
        ],
    )


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
    extra: Set[str] = frozenset()

    @property
    def counted(self) -> dict[str, Report]:
        """The reports of the lessons that are not extra."""
        return {name: report for name, report in self.reports.items() if name not in self.extra}

    @property
    def share(self) -> float | None:
        """The share of all points graded so far, over the lessons that are not extra; None without any."""
        graded = [each for each in self.counted.values() if each.is_graded]
        points = sum(each.graded_points for each in graded)
        return sum(each.score for each in graded) / points if points > 0 else None


@dataclass(frozen=True)
class Need:
    """A student who needs help, and the lessons that say so; `fall` is a share, 0 if there is none.

    `is_low` says that the share of all points is low, and far below the class's median.
    """

    row: StudentRow
    zero: list[str]
    missing: dict[State, list[str]]
    fall: float
    is_low: bool = False

    @property
    def count(self) -> int:
        """The lessons without points."""
        return len(self.zero) + sum(map(len, self.missing.values()))


@dataclass(frozen=True)
class CourseFigures:
    """The figures of all lessons; `needs` begins with the most urgent, `exercises` with the hardest.

    `graded` and `not_opened` count submissions, `by_hand` answers. `incidents` have their lesson's name
    before them. `median` is of what students earned of their graded points over all lessons but the `extra`
    ones.
    """

    lessons: list[LessonFigures]
    extra: Set[str]
    rows: list[StudentRow]
    needs: list[Need]
    exercises: list[ExerciseFigures]
    graded: int
    not_opened: int
    by_hand: int
    incidents: list[tuple[str, Note]]
    incident_count: int
    median: float | None

    @property
    def queues(self) -> list[tuple[str, str, Outcome, int]]:
        """Lesson, exercise, outcome and number of the answers to be graded by hand, the most first."""
        found = [
            (one.lesson, exercise, outcome, len(students))
            for one in self.lessons
            for (exercise, outcome), students in one.by_hand.items()
        ]
        return sorted(found, key=lambda queue: -queue[3])


def course_figures(
    lesson_reports: Mapping[str, Mapping[str, Report]], extra: Set[str] = frozenset()
) -> CourseFigures:
    """Return the figures of a course; a lesson without reports is left out."""
    lessons = [figures(name, each) for name, each in sorted(lesson_reports.items()) if each]
    students = sorted({student for one in lessons for student in one.reports})
    rows = [
        StudentRow(
            student, {one.lesson: one.reports[student] for one in lessons if student in one.reports}, extra
        )
        for student in students
    ]
    shares = [row.share for row in rows if row.share is not None]
    ranked = [each for one in lessons for each in one.exercises if each.is_ranked]
    damaged = (State.UNREADABLE, State.WRONG_FILE)
    return CourseFigures(
        lessons=lessons,
        extra=extra,
        rows=rows,
        needs=_needs(lessons, rows, median(shares) if shares else 0.0),
        exercises=sorted(ranked, key=lambda each: each.mean_share or 0.0),
        graded=sum(each.graded for each in lessons),
        not_opened=sum(len(each.not_graded.get(state, {})) for each in lessons for state in damaged),
        by_hand=sum(len(students) for each in lessons for students in each.by_hand.values()),
        incidents=[(each.lesson, note) for each in lessons for note in each.incidents],
        incident_count=sum(each.incident_count for each in lessons),
        median=median(shares) if shares else None,
    )


def _needs(lessons: list[LessonFigures], rows: list[StudentRow], middle: float) -> list[Need]:
    """Return the students to look after, those with the most lessons without points first.

    `middle` is the median of the shares of all points.

    While less than half of the class has handed in a lesson, its absences say nothing yet.
    """
    medians = {one.lesson: one.spread.median for one in lessons if one.spread}
    begun = {name for name, given in _handed_in(rows).items() if 2 * given < len(rows)}
    needs = []
    for row in rows:
        zero = [name for name, report in row.counted.items() if report.share == 0]
        missing: dict[State, list[str]] = defaultdict(list)
        for name, report in row.counted.items():
            if not (report.is_graded or (report.state is State.ABSENT and name in begun)):
                missing[report.state].append(name)
        fall = _fall(row, medians)
        is_low = row.share is not None and row.share < LOW and middle - row.share >= FALL
        if zero or missing or fall or is_low:
            needs.append(Need(row, zero, missing, fall, is_low))
    return sorted(needs, key=lambda need: (-need.count, not need.is_low, -need.fall))


def _handed_in(rows: list[StudentRow]) -> Counter[str]:
    return Counter(
        name for row in rows for name, report in row.counted.items() if report.state is not State.ABSENT
    )


def _fall(row: StudentRow, medians: Mapping[str, float]) -> float:
    """Return by how much a student's last two lessons lie below the earlier ones; 0 if by little.

    Each lesson counts by its distance to the class's median, so that a hard lesson alone is no fall.
    """
    distances = [each.share - medians[name] for name, each in row.counted.items() if each.share is not None]
    if len(distances) < FEWEST_LESSONS:
        return 0.0
    fall = fmean(distances[:-2]) - fmean(distances[-2:])
    return fall if fall >= FALL - 1e-9 else 0.0
