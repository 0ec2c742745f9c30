# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 3 · Attention
#
# **You will be able to**
#
# - explain attention as a lookup that returns a mixture, and say what queries, keys and values are;
# - predict every shape in an attention call, also when the two sequences have different lengths;
# - derive the factor 1/√d_k, and show what happens without it;
# - build masks, apply them in the right place, and handle a query that may look at nothing;
# - write scaled dot-product attention, check it against PyTorch's own, and wrap it as a layer.
#
# **Time** about 90 minutes · **Difficulty** medium · **Before this** lessons 1 and 2
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.2.1 and 3.2.3.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `softmax` | 2 | 3.2.1, equation 1 |
# | `attention_scores` | 3 | 3.2.1, equation 1 and its footnote on variance |
# | `causal_mask` | 2 | 3.2.3, third point |
# | `padding_mask` | 2 | not described; needed for the batches of 5.1 |
# | `scaled_dot_product_attention` | 5 | 3.2.1, equation 1 and figure 2 (left) |
# | `SelfAttentionHead` | 4 | 3.2.3, with the projections of 3.2.2 |
# | shapes and choices | 2 | 3.2.1 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3);

# %% demo
import matplotlib.pyplot as plt

from coursework import plots

plots.use_style()

# %% [markdown]
# ## Looking something up, softly
#
# A Python dictionary answers a query only when it equals a key exactly. Attention is a dictionary that always answers: it compares the query with **every** key, turns the comparisons into weights that sum to one, and returns the **weighted mean of the values**. A close match dominates, a poor match hardly counts, and every step can be differentiated, so the vectors themselves can be learnt.
#
# ![Two lookups side by side, each with a query, three keys with their values, and an answer. On the left a dictionary: the query mango equals one key, and its value 2.50 alone comes back. On the right attention: the query rather sweet is compared with all three keys; arrows as wide as the weights 0.81, 0.18 and 0.01 carry the values 2.50, 1.00 and 0.50 into the answer 2.22.](images/attention_retrieval.svg)

# %% demo
fruit = ["mango", "apple", "lemon"]
keys = torch.tensor([[2.0, 1.0], [1.0, 1.0], [-1.0, 0.5]])  # (3, 2): how sweet, how large
prices = torch.tensor([2.5, 1.0, 0.5])  # (3,): one value per key

query = torch.tensor([1.5, 1.0])  # "rather sweet and rather large": equal to no key
scores = keys @ query  # (3,)
weights = torch.softmax(scores, dim=-1)  # (3,)
plots.bars({"how well each key matches": scores, "weights": weights}, fruit)
print(f"price looked up: {weights @ prices:.2f}")

# %% [markdown]
# Move the query towards the lemon, say to `[-2.0, 0.5]`, and run the cell again. The answer slides from one price to another; there is no moment at which it jumps. Then multiply the query by 10: the mixture turns into an ordinary lookup. Keep that in mind, because it is exactly what goes wrong when d_k is large.

# %% [markdown]
# ## Queries, keys, values
#
# In a Transformer all three are vectors computed from tokens, each by a projection of its own:
#
# - the **query** of a token says what it is looking for;
# - the **key** of a token says what it can be found by;
# - the **value** of a token is what it hands over when it is found.
#
# In **self-attention** all three come from one sequence. In **cross-attention** the queries come from one sequence, with T_q tokens, and the keys and values from another, with T_k tokens: a French word being written asks the English sentence (section 3.2.3).

# %% [markdown]
# ### The shapes
#
# ![Two matrix products, drawn to scale. Q with T q rows and d k columns times K transposed with d k rows and T k columns gives the scores, T q by T k. The softmax of each row turns scores into weights. The weights, T q by T k, times V, with T k rows and d v columns, gives the output, T q by d v. Matching sides share a colour.](images/attention_shapes.svg)
#
# Every query gets one output, so the output has as many rows as Q and is as wide as V. Only two conditions hold the shapes together:
#
# 1. **a query is as wide as a key**, d_q = d_k, or the dot product does not exist;
# 2. **there are as many values as keys**, because each weight belongs to one key *and* one value.
#
# Nothing else has to agree. T_q may differ from T_k, d_v from d_k, and d_k may be smaller or larger than the width d_model of the tokens. In front stand any number of batch dimensions, which only come along.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A decoder with 5 tokens attends to a sentence of 7 tokens. How many key vectors, value vectors and output vectors are there?
#
# <details><summary>Answer</summary>
#
# 7 keys and 7 values, one of each for every token that can be read; 5 outputs, one for every token that asks. The number of queries has no influence on the number of values.
#
# </details>
#
# **And** could d_k be 512 while d_model is 64?
#
# <details><summary>Answer</summary>
#
# Yes. `nn.Linear(64, 512)` is a perfectly good projection. It costs more, and the table of scores q·k it can express is no richer than with d_k = 64, since its rank is bounded by d_model (biases aside). Wasteful, but legal.
#
# </details>

# %% [markdown]
# ## From scores to weights
#
# Scores can be any real numbers. The softmax makes them positive and lets them sum to one: exponentiate, then divide by the sum. Written just like that it breaks, because in float32 `exp(89)` is already infinite, and infinity divided by infinity is NaN.
#
# The cure is free. Subtracting the same number c from all scores of a row multiplies numerator and denominator by the same exp(−c), so the weights stay as they are. Take c to be the **largest score of that row**: the largest exponent is then 0, nothing can overflow, and the sum is at least 1.

# %% demo
scores = torch.tensor([100.0, 99.0, 98.0])
print("exp:           ", scores.exp())
print("exp / sum:     ", scores.exp() / scores.exp().sum())
print("the same, − 98:", (scores - 98).exp() / (scores - 98).exp().sum())

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Would one maximum for the whole tensor do, instead of one per row?
#
# <details><summary>Answer</summary>
#
# Only as long as the rows are alike. Take one row around 0 and another around 500. With the global maximum the first row becomes exp(−500), which float32 rounds to 0 for every entry, and 0 divided by 0 is NaN. Each row is a distribution of its own, and needs a maximum of its own.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 1: `softmax` (2 points)
#
# Every weight in this course passes through this function. Write it with your own exponential and sum (`torch.softmax`, `F.softmax`, `nn.Softmax` and their kin are not accepted here). It works along any dimension, survives entries of ±10 000, also in rows far apart from each other, and gives a weight of exactly 0 to an entry of −∞. No row consists of −∞ alone.

# %% solution softmax
def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Turn scores into weights that are positive and sum to one along `dim`.

    x: any shape. Returns: the same shape. Entries of -inf get 0.
    """
    ### BEGIN SOLUTION
    shifted = x - x.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(shifted)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)
    ### END SOLUTION

# %% test softmax 2
x = torch.tensor([[0.0, math.log(2.0), math.log(3.0)], [5.0, 5.0, 5.0]])
weights = softmax(x)
expected = torch.tensor([[1 / 6, 2 / 6, 3 / 6], [1 / 3, 1 / 3, 1 / 3]])
assert isinstance(weights, torch.Tensor), (
    f"Expected a tensor, got {type(weights).__name__}: is there a return?"
)
assert weights.shape == x.shape, (
    f"Expected the shape of x, {tuple(x.shape)}, got {tuple(weights.shape)}."
)
assert torch.allclose(weights, expected), (
    f"Expected {expected}, got {weights}. Which dimension is summed?"
)
big = softmax(torch.tensor([1000.0, 1000.0]))
assert torch.allclose(big, torch.tensor([0.5, 0.5])), (
    f"Two scores of 1000 get 0.5 each, got {big}. What is exp(1000)?"
)
columns = softmax(torch.zeros(4, 5), dim=0).sum(dim=0)
assert torch.allclose(columns, torch.ones(5)), (
    f"With dim=0 every column sums to 1, got {columns}. Is dim used everywhere?"
)
print("softmax: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Three steps: shift, exponentiate, normalise. Two of them need a number per row, found along `dim`.
#
# </details>
#
# <details><summary>Hint 2: shapes do not fit?</summary>
#
# Reducing a (2, 3) tensor along its last dimension leaves (2,), which does not line up with (2, 3). Every reduction in PyTorch can keep the reduced dimension with size 1; look for the argument in the documentation of `torch.sum`.
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# `x.amax(dim=..., keepdim=True)` is the largest entry of each row, in a shape that can be subtracted from `x`. And −∞ needs no special treatment: what is exp(−∞)?
#
# </details>

# %% [markdown]
# ## How to compare a query with a key
#
# The dot product is one **score function** among several. Each takes a query and a key and returns a number.
#
# | name | score | learnt | source |
# |---|---|---|---|
# | dot product | q·k | – | Luong et al. 2015, arXiv:1508.04025 |
# | scaled dot product | q·k / √d_k | – | Vaswani et al. 2017, section 3.2.1 |
# | bilinear ("general") | qᵀ W k | W | Luong et al. 2015, section 3.1 |
# | additive | vᵀ tanh(W₁ q + W₂ k) | v, W₁, W₂ | Bahdanau et al. 2015, arXiv:1409.0473 |
# | cosine | q·k / (‖q‖ ‖k‖) | – | Graves et al. 2014, arXiv:1410.5401, section 3.3.1 (there with a sharpness β) |
#
# Bilinear and additive scores accept queries and keys of different widths. The paper chose the dot product because it is one matrix product, much faster and more sparing with memory in practice (section 3.2.1).

# %% demo
def score_functions(q, k):
    """q (d,), k (N, d): five scores for each of the N keys."""
    torch.manual_seed(0)
    w, w1, w2 = (torch.randn(q.size(0), q.size(0)) for _ in range(3))
    return {
        "dot product": k @ q,
        "scaled": k @ q / math.sqrt(q.size(0)),
        "bilinear": k @ w.T @ q,
        "additive": torch.tanh(q @ w1.T + k @ w2.T) @ torch.ones(q.size(0)),
        "cosine": F.cosine_similarity(k, q, dim=-1),
    }


q = torch.tensor([1.0, 1.0, 0.0, 0.0])
k = torch.stack([q, 2 * q, torch.tensor([0.0, 0.0, 1.0, 1.0]), -q])
table = torch.stack(list(score_functions(q, k).values()))  # (5, 4)
names = ["same", "twice as long", "at right angles", "opposite"]
plots.heatmap(table, list(score_functions(q, k)), names, limits=(-4, 4));

# %% [markdown]
# Read the first two columns. The dot product doubles when the key doubles, so a long key is heard by everyone; the cosine does not notice. Additive scores are bounded by the tanh and by v. With W drawn at random the bilinear score means nothing yet: there *same* and *opposite* get their meaning by training.
#
# A Transformer uses the dot product, yet it is bilinear in disguise. With q = W_q x and k = W_k y the score is xᵀ (W_qᵀ W_k) y: the learnt matrix sits in the projections.

# %% [markdown]
# ## Why divide by √d_k
#
# Let the components of q and k be independent, with mean 0 and variance 1. Then each product qᵢkᵢ has
#
# - mean E[qᵢ] E[kᵢ] = 0,
# - variance E[qᵢ²] E[kᵢ²] − 0 = 1 · 1 = 1.
#
# The score q·k is a sum of d_k independent such products, and variances of independent terms add up: **Var(q·k) = d_k**. A typical score is therefore of the size √d_k. Dividing by √d_k divides the variance by d_k and brings it back to 1, whatever the width. (The paper gives this in a footnote to section 3.2.1.)

# %% demo
for d_k in (4, 64, 1024):
    q, k = torch.randn(2, 5000, d_k)
    products = (q * k).sum(dim=-1)  # (5000,)
    scaled = products / math.sqrt(d_k)
    spread = f"std of q·k {products.std():6.2f}   after scaling {scaled.std():.2f}"
    print(f"d_k {d_k:4}   √d_k {math.sqrt(d_k):4.0f}   {spread}")

# %% [markdown] slide="subslide"
# **Predict, then reveal.** One random query, 16 random keys, d_k = 512, and no scaling. How large is the largest of the 16 weights, on average?
#
# <details><summary>Answer</summary>
#
# About 0.95. Fifteen keys share what is left. With scaling it is about 0.25, at this width and at any other.
#
# </details>

# %% demo
def weights_for(d_k, seed=7):
    """One query against 16 keys: weights (16,) without and with the scale, largest first."""
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(d_k, generator=generator)
    products = torch.randn(16, d_k, generator=generator) @ q  # (16,)
    both = softmax(torch.stack([products, products / math.sqrt(d_k)]))  # (2, 16)
    return both.sort(dim=-1, descending=True).values


widths = (4, 32, 128, 512)
raw, scaled = zip(*(weights_for(d_k) for d_k in widths))
titles = [f"d_k = {d_k}" for d_k in widths]
plots.distributions({"softmax(q·k)": raw, "softmax(q·k/√d_k)": scaled}, titles);

# %% [markdown]
# The upper row **saturates**: one key takes everything. That would be no harm if the choice were learnt, but at the start of training it is arbitrary, and it can hardly be unlearnt. The derivative of weight i with respect to score j is wᵢ (1 − wᵢ) for i = j and −wᵢ wⱼ otherwise. When one weight is near 1 and the others near 0, all of these are near 0, and no gradient comes through.

# %% demo
def sensitivity(d_k, trials=200):
    """The mean of w(1 − w) at the largest weight, without and with the scale."""
    largest = torch.stack([weights_for(d_k, seed)[:, 0] for seed in range(trials)])  # (trials, 2)
    return (largest * (1 - largest)).mean(dim=0).tolist()


widths = (1, 4, 16, 64, 256, 1024)
raw, scaled = zip(*(sensitivity(d_k) for d_k in widths))
axes = ("d_k", "slope at the largest weight")
plots.curves(widths, {"with √d_k": scaled, "without": raw}, labels=axes, base=2);

# %% [markdown]
# Up to about d_k = 16 it hardly matters; from there on the slope without scaling dies away, and with it the gradient. This agrees with what the paper reports: for small d_k dot-product and additive attention do equally well, for large d_k the unscaled dot product falls behind (section 3.2.1). Now try it yourself. The slider needs a running kernel; on paper the grid above says the same.

# %% demo
from ipywidgets import IntSlider, interact


@interact(d_k=IntSlider(value=64, min=2, max=512, step=2, continuous_update=False))
def saturation(d_k):
    """Drag d_k: the upper distribution collapses, the lower one keeps its shape."""
    raw, scaled = weights_for(d_k)
    plots.distributions({"without": [raw], "with √d_k": [scaled]}, [f"d_k = {d_k}"])
    plt.show()

# %% [markdown]
# ### Exercise 2: `attention_scores` (3 points)
#
# All scores of all queries against all keys are a single matrix product. Write it for any number of leading dimensions, none included: `(…, T_q, d_k)` and `(…, T_k, d_k)` give `(…, T_q, T_k)`, **row i holding the scores of query i**. Divide by the square root of the width of the vectors that are multiplied, not by anything else that happens to have the same size today.

# %% solution attention-scores
def attention_scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Compare every query with every key (Vaswani et al. 2017, section 3.2.1).

    q: (..., T_q, d_k), k: (..., T_k, d_k). Returns: (..., T_q, T_k), scaled by 1 / sqrt(d_k).
    """
    ### BEGIN SOLUTION
    return q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))  # (..., T_q, T_k)
    ### END SOLUTION

# %% test attention-scores 3
q = torch.tensor([[2.0, 0.0, 1.0, 1.0]])
k = torch.tensor([[2.0, 0.0, 1.0, 1.0], [0.0, 2.0, 0.0, 1.0], [1.0, 0.0, 2.0, 0.0]])
scores = attention_scores(q, k)
assert isinstance(scores, torch.Tensor), (
    f"Expected a tensor, got {type(scores).__name__}: is there a return?"
)
assert scores.shape == (1, 3), (
    f"One query and three keys give scores of shape (1, 3), got {tuple(scores.shape)}."
)
assert torch.allclose(scores, torch.tensor([[3.0, 0.5, 2.0]])), (
    f"By hand: the dot products are 6, 1 and 4, and d_k is 4, which gives 3, 0.5 and 2. Got {scores}."
)
many = attention_scores(torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8))
assert many.shape == (2, 3, 5, 7), (
    f"Expected (2, 3, 5, 7), got {tuple(many.shape)}. Which two dimensions of k are swapped?"
)
print("attention_scores: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `@` multiplies the last two dimensions and lets all others come along. In front of it stands a (T_q, d_k) matrix; what has to stand behind it to give (T_q, T_k)?
#
# </details>
#
# <details><summary>Hint 2: the transpose</summary>
#
# `.T` reverses *all* dimensions, and `reshape` keeps the order of the numbers and so mixes the keys. You want to swap the last two dimensions and leave the rest: `transpose` takes two dimensions, which may be negative.
#
# </details>
#
# <details><summary>Hint 3: the scale</summary>
#
# d_k is the size of the last dimension of `k` (and of `q`). `math.sqrt` takes an ordinary number.
#
# </details>

# %% [markdown]
# ## Who may look where: masks
#
# A **mask** is a boolean tensor that is laid over the scores: row i, column j says whether query i may attend to key j. In this course **True means "may attend"**. Two reasons to forbid a look:
#
# - **causality**: a decoder that writes from left to right must not read what it has yet to write (section 3.2.3);
# - **padding**: sentences of a batch are filled up to one length with `<pad>`, and a filler has nothing to say.

# %% [markdown]
# ### Exercise 3: `causal_mask` (2 points)
#
# Position i may attend to itself and to everything before it: j ≤ i. Return a boolean tensor, not one of zeros and ones.

# %% solution causal-mask
def causal_mask(size: int) -> torch.Tensor:
    """Say which positions each position may see when reading from left to right.

    Returns: BoolTensor (size, size), True where query i may attend to key j, that is j <= i.
    """
    ### BEGIN SOLUTION
    everything = torch.ones(size, size, dtype=torch.bool)
    return everything.tril()
    ### END SOLUTION

# %% test causal-mask 2
mask = causal_mask(4)
assert isinstance(mask, torch.Tensor), (
    f"Expected a tensor, got {type(mask).__name__}: is there a return?"
)
assert mask.dtype == torch.bool, f"Expected dtype torch.bool, got {mask.dtype}."
assert mask.shape == (4, 4), f"Expected shape (4, 4), got {tuple(mask.shape)}."
assert mask[2, 1], "Position 2 may look back at position 1: expected True in row 2, column 1."
assert not mask[1, 2], (
    "Position 1 must not look ahead at position 2: expected False in row 1, column 2."
)
print("causal_mask: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Draw the 4 × 4 table on paper. What do the cells that are True look like together?
#
# </details>
#
# <details><summary>Hint 2: two ways</summary>
#
# Either cut a triangle out of a square of True (PyTorch can keep the lower or the upper triangle of a matrix), or compare a column of row numbers with a row of column numbers and let broadcasting do the rest.
#
# </details>

# %% [markdown]
# ### Exercise 4: `padding_mask` (2 points)
#
# From token ids `(B, S)` make a mask that is True where a token is real. It says something about **keys**, the same for every query, so its shape is `(B, 1, S)`: the dimension of size 1 stretches over all queries by broadcasting, whether there are S of them (self-attention) or T (cross-attention).

# %% solution padding-mask
def padding_mask(ids: torch.Tensor, pad_id: int = 0) -> torch.Tensor:
    """Say which keys are real tokens.

    ids: LongTensor (B, S). Returns: BoolTensor (B, 1, S), True where the token is not `pad_id`.
    """
    ### BEGIN SOLUTION
    is_real = ids != pad_id
    return is_real.unsqueeze(1)  # (B, 1, S)
    ### END SOLUTION

# %% test padding-mask 2
ids = torch.tensor([[7, 4, 9, 2, 0, 0], [5, 2, 0, 0, 0, 0]])
mask = padding_mask(ids)
assert isinstance(mask, torch.Tensor), (
    f"Expected a tensor, got {type(mask).__name__}: is there a return?"
)
assert mask.dtype == torch.bool, f"Expected dtype torch.bool, got {mask.dtype}."
assert mask.shape == (2, 1, 6), (
    f"Two sentences of length 6 give (2, 1, 6), got {tuple(mask.shape)}."
)
assert mask[0, 0].sum() == 4, (
    f"The first sentence has 4 real tokens, the mask lets {int(mask[0, 0].sum())} through."
)
assert mask[1, 0, 0], "The first token of the second sentence is real: expected True."
print("padding_mask: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Comparing a tensor with a number gives a boolean tensor of the same shape. Which comparison is True for a *real* token?
#
# </details>
#
# <details><summary>Hint 2: the shape</summary>
#
# `unsqueeze` inserts a dimension of size 1. Between the batch and the keys is where the queries stand.
#
# </details>

# %% [markdown]
# ### Masks, drawn
#
# Two masks combine with `&`: a look is allowed if *both* allow it. Broadcasting makes one mask per sentence out of the causal `(S, S)` and the padding `(B, 1, S)`. Note the last rows of the combined mask: a `<pad>` may still ask, and that is harmless, because nobody listens to its answer.

# %% demo
tokens = ["the", "cat", "sat", "<eos>", "<pad>", "<pad>"]
ids = torch.tensor([[7, 4, 9, 2, 0, 0], [5, 2, 0, 0, 0, 0]])

causal = causal_mask(6)  # (6, 6)
padding = padding_mask(ids)  # (2, 1, 6)
both = causal & padding  # (2, 6, 6)
print("combined:", tuple(both.shape))
plots.masks({"causal": causal, "padding": padding[0].expand(6, 6), "both": both[0]}, tokens, tokens);

# %% [markdown]
# ### Two polarities
#
# PyTorch itself speaks two languages, and a mask in the wrong one raises no error:
#
# | where | True means |
# |---|---|
# | this course | may attend |
# | `F.scaled_dot_product_attention(…, attn_mask=…)` | may attend |
# | `nn.MultiheadAttention(…)(…, attn_mask=…, key_padding_mask=…)` | must **not** attend |
# | `nn.Transformer` and its layers | must **not** attend |
#
# (PyTorch documentation of the functions and modules named.) Between the two stands one character, `~`. Below, the same mask goes into `nn.MultiheadAttention` with it and without it.

# %% demo
words = ["the", "cat", "sat", "down"]
theirs = nn.MultiheadAttention(embed_dim=8, num_heads=1, batch_first=True).eval()
x = torch.randn(1, 4, 8)
mask = causal_mask(4)

_, negated = theirs(x, x, x, attn_mask=~mask)  # (1, 4, 4)
_, as_is = theirs(x, x, x, attn_mask=mask)  # (1, 4, 4)
plots.heatmaps({"attn_mask=~mask": negated[0], "attn_mask=mask": as_is[0]}, words, words);

# %% [markdown]
# On the right every word sees only the future. A model trained like that reaches a splendid loss, since it reads the answer off its input, and cannot write a sentence. The last word sees nothing at all, hence the NaN: we come to that.

# %% [markdown]
# ## Where the mask goes, and with which value
#
# Forbidden keys must end with a weight of exactly 0, and the allowed ones must still sum to 1. Three tempting ways do not get there. Here is one row of scores, with the last two keys forbidden.

# %% demo
scores = torch.tensor([1.0, 0.2, 0.6, 1.4, 0.9])
allowed = torch.tensor([True, True, True, False, False])
wanted = torch.cat([softmax(scores[:3]), torch.zeros(2)])  # only the allowed keys compete

ways = {
    "wanted": wanted,
    "weights × mask (too late)": softmax(scores) * allowed,
    "scores × mask": softmax(scores * allowed),
    "scores + mask": softmax(scores + allowed),
}
for name, weights in ways.items():
    print(f"{name:26} sum {weights.sum():.2f}   on forbidden keys {weights[~allowed].sum():.2f}")
plots.bars(ways, ["k1", "k2", "k3", "k4", "k5"], marked=["k4", "k5"], top=0.6);

# %% [markdown]
# - **Masking after the softmax** leaves a row that sums to less than 1: the forbidden keys have already taken their share. Worse, the share of the allowed keys still depends on the forbidden scores, so the future leaks.
# - **Multiplying the scores by 0** makes a forbidden score 0, and exp(0) is 1, not 0. A score of 0 is an ordinary score.
# - **Adding the mask** gives allowed keys a lead of 1, nothing more.
#
# What is wanted is a score whose exponential is 0: the mask acts **before the softmax**, and the value is **−∞**, or a number that does the same in floating point (the paper sets illegal connections to −∞, section 3.2.3). The scaling does not care: it may come first, since −∞ divided by √d_k is −∞.

# %% demo
fills = [-10.0, -100.0, -1e4, -1e9, -torch.inf]
rows = torch.tensor([[-200.0, -201.0, fill] for fill in fills])  # two allowed scores, one forbidden
names = [f"fill {fill:g}" for fill in fills]
plots.heatmap(softmax(rows), names, ["allowed", "allowed", "forbidden"], title="scores around −200")
for dtype in (torch.float32, torch.float16):
    print(f"the lowest number in {dtype}: {torch.finfo(dtype).min:g}")

# %% [markdown]
# A softmax does not change when a constant is added to its row, so nothing stops scores from sitting around −200. A fill of −10 is then the *largest* score of the row. A fill must lie far below any score: −10⁹ does in float32 (in float16 it does not exist), `torch.finfo(scores.dtype).min` does in every type, and −∞ is cleanest, with one catch.
#
# **A row in which everything is forbidden.** With −∞ throughout, the largest score is −∞ too, and −∞ − (−∞) is NaN. With a finite fill all scores are equal, and the softmax spreads the weight evenly over precisely the keys it must not touch. Both are wrong. **We define: a query that may attend to nothing gets zero weights and a zero output.**

# %% demo
nothing = torch.full((4,), -torch.inf)
print("filled with −inf:", torch.softmax(nothing, dim=-1))
print("filled with −1e9:", torch.softmax(torch.full((4,), -1e9), dim=-1))

# %% [markdown]
# One NaN is enough to spoil a model: the next matrix product spreads it along its row, the loss becomes NaN, and after one step of the optimiser every weight is. Such rows are no rarity: a sentence of nothing but padding in a batch is enough.

# %% [markdown]
# ## One query, step by step
#
# Five words, d_k = 4 so that √d_k = 2, and values with two features so that they can be drawn. The word *its* asks. It reads from left to right, so *milk* is out of sight.

# %% demo
words = ["the", "cat", "drank", "its", "milk"]
query = torch.tensor([[2.0, 0.0, 1.0, 1.0]])  # (1, 4): what "its" is looking for
keys = torch.tensor([[0.0, 1.0, 0.0, 0.0], [2.0, 0.0, 1.0, 1.0], [0.0, 2.0, 0.0, 1.0],
                     [1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 2.0, 0.0]])  # (5, 4)
values = torch.tensor([[0.0, 0.0], [4.0, 3.0], [1.0, 4.0], [2.0, 0.5], [5.0, 0.0]])  # (5, 2)

scaled = attention_scores(query, keys)[0]  # (5,)
masked = scaled.clone()
masked[4] = -torch.inf  # "milk" comes later
weights = softmax(masked)  # (5,)
steps = {"1 score: q·k": 2 * scaled, "2 scale: / √4": scaled}
steps |= {"3 mask": masked, "4 softmax": weights}
plots.bars(steps, words, marked=["milk"]);

# %% [markdown]
# Without the mask *milk* would have been the second-best match. With it the cat takes three quarters of the weight. The last step mixes: each value pulls the output towards itself as strongly as its weight.

# %% demo
plots.mixture(values, weights, words)
print("output:", weights @ values)

# %% [markdown]
# The output cannot leave the region spanned by the values: it is a weighted mean. Whatever attention is to say, some value has to say it, which is one reason why a feed-forward layer follows (lesson 5).

# %% [markdown]
# ## Exercise 5: `scaled_dot_product_attention` (5 points)
#
# ![A chain of boxes from left to right. Q and K enter MatMul; then Scale by one over root d k, which gives the scores, T q by T k; then Mask, which is optional; then Softmax per row, which gives the weights, T q by T k; then MatMul with V, which gives the output, T q by d v.](images/attention_pipeline.svg)
#
# Attention(Q, K, V) = softmax(QKᵀ / √d_k) V (equation 1). Return the output **and** the weights. `mask` is boolean, True = may attend, of any shape that broadcasts to the scores; `None` means that everything is allowed. A query that may attend to nothing gets zero weights and a zero output. Leave the arguments as they came, and do not call `F.scaled_dot_product_attention`; your own functions from above are welcome.

# %% solution scaled-dot-product-attention
def scaled_dot_product_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Let every query read a mixture of the values (Vaswani et al. 2017, equation 1).

    q: (..., T_q, d_k), k: (..., T_k, d_k), v: (..., T_k, d_v); mask: BoolTensor that broadcasts to
    (..., T_q, T_k), True = may attend.
    Returns: output (..., T_q, d_v) and weights (..., T_q, T_k).
    """
    ### BEGIN SOLUTION
    scores = attention_scores(q, k)  # (..., T_q, T_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # a row without any True has nothing to share out
    output = weights @ v  # (..., T_q, d_v)
    return output, weights
    ### END SOLUTION

# %% test scaled-dot-product-attention 5
q, k, v = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.randn(2, 7, 3)
result = scaled_dot_product_attention(q, k, v)
assert isinstance(result, tuple) and len(result) == 2, (
    f"Expected a pair (output, weights), got {type(result).__name__}."
)
output, weights = result
assert output.shape == (2, 5, 3), (
    f"Five queries and values of width 3 give (2, 5, 3), got {tuple(output.shape)}."
)
assert weights.shape == (2, 5, 7), (
    f"Five queries and seven keys give weights (2, 5, 7), got {tuple(weights.shape)}."
)
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 5)), (
    f"Each row of weights sums to 1, got {weights.sum(dim=-1)}."
)
numbers = torch.tensor([[0.0], [3.0], [6.0]])
same, _ = scaled_dot_product_attention(torch.zeros(1, 4), torch.randn(3, 4), numbers)
assert torch.allclose(same, torch.tensor([[3.0]])), (
    f"A query of zeros likes all keys equally: expected the mean 3, got {same}."
)
first = (torch.arange(7) == 0).expand(5, 7)  # only the first key may be seen
output, weights = scaled_dot_product_attention(q, k, v, first)
assert torch.all(weights[..., 1:] == 0), (
    f"Forbidden keys get a weight of exactly 0, got up to {weights[..., 1:].max():.3f}."
)
assert torch.allclose(output, v[:, :1].expand(2, 5, 3)), (
    "Where one key is allowed, the output is its value. What do the rows sum to?"
)
nothing = torch.zeros(5, 7, dtype=torch.bool)
output, weights = scaled_dot_product_attention(q, k, v, nothing)
assert not output.isnan().any(), (
    "A query that may attend to nothing gave NaN. Which row of the softmax divides what by what?"
)
assert torch.all(output == 0), (
    f"A query that may attend to nothing gets zeros, got {output[0, 0]}. Look at its weights."
)
print("scaled_dot_product_attention: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The picture is the program, box by box, and you have written all boxes but one. Print shapes after each line.
#
# </details>
#
# <details><summary>Hint 2: the mask box</summary>
#
# `masked_fill(where, value)` puts `value` wherever `where` is True, and returns a new tensor, so its result has to be kept. Our mask is True where looking is *allowed*.
#
# </details>
#
# <details><summary>Hint 3: rows without any True</summary>
#
# With a finite fill such a row comes out uniform; with −∞ it comes out NaN. In either case you know which weights must be 0 whatever the softmax said, so you can set them once more afterwards. For all other rows this changes nothing.
#
# </details>

# %% [markdown]
# ## A hundred comparisons
#
# A few examples are easily satisfied by luck: square matrices hide a transpose, and d_k = T_k hides a wrong scale. So: random sizes, all of them different as a rule, with and without a mask, against PyTorch's own function.

# %% demo
def compare(trials=100):
    """The largest difference from F.scaled_dot_product_attention, and how many rows were empty."""
    worst, empty = 0.0, 0
    for trial in range(trials):
        batch, t_q, t_k, d_k, d_v = torch.randint(1, 13, (5,)).tolist()
        q, k = torch.randn(batch, t_q, d_k), torch.randn(batch, t_k, d_k)
        v = torch.randn(batch, t_k, d_v)
        mask = None if trial % 2 else torch.rand(batch, t_q, t_k) < 0.7
        ours, _ = scaled_dot_product_attention(q, k, v, mask)
        theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        worst = max(worst, (ours - theirs).abs().max().item())
        empty += 0 if mask is None else int((~mask.any(dim=-1)).sum())
    return worst, empty


worst, empty = compare()
print(f"100 comparisons, {empty} queries with nothing to attend to; largest difference {worst:.1e}")

# %% [markdown]
# What is left is rounding: float32 keeps about seven digits, and the two sums add in a different order. The empty rows agree as well: in the PyTorch version of this course (2.13) `F.scaled_dot_product_attention` gives zeros where nothing is allowed. `nn.MultiheadAttention` does not, when asked for its weights: that was the NaN in the picture of the two polarities.
#
# **What does it cost?** Each of the T_q · T_k scores takes d_k multiplications, and each weight d_v more: O(T_q · T_k), quadratic in the length for self-attention (the paper compares this with recurrence and convolution in table 1). The weights of a single head over 8192 tokens are 8192² numbers, 256 MiB in float32.

# %% [markdown]
# ## Rows are distributions, columns are not
#
# Each query shares out a weight of 1 over the keys: rows sum to 1. A column says how much attention one key *receives* from everybody, and that may be anything.

# %% demo
words = ["the", "cat", "drank", "its", "milk"]
torch.manual_seed(1)
q, k, v = torch.randn(3, 5, 16)  # each (5, 16)
_, weights = scaled_dot_product_attention(q, k, v, causal_mask(5))
plots.heatmap_with_sums(weights, words, words);

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Somebody takes the softmax over `dim=-2`, under a causal mask. Every shape is right. What would you see in the sums, and why does the future leak?
#
# <details><summary>Answer</summary>
#
# The columns sum to 1 and the rows do not. Each weight of an early query is now divided by a sum that contains the scores of all *later* queries for that key, so what comes later changes what an early position puts out, although every forbidden cell is a perfect 0. A test that changes the last token and compares the first outputs notices at once.
#
# </details>

# %% [markdown]
# ## A layer: the self-attention head
#
# Up to here nothing was learnt. A layer adds three projections that make queries, keys and values from the same tokens (section 3.2.2 gives the projections, section 3.2.3 calls the use self-attention).
#
# ![Tokens x of shape B, S, D enter three boxes: w q and w k, from width D to d k, and w v, from D to D. Their results q, k and v enter scaled dot-product attention together with an optional mask. The output has the shape of x: B, S, D. D stands for d model.](images/attention_head.svg)

# %% [markdown]
# ### Exercise 6: `SelfAttentionHead` (4 points)
#
# Keep the attribute names: weights are loaded by them. All three are `nn.Linear` with bias, and each has weights of its own. `w_q` and `w_k` lead to `d_k` features, which is `d_model` unless something else is asked for, and may well be more than `d_model`; `w_v` leads to `d_model`, so that the output has the shape of the input. Only the output is returned.

# %% solution self-attention-head
class SelfAttentionHead(nn.Module):
    """One head of self-attention (Vaswani et al. 2017, sections 3.2.2 and 3.2.3).

    Attributes: w_q and w_k, Linear(d_model, d_k); w_v, Linear(d_model, d_model).
    d_k is d_model if it is None.
    """

    def __init__(self, d_model: int, d_k: int | None = None) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        d_k = d_model if d_k is None else d_k
        self.w_q = nn.Linear(d_model, d_k)
        self.w_k = nn.Linear(d_model, d_k)
        self.w_v = nn.Linear(d_model, d_model)
        ### END SOLUTION

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Let every token read a mixture of all tokens.

        x: (B, S, d_model); mask: BoolTensor that broadcasts to (B, S, S). Returns: (B, S, d_model).
        """
        ### BEGIN SOLUTION
        q = self.w_q(x)  # (B, S, d_k)
        k = self.w_k(x)  # (B, S, d_k)
        v = self.w_v(x)  # (B, S, d_model)
        output, _ = scaled_dot_product_attention(q, k, v, mask)  # (B, S, d_model)
        return output
        ### END SOLUTION

# %% test self-attention-head 4
head = SelfAttentionHead(d_model=6, d_k=10)
sizes = {name: tuple(p.shape) for name, p in head.named_parameters() if name.endswith("weight")}
expected = {"w_q.weight": (10, 6), "w_k.weight": (10, 6), "w_v.weight": (6, 6)}
assert sizes == expected, f"Expected the weights {expected}, got {sizes}."
assert SelfAttentionHead(d_model=6).w_q.out_features == 6, (
    "Without d_k the queries are d_model wide, here 6."
)
x = torch.randn(2, 5, 6)
output = head(x)
assert isinstance(output, torch.Tensor), f"Expected the output alone, got {type(output).__name__}."
assert output.shape == (2, 5, 6), f"Expected the shape of x, (2, 5, 6), got {tuple(output.shape)}."
nn.init.zeros_(head.w_q.weight)
nn.init.zeros_(head.w_q.bias)
mean = head.w_v(x).mean(dim=1, keepdim=True).expand(2, 5, 6)
assert torch.allclose(head(x), mean, atol=1e-6), (
    "With queries of zeros every token should read the mean of w_v(x). What is mixed?"
)
first = torch.arange(5) == 0
assert torch.allclose(head(x, first), head.w_v(x)[:, :1].expand(2, 5, 6), atol=1e-6), (
    "Where only the first token may be seen, all read its value. Does the mask reach the attention?"
)
print("SelfAttentionHead: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` creates the three layers and `forward` uses them. A layer that is created inside `forward` would start from new random weights at every call and never learn.
#
# </details>
#
# <details><summary>Hint 2: forward</summary>
#
# Project `x` three times, then call the function of exercise 5 with the mask. It returns two things; which one is wanted?
#
# </details>

# %% [markdown]
# ## Attention does not know the order
#
# **Predict, then reveal.** We shuffle the tokens of a sentence and run the head again, without a mask. What happens to the output?
#
# <details><summary>Answer</summary>
#
# The same vectors come out, shuffled in the same way. Attention is *permutation-equivariant*: a score depends on the two tokens, never on where they stand, and a sum over keys does not care about their order.
#
# </details>

# %% demo
torch.manual_seed(5)
head, x = SelfAttentionHead(d_model=8), 2 * torch.randn(1, 5, 8)
order = torch.tensor([3, 0, 4, 2, 1])
_, before = scaled_dot_product_attention(head.w_q(x), head.w_k(x), head.w_v(x))
_, after = scaled_dot_product_attention(*(w(x[:, order]) for w in (head.w_q, head.w_k, head.w_v)))
print("shuffled in, shuffled out:", torch.allclose(head(x)[:, order], head(x[:, order]), atol=1e-5))
figure = plots.heatmaps({"as written": before[0], "shuffled": after[0]}, words, words)
shuffled = [words[i] for i in order]
plots.relabel(figure.axes[1], shuffled, shuffled)

# %% [markdown]
# The right picture is the left one with its rows and columns exchanged; not one number is new. To such a layer "dog bites man" and "man bites dog" are the same set of words. This is why lesson 2 added positions to the embeddings: once the position is part of x, moving a token changes its vector, and the symmetry is broken. (A causal mask breaks it as well: the first position sees one token, the last sees all.)

# %% [markdown]
# ## Exercise 7: shapes and choices (2 points)
#
# A decoder reads a memory by **cross-attention**, with a batch of 4. The decoder's tokens `x` have shape `(4, 6, 32)`, the memory `m` has shape `(4, 9, 32)`. The projections are `w_q = Linear(32, 16)`, `w_k = Linear(32, 16)` and `w_v = Linear(32, 10)`. Queries come from `x`, keys and values from `m`.
#
# Fill in the dictionary and delete the `raise` line below it. Shapes are tuples of numbers, for example `(2, 3, 5)`.
#
# - `"q"`, `"k"`, `"v"`, `"scores"`, `"output"`: the shapes of the queries, keys, values, scores and the output, batch included;
# - `"value_vectors"`: how many value vectors there are **for each sentence** of the batch, as a number.

# %% [markdown]
# The others are letters, such as `"A"`.
#
# `"why_scale"`: the scores are divided by √d_k because
#
# - A: it makes each row of weights sum to 1;
# - B: it brings every score between −1 and 1, as with a cosine;
# - C: the variance of q·k grows with d_k, and large scores saturate the softmax;
# - D: the product would take longer for a large d_k otherwise.
#
# `"other_score"`: which score works, as it stands, for a query of width 8 and a key of width 5?
#
# - A: vᵀ tanh(W₁ q + W₂ k)
# - B: q·k
# - C: q·k / √d_k
# - D: q·k / (‖q‖ ‖k‖)
#
# `"conditions"`: what must hold in scaled dot-product attention?
#
# - A: as many queries as keys
# - B: values as wide as keys
# - C: d_k at most d_model
# - D: queries as wide as keys, and as many values as keys

# %% solution attention-shapes
answers = {
    "q": None,
    "k": None,
    "v": None,
    "scores": None,
    "output": None,
    "value_vectors": None,
    "why_scale": None,
    "other_score": None,
    "conditions": None,
}
### BEGIN SOLUTION
answers = {
    "q": (4, 6, 16),
    "k": (4, 9, 16),
    "v": (4, 9, 10),
    "scores": (4, 6, 9),
    "output": (4, 6, 10),
    "value_vectors": 9,
    "why_scale": "C",
    "other_score": "A",
    "conditions": "D",
}
### END SOLUTION

# %% test attention-shapes 2
shapes, letters = ("q", "k", "v", "scores", "output"), ("why_scale", "other_score", "conditions")
missing = {*shapes, *letters, "value_vectors"} - set(answers)
assert not missing, f"These entries are gone from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in shapes:
    assert isinstance(answers[key], tuple | list) and len(answers[key]) == 3, (
        f"answers['{key}'] should hold three numbers, batch first; got {answers[key]!r}."
    )
assert isinstance(answers["value_vectors"], int), (
    f"'value_vectors' is a whole number, got {answers['value_vectors']!r}."
)
for key in letters:
    assert answers[key] in ("A", "B", "C", "D"), (
        f"answers['{key}'] is one of 'A' to 'D', got {answers[key]!r}."
    )
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: shapes</summary>
#
# A linear layer changes the last dimension alone. Then go back to the figure of rectangles and write the sizes at their sides.
#
# </details>
#
# <details><summary>Hint 2: choices</summary>
#
# Each of the wrong answers is contradicted by something you have run above: the softmax of unscaled scores, the table of score functions, the tests with `d_k=10`, the hundred comparisons.
#
# </details>

# %% [markdown]
# ## What you can do now
#
# You have built the operation that everything else in a Transformer is wrapped around: a lookup that returns a mixture. You know why its scores are scaled, where its mask goes, what each dimension means, and it agrees with PyTorch's own on a hundred random cases.
#
# One head computes one set of weights, so each token gets one mixture per layer: a pronoun that wants its noun *and* its verb has to average the two requests. **Lesson 4** runs several heads side by side, each with projections of its own, and the bookkeeping of their shapes is the whole difficulty.
#
# **Read on**: Vaswani et al. 2017, section 3.2.2. For where attention came from: Bahdanau et al. 2015, arXiv:1409.0473, section 3.
