# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 6 · The decoder
#
# **You will be able to**
#
# - say what *autoregressive* means, and why training can still treat all positions at once;
# - shift a target to the right, and explain what goes wrong if nobody does;
# - combine a causal mask with a padding mask, and say which mask goes into which attention;
# - build a decoder layer: masked self-attention, cross-attention, feed-forward, each with its residual and norm;
# - check a decoder by changing one token and watching which outputs move;
# - stack the layers into a decoder that returns logits, and turn the layer into the block of a GPT.
#
# **Time** about 100 minutes · **Difficulty** medium; every part is known, the wiring is new · **Before this** lessons 1 to 5
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.1 and 3.2.3, and the right half of figure 1.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `shift_right` | 2 | 3.1, last paragraph; figure 1, "shifted right" |
# | `target_mask` | 3 | 3.2.3, third point; padding is not described |
# | `DecoderLayer` | 6 | 3.1, "Decoder", and 3.2.3 |
# | `Decoder` | 4 | 3.1, 3.4 and 3.5 |
# | `CausalDecoderLayer` | 4 | not in the paper: Radford et al. 2019; Xiong et al. 2020, arXiv:2002.04745 |
# | choices | 1 | 3.1 to 3.4 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% [markdown]
# The parts you built before are put to work here. Where an earlier notebook lies next door and a part of it passes a quick check, yours is used; otherwise a stand-in with the same name, arguments and results, built on PyTorch's own modules. The next cell says which. Your marks for this lesson do not depend on it.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

from coursework.earlier import load_earlier

parts = load_earlier("06_decoder")
MultiHeadAttention, FeedForward = parts["MultiHeadAttention"], parts["FeedForward"]
TokenEmbedding, PositionalEncoding = parts["TokenEmbedding"], parts["PositionalEncoding"]
LayerNorm, causal_mask, padding_mask = (
    parts[name] for name in ("LayerNorm", "causal_mask", "padding_mask")
)

torch.manual_seed(6);

# %% demo
import matplotlib.pyplot as plt

from coursework import decoder_plots, plots

plots.use_style()

# %% [markdown]
# ## One token after another
#
# An encoder has the whole sentence in front of it. A decoder *writes* a sentence, so it never has more than what it has written so far. The probability of a translation y of a sentence x is taken apart with the chain rule of probability:
#
# P(y | x) = P(y₁ | x) · P(y₂ | y₁, x) · P(y₃ | y₁, y₂, x) · …
#
# Each factor predicts **one token from those before it**, and from x. A model that feeds on its own output in this way is called **autoregressive**. Nothing in the formula is specific to Transformers; what is specific is how the factors are computed.
#
# To *write*, one has to go step by step, since y₂ does not exist before y₁ was chosen. To *train*, the right translation is known, and all factors can be computed in one pass: at every position the model is given the true tokens before it, whatever it would have written itself. This is **teacher forcing**, and it is where the parallelism of the decoder comes from.

# %% [markdown]
# ### Shifted right
#
# At position t the model should predict target token t, and may see the target tokens before it. So the decoder's input is the target moved one place to the right, with the start token `<sos>` in the place that has become free (section 3.1).
#
# ![Two rows of tokens. Below, the decoder's input: sos, the, cat, drinks, milk. Above, what each position has to predict: the, cat, drinks, milk, eos. Diagonal arrows show each target token moving one place to the right into the input; the last one, eos, is dropped.](images/decoder_shift.svg)
#
# Read it column by column: from `<sos>` predict *the*; from `<sos> the` predict *cat*; and from the whole sentence predict `<eos>`, which is how a model learns to stop.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Somebody forgets to shift: the decoder's input *is* the target, and position t has to predict token t. The causal mask is in place. How low does the training loss get?
#
# <details><summary>Answer</summary>
#
# To zero, as good as. Position t may attend to itself, and finds there the very token it is asked for; copying is all it has to learn. When it writes a text of its own it repeats the last token for ever. The mask hides what comes *after* position t, and only the shift keeps token t itself out of sight: the two work as a pair.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 1: `shift_right` (2 points)
#
# Targets come as ids, `(B, T)`, without `<sos>`. Put `<sos>` in front of every row and drop the last token, so that the length stays T. Nothing else changes: `<eos>` and padding in the middle of a row move along like any token. The tensor you are given must not be modified.

# %% solution shift-right
def shift_right(target: torch.Tensor, sos_id: int = 1) -> torch.Tensor:
    """Make the decoder's input from the target (Vaswani et al. 2017, section 3.1).

    target: LongTensor (B, T). Returns: LongTensor (B, T), <sos> first, the last token dropped.
    """
    ### BEGIN SOLUTION
    start = torch.full_like(target[:, :1], sos_id)  # (B, 1)
    return torch.cat([start, target[:, :-1]], dim=1)  # (B, T)
    ### END SOLUTION

# %% test shift-right 2
target = torch.tensor([[7, 8, 9, 2], [5, 2, 0, 0]])  # <eos> is 2, <pad> is 0
shifted = shift_right(target)
assert isinstance(shifted, torch.Tensor), (
    f"Expected a tensor, got {type(shifted).__name__}: is there a return?"
)
assert shifted.shape == (2, 4), f"The length stays 4: expected (2, 4), got {tuple(shifted.shape)}."
assert shifted.dtype == torch.long, f"Ids are int64, got {shifted.dtype}. What does ones() make?"
assert shifted[0].tolist() == [1, 7, 8, 9], (
    f"[7, 8, 9, <eos>] becomes [<sos>, 7, 8, 9] = [1, 7, 8, 9], got {shifted[0].tolist()}."
)
assert shift_right(target, sos_id=6)[:, 0].tolist() == [6, 6], "Every row starts with sos_id."
assert target[0].tolist() == [7, 8, 9, 2], "The target was changed in place; make a new tensor."
print("shift_right: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Two pieces are laid end to end along the second dimension. Which two?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# One piece is all of the target but its last column. The other is a column `(B, 1)` of `sos_id`, in the dtype and on the device of the target: `torch.full_like` takes both over from the tensor it imitates. `torch.cat` joins the pieces.
#
# </details>

# %% [markdown]
# ## What a target token may see
#
# Computing all positions at once is only fair if position t cannot look ahead. That is the work of the **causal mask** of lesson 3: in the decoder's self-attention, query i sees key j only for j ≤ i (section 3.2.3, third point). After the shift, seeing "itself" is harmless: input i is target token i − 1.
#
# Batches bring a second rule. Targets are padded to one length, and nobody should read padding. Both rules have to hold at once, so the masks are combined with **and**. A causal mask is `(T, T)` and the same for all; a padding mask is `(B, 1, T)`, a row for each sample; broadcasting makes `(B, T, T)` of both.

# %% demo
ids = torch.tensor([[1, 7, 8, 9, 5], [1, 6, 4, 0, 0]])  # the second target has two tokens of padding
tokens = ["<sos>", "6", "4", "<pad>", "<pad>"]
causal, real = causal_mask(5), padding_mask(ids)  # (5, 5) and (2, 1, 5)
named = {"causal": causal, "padding": real[1].expand(5, 5), "both, with and": causal & real[1]}
plots.masks(named, tokens, tokens);

# %% [markdown]
# Read the right-hand picture row by row, a row for each query. Look at the last two rows: they belong to **queries** that are padding themselves, and they are open to the real tokens before them. Hiding padding means hiding *columns*. What a padded position puts out is never used (the loss leaves it out, lesson 7), so there is no need to close its row. There is a reason to leave it open: a row without any True has nothing to normalise.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What if the masks are combined with **or**, `|`, because "both count"?
#
# <details><summary>Answer</summary>
#
# Then a key is visible if it is not in the future **or** if it is not padding. Every real token is visible to everybody, the future included. True means *may attend*, and permissions are combined with *and*. (With the opposite convention, True = hidden, it would be *or*. Hence many a mix-up: PyTorch itself has both.)
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 2: `target_mask` (3 points)
#
# Combine both for a batch of target ids. `causal_mask` and `padding_mask` are in scope. The result is boolean, `(B, T, T)`: query i of sample b may attend to key j if j ≤ i and key j is not padding. Rows of queries that are padding follow the same rule as all others. T may be anything, and the padding has the id `pad_id`.

# %% solution target-mask
def target_mask(ids: torch.Tensor, pad_id: int = 0) -> torch.Tensor:
    """Say what each target token may attend to: real tokens up to and including itself.

    ids: LongTensor (B, T). Returns: BoolTensor (B, T, T), True = may attend
    (Vaswani et al. 2017, section 3.2.3, and the padding of the batch).
    """
    ### BEGIN SOLUTION
    causal = causal_mask(ids.size(1)).to(ids.device)  # (T, T)
    real = padding_mask(ids, pad_id)  # (B, 1, T)
    return causal & real  # (B, T, T)
    ### END SOLUTION

# %% test target-mask 3
mask = target_mask(torch.tensor([[1, 7, 8, 9], [1, 6, 0, 0]]))
assert isinstance(mask, torch.Tensor), (
    f"Expected a tensor, got {type(mask).__name__}: is there a return?"
)
assert mask.dtype == torch.bool, f"A mask is boolean, got {mask.dtype}."
assert mask.shape == (2, 4, 4), (
    f"A square for each of two samples of four tokens: expected (2, 4, 4), got {tuple(mask.shape)}."
)
assert mask[0, 1].tolist() == [True, True, False, False], (
    f"Position 1 of a sample without padding sees 0 and 1, got {mask[0, 1].tolist()}."
)
assert not mask[1, :, 2:].any(), "Nobody may attend to padding: columns 2 and 3 of sample 1."
assert mask[1, 3, :2].all(), (
    "The query at position 3 of sample 1 is padding; its row stays open to the real tokens before it."
)
other = target_mask(torch.tensor([[1, 0, 8, 9]]), pad_id=9)
assert other[0, 3].tolist() == [True, True, True, False], (
    f"With pad_id=9 the last of [1, 0, 8, 9] is padding, and 0 is a word; got {other[0, 3].tolist()}."
)
print("target_mask: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Both masks exist already. Print their shapes for a batch of two; what do they broadcast to?
#
# </details>
#
# <details><summary>Hint 2: one for each sample</summary>
#
# `&` is "and" for boolean tensors, element by element. The causal mask is as long as the *targets*: which number in the shape of `ids` is that?
#
# </details>

# %% [markdown]
# ### The other mask of the decoder
#
# A decoder layer has two attentions, and each has a mask of its own:
#
# | attention | queries | keys and values | mask | shape |
# |---|---|---|---|---|
# | self-attention | target | target | causal **and** padding of the target | `(B, T, T)` |
# | cross-attention | target | source (the memory) | padding of the **source** | `(B, 1, S)` |
#
# There is nothing causal about the second one. The whole source sentence exists before the first word is written, and the first word may well depend on the last one of the source; in translation it often does.

# %% demo
source = torch.tensor([[5, 9, 4, 3, 8, 7], [6, 8, 4, 9, 0, 0]])  # S = 6, the second has two of padding
columns = ["6", "8", "4", "9", "<pad>", "<pad>"]
memory_mask = padding_mask(source)  # (2, 1, 6)
rows_and_columns = {"padding of the source, for 5 queries": memory_mask[1].expand(5, 6)}
plots.masks(rows_and_columns, tokens, columns);

# %% [markdown] slide="subslide"
# **Predict, then reveal.** The two masks are exchanged by accident. When does Python complain?
#
# <details><summary>Answer</summary>
#
# When S and T differ: a `(B, T, T)` mask does not fit scores of `(B, H, T, S)`. In a batch where both happen to be padded to the same length nothing is said, the self-attention sees the future, and the cross-attention is causal. Tests with S = T are blind here, so this lesson's tests have both.
#
# </details>

# %% [markdown]
# ## The decoder layer
#
# ![A decoder layer, read from bottom to top. x, B T D, enters masked self-attention as queries, keys and values, with the self mask; then add and norm 1. Its result gives the queries of the cross-attention, whose keys and values come from the memory, B S D, entering from the left with the memory mask; then add and norm 2. Then feed-forward, add and norm 3, and the output, B T D. Each residual goes around one box.](images/decoder_layer.svg)
#
# Three sub-layers, each wrapped as in the encoder, LayerNorm(x + Dropout(Sublayer(x))) (section 3.1):
#
# 1. **masked self-attention**: target tokens read the target tokens before them;
# 2. **cross-attention**: target tokens read the source. The queries come from the decoder, keys and values from the encoder's output, the **memory**;
# 3. **feed-forward**: each position by itself, as in lesson 5.

# %% [markdown]
# ### What comes from the encoder
#
# People say "the encoder hands its keys and values to the decoder", and that is not quite it. It hands over one tensor, the output of its **last** layer, `(B, S, D)`. Every decoder layer makes keys and values of its own from it, by its own `w_k` and `w_v`. Six layers ask six different questions of the same memory, and the memory is computed once.
#
# The residual around the cross-attention adds to the **queries'** side: one vector for each target token. A residual from the memory would not even have the right length, unless S happens to equal T.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** B = 2, T = 5, S = 7, d_model = 12, 3 heads. What are the shapes of the queries of one head, of its keys, of the weights of the cross-attention, and of the layer's output?
#
# <details><summary>Answer</summary>
#
# Queries `(2, 5, 4)`, keys `(2, 7, 4)`, weights of all heads `(2, 3, 5, 7)`, output `(2, 5, 12)`. The source's length appears in the weights and nowhere after them: each target token gets one mixture, however long the source is.
#
# </details>

# %% [markdown] slide="slide"
# ## Exercise 3: `DecoderLayer` (6 points)
#
# - **attributes** `self_attention` and `cross_attention`, two `MultiHeadAttention`; `feed_forward`, a `FeedForward`; `norm1`, `norm2`, `norm3`, three norms in the order of use. None is used twice. `nn.LayerNorm` may stand for `LayerNorm`;
# - **forward(x, memory, self_mask=None, memory_mask=None)** returns `(B, T, D)`. Either mask may be missing, and T may differ from S;
# - **post-norm**: norm(x + dropout(sublayer(x))), three times, each sub-layer on the result of the one before;
# - **dropout** acts on the output of each sub-layer, before the residual is added, and the feed-forward gets the same rate for its own. Whether the attentions drop weights as well is up to you.

# %% solution decoder-layer
class DecoderLayer(nn.Module):
    """One layer of the decoder, post-norm (Vaswani et al. 2017, section 3.1 and figure 1, right).

    Attributes: self_attention, cross_attention (MultiHeadAttention), feed_forward (FeedForward),
    norm1, norm2, norm3 (LayerNorm).
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.norm3 = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        self_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Let every target token read the target before it, then the source.

        x: (B, T, d_model); memory: (B, S, d_model); self_mask: (T, T) or (B, T, T);
        memory_mask: (B, 1 or T, S); True = may attend. Returns: (B, T, d_model).
        """
        ### BEGIN SOLUTION
        attended, _ = self.self_attention(x, x, x, self_mask)  # (B, T, d_model)
        x = self.norm1(x + self.dropout(attended))
        read, _ = self.cross_attention(x, memory, memory, memory_mask)  # (B, T, d_model)
        x = self.norm2(x + self.dropout(read))
        changed = self.feed_forward(x)  # (B, T, d_model)
        return self.norm3(x + self.dropout(changed))
        ### END SOLUTION

# %% test decoder-layer 6
from coursework.dissection import draw_weights
from coursework.torch_decoder import torch_decoder_layer

layer = DecoderLayer(d_model=8, num_heads=2, d_ff=12).eval()
draw_weights(layer, seed=5)  # norms too: nothing hides behind ones and zeros
x, memory = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
output = layer(x, memory)
assert isinstance(output, torch.Tensor), (
    f"Expected the output alone, got {type(output).__name__}. What does MultiHeadAttention return?"
)
assert output.shape == (2, 5, 8), (
    f"Five target tokens read seven source tokens: expected (2, 5, 8), got {tuple(output.shape)}."
)
theirs = torch_decoder_layer(layer, d_model=8, num_heads=2, d_ff=12)  # PyTorch's, with your weights
hidden = torch.arange(7) >= torch.tensor([[7], [4]])  # (2, 7): sample 1 has four real source tokens
future = ~causal_mask(5)  # PyTorch's masks are True where nothing may be read
with torch.no_grad():
    got = layer(x, memory, causal_mask(5), ~hidden[:, None])
    expected = theirs(x, memory, tgt_mask=future, memory_key_padding_mask=hidden)
assert torch.allclose(layer(x, memory), theirs(x, memory), atol=1e-5), (
    "Without masks it differs from nn.TransformerDecoderLayer with the same weights. "
    "Follow the figure box by box: what goes in, what is added, which norm comes next?"
)
assert torch.allclose(got, expected, atol=1e-5), (
    "With masks it differs from nn.TransformerDecoderLayer with the same weights, without them it "
    "agrees. Which mask goes into which attention?"
)
memory[1, 4:] += 5.0  # the padding of sample 1
assert torch.allclose(layer(x, memory, causal_mask(5), ~hidden[:, None]), got, atol=1e-5), (
    "The output changes when only the padding of the source does."
)
dropping = DecoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=1.0)  # drops all there is to drop
bare = dropping.norm3(dropping.norm2(dropping.norm1(x)))
assert torch.allclose(dropping(x, memory), bare, atol=1e-6), (
    "With dropout=1.0 the sub-layers should add nothing in train mode. Is each one's output dropped?"
)
print("DecoderLayer: the visible tests pass, and it agrees with nn.TransformerDecoderLayer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# It is the encoder layer with one sub-layer more. Write the three in the order of the figure, and look at each arrow that enters a box: where does it start?
#
# </details>
#
# <details><summary>Hint 2: the cross-attention</summary>
#
# `MultiHeadAttention` takes query, key, value, mask, in this order. The first is what the decoder has made so far; it decides how many outputs there are. The other two are the same tensor.
#
# </details>
#
# <details><summary>Hint 3: it differs from PyTorch's</summary>
#
# Halve the search. Set `layer.feed_forward` aside by zeroing `linear2` in both layers, then the cross-attention by zeroing `w_o`: what is left is norm3(norm2(norm1(x + …))). In the order of frequency, the usual reasons are: a residual that starts from an older `x`, a norm that is used twice, queries taken from before `norm1`, a mask in the wrong attention.
#
# </details>

# %% [markdown]
# ## Flip one token
#
# Shapes and losses do not show whether a decoder is wired rightly. One experiment does: **change a single token and see which outputs move**. For the target, a row below says which token was changed, a column which output moved and by how much.
#
# - A target token must move itself and everything **after** it, and nothing before it.
# - A source token must move **every** output.

# %% demo
torch.manual_seed(1)
layer = DecoderLayer(8, 2, 16).eval()
x, memory = torch.randn(1, 5, 8), torch.randn(1, 5, 8)  # as long as the target, for what follows


@torch.no_grad()
def movement(model, flip_source=False):
    """Change one token after the other: how far each output moves, (5, 5)."""
    before, rows = model(x, memory), []
    for position in range(5):
        changed = [x.clone(), memory.clone()]
        changed[flip_source][0, position] = torch.randn(8)
        rows.append((model(*changed) - before).norm(dim=-1)[0])  # (5,)
    return torch.stack(rows)


def masked(x, memory):
    """Your layer, with a causal mask."""
    return layer(x, memory, causal_mask(x.size(1)))


source, target = [f"x{i}" for i in range(1, 6)], [f"y{i}" for i in range(1, 6)]
after, everywhere = causal_mask(5).T, torch.ones(5, 5, dtype=torch.bool)
figure = decoder_plots.movements({"a target token is changed": (movement(masked), after),
                                  "a source token is changed": (movement(masked, True), everywhere)},
                                 [target, source], target)

# %% [markdown]
# A triangle on the left, a full square on the right. Keep this picture in mind; it is the fingerprint of a decoder. Now three that are broken.
#
# 1. **No causal mask.** The commonest one.
# 2. **Self-attention on the memory.** In a notebook that has been copied many times, the arguments of the decoder layer arrive in an order that is not meant: its self-attention runs over the *encoder's output*, and the target only supplies the queries of the second attention.
# 3. **Its obvious repair.** Whoever notices exchanges the arguments until the self-attention gets the target. Then the queries of the second attention are the encoder's output, and the target supplies the values.
#
# The last two work only as long as S = T, because their residuals add target to source; and `coursework.broken_decoders` has them with attentions and residuals only, since norms and feed-forward move nothing between positions.

# %% demo
from coursework.broken_decoders import QueriesFromMemory, SelfAttentionOnMemory

torch.manual_seed(2)
broken = {"no causal mask": layer, "self-attention on the memory": SelfAttentionOnMemory(8, 2),
          "its obvious repair": QueriesFromMemory(8, 2)}
maps = {name: (movement(model), after) for name, model in broken.items()}
decoder_plots.movements(maps, [target] * 3, target);

# %% [markdown]
# A solid frame is an output that moved and must not: it has seen the future. A dashed frame is one that should have moved and did not.
#
# The picture in the middle is the interesting one. **It passes every test of causality**: no output depends on a later token. It depends on no earlier one either. This decoder writes each word without having read the words before it; of the chain rule, P(y₃ | y₁, y₂, x) has become P(y₃ | y₂, x). So a test has to ask both: is the future hidden, *and* is the past used?

# %% demo
maps = {name: (movement(model, True), everywhere) for name, model in broken.items()}
decoder_plots.movements(maps, [source] * 3, target);

# %% [markdown]
# Changing the source tells nothing new about the first. In the second, the causal mask that was meant for the target now hides the *source*: early source tokens are mixed without the later ones, although every output still moves a little through the keys. None of this raises an error.
#
# Try it yourself: pick a token, and compare who notices. (On paper the squares above say the same, row by row.)

# %% demo
from ipywidgets import IntSlider, interact

moves = {name: movement(model) for name, model in {"your layer": masked, **broken}.items()}


@interact(position=IntSlider(value=3, min=1, max=5, continuous_update=False))
def flip(position):
    """Change one target token: how far does each output move?"""
    heights = {name: rows[position - 1] for name, rows in moves.items()}
    plots.bars(heights, target, marked=target[: position - 1])
    plt.suptitle(f"{target[position - 1]} is changed; what is vermilion must be 0")
    plt.show()

# %% [markdown] slide="subslide"
# **Predict, then reveal.** When a model writes, the future does not exist yet. So is the causal mask needed only in training?
#
# <details><summary>Answer</summary>
#
# It is needed in both. Without it, position 2 would read position 5 as soon as there is one, and its output would differ from what it was when the sentence was three tokens long, and from all that was seen in training. With it, the outputs of a prefix never change as the sentence grows. The next cell shows it. (This is also why keys and values of tokens already written can be kept instead of computed again.)
#
# </details>

# %% demo
with torch.no_grad():
    for name, model in {"with the mask": masked, "without": layer}.items():
        short, long = model(x[:, :3], memory), model(x, memory)
        moved = (long[:, :3] - short).abs().max()
        print(f"{name:14} outputs 1 to 3 move by {moved:.3f} when tokens 4 and 5 are added")

# %% [markdown]
# ## The decoder, and what happens at its end
#
# ![The whole decoder from left to right: ids B T go through embedding and position into a stack of layers; the memory, B S D, enters every layer from above, by its own keys and values. After the last layer comes project, from D to V, giving logits B T V. Outside the decoder, dashed, the softmax turns them into probabilities.](images/decoder_stack.svg)
#
# Below the layers lie the embedding and the positions of lessons 1 and 2, as in the encoder. Above them lies one linear layer, `project`, which turns each position's vector of width d_model into one number for every word of the **target** vocabulary: the **logits**, V wide. The softmax over these V numbers gives the probability of each next token (section 3.4).
#
# The decoder returns the logits and leaves the softmax to others. The loss of lesson 7 wants logits, because log-softmax in one step is numerically safer; and picking the most probable token needs no softmax at all.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Somebody puts the softmax into the model and trains with `F.cross_entropy`, which applies a (log-)softmax of its own. How low can the loss get with V = 13?
#
# <details><summary>Answer</summary>
#
# The model's outputs now lie between 0 and 1. At best they are 1 for the right token and 0 for the other twelve, and the second softmax makes e / (e + 12) of that: the loss cannot fall below ln(e + 12) − 1 ≈ 1.69. It looks like a model that does not learn, while its predictions may be nearly perfect.
#
# </details>

# %% demo
perfect = F.one_hot(torch.tensor([4]), 13).float()  # (1, 13): "probabilities" of a perfect model
floor = F.cross_entropy(perfect, torch.tensor([4]))
print(f"softmax twice, nothing wrong: loss {floor:.3f}   formula {math.log(math.e + 12) - 1:.3f}")
sure = F.cross_entropy(20 * perfect, torch.tensor([4]))
print(f"logits, nothing wrong: loss {sure:.7f}")

# %% [markdown] slide="slide"
# ### Exercise 4: `Decoder` (4 points)
#
# - **attributes** `embedding`, a `TokenEmbedding`; `position`, a `PositionalEncoding`; `layers`, an `nn.ModuleList` of `num_layers` layers, each with weights of its own; `project`, an `nn.Linear` from `d_model` to `vocab_size`, with bias. (The paper shares the matrix of `project` with the embedding, section 3.4. Here it has weights of its own.)
# - **forward(ids, memory, self_mask=None, memory_mask=None)** returns logits `(B, T, V)`: no softmax, and no further norm after the last layer. Both masks reach every layer, and every layer reads the same memory;
# - **`max_len`** and **`dropout`** go to the parts that take them.

# %% solution decoder
class Decoder(nn.Module):
    """Token ids and a memory to logits (Vaswani et al. 2017, sections 3.1, 3.4 and 3.5).

    Attributes: embedding (TokenEmbedding), position (PositionalEncoding), layers (ModuleList of
    DecoderLayer), project (Linear(d_model, vocab_size)).
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
            [DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
        )
        self.project = nn.Linear(d_model, vocab_size)
        ### END SOLUTION

    def forward(
        self,
        ids: torch.Tensor,
        memory: torch.Tensor,
        self_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Score every word of the vocabulary at every position.

        ids: LongTensor (B, T); memory: (B, S, d_model); masks as in DecoderLayer.
        Returns: logits (B, T, vocab_size).
        """
        ### BEGIN SOLUTION
        x = self.embedding(ids)  # (B, T, d_model)
        x = self.position(x)
        for layer in self.layers:
            x = layer(x, memory, self_mask, memory_mask)
        return self.project(x)  # (B, T, vocab_size)
        ### END SOLUTION

# %% test decoder 4
decoder = Decoder(vocab_size=11, d_model=8, num_layers=2, num_heads=2, d_ff=12, max_len=20).eval()
ids, memory = torch.tensor([[1, 7, 8, 9, 4], [1, 6, 5, 0, 0]]), torch.randn(2, 7, 8)
logits = decoder(ids, memory, target_mask(ids))
assert isinstance(logits, torch.Tensor), f"Expected a tensor, got {type(logits).__name__}."
assert logits.shape == (2, 5, 11), (
    f"A number for each of 11 words at each of 5 positions: (2, 5, 11), got {tuple(logits.shape)}."
)
sums = logits.exp().sum(dim=-1)
assert not torch.allclose(logits.sum(dim=-1), torch.ones(2, 5), atol=1e-3), (
    "The numbers of each position sum to 1: the softmax belongs outside the decoder."
)
assert not torch.allclose(sums, torch.ones(2, 5), atol=1e-3), (
    "The exponentials of each position sum to 1: the log-softmax belongs outside the decoder."
)
prefix = decoder(ids[:, :3], memory, target_mask(ids[:, :3]))
assert torch.allclose(prefix, logits[:, :3], atol=1e-5), (
    "The first three tokens alone should give the first three rows. Does every layer get self_mask?"
)
changed = decoder(ids, torch.randn(2, 7, 8), target_mask(ids))
moved = (changed - logits).abs().amax(dim=-1)  # (2, 5)
assert (moved > 1e-5).all(), f"With another memory every position should differ, got {moved}."
real = padding_mask(torch.tensor([[5, 9, 4, 3, 8, 7, 2], [6, 8, 4, 2, 0, 0, 0]]))  # (2, 1, 7)
hidden, padded = decoder(ids, memory, target_mask(ids), real), memory.clone()
padded[1, 4:] += 5.0  # the padding of sample 1
assert torch.allclose(decoder(ids, padded, target_mask(ids), real), hidden, atol=1e-5), (
    "The logits change when only the padding of the source does. Does every layer get memory_mask?"
)
same = decoder(torch.full((1, 4), 7), torch.randn(1, 7, 8))  # one word four times, no mask
assert not torch.allclose(same[0, 0], same[0, 3], atol=1e-3), (
    "The same word gets the same logits at each place. Where do the positions come in?"
)
logits.sum().backward()
unused = [name for name, p in decoder.named_parameters() if p.grad is None]
assert not unused, f"No gradient reaches {unused}. Which part is made, but not used?"
numbers = sum(p.numel() for p in decoder.parameters())
assert numbers == 1859, (
    f"This decoder should have 1859 parameters, yours has {numbers}. "
    "Are the layers separate, is each registered, has project a bias and a matrix of its own?"
)
longer = Decoder(vocab_size=11, d_model=8, num_layers=1, num_heads=2, d_ff=12, max_len=520, dropout=0.0)
lines = [longer(torch.full((1, 515), 4), memory[:1]) for _ in range(2)]  # in train mode
assert lines[0].shape == (1, 515, 11), (
    "With max_len=520 a target of 515 tokens should pass. Does max_len reach the positions?"
)
assert torch.equal(*lines), "With dropout=0.0 two calls should agree. Does every part get dropout?"
print("Decoder: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` is a list of parts, `forward` a walk through them. Compare the encoder of lesson 5: what is new is the memory, a second mask, and `project`.
#
# </details>
#
# <details><summary>Hint 2: the parameters do not add up</summary>
#
# A plain Python list hides its layers from PyTorch, and `[layer] * 2` is one layer, named twice. `nn.ModuleList` wants a list in which every entry was made by itself.
#
# </details>
#
# <details><summary>Hint 3: only one layer seems to work</summary>
#
# Each layer takes what the one before has made. Look at what changes from one round of your loop to the next, and at where the `return` stands.
#
# </details>

# %% [markdown]
# An untrained decoder, looked at from its end. What does it believe about the next word?

# %% demo
torch.manual_seed(3)
words = ["<pad>", "<sos>", "<eos>", "<unk>", "the", "cat", "drinks", "milk"]
decoder = Decoder(vocab_size=8, d_model=16, num_layers=2, num_heads=2, d_ff=32).eval()
ids = torch.tensor([[1, 4, 5, 6]])  # <sos> the cat drinks
with torch.no_grad():
    logits = decoder(ids, torch.randn(1, 6, 16), target_mask(ids))  # (1, 4, 8)
names = ["<sos>", "… the", "… cat", "… drinks"]
plots.heatmap(torch.softmax(logits[0], dim=-1), names, words, title="what comes next?");

# %% [markdown]
# Every row is a distribution over the whole vocabulary, from one pass. Before training they are nearly arbitrary, `<pad>` included. Training compares each row with the word that really follows; writing uses the **last** row only, picks a word from it, and appends it to the input. Both come in lesson 7.

# %% [markdown]
# ## A decoder without an encoder: the GPT block
#
# Many of today's language models have no source sentence. What is left of the decoder layer without a memory is masked self-attention and feed-forward: **decoder-only**. Such a model estimates P(y) = P(y₁) · P(y₂ | y₁) · …, and a "source", if there is one, simply stands at the beginning of the text. GPT-1 was of this kind (Radford et al. 2018, *Improving Language Understanding by Generative Pre-Training*, section 4.1).
#
# ![Two blocks side by side, read from bottom to top. Left, the decoder layer of the paper: masked self-attention, add and norm, cross-attention with the memory, add and norm, feed-forward, add and norm. The norms lie on the main path. Right, the GPT block: norm 1, masked self-attention, add; norm 2, feed-forward, add. The norms lie in the branches, and the main path from x to the output is free of any.](images/decoder_gpt_block.svg)
#
# GPT-2 then moved the norms to the *input* of each sub-layer (Radford et al. 2019, *Language Models are Unsupervised Multitask Learners*, section 2.3): **pre-norm**, x + dropout(sublayer(norm(x))). The main path from the bottom to the top is then nothing but additions. Xiong et al. 2020 (arXiv:2002.04745) show that with pre-norm the gradients are well-behaved at initialisation, and that the warm-up of the learning rate, which post-norm needs, can be left out. The price: the vectors on the main path grow from layer to layer, and a model needs one more norm at its very end. That one belongs to the model, not to the block.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In the pre-norm block, is the residual the normed x or x itself?
#
# <details><summary>Answer</summary>
#
# x itself. The norm lies in the branch: what the sub-layer reads is normed, what is carried on is not. With the normed x as residual every block would rescale the main path, and the free way for the gradient, which is the point of pre-norm, would be gone.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 5: `CausalDecoderLayer` (4 points)
#
# - **attributes** `self_attention`, `feed_forward`, `norm1`, `norm2`;
# - **forward(x)** makes its own causal mask, for whatever length x has. There is no memory and no other mask;
# - **pre-norm**: x + dropout(sublayer(norm(x))), twice. As in the decoder layer, the feed-forward gets the same dropout.
#
# (GPT-2 has a GELU in its feed-forward; ours keeps the ReLU of lesson 5.)

# %% solution causal-decoder-layer
class CausalDecoderLayer(nn.Module):
    """The block of a decoder-only model, pre-norm (Radford et al. 2019, section 2.3).

    Attributes: self_attention (MultiHeadAttention), feed_forward (FeedForward), norm1, norm2.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout)
        self.feed_forward = FeedForward(d_model, d_ff, dropout)
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Let every token read itself and those before it. x: (B, T, d_model). Returns: the same."""
        ### BEGIN SOLUTION
        mask = causal_mask(x.size(1)).to(x.device)  # (T, T)
        normed = self.norm1(x)
        attended, _ = self.self_attention(normed, normed, normed, mask)  # (B, T, d_model)
        x = x + self.dropout(attended)
        normed = self.norm2(x)
        changed = self.feed_forward(normed)  # (B, T, d_model)
        return x + self.dropout(changed)
        ### END SOLUTION

# %% test causal-decoder-layer 4
block = CausalDecoderLayer(d_model=8, num_heads=2, d_ff=12).eval()
x = torch.randn(2, 5, 8)
output = block(x)
assert isinstance(output, torch.Tensor), f"Expected a tensor, got {type(output).__name__}."
assert output.shape == (2, 5, 8), f"Expected the shape of x, (2, 5, 8), got {tuple(output.shape)}."
assert torch.allclose(block(x[:, :3]), output[:, :3], atol=1e-5), (
    "The first three tokens alone should give the first three outputs: is the mask causal?"
)
changed = x.clone()
changed[:, 0] = torch.randn(2, 8)
assert ((block(changed) - output).abs().amax(dim=-1) > 1e-6).all(), (
    "A change of the first token should reach every output. Which triangle does the mask have?"
)
far, farther = block(1000 * x) - 1000 * x, block(2000 * x) - 2000 * x
assert torch.allclose(far, farther, atol=0.02), (
    "However long x is, the sub-layers should add the same: what they read has been normed. Is it, for both?"
)
output.square().sum().backward()
unused = [name for name, p in block.named_parameters() if p.grad is None]
assert not unused, f"No gradient reaches {unused}. Which part is made, but not used?"
dropping = CausalDecoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=1.0)  # drops all there is
assert torch.allclose(dropping(x), x, atol=1e-6), (
    "With dropout=1.0 both sub-layers should add nothing in train mode. Is each one's output dropped?"
)
with torch.no_grad():
    for linear in (block.self_attention.w_o, block.feed_forward.linear2):
        linear.weight.zero_()
        linear.bias.zero_()
assert torch.allclose(block(x), x, atol=1e-6), (
    "With both sub-layers silenced, x should pass through untouched: nothing but additions "
    "lies on the main path. Where are the norms, and what is the residual?"
)
print("CausalDecoderLayer: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start from your decoder layer. Take out the cross-attention with its norm, and move the remaining norms to where the figure has them.
#
# </details>
#
# <details><summary>Hint 2: one norm, three arguments</summary>
#
# Queries, keys and values are all the normed x. Give the normed tensor a name of its own, so that x stays what it was for the residual.
#
# </details>

# %% [markdown]
# ### The main path
#
# Twelve blocks in a row, untrained, of both kinds. How long are the vectors after each of them? Post-norm brings them back to √d_model = 8 every time; with pre-norm every block adds something.

# %% demo
torch.manual_seed(4)
pre = [CausalDecoderLayer(64, 4, 256).eval() for _ in range(12)]
post = [DecoderLayer(64, 4, 256).eval() for _ in range(12)]
x, memory = torch.randn(1, 10, 64), torch.randn(1, 10, 64)


@torch.no_grad()
def lengths(step, layers, x):
    """The mean length of the vectors after each layer."""
    found = []
    for layer in layers:
        x = step(layer, x)
        found.append(x.norm(dim=-1).mean().item())
    return found


grown = lengths(lambda layer, x: layer(x), pre, x)
kept = lengths(lambda layer, x: layer(x, memory, causal_mask(10)), post, x)
named = {"pre-norm (GPT block)": grown, "post-norm (decoder layer)": kept}
plots.curves(range(1, 13), named, labels=("after block", "mean length of a vector"));

# %% [markdown]
# ## Exercise 6: choices (1 point)
#
# A translation model: source sentences of 9 tokens, target sentences of 6, a batch of 4, `d_model` 32, 2 heads, a source vocabulary of 70 words and a target vocabulary of 50. Fill in the dictionary and delete the `raise` line below it. The first three answers are letters, such as `"A"`, the last is a number.
#
# `"self_mask"`: the mask of the decoder's **self-attention** is made
#
# - A: from the causal mask alone, of size 9
# - B: from the causal mask and the padding of the source
# - C: from the causal mask and the padding of the target
# - D: from the padding of the target alone
#
# `"memory_mask"`: the mask of the **cross-attention** is made
#
# - A: from the causal mask and the padding of the source
# - B: from the padding of the source alone
# - C: from the padding of the target alone
# - D: there is none, since the encoder has masked its padding already

# %% [markdown]
# `"from_encoder"`: what do the decoder's layers get from the encoder?
#
# - A: the output of the encoder's last layer; each decoder layer makes its own keys and values from it
# - B: the output of the encoder's last layer; each decoder layer makes its own queries from it
# - C: keys and values, which the encoder computes once for all decoder layers
# - D: the output of encoder layer i, for decoder layer i
#
# `"output_width"`: how many numbers does the decoder return for **each position** of the target?

# %% solution decoder-choices
answers = {
    "self_mask": None,
    "memory_mask": None,
    "from_encoder": None,
    "output_width": None,
}
### BEGIN SOLUTION
answers = {
    "self_mask": "C",
    "memory_mask": "B",
    "from_encoder": "A",
    "output_width": 50,
}
### END SOLUTION

# %% test decoder-choices 1
letters = ("self_mask", "memory_mask", "from_encoder")
missing = {*letters, "output_width"} - set(answers)
assert not missing, f"These entries are gone from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in letters:
    assert answers[key] in ("A", "B", "C", "D"), (
        f"answers['{key}'] is one of 'A' to 'D', got {answers[key]!r}."
    )
assert isinstance(answers["output_width"], int), (
    f"'output_width' is a whole number, got {answers['output_width']!r}."
)
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: masks</summary>
#
# For each attention ask: whose tokens are the keys? Their padding is what has to be hidden. Then ask whether some of these keys do not exist yet when the query's word is written.
#
# </details>
#
# <details><summary>Hint 2: width</summary>
#
# A position chooses one word. Among which words?
#
# </details>

# %% [markdown]
# ## What you can do now
#
# You have built the half of the Transformer that writes. You know which of its two attentions gets which mask, and what the encoder hands over. You can tell a sound decoder from a broken one by changing a single token, where shapes and training losses say nothing. Your layer agrees with PyTorch's, and with two norms moved and one attention removed it has become the block of a GPT.
#
# **Lesson 7** puts encoder and decoder together, builds the masks from the ids, and trains the result: to reverse, to translate, and to write in the manner of Shakespeare.
#
# **Read on**: Xiong et al. 2020, arXiv:2002.04745, sections 3.1 to 3.3, for where the norm belongs. For the decoder-only models: Radford et al. 2019, sections 2 and 2.3.
