"""All checks of the machine, in the order of the table."""

from collections.abc import Callable, Iterable, Iterator

from autograder.doctor import course, machine
from autograder.doctor.finding import Finding, Status, problem
from autograder.model.course import Course

# what the table calls a check, and the function that looks
NamedCheck = tuple[str, Callable[[Course], Finding]]
CHECKS: tuple[NamedCheck, ...] = (
    ("Python", machine.python),
    ("packages", machine.packages),
    ("torch", machine.torch),
    ("libseccomp", machine.libseccomp),
    ("bubblewrap", machine.bubblewrap),
    ("excluded functions", machine.excluded),
    ("course folder", course.writable),
    ("disk", machine.disk),
    ("memory", machine.memory),
    ("nbgrader's configuration", course.configuration),
    ("gradebook", course.gradebook),
    ("exchange", course.exchange),
    ("Chromium", machine.chromium),
    ("fonts", machine.fonts),
    ("pretrained model", machine.word_vectors),
    ("Shakespeare", machine.shakespeare),
)


def examine(place: Course, checks: Iterable[NamedCheck] = CHECKS) -> Iterator[tuple[str, Finding]]:
    """Yield the name of each check and what it finds. One that raises counts as a problem."""
    for name, look in checks:
        try:
            yield name, look(place)
        except Exception as error:  # such as a package that cannot be imported
            said = f"could not be checked: {type(error).__name__}: {error}"
            yield name, problem(said, "run 'make setup', and report this if it persists")


def is_fit(found: Iterable[Finding]) -> bool:
    """Return whether nothing that grading needs is broken."""
    return all(each.status != Status.PROBLEM for each in found)
