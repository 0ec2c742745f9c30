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
# - name the three dimensions of every tensor in an encoder, and say which part works along which;
# - write layer norm, and show how it differs from batch norm;
# - say what the feed-forward layer adds that attention cannot do, and how wide it is;
# - wrap both in skip connections, and show what becomes of a deep stack without them;
# - build the encoder, prove that padding changes nothing, and get the same numbers as PyTorch from the same weights.
#
# **Time** about 100 minutes · **Difficulty** medium; every part is short, the order of the parts is what matters · **Before this** lessons 1 to 4
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.1, 3.3 and 5.4.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `LayerNorm` | 3 | 3.1, by reference to Ba et al. 2016, arXiv:1607.06450, section 3 |
# | `FeedForward` | 3 | 3.3, equation 2 |
# | `EncoderLayer` | 6 | 3.1, "Encoder", with the dropout of 5.4 |
# | `Encoder` | 5 | 3.1, figure 1 (left), 3.4 and 3.5 |
# | dense layers (in words) | 1 | 3.3 |
# | skip connections (in words) | 2 | 3.1; He et al. 2016, arXiv:1512.03385 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% [markdown]
# This lesson puts together what you built before: token embeddings, positional encodings, padding masks and multi-head attention. Where your notebook of an earlier lesson lies next door and its part agrees with PyTorch in a quick check, yours is used from here on. Otherwise a stand-in takes its place, which does the same and is built on PyTorch's own operations. The next cell says which. Your marks for this lesson do not depend on it.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

from coursework import dissection
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
torch.set_num_threads(1)  # tensors as small as these are fastest on a single thread

# %% [markdown]
# ## The whole encoder on one page
#
# An encoder turns a sentence of token ids into as many vectors, each of which knows the whole sentence. The vectors come in by lesson 1, get their places by lesson 2, and then pass through N layers of the same build (N = 6 in the paper). A layer has two **sublayers**: attention, in which tokens read each other, and a feed-forward network, in which each token works on what it has read. Around each of them goes a **skip connection** and a **layer norm**.
#
# ![The encoder from left to right. Token ids of shape B, S enter the embedding, whose result has the shape B, S, D; positions are added. Then comes a frame, marked N times: self-attention, a plus sign joined by an arrow that goes round the attention, layer norm, feed-forward, a second plus sign with its own arrow round the feed-forward, and a second layer norm. The output again has the shape B, S, D.](images/encoder_overview.svg)

# %% [markdown]
# ### Three dimensions, three directions
#
# Every tensor in there has the shape `(B, S, D)`: sentences in the batch, tokens in a sentence, features of a token. It helps more than anything else to ask of each part **along which of the three it moves information**:
#
# | part | along the features D | along the length S | along the batch B |
# |---|---|---|---|
# | embedding, linear layers, layer norm, the feed-forward network | yes | no | no |
# | attention | yes, by its projections | **yes, and nothing else does** | no |
# | batch norm, which a Transformer does not have | no | yes | yes |
#
# Nothing may ever move along B: what happens to one sentence must not depend on which others happen to share its batch.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Where in an encoder does a `for` loop over positions, or over sentences, have to stand?
#
# <details><summary>Answer</summary>
#
# Nowhere. A linear layer treats all B · S tokens as rows of one matrix product, and attention compares all pairs of a sentence in one product as well. The only thing that has to wait is layer n + 1 for layer n. A recurrent network needs S steps one after the other, since step t needs the state of step t − 1; an encoder needs N, whatever the length. That is where its parallelism comes from (section 4 and table 1 of the paper).
#
# </details>

# %% [markdown]
# ## Layer norm
#
# As vectors pass through a deep network their size drifts, and every layer has to learn on ground that moves. Layer norm brings each token's vector back: subtract the mean of its D features, divide by their standard deviation, then let the network choose its own scale and offset, feature by feature (Ba et al. 2016, arXiv:1607.06450):
#
# LN(x) = γ · (x − μ) / √(σ² + ε) + β
#
# Here μ and σ² are the mean and the variance **of one token's features**, γ and β are learnt vectors of length D, called `weight` and `bias` in PyTorch, and ε is a small number that keeps a constant vector from dividing by zero.

# %% demo
token = torch.tensor([2.0, 4.0, 4.0, 10.0])
centred = token - token.mean()
variance = (centred**2).mean()
print(f"mean {token.mean():.1f}   variance {variance:.1f}   standard deviation {variance.sqrt():.1f}")
plots.bars({"one token": token, "after layer norm": centred / variance.sqrt()}, ["1", "2", "3", "4"]);

# %% [markdown]
# Two details are easy to get wrong, and hard to see afterwards.
#
# **Which variance.** Statistics knows two: divide the sum of squares by D, or by D − 1. Layer norm divides by **D**, the number of features (the "biased" variance). For D = 512 the difference is a tenth of a per cent; for D = 4 it is not. PyTorch's `var` and `std` divide by D − 1 unless told otherwise.
#
# **Where ε goes.** Under the root, added to the variance. Outside the root it would have another effect, because √(σ² + ε) is not σ + ε.

# %% [markdown]
# ### Layer norm or batch norm
#
# ![Two blocks of cubes, each with the directions batch, length and features. In the left block, layer norm, one bar along the features is coloured: the numbers of one token of one sentence, which are normalised together. In the right block, batch norm, one whole slice is coloured: one feature of all tokens of all sentences.](images/encoder_norms.svg)
#
# Batch norm (Ioffe and Szegedy 2015, arXiv:1502.03167) asks how unusual a feature is **among all tokens of all sentences** of the batch. Layer norm asks how it compares with the other features **of the same token**. So let us change one sentence and watch its neighbour.

# %% demo
torch.manual_seed(1)
x = torch.randn(2, 5, 8)  # (B, S, D)
changed = x.clone()
changed[1] *= 3  # sentence 1 changes, sentence 0 does not

layer_norm, batch_norm = nn.LayerNorm(8), nn.BatchNorm1d(8)  # batch norm wants (B, D, S)
moves = {
    "layer norm": (layer_norm(x) - layer_norm(changed))[0],
    "batch norm": (batch_norm(x.mT) - batch_norm(changed.mT))[0].mT,
}
encoder_plots.moved({name: move.detach() for name, move in moves.items()}, "output of sentence 0");

# %% [markdown]
# With batch norm, sentence 0 comes out differently because of its neighbour. For text that is a poor bargain: sentences have different lengths, padding would enter the statistics, batches are sometimes as small as one, and a decoder that writes one token at a time has no batch to speak of. Batch norm keeps running averages for such occasions, so that it computes one thing in training and another in use. Layer norm needs no such thing: it does the same in training and in use, for one token as for a thousand.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** We multiply all features of a token by 10 and add 3 to each. How does its layer norm change?
#
# <details><summary>Answer</summary>
#
# Hardly at all: the mean takes the 3 away and the standard deviation the 10. Only ε notices, and it is tiny. Layer norm throws away a token's length and its mean; what is left is the pattern.
#
# </details>

# %% [markdown]
# ### Exercise 1: `LayerNorm` (3 points)
#
# Two parameters of length d_model: `weight`, which starts at ones, and `bias`, which starts at zeros. Normalise over the last dimension, whatever comes before it. The work is to be yours: `nn.LayerNorm` and `F.layer_norm` are not accepted here.

# %% solution layer-norm
class LayerNorm(nn.Module):
    """Bring each token's features to mean 0 and variance 1, then scale and shift them.

    Ba et al. 2016, arXiv:1607.06450, section 3. Attributes: weight (d_model,), ones at the start,
    and bias (d_model,), zeros at the start; both learn.
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
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}: is there a return?"
assert y.shape == x.shape, f"Expected the shape of x, {tuple(x.shape)}, got {tuple(y.shape)}."
assert torch.all(y[0, 1].abs() < 1e-3), (
    f"A token whose features are all equal gives zeros, got {y[0, 1]}. What does eps do?"
)
by_hand = torch.tensor([-1.0, -1 / 3, -1 / 3, 5 / 3])
assert torch.allclose(y[0, 0], by_hand, atol=1e-3), (
    f"By hand: mean 5, variance 9, so {by_hand}. Got {y[0, 0]}. Divided by D, or by D − 1?"
)
assert {name for name, _ in norm.named_parameters()} >= {"weight", "bias"}, (
    "An optimiser should find the parameters weight and bias. What makes a tensor a parameter?"
)
theirs, mine = nn.LayerNorm(6, eps=0.5), LayerNorm(6, eps=0.5)
for module in (theirs, mine):
    dissection.draw_weights(module, seed=1)  # the same numbers for both
x = torch.randn(3, 5, 6)
assert torch.allclose(mine(x), theirs(x), atol=1e-5), (
    "With the same weights and a large eps this should equal nn.LayerNorm. Where does eps go?"
)
print("LayerNorm: the visible tests pass, and it agrees with nn.LayerNorm")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Three lines: a mean for each token, a variance for each token, and the formula. `nn.Parameter(tensor)` makes a tensor that learns.
#
# </details>
#
# <details><summary>Hint 2: shapes do not fit?</summary>
#
# The mean of a (2, 5, 8) tensor over its last dimension has the shape (2, 5), which does not line up with (2, 5, 8). Reductions can keep the reduced dimension with size 1, as in lesson 3.
#
# </details>
#
# <details><summary>Hint 3: nearly right</summary>
#
# The tests give numbers by hand: compare. If yours are smaller by the factor √(3/4), look up the argument of `var` that decides between D and D − 1. If only the comparison with the large eps fails, look under the root.
#
# </details>

# %% [markdown]
# ## The feed-forward network
#
# Attention *moves* things: what it puts out is a weighted mean of values, and the values are a linear function of the tokens. Something has to *make* something of what was moved. That is the second sublayer, two linear layers with a ReLU between them (section 3.3, equation 2):
#
# FFN(x) = max(0, x W₁ + b₁) W₂ + b₂
#
# It is applied to each position **separately and identically**: the same weights for every token of the sentence, and no token sees another. (The paper calls it two convolutions with kernel size 1.) The weights differ from layer to layer.

# %% [markdown]
# ### Why a ReLU, and why so wide
#
# Two linear layers one after the other are one linear layer: W₂(W₁x) is (W₂W₁)x. Only the ReLU between them makes the extra width worth anything. With it, each of the d_ff hidden units answers a question of its own ("is this a plural noun after a negation?"), stays silent where the answer is no, and writes its row of W₂ into the output where it is yes. Geva et al. 2021 (arXiv:2012.14913) read trained feed-forward layers in this way, as keys that detect patterns and values that are written.

# %% demo
torch.manual_seed(2)
wide, narrow = nn.Linear(1, 30), nn.Linear(30, 1)
line = torch.linspace(-3, 3, 61)[:, None]  # (61, 1): one feature, 61 tokens
with torch.no_grad():
    bent = narrow(F.relu(wide(line))).flatten().tolist()
    straight = narrow(wide(line)).flatten().tolist()
encoder_plots.lines(line.flatten().tolist(), {"with ReLU": bent, "without": straight},
                    labels=("x, the only feature", "output"));

# %% [markdown]
# **How wide?** The input and output are d_model wide, since the output is added to the input. The hidden layer has d_ff units: 2048 for d_model = 512 in the paper, a factor of four that most models have kept. Count what that means for a layer of the paper's base model.

# %% demo
d_model, d_ff = 512, 2048
attention = 4 * (d_model * d_model + d_model)  # w_q, w_k, w_v, w_o
feed_forward = (d_model * d_ff + d_ff) + (d_ff * d_model + d_model)  # linear1, linear2
norms = 2 * 2 * d_model  # two norms with weight and bias
total = attention + feed_forward + norms
for name, count in {"attention": attention, "feed-forward": feed_forward, "norms": norms}.items():
    print(f"{name:13} {count:9,}   {count / total:6.1%}")

# %% [markdown] slide="subslide"
# **Predict, then reveal.** The sentence is shuffled before it enters the feed-forward network. What comes out?
#
# <details><summary>Answer</summary>
#
# The same vectors, shuffled in the same way. The network does not know where a token stands, nor who stands beside it; like attention without positions it has no sense of order. Order is in the vectors themselves, since lesson 2 put it there.
#
# </details>

# %% [markdown]
# ### Exercise 2: `FeedForward` (3 points)
#
# Two linear layers with bias, `linear1` from d_model to d_ff and `linear2` back, ReLU between them, and dropout between them as well: before or after the ReLU, which comes to the same. After `linear2` there is neither.

# %% solution feed-forward
class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, for each position (Vaswani et al. 2017, section 3.3).

    Attributes: linear1, Linear(d_model, d_ff); linear2, Linear(d_ff, d_model). In train mode a share
    `dropout` of the hidden features is dropped.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Work on each token by itself. x: (..., d_model). Returns: the same shape."""
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
assert isinstance(y, torch.Tensor), f"Expected a tensor, got {type(y).__name__}: is there a return?"
assert y.shape == x.shape, f"Expected the shape of x, {tuple(x.shape)}, got {tuple(y.shape)}."
assert torch.allclose(network(x[:, 2:3]), y[:, 2:3], atol=1e-6), (
    "Token 2 alone should give what it gives in its sentence. Is every position treated by itself?"
)
assert (y < 0).any(), "Some outputs should be negative. Is there a ReLU after linear2?"
nn.init.constant_(network.linear1.bias, -1000.0)  # every hidden unit stays silent
silent = network.linear2.bias.expand(2, 5, 6)
assert torch.allclose(network(x), silent), (
    "Where the ReLU lets nothing through, only the bias of linear2 is left. Is the ReLU in between?"
)
tiny = FeedForward(d_model=1, d_ff=1, dropout=0.0)
for linear in (tiny.linear1, tiny.linear2):  # both hand on what comes in
    nn.init.ones_(linear.weight)
    nn.init.zeros_(linear.bias)
through = tiny(torch.tensor([[-0.5], [0.5]])).flatten().tolist()
assert through == [0.0, 0.5], f"A ReLU makes 0 of −0.5 and leaves 0.5 alone, got {through}."
dropping = FeedForward(d_model=6, d_ff=2000, dropout=0.5)
assert not torch.equal(dropping(x), dropping(x)), (
    "In train mode, two calls should differ by what is dropped. Is dropout used?"
)
dropping.eval()
assert torch.equal(dropping(x), dropping(x)), (
    "In eval mode nothing is dropped, so two calls agree. Does dropout know the mode?"
)
print("FeedForward: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The formula is the program: linear, ReLU, dropout, linear. Linear layers act on the last dimension and let all others come along, so there is nothing to reshape.
#
# </details>
#
# <details><summary>Hint 2: dropout</summary>
#
# `nn.Dropout(p)` as a part of the module switches itself off in `eval()`. The function `F.dropout` is live unless it is told `training=self.training`.
#
# </details>

# %% [markdown]
# ## Skip connections
#
# A sublayer does not replace its input, it **adds** to it: x + Sublayer(x) (section 3.1; the idea is that of He et al. 2016, arXiv:1512.03385). Two things follow.
#
# - **Forwards**, a token's own vector, with its position in it, reaches the top of the stack even if some layer has nothing to say. A layer only has to learn what to *change*.
# - **Backwards**, the derivative of x + f(x) is 1 + f′(x). Through N layers a gradient is multiplied by N such factors, and the 1 keeps a path open on which it is handed down without going through the weights of any sublayer.
#
# The sum has to have the shape of x: that is why attention and feed-forward both return to d_model, and why *all* parts of the model have that one width (section 3.1).

# %% [markdown]
# ### Where the norm goes
#
# ![Two chains from left to right. Above, post-norm, as in the paper: x goes into the sublayer and around it, both meet at a plus sign, and the sum goes through layer norm, which therefore lies across the direct way. Below, pre-norm: x goes around, and on the other branch first through layer norm, then through the sublayer; both meet at the plus sign, so that the direct way has nothing on it.](images/encoder_pre_post.svg)
#
# The paper normalises **after** the sum, LayerNorm(x + Sublayer(x)): **post-norm**. Many models since, GPT-2 among them (Radford et al. 2019, section 2.3), normalise the **input of the sublayer** instead, x + Sublayer(LayerNorm(x)): **pre-norm**. We build post-norm here and pre-norm in lesson 6. Neither is a mistake; mixing them up is.

# %% [markdown]
# Xiong et al. 2020 (arXiv:2002.04745) showed what the choice does to a freshly initialised network. Under pre-norm, their bound on the gradient of the last layer's weights shrinks with the depth like 1/√N; under post-norm it does not shrink at all (theorem 1). Large gradients at the top of a freshly drawn network are why the original Transformer needs its slow start, the warm-up of lesson 7; with pre-norm one can do without. The following cell measures a single draw for each depth.

# %% demo
def last_gradient(depth, norm_first, d_model=64):
    """The norm of the gradient of linear2 in the last of `depth` fresh layers of PyTorch's."""
    torch.manual_seed(3)
    build = dict(d_model=d_model, nhead=4, dim_feedforward=256, dropout=0.0, batch_first=True)
    layers = [nn.TransformerEncoderLayer(**build, norm_first=norm_first) for _ in range(depth)]
    tail = [nn.LayerNorm(d_model)] if norm_first else []  # pre-norm needs a norm at the end
    model = nn.Sequential(*layers, *tail, nn.Linear(d_model, 50))
    for parameter in (p for layer in layers for p in layer.parameters() if p.dim() > 1):
        nn.init.xavier_uniform_(parameter)
    logits = model(torch.randn(16, 10, d_model))  # (16, 10, 50)
    F.cross_entropy(logits.flatten(0, 1), torch.randint(50, (160,))).backward()
    return layers[-1].linear2.weight.grad.norm().item()


depths = (1, 2, 4, 8, 16)
found = {name: [last_gradient(n, first) for n in depths]
         for name, first in (("post-norm", False), ("pre-norm", True))}
plots.curves(depths, found, labels=("layers", "gradient at the last layer"), base=2);

# %% [markdown]
# ### Exercise 3: `EncoderLayer` (6 points)
#
# Both sublayers, each as **norm(x + dropout(sublayer(x)))** (sections 3.1 and 5.4). Keep the names: `self_attention` is a `MultiHeadAttention`, `feed_forward` a `FeedForward`, `norm1` belongs to the first and `norm2` to the second; they are two norms with weights of their own. The second sublayer works on what the first has left, norm included.
#
# `mask` is handed to the attention; `None` means that everything may be read. `dropout` acts on what each sublayer returns, before it is added, and inside the feed-forward network. Whether it also acts on the attention weights is up to you.

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
        """Let the tokens read each other, then let each work on what it has read.

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
    f"Expected self_attention, feed_forward, norm1 and norm2, found {sorted(parts)}."
)
x = torch.randn(3, 6, 8)
y = layer(x)
assert isinstance(y, torch.Tensor), (
    f"Expected a tensor, got {type(y).__name__}. What does the attention return?"
)
assert y.shape == x.shape, f"Expected the shape of x, {tuple(x.shape)}, got {tuple(y.shape)}."
assert torch.allclose(y.mean(dim=-1), torch.zeros(3, 6), atol=1e-5), (
    "A fresh norm gives every token mean 0. Is a norm the last thing that happens to y?"
)
layer.norm1.weight.data.mul_(2.0)
assert not torch.allclose(layer(x), y, atol=1e-4), "norm1 makes no difference. Is it used?"

dissection.draw_weights(layer, seed=4)  # norms too: nothing hides behind ones and zeros
real = torch.arange(6) < torch.tensor([[6], [4], [2]])  # (3, 6): lengths 6, 4 and 2
theirs = dissection.torch_twin(layer, num_heads=2)  # nn.TransformerEncoderLayer, same weights
expected = theirs(x, src_key_padding_mask=~real)  # PyTorch: True = is padding
assert torch.allclose(layer(x), theirs(x), atol=1e-5), (
    "Without a mask it differs from nn.TransformerEncoderLayer. What is added to what, and when?"
)
assert torch.allclose(layer(x, real[:, None]), expected, atol=1e-5), (
    "With padding it differs from nn.TransformerEncoderLayer. Does the mask reach the attention?"
)
dropping = EncoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=1.0)  # drops all there is to drop
bare = dropping.norm2(dropping.norm1(x))
assert torch.allclose(dropping(x), bare, atol=1e-6), (
    "With dropout=1.0 both sublayers should add nothing in train mode. Is each one's output dropped?"
)
print("EncoderLayer: the visible tests pass, and it agrees with nn.TransformerEncoderLayer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Write norm(x + dropout(sublayer(x))) down twice, once for each sublayer. What is x in the second?
#
# </details>
#
# <details><summary>Hint 2: attention returns two things</summary>
#
# Self-attention means that queries, keys and values all come from x. The attention of lesson 4 returns its output and its weights; only one of them can be added to x.
#
# </details>
#
# <details><summary>Hint 3: close, but not equal to PyTorch's</summary>
#
# Take the four parts one at a time. Set `layer.self_attention.w_o` and `layer.feed_forward.linear2` to zeros, weight and bias: both sublayers now return nothing, and what remains should be `norm2(norm1(x))`. Then let one of them back in.
#
# </details>

# %% [markdown]
# ## The stack
#
# What is left is to put the layers on top of each other. Two questions decide whether the stack is right.
#
# **Is the mask in all layers?** A pad's vector is not zero above the first layer: its position was added, and it has read the sentence like every other token. The mask is all that keeps it from being read, so every layer needs it.
#
# **Has every layer its own weights?** `[EncoderLayer(…)] * 6` is a list that holds *one* layer six times. And a plain Python list hides its layers from `parameters()`, so that an optimiser never trains them; `nn.ModuleList` does not.

# %% demo
six_times_one = nn.ModuleList([nn.Linear(4, 4)] * 6)
six = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))
for name, stack in {"[layer] * 6": six_times_one, "six layers": six}.items():
    print(f"{name:12} {len(stack)} entries, {sum(p.numel() for p in stack.parameters())} parameters")

# %% [markdown]
# ### Exercise 4: `Encoder` (5 points)
#
# `embedding` is a `TokenEmbedding`, `position` a `PositionalEncoding`, `layers` holds `num_layers` encoder layers. Ids go through them in this order. `mask` goes to every layer, and `None` means no mask, even where there is padding. After the last layer nothing follows: its own norm was the last (`nn.Transformer` adds one more, the paper does not). `max_len` goes to the position, and `dropout` to the position and to every layer (section 5.4). The factor √d_model is already in `TokenEmbedding`.

# %% solution encoder
class Encoder(nn.Module):
    """Embedding, positions and a stack of layers (Vaswani et al. 2017, section 3.1, figure 1, left).

    Attributes: embedding, TokenEmbedding; position, PositionalEncoding; layers, num_layers
    EncoderLayers with weights of their own. There is no further norm after them.
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
        """Turn token ids into vectors that know their sentence.

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
assert len({id(layer) for layer in encoder.layers}) == 3, "The layers are one and the same object."
ids = torch.tensor([[5, 9, 4, 7, 2, 0], [6, 4, 2, 0, 0, 0]])
mask = padding_mask(ids)  # (2, 1, 6)
y = encoder(ids, mask)
assert y.shape == (2, 6, 8), f"Ids (2, 6) and d_model 8 give (2, 6, 8), got {tuple(y.shape)}."
y.square().sum().backward()
without = [name for name, p in encoder.named_parameters() if p.grad is None]
found = sum(p.numel() for p in encoder.parameters())
assert not without, f"No gradient reaches {without}. Which part is made, but not used?"
assert found == 20 * 8 + 3 * 532, (
    f"Expected {20 * 8 + 3 * 532} parameters (160 in the table, 532 a layer), parameters() finds {found}."
)
short = encoder(ids[1:, :3], mask[1:, :, :3])
assert torch.allclose(short, y[1:, :3], atol=1e-5), (
    "Padding changes the real tokens of sentence 1. Does the mask reach every layer?"
)
other = ids.clone()
other[0, 3] = 8  # flip one token of sentence 0
moved = (encoder(other, mask) - y)[0, :5].abs().amax(dim=-1)  # (5,)
assert (moved > 1e-6).all(), (
    f"Every real token should notice that token 3 changed, they move by {moved.tolist()}."
)
swapped = encoder(ids[:1, [1, 0, 2, 3, 4]])
assert not torch.allclose(swapped[:, [1, 0, 2, 3, 4]], encoder(ids[:1, :5]), atol=1e-3), (
    "Swapping two words only swaps their outputs. Where do the positions come in?"
)
longer = Encoder(vocab_size=20, d_model=8, num_layers=1, num_heads=2, d_ff=12, max_len=520)
assert longer(torch.full((1, 515), 4)).shape == (1, 515, 8), (
    "With max_len=520 a sentence of 515 tokens should pass. Does max_len reach the positions?"
)
print("Encoder: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The figure at the top is the program. Each part's output is the next part's input: keep calling it x.
#
# </details>
#
# <details><summary>Hint 2: several layers</summary>
#
# `nn.ModuleList` takes a list, or a generator such as `(… for _ in range(n))`, in which the constructor is called n times. It can be looped over like a list.
#
# </details>
#
# <details><summary>Hint 3: the parameters do not add up</summary>
#
# 160 too few: is the embedding a part of the module? 532 or 1064 too few: do layers share their weights, or are they in a plain list? Too many: is there a norm or a projection that nobody asked for?
#
# </details>

# %% [markdown]
# ## The same weights in PyTorch's layers
#
# Three layers of our own, and three `nn.TransformerEncoderLayer` with copies of their weights, two sentences of different lengths. PyTorch's padding mask has the other polarity (lesson 3), hence the `~`.

# %% demo
encoder = Encoder(vocab_size=20, d_model=8, num_layers=3, num_heads=2, d_ff=12).eval()
dissection.draw_weights(encoder, seed=6)
twins = [dissection.torch_twin(layer, num_heads=2) for layer in encoder.layers]

ours = dissection.layer_outputs(encoder, ids, mask)  # the output of each layer, (2, 6, 8)
theirs = encoder.position(encoder.embedding(ids))
for number, (twin, output) in enumerate(zip(twins, ours), start=1):
    theirs = twin(theirs, src_key_padding_mask=~mask[:, 0])  # (2, 6, 8)
    print(f"after layer {number}: largest difference {(theirs - output).abs().max():.1e}")

# %% [markdown]
# ## Flip a token: who notices?
#
# A counterfactual says more than a thousand weights: change one token, leave everything else as it is, and measure how far each output moves. In an encoder everyone reads everyone, so **every** output must move. Padding, on the other hand, must move **nothing**.

# %% demo
words = ["the", "cat", "drank", "its", "milk", "<eos>"]
torch.manual_seed(8)
encoder = Encoder(vocab_size=40, d_model=32, num_layers=3, num_heads=4, d_ff=64).eval()
nn.init.normal_(encoder.embedding.embed.weight, std=32**-0.5)
sentence = torch.tensor([[5, 9, 13, 7, 21, 2]])


def moves(ids, changed, mask=None, changed_mask=None):
    """How far each output moves when ids (1, S) become `changed` (1, S or more): (S,)."""
    with torch.no_grad():
        before, after = encoder(ids, mask), encoder(changed, changed_mask)
    return (after[:, : ids.size(1)] - before).norm(dim=-1)[0]


rows = []
for position in range(6):
    flipped = sentence.clone()
    flipped[0, position] = 30  # another word in its place
    rows.append(moves(sentence, flipped))
table = torch.stack(rows)  # (6, 6)
plots.heatmap(table, [f"flip “{word}”" for word in words], words, limits=(0.0, float(table.max())));

# %% [markdown]
# No entry is 0. The diagonal stands out: a token's own output feels it most, since the skip connections hand its vector on. Now padding: three pads behind the sentence, with and without the mask.

# %% demo
padded = F.pad(sentence, (0, 3))  # (1, 9): <pad> is 0
cases = {
    "flip “cat”": table[1],
    "flip “milk”": table[4],
    "3 pads, with the mask": moves(sentence, padded, None, padding_mask(padded)),
    "3 pads, no mask": moves(sentence, padded),
}
plots.bars(cases, words, top=1.2 * float(table[1].max()));

# %% [markdown]
# With the mask nothing moves beyond the rounding of float32. Without it, everything does, and no error is raised: the model would simply read its padding. Choose the token to flip yourself (the slider needs a running kernel; the heat map above says the same).

# %% demo
from ipywidgets import IntSlider, interact


@interact(position=IntSlider(value=1, min=0, max=5, continuous_update=False))
def flip(position):
    """Drag the position: every bar moves, the one of the flipped word most."""
    title = f"“{words[position]}” becomes another word"
    plots.bars({title: table[position]}, words, marked=[words[position]], top=1.2 * float(table.max()))
    plt.show()

# %% [markdown]
# ## The experiment: cut the skip connections
#
# What would the stack be without them? We take an encoder of 8 layers and cut them, without touching a line of your code: a sublayer that returns f(x) − x makes of the skip connection x + f(x) − x = f(x). Everything else stays, the weights included.

# %% demo
torch.manual_seed(5)
whole = Encoder(vocab_size=20, d_model=32, num_layers=8, num_heads=4, d_ff=64, dropout=0.0)
nn.init.normal_(whole.embedding.embed.weight, std=32**-0.5)
encoders = {"with skips": whole, "without": dissection.without_skips(whole)}

batch = torch.randint(4, 20, (400, 10))  # 400 sentences of 10 random tokens
outputs = {name: dissection.layer_outputs(model, batch) for name, model in encoders.items()}

# %% [markdown]
# **How different are the tokens of a sentence?** Take away the mean of each sentence, and ask what share of the vectors' length is left.

# %% demo
def spread(x):
    """How much of x (B, S, D) remains when the mean over the sentence is taken away: 0 to 1."""
    return ((x - x.mean(dim=1, keepdim=True)).norm() / x.norm()).item()


depths = range(1, 9)
found = {name: [spread(x) for x in layers] for name, layers in outputs.items()}
encoder_plots.lines(depths, found, labels=("layer", "difference between tokens"), log=True);

# %% [markdown]
# The scale is logarithmic. Without skips, the tokens of a sentence have become one and the same vector after three layers, up to the rounding of float32: each attention averages over the sentence, and averages of averages soon agree. Dong et al. 2021 (arXiv:2103.03404) prove that attention without skip connections loses its rank doubly exponentially with depth. Whatever a later layer does, it cannot tell *cat* from *milk* any more.
#
# **What can still be read off?** From each output vector, a linear map is to tell at which position it stands, and which token it belongs to.

# %% demo
positions = torch.arange(10).expand(400, 10).flatten()  # (4000,)
questions = {"position": positions, "token": batch.flatten()}
found = {
    f"{question}, {name}": [dissection.read_off(x.flatten(0, 1), labels) for x in layers]
    for question, labels in questions.items()
    for name, layers in outputs.items()
}
encoder_plots.lines(depths, found, labels=("layer", "share told right"));

# %% [markdown]
# This is **how position survives the stack**. It is added once, at the bottom, and no layer is told again where a token stands. The skip connections carry it up, together with the token itself. Without them the position is all but gone after the first layer, and gone after the second, where it is told no better than by chance (0.10). (These layers are untrained. Training can find ways to keep more, if a gradient reaches it.)

# %% [markdown]
# **And backwards?** We ask for the token at every position, as if to train, and measure the gradient that arrives at each layer's output.

# %% demo
found = {}
for name, layers in outputs.items():
    torch.manual_seed(9)
    logits = nn.Linear(32, 20)(layers[-1])  # (400, 10, 20)
    F.cross_entropy(logits.flatten(0, 1), batch.flatten()).backward()
    found[name] = [x.grad.norm().item() for x in layers]
encoder_plots.lines(depths, found, labels=("layer", "size of the gradient"), log=True);

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Both encoders are now trained to say the sentence backwards, for 150 steps. Chance is 1 in 16. How far does each get?
#
# <details><summary>Answer</summary>
#
# Run the next cell. With skips it is solved; without them it stays near chance. Note that nothing is *forbidden* without skips: there are weights with which it would work. They are not found.
#
# </details>

# %% demo
def learn_backwards(model, steps=150, every=10):
    """Train a model and a linear layer to reverse 8 random tokens; the share told right, by step."""
    torch.manual_seed(1)
    head = nn.Linear(32, 20)
    optimiser = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=3e-3)
    history = []
    for step in range(steps):
        ids = torch.randint(4, 20, (32, 8))
        logits = head(model(ids))  # (32, 8, 20)
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flip(1).flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        history.append((logits.argmax(dim=-1) == ids.flip(1)).float().mean().item())
    return torch.tensor(history).view(-1, every).mean(dim=1).tolist()


torch.manual_seed(5)
small = Encoder(vocab_size=20, d_model=32, num_layers=4, num_heads=4, d_ff=64, dropout=0.0)
nn.init.normal_(small.embedding.embed.weight, std=32**-0.5)
learners = {"without": dissection.without_skips(small), "with skips": small}
found = {name: learn_backwards(model) for name, model in learners.items()}
encoder_plots.lines(range(10, 151, 10), found, labels=("step", "share told right"));

# %% [markdown]
# ## Exercise 5: dense layers (1 point)
#
# Answer in your own words, in the cell below: three or four sentences are enough.

# %% written dense-layers 1 [markdown]
# **Question.** Each encoder layer has a feed-forward network of two dense (linear) layers. (a) Are these dense layers the same in different encoder layers, and are they the same at different positions of one sentence? (b) What are their widths, in symbols and in the base model of the paper, and which of the widths is fixed by the rest of the model?
#
# ### BEGIN SOLUTION
# (a) Every encoder layer has dense layers with weights of its own, so those of different encoder layers have the same form but are not the same. Within one layer the same weights are applied at every position, each position by itself. (b) The first leads from d_model to d_ff and the second from d_ff back to d_model, in the base model 512 → 2048 → 512. Input and output have to be d_model wide, because the result is added to the input by the skip connection; d_ff can be chosen freely.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# 1 point, a quarter for each of:
#
# 1. **Between layers**: not the same; each encoder layer has weights (parameters) of its own. "Same shape, different weights" is the full answer; "the same" alone is wrong.
# 2. **Between positions**: the same weights for every position of a sentence ("position-wise", "kernel size 1", "shared along the sequence").
# 3. **Widths**: d_model → d_ff → d_model, or 512 → 2048 → 512. Either symbols or numbers will do; the hidden width has to be named as different from d_model.
# 4. **What is fixed**: input and output are bound to d_model, by the sum with x (skip connection), or because the next layer expects d_model; d_ff is free.
#
# Not accepted for 3: a width that depends on the sentence length, or on the number of heads. Language and length are not marked.
# ### END MARK SCHEME

# %% [markdown]
# ## Exercise 6: skip connections (2 points)
#
# Answer in your own words, in the cell below: five to eight sentences. Refer to the experiment above.

# %% written skip-connections 2 [markdown]
# **Question.** Why does a Transformer have skip connections, and what happens without them? Say (a) what they do for the signal on the way up and (b) for the gradient on the way down, and (c) name at least one thing that was measured in the experiment above when they were cut, and explain it.
#
# ### BEGIN SOLUTION
# On the way up each sublayer adds to its input instead of replacing it. So a token's own vector, with the position that was added once at the bottom, is carried through all layers, and a layer has to learn only what to change; one with nothing to say does no harm. On the way down the derivative of x + f(x) is 1 + f′(x): the 1 leaves a path on which the gradient reaches the early layers without having to pass through the weights of every sublayer, so it does not die away with depth and deep stacks can be trained.
#
# In the experiment all tokens of a sentence became the same vector within three layers once the connections were cut: attention is an average, and repeated averaging makes everything alike (loss of rank). Accordingly the position could no longer be read off after the second layer, and the token hardly. The gradient became smaller from layer to layer towards the input, and the encoder without skips did not learn to reverse eight tokens, while the one with skips did.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# 2 points, half a point for each of:
#
# 1. **Forwards**: the input is handed on unchanged beside the sublayer; a token keeps its identity *or* its position through the stack, or a layer learns only a change (a residual) and can easily do nothing.
# 2. **Backwards**: the gradient has a direct way down, since the derivative of x + f(x) contains a 1 (or: the identity), which keeps it from vanishing in deep stacks. "Gradients vanish without them" without any reason: a quarter.
# 3. **A measurement**: one result of the experiment is reported correctly: tokens become alike, the position (or the token) can no longer be read off, the gradient shrinks towards the input, or the reversal is not learnt.
# 4. **Its explanation**: the reported result is explained, for instance: attention averages, and averages of averages agree; the position is added only once and nothing else carries it up; nothing that early layers do reaches the loss.
#
# Quarter points for half of an item. Not accepted as a reason: "they save parameters" or "they save computation" (they do neither), "they normalise" (the norm does), "they prevent overfitting". Wrong and worth a comment, without taking points away again: that skip connections let tokens read each other (attention does). Language and length are not marked.
# ### END MARK SCHEME

# %% [markdown]
# ## What you can do now
#
# You have built the left half of the Transformer. Its layers are two sublayers in the same wrapping, and you know what each piece of the wrapping is for: the skip connection carries tokens and positions up and gradients down, the norm keeps each token's numbers in one size, and neither lets one sentence touch another. It agrees with PyTorch's own layer, with padding and all.
#
# **Lesson 6** builds the right half, the decoder. It has the same parts, a third sublayer that reads what the encoder wrote, and a mask that hides the future.
#
# **Read on**: Vaswani et al. 2017, section 3.1. For where the norm should go: Xiong et al. 2020, arXiv:2002.04745, section 3.
