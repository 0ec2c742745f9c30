"""A kernel's replies are found even where nothing announces them."""

import asyncio
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from nbformat.v4 import new_notebook

from autograder.authoring.kernel import PatientChannel, PatientClient, notebook_client


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
