"""`autograder bundle`: the lessons for students without nbgrader."""

import json

import click

from autograder.commands.base import Command, json_option, pass_course, shown
from autograder.model.course import Course


@click.command(cls=Command, examples={"autograder bundle": "Write dist/transformer-lessons.zip."})
@json_option
@pass_course
def bundle(course: Course, *, as_json: bool) -> None:
    """Write one zip for students, with all they need.

    It holds the released lessons, what they import, and one page on how to set up. The command refuses
    to write anything that shows an answer, a check or a known mistake.
    """
    from autograder.bundle.archive import write_bundle

    path = write_bundle(course)
    size = path.stat().st_size
    if as_json:
        click.echo(json.dumps({"written": [shown(course, path)], "bytes": size}))
    else:
        click.echo(f"wrote {shown(course, path)} ({size / 2**20:.1f} MiB)")
