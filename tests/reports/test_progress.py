"""The progress bar knows the total from the start, and says how fast a run is."""

from io import StringIO

from rich.console import Console

from autograder.reports.progress import grading_progress


def _bar(done: int, *, terminal: bool = True) -> str:
    """Return what a bar shows of a run of 12 that takes six seconds for each."""
    clock = iter(float(6 * tick) for tick in range(1000))
    text = StringIO()
    console = Console(file=text, width=100, force_terminal=terminal, color_system=None)
    with grading_progress(console) as bar:
        bar.get_time = lambda: next(clock)
        task = bar.add_task("03_attention", total=12)
        for _ in range(done):
            bar.advance(task)
        if terminal:
            console.print(bar.get_renderable())
    return text.getvalue()


def test_the_total_stands_there_from_the_start() -> None:
    """Before the first result there is no rate yet, and no unknown total."""
    shown = _bar(0)
    assert "0/12" in shown
    assert "– per minute" in shown
    assert "0/?" not in shown


def test_the_rate_and_the_time_left_follow_the_results() -> None:
    """After some results both are numbers."""
    shown = _bar(6)
    assert "6/12" in shown
    assert "10.0 per minute" in shown
    assert "0:0" in shown


def test_nothing_is_drawn_into_a_file() -> None:
    """A log holds no bars."""
    assert _bar(3, terminal=False) == ""
