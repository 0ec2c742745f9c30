# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 4 · Multi-head attention
#
# **You will be able to**
#
# - say what several heads can do that one head of the same total width cannot;
# - take a sentence through two heads with pencil and paper, and name every shape on the way;
# - split and merge heads without mixing up tokens, and recognise the signs when somebody did;
# - write multi-head attention for any two sequences and any mask, with your own attention from lesson 3 in it;
# - copy the weights of `nn.MultiheadAttention` into it, and get the same numbers out;
# - explain why eight heads cost no more parameters than one.
#
# **Time** about 90 minutes · **Difficulty** medium; the ideas are easy, the shapes are not · **Before this** lesson 3
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.2.2 and 3.2.3.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `split_heads` | 2 | 3.2.2, figure 2 (right); the layout is ours |
# | `merge_heads` | 2 | 3.2.2, "Concat" |
# | `MultiHeadAttention` | 8 | 3.2.2, with the uses of 3.2.3 |
# | `load_from_torch` | 4 | not in the paper: PyTorch's `nn.MultiheadAttention` |
# | `parameter_count` | 2 | 3.2.2, last sentence (there about computation) |
# | shapes and choices | 2 | 3.2.2 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% [markdown]
# This lesson stands on the attention you wrote in lesson 3. If your notebook `03_attention.ipynb` lies next door and your `scaled_dot_product_attention` agrees with PyTorch in a quick check, it is used from here on. Otherwise a stand-in takes its place, which does the same and is built on PyTorch's own function. The next cell says which. Your marks for this lesson do not depend on it.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

from coursework.earlier import load_earlier

scaled_dot_product_attention = load_earlier("04_multi_head_attention")["scaled_dot_product_attention"]

torch.manual_seed(4);

# %% demo
import matplotlib.pyplot as plt

from coursework import head_plots, plots

plots.use_style()
torch.set_num_threads(1);  # tensors this small are fastest without company

# %% [markdown]
# ## One mixture is not enough
#
# *The cat drank its milk.* To understand *drank*, two questions have to be answered: **who** drank, and **what** was drunk? A head has one query per token, so it can only ask both at once. Below, keys have two features, "could be a who" and "could be a what".

# %% demo
words = ["the", "cat", "drank", "its", "milk"]
keys = torch.tensor([[0.0, 0.0], [5.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 5.0]])  # (5, 2)
who, what = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])

queries = torch.stack([who + what, who, what])  # (3, 2)
_, weights = scaled_dot_product_attention(queries, keys, torch.eye(5))
plots.heatmap(weights, ["one head: who and what?", "head 1: who?", "head 2: what?"], words);

# %% [markdown]
# In the first row the cat and the milk get the same weight, and the output is one vector: half cat, half milk. From *The milk drank its cat* the very same half-and-half comes out. Two heads keep the answers apart, because each has a mixture of its own, and the layers that follow read them side by side. The paper puts it like this: with a single head, averaging inhibits attending to different positions for different reasons (section 3.2.2).
#
# So we want several attentions at once, each with its own queries, keys and values. What should that cost? The paper's answer is: **nothing**. Each of the h heads works in a space of width d_k = d_model / h, and their outputs, laid side by side, are d_model wide again.

# %% [markdown]
# ## "I like apples", with numbers
#
# Three tokens, d_model = 6, 2 heads, so d_k = 3. The numbers are chosen by hand, so that they can be read. The first three features of a token say what it is, the last three where it stands.
#
# ![The way of I like apples through two heads, left to right. Tokens x, 1 by 3 by 6, go through w q, w k and w v, each 6 by 6, to q, k and v of 1, 3, 6. Each is split into two heads: 1, 2, 3, 3. In each head attention runs by itself with scores and weights of 3 by 3. The outputs of both heads are merged into 1, 3, 6, and w o, 6 by 6, makes the output, 1, 3, 6.](images/heads_overview.svg)

# %% demo
sentence = ["I", "like", "apples"]
x = torch.tensor([[1.0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]])[None]  # (1, 3, 6)
features = ["subject", "verb", "object", "1st", "2nd", "3rd"]

# Rows: what each feature of a query asks for. Columns: the features of the token that asks.
w_q = torch.tensor([[0.0, 3, 0, 0, 0, 0], [4, 0, 4, 0, 0, 0], [0, 4, 0, 0, 0, 0],  # head 1
                    [0, 0, 0, 4, 4, 0], [0, 0, 0, 0, 0, 4], [0, 0, 0, 0, 0, 0]])  # head 2
w_k = torch.eye(6)
w_v = torch.eye(6)[[3, 4, 5, 0, 1, 2]]  # head 1 hands over places, head 2 kinds of word
w_o = torch.eye(6)[[3, 4, 5, 0, 1, 2]]  # puts both back where they belong

q, k, v = x @ w_q.T, x @ w_k.T, x @ w_v.T  # each (1, 3, 6)
head_plots.by_head({"q": q[0], "k": k[0], "v": v[0]}, sentence, num_heads=2, limits=(0, 5));

# %% [markdown]
# Read the queries. In head 1 *like* asks for a subject (3) and an object (4), while *I* and *apples* ask for the verb. In head 2 everybody asks for the word before; *I* has none, and asks for the first place, its own.
#
# Look at the values as well: head 1 *compares* kinds of word and *hands over* places. A head is not tied to "its" slice of x. It owns a slice of the **projected** vectors, and every number in there may come from all six features of x.
#
# Now cut. Head 1 takes the first three columns of q, k and v, head 2 the last three, and each runs the attention of lesson 3 on its own part, with √d_k = √3.

# %% demo
weights = []
for h in (0, 1):
    part = slice(3 * h, 3 * h + 3)  # features h·K to (h+1)·K
    _, w = scaled_dot_product_attention(q[..., part], k[..., part], v[..., part])  # (1, 3, 3)
    weights.append(w[0])
titles = ["head 1: what belongs to me?", "head 2: the word before"]
plots.heatmaps(dict(zip(titles, weights)), sentence, sentence);

# %% [markdown]
# Same tokens, same moment, two different readings. Each head mixes its own values; the two results are laid side by side again, and one last matrix, w_o, lets the heads' findings mix.

# %% demo
mixed = [w @ v[0, :, 3 * h : 3 * h + 3] for h, w in enumerate(weights)]  # two of (3, 3)
merged = torch.cat(mixed, dim=-1)  # (3, 6)
output = merged @ w_o.T  # (3, 6)
head_plots.by_head({"merged": merged}, sentence, num_heads=2, limits=(0, 1))
plots.heatmap(output, sentence, features, title="output");

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In the row of *like*, the output says 0.83 under *subject*. Which head found that, and in which of its values was it?
#
# <details><summary>Answer</summary>
#
# Head 2: it looked at the word before, *I*, and handed over what kind of word that is. Head 1 found the places: about 0.34 under *1st* and 0.60 under *3rd*, since *like* asked for subject and object at the same time, and for the object a little more.
#
# </details>

# %% [markdown]
# ## Splitting
#
# A loop over heads with slices works, and is slow: h small matrix products instead of one large. Instead the heads become a **dimension** next to the batch. The attention of lesson 3 takes any number of leading dimensions, so it handles all heads of all samples in one call.
#
# ![Splitting I like apples into two heads. On the left x, with a row for each token and six columns. Above right the right way: view as 3, 2, 3, then transpose. Head 1 holds features 1 to 3 of I, like and apples, head 2 features 4 to 6, a row for each token. Below it the wrong way: view as 2, 3, 3 at once. Head 1 holds all six features of I and the first three of like, so that its second row, which should be like, is the other half of I.](images/heads_split.svg)
#
# The wrong way has the right shape. `view` never moves a number: it reads the same memory in the same order and puts the brackets elsewhere. In memory the six features of *I* come first, then those of *like*, so the first nine numbers are not "head 1 of three tokens" but "one and a half tokens".

# %% [markdown] slide="slide"
# ### Exercise 1: `split_heads` (2 points)
#
# Turn `(B, S, D)` into `(B, H, S, K)` with K = D / H. Head h, counted from 0, sees the features h·K up to (h+1)·K of every token.

# %% solution split-heads
def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Give every head its own slice of the features (Vaswani et al. 2017, section 3.2.2).

    x: (B, S, D). Returns: (B, H, S, K) with K = D / H; head h holds features h*K to (h+1)*K.
    """
    ### BEGIN SOLUTION
    batch, length, d_model = x.shape
    x = x.view(batch, length, num_heads, d_model // num_heads)  # (B, S, H, K)
    return x.transpose(1, 2)  # (B, H, S, K)
    ### END SOLUTION

# %% test split-heads 2
x = torch.arange(2 * 3 * 8.0).view(2, 3, 8)  # two sentences of three tokens
heads = split_heads(x, 2)
assert isinstance(heads, torch.Tensor), (
    f"Expected a tensor, got {type(heads).__name__}: is there a return?"
)
assert heads.shape == (2, 2, 3, 4), (
    f"Two samples, two heads, three tokens, width 4: expected (2, 2, 3, 4), got {tuple(heads.shape)}."
)
assert torch.equal(heads[0, 0, 1], x[0, 1, :4]), (
    f"Head 0 of token 1 is the first half of that token, {x[0, 1, :4].tolist()}, "
    f"got {heads[0, 0, 1].tolist()}. Whose numbers are these?"
)
assert torch.equal(heads[1, 1, 2], x[1, 2, 4:]), (
    f"Head 1 of token 2 is the second half of that token, got {heads[1, 1, 2].tolist()}."
)
print("split_heads: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Two steps. First only the last dimension is cut in two, which leaves every number where it is. Then two whole dimensions change places.
#
# </details>
#
# <details><summary>Hint 2: the first step</summary>
#
# A row of D features is H groups of K features, one group after the other. Which four sizes does the tensor have when only that is written down?
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# After the first step the sizes are (B, S, H, K), and what is wanted is (B, H, S, K). Exchanging two dimensions is the job of `transpose`; a second `view` would only move brackets.
#
# </details>

# %% [markdown]
# ## Merging
#
# The way back is the same in reverse, and so is the mistake. After the attention the numbers of one token lie in H different places, one per head. A `reshape` straight to (B, S, D) takes them as they lie, so that a row holds **one head of several tokens** instead of all heads of one token.
#
# ![Merging two heads of I like apples. On the left the two heads, three rows each, one for each token. The right way: transpose, then reshape; row I holds head 1 of I and head 2 of I. The wrong way: reshape at once; row I holds head 1 of I and head 1 of like: I reads a token that comes after it.](images/heads_merge.svg)
#
# Under a causal mask this is worse than a muddle: the row of *I* now contains *like*, which *I* must not see. The mask was perfect, and the future leaked behind its back.

# %% [markdown]
# ### Exercise 2: `merge_heads` (2 points)
#
# The inverse of `split_heads`: `(B, H, S, K)` becomes `(B, S, D)`, the heads of a token side by side, head 0 first.

# %% solution merge-heads
def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """Lay the heads of each token side by side again: the inverse of split_heads.

    x: (B, H, S, K). Returns: (B, S, D) with D = H * K.
    """
    ### BEGIN SOLUTION
    batch, num_heads, length, width = x.shape
    x = x.transpose(1, 2)  # (B, S, H, K)
    return x.reshape(batch, length, num_heads * width)  # (B, S, D)
    ### END SOLUTION

# %% test merge-heads 2
heads = torch.arange(2 * 3 * 2.0).view(1, 2, 3, 2)  # two heads, three tokens, width 2
merged = merge_heads(heads)
assert isinstance(merged, torch.Tensor), (
    f"Expected a tensor, got {type(merged).__name__}: is there a return?"
)
assert merged.shape == (1, 3, 4), (
    f"Three tokens of two heads of width 2: expected (1, 3, 4), got {tuple(merged.shape)}."
)
assert torch.equal(merged[0, 0], torch.tensor([0.0, 1.0, 6.0, 7.0])), (
    "Token 0 is its head 0, [0, 1], followed by its head 1, [6, 7]; "
    f"got {merged[0, 0].tolist()}. Whose numbers are these?"
)
print("merge_heads: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Run `split_heads` backwards: its last step first.
#
# </details>
#
# <details><summary>Hint 2: "view size is not compatible"</summary>
#
# A transpose does not move numbers in memory, it only reads them in another order, and `view` refuses to put brackets around numbers that do not lie next to each other. `reshape` copies where it has to; `.contiguous()` before `.view` does the same by hand. The error is a friend: it appears precisely where numbers must be moved.
#
# </details>

# %% [markdown]
# ## Watching the future leak
#
# Which output depends on which token? The derivative of every output with respect to every input tells. Below are four tokens, two heads and a causal mask: row i should be white to the right of the diagonal. (There are no projections here; they make no difference to who sees whom.)

# %% demo
tokens = ["I", "like", "green", "apples"]
causal = torch.ones(4, 4, dtype=torch.bool).tril()


def influence(split, merge):
    """How strongly each output depends on each token: (4, 4), outputs down, tokens across."""
    torch.manual_seed(0)

    def attend(x):
        q, k, v = (split(part) for part in (x / 2, x, x))  # each (1, 2, 4, 3)
        return merge(scaled_dot_product_attention(q, k, v, causal)[0])  # (1, 4, 6)

    slopes = torch.autograd.functional.jacobian(attend, torch.randn(1, 4, 6))  # (1, 4, 6, 1, 4, 6)
    return slopes[0, :, :, 0].square().sum(dim=(1, 3)).sqrt()  # (4, 4)


split, merge = (lambda x: split_heads(x, 2)), merge_heads
brackets, together = (lambda x: x.view(1, 2, 4, 3)), (lambda x: x.reshape(1, 4, 6))  # no transpose
maps = {"right": influence(split, merge), "split without transpose": influence(brackets, merge),
        "merge without transpose": influence(split, together), "both without": influence(brackets, together)}
head_plots.leaks(maps, tokens);

# %% [markdown]
# One transpose missing, and the future leaks: framed cells are outputs that read a token to their right. With **both** missing nothing leaks, and that is the nastiest case: splitting and merging are still each other's inverse, every shape is right, every causality test passes. But look at *green*: it no longer reads *I* or *like*, which it may. Head 1 was given the first half of the sentence instead of the first half of the features.
#
# Drag the slider: a change of one token must not reach an output to its left, and has to reach those to its right.

# %% demo
from ipywidgets import IntSlider, interact


@interact(position=IntSlider(value=3, min=0, max=3, continuous_update=False))
def change_token(position):
    """Change one token: which outputs notice?"""
    heights = {name: matrix[:, position] for name, matrix in maps.items()}
    plots.bars(heights, tokens, marked=tokens[:position])
    plt.suptitle(f"“{tokens[position]}” is changed; what is vermilion must be 0")
    plt.show()

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A model is trained with the wrong merge, to predict the next word. What happens to its training loss, and what when it writes a text of its own?
#
# <details><summary>Answer</summary>
#
# The loss falls splendidly, because position i can read the token it is asked to predict. When the model writes, that token does not exist yet, and it writes nonsense. Lesson 7 shows it on a trained model. Neither shapes nor the loss give the mistake away; changing a later token does, in one line.
#
# </details>

# %% [markdown]
# ## A head has weights of its own
#
# The paper gives head i three matrices, W_i^Q, W_i^K and W_i^V, each d_model × d_k. For d_model = 4 and 2 heads these are six matrices of 4 × 2, and W^O of 4 × 4. Programs keep them in four matrices of 4 × 4, the heads side by side.
#
# ![On the left the paper's matrices for width 4 and two heads: W Q 1 and W Q 2, each 4 by 2, in two colours. In the middle both side by side as one 4 by 4 matrix W Q. On the right the weight of the layer w q in PyTorch, which is the transpose: its first two rows belong to head 1, its last two rows to head 2.](images/heads_weights.svg)
#
# `nn.Linear` computes x Wᵀ, so its `weight` is stored the other way round, and a head owns **rows** of it. One product with the large matrix and a split afterwards gives exactly what the small matrices give one by one. It is the same computation, not an approximation of it.

# %% demo
torch.manual_seed(1)
x, layer = torch.randn(1, 3, 4), nn.Linear(4, 4)
together = split_heads(layer(x), 2)  # (1, 2, 3, 2)
for h in (0, 1):
    rows = slice(2 * h, 2 * h + 2)
    alone = x @ layer.weight[rows].T + layer.bias[rows]  # (1, 3, 2): this head's own 4 x 2 matrix
    print(f"head {h + 1}: {torch.allclose(together[:, h], alone, atol=1e-6)}")

# %% [markdown]
# The order matters, though: **project first, then split**. A common mistake is to split x first and let one small K × K layer serve all heads. It even learns something. But then a head sees only its slice of the embedding, all heads do the same thing to their slices, and three quarters of the projections' parameters (for two heads) are missing. To see the difference, change the *last* feature of a token and watch the scores.

# %% demo
def scores_of_heads(x, project):
    """The scores of each of two heads: (2, 3, 3)."""
    q, k = project(x)
    return (q @ k.transpose(-2, -1) / math.sqrt(2))[0]


torch.manual_seed(2)
large_q, large_k, small_q, small_k = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(2, 2), nn.Linear(2, 2)
ways = {
    "project, then split": lambda x: (split_heads(large_q(x), 2), split_heads(large_k(x), 2)),
    "split, then project": lambda x: (small_q(split_heads(x, 2)), small_k(split_heads(x, 2))),
}
changed = x.clone()
changed[..., -1] += 1.0  # the last feature of every token
for name, project in ways.items():
    moved = (scores_of_heads(changed, project) - scores_of_heads(x, project)).abs().amax(dim=(1, 2))
    print(f"{name}: head 1 moves by {moved[0]:.2f}, head 2 by {moved[1]:.2f}")

# %% [markdown]
# ## Masks and heads
#
# A mask speaks about tokens, so it is the same for all heads. The scores have become `(B, H, T_q, T_k)`, though, and broadcasting lines up from the right:
#
# | mask | lines up as | meant |
# |---|---|---|
# | causal, `(T_q, T_k)` | `(1, 1, T_q, T_k)` | as it is |
# | per sample, `(B, 1, T_k)` or `(B, T_q, T_k)` | `(1, B, …, T_k)`: the batch meets the **heads** | `(B, 1, …, T_k)` |
#
# Usually the second row ends in an error, which is good luck. It passes in silence when there are as many samples as heads. Two samples, two heads, and the second sample has two tokens of padding:

# %% demo
q, k, v = torch.randn(3, 2, 2, 4, 3)  # each (B=2, H=2, T=4, K=3)
padding = torch.tensor([[True, True, True, True], [True, True, False, False]])[:, None]  # (2, 1, 4)

_, silent = scaled_dot_product_attention(q, k, v, padding)  # lines up with the heads
_, right = scaled_dot_product_attention(q, k, v, padding[:, None])  # (2, 1, 1, 4)
rows = [f"sample {b + 1}, head {h + 1}" for b in (0, 1) for h in (0, 1)]
first_query = {"as it came": silent[:, :, 0].flatten(0, 1), "unsqueezed": right[:, :, 0].flatten(0, 1)}
plots.heatmaps(first_query, rows, ["k1", "k2", "k3", "k4"]);

# %% [markdown]
# On the left the padding of sample 2 is hidden from **head 2 of both samples**. Sample 1 loses half of its words in one head, sample 2 reads padding in the other, and no error is raised.

# %% [markdown]
# ## Exercise 3: `MultiHeadAttention` (8 points)
#
# MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O (section 3.2.2). What it has to do:
#
# - **attributes** `w_q`, `w_k`, `w_v`, `w_o`, each `nn.Linear(d_model, d_model)` with bias and weights of its own; weights are loaded by these names. A `d_model` that cannot be divided by `num_heads` raises `ValueError`;
# - **forward(query, key, value, mask=None)** returns the output `(B, T_q, D)` *and* the weights of every head `(B, H, T_q, T_k)`. Query, key and value may be three different tensors, and T_q may differ from T_k;
# - **mask** is boolean, True = may attend, of shape `(T_q, T_k)` or `(B, 1 or T_q, T_k)`, and the same for all heads, also when B equals H. A query that may attend to nothing gets zero weights, so every head contributes zeros, and what comes out is the bias of `w_o`;
# - **dropout** acts on the weights, after the softmax and before they mix the values, in train mode only. The weights you return may be those before dropout or those after it.

# %% [markdown]
# Your `scaled_dot_product_attention`, `split_heads` and `merge_heads` are in scope. There is no residual connection and no norm in here; they come in lesson 5, around it.
#
# Dropout needs a thought, since the attention of lesson 3 has none. But it hands you the weights, and mixing is one matrix product.

# %% solution multi-head-attention
class MultiHeadAttention(nn.Module):
    """Attention in several heads at once (Vaswani et al. 2017, section 3.2.2).

    Attributes: w_q, w_k, w_v, w_o, each Linear(d_model, d_model).
    Raises ValueError if d_model is not divisible by num_heads.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} cannot be divided by num_heads {num_heads}")
        self.num_heads = num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Let every query read the values, in num_heads ways.

        query: (B, T_q, D), key and value: (B, T_k, D); mask: BoolTensor (T_q, T_k) or
        (B, 1 or T_q, T_k), True = may attend.
        Returns: output (B, T_q, D) and weights (B, H, T_q, T_k).
        """
        ### BEGIN SOLUTION
        q = split_heads(self.w_q(query), self.num_heads)  # (B, H, T_q, K)
        k = split_heads(self.w_k(key), self.num_heads)  # (B, H, T_k, K)
        v = split_heads(self.w_v(value), self.num_heads)  # (B, H, T_k, K)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)  # (B, 1, 1 or T_q, T_k)
        _, weights = scaled_dot_product_attention(q, k, v, mask)  # (B, H, T_q, T_k)
        mixed = self.dropout(weights) @ v  # (B, H, T_q, K)
        output = self.w_o(merge_heads(mixed))  # (B, T_q, D)
        return output, weights
        ### END SOLUTION

# %% test multi-head-attention 8
attention = MultiHeadAttention(d_model=8, num_heads=2).eval()
sizes = {name: tuple(getattr(attention, name).weight.shape) for name in ("w_q", "w_k", "w_v", "w_o")}
assert set(sizes.values()) == {(8, 8)}, f"Each of the four layers leads from 8 to 8, got {sizes}."
query, key, value = torch.randn(3, 5, 8), torch.randn(3, 7, 8), torch.randn(3, 7, 8)
result = attention(query, key, value)
assert isinstance(result, tuple) and len(result) == 2, (
    f"Expected a pair (output, weights), got {type(result).__name__}."
)
output, weights = result
assert output.shape == (3, 5, 8), (
    f"Five queries of width 8 give (3, 5, 8), got {tuple(output.shape)}."
)
assert weights.shape == (3, 2, 5, 7), (
    f"Three samples, two heads, five queries, seven keys: expected (3, 2, 5, 7), got {tuple(weights.shape)}."
)
assert torch.allclose(weights.sum(dim=-1), torch.ones(3, 2, 5), atol=1e-5), (
    "Every row of weights sums to 1 over the keys, in every head."
)
x = torch.randn(2, 5, 8)
later = x.clone()
later[:, -1] += 1.0
causal = torch.ones(5, 5, dtype=torch.bool).tril()
before, after = attention(x, x, x, causal)[0], attention(later, later, later, causal)[0]
assert torch.allclose(before[:, :-1], after[:, :-1], atol=1e-5), (
    "Under a causal mask a change of the last token reached an earlier output. "
    "Look at the mask, and at what the split and the merge do to the rows."
)
padding = (torch.arange(5) < torch.tensor([[5], [2]]))[:, None]  # (2, 1, 5), and two heads
_, weights = attention(x, x, x, padding)
assert torch.all(weights[1, :, :, 2:] == 0) and torch.all(weights[0, :, :, 2:] > 0), (
    "The padding of sample 1 should be hidden in all heads of sample 1, and in no other sample."
)
try:
    MultiHeadAttention(d_model=8, num_heads=3)
except ValueError:
    pass
else:
    raise AssertionError("Eight features cannot be shared out among three heads: raise a ValueError.")
print("MultiHeadAttention: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Project, split, attend, merge, project: the overview picture is the program. Print the shape after each line and compare it with the picture.
#
# </details>
#
# <details><summary>Hint 2: which length is which?</summary>
#
# Never compute a length yourself where a tensor knows it: the queries are T_q long, keys and values T_k. `split_heads` reads it off its argument, so it serves all three.
#
# </details>
#
# <details><summary>Hint 3: mask and dropout</summary>
#
# A mask with three dimensions starts with the batch, and needs a dimension of size 1 for the heads behind it; one with two dimensions fits as it is. As for dropout: an `nn.Dropout` made in `__init__` knows about train and eval. Apply it to the weights that the attention returned, and multiply the result with the values of each head.
#
# </details>

# %% [markdown]
# ## Does it agree with PyTorch?
#
# PyTorch has the same layer, `nn.MultiheadAttention`. With the same weights it should give the same output, and there is no better test. Only the weights are kept differently:

# %% demo
theirs = nn.MultiheadAttention(embed_dim=6, num_heads=2, batch_first=True)
for name, parameter in theirs.named_parameters():
    print(f"{name:16} {tuple(parameter.shape)}")

# %% [markdown]
# `in_proj_weight` is three matrices stacked: the first D rows make the queries, the next D the keys, the last D the values (PyTorch documentation and source of `nn.MultiheadAttention`). `in_proj_bias` is stacked in the same order, and `out_proj` is an ordinary linear layer.
#
# **Predict, then reveal.** Other programs stack head by head: q, k and v of head 1, then q, k and v of head 2. The shape is (3D, D) as well. What happens if such weights are copied as if they were PyTorch's?
#
# <details><summary>Answer</summary>
#
# No error, and wrong numbers: part of the keys' matrix ends up among the queries. The shape of a tensor does not say what its rows mean; somebody has to look it up. The check is always the same: same input, same output.
#
# </details>

# %% [markdown]
# ### Exercise 4: `load_from_torch` (4 points)
#
# Copy every weight and bias of `theirs` into `mine`, a `MultiHeadAttention` of the same size, so that both give the same output. Copy, do not share: when somebody trains `theirs` afterwards, `mine` stays as it is. And `mine` stays trainable, with the parameters it has.

# %% solution load-from-torch
def load_from_torch(mine: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Copy the weights of PyTorch's layer, biases included, into ours of the same size.

    theirs: in_proj_weight (3 * D, D) and in_proj_bias (3 * D,), stacked as queries, keys, values;
    out_proj, Linear(D, D). Returns nothing.
    """
    ### BEGIN SOLUTION
    w_q, w_k, w_v = theirs.in_proj_weight.chunk(3)  # each (D, D)
    b_q, b_k, b_v = theirs.in_proj_bias.chunk(3)  # each (D,)
    with torch.no_grad():
        mine.w_q.weight.copy_(w_q)
        mine.w_q.bias.copy_(b_q)
        mine.w_k.weight.copy_(w_k)
        mine.w_k.bias.copy_(b_k)
        mine.w_v.weight.copy_(w_v)
        mine.w_v.bias.copy_(b_v)
        mine.w_o.weight.copy_(theirs.out_proj.weight)
        mine.w_o.bias.copy_(theirs.out_proj.bias)
    ### END SOLUTION

# %% test load-from-torch 4
theirs = nn.MultiheadAttention(embed_dim=6, num_heads=2, batch_first=True).eval()
nn.init.normal_(theirs.in_proj_bias)  # PyTorch starts them at 0, which hides mistakes
nn.init.normal_(theirs.out_proj.bias)
mine = MultiHeadAttention(d_model=6, num_heads=2).eval()
load_from_torch(mine, theirs)
query, memory = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
expected, _ = theirs(query, memory, memory)
output, _ = mine(query, memory, memory)
assert torch.allclose(output, expected, atol=1e-5), (
    f"The outputs differ by up to {(output - expected).abs().max():.3f}. Is anything left as it was?"
)
with torch.no_grad():
    theirs.out_proj.weight.zero_()
again, _ = mine(query, memory, memory)
assert torch.equal(again, output), "Changing `theirs` changed `mine`: the weights are shared, not copied."
print("load_from_torch: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Eight tensors have to arrive: a weight and a bias for each of the four layers. Write down where each of them lies in `theirs`.
#
# </details>
#
# <details><summary>Hint 2: cutting</summary>
#
# `chunk(3)` cuts a tensor into three equal parts along its first dimension. It works for the weight and for the bias.
#
# </details>
#
# <details><summary>Hint 3: "a leaf Variable that requires grad is being used in an in-place operation"</summary>
#
# `copy_` writes into an existing parameter, which keeps it the same parameter. Autograd objects, because it would have to record the writing. Tell it not to watch: `with torch.no_grad():`.
#
# </details>

# %% [markdown]
# ### A hundred comparisons
#
# Random sizes, with masks and without. Two things to mind when talking to PyTorch's layer: its masks mean the opposite, hence the `~`, and it averages the weights over the heads unless told otherwise.

# %% demo
def compare(trials=100):
    """The largest difference from nn.MultiheadAttention, in outputs and in weights."""
    worst = 0.0
    for trial in range(trials):
        batch, t_q, t_k, heads, width = torch.randint(1, 7, (5,)).tolist()
        d_model = heads * width
        theirs = nn.MultiheadAttention(d_model, heads, batch_first=True).eval()
        nn.init.normal_(theirs.in_proj_bias)
        mine = MultiHeadAttention(d_model, heads).eval()
        load_from_torch(mine, theirs)
        q, k, v = (torch.randn(batch, length, d_model) for length in (t_q, t_k, t_k))
        mask = torch.rand(t_q, t_k) < 0.7
        mask[:, 0] = True  # nobody is left with nothing: PyTorch's layer would give NaN
        hide = None if trial % 2 else ~mask
        expected = theirs(q, k, v, attn_mask=hide, average_attn_weights=False)
        got = mine(q, k, v, None if hide is None else mask)
        worst = max(worst, *((a - b).abs().max().item() for a, b in zip(got, expected)))
    return worst


print(f"100 comparisons; largest difference {compare():.1e}")

# %% [markdown]
# Only rounding is left. From here on you may trust your layer as you trust PyTorch's, and you know what is inside.

# %% [markdown]
# ## What do more heads cost?
#
# **Predict, then reveal.** A layer of width 512 has one head. Its sister has eight. How many more parameters has the sister?
#
# <details><summary>Answer</summary>
#
# None. The four matrices are D × D in either case; the number of heads only decides where the projected vectors are cut. The products cost the same as well: the scores take h · T² · (D/h) = T² · D multiplications, whatever h is (section 3.2.2 says the same of the total cost). What grows with h is the number of weights to keep, h · T², and what shrinks is the width of a head.
#
# </details>

# %% [markdown]
# ### Exercise 5: `parameter_count` (2 points)
#
# How many numbers does a `MultiHeadAttention` learn? Return it as an `int`, biases included. A formula is enough.

# %% solution parameter-count
def parameter_count(d_model: int, num_heads: int) -> int:
    """Count the learnt numbers of MultiHeadAttention(d_model, num_heads), biases included."""
    ### BEGIN SOLUTION
    one_layer = d_model * d_model + d_model
    return 4 * one_layer
    ### END SOLUTION

# %% test parameter-count 2
count = parameter_count(2, 1)
assert type(count) is int, f"Expected an int, got {type(count).__name__}."
assert count == 24, (
    f"Width 2: four layers with 4 weights and 2 biases each make 24 numbers, got {count}."
)
print("parameter_count: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Print `[tuple(p.shape) for p in MultiHeadAttention(6, 2).parameters()]`, then the same for three heads.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# One `nn.Linear(n, m)` has n · m weights and m biases. How many such layers are there, and which sizes do they have?
#
# </details>

# %% demo
for heads in (1, 2, 4, 8, 16):
    made = MultiHeadAttention(512, heads)
    counted = sum(p.numel() for p in made.parameters())
    print(f"{heads:2} heads of width {512 // heads:3}: {counted:9,} counted, {parameter_count(512, heads):9,} by formula")

# %% [markdown]
# If heads are free, why not 512 of them? A head of width 1 compares tokens by the product of two numbers, and its table of T × T scores has rank 1 (biases aside). In the paper's experiments one head was 0.9 BLEU worse than the best setting, and with too many heads quality dropped off as well (section 6.2, table 3, rows A).

# %% [markdown]
# ## One head or two: an experiment
#
# A task with two questions: each token has to name **the token before it and the first of the sequence**. The two layers below have equally many parameters; one has a single head, the other has two.

# %% demo
def train(num_heads, steps=150, length=6, kinds=20):
    """Train one attention layer on both questions; return accuracy and the weights of a sequence."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(26, num_heads)
    read = nn.Linear(26, 2 * kinds)  # the guess for each question
    places = torch.eye(length).expand(32, length, length)
    optimiser = torch.optim.Adam([*layer.parameters(), *read.parameters()], lr=0.03)
    for _ in range(steps):
        ids = torch.randint(kinds, (32, length))
        x = torch.cat([F.one_hot(ids, kinds), places], dim=-1)  # (32, 6, 26): what, and where
        previous, first = ids.roll(1, dims=1), ids[:, :1].expand(-1, length)
        wanted = torch.stack([previous, first], dim=-1)[:, 2:]  # (32, 4, 2)
        output, weights = layer(x, x, x)
        guesses = read(output)[:, 2:].unflatten(-1, (2, kinds))  # (32, 4, 2, 20)
        loss = F.cross_entropy(guesses.flatten(0, 2), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return (guesses.argmax(dim=-1) == wanted).float().mean().item(), weights[0].detach()


alone, pair = train(1), train(2)
print(f"one head: {alone[0]:.0%} right   two heads: {pair[0]:.0%} right")
places = [str(place) for place in range(1, 7)]
looks = {"one head": alone[1][0], "head 1 of 2": pair[1][0], "head 2 of 2": pair[1][1]}
plots.heatmaps(looks, places, places);

# %% [markdown]
# (The first two places are no part of the task: the first has nothing before it, and for the second both answers are the same.) The single head has to share its attention between two places and to hand on one mixture of both, and it keeps confusing which token came from where. The two heads have **specialised**, without being told: one looks at the start, one looks back by one.

# %% [markdown]
# ### What heads come to specialise in
#
# In large models people have looked, and some roles turn up again and again:
#
# - **positional** heads, which look at the token before or after (Voita et al. 2019, arXiv:1905.09418, in translation; Clark et al. 2019, arXiv:1906.04341, in BERT);
# - **syntactic** heads, which link words by a particular relation: a verb and its object, a noun and its article (both papers), or a word and the earlier mention of the same thing (Clark et al. 2019);
# - heads for **rare words** (Voita et al. 2019), and heads that mostly rest on separators such as `[SEP]`, perhaps because they have nothing to do (Clark et al. 2019).
#
# Many heads do little that is missed: Voita et al. could remove 38 of the 48 encoder heads of an English–Russian model and lost 0.15 BLEU. The specialised heads were the last to go. You will look for such heads yourself in lesson 8.

# %% [markdown]
# ## Exercise 6: shapes and choices (2 points)
#
# *I like apples* once more: a batch of **one** sentence with **three** tokens, `d_model` 6 and 2 heads, through your `MultiHeadAttention` as self-attention. Fill in the dictionary and delete the `raise` line below it. Shapes are tuples of numbers, batch included, for example `(1, 2)`.
#
# - `"q"`: the queries, straight out of `w_q`;
# - `"q_heads"`: the queries after `split_heads`;
# - `"scores"`: the scores of all heads;
# - `"mixed"`: what the heads read, before they are merged;
# - `"merged"`: the same after `merge_heads`;
# - `"output"`: what comes out of `w_o`.

# %% [markdown]
# Now a layer of width **4** with **2** heads, in the paper's notation, in which a token is a row and is multiplied from the left: x W. Shapes as tuples again.
#
# - `"head_w_q"`: the matrix W_1^Q that makes the queries of **one** head;
# - `"head_w_v"`: the matrix W_1^V that makes the values of **one** head;
# - `"w_o"`: the matrix W^O after the heads are merged;
# - `"projections"`: how many matrices such as W_1^Q, W_1^K, W_1^V, … this layer has for queries, keys and values, **all heads together**, as a number.

# %% [markdown]
# The others are letters, such as `"A"`.
#
# `"sees"`: which features of a token x can influence the scores of head 2?
#
# - A: those of the second half of x
# - B: all of them
# - C: one, since there are two heads
# - D: those that head 1 leaves over
#
# `"more_heads"`: `d_model` stays the same, the number of heads doubles. What happens to the number of parameters?
#
# - A: it doubles
# - B: it halves
# - C: it stays the same
# - D: only the parameters of w_o double
#
# `"sharing"`: how do the heads of a layer differ?
#
# - A: each has its own rows of the weights of w_q, w_k and w_v
# - B: they share their weights, and read different slices of x
# - C: they share their weights, and read different positions
# - D: only in dropout

# %% solution head-shapes
answers = {
    "q": None,
    "q_heads": None,
    "scores": None,
    "mixed": None,
    "merged": None,
    "output": None,
    "head_w_q": None,
    "head_w_v": None,
    "w_o": None,
    "projections": None,
    "sees": None,
    "more_heads": None,
    "sharing": None,
}
### BEGIN SOLUTION
answers = {
    "q": (1, 3, 6),
    "q_heads": (1, 2, 3, 3),
    "scores": (1, 2, 3, 3),
    "mixed": (1, 2, 3, 3),
    "merged": (1, 3, 6),
    "output": (1, 3, 6),
    "head_w_q": (4, 2),
    "head_w_v": (4, 2),
    "w_o": (4, 4),
    "projections": 6,
    "sees": "B",
    "more_heads": "C",
    "sharing": "A",
}
### END SOLUTION

# %% test head-shapes 2
walk, matrices = ("q", "q_heads", "scores", "mixed", "merged", "output"), ("head_w_q", "head_w_v", "w_o")
letters = ("sees", "more_heads", "sharing")
missing = {*walk, *matrices, *letters, "projections"} - set(answers)
assert not missing, f"These entries are gone from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in (*walk, *matrices):
    assert isinstance(answers[key], tuple | list) and len(answers[key]) in (2, 3, 4), (
        f"answers['{key}'] should hold the numbers of a shape; got {answers[key]!r}."
    )
assert isinstance(answers["projections"], int), (
    f"'projections' is a whole number, got {answers['projections']!r}."
)
for key in letters:
    assert answers[key] in ("A", "B", "C", "D"), (
        f"answers['{key}'] is one of 'A' to 'D', got {answers[key]!r}."
    )
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: shapes</summary>
#
# The width of a head and the number of tokens happen to be equal here. Write the letters first, B, H, T_q, T_k, K, and put in the numbers at the end.
#
# </details>
#
# <details><summary>Hint 2: choices</summary>
#
# Each of them was settled by something you have run: the loop over rows of `layer.weight`, the change of the last feature, the table of counted parameters.
#
# </details>

# %% [markdown]
# ## What you can do now
#
# You have the layer that every Transformer is made of. You can take it apart head by head, you know why its shapes are what they are and which of them lie, and it agrees with PyTorch's own on a hundred random cases.
#
# Attention is all it can do, though: it mixes values, and a mixture is linear in them. **Lesson 5** puts a small network behind it that works on each token by itself, wraps both in residual connections and norms, and stacks the result into an encoder.
#
# **Read on**: Vaswani et al. 2017, sections 3.1 and 3.3. For heads and what they are worth: Voita et al. 2019, arXiv:1905.09418; Michel et al. 2019, *Are Sixteen Heads Really Better than One?*, arXiv:1905.10650.
