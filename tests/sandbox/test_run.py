"""A request is packed once, and arrives as it was meant."""

import struct

import torch

from autograder.sandbox.run import Request
from coursework.engine import values
from coursework.engine.operation import make
from coursework.engine.operations import CallFunction


def test_the_frame_holds_all_that_is_asked() -> None:
    """The operation with its inputs, the name, the seed and the limit."""
    asked = CallFunction([torch.arange(6.0).view(2, 3)])
    request = Request(asked, "softmax", 7, 2.5)
    size, _ = struct.unpack_from("!II", request.frame)
    order = values.unpack(request.frame[8 : 8 + size], request.frame[8 + size :])
    again = make(order.pop("operation"), order.pop("fields"))
    assert isinstance(again, CallFunction)
    assert torch.equal(again.args[0], asked.args[0])
    assert order == {"do": "observe", "name": "softmax", "seed": 7, "seconds": 2.5}
    assert request.frame is request.frame
