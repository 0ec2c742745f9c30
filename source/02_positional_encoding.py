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
# - write the sinusoidal encoding without a loop, and say why its index goes in steps of 2;
# - recognise a doubled exponent from a picture;
# - add positions to a batch of embeddings, with a buffer, and with dropout in the right place;
# - show that moving on by $k$ positions is one fixed rotation, and build its matrix;
# - compare an encoding that is computed with an embedding that is learnt, and adding with concatenating;
# - explain what exactly is lost if a Transformer isn't told the order of its tokens.
#
# **Time** about 85 minutes · **Difficulty** medium · **Before this** lesson 1
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
# | stretch: `rotary` | not counted | later: Su et al. 2021, arXiv:2104.09864 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` with your answer, then run the visible tests below it (their code is folded; a click on it opens it). They are a first check; grading uses other sizes and numbers, and float64 as well as float32. If you are stuck, `skip("NAME")` puts a working version in place, and the exercise counts as unanswered.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2);

# %% demo
import matplotlib.pyplot as plt

from coursework import check, hand_in, plots, position_plots, skip

plots.use_style()

# %% [markdown] slide="slide"
# ## What positions are for
#
# A real language model, SmolLM2, answers a question: first as it was trained to, then **without being told where its tokens stand**. No parameter has changed, but all it writes is a single line break (`↵`).

# %% demo
from coursework.smollm import write

question = "Anna gave Tom a book. Who has the book now?"
write(question, "with positions", chat=True, tokens=12)
write(question, "without positions", chat=True, tokens=12, rotary=lambda x, base: x)

# %% [markdown]
# ## What should a position look like?
#
# Attention reads all words at once, so the order has to be in its input. The paper gives each position a vector, as wide as an embedding, and **adds** it to the embedding of the token that stands there (section 3.5).
#
# What should the vector contain? Position 500 as the number 500 would drown out the token. **Binary digits** stay small, and each column has a rhythm of its own, but they jump: from 7 to 8, all four digits change at once.
#
# ![Two grids side by side, sixteen positions down and four columns across. On the left are the binary digits of 0 to 15: the rightmost column flips at every position, the next one at every second position, then at every fourth and eighth. On the right, four waves run down the page, with periods of 16, 8, 4 and 2 positions and a dot at each position: the same rhythms without jumps.](images/position_binary.svg)
#
# Replace each flipping digit with a smooth wave of the same rhythm: this is the idea of the **sinusoidal encoding**.

# %% [markdown]
# ### Clocks
#
# If a wave is at 0.5, is it rising or falling? A second wave, a quarter of a turn ahead, tells: each angle gets a sine and a cosine. Together they are the **hand of a clock**, whose angle is unambiguous. With $d_\mathrm{model} = 8$ there are four clocks, which turn by 1, 0.1, 0.01 and 0.001 radians per position.
#
# ![Twelve clock faces in three rows and four columns. The columns are the pairs 0 to 3, which turn by 1, 0.1, 0.01 and 0.001 radians per position; the rows are positions 1, 10 and 100. At position 1, only the first hand has moved visibly. At position 10, the second hand stands where the first one stood at position 1; at position 100, the third hand does. The fourth has hardly left the top.](images/position_clocks.svg)
#
# Read it like an odometer: the fast clocks tell neighbouring positions apart, and the slow ones tell you roughly where in the text you are.

# %% [markdown]
# ### The formula
#
# > $\mathrm{PE}(\mathrm{pos}, 2i) = \sin\left(\mathrm{pos} / 10000^{2i / d_\mathrm{model}}\right)$
# >
# > $\mathrm{PE}(\mathrm{pos}, 2i + 1) = \cos\left(\mathrm{pos} / 10000^{2i / d_\mathrm{model}}\right)$
#
# **$i$ counts pairs**, from 0 to $d_\mathrm{model} / 2 - 1$, while **$2i$ and $2i + 1$ count columns**: the even column of a pair holds the sine, and the odd one the cosine, of *the same angle*.
#
# ![The eight columns of an encoding with d model 8, grouped into four pairs. Row one: column numbers from 0 to 7. Row two: the pair number i, 0 to 3, each spanning two columns. Row three: sine and cosine in turn. Row four: the angle of each pair, pos divided by 10000 to the power 0/8, 2/8, 4/8 and 6/8, which is pos, pos / 10, pos / 100 and pos / 1000, one for both columns.](images/position_columns.svg)
#
# **Why steps of 2?** Because a pair takes up two columns. An index that runs 0, 2, 4, … over the columns is already the $2i$ of the formula.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What is the encoding of position 0, for any $d_\mathrm{model}$?
#
# <details><summary>Answer</summary>
#
# All angles are 0, so it reads 0, 1, 0, 1, …: $\sin 0 = 0$ and $\cos 0 = 1$, in turn.
#
# </details>
#
# What is the length of an encoding, as a vector?
#
# <details><summary>Answer</summary>
#
# Each pair contributes $\sin^2 + \cos^2 = 1$ to the square of the length, and there are $d_\mathrm{model} / 2$ pairs. So every position has the length $\sqrt{d_\mathrm{model} / 2}$, whether it is position 0 or 5000.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 1: `sinusoidal_encoding` (5 points)
#
# Every model of this course looks up its positions in this table. Row $p$ is the encoding of position $p$, in float32, with sines in the even columns and cosines in the odd ones. If `d_model` is odd, one cosine would be missing: raise a `ValueError`.
#
# *15 minutes, medium.*

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
assert isinstance(table, torch.Tensor), f"Expected a tensor, got {type(table).__name__}."
assert table.shape == (5, 6), (
    f"Five positions of width 6 give (5, 6), got {tuple(table.shape)}."
)
assert table.dtype == torch.float32, f"Expected dtype float32, got {table.dtype}."
assert torch.allclose(table[0], torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 1.0]), atol=1e-6), (
    f"Position 0 reads sin 0, cos 0, in turn: 0, 1, 0, 1, 0, 1. Got {table[0]}."
)
assert torch.allclose(table[1, :2], torch.tensor([math.sin(1), math.cos(1)])), (
    f"The first pair turns by 1 radian per position: expected (0.84, 0.54) at position 1, got {table[1, :2]}."
)
lengths = table.unflatten(1, (3, 2)).square().sum(dim=-1)  # (5, 3): sin² + cos² of each pair
assert torch.allclose(lengths, torch.ones(5, 3)), (
    f"In each pair, sin² + cos² is 1 if both have the same angle; yours are {lengths}."
)
by_hand = sinusoidal_encoding(101, 4)[100, 2]  # pos 100, i = 1: 100 / 10000^(2/4) = 1
assert torch.allclose(by_hand, torch.tensor(math.sin(1)), atol=1e-4), (
    f"d_model 4, position 100, column 2: the angle is 100 / 100 = 1, and its sine 0.841. Got {by_hand:.3f}."
)
try:
    sinusoidal_encoding(5, 7)
    raised = "nothing"
except Exception as problem:
    raised = type(problem).__name__
assert raised == "ValueError", f"An odd d_model should raise a ValueError, but 7 raised {raised}."
print("sinusoidal_encoding: the visible tests pass")

# %% demo
check("sinusoidal-encoding")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Compute three things in turn: the positions, one divisor per pair, and the table of all angles. Only then take sines and cosines. Print the shape after each step.
#
# </details>
#
# <details><summary>Hint 2: all angles at once</summary>
#
# A column of positions, `(max_len, 1)`, divided by a row of divisors, `(d_model / 2,)`, broadcasts to every combination, `(max_len, d_model / 2)`. Write down the values $2i$ for `d_model` = 8 before you write code: they are 0, 2, 4, 6. [`torch.arange`](https://docs.pytorch.org/docs/stable/generated/torch.arange.html) takes a start, an end and a step; see also [broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html).
#
# </details>
#
# <details><summary>Hint 3: interleaving</summary>
#
# `table[:, 0::2]` selects every second column, starting at column 0, and you can assign to it. Which columns does `1::2` select?
#
# </details>

# %% [markdown]
# ## Two ways to look at it
#
# **As a heat map.** Each row is a position, each column one wave. **Predict:** where in the picture are the fast waves, and does a wider table look different?

# %% demo
sizes = (8, 32, 128)
position_plots.tables({f"d_model = {d}": sinusoidal_encoding(100, d) for d in sizes});

# %% [markdown]
# The fast waves are on the left. A wider table shows the same pattern, with more waves between the fastest and the slowest.
#
# **As waves.** These are some of the columns of a table with $d_\mathrm{model} = 64$.

# %% demo
position_plots.waves(sinusoidal_encoding(100, 64), pairs=[0, 4, 8, 16, 31])

for d_model in (16, 64, 256):
    turned = position_plots.turned_per_position(sinusoidal_encoding(2, d_model))  # (d_model / 2,)
    wavelengths = 2 * math.pi / turned
    first, last = wavelengths[0].item(), wavelengths[-1].item()
    print(f"d_model {d_model:3}: wavelengths from {first:.2f} to {last:6,.0f} positions")

# %% [markdown]
# The two columns of a pair are the same wave, a quarter of a turn apart. The **wavelength**, the number of positions for a full turn, grows from pair to pair by a constant factor: from $2\pi \approx 6.28$ towards $10000 \cdot 2\pi \approx 62{,}832$, which it never reaches, because $2i$ stays below $d_\mathrm{model}$.
#
# **Predict:** what happens to the picture if the base 10000 is replaced with 10, or with ten million?

# %% demo
table = sinusoidal_encoding(100, 64)
position_plots.tables({f"base {b:,}": position_plots.with_base(table, b) for b in (10, 10**4, 10**7)});

# %% [markdown]
# With a base of 10, even the slowest clock goes round within 63 positions, so positions that are far apart begin to look alike. With a very large base, most clocks hardly move, and their columns are wasted. Drag both sliders, and watch where the picture goes flat.

# %% demo
from ipywidgets import IntSlider, SelectionSlider, interact

BASES = [("10", 10), ("100", 100), ("1,000", 1000), ("10,000", 10**4), ("10⁶", 10**6), ("10⁸", 10**8)]


@interact(
    d_model=IntSlider(value=64, min=4, max=256, step=4, continuous_update=False),
    base=SelectionSlider(options=BASES, value=10**4, continuous_update=False),
)
def look(d_model, base):
    """The encoding of the first 100 positions, and how many of its columns stand still."""
    table = position_plots.with_base(sinusoidal_encoding(100, d_model), base)
    still = position_plots.still_columns(table)
    position_plots.tables({f"{still} of {d_model} columns stand still": table})
    plt.show()

# %% [markdown]
# ## A mistake to recognise on sight
#
# In a loop over the columns, `for i in range(0, d_model, 2)`, the index is already $2i$. Writing `10000 ** (2 * i / d_model)` inside such a loop **doubles the exponent**, as `Embed.py` of the GitHub repository SamLynnEvans/Transformer does (its issue 25). This is the same as squaring the base:
#
# > $10000^{2 \cdot 2i / d_\mathrm{model}} = (10000^2)^{2i / d_\mathrm{model}} = (10^8)^{2i / d_\mathrm{model}}$
#
# No shape changes, no error is raised, $\sin^2 + \cos^2$ is still 1, and a model still trains. **Predict:** how would you notice?

# %% demo
right = sinusoidal_encoding(100, 512)
doubled = position_plots.with_base(right, 10**8)  # the effect of the doubled exponent
sines = {"2i / d_model": right[:, 0::2], "2 · 2i / d_model": doubled[:, 0::2]}  # each (100, 256)
position_plots.tables(sines, labels=("pair (its sine)", "position"))
for name, table in {"right": right, "doubled": doubled}.items():
    dead = position_plots.still_columns(table)
    print(f"{name:8} {dead:3} of 512 columns move by less than 0.01 over 100 positions ({dead / 512:.0%})")

# %% [markdown]
# With the doubled exponent, the waves are squeezed into half the width, and the rest is flat: 57% of the columns stand still, against 14% in the correct table. A column that stands still adds the same constant at every position, so the model learns nothing from it. (Only the sines are drawn.)
#
# <details><summary>More: a second mistake in Embed.py</summary>
#
# It gives the cosine an exponent of its own, `2 * (i + 1)` instead of `2 * i`. Then the sine and cosine of a pair have different angles, their point leaves the circle, and the rotation that you'll find below no longer exists.
#
# </details>

# %% [markdown] slide="subslide"
# **Predict, then reveal.** The visible tests of `sinusoidal_encoding` ask for (a) 0, 1, 0, 1, 0, 1 at position 0, (b) $\sin 1$ and $\cos 1$ in the first pair at position 1, (c) $\sin^2 + \cos^2 = 1$ in each pair, and (d), with `d_model` 4, $\sin 1$ in column 2 at position 100. Which of them catch a doubled exponent?
#
# <details><summary>Answer</summary>
#
# Only (d). Position 0 is right with any exponent. So is the first pair, because its exponent is 0 either way, and $\sin^2 + \cos^2 = 1$ holds for any angle. To catch the mistake, a test has to look at a value from a *later pair*.
#
# </details>

# %% [markdown]
# ### Interleaved, or in two halves
#
# Tensor2Tensor, the authors' own code, puts all sines into the left half of the table and all cosines into the right half.

# %% demo
interleaved = sinusoidal_encoding(100, 64)
halves = torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1)  # (100, 64)
position_plots.tables({"interleaved": interleaved, "two halves": halves})
same = torch.allclose(interleaved @ interleaved.T, halves @ halves.T, atol=1e-4)
print("the same dot products between all positions:", same)

# %% [markdown]
# Only the order of the columns differs: all dot products between positions are the same, and a linear layer can learn either order equally well. The layout matters when you load weights that were trained with the other one. This course uses the paper's interleaved layout.
#
# <details><summary>More: the paper's own code</summary>
#
# Tensor2Tensor (Vaswani et al. 2018, arXiv:1803.07416) also divides by $d_\mathrm{model} / 2 - 1$ in the exponent, so that the last wavelength is exactly $10000 \cdot 2\pi$. Its numbers therefore differ slightly from those of the paper's formula, whatever the order of the columns.
#
# </details>

# %% [markdown]
# ## Adding it to the tokens
#
# ![Token embeddings, of shape B, S, D, come in from the left. From above comes the table pe with max_len rows; only its first S rows, pe up to S, of shape S, D, are taken, and they are the same for each sample of the batch. Both meet in a plus sign, followed by dropout. The result x has the shape B, S, D.](images/position_adding.svg)
#
# The sum is broadcast: `(B, S, D) + (S, D)`. Every sample gets the same positions, and position $s$ of each sample gets row $s$.
#
# **Why add, and not concatenate?** Concatenating makes every later layer wider, and adding loses less than it seems. A linear layer turns the sum into $W(x + p) = Wx + Wp$, and the concatenation into $W_1 x + W_2 p$: adding is concatenating with $W_1 = W_2$. There is room for both, because the token embeddings are *learnt* and can use other directions than the positions.

# %% [markdown]
# ### The factor $\sqrt{d_\mathrm{model}}$
#
# Your `TokenEmbedding` from lesson 1 multiplies each embedding by $\sqrt{d_\mathrm{model}}$ (section 3.4). Its effect shows when positions are added. The size of the entries is measured here as their root mean square, which is always $\sqrt{1/2} \approx 0.71$ in an encoding.
#
# **Predict:** without the factor, a token's entries are about 0.04 and a position's are 0.71. After adding, how similar are two different tokens at the same place?

# %% demo
d_model = 512
positions = sinusoidal_encoding(50, d_model)
small = torch.randn(1000, d_model) / math.sqrt(d_model)  # a table that starts with std 1 / √d_model
large = torch.randn(1000, d_model)  # a table that starts with std 1, as nn.Embedding does


def rms(x):
    """The root mean square of all entries."""
    return x.square().mean().sqrt().item()


rows = {"std 1/√d, no factor": small, "std 1/√d, times √d": small * d_model**0.5,
        "std 1, times √d": large * d_model**0.5}
print("                       entries of        cosine of")
print("table                 token  position   one token, two places   two tokens, one place")
for name, embedded in rows.items():
    here, there = embedded + positions[10], embedded + positions[20]
    token = F.cosine_similarity(here, there).mean()
    place = F.cosine_similarity(here[:-1], here[1:]).mean()
    print(f"{name:20} {rms(embedded):6.2f} {rms(positions):9.2f} {token:17.2f} {place:23.2f}")

# %% [markdown]
# - **Without the factor**, any two tokens at the same place have a cosine of 1.00: the position drowns out the token.
# - **With the factor**, the same token at positions 10 and 20 has a cosine of 0.89, and two tokens at one place have 0.33. The token leads, and the position modifies it.
# - **With PyTorch's default** of standard deviation 1, the factor makes the entries about 22.6, and the token drowns out the position: the same token at two places has a cosine of 1.00.
#
# So the factor only makes sense with a table that starts small, as in lesson 7.

# %% [markdown] slide="slide"
# ### Exercise 2: `PositionalEncoding` (5 points)
#
# In the encoder and in the decoder, this layer follows the embedding. It keeps the table as a **buffer** called `pe`. A buffer is a tensor that moves with the module to another device or dtype but isn't trained, so it is not a parameter.
#
# `forward` adds the first S rows to a batch and applies **dropout to the sum** (section 5.4). If a text is longer than the table, raise a `ValueError`; otherwise PyTorch reports something obscure, or nothing at all. Don't change the caller's tensor.
#
# *15 minutes, medium.*

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
        """Add row s of the table to position s of every sample, then apply dropout.

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
    "There is no buffer called pe. An ordinary attribute wouldn't move with the module."
)
assert not list(layer.parameters()), (
    f"This layer learns nothing, but it has parameters: {[n for n, _ in layer.named_parameters()]}."
)
layer.eval()
x = torch.randn(2, 4, 6)
before = x.clone()
output = layer(x)
assert isinstance(output, torch.Tensor), f"Expected a tensor, got {type(output).__name__}."
assert output.shape == (2, 4, 6), f"Expected the shape of x, (2, 4, 6), got {tuple(output.shape)}."
assert torch.equal(x, before), "The caller's x was changed. Does `+=` make a new tensor?"
added = output - x
assert torch.allclose(added[0], added[1], atol=1e-6), (
    "Every sample should get the same positions, but yours differ. Which dimension is the length?"
)
assert not torch.allclose(added[:, 0], added[:, 1]), (
    f"Positions 0 and 1 got the same vector: {added[0, 0]}. Which rows does your slice take?"
)
dropped = (layer.train()(torch.ones(8, 10, 6)) == 0).float().mean()
assert 0.3 < dropped < 0.7, (
    f"In train mode, a dropout of 0.5 zeroes about half of the sum; yours zeroes {dropped:.0%}."
)
try:
    layer(torch.randn(2, 11, 6))
    raised = "nothing"
except Exception as problem:
    raised = type(problem).__name__
assert raised == "ValueError", (
    f"11 tokens with max_len=10 should raise a ValueError, but yours raised {raised}."
)
print("PositionalEncoding: the visible tests pass")

# %% demo
check("positional-encoding")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` prepares two things, the dropout layer and the table, and `forward` uses both. The method of [`nn.Module`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_buffer) that makes a buffer takes a name and a tensor.
#
# </details>
#
# <details><summary>Hint 2: forward</summary>
#
# Which entry of `x.shape` is the length? Take that many rows of the table, and let broadcasting take care of the batch dimension. You need no loop and no `repeat`.
#
# </details>
#
# <details><summary>Hint 3: dropout, and texts that are too long</summary>
#
# [`nn.Dropout`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html) knows from `train()` and `eval()` whether to drop anything; the function `F.dropout` has to be told. Check the length first, before any arithmetic, and compare it with the number of rows of the table.
#
# </details>

# %% [markdown]
# ## How similar are two positions?
#
# The dot product of two encodings is a sum over pairs, and $\sin a \sin b + \cos a \cos b = \cos(a - b)$. So it depends only on the **offset** $p - q$:
#
# > $\mathrm{PE}(p) \cdot \mathrm{PE}(q) = \sum_i \cos\left((p - q) / 10000^{2i / d_\mathrm{model}}\right)$
#
# **Predict:** what does a picture of all dot products look like, with one row per position $p$ and one column per position $q$? Each is divided by $d_\mathrm{model}/2$, its value for $p = q$.

# %% demo
similar = {}
for d_model in (16, 64, 512):
    table = sinusoidal_encoding(100, d_model)
    similar[f"d_model = {d_model}"] = table @ table.T / (d_model / 2)  # (100, 100), 1 on the diagonal
position_plots.tables(similar, labels=("position q", "position p"));

# %% [markdown]
# Each diagonal has one colour. Neighbours are similar, distant positions less so. The picture is **symmetric**: the dot product alone can't tell which of two positions comes first. With the projections that an attention layer learns, it can.

# %% [markdown]
# ## Moving on is a rotation
#
# Why sines and cosines? Because, as the paper puts it, $\mathrm{PE}(\mathrm{pos} + k)$ is a linear function of $\mathrm{PE}(\mathrm{pos})$ for any fixed offset $k$. The clocks show why: in $k$ positions, clock $i$ turns by $k / 10000^{2i / d_\mathrm{model}}$, **wherever it stood before**. Compare the angles between the dashed hands, position $p$, and the solid ones, $p + 5$, at position 0 and at position 40.

# %% demo
table = sinusoidal_encoding(64, 8)
for p in (0, 40):
    position_plots.dials(table[p], table[p + 5], range(3), (f"position {p}", f"position {p + 5}"))

# %% [markdown]
# In each pair, the solid hand is ahead of the dashed one by the same angle in both pictures, measured clockwise: 5 radians for pair 0 (almost 80% of a full turn), 0.5 for pair 1 and 0.05 for pair 2.

# %% demo
@interact(
    p=IntSlider(value=50, min=40, max=80, continuous_update=False),
    offset=IntSlider(value=5, min=-40, max=40, continuous_update=False),
)
def shifted(p, offset):
    """Drag p: the angle between the hands stays. Drag the offset: it changes."""
    table = sinusoidal_encoding(121, 8)
    names = (f"position {p}", f"position {p + offset}")
    position_plots.dials(table[p], table[p + offset], range(4), names)
    plt.show()

# %% [markdown]
# Let $a$ be the angle of a pair at position $p$, and $b$ the angle by which it turns in $k$ positions. The addition theorems give
#
# > $\sin(a + b) = \sin a \cos b + \cos a \sin b$
# >
# > $\cos(a + b) = \cos a \cos b - \sin a \sin b$
#
# Here $\sin a$ and $\cos a$ are the two entries you have, and $\cos b$ and $\sin b$ *don't depend on $p$*. So the new pair is a 2 × 2 matrix times the old pair. All pairs together make one D × D matrix $M(k)$, with small blocks on its diagonal and zeros elsewhere: $\mathrm{PE}(p + k) = M(k) \, \mathrm{PE}(p)$ for **every** $p$. A layer that has learnt $M(-k)$ can look $k$ tokens back from anywhere in the text.

# %% [markdown] slide="slide"
# ### Exercise 3: `shift_matrix` (4 points)
#
# Build $M(k)$ for the interleaved layout of exercise 1, in float32. `offset` is $k$; it may be negative (look back) or 0. `d_model` is even. Note on which side the vector stands: `shift_matrix(k, d_model) @ PE[p]` is `PE[p + k]`.
#
# *15 minutes, hard.*

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
assert isinstance(matrix, torch.Tensor), f"Expected a tensor, got {type(matrix).__name__}."
assert matrix.shape == (6, 6), f"d_model 6 gives a (6, 6) matrix, got {tuple(matrix.shape)}."
assert matrix.dtype == torch.float32, f"Expected dtype float32, got {matrix.dtype}."
assert torch.allclose(shift_matrix(0, 6), torch.eye(6)), (
    f"Moving by 0 changes nothing: expected the identity, got {shift_matrix(0, 6)}."
)
first = shift_matrix(1, 2) @ torch.tensor([0.0, 1.0])  # position 0 of d_model 2: (sin 0, cos 0)
assert torch.allclose(first, torch.tensor([math.sin(1), math.cos(1)])), (
    f"From position 0 to 1, the first pair should become (sin 1, cos 1) = (0.84, 0.54); got {first}."
)
table = sinusoidal_encoding(12, 6)
moved = matrix @ table[4]
assert torch.allclose(moved, table[7], atol=1e-4), (
    f"From position 4 by 3 to position 7: expected {table[7]}, got {moved}."
)
print("shift_matrix: the visible tests pass")

# %% demo
check("shift-matrix")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start with `d_model` = 2. Write the two addition theorems below each other, and read off the four coefficients of $\sin a$ and $\cos a$. Rows give the new entries, columns belong to the old ones.
#
# </details>
#
# <details><summary>Hint 2: all pairs</summary>
#
# Pair $i$ has an angle of its own. You computed it in exercise 1, with the position in place of the offset. Its block covers the rows and columns $2i$ and $2i + 1$.
#
# </details>
#
# <details><summary>Hint 3: filling in</summary>
#
# A loop over the pairs is fine. Without a loop: `matrix[rows, columns] = values`, with three tensors of the same length, fills one entry for each, so four such lines fill the four places of all blocks.
#
# </details>

# %% demo
position_plots.tables({f"offset {k}": shift_matrix(k, 16) for k in (1, 8, -8)}, labels=("column", "row"))

table = sinusoidal_encoding(300, 64)
errors = [table[k:] - table[: 300 - k] @ shift_matrix(k, 64).T for k in (1, 5, 30, 200)]
worst = max(error.abs().max().item() for error in errors)
print(f"PE[p + k] against M(k) PE[p], up to position 300, k up to 200: off by at most {worst:.0e}")
back_and_forth = shift_matrix(5, 64) @ shift_matrix(-5, 64)
print("five forward and five back cancel out:", torch.allclose(back_and_forth, torch.eye(64), atol=1e-6))

# %% [markdown]
# One matrix works for every position. The last blocks stay close to the identity, because the slow clocks hardly move within a few tokens.

# %% [markdown]
# ## Learning the positions instead
#
# Why compute what can be learnt? A **positional embedding** is a second embedding table, looked up by position instead of by token. BERT has one, with 512 rows (Devlin et al. 2019, arXiv:1810.04805). In this course, an *encoding* is computed and an *embedding* is learnt.

# %% [markdown]
# ### Exercise 4: `LearnedPositionalEmbedding` (4 points)
#
# The arguments come in the same order as those of `nn.Embedding`. The layer looks up the rows 0 to S − 1, the same ones for each sample, whatever the tokens are. It has no dropout, and S > max_len raises a `ValueError`.
#
# *10 minutes, easy.*

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
assert isinstance(output, torch.Tensor), f"Expected a tensor, got {type(output).__name__}."
assert output.shape == (2, 4, 6), f"Expected the shape of x, (2, 4, 6), got {tuple(output.shape)}."
assert torch.allclose(output[1, 2], layer.embed.weight[2]), (
    f"Position 2 gets row 2 of the table, {layer.embed.weight[2]}; got {output[1, 2]}."
)
output.sum().backward()
assert layer.embed.weight.grad is not None, (
    "No gradient reaches embed.weight. Was it detached, or were gradients switched off?"
)
try:
    layer(torch.zeros(2, 10, 6))
    raised = "nothing"
except Exception as problem:
    raised = type(problem).__name__
assert raised == "ValueError", (
    f"10 tokens with max_len=9 should raise a ValueError, but yours raised {raised}."
)
print("LearnedPositionalEmbedding: the visible tests pass")

# %% demo
check("learned-position")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Embeddings are looked up by integer index. Which integers are the positions of a sentence of length S, and do the tokens matter for them?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# `torch.arange` makes the positions, as in exercise 1. `embed` turns them into the shape `(S, D)`, and broadcasting adds that to each sample. What does `nn.Embedding` raise for a number that is too large, and what does the exercise ask for?
#
# </details>

# %% [markdown]
# ## Computed or learnt?
#
# | property | sinusoidal encoding | learnt embedding |
# |---|---|---|
# | parameters | none | max_len · $d_\mathrm{model}$: 262,144 for 512 positions of width 512 |
# | positions beyond those trained on | defined, but unfamiliar to the model | missing, or never trained |
# | similarity of neighbours | built in from the start | has to be learnt from data |
# | free to fit the task | no | yes |
# | quality in the paper (table 3) | 25.8 BLEU (base model) | 25.7 BLEU (row E) |
#
# The paper found that both performed almost identically. It chose the sinusoids because they *may* let the model work beyond the lengths seen in training (section 3.5). Later measurements found that they hardly do (Press et al. 2022, arXiv:2108.12409).

# %% [markdown]
# ## What is lost without either
#
# **Predict, then run.** Without positions, attention gets the words *dog bites man*, and then *man bites dog*. Does *dog* get the same output vector in both sentences?

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
    same = torch.allclose(straight[0, index], turned[0, place], atol=1e-6)
    print(f"{words[index]:6} gets the same output in both sentences: {same}")

# %% [markdown]
# It does: the dog that bites and the dog that is bitten get the same vector. Shuffling the input only shuffles the output: to this layer, a sentence is a **bag of words**.
#
# Can training help? In the next experiment, each sequence contains one **A** and one **B** among other letters, and the question is which of the two comes first. The model is one encoder layer (lesson 5), followed by a mean over all tokens.

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
        later = torch.ones(size, size, dtype=torch.bool).triu(1)  # in this layer, True = blocked
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

# %% [markdown] slide="subslide"
# **Predict, then run.** A model learns which of two letters comes first, on sequences of 8 tokens. There are four versions: without positions, with your encoding, with your learnt embedding, and without positions but with a **causal mask**, which stops each token from attending to later ones. Which of them solve the task on 8 tokens? Which on 16? Write your guess down.

# %% demo
torch.set_num_threads(1)  # so small a model is fastest on one core
ways = {"no positions": (nn.Identity(), False), "sinusoidal": (PositionalEncoding(32, 16, 0.0), False)}
ways |= {"learnt": (LearnedPositionalEmbedding(16, 32), False), "none, but causal": (nn.Identity(), True)}
for name, (position, causal) in ways.items():
    torch.manual_seed(1)
    trained, longer = accuracy(WhoIsFirst(position, causal))
    print(f"{name:17} right on 8 tokens {trained:5.0%}   on 16 tokens {longer:5.0%}")

# %% [markdown]
# **Without positions, the answer is a coin toss**, and no amount of training helps. With either kind of positions, the model solves the task at the length it was trained on. On 16 tokens both are clearly worse: rows 8 to 15 of the learnt table were never trained, and the computed rows were never used.
#
# A **causal mask** also gives the order away: a token that can attend to A but not to B reveals that A came first. So "without positional encoding, a Transformer can't know any order" is true of an encoder and false of a decoder. Language models trained without positions learn them from the mask (Haviv et al. 2022, arXiv:2203.16634).

# %% [markdown]
# ## Exercise 5: choices (2 points)
#
# Fill in the dictionary and delete the `raise` line below it. Each answer is a letter, such as `"A"`.
#
# `"step_of_two"`: why does the index of the formula go over the columns in steps of 2?
#
# - A: otherwise, neighbouring columns would be too similar
# - B: two columns, a sine and a cosine, share one frequency
# - C: it makes the encoding half as wide, which saves memory
# - D: only every second position is encoded
#
# `"encoding_or_embedding"`: your model was trained on texts of up to 512 tokens, and now it is given one of 600. What is true?
#
# - A: the learnt embedding has no row for position 512; the encoding can be computed there, but the model never saw it
# - B: the learnt embedding works out the missing rows by itself; the encoding can't
# - C: both work as well as before, because positions are only added
# - D: neither is defined beyond position 511

# %% [markdown]
# `"without_either"`: an **encoder** has neither of the two, and no mask. What does its self-attention make of "man bites dog", compared with "dog bites man"?
#
# - A: an error, because attention needs positions
# - B: it knows the order anyway, because tokens come in one after another
# - C: each word gets the same output vector in both sentences
# - D: different vectors, but training takes longer
#
# `"two_halves"`: someone puts all sines into the left half of the table and all cosines into the right half. What changes?
#
# - A: the dot products between positions
# - B: only the order of the columns; it is a valid layout, but not the one this course uses
# - C: the wavelengths
# - D: nothing: the two tables are equal, number by number
#
# *5 minutes, easy.*

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
assert not missing, f"These entries are missing from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in questions:
    assert str(answers[key]).strip().strip("().").upper() in ("A", "B", "C", "D"), (
        f"answers['{key}'] should be 'A', 'B', 'C' or 'D'; got {answers[key]!r}."
    )
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: where to look</summary>
#
# For each question, a demo or a figure above has the answer: the figure of the eight columns, the table that compares computed and learnt, the three words without positions, and the two heat maps of the layouts.
#
# </details>
#
# <details><summary>Hint 2: two things that are easily confused</summary>
#
# "Defined" doesn't mean "familiar to the model". And an encoder without a mask reads all words at once, not one after another.
#
# </details>

# %% [markdown]
# ## Optional: rotary embeddings
#
# If an encoding is *added*, a score between two tokens depends on where both of them stand. Rotary embeddings (Su et al. 2021, arXiv:2104.09864) *turn* queries and keys instead, each pair of features by the angle of its clock. The dot product of a query at position $p$ and a key at position $q$ then depends on the positions only through the offset $p - q$.

# %% [markdown]
# ### Stretch: `rotary`
#
# At position $p$, turn each pair $(a, b)$ of features $2i$ and $2i + 1$ by the angle $t = p / \mathrm{base}^{2i / D}$:
#
# > $(a, b) \rightarrow (a \cos t - b \sin t, \; a \sin t + b \cos t)$
#
# The result has the shape of the input. An odd width raises a `ValueError`.
#
# *20 minutes, medium. Stretch: not counted.*

# %% solution rotary
def rotary(x: torch.Tensor, base: float = 10000.0) -> torch.Tensor:
    """Turn each pair of features by an angle that grows with the position (Su et al. 2021).

    x: (B, S, D). Returns: (B, S, D). Raises ValueError if D is odd.
    """
    ### BEGIN SOLUTION
    length, width = x.size(1), x.size(2)
    if width % 2 != 0:
        raise ValueError(f"the width has to be even, two features a pair; got {width}")
    positions = torch.arange(length).unsqueeze(1)  # (S, 1)
    speeds = 1 / base ** (torch.arange(0, width, 2) / width)  # (D / 2,)
    angles = (positions * speeds).to(x.dtype)  # (S, D / 2)
    cos, sin = torch.cos(angles), torch.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]  # (B, S, D / 2) each
    pairs = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)  # (B, S, D / 2, 2)
    return pairs.flatten(2)  # (B, S, D)
    ### END SOLUTION

# %% test rotary 0
x = torch.randn(2, 5, 6)
output = rotary(x)
assert isinstance(output, torch.Tensor), f"Expected a tensor, got {type(output).__name__}."
assert output.shape == (2, 5, 6), f"Expected the shape of x, (2, 5, 6), got {tuple(output.shape)}."
assert torch.allclose(output[:, 0], x[:, 0]), "At position 0 every angle is 0, so nothing turns."
assert torch.allclose(output.norm(dim=-1), x.norm(dim=-1), atol=1e-5), (
    "Turning a pair doesn't change its length, but yours changed."
)
turned = rotary(torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]))[0, 1]
assert torch.allclose(turned, torch.tensor([math.cos(1), math.sin(1)]), atol=1e-5), (
    f"At position 1, (1, 0) turns by 1 radian to (cos 1, sin 1) = (0.54, 0.84); got {turned}."
)
try:
    rotary(torch.randn(1, 2, 5))
    raised = "nothing"
except Exception as problem:
    raised = type(problem).__name__
assert raised == "ValueError", f"An odd width should raise a ValueError, but 5 raised {raised}."
print("rotary: the visible tests pass")

# %% demo
check("rotary")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# You computed the table of all angles in exercise 1. Here you need its sines and cosines separately, each of shape `(S, D / 2)`. `x[..., 0::2]` and `x[..., 1::2]` are the two features of every pair.
#
# </details>
#
# <details><summary>Hint 2: putting the pairs back</summary>
#
# You have two tensors of shape `(B, S, D / 2)` and want their entries in turn: first, second, first, second. Stack them in a new last dimension ([`torch.stack`](https://docs.pytorch.org/docs/stable/generated/torch.stack.html)), and flatten the last two dimensions into one.
#
# </details>

# %% demo
q, k = torch.randn(2, 1, 1, 64).expand(-1, -1, 40, -1)  # the same query and key at 40 positions
scores = rotary(q)[0] @ rotary(k)[0].T  # (40, 40)
for p in (3, 17, 36):
    back, here = scores[p, p - 3], scores[p, p]
    print(f"query at {p:2}, key at {p - 3:2}: score {back:.3f}    key at {p}: {here:.3f}")
at_seven = shift_matrix(-7, 64) @ q[0, 7]
print("turning at position 7 is shift_matrix(-7):", torch.allclose(rotary(q)[0, 7], at_seven, atol=1e-4))

# %% [markdown]
# Query and key are the same vectors at every position, and their score is the same wherever the key stands three positions back. The last line shows that this is the rotation of exercise 3, turning the other way.

# %% [markdown] slide="slide"
# ## In a real model
#
# SmolLM2 uses rotary positions with base 100,000. In each of its 30 layers, the queries and keys of every head are turned, pair by pair. If you wrote `rotary`, it can do that here; if not, run `skip("rotary")` first.

# %% demo
write(question, "on your rotary", chat=True, tokens=12, rotary=rotary)

# %% [markdown] slide="slide"
# It answers as before.
#
# **Predict, then reveal.** What does the model answer if you add 500 to every position? And what if the clocks run faster, with base 100 instead of 100,000?
#
# <details><summary>Answer</summary>
#
# With 500 added, it gives the same answer, word for word. In each pair of features, all queries and keys are turned by the same additional angle, and their dot products depend only on the *difference* between two positions. With base 100, the same difference turns a pair by another angle than in training, and the answer no longer makes sense.
#
# </details>

# %% demo
def shifted(x, base):
    """Turn x (H, S, K) as if its first position were 500."""
    return rotary(F.pad(x, (0, 0, 500, 0)), base)[:, 500:]


write(question, "shifted by 500", chat=True, tokens=12, rotary=shifted)
write(question, "clocks too fast", chat=True, tokens=12, rotary=lambda x, base: rotary(x, 100.0))

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()

# %% [markdown]
# ## What you can do now
#
# Each vector now carries *what* its token is (lesson 1) and *where* it stands (this lesson). **Lesson 3** lets the tokens attend to each other.
#
# **Read on**: Shaw et al. 2018, arXiv:1803.02155 (relative positions), and Su et al. 2021, arXiv:2104.09864 (rotary).

# %% [markdown] slide="skip"
# ## Glossary
#
# | term | meaning |
# |---|---|
# | positional encoding | position vectors that are computed, here from sines and cosines |
# | positional embedding | position vectors that are learnt, one row of a table per position |
# | interleaved | sine and cosine of a pair stand side by side, not in two halves |
# | buffer | a tensor that belongs to a module and moves with it but isn't trained |
# | causal mask | lets each token attend only to itself and to earlier tokens |
