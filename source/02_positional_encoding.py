# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 2 · Positional encoding
#
# **You will be able to**
#
# - explain why a Transformer has to be told the order of its tokens, and what exactly is lost if nobody does;
# - write the sinusoidal encoding without a loop, and say why its index goes in steps of 2;
# - recognise the most common mistake in published code by looking at a picture;
# - add positions to a batch of embeddings, with a buffer and with dropout in the right place;
# - show that moving on by k positions is one fixed rotation, and build its matrix;
# - weigh an encoding that is computed against an embedding that is learnt.
#
# **Time** about 75 minutes · **Difficulty** medium · **Before this** lesson 1
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, section 3.5, and the last sentence of section 3.4.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 2 is highlighted: the two positional encodings, which are added right after the embeddings.](images/map_02.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `sinusoidal_encoding` | 5 | 3.5, the two formulas |
# | `PositionalEncoding` | 5 | 3.5, and 5.4 for the dropout |
# | `shift_matrix` | 4 | 3.5, "a linear function of PE(pos)" |
# | `LearnedPositionalEmbedding` | 4 | 3.5, and table 3, row E |
# | choices | 2 | 3.5 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2);

# %% demo
import matplotlib.pyplot as plt

from coursework import plots, position_plots

plots.use_style()

# %% [markdown]
# ## A sentence, or a bag of words?
#
# A recurrent network reads one word after the other, so it knows the order whether it wants to or not. Attention, the subject of the next lesson, reads all words at once, and lets each of them collect a mixture of the others. Which word stands where plays no part in it. Let us see that before we repair it: below, PyTorch's own attention layer reads three words, and then the same words in another order.

# %% demo
words = ["dog", "bites", "man"]
tokens = torch.randn(1, 3, 8)  # one vector for each word: (B, S, D)
order = [2, 1, 0]  # "man bites dog"
layer = nn.MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True).eval()

with torch.no_grad():
    straight, _ = layer(tokens, tokens, tokens)  # (1, 3, 8)
    mixed = tokens[:, order]
    turned, _ = layer(mixed, mixed, mixed)  # (1, 3, 8)

for place, index in enumerate(order):
    word = words[index]
    same = torch.allclose(straight[0, index], turned[0, place], atol=1e-6)
    print(f"{word:6} gets the same output in both sentences: {same}")

# %% [markdown]
# The dog that bites and the dog that is bitten come out as the same vector. Without positions, shuffling the input shuffles the output and does nothing else: the layer is *permutation-equivariant*, and a sentence is a **bag of words** to it.
#
# The cure of the paper is disarmingly simple. Give each position a vector, as wide as an embedding, and **add** it to whatever token stands there (section 3.5). Then "dog at position 0" and "dog at position 2" are different vectors, and every layer can tell them apart.

# %% [markdown]
# ## What should such a vector look like?
#
# A few ideas come to mind, and each teaches something.
#
# - **The number itself**, 0, 1, 2, …: position 500 would be five hundred times as loud as position 1, and drown the token.
# - **A fraction of the length**, pos / S: bounded, but "the next word" is then a different step in every sentence.
# - **Binary digits**: bounded, unique, and each column is a clock of its own: the last digit flips at every position, the one before at every second, and so on. Only the jumps are ugly: from 7 to 8 all four digits change at once.
#
# ![Two grids side by side, sixteen positions down and four columns across. On the left the binary digits of 0 to 15: the rightmost column flips at every position, the next at every second, then at every fourth and eighth. On the right four waves run down the page, with periods of 16, 8, 4 and 2 positions and a dot at each position: the same rhythms, without jumps.](images/position_binary.svg)
#
# Replace each flipping digit by a smooth wave of the same rhythm, and you have the idea of the **sinusoidal encoding**: many waves, from fast to slow, of which every position takes one reading.

# %% [markdown]
# ### Clocks
#
# One reading of a wave does not say where you are: a sine of 0.5 may be on its way up or down. So each wave is read twice, as sine and cosine. Together they are the **hand of a clock**: the point (sin, cos) on a circle, whose angle is unmistakable. With d_model = 8 there are four clocks, and the numbers come out round: they turn by 1, 0.1, 0.01 and 0.001 radians per position.
#
# ![Twelve clock faces in three rows and four columns. The columns are the pairs 0 to 3, turning by 1, 0.1, 0.01 and 0.001 radians per position; the rows are positions 1, 10 and 100. At position 1 only the first hand has moved noticeably. At position 10 the second hand stands where the first stood at position 1; at position 100 the third hand does. The fourth has hardly left the top.](images/position_clocks.svg)
#
# Read it like an odometer: the first clock tells neighbours apart, the slow ones tell the chapter. What the first clock shows at position 1, the second shows at position 10 and the third at position 100.

# %% [markdown]
# ### The formula
#
# > PE(pos, 2i) = sin( pos / 10000<sup>2i / d_model</sup> )
# >
# > PE(pos, 2i + 1) = cos( pos / 10000<sup>2i / d_model</sup> )
#
# (section 3.5). Two indices need a second look. **i counts pairs**, from 0 to d_model / 2 − 1. **2i and 2i + 1 count columns**: the even column of a pair holds the sine, the odd one the cosine, of *the same angle*.
#
# ![The eight columns of an encoding with d model 8, grouped into four pairs. Row one: column numbers j from 0 to 7. Row two: the pair number i, 0 to 3, each spanning two columns. Row three: sine and cosine in turn. Row four: the angle of each pair, pos divided by 10000 to the power 0/8, 2/8, 4/8 and 6/8, which is pos, pos / 10, pos / 100 and pos / 1000, one for both columns.](images/position_columns.svg)
#
# **Why steps of 2?** Because a pair takes up two columns. An index that runs 0, 2, 4, … over the columns is already the 2i of the formula. That sentence is worth reading twice, as you will see soon.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What is the encoding of position 0, for any d_model?
#
# <details><summary>Answer</summary>
#
# All angles are 0, so it reads 0, 1, 0, 1, …: sin 0 = 0 and cos 0 = 1, in turn.
#
# </details>
#
# **And** how long is an encoding vector, as a vector?
#
# <details><summary>Answer</summary>
#
# Each pair contributes sin² + cos² = 1 to the square of the length, and there are d_model / 2 pairs. So every position has length √(d_model / 2), whether it is position 0 or 5000: no position is louder than another.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 1: `sinusoidal_encoding` (5 points)
#
# Every model of this course looks up its positions in this table. Row p is the encoding of position p, in float32. Sines stand in the even columns and cosines in the odd ones, pair beside pair. With an odd `d_model` one cosine would have no place: raise a `ValueError`.

# %% solution sinusoidal-encoding
def sinusoidal_encoding(max_len: int, d_model: int) -> torch.Tensor:
    """Encode the positions 0 to max_len - 1 (Vaswani et al. 2017, section 3.5).

    Returns: (max_len, d_model), float32; columns 2i and 2i + 1 hold the sine and the cosine of
    pos / 10000^(2i / d_model). Raises ValueError if d_model is odd.
    """
    ### BEGIN SOLUTION
    if d_model % 2 != 0:
        raise ValueError(f"d_model has to be even, one sine and one cosine a pair; got {d_model}")
    positions = torch.arange(max_len).unsqueeze(1)  # (max_len, 1)
    exponents = torch.arange(0, d_model, 2) / d_model  # (d_model / 2,): the index is 2i already
    angles = positions / 10000**exponents  # (max_len, d_model / 2)
    table = torch.zeros(max_len, d_model)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table
    ### END SOLUTION

# %% test sinusoidal-encoding 5
table = sinusoidal_encoding(5, 6)
assert isinstance(table, torch.Tensor), (
    f"Expected a tensor, got {type(table).__name__}: is there a return?"
)
assert table.shape == (5, 6), (
    f"Five positions of width 6 give (5, 6), got {tuple(table.shape)}."
)
assert table.dtype == torch.float32, f"Expected dtype float32, got {table.dtype}."
assert torch.allclose(table[0], torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 1.0])), (
    f"Position 0 reads sin 0, cos 0, in turn: 0, 1, 0, 1, 0, 1. Got {table[0]}."
)
assert torch.allclose(table[1, :2], torch.tensor([math.sin(1), math.cos(1)])), (
    f"The first pair turns by 1 radian per position; at position 1 yours is {table[1, :2]}."
)
lengths = table.unflatten(1, (3, 2)).square().sum(dim=-1)  # (5, 3): sin² + cos² of each pair
assert torch.allclose(lengths, torch.ones(5, 3)), (
    f"sin² + cos² is 1 if both have the same angle; in your pairs it is {lengths}."
)
by_hand = sinusoidal_encoding(101, 4)[100, 2]  # pos 100, i = 1: 100 / 10000^(2/4) = 1
assert torch.allclose(by_hand, torch.tensor(math.sin(1)), atol=1e-4), (
    f"d_model 4, position 100, column 2: the angle is 100 / 100 = 1, its sine 0.841. Got {by_hand:.3f}."
)
try:
    sinusoidal_encoding(5, 7)
except ValueError:
    print("sinusoidal_encoding: the visible tests pass")
else:
    raise AssertionError("An odd d_model should raise a ValueError; 7 raised nothing.")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Three small pieces make it: the positions, one divisor per pair, and the table of all angles. Only then come sine and cosine. Print the shape of each piece.
#
# </details>
#
# <details><summary>Hint 2: all angles at once</summary>
#
# A column of positions, `(max_len, 1)`, divided by a row of divisors, `(d_model / 2,)`, broadcasts to every combination, `(max_len, d_model / 2)`. Write down the values 2i for d_model = 8 before you write code: they are 0, 2, 4, 6. `torch.arange` takes a start, an end and a step.
#
# </details>
#
# <details><summary>Hint 3: interleaving</summary>
#
# `table[:, 0::2]` names every second column, from column 0 on, and can be assigned to. Which columns does `1::2` name?
#
# </details>

# %% [markdown]
# ## Three ways to look at it
#
# **As a heat map.** Each row is a position, each column one wave. On the left the waves are fast; to the right they slow down until a column seems to stand still. However wide the table, the pattern is the same; a wider one has more waves between the fastest and the slowest.

# %% demo
sizes = (8, 32, 128)
position_plots.tables({f"d_model = {d}": sinusoidal_encoding(100, d) for d in sizes});

# %% [markdown]
# **As waves.** Cut the picture along columns. The two columns of a pair are the same wave, a quarter of a turn apart.

# %% demo
position_plots.waves(sinusoidal_encoding(100, 64), pairs=[0, 4, 8, 16, 31]);

# %% [markdown]
# The **wavelength**, the number of positions for a full turn, grows by the same factor from pair to pair: from 2π ≈ 6.28 towards 10000 · 2π ≈ 62 832 (section 3.5 calls this a geometric progression). The last pair stops a little short of it, because its exponent is (d_model − 2) / d_model, not 1. We do not need the formula to see this. The angle between positions 0 and 1 can be measured in your table.

# %% demo
for d_model in (16, 64, 256):
    turned = position_plots.turned_per_position(sinusoidal_encoding(2, d_model))  # (d_model / 2,)
    wavelengths = 2 * math.pi / turned
    first, last = wavelengths[0].item(), wavelengths[-1].item()
    print(f"d_model {d_model:3}: wavelengths from {first:.2f} to {last:6.0f} positions")

pairs, curve = list(range(128)), {"d_model = 256": wavelengths.tolist()}
position_plots.lines(pairs, curve, labels=("pair", "wavelength in positions"), logarithmic=True);

# %% [markdown]
# A straight line on a logarithmic axis is a geometric progression; a smaller d_model takes the same road in fewer steps. **What does the base 10000 do?** It fixes the slowest clock. With a base of 10 even the slowest clock has gone round within 63 positions, so that positions far apart begin to look alike; with a very large one most clocks hardly move, and are wasted.

# %% demo
table = sinusoidal_encoding(100, 64)
position_plots.tables({f"base {b:,}": position_plots.with_base(table, b) for b in (10, 10**4, 10**7)});

# %% [markdown]
# Drag both, and watch where the picture goes flat. (The sliders need a running kernel; the rows of pictures above show what they show.)

# %% demo
from ipywidgets import IntSlider, SelectionSlider, interact

BASES = [("10", 10), ("100", 100), ("1000", 1000), ("10 000", 10**4), ("10⁶", 10**6), ("10⁸", 10**8)]


@interact(
    d_model=IntSlider(value=64, min=4, max=256, step=4, continuous_update=False),
    base=SelectionSlider(options=BASES, value=10**4, continuous_update=False),
)
def look(d_model, base):
    """The encoding of the first 100 positions, and how many of its columns stand still."""
    table = position_plots.with_base(sinusoidal_encoding(100, d_model), base)
    position_plots.tables({f"{position_plots.still_columns(table)} of {d_model} columns stand still": table})
    plt.show()

# %% [markdown]
# ## A mistake to know by sight
#
# A loop over the columns, `for i in range(0, d_model, 2)`, has an index that is 2i already. Published code nevertheless writes `10000 ** (2 * i / d_model)` inside it time and again, and so **doubles the exponent** (reported, for example, in issue 25 of SamLynnEvans/Transformer and issue 38 of Kyubyong/transformer on GitHub). Doubling the exponent is the same as squaring the base:
#
# > 10000<sup>2 · 2i / d_model</sup> = (10000²)<sup>2i / d_model</sup> = (10⁸)<sup>2i / d_model</sup>
#
# No shape changes, no error is raised, sin² + cos² is still 1, and a model still trains. So how would one notice?

# %% demo
right = sinusoidal_encoding(100, 512)
doubled = position_plots.with_base(right, 10**8)  # what the doubled exponent makes of it
sines = {"2i / d_model": right[:, 0::2], "2 · 2i / d_model": doubled[:, 0::2]}  # each (100, 256)
position_plots.tables(sines, labels=("pair (its sine)", "position"))
for name, table in {"right": right, "doubled": doubled}.items():
    dead = position_plots.still_columns(table)
    print(f"{name:8} {dead:3} of 512 columns move by less than 0.01 over 100 positions ({dead / 512:.0%})")

# %% [markdown]
# By eye (only the sines are drawn): the waves are squeezed into half the width, and what follows is flat. By number: count the columns that do not move. They are **dead dimensions**: the model adds the same constant at every position, and learns nothing from it. Some columns of the right table are slow as well, since they are made for texts of thousands of tokens, but the mistake wastes most of the table.
#
# Both of those versions go one step further and give the cosine an exponent of its own, `2 * (i + 1)` in place of `2 * i`. Then sine and cosine of a pair belong to different clocks, their point leaves the circle, and the rotation that we are about to find no longer exists.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Which of your visible tests would have caught the doubled exponent, and which not?
#
# <details><summary>Answer</summary>
#
# Only the one at position 100 of d_model 4. Position 0 is right with any exponent, so is the first pair (its exponent is 0 either way), and sin² + cos² = 1 holds for any angle. It takes a value from a *later pair*.
#
# </details>

# %% [markdown]
# ### Interleaved or in two halves
#
# Some libraries put all sines into the left half and all cosines into the right half; Tensor2Tensor, the paper's own code base (Vaswani et al. 2018, arXiv:1803.07416), is one. It is the same encoding with its columns in another order. Every dot product between positions stays the same, and the first linear layer of a model can undo the order with the order of its weights. It matters when weights are exchanged, and wherever somebody counts columns: here the paper's interleaved layout is asked for.

# %% demo
interleaved = sinusoidal_encoding(100, 64)
halves = torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1)  # (100, 64)
position_plots.tables({"interleaved": interleaved, "two halves": halves})
same = torch.allclose(interleaved @ interleaved.T, halves @ halves.T, atol=1e-4)
print("the same dot products between all positions:", same)

# %% [markdown]
# ## Adding it to the tokens
#
# ![Token embeddings, of shape B, S, D, come in from the left. From above comes the table pe with max_len rows; only its first S rows, pe up to S, of shape S, D, are taken, and they are the same for each sample of the batch. Both meet in a plus sign, followed by dropout. The result x has the shape B, S, D.](images/position_adding.svg)
#
# The sum is broadcast: `(B, S, D) + (S, D)`. Each sample gets the same positions, and position s of each sample gets row s.
#
# **Why add, and not concatenate?** Concatenating would widen everything that follows. And adding is less of a loss than it seems. A linear layer makes W (x + p) = W x + W p of the sum, and W₁ x + W₂ p of the concatenation: the sum is the concatenation with W₁ = W₂. In many dimensions there is room for both, as token and position can occupy different directions; the embedding of tokens is *learnt*, so it can keep out of the way.

# %% [markdown]
# ### The factor √d_model
#
# Lesson 1 multiplied each token embedding by √d_model (last sentence of section 3.4; the paper gives no reason). Its effect shows here. A position has a root mean square of exactly √½ ≈ 0.71 per entry, whatever d_model is. An embedding matrix that starts with a standard deviation of 1 / √d_model, as is common, has entries of 0.04 at d_model = 512. The factor brings them to 1.

# %% demo
d_model = 512
tokens = torch.randn(1000, d_model) / math.sqrt(d_model)  # a table with std 1 / √d_model
positions = sinusoidal_encoding(50, d_model)


def rms(x):
    """The root mean square of all entries."""
    return x.square().mean().sqrt().item()


for name, embedded in {"without √d_model": tokens, "with √d_model": tokens * math.sqrt(d_model)}.items():
    here, there = embedded + positions[10], embedded + positions[20]
    same_token = F.cosine_similarity(here, there).mean()
    same_place = F.cosine_similarity(here[:-1], here[1:]).mean()
    print(f"{name}: token {rms(embedded):.2f}, position {rms(positions):.2f}")
    print(f"   cosine of one token at two places:  {same_token:.2f}")
    print(f"   cosine of two tokens at one place:  {same_place:.2f}")

# %% [markdown]
# Without the factor, any two words at the same place look the same, and the position shouts the token down. With it the token leads and the position modulates. (A table that starts with standard deviation 1, as `nn.Embedding` does, would have the opposite trouble after the multiplication: entries around 23 beside 0.71. Scale and initialisation belong together.)

# %% [markdown] slide="slide"
# ### Exercise 2: `PositionalEncoding` (5 points)
#
# The first layer of encoder and decoder alike. It keeps the table as a **buffer** called `pe`: a tensor that moves with the module to another device and dtype, but is not trained, so it is no parameter. `forward` adds the first S rows to a batch and applies **dropout to the sum** (section 5.4). A text longer than the table has to be refused with a `ValueError`; otherwise broadcasting will report something obscure, or nothing at all. Leave the caller's tensor as it was.

# %% solution positional-encoding
class PositionalEncoding(nn.Module):
    """Add sinusoidal positions to embeddings (Vaswani et al. 2017, sections 3.5 and 5.4).

    Attributes: pe, a buffer (max_len, d_model). There are no parameters.
    """

    def __init__(self, d_model: int, max_len: int = 512, dropout: float = 0.1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pe", sinusoidal_encoding(max_len, d_model))  # (max_len, d_model)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add row s of the table to position s of every sample, then drop out.

        x: (B, S, d_model). Returns: (B, S, d_model). Raises ValueError if S > max_len.
        """
        ### BEGIN SOLUTION
        length = x.size(1)
        if length > self.pe.size(0):
            raise ValueError(f"the table has {self.pe.size(0)} positions, the input {length}")
        x = x + self.pe[:length]  # (B, S, d_model)
        return self.dropout(x)
        ### END SOLUTION

# %% test positional-encoding 5
layer = PositionalEncoding(d_model=6, max_len=10, dropout=0.5)
assert "pe" in dict(layer.named_buffers()), (
    "There is no buffer called pe. An ordinary attribute would not move with the module."
)
assert not list(layer.parameters()), (
    f"Nothing is learnt here, yet there are parameters: {[n for n, _ in layer.named_parameters()]}."
)
layer.eval()
x = torch.randn(2, 4, 6)
before = x.clone()
output = layer(x)
assert isinstance(output, torch.Tensor), (
    f"Expected a tensor, got {type(output).__name__}: is there a return?"
)
assert output.shape == (2, 4, 6), f"Expected the shape of x, (2, 4, 6), got {tuple(output.shape)}."
assert torch.equal(x, before), "The caller's x was changed. Does `+=` make a new tensor?"
added = output - x
assert torch.allclose(added[0], added[1], atol=1e-6), (
    "Every sample gets the same positions, but what you add differs. Which dimension is the length?"
)
assert not torch.allclose(added[:, 0], added[:, 1]), (
    f"Positions 0 and 1 got the same vector added: {added[0, 0]}. What does your slice keep?"
)
dropped = (layer.train()(torch.ones(8, 10, 6)) == 0).float().mean()
assert 0.3 < dropped < 0.7, (
    f"In train mode a dropout of 0.5 zeroes about half of the sum; in yours it is {dropped:.0%}."
)
try:
    layer(torch.randn(2, 11, 6))
except ValueError:
    print("PositionalEncoding: the visible tests pass")
else:
    raise AssertionError("11 tokens with max_len=10 should raise a ValueError; nothing was raised.")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` prepares two things, the dropout layer and the table; `forward` uses both. The method of `nn.Module` that makes a buffer takes a name and a tensor.
#
# </details>
#
# <details><summary>Hint 2: forward</summary>
#
# Which entry of `x.shape` is the length? Take as many rows of the table, and let broadcasting do the batch: no loop, no `repeat`.
#
# </details>
#
# <details><summary>Hint 3: dropout and refusal</summary>
#
# `nn.Dropout` knows from `train()` and `eval()` whether it is at work; the function `F.dropout` has to be told. The check of the length comes first, before any arithmetic, and compares S with the number of rows in the table.
#
# </details>

# %% [markdown]
# ## How alike are two positions?
#
# The dot product of two encodings is a sum over pairs, and sin a sin b + cos a cos b = cos(a − b). So
#
# > PE(p) · PE(q) = Σ<sub>i</sub> cos( (p − q) / 10000<sup>2i / d_model</sup> )
#
# It depends on the **distance** p − q alone, not on where the two stand. In a picture of all dot products, each diagonal has one colour (a *Toeplitz* matrix).

# %% demo
similar = {}
for d_model in (16, 64, 512):
    table = sinusoidal_encoding(100, d_model)
    similar[f"d_model = {d_model}"] = table @ table.T / (d_model / 2)  # (100, 100), 1 on the diagonal
position_plots.tables(similar, labels=("position q", "position p"));

# %% [markdown]
# Neighbours are alike, distant positions less so, and on average likeness falls with distance. Not steadily, though: see the ripples below. And it is **symmetric**: the dot product alone cannot say which of the two comes first. A layer of attention learns its own projections, and with those it can.

# %% demo
distances = list(range(100))
curves = {}
for base in (100, 10**4, 10**8):
    table = position_plots.with_base(sinusoidal_encoding(100, 128), base)
    curves[f"base {base:,}"] = (table @ table[0] / 64).tolist()
position_plots.lines(distances, curves, labels=("distance p − q", "likeness"));

# %% [markdown]
# A small base makes positions unlike each other quickly; a base of 10⁸ (our doubled exponent) leaves even distant positions alike, because all its dead columns agree. Both effects come from nothing but the spread of the wavelengths.

# %% demo
@interact(
    position=IntSlider(value=30, min=0, max=99, continuous_update=False),
    d_model=IntSlider(value=64, min=4, max=512, step=4, continuous_update=False),
    base=SelectionSlider(options=BASES, value=10**4, continuous_update=False),
)
def likeness(position, d_model, base):
    """How alike one position is to every other: drag it, and the curve comes along."""
    table = position_plots.with_base(sinusoidal_encoding(100, d_model), base)
    alike = {f"position {position}": (table @ table[position] / (d_model / 2)).tolist()}
    position_plots.lines(distances, alike, labels=("position q", "likeness"))
    plt.show()

# %% [markdown]
# ## Moving on is a rotation
#
# Why sines and cosines, of all things? Because, in the words of the paper, for any fixed offset k the encoding of pos + k is a linear function of the encoding of pos. On the clocks this is plain: k positions further on, clock i has turned by k / 10000<sup>2i / d_model</sup>, **wherever it stood before**. Below, the dashed hands stand at position p and the solid ones at p + 5: compare the angles between them from row to row.

# %% demo
table = sinusoidal_encoding(64, 8)
for p in (0, 7, 40):
    position_plots.dials(table[p], table[p + 5], range(3), (f"position {p}", f"position {p + 5}"))

# %% demo
@interact(
    p=IntSlider(value=10, min=0, max=63, continuous_update=False),
    offset=IntSlider(value=5, min=-63, max=63, continuous_update=False),
)
def shifted(p, offset):
    """Drag p: the angle between the hands stays. Drag the offset: it changes."""
    table = sinusoidal_encoding(127, 8)
    q = max(p + offset, 0)
    position_plots.dials(table[p], table[q], range(4), (f"position {p}", f"position {q}"))
    plt.show()

# %% [markdown]
# In formulas: let a be the angle of a pair at position p, and b the angle by which it turns in k positions. The addition theorems give
#
# > sin(a + b) = sin a cos b + cos a sin b
# >
# > cos(a + b) = cos a cos b − sin a sin b
#
# Here sin a and cos a are the two entries we have, and cos b and sin b are *numbers that do not depend on p*. So the new pair is a 2 × 2 matrix times the old pair, and the whole step is one D × D matrix M(k), with small blocks on its diagonal and zeros elsewhere: PE(p + k) = M(k) PE(p), for **every** p.
#
# A layer that has learnt M(k) can look k tokens back from anywhere in the text. The paper gives this as the reason for its choice of sines.

# %% [markdown] slide="slide"
# ### Exercise 3: `shift_matrix` (4 points)
#
# Build M(k), for the interleaved layout of exercise 1, in float32. `offset` is k; it may be negative (look back) or 0. `d_model` is even. Note on which side the vector stands: `shift_matrix(k, d_model) @ PE[p]` is `PE[p + k]`.

# %% solution shift-matrix
def shift_matrix(offset: int, d_model: int) -> torch.Tensor:
    """Return the matrix that moves every encoding on by `offset` positions (section 3.5).

    Returns: M (d_model, d_model), float32, with PE[p + offset] == M @ PE[p] for every p.
    """
    ### BEGIN SOLUTION
    even = torch.arange(0, d_model, 2)  # (d_model / 2,): the columns of the sines
    odd = even + 1  # (d_model / 2,): the columns of the cosines
    angles = offset / 10000 ** (even / d_model)  # (d_model / 2,)
    matrix = torch.zeros(d_model, d_model)
    matrix[even, even] = torch.cos(angles)
    matrix[even, odd] = torch.sin(angles)
    matrix[odd, even] = -torch.sin(angles)
    matrix[odd, odd] = torch.cos(angles)
    return matrix
    ### END SOLUTION

# %% test shift-matrix 4
matrix = shift_matrix(3, 6)
assert isinstance(matrix, torch.Tensor), (
    f"Expected a tensor, got {type(matrix).__name__}: is there a return?"
)
assert matrix.shape == (6, 6), f"d_model 6 gives a (6, 6) matrix, got {tuple(matrix.shape)}."
assert matrix.dtype == torch.float32, f"Expected dtype float32, got {matrix.dtype}."
assert torch.allclose(shift_matrix(0, 6), torch.eye(6)), (
    f"Moving by 0 changes nothing: expected the identity, got {shift_matrix(0, 6)}."
)
first = shift_matrix(1, 2) @ torch.tensor([0.0, 1.0])  # position 0 of d_model 2: (sin 0, cos 0)
assert torch.allclose(first, torch.tensor([math.sin(1), math.cos(1)])), (
    f"From position 0 to 1 the first pair goes to (sin 1, cos 1) = (0.84, 0.54), yours to {first}."
)
table = sinusoidal_encoding(12, 6)
moved = matrix @ table[4]
assert torch.allclose(moved, table[7], atol=1e-4), (
    f"From position 4 by 3 to position 7: expected {table[7]}, got {moved}."
)
print("shift_matrix: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Take d_model = 2 first. Write the two addition theorems below each other, and read the four coefficients of sin a and cos a off the page. Rows give the new entries, columns belong to the old ones.
#
# </details>
#
# <details><summary>Hint 2: all pairs</summary>
#
# Pair i has an angle of its own, which you have computed before: it is the angle of exercise 1, with the offset in the place of the position. Its block covers the rows and columns 2i and 2i + 1.
#
# </details>
#
# <details><summary>Hint 3: filling in</summary>
#
# A loop over the pairs is fine. Without one: `matrix[rows, columns] = values` with three tensors of the same length fills one entry for each, so four such lines fill the four places of all blocks.
#
# </details>

# %% [markdown]
# One matrix, every position. Negative offsets turn back, and two moves in a row are one longer move: M(a) M(b) = M(a + b).

# %% demo
position_plots.tables({f"offset {k}": shift_matrix(k, 16) for k in (1, 8, -8)}, labels=("column", "row"))

table = sinusoidal_encoding(300, 64)
worst = max((table[k:] - table[: 300 - k] @ shift_matrix(k, 64).T).abs().max().item() for k in (1, 5, 30, 200))
print(f"PE[p + k] against M(k) PE[p], up to position 300, k up to 200: off by at most {worst:.0e}")
back_and_forth = shift_matrix(5, 64) @ shift_matrix(-5, 64)
print("five on and five back is nothing:", torch.allclose(back_and_forth, torch.eye(64), atol=1e-6))

# %% [markdown]
# The first blocks turn with every step, the last stay close to the identity: on the scale of a few tokens the slow clocks stand still. This rotation has had a career of its own. *Rotary* embeddings (Su et al. 2021, arXiv:2104.09864) apply it to queries and keys instead of adding a table to the tokens, so that positions enter a score as their distance, by construction.

# %% [markdown]
# ## Learning the positions instead
#
# Why compute what can be learnt? A **positional embedding** is a second embedding table, looked up by position instead of token. The convolutional translators just before the Transformer had one (Gehring et al. 2017, arXiv:1705.03122), and BERT has one, with 512 rows (Devlin et al. 2019, arXiv:1810.04805). The two words sound alike: here an *encoding* is computed, an *embedding* is learnt.

# %% [markdown]
# ### Exercise 4: `LearnedPositionalEmbedding` (4 points)
#
# Mind the order of the arguments, the same as that of `nn.Embedding`. The rows that are looked up are 0 to S − 1, the same for each sample, whatever the tokens are. There is no dropout here, and S > max_len raises a `ValueError`.

# %% solution learned-position
class LearnedPositionalEmbedding(nn.Module):
    """Add learnt positions to embeddings (Vaswani et al. 2017, section 3.5 and table 3, row E).

    Attributes: embed, an nn.Embedding with a row of width d_model for each of max_len positions.
    """

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.embed = nn.Embedding(max_len, d_model)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add row s of the learnt table to position s of every sample.

        x: (B, S, d_model). Returns: (B, S, d_model). Raises ValueError if S > max_len.
        """
        ### BEGIN SOLUTION
        length = x.size(1)
        if length > self.embed.num_embeddings:
            raise ValueError(f"there are {self.embed.num_embeddings} positions, the input has {length}")
        positions = torch.arange(length, device=x.device)  # (S,)
        return x + self.embed(positions)  # (B, S, d_model)
        ### END SOLUTION

# %% test learned-position 4
layer = LearnedPositionalEmbedding(max_len=9, d_model=6)
sizes = {name: tuple(p.shape) for name, p in layer.named_parameters()}
assert sizes.get("embed.weight") == (9, 6), (
    f"Expected embed.weight with 9 rows of width 6, got {sizes}."
)
output = layer(torch.zeros(2, 4, 6))
assert isinstance(output, torch.Tensor), (
    f"Expected a tensor, got {type(output).__name__}: is there a return?"
)
assert output.shape == (2, 4, 6), f"Expected the shape of x, (2, 4, 6), got {tuple(output.shape)}."
assert torch.allclose(output[1, 2], layer.embed.weight[2]), (
    f"Position 2 gets row 2 of the table, {layer.embed.weight[2]}; yours got {output[1, 2]}."
)
output.sum().backward()
assert layer.embed.weight.grad is not None, (
    "No gradient reaches embed.weight: was it detached, or switched off?"
)
try:
    layer(torch.zeros(2, 10, 6))
except ValueError:
    print("LearnedPositionalEmbedding: the visible tests pass")
else:
    raise AssertionError("10 tokens with max_len=9 should raise a ValueError; nothing was raised.")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# An embedding is looked up with whole numbers. Which numbers are the positions of a sentence of length S, and do the tokens matter for them?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# `torch.arange` makes the positions; `embed` of them has the shape `(S, D)`, and broadcasting adds it to each sample. What does `nn.Embedding` raise for a number that is too large, and what is asked for here?
#
# </details>

# %% [markdown]
# ## Computed or learnt?
#
# | | sinusoidal encoding | learnt embedding |
# |---|---|---|
# | parameters | none | max_len · d_model |
# | positions beyond those trained on | defined, but unfamiliar to the model | not there, or never trained |
# | likeness of neighbours | built in, from the start | has to be learnt from data |
# | free to fit the task | no | yes |
# | quality in the paper (table 3, row E) | 25.8 BLEU | 25.7 BLEU |
#
# The paper found both nearly identical and took the sinusoids, because they *may* let the model go beyond the lengths seen in training (section 3.5). A careful "may": later work measured that they hardly do (Press et al. 2022, arXiv:2108.12409). A value that is defined is not yet a value that the model has learnt to read.

# %% demo
torch.manual_seed(0)
fresh = LearnedPositionalEmbedding(100, 64).embed.weight.detach()
fixed = sinusoidal_encoding(100, 64)
likes = {"computed": fixed @ fixed.T / 32, "learnt, before training": fresh @ fresh.T / 64}
position_plots.tables(likes, labels=("position q", "position p"))
for d_model in (64, 512):
    count = sum(p.numel() for p in LearnedPositionalEmbedding(512, d_model).parameters())
    print(f"512 positions, d_model {d_model}: {count:,} parameters, against 0")

# %% [markdown]
# ## What is lost without either
#
# A small experiment, a few seconds of training. Each sequence holds one **A** and one **B** somewhere among other letters; the question is which comes first. The model is one encoder layer and a mean over all tokens. It is trained on 8 tokens, and tried on 8 and on 16.

# %% demo
def sequences(count, length):
    """Letters (count, length) as numbers, 0 for A and 1 for B, and whether A comes first (count,)."""
    letters = torch.randint(2, 12, (count, length))
    places = torch.rand(count, length).argsort(dim=1)[:, :2]  # (count, 2): where A and B go
    letters.scatter_(1, places, torch.tensor([[0, 1]]).expand(count, 2))
    return letters, (places[:, 0] < places[:, 1]).long()


class WhoIsFirst(nn.Module):
    """One encoder layer over embedded letters, with a way to mark positions that is passed in."""

    def __init__(self, position, causal=False):
        super().__init__()
        self.embed, self.position, self.causal = nn.Embedding(12, 32), position, causal
        self.layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        self.judge = nn.Linear(32, 2)

    def forward(self, letters):
        x = self.position(self.embed(letters))  # (B, S, 32)
        size = letters.size(1)
        later = torch.ones(size, size, dtype=torch.bool).triu(1)  # in this layer True = hidden
        mixed = self.layer(x, src_mask=later if self.causal else None)  # (B, S, 32)
        return self.judge(mixed.mean(dim=1))  # (B, 2)

# %% demo
def accuracy(model, steps=150):
    """Train on length 8, then return the shares of right answers on lengths 8 and 16."""
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        letters, first = sequences(64, 8)
        loss = F.cross_entropy(model.train()(letters), first)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        tries = [sequences(2000, length) for length in (8, 16)]
        return [(model.eval()(x).argmax(dim=-1) == y).float().mean().item() for x, y in tries]


torch.set_num_threads(1)  # so small a model is fastest on one core
ways = {"no positions": (nn.Identity(), False), "sinusoidal": (PositionalEncoding(32, 16, 0.0), False)}
ways |= {"learnt": (LearnedPositionalEmbedding(16, 32), False), "none, but causal": (nn.Identity(), True)}
for name, (position, causal) in ways.items():
    torch.manual_seed(1)
    trained, longer = accuracy(WhoIsFirst(position, causal))
    print(f"{name:17} right on 8 tokens {trained:5.0%}   on 16 tokens {longer:5.0%}")

# %% [markdown]
# **Without positions the answer is a coin toss**, and no training will help: "A before B" and "B before A" are the same bag of letters. Both kinds of positions solve the task at the trained length, and both suffer beyond it: the learnt rows 8 to 15 were never touched, and the computed ones were never read.
#
# The last line may surprise. A **causal mask**, which keeps each token from seeing later ones, breaks the symmetry as well: a token that sees only A knows that A was first. So "without positional encoding a Transformer cannot know any order" is true for an encoder, and false for a decoder. Language models trained without any positions do learn them from the mask (Haviv et al. 2022, arXiv:2203.16634).

# %% [markdown]
# ## Exercise 5: choices (2 points)
#
# Fill in the dictionary and delete the `raise` line below it. Each answer is a letter, such as `"A"`.
#
# `"step_of_two"`: why does the index of the formula go over the columns in steps of 2?
#
# - A: neighbouring columns would otherwise be too much alike
# - B: two columns, a sine and a cosine, share one frequency
# - C: it makes the encoding half as wide, which saves memory
# - D: only every second position is encoded
#
# `"encoding_or_embedding"`: your model was trained on texts of up to 512 tokens, and now meets one of 600. What holds?
#
# - A: the learnt embedding has no row for position 512; the encoding can be computed there, though the model never saw it
# - B: the learnt embedding works out the missing rows by itself; the encoding cannot
# - C: both work as well as before, since positions are only added
# - D: neither is defined beyond position 511

# %% [markdown]
# `"without_either"`: an **encoder** gets neither, and no mask. What does its self-attention make of "man bites dog", compared with "dog bites man"?
#
# - A: an error, since attention needs positions
# - B: the order is known all the same, since tokens come in one after the other
# - C: each word gets the same output vector in both sentences
# - D: different vectors, but training takes longer
#
# `"two_halves"`: somebody puts all sines into the left half of the table and all cosines into the right half. What changes?
#
# - A: dot products between positions
# - B: only the order of the columns; it is a legitimate layout, though not the one asked for here
# - C: the wavelengths
# - D: nothing: the two tables are equal, number by number

# %% solution position-choices
answers = {
    "step_of_two": None,
    "encoding_or_embedding": None,
    "without_either": None,
    "two_halves": None,
}
### BEGIN SOLUTION
answers = {
    "step_of_two": "B",
    "encoding_or_embedding": "A",
    "without_either": "C",
    "two_halves": "B",
}
### END SOLUTION

# %% test position-choices 2
questions = {"step_of_two", "encoding_or_embedding", "without_either", "two_halves"}
missing = questions - set(answers)
assert not missing, f"These entries are gone from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in questions:
    assert answers[key] in ("A", "B", "C", "D"), (
        f"answers['{key}'] is one of 'A' to 'D', got {answers[key]!r}."
    )
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: where to look</summary>
#
# Each question has a demo or a figure above that decides it: the figure of the eight columns, the table of both kinds, the three words at the very beginning, and the two heat maps of the layouts.
#
# </details>
#
# <details><summary>Hint 2: two that are easily mixed up</summary>
#
# "Defined" and "familiar to the model" are two things. And an encoder without a mask reads all words at once, not one after the other.
#
# </details>

# %% [markdown]
# ## What you can do now
#
# You have built the table that tells a Transformer the order of its tokens, seen it as colours, waves and clocks, and shown that moving along a text is a rotation. You know its most common mistake by sight, and by a number: how many columns stand still.
#
# Tokens now carry *what* (lesson 1) and *where* (this lesson) in one vector. **Lesson 3** lets them look at each other.
#
# **Read on**: Vaswani et al. 2017, section 3.5, with table 3, row E. For what came after: Shaw et al. 2018, arXiv:1803.02155 (relative positions), and Su et al. 2021, arXiv:2104.09864 (rotary).
