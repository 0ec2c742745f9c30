"""How many examples to make: few and the same ones as a rule, or many new ones: `EXAMPLES=3000 pytest tests/fuzz`."""

import os

import pytest
from hypothesis import HealthCheck, settings

PROFILE = "fuzz"
EXAMPLES, FEW = "EXAMPLES", 25
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
CHECKS += [HealthCheck.function_scoped_fixture]


def pytest_configure(config: pytest.Config) -> None:
    """Register the profile that the modules here ask for when they are imported."""
    many = int(os.environ.get(EXAMPLES, 0))
    settings.register_profile(
        PROFILE,
        max_examples=many or FEW,
        derandomize=not many,
        database=None,
        deadline=None,
        suppress_health_check=CHECKS,
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what lies here as a part of the full run, and give long runs the time they take."""
    for item in items:
        if "fuzz" in item.path.parts[-2:]:
            item.add_marker(pytest.mark.full("made-up input"))
            if EXAMPLES in os.environ:
                item.add_marker(pytest.mark.timeout(3600))
