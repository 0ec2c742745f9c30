"""The reference of the small lesson."""


def double(x: float) -> float:
    """Twice x."""
    return x + x
