"""Stand-ins for whole layers and models: encoder, decoder, Transformer, and the masks they need.

As in `coursework.stand_ins`, each does what its namesake does, and does not show how to write it:
a layer here is a list of steps, and one loop walks through the steps of any layer.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from coursework.stand_ins import FeedForward, MultiHeadAttention, PositionalEncoding, TokenEmbedding

Step = Callable[[Tensor], Tensor]


def shift_right(target: Tensor, sos_id: int = 1) -> Tensor:
    """Return target (B, T) one place later: <sos> in front, the last token gone (section 3.1)."""
    rolled = target.roll(1, dims=1)
    return rolled.index_fill(1, rolled.new_zeros(1), sos_id)


def target_mask(ids: Tensor, pad_id: int = 0) -> Tensor:
    """Return a BoolTensor (B, T, T), True where a key is real and not after the query."""
    place = torch.arange(ids.size(1), device=ids.device)
    hidden = torch.gt(place, place[:, None]) | ids.eq(pad_id)[:, None]
    return hidden.logical_not()


def _attention(module: nn.Module, mask: Tensor | None, memory: Tensor | None = None) -> Step:
    """Return a step that attends to `memory`, or to its own input."""

    def read(x: Tensor) -> Tensor:
        source = x if memory is None else memory
        output: Tensor = module(x, source, source, mask)[0]
        return output

    return read


class PostNorm(nn.Module):
    """Sublayers in turn, each with dropout, a residual connection and then its norm (section 5.4)."""

    attentions: Sequence[str] = ()

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)
        for number in range(1, len(self.attentions) + 2):
            self.add_module(f"norm{number}", nn.LayerNorm(d_model))
        for name in self.attentions:
            self.add_module(name, MultiHeadAttention(d_model, num_heads, dropout))

    def walk(self, x: Tensor, *steps: Step) -> Tensor:
        """Take x (B, S, D) through the steps."""
        for number, step in enumerate(steps, start=1):
            x = self.get_submodule(f"norm{number}")(x + self.dropout(step(x)))
        return x


class EncoderLayer(PostNorm):
    """Attributes: self_attention, feed_forward, norm1, norm2."""

    attentions = ("self_attention",)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return x (B, S, D) after both sublayers."""
        return self.walk(x, _attention(self.get_submodule("self_attention"), mask), self.feed_forward)


class DecoderLayer(PostNorm):
    """Attributes: self_attention, cross_attention, feed_forward, norm1, norm2, norm3."""

    attentions = ("self_attention", "cross_attention")

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """Return x (B, T, D) after the three sublayers; the second attends to a memory (B, S, D)."""
        own = _attention(self.get_submodule("self_attention"), self_mask)
        cross = _attention(self.get_submodule("cross_attention"), memory_mask, memory)
        return self.walk(x, own, cross, self.feed_forward)


class CausalDecoderLayer(nn.Module):
    """The block of GPT: norm first, and no memory (Radford et al. 2019, section 2.3).

    Attributes: self_attention, feed_forward, norm1, norm2.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return x (B, T, D) after both sublayers; position i reads positions up to i."""
        place = torch.arange(x.size(1), device=x.device)
        read = _attention(self.self_attention, torch.le(place, place[:, None]))
        for norm, step in ((self.norm1, read), (self.norm2, self.feed_forward)):
            x = torch.add(x, self.dropout(step(norm(x))))
        return x


class Stack(nn.Module):
    """Token vectors with positions, and layers of one kind over them."""

    layer: type[nn.Module]

    def __init__(  # noqa: PLR0917 - the contract's order of arguments
        self,
        vocab_size: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        max_len: int = 512,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.position = PositionalEncoding(d_model, max_len, dropout)
        parts = (d_model, num_heads, d_ff, dropout)
        self.layers = nn.ModuleList(self.layer(*parts) for _ in range(num_layers))

    def climb(self, ids: Tensor, *context: Tensor | None) -> Tensor:
        """Return the output (B, S, D) of the topmost layer for ids (B, S)."""
        x: Tensor = self.position(self.embedding(ids))
        for layer in self.layers:
            x = layer(x, *context)
        return x


class Encoder(Stack):
    """Token ids to memory (section 3.1, figure 1, left).

    Attributes: embedding, position, layers.
    """

    layer = EncoderLayer

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the memory (B, S, D) of ids (B, S)."""
        return self.climb(ids, mask)


class Decoder(Stack):
    """Token ids and memory to logits (section 3.1, figure 1, right).

    Attributes: embedding, position, layers, project.
    """

    layer = DecoderLayer

    def __init__(self, vocab_size: int, d_model: int, *sizes: Any, **options: Any) -> None:
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.project = nn.Linear(d_model, vocab_size)

    def forward(
        self, ids: Tensor, memory: Tensor, self_mask: Tensor | None = None, memory_mask: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, T, V) of ids (B, T) over a memory (B, S, D)."""
        logits: Tensor = self.project(self.climb(ids, memory, self_mask, memory_mask))
        return logits


class Transformer(nn.Module):
    """Encoder and decoder with masks made from the ids (section 3, figure 1).

    Attributes: encoder, decoder (own ones may be passed in), pad_id.
    """

    def __init__(  # noqa: PLR0917 - the contract's order of arguments
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_model: int = 512,
        num_heads: int = 8,
        num_layers: int = 6,
        d_ff: int = 2048,
        max_len: int = 512,
        dropout: float = 0.1,
        pad_id: int = 0,
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, num_layers, num_heads, d_ff, max_len, dropout)
        self.add_module("encoder", encoder or Encoder(src_vocab_size, *sizes).apply(_start))
        self.add_module("decoder", decoder or Decoder(tgt_vocab_size, *sizes).apply(_start))
        self.pad_id = pad_id

    def encode(self, src: Tensor) -> Tensor:
        """Return the memory (B, S, D) of a source (B, S)."""
        memory: Tensor = self.get_submodule("encoder")(src, self._real(src))
        return memory

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Return logits (B, T, V) of a target (B, T) over the memory of a source (B, S)."""
        masks = (target_mask(tgt, self.pad_id), self._real(src))
        logits: Tensor = self.get_submodule("decoder")(tgt, memory, *masks)
        return logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Return logits (B, T, V) of a target (B, T), given a source (B, S)."""
        return self.decode(tgt, self.encode(src), src)

    def _real(self, ids: Tensor) -> Tensor:
        return ids.ne(self.pad_id)[:, None]  # (B, 1, S)


def _start(module: nn.Module) -> None:
    """Draw a matrix anew, Xavier-uniform (Glorot and Bengio 2010, section 4.2.1)."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.xavier_uniform_(module.weight)
