"""All checks of the machine, in the order of the table."""

from collections.abc import Iterable, Iterator

from autograder.doctor import course, machine
from autograder.doctor.finding import Check, Finding, Status, problem
from autograder.model.course import Course

CHECKS = (
    Check("Python", machine.python),
    Check("packages", machine.packages),
    Check("torch", machine.torch),
    Check("libseccomp", machine.libseccomp),
    Check("bubblewrap", machine.bubblewrap),
    Check("excluded functions", machine.excluded),
    Check("course folder", course.writable),
    Check("disk", machine.disk),
    Check("memory", machine.memory),
    Check("nbgrader's configuration", course.configuration),
    Check("gradebook", course.gradebook),
    Check("exchange", course.exchange),
    Check("Chromium", machine.chromium),
    Check("fonts", machine.fonts),
    Check("pretrained model", machine.word_vectors),
    Check("Shakespeare", machine.shakespeare),
)


def examine(place: Course, checks: Iterable[Check] = CHECKS) -> Iterator[tuple[str, Finding]]:
    """Yield the name of each check and what it finds. One that raises counts as a problem."""
    for check in checks:
        try:
            yield check.name, check.look(place)
        except Exception as error:  # such as a package that cannot be imported
            said = f"could not be checked: {type(error).__name__}: {error}"
            yield check.name, problem(said, "run 'make setup', and report this if it persists")


def is_fit(found: Iterable[Finding]) -> bool:
    """Return whether nothing that grading needs is broken."""
    return all(each.status != Status.PROBLEM for each in found)
