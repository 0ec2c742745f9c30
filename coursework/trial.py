"""Tries earlier answers in a process of its own, with a limit on time, before they are let in."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

START_SECONDS: Final = 60.0  # to import torch from a cold disk
STEP_SECONDS: Final = 5.0
TOO_LONG: Final = "did not come to an end"
DIED: Final = "ended its whole process"


def try_parts(wanted: Mapping[str, Sequence[str]], cells: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return, for each part wanted of each lesson, why it cannot be used; '' where it can.

    A step that hangs or ends the process costs what it was about; a new process tries the rest.
    """
    settled: dict[str, str] = {}
    names = [name for parts in wanted.values() for name in parts]
    while any(name not in settled for name in names):
        job = {"wanted": wanted, "cells": cells, "settled": settled}
        culprit, problem = _one_process(json.dumps(job), settled)
        blamed = wanted.get(culprit, [culprit] if culprit in names else names)
        settled |= {name: problem for name in blamed if name not in settled}
    return settled


def _one_process(job: str, settled: dict[str, str]) -> tuple[str, str]:
    """Run a process until its end, noting what it settles; return what it was at, and its end."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        process = _start(empty)
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _hand_over(process.stdin, job)
            return _listen(process.stdout, settled)
        finally:
            process.kill()
            process.wait()


def _start(folder: str) -> "subprocess.Popen[bytes]":
    packages = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, [packages, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "coursework.trial_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "Agg"},
    )


def _hand_over(stdin: IO[bytes], job: str) -> None:
    try:
        stdin.write(job.encode())
        stdin.close()
    except OSError:
        return  # it has died already; listening will tell


def _listen(stdout: IO[bytes], settled: dict[str, str]) -> tuple[str, str]:
    """Take lines until there are no more, or none in time."""
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_pump, args=(stdout, lines), daemon=True).start()
    at, seconds = "", START_SECONDS
    while True:
        try:
            line = lines.get(timeout=seconds)
        except queue.Empty:
            return at, TOO_LONG
        if not line:
            return at, DIED
        said = _read(line)
        at, seconds = said.get("begin", ""), STEP_SECONDS
        if "problem" in said and "end" in said:
            settled[said["end"]] = said["problem"]


def _read(line: bytes) -> dict[str, str]:
    """Return what a line says; nothing where something else than the trial has written it."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in said.items()} if isinstance(said, dict) else {}


def _pump(stdout: Iterable[bytes], lines: "queue.Queue[bytes]") -> None:
    for line in stdout:
        lines.put(line)
    lines.put(b"")
