"""A BERT in miniature, with its tokeniser: called as those of the library transformers are.

It reads `[CLS] a [SEP] b [SEP]` as BERT does (Devlin et al. 2019, arXiv:1810.04805, section 3): word
pieces, learned positions, and a vector for each of the two segments. It stands in where no
pretrained model is at hand, and wherever a model of a few thousand weights will do.
"""

import re
from collections import UserDict
from collections.abc import Container, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, Final

import torch
from torch import Tensor, nn

from coursework.stand_ins import FeedForward, MultiHeadAttention

SPECIALS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNK, CLS, SEP, MASK = range(5)
Pair = tuple[list[int], list[int]]


class Encoding(UserDict[str, Any]):
    """Ids, segments and mask by name: as entries, as attributes, or unpacked with `**`."""

    def __init__(self, data: dict[str, Any], rows: list[Pair], pieces: Sequence[str]) -> None:
        super().__init__(data)
        self._rows, self._pieces = rows, pieces

    def __getattr__(self, name: str) -> Any:
        data = self.__dict__.get("data", {})
        if name in data:
            return data[name]
        raise AttributeError(name)

    def to(self, *_device: Any, **_kwargs: Any) -> "Encoding":
        """Stay where it is: everything here lives on the processor."""
        return self

    def tokens(self, batch_index: int = 0) -> list[str]:
        """Return the tokens of one row."""
        return [self._pieces[number] for number in self._rows[batch_index][0]]

    def sequence_ids(self, batch_index: int = 0) -> list[int | None]:
        """Return for each token of a row whether it is of sentence 0 or 1; None for specials."""
        ids, segments = self._rows[batch_index]
        return [None if i in (PAD, CLS, SEP) else s for i, s in zip(ids, segments, strict=True)]


class SmallTokeniser:
    """Cuts text into word pieces: the longest known piece from the left, as WordPiece does."""

    is_fast, padding_side, model_max_length = True, "right", 512
    pad_token, unk_token, cls_token, sep_token, mask_token = SPECIALS
    pad_token_id, unk_token_id, cls_token_id, sep_token_id, mask_token_id = range(5)
    all_special_tokens, all_special_ids = list(SPECIALS), list(range(5))

    def __init__(self, pieces: Sequence[str]) -> None:
        """Take the vocabulary without the special tokens; pieces that continue a word begin with ##."""
        self.pieces = [*SPECIALS, *pieces]
        self.vocab = {piece: number for number, piece in enumerate(self.pieces)}
        self.vocab_size = len(self.pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def get_vocab(self) -> dict[str, int]:
        """Return the number of each piece."""
        return dict(self.vocab)

    def tokenize(
        self, text: str, pair: str | None = None, *, add_special_tokens: bool = False, **_: Any
    ) -> list[str]:
        """Return the pieces of a text, or of two in a row."""
        ids = self._row(text, pair, special=add_special_tokens)[0]
        return [self.pieces[number] for number in ids]

    def encode(
        self, text: str, text_pair: str | None = None, *, add_special_tokens: bool = True,
        return_tensors: str | None = None, **_: Any,
    ) -> Any:  # fmt: skip
        """Return the ids of a text or a pair: a list, or a tensor (1, S) for return_tensors="pt"."""
        ids = self._row(text, text_pair, special=add_special_tokens)[0]
        return torch.tensor([ids]) if return_tensors else ids

    def __call__(
        self, text: Any, text_pair: Any = None, *, add_special_tokens: bool = True,
        return_tensors: str | None = None, padding: Any = False, max_length: int | None = None, **_: Any,
    ) -> Encoding:  # fmt: skip
        """Return ids, segments and mask of a text, a pair, or a batch of either."""
        single = isinstance(text, str)
        texts = [text] if single else list(text)
        pairs = [text_pair] if single else list(text_pair or [None] * len(texts))
        both = [(a, b) if isinstance(a, str) else (a[0], a[1]) for a, b in zip(texts, pairs, strict=True)]
        rows = [self._row(*two, special=add_special_tokens) for two in both]
        size = 0
        if padding or (return_tensors and len(rows) > 1):
            size = max(len(ids) for ids, _ in rows)
            size = max(size, max_length or 0) if padding == "max_length" else size

        def fill(row: list[int]) -> list[int]:
            return [*row, *[0] * (size - len(row))]

        table = {
            "input_ids": [fill(ids) for ids, _ in rows],
            "token_type_ids": [fill(segments) for _, segments in rows],
            "attention_mask": [fill([1] * len(ids)) for ids, _ in rows],
        }
        filled = [*zip(table["input_ids"], table["token_type_ids"], strict=True)]
        data: dict[str, Any] = {
            name: torch.tensor(part) if return_tensors else (part[0] if single else part)
            for name, part in table.items()
        }
        return Encoding(data, filled, self.pieces)

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Return the piece of one id, or a list of those of several."""
        if isinstance(ids, int):
            return self.pieces[ids]
        numbers = [int(number) for number in ids]
        return [self.pieces[n] for n in numbers if not (skip_special_tokens and n < len(SPECIALS))]

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the id of one piece, or a list of those of several."""
        if isinstance(tokens, str):
            return self.vocab.get(tokens, UNK)
        return [self.vocab.get(token, UNK) for token in tokens]

    def convert_tokens_to_string(self, tokens: Iterable[str]) -> str:
        """Join pieces to words, with blanks between them."""
        return " ".join(tokens).replace(" ##", "")

    def decode(self, ids: Any, skip_special_tokens: bool = False, **_: Any) -> str:
        """Return the text of ids, a list or a tensor."""
        return self.convert_tokens_to_string(self.convert_ids_to_tokens(ids, skip_special_tokens))

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        """Return how many special tokens a text or a pair is given."""
        return 3 if pair else 2

    def _row(self, one: str, other: str | None, *, special: bool) -> Pair:
        first, second = self._ids(one), self._ids(other) if other is not None else []
        if special:
            first, second = [CLS, *first, SEP], [*second, SEP] if other is not None else []
        return first + second, [0] * len(first) + [1] * len(second)

    def _ids(self, text: str) -> list[int]:
        cut = re.findall(r"\[[A-Z]+\]|\w+|[^\w\s]", text)
        words = (word if word in SPECIALS else word.lower() for word in cut)
        return [self.vocab[piece] for word in words for piece in word_pieces(word, self.vocab)]


def word_pieces(word: str, known: Container[str]) -> list[str]:
    """Split a word as WordPiece does: the longest known piece from the left, again and again.

    Pieces that continue a word begin with `##`; a word that cannot be spelt is `[UNK]`. (Wu et al. 2016,
    arXiv:1609.08144, section 4.1; the greedy reading as in BERT.)
    """
    found: list[str] = []
    while word:
        prefix = "##" if found else ""
        size = next((size for size in range(len(word), 0, -1) if prefix + word[:size] in known), 0)
        if not size:
            return [SPECIALS[UNK]]
        found.append(prefix + word[:size])
        word = word[size:]
    return found


class Output(dict[str, Any]):
    """What a model returns: by attribute, by name, by number, or unpacked."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, str) else self.to_tuple()[key]

    def to_tuple(self) -> tuple[Any, ...]:
        """Return what is there, in order."""
        return tuple(self.values())


class SmallBert(nn.Module):
    """Embeddings of words, positions and segments, and a few layers of attention over them.

    As a model of transformers, it starts in eval mode, and gives `attentions`, L tensors
    (B, H, S, S), where output_attentions=True is asked for.
    """

    def __init__(
        self, vocab_size: int, d_model: int = 32, num_heads: int = 4, num_layers: int = 2, max_len: int = 64
    ) -> None:  # fmt: skip
        super().__init__()
        self.config = SimpleNamespace(
            model_type="bert", vocab_size=vocab_size, hidden_size=d_model, num_attention_heads=num_heads,
            num_hidden_layers=num_layers, max_position_embeddings=max_len, _attn_implementation="eager",
            output_attentions=False, output_hidden_states=False, return_dict=True, use_return_dict=True,
        )  # fmt: skip
        sizes = {"word": vocab_size, "position": max_len, "segment": 2}
        self.tables = nn.ModuleDict({name: nn.Embedding(n, d_model) for name, n in sizes.items()})
        self.norm = nn.LayerNorm(d_model)
        self.layers = nn.ModuleList(_Layer(d_model, num_heads) for _ in range(num_layers))
        self.eval()

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.norm.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """What the weights are made of."""
        return self.norm.weight.dtype

    def set_attn_implementation(self, _name: str) -> None:
        """Do nothing: there is one implementation, and it returns its weights."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        *,
        output_attentions: bool | None = None,
        return_dict: bool | None = None,
        **_: Any,
    ) -> Any:
        """Read ids (B, S)."""
        if input_ids.dim() != 2:
            raise ValueError(f"expected ids of shape (B, S), got {tuple(input_ids.shape)}")
        x = self.embed(input_ids, token_type_ids, position_ids)  # (B, S, D)
        seen = None if attention_mask is None else attention_mask.bool()[:, None]  # (B, 1, S)
        attentions = []
        for layer in self.layers:
            x, weights = layer(x, seen)
            attentions.append(weights)  # (B, H, S, S)
        wanted = self.config.output_attentions if output_attentions is None else output_attentions
        output = Output(last_hidden_state=x, pooler_output=x[:, 0].tanh())
        if wanted:
            output["attentions"] = tuple(attentions)
        return output.to_tuple() if return_dict is False else output

    def embed(self, ids: Tensor, segments: Tensor | None, places: Tensor | None) -> Tensor:
        """Add the three vectors of every token: (B, S, D)."""
        places = torch.arange(ids.size(1)).expand_as(ids) if places is None else places
        segments = torch.zeros_like(ids) if segments is None else segments
        given = {"word": ids, "position": places, "segment": segments}
        summed = torch.stack([self.tables[name](part) for name, part in given.items()]).sum(dim=0)
        normed: Tensor = self.norm(summed)
        return normed


class _Layer(nn.Module):
    """Attention and feed-forward, each with skip connection and norm."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, 2 * d_model, dropout=0.0)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        read, weights = self.attention(x, x, x, mask)
        x = self.norm1(x + read)
        return self.norm2(x + self.feed_forward(x)), weights
