"""The IPython that a submission's cells run in: silent, without history, and forgiving about magics."""

import contextlib
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from coursework.source_names import LINE_MAGICS


class QuietShell(InteractiveShell):  # type: ignore[misc] # IPython is not typed for us
    """An IPython that prints nothing and runs no shell command."""

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        """Run a line magic that a later cell could need. Any other, and one that fails, does nothing."""
        if magic_name not in LINE_MAGICS:
            return None
        with contextlib.suppress(Exception):
            return super().run_line_magic(magic_name, line, _stack_depth=_stack_depth + 1)
        return None

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        """Run a cell under its magic, or as plain Python if there is no such magic."""
        if self.find_cell_magic(magic_name) is None:
            return self.ex(self.transform_cell(cell))
        return super().run_cell_magic(magic_name, line, cell)

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the grader reports exceptions itself."""

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        """Print nothing: the grader reports syntax errors itself."""

    def ask_exit(self) -> None:
        """Ignore `exit` and `quit`."""

    def system(self, cmd: str) -> None:
        """Run no shell command: in the sandbox there is nothing to install or to look at."""

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:  # noqa: ARG002 - IPython's signature
        """Return the output of a command that was not run: none."""
        return [] if split else ""


def make_shell() -> QuietShell:
    """Return a shell for runs to inherit. Making it in the warm process saves each run the time."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.cache_size = 0
    shell: QuietShell = QuietShell.instance(config=config)
    shell.user_ns["__name__"] = "__main__"
    return shell
