"""Private keys for tests: the inputs of checks are drawn from them."""

KEY = b"the key of the tests, which no submission finds"


def keys(count: int) -> list[bytes]:
    """Return this many keys, the same in every run."""
    return [f"key {number}".encode() for number in range(count)]
