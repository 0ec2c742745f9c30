"""Every command explains itself, takes lessons by number, and can be completed by the shell."""

import errno
import json
import shlex
import shutil
import sqlite3
from pathlib import Path

import click
import pytest
import sqlalchemy
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from conftest import ROOT

from autograder.cli import COMMANDS, main
from autograder.commands.base import MOST_LINES, Command, LessonType, say_written
from autograder.model.course import Course
from autograder.model.errors import CourseError, MachineError

EXAMPLES = [
    (command, example)
    for command in COMMANDS
    if isinstance(command, Command)
    for example in command.examples
]


def _completions(*words: str, incomplete: str) -> list[str]:
    shell = ShellComplete(main, {}, "autograder", "_AUTOGRADER_COMPLETE")
    return [item.value for item in shell.get_completions(list(words), incomplete)]


def test_no_summary_of_a_command_is_cut_off() -> None:
    """At 80 columns, each is a whole sentence in one line."""
    told = CliRunner().invoke(main, ["--help"], terminal_width=80).output
    listed = told.split("Commands:\n")[1].splitlines()
    assert len(listed) == len(COMMANDS)
    for line in listed:
        assert len(line) <= 80
        assert line.endswith(".")
        assert "..." not in line


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_examples_in_its_help(command: click.Command) -> None:
    """They come last, each with what it does."""
    told = CliRunner().invoke(main, [command.name or "", "--help"]).output
    assert isinstance(command, Command)
    assert command.examples
    shown = told.split("Examples:\n")[1]
    for example, explanation in command.examples.items():
        assert example in shown
        assert explanation.split()[0] in shown
        assert explanation.endswith(".")


@pytest.mark.parametrize(("command", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_every_example_is_a_command_that_parses(command: click.Command, example: str) -> None:
    """Its lessons, options and arguments are those of the command."""
    program, name, *arguments = shlex.split(example.partition(" > ")[0])
    assert (program, name) == ("autograder", command.name)
    parent = click.Context(main)
    parent.params["course"] = ROOT
    context = command.make_context(name, arguments, parent=parent)
    lessons = [param for param in command.params if isinstance(param.type, LessonType)]
    for param in lessons:
        for value in [context.params[param.name or ""]]:
            found = value if isinstance(value, tuple) else (value,)
            assert set(found) <= {"03_attention", "05_encoder", None}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_lesson_goes_by_its_number(command: click.Command) -> None:
    """No parameter called lesson or lessons takes plain text."""
    for param in command.params:
        if param.name in ("lesson", "lessons"):
            assert isinstance(param.type, LessonType)


@pytest.mark.parametrize(
    "arguments", [("grade", "12"), ("build", "12"), ("check", "x", "--lesson", "12")]
)
def test_an_unknown_lesson_gets_one_line(arguments: tuple[str, ...]) -> None:
    """It names those that there are, with exit status 2."""
    result = CliRunner().invoke(main, ["--course", str(ROOT), *arguments])
    assert result.exit_code == 2
    assert result.stderr.startswith("autograder: no lesson '12': there are 01_embeddings")
    assert result.stderr.count("\n") == 1


MACHINE = [
    PermissionError(errno.EACCES, "Permission denied", "gradebook.db"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EROFS, "Read-only file system", "reports"),
    FileExistsError(errno.EEXIST, "File exists", "reports"),
    FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
    shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
    shutil.Error("cannot move a folder into itself"),
    sqlite3.OperationalError("attempt to write a readonly database"),
    sqlalchemy.exc.OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full")),
    MachineError("it is full"),
]


@pytest.mark.parametrize("error", MACHINE, ids=str)
def test_an_error_of_the_machine_names_the_doctor(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, with exit status 2."""

    def fail() -> None:
        raise error

    monkeypatch.setattr(Course, "find", fail)
    result = CliRunner().invoke(main, ["grade"])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("autograder: ")
    assert line.endswith("'autograder doctor' checks this machine")


@pytest.mark.parametrize(
    "arguments",
    [
        ("open", "3", "--no-lab", "--folder", "source"),
        ("open", "3", "--no-lab", "--student", "--folder", "release/03_attention"),
        ("open", "3", "--no-lab", "--folder", "."),  # its pictures would be in images/
        ("lectures", "3", "--folder", "solutions"),
        ("site", "--folder", "coursework/site"),
        ("export", "course", "--folder", "submitted"),
        ("demo", "--folder", "autograded/demo"),
        ("export", "course", "--folder", "keys"),
    ],
    ids=" ".join,
)
def test_nothing_is_written_into_the_courses_own_folders(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are nbgrader's, or hold what lessons are made of: one line says what to do."""
    (tmp_path / "nbgrader_config.py").touch()
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "03_attention.py").touch()
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(main, arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.exception
    assert "/, which the course itself uses: name another folder with --folder" in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "folder", ["results", "key", "gradebook", "exports/week3", "site/slides", "lectures/talk", "talk", ".", ".."]
)
def test_any_other_folder_may_be_written_to(folder: str, tmp_path: Path) -> None:
    """New ones, whatever their name, and those that hold only what a command makes again."""
    Course(tmp_path).claim(tmp_path / folder)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """Behind a link to a stick that is not plugged in, or where nothing can be made."""
    (tmp_path / "stick").symlink_to("nowhere/talk")
    for folder in (tmp_path / "stick", Path("/proc/x")):
        with pytest.raises(CourseError, match="cannot make the folder"):
            Course(tmp_path).claim(folder)


def test_a_linked_folder_is_the_courses_too(tmp_path: Path) -> None:
    """Submissions often lie on another disk."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "submitted").symlink_to("disk")
    with pytest.raises(CourseError, match="submitted/"):
        Course(tmp_path).claim(tmp_path / "submitted" / "week3")


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "No such file", "x"), KeyError("x")], ids=str)
def test_a_bug_keeps_its_traceback(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is nobody's disk."""

    def fail() -> None:
        raise error

    monkeypatch.setattr(Course, "find", fail)
    assert CliRunner().invoke(main, ["grade"]).exception is error


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.name != "demo"], ids=lambda each: each.name)
@pytest.mark.parametrize("named", [True, False])
def test_outside_a_course_every_command_says_what_to_do(
    command: click.Command, named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, with exit status 2, whether the folder was named or is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notacourse").mkdir()
    given = {"lesson": "03", "exercise": "softmax", "file": "x.ipynb", "format": "course"}
    arguments = [given[param.name or ""] for param in command.params if isinstance(param, click.Argument) and param.required]
    before = ["--course", "notacourse"] if named else []
    result = CliRunner().invoke(main, [*before, command.name or "", *arguments])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"autograder: no course {'there' if named else 'here'}: expected nbgrader_config.py in")
    assert line.endswith("name the course folder" if named else "name it with --course")


def test_the_shell_completes_commands_and_lessons(tmp_path: Path) -> None:
    """Lessons come from the course; where there is none, nothing is offered and nothing fails."""
    assert _completions(incomplete="gr") == ["grade"]
    assert _completions("--course", str(ROOT), "grade", incomplete="03") == ["03_attention"]
    assert _completions("--course", str(ROOT), "check", "--lesson", incomplete="05") == [
        "05_encoder"
    ]


def test_a_program_can_read_what_was_written(tmp_path: Path) -> None:
    """`lectures --json --folder` prints one document that names the file."""
    arguments = ["--course", str(ROOT), "lectures", "1", "--json", "--folder", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    (name,) = json.loads(result.stdout)["written"]
    assert Path(name) == tmp_path / "01_embeddings.slides.html"
    assert Path(name).stat().st_size > 100_000


def test_many_files_in_one_folder_get_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A class's files would fill the screen; a few, or those of several folders, are all named."""
    course = Course(Path("/course"))
    many = [course.root / "exports" / f"{number}.json" for number in range(MOST_LINES + 1)]
    say_written(course, many, as_json=False)
    assert capsys.readouterr().out == f"wrote {len(many)} files in exports\n"
    for each in (many[1:], [*many, course.release / "03"]):
        say_written(course, each, as_json=False)
        assert capsys.readouterr().out.count("\n") == len(each)
