"""The reference of the tiny lesson."""


def double(x: float) -> float:
    """Twice x."""
    return x + x


def halve(x: float) -> float:
    """Half of x."""
    return x * 0.5
