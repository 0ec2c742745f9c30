"""The command line: build lessons, grade a notebook, grade a class."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from tempfile import mkdtemp
from typing import ParamSpec, TypeVar

import click
from rich.console import Console

from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.text import clean
from autograder.regrade_command import regrade_command

P = ParamSpec("P")
R = TypeVar("R")
BAD_INPUT = 2


def plainly(command: Callable[P, R]) -> Callable[P, R]:
    """Make a command report our own errors in one line, with exit status 2."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (AutograderError, PermissionError) as problem:
            text = " ".join(clean(str(problem)).split())
            click.echo(f"autograder: {text}", err=True)
            sys.exit(BAD_INPUT)

    return wrapped


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--course", type=click.Path(path_type=Path), help="The course folder; by default the nearest."
)
@click.version_option(package_name="transformer-coursework")
@click.pass_context
@plainly
def main(context: click.Context, course: Path | None) -> None:
    """Build the Transformer coursework, and grade it."""
    if course is not None and not course.is_dir():
        raise click.BadParameter(f"no such folder: {course}", param_hint="--course")
    context.obj = course


def _course(context: click.Context) -> Course:
    return Course.find(context.obj)


unsandboxed_option = click.option(
    "--unsandboxed",
    is_flag=True,
    help="Run submissions with your own rights. Only for code you trust; every page will say so.",
)


@main.command()
@click.argument("lessons", nargs=-1)
@click.option(
    "--check", "check_only", is_flag=True, help="Write nothing; fail if something is out of date."
)
@click.pass_context
@plainly
def build(context: click.Context, lessons: tuple[str, ...], *, check_only: bool) -> None:
    """Build the notebooks of LESSONS (all, if none is named) from their texts."""
    from autograder import build as building

    course = _course(context)
    if check_only:
        building.check(course, lessons or None)
        click.echo("everything is up to date")
        return
    written = building.build(course, lessons or None)
    for path in written:
        click.echo(f"wrote {path.relative_to(course.root)}")
    for line in building.unshown(course, written):
        click.echo(line)
    if not written:
        click.echo("everything was up to date")


@main.command("new-exercise")
@click.argument("lesson")
@click.argument("exercise")
@click.pass_context
@plainly
def new_exercise(context: click.Context, lesson: str, exercise: str) -> None:
    """Write the skeleton of a new EXERCISE ("cosine-scores") into LESSON ("03" will do)."""
    from autograder.build.scaffold import new_exercise as scaffold
    from autograder.lecture.live import lesson_name

    course = _course(context)
    for path in scaffold(course, lesson_name(course, lesson), exercise):
        click.echo(f"wrote {path}")
    click.echo("fill them in, then run 'autograder build'; CONTRIBUTING.md leads through it")


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
@click.option("--lesson", help="The lesson, if neither the file's name nor its cells tell.")
@unsandboxed_option
@click.pass_context
@plainly
def check(
    context: click.Context,
    file: Path,
    *,
    as_json: bool,
    lesson: str | None,
    unsandboxed: bool,
) -> None:
    """Grade one notebook FILE and say what is wrong with it."""
    from autograder.grading.pool import make_grader
    from autograder.reports.table import print_report
    from autograder.storage.error_log import describe, log_error
    from autograder.submissions.notebook_file import identify

    course = _course(context)
    name = lesson or identify(course, file)
    with make_grader(course, not unsandboxed) as grader:
        graded = grader.grade(name, file)
    if as_json:
        click.echo(graded.report.model_dump_json(indent=2))
    else:
        print_report(graded.report, Console(), sandboxed=not unsandboxed)
    if graded.tracebacks:
        detail = describe(graded.tracebacks)
        log = log_error(course.reports, datetime.now(UTC), f"{file}, {name}", detail)
        click.echo(f"autograder: the grader itself failed; see {log}", err=True)


@main.command()
@click.argument("lessons", nargs=-1)
@click.option(
    "--workers", type=click.IntRange(1), help="How many to grade at once; by default one per core."
)
@click.option("--force", is_flag=True, help="Grade again what was graded before.")
@unsandboxed_option
@click.pass_context
@plainly
def grade(
    context: click.Context,
    lessons: tuple[str, ...],
    *,
    workers: int | None,
    force: bool,
    unsandboxed: bool,
) -> None:
    """Grade a class: every submission of LESSONS (all that were submitted, if none is named)."""
    from autograder.grading.course_run import grade_lessons, submitted_lessons
    from autograder.reports.words import class_total

    course = _course(context)
    names = list(lessons) or submitted_lessons(course)
    done = grade_lessons(course, names, sandboxed=not unsandboxed, workers=workers, force=force)
    for path in done.paths:
        click.echo(f"wrote {path.relative_to(course.root)}")
    for name in names:
        click.echo(f"{name}: {class_total(done.reports[name].values())}")
    if len(names) > 1:
        every = [report for name in names for report in done.reports[name].values()]
        click.echo(f"{len(names)} lessons: {class_total(every)}")


@main.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where to make it; by default demo/ in the course.",
)
@click.pass_context
@plainly
def demo(context: click.Context, folder: Path | None) -> None:
    """Invent a class of 12, grade it, and say where to look."""
    from autograder.demo import run_demo

    course = _course(context)
    run_demo(course, folder or course.root / "demo", Console())


@main.command()
@click.option(
    "--check", "check_only", is_flag=True, help="Compare with what was pinned; no network."
)
@click.pass_context
@plainly
def vendor(context: click.Context, *, check_only: bool) -> None:
    """Fetch the scripts that pages carry inside them again, with npm."""
    from autograder import vendor as vendoring

    course = _course(context)
    if check_only:
        vendoring.check(course.root)
    else:
        vendoring.fetch(course.root)
    click.echo("every script is the one that was pinned")


@main.command()
@click.argument("lessons", nargs=-1)
@click.pass_context
@plainly
def lectures(context: click.Context, lessons: tuple[str, ...]) -> None:
    """Turn solved LESSONS (all, if none is named) into slides that need no network."""
    from autograder.lecture.live import lesson_name
    from autograder.lecture.slides import write_lectures

    course = _course(context)
    for path in write_lectures(course, tuple(lesson_name(course, name) for name in lessons)):
        click.echo(f"wrote {path.relative_to(course.root)}")


@main.command("open")
@click.argument("lesson")
@click.option("--student", is_flag=True, help="The released lesson, not the solved one.")
@click.option("--no-lab", is_flag=True, help="Only make the copy, and say where it is.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the copy goes.")
@click.pass_context
@plainly
def open_lesson(
    context: click.Context, lesson: str, *, student: bool, no_lab: bool, folder: Path | None
) -> None:
    """Open LESSON ("03" will do) in JupyterLab, on a copy: nothing of the course changes."""
    from autograder.lecture import live

    course = _course(context)
    place = folder or Path(mkdtemp(prefix="lesson-"))
    copy = live.copy_released if student else live.copy_solved
    notebook = copy(course, live.lesson_name(course, lesson), place)
    click.echo(f"a copy to try things on: {notebook}")
    if not no_lab:
        subprocess.run(live.lab_command(notebook), check=False)  # noqa: S603 - our own JupyterLab


@main.command()
@click.pass_context
@plainly
def bundle(context: click.Context) -> None:
    """Write one zip for students: released lessons, what they import, and how to set up."""
    from autograder.bundle.archive import write_bundle

    course = _course(context)
    path = write_bundle(course)
    click.echo(f"wrote {path.relative_to(course.root)} ({path.stat().st_size / 2**20:.1f} MiB)")


main.add_command(regrade_command)


if __name__ == "__main__":
    main()
