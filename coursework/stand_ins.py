"""Parts of earlier lessons, ready made, for those who cannot use their own.

Each has the name, the arguments, the attributes and the return value of the part it stands in for,
and leaves the work to PyTorch's own operations. What your own answer should look like is not here:
a stand-in shows what a part does, not how it is built.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Let every query read a mixture of the values (Vaswani et al. 2017, equation 1).

    q (…, T_q, d_k), k (…, T_k, d_k), v (…, T_k, d_v); mask broadcasts to (…, T_q, T_k), True = may
    attend. Returns output (…, T_q, d_v) and weights (…, T_q, T_k); zeros where nothing is allowed.
    """
    # What is mixed of an identity matrix are the weights themselves.
    identity = torch.eye(k.size(-2), dtype=v.dtype).expand(*v.shape[:-1], -1)  # (…, T_k, T_k), not copied
    if mask is not None:
        mask = mask.broadcast_to(*q.shape[:-1], k.size(-2))  # (…, T_q, T_k)
    mixed, weights = (F.scaled_dot_product_attention(q, k, each, attn_mask=mask) for each in (v, identity))
    return mixed, weights


def causal_mask(size: int) -> Tensor:
    """Return a BoolTensor (size, size), True where key j is not after query i (section 3.2.3)."""
    return nn.Transformer.generate_square_subsequent_mask(size).isfinite()


def padding_mask(ids: Tensor, pad_id: int = 0) -> Tensor:
    """Return a BoolTensor (B, 1, S), True where a token of ids (B, S) is real."""
    return ids.ne(pad_id)[:, None]


class MultiHeadAttention(nn.Module):
    """Attention in several heads (section 3.2.2): all heads are one more batch dimension.

    Attributes: w_q, w_k, w_v, w_o, each Linear(d_model, d_model). Raises ValueError where d_model
    cannot be divided among the heads.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model {d_model} cannot be divided among {num_heads} heads")
        self.num_heads, self.dropout = num_heads, dropout
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return output (B, T_q, D) and weights (B, H, T_q, T_k).

        mask (T_q, T_k) or (B, 1 or T_q, T_k), True = may attend. Where a query may attend to
        nothing its weights are 0 and its output is the bias of w_o.
        """
        # Copies, so that a layer may go on to change its input in place, as with torch's own attention.
        query, key, value = query.clone(), key.clone(), value.clone()
        projected = (self.w_q(query), self.w_k(key), self.w_v(value))
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).movedim(-2, 1) for x in projected)  # (B, H, T, K)
        if mask is not None:
            mask = mask.expand(query.size(0), query.size(1), key.size(1))[:, None]  # (B, 1, T_q, T_k)
        identity = torch.eye(key.size(1), dtype=v.dtype).expand(*v.shape[:-1], -1)  # (B, H, T_k, T_k)
        weights = F.scaled_dot_product_attention(q, k, identity, attn_mask=mask)  # (B, H, T_q, T_k)
        weights = F.dropout(weights, self.dropout, self.training)
        mixed = (weights @ v).movedim(1, -2).flatten(-2)  # (B, T_q, D)
        return self.w_o(mixed), weights


class TokenEmbedding(nn.Module):
    """Token vectors times √d_model (section 3.4), in which padding is zero and learns nothing.

    Attribute: embed, Embedding(vocab_size, d_model).
    """

    def __init__(self, vocab_size: int, d_model: int, pad_id: int = 0) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.pad_id = pad_id

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors (B, S, D) of ids (B, S): each a bag of one, and padding an empty bag."""
        bags: Tensor = F.embedding_bag(
            ids.reshape(-1, 1), self.embed.weight, mode="sum", padding_idx=self.pad_id
        )  # (B·S, D)
        scale = math.sqrt(self.embed.embedding_dim)
        return bags.reshape(*ids.shape, -1) * scale  # (B, S, D)


class PositionalEncoding(nn.Module):
    """Sines and cosines of the position, added to x (section 3.5), then dropout.

    Buffer: pe (max_len, d_model). Raises ValueError for an odd d_model.
    """

    pe: Tensor

    def __init__(self, d_model: int, max_len: int = 512, dropout: float = 0.1) -> None:
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model should be even, got {d_model}")
        rates = 10000.0 ** -(torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # (D/2,)
        angles = torch.outer(torch.arange(max_len, dtype=torch.float64), rates)  # (max_len, D/2)
        turns = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))  # (…, cos and sin)
        self.register_buffer("pe", turns.flip(-1).flatten(1).float())  # (max_len, D)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, S, D) with the first S positions added; ValueError where S > max_len."""
        if x.size(1) > len(self.pe):
            raise ValueError(f"{x.size(1)} positions, but max_len is {len(self.pe)}")
        added: Tensor = self.dropout(torch.add(x, self.pe.narrow(0, 0, x.size(1))))
        return added


class LayerNorm(nn.LayerNorm):
    """PyTorch's own layer norm over the last dimension (Ba et al. 2016, arXiv:1607.06450).

    Attributes: weight and bias (d_model,).
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__(d_model, eps=eps)


class FeedForward(nn.Sequential):
    """Two linear layers with ReLU and dropout between them (section 3.3): (…, D) -> (…, D).

    Attributes: linear1, Linear(d_model, d_ff); linear2, Linear(d_ff, d_model).
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.add_module("linear1", nn.Linear(d_model, d_ff))
        self.add_module("relu", nn.ReLU())
        self.add_module("dropout", nn.Dropout(dropout))
        self.add_module("linear2", nn.Linear(d_ff, d_model))
