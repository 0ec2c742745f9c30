"""What is read of dropout is the same at every draw, and differs where something else is dropped."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from autograder.judge.dropout import DropoutFact, layer_places
from coursework.engine.operation import Answer
from coursework.stand_ins_models import CausalDecoderLayer, DecoderLayer, EncoderLayer

BOTH = ("self_attention", "cross_attention")
ASKED = [
    (EncoderLayer, layer_places(BOTH[:1]), 14),
    (CausalDecoderLayer, layer_places(BOTH[:1]), 14),
    (DecoderLayer, layer_places(BOTH, torch.ones(50, 3, 6)), 28),
]


def found(module: Callable[..., nn.Module], asked: DropoutFact) -> dict:
    """Return what is read of one run."""

    def answer(*init: float) -> nn.Module:
        return module(*init)

    with torch.no_grad():
        return asked.read(asked.run(Answer({"answer": answer}, "answer")))


@pytest.mark.parametrize(("module", "asked", "number"), ASKED)
def test_a_right_module_shows_the_same_forms_at_every_draw(
    module: type[nn.Module], asked: DropoutFact, number: int
) -> None:
    """With other random states, the same number of forms come out of train mode, far enough apart."""
    first = found(module, asked)
    for _ in range(10):
        again = found(module, asked)
        assert again["together"] == []
        assert torch.allclose(again["forms"], first["forms"], atol=1e-4)
    assert len(first["forms"]) == number
    assert first["forms"].diff().min() > 0.04


@pytest.mark.parametrize(("samples", "tokens", "dims"), [(1, 40, [0]), (50, 1, [1])])
def test_a_shared_mask_is_noticed_beside_another_dropout(samples: int, tokens: int, dims: list[int]) -> None:
    """The dropout inside the feed-forward still differs from token to token."""

    def shared(*init: float) -> nn.Module:
        layer = EncoderLayer(*init)
        rate = layer.dropout.p
        layer.dropout = nn.Module()
        layer.dropout.forward = lambda x: x * nn.functional.dropout(
            torch.ones(samples, tokens, 6), rate, layer.training
        )
        return layer

    for _ in range(10):
        got = found(shared, layer_places(BOTH[:1]))
        assert got["together"] == dims
        assert len(got["forms"]) == 0
