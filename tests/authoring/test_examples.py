"""Public examples show the known mistakes, give away nothing that is graded, and are made from the lessons."""

from itertools import combinations, islice
from random import Random

import pytest
from conftest import ROOT
from mutants import answer_with, grade_mistake

from autograder.authoring.examples import MadeExamples, make_examples
from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course, package_of
from autograder.model.draw import PUBLIC_KEY, PublicDraw
from autograder.model.exercise import Exercise, Lesson, Mistake
from autograder.search.right_answers import right_answers
from coursework.engine.compare import difference, is_right
from coursework.engine.examples import SEED, ExampleSet, read
from coursework.engine.observe import try_answer
from coursework.instant.card import card_of

COURSE = Course(ROOT)
LESSONS = [load_lesson(COURSE, name) for name in COURSE.lessons()]
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name[:2]}-{exercise.id}")
    for lesson in LESSONS
    for exercise in lesson.exercises
    if exercise.examples
]
MOST, PAIRS = 12, 12  # a sample: the build tries all of them


def stored(lesson: Lesson, exercise: Exercise) -> ExampleSet:
    """The examples of one exercise, as students have them."""
    return next(each for each in read(lesson.name) if each.exercise == exercise.id)


def card_title(oracle: Oracle, exercise: Exercise, mistakes: list[Mistake]) -> tuple[bool, str]:
    """Whether the card of an answer with mistakes says right, and its title."""
    names = oracle.edited(exercise, mistakes)
    if names is None:
        return True, ""
    found = stored(oracle.lesson, exercise)
    answer = names[exercise.name]
    got = [try_answer(each.operation, answer, exercise.name, SEED) for each in found.examples]
    card = card_of(found, got)
    return card.passed, card.title


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_function_and_class_has_an_example(lesson: Lesson) -> None:
    """One to four of them; dictionaries of answers have none, because they would be the answers."""
    for exercise in lesson.exercises:
        wanted = 1 if exercise.reference is not None else 0
        assert wanted <= len(exercise.examples) <= 4 * wanted, exercise.id


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_at_least_85_percent_of_the_known_mistakes_show(lesson: Lesson) -> None:
    """In every lesson."""
    shown = total = 0
    for exercise in lesson.exercises:
        if exercise.examples:
            titles = {t for each in stored(lesson, exercise).mistakes for t in each.titles}
            shown += sum(mistake.title in titles for mistake in exercise.mistakes)
            total += len(exercise.mistakes)
    assert shown / total >= 0.85


# What the examples cannot tell, and the visible test does.
LEFT_TO_THE_TEST = {
    "noam-rate": {"rounded", "tensor-returned"},
    "sentence-pair-attention": {"last-layer-only"},
}


@pytest.mark.full("every hidden check of each mistake that no example shows", seconds=1)
@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_what_gets_no_points_is_not_right_on_the_examples(lesson: Lesson, exercise: Exercise) -> None:
    """Of the known mistakes; the examples are those that the lesson declares now, whether built or not."""
    oracle, hidden = Oracle(lesson, PUBLIC_KEY), set()
    draws = [PublicDraw(lesson.name, exercise.id, str(n)) for n in range(len(exercise.examples))]
    operations = [each.ask(draw) for each, draw in zip(exercise.examples, draws, strict=True)]
    right = [try_answer(each, exercise.reference, exercise.name, SEED) for each in operations]
    for mistake in exercise.mistakes if exercise.points else ():
        answer = (oracle.edited(exercise, [mistake]) or {})[exercise.name]
        got = [try_answer(each, answer, exercise.name, SEED) for each in operations]
        if all(map(is_right, got, right)) and not grade_mistake(oracle, exercise, mistake)["score"]:
            hidden.add(mistake.id)
    assert hidden == LEFT_TO_THE_TEST.get(exercise.id, set())


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_a_mistake_that_shows_is_named_or_its_twin(lesson: Lesson, exercise: Exercise) -> None:
    """In a sample, and the model answer is right. That nothing is returned is told alike everywhere."""
    oracle = Oracle(lesson, PUBLIC_KEY)
    assert card_title(oracle, exercise, []) == (True, "")
    for mistake in Random(3).sample(exercise.mistakes, min(MOST, len(exercise.mistakes))):
        passed, title = card_title(oracle, exercise, [mistake])
        twins = [each for each in exercise.mistakes if mistake.id in each.same_as]
        twins += [exercise.mistake(name) for name in mistake.same_as]
        # Or one that no example tells from it: alone, it is named by the same title.
        alike = [each for each in exercise.mistakes if each.title == title.removesuffix(".")]
        own = [card_title(oracle, exercise, [each]) for each in alike]
        named = any(each.title in title for each in (mistake, *twins)) or (False, title) in own
        assert passed or named or title.endswith("Is there a `return`?"), mistake.id


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_of_two_mistakes_one_is_named_in_two_thirds_of_cases(
    lesson: Lesson, exercise: Exercise
) -> None:
    """In a sample of pairs that show."""
    oracle = Oracle(lesson, PUBLIC_KEY)
    pairs = list(combinations(exercise.mistakes, 2))
    Random(5).shuffle(pairs)
    seen = ((pair, card_title(oracle, exercise, list(pair))) for pair in pairs)
    shown = list(islice(((p, title) for p, (passed, title) in seen if not passed), PAIRS))
    known = {title for each in stored(lesson, exercise).mistakes for title in each.titles}
    named = sum(any(name in title for name in known) for _, title in shown)
    assert named >= 2 * len(shown) / 3


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_no_graded_input_is_a_public_example(lesson: Lesson, exercise: Exercise) -> None:
    """An answer that looks the examples up gains nothing."""
    oracle = Oracle(lesson, b"any key")
    for example in stored(lesson, exercise).examples:
        asked = example.operation
        for check in exercise.checks:
            if check.raises:
                continue  # an exception is all that is expected
            operation = oracle.test_input(exercise, check).operation
            if type(operation) is type(asked):
                assert difference(list(operation.arguments), list(asked.arguments)), check.id


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_no_example_decides_what_the_contract_leaves_open(lesson: Lesson) -> None:
    """A right answer in an unusual form is right on every example of its exercise."""
    oracle = Oracle(lesson, PUBLIC_KEY)
    for name, cells in right_answers(package_of(lesson.name)).items():
        for cell in cells if lesson[name].examples else ():
            passed, title = card_title(oracle, lesson[name], [answer_with(lesson[name], cell)])
            assert passed, (name, cell, title)


def test_the_same_lesson_makes_the_same_examples() -> None:
    """What is stored does not depend on the run."""
    lesson = load_lesson(COURSE, "03_attention")
    made: list[MadeExamples] = [
        make_examples(Oracle(lesson, PUBLIC_KEY), lesson["causal-mask"]) for _ in range(2)
    ]
    assert made[0].signatures == made[1].signatures
    assert [q.args for q in made[0].operations] == [q.args for q in made[1].operations]
