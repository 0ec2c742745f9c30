"""The pins of requirements.txt and the ranges of pyproject.toml name the same packages, and agree."""

import tomllib

import pytest
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINES = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
PINS = [Requirement(line.partition("#")[0]) for line in LINES if line.partition("#")[0].strip()]
RANGES = {
    canonicalize_name(each.name): each
    for each in map(Requirement, PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"])
}


def test_both_name_the_same_packages() -> None:
    """Neither has one that the other lacks."""
    assert {canonicalize_name(pin.name) for pin in PINS} == set(RANGES)


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: pin.name)
def test_a_pin_is_within_its_range(pin: Requirement) -> None:
    """What is tested is what is declared to work."""
    (exact,) = pin.specifier
    assert exact.operator == "=="
    assert exact.version in RANGES[canonicalize_name(pin.name)].specifier


def test_the_newest_torch_may_be_used() -> None:
    """Torch has no upper bound: the grader tests what it needs of it when it starts."""
    for version in ("2.13.0", "2.15.0", "3.0"):
        assert version in RANGES["torch"].specifier
    assert "2.12.1" not in RANGES["torch"].specifier
