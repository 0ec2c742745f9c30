"""References of lesson 05, built on torch's own modules; the others are stand-ins of the coursework."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from coursework.stand_ins_models import PostNorm


class EncoderLayer(PostNorm):
    """nn.TransformerEncoderLayer, called with weights that are kept under the contract's names."""

    attentions = ("self_attention",)

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__(d_model, num_heads, d_ff, dropout)
        build: Any = nn.TransformerEncoderLayer
        self.num_heads = num_heads
        self.theirs = (build(d_model, num_heads, d_ff, dropout, batch_first=True),)  # a tuple: not registered

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(B,S,D), mask that broadcasts to (B,S,S) -> (B,S,D)."""
        hidden = None
        if mask is not None:
            allowed = mask.expand(x.size(0), x.size(1), x.size(1))
            hidden = ~allowed.repeat_interleave(self.num_heads, dim=0)
        theirs = self.theirs[0].train(self.training)
        result: torch.Tensor = torch.func.functional_call(
            theirs, self._weights(), (x,), {"src_mask": hidden}
        )
        return result

    def _weights(self) -> dict[str, torch.Tensor]:
        """Return the weights under torch's names."""
        own: dict[str, torch.Tensor] = dict(self.named_parameters())
        names = {"self_attn.out_proj": "self_attention.w_o", "linear1": "feed_forward.linear1"}
        names |= {"linear2": "feed_forward.linear2", "norm1": "norm1", "norm2": "norm2"}
        found: dict[str, torch.Tensor] = {}
        for kind in ("weight", "bias"):
            found |= {f"{new}.{kind}": own[f"{old}.{kind}"] for new, old in names.items()}
            parts = [own[f"self_attention.{name}.{kind}"] for name in ("w_q", "w_k", "w_v")]
            found[f"self_attn.in_proj_{kind}"] = torch.cat(parts)
        return found


class GatedFeedForward(nn.Module):
    """Torch's own gated linear unit: silu(z) is z · sigmoid(z), so a GLU of (z · other, z)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        for name, sizes in {"w1": (d_model, d_ff), "w2": (d_ff, d_model), "w3": (d_model, d_ff)}.items():
            self.add_module(name, nn.Linear(*sizes, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…,D) -> (…,D)."""
        w1, w2, w3 = (self.get_parameter(f"w{number}.weight") for number in (1, 2, 3))
        opened = F.linear(x, w1)
        return F.linear(F.glu(torch.cat([opened * F.linear(x, w3), opened], dim=-1)), w2)
