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
# - take a sentence through two heads, and name every shape;
# - split and merge heads, and recognise the symptoms of a wrong split or merge;
# - write multi-head attention for any two sequences and any mask;
# - load the weights of `nn.MultiheadAttention` and get the same numbers out;
# - say what several heads gain over one of the same total width, and what they cost;
# - recognise a head of a real BERT by what it does.
#
# **Time** about 100 minutes · **Difficulty** medium; the ideas are easy, the shapes are not · **Before this** lesson 3
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.2.2 and 3.2.3.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 4 is highlighted: multi-head attention, which is self-attention in the encoder, and causal self-attention and cross-attention in the decoder.](images/map_04.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `split_heads` | 2 | 3.2.2, figure 2 (right); the layout is ours |
# | `merge_heads` | 2 | 3.2.2, "Concat" |
# | `MultiHeadAttention` | 8 | 3.2.2, with the uses of 3.2.3 |
# | `load_from_torch` | 4 | not in the paper |
# | `parameter_count` | 2 | 3.2.2, last sentence (there about computation) |
# | shapes and choices | 2 | 3.2.2 |
# | stretch: `load_from_bert` | not counted | not in the paper |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` with your answer, then run the visible tests below it (their code is folded; a click on it opens it). They are a first check; grading uses other sizes and numbers, and float64 as well as float32. If you are stuck, `skip("NAME")` puts a working version in place, and the exercise counts as unanswered.

# %% [markdown] slide="skip"
# The next cell loads your `scaled_dot_product_attention` from `03_attention.ipynb`, if that is in the same folder and agrees with PyTorch, or else a stand-in. Your score doesn't depend on it.

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

from coursework import check, hand_in, head_plots, plots, skip

plots.use_style()
torch.set_num_threads(1);  # tensors this small are fastest on one thread

# %% [markdown] slide="slide"
# ## What several heads are for
#
# The attention of lesson 3 gives each token one set of weights, and with it one mixture of the other tokens. But a token may need several things at once: a verb its subject, its object, and the word before it. So a Transformer runs several attentions side by side. Each is called a **head**, and has weights of its own.
#
# SmolLM2 has nine heads in each layer. It answers the same question twice: first as it was trained, then with all nine heads of every layer attending as the first one does.

# %% demo
from coursework.smollm import write


def as_the_first(q, k, v, mask):
    """Attend with the weights of head 0 in all heads: v is (1, 9, T, 64)."""
    _, weights = scaled_dot_product_attention(q[:, :1], k[:, :1], v[:, :1], mask)
    return weights @ v


question = "What is the capital of France?"
write(question, "nine heads", chat=True, tokens=12)
write(question, "nine times the first", chat=True, tokens=12, attention=as_the_first)

# %% [markdown]
# Only commas are left: the heads have learnt different patterns, and one can't stand in for the others.

# %% [markdown]
# ## Splitting
#
# Each of the $H$ heads works with $K = D / H$ features, so that their outputs, laid side by side, are $D = d_{\text{model}}$ wide again. (The paper writes $h$ for $H$, and $d_k$ and $d_v$ for $K$.) In code, the heads become a **dimension** next to the batch, so that one call of your attention handles all heads of all samples.
#
# ![Splitting five tokens with six features into two heads. On the left x, with a row for each token. At the top right the right way: view as 5, 2, 3, then transpose. Head 0 holds features 0 to 2 of all five tokens, head 1 features 3 to 5, a row for each token. Below it the wrong way: view as 2, 5, 3 at once. Head 0 holds all features of the start token and of I, and half of like; its second row, which should be I, is the other half of the start token.](images/heads_split.svg)
#
# The wrong way is [`view`](https://docs.pytorch.org/docs/stable/tensor_view.html) alone. The shape is right, but `view` keeps the numbers in memory order: the six features of `<sos>` come first, then those of *I*. The first 15 numbers are two and a half tokens, not head 0 of five tokens.

# %% [markdown] slide="slide"
# ### Exercise 1: `split_heads` (2 points)
#
# Turn `(B, S, D)` into `(B, H, S, K)` with $K = D / H$. Head $i$, counted from 0, gets the features $iK$ up to (but not including) $(i+1)K$ of every token.
#
# *10 minutes, easy.*

# %% solution split-heads
def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """Give every head its own slice of the features (Vaswani et al. 2017, section 3.2.2).

    x: (B, S, D). Returns: (B, H, S, K) with K = D / H; head i holds features i*K to (i+1)*K.
    """
    ### BEGIN SOLUTION
    batch, length, d_model = x.shape
    x = x.view(batch, length, num_heads, d_model // num_heads)  # (B, S, H, K)
    return x.transpose(1, 2)  # (B, H, S, K)
    ### END SOLUTION

# %% test split-heads 2
x = torch.arange(2 * 3 * 8.0).view(2, 3, 8)  # two sentences of three tokens
heads = split_heads(x, 2)
assert isinstance(heads, torch.Tensor), f"Expected a tensor, got {type(heads).__name__}."
assert heads.shape == (2, 2, 3, 4), (
    f"Two samples, two heads, three tokens, width 4: expected (2, 2, 3, 4), got {tuple(heads.shape)}."
)
assert torch.equal(heads[0, 0, 1], x[0, 1, :4]), (
    f"Head 0 of token 1 should be the first half of that token, {x[0, 1, :4].tolist()}, "
    f"got {heads[0, 0, 1].tolist()}. Which token, and which of its features, are these?"
)
assert torch.equal(heads[1, 1, 2], x[1, 2, 4:]), (
    f"Head 1 of token 2 should be the second half of that token, got {heads[1, 1, 2].tolist()}."
)
print("split_heads: the visible tests pass")

# %% demo
check("split-heads")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Two steps: cut only the last dimension in two, which leaves every number in its place, and then swap two whole dimensions. The green arrow in the figure shows both for one sentence, without the batch.
#
# </details>
#
# <details><summary>Hint 2: the first step</summary>
#
# A row of D features is H groups of K features. Which four sizes does the tensor then have? Give them to `x.view`, or name only the new ones in [`x.unflatten(-1, …)`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.unflatten.html).
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# After the first step the sizes are (B, S, H, K), and you want (B, H, S, K). [`transpose`](https://docs.pytorch.org/docs/stable/generated/torch.transpose.html) swaps two dimensions, which are counted from 0.
#
# </details>

# %% [markdown]
# ## Merging
#
# After attention, the features of one token lie in $H$ different places, one per head.
#
# ![Merging two heads of five tokens. On the left the two heads, with five rows each. The right way: transpose, then reshape; each row holds head 0 and head 1 of one token. The wrong way: reshape at once. Row 0, the start token, holds head 0 of the start token and head 0 of I; row 1, I, holds head 0 of like and of apples; row 2, like, holds head 0 of the end token and head 1 of the start token. All cells that come from a later token are framed: rows 0, 1 and 2 read tokens that come after them.](images/heads_merge.svg)
#
# A `reshape` straight to `(B, S, D)` reads the features in memory order, so a row holds **one head of several tokens**. The row of *I* in `<sos>` *I like apples* `<eos>` now contains *like* and *apples*: although the causal mask was right, the future has leaked.

# %% [markdown]
# ### Exercise 2: `merge_heads` (2 points)
#
# Write the inverse of `split_heads`: `(B, H, S, K)` becomes `(B, S, D)`, with the heads of each token side by side, head 0 first.
#
# *5 minutes, easy.*

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
assert isinstance(merged, torch.Tensor), f"Expected a tensor, got {type(merged).__name__}."
assert merged.shape == (1, 3, 4), (
    f"Three tokens with two heads of width 2: expected (1, 3, 4), got {tuple(merged.shape)}."
)
assert torch.equal(merged[0, 0], torch.tensor([0.0, 1.0, 6.0, 7.0])), (
    "Token 0 should be its head 0, [0, 1], followed by its head 1, [6, 7]; "
    f"got {merged[0, 0].tolist()}. Which token and which head are these from?"
)
print("merge_heads: the visible tests pass")

# %% demo
check("merge-heads")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Run `split_heads` backwards, starting with its last step: swap, then make the last two dimensions one.
#
# </details>
#
# <details><summary>Hint 2: "view size is not compatible"</summary>
#
# `transpose` doesn't move numbers in memory, and `view` refuses to form rows of numbers that are not next to each other. [`reshape`](https://docs.pytorch.org/docs/stable/generated/torch.reshape.html) copies where it has to; so does `.contiguous()` before `.view`.
#
# </details>

# %% [markdown]
# ## Watching the future leak
#
# The derivative of every output with respect to every input shows which output depends on which token. With a causal mask, every cell to the right of the diagonal must be 0. (Projections are left out: they work on each token separately and can't leak.)
#
# **Predict, then reveal.** Leave out the transpose in the split, in the merge, or in both. When does the future leak?
#
# <details><summary>Answer</summary>
#
# If exactly one transpose is missing. If both are missing, the result is wrong in another way.
#
# </details>

# %% demo
tokens = ["I", "like", "green", "apples"]


def influence(split, merge):
    """How strongly each output depends on each token: (4, 4), outputs down, tokens across."""
    torch.manual_seed(0)
    causal = torch.ones(4, 4, dtype=torch.bool).tril()

    def attend(x):
        q, k, v = (split(part) for part in (x / 2, x, x))  # each (1, 2, 4, 3)
        return merge(scaled_dot_product_attention(q, k, v, causal)[0])  # (1, 4, 6)

    slopes = torch.autograd.functional.jacobian(attend, torch.randn(1, 4, 6))  # (1, 4, 6, 1, 4, 6)
    return slopes[0, :, :, 0].square().sum(dim=(1, 3)).sqrt()  # (4, 4)


split, merge = (lambda x: split_heads(x, 2)), merge_heads
only_view, only_reshape = (lambda x: x.view(1, 2, 4, 3)), (lambda x: x.reshape(1, 4, 6))  # no transpose
maps = {"right": influence(split, merge),
        "split without transpose": influence(only_view, merge),
        "merge without transpose": influence(split, only_reshape),
        "both without": influence(only_view, only_reshape)}
head_plots.leaks(maps, tokens);

# %% [markdown]
# Framed cells leak. If **both** transposes are missing, nothing leaks, and the mistake is the hardest to notice. But *green* no longer depends on *I* or *like*, although it may attend to both: head 0 got the first half of the sentence, head 1 the second.
#
# Drag the slider: outputs to the left of the changed token must not change, and those to its right must.

# %% demo
from ipywidgets import IntSlider, interact


@interact(position=IntSlider(value=3, min=0, max=3, continuous_update=False))
def change_token(position):
    """Change one token: which outputs change?"""
    heights = {name: matrix[:, position] for name, matrix in maps.items()}
    plots.bars(heights, tokens, marked=tokens[:position])
    plt.suptitle(f"“{tokens[position]}” changes; the orange bars must be 0")
    plt.show()

# %% [markdown]
# A model trained with the wrong merge has a lower loss than it should, because some positions can read the token they are asked to predict. When it generates, that token doesn't exist yet, and it fails (lesson 7). So test your layer by changing a later token.

# %% [markdown]
# ## "I like apples", with numbers
#
# Take `<sos>` *I like apples* `<eos>` through two heads with your functions: $D = 6$ and $K = 3$. Between the split and the merge, the heads are part of the batch.
#
# ![The way of I like apples, with start and end token, through two heads, from left to right. Tokens x, 1 by 5 by 6, go through w q, w k and w v, each from 6 to 6, to q, k and v of 1, 5, 6. Each is split into two heads: 1, 2, 5, 3. Attention runs in each head separately, with scores and weights of 5 by 5. The outputs of both heads are merged into 1, 5, 6, and w o, from 6 to 6, makes the output, 1, 5, 6.](images/heads_overview.svg)
#
# Each row of $x$ is a token: four features for its kind of word, then its position as a point on a circle (*cos*, *sin*), 45° further for each token, like one pair of the encoding in lesson 2.

# %% demo
sentence = ["<sos>", "I", "like", "apples", "<eos>"]
features = ["marker", "pronoun", "verb", "noun", "cos", "sin"]
kinds = {"<sos>": "marker", "I": "pronoun", "like": "verb", "apples": "noun", "<eos>": "marker"}
angles = math.radians(45) * torch.arange(5)
is_kind = [[float(kinds[word] == kind) for kind in features[:4]] for word in sentence]
x = torch.cat([torch.tensor(is_kind), angles.cos()[:, None], angles.sin()[:, None]], dim=-1)[None]
plots.heatmap(x[0], sentence, features, title="x", limits=(-1, 1));

# %% [markdown]
# The projections to $q$, $k$ and $v$ are usually learnt; here they are chosen so that you can follow them. They are written as in the paper, $x W$ with $x$ as a row vector: each row of a matrix $W$ belongs to a feature of $x$, columns 0 to 2 to head 0, and columns 3 to 5 to head 1.

# %% demo
turn = 10 * math.sqrt(0.5)  # ten times the sine and the cosine of 45°
w_q = torch.tensor([[0.0, 0, 0, 0, 0, 0],  # a marker asks for nothing
                    [0.0, 4, 0, 0, 0, 0],  # head 0: a pronoun asks for the verb
                    [3.0, 0, 4, 0, 0, 0],  # a verb asks for a pronoun and a noun
                    [0.0, 4, 0, 0, 0, 0],  # a noun asks for the verb
                    [0.0, 0, 0, turn, -turn, 0],  # head 1: the place, turned back by 45°
                    [0.0, 0, 0, turn, turn, 0]])
w_k = torch.eye(6)[:, [1, 2, 3, 4, 5, 0]]  # head 0: pronoun, verb, noun; head 1: cos, sin
w_k[0] = 0  # markers cannot be found by their kind
w_v = torch.eye(6)[:, [4, 5, 0, 1, 2, 3]]  # head 0: cos, sin, marker; head 1: pronoun, verb, noun
w_o = w_v.T  # puts every feature back where it belongs

q, k, v = x @ w_q, x @ w_k, x @ w_v  # each (1, 5, 6)
labels = {"q": ["pronoun?", "verb?", "noun?", "cos?", "sin?", "–"],
          "k": ["pronoun", "verb", "noun", "cos", "sin", "–"],
          "v": ["cos", "sin", "marker", "pronoun", "verb", "noun"]}
projected = {"q": q[0], "k": k[0], "v": v[0]}
head_plots.by_head(projected, sentence, num_heads=2, limits=(-10, 10), columns=labels);

# %% [markdown]
# In head 0, *like* asks for a pronoun (3) and a noun (4), and *I* and *apples* ask for the verb. In head 1, each token asks for the position one step before its own.
#
# Head 0 compares kinds of words (in $k$) and passes on positions (in $v$). Head 1 does the opposite. So a head owns a slice of the **projected** vectors, not of $x$.

# %% demo
parts = [split_heads(part, 2) for part in (q, k, v)]
mixed, weights = scaled_dot_product_attention(*parts)  # for both heads at once
titles = ["head 0: pronoun, verb, noun", "head 1: the word before"]
plots.heatmaps(dict(zip(titles, weights[0])), sentence, sentence);

# %% [markdown]
# In head 0, *like* gives most of its weight to *I* and *apples*, and both of them read *like*. In head 1, each token after `<sos>` gives most of its weight to the token before it.
#
# After the merge, a last matrix, $W^O$, combines both heads. The output's row *like* is printed.

# %% demo
merged = merge_heads(mixed)
output = merged @ w_o
names = {"merged": labels["v"]}
head_plots.by_head({"merged": merged[0]}, sentence, num_heads=2, limits=(-1, 1), columns=names)
plots.heatmap(output[0], sentence, features, title="output", limits=(-1, 1))
print({name: round(number, 2) for name, number in zip(features, output[0, 2].tolist())})

# %% [markdown]
# Here $W^O$ only moves every merged feature back to the column that it has in $x$; a trained one mixes them.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In the row of *like*, the output says 0.73 under *pronoun*. Which head found this?
#
# <details><summary>Answer</summary>
#
# Head 1: it attended to *I* and passed on its kind. Head 0 averaged the positions of *I* and *apples*, and the average, −0.17 and 0.65, is not the position of either word.
#
# </details>

# %% [markdown]
# ## Each head has its own weights
#
# The paper gives each head $i$ three matrices, $W_i^Q$, $W_i^K$ and $W_i^V$, each $D \times K$. For $D = 4$ and two heads, these are six matrices of 4 × 2, and there is one $W^O$ of 4 × 4. Code stores four matrices of 4 × 4, with the heads side by side.
#
# ![On the left the paper's matrices for width 4 and two heads: W Q 0 and W Q 1, each 4 by 2, in two colours. In the middle both side by side as one 4 by 4 matrix W Q. On the right the weight of the layer w q in PyTorch, which is the transpose: its rows 0 and 1 belong to head 0, its rows 2 and 3 to head 1.](images/heads_weights.svg)
#
# `nn.Linear` computes $x W^\top$, so its `weight` is stored transposed, and each head owns some of its **rows**. One product with the large matrix, then a split, gives what the small matrices give one by one:

# %% demo
torch.manual_seed(1)
x, layer = torch.randn(1, 3, 4), nn.Linear(4, 4)
together = split_heads(layer(x), 2)  # (1, 2, 3, 2)
for head in (0, 1):
    rows = slice(2 * head, 2 * head + 2)
    alone = x @ layer.weight[rows].T + layer.bias[rows]  # (1, 3, 2), by this head's 4 x 2 matrix
    print(f"head {head} agrees: {torch.allclose(together[:, head], alone, atol=1e-6)}")

# %% [markdown]
# So **project first, then split**. A common mistake is to split $x$ first and let all heads share one small K × K layer. Such a model does learn, but each head sees only its own slice of $x$. Change the *last* feature of every token, and look at the scores:

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
    print(f"{name}: scores change by up to {moved[0]:.2f} in head 0, {moved[1]:.2f} in head 1")

# %% [markdown]
# If you split first, head 0 doesn't notice: the last feature is not in its slice.

# %% [markdown]
# ## Masks and heads
#
# A mask is the same for all heads. But scores have shape `(B, H, T_q, T_k)`, and broadcasting aligns from the right:
#
# | mask | broadcasts as | intended |
# |---|---|---|
# | causal, `(T_q, T_k)` | `(1, 1, T_q, T_k)` | the same |
# | per sample, `(B, 1, T_k)` or `(B, T_q, T_k)` | `(1, B, …, T_k)`: the batch meets the **heads** | `(B, 1, …, T_k)` |
#
# Without a dimension for the heads, a mask per sample usually raises an error, but not if there are as many samples as heads. Here are two samples and two heads; sample 1 ends with two tokens of padding.

# %% demo
q, k, v = torch.randn(3, 2, 2, 4, 3)  # each (B=2, H=2, T=4, K=3)
padding = torch.tensor([[True, True, True, True], [True, True, False, False]])[:, None]  # (2, 1, 4)

_, silent = scaled_dot_product_attention(q, k, v, padding)  # aligned with the heads
_, right = scaled_dot_product_attention(q, k, v, padding[:, None])  # (2, 1, 1, 4)
rows = [f"({sample}, {head})" for sample in (0, 1) for head in (0, 1)]
first_query = {"(2, 1, 4)": silent[:, :, 0].flatten(0, 1), "(2, 1, 1, 4)": right[:, :, 0].flatten(0, 1)}
plots.heatmaps(first_query, rows, ["k0", "k1", "k2", "k3"]);

# %% [markdown]
# Each row shows the weights of one (sample, head) for its first query. On the right, the padding is hidden in both heads of sample 1. On the left, it is hidden in **head 1 of both samples**, and sample 1 reads padding in head 0.

# %% [markdown]
# ## Exercise 3: `MultiHeadAttention` (8 points)
#
# Write $\text{Concat}(\text{head}_0, \dots, \text{head}_{H-1})\, W^O$ (section 3.2.2) as a class:
#
# - **attributes** `w_q`, `w_k`, `w_v`, `w_o`: each is an `nn.Linear(d_model, d_model)` of its own, with bias. Raise `ValueError` if `d_model` is not divisible by `num_heads`;
# - **forward(query, key, value, mask=None)** returns the output `(B, T_q, D)` *and* the weights of every head `(B, H, T_q, T_k)`. Query, key and value may be three different tensors, and $T_q$ may differ from $T_k$;
# - **mask** is boolean, True = may attend, with shape `(T_q, T_k)` or `(B, 1 or T_q, T_k)`. It is the same for all heads, even if B equals H. A query that may attend to nothing gets zero weights, so its output is the bias of `w_o`;
# - **dropout** acts on the weights, after the softmax and before they mix the values, in train mode only. You may return the weights before or after dropout.
#
# *30 minutes, hard.*

# %% [markdown] slide="skip"
# **Build it in five steps, and run the test cell after each one.** It stops at the first step that doesn't work.
#
# | step | write | the test then checks |
# |---|---|---|
# | 1 | `__init__`: refuse a `d_model` that cannot be divided, make the layers, keep what `forward` needs | the four layers, the `ValueError` |
# | 2 | `forward` without mask and dropout: project, split, attend, merge, project | the shapes, and that rows of weights sum to 1 |
# | 3 | nothing new: look at the order of your steps if this fails | each head uses its own rows of `w_q`, and its output lands in its own features |
# | 4 | the mask, for all heads of a sample | a causal mask, and padding when B = H |
# | 5 | dropout on the weights | random in train mode, exact in eval mode |
#
# In step 5, note that `scaled_dot_product_attention` has no dropout. Use the weights it returns, and multiply them by the values once more.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

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
assert set(sizes.values()) == {(8, 8)}, f"Each of the four layers should map 8 features to 8, got {sizes}."
try:
    MultiHeadAttention(d_model=8, num_heads=3)
    raised = "nothing"
except Exception as problem:
    raised = type(problem).__name__
assert raised == "ValueError", (
    f"Eight features cannot be divided among three heads: raise a ValueError. Yours raised {raised}."
)
print("step 1 of 5: the layers are right")

query, key, value = torch.randn(3, 5, 8), torch.randn(3, 7, 8), torch.randn(3, 7, 8)
result = attention(query, key, value)
assert isinstance(result, tuple | list) and len(result) == 2, (
    f"Expected a tuple of two, (output, weights); got {type(result).__name__}."
)
output, weights = result
assert output.shape == (3, 5, 8), (
    f"Five queries of width 8 should give (3, 5, 8), got {tuple(output.shape)}."
)
assert weights.shape == (3, 2, 5, 7), (
    f"Three samples, two heads, five queries, seven keys: expected (3, 2, 5, 7), got {tuple(weights.shape)}."
)
assert torch.allclose(weights.sum(dim=-1), torch.ones(3, 2, 5), atol=1e-5), (
    "Every row of weights should sum to 1 over the keys, in every head."
)
print("step 2 of 5: the shapes are right")

with torch.no_grad():
    attention.w_q.weight[4:], attention.w_q.bias[4:] = 0.0, 0.0  # the queries of head 1
    attention.w_v.weight[4:], attention.w_v.bias[4:] = 0.0, 0.0  # the values of head 1
    attention.w_o.weight.copy_(torch.eye(8))
    attention.w_o.bias.zero_()
output, weights = attention(query, key, value)
assert torch.allclose(weights[:, 1], torch.tensor(1 / 7)) and weights[:, 0].std() > 1e-3, (
    "With queries of zeros in head 1, and only there, the weights of head 1 should all be 1/7, "
    "and those of head 0 should not. Do you project before you split?"
)
assert torch.all(output[..., 4:] == 0) and torch.all(output[..., :4].abs().sum(dim=-1) > 0), (
    "With values of zeros in head 1, features 4 to 7 of every output should be 0 before w_o, "
    "and features 0 to 3 should not. How do you merge?"
)
print("step 3 of 5: every head is in its place")

attention, x = MultiHeadAttention(d_model=8, num_heads=2).eval(), torch.randn(2, 5, 8)
later = x.clone()
later[:, -1] += 1.0
causal = torch.ones(5, 5, dtype=torch.bool).tril()
before, after = attention(x, x, x, causal)[0], attention(later, later, later, causal)[0]
assert torch.allclose(before[:, :-1], after[:, :-1], atol=1e-5), (
    "Under a causal mask, a change of the last token reached an earlier output. "
    "Is the mask passed on to the attention?"
)
padding = (torch.arange(5) < torch.tensor([[5], [2]]))[:, None]  # (2, 1, 5), and two heads
_, weights = attention(x, x, x, padding)
assert torch.all(weights[1, :, :, 2:] == 0) and torch.all(weights[0, :, :, 2:] > 0), (
    "The padding of sample 1 should be hidden in all heads of sample 1, and in no other sample."
)
print("step 4 of 5: masks are right")

dropped = MultiHeadAttention(d_model=8, num_heads=2, dropout=0.5)
assert not torch.equal(dropped(x, x, x)[0], dropped(x, x, x)[0]), (
    "In train mode with dropout=0.5, two calls gave the same output. Does dropout act on the weights?"
)
with torch.no_grad():
    dropped.w_v.weight.zero_()
    dropped.w_v.bias.fill_(1.0)  # every value is 1, so every output is a sum of weights
    dropped.w_o.weight.copy_(torch.eye(8))
    dropped.w_o.bias.zero_()
sums = dropped(x, x, x)[0].unflatten(-1, (2, 4))  # (2, 5, 2, 4): sample, query, head, feature
assert torch.allclose(sums, sums[..., :1].expand_as(sums), atol=1e-5) and sums.std() > 1e-3, (
    "With values of ones, the four features of a head should all be the sum of that head's weights after "
    f"dropout, but in head 0 of query 0 they are {sums[0, 0, 0].tolist()}. Does dropout act on the weights?"
)
dropped.eval()
assert torch.allclose(dropped(x, x, x)[0], dropped(x, x, x)[0], atol=1e-6), (
    "In eval mode, two calls gave different outputs. Dropout should be off there."
)
print("step 5 of 5: dropout is right")
print("MultiHeadAttention: the visible tests pass")

# %% demo
check("multi-head-attention")

# %% [markdown]
# <details><summary>Hint 1: a nudge (step 2)</summary>
#
# Project, split, attend, merge, project: the picture in "I like apples" shows the five lines, from left to right. Print the shape after each line and compare.
#
# </details>
#
# <details><summary>Hint 2: which length is which? (steps 2 and 3)</summary>
#
# There are $T_q$ queries, and $T_k$ keys and values. Don't pass a length around; `split_heads` reads it from its argument.
#
# </details>
#
# <details><summary>Hint 3: mask and dropout (steps 4 and 5)</summary>
#
# A mask with three dimensions starts with the batch, and needs a dimension of size 1 after it for the heads: see [`unsqueeze`](https://docs.pytorch.org/docs/stable/generated/torch.unsqueeze.html), or `None` in "Masks and heads". A mask with two dimensions broadcasts as it is. For dropout, create an [`nn.Dropout`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html) in `__init__`, which knows about train and eval mode. Apply it to the weights, and multiply the result by the values of each head.
#
# </details>

# %% [markdown]
# ## Does it agree with PyTorch?
#
# PyTorch's [`nn.MultiheadAttention`](https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html) stores its weights differently:

# %% demo
theirs = nn.MultiheadAttention(embed_dim=6, num_heads=2, batch_first=True)
for name, parameter in theirs.named_parameters():
    print(f"{name:16} {tuple(parameter.shape)}")

# %% [markdown]
# In `in_proj_weight`, the first D rows make the queries, the next D the keys, and the last D the values. `in_proj_bias` is stacked in the same order, and `out_proj` is an ordinary linear layer.
#
# <details><summary>More: another order</summary>
#
# GPT-NeoX in transformers stacks the rows head by head: q, k and v of head 0, then q, k and v of head 1. If you copy such weights as if they were PyTorch's, no error is raised, but some of the rows for the keys end up among the queries. A shape doesn't say what its rows mean; a comparison of outputs does.
#
# </details>

# %% [markdown]
# ### Exercise 4: `load_from_torch` (4 points)
#
# Copy every weight and bias of `theirs`, an `nn.MultiheadAttention`, into `mine`, your `MultiHeadAttention` of the same size, so that both give the same output. Copy, don't share: training `theirs` afterwards must not change `mine`. `mine` must stay trainable and keep its own parameters.
#
# *15 minutes, medium.*

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
    f"The outputs differ by up to {(output - expected).abs().max():.3f}. Which parameter is not copied yet?"
)
with torch.no_grad():
    theirs.in_proj_weight.zero_()
    theirs.out_proj.weight.zero_()
again, _ = mine(query, memory, memory)
assert torch.equal(again, output), "Changing `theirs` changed `mine`: the weights are shared, not copied."
print("load_from_torch: the visible tests pass")

# %% demo
check("load-from-torch")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# There are eight tensors: a weight and a bias for each of four layers. Write down where each of them is in `theirs`.
#
# </details>
#
# <details><summary>Hint 2: cutting</summary>
#
# [`chunk(3)`](https://docs.pytorch.org/docs/stable/generated/torch.chunk.html) cuts a tensor into three equal parts along its first dimension. It works for the weight and for the bias.
#
# </details>
#
# <details><summary>Hint 3: "a leaf Variable that requires grad is being used in an in-place operation"</summary>
#
# [`copy_`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.copy_.html) writes into an existing parameter, and autograd would have to record this. Switch recording off: `with torch.no_grad():`.
#
# </details>

# %% [markdown]
# ### A hundred comparisons
#
# Compare the two layers on random sizes and masks. In PyTorch's layer, True means "must not attend", so the code inverts each mask with `~`; a mask per sample is repeated for each head; and padding is a separate argument.

# %% demo
def draw_masks(kind, batch, t_q, t_k, heads):
    """A mask for our layer, and the arguments that say the same to PyTorch's."""
    shape = {1: (t_q, t_k), 2: (batch, t_q, t_k), 3: (batch, 1, t_k)}.get(kind)
    if shape is None:
        return None, {}
    mask = torch.rand(shape) < 0.7
    mask[..., 0] = True  # no query is left with nothing: PyTorch's layer would give NaN
    if kind == 3:
        return mask, {"key_padding_mask": ~mask[:, 0]}  # (B, T_k)
    if kind == 1:
        return mask, {"attn_mask": ~mask}
    return mask, {"attn_mask": ~mask.repeat_interleave(heads, dim=0)}  # (B * H, T_q, T_k)


def compare(trials=100):
    """The largest difference from nn.MultiheadAttention, in outputs and weights, for each kind of mask."""
    worst = [0.0] * 4
    for trial in range(trials):
        batch, t_q, t_k, heads, width = (torch.randperm(7)[:5] + 1).tolist()
        theirs = nn.MultiheadAttention(heads * width, heads, batch_first=True).eval()
        nn.init.normal_(theirs.in_proj_bias)
        mine = MultiHeadAttention(heads * width, heads).eval()
        load_from_torch(mine, theirs)
        q, k, v = (torch.randn(batch, length, heads * width) for length in (t_q, t_k, t_k))
        mask, arguments = draw_masks(trial % 4, batch, t_q, t_k, heads)
        expected = theirs(q, k, v, average_attn_weights=False, **arguments)
        got = mine(q, k, v, mask)
        found = max((a - b).abs().max().item() for a, b in zip(got, expected))
        worst[trial % 4] = max(worst[trial % 4], found)
    return worst


for kind, largest in zip(("no mask", "one mask for all", "a mask per sample", "padding"), compare()):
    print(f"{kind:18} 25 comparisons, largest difference {largest:.1e}")

# %% [markdown]
# The two layers differ only by rounding.

# %% [markdown]
# ## What do more heads cost?
#
# One layer of width 512 has a single head, another has eight. How many more parameters does the second one have?

# %% [markdown]
# ### Exercise 5: `parameter_count` (2 points)
#
# How many numbers does a `MultiHeadAttention` learn? Return the count as an `int`, biases included. A formula is enough.
#
# *5 minutes, easy.*

# %% solution parameter-count
def parameter_count(d_model: int, num_heads: int) -> int:
    """Count the learnt numbers of MultiHeadAttention(d_model, num_heads), biases included."""
    ### BEGIN SOLUTION
    one_layer = d_model * d_model + d_model
    return 4 * one_layer
    ### END SOLUTION

# %% test parameter-count 2
count = parameter_count(2, 2)
assert type(count) is int, f"Expected an int, got {type(count).__name__}."
assert count == 24, (
    f"Width 2, two heads: four layers with 4 weights and 2 biases each have 24 numbers, got {count}."
)
print("parameter_count: the visible tests pass")

# %% demo
check("parameter-count")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Print `[tuple(p.shape) for p in MultiHeadAttention(6, 2).parameters()]`, then the same for three heads.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# An `nn.Linear(n, m)` has n · m weights and m biases. How many such layers are there, and what sizes do they have?
#
# </details>

# %% demo
for heads in (1, 2, 4, 8, 16):
    made = MultiHeadAttention(512, heads)
    counted = sum(p.numel() for p in made.parameters())
    formula = parameter_count(512, heads)
    print(f"heads: {heads:2}, each {512 // heads:3} wide: {counted:,} counted, {formula:,} by formula")

# %% [markdown]
# The number of heads makes no difference: it only decides where the projected vectors are cut. For $T$ tokens, the scores take $H \cdot T^2 \cdot (D/H) = T^2 D$ multiplications for any $H$. Only the weights to be stored grow, to $H \cdot T^2$. The paper calls the total cost "similar".
#
# Why not use 512 heads, then? A head of width 1 gives every token a single number as its query and one as its key, so it can hardly tell more than "large" from "small". In the paper, a single head was 0.9 BLEU worse than the best setting, and too many heads were worse, too (table 3, rows A).

# %% [markdown]
# ## One head or two: an experiment
#
# In this task, each token has to name two others: **the token before it, and the first token of the sequence**. Two layers of the same width and number of parameters are trained on it, one with a single head, the other with two.
#
# **Predict, then reveal.** Will the single head fail completely? Will the two heads divide the work?
#
# <details><summary>Answer</summary>
#
# The single head gets some answers right, but not all. The two heads do divide the work.
#
# </details>

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

# %% demo
alone, pair = train(1), train(2)
print(f"one head: {alone[0]:.0%} right   two heads: {pair[0]:.0%} right")
places = [str(place) for place in range(6)]
looks = {"one head": alone[1][0], "head 0 of 2": pair[1][0], "head 1 of 2": pair[1][1]}
plots.heatmaps(looks, places, places);

# %% [markdown]
# The single head passes on one mixture of the two tokens that it has to name, so it often confuses which came from where. The two heads have **specialised**: one reads the first token, the other the token before. (Rows 0 and 1 are not part of the task. With other seeds, the single head gets up to 86%, the pair still 100%.)
#
# This is the paper's argument, too: several heads can attend to different positions and different features at once, and "with a single attention head, averaging inhibits this" (section 3.2.2).

# %% [markdown]
# ## A head of a real BERT
#
# Do heads specialise in real models? Load a small BERT with 6 layers of 12 heads, all-MiniLM-L6-v2, and look at the heads of its layer 0; darker cells are larger weights. Nothing in its training names a role for them.

# %% demo
from coursework.bert_layers import read_sentence
from coursework.pretrained_bert import load_bert

loaded = load_bert()
print(loaded.note)
reading = read_sentence(loaded, "The cat drank its milk.")
head_plots.gallery(reading.weights, reading.tokens);

# %% [markdown]
# **Predict, then reveal.** Which head of layer 0 does what head 1 did for *I like apples*: read the token before?
#
# <details><summary>Answer</summary>
#
# Head 2: its dark cells lie just below the diagonal. (This is not true of the small model that replaces a missing BERT.)
#
# </details>

# %% demo
head = 2
plots.heatmap(reading.weights[head], reading.tokens, reading.tokens, title=f"layer 0, head {head}")
before = reading.weights[head].diagonal(-1)  # the weight of token i − 1 for token i, from token 1 on
print(f"weight on the token before: {before.min():.2f} to {before.max():.2f}")

# %% [markdown]
# In every row of head 2 but the first, nearly all the weight is on the token before. Head 4 does something else. Look at its row *drank*:

# %% demo
if {"drank", "milk"} <= set(reading.tokens):  # the small model doesn't know these words
    row = reading.weights[4][reading.tokens.index("drank")].tolist()
    largest = sorted(zip(row, reading.tokens), reverse=True)[:4]
    print("layer 0, head 4, drank:", ", ".join(f"{token} {weight:.2f}" for weight, token in largest))

# %% [markdown]
# In BERT, *drank* gives 0.94 of its weight to *milk*, its object. (Lesson 8 measures heads more carefully.)
#
# <details><summary>More: how was it trained?</summary>
#
# Its parent of 12 layers learnt to mimic the attention in the *last* layer of a larger model (Wang et al. 2020, arXiv:2002.10957). Every second layer was kept, then tuned to compare sentences.
#
# </details>

# %% [markdown]
# ### What heads come to specialise in
#
# Voita et al. 2019, arXiv:1905.09418 (translation), and Clark et al. 2019, arXiv:1906.04341 (BERT), both found
#
# - **positional** heads, which read the token before or after;
# - **syntactic** heads, which link words by one relation, such as a verb and its object.
#
# Some attend to **rare words** (Voita et al.), and many mostly to separators such as `[SEP]` (Clark et al.). Not all are needed: Voita et al. removed 38 of the 48 encoder heads of an English–Russian model and lost only 0.15 BLEU.

# %% [markdown]
# ## Exercise 6: shapes and choices (2 points)
#
# A batch of **four** sentences of **five** tokens passes through a layer with `d_model` 6 and 2 heads, as self-attention. Fill in the dictionary and delete the `raise` line below it. Write shapes as tuples of numbers, including the batch.
#
# - `"q_heads"`: the queries after `split_heads`;
# - `"scores"`: the scores of all heads;
# - `"mixed"`: the heads' outputs before they are merged;
# - `"merged"`: the same after `merge_heads`.
#
# Now a layer of width **4** with **2** heads, in the paper's notation $x W$, with the matrix on the right:
#
# - `"head_w_q"`: the shape of the matrix $W_i^Q$ that makes the queries of **one** head;
# - `"w_o"`: the shape of the matrix $W^O$;
# - `"projections"`: how many matrices $W_i^Q$, $W_i^K$ and $W_i^V$ the layer has, **all heads together**, as a number.
#
# *10 minutes, easy*, including the three questions after this cell.

# %% [markdown]
# Answer these with a letter, such as `"A"`.
#
# `"sees"`: which features of a token $x$ can influence the scores of head 1?
#
# - A: those of the second half of $x$
# - B: all of them
# - C: one, since there are two heads
# - D: those that head 0 doesn't use
#
# `"more_heads"`: `d_model` stays the same and the number of heads doubles. What happens to the number of parameters?
#
# - A: it doubles
# - B: it halves
# - C: it stays the same
# - D: only the parameters of w_o double
#
# `"sharing"`: how do the heads of a layer differ?
#
# - A: each has its own rows of the weights of w_q, w_k and w_v
# - B: they share their weights, and read different slices of $x$
# - C: they share their weights, and read different positions
# - D: only in dropout

# %% solution head-shapes
answers = {
    "q_heads": None,
    "scores": None,
    "mixed": None,
    "merged": None,
    "head_w_q": None,
    "w_o": None,
    "projections": None,
    "sees": None,
    "more_heads": None,
    "sharing": None,
}
### BEGIN SOLUTION
answers = {
    "q_heads": (4, 2, 5, 3),
    "scores": (4, 2, 5, 5),
    "mixed": (4, 2, 5, 3),
    "merged": (4, 5, 6),
    "head_w_q": (4, 2),
    "w_o": (4, 4),
    "projections": 6,
    "sees": "B",
    "more_heads": "C",
    "sharing": "A",
}
### END SOLUTION

# %% test head-shapes 2
shapes, letters = ("q_heads", "scores", "mixed", "merged", "head_w_q", "w_o"), ("sees", "more_heads", "sharing")
missing = {*shapes, *letters, "projections"} - set(answers)
assert not missing, f"These entries are missing from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in shapes:
    assert isinstance(answers[key], tuple | list) and len(answers[key]) in (2, 3, 4), (
        f"answers['{key}'] should be the numbers of a shape; got {answers[key]!r}."
    )
assert isinstance(answers["projections"], int | float), (
    f"'projections' should be a whole number, got {answers['projections']!r}."
)
for key in letters:
    assert str(answers[key]).strip().strip("().").upper() in ("A", "B", "C", "D"), (
        f"answers['{key}'] should be one of 'A' to 'D', got {answers[key]!r}."
    )
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: shapes</summary>
#
# Write the letters first, B, H, $T_q$, $T_k$, K, and put in the numbers at the end.
#
# </details>
#
# <details><summary>Hint 2: choices</summary>
#
# Each is settled by something you ran: the rows of `layer.weight`, the change of the last feature, the counted parameters.
#
# </details>

# %% [markdown] slide="slide"
# ## In a real model
#
# In SmolLM2, the queries have nine heads, and the keys and values only three, each shared by three query heads. This is *grouped-query attention* (Ainslie et al. 2023, arXiv:2305.13245), which saves memory. Now your two functions split and merge.

# %% demo
write(question, "on your heads", chat=True, tokens=12, split=split_heads, merge=merge_heads)

# %% [markdown] slide="slide"
# It answers as before.
#
# **Predict, then reveal.** One of these changes is harmless, and two destroy the model. Which is the harmless one?
#
# - A: the split is a `reshape` to `(B, H, S, K)`, without a transpose, in all layers;
# - B: all nine query heads read the first key and value head instead of their own, in all layers;
# - C: the same as B, but in layer 12 only.
#
# <details><summary>Answer</summary>
#
# C. In A, a head gets features of several positions, mixed up. In B, six of the nine query heads use keys and values that they weren't trained with, in every layer. Changing one middle layer isn't enough to alter this answer.
#
# </details>

# %% demo
def reshaped(x, num_heads):
    """Split without the transpose."""
    return x.reshape(x.size(0), num_heads, x.size(1), -1)  # (B, H, S, K), but mixed up


def one_key_head(x, num_heads):
    """Split, and let the first of three key or value heads stand for all three."""
    heads = split_heads(x, num_heads)  # (B, H, S, K)
    return heads[:, :1].expand_as(heads) if num_heads == 3 else heads


write(question, "A, without the transpose", chat=True, tokens=12, split=reshaped)
write(question, "B, one key head", chat=True, tokens=12, split=one_key_head)
write(question, "C, one key head in layer 12", chat=True, tokens=12, split=one_key_head, layers=[12])

# %% [markdown] slide="slide"
# ## What's wrong here?
#
# The code below runs without an error, and every shape is right. Before you open the answer, write down which line is wrong, why it causes this symptom, and a short test that would have found it. (Not counted.)

# %% [markdown] slide="subslide"
# ### Case: no leak, and no sense
#
# A fellow student trained a model with these two functions, and it works well. Then they load SmolLM2's weights into the same code. The maps show **which output depends on which token**, with your functions and with theirs.

# %% demo
def cut(x, heads):
    """From (B, S, D) to (B, H, S, K)."""
    return x.unflatten(-1, (heads, -1)).movedim(-2, 1)


def join(x):
    """From (B, H, S, K) to (B, S, D)."""
    return x.movedim(1, -1).flatten(-2)

# %% demo
theirs = influence(lambda x: cut(x, 2), join)
head_plots.leaks({"yours": influence(split, merge), "theirs": theirs}, tokens)
write(question, "on their heads", chat=True, tokens=12, split=cut, merge=join)

# %% [markdown]
# Nothing leaks, but the answer should be *Paris*. Which function is wrong, and why did their own model work?
#
# <details><summary>Answer</summary>
#
# **The mistake.** `join` moves the heads to the very end, so the features of the heads alternate. Use `x.movedim(1, -2).flatten(-2)`.
#
# **Why this symptom.** All features stay with their token, so nothing leaks. A model trained with `join` learns a $W^O$ whose columns have the same order. SmolLM2's $W^O$ expects the features head by head.
#
# **A test that finds it.** `torch.equal(join(cut(x, 2)), x)`. (It doesn't find two missing transposes, but the map does: you need both.)
#
# </details>

# %% [markdown]
# ## Stretch: `load_from_bert`, not counted
#
# In `theirs`, which is `bert.encoder.layer[i].attention`, BERT's four linear layers are called `theirs.self.query`, `theirs.self.key`, `theirs.self.value` and `theirs.output.dense`. Copy their weights and biases into `mine`, so that `mine(x, x, x)` gives what BERT's layer gives before its residual connection. As in exercise 4, copy, don't share.
#
# *15 minutes, medium. Stretch: not counted.*

# %% solution load-from-bert
def load_from_bert(mine: MultiHeadAttention, theirs: nn.Module) -> None:
    """Copy the weights of a BERT layer's attention, biases included, into ours of the same size.

    theirs: has self.query, self.key, self.value and output.dense, each Linear(D, D). Returns nothing.
    """
    ### BEGIN SOLUTION
    layers = (
        (mine.w_q, theirs.self.query),
        (mine.w_k, theirs.self.key),
        (mine.w_v, theirs.self.value),
        (mine.w_o, theirs.output.dense),
    )
    with torch.no_grad():
        for ours, bert_layer in layers:
            ours.weight.copy_(bert_layer.weight)
            ours.bias.copy_(bert_layer.bias)
    ### END SOLUTION

# %% test load-from-bert 0
sources = {name: nn.Linear(6, 6) for name in ("query", "key", "value", "dense")}
own = nn.ModuleDict({name: sources[name] for name in ("query", "key", "value")})
theirs = nn.ModuleDict({"self": own, "output": nn.ModuleDict({"dense": sources["dense"]})})  # shaped like BERT's
mine = MultiHeadAttention(d_model=6, num_heads=2)
load_from_bert(mine, theirs)
for name, source in zip(("w_q", "w_k", "w_v", "w_o"), sources):
    layer, wanted = getattr(mine, name), sources[source]
    assert torch.equal(layer.weight, wanted.weight), f"{name}.weight should equal that of `{source}`."
    assert torch.equal(layer.bias, wanted.bias), f"{name}.bias should equal that of `{source}`."
    assert layer.weight.data_ptr() != wanted.weight.data_ptr(), f"{name} is shared with `{source}`, not copied."
assert all(p.requires_grad for p in mine.parameters()), "Some parameter can no longer be trained."
print("load_from_bert: the visible tests pass")

# %% demo
check("load-from-bert")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# This is exercise 4 without the stacking: four linear layers go to four linear layers. Write down the pairs.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# Loop over the pairs, and copy `weight` and `bias` with `copy_`, under `torch.no_grad()`. BERT's `output.dense` comes after the merge.
#
# </details>

# %% [markdown]
# Now run your layer on *The cat drank its milk.* `theirs.self` returns the merged heads and the weights; `theirs.output.dense` is BERT's $W^O$.

# %% demo
x, theirs = reading.x, reading.attention  # (1, 12, 384), and layer 0's attention
mine = MultiHeadAttention(d_model=x.size(-1), num_heads=len(reading.weights)).eval()
load_from_bert(mine, theirs)
with torch.no_grad():
    output, weights = mine(x, x, x)
    heads_merged, their_weights = theirs.self(x)[:2]
    expected = theirs.output.dense(heads_merged)
largest = max((output - expected).abs().max().item(), (weights - their_weights).abs().max().item())
print(f"shape {tuple(output.shape)}, largest difference {largest:.1e}, below 1e-5: {largest < 1e-5}")

# %% [markdown]
# Your class computes what BERT computes, to within rounding.

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()

# %% [markdown]
# ## What you can do now
#
# You have built the layer that every Transformer is made of, and you know which mistakes its shapes hide. **Lesson 5** adds a small network that works on each token separately, wraps both in residual connections and norms, and stacks the result into an encoder.
#
# **Read on**: Vaswani et al. 2017, sections 3.1 and 3.3; Michel et al. 2019, *Are Sixteen Heads Really Better than One?*, arXiv:1905.10650.

# %% [markdown]
# ### Glossary
#
# | term | meaning |
# |---|---|
# | head | one of several attentions that run side by side, with its own projections |
# | H, K | number of heads, and width of a head: $K = D / H$ |
# | $W_i^Q$, $W_i^K$, $W_i^V$ | the projections of head $i$; in PyTorch, rows of `w_q`, `w_k` and `w_v` |
# | $W^O$, `w_o` | the projection after the merge |
