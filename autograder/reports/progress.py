"""The progress bar of a class run: how many of how many, how fast, and how long it will take."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

WINDOW = 300.0  # seconds over which the rate is taken: submissions differ a lot


class RateColumn(ProgressColumn):
    """The number of submissions graded per minute."""

    def render(self, task: Task) -> Text:
        """Return the rate, or a dash before there is one."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed * 60:.1f} per minute" if speed else "– per minute")


def grading_progress(console: Console) -> Progress:
    """Return a bar that shows in a terminal only, and is gone when the run ends."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=WINDOW,
    )
