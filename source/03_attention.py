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
# - explain attention as a lookup that returns a mixture, and follow one word through its matrices;
# - predict every shape in an attention call, even when the two sequences have different lengths;
# - derive the factor $1/\sqrt{d_k}$, and show what happens without it;
# - build masks, apply them in the right place, and handle a query that may attend to nothing;
# - write scaled dot-product attention, check it against PyTorch's, and wrap it in a layer.
#
# **Time** about 105 minutes · **Difficulty** medium · **Before this** lessons 1 and 2
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.2.1 and 3.2.3.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 3 is highlighted: scaled dot-product attention, the innermost box of all three attention sublayers.](images/map_03.svg)

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
# | stretch: `attention_cost` | not counted | 4, table 1 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` with your answer, then run the visible tests below it (their code is folded; a click on it opens it). They are a first check; grading uses other sizes and numbers, and float64 as well as float32. If you are stuck, `skip("NAME")` puts a working version in place, and the exercise counts as unanswered.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(3);

# %% demo
import matplotlib.pyplot as plt

from coursework import check, hand_in, matrix_plots, plots, skip

plots.use_style()

# %% [markdown] slide="slide"
# ## What attention is for
#
# SmolLM2 is a real language model with 135 million trained weights. It answers the same question twice: first as it was trained, then with every token reading only itself.

# %% demo
from coursework.smollm import write

question = "What is the capital of France?"
write(question, "with attention", chat=True, tokens=12)
only_itself = {"attention": lambda q, k, v, mask: v}
write(question, "without attention", chat=True, tokens=12, **only_itself)

# %% [markdown]
# ## A soft lookup
#
# A Python dictionary answers a query only if the query equals one of its keys. Attention always answers. It compares the query with **every** key, turns the scores into weights that sum to 1, and returns the **weighted mean of the values**. Every step can be differentiated, so a network can learn the vectors involved.
#
# Here the keys are three fruits and the values their prices. The query asks for something rather sweet and rather large, and equals none of the keys:
#
# ![Two lookups side by side, each with a query, three keys with their values, and an answer. On the left a dictionary: the query mango equals one key, and only its value 2.50 is returned. On the right attention: the query sweet, large is compared with all three keys; arrows as wide as the weights 0.81, 0.18 and 0.01 carry the values 2.50, 1.00 and 0.50 into the answer 2.22.](images/attention_retrieval.svg)
#
# The mango matches best and gets about four fifths of the weight, so the answer is close to its price. Here are the scores and the weights:

# %% demo
fruit = ["mango", "apple", "lemon"]
fruit_keys = torch.tensor([[2.0, 1.0], [1.0, 1.0], [-1.0, 0.5]])  # (3, 2): how sweet, how large
prices = torch.tensor([2.5, 1.0, 0.5])  # (3,): one value per key

fruit_query = torch.tensor([1.5, 1.0])  # rather sweet and rather large
fruit_scores = fruit_keys @ fruit_query  # (3,)
fruit_weights = torch.softmax(fruit_scores, dim=-1)  # (3,)
plots.bars({"score of each key": fruit_scores, "weight of each key": fruit_weights}, fruit)
print(f"price returned: {fruit_weights @ prices:.2f}")

# %% [markdown]
# ## From scores to weights
#
# The **softmax** exponentiates each score and divides by the sum, $w_i = e^{s_i} / \sum_j e^{s_j}$, so the weights are positive and sum to 1. Written exactly like that, it **breaks for large scores**: $e^{89}$ is already too large for float32, and infinity divided by infinity is NaN.
#
# To avoid this, subtract the **largest score of the row** from every score of that row. Subtracting any number $c$ multiplies numerator and denominator by $e^{-c}$, so the weights stay the same. With the maximum, the largest exponent is 0, so nothing can overflow.

# %% demo
scores = torch.tensor([100.0, 99.0, 98.0])
print("exp(88), exp(89):   ", torch.tensor([88.0, 89.0]).exp())
print("exp / sum:          ", scores.exp() / scores.exp().sum())
print("98 subtracted first:", (scores - 98).exp() / (scores - 98).exp().sum())

# %% [markdown] slide="slide"
# ### Exercise 1: `softmax` (2 points)
#
# Your function must work along any dimension and stay finite for entries of ±10 000, even if some rows lie far from others. An entry of −∞ gets a weight of exactly 0. No row consists only of −∞. Gradients must reach `x`, so use PyTorch operations only.
#
# *Not accepted here:* `torch.softmax`, `F.softmax`, `nn.Softmax` and similar functions; write the exponential and the sum yourself.
#
# *10 minutes, easy.*

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
assert isinstance(weights, torch.Tensor), f"Expected a tensor, got {type(weights).__name__}."
assert weights.shape == x.shape, (
    f"Expected the same shape as x, {tuple(x.shape)}, got {tuple(weights.shape)}."
)
assert torch.allclose(weights, expected), (
    f"Expected {expected}, got {weights}. Which dimension do you sum over?"
)
big = softmax(torch.tensor([1000.0, 1000.0]))
assert torch.allclose(big, torch.tensor([0.5, 0.5]), atol=1e-3), (
    f"Two scores of 1000 should get 0.5 each, got {big}. What is exp(1000)?"
)
columns = softmax(torch.zeros(4, 5), dim=0).sum(dim=0)
assert torch.allclose(columns, torch.ones(5)), (
    f"With dim=0, every column should sum to 1, got {columns}. Do you use dim in every reduction?"
)
assert softmax(torch.zeros(2, 3, requires_grad=True)).requires_grad, (
    "No gradient reaches x. Is there a .detach(), a no_grad, or NumPy?"
)
print("softmax: the visible tests pass")

# %% demo
check("softmax")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# There are three steps: shift, exponentiate, normalise. Two of them need one number per row, found along `dim`.
#
# </details>
#
# <details><summary>Hint 2: the shapes don't fit</summary>
#
# Reducing a (2, 3) tensor along its last dimension gives (2,), which does not broadcast against (2, 3). Every reduction in PyTorch can keep the reduced dimension with size 1. Look for the argument in the documentation of `torch.sum`.
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# `torch.amax(x, dim=..., keepdim=True)` returns the largest entry of each row, in a shape that you can subtract from `x`. Entries of −∞ need no special treatment: what is exp(−∞)?
#
# </details>

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Would it do to subtract the maximum of the whole tensor instead of that of each row?
#
# <details><summary>Answer</summary>
#
# Only if all rows are of similar size. Suppose one row lies around 0 and another around 500. With the global maximum, every entry of the first row becomes $e^{-500}$, which float32 rounds to 0, and 0 divided by 0 is NaN. Each row is a distribution of its own and needs its own maximum.
#
# </details>

# %% [markdown] slide="skip"
# **Play with the lookup.** With a running kernel, drag the query slowly towards the lemon, at −1 and 0.5: the price never jumps. Then make both numbers as large as you can: nearly all the weight goes to one key, as in an ordinary lookup.

# %% demo
from ipywidgets import FloatSlider, interact


@interact(
    sweet=FloatSlider(value=1.5, min=-6, max=6, step=0.25, continuous_update=False),
    large=FloatSlider(value=1.0, min=-6, max=6, step=0.25, continuous_update=False),
)
def look_up(sweet, large):
    """Edit the query, and see the weights and the price."""
    found = torch.softmax(fruit_keys @ torch.tensor([sweet, large]), dim=-1)  # (3,)
    plots.bars({f"weights; price {found @ prices:.2f}": found}, fruit, top=1.15)
    plt.show()

# %% [markdown]
# ## Queries, keys and values
#
# In a Transformer, queries, keys and values are vectors computed from tokens, each by its own projection:
#
# - the **query** of a token says what the token is looking for;
# - the **key** of a token says what it can be found by;
# - the **value** of a token is what it passes on when it is found.
#
# In **self-attention**, all three come from the same sequence. In **cross-attention**, the queries come from one sequence, with $T_q$ tokens, and the keys and values from another, with $T_k$ tokens. When a model translates, each French word being generated attends to the English sentence (section 3.2.3).
#
# ![Two panels; in each, tokens with a query on the left, and tokens with a key and a value on the right. On the left self-attention, from one sequence: the, cat, drank and milk each have a query, and the same four tokens each have a key and a value. On the right cross-attention, from two sequences: the two French tokens le and chat have queries, the four English tokens the, cat, drank and milk have keys and values. In each panel, arrows lead from one query to all four keys.](images/attention_sources.svg)

# %% [markdown]
# ## Follow one word
#
# Take *the cat drank its milk*, and follow the word *its* from its embedding $x$ to its output $z$. The numbers are simple enough to check with a pencil: $d_{\text{model}} = 6$, queries and keys have $d_k = 4$ components, and values have $d_v = 2$.

# %% demo
words = ["the", "cat", "drank", "its", "milk"]
features = ["animal", "drink", "verb", "article", "possessive", "past"]
x = torch.tensor([[0.0, 0, 0, 1, 0, 0],  # the
                  [1.0, 0, 0, 0, 0, 0],  # cat
                  [0.0, 0, 1, 0, 0, 1],  # drank
                  [0.0, 0, 0, 0, 1, 0],  # its
                  [0.0, 1, 0, 0, 0, 0]])  # milk: x is (5, 6)

# A row for each feature of x; a column for an animal, a drink, a verb, and a small word.
w_q = torch.tensor([[0.0, 0, 3, 0], [0, 0, 3, 0], [3, 2, 0, 0], [2, 2, 0, 0], [3, 1, 0, 0], [0, 0, 0, 0]])
w_k = torch.tensor([[2.0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2], [0, 0, 0, 2], [0, 0, 0, 0]])
w_v = torch.tensor([[4.0, 3.0], [5.0, 0.0], [1.0, 3.0], [0.0, 0.0], [2.0, 0.5], [0.0, 1.0]])

queries, keys, values = x @ w_q, x @ w_k, x @ w_v  # (5, 4), (5, 4), (5, 2)

# %% [markdown]
# **Step 1: from $x$ to $q$.** Multiply the embedding of *its*, one row of $x$, by $W^Q$.

# %% demo
its = words.index("its")
Matrix = matrix_plots.Matrix
matrix_plots.equation(
    Matrix("$x$", x[its : its + 1], ["its"], features), "×",
    Matrix("$W^Q$", w_q, features, ["animal?", "drink?", "verb?", "small?"], plots.QUERY), "=",
    Matrix("$q$", queries[its : its + 1], ["its"], ["animal?", "drink?", "verb?", "small?"], plots.QUERY),
);

# %% [markdown]
# Only the feature *possessive* is 1, so the query is that row of $W^Q$. It looks for an animal (3), the owner, and a little for a drink (1).
#
# **Step 2: keys and values.** Every token gets a key and a value in the same way, from $W^K$ and $W^V$.

# %% demo
matrix_plots.equation(
    Matrix("$K = x W^K$", keys, words, ["animal", "drink", "verb", "small"], plots.KEY), "",
    Matrix("$V = x W^V$", values, words, ["$v_0$", "$v_1$"], plots.VALUE),
);

# %% [markdown]
# *cat* can be found by *animal*, and *milk* by *drink*.
#
# **Predict, then reveal.** Multiply the query of *its*, $(3, 1, 0, 0)$, by the key of each word. Which two words get a score above 0?
#
# <details><summary>Answer</summary>
#
# *cat*, with $3 \cdot 2 = 6$, and *milk*, with $1 \cdot 2 = 2$. The other keys are 0 wherever the query isn't.
#
# </details>

# %% [markdown]
# **Step 3: scores.** A single product, $q K^\top$, compares the query with all keys. Divide it by $\sqrt{d_k} = 2$ and apply the softmax.

# %% demo
its_scores = queries[its : its + 1] @ keys.T / 2  # (1, 5)
its_weights = torch.softmax(its_scores, dim=-1)  # (1, 5)
matrix_plots.equation(
    Matrix("$q$", queries[its : its + 1], ["its"], [""] * 4, plots.QUERY), "×",
    Matrix("$K^T$", keys.T, [""] * 4, words, plots.KEY), "/ 2 =",
    Matrix("scores", its_scores, [""], words), "softmax→", Matrix("weights", its_weights, [""], words),
)
print({word: round(weight, 2) for word, weight in zip(words, its_weights[0].tolist())})

# %% [markdown]
# The weights sum to 1, and *cat* gets 0.78.
#
# **Step 4: the output.** $z$ is 0.78 times the value of *cat*, plus 0.11 times the value of *milk*, plus 0.04 times each of the others.

# %% demo
z = its_weights @ values  # (1, 2)
matrix_plots.equation(
    Matrix("weights", its_weights, ["its"], words), "×",
    Matrix("$V$", values, words, ["$v_0$", "$v_1$"], plots.VALUE), "=",
    Matrix("$z$", z, ["its"], ["$z_0$", "$z_1$"], plots.WRONG),
)
plots.mixture(values, its_weights[0], words);

# %% [markdown]
# The points are the five values, and the star is the output. It is nearest to *cat*, and it always stays inside a rubber band around all five (their *convex hull*). Attention only mixes values; lesson 5 adds a layer that computes something new.
#
# **All words at once.** Stack the queries, and the same four steps give an output for each word.

# %% demo
all_weights = torch.softmax(queries @ keys.T / 2, dim=-1)  # (5, 5): a row for each query
plots.heatmap(all_weights, words, words, title="weights: queries down, keys across")
print(all_weights @ values)  # (5, 2): row 3 is z

# %% [markdown]
# In the row of *its*, the weights are those of step 3, and the output is $z$. No row waits for another, so all are computed at once.

# %% [markdown]
# ### The shapes
#
# ![Two matrix products. Q with T q rows and d k columns times K transposed with d k rows and T k columns gives the scores, T q by T k. The softmax of each row turns scores into weights. The weights, T q by T k, times V, with T k rows and d v columns, gives the output, T q by d v. Matching sides share a colour.](images/attention_shapes.svg)
#
# Every query gets one output, a mixture of values, so the result has as many rows as $Q$ and is as wide as $V$. There are only two conditions:
#
# 1. **queries are as wide as keys**, because otherwise there is no dot product;
# 2. **there are as many values as keys**, because each weight belongs to one key *and* one value.
#
# Nothing else has to agree: $T_q$ may differ from $T_k$, $d_v$ from $d_k$, and $d_k$ may be smaller or larger than $d_{\text{model}}$. Any number of batch dimensions may come first; they are carried through unchanged.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A decoder with 5 tokens attends to a sentence of 7 tokens. How many key vectors, value vectors and output vectors are there?
#
# <details><summary>Answer</summary>
#
# There are 7 keys and 7 values, one of each for every token that can be read. There are 5 outputs, one for every query. The number of values does not depend on the number of queries.
#
# </details>

# %% [markdown]
# ## Why divide by $\sqrt{d_k}$
#
# Suppose the components of $q$ and $k$ are independent, with mean 0 and variance 1. Then each product $q_i k_i$ has
#
# - mean $E[q_i]\,E[k_i] = 0$,
# - variance $E[q_i^2]\,E[k_i^2] - 0 = 1 \cdot 1 = 1$.
#
# The score $q \cdot k$ is a sum of $d_k$ such products. Variances of independent terms add up, so $\operatorname{Var}(q \cdot k) = d_k$, and dividing by $\sqrt{d_k}$ brings it back to 1 (footnote to section 3.2.1).

# %% demo
for d_k in (4, 64, 1024):
    q, k = torch.randn(2, 5000, d_k)
    products = (q * k).sum(dim=-1)  # (5000,)
    after = products / math.sqrt(d_k)
    print(f"d_k {d_k:4}: std of q·k {products.std():6.2f}, after scaling {after.std():.2f}")

# %% [markdown]
# The standard deviation of $q \cdot k$ is close to 2, 8 and 32, the square roots of 4, 64 and 1024.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Take one random query and 16 random keys with $d_k = 512$. How large is the largest of the 16 weights, on average, without scaling? And with it?
#
# <details><summary>Answer</summary>
#
# About 0.95 without scaling: the other fifteen keys share the remaining 0.05. With scaling it is about 0.25. The next cell prints both.
#
# </details>

# %% demo
def sorted_weights(d_k, trials=300):
    """One random query against 16 random keys, many times: (trials, 2, 16), largest weight first.

    The middle dimension holds the weights without and with the factor 1/√d_k.
    """
    generator = torch.Generator().manual_seed(7)
    q = torch.randn(trials, d_k, 1, generator=generator)
    products = (torch.randn(trials, 16, d_k, generator=generator) @ q)[..., 0]  # (trials, 16)
    both = torch.stack([products, products / math.sqrt(d_k)], dim=1)
    return softmax(both).sort(dim=-1, descending=True).values


print("largest weight at d_k = 512, without and with scaling:", sorted_weights(512).mean(dim=0)[:, 0])
widths = (4, 32, 128, 512)
raw, scaled = zip(*(sorted_weights(d_k).mean(dim=0) for d_k in widths))
titles = [f"$d_k = {d_k}$" for d_k in widths]
plots.distributions({"without scaling": raw, r"with $1/\sqrt{d_k}$": scaled}, titles);

# %% [markdown]
# Each panel shows the 16 weights, sorted, and averaged over 300 random queries. The top row *saturates*: the wider the vectors, the closer the largest weight comes to 1.
#
# If the model had learnt to give one key nearly all the weight, this would be fine. At the start of training, though, the scores are random, so the winner is random too, and the model can barely learn to pick another. The reason is the derivative of weight $w_i$ with respect to score $s_j$: it is $w_i(1 - w_i)$ if $i = j$, and $-w_i w_j$ otherwise. If one weight is close to 1 and the others are close to 0, all of these products are close to 0. The next cell measures the gradient that reaches a query.

# %% demo
def gradients_at_queries(d_k, scale, trials=400):
    """The norm of the gradient of the largest of 16 weights with respect to the query: (trials,)."""
    generator = torch.Generator().manual_seed(7)
    q = torch.randn(trials, d_k, 1, generator=generator).requires_grad_()
    k = torch.randn(trials, 16, d_k, generator=generator)
    softmax(scale * (k @ q)[..., 0]).amax(dim=-1).sum().backward()
    return q.grad.norm(dim=(1, 2))


widths = (4, 16, 64, 256, 1024)
raw = [gradients_at_queries(d_k, 1).median() for d_k in widths]
scaled = [gradients_at_queries(d_k, 1 / math.sqrt(d_k)).median() for d_k in widths]
print("median without scaling:", [f"{value:.4f}" for value in raw])
print("median with scaling:   ", [f"{value:.4f}" for value in scaled])
axes = ("$d_k$", "median gradient at the query")
plots.curves(widths, {r"with $1/\sqrt{d_k}$": scaled, "without scaling": raw}, labels=axes, base=2);

# %% [markdown]
# With the factor, a typical query gets a gradient between 0.17 and 0.19 at every width. Without it, the gradient is larger at first and then collapses: 0.07 at $d_k = 256$, and 0.0002 at 1024. According to the paper, without the factor the dot product falls behind additive attention for large $d_k$ (section 3.2.1).
#
# <details><summary>More: why the median and not the mean?</summary>
#
# Without the factor, the *mean* does not fall. At a width of 1024, a few queries with two keys that are nearly level get huge gradients, and all others get next to none.
#
# </details>

# %% [markdown]
# ### Exercise 2: `attention_scores` (3 points)
#
# Compute the score of every query against every key in one matrix product, with any number of batch dimensions, including none. `q` has shape `(…, T_q, d_k)`, `k` has shape `(…, T_k, d_k)`, and the result has shape `(…, T_q, T_k)`, with the scores of query $i$ in row $i$. Divide by $\sqrt{d_k}$, where $d_k$ is the size of the last dimension of `q` and `k`. Gradients must reach `q` and `k`.
#
# *10 minutes, easy.*

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
assert isinstance(scores, torch.Tensor), f"Expected a tensor, got {type(scores).__name__}."
assert scores.shape == (1, 3), (
    f"One query and three keys should give scores of shape (1, 3), got {tuple(scores.shape)}."
)
assert torch.allclose(scores, torch.tensor([[3.0, 0.5, 2.0]])), (
    f"By hand: the dot products are 6, 1 and 4, and d_k is 4, which gives 3, 0.5 and 2. Got {scores}."
)
many = attention_scores(torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8))
assert many.shape == (2, 3, 5, 7), (
    f"Expected (2, 3, 5, 7), got {tuple(many.shape)}. Which two dimensions of k do you swap?"
)
assert attention_scores(q.requires_grad_(), k).requires_grad, (
    "No gradient reaches q. Is there a .detach(), a no_grad, or NumPy?"
)
print("attention_scores: the visible tests pass")

# %% demo
check("attention-scores")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `@` multiplies the last two dimensions and carries all others through unchanged. The left factor is a (T_q, d_k) matrix. What shape must the right factor have to give (T_q, T_k)?
#
# </details>
#
# <details><summary>Hint 2: the transpose</summary>
#
# `.T` reverses *all* dimensions, and `reshape` keeps the numbers in memory order, which mixes up the keys. You want to swap only the last two dimensions. `torch.transpose` takes two dimensions, which may be negative.
#
# </details>
#
# <details><summary>Hint 3: the scale</summary>
#
# $d_k$ is the size of the last dimension of `k` (and of `q`). `math.sqrt` takes an ordinary number.
#
# </details>

# %% [markdown]
# ### Other scores
#
# The paper chose the dot product because matrix products are fast and need little memory (section 3.2.1). Others exist:
#
# | name | score | learnt | source |
# |---|---|---|---|
# | dot product | $q \cdot k$ | – | Luong et al. 2015, arXiv:1508.04025 |
# | scaled dot product | $q \cdot k / \sqrt{d_k}$ | – | Vaswani et al. 2017, section 3.2.1 |
# | bilinear ("general") | $q^\top W k$ | $W$ | Luong et al. 2015, section 3.1 |
# | additive | $v^\top \tanh(W_1 q + W_2 k)$ | $v$, $W_1$, $W_2$ | Bahdanau et al. 2015, arXiv:1409.0473 |
# | cosine | $q \cdot k / (\lVert q \rVert \lVert k \rVert)$ | – | Graves et al. 2014, arXiv:1410.5401 |
#
# Bilinear and additive scores accept queries and keys of different widths. The cosine ignores length; with the dot product, a key twice as long gets a score twice as large.
#
# <details><summary>More: what is learnt in a Transformer's score?</summary>
#
# The projections. With $q = W_q x$ and $k = W_k y$, the score is $x^\top (W_q^\top W_k)\, y$ before scaling, so it is bilinear in the tokens $x$ and $y$.
#
# </details>

# %% [markdown]
# ## Who may attend to whom: masks
#
# A **mask** is a boolean tensor with the shape of the scores: row $i$, column $j$ says whether query $i$ may attend to key $j$. In this course, **True means "may attend"**. Two things are blocked:
#
# - **the future**: a decoder must not read tokens that it has yet to generate (section 3.2.3);
# - **padding**: the `<pad>` tokens that fill the sentences of a batch up to the same length.

# %% [markdown]
# ### Exercise 3: `causal_mask` (2 points)
#
# Position $i$ may attend to itself and to every position before it: $j \le i$. Return a boolean tensor, not a tensor of zeros and ones.
#
# *5 minutes, easy.*

# %% solution causal-mask
def causal_mask(size: int) -> torch.Tensor:
    """Say which positions each position may attend to when reading from left to right.

    Returns: BoolTensor (size, size), True where query i may attend to key j, that is j <= i.
    """
    ### BEGIN SOLUTION
    everything = torch.ones(size, size, dtype=torch.bool)
    return everything.tril()
    ### END SOLUTION

# %% test causal-mask 2
mask = causal_mask(4)
assert isinstance(mask, torch.Tensor), f"Expected a tensor, got {type(mask).__name__}."
assert mask.dtype == torch.bool, f"Expected dtype torch.bool, got {mask.dtype}."
assert mask.shape == (4, 4), f"Expected shape (4, 4), got {tuple(mask.shape)}."
assert mask[2, 1], "Position 2 may attend to position 1: expected True in row 2, column 1."
assert not mask[1, 2], (
    "Position 1 must not attend to position 2, which comes later: expected False in row 1, column 2."
)
print("causal_mask: the visible tests pass")

# %% demo
check("causal-mask")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Draw the 4 × 4 table on paper. What shape do the True cells form?
#
# </details>
#
# <details><summary>Hint 2: two ways</summary>
#
# Either cut a triangle out of a square of True (`torch.tril` keeps the lower triangle of a matrix and `torch.triu` the upper one), or compare a column of row numbers with a row of column numbers and let broadcasting do the rest.
#
# </details>

# %% [markdown]
# ### Exercise 4: `padding_mask` (2 points)
#
# From token ids of shape `(B, S)`, make a mask that is True for real tokens. It describes the **keys** and is the same for every query, so its shape is `(B, 1, S)`. The dimension of size 1 broadcasts over all queries, whether there are S of them (self-attention) or T (cross-attention).
#
# *5 minutes, easy.*

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
assert isinstance(mask, torch.Tensor), f"Expected a tensor, got {type(mask).__name__}."
assert mask.dtype == torch.bool, f"Expected dtype torch.bool, got {mask.dtype}."
assert mask.shape == (2, 1, 6), (
    f"Two sentences of length 6 should give (2, 1, 6), got {tuple(mask.shape)}."
)
assert mask[0, 0].sum() == 4, (
    f"Sentence 0 has 4 real tokens, but the mask is True for {int(mask[0, 0].sum())}."
)
assert mask[1, 0, 0], "The first token of sentence 1 is real: expected True."
print("padding_mask: the visible tests pass")

# %% demo
check("padding-mask")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Comparing a tensor with a number gives a boolean tensor of the same shape. Which comparison is True for a *real* token?
#
# </details>
#
# <details><summary>Hint 2: the shape</summary>
#
# `torch.unsqueeze` inserts a dimension of size 1. The queries belong between the batch and the keys.
#
# </details>

# %% [markdown]
# ### Combining masks
#
# Two masks combine with `&`. Broadcasting turns the causal `(S, S)` and the padding `(B, 1, S)` into one mask per sentence.

# %% demo
tokens = ["the", "cat", "sat", "<eos>", "<pad>", "<pad>"]
ids = torch.tensor([[7, 4, 9, 2, 0, 0], [5, 2, 0, 0, 0, 0]])

causal = causal_mask(6)  # (6, 6)
padding = padding_mask(ids)  # (2, 1, 6)
both = causal & padding  # (2, 6, 6)
print("combined:", tuple(both.shape))
plots.masks({"causal": causal, "padding": padding[0].expand(6, 6), "both": both[0]}, tokens, tokens);

# %% [markdown]
# The combined mask blocks whatever either one blocks. The rows of the two `<pad>` tokens are not empty, which does no harm: no real token reads their output.
#
# PyTorch has **two conventions**, and a mask in the wrong one raises no error. In this course and in `F.scaled_dot_product_attention`, True means "may attend". In `nn.MultiheadAttention`, `nn.Transformer` and its layers, True means "must **not** attend"; `~` converts between them. All of them also accept a float mask, which is *added* to the scores: 0 allows and −∞ blocks (PyTorch documentation).

# %% [markdown]
# ### Where the mask goes
#
# Blocked keys must get a weight of exactly 0, and the allowed ones must still sum to 1.
#
# **Predict, then reveal.** You could multiply the *weights* by the mask, multiply the *scores* by it, or add it to the scores (True counts as 1). Which of these gives the right weights?
#
# <details><summary>Answer</summary>
#
# None. The next cell tries each on five scores, with the last two keys blocked: their bars (orange) must be 0, and the blue ones must match the first panel.
#
# </details>

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
    print(f"{name:26} sum {weights.sum():.2f}, blocked keys {weights[~allowed].sum():.2f}")
plots.bars(ways, ["k0", "k1", "k2", "k3", "k4"], marked=["k3", "k4"], top=0.6);

# %% [markdown]
# None of the three gives the weights that are wanted:
#
# - **Weights × mask**: the row sums to 0.47, and the allowed weights still depend on the blocked scores, so under a causal mask the future leaks.
# - **Scores × mask**: a blocked score becomes 0, and $e^0 = 1$, so the blocked keys get 0.26.
# - **Scores + mask**: allowed scores rise by 1, and the blocked keys keep 0.29.
#
# The mask has to act **before the softmax**. It fills in a score whose exponential is 0: **−∞** (section 3.2.3), or a number far below *every* score.

# %% demo
for fill in (-10.0, -1e9, -torch.inf):
    around = softmax(torch.tensor([-200.0, -201.0, fill]))  # two allowed scores, one blocked
    empty = torch.softmax(torch.full((4,), fill), dim=-1)  # every key blocked
    found = [[round(weight, 2) for weight in weights.tolist()] for weights in (around, empty)]
    print(f"fill {fill:6g}   near −200: {str(found[0]):18}   none allowed: {found[1]}")
for dtype in (torch.float32, torch.float16):
    print(f"lowest {dtype}: {torch.finfo(dtype).min:.6g}")

# %% [markdown]
# A fill of −10 is the *largest* score when the others lie near −200, so the blocked key gets all the weight. −10⁹ works in float32, but float16 cannot represent it. `torch.finfo(scores.dtype).min` and −∞ work in any type.
#
# **If every key of a row is blocked**, every fill value fails. With −∞, the softmax computes −∞ − (−∞), which is NaN, and one optimiser step can spread it to every parameter. With a finite fill all scores are equal, and the blocked keys share the weight. In this course, **a query that may attend to nothing gets zero weights and a zero output**.

# %% [markdown]
# ## Exercise 5: `scaled_dot_product_attention` (5 points)
#
# ![A chain of boxes from left to right. Q and K enter MatMul; then Scale by one over root d k, which gives the scores, T q by T k; then Mask, which is optional; then Softmax per row, which gives the weights, T q by T k; then MatMul with V. Two arrows lead to what is returned: the output, T q by d v, from the last box, and the weights from the softmax.](images/attention_pipeline.svg)
#
# $\text{Attention}(Q, K, V) = \text{softmax}\left(QK^\top / \sqrt{d_k}\right) V$ (equation 1)
#
# Return the output **and** the weights. `mask` is boolean, True = may attend, of any shape that broadcasts to the scores; `None` means that everything is allowed. A query that may attend to nothing gets zero weights and a zero output. Don't modify the arguments. Gradients must reach `q`, `k` and `v`. You may use your own functions from above.
#
# *20 minutes, medium.*
#
# *Not accepted here:* `F.scaled_dot_product_attention`, `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

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
        weights = weights.masked_fill(~mask, 0.0)  # a row without any True gets no weight at all
    output = weights @ v  # (..., T_q, d_v)
    return output, weights
    ### END SOLUTION

# %% test scaled-dot-product-attention 5
q, k, v = torch.randn(2, 5, 8), torch.randn(2, 7, 8), torch.randn(2, 7, 3)
result = scaled_dot_product_attention(q, k, v)
assert isinstance(result, tuple) and len(result) == 2, (
    f"Expected a tuple of two, (output, weights); got {type(result).__name__}."
)
output, weights = result
assert output.shape == (2, 5, 3), (
    f"Five queries and values of width 3 should give (2, 5, 3), got {tuple(output.shape)}."
)
assert weights.shape == (2, 5, 7), (
    f"Five queries and seven keys should give weights (2, 5, 7), got {tuple(weights.shape)}."
)
assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 5)), (
    f"Each row of weights should sum to 1, got {weights.sum(dim=-1)}."
)
numbers = torch.tensor([[0.0], [3.0], [6.0]])
same, _ = scaled_dot_product_attention(torch.zeros(1, 4), torch.randn(3, 4), numbers)
assert torch.allclose(same, torch.tensor([[3.0]])), (
    f"A query of zeros scores every key the same: expected the mean 3, got {same}."
)
first = (torch.arange(7) == 0).expand(5, 7)  # only the first key is allowed
output, weights = scaled_dot_product_attention(q, k, v, first)
assert torch.all(weights[..., 1:] == 0), (
    f"Blocked keys should get a weight of exactly 0, got up to {weights[..., 1:].max():.3f}."
)
assert torch.allclose(output, v[:, :1].expand(2, 5, 3)), (
    "If only one key is allowed, the output should be its value. What do your rows sum to?"
)
nothing = torch.zeros(5, 7, dtype=torch.bool)
output, weights = scaled_dot_product_attention(q, k, v, nothing)
assert not output.isnan().any(), (
    "A query that may attend to nothing gave NaN. What does the softmax divide by in that row?"
)
assert torch.all(output == 0), (
    f"A query that may attend to nothing should get zeros, got {output[0, 0]}. Look at its weights."
)
assert scaled_dot_product_attention(q.requires_grad_(), k, v)[0].requires_grad, (
    "No gradient reaches q. Is there a .detach(), a no_grad, or NumPy?"
)
print("scaled_dot_product_attention: the visible tests pass")

# %% demo
check("scaled-dot-product-attention")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The picture shows the program box by box, and you have already written all boxes but one. Print the shape after each line.
#
# </details>
#
# <details><summary>Hint 2: the mask box</summary>
#
# `Tensor.masked_fill(where, value)` puts `value` wherever `where` is True. It returns a new tensor, so keep its result. Our mask is True where attending is *allowed*.
#
# </details>
#
# <details><summary>Hint 3: rows without any True</summary>
#
# With a finite fill such a row comes out uniform; with −∞ it comes out NaN. In both cases you know which weights must be 0, whatever the softmax gave, so you can set them once more afterwards. This changes nothing in the other rows.
#
# </details>

# %% [markdown]
# ## What a mask changes
#
# Here are the five words again, with your own function and three masks.

# %% demo
no_cat = torch.ones(5, 5, dtype=torch.bool)
no_cat[3, 1] = False  # "its" may not attend to "cat"
chosen = {"no mask": None, "causal": causal_mask(5), "its may not read cat": no_cat}
kept = {name: scaled_dot_product_attention(queries, keys, values, m)[1] for name, m in chosen.items()}
plots.heatmaps(kept, words, words)
print("weight of cat in row its:", {name: round(found[3, 1].item(), 2) for name, found in kept.items()})

# %% [markdown]
# Under the causal mask, *its* loses *milk*, and the weight of *cat* rises from 0.78 to 0.87. With the third mask only one cell is blocked, and only one row changes: *its* may not read *cat*, and now gives nearly half of its weight to *milk*.
#
# **Predict, then click.** With a running kernel you can click on any cell below. What happens to the output of *milk* if you block every cell in its row?
#
# <details><summary>Answer</summary>
#
# The row has no weight left, and the output is (0, 0). No other row changes: each query has its own row of the mask and its own softmax.
#
# </details>

# %% demo
from coursework.mask_control import interact_mask


@interact_mask(words, start=causal_mask(5))
def show_attention(mask):
    """Draw the weights and the outputs that a mask leaves."""
    read, given = scaled_dot_product_attention(queries, keys, values, mask)
    plots.heatmap(given, words, words, title="weights")
    plt.show()
    for word, (v0, v1) in zip(words, read.tolist()):
        print(f"{word:>6}: z = ({v0:.2f}, {v1:.2f})")

# %% [markdown]
# ## A hundred comparisons
#
# A wrong implementation can pass a few examples by luck: square matrices hide a missing transpose, and $d_k = T_k$ hides a wrong scale. So compare it with PyTorch's function on a hundred random inputs, half of them with a mask, and with five different sizes.

# %% demo
def compare(trials=100):
    """The largest difference from F.scaled_dot_product_attention, and how many rows were empty."""
    worst, empty = 0.0, 0
    for trial in range(trials):
        batch, t_q, t_k, d_k, d_v = (torch.randperm(12)[:5] + 1).tolist()
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
# The remaining difference is rounding. Empty rows agree as well: PyTorch 2.13 returns zeros where nothing is allowed.
#
# `nn.MultiheadAttention` takes masks in the other convention, where True means "must not attend". On the left the causal mask is converted; on the right it is passed as it is.

# %% demo
theirs = nn.MultiheadAttention(embed_dim=8, num_heads=1, batch_first=True).eval()
x = torch.randn(1, 4, 8)
mask = causal_mask(4)
_, converted = theirs(x, x, x, attn_mask=~mask)  # (1, 4, 4)
_, unconverted = theirs(x, x, x, attn_mask=mask)  # (1, 4, 4)
plots.heatmaps({"attn_mask=~mask": converted[0], "attn_mask=mask": unconverted[0]}, "0123", "0123");

# %% [markdown]
# On the right, each position sees only what comes *after* it. The last one sees nothing, and its row is NaN, because this layer does not handle empty rows when it returns weights.

# %% [markdown] slide="subslide"
# **Rows are distributions, columns are not.** Each row sums to 1. A column sums to the attention that its key *receives*: anything between 0 and the number of queries.
#
# **Predict, then reveal.** Suppose you take the softmax over `dim=-2` by mistake, under a causal mask. Every shape is right. What do the sums look like, and why does the future leak?
#
# <details><summary>Answer</summary>
#
# The columns sum to 1, and the rows don't. The weight of an early query is now divided by a sum that contains the scores of all *later* queries for the same key. So later tokens change earlier outputs, although every blocked cell is exactly 0. To detect it, change the last token and compare the first outputs.
#
# </details>

# %% [markdown]
# ## A layer: the self-attention head
#
# A layer adds three learnt projections, which make queries, keys and values from the same tokens (sections 3.2.2 and 3.2.3).
#
# ![Tokens x of shape B, S, D enter three boxes: w q and w k, from width D to d k, and w v, from D to D. Their results q, k and v enter scaled dot-product attention together with an optional mask. The output has the shape of x: B, S, D. D stands for d model.](images/attention_head.svg)

# %% [markdown]
# ### Exercise 6: `SelfAttentionHead` (4 points)
#
# Keep the attribute names, because weights are loaded by them. All three layers are `nn.Linear` with bias, and each has its own weights. `w_q` and `w_k` map to `d_k` features. `d_k` is `d_model` unless another value is given, and it may be larger than `d_model`. `w_v` maps to `d_model` features, so that the output has the shape of the input. Return only the output.
#
# *15 minutes, medium.*
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

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
    "Without d_k, the queries should be d_model wide, here 6."
)
x = torch.randn(2, 5, 6)
output = head(x)
assert isinstance(output, torch.Tensor), f"Expected one tensor, the output; got {type(output).__name__}."
assert output.shape == (2, 5, 6), f"Expected the shape of x, (2, 5, 6), got {tuple(output.shape)}."
nn.init.zeros_(head.w_q.weight)
nn.init.zeros_(head.w_q.bias)
mean = head.w_v(x).mean(dim=1, keepdim=True).expand(2, 5, 6)
assert torch.allclose(head(x), mean, atol=1e-6), (
    "With queries of zeros, every token should read the mean of w_v(x). Which values do you mix?"
)
first = torch.arange(5) == 0
assert torch.allclose(head(x, first), head.w_v(x)[:, :1].expand(2, 5, 6), atol=1e-6), (
    "If only the first token is allowed, all tokens should read its value. "
    "Do you pass the mask on to the attention?"
)
print("SelfAttentionHead: the visible tests pass")

# %% demo
check("self-attention-head")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` creates the three layers, and `forward` uses them. A layer that is created inside `forward` would start from new random weights on every call and never learn.
#
# </details>
#
# <details><summary>Hint 2: forward</summary>
#
# Project `x` three times, then call your function from exercise 5 with the mask. It returns two things. Which one do you need?
#
# </details>

# %% [markdown]
# **Attention ignores the order.** Without a mask, shuffled tokens give the same outputs, shuffled in the same way: attention is *permutation-equivariant* (lesson 2). A causal mask breaks the symmetry, because the first position reads one token and the last reads all.

# %% [markdown]
# ## Exercise 7: shapes and choices (2 points)
#
# A decoder reads the encoder's output, its *memory*, by **cross-attention**, with a batch of 4. The decoder's tokens `x` have shape `(4, 6, 32)`, and the memory `m` has shape `(4, 9, 32)`. The projections are `w_q = Linear(32, 16)`, `w_k = Linear(32, 16)` and `w_v = Linear(32, 10)`. Queries come from `x`, keys and values from `m`.
#
# Fill in the dictionary and delete the `raise` line below it. Write shapes as tuples of numbers, for example `(2, 3, 5)`.
#
# - `"q"`, `"k"`, `"v"`, `"scores"`, `"output"`: the shapes of the queries, keys, values, scores and output, including the batch;
# - `"value_vectors"`: how many value vectors there are **for each sentence** of the batch, as a number.
#
# *10 minutes, easy.*

# %% [markdown]
# The remaining answers are letters, such as `"A"`.
#
# `"why_scale"`: the scores are divided by $\sqrt{d_k}$ because
#
# - A: it makes each row of weights sum to 1;
# - B: it keeps every score between −1 and 1, like a cosine;
# - C: the variance of $q \cdot k$ grows with $d_k$, and large scores saturate the softmax;
# - D: otherwise the product would take longer for a large $d_k$.
#
# `"other_score"`: which score works, as written, for a query of width 8 and a key of width 5?
#
# - A: $v^\top \tanh(W_1 q + W_2 k)$
# - B: $q \cdot k$
# - C: $q \cdot k / \sqrt{d_k}$
# - D: $q \cdot k / (\lVert q \rVert \lVert k \rVert)$
#
# `"conditions"`: what must be true in scaled dot-product attention?
#
# - A: there are as many queries as keys
# - B: values are as wide as keys
# - C: $d_k$ is at most $d_{\text{model}}$
# - D: queries are as wide as keys, and there are as many values as keys

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
assert not missing, f"These entries are missing from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in shapes:
    assert isinstance(answers[key], tuple | list) and len(answers[key]) == 3, (
        f"answers['{key}'] should be three numbers, batch first; got {answers[key]!r}."
    )
assert isinstance(answers["value_vectors"], int | float), (
    f"'value_vectors' should be a whole number, got {answers['value_vectors']!r}."
)
for key in letters:
    assert str(answers[key]).strip().strip("().").upper() in ("A", "B", "C", "D"), (
        f"answers['{key}'] should be one of 'A' to 'D', got {answers[key]!r}."
    )
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: shapes</summary>
#
# A linear layer changes only the last dimension. For the rest, go back to the figure with the two matrix products and write the sizes beside it.
#
# </details>
#
# <details><summary>Hint 2: choices</summary>
#
# Something above rules out each wrong answer: the spread of the scores before and after scaling, the table of score functions, the tests with `d_k=10`, the hundred comparisons.
#
# </details>

# %% [markdown] slide="slide"
# ## In a real model
#
# Each of SmolLM2's 30 layers calls scaled dot-product attention with queries, keys and values of shape `(1, 9, T, 64)`, for 9 heads (lesson 4), and a causal mask. Your functions now replace its own in all layers.

# %% demo
mine = {"attention": scaled_dot_product_attention, "mask": causal_mask}
write(question, "on your code", chat=True, tokens=12, **mine)

# %% [markdown] slide="slide"
# It answers as before: *The capital of France is Paris.*
#
# **Predict, then reveal.** Four mistakes give these four answers. Which comes from the model **without scaling**, and which from the model **without a mask**?
#
# | answer | the model says |
# |---|---|
# | A | `----------------` |
# | B | *The capital of France is the capital of France.* |
# | C | *You know the capital of the Americas is a aa thea2 aa* |
# | D | *land extraordnumerable extraord usagenumerable* … |
#
# <details><summary>Answer</summary>
#
# C is the model without scaling. Its scores are eight times too large, so the softmax saturates. It starts like a sentence, but soon stops making sense. B is the model without a mask: tokens see what comes after them, which never happened in training, and it repeats itself. In A the mask is inverted, so a token reads only later ones, and the last token, which has to answer, reads nothing. In D the softmax runs over the queries, so that the weights of a query no longer sum to 1, and each output is a wrongly weighted sum.
#
# </details>

# %% demo
def no_scale(q, k, v, mask):
    """Undo the division by √64."""
    return scaled_dot_product_attention(8 * q, k, v, mask)


def over_queries(q, k, v, mask):
    """Exchange queries and keys, so that the softmax runs over the queries."""
    _, weights = scaled_dot_product_attention(k, q, q, mask.T)  # (1, 9, T keys, T queries)
    return weights.transpose(-2, -1) @ v


def no_mask(size): return torch.ones(size, size, dtype=torch.bool)
def inverted(size): return ~causal_mask(size)


write(question, "no scale", chat=True, tokens=16, attention=no_scale)
write(question, "no mask", chat=True, tokens=16, mask=no_mask)
write(question, "inverted mask", chat=True, tokens=16, mask=inverted)
write(question, "softmax over queries", chat=True, tokens=16, attention=over_queries)

# %% [markdown]
# None of the four raises an error, and all shapes are right. Try a mistake of your own, and ask something else.

# %% [markdown] slide="slide"
# ## What's wrong here?
#
# The code below runs without an error, and every shape is right. Before you open the answer, write down which line is wrong, why it causes this symptom, and a short test that finds it. (Not counted.)

# %% [markdown] slide="subslide"
# ### Case: the words to come are read
#
# A classmate wrote attention with `einsum`, which here takes dot products along `d`, then sums over the keys `j`. It ran on the five words under the causal mask.

# %% demo
def with_einsum(q, k, v, mask):
    scores = torch.einsum("...id,...jd->...ij", q, k) / math.sqrt(q.size(-1))
    scores = scores.masked_fill(mask.logical_not(), 1e-9)
    shares = softmax(scores, dim=-1)
    return torch.einsum("...ij,...jd->...id", shares, v), shares

# %% demo
leaking = with_einsum(queries, keys, values, causal_mask(5))[1]
plots.heatmap(leaking, words, words, title="weights under the causal mask")
write(question, "with this attention", chat=True, tokens=16, attention=with_einsum, mask=causal_mask)

# %% [markdown]
# Above the diagonal every weight should be 0, but *the* reads all five words. Each row sums to 1, and the real model still answers. **Which line is wrong**, and why is the error large for *the* and small for *its*?
#
# <details><summary>Answer</summary>
#
# **The mistake.** `1e-9` is a billionth, not minus a billion: a minus sign is missing, and `-1e9` was meant.
#
# **Why this symptom.** A blocked key gets a score of nearly 0, and $e^0 = 1$ competes with the others. In the row of *its*, the score of *cat* is 3, so the blocked word gets little; in the row of *the*, the scores are smaller or 0, so the blocked words get a large share.
#
# **A test that finds it.** `assert (weights[..., ~mask] == 0).all()`, or change the last token: the first outputs must not move.
#
# </details>

# %% [markdown]
# ## What does attention cost?
#
# There is one score for every query and every key, so a text that is twice as long has four times as many scores. Measured:

# %% demo
import time

torch.set_num_threads(1)
for length in (512, 1024, 2048):
    q, k, v = torch.randn(3, length, 64)  # each (length, 64)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        _, weights = scaled_dot_product_attention(q, k, v)
        seconds.append(time.perf_counter() - start)
    memory = weights.numel() * weights.element_size() / 2**20
    print(f"{length:5} tokens: {1000 * min(seconds):6.1f} ms, {memory:5.1f} MiB of weights")
print(f" 8192 tokens would need {8192**2 * 4 / 2**20:.0f} MiB")

# %% [markdown]
# Each time the text doubles, the memory grows by a factor of 4, and the time by about as much or more. At 8192 tokens, the weights of a single head fill 256 MiB. FlashAttention computes the output without storing them, but the work still grows with the square (Dao et al. 2022, arXiv:2205.14135). That of recurrent layers grows linearly (table 1 of the paper).

# %% [markdown]
# ## Stretch: `attention_cost`, not counted
#
# Count the cost exactly. `batch` samples with `heads` heads each run scaled dot-product attention with `t_q` queries and `t_k` keys of width `d_k`, and values of width `d_v`. Return a pair of whole numbers:
#
# 1. the number of multiplications in the two matrix products, $QK^\top$ and weights times $V$ (ignore the scaling and the softmax);
# 2. how many numbers the tensor of scores holds.
#
# *10 minutes, medium. Stretch: not counted.*

# %% solution attention-cost
def attention_cost(
    batch: int, heads: int, t_q: int, t_k: int, d_k: int, d_v: int
) -> tuple[int, int]:
    """Count what scaled dot-product attention costs.

    Returns: the multiplications in its two matrix products, and the numbers in the score tensor.
    """
    ### BEGIN SOLUTION
    pairs = batch * heads * t_q * t_k
    return pairs * (d_k + d_v), pairs
    ### END SOLUTION

# %% test attention-cost 0
cost = attention_cost(batch=1, heads=1, t_q=2, t_k=3, d_k=4, d_v=5)
assert isinstance(cost, tuple | list) and len(cost) == 2, (
    f"Expected a tuple of two, (multiplications, numbers); got {type(cost).__name__}."
)
assert cost[1] == 6, f"Two queries and three keys have 6 scores, got {cost[1]}."
assert cost[0] == 54, (
    f"6 scores of 4 multiplications each, and 2 outputs of 5 features with 3 multiplications each, "
    f"make 24 + 30 = 54; got {cost[0]}."
)
print("attention_cost: the visible tests pass")

# %% demo
check("attention-cost")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Multiplying an $(n, m)$ matrix by an $(m, p)$ matrix takes $n \cdot m \cdot p$ multiplications: $m$ for each entry of the result.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# Write down the shapes of the two products, for a single head of a single sample. Which factors do the two counts have in common? Then think of batch and heads.
#
# </details>
#
# <details><summary>Hint 3: try it on the paper's model</summary>
#
# The base model has 8 heads with $d_k = d_v = 64$. Count self-attention on one sentence of 100 tokens. Then count a linear layer from 512 to 2048 features on the same tokens: it takes about ten times as many multiplications. From which length on is attention the larger part?
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
# You have built the operation at the heart of the Transformer. You know why its scores are scaled, where its mask goes and what each dimension means, and it agrees with PyTorch's on a hundred random inputs.
#
# A single head reads one mixture per token. **Lesson 4** runs several heads side by side, each with its own projections.
#
# **Read on**: Vaswani et al. 2017, section 3.2.2. For where attention came from: Bahdanau et al. 2015, arXiv:1409.0473, section 3.

# %% [markdown]
# ### Glossary
#
# | term | meaning |
# |---|---|
# | query, key, value | three projections of a token: what it looks for, what it can be found by, and what it passes on |
# | score | how well a query matches a key; here $q \cdot k / \sqrt{d_k}$ |
# | weights | the softmax of a query's scores: positive, with a sum of 1 |
# | $T_q$, $T_k$, $d_k$, $d_v$ | number of queries, number of keys (and values), width of queries and keys, width of values |
# | mask | a boolean tensor that says which keys each query may attend to; True = may attend |
# | saturated softmax | one weight near 1 and the rest near 0, so that almost no gradient flows |
# | permutation-equivariant | if the inputs are shuffled, the outputs are shuffled in the same way |
