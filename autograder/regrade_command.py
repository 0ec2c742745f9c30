"""The command `autograder regrade`."""

from pathlib import Path

import click

from autograder.model.course import Course
from autograder.model.errors import AutograderError
from autograder.model.text import clean

BAD_INPUT = 2


@click.command("regrade")
@click.argument("lesson")
@click.option("--apply", "write", is_flag=True, help="Write the new results; else only show them.")
@click.option(
    "--workers", type=click.IntRange(1), help="How many to grade at once; by default one per core."
)
@click.option(
    "--unsandboxed",
    is_flag=True,
    help="Run submissions with your own rights. Only for code you trust; every page will say so.",
)
@click.pass_obj
def regrade_command(
    place: Path | None, lesson: str, *, write: bool, workers: int | None, unsandboxed: bool
) -> None:
    """Grade LESSON again where a changed check touches it, and show what changes for whom.

    Nothing is written without --apply. Scores and comments given by hand are never overwritten.
    """
    try:
        _regrade(
            Course.find(place), lesson, write=write, workers=workers, sandboxed=not unsandboxed
        )
    except (AutograderError, PermissionError) as problem:
        click.echo(f"autograder: {' '.join(clean(str(problem)).split())}", err=True)
        raise SystemExit(BAD_INPUT) from None


def _regrade(
    course: Course, lesson: str, *, write: bool, workers: int | None, sandboxed: bool
) -> None:
    from autograder.grading import regrade

    done = regrade.regrade(course, lesson, sandboxed=sandboxed, workers=workers)
    changed = [each for each in done if each.differences]
    for each in changed:
        click.echo(f"{each.before.student}: {each.before.report.score:g} → {each.score:g} points")
        for line in each.differences:
            click.echo(f"  {line}")
    graded = f"{len(done)} submission{'' if len(done) == 1 else 's'} graded again"
    click.echo(f"{lesson}: {graded}, {len(changed)} with changes")
    if write:
        for line in regrade.apply(course, lesson, done):
            click.echo(line)
        click.echo("written" if done else "there was nothing to write")
    elif done:
        click.echo("nothing was written; to write this, add --apply")
