"""The written answers of lessons: which there are, in which order, what each says, and what it has got."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import nbformat
from markupsafe import Markup
from nbgrader.api import Gradebook

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.lesson_text import read_lesson
from autograder.model.report import Outcome
from autograder.reports.safe_html import inert
from autograder.reports.student_pages import Titles, prose_html, titles
from autograder.storage.attempts import AttemptLog
from autograder.storage.class_list import listed
from autograder.storage.gradebook import comments_by_hand, scores_by_hand
from autograder.storage.recorder import attached_attempt
from autograder.submissions.released import grade_id, is_solution

QUARTERS_UP_TO, HALVES_UP_TO = 3, 9  # points of an answer: beyond these, the steps are too many for keys


@dataclass(frozen=True)
class WrittenAnswer:
    """One student's answer to one written exercise of `most` points.

    `id` stands for it in addresses and names nobody. `place` is the exercise's among the lesson's. `score`
    is None while nobody has graded the answer. `full_name` is empty if the class list gives no
    name.
    """

    id: str
    lesson: str
    exercise: str
    student: str
    place: int
    most: float
    score: float | None
    comment: str
    full_name: str = ""

    @property
    def steps(self) -> list[float]:
        """The scores that can be given: every quarter of a point, or every half or whole one of many."""
        parts = 4 if self.most <= QUARTERS_UP_TO else 2 if self.most <= HALVES_UP_TO else 1
        return [number / parts for number in range(int(self.most * parts) + 1)]


@dataclass(frozen=True)
class AnswerText:
    """What a grader reads, as inert HTML; `digest` tells whether the answer is still the same."""

    question: Markup
    answer: Markup
    mark_scheme: Markup
    model_answer: Markup
    digest: str


class WrittenAnswers:
    """The written answers of some lessons, as the log of attempts and the gradebook have them now."""

    def __init__(self, course: Course, lessons: Sequence[str], book: Gradebook) -> None:
        self.course, self.lessons, self._book = course, lessons, book
        self._texts = {lesson: read_lesson(course.text(lesson)) for lesson in lessons}
        self._salt = secrets.token_hex(16)  # so that neither an id nor an order tells a name
        self._found = lru_cache(maxsize=1)(self._find)
        self._seen: dict[str, WrittenAnswer] = {}  # by id, also of answers that are gone by now

    def all(self, *, by_student: bool = False, shuffled: bool = False) -> list[WrittenAnswer]:
        """Return all answers, by question or by student; `shuffled` is an order that no name decides.

        Whatever was graded or handed in since the last call is among them.
        """
        log = AttemptLog(self.course.reports).path
        found = self._found(log.stat().st_mtime_ns if log.exists() else 0)
        scores = {lesson: scores_by_hand(self._book, lesson) for lesson in self.lessons}
        comments = {lesson: comments_by_hand(self._book, lesson) for lesson in self.lessons}
        names = {each.student: each.full_name for each in listed(self._book)}
        made = [
            answer(
                full_name=names.get(student, ""),
                score=scores[lesson].get(student, {}).get(exercise),
                comment=comments[lesson].get(student, {}).get(exercise, ""),
            )
            for (lesson, exercise, student), answer in found.items()
        ]
        self._seen |= {each.id: each for each in made}
        return self._sorted(made, by_student=by_student, shuffled=shuffled)

    def _sorted(
        self, answers: Sequence[WrittenAnswer], *, by_student: bool, shuffled: bool
    ) -> list[WrittenAnswer]:
        def order(each: WrittenAnswer) -> tuple[object, ...]:
            who = self._hidden(each.student) if shuffled else each.student
            what = each.lesson, each.place
            return (who, *what) if by_student else (*what, who)

        return sorted(answers, key=order)

    def seen(self, key: str) -> WrittenAnswer | None:
        """Return the answer of this id as it was when it was last there; None if there never was one."""
        return self._seen.get(key)

    def why_gone(self, answer: WrittenAnswer) -> str:
        """Say what the student of an answer did, or what was done to them, that it is gone."""
        attempt = AttemptLog(self.course.reports).last(answer.student, answer.lesson)
        if attempt is None:
            return "was removed from the class"
        if not attempt.report.is_graded:
            return "has handed in a file that could not be graded"
        ended = {each.id: each.outcome for each in attempt.report.exercises}.get(answer.exercise)
        if ended in (Outcome.UNANSWERED, Outcome.MISSING):
            return "has handed in again, without this answer"
        return "has handed in again, and this answer is not to be graded by hand now"

    def after(self, gone: WrittenAnswer, *, by_student: bool, shuffled: bool) -> WrittenAnswer | None:
        """Return the ungraded answer that follows one that is gone, or else the first."""
        left = [each for each in self.all() if each.score is None]
        answers = self._sorted([*left, gone], by_student=by_student, shuffled=shuffled)
        place = answers.index(gone)
        return next(iter([*answers[place + 1 :], *answers[:place]]), None)

    def numbers(self) -> dict[str, int]:
        """Return a number for each student, which stands for the name where names are hidden."""
        students = {each.student for each in self.all()}
        return {name: number for number, name in enumerate(sorted(students, key=self._hidden), start=1)}

    def text(self, answer: WrittenAnswer) -> AnswerText:
        """Return what an answer says, without the question where the student left that as it was.

        Raises CourseError if the graded notebook isn't there.
        """
        path = self.course.autograded_notebook(answer.student, answer.lesson)
        notebook = nbformat.read(path, as_version=4) if path.is_file() else None
        attempt = attached_attempt(notebook) if notebook else None
        if notebook is None or attempt is None:
            raise CourseError(f"there is no graded notebook {path}: run 'autograder grade {answer.lesson}'")
        cells = [cell for cell in notebook.cells if is_solution(cell) and grade_id(cell) == answer.exercise]
        source = cells[0].source if cells else ""
        lesson = self._texts[answer.lesson]
        asked = inert(lesson.question(answer.exercise)).removesuffix("</div>")
        if source.startswith(asked):
            source = f"<div>{source.removeprefix(asked)}"
        return AnswerText(
            question=prose_html(lesson.question(answer.exercise)),
            answer=prose_html(source),
            mark_scheme=prose_html(lesson.mark_scheme(answer.exercise)),
            model_answer=prose_html(lesson.model_answer(answer.exercise)),
            digest=attempt.answers.get(answer.exercise, ""),
        )

    def titles(self, lesson: str) -> Titles:
        """Return what a lesson and its exercises are called."""
        return titles(self.course, lesson)

    def _find(self, _changed: int) -> dict[tuple[str, str, str], "partial[WrittenAnswer]"]:
        found = {}
        for lesson in self.lessons:
            for student, attempt in AttemptLog(self.course.reports).latest(lesson).items():
                for place, report in enumerate(attempt.report.exercises):
                    if report.outcome is Outcome.BY_HAND and attempt.report.is_graded:
                        key = (lesson, report.id, student)
                        made = partial(WrittenAnswer, self._hidden(*key), *key, place, report.points)
                        found[key] = made
        return found

    def _hidden(self, *names: str) -> str:
        return hashlib.sha256("\0".join((self._salt, *names)).encode()).hexdigest()[:16]


def lessons_with_questions(course: Course) -> list[str]:
    """Return the lessons that ask for a written answer."""
    return [
        lesson
        for lesson in course.lessons()
        if any(each.written for each in read_lesson(course.text(lesson)).exercises)
    ]
