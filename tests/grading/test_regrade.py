"""After a check was changed, only what it touches is graded again, and nothing is written unasked."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from tiny_course import LESSON, RIGHT, FakeGraded, FakeGrader, hand_in

from autograder.authoring.release import register
from autograder.grading import regrade, version
from autograder.grading.grade_submission import Result, grade_submission
from autograder.grading.grader import Grader
from autograder.grading.lines import Blame
from autograder.grading.loop import GradingLoop
from autograder.grading.version import exercise_versions, lesson_version
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.errors import SettingsError
from autograder.model.report import BY_CHANGE, ExerciseReport, NamedMistake, Outcome, Report, WrongLines
from autograder.reports import feedback_exporter
from autograder.storage.attempts import AttemptLog
from autograder.storage.class_list import remove_student
from autograder.storage.recorder import amend
from autograder.submissions.submission import Submission

asked: list[tuple[str, set[str]]] = []  # students that were graded, and what was settled


class Remembering(FakeGrader):
    """A fake grader that takes over what is settled, as the real one does."""

    def grade(self, lesson: str, path: Path, settled: Report | None = None) -> FakeGraded:
        """Grade, and put settled exercises in place of the results."""
        kept = {each.id: each for each in settled.exercises} if settled else {}
        asked.append((path.parent.parent.name, set(kept)))
        graded = super().grade(lesson, path)
        exercises = [kept.get(each.id, each) for each in graded.report.exercises]
        return FakeGraded(graded.report.with_exercises(exercises), graded.notebook)


class InThisProcess:
    """A pool without processes."""

    sandboxed = True

    def grade_all(self, submissions: Iterable[Submission]) -> Iterator[Result]:
        """Grade one after the other."""
        for submission in submissions:
            yield grade_submission(Remembering(submission.course), submission, sandboxed=True)

    def find_lines(self, graded: Iterable[Submission]) -> Iterator[Attempt]:
        """Find line 3 in every wrong answer that has not been searched."""
        for attempt in (submission.graded for submission in graded if submission.graded):
            unsearched = {each.id for each in attempt.report.exercises if each.failures and each.lines is None}
            yield searched(attempt, unsearched)


POOL: Any = InThisProcess()
LINES = [WrongLines(first=3, last=3, text="x", what="another sign")]


def searched(attempt: Attempt, exercises: set[str]) -> Attempt:
    """Return an attempt with a line, a name and a change in some exercises."""
    named = NamedMistake(id=f"{BY_CHANGE}another-sign", title="A plus or a minus is wrong (line 3)")
    update = {"lines": LINES, "misconceptions": [named]}
    done = [each.model_copy(update=update) if each.id in exercises else each for each in attempt.report.exercises]
    changes = attempt.changes | dict.fromkeys(exercises, f"- {attempt.student}")
    return attempt.model_copy(update={"report": attempt.report.with_exercises(done), "changes": changes})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder of the tiny lesson's checks, in a grader that the test can edit."""
    folder = tmp_path / "grader" / "lessons" / "tiny"
    folder.mkdir(parents=True)
    for name in ("double.py", "double.yaml", "halve.py", "shared.py"):
        (folder / name).write_text("1\n")
    monkeypatch.setattr(version, "PACKAGE", tmp_path / "grader")
    monkeypatch.setattr(feedback_exporter, "make_pages", lambda *_, **__: {})
    exercise_versions.cache_clear()
    asked.clear()
    return folder


def versions(course: Course) -> dict[str, str]:
    """Return the state of each exercise of the tiny lesson."""
    return exercise_versions(course, LESSON, lesson_version(course, LESSON))


@pytest.mark.parametrize(
    ("edited", "touched"),
    [
        ("double.py", {"double"}),
        ("double.yaml", {"double"}),
        ("halve.py", {"halve"}),
        ("shared.py", {"double", "halve", "why"}),
        ("../../judge/oracle.py", {"double", "halve", "why"}),
        ("../other/reference.py", set()),
    ],
)
def test_a_file_touches_its_own_exercise(
    course: Course, package: Path, edited: str, touched: set[str]
) -> None:
    """What the exercises share touches all of them; another lesson's checks touch none."""
    before = versions(course)
    (package / edited).parent.mkdir(exist_ok=True)
    (package / edited).write_text("2\n")
    after = versions(course)
    assert {name for name in before if before[name] != after[name]} == touched


def test_a_module_touches_those_that_import_it(course: Course, package: Path) -> None:
    """In whatever form it is imported."""
    (package / "halve.py").write_text("from autograder.lessons.tiny import double\n")
    before = versions(course)
    (package / "double.py").write_text("2\n")
    after = versions(course)
    assert {name for name in before if before[name] != after[name]} == {"double", "halve"}


def test_cells_count_and_prose_does_not(course: Course, package: Path) -> None:
    """A test that is worth other points touches its exercise; a sentence touches none."""
    before, text = versions(course), course.text(LESSON).read_text()
    course.text(LESSON).write_text(text.replace("# # A tiny lesson", "# # A small lesson"))
    assert versions(course) == before
    course.text(LESSON).write_text(text.replace("return 2 * x", "return x + x"))
    assert {name for name in before if before[name] != versions(course)[name]} == {"double"}


def record(course: Course, *students: str) -> None:
    """Grade these students and record it, as a class run does."""
    loop = GradingLoop(course, LESSON)
    assert len(list(loop.grade(POOL, [loop.submission(student) for student in students]))) == len(students)


def test_other_points_for_an_exercise_are_shown() -> None:
    """Also where there were none to lose."""
    before = ExerciseReport(id="double", points=4, score=0, outcome=Outcome.MISSING, checks=[])
    now = before.model_copy(update={"points": 6})
    assert regrade._difference(before, now) == "double: 0 of 4 (missing) → 0 of 6 (missing)"


def test_only_the_touched_exercise_is_graded_again(course: Course, package: Path) -> None:
    """The others keep their results, and without a change there is nothing to do."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", **RIGHT)
    record(course, "alice", "bob")
    asked.clear()
    assert regrade.regrade(course, LESSON, POOL) == []
    (package / "double.py").write_text("2\n")
    hand_in(course, "bob", double="# half")  # a class run grades what is new
    done = regrade.regrade(course, LESSON, POOL)
    assert asked == [("alice", {"halve", "why"})]
    assert [each.differences for each in done] == [[]]


def test_an_unreadable_file_is_read_again_only_by_another_grader(course: Course, package: Path) -> None:
    """The next version may read it; this one has said what it is."""
    hand_in(course, "alice", **RIGHT).write_text("no notebook")
    record(course, "alice")
    assert regrade.regrade(course, LESSON, POOL) == []
    (package / "double.py").write_text("2\n")
    assert [each.before.student for each in regrade.regrade(course, LESSON, POOL)] == ["alice"]


def test_differences_are_shown_and_written_only_on_request(
    course: Course, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores and comments that were given by hand stay as they are."""
    hand_in(course, "alice", **RIGHT)
    record(course, "alice")
    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        book.find_grade("why", LESSON, LESSON, "alice").manual_score = 1.5
        book.find_comment("why", LESSON, LESSON, "alice").manual_comment = "Good."
        book.find_comment("double", LESSON, LESSON, "alice").manual_comment = "Neat."
        book.db.commit()
    (package / "double.py").write_text("2\n")
    monkeypatch.setattr("tiny_course.grade_answer", _half())
    before = AttemptLog(course.reports).last("alice", LESSON)
    done = regrade.regrade(course, LESSON, POOL)
    assert [each.differences for each in done] == [["double: 8 of 8 (passed) → 4 of 8 (failed)"]]
    assert AttemptLog(course.reports).last("alice", LESSON) == before
    assert regrade.apply(course, LESSON, done, POOL) == []
    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        assert book.find_grade("double-test", LESSON, LESSON, "alice").auto_score == 4.0
        assert book.find_grade("halve-test", LESSON, LESSON, "alice").auto_score == 10.0
        assert book.find_grade("why", LESSON, LESSON, "alice").manual_score == 1.5
        assert book.find_comment("why", LESSON, LESSON, "alice").manual_comment == "Good."
        assert book.find_comment("double", LESSON, LESSON, "alice").manual_comment == "Neat."
    assert regrade.regrade(course, LESSON, POOL) == []


def test_a_setting_that_cannot_be_used_stops_a_regrade_before_anything_is_graded(course: Course, package: Path) -> None:
    """As it stops a class run."""
    hand_in(course, "alice", **RIGHT)
    record(course, "alice")
    with (course.root / CONFIG).open("a") as config:
        config.write("\nc.GenerateFeedback.permissions = 'x'\n")
    (package / "double.py").write_text("2\n")
    asked.clear()
    with pytest.raises(SettingsError, match=f"{CONFIG} cannot be used: "):
        regrade.regrade(course, LESSON, POOL)
    assert asked == []


def test_what_was_given_by_hand_counts_in_the_preview(
    course: Course, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The points before and after are those that the student has: a score given by hand stays, and is named."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", **RIGHT)
    record(course, "alice", "bob")
    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        for cell, score in (("why", 1.5), ("double-test", 7.0)):
            grade = book.find_grade(cell, LESSON, LESSON, "alice")
            grade.manual_score, grade.needs_manual_grade = score, False
        book.find_grade("double-test", LESSON, LESSON, "bob").extra_credit = 0.5
        book.db.commit()
    (package / "double.py").write_text("2\n")
    monkeypatch.setattr("tiny_course.grade_answer", _half())
    alice, bob = regrade.regrade(course, LESSON, POOL)
    assert alice.differences == ["double: 8 of 8 (passed) → 4 of 8 (failed); the 7 given by hand stays"]
    assert bob.differences == ["double: 8 of 8 (passed) → 4 of 8 (failed); the extra credit 0.5 stays"]
    assert (alice.points, bob.points) == ((18.5, 18.5), (18.5, 14.5))
    regrade.apply(course, LESSON, [alice, bob], POOL)
    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        rows = {row.student.id: row for row in book.notebook_submissions(LESSON, LESSON)}
        assert {student: row.score for student, row in rows.items()} == {"alice": 18.5, "bob": 14.5}
        # a person should look at what the grader now sees otherwise, and at nothing else
        assert {g.name for g in rows["alice"].grades if g.needs_manual_grade} == {"double-test"}


def test_what_lateness_costs_is_in_the_preview(course: Course, package: Path) -> None:
    """The rule of nbgrader takes off the score as it is now, with what was given by hand since."""
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    path = hand_in(course, "alice", **RIGHT)
    path.with_name("timestamp.txt").write_text("2026-01-02 10:00:00 UTC")
    register(course, LESSON)
    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        book.find_assignment(LESSON).duedate = datetime(2026, 1, 1)
        book.db.commit()
    record(course, "alice")
    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        book.find_grade("why", LESSON, LESSON, "alice").manual_score = 1.5
        book.db.commit()
    (package / "double.py").write_text("2\n")
    [alice] = regrade.regrade(course, LESSON, POOL)
    assert alice.differences == ["taken off for lateness: 18 → 19.5 points"]
    assert alice.points == (1.5, 0.0)
    assert replace(alice, penalty_now=1.0).differences == ["taken off for lateness: 18 → 1 point"]
    regrade.apply(course, LESSON, [alice], POOL)
    with Gradebook(f"sqlite:///{course.gradebook}") as book:
        assert book.find_submission_notebook(LESSON, LESSON, "alice").late_submission_penalty == 19.5


def test_a_submission_that_came_in_between_is_left_as_it_is(course: Course, package: Path) -> None:
    """`autograder watch` may record a newer one between the preview and the writing."""
    hand_in(course, "alice", **RIGHT)
    record(course, "alice")
    (package / "double.py").write_text("2\n")
    done = regrade.regrade(course, LESSON, POOL)
    hand_in(course, "alice", **RIGHT | {"double": "# half"})
    record(course, "alice")
    said = regrade.apply(course, LESSON, done, POOL)
    assert said == ["alice: graded again in the meantime, so left unchanged"]
    assert [attempt.report.score for attempt in AttemptLog(course.reports)] == [18.0, 14.0]


def test_who_was_removed_in_between_stays_removed(course: Course, package: Path) -> None:
    """Nothing is said: nothing newer was graded."""
    for student in ("alice", "bob"):
        hand_in(course, student, **RIGHT)
    record(course, "alice", "bob")
    (package / "double.py").write_text("2\n")
    done = regrade.regrade(course, LESSON, POOL)
    remove_student(course, "alice")
    assert regrade.apply(course, LESSON, done, POOL) == []
    assert {attempt.student for attempt in AttemptLog(course.reports)} == {"bob"}


def test_a_writing_that_was_interrupted_is_finished_by_the_next(
    course: Course, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded needs no grading any more, but its lines and its page are still to come."""
    for student in ("alice", "bob"):
        hand_in(course, student, **RIGHT | {"double": "wrong"})
    record(course, "alice", "bob")
    (package / "double.py").write_text("2\n")
    with monkeypatch.context() as patched:
        patched.setattr(InThisProcess, "find_lines", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            regrade.apply(course, LESSON, regrade.regrade(course, LESSON, POOL), POOL)
    made: list[str] = []
    monkeypatch.setattr(feedback_exporter, "make_pages", lambda _course, _lesson, students, **_: made.extend(students) or {})
    assert regrade.regrade(course, LESSON, POOL) == []
    assert regrade.apply(course, LESSON, [], POOL) == []
    assert made == ["alice", "bob"]
    log = AttemptLog(course.reports).latest(LESSON)
    assert all(attempt.report.exercise("double").lines == LINES for attempt in log.values())


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def _half() -> Callable[..., Any]:
    """Return a way of grading under which what was right is worth half."""
    from tiny_course import grade_answer

    def grade(key: str, points: float, answer: str | None) -> Any:
        return grade_answer(key, points, answer and answer.replace("right", "half"))

    return grade


def test_what_the_search_added_is_no_difference(course: Course, package: Path) -> None:
    """Lines, and the mistake that they name, come of the search and not of grading."""
    hand_in(course, "alice", **RIGHT | {"double": "wrong"})
    record(course, "alice")
    attempt = AttemptLog(course.reports).last("alice", LESSON)
    assert attempt is not None
    amend(course, searched(attempt, {"double"}))
    (package / "double.py").write_text("2\n")
    assert [each.differences for each in regrade.regrade(course, LESSON, POOL)] == [[]]


def test_lines_are_looked_for_again_and_kept_where_nothing_changed(course: Course, package: Path) -> None:
    """An answer that was graded again gets new lines; the others keep theirs, and the change behind them."""
    hand_in(course, "alice", **RIGHT | {"double": "wrong", "halve": "wrong"})
    record(course, "alice")
    attempt = AttemptLog(course.reports).last("alice", LESSON)
    assert attempt is not None
    amend(course, searched(attempt, {"halve"}))
    (package / "double.py").write_text("2\n")
    regrade.apply(course, LESSON, regrade.regrade(course, LESSON, POOL), POOL)
    now = AttemptLog(course.reports).last("alice", LESSON)
    assert now is not None
    assert [now.report.exercise(each).lines for each in ("double", "halve")] == [LINES, LINES]
    assert now.changes["double"] == now.changes["halve"] == "- alice"


@pytest.mark.full("a class is graded twice", seconds=30)
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_what_is_settled_and_what_is_graded_again_make_the_same_report(
    grader: Grader, hand_in: Callable[..., Path]
) -> None:
    """Whatever is graded again, the report is that of the whole notebook."""
    wrong = "def causal_mask(n):\n    return torch.ones(n, n, dtype=torch.bool)\n"
    path = hand_in("03_attention", causal_mask=wrong, softmax="raise SystemExit")
    whole = grader.grade("03_attention", path).report
    for again in (("causal-mask",), ("softmax", "attention-scores"), ()):
        kept = [each for each in whole.exercises if each.id not in again]
        names = {each.id for each in kept}
        incidents = [each for each in whole.incidents if each.exercise in names]
        settled = whole.model_copy(update={"exercises": kept, "incidents": incidents})
        part = grader.grade("03_attention", path, settled).report
        assert part.exercises == whole.exercises
        assert part.score == whole.score
        assert sorted(map(str, part.incidents)) == sorted(map(str, whole.incidents))


def test_a_known_mistake_that_only_the_search_named_is_no_difference(course: Course, package: Path) -> None:
    """It is not named again before the next search. One that grading named, and names no longer, is told."""
    hand_in(course, "alice", **RIGHT | {"double": "wrong"})
    record(course, "alice")
    attempt = AttemptLog(course.reports).last("alice", LESSON)
    assert attempt is not None
    known, found = NamedMistake(id="known", title="A known one"), NamedMistake(id="found", title="Another")
    for graded, said in (([], []), ([known], ["double: 0 of 8 (failed); mistakes named: known → none"])):
        done = [
            Blame(LINES, "", [found, known]).added_to(each.model_copy(update={"misconceptions": graded}))
            if each.id == "double"
            else each
            for each in attempt.report.exercises
        ]
        assert sorted(each.id for each in done[0].known_mistakes) == ["found", "known"]
        assert amend(course, attempt.model_copy(update={"report": attempt.report.with_exercises(done)}))
        (package / "double.py").write_text(f"{2 + len(said)}\n")
        assert [each.differences for each in regrade.regrade(course, LESSON, POOL)] == [said]
