"""The warm process: started in the sandbox, and asked for a fresh run for each pass through a submission."""

import contextlib
import math
import socket
import time
from collections.abc import Iterable
from typing import Any, Self

import torch

from autograder.model.errors import MachineError
from autograder.probe import wire
from autograder.sandbox.run import Run
from autograder.sandbox.start import Started, start

START_SECONDS = 60
KEPT_SECONDS = 100.0  # of processor time, after which a run is not used again: the monitor ends it at 300


class WarmProcess:
    """A sandboxed process that has imported torch, from which runs are forked."""

    def __init__(
        self, modules: Iterable[str] = (), *, sandboxed: bool = True, started: Started | None = None
    ) -> None:
        """Wait until a process has imported `modules`, as far as they exist: `started`, or a new one.

        Raises SandboxMissingError if a sandbox is wanted and cannot start here, MachineError if the
        process does not start for another reason.
        """
        self.sandboxed, self._modules = sandboxed, tuple(modules)
        self._kept: dict[str, tuple[str, Run]] = {}  # by their use
        self._launch(started)

    def _launch(self, started: Started | None = None) -> None:
        self._started = started or start(sandboxed=self.sandboxed)
        self._process, self._control = self._started.process, self._started.control
        try:
            wire.send(self._control, {"modules": self._modules})
            ready = wire.receive(self._control, time.monotonic() + START_SECONDS)
        except (EOFError, OSError, wire.WireError) as problem:
            self._process.kill()
            _, printed = self._process.communicate()
            last = printed.decode(errors="replace").strip().splitlines()[-1:] or [str(problem)]
            raise MachineError(f"the sandbox did not start: {last[0]}") from problem
        if ready["not_refused"]:
            self.close()
            raise MachineError(
                f"torch {torch.__version__} still runs what exercises exclude: "
                f"{', '.join(ready['not_refused'])}. Grade with the version of torch in requirements.txt"
            )

    def add(self, modules: Iterable[str]) -> None:
        """Import further modules, for the runs from now on. Raises EOFError or OSError if it is gone."""
        more = sorted(set(modules) - set(self._modules))
        self._modules += tuple(more)
        self._end_kept()
        self._control.sendall(wire.command("import", 0))
        wire.send(self._control, {"modules": more})
        self._reply()

    @property
    def alive(self) -> bool:
        """Whether the process still runs, so that runs can be forked from it."""
        return self._process.poll() is None

    def run(self, deadline: float = math.inf) -> Run:
        """Fork a fresh run, which has to be over by `deadline` on the monotonic clock.

        Raises EOFError or OSError if the warm process is gone.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [wire.command("run", 0)], [theirs.fileno()])
            number = int(self._reply()["run"])
        return Run(self, ours, number, deadline)

    def kept_run(self, use: str, lesson: str, deadline: float = math.inf) -> Run:
        """Return a run for probes of a lesson: the one of the same use, if nothing is left of its probes.

        To start a run takes as long as many short probes. It ends with the warm process, when the use is for
        another lesson, and when it has used much processor time. Raises EOFError or OSError if the warm
        process is gone.
        """
        before, run = self._kept.pop(use, (lesson, None))
        if run is not None and (before != lesson or not run.leave() or run.used_seconds > KEPT_SECONDS):
            run.close()
            run = None
        run = run or self.run()
        run.deadline = deadline
        run.take_notes()
        self._kept[use] = lesson, run
        return run

    def used(self, number: int) -> tuple[float, float | None]:
        """Return the seconds of processor time that a run has used, and how long it had or wanted some.

        Both as the kernel says; the second is None if it does not.
        """
        self._control.sendall(wire.command("used", number))
        reply = self._reply()
        runnable = reply["runnable"]
        return float(reply["seconds"]), None if runnable is None else float(runnable)

    def _reply(self) -> Any:
        return wire.receive(self._control, time.monotonic() + START_SECONDS)

    def stop(self, number: int) -> None:
        """End a run, whatever it is doing."""
        with contextlib.suppress(OSError):
            self._control.sendall(wire.command("stop", number))

    def restart(self) -> None:
        """Kill the warm process with everything in it, and start another."""
        self._kept.clear()
        self._process.kill()
        self.close()
        self._launch()

    def close(self) -> None:
        """End the warm process and every run in it."""
        self._end_kept()
        self._started.close()

    def _end_kept(self) -> None:
        for _, run in [*self._kept.values()]:
            run.close()
        self._kept.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
