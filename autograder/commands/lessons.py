"""What makes lessons: `build`, `new-exercise`, `suggest-mistakes`, `lectures`, `open`, `site`, `bundle`."""

import json
import os
import signal
import subprocess
from pathlib import Path
from tempfile import mkdtemp

import click

from autograder.commands.base import LESSON, Command, json_option, lessons_argument, pass_course, say_written
from autograder.model.course import Course
from autograder.model.errors import MachineError


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
        click.echo(f"wrote {course.shown(path)}")
    click.echo("fill them in, then run 'autograder build'; CONTRIBUTING.md leads through it")


@click.command(
    "suggest-mistakes",
    cls=Command,
    examples={
        "autograder suggest-mistakes 03": "Print entries for the catalogue of lesson 03.",
        "autograder suggest-mistakes 03 > new.yaml": "Keep them, to choose from.",
    },
)
@click.argument("lesson", type=LESSON)
@pass_course
def suggest_mistakes(course: Course, lesson: str) -> None:
    """Print known mistakes that the catalogue lacks, as YAML.

    They are what two or more students of the class, as it was graded, made wrong alike in LESSON, where a
    small change of their code makes it right and no known mistake was named. Paste an entry into the file
    that its comment names, put title and hint in your own words, and run 'autograder build'.
    """
    from autograder.grading.suggest import suggestions, unnamed_groups
    from autograder.judge.oracle import Oracle
    from autograder.lessons.loading import load_lesson
    from autograder.reports.class_answers import read_answers
    from autograder.storage.attempts import AttemptLog
    from autograder.storage.course_key import lesson_key

    attempts = AttemptLog(course.reports).graded(lesson)
    groups = unnamed_groups(attempts.values())
    if not groups:
        click.echo("# No two students made the same mistake without a name.")
        return
    oracle = Oracle(load_lesson(course, lesson), lesson_key(course, lesson))
    given = read_answers(course, lesson, attempts).given
    answers = {name: {who: each.text for who, each in found.items()} for name, found in given.items()}
    for entry in suggestions(oracle, groups, answers):
        click.echo(entry)


@click.command(
    cls=Command,
    examples={
        "autograder lectures": "Write the slides of every lesson to lectures/.",
        "autograder lectures 03 --folder ~/talk": "Write the slides of lesson 03 to another folder.",
        "autograder lectures 03 --with-exercises": "Show the exercises too, with folded answers.",
    },
)
@lessons_argument
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write them; by default lectures/ in the course.",
)
@click.option(
    "--with-exercises",
    is_flag=True,
    help="Show each exercise as students see it, with its model answer folded.",
)
@json_option
@pass_course
def lectures(
    course: Course, lessons: tuple[str, ...], *, folder: Path | None, with_exercises: bool, as_json: bool
) -> None:
    """Write lessons as slides that need no network.

    LESSONS are numbers ("03") or names; without any, all lessons are written. Each becomes one HTML
    file, made from the solved lesson. The right arrow moves on and opens answers, `n` shows the
    speaker notes, `s` opens them in a window of their own, and `c` opens the code of a slide.
    """
    from autograder.lecture.slides import write_lectures

    if folder is not None:
        course.claim(folder)
    written = write_lectures(course, lessons, folder, exercises=with_exercises)
    say_written(course, written, as_json=as_json)


@click.command(
    "open",
    cls=Command,
    examples={
        "autograder open 03": "Open the solved lesson 03.",
        "autograder open 03 --student": "Open it as students have it.",
    },
)
@click.argument("lesson", type=LESSON)
@click.option("--student", is_flag=True, help="The released lesson, not the solved one.")
@click.option("--no-lab", is_flag=True, help="Only make the copy, and say where it is.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where the copy goes.")
@pass_course
def open_lesson(course: Course, lesson: str, *, student: bool, no_lab: bool, folder: Path | None) -> None:
    """Open a copy of a lesson in JupyterLab.

    LESSON is a number ("03") or a name. Whatever you do to the copy, the course stays as it is. A copy
    that is in --folder already is opened as you left it, and is never written over.
    """
    from autograder.lecture import pages

    if folder is not None:
        course.claim(folder, folder / "images")  # where the pictures of a lesson go
    place = folder or Path(mkdtemp(prefix="lesson-"))
    notebook = pages.copy_path(course, lesson, place, student=student)
    if notebook.exists():
        click.echo(f"your copy as you left it (for a new one, name another --folder): {notebook}")
    else:
        pages.copy_lesson(course, lesson, place, student=student)
        click.echo(f"a copy to try things on: {notebook}")
    if not no_lab:
        _run_lab(pages.lab_command(notebook), notebook)


def _run_lab(command: list[str], notebook: Path) -> None:
    """Run JupyterLab until it ends. Raises MachineError if it did not start, or did not end well.

    Ctrl-C is JupyterLab's alone: it asks whether to shut down.
    """
    with subprocess.Popen(command) as lab:  # noqa: S603 - our own JupyterLab
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            status = lab.wait()
        finally:
            signal.signal(signal.SIGINT, before)
    if status < 0:
        raise MachineError(f"JupyterLab was killed by signal {-status}; your copy is {notebook}")
    if status:
        advice = "if it refused to run as root, be another user; " if os.geteuid() == 0 else ""
        raise MachineError(
            f"JupyterLab ended with status {status}, and said above why; {advice}your copy is {notebook}"
        )


@click.command(
    cls=Command,
    examples={
        "autograder site": "Write all lessons as pages to site/; open site/index.html.",
        "autograder site --folder ~/www/course": "Write them to another folder, such as one on the web.",
    },
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to write them; by default site/ in the course.",
)
@json_option
@pass_course
def site(course: Course, *, folder: Path | None, as_json: bool) -> None:
    """Write the lessons as pages to read in a browser.

    They need no network and no Jupyter. Exercises are open, as students have them, and hints folded;
    each page links to its notebook. The command refuses to write anything that shows an answer, a
    check or a known mistake.
    """
    from autograder.site.build import write_site

    if folder is not None:
        course.claim(folder)
    say_written(course, [write_site(course, folder)], as_json=as_json)


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
        click.echo(json.dumps({"written": [course.shown(path)], "bytes": size}))
    else:
        click.echo(f"wrote {course.shown(path)} ({size / 2**20:.1f} MiB)")
