"""The stand-ins do what the contract says of the parts they stand in for."""

import inspect
import math

import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT
from torch import nn

from autograder.judge.oracle import as_reference
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from coursework import earlier_trial, scope, stand_ins, stand_ins_models, stand_ins_modern
from coursework.torch_twins import copy_layer

COURSE = Course(ROOT)


@pytest.mark.parametrize("name", scope.ORIGIN)
def test_a_stand_in_can_be_used_as_a_students_part_can(name: str) -> None:
    """What is asked of a student's part, the stand-in does."""
    assert not earlier_trial.problem_of(name, {name: as_reference(scope.stand_in(name))})


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention_agrees_with_its_formula(dtype: torch.dtype) -> None:
    """Output and weights are right for any leading dimensions and masks, and 0 in empty rows."""
    torch.manual_seed(0)
    for lead, mask_shape in (
        ((), (7,)),
        ((2,), (2, 1, 7)),
        ((2, 3), (2, 1, 5, 7)),
        ((2, 3), (5, 7)),
    ):
        q, k, v = (torch.randn(*lead, *size, dtype=dtype) for size in ((5, 4), (7, 4), (7, 3)))
        mask = torch.rand(mask_shape) < 0.6
        mask[..., 0] = True
        if mask_shape == (5, 7):
            mask[2] = False
        output, weights = stand_ins.scaled_dot_product_attention(q, k, v, mask)
        scores = (q @ k.mT / math.sqrt(4)).masked_fill(~mask, -torch.inf)
        expected = scores.softmax(-1).nan_to_num(0.0)
        torch.testing.assert_close(weights, expected)
        torch.testing.assert_close(output, expected @ v)


def test_heads_agree_with_torchs_layer() -> None:
    """With the same weights the outputs are those of nn.MultiheadAttention, head by head."""
    torch.manual_seed(1)
    mine, theirs = (
        stand_ins.MultiHeadAttention(12, 3),
        nn.MultiheadAttention(12, 3, batch_first=True),
    )
    nn.init.normal_(theirs.in_proj_bias)
    load_lesson(COURSE, "04_multi_head_attention")["load-from-torch"].reference(mine, theirs)
    q, k, v = torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.randn(2, 7, 12)
    mask = torch.rand(5, 7) < 0.5
    mask[:, 0] = True
    output, weights = mine(q, k, v, mask)
    expected = theirs(q, k, v, attn_mask=~mask, average_attn_weights=False)
    torch.testing.assert_close(output, expected[0])
    torch.testing.assert_close(weights, expected[1])


@pytest.mark.parametrize("shape", [(5, 7), (2, 1, 7), (2, 5, 7)])
def test_heads_take_every_form_of_mask(shape: tuple[int, ...]) -> None:
    """Masks stay with their samples when B = H, empty rows give the bias, and gradients are finite."""
    torch.manual_seed(2)
    layer = stand_ins.MultiHeadAttention(6, 2)
    mask = torch.rand(shape) < 0.5
    mask[..., 0] = True
    mask[0, ...] = False
    output, weights = layer(torch.randn(2, 5, 6), torch.randn(2, 7, 6), torch.randn(2, 7, 6), mask)
    allowed = mask.expand(2, 5, 7)[:, None].expand(2, 2, 5, 7)
    assert torch.equal(weights > 0, allowed)
    empty = ~allowed[:, 0].any(-1)
    torch.testing.assert_close(output[empty], layer.w_o.bias.expand_as(output[empty]))
    output.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


def test_heads_refuse_a_width_they_cannot_share() -> None:
    """A width that cannot be divided is a ValueError."""
    with pytest.raises(ValueError, match="10"):
        stand_ins.MultiHeadAttention(10, 3)


def test_token_vectors_are_scaled_and_padding_is_zero_and_learns_nothing() -> None:
    """Also where the loaded table has something in the row of the padding."""
    part = stand_ins.TokenEmbedding(9, 4, pad_id=3)
    nn.init.normal_(part.embed.weight)
    ids = torch.tensor([[5, 3, 1], [3, 3, 8]])
    output = part(ids)
    torch.testing.assert_close(
        output, part.embed.weight[ids].masked_fill((ids == 3)[..., None], 0) * 2
    )
    output.sum().backward()
    assert part.embed.weight.grad is not None
    assert torch.all(part.embed.weight.grad[3] == 0)
    assert torch.all(part.embed.weight.grad[5] == 2)


def test_positions_are_those_of_the_paper() -> None:
    """Columns 2i and 2i + 1 are sine and cosine of pos / 10000^(2i / d_model)."""
    part = stand_ins.PositionalEncoding(8, max_len=300).eval()
    for position, i in ((0, 0), (7, 1), (299, 3)):
        angle = position / 10000 ** (2 * i / 8)
        torch.testing.assert_close(
            part.pe[position, 2 * i].item(), math.sin(angle), atol=1e-5, rtol=0
        )
        torch.testing.assert_close(
            part.pe[position, 2 * i + 1].item(), math.cos(angle), atol=1e-5, rtol=0
        )
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(part(x), x + part.pe[:5])
    assert not list(part.parameters())
    with pytest.raises(ValueError, match="301"):
        part(torch.zeros(1, 301, 8))
    with pytest.raises(ValueError, match="even"):
        stand_ins.PositionalEncoding(7)


def test_masks_norm_and_feed_forward() -> None:
    """The small parts: what may be seen, and the two parts of lesson 5."""
    assert torch.equal(stand_ins.causal_mask(4), torch.ones(4, 4).tril().bool())
    ids = torch.tensor([[5, 0, 7]])
    assert torch.equal(stand_ins.padding_mask(ids), torch.tensor([[[True, False, True]]]))
    assert torch.equal(stand_ins.padding_mask(ids, pad_id=7), torch.tensor([[[True, True, False]]]))
    x = torch.randn(2, 3, 6)
    norm = stand_ins.LayerNorm(6, eps=0.5)
    torch.testing.assert_close(norm(x), F.layer_norm(x, (6,), norm.weight, norm.bias, 0.5))
    feed = stand_ins.FeedForward(6, 11, 0.5).eval()
    torch.testing.assert_close(feed(x), feed.linear2(torch.relu(feed.linear1(x))))
    assert not torch.equal(feed.train()(x), feed(x))


@pytest.mark.parametrize("name", scope.ORIGIN)
def test_a_stand_in_is_documented(name: str) -> None:
    """A student who meets one can read what it does."""
    assert inspect.getdoc(scope.stand_in(name))


@pytest.mark.parametrize("shape", [None, (5, 5), (3, 1, 5), (3, 5, 5)])
def test_an_encoder_layer_agrees_with_torchs(shape: tuple[int, ...] | None) -> None:
    """With the same weights, without a mask, with one for all samples, and with one for each."""
    torch.manual_seed(3)
    mine = stand_ins_models.EncoderLayer(12, 3, 20).eval()
    theirs = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True).eval()
    for parameter in mine.parameters():
        nn.init.normal_(parameter, std=0.5)
    copy_layer(mine, theirs)
    x, mask = torch.randn(3, 5, 12), None if shape is None else torch.rand(shape) < 0.6
    hidden = None
    if mask is not None:
        mask[..., 0] = True
        hidden = ~mask.expand(3, 5, 5).repeat_interleave(3, dim=0)
    torch.testing.assert_close(mine(x, mask), theirs(x, src_mask=hidden))


def test_a_gated_network_agrees_with_its_formula() -> None:
    """What w1 gives, through SiLU, times what w3 gives."""
    part = stand_ins_modern.GatedFeedForward(6, 11)
    x = torch.randn(2, 5, 6)
    torch.testing.assert_close(part(x), part.w2(F.silu(part.w1(x)) * part.w3(x)))
