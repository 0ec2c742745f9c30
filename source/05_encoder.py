# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 5 · The encoder
#
# **You will be able to**
#
# - write layer norm, and say how it differs from batch norm;
# - explain what the feed-forward network and the residual connections are for;
# - say which part of an encoder mixes tokens, features or sentences;
# - build the encoder, and match PyTorch and a pretrained BERT number for number.
#
# **Time** about 100 minutes · **Difficulty** medium: the parts are short, but their order matters · **Before this** lessons 1 to 4
#
# **Read alongside** Vaswani et al. 2017, arXiv:1706.03762, sections 3.1, 3.3 and 5.4.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 5 is highlighted: the encoder, a stack of N layers, each of self-attention and a feed-forward network, and the same feed-forward network in the decoder.](images/map_05.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | 1 `LayerNorm` | 3 | 3.1, which cites Ba et al. 2016, arXiv:1607.06450, section 3 |
# | 2 `FeedForward` | 3 | 3.3, equation 2 |
# | 3 `EncoderLayer` | 6 | 3.1, "Encoder", with the dropout of 5.4 |
# | 4 `Encoder` | 5 | 3.1, figure 1 (left), 3.4 and 3.5 |
# | 5 dense layers (written) | 1 | 3.3 |
# | 6 residual connections (written) | 2 | 3.1; He et al. 2016, arXiv:1512.03385 |
# | stretch: `GatedFeedForward` | not counted | not in the paper: Shazeer 2020, arXiv:2002.05202 |
#
# <details><summary>More: how the exercises work</summary>
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` with your answer, then run the visible tests below it (their code is folded; a click on it opens it). They are a first check; grading uses other sizes and numbers, and float64 as well as float32. If you are stuck, `skip("NAME")` puts a working version in place, and the exercise counts as unanswered.
#
# Parts of earlier lessons come from your own notebooks next to this one, if they pass a quick comparison with PyTorch. Otherwise a stand-in takes their place. The next cell says which you got. It makes no difference to your score.
#
# </details>

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

from coursework import ablation
from coursework.earlier import load_earlier

earlier = load_earlier("05_encoder")
MultiHeadAttention = earlier["MultiHeadAttention"]
TokenEmbedding = earlier["TokenEmbedding"]
PositionalEncoding = earlier["PositionalEncoding"]
padding_mask = earlier["padding_mask"]

torch.manual_seed(5);

# %% demo
import matplotlib.pyplot as plt

from coursework import check, encoder_plots, hand_in, plots, skip

plots.use_style()
torch.set_num_threads(1)  # the fastest setting for tensors this small

# %% [markdown] slide="slide"
# ## What a residual connection is for
#
# Here is a real language model, SmolLM2, with 135 million trained weights in 30 layers. It is a decoder, but its layers are made of the same kinds of parts as those of this lesson. First it answers as it was trained to. Then a single layer, number 12 counted from 0, no longer adds to the outputs of its two sublayers what went into them.

# %% demo
from coursework.smollm import write

question = "What is the capital of France?"
write(question, "as trained", chat=True, tokens=12)
write(question, "no residual in layer 12", chat=True, tokens=12,
      residual=lambda x, y: y, layers=[12])

# %% [markdown]
# All the weights are still the trained ones. Leaving out the two additions of one layer is enough to lose the answer, and at the end of this lesson you will be able to say why.

# %% [markdown]
# ## The encoder on one page
#
# An encoder turns a sentence of S token ids into S vectors. Each output vector describes one token, but it depends on the whole sentence.
#
# ![The encoder from left to right. Token ids of shape (B, S) enter the token embedding, whose result has shape (B, S, D). Positions are added. A frame, marked N times, contains self-attention, a plus sign with a residual connection that goes around the attention, a layer norm, the feed-forward network, a second plus sign with its own residual connection, and a second layer norm. The output again has shape (B, S, D).](images/encoder_overview.svg)
#
# Each of the N layers (six in the paper) has two **sublayers**. In *attention*, the tokens read each other. In the *feed-forward network*, each token processes what it has read. Every sublayer is wrapped in a **residual connection** and a **layer norm**.

# %% [markdown]
# ## Layer norm
#
# Every sublayer adds something to the vectors, so their scale changes from layer to layer. Layer norm resets it. For each token, it subtracts the mean of the D features and divides by their standard deviation. Then it multiplies each feature by a learnt scale and adds a learnt offset (Ba et al. 2016, arXiv:1607.06450):
#
# $\mathrm{LN}(x) = \gamma \cdot \dfrac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$
#
# Here $\mu$ and $\sigma^2$ are the mean and variance **of one token's features**. The learnt vectors $\gamma$ and $\beta$ have length D; PyTorch calls them `weight` and `bias`. The constant $\varepsilon$ prevents a division by zero.
#
# ![Three tokens with four features each, one token to a row. Each row has its own mean and variance: the, with 1, 1, 3, 3, has mean 2 and variance 1; cat, with 2, 4, 4, 10, has mean 5 and variance 9; sat, with 40, 20, 20, 40, has mean 30 and variance 100. Every feature has the mean of its row subtracted and is divided by the square root of the variance of its row. With gamma 1 and beta 0, the result for the is minus 1, minus 1, 1, 1; for cat minus 1, minus 0.33, minus 0.33, 1.67; for sat 1, minus 1, minus 1, 1. Each row now has mean 0 and variance 1.](images/encoder_layer_norm.svg)
#
# Read along a row. The features of *cat* have mean 5 and variance 9, so its 10 becomes (10 − 5) / 3 = 1.67. No number of another row is used.
#
# Two details are easy to get wrong:
#
# - **Which variance?** Layer norm divides the sum of squares by **D**. PyTorch's `var` and `std` divide by D − 1 by default. The normalised features are then 13% too small for D = 4, but only 0.1% for D = 512.
# - **Where does $\varepsilon$ go?** Inside the square root, added to the variance.

# %% [markdown]
# ### Exercise 1: `LayerNorm` (3 points)
#
# Write layer norm as a module. It has two parameters of length `d_model`: `weight`, which starts as ones, and `bias`, which starts as zeros. Normalise over the last dimension; any number of other dimensions may come before it. Features may be large: it must also work for rows around 5,000. Write the computation yourself: `nn.LayerNorm`, `F.layer_norm` and PyTorch's other norms are not accepted here. *10 minutes, easy.*

# %% solution layer-norm
class LayerNorm(nn.Module):
    """Bring each token's features to mean 0 and variance 1, then scale and shift them.

    Ba et al. 2016, arXiv:1607.06450, section 3. Attributes: weight (d_model,), ones at the start,
    and bias (d_model,), zeros at the start; both are learnt.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise over the last dimension. x: (..., d_model). Returns: the same shape."""
        ### BEGIN SOLUTION
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = x.var(dim=-1, keepdim=True, unbiased=False)  # (..., 1)
        normed = (x - mean) / torch.sqrt(variance + self.eps)  # (..., D)
        return self.weight * normed + self.bias
        ### END SOLUTION

# %% test layer-norm 3
norm = LayerNorm(4)
names = {name for name, _ in norm.named_parameters(remove_duplicate=False)}
assert names >= {"weight", "bias"}, (
    f"The module should have the parameters weight and bias, found {sorted(names)}. "
    "Is each an nn.Parameter, and set on self under this name?"
)
x = torch.tensor([[[2.0, 4.0, 4.0, 10.0], [1.0, 1.0, 1.0, 1.0]]])
y = norm(x)
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}."
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
y = y.detach()
by_hand = torch.tensor([-1.0, -1 / 3, -1 / 3, 5 / 3])
assert torch.allclose(y[0, 0], by_hand, atol=1e-3), (
    f"By hand: the mean is 5, the variance 9 and its root 3, so expected {by_hand}, got {y[0, 0]}. "
    "Print your own mean and variance of this token: are they 5 and 9?"
)
assert torch.all(y[0, 1].abs() < 1e-3), (
    f"A token whose features are all equal should become zeros, got {y[0, 1]}. "
    "Its variance is 0, and 0 / 0 gives nan. Where do you use eps?"
)
for small, look_at in (
    (1e-5, "In γ · (…) + β, which one is the weight, and is β added last?"),
    (0.5, "Is eps added to the variance, inside the square root?"),
):
    theirs, mine = nn.LayerNorm(6, eps=small), LayerNorm(6, eps=small)
    ablation.draw_weights(theirs, seed=1)
    mine.load_state_dict(theirs.state_dict(), strict=False)  # the same numbers for both
    x = torch.randn(3, 5, 6)
    before = x.clone()
    y = mine(x)
    assert torch.equal(x, before), "Your norm has changed its input x. Write the results to a new tensor."
    assert torch.allclose(y, theirs(x), atol=1e-5), (
        f"With eps={small} and the same weights, the result differs from nn.LayerNorm. {look_at}"
    )
print("LayerNorm: the visible tests pass, and it agrees with nn.LayerNorm")

# %% demo
check("layer-norm")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# You need three lines: a mean for each token, a variance for each token, and the formula. `nn.Parameter(tensor)` turns a tensor into a parameter that the optimiser will train.
#
# </details>
#
# <details><summary>Hint 2: the shapes don't fit</summary>
#
# The mean of a `(2, 5, 8)` tensor over its last dimension has shape `(2, 5)`, and that doesn't broadcast against `(2, 5, 8)`. As in lesson 3, a reduction such as `torch.mean` can keep the reduced dimension with size 1.
#
# </details>
#
# <details><summary>Hint 3: nearly right</summary>
#
# The token `[2, 4, 4, 10]` in the test has mean 5 and variance 9. If your variance is 12, look up the argument of `torch.var` that chooses between D and D − 1. If it is 3, you have the standard deviation, whose root has been taken already. If only the comparison with the large eps fails, check what is inside your square root.
#
# </details>

# %% [markdown]
# ### Layer norm or batch norm?
#
# ![Two blocks of cubes, each with the directions batch, length and features. In the left block, layer norm, one bar along the features is coloured: the numbers of one token in one sentence, which are normalised together. In the right block, batch norm, one whole slice is coloured: one feature of all tokens in all sentences.](images/encoder_norms.svg)
#
# Layer norm compares a feature with the other features **of the same token**. Batch norm (Ioffe and Szegedy 2015, arXiv:1502.03167) compares it with the same feature **of all other tokens in the batch**.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** You have a batch of two sentences and multiply all vectors of sentence 1 by 3. With which of the two norms does the output of sentence 0 change?
#
# <details><summary>Answer</summary>
#
# Only with batch norm. Every token of sentence 0 gets a different output because its *neighbour in the batch* changed.
#
# </details>

# %% demo
torch.manual_seed(1)
x = torch.randn(2, 5, 8)  # (B, S, D)
changed = x.clone()
changed[1] *= 3  # sentence 1 changes, sentence 0 does not

layer_norm, batch_norm = LayerNorm(8), nn.BatchNorm1d(8)  # batch norm expects (B, D, S)
moved = {
    "layer norm": layer_norm(changed) - layer_norm(x),
    "batch norm": (batch_norm(changed.mT) - batch_norm(x.mT)).mT,
}
for name, change in moved.items():
    largest = change[0].abs().max()
    print(f"{name}: the output of sentence 0 changes by up to {largest:.2f}")

# %% [markdown]
# For text this is a problem. Padding would enter the statistics, and a decoder that generates one token at a time has almost nothing to average over. Batch norm works around this with running averages, so it computes one thing in training and another afterwards. Layer norm always computes the same thing, from one token alone.

# %% [markdown]
# ### Which part mixes which dimension?
#
# Inside the encoder every tensor has shape `(B, S, D)`: B sentences in the batch, S tokens in each sentence, D features for each token. For each part, ask which dimension it mixes:
#
# | part | mixes features (D) | mixes tokens (S) | mixes sentences (B) |
# |---|---|---|---|
# | embedding, linear layers, layer norm, feed-forward network | yes | no | no |
# | attention | yes, in its projections | **yes: the only part that does** | no |
# | batch norm (not used in a Transformer) | no | yes | yes |
#
# No part may mix sentences: the result for one sentence must not depend on the others in its batch.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Where does an encoder need a `for` loop over tokens, or over sentences?
#
# <details><summary>Answer</summary>
#
# Nowhere. One matrix product treats all B · S tokens, and one batched product compares all pairs. Only layer $n + 1$ has to wait, for layer $n$. A recurrent network takes S steps in sequence; an encoder of N layers takes N, however long the sentence is. That is where its parallelism comes from (section 4 and table 1 of the paper).
#
# </details>

# %% [markdown]
# ## The feed-forward network
#
# Attention *moves* information between tokens. Once the attention weights are fixed, its output is a linear function of the tokens: a weighted mean of values, which are linear projections. Something else has to *process* what has been gathered. That is the job of the second sublayer, two linear layers with a ReLU between them (section 3.3, equation 2):
#
# $\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$
#
# The maximum is the **ReLU**: it keeps positive numbers and replaces negative ones with 0. The network is applied to each position **separately and identically**: all tokens use the same weights, and no token sees another. Different layers have different weights.
#
# ![Three tokens, the, cat and sat, each in a row of its own. In each row, a vector with D = 4 features enters a box with W 1, b 1 and the ReLU, which gives a vector with F = 16 features, several of them 0. It enters a box with W 2 and b 2, which gives a vector with D = 4 features again. The boxes hold the same weights in every row, and no arrow leads from one row to another.](images/encoder_feed_forward.svg)
#
# White squares are hidden features that the ReLU has set to 0. The formula treats a token as a row, so $W_1$ has shape $(D, F)$ and $W_2$ has shape $(F, D)$, where $F$ is `d_ff`. PyTorch stores the transposes: `linear1.weight` has shape `(d_ff, d_model)`.

# %% [markdown]
# ### Why a ReLU, and how wide?
#
# Two linear layers in a row are only one linear layer: $(x W_1) W_2 = x (W_1 W_2)$. Without the ReLU, the extra width would gain nothing.
#
# With it, you can read the hidden units as detectors. A unit is positive if the token matches its pattern, and then it adds its row of $W_2$ to the output. In a trained language model, Geva et al. 2021 (arXiv:2012.14913, table 1) found units for texts that end with a time range, and for texts about TV shows.
#
# The output is added to the input, so both have width `d_model`. The hidden layer has `d_ff` units: 2048 in the paper, four times `d_model` = 512.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What share of a layer's parameters is in the feed-forward network?
#
# <details><summary>Answer</summary>
#
# Two thirds of a layer's parameters are in its feed-forward network. Attention has four matrices of size $D \times D$. The network has two of size $D \times 4D$, which is twice as much.
#
# </details>

# %% demo
d_model, d_ff = 512, 2048
attention = 4 * (d_model * d_model + d_model)  # w_q, w_k, w_v, w_o
feed_forward = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)  # linear1, linear2
norms = 2 * 2 * d_model  # two norms, each with weight and bias
total = attention + feed_forward + norms
counts = {"attention": attention, "feed-forward": feed_forward, "norms": norms}
for name, count in counts.items():
    print(f"{name:13} {count:9,}   {count / total:6.1%}")

# %% [markdown]
# ### Exercise 2: `FeedForward` (3 points)
#
# Write two linear layers with bias: `linear1` from `d_model` to `d_ff`, and `linear2` back to `d_model`. Put a ReLU and dropout between them, in either order. Nothing follows `linear2`. *10 minutes, easy.*
#
# In train mode, **dropout** sets each feature to 0 with a certain probability and enlarges the others, so that their mean stays the same. In eval mode it does nothing. Lesson 7 says what it is for.

# %% solution feed-forward
class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, for each position (Vaswani et al. 2017, section 3.3).

    Attributes: linear1, Linear(d_model, d_ff); linear2, Linear(d_ff, d_model). In train mode
    `dropout` is the probability with which each hidden feature is dropped.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Process each token separately. x: (..., d_model). Returns: the same shape."""
        ### BEGIN SOLUTION
        hidden = F.relu(self.linear1(x))  # (..., d_ff)
        hidden = self.dropout(hidden)
        return self.linear2(hidden)  # (..., D)
        ### END SOLUTION

# %% test feed-forward 3
network = FeedForward(d_model=6, d_ff=10, dropout=0.0)
sizes = {name: tuple(p.shape) for name, p in network.named_parameters(remove_duplicate=False)}
expected = {"linear1.weight": (10, 6), "linear1.bias": (10,), "linear2.weight": (6, 10), "linear2.bias": (6,)}
assert {name: sizes.get(name) for name in expected} == expected, (
    f"Expected the parameters {expected}, got {sizes}."
)
x = torch.randn(2, 5, 6)
y = network(x)
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}."
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
assert torch.allclose(network.eval()(x), y, atol=1e-6), (
    "With dropout=0.0 nothing should be dropped in train mode, but train and eval mode differ. "
    "Which rate does your dropout get?"
)
assert torch.allclose(network(x[:, 2:3]), y[:, 2:3], atol=1e-6), (
    "Token 2 should give the same result alone as in its sentence. Do you process each token separately?"
)
assert (y < 0).any(), "Some outputs should be negative, but none is. Is there a ReLU after linear2?"
nn.init.constant_(network.linear1.bias, -1000.0)  # now no hidden unit is positive
silent = network.linear2.bias.expand(2, 5, 6)
assert torch.allclose(network(x), silent), (
    "When all hidden units are negative, the ReLU should leave only the bias of linear2. "
    "Is the ReLU between the two layers, and is linear2 the last step?"
)
tiny = FeedForward(d_model=1, d_ff=1, dropout=0.0)
for linear in (tiny.linear1, tiny.linear2):  # both return their input
    nn.init.ones_(linear.weight)
    nn.init.zeros_(linear.bias)
through = tiny(torch.tensor([[-0.5], [0.5]])).flatten().tolist()
assert through == [0.0, 0.5], f"A ReLU turns −0.5 into 0 and keeps 0.5, but yours gives {through}."
dropping = FeedForward(d_model=6, d_ff=2000, dropout=0.5)
assert not torch.equal(dropping(x), dropping(x)), (
    "In train mode, two calls should drop different units and so differ. Do you use dropout?"
)
drops_all = FeedForward(d_model=6, d_ff=10, dropout=1.0)
assert torch.equal(drops_all(x), drops_all.linear2.bias.expand(2, 5, 6)), (
    "With dropout=1.0 all hidden features are dropped, which leaves only the bias of linear2. "
    "Is there one dropout, between the two layers?"
)
dropping.eval()
assert torch.equal(dropping(x), dropping(x)), (
    "In eval mode nothing is dropped, so two calls should agree. Does your dropout know the mode?"
)
print("FeedForward: the visible tests pass")

# %% demo
check("feed-forward")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Follow the formula from the inside out: linear, ReLU, dropout, linear. Linear layers act on the last dimension and leave the others alone, so you don't need to reshape anything.
#
# </details>
#
# <details><summary>Hint 2: dropout</summary>
#
# `nn.Dropout(p)` as a part of the module switches itself off in `eval()`. The function `F.dropout` stays on unless you pass `training=self.training`.
#
# </details>

# %% [markdown]
# ## Residual connections
#
# A sublayer doesn't replace its input. It **adds** to it: $x + \mathrm{Sublayer}(x)$ (He et al. 2016, arXiv:1512.03385). This helps in two ways.
#
# - **Forwards**: a token's own vector, including its position, is carried to the top of the stack even if some sublayers add nothing useful. A sublayer only has to learn what to *change*.
# - **Backwards**: the derivative of $x + f(x)$ with respect to $x$ is the matrix $I + J_f$, where $J_f$ is the derivative of $f$ (its *Jacobian*). A gradient that travels down N layers is multiplied by 2N such factors. Multiply them out, and one of the terms is the identity $I$: a path on which the gradient passes every sublayer unchanged.
#
# ![A thick straight line leads from x on the left through four plus signs, two layers without their norms. Before each plus sign a branch leaves the line, goes through a sublayer, attention and feed-forward in turn, and is added back to the line at the plus sign. The sums are named x 1 to x 4. Below, a dotted arrow leads from right to left: backwards, the gradient has a path around every sublayer.](images/encoder_residual.svg)
#
# Follow the thick line: it runs from $x$ to $x_4$ through sums alone, $x_1 = x + f_1(x)$, then $x_2 = x_1 + f_2(x_1)$, and so on. A sum needs two terms of the same shape, so every sublayer returns vectors of width `d_model`.

# %% [markdown]
# ### Where does the norm go?
#
# There are two places for the norm: on the residual path, or on the branch.
#
# ![Two chains from left to right. Above, post-norm, as in the paper: x goes into the sublayer and around it, both meet at a plus sign, and the sum goes through layer norm, so the residual path leads through every norm. Below, pre-norm: x goes around, and on the branch it goes first through layer norm and then through the sublayer; both meet at the plus sign, so the residual path contains nothing but sums.](images/encoder_pre_post.svg)
#
# The paper normalises **after** the sum, $\mathrm{LN}(x + \mathrm{Sublayer}(x))$. This is called **post-norm**. Its residual path leads through every norm, and each norm rescales the gradient. Many later models, such as GPT-2 (Radford et al. 2019, section 2.3), normalise the **input of the sublayer** instead, $x + \mathrm{Sublayer}(\mathrm{LN}(x))$. This is called **pre-norm**, and it leaves the residual path free of norms. You will build post-norm in this lesson and pre-norm in lesson 6. Lesson 7 shows what post-norm needs in training: a warm-up of the learning rate (Xiong et al. 2020, arXiv:2002.04745).

# %% [markdown]
# ### Exercise 3: `EncoderLayer` (6 points)
#
# Wrap both sublayers as $\mathrm{norm}(x + \mathrm{dropout}(\mathrm{sublayer}(x)))$ (sections 3.1 and 5.4). *20 minutes, medium.*
#
# - **Names**: `self_attention` is a `MultiHeadAttention` and `feed_forward` a `FeedForward`. `norm1` belongs to the first sublayer and `norm2` to the second.
# - **Mask**: `None` means that every token may attend to every token.
# - **Dropout**: `dropout` is also the dropout of the feed-forward network. Dropout on the attention weights is optional.

# %% [markdown] slide="skip"
# **Build it in five steps, and run the visible tests after each one.** They stop at the first step that doesn't work.
#
# | step | write | the idea | the tests then check |
# |---|---|---|---|
# | 1 | `__init__`: both sublayers, a norm for each, dropout | a part that is made once keeps what it learns | the names, and that the norms are two |
# | 2 | `forward`: return the attention's output | the tokens read each other | a change of one token reaches every output |
# | 3 | add x to it, then normalise | a token keeps its own vector, and its scale is reset | when the sublayers return zeros, x is only normalised |
# | 4 | the second sublayer, on the result of step 3 | each token processes what it has read | the numbers of `nn.TransformerEncoderLayer` |
# | 5 | the mask in the attention; dropout on each sublayer's output, before the sum | no token reads padding | the same with padding; with `dropout=1.0`, x is only normalised |
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution encoder-layer
class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, post-norm (Vaswani et al. 2017, sections 3.1 and 5.4).

    Attributes: self_attention, MultiHeadAttention; feed_forward, FeedForward; norm1 and norm2,
    LayerNorm. Each sublayer becomes norm(x + dropout(sublayer(x))).
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Let the tokens attend to each other, then process each token separately.

        x: (B, S, d_model); mask: BoolTensor (S, S) or (B, 1 or S, S), True = may attend.
        Returns: (B, S, d_model).
        """
        ### BEGIN SOLUTION
        attended, _ = self.self_attention(x, x, x, mask)  # (B, S, D)
        x = self.norm1(x + self.dropout(attended))
        transformed = self.feed_forward(x)  # (B, S, D)
        return self.norm2(x + self.dropout(transformed))
        ### END SOLUTION

# %% test encoder-layer 6
layer = EncoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=0.0)
parts = {name for name, _ in layer.named_modules(remove_duplicate=False) if name and "." not in name}
assert parts >= {"self_attention", "feed_forward", "norm1", "norm2"}, (
    f"Expected the parts self_attention, feed_forward, norm1 and norm2, found {sorted(parts)}."
)
assert layer.norm1 is not layer.norm2, "norm1 and norm2 are the same object. Give each its own weights."
print("step 1 of 5: the parts are there")

x = torch.randn(3, 6, 8)
before = x.clone()
y = layer(x)
assert isinstance(y, torch.Tensor), (
    f"Expected a tensor, got {type(y).__name__}. What does MultiHeadAttention return?"
)
assert torch.equal(x, before), (
    "Your layer has changed its input x. `x += y` writes into the tensor you were given; `x = x + y` makes a new one."
)
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
changed = x.clone()
changed[:, 3] = torch.randn(3, 8)
reached = (layer(changed) - y).abs().amax(dim=(0, 2)) > 1e-6  # (6,)
assert reached.all(), (
    f"When token 3 changes, every output should change, but these don't: {(~reached).nonzero().flatten().tolist()}. "
    "What do you pass to the attention?"
)
print("step 2 of 5: the tokens read each other")

silent = EncoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=0.0)
for linear in (silent.self_attention.w_o, silent.feed_forward.linear2):  # both sublayers return zeros
    nn.init.zeros_(linear.weight)
    nn.init.zeros_(linear.bias)
assert torch.allclose(silent(x), F.layer_norm(x, (8,)), atol=1e-3), (
    "When the sublayers return zeros, the output should be x, normalised. "
    "Do you add to the output of each sublayer what it has read, and is a norm the last step?"
)
layer.norm1.weight.data.mul_(2.0)
assert not torch.allclose(layer(x), y, atol=1e-4), "Changing norm1 changes nothing. Do you use it?"
print("step 3 of 5: residual connection and norm are right")

trained = layer(x)
assert torch.allclose(layer.eval()(x), trained, atol=1e-6), (
    "With dropout=0.0 nothing should be dropped in train mode, but train and eval mode differ. "
    "Does every part with a dropout get the layer's `dropout`?"
)
ablation.draw_weights(layer, seed=4)  # random norms too, so that none hides behind ones and zeros
theirs = ablation.torch_twin(layer, num_heads=2)  # nn.TransformerEncoderLayer with your weights
assert torch.allclose(layer(x), theirs(x), atol=1e-5), (
    "Without a mask, the output differs from nn.TransformerEncoderLayer with the same weights. "
    "What does the second sublayer work on, what is added to its output, and which norm comes last?"
)
print("step 4 of 5: without a mask, the layer agrees with nn.TransformerEncoderLayer")

real = torch.arange(6) < torch.tensor([[6], [4], [2]])  # (3, 6): lengths 6, 4 and 2
expected = theirs(x, src_key_padding_mask=~real)  # PyTorch: True = padding
assert torch.allclose(layer(x, real[:, None]), expected, atol=1e-5), (
    "With padding, the output differs from nn.TransformerEncoderLayer with the same weights. "
    "Does the mask reach the attention, unchanged?"
)
dropping = EncoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=1.0)  # drops everything
bare = dropping.norm2(dropping.norm1(x))
assert torch.allclose(dropping(x), bare, atol=1e-6), (
    "With dropout=1.0 in train mode, both sublayers should add nothing. "
    "Do you apply dropout to the output of each?"
)
expected = ablation.torch_twin(dropping, num_heads=2)(x)
assert torch.allclose(dropping.eval()(x), expected, atol=1e-5), (
    "In eval mode nothing should be dropped, not even with dropout=1.0. Does your dropout know the mode?"
)
print("step 5 of 5: mask and dropout are right")
print("EncoderLayer: the visible tests pass, and it agrees with nn.TransformerEncoderLayer")

# %% demo
check("encoder-layer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Write $\mathrm{norm}(x + \mathrm{dropout}(\mathrm{sublayer}(x)))$ twice, once for each sublayer (steps 2 to 5). What is $x$ the second time? For dropout, make an `nn.Dropout` in `__init__`; it knows about train and eval mode.
#
# </details>
#
# <details><summary>Hint 2: attention returns two things (step 2)</summary>
#
# In self-attention, queries, keys and values all come from x. The attention of lesson 4 returns its output and its weights. Only one of them can be added to x.
#
# </details>
#
# <details><summary>Hint 3: close, but not equal to PyTorch (step 4)</summary>
#
# Test the parts one at a time. Set the weight and bias of `layer.self_attention.w_o` and `layer.feed_forward.linear2` to zeros. Both sublayers then return zeros, so the layer should give `norm2(norm1(x))`. Then restore one of the two.
#
# </details>

# %% [markdown]
# ## The stack
#
# Two questions decide whether a stack of layers is right.
#
# **Does every layer get the mask?** A padding token starts as zeros, but the positional encoding is added, and then it reads the sentence like any other token. Only the mask keeps real tokens from reading it.
#
# **Does every layer have its own weights?** `[EncoderLayer(…)] * 6` contains *one* layer six times. A plain list also hides its layers from `parameters()`, so the optimiser never trains them. `nn.ModuleList` registers them.

# %% [markdown]
# ### Exercise 4: `Encoder` (5 points)
#
# Build the encoder from three parts: `embedding`, a `TokenEmbedding`; `position`, a `PositionalEncoding`; and `layers`, which holds `num_layers` encoder layers. The ids go through them in this order. *15 minutes, medium.*
#
# - **Mask**: `mask` goes to every layer. `None` means no mask, even if the ids contain padding.
# - **No final norm**: the last layer already ends with one. (`nn.Transformer` adds another; the paper doesn't.)
# - **Arguments**: `max_len` goes to the positional encoding. `dropout` goes to the positional encoding and to every layer (section 5.4).
# - **Scale**: `TokenEmbedding` already multiplies by $\sqrt{d_\text{model}}$.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution encoder
class Encoder(nn.Module):
    """Embedding, positions and a stack of layers (Vaswani et al. 2017, section 3.1, figure 1, left).

    Attributes: embedding, TokenEmbedding; position, PositionalEncoding; layers, num_layers
    EncoderLayers with their own weights. No norm follows the last layer.
    """

    def __init__(
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
        ### BEGIN SOLUTION
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.position = PositionalEncoding(d_model, max_len, dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )
        ### END SOLUTION

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Encode token ids: each output vector depends on the whole sentence.

        ids: LongTensor (B, S); mask: BoolTensor (S, S) or (B, 1 or S, S), True = may attend.
        Returns: (B, S, d_model).
        """
        ### BEGIN SOLUTION
        x = self.embedding(ids)  # (B, S, D)
        x = self.position(x)
        for layer in self.layers:
            x = layer(x, mask)
        return x
        ### END SOLUTION

# %% test encoder 5
encoder = Encoder(vocab_size=20, d_model=8, num_layers=3, num_heads=2, d_ff=12, dropout=0.0)
for name in ("embedding", "position", "layers"):
    assert hasattr(encoder, name), f"The encoder has no part `{name}`. Is it set in __init__, under this name?"
assert hasattr(encoder.embedding, "embed"), (
    f"embedding should be a TokenEmbedding, but yours is {type(encoder.embedding).__name__}."
)
assert hasattr(encoder.layers, "__len__"), (
    f"layers should hold all layers, but yours is a single {type(encoder.layers).__name__}."
)
assert len(encoder.layers) == 3, f"Expected 3 layers, got {len(encoder.layers)}."
assert len({id(layer) for layer in encoder.layers}) == 3, "All entries of layers are the same object."
ids = torch.tensor([[5, 9, 4, 7, 2, 0], [6, 4, 2, 0, 0, 0]])
mask = padding_mask(ids)  # (2, 1, 6)
y = encoder(ids, mask)
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}."
assert y.shape == (2, 6, 8), f"Ids (2, 6) with d_model=8 should give (2, 6, 8), got {tuple(y.shape)}."
y.square().sum().backward()
unused = [name for name, p in encoder.named_parameters() if p.grad is None]
without = sorted({".".join(name.split(".")[:2]) for name in unused})
found = sum(p.numel() for p in encoder.parameters())
assert not without, f"No gradient reaches {without}. Which part do you create but never use?"
assert found == 20 * 8 + 3 * 532, (
    f"Expected {20 * 8 + 3 * 532} parameters (160 in the embedding, 532 in each layer), found {found}."
)
assert torch.allclose(encoder.eval()(ids, mask), y, atol=1e-5), (
    "With dropout=0.0 nothing should be dropped in train mode, but train and eval mode differ. "
    "Do the positional encoding and every layer get `dropout`?"
)
short = encoder(ids[1:, :3], mask[1:, :, :3])
assert torch.allclose(short, y[1:, :3], atol=1e-5), (
    "Padding changes the outputs of the real tokens in sentence 1. Does the mask reach every layer?"
)
assert not torch.allclose(encoder(ids)[1, :3], y[1, :3], atol=1e-4), (
    "Without a mask, the real tokens should read the padding, too. Do you make a mask of your own?"
)
other = ids.clone()
other[0, 3] = 8  # change one token of sentence 0
moved = (encoder(other, mask) - y)[0, :5].abs().amax(dim=-1)  # (5,)
assert (moved > 1e-6).all(), (
    f"When token 3 changes, the output of every real token should change; yours change by {moved.tolist()}."
)
swapped = encoder(ids[:1, [1, 0, 2, 3, 4]])
assert not torch.allclose(swapped[:, [1, 0, 2, 3, 4]], encoder(ids[:1, :5]), atol=1e-3), (
    "Swapping two tokens only swaps their outputs. Where do you add the positions?"
)
silent = Encoder(vocab_size=20, d_model=8, num_layers=1, num_heads=2, d_ff=12, dropout=0.0)
for layer in silent.layers:  # their sublayers return zeros
    for linear in (layer.self_attention.w_o, layer.feed_forward.linear2):
        nn.init.zeros_(linear.weight)
        nn.init.zeros_(linear.bias)
real = ids[:1, :5]  # no padding, whose vector TokenEmbedding may keep at 0
start = silent.embedding.embed.weight[real] * math.sqrt(8) + silent.position(torch.zeros(1, 5, 8))
assert torch.allclose(silent(real), F.layer_norm(start, (8,)), atol=1e-3), (
    "When the sublayers return zeros, the output should be the token vectors plus the positions, normalised. "
    "Is each of the two added once, and are the vectors scaled by √d_model once?"
)
longer = Encoder(vocab_size=20, d_model=8, num_layers=1, num_heads=2, d_ff=12, max_len=520)
assert longer(torch.full((1, 515), 4)).shape == (1, 515, 8), (
    "With max_len=520 the encoder should take 515 tokens. Does max_len reach the positional encoding?"
)
print("Encoder: the visible tests pass")

# %% demo
check("encoder")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Translate the figure at the top into code. Each part's output is the next part's input, so you can call it x throughout.
#
# </details>
#
# <details><summary>Hint 2: several layers</summary>
#
# `nn.ModuleList` takes a list, or a generator such as `(… for _ in range(n))` that calls the constructor n times. You can loop over it like a list.
#
# </details>
#
# <details><summary>Hint 3: the number of parameters is wrong</summary>
#
# 160 too few: is the embedding a part of the module? 532 or 1064 too few: do the layers share their weights, or are they in a plain list? Too many: is there a norm or a projection that the exercise doesn't ask for?
#
# </details>

# %% [markdown]
# ## Does it match PyTorch?
#
# Here are three of your layers, and three `nn.TransformerEncoderLayer` with copies of their weights. They read two sentences of different lengths. PyTorch's padding mask uses the opposite convention (lesson 3), so `~` converts it. The differences that remain are rounding errors of float32.
#
# <details><summary>More: what if you forget <code>batch_first=True</code>?</summary>
#
# PyTorch's layers take the length first, `(S, B, D)`, unless you pass `batch_first=True`. If you forget it, nothing complains: both `(2, 6, 8)` and `(6, 2, 8)` are valid inputs. The layer then mistakes the two sentences for two *positions*, and its attention mixes sentences instead of tokens. To notice, change sentence 1 and look at the output of sentence 0.
#
# </details>

# %% demo
encoder = Encoder(vocab_size=20, d_model=8, num_layers=3, num_heads=2, d_ff=12).eval()
ablation.draw_weights(encoder, seed=6)
twins = [ablation.torch_twin(layer, num_heads=2) for layer in encoder.layers]

ids = torch.tensor([[5, 9, 4, 7, 2, 0], [6, 4, 2, 0, 0, 0]])  # (2, 6)
mask = padding_mask(ids)  # (2, 1, 6)
ours = ablation.layer_outputs(encoder, ids, mask)  # the output of each layer, (2, 6, 8)
theirs = encoder.position(encoder.embedding(ids))
for number, (twin, output) in enumerate(zip(twins, ours)):
    theirs = twin(theirs, src_key_padding_mask=~mask[:, 0])  # (2, 6, 8)
    difference = (theirs - output).abs().max()
    print(f"after layer {number}: largest difference {difference:.1e}")

# %% [markdown]
# ## Does it match a real BERT?
#
# Your layer has the same parts as a layer of BERT (Devlin et al. 2019, arXiv:1810.04805), so you can load a pretrained one into it. The model here is all-MiniLM-L6-v2, a small BERT that was trained further to judge how similar two sentences are. `states` holds the vectors that went into and came out of each of its layers.

# %% demo
from coursework.bert_layers import run_bert

bert = run_bert(["The cat drank its milk.", "An old dog slept all day in the sun."])
print(bert.note)
print(f"{len(bert.states)} states of shape {tuple(bert.states[0].shape)}")
print(f"real tokens in each sentence: {bert.real.sum(dim=1).tolist()}")

# %% [markdown]
# Two details differ from the paper's layer. BERT's norm uses $\varepsilon = 10^{-12}$, so the code makes two new norms. And its feed-forward network has a **GELU** instead of the ReLU, a smooth function that is close to 0 for negative numbers and close to $x$ for positive ones (Hendrycks and Gimpel 2016, arXiv:1606.08415). The code puts your two linear layers around one.

# %% demo
names = {  # your name: BERT's name
    "self_attention.w_q": "attention.self.query",
    "self_attention.w_k": "attention.self.key",
    "self_attention.w_v": "attention.self.value",
    "self_attention.w_o": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "feed_forward.linear1": "intermediate.dense",
    "feed_forward.linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def load_layer(theirs):
    """Return your EncoderLayer with the weights of a BERT layer."""
    mine = EncoderLayer(d_model=384, num_heads=12, d_ff=1536).eval()
    mine.norm1, mine.norm2 = LayerNorm(384, eps=1e-12), LayerNorm(384, eps=1e-12)
    for my_name, their_name in names.items():
        for kind in ("weight", "bias"):
            source = theirs.get_submodule(their_name).get_parameter(kind)
            mine.get_submodule(my_name).get_parameter(kind).data.copy_(source)
    return mine

# %% [markdown] slide="subslide"
# **Predict, then reveal.** How far from BERT's output will you be with the ReLU, and how far with the GELU?
#
# <details><summary>Answer</summary>
#
# With the GELU, every one of the six layers agrees with BERT to within $10^{-5}$. Your encoder layer *is* a BERT layer. With the ReLU some numbers are off by about 1, which is large for normalised vectors. Weights trained with one activation don't work with another.
#
# </details>

# %% demo
real = bert.real[:, None]  # (2, 1, 12), the mask: True = may attend
for number, theirs in enumerate(bert.layers):
    mine = load_layer(theirs)
    with torch.no_grad():
        with_relu = mine(bert.states[number], real)  # (2, 12, 384)
        hidden, back = mine.feed_forward.linear1, mine.feed_forward.linear2
        mine.feed_forward = nn.Sequential(hidden, nn.GELU(), back)
        with_gelu = mine(bert.states[number], real)
    after = bert.states[number + 1]
    relu, gelu = ((y - after)[bert.real].abs().max() for y in (with_relu, with_gelu))
    print(f"layer {number}: off by up to {relu:.2f} with ReLU, {gelu:.1e} with GELU")
    assert gelu < 1e-5

# %% [markdown]
# ## Change one token: which outputs change?
#
# Shapes don't tell you whether an encoder is wired correctly. A simple experiment does: change one token (a row of the table), and measure how far each output (a column) moves. Every token can attend to every other, so **every** output must move. Added padding must move **nothing**.

# %% demo
words = ["the", "cat", "drank", "its", "milk", "<eos>"]
torch.manual_seed(8)
encoder = Encoder(vocab_size=40, d_model=32, num_layers=3, num_heads=4, d_ff=64).eval()
# With PyTorch's own start the token vectors would drown out the positions (lesson 2).
nn.init.normal_(encoder.embedding.embed.weight, std=32**-0.5)  # times √32, that is 1
sentence = torch.tensor([[5, 9, 13, 7, 21, 2]])


def moves(model, ids, changed, changed_mask=None):
    """How far each output moves if ids (1, S) become `changed` (1, S or more): (S,)."""
    with torch.no_grad():
        before, after = model(ids), model(changed, changed_mask)
    return (after[:, : ids.size(1)] - before).norm(dim=-1)[0]


rows = []
for position in range(6):
    flipped = sentence.clone()
    flipped[0, position] = 30  # another word in its place
    rows.append(moves(encoder, sentence, flipped))
table = torch.stack(rows)  # (6, 6)

# %% demo
limits = (0.0, float(table.max()))
plots.heatmap(table, [f"change “{word}”" for word in words], words, limits=limits);

# %% [markdown]
# Changing a token moves every output, its own the most: the residual connections carry it straight up.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Now add three padding tokens after the sentence. Which outputs move, with the padding mask and without it?
#
# <details><summary>Answer</summary>
#
# With the mask (bottom row) nothing moves. Without it (middle row) every output moves, here about half as far as the unchanged words did when *cat* was replaced. No error is raised: the model just reads its padding.
#
# </details>

# %% demo
padded = F.pad(sentence, (0, 3))  # (1, 9): <pad> is 0
cases = {
    "change “cat”": table[1],
    "3 × <pad>, no mask": moves(encoder, sentence, padded),
    "3 × <pad>, with mask": moves(encoder, sentence, padded, padding_mask(padded)),
}
plots.heatmap(torch.stack(list(cases.values())), list(cases), words, limits=limits);

# %% [markdown]
# ## Experiment: cut the residual connections
#
# In SmolLM2, cutting the two residual connections of one layer was enough to lose the answer. To see what goes wrong, take an untrained encoder with eight layers and cut all of them. If a sublayer returns $f(x) - x$, the residual connection gives $x + f(x) - x = f(x)$. Everything else stays the same, including the weights.

# %% demo
torch.manual_seed(5)
whole = Encoder(20, d_model=32, num_layers=8, num_heads=4, d_ff=64, dropout=0.0)
nn.init.normal_(whole.embedding.embed.weight, std=32**-0.5)  # times √32, that is 1
cut = ablation.without_residuals(whole)
encoders = {"with residuals": whole, "without residuals": cut}

batch = torch.randint(4, 20, (400, 10))  # 400 sentences of 10 random tokens
outputs = {name: ablation.layer_outputs(each, batch) for name, each in encoders.items()}

# %% [markdown]
# ### Do the tokens stay different?
#
# Subtract from each vector the mean over its sentence, and compare the norm of what remains with the original norm. The result is 0 if all tokens of a sentence have the same vector.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** How many layers without residual connections does it take until the tokens can't be told apart?
#
# <details><summary>Answer</summary>
#
# Three. Without them they become the same vector within three layers, up to rounding (the orange line of the plot that follows; each mark on its vertical axis is a hundredth of the one above it). Attention averages over the sentence, and averages of averages become alike (Dong et al. 2021, arXiv:2103.03404, prove it for pure attention). From then on, no later layer can tell *cat* from *milk*.
#
# </details>

# %% demo
def spread(x):
    """The share of x (B, S, D) that is left without its sentence's mean: 0 to 1."""
    return ((x - x.mean(dim=1, keepdim=True)).norm() / x.norm()).item()


numbers = range(8)
found = {name: [spread(x) for x in layers] for name, layers in outputs.items()}
labels = ("after layer", "difference between tokens")
encoder_plots.lines(numbers, found, labels=labels, log=True)
alike = (f"{value:.1e}" for value in found["without residuals"][:3])
print("without residuals, after layers 0, 1 and 2:", *alike)

# %% [markdown] slide="skip"
# **Play with the depth.** With a running kernel, drag the slider to another layer. The maps show how alike the directions of the vectors in one sentence are: 1 is the same direction, 0 a right angle. On the right, all of them are nearly the same after layer 0 already.

# %% demo
from ipywidgets import IntSlider, interact


@interact(layer=IntSlider(value=0, min=0, max=7, continuous_update=False))
def how_alike(layer):
    """Compare the directions of all vectors in one sentence after a layer."""
    ids, maps = torch.tensor([[5, 9, 13, 7, 17, 2]]), {}
    for name, each in encoders.items():
        directions = F.normalize(ablation.layer_outputs(each, ids)[layer][0], dim=-1)  # (6, 32)
        maps[name] = directions @ directions.T  # (6, 6)
    plots.heatmaps(maps, words, words, limits=(-1, 1))
    plt.show()

# %% [markdown]
# ### What can you still read from the vectors?
#
# Fit one linear map that predicts the *position* from each output vector, and another that predicts the *token*. Such maps are called *linear probes*.

# %% demo
positions = torch.arange(10).expand(400, 10).flatten()  # (4000,)
questions = {"position": positions, "token": batch.flatten()}
found = {
    f"{asked}, {name}": [ablation.linear_probe(x.flatten(0, 1), labels) for x in layers]
    for asked, labels in questions.items()
    for name, layers in outputs.items()
}
encoder_plots.lines(numbers, found, labels=("after layer", "accuracy of the map"))
for name, accuracies in found.items():
    print(f"{name:27}", *(f"{accuracy:.2f}" for accuracy in accuracies))

# %% [markdown]
# With residual connections the token can always be read, and the position in most cases. Without them the position is at chance (1 in 10) from layer 1 on, and the token does little better: its accuracy falls to 0.2 in layer 1, and further in later layers (chance is 1 in 16).
#
# This is **how position survives the stack**. The positional encoding is added once, at the bottom, and the residual connections carry it up together with the token. (Training could find weights that keep more, but only if a gradient reaches them.)

# %% [markdown]
# ### How much gradient reaches the early layers?
#
# Predict every token from the encoder's output, as in training, and measure the gradient at the output of each layer.

# %% demo
for name, layers in outputs.items():
    torch.manual_seed(9)
    logits = nn.Linear(32, 20)(layers[-1])  # (400, 10, 20)
    F.cross_entropy(logits.flatten(0, 1), batch.flatten()).backward()
    print(f"{name:17}", *(f"{x.grad.norm():.4f}" for x in layers))

# %% [markdown]
# Read the rows from right to left, the way the gradient travels. With residual connections most of it arrives at layer 0: it loses about a fifth on its way from layer 7. Without them **most of it is lost**, here almost nine tenths. What arrives is of little use, because the tokens can't be told apart. (With other random weights, the first row loses up to a third, and the second row more than half.)

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Two encoders of four layers, one without residual connections, learn for 150 steps to reverse a sequence of eight random tokens. Guessing is right 1 time in 16 (0.06). How far does each get?
#
# <details><summary>Answer</summary>
#
# With residual connections the task is solved. Without them the accuracy stays below 0.2. That encoder has learnt *which* tokens are in the sequence, but not *where*: it gives the same answer at all eight positions, and that answer is one of the eight more often than by chance.
#
# </details>

# %% demo
def learn_to_reverse(model, rate=0.003, steps=150, every=10):
    """Train a model to reverse 8 random tokens; return accuracies and the last layer."""
    torch.manual_seed(1)
    head = nn.Linear(32, 20)
    optimiser = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=rate)
    history = []
    for _ in range(steps):
        ids = torch.randint(4, 20, (32, 8))
        logits = head(model(ids))  # (32, 8, 20)
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flip(1).flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        history.append((logits.argmax(dim=-1) == ids.flip(1)).float().mean())
    accuracies = torch.stack(history).view(-1, every).mean(dim=1)  # means of 10 steps
    return accuracies.tolist(), head

# %% demo
torch.manual_seed(5)
small = Encoder(20, d_model=32, num_layers=4, num_heads=4, d_ff=64, dropout=0.0)
nn.init.normal_(small.embedding.embed.weight, std=32**-0.5)  # times √32, that is 1
cut = ablation.without_residuals(small)
learners = {"without residuals": cut, "with residuals": small}
found, test_ids = {}, torch.randint(4, 20, (1000, 8))  # new sequences
chance = 1 - (15 / 16) ** 8  # that a random token is one of the eight
for name, model in learners.items():
    found[name], head = learn_to_reverse(model)
    guesses = head(model(test_ids)).argmax(dim=-1)  # (1000, 8)
    alike = (guesses == guesses[:, :1]).all(dim=-1).float().mean()
    present = (guesses[:, :, None] == test_ids[:, None]).any(dim=-1).float().mean()
    print(f"{name:17} accuracy in the last 10 steps: {found[name][-1]:.3f}")
    print(f"    the same answer at all positions: {alike:.0%}")
    print(f"    an answer is in the sequence: {present:.0%} (by chance {chance:.0%})")
encoder_plots.lines(range(10, 151, 10), found, labels=("step", "accuracy"));

# %% [markdown]
# With residual connections the accuracy reaches 1. Without them it stays near 1 in 8: one token, given as the answer at all eight positions, is right once or twice if it is in the sequence at all.

# %% [markdown]
# ## Exercise 5: dense layers (1 point)
#
# Answer in your own words in the cell below. Three or four sentences are enough. *5 minutes, easy.*

# %% written dense-layers 1 [markdown]
# **Question.** Each encoder layer has a feed-forward network of two dense (linear) layers. (a) Are these dense layers the same in different encoder layers, and are they the same at different positions of one sentence? (b) What are their widths, in symbols and in the paper's base model, and which of these widths is determined by the rest of the model?
#
# ### BEGIN SOLUTION
# (a) Every encoder layer has its own dense layers: they have the same shape in all encoder layers, but different weights. Within one encoder layer the same weights are applied at every position, to each position separately. (b) The first goes from d_model to d_ff and the second from d_ff back to d_model. In the base model that is 512 → 2048 → 512. The input and output must have width d_model, because the residual connection adds the result to the input. d_ff can be chosen freely.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# 1 point, a quarter for each of:
#
# 1. **Between layers**: not the same; each encoder layer has weights (parameters) of its own. "Same shape, different weights" is the full answer; "the same" alone is wrong.
# 2. **Between positions**: the same weights at every position of a sentence ("position-wise", "kernel size 1", "shared along the sequence").
# 3. **Widths**: d_model → d_ff → d_model, or 512 → 2048 → 512. Symbols or numbers are enough, but the hidden width must differ from d_model.
# 4. **What is determined**: input and output must have width d_model, because of the sum with x (residual connection), or because the next layer expects it; d_ff is free.
#
# Not accepted for 3: a width that depends on the sentence length or on the number of heads. Language and length don't count.
# ### END MARK SCHEME

# %% [markdown]
# ## Exercise 6: residual connections (2 points)
#
# Answer in your own words in the cell below, in five to eight sentences. Refer to the experiment above. *10 minutes, medium.*

# %% written skip-connections 2 [markdown]
# **Question.** Why does a Transformer have residual connections (also called skip connections), and what happens without them? Explain (a) what they do for the signal on its way up and (b) for the gradient on its way down. Then (c) name at least one result of the experiment above in which they were cut, and explain it.
#
# ### BEGIN SOLUTION
# On the way up, each sublayer adds to its input instead of replacing it. A token's own vector, with the position that was added once at the bottom, is therefore carried through all layers. A sublayer only has to learn what to change, and one that adds nothing useful does no harm. On the way down, the Jacobian of x + f(x) is I + J_f. A stack of N layers multiplies 2N such factors, and the identity in each of them gives the gradient a path on which it reaches the early layers without passing through the weights of the sublayers. In a post-norm layer the norms still lie on this path and rescale the gradient; in a pre-norm layer they don't.
#
# In the experiment, all tokens of a sentence became the same vector within three layers once the connections were cut. Attention averages over the sentence, and repeated averaging makes everything alike (loss of rank). For the same reason the position could no longer be read off after the second layer, and the token hardly. The gradient became smaller from layer to layer towards the input. The encoder without residual connections didn't learn to reverse eight tokens, while the one with them did.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# 2 points, half a point for each of:
#
# 1. **Forwards**: the input is passed on unchanged beside the sublayer; a token keeps its identity *or* its position through the stack, or a sublayer learns only a change (a residual) and can easily do nothing.
# 2. **Backwards**: the gradient has a direct path down, since the derivative of x + f(x) contains a 1 (or: the identity), which keeps it from vanishing in deep stacks. "Gradients vanish without them" without a reason: a quarter. That in post-norm the norms lie on the path isn't required.
# 3. **A result**: one result of the experiment is reported correctly: tokens become alike, the position (or the token) can no longer be read off, the gradient shrinks towards the input, or the reversal isn't learnt.
# 4. **Its explanation**: the reported result is explained, for instance: attention averages, and averages of averages become alike; the position is added only once and nothing else carries it up; nothing that early layers do reaches the loss.
#
# A quarter point for half of an item. Not accepted as a reason: "they save parameters" or "they save computation" (they do neither), "they normalise" (the norm does), "they prevent overfitting". Wrong and worth a comment, without taking points away again: that residual connections let tokens read each other (attention does). Language and length don't count.
# ### END MARK SCHEME

# %% [markdown]
# ### Stretch: a gated feed-forward network
#
# Many recent models replace the ReLU with a **gate**: one projection of the token decides, feature by feature, how much of another projection passes. *10 minutes, easy.*
#
# In the variant called SwiGLU (Shazeer 2020, arXiv:2002.05202, section 2), the gate goes through SiLU, $\mathrm{silu}(z) = z \cdot \sigma(z)$, where $\sigma$ is the sigmoid:
#
# $\mathrm{FFN}(x) = \left(\mathrm{silu}(x W_1) \odot x W_3\right) W_2$
#
# The sign $\odot$ is the elementwise product. To keep the number of weights, Shazeer shrinks `d_ff` by a third.
#
# Write `GatedFeedForward(d_model, d_ff)` with three linear layers **without bias** and no dropout: `w1` and `w3` from `d_model` to `d_ff`, and `w2` back to `d_model`.

# %% solution gated-feed-forward
class GatedFeedForward(nn.Module):
    """A feed-forward network with a gate (Shazeer 2020, section 2, SwiGLU).

    Attributes: w1 and w3, Linear(d_model, d_ff); w2, Linear(d_ff, d_model); all without bias.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)
        self.w3 = nn.Linear(d_model, d_ff, bias=False)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Process each token separately. x: (..., d_model). Returns: the same shape."""
        ### BEGIN SOLUTION
        gate = F.silu(self.w1(x))  # (..., d_ff)
        hidden = gate * self.w3(x)  # (..., d_ff)
        return self.w2(hidden)  # (..., D)
        ### END SOLUTION

# %% test gated-feed-forward 0
network = GatedFeedForward(d_model=6, d_ff=10)
sizes = {name: tuple(p.shape) for name, p in network.named_parameters()}
expected = {"w1.weight": (10, 6), "w2.weight": (6, 10), "w3.weight": (10, 6)}
assert sizes == expected, f"Expected the parameters {expected}, and no bias; got {sizes}."
x = torch.randn(2, 5, 6)
y = network(x)
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}."
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
tiny = GatedFeedForward(d_model=1, d_ff=1)
for linear, weight in ((tiny.w1, 1.0), (tiny.w3, 3.0), (tiny.w2, 1.0)):
    nn.init.constant_(linear.weight, weight)
got = tiny(torch.tensor([[2.0]])).item()
by_hand = 2 / (1 + math.exp(-2)) * 6  # silu(2 · 1), times 2 · 3, times 1
assert abs(got - by_hand) < 1e-4, (
    f"With w1 = 1, w3 = 3 and w2 = 1, the input 2 should give silu(2) · 6 = 1.7616 · 6 = {by_hand:.4f}, "
    f"got {got:.4f}. What goes through the SiLU, and what is multiplied?"
)
print("GatedFeedForward: the visible tests pass")

# %% demo
check("gated-feed-forward")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Compute the two projections of x separately. Only one of them goes through the SiLU.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# `F.silu` is the activation, and `*` multiplies elementwise. `nn.Linear` takes an argument that leaves out the bias.
#
# </details>

# %% [markdown] slide="slide"
# ## In a real model
#
# SmolLM2's feed-forward network is the gated one of the stretch exercise, of widths 576 and 1,536, with the same three matrices. Now yours runs in all 30 layers.
#
# If you left the stretch exercise out, run `skip("gated-feed-forward")` first.

# %% demo
write(question, "on your feed-forward", chat=True, tokens=12,
      feed_forward=GatedFeedForward)

# %% [markdown] slide="slide"
# It answers as before. At the beginning of the lesson you saw what happens without the residual connections of one layer: what the embedding and the twelve layers before it had built is no longer passed on.
#
# **Predict, then reveal.** Now leave a *feed-forward network* out instead: its output is replaced by zeros, and the residual connection stays. Does the model still answer if it is left out in layer 12? In layer 0? In all layers?
#
# <details><summary>Answer</summary>
#
# Without the feed-forward network of layer 12, the answer is the same: the residual connection carries everything past the gap. Without that of layer 0 the model ends at once; later layers seem to depend on what it adds. Without any, it repeats a fragment. So in layer 12, the residual connections are what this answer needs, and the feed-forward network is not.
#
# </details>

# %% demo
class Nothing(nn.Module):
    """A feed-forward network that returns zeros."""

    def __init__(self, d_model, d_ff):
        super().__init__()

    def forward(self, x):
        return torch.zeros_like(x)


write(question, "no feed-forward in layer 12", chat=True, tokens=12,
      feed_forward=Nothing, layers=[12])
write(question, "no feed-forward in layer 0", chat=True, tokens=12,
      feed_forward=Nothing, layers=[0])
write(question, "no feed-forward anywhere", chat=True, tokens=12, feed_forward=Nothing)

# %% [markdown] slide="skip"
# **Play with the damage.** With a running kernel, choose another layer and what it has to do without. Before you let go of the slider, say whether the model will still answer. Which layers can do without their feed-forward network, and can any do without its residual connections?

# %% demo
from ipywidgets import ToggleButtons

damages = {"residual connections": {"residual": lambda x, y: y}, "feed-forward": {"feed_forward": Nothing}}


@interact(layer=IntSlider(value=20, min=0, max=29, continuous_update=False),
          without=ToggleButtons(options=list(damages)))
def damaged(layer, without):
    """Ask the model once more, with a part of one layer left out."""
    label = f"layer {layer} without its {without}"
    write(question, label, chat=True, tokens=12, layers=[layer], **damages[without])

# %% [markdown] slide="slide"
# ## What's wrong here?
#
# The code below runs without an error, and every shape is right. Before you open the answer, write down which line is wrong, why it causes this symptom, and a short test that would have found it. (Not counted.)

# %% [markdown] slide="subslide"
# ### Case: hidden padding moves every output
#
# A colleague has replaced the norms of your encoder with a shorter one. The mask reaches every layer, as before.

# %% demo
class ShortNorm(nn.Module):
    """A layer norm without a learnt scale and offset."""

    def forward(self, x):
        return F.layer_norm(x, x.shape[1:])  # x: (B, S, D)

# %% demo
import copy

shorter = copy.deepcopy(encoder)
for layer in shorter.layers:
    layer.norm1, layer.norm2 = ShortNorm(), ShortNorm()
for name, model in (("your norms: ", encoder), ("short norms:", shorter)):
    far = moves(model, sentence, padded, padding_mask(padded))  # (6,)
    print(name, *(f"{each:.2f}" for each in far))

# %% [markdown]
# The numbers say how far each output moves when three masked padding tokens are added. They should all be 0, as in the first row. **Which line is wrong, and why doesn't the mask help?**
#
# <details><summary>Answer</summary>
#
# **The mistake.** `x.shape[1:]` is `(S, D)`, so one mean and one variance are computed for a whole sentence. It should be `x.shape[-1:]`.
#
# **Why this symptom.** The norm mixes tokens, and no mask reaches it: padding enters the statistics of every token. Attention must be the only part that mixes tokens.
#
# **A test that finds it.** The norm of one token alone must be the same as in its sentence: `norm(x[:, :1])` against `norm(x)[:, :1]`.
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
# You have built the left half of the Transformer, and it agrees with PyTorch's and with a real BERT's. Attention moves information between tokens, the feed-forward network processes it, residual connections carry tokens up and gradients down, and the norm keeps the numbers in range.
#
# **Lesson 6** builds the decoder. It adds a sublayer that reads the encoder's output, and a mask that hides the future.
#
# **Read on**: Dong et al. 2021, arXiv:2103.03404, on what attention does without residual connections.
#
# ## Glossary
#
# | term | meaning |
# |---|---|
# | **sublayer** | attention or feed-forward network |
# | **residual connection** | adds a sublayer's input to its output: $x + f(x)$; also called *skip connection* |
# | **layer norm** | brings each token's features to mean 0 and variance 1, then scales and shifts them |
# | **batch norm** | normalises each feature over all tokens of a batch |
# | **feed-forward network** | two linear layers with a ReLU between them, of widths `d_model`, `d_ff` and `d_model` |
# | **post-norm** | $\mathrm{LN}(x + f(x))$, as in the paper |
# | **pre-norm** | $x + f(\mathrm{LN}(x))$, as in GPT-2 |
# | **SwiGLU** | a feed-forward network in which one projection gates another |
