"""Which written answers there are, their order, and the scores and keys that they have."""

import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, hand_in

from autograder.model.course import Course
from autograder.written.answers import WrittenAnswer, WrittenAnswers, lessons_with_questions
from autograder.written.pages import View, steps

from .conftest import record


def answer(lesson: str = LESSON, student: str = "ada", place: int = 0, most: float = 2.0) -> WrittenAnswer:
    """Return an answer that nobody has graded."""
    return WrittenAnswer(f"{lesson}{place}{student}", lesson, f"why-{place}", student, place, most, None, "")


@pytest.mark.parametrize("most", [0.5, 1, 1.5, 2, 3, 4, 5, 9, 10, 20])
def test_each_score_has_a_key_of_its_own(most: float) -> None:
    """From nothing to all, with quarters where there are few points; two digits are no key."""
    made = steps(answer(most=most))
    assert (made[0].score, made[-1].score) == (0, most)
    keys = [step.key for step in made if step.score < 10]
    assert all(keys)
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set("nplcxz"), "these go elsewhere"
    assert all(step.key == f"{step.score:g}" for step in made if step.score in range(10))


def test_a_score_is_shown_as_people_write_it() -> None:
    """Nothing is 0, and a quarter is ¼, not 0¼."""
    assert [step.label for step in steps(answer(most=1))] == ["0", "¼", "½", "¾", "1"]
    assert [step.label for step in steps(answer(most=2))][5:] == ["1¼", "1½", "1¾", "2"]


def test_only_lessons_with_questions_are_asked_for(course: Course) -> None:
    """By their texts."""
    course.text("04_other").write_text(course.text(LESSON).read_text().partition("# %% [markdown]\n# ### Exercise 3")[0])
    assert lessons_with_questions(course) == [LESSON]


def test_an_answer_that_was_left_empty_is_not_there(handed_in: Course, book: Gradebook) -> None:
    """It gets 0 points by itself; what is handed in later is found without a new start."""
    answers = WrittenAnswers(handed_in, [LESSON], book)
    assert [each.student for each in answers.all()] == ["ada", "bela", "emil"]
    hand_in(handed_in, "dora", double="# right")
    record(handed_in, "cleo", "Because.")
    assert [each.student for each in answers.all()] == ["ada", "bela", "cleo", "emil"]


@pytest.fixture
def many(course: Course, book: Gradebook, monkeypatch: pytest.MonkeyPatch) -> WrittenAnswers:
    """Give answers of three students to two questions of one lesson."""
    answers = WrittenAnswers(course, [LESSON], book)
    made = [answer(student=who, place=place) for who in ("cleo", "ada", "bela") for place in (4, 2)]
    found = {
        (LESSON, each.exercise, each.student): lambda each=each, **_: each for each in made
    }
    monkeypatch.setattr(answers, "_found", lambda _: found)
    return answers


def test_answers_go_by_question_or_by_student(many: WrittenAnswers) -> None:
    """Questions in the order of the lesson, students by name."""
    found = [(each.place, each.student) for each in many.all()]
    assert found == [(place, who) for place in (2, 4) for who in ("ada", "bela", "cleo")]
    found = [(each.place, each.student) for each in many.all(by_student=True)]
    assert found == [(place, who) for who in ("ada", "bela", "cleo") for place in (2, 4)]


def test_a_shuffled_order_is_the_same_throughout(many: WrittenAnswers) -> None:
    """Student 2 is the second in each question."""
    numbers = many.numbers()
    assert sorted(numbers.values()) == [1, 2, 3]
    assert [numbers[each.student] for each in many.all(shuffled=True)] == [1, 2, 3, 1, 2, 3]


def test_a_view_travels_in_the_address() -> None:
    """Only what differs from the usual, and a change of it."""
    assert View().query() == ""
    assert View(names_hidden=True).query() == "?names_hidden=yes"
    assert View(names_hidden=True).query(names_hidden=False, by_student=True, note="a") == "?by_student=yes&note=a"
