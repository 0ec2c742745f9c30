"""What several students made wrong alike becomes an entry that can be pasted into the catalogue."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from conftest import ROOT

from autograder.cli import main
from autograder.grading.suggest import AlikeAnswers, as_replacement, suggestions, unnamed_groups
from autograder.judge.mistakes import load_mistakes
from autograder.judge.oracle import Oracle, judge_check
from autograder.lessons.loading import load_lesson
from autograder.model.attempt import Attempt
from autograder.model.course import Course
from autograder.model.exercise import Exercise, Lesson, Mistake
from autograder.model.report import CheckReport, ExerciseReport, NamedMistake, Outcome, Report, WrongLines
from coursework.edits.cell import Cell, CodeEdit
from coursework.edits.generic import generic_edits
from coursework.engine.describe import Comparison

LESSON = load_lesson(Course(ROOT), "03_attention")
KEY = b"k" * 32
KIND = "another dimension"
NAMED = [
    pytest.param(mistake.id, marks=[] if number in (1, 4) else [pytest.mark.full("each mistake", seconds=4)])
    for number, mistake in enumerate(LESSON["softmax"].mistakes)
    if mistake.id not in ("overflow-hidden",)  # two changes at once
]


def attempt(student: str, done: ExerciseReport) -> Attempt:
    """Return an attempt with one exercise."""
    report = Report(lesson=LESSON.name, score=0, max_score=2, exercises=[done])
    return Attempt(
        student=student, lesson=LESSON.name, sha256="", version="", graded_at=datetime.now(UTC), sandboxed=True,
        report=report, changes={done.id: f"-{student}\n+right"},
    )  # fmt: skip


def graded(oracle: Oracle, exercise: Exercise, source: str, *named: NamedMistake, line: int = 3) -> ExerciseReport:
    """Return the report of a wrong answer, as grading makes it, with a line to change."""
    names = oracle.scope(exercise)
    exec(compile(source, "<student cell>", "exec"), names)
    checks = []
    for check in exercise.checks:
        asked = oracle.test_input(exercise, check)
        got = oracle.observe(exercise, names, asked)
        seen = Comparison(asked.operation, got, oracle.expected(exercise, check, asked), source=source)
        verdict = judge_check(exercise, check, seen)
        message = "" if verdict.passed else verdict.message
        checks.append(CheckReport(id=check.id, title=check.title, passed=verdict.passed, message=message))
    lines = [WrongLines(first=line, last=line, text="", what=KIND)]
    return ExerciseReport(
        id=exercise.id, points=2, score=0, outcome=Outcome.FAILED, checks=checks, lines=lines, misconceptions=list(named)
    )


def lesson_without(exercise: Exercise, mistake: Mistake) -> Lesson:
    """Return the lesson with a mistake fewer in its catalogue."""
    fewer = replace(exercise, mistakes=tuple(each for each in exercise.mistakes if each is not mistake))
    return replace(LESSON, exercises=tuple(fewer if each is exercise else each for each in LESSON.exercises))


@pytest.mark.parametrize("name", NAMED)
def test_a_pasted_entry_loads_and_gives_the_results_of_the_class(name: str, tmp_path: Path) -> None:
    """Two students make a mistake that was taken out of the catalogue, each under names of their own."""
    exercise = LESSON["softmax"]
    mistake = exercise.mistake(name)
    oracle = Oracle(lesson_without(exercise, mistake), KEY)
    exercise = oracle.lesson["softmax"]
    wrong = mistake.apply(exercise.answer)
    renamed = re.sub(r"\bshifted\b", "s", wrong)
    answers = {"ada": wrong, "ben": f"# mine\n{renamed}"}
    attempts = [
        attempt(student, graded(oracle, exercise, source, line=number))
        for number, (student, source) in enumerate(answers.items(), start=2)
    ]
    (entry,) = suggestions(oracle, unnamed_groups(attempts), {exercise.id: answers})
    assert "2 students (ada, ben); for softmax.yaml" in entry
    pasted = tmp_path / "softmax.yaml"
    text = (ROOT / "autograder/lessons/attention/softmax.yaml").read_text()
    pasted.write_text(f"{text}\n{entry}")
    found = load_mistakes(pasted)[-1]
    assert len(load_mistakes(pasted)) == len(exercise.mistakes) + 2
    again = graded(oracle, exercise, found.apply(exercise.answer))
    assert [(each.id, each.passed) for each in again.checks] == [
        (each.id, each.passed) for each in attempts[0].report.exercises[0].checks
    ]
    assert found.title == "Everything passes with another dimension"


def test_only_what_several_made_alike_and_nothing_named_is_a_group() -> None:
    """One student alone is none, nor is a mistake that has a name, nor an answer that no change mends."""
    exercise = LESSON["softmax"]
    oracle = Oracle(LESSON, KEY)
    minimum, base = (exercise.mistake(name).apply(exercise.answer) for name in ("minimum-subtracted", "base-two"))
    unnamed, other = graded(oracle, exercise, minimum), graded(oracle, exercise, base)
    named = graded(oracle, exercise, minimum, NamedMistake(id="x", title="x"))
    unmended = unnamed.model_copy(update={"lines": []})
    reports = {"ada": unnamed, "ben": unnamed, "eve": other, "ida": named, "joe": named, "kim": unmended}
    (group,) = unnamed_groups(attempt(student, done) for student, done in reports.items())
    assert [*group.done] == ["ada", "ben"]
    assert group.kind == KIND


def test_a_group_without_an_entry_is_comments_alone() -> None:
    """So that all that is printed can be pasted."""
    exercise = LESSON["softmax"]
    oracle = Oracle(replace(LESSON), KEY)
    done = graded(oracle, exercise, exercise.mistake("base-two").apply(exercise.answer))
    group = AlikeAnswers("softmax", {"nothing": (False, "such a check is not there")}, {"ada": done, "ben": done}, {})
    (text,) = suggestions(oracle, [group], {})
    assert yaml.safe_load(text) is None
    assert "no entry to paste" in text


@pytest.mark.parametrize("exercise", ["softmax", "padding-mask"])
def test_an_edit_becomes_what_occurs_once(exercise: str) -> None:
    """And gives the same code when it is applied, whatever kind of edit it is."""
    answer = LESSON[exercise].answer
    made = [(each, as_replacement(answer, each)) for each in generic_edits(Cell(answer))[::7]]
    assert sum(found is not None for _, found in made) > 0.9 * len(made)
    for _, found in made:
        assert found is None or all(answer.count(old) == 1 for old in found)


def test_an_edit_cuts_no_brackets() -> None:
    """It grows until it closes what it opens; or it is the whole line."""
    answer = "def ok(mask: bool):\n    return mask.any(dim=(0, 1)) & ok\n"
    changes = {
        "return mask.any(dim=(0)) | (1 & ok)": "dim=(0, 1)) & ok",
        "return mask.any(dim=(0, 2)) & ok": "1",
    }
    for line, shortest in changes.items():
        changed = answer.replace("return mask.any(dim=(0, 1)) & ok", line)
        edit = CodeEdit(((0, len(answer), changed),), 2, 2, "another line")
        ((old, new),) = (as_replacement(answer, edit) or {}).items()
        assert answer.replace(old, new) == changed
        assert all(text.count("(") == text.count(")") for text in (old, new))
        assert shortest in old


@pytest.mark.parametrize("command", ["suggest-mistakes", "regrade"])
def test_a_lesson_that_was_never_graded_is_not_one_without_mistakes(course: Course, command: str) -> None:
    """The command says what to do first."""
    done = CliRunner().invoke(main, ["--course", str(course.root), command, "03"])
    said = "autograder: nothing of 03_tiny was graded so far: run 'autograder grade 03_tiny' first"
    assert (done.exit_code, done.stderr.strip()) == (2, said)
