"""`autograder regrade`: grade again what a changed check touches."""

import click

from autograder.commands.base import LESSON, Command, pass_course, unsandboxed_option
from autograder.model.course import Course


@click.command(
    cls=Command,
    examples={
        "autograder regrade 03": "Show whose scores a changed check of lesson 03 would change.",
        "autograder regrade 03 --apply": "Write the new scores and feedback.",
    },
)
@click.argument("lesson", type=LESSON)
@click.option("--apply", "write", is_flag=True, help="Write the new results; else only show them.")
@click.option("--workers", type=click.IntRange(1), help="How many to grade at once; by default one per core.")
@unsandboxed_option
@pass_course
def regrade(course: Course, lesson: str, *, write: bool, workers: int | None, unsandboxed: bool) -> None:
    """Grade again what a changed check touches.

    Shows what changes for whom, exercise by exercise. Nothing is written without --apply. Scores and
    comments given by hand are never overwritten.
    """
    from autograder.grading import regrade as again
    from autograder.grading.pool import Pool
    from autograder.sandbox.start import require_sandbox

    if not unsandboxed:
        require_sandbox()
    pool = Pool(workers, sandboxed=not unsandboxed)
    done = again.regrade(course, lesson, pool)
    changed = [each for each in done if each.differences]
    for each in changed:
        click.echo(f"{each.before.student}: {each.before.report.score:g} → {each.score:g} points")
        for line in each.differences:
            click.echo(f"  {line}")
    graded = f"{len(done)} submission{'' if len(done) == 1 else 's'} graded again"
    click.echo(f"{lesson}: {graded}, {len(changed)} with changes")
    if write:
        for line in again.apply(course, lesson, done, pool):
            click.echo(line)
        click.echo("written" if done else "there was nothing to write")
    elif done:
        click.echo("nothing was written; to write this, add --apply")
