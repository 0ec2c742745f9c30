"""`autograder export`: scores and feedback for other systems."""

from pathlib import Path

import click

from autograder.commands.base import Command, json_option, lessons_argument, pass_course, say_written
from autograder.exports import FORMATS
from autograder.model.course import Course


@click.command(
    cls=Command,
    examples={
        "autograder export course": "Write one CSV file over all lessons.",
        "autograder export canvas --roster grades.csv": "Fill in the gradebook exported from Canvas.",
        "autograder export moodle 03 --roster worksheet.csv": "Fill in Moodle's grading worksheet.",
        "autograder export gradescope-autograder 03": "Make the zip that runs our checks there.",
    },
)
@click.argument("format", type=click.Choice(FORMATS))
@lessons_argument
@click.option(
    "--roster",
    type=click.Path(path_type=Path),
    help="A CSV file with names, e-mails and ids. For Canvas and Moodle: the file they export.",
)
@click.option("--partial", is_flag=True, help="Where points are pending, write the points graded so far.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write; by default exports/ in the course.",
)
@click.option(
    "--unsandboxed",
    is_flag=True,
    help="For gradescope-autograder, where bubblewrap cannot run: every result will say so.",
)
@json_option
@pass_course
def export(
    course: Course,
    lessons: tuple[str, ...],
    *,
    format: str,
    roster: Path | None,
    partial: bool,
    folder: Path | None,
    unsandboxed: bool,
    as_json: bool,
) -> None:
    """Write scores and feedback for another system.

    FORMAT is nbgrader, canvas, moodle, gradescope, course (one CSV file of everything), or
    gradescope-autograder (a zip that grades submissions on Gradescope). LESSONS are numbers ("03") or
    names; without any, all lessons that were graded are exported.

    Scores given by hand are in the files, and penalties for lateness as nbgrader's plugin set them.
    A score with pending points is left empty, not written as a lower one.
    """
    from autograder.exports.export import Wanted
    from autograder.exports.export import export as write_export
    from autograder.exports.roster import Roster, read_roster

    people = read_roster(roster) if roster else Roster()
    wanted = Wanted(lessons, people, partial, sandboxed=not unsandboxed)
    paths, notes = write_export(course, format, wanted, folder or course.exports)
    say_written(course, paths, as_json=as_json)
    for note in notes:
        click.echo(f"note: {note}", err=True)
