"""`autograder grade`, `regrade`, `check` and `demo`: grade a class, real or invented, or one notebook."""

from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from autograder.commands.base import (
    LESSON,
    Command,
    find_course,
    json_option,
    lessons_argument,
    pass_course,
    unsandboxed_option,
    workers_option,
)
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.text import counted

if TYPE_CHECKING:
    from autograder.grading.cluster import Cluster
    from autograder.grading.grader import GradedSubmission

WRITERS = "grade", "regrade --apply"  # of a whole class; only one of them works at a time


@click.command(
    cls=Command,
    examples={
        "autograder grade": "Grade every lesson that somebody submitted.",
        "autograder grade 03": "Grade lesson 03; earlier results are kept.",
        "autograder grade 03 --force": "Grade all submissions of lesson 03 again.",
        "autograder grade 03 --cluster tls://HOST:8786 --cluster-security certs/": "Grade on a cluster.",
        "autograder grade --json > run.json": "Keep the summary for a program.",
    },
)
@lessons_argument
@workers_option
@click.option(
    "--cluster",
    "address",
    metavar="ADDRESS",
    help="Grade on the workers of this dask scheduler; docs/cluster.md says how.",
)
@click.option(
    "--cluster-security",
    "certificates",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="ca.pem, cert.pem and key.pem for the scheduler; by default those of dask's configuration.",
)
@click.option(
    "--cluster-in-clear",
    "in_clear",
    is_flag=True,
    help="Send the lesson's key and the submissions to the scheduler without encryption.",
)
@click.option("--force", is_flag=True, help="Grade again what was graded before.")
@json_option
@unsandboxed_option
@pass_course
def grade(
    course: Course,
    lessons: tuple[str, ...],
    *,
    workers: int | None,
    address: str | None,
    certificates: Path | None,
    in_clear: bool,
    force: bool,
    as_json: bool,
    unsandboxed: bool,
) -> None:
    """Grade a class, and write its feedback and reports.

    LESSONS are numbers ("03") or names; without any, all lessons with a submission are graded.
    Submissions are in submitted/STUDENT/LESSON/, where 'nbgrader collect' puts them. What was graded
    before is skipped unless the file, the lesson or the grader has changed, so a run that was
    interrupted goes on where it stopped.
    """
    from autograder.grading.cluster import ClusterPool
    from autograder.grading.loop import grade_lessons, submitted_lessons
    from autograder.grading.pool import Pool
    from autograder.reports.terminal import print_summary, summary_json
    from autograder.sandbox.start import require_sandbox
    from autograder.storage.locks import only_one

    names = list(lessons) or submitted_lessons(course)
    cluster = _cluster(address, certificates, in_clear=in_clear)
    if cluster is None and not unsandboxed:
        require_sandbox()
    try:
        with (
            only_one(course, *WRITERS),
            ClusterPool(cluster, workers, sandboxed=not unsandboxed)
            if cluster
            else Pool(workers, sandboxed=not unsandboxed) as pool,
        ):
            done = grade_lessons(course, names, pool, force=force)
    except KeyboardInterrupt:
        goes_on = (
            "the same command starts again from the first submission; without --force it grades only what "
            "is new, and makes the feedback pages and reports"
            if force
            else "the same command goes on from there, and then makes the feedback pages and reports"
        )
        click.echo(f"\nwhat was graded so far is recorded: {goes_on}", err=True)
        raise
    reports = {name: done.reports[name] for name in names if name in done.reports}
    if as_json:
        click.echo(summary_json(course, reports, done.paths))
    else:
        print_summary(course, reports, Console())


def _cluster(address: str | None, folder: Path | None, *, in_clear: bool) -> "Cluster | None":
    """Return the cluster to grade on, None for this machine. Raises CourseError if it is not safe."""
    from autograder.grading.cluster import Cluster

    if address is None:
        if folder is not None or in_clear:
            raise click.UsageError("--cluster-security and --cluster-in-clear need --cluster ADDRESS")
        return None
    cluster = Cluster(address, folder, in_clear)
    cluster.security()
    return cluster


@click.command(
    cls=Command,
    examples={
        "autograder regrade 03": "Show whose scores a changed check of lesson 03 would change.",
        "autograder regrade 03 --apply": "Write the new scores and feedback.",
    },
)
@click.argument("lesson", type=LESSON)
@click.option("--apply", "write", is_flag=True, help="Write the new results; else only show them.")
@workers_option
@unsandboxed_option
@pass_course
def regrade(course: Course, lesson: str, *, write: bool, workers: int | None, unsandboxed: bool) -> None:
    """Grade again what a changed check touches.

    Shows what changes for whom, exercise by exercise, and what is taken off for lateness. Nothing is written
    without --apply. Scores, extra credit and comments given by hand stay.
    """
    from autograder.grading import regrade as again
    from autograder.grading.pool import Pool
    from autograder.sandbox.start import require_sandbox
    from autograder.storage.locks import only_one

    if not unsandboxed:
        require_sandbox()
    alone = only_one(course, *WRITERS) if write else nullcontext()
    with alone, Pool(workers, sandboxed=not unsandboxed) as pool:
        done = again.regrade(course, lesson, pool)
        changed = [each for each in done if each.differences]
        for each in changed:
            was, now = each.points
            click.echo(f"{each.before.student}: {was:g} → {counted(round(now, 2), 'point')}")
            for line in each.differences:
                click.echo(f"  {line}")
        click.echo(f"{lesson}: {counted(len(done), 'submission')} graded again, {len(changed)} with changes")
        if write:
            try:
                for line in again.apply(course, lesson, done, pool):
                    click.echo(line)
            except KeyboardInterrupt:
                click.echo("\nwhat was written so far stays: the same command goes on from there", err=True)
                raise
            click.echo("written" if done else "no scores to write; feedback pages and reports are up to date")
        elif done:
            click.echo("nothing was written; to write this, add --apply")


@click.command(
    cls=Command,
    examples={
        "autograder demo": "Make the class in demo/, and grade it.",
        "autograder demo --folder /tmp/demo": "Make it somewhere else.",
    },
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where to make it; by default demo/ in the course, or here if this is no course.",
)
@click.pass_context
def demo(context: click.Context, folder: Path | None) -> None:
    """Invent a class of 24, grade it, and say where to look.

    The students' notebooks hold model answers with known mistakes in them. One is untouched, and one
    cannot be opened. Outside a course, the lessons are those that came with this program.
    """
    from autograder.demo import run_demo

    try:
        course = find_course(context)
        place = folder or course.root / "demo"
    except CourseError:
        course, place = Course.of_program(), folder or Path("demo").resolve()
    if folder is not None:
        course.claim(folder)
    run_demo(course, place, Console())


@click.command(
    cls=Command,
    examples={
        "autograder check 03_attention.ipynb": "Print what is wrong with a notebook.",
        "autograder check --lesson 03 homework.ipynb": "Grade a file of any name as lesson 03.",
        "autograder check --json 03_attention.ipynb": "Print the whole report as JSON.",
        "autograder check --page mine.html 03_attention.ipynb": "Write the feedback page too.",
    },
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@click.option("--lesson", type=LESSON, help="The lesson, if neither the file's name nor its cells tell.")
@click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the feedback page, as a student gets it, to this HTML file.",
)
@unsandboxed_option
@pass_course
def check(
    course: Course, file: Path, *, as_json: bool, lesson: str | None, page: Path | None, unsandboxed: bool
) -> None:
    """Grade one notebook, and say what is wrong with it.

    Nothing is recorded: neither the gradebook nor the reports change.
    """
    if page and page.suffix.lower() not in (".html", ".htm"):
        raise CourseError(f"a page is an HTML file: expected --page {page.stem}.html, got {page}")
    graded = _graded(course, lesson, file, sandboxed=not unsandboxed)
    if as_json:
        click.echo(graded.report.model_dump_json(indent=2))
    else:
        from autograder.reports.terminal import print_report

        print_report(graded.report, Console(), sandboxed=not unsandboxed)
    if page:
        _write_page(course, graded, page, sandboxed=not unsandboxed)
    if graded.tracebacks:
        from autograder.model.attempt import describe_errors
        from autograder.storage.attempts import log_error

        what = f"{file}, {graded.report.lesson}"
        log = log_error(course.reports, datetime.now(UTC), what, describe_errors(graded.tracebacks))
        click.echo(f"autograder: the grader itself failed; see {log}", err=True)


def _graded(course: Course, lesson: str | None, file: Path, *, sandboxed: bool) -> "GradedSubmission":
    """Grade the file. The sandbox starts first: it imports torch while all else is imported here."""
    from autograder.sandbox.start import start

    with start(sandboxed=sandboxed) as started:
        from autograder.submissions.released import identify

        name = lesson or identify(course, file)
        from autograder.grading.grader import Grader

        with Grader(course, sandboxed=sandboxed, started=started) as grader:
            return grader.grade(name, file, lines=True)


def _write_page(course: Course, graded: "GradedSubmission", page: Path, *, sandboxed: bool) -> None:
    from autograder.model.files import write
    from autograder.reports.student_pages import page_of_one

    made = page_of_one(course, graded.report, graded.notebook, sandboxed=sandboxed)
    write(page, made.encode())
    click.echo(f"wrote {page}", err=True)
