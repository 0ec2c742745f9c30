"""Code is recognised by what it is, as fast the second time as any object by its id."""

from types import CodeType

import pytest

from autograder.probe import stand_in_code
from autograder.probe.stand_in_code import CodeSet


def code(text: str) -> CodeType:
    """Return the code of an expression."""
    return compile(text, "<test>", "eval")


def test_an_equal_code_object_is_in_the_set_and_another_is_not() -> None:
    """Before and after it was asked for; a copy is as good as the object itself."""
    ours, copy, other = code("1 + x"), code("1 + x"), code("2 + x")
    codes = CodeSet([ours])
    for _ in range(2):
        assert ours in codes
        assert copy in codes
        assert other not in codes
    assert None not in codes


def test_nothing_is_mixed_up_when_memory_is_used_again() -> None:
    """A new object may get the id of one that is gone; what was asked about is kept so that it cannot."""
    codes = CodeSet([code("1 + x")])
    for number in range(1000):
        assert (code(f"{number % 2} + x") in codes) == (number % 2 == 1)


def test_it_remembers_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code made in a loop takes no memory without end, and is still told apart."""
    monkeypatch.setattr(stand_in_code, "MOST_REMEMBERED", 10)
    codes = CodeSet([code("1 + x")])
    kept = [code(f"{number} + x") for number in range(100)]
    assert [each in codes for each in kept] == [number == 1 for number in range(100)]
    assert len(codes._asked) <= 10
