"""Messages between the grader and a probe: frames of `coursework.engine.values` over a socket."""

import math
import socket
import struct
import time
from typing import Any

from coursework.engine.values import MAX_BLOB, MAX_JSON, WireError, pack, unpack

__all__ = ["WireError", "command", "pack", "receive", "send", "unpack"]
COMMAND_SIZE = 32  # bytes of a command to the warm process: a word and a number, padded


def command(word: str, number: int) -> bytes:
    """Return a command to the warm process, of fixed size."""
    return f"{word} {number}".ljust(COMMAND_SIZE).encode()


def send(channel: socket.socket, message: Any) -> None:
    """Write one message. Raises OSError if the other side is gone."""
    channel.sendall(pack(message))


def receive(channel: socket.socket, deadline: float = math.inf) -> Any:
    """Read one message, complete by `deadline` on the monotonic clock, however it trickles in.

    Raises EOFError at the end of the stream, TimeoutError after the deadline, WireError for anything
    unexpected.
    """
    text_size, blob_size = struct.unpack("!II", _exactly(channel, 8, deadline))
    if text_size > MAX_JSON or blob_size > MAX_BLOB:
        raise WireError(f"a frame of {text_size} + {blob_size} bytes is over the limit")
    text = _exactly(channel, text_size, deadline)
    return unpack(text, _exactly(channel, blob_size, deadline))


def _exactly(channel: socket.socket, size: int, deadline: float) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        if deadline < math.inf:
            channel.settimeout(max(deadline - time.monotonic(), 0.001))
        part = channel.recv(min(size - len(parts), 2**20))
        if not part:
            raise EOFError("the stream ended")
        if time.monotonic() > deadline:
            raise TimeoutError("the message was not complete in time")
        parts += part
    return bytes(parts)
