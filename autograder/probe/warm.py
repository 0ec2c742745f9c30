"""The warm process: imports torch once, then forks a run whenever the grader sends a channel.

Started as `python -m autograder.probe.warm FD FILTERS`. FD is a socket to the grader, which first sends the
names of the modules to import, and is told which excluded functions this version of torch would still run.
FILTERS are the filters of system calls in hexadecimal, or `plain` for runs that are not isolated.
"""

import contextlib
import ctypes
import importlib
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from autograder.probe import isolate, wire
from autograder.probe.resource_monitor import ResourceMonitor
from autograder.probe.session import Inherited
from autograder.probe.shell import make_shell
from autograder.probe.supervisor import Programs, kill, supervise
from coursework.exclusions import not_refused

FEW_RUNS = 3  # before memory is moved to huge pages, which costs what some five runs gain by it
LATE = {  # what packages import when they first need it, which else every run would do
    "torch": ("torch.utils._device", "torch.profiler._cupti_monitor"),
    "IPython": ("bdb",),
    "matplotlib": ("matplotlib.backends.backend_agg", "PIL.features"),
}
COLLAPSE: Final = 25  # MADV_COLLAPSE, which no module of Python names
HUGE: Final = 1 << 21  # bytes
PRIVATE: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0\s*(\[heap\])?$")


def main() -> None:
    """Warm up, report that, and serve until the grader closes the socket."""
    control = socket.socket(fileno=int(sys.argv[1]))
    plain = sys.argv[2] == isolate.PLAIN
    programs = Programs() if plain else Programs(*map(bytes.fromhex, sys.argv[2].split(":")))
    isolate.new_session_keyring()
    inherited, not_refused = warm_up(wire.receive(control)["modules"])
    wire.send(control, {"warm": "ready", "not_refused": not_refused})
    runs = 0
    with contextlib.suppress(EOFError):
        while True:
            if _serve(control, inherited, programs) == "run":
                runs += 1
                if runs == FEW_RUNS:
                    collapse_memory()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    os._exit(0)  # to take torch down in order costs a tenth of a second, and the grader waits for it


def warm_up(modules: Iterable[str]) -> tuple[Inherited, list[str]]:
    """Import what lessons import, and make what the runs inherit.

    Torch uses a single thread, which makes forking safe. A fork builds torch's thread pool anew when it first
    needs it, and fails if two threads do at once ("Invalid thread pool!"), so each builds it at its start.
    A module that is not installed is left to the lesson that imports it. The excluded functions that are not
    refused are returned as well.
    """
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    os.register_at_fork(after_in_child=partial(torch.set_num_threads, 1))
    (torch.ones(2, 2, requires_grad=True) @ torch.ones(2, 2)).exp().sum().backward()  # type: ignore[no-untyped-call]
    trial = _start_trial()
    shell = make_shell()
    _import(modules)
    return Inherited(shell), _trial_result(trial)


def _start_trial() -> tuple[int, int]:
    """Try in a fork, which keeps the overrides to itself, whether every excluded function is refused."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.write(writing, json.dumps(not_refused()).encode())
        os._exit(0)
    os.close(writing)
    return child, reading


def _trial_result(trial: tuple[int, int]) -> list[str]:
    child, reading = trial
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    found: list[str] = json.loads(said) if said else ["nothing: the trial itself failed"]
    return found


def _import(modules: Iterable[str]) -> None:
    for name in modules:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    for package in LATE.keys() & sys.modules.keys():
        for name in LATE[package]:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _serve(control: socket.socket, inherited: Inherited, programs: Programs) -> str:
    """Carry out one command, and return its word.

    `run` comes with a channel, and is answered with the number of the run, that of its supervisor; `stop` and
    `used` come with that number. The answer to `used` is the processor time of its processes, and for how
    long they had or wanted some: the kernel says so, and no run can hide it. `import` is followed by the
    names of further modules.
    """
    message, descriptors, _, _ = socket.recv_fds(control, wire.COMMAND_SIZE, 1)
    if not message:
        raise EOFError
    word, number = message.decode().split()
    run = int(number)
    if word == "run":
        supervisor = os.fork()
        if supervisor == 0:
            control.close()
            supervise(inherited, socket.socket(fileno=descriptors[0]), programs)
        os.close(descriptors[0])
        wire.send(control, {"run": supervisor})
    elif word == "stop":
        kill(run, signal.SIGTERM)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(run, 0)  # until then its number is its own
    elif word == "used":
        with contextlib.closing(ResourceMonitor()) as monitor:
            seconds, runnable = monitor.usage(run)
        wire.send(control, {"seconds": seconds, "runnable": runnable})
    elif word == "import":
        _import(wire.receive(control)["modules"])
        inherited.remember()
        wire.send(control, {"warm": "ready"})
    return word


def collapse_memory(maps: Path = Path("/proc/self/maps")) -> int:
    """Move the private memory of this process to huge pages, and return how many areas were moved.

    Takes some tenths of a second for 180 MB, so it is worth it before many forks, not before a few.
    """
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    moved = 0
    with contextlib.suppress(OSError):
        for area in filter(None, map(PRIVATE.match, maps.read_text().splitlines())):
            start = -(-int(area[1], 16) // HUGE) * HUGE
            size = int(area[2], 16) // HUGE * HUGE - start
            moved += size > 0 and madvise(start, size, COLLAPSE) == 0
    return moved


if __name__ == "__main__":
    main()
