"""Code of the stand-ins reports that it runs, wherever it goes, and does what it did before."""

import importlib.util
import threading
import types
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from autograder.probe import self_reports
from autograder.probe.self_reports import (
    PLACEHOLDER,
    have_module_reported,
    is_copied,
    tell_of_copied_text,
    tell_of_copies,
)
from autograder.probe.stand_in_code import functions_in
from coursework import stand_ins, stand_ins_models

SOURCE = '''



def double(x):
    """Double it."""
    return 2 * x


def fails():
    raise ValueError("line 11")


def adder(n):
    return lambda x: x + n


class Part:
    """Has one of each kind."""

    def __init__(self):
        self.n = 3

    @staticmethod
    def static():
        return 1

    @property
    def size(self):
        return self.n
'''


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, list[str]]:
    """Give a module whose functions report, and the names of what has run."""
    path = tmp_path / "parts.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("parts", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names: list[str] = []
    for kept in ("_reporting", "_copied", "_by_parts"):
        monkeypatch.setattr(self_reports, kept, {})
    for kept in ("_instructions", "_functions"):
        monkeypatch.setattr(self_reports, kept, set())
    have_module_reported(module, lambda code: names.append(code.co_qualname))
    return module, names


def test_every_function_reports_and_returns_what_it_did(ran: tuple[ModuleType, list[str]]) -> None:
    """Functions, methods, static methods, properties, and what a function makes."""
    parts, names = ran
    built = parts.Part()
    assert (parts.double(4), parts.adder(1)(2), built.size, built.static()) == (8, 3, 3, 1)
    assert names == ["Part.__init__", "double", "adder", "adder", "Part.size", "Part.static"]


def test_docstrings_and_lines_stay_as_they_were(ran: tuple[ModuleType, list[str]]) -> None:
    """A student reads both: in `help`, and in a traceback."""
    parts, _ = ran
    assert (parts.double.__doc__, parts.double.__code__.co_firstlineno) == ("Double it.", 5)
    with pytest.raises(ValueError, match="line 11") as raised:
        parts.fails()
    assert raised.traceback[-1].lineno == 10  # counted from 0


def test_a_copy_of_the_code_reports_as_well(ran: tuple[ModuleType, list[str]]) -> None:
    """Under another name, from another file, and in another thread."""
    parts, names = ran
    code = parts.double.__code__.replace(co_name="mine", co_qualname="mine", co_filename="mine")
    copy = types.FunctionType(code, {})
    thread = threading.Thread(target=copy, args=(1,))
    thread.start()
    thread.join()
    assert copy(3) == 6
    assert names == ["double", "double"]


def test_code_that_is_made_anew_is_told_of(ran: tuple[ModuleType, list[str]]) -> None:
    """Compiled from the same text it does not report, whatever file it claims to be from."""
    _, names = ran
    tell_of_copies(compile(SOURCE, "mine", "exec"))
    assert set(names) == {"double", "fails", "adder", "Part.__init__", "Part.static", "Part.size"}
    names.clear()
    tell_of_copies(compile("def double(x):\n    return 2 * x", "mine", "exec"))
    tell_of_copies("double")
    assert names == []


def test_code_that_is_put_together_is_known_by_its_instructions(ran: tuple[ModuleType, list[str]]) -> None:
    """Without its constants it would not report."""
    parts, _ = ran
    assert is_copied(parts.double.__code__.co_code)
    assert not is_copied((lambda x: x - 1).__code__.co_code)


@pytest.mark.parametrize("module", [stand_ins, stand_ins_models], ids=lambda module: module.__name__)
def test_every_function_of_the_stand_ins_gets_the_call(module: ModuleType) -> None:
    """Also of those that are added later: they are found by name and line."""
    codes = self_reports._code_with_calls(module)
    for function in functions_in(module):
        code: CodeType = codes[function.__code__.co_name, function.__code__.co_firstlineno]
        assert PLACEHOLDER in code.co_consts, code.co_qualname


def test_text_that_runs_from_another_file_is_told_whatever_its_lines(
    ran: tuple[ModuleType, list[str]],
) -> None:
    """Lines above it move it, and what it is beside changes its instructions."""
    _, told = ran
    tell_of_copied_text(compile(f"import math\n\n{SOURCE}", "mine", "exec"))
    assert set(told) == {"double", "fails", "adder", "Part.__init__", "Part.static", "Part.size"}
    told.clear()
    tell_of_copied_text(compile("def double(x):\n    return x + x", "mine", "exec"))
    assert told == []
