"""What every run inherits from the warm process, which makes it once because it takes long to make."""

import gc

from IPython.core.interactiveshell import InteractiveShell

from autograder.probe import example  # noqa: F401 - an operation, loaded early
from autograder.probe.originals import Originals
from autograder.probe.shell import QuietShell
from autograder.probe.streams import replace_input
from coursework.engine import operations  # noqa: F401 - loaded early


class Inherited:
    """The shell that cells run in, and what is known of Python and torch before a student's code runs."""

    originals: Originals
    own: Originals  # those that the probe itself relies on

    def __init__(self, shell: QuietShell) -> None:
        """Remember what is loaded so far."""
        self.shell = shell
        replace_input()
        self.remember()

    def remember(self) -> None:
        """Take everything that is loaded by now as genuine. To be called after every import."""
        self.originals, self.own = Originals(InteractiveShell), Originals(whole=False)
        gc.freeze()  # so that no collection writes to memory that the runs share
