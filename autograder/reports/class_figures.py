"""What a class's reports add up to, lesson by lesson: the numbers behind the class page."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from urllib.parse import quote

from autograder.reports.words import distinct
from autograder.results import ExerciseReport, NamedMistake, Outcome, Report

BINS = 10
# A flood of incidents is one student's doing: the first few say as much as all of them.
MOST_PER_STUDENT = 8


@dataclass(frozen=True)
class Bin:
    """One bar of the distribution: from `low` to `high` points, `share` of the tallest bar."""

    low: float
    high: float
    count: int
    share: float


@dataclass(frozen=True)
class Difficulty:
    """One exercise over the class. `mean_share` is None while no score is settled."""

    id: str
    points: float
    mean_share: float | None
    outcomes: list[tuple[Outcome, int]]
    unexplained: list[str]


@dataclass(frozen=True)
class Mistake:
    """A named mistake and who made it."""

    exercise: str
    title: str
    hint: str
    students: list[str]
    share: float


@dataclass(frozen=True)
class Remark:
    """An incident or a repair; `place` is the exercise, or empty."""

    student: str
    place: str
    kind: str
    message: str


@dataclass(frozen=True)
class Waiting:
    """An exercise that a person has yet to mark, and for whom."""

    exercise: str
    outcome: Outcome
    students: list[str]


@dataclass(frozen=True)
class LessonFigures:
    """One lesson over the class; `reports` is ordered by student."""

    lesson: str
    reports: dict[str, Report]
    max_score: float
    mean: float
    median: float
    bins: list[Bin]
    exercises: list[Difficulty]
    mistakes: list[Mistake]
    incidents: list[Remark]
    repairs: list[Remark]
    waiting: list[Waiting]

    def feedback(self, student: str) -> str:
        """Return the path of a student's feedback page, as seen from reports/class.html."""
        folder, lesson = quote(student, safe=""), quote(self.lesson, safe="")
        return f"../feedback/{folder}/{lesson}/{lesson}.html"

    def answer(self, student: str, exercise_id: str) -> ExerciseReport | None:
        """Return one student's exercise; None where their report has none of that id."""
        exercises = self.reports[student].exercises
        return next((each for each in exercises if each.id == exercise_id), None)

    def open(self, student: str) -> float:
        """Return the points that a person has yet to decide on for one student."""
        return sum(each.points for each in self.reports[student].waiting())

    @property
    def students_waiting(self) -> int:
        """How many students wait for a person, for whatever exercise."""
        return len({student for each in self.waiting for student in each.students})


def figures(lesson: str, reports: Mapping[str, Report]) -> LessonFigures:
    """Return the figures of one lesson; `reports` maps student to report and may not be empty."""
    ordered = dict(sorted(reports.items()))
    scores = [report.score for report in ordered.values()]
    max_score = max(report.max_score for report in ordered.values())
    return LessonFigures(
        lesson=lesson,
        reports=ordered,
        max_score=max_score,
        mean=fmean(scores),
        median=median(scores),
        bins=_bins(scores, max_score),
        exercises=[_difficulty(one, ordered) for one in exercise_ids(ordered.values())],
        mistakes=_mistakes(ordered),
        incidents=_incidents(ordered),
        repairs=_repairs(ordered),
        waiting=_waiting(ordered),
    )


def exercise_ids(reports: Iterable[Report]) -> list[str]:
    """Return every exercise that occurs, in lesson order."""
    return list(dict.fromkeys(each.id for report in reports for each in report.exercises))


def _answers(exercise_id: str, reports: Mapping[str, Report]) -> dict[str, ExerciseReport]:
    """Return one exercise's report per student that has it."""
    return {
        student: each
        for student, report in reports.items()
        for each in report.exercises
        if each.id == exercise_id
    }


def _bins(scores: list[float], max_score: float) -> list[Bin]:
    """Count scores in equal bins; the last includes full marks."""
    width = max_score / BINS or 1.0
    # A hair is added so that 0.6 / 0.2, which floats put below 3, falls where a reader expects it.
    counts = Counter(min(max(int(score / width + 1e-9), 0), BINS - 1) for score in scores)
    tallest = max(counts.values())
    return [
        Bin(index * width, (index + 1) * width, counts[index], counts[index] / tallest)
        for index in range(BINS)
    ]


def _difficulty(exercise_id: str, reports: Mapping[str, Report]) -> Difficulty:
    """How the class did in one exercise, and whose failure matches no known mistake."""
    answers = _answers(exercise_id, reports)
    points = max(each.points for each in answers.values())
    settled = [each.score / points for each in answers.values() if each.score is not None]
    counts = Counter(each.outcome for each in answers.values())
    return Difficulty(
        id=exercise_id,
        points=points,
        mean_share=fmean(settled) if settled else None,
        outcomes=[(outcome, counts[outcome]) for outcome in Outcome if counts[outcome]],
        unexplained=[student for student, each in answers.items() if _unexplained(each)],
    )


def _unexplained(exercise: ExerciseReport) -> bool:
    """Whether checks failed and no named mistake says why."""
    return exercise.outcome is Outcome.FAILED and not exercise.misconceptions


def _mistakes(reports: Mapping[str, Report]) -> list[Mistake]:
    """Every named mistake with who made it, the most common first, then in lesson order."""
    found: dict[tuple[str, str], NamedMistake] = {}
    students: dict[tuple[str, str], list[str]] = {}
    for exercise in exercise_ids(reports.values()):
        for student, answer in _answers(exercise, reports).items():
            for mistake in distinct(answer.misconceptions):
                found.setdefault((exercise, mistake.id), mistake)
                students.setdefault((exercise, mistake.id), []).append(student)
    every = [
        Mistake(key[0], one.title, one.hint, students[key], len(students[key]) / len(reports))
        for key, one in found.items()
    ]
    return sorted(every, key=lambda mistake: -len(mistake.students))


def _incidents(reports: Mapping[str, Report]) -> list[Remark]:
    """List attempts to interfere, student by student."""
    every = [
        [Remark(student, it.exercise or "", it.kind, it.message) for it in report.incidents]
        for student, report in reports.items()
    ]
    return [remark for remarks in every for remark in _first_few(remarks)]


def _repairs(reports: Mapping[str, Report]) -> list[Remark]:
    """List what was put right in notebooks, student by student."""
    every = [
        [Remark(student, "", "repair", repair) for repair in report.repairs]
        for student, report in reports.items()
    ]
    return [remark for remarks in every for remark in _first_few(remarks)]


def _first_few(remarks: list[Remark]) -> list[Remark]:
    """At most MOST_PER_STUDENT remarks, the last of them saying how many more there were."""
    rest = len(remarks) - MOST_PER_STUDENT
    if rest <= 0:
        return remarks
    return [*remarks[:MOST_PER_STUDENT], Remark(remarks[0].student, "", "", f"and {rest} more")]


def _waiting(reports: Mapping[str, Report]) -> list[Waiting]:
    """List what a person has yet to mark, exercise by exercise."""
    queues: dict[tuple[str, Outcome], list[str]] = {}
    for exercise in exercise_ids(reports.values()):
        for student, answer in _answers(exercise, reports).items():
            if answer.outcome.waits_for_a_person:
                queues.setdefault((exercise, answer.outcome), []).append(student)
    return [Waiting(*what, students) for what, students in queues.items()]
