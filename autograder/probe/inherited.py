"""What every run inherits from the warm process, which makes it once because it takes long to make."""

import gc
from collections.abc import Mapping

from IPython.core.interactiveshell import InteractiveShell

from autograder.probe import (  # noqa: F401 - operations, loaded early
    detours,
    dropout,
    example,
    finished_layers,
    functions,
    handed_over,
    modules,
    properties,
)
from autograder.probe.originals import Originals
from autograder.probe.shell import QuietShell
from autograder.probe.stand_in_code import NO_STAND_INS, StandIns, stand_ins_by_lesson
from autograder.probe.streams import replace_input


class Inherited:
    """The shell that cells run in, and what is known of Python and torch before a student's code runs."""

    originals: Originals
    _stand_ins: Mapping[str, StandIns]

    def __init__(self, shell: QuietShell) -> None:
        """Install what watches library calls, and remember what is loaded so far."""
        self.shell = shell
        replace_input()
        detours.install()
        finished_layers.install()
        self.remember()

    def remember(self) -> None:
        """Take everything that is loaded by now as genuine. To be called after every import."""
        finished_layers.look_again()
        handed_over.remember()
        self._stand_ins = stand_ins_by_lesson()
        self.originals = Originals(InteractiveShell)
        gc.freeze()  # so that no collection writes to memory that the runs share

    def refused(self, lesson: str) -> StandIns:
        """Return a lesson's stand-ins, given and refused; none for ''."""
        return self._stand_ins.get(lesson, NO_STAND_INS)
