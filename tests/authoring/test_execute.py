"""Model answers are run as a student would run them, and give the same bytes each time."""

import asyncio
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from lesson_texts import changed, read_text
from nbformat.v4 import new_notebook

from autograder.authoring.execute import PatientChannel, PatientClient, notebook_client, run
from autograder.authoring.notebook import as_text, solution_notebook
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonText

SLIDER = """import ipywidgets
from IPython.display import display

display(object(), ipywidgets.IntSlider(3), ipywidgets.IntSlider(4))"""
DEMO = "print(double(math.pi) > 6)"


def _run(tmp_path: Path, text: str) -> str:
    lesson = read_text(tmp_path, text)
    return as_text(run(solution_notebook(lesson), lesson, tmp_path))


def test_outputs_are_kept_and_steady(tmp_path: Path) -> None:
    """Two runs agree to the byte: no time, no kernel's version, no address, no random widget id."""
    once = _run(tmp_path, changed(DEMO, SLIDER))
    assert "<object at 0x…>" in once
    assert once.count('"_model_name": "IntSliderModel"') == 2
    assert '"version": "3.' not in once
    assert once == _run(tmp_path, changed(DEMO, SLIDER))


def test_a_wrong_model_answer_is_named(tmp_path: Path) -> None:
    """The test cell that fails, its line and the assertion's message are in the error."""
    text = changed("    two = 2", "    two = 3")
    with pytest.raises(LessonTextError, match=r"01_small.py:3\d: cell 'double-test'.*expected 6"):
        _run(tmp_path, text)


def test_a_card_that_finds_a_model_answer_wrong_is_named(tmp_path: Path) -> None:
    """Without public examples, or with those of an older answer, the lesson is not built."""
    card = "from IPython.display import display\n\n"
    card += "display({'text/plain': '✗ double: no examples'}, raw=True)"
    with pytest.raises(LessonTextError, match="cell 'demo-1': the check finds the model answer"):
        _run(tmp_path, changed(DEMO, card))


def test_a_kernel_that_dies_is_told(tmp_path: Path) -> None:
    """Even without an error message the cell is named."""
    with pytest.raises(LessonTextError, match=r"cell 'demo-1'.*DeadKernelError"):
        _run(tmp_path, changed(DEMO, "import os\nos._exit(1)"))


@pytest.mark.parametrize(
    "code", ["print(math.__spec__, __import__('nbformat').__file__)", "import warnings; warnings.warn('hm')"]
)
def test_an_output_never_shows_where_it_was_made(tmp_path: Path, code: str) -> None:
    """A path of this machine in an output stops the build; a warning brings one with it."""
    with pytest.raises(LessonTextError, match="cell 'demo-1': an output shows a path"):
        _run(tmp_path, changed(DEMO, code))


def test_pictures_may_spell_anything(tmp_path: Path) -> None:
    """Base64 that happens to read like a path is no path."""
    text = changed(DEMO, "display({'image/png': '/tmp/abc='}, raw=True)")
    assert '"image/png": "/tmp/abc="' in _run(tmp_path, text)


def test_the_notebook_given_is_left_alone(lesson: LessonText, tmp_path: Path) -> None:
    """Running makes a new notebook."""
    notebook = solution_notebook(lesson)
    before = as_text(notebook)
    run(notebook, lesson, tmp_path)
    assert as_text(notebook) == before


def test_the_kernel_takes_no_port(tmp_path: Path) -> None:
    """Two builds at once cannot be given the same port, because neither asks for one."""
    code = "from ipykernel.kernelapp import IPKernelApp\nprint(IPKernelApp.instance().transport)"
    assert '"text": [\n      "ipc\\n"' in _run(tmp_path, changed(DEMO, code))


class SleepingSocket:
    """A socket that holds a message and wakes nobody; a second look finds it."""

    def __init__(self, looks: float) -> None:
        self.looks = looks

    async def poll(self, milliseconds: int) -> bool:
        """Answer at once what a real socket would answer after that time."""
        await asyncio.sleep(min(milliseconds, 20) / 1000)
        self.looks -= 1
        return self.looks < 0


class Channel(PatientChannel):
    """A channel over such a socket, whose messages are always the same."""

    def __init__(self, looks: float) -> None:
        self.socket = SleepingSocket(looks)

    async def _recv(self, **_: Any) -> dict[str, Any]:
        return {"content": "reply"}


def test_a_message_that_wakes_nobody_is_found_at_the_second_look() -> None:
    """With and without a limit."""
    for limit in (None, 60):
        got = asyncio.run(Channel(1).get_msg(limit))
        assert got == {"content": "reply"}


def test_no_message_within_the_time_is_empty() -> None:
    """The limit holds, however often the channel looks."""
    with pytest.raises(Empty):
        asyncio.run(Channel(float("inf")).get_msg(0.1))


def test_a_notebook_is_run_by_such_a_client(tmp_path: Path) -> None:
    """Over files, so that no two kernels can be given one port."""
    manager = notebook_client(new_notebook(), tmp_path, tmp_path / "k.json").create_kernel_manager()
    client = manager.client()
    assert isinstance(client, PatientClient)
    assert isinstance(client.shell_channel, PatientChannel)
    assert manager.transport == "ipc"
    client.stop_channels()
