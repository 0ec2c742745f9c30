"""A kernel to run a notebook in that neither loses a message nor waits for another kernel's port."""

from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from nbclient import NotebookClient
from traitlets import Type
from traitlets.config import Config

SECONDS_PER_CELL = 900  # training takes two minutes on two cores, and more on a busy machine
SECONDS_PER_LOOK = 1.0
QUIET = ["--log-level=ERROR"]


class PatientChannel(AsyncZMQSocketChannel):
    """A channel that looks for messages once a second, and not only when it is woken.

    nbclient sends the state of an output widget over the socket on which it waits for a reply, and
    the reply that comes in that moment wakes nobody (nbclient issue 312).
    """

    async def get_msg(  # type: ignore[override]  # as jupyter_client's own, of a synchronous class
        self, timeout: float | None = None
    ) -> dict[str, Any]:
        """Return the next message; raise Empty where none comes within `timeout` seconds."""
        end = float("inf") if timeout is None else monotonic() + timeout
        while True:
            try:
                return await super().get_msg(max(0, min(SECONDS_PER_LOOK, end - monotonic())))
            except Empty:
                if monotonic() >= end:
                    raise


class PatientClient(AsyncKernelClient):
    """A kernel's client whose replies are not lost."""

    shell_channel_class = Type(PatientChannel)


def notebook_client(notebook: Any, folder: Path, connection: Path) -> NotebookClient:
    """Return what runs a notebook in a folder; its kernel writes its sockets beside `connection`.

    The kernel talks over files, because a free TCP port may be taken before it is used: two kernels
    that start at once can be given the same one (jupyter_client issue 487).
    """
    kernel = {
        "transport": "ipc",
        "connection_file": str(connection),
        "client_class": f"{__name__}.{PatientClient.__name__}",
    }
    return NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=QUIET,
        resources={"metadata": {"path": str(folder)}},
        config=Config(KernelManager=kernel),
    )
