"""The settings of a course are read, or the line that stops them is named."""

import sys
from pathlib import Path

import pytest

from autograder.model.course import CONFIG, Course
from autograder.model.errors import CourseError, SettingsError
from autograder.model.nbgrader_config import database_url, settings
from autograder.storage.exchange import CourseExchange


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ('c.CourseDirectory.db_url = os.environ["NOT_SET_HERE"]', "KeyError: 'NOT_SET_HERE'"),
        ("c.Exchange.root = ", "SyntaxError: invalid syntax"),
        ("import not_a_module_of_ours", "ModuleNotFoundError: No module named 'not_a_module_of_ours'"),
    ],
)
def test_the_line_that_stops_the_settings_is_named(tmp_path: Path, second: str, says: str) -> None:
    """Such as a password's variable that is not set: one line, which every command reports."""
    path = tmp_path / CONFIG
    path.write_text(f"import os\n{second}\n")
    with pytest.raises(CourseError) as stopped:
        settings(Course(tmp_path))
    assert str(stopped.value).startswith(f"line 2 of {path} stops with {says}")
    assert "\n" not in str(stopped.value)


def test_an_error_in_an_imported_file_has_the_line_of_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file lies beside it, as nbgrader finds it too; the message of its error names it and the line in there."""
    (tmp_path / "not_python.py").write_text("x = 1\n\n\ny = (\n")
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SettingsError) as stopped:
        settings(_course(tmp_path, "import not_python"))
    assert str(stopped.value).startswith(f"line 2 of {tmp_path / CONFIG} stops with SyntaxError: ")
    assert str(stopped.value).endswith("(not_python.py, line 4)")


def _course(folder: Path, line: str) -> Course:
    (folder / CONFIG).write_text(f"c = get_config()\n{line}\n")
    return Course(folder)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("LineSearch.seconds", '"abc"', "a number of seconds, 0 or more, got 'abc'"),
        ("LineSearch.seconds", "-1", "a number of seconds, 0 or more, got -1"),
        ("LineSearch.seconds", 'float("nan")', "a number of seconds, 0 or more, got nan"),
        ("LineSearch.seconds", "True", "a number of seconds, 0 or more, got True"),
        ("CanvasExport.columns", '"x"', "as in {\"03_attention\": \"Looking back (88123)\"}, got 'x'"),
        ("CanvasExport.columns", '{"03_attention": 5}', "got {'03_attention': 5}"),
        ("ClassReport.formgrader", "5", "an address in quotes, got 5"),
        ("CourseDirectory.course_id", "5", "a name in quotes, got 5"),
        ("CourseDirectory.db_url", "None", "an address in quotes, got None"),
        ("CourseDirectory.submitted_directory", '"handed"', "'submitted', the folder that all commands use, got 'handed'"),
        ("Totals.count_extra", '"no"', "True or False, got 'no'"),
        ("ClassReport.formgrader", "[0] * 999", f"got {str([0] * 999)[:79]}…"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(tmp_path: Path, name: str, value: str, expected: str) -> None:
    """In one line with the setting's name, whichever command reads the settings, and whatever it needs of them."""
    with pytest.raises(SettingsError) as refused:
        settings(_course(tmp_path, f"c.{name} = {value}"))
    assert str(refused.value).startswith(f"c.{name} in {tmp_path / CONFIG} should be ")
    assert str(refused.value).endswith(expected)


def test_a_setting_of_ours_that_is_misspelt_is_refused(tmp_path: Path) -> None:
    """Else it would be passed over, and the course believe that it is set."""
    with pytest.raises(SettingsError, match=r"c\.LineSearch\.secnds in .* is no setting: there are .*c\.LineSearch\.seconds"):
        settings(_course(tmp_path, "c.LineSearch.secnds = 1"))


@pytest.mark.parametrize("value", ["0", "2", "0.5"])
def test_a_value_that_can_be_used_stays(tmp_path: Path, value: str) -> None:
    """Whole numbers too."""
    assert settings(_course(tmp_path, f"c.LineSearch.seconds = {value}")).LineSearch.seconds == float(value)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense", "its form is postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("postgresql://ada:se:cret@host:secret/x", "its form is postgresql://USER:PASSWORD@HOST/DATABASE"),
        ("nosuch://ada:secret@host/x", "Can't load plugin: sqlalchemy.dialects:nosuch"),
    ],
)
def test_an_address_of_the_gradebook_that_cannot_be_read_is_refused(
    tmp_path: Path, address: str, said: str
) -> None:
    """Without the address, which may hold a password."""
    with pytest.raises(SettingsError, match=r"c\.CourseDirectory\.db_url in .* cannot be used: ") as refused:
        database_url(_course(tmp_path, f"c.CourseDirectory.db_url = {address!r}"))
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("c.Exchange.root = 5", "The 'root' trait of an ExchangeCollect instance expected a unicode string"),
        ("c.CourseDirectory.groupshared = 5", "The 'groupshared' trait of a CourseDirectory instance expected a boolean"),
        ("c.ExchangeFactory.collect = 'no.such'", "ExchangeFactory instance must be a type, but 'no.such' could not"),
    ],
)
def test_what_nbgrader_refuses_is_one_line(tmp_path: Path, line: str, said: str) -> None:
    """In nbgrader's words, without an address in memory."""
    with pytest.raises(SettingsError) as refused:
        CourseExchange(_course(tmp_path, line))
    assert said in str(refused.value)
    assert "0x" not in str(refused.value)


def test_another_file_for_the_gradebook_is_refused(tmp_path: Path) -> None:
    """The commands of nbgrader would write to it, and ours to gradebook.db."""
    with pytest.raises(SettingsError, match=r"names another file than .*gradebook\.db, which all commands use"):
        database_url(_course(tmp_path, 'c.CourseDirectory.db_url = "sqlite:////tmp/other.db"'))
    with pytest.raises(SettingsError, match="names another file"):  # that of last year's course, say
        database_url(_course(tmp_path, 'c.CourseDirectory.db_url = "sqlite:////tmp/last/gradebook.db"'))
    url = database_url(_course(tmp_path, f'c.CourseDirectory.db_url = "sqlite:///{tmp_path}/gradebook.db"'))
    assert url.startswith("sqlite:///")
    url = database_url(_course(tmp_path, 'c.CourseDirectory.db_url = "sqlite:///gradebook.db"'))
    assert url.startswith("sqlite:///")
