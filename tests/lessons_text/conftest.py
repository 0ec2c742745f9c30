"""Lessons run with stand-ins for earlier ones, so that no process is started beside the tests."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _stand_ins_only() -> Iterator[None]:
    """Ask for stand-ins, and for pictures that need no screen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSEWORK_STAND_INS", "1")
        patch.setenv("MPLBACKEND", "Agg")
        yield
