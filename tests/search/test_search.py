"""The search tries a change once, and goes on to others where one does not hold."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import ROOT

from autograder.judge.oracle import Oracle
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.search.distance import RIGHT
from autograder.search.search import MOST_ASKED, MOST_PROVED, Further, Plan, Question, Search, World
from coursework.edits.cell import CodeEdit

SOURCE = "a = 1\nb = 2\nc = 3\n"
REFUTED, *PAIR = (CodeEdit(((start, start + 1, "0"),), line, line, "another number") for line, start in ((1, 4), (2, 10), (3, 16)))


def test_what_fails_its_proof_alone_is_not_proved_again_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One edit passes what the answer failed and breaks something else; a pair of others makes all right."""
    lesson = load_lesson(Course(ROOT), "03_attention")
    exercise = lesson["softmax"]
    proved: list[str] = []

    def prove(cell: str) -> bool:
        proved.append(cell)
        return cell == SOURCE.replace("2", "0").replace("3", "0")

    def distances(_: Search, cells: list[str], __: object) -> Iterator[float]:
        for cell in cells:
            yield RIGHT if "a = 0" in cell or ("b = 0" in cell and "c = 0" in cell) else 1.0

    monkeypatch.setattr(Search, "_distances", distances)
    world = World(lambda: pytest.fail("no process is needed"), prove, lambda: 0.0)
    search = Search(Oracle(lesson, b"key"), exercise, world, {exercise.checks[0].id}, 100.0)
    (found,) = search.find(SOURCE, lambda _: Plan([REFUTED, *PAIR], lambda: Further([], [], [])))
    assert list(found.edits) == PAIR
    assert len(proved) == len(set(proved)) == 2 < MOST_PROVED


def test_only_some_of_many_checks_that_failed_are_asked_before_a_change_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are asked of what passes those: a change is found all the same, and has to pass all."""
    lesson = load_lesson(Course(ROOT), "03_attention")
    exercise = lesson["scaled-dot-product-attention"]
    right = SOURCE.replace("2", "0")
    asked: dict[str, list[str]] = {}

    def distances(_: Search, cells: list[str], question: Question) -> Iterator[float]:
        for cell in cells:
            asked.setdefault(cell, []).append(question[0].id)
            yield RIGHT if cell == right else 1.0

    monkeypatch.setattr(Search, "_distances", distances)
    world = World(lambda: pytest.fail("no process is needed"), lambda _: True, lambda: 0.0)
    failed = {check.id for check in exercise.checks}
    search = Search(Oracle(lesson, b"key"), exercise, world, failed, 100.0)
    (found,) = search.find(SOURCE, lambda _: Plan([REFUTED, PAIR[0]], lambda: Further([], [], [])))
    assert list(found.edits) == PAIR[:1]
    assert len(asked[SOURCE]) == MOST_ASKED < len(failed) == len(asked[right])


def test_another_change_of_a_place_is_proved_only_if_it_says_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """To prove a change runs every check, and students read of one change in a place."""
    lesson = load_lesson(Course(ROOT), "03_attention")
    exercise = lesson["scaled-dot-product-attention"]
    proved: list[str] = []

    def distances(_search: Search, cells: list[str], _question: object) -> Iterator[float]:
        for cell in cells:
            yield 1.0 if cell == SOURCE else RIGHT

    def prove(cell: str) -> bool:
        proved.append(cell)
        return True

    monkeypatch.setattr(Search, "_distances", distances)
    world = World(lambda: pytest.fail("no process is needed"), prove, lambda: 0.0)
    search = Search(Oracle(lesson, b"key"), exercise, world, {exercise.checks[0].id}, 100.0)
    start, end, _ = REFUTED.changes[0]
    told = [
        replace(REFUTED, changes=((start, end, str(number)),), what=what)
        for number, what in enumerate(("another expression", "another expression", "another number", "another sign"), 5)
    ]
    found = search.find(SOURCE, lambda _: Plan(told, lambda: Further([], [], [])))
    assert [each.edits[0].what for each in found] == ["another expression", "another number"]
    assert len(proved) == len(found)


def test_the_likeliest_edits_are_tried_however_long_the_start_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a class each answer has little time, and where it is nearly over a single edit still comes before a script."""
    lesson = load_lesson(Course(ROOT), "03_attention")
    exercise = lesson["softmax"]

    def distances(_: Search, cells: list[str], __: object) -> Iterator[float]:
        yield from (RIGHT if "b = 0" in cell or ("a = 0" in cell and "c = 0" in cell) else 1.0 for cell in cells)

    monkeypatch.setattr(Search, "_distances", distances)
    times = iter([0.0])
    world = World(lambda: pytest.fail("no process is needed"), lambda _: True, lambda: next(times, 80.0))
    search = Search(Oracle(lesson, b"key"), exercise, world, {exercise.checks[0].id}, 100.0)
    further = Further([PAIR[0]], [], [[REFUTED, PAIR[1]]])
    (found,) = search.find(SOURCE, lambda _: Plan([], lambda: further))
    assert list(found.edits) == PAIR[:1]
