"""`autograder students`, `export` and `doctor`: the class, its scores for other systems, and this machine."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.commands.base import Command, json_option, lessons_argument, pass_course, say_written
from autograder.exports import FORMATS
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.model.text import MOST_NAMED, clean, clean_name, counted, first_few, is_student_name, some_of

if TYPE_CHECKING:
    from autograder.doctor import Finding
    from autograder.storage.class_list import Listed


@click.command(
    cls=Command,
    examples={
        "autograder students": "List the class, with what each student handed in.",
        "autograder students --import class.csv": "Add the people of a CSV file, or change their names.",
        "autograder students --remove ada": "Remove a student, and all that is kept of them.",
    },
)
@click.option(
    "--import",
    "roster",
    type=click.Path(path_type=Path),
    help="Add everybody in a CSV file: a list of your own, or what Canvas or Moodle export.",
)
@click.option("--remove", metavar="STUDENT", multiple=True, help="Remove this student.")
@click.option("--yes", is_flag=True, help="Remove without asking.")
@json_option
@pass_course
def students(
    course: Course, *, roster: Path | None, remove: tuple[str, ...], yes: bool, as_json: bool
) -> None:
    """List the class, add to it, or remove students.

    The class list is that of nbgrader's gradebook. A student's id is the name of their folder in
    submitted/: the file's student id, or else the login, the e-mail before its @, or the id number.
    Anyone whose e-mail is already on the list keeps the id they have there.
    A student on the list who hands in nothing is reported as absent.

    --remove deletes a student's submissions, feedback, attempts, scores and lines in the reports. Files in
    exports/ and in nbgrader's exchange stay. So do those in downloaded/; running 'nbgrader zip_collect'
    again can bring a submission back.
    """
    if roster and remove:
        raise CourseError("--import and --remove do not go together: run one after the other")
    if roster:
        _import(course, roster, as_json=as_json)
    elif remove:
        _remove(course, remove, sure=yes, as_json=as_json)
    else:
        _show(course, as_json=as_json)


def _import(course: Course, path: Path, *, as_json: bool) -> None:
    from autograder.exports.roster import read_roster
    from autograder.storage.class_list import Listed, add_students, class_list, handed_in

    listed = class_list(course)
    roster = read_roster(path).with_emails(listed)
    there = {each.student for each in listed} | handed_in(course).keys()
    people = [
        Listed(folder, *person.both_names, person.email)
        for folder, person in zip(roster.folders(there), roster.people, strict=True)
    ]
    new, changed = add_students(course, people)
    others = sorted(there - {each.student for each in people})
    for note in roster.notes:
        click.echo(f"note: {note}", err=True)
    if as_json:
        same = sorted({each.student for each in people} - {*new, *(each.after.student for each in changed)})
        differences = [{"before": vars(each.before), "after": vars(each.after)} for each in changed]
        _print_json({"added": new, "changed": differences, "as_before": same, "not_in_file": others})
        return
    click.echo(
        f"{counted(len(new), 'student')} added, {len(changed)} changed, "
        f"{len(people) - len(new) - len(changed)} as before"
    )
    if new:
        click.echo(f"added: {some_of(new)}")
    for line in first_few([*map(str, changed)], MOST_NAMED):
        click.echo(line)
    if others:
        named = some_of(others)
        click.echo(
            f"{counted(len(others), 'student')} of the class not in the file, and left as before: {named}"
        )


def _remove(course: Course, students: Sequence[str], *, sure: bool, as_json: bool) -> None:
    from autograder.reports.publish import publish
    from autograder.storage.attempts import AttemptLog
    from autograder.storage.class_list import class_list, kept_of, remove_student

    listed = {each.student for each in class_list(course)}
    made: dict[str, int] = {}
    for student in students:
        attempts = AttemptLog(course.reports).of_student(student) if course.reports.is_dir() else {}
        made[student] = sum(map(len, attempts.values()))
        if not is_student_name(student) or not (student in listed or attempts or kept_of(course, student)):
            raise CourseError(f"no student '{student}' in this class: 'autograder students' lists everybody")
    for student in made:
        if not sure:
            graded = counted(made[student], "graded attempt")
            what = f"with all submissions, feedback and scores, and with {graded}"
            question = f"Remove {clean_name(student)} {what}? This can't be undone."
            click.confirm(question, abort=True, err=as_json)
        remove_student(course, student)
        publish(course, course.lessons())
        if not as_json:
            click.echo(f"{clean_name(student)} was removed")
    kept = " and ".join(f"{name}/" for name in ("exports", "downloaded") if (course.root / name).is_dir())
    if kept:
        click.echo(f"note: the files in {kept} stay as they are, with what they hold of students", err=True)
    if as_json:
        _print_json({"removed": [*made]})


def _show(course: Course, *, as_json: bool) -> None:
    from autograder.storage.class_list import class_list, handed_in

    listed, work = class_list(course), handed_in(course)
    if as_json:
        rows = [vars(each) | {"handed_in": work.get(each.student, [])} for each in listed]
        _print_json({"students": rows})
        return
    if not listed:
        click.echo("nobody is on the class list: 'autograder students --import class.csv' adds people")
    else:
        Console().print(_table(listed, work))
        click.echo(counted(len(listed), "student"))
    if others := sorted(work.keys() - {each.student for each in listed}):
        click.echo(f"{len(others)} handed in, and not on the list until graded: {some_of(others)}")


def _table(listed: "list[Listed]", work: dict[str, list[str]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("Student", "Name", "E-mail", "Handed in"):
        table.add_column(title, overflow="fold")
    for each in listed:
        lessons = " ".join(name.partition("_")[0] for name in work.get(each.student, []))
        table.add_row(*(Text(clean(text)) for text in (each.student, each.full_name, each.email, lessons)))
    return table


def _print_json(document: Mapping[str, object]) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


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

    if folder is not None:
        course.claim(folder)
    people = read_roster(roster) if roster else Roster()
    wanted = Wanted(lessons, people, partial, sandboxed=not unsandboxed)
    paths, notes = write_export(course, format, wanted, folder or course.exports)
    say_written(course, paths, as_json=as_json)
    for note in notes:
        click.echo(f"note: {note}", err=True)


COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command(
    cls=Command,
    examples={
        "autograder doctor": "Print a table, and what to do.",
        "autograder doctor --json": "Print the same for a program.",
    },
)
@json_option
@pass_course
def doctor(course: Course, *, as_json: bool) -> None:
    """Check this machine, and say what to do.

    A problem is something without which nothing can be graded; with one, the exit status is 1. A warning
    concerns something else, such as pictures or the data of a lesson.
    """
    from autograder.doctor import examine, is_fit

    found = dict(examine(course))
    if as_json:
        checks = [
            {"name": name, "status": each.status.value, "said": each.said, "fix": each.fix}
            for name, each in found.items()
        ]
        document = {"ok": is_fit(found.values()), "checks": checks}
        _print_json(document)
    else:
        _print(found, Console())
    sys.exit(0 if is_fit(found.values()) else 1)


def _print(found: "dict[str, Finding]", console: Console) -> None:
    """Print the table, then what to do, each command whole in a line so that it can be copied."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, each in found.items():
        colour = COLOURS[each.status]
        table.add_row(name, Text(each.status.value, colour), Text(each.said, overflow="fold"))
    console.print(table)
    for name, each in found.items():
        if each.fix:
            console.print(Text.assemble((f"{name}: ", "bold"), each.fix), soft_wrap=True)
