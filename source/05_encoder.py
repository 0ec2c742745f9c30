# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 5 · The encoder
#
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 5 is highlighted: the encoder, a stack of N layers, each of self-attention and a feed-forward network, and the same feed-forward network in the decoder.](images/map_05.svg)
#
# **After this lesson you can**
#
# - name the three dimensions of every tensor in an encoder, and say which part of the encoder mixes which dimension;
# - write layer norm, and explain how it differs from batch norm;
# - explain what the feed-forward network adds to attention, and how wide it is;
# - explain what residual connections do, and show what happens to a deep stack without them;
# - build the encoder, show that padding doesn't change its output, and match PyTorch and a pretrained BERT number for number.
#
# **Time** about 105 minutes · **Difficulty** medium: each part is short, but their order matters · **Before this** lessons 1 to 4
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.1, 3.3 and 5.4.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | minutes | difficulty | in the paper |
# |---|---|---|---|---|
# | 1 `LayerNorm` | 3 | 10 | easy | 3.1, which cites Ba et al. 2016, arXiv:1607.06450, section 3 |
# | 2 `FeedForward` | 3 | 10 | easy | 3.3, equation 2 |
# | 3 `EncoderLayer` | 6 | 20 | medium | 3.1, "Encoder", with the dropout of 5.4 |
# | 4 `Encoder` | 5 | 15 | medium | 3.1, figure 1 (left), 3.4 and 3.5 |
# | 5 dense layers (written) | 1 | 5 | easy | 3.3 |
# | 6 residual connections (written) | 2 | 10 | medium | 3.1; He et al. 2016, arXiv:1512.03385 |
# | stretch: `GatedFeedForward` | not counted | 10 | easy | not in the paper: Shazeer 2020, arXiv:2002.05202 |
#
# In each exercise, replace `# YOUR CODE HERE` and the `raise NotImplementedError()` below it with your answer. Then run the tests in the next cell. They are a first check: grading uses more tests, with other sizes and other numbers. If you are stuck, `skip("NAME")` puts a working version in place for the rest of the notebook. The exercise then counts as unanswered.

# %% [markdown]
# This lesson builds on your token embeddings, positional encodings, padding masks and multi-head attention. If the notebook of an earlier lesson is in the folder next to this one, and your part passes a quick comparison with PyTorch, this lesson uses your part. If not, it uses a stand-in that does the same job with PyTorch's own operations. The next cell tells you which one you got. It makes no difference to your score.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

from coursework import ablation, check, hand_in, skip
from coursework.earlier import load_earlier

earlier = load_earlier("05_encoder")
MultiHeadAttention = earlier["MultiHeadAttention"]
TokenEmbedding = earlier["TokenEmbedding"]
PositionalEncoding = earlier["PositionalEncoding"]
padding_mask = earlier["padding_mask"]

torch.manual_seed(5);

# %% demo
import matplotlib.pyplot as plt

from coursework import encoder_plots, plots

plots.use_style()
torch.set_num_threads(1)  # the fastest setting for tensors this small

# %% [markdown] slide="slide"
# ## What a residual connection is for
#
# Here is a real language model, SmolLM2, with 135 million trained weights in 30 layers. It is a decoder, but its layers are made of the parts of this lesson. First it answers as it was trained to. Then a single layer, number 12 counted from 0, no longer adds its input to its outputs.

# %% demo
from coursework.smollm import write

question = "What is the capital of France?"
write(question, "as trained", chat=True, tokens=12)
write(question, "no residual in layer 12", chat=True, tokens=12, residual=lambda x, y: y, layers=[12])

# %% [markdown]
# ## The whole encoder on one page
#
# An encoder turns a sentence of S token ids into S vectors. Each output vector describes one token, but it depends on the whole sentence.
#
# The input vectors come from lesson 1 and the positions from lesson 2. The vectors then pass through a stack of N layers, all built alike (six in the paper). Each layer has two **sublayers**. In the first, *attention*, the tokens read each other. In the second, the *feed-forward network*, each token processes what it has read. Every sublayer is wrapped in a **residual connection** and a **layer norm**.
#
# ![The encoder from left to right. Token ids of shape (B, S) enter the token embedding, whose result has shape (B, S, D). Positions are added. A frame, marked N times, contains self-attention, a plus sign with a residual connection that goes around the attention, a layer norm, the feed-forward network, a second plus sign with its own residual connection, and a second layer norm. The output again has shape (B, S, D).](images/encoder_overview.svg)

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
# No part may mix sentences. The result for one sentence must not depend on the other sentences in its batch.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Where does an encoder need a `for` loop over tokens, or over sentences?
#
# <details><summary>Answer</summary>
#
# Nowhere. A linear layer treats all B · S tokens as the rows of one matrix product, and attention compares all pairs of tokens in one batched product. The only thing that has to wait is layer $n + 1$, which needs the output of layer $n$. A recurrent network takes S steps in sequence, because step $t$ needs the state from step $t - 1$. An encoder takes N steps, however long the sentence is. That is where its parallelism comes from (section 4 and table 1 of the paper).
#
# </details>

# %% [markdown]
# ## Layer norm
#
# Every sublayer adds something to the vectors, so their scale changes from layer to layer, and it keeps changing during training. Layer norm resets it. For each token, it subtracts the mean of the D features and divides by their standard deviation. Then it multiplies each feature by a learnt scale and adds a learnt offset (Ba et al. 2016, arXiv:1607.06450):
#
# $\mathrm{LN}(x) = \gamma \cdot \dfrac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$
#
# Here $\mu$ and $\sigma^2$ are the mean and variance **of one token's features**. The learnt vectors $\gamma$ and $\beta$ have length D; PyTorch calls them `weight` and `bias`. The small constant $\varepsilon$ prevents a division by zero when all features are equal.
#
# ![Three tokens with four features each, one token to a row. Each row has its own mean and variance: the, with 1, 1, 3, 3, has mean 2 and variance 1; cat, with 2, 4, 4, 10, has mean 5 and variance 9; sat, with 40, 20, 20, 40, has mean 30 and variance 100. Every feature has the mean of its row subtracted and is divided by the square root of the variance of its row. With gamma 1 and beta 0, the result for the is minus 1, minus 1, 1, 1; for cat minus 1, minus 0.33, minus 0.33, 1.67; for sat 1, minus 1, minus 1, 1. Each row now has mean 0 and variance 1.](images/encoder_layer_norm.svg)

# %% demo
token = torch.tensor([2.0, 4.0, 4.0, 10.0])
centred = token - token.mean()
variance = (centred**2).mean()
print(f"mean {token.mean():.1f}   variance {variance:.1f}   standard deviation {variance.sqrt():.1f}")
plots.bars({"one token": token, "after layer norm": centred / variance.sqrt()}, ["0", "1", "2", "3"]);

# %% [markdown]
# The features 2, 4, 4, 10 become −1, −0.33, −0.33, 1.67. Their order and relative spacing stay the same, but their mean is now 0 and their variance 1.
#
# Two details are easy to get wrong:
#
# - **Which variance?** There are two definitions: divide the sum of squares by D, or by D − 1. Layer norm divides by **D** (the "biased" variance). PyTorch's `var` and `std` divide by D − 1 by default.
# - **Where does $\varepsilon$ go?** Inside the square root, added to the variance. $\sqrt{\sigma^2 + \varepsilon}$ is not the same as $\sigma + \varepsilon$.
#
# The next cell shows how much the first mistake costs.

# %% demo
for width in (4, 512):
    print(f"D = {width:3}: dividing by D − 1 makes the result {1 - math.sqrt((width - 1) / width):.1%} smaller")

# %% [markdown]
# At D = 512 you would hardly notice the mistake, so the tests below use small D.
#
# ### Layer norm or batch norm?
#
# ![Two blocks of cubes, each with the directions batch, length and features. In the left block, layer norm, one bar along the features is coloured: the numbers of one token in one sentence, which are normalised together. In the right block, batch norm, one whole slice is coloured: one feature of all tokens in all sentences.](images/encoder_norms.svg)
#
# Batch norm (Ioffe and Szegedy 2015, arXiv:1502.03167) compares a feature with the same feature **of all other tokens in the batch**. Layer norm compares it with the other features **of the same token**.
#
# **Predict.** You have a batch of two sentences and multiply all vectors of sentence 1 by 3. With which of the two norms does the output of sentence 0 change?

# %% demo
torch.manual_seed(1)
x = torch.randn(2, 5, 8)  # (B, S, D)
changed = x.clone()
changed[1] *= 3  # sentence 1 changes, sentence 0 does not

layer_norm, batch_norm = nn.LayerNorm(8), nn.BatchNorm1d(8)  # batch norm expects (B, D, S)
changes = {
    "layer norm": (layer_norm(x) - layer_norm(changed))[0],
    "batch norm": (batch_norm(x.mT) - batch_norm(changed.mT))[0].mT,
}
encoder_plots.moved({name: change.detach() for name, change in changes.items()}, "output of sentence 0");

# %% [markdown]
# With layer norm (left) nothing changes. With batch norm (right) every token of sentence 0 gets a different output, only because its neighbour in the batch changed.
#
# That is a problem for text. Sentences differ in length, so padding would enter the statistics. Batches can be as small as one sentence. And a decoder that generates one token at a time has almost nothing to average over. Batch norm works around this with running averages, which means that it computes one thing in training and another afterwards. Layer norm always computes the same thing, for one token or for a thousand.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** You multiply all features of a token by 10 and add 3 to each. How does its layer norm change?
#
# <details><summary>Answer</summary>
#
# Hardly at all. Subtracting the mean removes the 3, and dividing by the standard deviation removes the 10. Only the effect of $\varepsilon$ changes, and it is tiny. Layer norm discards a token's mean and its scale, and keeps the pattern.
#
# </details>

# %% [markdown]
# ### Exercise 1: `LayerNorm` (3 points)
#
# Write layer norm as a module. It has two parameters of length `d_model`: `weight`, which starts as ones, and `bias`, which starts as zeros. Normalise over the last dimension; any number of other dimensions may come before it. Features may be large: it must also work for rows around 5,000. Write the computation yourself: `nn.LayerNorm` and `F.layer_norm` are not accepted here. *10 minutes, easy.*

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
x = torch.tensor([[[2.0, 4.0, 4.0, 10.0], [1.0, 1.0, 1.0, 1.0]]])
y = norm(x)
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}. Did you forget the return?"
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
assert torch.all(y[0, 1].abs() < 1e-3), (
    f"A token whose features are all equal should become zeros, got {y[0, 1]}. Where do you use eps?"
)
by_hand = torch.tensor([-1.0, -1 / 3, -1 / 3, 5 / 3])
assert torch.allclose(y[0, 0], by_hand, atol=1e-3), (
    f"By hand: the mean is 5 and the variance 9, so expected {by_hand}, got {y[0, 0]}. "
    "Does your variance divide by D or by D − 1?"
)
assert {name for name, _ in norm.named_parameters()} >= {"weight", "bias"}, (
    "The module should have the parameters weight and bias. What turns a tensor into a parameter?"
)
theirs, mine = nn.LayerNorm(6, eps=0.5), LayerNorm(6, eps=0.5)
for module in (theirs, mine):
    ablation.draw_weights(module, seed=1)  # the same numbers for both
x = torch.randn(3, 5, 6)
assert torch.allclose(mine(x), theirs(x), atol=1e-5), (
    "With eps=0.5 and the same weights, the result differs from nn.LayerNorm. Where does eps go?"
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
# The mean of a `(2, 5, 8)` tensor over its last dimension has shape `(2, 5)`, and that doesn't broadcast against `(2, 5, 8)`. As in lesson 3, a reduction can keep the reduced dimension with size 1.
#
# </details>
#
# <details><summary>Hint 3: nearly right</summary>
#
# Compare your numbers with the ones computed by hand in the test. If yours are too small by the factor $\sqrt{3/4}$, look up the argument of `var` that chooses between D and D − 1. If only the comparison with the large eps fails, check what is inside your square root.
#
# </details>

# %% [markdown]
# ## The feed-forward network
#
# Attention *moves* information between tokens. Once the attention weights are fixed, its output is a linear function of the tokens: a weighted mean of the values, and the values are a linear projection. So something else has to *process* what has been gathered. That is the job of the second sublayer, two linear layers with a ReLU between them (section 3.3, equation 2):
#
# $\mathrm{FFN}(x) = \max(0,\, x W_1 + b_1)\, W_2 + b_2$
#
# It is applied to each position **separately and identically**: all tokens use the same weights, and no token sees another. (The paper also calls it two convolutions with kernel size 1.) Different layers have different weights.
#
# ![Three tokens, the, cat and sat, each in a row of its own. In each row, a vector with D = 4 features enters a box with W 1, b 1 and the ReLU, which gives a vector with F = 16 features, several of them 0. It enters a box with W 2 and b 2, which gives a vector with D = 4 features again. The boxes hold the same weights in every row, and no arrow leads from one row to another.](images/encoder_feed_forward.svg)
#
# The formula treats a token as a row, so $W_1$ has shape $(D, F)$ and $W_2$ has shape $(F, D)$, where $F$ is `d_ff`. PyTorch stores the transposes: `linear1.weight` has shape `(d_ff, d_model)`.

# %% [markdown]
# ### Why a ReLU?
#
# Two linear layers in a row are only one linear layer: $(x W_1) W_2 = x (W_1 W_2)$. Without the ReLU, the extra width would buy you nothing.
#
# **Predict.** A network has one input feature, 30 hidden units and one output. What does its output look like as a function of the input, with the ReLU and without?

# %% demo
torch.manual_seed(2)
wide, narrow = nn.Linear(1, 30), nn.Linear(30, 1)
line = torch.linspace(-3, 3, 61)[:, None]  # (61, 1): 61 tokens with one feature each
with torch.no_grad():
    bent = narrow(F.relu(wide(line))).flatten().tolist()
    straight = narrow(wide(line)).flatten().tolist()
encoder_plots.lines(line.flatten().tolist(), {"with ReLU": bent, "without ReLU": straight},
                    labels=("x, the only feature", "output"));

# %% [markdown]
# Without the ReLU the output is a straight line, whatever the weights are. With it, the line can bend once at every hidden unit's threshold, so 30 hidden units allow 30 bends.
#
# You can read the hidden units as detectors. A unit is positive if the token matches its pattern ("a plural noun after a negation", say), and then it adds its row of $W_2$ to the output. If the token doesn't match, the unit is 0 and adds nothing. Geva et al. 2021 (arXiv:2012.14913) interpret trained feed-forward layers in this way: the columns of $W_1$ are keys that detect patterns, and the rows of $W_2$ are the values that get written.

# %% [markdown]
# ### How wide?
#
# The input and output have width `d_model`, because the output is added to the input. The hidden layer has `d_ff` units. The paper uses 2048 for `d_model` = 512, and many later models keep this factor of four. Count the parameters in one layer of the paper's base model:

# %% demo
d_model, d_ff = 512, 2048
attention = 4 * (d_model * d_model + d_model)  # w_q, w_k, w_v, w_o
feed_forward = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)  # linear1, linear2
norms = 2 * 2 * d_model  # two norms, each with weight and bias
total = attention + feed_forward + norms
for name, count in {"attention": attention, "feed-forward": feed_forward, "norms": norms}.items():
    print(f"{name:13} {count:9,}   {count / total:6.1%}")

# %% [markdown]
# Two thirds of a layer's parameters are in its feed-forward network.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** You shuffle the tokens of a sentence before they enter the feed-forward network. What comes out?
#
# <details><summary>Answer</summary>
#
# The same vectors, shuffled in the same way. The network doesn't know a token's position or its neighbours. Like attention, it has no sense of order. The order is in the vectors themselves, because the positional encoding of lesson 2 was added to them.
#
# </details>

# %% [markdown]
# ### Exercise 2: `FeedForward` (3 points)
#
# Write two linear layers with bias: `linear1` from `d_model` to `d_ff`, and `linear2` back to `d_model`. Put a ReLU and dropout between them. Their order doesn't matter, since dropout only zeroes or scales. Nothing follows `linear2`. *10 minutes, easy.*

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
sizes = {name: tuple(p.shape) for name, p in network.named_parameters() if name.endswith("weight")}
expected = {"linear1.weight": (10, 6), "linear2.weight": (6, 10)}
assert {name: sizes.get(name) for name in expected} == expected, (
    f"Expected the weights {expected}, got {sizes}."
)
x = torch.randn(2, 5, 6)
y = network(x)
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}. Did you forget the return?"
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
assert torch.allclose(network(x[:, 2:3]), y[:, 2:3], atol=1e-6), (
    "Token 2 should give the same result alone as in its sentence. Do you process each token separately?"
)
assert (y < 0).any(), "Some outputs should be negative, but none is. Is there a ReLU after linear2?"
nn.init.constant_(network.linear1.bias, -1000.0)  # now no hidden unit is positive
silent = network.linear2.bias.expand(2, 5, 6)
assert torch.allclose(network(x), silent), (
    "When all hidden units are negative, the ReLU should leave only the bias of linear2. "
    "Is the ReLU between the two layers?"
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
# A sublayer doesn't replace its input. It **adds** to it: $x + \mathrm{Sublayer}(x)$ (section 3.1; the idea comes from He et al. 2016, arXiv:1512.03385). This helps in two ways.
#
# - **Forwards**: a token's own vector, including its position, is carried to the top of the stack even if some sublayers add nothing useful. A sublayer only has to learn what to *change*.
# - **Backwards**: the Jacobian of $x + f(x)$ is $I + J_f$. A stack of N layers has 2N sublayers, so on its way down a gradient is multiplied by 2N such factors. Multiply them out, and one of the terms is the identity $I$: a path on which the gradient passes all sublayers and is not changed by their weights.
#
# ![A thick straight line leads from x on the left through four plus signs, two layers without their norms. Before each plus sign a branch leaves the line, goes through a sublayer, attention and feed-forward in turn, and is added back to the line at the plus sign. The sums are x 1 = x + f 1 of x, then x 2 = x 1 + f 2 of x 1, and so on up to x 4. Below, a dotted arrow leads from right to left: backwards, the gradient has a path around every sublayer.](images/encoder_residual.svg)
#
# There is a catch. In the paper's layer a norm follows every sum, so each factor becomes $J_{\mathrm{LN}}\,(I + J_f)$. The path around the sublayers is still there, but it now leads through 2N norms, and each of them rescales the gradient.
#
# A sum needs two terms of the same shape. That is why attention and the feed-forward network both return vectors of width `d_model`, and why this width is the same throughout the model (section 3.1).

# %% [markdown]
# ### Where does the norm go?
#
# ![Two chains from left to right. Above, post-norm, as in the paper: x goes into the sublayer and around it, both meet at a plus sign, and the sum goes through layer norm, so the residual path leads through every norm. Below, pre-norm: x goes around, and on the branch it goes first through layer norm and then through the sublayer; both meet at the plus sign, so the residual path contains nothing but sums.](images/encoder_pre_post.svg)
#
# The paper normalises **after** the sum, $\mathrm{LN}(x + \mathrm{Sublayer}(x))$. This is called **post-norm**. Many later models, such as GPT-2 (Radford et al. 2019, section 2.3), normalise the **input of the sublayer** instead, $x + \mathrm{Sublayer}(\mathrm{LN}(x))$. This is called **pre-norm**, and it leaves the residual path free of norms. You will build post-norm in this lesson and pre-norm in lesson 6.

# %% [markdown]
# ### What the choice does to the gradient
#
# Xiong et al. 2020 (arXiv:2002.04745, theorem 1) analysed a freshly initialised network. Their bound on the gradient of the *last* layer's feed-forward weights shrinks like $1/\sqrt{N}$ with pre-norm. With post-norm it doesn't shrink with depth at all. The next cell measures this gradient for stacks of 1 to 16 layers, each drawn with six seeds.

# %% demo
from coursework.ablation import TokensAndPositions, fresh_layers


def last_gradient(depth, norm_first, seed):
    """The size of the gradient of linear2's weights in the last of `depth` fresh layers."""
    torch.manual_seed(seed)
    layers = fresh_layers(depth, norm_first=norm_first, d_model=64, d_ff=256)  # PyTorch's own
    model = nn.Sequential(*layers, nn.Linear(64, 50))
    logits = model(torch.randn(16, 10, 64))  # (16, 10, 50)
    F.cross_entropy(logits.flatten(0, 1), torch.randint(50, (160,))).backward()
    return layers[depth - 1].linear2.weight.grad.norm().item()


depths, found = (1, 2, 4, 8, 16), {}
print(f"{'layers':9}", *(f"{n:6}" for n in depths))
for name, norm_first in (("post-norm", False), ("pre-norm", True)):
    found[name] = [sum(last_gradient(n, norm_first, seed) for seed in range(6)) / 6 for n in depths]
    print(f"{name:9}", *(f"{value:6.2f}" for value in found[name]))
found["pre-norm if it fell like 1/√N"] = [found["pre-norm"][0] / math.sqrt(n) for n in depths]
plots.curves(depths, found, labels=("layers", "gradient in the last layer"), base=2);

# %% [markdown]
# With one layer the two are nearly equal. As the stack gets deeper, the post-norm gradient grows slightly and the pre-norm gradient falls to less than half. The direction is what the theorem predicts, but the fall is slower than $1/\sqrt{N}$ (dotted): the theorem is a bound for an idealised network, not a prediction of these numbers.
#
# Does this matter for training? The paper trains with **warm-up**: the learning rate starts near 0 and rises over the first steps (lesson 7). Xiong et al. argue that post-norm needs warm-up because of the large gradients near the output, and that pre-norm can do without. Liu et al. 2020 (arXiv:2004.08249) disagree about the cause. They find that unbalanced gradients are not the root of the problem. In their analysis, a post-norm layer depends so heavily on what its sublayers add that small changes of the weights are amplified into large changes of the output. Both papers agree on what happens in training, and you can see it for yourself.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Four stacks of six layers learn to say a sentence of eight random tokens backwards: post-norm and pre-norm, each with a constant learning rate of 0.01 and with 60 steps of warm-up to the same rate. Guessing blindly is right 1 time in 16. Which stacks learn it within 150 steps?
#
# <details><summary>Answer</summary>
#
# Three of the four. Only post-norm without warm-up fails. The plot below shows it.
#
# </details>

# %% demo
def learn_backwards(model, rate, warm_up=1, steps=150, every=10):
    """Train a model and a linear layer to reverse 8 random tokens; return accuracies and that layer."""
    torch.manual_seed(1)
    head = nn.Linear(32, 20)
    optimiser = torch.optim.Adam([*model.parameters(), *head.parameters()])
    history = []
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / warm_up)
        ids = torch.randint(4, 20, (32, 8))
        logits = head(model(ids))  # (32, 8, 20)
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flip(1).flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        history.append((logits.argmax(dim=-1) == ids.flip(1)).float().mean())
    return torch.stack(history).view(-1, every).mean(dim=1).tolist(), head  # means of 10 steps

# %% demo
found = {}
for norm, norm_first in (("post-norm", False), ("pre-norm", True)):
    for start, warm_up in (("without warm-up", 1), ("with warm-up", 60)):
        torch.manual_seed(0)
        layers = fresh_layers(6, norm_first=norm_first, d_model=32, d_ff=64)
        model = nn.Sequential(TokensAndPositions(20, 8, 32), *layers)
        found[f"{norm}, {start}"], _ = learn_backwards(model, rate=0.01, warm_up=warm_up)
for name, accuracies in found.items():
    print(f"{name:26} accuracy in the last 10 steps: {accuracies[-1]:.2f}")
encoder_plots.lines(range(10, 151, 10), found, labels=("step", "accuracy"));

# %% [markdown]
# Post-norm without warm-up (solid, orange) stays near 0.1. With warm-up it reaches 1.0 (solid, blue). Pre-norm (dashed) reaches 1.0 either way, and warm-up only delays it. So at this depth and rate, post-norm needs warm-up and pre-norm doesn't.
#
# The experiment doesn't tell you *why*, so it can't decide between the two explanations. It also doesn't say that post-norm always needs warm-up. With fewer layers and a lower rate it trains without: the residual experiment at the end of this lesson uses four post-norm layers at a constant rate of 0.003.

# %% [markdown]
# ### Exercise 3: `EncoderLayer` (6 points)
#
# Wrap both sublayers as $\mathrm{norm}(x + \mathrm{dropout}(\mathrm{sublayer}(x)))$ (sections 3.1 and 5.4). *20 minutes, medium.*
#
# - **Names**: `self_attention` is a `MultiHeadAttention` and `feed_forward` a `FeedForward`. `norm1` belongs to the first sublayer and `norm2` to the second. The two norms have weights of their own.
# - **Order**: the second sublayer works on the result of the first, norm included.
# - **Mask**: pass `mask` to the attention. `None` means that every token may attend to every token.
# - **Dropout**: `dropout` acts on each sublayer's output before the sum, and inside the feed-forward network. Dropout on the attention weights is optional.
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
parts = {name for name, _ in layer.named_children()}
assert parts >= {"self_attention", "feed_forward", "norm1", "norm2"}, (
    f"Expected the parts self_attention, feed_forward, norm1 and norm2, found {sorted(parts)}."
)
x = torch.randn(3, 6, 8)
y = layer(x)
assert isinstance(y, torch.Tensor), (
    f"Expected a tensor, got {type(y).__name__}. What does MultiHeadAttention return?"
)
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
assert torch.allclose(y.mean(dim=-1), torch.zeros(3, 6), atol=1e-5), (
    "With fresh norms every output token should have mean 0. Is a norm the last step?"
)
layer.norm1.weight.data.mul_(2.0)
assert not torch.allclose(layer(x), y, atol=1e-4), "Changing norm1 changes nothing. Do you use it?"

ablation.draw_weights(layer, seed=4)  # random norms too, so that none hides behind ones and zeros
real = torch.arange(6) < torch.tensor([[6], [4], [2]])  # (3, 6): lengths 6, 4 and 2
theirs = ablation.torch_twin(layer, num_heads=2)  # nn.TransformerEncoderLayer with your weights
expected = theirs(x, src_key_padding_mask=~real)  # PyTorch: True = padding
assert torch.allclose(layer(x), theirs(x), atol=1e-5), (
    "Without a mask, the output differs from nn.TransformerEncoderLayer with the same weights. "
    "What is added to what, and when?"
)
assert torch.allclose(layer(x, real[:, None]), expected, atol=1e-5), (
    "With padding, the output differs from nn.TransformerEncoderLayer with the same weights. "
    "Does the mask reach the attention?"
)
dropping = EncoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=1.0)  # drops everything
bare = dropping.norm2(dropping.norm1(x))
assert torch.allclose(dropping(x), bare, atol=1e-6), (
    "With dropout=1.0 in train mode, both sublayers should add nothing. "
    "Do you apply dropout to the output of each?"
)
print("EncoderLayer: the visible tests pass, and it agrees with nn.TransformerEncoderLayer")

# %% demo
check("encoder-layer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Write $\mathrm{norm}(x + \mathrm{dropout}(\mathrm{sublayer}(x)))$ twice, once for each sublayer. What is $x$ the second time?
#
# </details>
#
# <details><summary>Hint 2: attention returns two things</summary>
#
# In self-attention, queries, keys and values all come from x. The attention of lesson 4 returns its output and its weights. Only one of them can be added to x.
#
# </details>
#
# <details><summary>Hint 3: close, but not equal to PyTorch</summary>
#
# Test the parts one at a time. Set the weight and bias of `layer.self_attention.w_o` and `layer.feed_forward.linear2` to zeros. Both sublayers then return zeros, so the layer should give `norm2(norm1(x))`. Then restore one of the two.
#
# </details>

# %% [markdown]
# ## The stack
#
# Now stack the layers. Two questions decide whether your stack is right.
#
# **Does every layer get the mask?** The embedding of a padding token is zero, but its vector isn't zero for long: the positional encoding is added, and every layer lets it read the sentence like any other token. Only the mask keeps real tokens from reading it, so every layer needs the mask.
#
# **Does every layer have its own weights?** `[EncoderLayer(…)] * 6` is a list that contains *one* layer six times. And a plain Python list hides its layers from `parameters()`, so the optimiser never trains them. `nn.ModuleList` registers them.

# %% demo
six_times_one = nn.ModuleList([nn.Linear(4, 4)] * 6)
six = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))
for name, stack in {"[layer] * 6": six_times_one, "six layers": six}.items():
    print(f"{name:12} {len(stack)} entries, {sum(p.numel() for p in stack.parameters())} parameters")

# %% [markdown]
# Both lists have six entries, but the first has the parameters of a single layer.
#
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
assert len(encoder.layers) == 3, f"Expected 3 layers, got {len(encoder.layers)}."
assert len({id(layer) for layer in encoder.layers}) == 3, "All entries of layers are the same object."
ids = torch.tensor([[5, 9, 4, 7, 2, 0], [6, 4, 2, 0, 0, 0]])
mask = padding_mask(ids)  # (2, 1, 6)
y = encoder(ids, mask)
assert y.shape == (2, 6, 8), f"Ids (2, 6) with d_model=8 should give (2, 6, 8), got {tuple(y.shape)}."
y.square().sum().backward()
without = [name for name, p in encoder.named_parameters() if p.grad is None]
found = sum(p.numel() for p in encoder.parameters())
assert not without, f"No gradient reaches {without}. Which part do you create but never use?"
assert found == 20 * 8 + 3 * 532, (
    f"Expected {20 * 8 + 3 * 532} parameters (160 in the embedding, 532 in each layer), found {found}."
)
short = encoder(ids[1:, :3], mask[1:, :, :3])
assert torch.allclose(short, y[1:, :3], atol=1e-5), (
    "Padding changes the outputs of the real tokens in sentence 1. Does the mask reach every layer?"
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
# Here are three of your layers, and three `nn.TransformerEncoderLayer` with copies of their weights. They read two sentences of different lengths. PyTorch's padding mask uses the opposite convention (lesson 3), so `~` converts it.

# %% demo
encoder = Encoder(vocab_size=20, d_model=8, num_layers=3, num_heads=2, d_ff=12).eval()
ablation.draw_weights(encoder, seed=6)
twins = [ablation.torch_twin(layer, num_heads=2) for layer in encoder.layers]

ours = ablation.layer_outputs(encoder, ids, mask)  # the output of each layer, (2, 6, 8)
theirs = encoder.position(encoder.embedding(ids))
for number, (twin, output) in enumerate(zip(twins, ours)):
    theirs = twin(theirs, src_key_padding_mask=~mask[:, 0])  # (2, 6, 8)
    print(f"after layer {number}: largest difference {(theirs - output).abs().max():.1e}")

# %% [markdown]
# The differences are rounding errors of float32.
#
# **A trap.** PyTorch's layers take the length first, `(S, B, D)`, unless you pass `batch_first=True`. If you forget it, nothing complains: both `(2, 6, 8)` and `(6, 2, 8)` are valid inputs. Change sentence 1 and watch sentence 0:

# %% demo
x = torch.randn(2, 6, 8)  # (B, S, D)
changed = x.clone()
changed[1] = torch.randn(6, 8)
for batch_first in (True, False):
    torch.manual_seed(3)
    theirs = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=batch_first)
    change = (theirs(changed) - theirs(x))[0].abs().max()
    print(f"{f'batch_first={batch_first}:':18} the output of sentence 0 changes by up to {change:.2f}")

# %% [markdown]
# With `batch_first=False` the layer takes the two sentences for two *positions*, so its attention mixes sentences instead of tokens.

# %% [markdown]
# ## Does it match a real BERT?
#
# Your layer has the same parts as a layer of BERT (Devlin et al. 2019, arXiv:1810.04805), so you can load a pretrained one into it. The model here is all-MiniLM-L6-v2: a small BERT, trained further to judge how similar two sentences are. It runs on two sentences, and `states` holds the vectors that went into and came out of each layer.

# %% demo
from coursework.bert_layers import run_bert

bert = run_bert(["The cat drank its milk.", "An old dog slept all day in the sun."])
print(bert.note)
print(f"{len(bert.layers)} layers, {len(bert.states)} states of shape {tuple(bert.states[0].shape)}")
print(f"real tokens in each sentence: {bert.real.sum(dim=1).tolist()}")

# %% [markdown]
# Two details differ from the paper's layer, and you have to take care of both:
#
# - BERT's layer norm uses $\varepsilon = 10^{-12}$. Your `LayerNorm` takes `eps`, so the cell below makes two new norms.
# - BERT's feed-forward network has a **GELU** instead of the ReLU: a smooth function that is close to 0 for negative numbers and close to $x$ for positive ones (Hendrycks and Gimpel 2016, arXiv:1606.08415). The two linear layers are the same. For this demonstration only, the cell after next puts your two linear layers around a GELU. Your `FeedForward` stays as it is.

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

# %% [markdown]
# **Predict.** How far from BERT's output will you be with the ReLU, and how far with the GELU?

# %% demo
real = bert.real[:, None]  # (2, 1, 12), the mask: True = may attend
for number, theirs in enumerate(bert.layers):
    mine = load_layer(theirs)
    with torch.no_grad():
        with_relu = mine(bert.states[number], real)  # (2, 12, 384)
        hidden, back = mine.feed_forward.linear1, mine.feed_forward.linear2
        mine.feed_forward = nn.Sequential(hidden, nn.GELU(), back)
        with_gelu = mine(bert.states[number], real)
    relu, gelu = ((y - bert.states[number + 1])[bert.real].abs().max() for y in (with_relu, with_gelu))
    print(f"layer {number}: largest difference {relu:.2f} with ReLU, {gelu:.1e} with GELU")
    assert gelu < 1e-5

# %% [markdown]
# With the GELU, every one of the six layers agrees with BERT to within $10^{-5}$. Your encoder layer *is* a BERT layer. With the ReLU some numbers are off by about 1, which is large for vectors that have just been normalised. Weights trained with one activation don't work with another.

# %% [markdown]
# ## Change one token: which outputs change?
#
# Shapes don't tell you whether an encoder is wired correctly. A simple experiment does: change one token, leave the rest, and measure how far each output moves. In an encoder every token can attend to every other, so **every** output must move. Adding padding, on the other hand, must move **nothing**.
#
# One line below needs an explanation. `nn.Embedding` starts with standard deviation 1, and `TokenEmbedding` multiplies by $\sqrt{D}$. With D = 32 the token vectors would be 5.7 times as large as that, and the positions would hardly count (lesson 2). Starting the table with standard deviation $D^{-1/2}$ brings the token vectors back to 1.

# %% demo
words = ["the", "cat", "drank", "its", "milk", "<eos>"]
torch.manual_seed(8)
encoder = Encoder(vocab_size=40, d_model=32, num_layers=3, num_heads=4, d_ff=64).eval()
nn.init.normal_(encoder.embedding.embed.weight, std=32**-0.5)  # times √32, that is 1
sentence = torch.tensor([[5, 9, 13, 7, 21, 2]])


def moves(ids, changed, mask=None, changed_mask=None):
    """How far each output moves if ids (1, S) become `changed` (1, S or more): (S,)."""
    with torch.no_grad():
        before, after = encoder(ids, mask), encoder(changed, changed_mask)
    return (after[:, : ids.size(1)] - before).norm(dim=-1)[0]


rows = []
for position in range(6):
    flipped = sentence.clone()
    flipped[0, position] = 30  # another word in its place
    rows.append(moves(sentence, flipped))
table = torch.stack(rows)  # (6, 6)

# %% demo
limits = (0.0, float(table.max()))
plots.heatmap(table, [f"change “{word}”" for word in words], words, limits=limits);

# %% [markdown]
# Each row is a token that was changed, each column an output. No entry is 0: every output notices every change. The diagonal stands out, because the residual connections carry a token's own vector straight up.
#
# **Predict.** Now add three padding tokens after the sentence. Which outputs move, with the padding mask and without it?

# %% demo
padded = F.pad(sentence, (0, 3))  # (1, 9): <pad> is 0
cases = {
    "change “cat”": table[1],
    "3 × <pad>, no mask": moves(sentence, padded),
    "3 × <pad>, with mask": moves(sentence, padded, None, padding_mask(padded)),
}
plots.heatmap(torch.stack(list(cases.values())), list(cases), words, limits=limits);

# %% [markdown]
# With the mask (bottom row) nothing moves. Without it (middle row) every output moves, about half as far as the other words do when *cat* is changed. No error is raised: the model just reads its padding.
#
# Drag the slider to choose the token to change. (It needs a running kernel. The heat map above shows the same numbers, row by row.)

# %% demo
from ipywidgets import IntSlider, interact


@interact(position=IntSlider(value=1, min=0, max=5, continuous_update=False))
def flip(position):
    """Drag the position: every bar is above 0, and the changed word's is the highest."""
    title = f"“{words[position]}” becomes another word"
    plots.bars({title: table[position]}, words, marked=[words[position]], top=1.2 * float(table.max()))
    plt.show()

# %% [markdown]
# ## Experiment: cut the residual connections
#
# What would the stack do without residual connections? Take an encoder with eight layers and cut them. You don't have to touch your code for this: if a sublayer returns $f(x) - x$, the residual connection gives $x + f(x) - x = f(x)$. Everything else stays the same, including the weights.

# %% demo
torch.manual_seed(5)
whole = Encoder(vocab_size=20, d_model=32, num_layers=8, num_heads=4, d_ff=64, dropout=0.0)
nn.init.normal_(whole.embedding.embed.weight, std=32**-0.5)  # as above
encoders = {"with residuals": whole, "without residuals": ablation.without_residuals(whole)}

batch = torch.randint(4, 20, (400, 10))  # 400 sentences of 10 random tokens
outputs = {name: ablation.layer_outputs(model, batch) for name, model in encoders.items()}

# %% [markdown]
# ### How different are the tokens of a sentence?
#
# Subtract from each vector the mean over its sentence, and compare the length of the rest with the length of the whole. A result of 0 means that all tokens of a sentence have the same vector. **Predict:** how many layers does it take without residual connections until the tokens can't be told apart?

# %% demo
def spread(x):
    """The share of x (B, S, D) that remains when the mean over the sentence is subtracted: 0 to 1."""
    return ((x - x.mean(dim=1, keepdim=True)).norm() / x.norm()).item()


numbers = range(8)
found = {name: [spread(x) for x in layers] for name, layers in outputs.items()}
encoder_plots.lines(numbers, found, labels=("after layer", "difference between tokens"), log=True)
print("without residuals, after layers 0, 1 and 2:", *(f"{value:.1e}" for value in found["without residuals"][:3]))

# %% [markdown]
# The vertical axis is logarithmic. With residual connections the tokens stay different through all eight layers. Without them they become the same vector within three layers, up to rounding. The reason is that attention averages over the sentence, and averages of averages become alike. Dong et al. 2021 (arXiv:2103.03404) prove that pure attention, without residual connections and feed-forward networks, loses rank doubly exponentially with depth. From then on, no later layer can tell *cat* from *milk*.

# %% [markdown]
# ### What can you still read from the vectors?
#
# Fit a linear map that predicts from each output vector which *position* it stands at, and another that predicts which *token* it belongs to.

# %% demo
positions = torch.arange(10).expand(400, 10).flatten()  # (4000,)
questions = {"position": positions, "token": batch.flatten()}
found = {
    f"{question}, {name}": [ablation.linear_probe(x.flatten(0, 1), labels) for x in layers]
    for question, labels in questions.items()
    for name, layers in outputs.items()
}
encoder_plots.lines(numbers, found, labels=("after layer", "accuracy of the linear map"))
for name, accuracies in found.items():
    print(f"{name:27}", *(f"{accuracy:.2f}" for accuracy in accuracies))

# %% [markdown]
# With residual connections (blue) the token can be read without error after every layer, and the position in most cases. Without them (orange) the position is hardly better than chance after layer 0 and at chance (1 in 10) from layer 1 on. The token does little better: its accuracy falls to about 0.15 (chance is 1 in 16).
#
# This is **how position survives the stack**. The positional encoding is added once, at the bottom, and no layer is told the positions again. The residual connections carry it up together with the token. (These layers are untrained. Training could find weights that keep more, but only if a gradient reaches them.)

# %% [markdown]
# ### What reaches the early layers on the way back?
#
# Ask the encoder for the token at every position, as you would in training, and measure the gradient that arrives at each layer's output.

# %% demo
found = {}
for name, layers in outputs.items():
    torch.manual_seed(9)
    logits = nn.Linear(32, 20)(layers[-1])  # (400, 10, 20)
    F.cross_entropy(logits.flatten(0, 1), batch.flatten()).backward()
    found[name] = [x.grad.norm().item() for x in layers]
    print(f"{name:17}", *(f"{size:.4f}" for size in found[name]))
encoder_plots.lines(numbers, found, labels=("after layer", "size of the gradient"), log=True);

# %% [markdown]
# Read the plot from right to left, the way the gradient travels. With residual connections it loses about a fifth on its way from layer 7 to layer 0. Without them it loses almost nine tenths. And what does arrive is of little use, because the tokens it belongs to have become indistinguishable.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Two encoders of four layers, one without residual connections, are trained for 150 steps to say the sentence backwards. Guessing blindly is right 1 time in 16 (0.06). How far does each get?
#
# <details><summary>Answer</summary>
#
# With residual connections the task is solved. Without them the accuracy reaches about 0.14: more than blind guessing, and slowly rising. What it has learnt is *which* tokens are in the sentence, not *where* they are. The cell below checks this: it gives the same answer at all eight positions, and that answer is usually a token of the sentence.
#
# Nothing *forbids* a solution without residual connections. Training just doesn't find it.
#
# </details>

# %% demo
torch.manual_seed(5)
small = Encoder(vocab_size=20, d_model=32, num_layers=4, num_heads=4, d_ff=64, dropout=0.0)
nn.init.normal_(small.embedding.embed.weight, std=32**-0.5)  # as above
learners = {"without residuals": ablation.without_residuals(small), "with residuals": small}
found, heads = {}, {}
for name, model in learners.items():
    found[name], heads[name] = learn_backwards(model, rate=0.003)
    print(f"{name:17} accuracy in the last 10 steps: {found[name][-1]:.3f}")
encoder_plots.lines(range(10, 151, 10), found, labels=("step", "accuracy"));

# %% demo
ids = torch.randint(4, 20, (1000, 8))  # new sentences
for name, model in learners.items():
    guesses = heads[name](model(ids)).argmax(dim=-1)  # (1000, 8)
    alike = (guesses == guesses[:, :1]).all(dim=-1).float().mean()
    present = (guesses[:, :, None] == ids[:, None]).any(dim=-1).float().mean()
    print(f"{name:17} same answer at all positions: {alike:.0%}   a token of the sentence: {present:.0%}")
print(f"a random token is in the sentence: {1 - (15 / 16) ** 8:.0%}")

# %% [markdown]
# Without residual connections the encoder gives one and the same answer at all eight positions, and far more often than a random guess would, that answer is a token of the sentence.
#
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
# *Not counted · 10 minutes, easy.*
#
# Many recent models replace the ReLU by a **gate**: one projection of the token decides, feature by feature, how much of another projection passes. In the variant called SwiGLU (Shazeer 2020, *GLU Variants Improve Transformer*, arXiv:2002.05202, section 2), the gate goes through SiLU, $\mathrm{silu}(z) = z \cdot \sigma(z)$, where $\sigma$ is the sigmoid:
#
# $\mathrm{FFN}(x) = \left(\mathrm{silu}(x W_1) \odot x W_3\right) W_2$
#
# The sign $\odot$ stands for the elementwise product. LLaMA, for example, uses this network (Touvron et al. 2023, arXiv:2302.13971, section 2.2).
#
# Write `GatedFeedForward(d_model, d_ff)` with three linear layers **without bias**: `w1` and `w3` from `d_model` to `d_ff`, and `w2` back to `d_model`. There is no dropout.

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
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}. Did you forget the return?"
assert y.shape == x.shape, f"The shape should stay {tuple(x.shape)}, but yours is {tuple(y.shape)}."
tiny = GatedFeedForward(d_model=1, d_ff=1)
for linear, weight in ((tiny.w1, 1.0), (tiny.w3, 3.0), (tiny.w2, 1.0)):
    nn.init.constant_(linear.weight, weight)
got = tiny(torch.tensor([[2.0]])).item()
by_hand = 2 / (1 + math.exp(-2)) * 6  # silu(2 · 1), times 2 · 3, times 1
assert abs(got - by_hand) < 1e-4, (
    f"With w1 = 1, w3 = 3 and w2 = 1, the input 2 should give {by_hand:.4f}, got {got:.4f}. "
    "Which of the two projections goes through the SiLU?"
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

# %% [markdown]
# A gated network has three matrices instead of two. To compare the two fairly, Shazeer shrinks `d_ff` by a third:

# %% demo
d_model, d_ff = 512, 2048
plain = 2 * d_model * d_ff
for name, width in {"the same d_ff:": d_ff, "two thirds of d_ff:": 2 * d_ff // 3}.items():
    gated = 3 * d_model * width
    print(f"gated, {name:19} {gated:9,} weights, {gated / plain:.2f} times as many as with the ReLU")

# %% [markdown] slide="slide"
# ## In a real model
#
# SmolLM2's feed-forward network is the gated one of the stretch exercise, of widths 576 and 1,536, with the same three matrices. If you wrote `GatedFeedForward`, it can run in all 30 layers; if not, run `skip("gated-feed-forward")` first.

# %% demo
write(question, "on your feed-forward", chat=True, tokens=12, feed_forward=GatedFeedForward)

# %% [markdown] slide="slide"
# It answers as before. At the beginning of the lesson you saw what happens without the residual connections of one layer: what the embedding and the twelve layers before it had built is no longer passed on.
#
# **Predict, then reveal.** Now leave a *feed-forward network* out instead: its output is replaced by zeros, and the residual connection stays. Does the model still answer if it is left out in layer 12? In layer 0? In all layers?
#
# <details><summary>Answer</summary>
#
# Without the feed-forward network of layer 12, the answer is the same: the residual connection carries everything past the gap. Without that of layer 0 the model ends at once; later layers seem to depend on what it adds. Without any, it repeats a fragment. So in layer 12, the residual connection is what this answer needs, and the network beside it is not.
#
# </details>

# %% demo
class Nothing(nn.Module):
    """A feed-forward network that returns zeros."""

    def __init__(self, d_model, d_ff):
        super().__init__()

    def forward(self, x):
        return torch.zeros_like(x)


write(question, "no feed-forward in layer 12", chat=True, tokens=12, feed_forward=Nothing, layers=[12])
write(question, "no feed-forward in layer 0", chat=True, tokens=12, feed_forward=Nothing, layers=[0])
write(question, "no feed-forward anywhere", chat=True, tokens=12, feed_forward=Nothing)

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()

# %% [markdown]
# ## What you can do now
#
# You have built the left half of the Transformer. You know what each part of a layer is for: attention moves information between tokens, the feed-forward network processes it, the residual connections carry tokens and positions up and gradients down, and the norm keeps the numbers in range. Your layer agrees with PyTorch's and with a real BERT's.
#
# **Lesson 6** builds the right half, the decoder. It uses the same parts, a third sublayer that reads the encoder's output, and a mask that hides the future.
#
# **Read on**: Vaswani et al. 2017, section 3.1. On where the norm should go: Xiong et al. 2020, arXiv:2002.04745, section 3, and Liu et al. 2020, arXiv:2004.08249.
#
# ## Glossary
#
# | term | meaning |
# |---|---|
# | **sublayer** | attention or feed-forward network, before residual connection and norm are added |
# | **residual connection** | adds a sublayer's input to its output: $x + f(x)$; also called *skip connection* |
# | **layer norm** | brings each token's features to mean 0 and variance 1, then applies a learnt scale and offset |
# | **batch norm** | normalises each feature over all tokens of a batch; not used in Transformers |
# | **feed-forward network** | two linear layers with a ReLU between them, applied to each position separately |
# | **`d_ff`** | the width of the feed-forward network's hidden layer |
# | **post-norm** | $\mathrm{LN}(x + f(x))$: the norm follows the sum, as in the paper |
# | **pre-norm** | $x + f(\mathrm{LN}(x))$: the norm comes before the sublayer, as in GPT-2 |
# | **warm-up** | raising the learning rate from near 0 over the first training steps |
# | **GELU** | a smooth relative of the ReLU, used in BERT and GPT |
# | **SwiGLU** | a feed-forward network in which one projection gates another |
