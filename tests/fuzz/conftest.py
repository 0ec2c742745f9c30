"""How many examples to make: few and the same ones as a rule, many and new ones for `-m fuzz`."""

import pytest
from hypothesis import HealthCheck, settings

PROFILE = "fuzz"
SHORT, LONG = 25, 3000
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
CHECKS += [HealthCheck.function_scoped_fixture]


def pytest_configure(config: pytest.Config) -> None:
    """Register the profile that the modules here ask for when they are imported."""
    chosen = config.getoption("-m").strip() == "fuzz"
    settings.register_profile(
        PROFILE,
        max_examples=LONG if chosen else SHORT,
        derandomize=not chosen,
        database=None,
        deadline=None,
        suppress_health_check=CHECKS,
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what lies here, and give long runs the time they take."""
    for item in items:
        if "fuzz" in item.path.parts[-2:]:
            item.add_marker(pytest.mark.fuzz)
            if settings.get_profile(PROFILE).max_examples == LONG:
                item.add_marker(pytest.mark.timeout(3600))
