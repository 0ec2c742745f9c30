"""A class run grades everything once, loses nothing, and continues where it stopped."""

import errno
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from io import StringIO

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook
from nbgrader.converters import GenerateFeedback
from rich.console import Console
from tiny_course import LESSON, RIGHT, hand_in, make_fake
from tiny_fixtures import ReadGrades

from autograder.authoring.release import register
from autograder.cli import main
from autograder.grading import loop
from autograder.grading.grade_submission import Result
from autograder.grading.loop import grade_lesson, grade_lessons
from autograder.grading.pool import Pool
from autograder.model.attempt import Attempt
from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError, SettingsError
from autograder.reports import feedback_exporter
from autograder.reports.feedback_exporter import FeedbackExporter
from autograder.storage.attempts import AttemptLog
from autograder.storage.class_list import class_list, remove_student
from autograder.storage.gradebook import give_points
from autograder.storage.locks import only_one
from autograder.submissions.submission import Submission

Run = Callable[..., tuple[list[Attempt], list[str]]]
pytestmark = pytest.mark.usefixtures("same_grader")


@pytest.fixture
def run(course: Course) -> Run:
    """Give a function that runs the class and returns the attempts and the lines printed."""

    def run_it(*, force: bool = False, sandboxed: bool = True) -> tuple[list[Attempt], list[str]]:
        said = StringIO()
        with Pool(1, sandboxed=sandboxed, make=make_fake) as pool:
            attempts = grade_lesson(course, LESSON, pool, force=force, console=Console(file=said))
        return attempts, said.getvalue().splitlines()

    return run_it


def test_every_submission_ends_in_scores_and_a_page(
    course: Course, run: Run, grades: ReadGrades
) -> None:
    """Right, half, unreadable, absent, and one on which the grader fails: all are recorded."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", double="# half")
    hand_in(course, "carl").write_text("{")
    (course.submitted / "dora" / LESSON).mkdir(parents=True)
    hand_in(course, "emil", halve="# boom")
    attempts, said = run()
    assert [(a.student, a.report.score) for a in attempts] == [
        ("alice", 18.0),
        ("bob", 4.0),
        ("carl", 0.0),
        ("dora", 0.0),
        ("emil", 0.0),
    ]
    nothing = {
        "double-test": (0.0, None, False),
        "halve-test": (0.0, None, False),
        "why": (0.0, None, False),
    }
    assert grades("alice") == {
        "double-test": (8.0, None, False),
        "halve-test": (10.0, None, False),
        "why": (None, None, True),
    }
    assert grades("carl") == nothing
    assert grades("dora") == nothing
    assert grades("emil") == dict.fromkeys(nothing, (None, None, True))
    assert all(course.feedback_page(a.student, LESSON).is_file() for a in attempts)
    assert sorted(line.partition("] ")[2] for line in said[1:6]) == [
        "alice: 18 of 18 points graded, 2 pending",
        "bob: 4 of 20 points",
        f"carl: unreadable ({LESSON}.ipynb is not a notebook)",
        f"dora: absent (there is no file '{LESSON}.ipynb')",
        "emil: nothing graded yet, 20 points pending (grader error)",
    ]
    assert "1 grader error: see reports/grader-errors.log" in said
    errors = (course.reports / "grader-errors.log").read_text()
    assert f"emil, {LESSON}" in errors
    assert "RuntimeError: the grader fell over" in errors


def test_a_second_run_grades_only_what_changed(course: Course, run: Run, grades: ReadGrades) -> None:
    """Unchanged submissions are skipped, unless forced; grader errors are tried again. Each attempt is exported."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob", double="# fault")
    first, _ = run()
    hand_in(course, "carl", **RIGHT)
    second, said = run()
    assert said[0] == f"{LESSON}: 2 submissions to grade, 1 graded before"
    assert second[0] == first[0]
    assert second[1].graded_at > first[1].graded_at
    hand_in(course, "alice", double="# half")
    third, said = run()
    assert third[0].report.score == 4.0
    assert grades("alice")["halve-test"] == (0.0, None, False)
    assert "2 graded before" not in said[0]
    assert run(force=True)[1][0] == f"{LESSON}: 3 submissions to grade"
    exported = (course.reports / "attempts.jsonl").read_text(encoding="utf-8").splitlines()
    attempts = [(each.student, each.report.score) for each in AttemptLog(course.reports)]
    assert [(each["student"], each["report"]["score"]) for each in map(json.loads, exported)] == attempts


@pytest.mark.parametrize(
    ("setting", "cause"),
    [
        ("c.AssignLatePenalties.plugin_class = 'no_such.Rule'", "(No module named 'no_such')"),
        ("c.AssignLatePenalties.plugin_class = 'broken.Rule'", "ValueError: boom, in line 2 of {broken}"),
        ("c.GenerateFeedback.exporter_class = 'no_such.Exporter'", "(No module named 'no_such')"),
        ("c.GenerateFeedback.preprocessors = ['broken.Step']", "ValueError: boom, in line 2 of {broken}"),
        ("c.GenerateFeedback.permissions = 'x'", "expected an int, not the str 'x'."),
    ],
)
def test_a_setting_that_cannot_be_used_stops_the_run_before_anything_is_graded(
    course: Course, monkeypatch: pytest.MonkeyPatch, setting: str, cause: str
) -> None:
    """Those of late work and of pages, too: one line names the file, which lies beside the settings, and the cause."""
    (course.root / "broken.py").write_text("x = 1\nraise ValueError('boom')\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with (course.root / CONFIG).open("a") as config:
        config.write(f"\n{setting}\n")
    hand_in(course, "alice", **RIGHT)
    with (
        Pool(1, sandboxed=True, make=make_fake) as pool,
        pytest.raises(SettingsError, match=rf"{CONFIG} cannot be used: ") as refused,
    ):
        grade_lessons(course, [LESSON], pool)
    assert str(refused.value).endswith(cause.format(broken=course.root / "broken.py"))
    assert "\n" not in str(refused.value)
    assert not course.reports.exists()


def test_the_settings_are_tried_once_for_all_lessons(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a while, and a lesson or an arrival changes nothing of them."""
    asked = list[Course]()
    monkeypatch.setattr(feedback_exporter, "require_settings", asked.append)
    hand_in(course, "alice", **RIGHT)
    with Pool(1, sandboxed=True, make=make_fake) as pool:
        grade_lessons(course, [LESSON, LESSON], pool, console=Console(quiet=True))
    assert asked == [course]


def test_the_time_in_the_folder_is_the_one_that_counts(course: Course, run: Run) -> None:
    """Also if only that changes, or is gone with a second attempt; what has no time is said."""
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    stamp = hand_in(course, "alice", **RIGHT).with_name("timestamp.txt")
    register(course, LESSON)
    assert "late" not in "\n".join(run()[1])  # there is no due date
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        book.find_assignment(LESSON).duedate = datetime(2026, 1, 1)
        book.db.commit()
    expected = [
        ("2026-01-02 10:00:00 UTC", RIGHT, "alice: 0 → 18 points taken off for lateness"),
        ("yesterday", RIGHT, f"alice: not counted as late, because submitted/alice/{LESSON}/timestamp.txt cannot be read"),
        ("2026-01-02 10:00:00 UTC", RIGHT, "alice: 0 → 18 points taken off for lateness"),
        ("", {"double": "# half"}, f"{LESSON}: no timestamp.txt says when these were handed in, so none counts as late: alice"),
    ]
    for text, answers, line in expected:
        hand_in(course, "alice", **answers)
        stamp.write_text(text) if text else stamp.unlink()
        said = run()[1]
        assert line in "\n".join(said)
        assert f"{LESSON}: making 1 feedback page" in said
        with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
            penalty = book.find_submission_notebook(LESSON, LESSON, "alice").late_submission_penalty
        assert penalty == (18.0 if "→ 18" in line else None)


def test_late_work_is_penalised_by_the_score_and_the_due_date_of_now(course: Course, run: Run) -> None:
    """Points given by hand count in the penalty, and a later due date takes it back; both are said."""
    with (course.root / "nbgrader_config.py").open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    path = hand_in(course, "alice", **RIGHT)
    path.with_name("timestamp.txt").write_text("2026-01-02 10:00:00 UTC")
    register(course, LESSON)
    expected = [("", "2026-01-01", 18.0), ("alice: 18 → 19.5 points taken off for lateness", "2026-01-01", 19.5),
                ("alice: 19.5 → 0 points taken off for lateness", "2026-02-01", None)]  # fmt: skip
    for line, due, penalty in expected:
        with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
            book.find_assignment(LESSON).duedate = datetime.fromisoformat(due)
            if line:
                book.find_grade("why", LESSON, LESSON, "alice").manual_score = 1.5
            book.db.commit()
        said = "\n".join(run()[1])
        assert line in said
        assert "making 1 feedback page" in said
        assert ("→" in said) == bool(line)
        with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
            assert book.find_submission_notebook(LESSON, LESSON, "alice").late_submission_penalty == penalty
    assert "lateness" not in "\n".join(run()[1])


def test_a_line_says_what_the_page_says(course: Course, run: Run) -> None:
    """What was given by hand to an answer that stays counts in it, and so does what lateness costs."""
    with (course.root / CONFIG).open("a") as config:
        config.write('\nc.LateSubmissionPlugin.penalty_method = "zero"\n')
    hand_in(course, "alice", **RIGHT)
    assert run()[1][1] == "[1/1] alice: 18 of 18 points graded, 2 pending"
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        give_points(book, LESSON, "alice", "why", 1.5)
    path = hand_in(course, "alice", **{**RIGHT, "double": "# half"})
    assert run()[1][1] == "[1/1] alice: 15.5 of 20 points"
    assert "15.5 of 20 points" in course.feedback_page("alice", LESSON).read_text(encoding="utf-8")
    with Gradebook(f"sqlite:///{course.gradebook}", "transformer") as book:
        book.update_or_create_assignment(LESSON, duedate=datetime(2026, 1, 1))
    path.with_name("timestamp.txt").write_text("2026-01-02 10:00:00 UTC")
    assert run(force=True)[1][1] == "[1/1] alice: 0 of 20 points (15.5 points taken off for lateness)"
    assert "0 of 20 points" in course.feedback_page("alice", LESSON).read_text(encoding="utf-8")


def test_an_interrupted_run_continues(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded completely stays, the rest is graded, and no page is missing."""
    for student in ("alice", "bob", "carl"):
        hand_in(course, student, **RIGHT)
    with monkeypatch.context() as patched:
        patched.setattr(loop, "report_total", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert len(list(AttemptLog(course.reports))) == 1
    shutil.rmtree(course.feedback, ignore_errors=True)
    attempts, said = run()
    assert said[0] == f"{LESSON}: 2 submissions to grade, 1 graded before"
    assert sorted(a.student for a in AttemptLog(course.reports)) == ["alice", "bob", "carl"]
    assert all(course.feedback_page(a.student, LESSON).is_file() for a in attempts)


def test_whoever_interrupts_a_run_reads_how_it_goes_on(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command says that nothing of what was graded is lost, and that no page shows it yet."""
    hand_in(course, "alice", **RIGHT)
    monkeypatch.setattr(loop, "grade_lesson", _interrupt)
    done = CliRunner().invoke(main, ["--course", str(course.root), "grade", "03", "--unsandboxed"])
    assert "what was graded so far is recorded: the same command goes on from there" in done.stderr
    assert "and then makes the feedback pages and reports" in done.stderr
    assert done.exit_code == 1
    done = CliRunner().invoke(main, ["--course", str(course.root), "grade", "03", "--unsandboxed", "--force"])
    assert "recorded: the same command starts again from the first submission; without --force" in done.stderr


@pytest.mark.parametrize("command", [["grade", "03", "--force"], ["regrade", "03", "--apply"]], ids=" ".join)
def test_a_second_run_at_the_same_time_is_refused(course: Course, command: list[str]) -> None:
    """In one line: two would make the same pages at once, and each find those of the other out of date."""
    hand_in(course, "alice", **RIGHT)
    with only_one(course, "grade"):
        done = CliRunner().invoke(main, ["--course", str(course.root), *command, "--unsandboxed"])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("autograder: another 'autograder grade' or 'autograder regrade --apply' is at work on ")
    assert not AttemptLog(course.reports).latest(LESSON)


def test_what_was_recorded_before_an_interruption_is_searched_later(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ended between the scores and the search leaves nobody without a line."""
    hand_in(course, "alice", **RIGHT | {"double": "# half"})
    with monkeypatch.context() as patched:
        patched.setattr(Pool, "find_lines", lambda *_: iter(()))
        run()
    asked: list[str] = []
    monkeypatch.setattr(Pool, "find_lines", lambda _, todo: iter([asked.extend(each.student for each in todo)][1:]))
    assert run()[1][0] == f"{LESSON}: 0 submissions to grade, 1 graded before"
    assert asked == ["alice"]


def _interrupt(*_: object, **__: object) -> str:
    raise KeyboardInterrupt


def test_a_lost_folder_is_written_again(course: Course, run: Run) -> None:
    """A submission counts as done only while its graded notebook is there."""
    hand_in(course, "alice", **RIGHT)
    run()
    shutil.rmtree(course.autograded)
    assert run()[1][0] == f"{LESSON}: 1 submission to grade"
    assert course.autograded_notebook("alice", LESSON).is_file()


def test_scores_of_submissions_that_vanished_stay(
    course: Course, run: Run, grades: ReadGrades
) -> None:
    """A student whose folder is gone is not in the run, and keeps the scores."""
    hand_in(course, "alice", **RIGHT)
    hand_in(course, "bob")
    run()
    shutil.rmtree(course.submitted / "alice")
    attempts, _ = run()
    assert [a.student for a in attempts] == ["bob"]
    assert grades("alice")["double-test"][0] == 8.0


def test_without_submissions_the_run_says_where_they_belong(course: Course, run: Run) -> None:
    """Another lesson's submissions do not count."""
    (course.submitted / "alice" / "04_other").mkdir(parents=True)
    with pytest.raises(CourseError, match=f"submitted/<student>/{LESSON}/{LESSON}.ipynb"):
        run()


def test_a_lesson_that_was_never_released_stops_the_run(course: Course, run: Run) -> None:
    """The error says what to run."""
    hand_in(course, "alice")
    course.release_notebook(LESSON).unlink()
    with pytest.raises(CourseError, match="autograder build"):
        run()


def test_a_page_that_fails_costs_no_points(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run says so and completes."""
    hand_in(course, "alice", **RIGHT)
    monkeypatch.setattr(feedback_exporter, "make_pages", lambda *_, **__: {"alice": "TemplateError: x"})
    attempts, said = run()
    assert attempts[0].report.score == 18.0
    assert said[-1] == "  alice: no feedback page (TemplateError: x); the scores are recorded"


@pytest.mark.parametrize("stops", [FeedbackExporter, GenerateFeedback])
def test_a_full_disk_stops_the_run_at_the_pages(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch, stops: type
) -> None:
    """With one line; the scores are recorded, and the next run makes the page."""
    hand_in(course, "alice", **RIGHT)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "feedback/alice")

    with monkeypatch.context() as patch:
        patch.setattr(stops, "from_filename" if stops is FeedbackExporter else "init_assignment", full)
        with pytest.raises(CourseError, match=r"^cannot read or write feedback/alice: No space left on device; fix"):
            run()
    assert [attempt.report.score for attempt in AttemptLog(course.reports)] == [18.0]
    assert not course.feedback_page("alice", LESSON).exists()
    run()
    assert course.feedback_page("alice", LESSON).is_file()


def test_the_same_file_at_another_time_takes_its_page_along(course: Course, run: Run) -> None:
    """`nbgrader release_feedback` finds the newest secret beside the page."""
    folder = hand_in(course, "alice", **RIGHT).parent
    for when in ("2026-03-01 10:00:00 UTC", "2026-03-02 10:00:00 UTC"):
        (folder / "timestamp.txt").write_text(when)
        (folder / "submission_secret.txt").write_text(f"secret{when[:10]}")
        run()
        page = course.feedback_page("alice", LESSON)
        assert page.with_name("timestamp.txt").read_text() == when
        assert page.with_name("submission_secret.txt").read_text() == f"secret{when[:10]}"
    assert len(list(AttemptLog(course.reports))) == 1


@pytest.mark.parametrize("is_recorded", [False, True])
def test_who_is_removed_meanwhile_is_gone(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch, *, is_recorded: bool
) -> None:
    """Neither recorded again nor missed, whether the run had come to the student or not."""
    for student in ("alice", "bob"):
        hand_in(course, student, **RIGHT)
    grade_all = Pool.grade_all

    def removing(pool: Pool, todo: list[Submission]) -> Iterator[Result]:
        for result in grade_all(pool, todo):
            if not is_recorded:
                remove_student(course, "alice")
            yield result
        remove_student(course, "alice")

    monkeypatch.setattr(Pool, "grade_all", removing)
    attempts, said = run()
    assert [attempt.student for attempt in attempts] == ["bob"]
    assert sum("alice" in line for line in said) == is_recorded
    assert [attempt.student for attempt in AttemptLog(course.reports)] == ["bob"]
    assert [each.student for each in class_list(course)] == ["bob"]
    assert not (course.autograded / "alice").exists()


def test_a_student_who_is_removed_before_the_pages_is_not_missed(
    course: Course, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line about a page that could not be made is for those who want one."""
    hand_in(course, "alice", **RIGHT)
    monkeypatch.setattr(loop, "_find_lines", lambda *_: remove_student(course, "alice") or {})
    assert run()[1][1:] == ["[1/1] alice: 18 of 18 points graded, 2 pending"]


def test_a_score_made_without_a_sandbox_is_replaced(course: Course, run: Run) -> None:
    """Such a submission is graded again once there is a sandbox; the reverse is not true."""
    hand_in(course, "alice", **RIGHT)
    assert run(sandboxed=False)[0][0].sandboxed is False
    assert run(sandboxed=False)[1][0].endswith("1 graded before")
    assert run(sandboxed=True)[0][0].sandboxed is True
    assert run(sandboxed=False)[1][0].endswith("1 graded before")


@pytest.mark.parametrize("folder", ["3", "attention"])
def test_a_folder_that_no_lesson_has_is_left_out_aloud(
    course: Course, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A student's work under a wrong name would otherwise look as if it had not been handed in."""
    monkeypatch.setattr(loop, "grade_lesson", lambda *_, **__: [])
    hand_in(course, "alice", **RIGHT)
    said, pool = StringIO(), Pool(1, sandboxed=True)
    grade_lessons(course, [LESSON], pool, console=Console(file=said))
    assert said.getvalue() == ""
    (course.submitted / "bob" / folder).mkdir(parents=True)
    grade_lessons(course, [LESSON], pool, console=Console(file=said))
    assert said.getvalue() == f"left out, because no lesson has that name: 'bob/{folder}'\n"


def test_a_notebook_in_no_lessons_folder_is_named(course: Course) -> None:
    """As of a student whose folder lacks one level."""
    path = hand_in(course, "bob", **RIGHT)
    path.rename(course.submitted / "bob" / path.name)
    said = StringIO()
    with Pool(1, sandboxed=True, make=make_fake) as pool:
        grade_lessons(course, [], pool, console=Console(file=said))
    assert said.getvalue() == f"left out, because a notebook belongs in submitted/STUDENT/LESSON/: 'bob/{path.name}'\n"
