# ---
# jupyter:
#   coursework: {points: 20, extra: true}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 9 · A language model of today
#
# **You will be able to**
#
# - name what has changed in language models since 2017, and say why;
# - build a Llama from parts of your own: RMSNorm, rotary positions, shared key heads, a gated feed-forward network;
# - load real weights into it, and let it answer you;
# - say what a cache holds, how large it gets, and what it saves.
#
# **Time** about 130 minutes · **Difficulty** hard: few new ideas, but every detail counts, because the weights are real · **Before this** lessons 1 to 7
#
# **Read alongside** Touvron et al. 2023, arXiv:2302.13971, section 2.2.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points of this lesson's own)
#
# | exercise | points | source |
# |---|---|---|
# | 1 `RMSNorm` | 2 | Zhang and Sennrich 2019, arXiv:1910.07467 |
# | 2 `GroupedQueryAttention` | 5 | Ainslie et al. 2023, arXiv:2305.13245; Su et al. 2021, arXiv:2104.09864 |
# | 3 `LlamaLayer` | 3 | Touvron et al. 2023, arXiv:2302.13971, section 2.2 |
# | 4 `Llama` | 3 | the same; Press and Wolf 2017, arXiv:1608.05859 |
# | 5 `load_llama` | 2 | the names in a GGUF file |
# | 6 `generate` | 3 | lesson 7, with a cache |
# | 7 numbers of a model | 2 | exercises 2 to 4 |
# | stretch: `quantise` | not counted | the weights' own format |

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

from coursework.earlier import load_earlier
from coursework.rotary_positions import start_anywhere

parts = load_earlier("09_modern_llm")
scaled_dot_product_attention, rotary = parts["scaled_dot_product_attention"], parts["rotary"]
GatedFeedForward, sample_next = parts["GatedFeedForward"], parts["sample_next"]
rotary_from = start_anywhere(rotary)  # rotary_from(x (..., T, K), start=0, base=10000.0)

torch.manual_seed(9);

# %% demo
from coursework import check, hand_in, plots, skip

plots.use_style()

# %% [markdown] slide="slide"
# ### Exercise 1: `RMSNorm` (2 points)
#
# Divide each vector by the root of the mean of its squares, and multiply by a learnt weight: $y = \frac{x}{\sqrt{\operatorname{mean}(x^2) + \epsilon}} \cdot w$. The mean is over the last dimension. Nothing is subtracted. *10 minutes, easy.*
#
# - **Attribute**: `weight`, an `nn.Parameter` of shape `(d_model,)`, all ones at first. There is no bias.
#
# *Not accepted here:* `nn.RMSNorm` and `F.rms_norm`.

# %% solution rms-norm
class RMSNorm(nn.Module):
    """Scale vectors to a root mean square of 1 (Zhang and Sennrich 2019, equation 4).

    Attribute: weight, Parameter (d_model,), ones at first.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scale each vector. x: (..., d_model). Returns: the same shape."""
        ### BEGIN SOLUTION
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)  # (..., 1)
        return x / torch.sqrt(mean_square + self.eps) * self.weight
        ### END SOLUTION

# %% test rms-norm 2
norm = RMSNorm(d_model=2)
sizes = {name: tuple(p.shape) for name, p in norm.named_parameters()}
assert sizes == {"weight": (2,)}, f"The only parameter should be weight, of shape (2,); yours are {sizes}."
assert norm.weight.tolist() == [1, 1], f"The weight should start as ones, got {norm.weight.tolist()}."
y = norm(torch.tensor([[3.0, 4.0]]))
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}. Did you forget the return?"
expected = torch.tensor([[3.0, 4.0]]) / math.sqrt(12.5)  # the mean of 9 and 16 is 12.5
assert torch.allclose(y, expected, atol=1e-4), (
    f"(3, 4) should become (3, 4) / √12.5 = {expected.tolist()}, got {y.tolist()}. "
    "Do you take the mean of the squares, and subtract nothing?"
)
x = torch.randn(3, 5, 6)
norm = RMSNorm(d_model=6, eps=0.5)
with torch.no_grad():
    norm.weight.copy_(torch.arange(6.0))
y = norm(x)
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
assert torch.allclose(y, F.rms_norm(x, (6,), torch.arange(6.0), 0.5), atol=1e-5), (
    "With eps=0.5 and the weights 0 to 5, the result differs from F.rms_norm. "
    "Is eps inside the root, and does the weight multiply at the end?"
)
assert torch.allclose(norm(x[:1]), y[:1], atol=1e-6), "A sample should get the same result alone and in a batch."
print("RMSNorm: the visible tests pass")

# %% demo
check("rms-norm")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start from your `LayerNorm` of lesson 5, and remove what depends on the mean.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# You need the mean of the squares as a `(..., 1)` tensor, so that it broadcasts: `keepdim=True`. Add `eps` before the root.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 2: `GroupedQueryAttention` (5 points)
#
# Causal self-attention with H query heads of width K = `d_model` / H, which share G = `num_kv_heads` heads of keys and values, with rotary positions and a cache. *35 minutes, hard.*
#
# - **Attributes**, all without bias: `w_q`: `Linear(D, D)`; `w_k` and `w_v`: `Linear(D, G * K)`; `w_o`: `Linear(D, D)`.
# - **Groups**: query head $h$ reads key and value head $h // (H / G)$.
# - **Positions**: turn the queries and keys of every head with `rotary_from(x, start, base)`. Values are not turned.
# - **`forward(x, past=None)`** returns `(y, (k, v))`. `past` is the pair that an earlier call returned, `(B, G, P, K)` each, with the keys already turned. The positions of `x` then count on from P, each attends to all earlier positions and to itself, and the pair that you return holds P + T positions. Don't modify `past`.
# - If H doesn't divide `d_model`, or G doesn't divide H, raise a `ValueError` in the constructor.
#
# **Build it in five steps, and run the test cell after each one.** It prints a line for every step that works, and stops at the first that doesn't.
#
# | step | write | the test then checks |
# |---|---|---|
# | 1 | the constructor | the four layers, and the two errors |
# | 2 | project, split into heads, return the keys and values | the shapes of `y`, `k` and `v` |
# | 3 | repeat the key and value heads, attend, merge the heads | which query head reads which value head |
# | 4 | the rotation, and the causal mask | keys and queries are turned, values are not; nothing comes from the future |
# | 5 | `past` | a text in pieces gives what it gives in one go |
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`. You may use `F.scaled_dot_product_attention`, or yours from lesson 3.

# %% solution grouped-query-attention
class GroupedQueryAttention(nn.Module):
    """Causal attention whose query heads share fewer key and value heads (Ainslie et al. 2023, section 2.2).

    Attributes: w_q and w_o, Linear(d_model, d_model); w_k and w_v, Linear(d_model, num_kv_heads · K),
    where K is d_model / num_heads; all without bias. Raises ValueError if num_heads doesn't divide
    d_model, or num_kv_heads doesn't divide num_heads.
    """

    def __init__(self, d_model: int, num_heads: int, num_kv_heads: int, base: float = 10000.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} cannot be divided by num_heads {num_heads}")
        if num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads {num_heads} cannot be divided by num_kv_heads {num_kv_heads}")
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.base = base
        self.d_head = d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.w_v = nn.Linear(d_model, num_kv_heads * self.d_head, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)
        ### END SOLUTION

    def forward(
        self, x: torch.Tensor, past: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Let each position read itself and all earlier positions.

        x: (B, T, D); past: the keys and values of P earlier positions, (B, G, P, K) each, or None.
        Returns: y (B, T, D), and the keys and values of P + T positions.
        """
        ### BEGIN SOLUTION
        before = 0 if past is None else past[0].size(2)  # P
        q = self.w_q(x).unflatten(-1, (self.num_heads, self.d_head)).transpose(1, 2)  # (B, H, T, K)
        k = self.w_k(x).unflatten(-1, (self.num_kv_heads, self.d_head)).transpose(1, 2)  # (B, G, T, K)
        v = self.w_v(x).unflatten(-1, (self.num_kv_heads, self.d_head)).transpose(1, 2)  # (B, G, T, K)
        q = rotary_from(q, before, self.base)
        k = rotary_from(k, before, self.base)
        if past is not None:
            k = torch.cat([past[0], k], dim=2)  # (B, G, P + T, K)
            v = torch.cat([past[1], v], dim=2)  # (B, G, P + T, K)
        shared = self.num_heads // self.num_kv_heads
        keys = k.repeat_interleave(shared, dim=1)  # (B, H, P + T, K)
        values = v.repeat_interleave(shared, dim=1)  # (B, H, P + T, K)
        places = torch.arange(k.size(2), device=x.device)  # (P + T,)
        mask = places <= places[before:].unsqueeze(1)  # (T, P + T)
        mixed, _ = scaled_dot_product_attention(q, keys, values, mask)  # (B, H, T, K)
        y = self.w_o(mixed.transpose(1, 2).flatten(2))  # (B, T, D)
        return y, (k, v)
        ### END SOLUTION

# %% test grouped-query-attention 5
attention = GroupedQueryAttention(d_model=8, num_heads=4, num_kv_heads=2)
sizes = {name: tuple(p.shape) for name, p in attention.named_parameters()}
expected = {"w_q.weight": (8, 8), "w_k.weight": (4, 8), "w_v.weight": (4, 8), "w_o.weight": (8, 8)}
assert sizes == expected, f"Expected the parameters {expected}, and no bias; got {sizes}."
for wrong in ((9, 2, 1), (8, 4, 3)):
    try:
        GroupedQueryAttention(*wrong)
    except ValueError:
        continue
    raise AssertionError(f"d_model, num_heads, num_kv_heads = {wrong} cannot be divided: raise a ValueError.")
print("step 1 of 5: the layers are right")

x = torch.randn(3, 5, 8)
result = attention(x)
assert isinstance(result, tuple) and len(result) == 2, f"Expected a pair (y, (k, v)), got {type(result).__name__}."
y, pair = result
assert isinstance(pair, tuple) and len(pair) == 2, f"The second result should be a pair (k, v), got {pair!r}."
assert y.shape == x.shape, f"y should have the shape of x, {tuple(x.shape)}, got {tuple(y.shape)}."
for name, kept in zip("kv", pair):
    assert kept.shape == (3, 2, 5, 2), (
        f"{name} should hold 2 heads of width 2 for 5 positions, (3, 2, 5, 2); got {tuple(kept.shape)}."
    )
print("step 2 of 5: the shapes are right")

with torch.no_grad():
    attention.w_o.weight.copy_(torch.eye(8))
alone = x[:, :1]  # a single position attends to itself, so each head outputs its value
y, _ = attention(alone)
value = attention.w_v(alone)  # (3, 1, 4): features 0 and 1 are value head 0, features 2 and 3 are head 1
heads = [value[..., :2], value[..., :2], value[..., 2:], value[..., 2:]]
assert torch.allclose(y, torch.cat(heads, dim=-1), atol=1e-5), (
    "Query heads 0 and 1 should read value head 0, query heads 2 and 3 value head 1. "
    "In which order do you repeat the heads?"
)
print("step 3 of 5: every head reads its group")

_, (k, v) = attention(x)
plain = attention.w_k(x).view(3, 5, 2, 2).transpose(1, 2)
assert torch.allclose(k, rotary_from(plain, 0, 10000.0), atol=1e-5), (
    "The keys returned should be turned, once, each by the angle of its position."
)
assert torch.allclose(v, attention.w_v(x).view(3, 5, 2, 2).transpose(1, 2), atol=1e-5), (
    "The values returned should be the projected values as they are: rotary turns queries and keys only."
)
tiny = GroupedQueryAttention(d_model=2, num_heads=1, num_kv_heads=1)
for layer in (tiny.w_q, tiny.w_k, tiny.w_v, tiny.w_o):
    nn.init.eye_(layer.weight)
y, _ = tiny(torch.eye(2).unsqueeze(0))
scores = torch.tensor([-math.sin(1), 1.0]) / math.sqrt(2)  # position 1 turns (0, 1) by 1 radian
assert torch.allclose(y[0, 0], torch.tensor([1.0, 0.0]), atol=1e-5), (
    f"Position 0 may only read itself: expected (1, 0), got {y[0, 0].tolist()}. Is the mask causal?"
)
assert torch.allclose(y[0, 1], scores.softmax(dim=-1), atol=1e-5), (
    f"At position 1 expected {scores.softmax(dim=-1).tolist()}, got {y[0, 1].tolist()}. "
    "Are both queries and keys turned, and the scores divided by √K?"
)
print("step 4 of 5: positions and mask are right")

whole, (k, v) = attention(x)
first, past = attention(x[:, :2])
kept = past[0].clone()
second, past_after = attention(x[:, 2:], past)
assert torch.allclose(past_after[0], k, atol=1e-5) and torch.allclose(past_after[1], v, atol=1e-5), (
    "After 2 + 3 positions, keys and values should be those of all 5 at once. Do positions count on from P?"
)
assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-5), (
    "A text in two pieces, 2 + 3 positions, should give the outputs that it gives in one go. "
    "Does a new position see all of the past, itself, and nothing later?"
)
assert past[0].shape == kept.shape and torch.equal(past[0], kept), "You changed past in place. Make a new tensor."
print("step 5 of 5: the cache is right")
print("GroupedQueryAttention: the visible tests pass")

# %% demo
check("grouped-query-attention")

# %% [markdown]
# <details><summary>Hint 1: a nudge (steps 1 and 2)</summary>
#
# Write down the shape of every tensor first. Keys and values have G heads, queries have H. All heads have the same width K.
#
# </details>
#
# <details><summary>Hint 2: groups (step 3)</summary>
#
# With H = 4 and G = 2, the key heads 0 1 should become 0 0 1 1. Compare what `repeat` and `repeat_interleave` make of `torch.tensor([0, 1])`.
#
# </details>
#
# <details><summary>Hint 3: positions and mask (steps 4 and 5)</summary>
#
# Turn the new keys before you append them to those of the past, which are turned already. The mask has a row for each new position and a column for each position so far, `(T, P + T)`. Which columns may row 0 see?
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 3: `LlamaLayer` (3 points)
#
# A pre-norm layer, as your `CausalDecoderLayer` of lesson 6, from the new parts. *10 minutes, easy.*
#
# - **Attributes**: `norm1` and `norm2`, an `RMSNorm` each with `eps`; `attention`, a `GroupedQueryAttention` with `base`; `feed_forward`, a `GatedFeedForward`.
# - **`forward(x, past=None)`** returns `(y, (k, v))`: the output, and the attention's pair.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution llama-layer
class LlamaLayer(nn.Module):
    """Attention and a gated feed-forward network, each after its norm (Touvron et al. 2023, section 2.2).

    Attributes: norm1, attention, norm2, feed_forward.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        d_ff: int,
        base: float = 10000.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.norm1 = RMSNorm(d_model, eps)
        self.attention = GroupedQueryAttention(d_model, num_heads, num_kv_heads, base)
        self.norm2 = RMSNorm(d_model, eps)
        self.feed_forward = GatedFeedForward(d_model, d_ff)
        ### END SOLUTION

    def forward(
        self, x: torch.Tensor, past: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Process new positions x: (B, T, D). Returns: y (B, T, D), and the attention's keys and values."""
        ### BEGIN SOLUTION
        attended, present = self.attention(self.norm1(x), past)
        x = x + attended  # (B, T, D)
        x = x + self.feed_forward(self.norm2(x))  # (B, T, D)
        return x, present
        ### END SOLUTION

# %% test llama-layer 3
layer = LlamaLayer(d_model=8, num_heads=4, num_kv_heads=2, d_ff=12)
names = {name for name, _ in layer.named_parameters()}
expected = {f"attention.w_{x}.weight" for x in "qkvo"} | {f"feed_forward.w{n}.weight" for n in (1, 2, 3)}
expected |= {"norm1.weight", "norm2.weight"}
assert names == expected, f"These parameters are missing or unexpected: {sorted(names ^ expected)}."
x = torch.randn(2, 5, 8)
result = layer(x)
assert isinstance(result, tuple) and len(result) == 2, f"Expected a pair (y, (k, v)), got {type(result).__name__}."
y, pair = result
assert y.shape == x.shape, f"y should have the shape of x, {tuple(x.shape)}, got {tuple(y.shape)}."
with torch.no_grad():
    layer.norm1.weight.copy_(torch.linspace(0.5, 1.5, 8))
    layer.feed_forward.w2.weight.zero_()
y, _ = layer(x)
assert torch.allclose(y, x + layer.attention(layer.norm1(x))[0], atol=1e-5), (
    "If the feed-forward network returns zeros, y should be x + attention(norm1(x)). Where is your norm?"
)
with torch.no_grad():
    layer.attention.w_o.weight.zero_()
    nn.init.normal_(layer.feed_forward.w2.weight)
y, _ = layer(x)
assert torch.allclose(y, x + layer.feed_forward(layer.norm2(x)), atol=1e-5), (
    "If the attention returns zeros, y should be x + feed_forward(norm2(x))."
)
layer = LlamaLayer(d_model=8, num_heads=4, num_kv_heads=2, d_ff=12, base=50.0, eps=0.5)
whole, _ = layer(x)
first, past = layer(x[:, :3])
second, (k, _) = layer(x[:, 3:], past)
assert k.shape == (2, 2, 5, 2), f"After 3 + 2 positions, k should be (2, 2, 5, 2), got {tuple(k.shape)}."
assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-5), (
    "A text in two pieces should give what it gives in one go. Does the attention get past?"
)
plain = layer.attention.w_k(F.rms_norm(x, (8,), layer.norm1.weight, 0.5)).view(2, 5, 2, 2).transpose(1, 2)
assert torch.allclose(k, rotary_from(plain, 0, 50.0), atol=1e-5), (
    "With base=50.0 and eps=0.5, the keys are not as expected. Do you pass on base and eps?"
)
print("LlamaLayer: the visible tests pass")

# %% demo
check("llama-layer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start from your causal decoder layer. What does the attention take now, and what does it return?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# The attention returns a pair: its output, which is added to x, and the keys and values, which you return as they are.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 4: `Llama` (3 points)
#
# The whole model. *15 minutes, medium.*
#
# - **Attributes**: `embedding`, an `nn.Embedding`; `layers`, an `nn.ModuleList` of `num_layers` layers with weights of their own; `norm`, an `RMSNorm`. `base` and `eps` reach every part that takes them.
# - **`forward(ids, past=None)`** returns `(logits, past)`. The vectors of the embedding are not scaled. After the last layer and the final norm, the logits are the dot products with the rows of the embedding's table: input and output are **tied**, and the model has no output matrix of its own.
# - **`past`** is a list with one pair for each layer, in order. Return a new list; don't change the one you are given.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution llama
class Llama(nn.Module):
    """A decoder-only language model (Touvron et al. 2023, section 2.2).

    Attributes: embedding, Embedding(vocab_size, d_model), used at both ends (Press and Wolf 2017);
    layers, ModuleList of LlamaLayer; norm, RMSNorm.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        num_kv_heads: int,
        d_ff: int,
        base: float = 10000.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.layers = nn.ModuleList(
            [LlamaLayer(d_model, num_heads, num_kv_heads, d_ff, base, eps) for _ in range(num_layers)]
        )
        self.norm = RMSNorm(d_model, eps)
        ### END SOLUTION

    def forward(
        self, ids: torch.Tensor, past: list[tuple[torch.Tensor, torch.Tensor]] | None = None
    ) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        """Compute a logit for every token of the vocabulary at every new position.

        ids: LongTensor (B, T), which follow what past holds. past: one pair (k, v) a layer, or None.
        Returns: logits (B, T, vocab_size), and the pairs with the new positions.
        """
        ### BEGIN SOLUTION
        x = self.embedding(ids)  # (B, T, D)
        present = []
        for number, layer in enumerate(self.layers):
            x, pair = layer(x, None if past is None else past[number])
            present.append(pair)
        logits = self.norm(x) @ self.embedding.weight.T  # (B, T, V)
        return logits, present
        ### END SOLUTION

# %% test llama 3
model = Llama(vocab_size=11, d_model=8, num_layers=3, num_heads=4, num_kv_heads=2, d_ff=12)
per_layer = 8 * 8 + 4 * 8 + 4 * 8 + 8 * 8 + 3 * 8 * 12 + 2 * 8
count = sum(p.numel() for p in model.parameters())
assert count == 11 * 8 + 3 * per_layer + 8, (
    f"The table, three layers and a norm have {11 * 8 + 3 * per_layer + 8} parameters; yours has {count}. "
    "The output has no matrix of its own."
)
ids = torch.tensor([[5, 7, 1, 9, 4], [3, 6, 2, 10, 8]])
result = model(ids)
assert isinstance(result, tuple) and len(result) == 2, (
    f"Expected a pair (logits, past), got {type(result).__name__}."
)
logits, past = result
assert logits.shape == (2, 5, 11), (
    f"11 logits at each of 5 positions should have shape (2, 5, 11), got {tuple(logits.shape)}."
)
assert isinstance(past, list) and len(past) == 3, "past should be a list of three pairs, one for each layer."
assert past[0][0].shape == (2, 2, 5, 2), f"k should have shape (2, 2, 5, 2), got {tuple(past[0][0].shape)}."
with torch.no_grad():
    for layer in model.layers:
        layer.attention.w_o.weight.zero_()
        layer.feed_forward.w2.weight.zero_()
direct = model.norm(model.embedding(ids)) @ model.embedding.weight.T
assert torch.allclose(model(ids)[0], direct, atol=1e-5), (
    "If all sublayers return zeros, the logits should be norm(embedding(ids)) times the transposed table. "
    "Is something scaled, or a norm left out?"
)
model = Llama(vocab_size=11, d_model=8, num_layers=3, num_heads=4, num_kv_heads=2, d_ff=12, base=50.0, eps=0.1)
whole, _ = model(ids)
first, past = model(ids[:, :3])
given = list(past)
second, after = model(ids[:, 3:], past)
assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-5), (
    "Ids in two pieces should give the logits that they give in one go. Does each layer get its own pair?"
)
assert len(past) == 3 and all(one is other for one, other in zip(past, given)), (
    "You changed the list that was passed in. Make a new one."
)
assert after[2][0].shape == (2, 2, 5, 2), f"After 3 + 2 ids, k should be (2, 2, 5, 2), got {tuple(after[2][0].shape)}."
print("Llama: the visible tests pass")

# %% demo
check("llama")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start from your `LanguageModel` of lesson 7. Positions are now the attention's business.
#
# </details>
#
# <details><summary>Hint 2: the list</summary>
#
# Begin with an empty list, and append each layer's pair. Layer number i gets `past[i]`, or `None`.
#
# </details>
#
# <details><summary>Hint 3: the logits</summary>
#
# The table has shape `(V, D)`, the normed vectors `(B, T, D)`. Which product gives `(B, T, V)`?
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 5: `load_llama` (2 points)
#
# Copy the tensors of a GGUF file into a `Llama`. `tensors` is a dictionary from names to tensors, in any order. *15 minutes, medium.*
#
# | name in the file | goes to |
# |---|---|
# | `token_embd.weight` | `embedding` |
# | `blk.N.attn_norm.weight` | `norm1` of layer N |
# | `blk.N.attn_q.weight`, `attn_k`, `attn_v`, `attn_output` | `w_q`, `w_k`, `w_v`, `w_o` of its attention |
# | `blk.N.ffn_norm.weight` | `norm2` of layer N |
# | `blk.N.ffn_gate.weight`, `ffn_up`, `ffn_down` | `w1`, `w3`, `w2` of its feed-forward network |
# | `output_norm.weight` | `norm` |
#
# - All matrices are as `nn.Linear` keeps them, `(out, in)`: nothing is transposed.
# - Copy the numbers, in the dtype of the model's weights. Model and dictionary must not share memory.
# - If a tensor is missing, left over or of another shape, raise a `ValueError` whose message contains the tensor's full name. The model is then unchanged: check everything before you copy anything.

# %% solution load-llama
def load_llama(model: nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    """Copy the tensors of a GGUF file into a Llama of the same size.

    Raises ValueError, with a tensor's full name, if one is missing, left over, or of another shape;
    the model is unchanged then.
    """
    ### BEGIN SOLUTION
    targets = {"token_embd.weight": model.embedding.weight, "output_norm.weight": model.norm.weight}
    for number, layer in enumerate(model.layers):
        parts = {
            "attn_norm": layer.norm1,
            "attn_q": layer.attention.w_q,
            "attn_k": layer.attention.w_k,
            "attn_v": layer.attention.w_v,
            "attn_output": layer.attention.w_o,
            "ffn_norm": layer.norm2,
            "ffn_gate": layer.feed_forward.w1,
            "ffn_up": layer.feed_forward.w3,
            "ffn_down": layer.feed_forward.w2,
        }
        for name, part in parts.items():
            targets[f"blk.{number}.{name}.weight"] = part.weight
    for name in targets:
        if name not in tensors:
            raise ValueError(f"{name} is missing")
    for name, tensor in tensors.items():
        if name not in targets:
            raise ValueError(f"{name} is left over")
        if tensor.shape != targets[name].shape:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, not {tuple(targets[name].shape)}")
    with torch.no_grad():
        for name, weight in targets.items():
            weight.copy_(tensors[name])
    ### END SOLUTION

# %% test load-llama 2
model = Llama(vocab_size=11, d_model=8, num_layers=2, num_heads=4, num_kv_heads=2, d_ff=12)
shapes = {"attn_norm": (8,), "attn_q": (8, 8), "attn_k": (4, 8), "attn_v": (4, 8), "attn_output": (8, 8),
          "ffn_norm": (8,), "ffn_gate": (12, 8), "ffn_up": (12, 8), "ffn_down": (8, 12)}
tensors = {f"blk.{n}.{name}.weight": torch.randn(shape) for n in (1, 0) for name, shape in shapes.items()}
tensors |= {"output_norm.weight": torch.randn(8), "token_embd.weight": torch.randn(11, 8)}
for name in ("blk.1.attn_q.weight", "output_norm.weight"):  # the fault has to be found before anything is copied
    before = {path: p.detach().clone() for path, p in model.named_parameters()}
    without = {key: tensor for key, tensor in tensors.items() if key != name}
    faults = {"missing": without, "left over": {**tensors, f"{name}.old": torch.randn(8)},
              "of another shape": {**tensors, name: torch.randn(3, 5)}}
    for fault, given in faults.items():
        try:
            load_llama(model, given)
        except ValueError as problem:
            assert name in str(problem), f"If {name} is {fault}, the message should name it; yours is: {problem}"
        else:
            raise AssertionError(f"If {name} (or {name}.old) is {fault}, raise a ValueError.")
        assert all(torch.equal(p, before[path]) for path, p in model.named_parameters()), (
            f"If {name} is {fault}, the model should stay unchanged. Check everything before you copy."
        )
load_llama(model, tensors)
last = model.layers[1]
places = {"token_embd": model.embedding, "output_norm": model.norm, "blk.1.attn_norm": last.norm1,
          "blk.1.attn_q": last.attention.w_q, "blk.1.attn_k": last.attention.w_k,
          "blk.1.attn_v": last.attention.w_v, "blk.1.attn_output": last.attention.w_o,
          "blk.1.ffn_norm": last.norm2, "blk.1.ffn_gate": last.feed_forward.w1,
          "blk.1.ffn_up": last.feed_forward.w3, "blk.1.ffn_down": last.feed_forward.w2}
for name, part in places.items():
    given = tensors[f"{name}.weight"]
    assert torch.equal(part.weight, given), f"{name}.weight is not where it should be. See the table."
    assert part.weight.data_ptr() != given.data_ptr(), f"{name}.weight is shared with the dictionary, not copied."
assert all(p.requires_grad for p in model.parameters()), "Some parameter can no longer be trained."
load_llama(model.bfloat16(), tensors)
assert model.norm.weight.dtype == torch.bfloat16, "The weights of the model should keep their dtype, bfloat16."
print("load_llama: the visible tests pass")

# %% demo
check("load-llama")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# First make a dictionary of your own: from every name that the file should have to the parameter it belongs to.
#
# </details>
#
# <details><summary>Hint 2: check, then copy</summary>
#
# With that dictionary, a tensor is missing if its name is only in yours, and left over if it is only in the file's. Check all names and shapes in a first loop, and copy in a second.
#
# </details>
#
# <details><summary>Hint 3: copying</summary>
#
# `parameter.copy_(tensor)` copies in place and converts the dtype. PyTorch allows it inside `torch.no_grad()`.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 6: `generate` (3 points)
#
# Let the model write, with its cache. *15 minutes, medium.*
#
# - `ids` is the prompt, of shape `(1, T)`. The prompt goes through the model **once**. After that, each new token goes through it **alone**, with `past`.
# - `choose(logits)` picks each token: it takes the logits of the last position, of shape `(1, V)`, and returns an id of shape `(1,)`.
# - Stop after `max_new` tokens, or after the first new token that equals `end_id`. The prompt may contain `end_id`.
# - Return the new tokens only, of shape `(1, at most max_new)`, including `end_id` if it was chosen.
# - The model is in `eval()` mode and without gradients while it writes. Afterwards `model.training` is what it was before, also if an exception is raised on the way.

# %% solution generate
from collections.abc import Callable


def generate(
    model: nn.Module,
    ids: torch.Tensor,
    max_new: int,
    choose: Callable[[torch.Tensor], torch.Tensor],
    end_id: int,
) -> torch.Tensor:
    """Continue a prompt, one token at a time, with a cache.

    model: takes ids and past, returns logits (1, T, V) and the new past; ids: LongTensor (1, T);
    choose: takes logits (1, V), returns an id (1,). Returns: LongTensor (1, at most max_new).
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    written = []
    given, past = ids, None
    try:
        with torch.no_grad():
            for _ in range(max_new):
                logits, past = model(given, past)  # (1, T, V)
                token = choose(logits[:, -1])  # (1,)
                written.append(token)
                if token.item() == end_id:
                    break
                given = token.unsqueeze(1)  # (1, 1)
    finally:
        model.train(was_training)
    return torch.stack(written, dim=1)  # (1, N)
    ### END SOLUTION

# %% test generate 3
class Counter(nn.Module):
    """A model that counts: after token n it predicts n + 1. Its past is a list with the ids so far."""

    def __init__(self):
        super().__init__()
        self.lengths = []

    def forward(self, ids, past=None):
        assert not self.training, "The model should be in eval mode while it writes."
        assert not torch.is_grad_enabled(), "The model should write without gradients: use torch.no_grad()."
        assert ids.dim() == 2, f"The model takes ids of shape (1, T), got {tuple(ids.shape)}."
        self.lengths.append(ids.size(1))
        so_far = ids if past is None else torch.cat([past[0], ids], dim=1)
        assert so_far.tolist()[0][:3] == [4, 2, 7], "The model has lost its past. Do you pass it on?"
        return F.one_hot(ids + 1, 20).float(), [so_far]


def likeliest(logits):
    assert logits.shape == (1, 20), f"choose takes logits of shape (1, 20), got {tuple(logits.shape)}."
    return logits.argmax(dim=-1)


counter, prompt = Counter().train(), torch.tensor([[4, 2, 7]])
new = generate(counter, prompt, max_new=4, choose=likeliest, end_id=2)
assert isinstance(new, torch.Tensor), f"Expected a tensor, got {type(new).__name__}."
assert new.tolist() == [[8, 9, 10, 11]], f"After 7 the model counts 8, 9, 10, 11; got {new.tolist()}."
assert counter.lengths[:4] == [3, 1, 1, 1], (
    f"The prompt of 3 should go through once, then each new token alone; the calls had lengths {counter.lengths}."
)
assert counter.training, "The model came in train mode and should be left in train mode."
ended = generate(counter, prompt, max_new=6, choose=likeliest, end_id=9)
assert ended.tolist() == [[8, 9]], f"Stop after end_id, here 9, and keep it: expected [[8, 9]], got {ended.tolist()}."
drawn = generate(counter, prompt, 3, lambda logits: torch.tensor([12]), end_id=0)
assert drawn.tolist() == [[12, 12, 12]], f"Each token should be the one that choose returns, got {drawn.tolist()}."
try:
    generate(counter, prompt, 3, lambda logits: 1 / 0, end_id=0)
except ZeroDivisionError:
    assert counter.training, "After an exception in choose, the model should be in train mode again."
print("generate: the visible tests pass")

# %% demo
check("generate")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# At each step, what is new to the model? At the first step it is the whole prompt.
#
# </details>
#
# <details><summary>Hint 2: restoring the mode</summary>
#
# Remember `model.training` first. Code in a `finally` block runs with and without an exception.
#
# </details>

# %% [markdown]
# ## Exercise 7: the numbers of a model (2 points)
#
# Take `Llama(1000, 64, 4, 8, 2, 256)`: a vocabulary of 1000 tokens, width 64, 4 layers, 8 query heads, 2 key and value heads, and a feed-forward width of 256. It processes one sequence, and all numbers are kept in 16 bits. Fill in the dictionary with whole numbers and delete the `raise` line below it. *15 minutes, medium.*
#
# - `"parameters"`: how many parameters has the model?
# - `"cache_all_heads"`: if each of the 8 heads had keys and values of its own, how many bytes would the cache need for **each position**, in all layers together?
# - `"cache_grouped"`: how many bytes does it need for each position, as it is?
# - `"break_even"`: what is the smallest number of positions at which the cache, as it is, takes more memory than the model's weights?

# %% solution model-numbers
answers = {
    "parameters": None,
    "cache_all_heads": None,
    "cache_grouped": None,
    "break_even": None,
}
### BEGIN SOLUTION
answers = {
    "parameters": 302_144,
    "cache_all_heads": 1024,
    "cache_grouped": 256,
    "break_even": 2361,
}
### END SOLUTION

# %% test model-numbers 2
missing = {"parameters", "cache_all_heads", "cache_grouped", "break_even"} - set(answers)
assert not missing, f"These entries are missing from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key, answer in answers.items():
    assert isinstance(answer, int), f"answers['{key}'] should be a whole number, got {answer!r}."
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: parameters</summary>
#
# Add up the table, four layers and a norm. In a layer, `w_k` and `w_v` are narrower than `w_q`. The table is counted once.
#
# </details>
#
# <details><summary>Hint 2: the cache</summary>
#
# For one position, each layer keeps a key and a value for each of its key heads. How many numbers is that, and how many bytes is a number of 16 bits?
#
# </details>

# %% [markdown]
# ### Stretch: 4 bits for each weight
#
# The file that you loaded holds most of its weights in 4 bits each, in a format called Q4_1. Every row of a matrix is cut into blocks of 32 neighbours. A block stores its smallest weight, the step between two levels, and for each weight one of 16 levels. *15 minutes, medium.*
#
# Write `quantise(weight, block=32)`.
#
# - `weight` has shape `(M, N)`. Each row is cut into blocks of `block` neighbours; if `block` doesn't divide N, raise a `ValueError`.
# - In each block, `low` is the smallest weight, and `step` is the distance from the smallest to the largest, divided by 15. The **level** of a weight is $(w - \text{low}) / \text{step}$, rounded to the nearest whole number from 0 to 15.
# - Return `(levels, step, low)`: `levels` of shape `(M, N)` and dtype `torch.uint8`; `step` and `low` of shape `(M, N / block)`, in the dtype of `weight`.
# - If all weights of a block are equal, its step and its levels are 0.
#
# So `low + step * levels`, with the right block for each weight, is at most half a step away from `weight`.

# %% solution quantise
def quantise(weight: torch.Tensor, block: int = 32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Round each weight to one of 16 levels, which are evenly spaced between the extremes of its block.

    weight: (M, N). Returns: levels (M, N), uint8, 0 to 15; step and low (M, N / block), as weight.
    Raises ValueError if block doesn't divide N.
    """
    ### BEGIN SOLUTION
    if weight.size(1) % block != 0:
        raise ValueError(f"rows of {weight.size(1)} weights cannot be cut into blocks of {block}")
    blocks = weight.unflatten(1, (-1, block))  # (M, N / block, block)
    low = blocks.amin(dim=-1)  # (M, N / block)
    step = (blocks.amax(dim=-1) - low) / 15  # (M, N / block)
    divisor = torch.where(step == 0, 1.0, step).unsqueeze(-1)  # (M, N / block, 1)
    levels = torch.round((blocks - low.unsqueeze(-1)) / divisor)  # (M, N / block, block)
    return levels.flatten(1).to(torch.uint8), step, low
    ### END SOLUTION

# %% test quantise 0
weight = torch.tensor([[0.0, 15.0, 3.2, 7.9, -1.0, -1.0, -1.0, -1.0]])
result = quantise(weight, block=4)
assert isinstance(result, tuple) and len(result) == 3, "Expected three tensors: levels, step, low."
levels, step, low = result
assert levels.dtype == torch.uint8, f"The levels should be of dtype torch.uint8, got {levels.dtype}."
assert levels.shape == (1, 8) and step.shape == low.shape == (1, 2), (
    f"Expected the shapes (1, 8), (1, 2), (1, 2), got {[tuple(each.shape) for each in result]}."
)
assert low.tolist() == [[0.0, -1.0]], f"The smallest weights of the blocks are 0 and -1, got {low.tolist()}."
assert step.tolist() == [[1.0, 0.0]], f"Block 0 has a step of (15 - 0) / 15 = 1, block 1 of 0; got {step.tolist()}."
assert levels.tolist() == [[0, 15, 3, 8, 0, 0, 0, 0]], (
    f"Expected the levels [[0, 15, 3, 8, 0, 0, 0, 0]], got {levels.tolist()}. Do you round to the nearest?"
)
weight = torch.randn(6, 96)
levels, step, low = quantise(weight)
back = low.repeat_interleave(32, dim=1) + step.repeat_interleave(32, dim=1) * levels
assert ((back - weight).abs() <= step.repeat_interleave(32, dim=1) / 2 + 1e-5).all(), (
    "Some weight is more than half a step away from its level."
)
try:
    quantise(torch.randn(2, 40))
except ValueError:
    print("quantise: the visible tests pass")
else:
    raise AssertionError("Rows of 40 weights cannot be cut into blocks of 32: raise a ValueError.")

# %% demo
check("quantise")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Give the tensor a dimension of its own for the blocks: `(M, N / block, block)`. Then minimum and maximum are over the last dimension.
#
# </details>
#
# <details><summary>Hint 2: equal weights</summary>
#
# Where the step is 0, divide by 1 instead: the difference is 0 there anyway.
#
# </details>

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()
