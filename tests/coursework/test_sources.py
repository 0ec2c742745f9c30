"""What an answer uses of a notebook: read from cells as they are saved, with IPython's own lines in them."""

from types import FunctionType

import pytest

from coursework.cells import magic_that_drops
from coursework.instant.sources import names_lost, names_read

ANSWER = "%%time\ndef f(x):\n    return helper(x)\n"


def _of_a_cell(name: str) -> FunctionType:
    """Return a function that a cell has defined."""
    scope: dict[str, FunctionType] = {}
    exec(compile(f"def {name}(x):\n    return x", f"/tmp/ipykernel_1/{name}.py", "exec"), scope)
    return scope[name]


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> FunctionType:
    """A function whose cell's text is known."""
    monkeypatch.setattr("coursework.instant.sources.linecache.getlines", lambda _: ["def helper(x):\n"])
    return _of_a_cell("helper")


def test_a_helper_is_lost_below_a_magic_too(helper: FunctionType) -> None:
    """The line of a magic hides none of the names below it."""
    assert "helper" in set(names_read(ANSWER))
    assert names_lost(ANSWER, [ANSWER], {"helper": helper}) == ["helper"]


@pytest.mark.parametrize("line", ["for n in (10, 100):\n    %timeit helper(n)", "files = !ls", "helper?"])
def test_no_helper_is_called_lost_whose_cell_only_ipython_understands(helper: FunctionType, line: str) -> None:
    """Such a cell may bind any name in it; grading runs it."""
    saved = f"def helper(x):\n    return x\n{line}"
    assert names_lost(ANSWER, [saved, ANSWER], {"helper": helper}) == []


def test_magics_that_keep_nothing_are_known() -> None:
    """What runs in another process or not at all defines nothing here; what is timed once does."""
    dropping = ("timeit -n1", "python3", "script bash", "writefile a.py", "file a.py")
    assert [magic_that_drops(f"%%{each}\nx = 1") for each in dropping] == [f"%%{each.split()[0]}" for each in dropping]
    assert not any(magic_that_drops(f"%%{each}\nx = 1") for each in ("time", "capture", "prun"))
