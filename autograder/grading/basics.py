"""The imports that every lesson takes for granted, whatever a submission did to them."""

from collections.abc import Iterable

from autograder.submissions.align import Part, Role

BASICS = {
    "math": "import math",
    "torch": "import torch",
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
}
IMPORT_BASICS = "\n".join(BASICS.values())
RESTORE_BASICS = "\n".join(f"try: {name}\nexcept NameError: {line}" for name, line in BASICS.items())


def with_basics(parts: Iterable[Part]) -> list[Part]:
    """Put the basic imports first, and before each test restore those that were deleted."""
    found = [Part(Role.LOCKED, IMPORT_BASICS)]
    for part in parts:
        if part.role is Role.TEST:
            found.append(Part(Role.LOCKED, RESTORE_BASICS))
        found.append(part)
    return found
