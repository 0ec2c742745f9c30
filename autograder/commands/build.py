"""`autograder build`, `new-exercise` and `vendor`: what authors of lessons use."""

import click

from autograder.commands.base import (
    LESSON,
    Command,
    json_option,
    lessons_argument,
    pass_course,
    say_written,
    shown,
)
from autograder.model.course import Course


@click.command(
    cls=Command,
    examples={
        "autograder build": "Build whatever is out of date.",
        "autograder build 03": "Build the notebooks of lesson 03.",
        "autograder build --check": "Exit with status 2 if a notebook is out of date.",
    },
)
@lessons_argument
@click.option("--check", "check_only", is_flag=True, help="Write nothing; fail if something is out of date.")
@json_option
@pass_course
def build(course: Course, lessons: tuple[str, ...], *, check_only: bool, as_json: bool) -> None:
    """Build lessons' notebooks from their texts.

    LESSONS are numbers ("03") or names; without any, all lessons are built. The text is first held
    against the checks and the known mistakes, and a contradiction is reported with its file and line.
    """
    from autograder.authoring import build as building

    if check_only:
        building.check(course, lessons or None)
        written = []
    else:
        written = building.build(course, lessons or None)
    say_written(course, written, as_json=as_json)
    for line in (*building.unshown(course, written), *building.times(course, written)):
        click.echo(line, err=as_json)
    if not written and not as_json:
        click.echo(f"everything {'is' if check_only else 'was'} up to date")


@click.command(
    "new-exercise",
    cls=Command,
    examples={"autograder new-exercise 03 cosine-scores": "Begin the exercise cosine-scores in lesson 03."},
)
@click.argument("lesson", type=LESSON)
@click.argument("exercise")
@pass_course
def new_exercise(course: Course, lesson: str, exercise: str) -> None:
    """Write the skeleton of a new exercise.

    The cells go into the text of LESSON, after its last exercise. Two more files hold the checks and
    the known mistakes of EXERCISE, an id in lower case such as "cosine-scores".
    """
    from autograder.authoring.scaffold import new_exercise as scaffold

    for path in scaffold(course, lesson, exercise):
        click.echo(f"wrote {shown(course, path)}")
    click.echo("fill them in, then run 'autograder build'; CONTRIBUTING.md leads through it")


@click.command(
    cls=Command,
    examples={
        "autograder vendor": "Fetch every script again, and check its hash.",
        "autograder vendor --check": "Compare the scripts in the repository with their hashes.",
    },
)
@click.option("--check", "check_only", is_flag=True, help="Compare with what was pinned; no network.")
@pass_course
def vendor(course: Course, *, check_only: bool) -> None:
    """Fetch the scripts inside our pages again, with npm.

    Slides and views of attention carry these scripts, so that they open without a network.
    """
    from autograder import vendor as vendoring

    if check_only:
        vendoring.check(course.root)
    else:
        vendoring.fetch(course.root)
    click.echo("every script is the one that was pinned")
