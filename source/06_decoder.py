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
# - explain *autoregressive* generation, and why training can process all positions at once;
# - shift a target to the right, and choose the mask of each attention;
# - build a decoder that returns logits, and turn its layer into a GPT block;
# - tell a correct decoder from a broken one by changing a single token.
#
# **Time** about 90 minutes · **Difficulty** medium: you know all the parts, the wiring is new · **Before this** lessons 1 to 5
#
# **Read alongside** Vaswani et al. 2017, arXiv:1706.03762, sections 3.1 and 3.2.3, and the right half of figure 1.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 6 is highlighted: the decoder, a stack of N layers, each of causal self-attention, cross-attention to the encoder's output, and a feed-forward network, with a linear layer after the stack.](images/map_06.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | 1 `shift_right` | 2 | 3.1, last paragraph; figure 1, "shifted right" |
# | 2 `target_mask` | 3 | 3.2.3, third point; the paper doesn't describe padding |
# | 3 `DecoderLayer` | 6 | 3.1, "Decoder", and 3.2.3 |
# | 4 `Decoder` | 4 | 3.1, 3.4 and 3.5 |
# | 5 `CausalDecoderLayer` | 4 | not in the paper: Radford et al. 2019; Xiong et al. 2020, arXiv:2002.04745 |
# | 6 multiple choice | 1 | 3.1 to 3.4 |
# | stretch: `decode_step` | not counted | not in the paper |
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

from coursework import check, decoder_plots, hand_in, plots, skip

plots.use_style()

# %% [markdown] slide="slide"
# ## What a decoder does
#
# SmolLM2, a real decoder, gives a probability to every token that could come next (here 0.77 to *Paris*), appends the likeliest, and runs again. Without the causal mask of lesson 3, every token sees the future, as it never did in training, and the answer is lost.

# %% demo
from coursework.smollm import next_tokens, write

next_tokens("The capital of France is")
question = "What is the capital of France?"
write(question, "causal", chat=True, tokens=12)
write(question, "sees the future", chat=True, tokens=12,
      mask=lambda size: torch.ones(size, size, dtype=torch.bool))

# %% [markdown]
# ## One token after another
#
# The lesson's example is translation: the decoder writes a sentence $y$ in one language and reads a sentence $x$ in another, the **source**. The chain rule of probability splits the probability of $y$, given $x$, into steps:
#
# $P(y \mid x) = P(y_0 \mid x) \cdot P(y_1 \mid y_0, x) \cdot P(y_2 \mid y_0, y_1, x) \cdots$
#
# Each factor predicts **one token from the tokens before it**, and from $x$. A model that generates text this way is called **autoregressive**.
#
# ![Four steps from left to right; in each, a decoder reads the source x and a row of tokens, and predicts a token after the last of them. Step 0: it reads sos and predicts the. Step 1: it reads sos, the, and predicts cat. Step 2: it reads sos, the, cat, and predicts drinks. Step 3: it reads sos, the, cat, drinks, and predicts milk. An arrow leads from each predicted token to the end of the next step's input.](images/decoder_steps.svg)
#
# *Generating* has to go step by step. *Training* doesn't: the correct translation, the **target**, is known, so one pass computes all factors, and every position gets the true tokens before it. This is called **teacher forcing**.

# %% [markdown]
# ### Shifted right
#
# The decoder's input is the target, moved one place to the right, with the start token `<sos>` in front (section 3.1).
#
# ![Two rows of tokens. Below, the decoder's input: sos, the, cat, drinks, milk. Above, the token that each position has to predict: the, cat, drinks, milk, eos. Diagonal arrows show each target token moving one place to the right into the input; the last one, eos, is dropped.](images/decoder_shift.svg)
#
# Read the figure column by column: from `<sos>` predict *the*, and from the whole sentence the end token `<eos>`, which is how a model learns to stop.

# %% [markdown] slide="slide"
# ### Exercise 1: `shift_right` (2 points)
#
# The targets are ids of shape `(B, T)`, without `<sos>`. Put `<sos>` at the start of every row and drop the last token, so that the length stays T. Everything else, including `<eos>` and padding inside a row, just moves one place to the right. Don't modify the tensor you are given. *5 minutes, easy.*

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
assert isinstance(shifted, torch.Tensor), f"Expected a tensor, got {type(shifted).__name__}."
assert shifted.shape == (2, 4), f"The shape should stay (2, 4), but yours is {tuple(shifted.shape)}."
assert shifted.dtype == torch.long, (
    f"Ids should be int64, but yours are {shifted.dtype}. Which dtype does torch.ones give?"
)
assert shifted[0].tolist() == [1, 7, 8, 9], (
    f"[7, 8, 9, <eos>] should become [<sos>, 7, 8, 9] = [1, 7, 8, 9], got {shifted[0].tolist()}."
)
assert shift_right(target, sos_id=6)[:, 0].tolist() == [6, 6], "Every row should start with sos_id."
assert target[0].tolist() == [7, 8, 9, 2], "You changed the target in place. Make a new tensor instead."
print("shift_right: the visible tests pass")

# %% demo
check("shift-right")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The figure shows it: the input consists of two pieces, joined along the second dimension. Which two?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# One piece is all of the target except its last column. The other is a `(B, 1)` column of `sos_id` with the target's dtype and device: [`torch.full_like`](https://docs.pytorch.org/docs/stable/generated/torch.full_like.html) copies both from the tensor you give it. [`torch.cat`](https://docs.pytorch.org/docs/stable/generated/torch.cat.html) joins the pieces.
#
# </details>

# %% [markdown] slide="subslide"
# **Predict, then reveal.** You forget to shift: the decoder's input *is* the target, and position $t$ has to predict token $t$. The causal mask is in place. How low does the training loss get?
#
# <details><summary>Answer</summary>
#
# Almost to 0. Position $t$ may attend to itself, and there it finds the very token it should predict, so the model only learns to copy. When it generates, it repeats its last token. The mask hides what comes *after* position $t$; only the shift hides token $t$ itself.
#
# </details>

# %% [markdown]
# ## What may a target token see?
#
# All positions are processed at once, so the **causal mask** of lesson 3 stops them from looking ahead: query $i$ sees key $j$ only if $j \le i$ (section 3.2.3, third point). A position may see itself, because after the shift input $i$ is target token $i - 1$.
#
# In a batch, no token should attend to padding either, so the two masks are combined with **and**. The causal mask has shape `(T, T)` and the padding mask `(B, 1, T)`; together they broadcast to `(B, T, T)`.

# %% demo
ids = torch.tensor([[1, 7, 8, 9, 5], [1, 6, 4, 0, 0]])  # sample 1 ends with padding
tokens = ["<sos>", "6", "4", "<pad>", "<pad>"]
causal, real = causal_mask(5), padding_mask(ids)  # (5, 5) and (2, 1, 5)
named = {"causal": causal, "padding": real[1].expand(5, 5), "both": causal & real[1]}
plots.masks(named, tokens, tokens);

# %% [markdown]
# The last two queries are padding themselves, and still see the real tokens: a padding mask hides padding as a *key*, so it closes columns, not rows. The loss skips padded positions anyway (lesson 7).

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What happens if you combine the two masks with **or**, `|`?
#
# <details><summary>Answer</summary>
#
# Then a key is visible if it isn't in the future **or** if it isn't padding, so every query sees every real token, including those in the future. With PyTorch's opposite convention, True = hidden, you would need *or*.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 2: `target_mask` (3 points)
#
# Combine both masks for a batch of target ids, with `causal_mask` and `padding_mask` if you like. The result is a boolean tensor of shape `(B, T, T)`: in each sample, query $i$ may attend to key $j$ if $j \le i$ and key $j$ isn't padding. This holds for every query, including those that are padding themselves. Padding has the id `pad_id`. *10 minutes, easy.*

# %% solution target-mask
def target_mask(ids: torch.Tensor, pad_id: int = 0) -> torch.Tensor:
    """Return what each target token may attend to: real tokens up to and including itself.

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
assert isinstance(mask, torch.Tensor), f"Expected a tensor, got {type(mask).__name__}."
assert mask.dtype == torch.bool, f"The mask should be boolean, but yours is {mask.dtype}."
assert mask.shape == (2, 4, 4), (
    f"Two samples of four tokens need a mask of shape (2, 4, 4), got {tuple(mask.shape)}."
)
assert mask[0, 1].tolist() == [True, True, False, False], (
    f"In a sample without padding, position 1 should see positions 0 and 1, got {mask[0, 1].tolist()}."
)
assert not mask[1, :, 2:].any(), (
    "No query may attend to padding: columns 2 and 3 of sample 1 should be False."
)
assert mask[1, 3, :2].all(), (
    "Query 3 of sample 1 is padding itself, but its row should stay open to the real tokens before it."
)
other = target_mask(torch.tensor([[1, 0, 8, 9]]), pad_id=9)
assert other[0, 3].tolist() == [True, True, True, False], (
    f"With pad_id=9 only the last of [1, 0, 8, 9] is padding; got {other[0, 3].tolist()} for its row."
)
print("target_mask: the visible tests pass")

# %% demo
check("target-mask")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# You have both masks already: the cell above combines them for one sample. Print their shapes for a batch of two. What do they [broadcast](https://docs.pytorch.org/docs/stable/notes/broadcasting.html) to?
#
# </details>
#
# <details><summary>Hint 2: one mask for each sample</summary>
#
# `&` is an elementwise "and" for boolean tensors. The causal mask needs the length of the *targets*: which number in the shape of `ids` is that?
#
# </details>

# %% [markdown]
# ### The decoder's other mask
#
# A decoder layer has two attentions with a mask each:
#
# | attention | queries | keys and values | mask | shape |
# |---|---|---|---|---|
# | self-attention | target | target | causal **and** padding of the target | `(B, T, T)` |
# | cross-attention | target | source, as the encoder returns it | padding of the **source** | `(B, 1, S)` |
#
# The second mask isn't causal, because the whole source exists before the first token is generated.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** You swap the two masks by accident. When does Python complain?
#
# <details><summary>Answer</summary>
#
# Only if S and T differ: a `(B, T, T)` mask doesn't broadcast to scores `(B, H, T, S)`. If S = T there is no error, but the self-attention sees the future and the cross-attention is causal. That is why the tests also use S ≠ T.
#
# </details>

# %% [markdown]
# ## The decoder layer
#
# ![A decoder layer, read from bottom to top. x, of shape B, T, D, enters the masked self-attention as queries, keys and values, with the self mask; then add and norm 1. The result gives the queries of the cross-attention, whose keys and values come from the memory, of shape B, S, D, which enters from the left with the memory mask; then add and norm 2. Then feed-forward, add and norm 3, and the output of shape B, T, D. A residual connection goes around each of the three sublayers.](images/decoder_layer.svg)
#
# The three sublayers are wrapped as in the encoder:
#
# 1. **masked self-attention**, over the target;
# 2. **cross-attention**, in which target tokens read the source. Queries come from the decoder, keys and values from the encoder;
# 3. the **feed-forward network** of lesson 5.
#
# The output of the encoder's last layer is called the **memory**. Every decoder layer computes its own keys and values from it, with its own `w_k` and `w_v`. The residual connection around the cross-attention starts from the **queries'** side, because the memory has a length of its own.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** B = 2, T = 5, S = 7, `d_model` = 12, 3 heads. What are the shapes of the queries of one head, of its keys, of the cross-attention's weights, and of the layer's output?
#
# <details><summary>Answer</summary>
#
# Queries `(2, 5, 4)`, keys `(2, 7, 4)`, weights of all heads `(2, 3, 5, 7)`, output `(2, 5, 12)`. Each target token gets a single mixture of the values, however long the source is.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 3: `DecoderLayer` (6 points)
#
# Build the decoder layer from its three sublayers. *20 minutes, medium.*
#
# - **Attributes**: `self_attention` and `cross_attention`, two `MultiHeadAttention`; `feed_forward`, a `FeedForward`; `norm1`, `norm2` and `norm3`, three separate norms in the order of use. You may use `nn.LayerNorm` instead of `LayerNorm`.
# - **`forward(x, memory, self_mask=None, memory_mask=None)`** returns a tensor of shape `(B, T, D)`. Either mask may be missing, and T may differ from S.
# - **Post-norm**: $\mathrm{norm}(x + \mathrm{dropout}(\mathrm{sublayer}(x)))$, three times, each sublayer on the result of the one before.
# - **Dropout** acts on each sublayer's output before it is added. The feed-forward network gets the same rate for its own dropout. Dropout on the attention weights is optional.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

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
        """Let every target token attend to the target up to itself, then to the source.

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
from coursework.ablation import draw_weights
from coursework.torch_twins import torch_decoder_layer

layer = DecoderLayer(d_model=8, num_heads=2, d_ff=12).eval()
draw_weights(layer, seed=5)  # random norms too, so that none hides behind ones and zeros
x, memory = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
output = layer(x, memory)
assert isinstance(output, torch.Tensor), (
    f"Expected a tensor, got {type(output).__name__}. What does MultiHeadAttention return?"
)
assert output.shape == (2, 5, 8), (
    f"Five target tokens and seven source tokens should give (2, 5, 8), got {tuple(output.shape)}."
)
theirs = torch_decoder_layer(layer, d_model=8, num_heads=2, d_ff=12)  # PyTorch's, with your weights
hidden = torch.arange(7) >= torch.tensor([[7], [4]])  # (2, 7): sample 1 has four real source tokens
future = ~causal_mask(5)  # PyTorch's masks are True where attention is forbidden
with torch.no_grad():
    got = layer(x, memory, causal_mask(5), ~hidden[:, None])
    expected = theirs(x, memory, tgt_mask=future, memory_key_padding_mask=hidden)
assert torch.allclose(layer(x, memory), theirs(x, memory), atol=1e-5), (
    "Without masks, the output differs from nn.TransformerDecoderLayer with the same weights. "
    "Follow the figure box by box: what goes in, what is added, and which norm comes next?"
)
assert torch.allclose(got, expected, atol=1e-5), (
    "Without masks the output agrees with nn.TransformerDecoderLayer, with masks it differs. "
    "Which mask does each attention get?"
)
memory[1, 4:] += 5.0  # the padding of sample 1
assert torch.allclose(layer(x, memory, causal_mask(5), ~hidden[:, None]), got, atol=1e-5), (
    "The output changes when only the padding of the source changes. Where does memory_mask go?"
)
dropping = DecoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=1.0)  # drops everything
bare = dropping.norm3(dropping.norm2(dropping.norm1(x)))
assert torch.allclose(dropping(x, memory), bare, atol=1e-6), (
    "With dropout=1.0 in train mode, no sublayer should add anything. "
    "Do you apply dropout to the output of each?"
)
whole = DecoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=0.0)  # drops nothing
assert torch.equal(whole(x, memory), whole(x, memory)), (
    "With dropout=0.0 in train mode, two calls should agree. Does the feed-forward network get the rate, too?"
)
print("DecoderLayer: the visible tests pass, and it agrees with nn.TransformerDecoderLayer")

# %% demo
check("decoder-layer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# It is the encoder layer with one more sublayer. Write the three sublayers in the order of the figure. For each arrow that enters a box, ask where it starts.
#
# </details>
#
# <details><summary>Hint 2: the cross-attention</summary>
#
# `MultiHeadAttention` of lesson 4 takes query, key, value and mask, in this order, and returns a pair: the output and the weights. The query is what the decoder has computed so far, and it determines the number of outputs. The key and the value are the same tensor.
#
# </details>
#
# <details><summary>Hint 3: it differs from PyTorch</summary>
#
# Write down, line by line, which tensor each of your lines reads, and compare with the arrows of the figure. Common causes: a residual connection that starts from an older `x`, a norm that is used twice, queries from before `norm1`, a mask in the wrong attention. [`nn.TransformerDecoderLayer`](https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerDecoderLayer.html) is the layer that the tests compare with.
#
# </details>

# %% [markdown]
# ## Change one token
#
# Neither shapes nor losses show whether a decoder is wired correctly. To find out, **change a single token and see which outputs change**.
#
# - A target token must change its own output and all outputs **after** it, and none before it.
# - A source token must change **every** output.
#
# `movement` measures how far each output moves.

# %% demo
torch.manual_seed(1)
layer = DecoderLayer(8, 2, 16).eval()
x, memory = torch.randn(1, 5, 8), torch.randn(1, 5, 8)  # two decoders below need S = T


@torch.no_grad()
def movement(model, change_source=False):
    """Change one token after another: how far does each output move? (5, 5)"""
    torch.manual_seed(10)  # the same new tokens for every model
    before, rows = model(x, memory), []
    for position in range(5):
        new_x, new_memory = x.clone(), memory.clone()
        (new_memory if change_source else new_x)[0, position] = torch.randn(8)
        rows.append((model(new_x, new_memory) - before).norm(dim=-1)[0])  # (5,)
    return torch.stack(rows)


def masked(x, memory):
    """Your layer, with a causal mask."""
    return layer(x, memory, causal_mask(x.size(1)))

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A row is the token that was changed, a column an output. Where are the zeros?
#
# <details><summary>Answer</summary>
#
# Left, below the diagonal: changing target token $i$ moves the outputs from $i$ on. Right, nowhere: every output reads the whole source.
#
# </details>

# %% demo
sources, targets = [f"x{i}" for i in range(5)], [f"y{i}" for i in range(5)]
after, everywhere = causal_mask(5).T, torch.ones(5, 5, dtype=torch.bool)
maps = {"a target token is changed": (movement(masked), after),
        "a source token is changed": (movement(masked, change_source=True), everywhere)}
decoder_plots.movements(maps, [targets, sources], targets);

# %% [markdown]
# ### Three broken decoders
#
# 1. **No causal mask.** The self-attention sees the whole target.
# 2. **Self-attention on the memory.** The self-attention runs over the *encoder's output*, and the target only supplies the queries of the second attention.
# 3. **The obvious repair.** Now the self-attention gets the target, but someone swaps the arguments of the second attention: only its values come from there, and its queries and keys from the *encoder's output*.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A *target* token is changed. Which outputs move in each of the three?
#
# <details><summary>Answer</summary>
#
# - Without a causal mask, and after the obvious repair, every output moves: both decoders see the future.
# - Self-attention on the memory **passes every test of causality**, since no output depends on a later token. But none depends on an *earlier* one either: instead of $P(y_2 \mid y_0, y_1, x)$ it models $P(y_2 \mid y_1, x)$. A test has to ask two things: is the future hidden, *and* is the past used?
#
# </details>

# %% demo
from coursework.broken_decoders import QueriesFromMemory, SelfAttentionOnMemory

torch.manual_seed(2)
broken = {"no causal mask": layer,
          "self-attention on the memory": SelfAttentionOnMemory(8, 2),
          "the obvious repair": QueriesFromMemory(8, 2)}
maps = {name: (movement(model), after) for name, model in broken.items()}
decoder_plots.movements(maps, [targets] * 3, targets);

# %% [markdown]
# Solid frames mark outputs that moved and shouldn't have, dashed frames outputs that should have moved and didn't.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Now a *source* token is changed. Would this test find the mistakes?
#
# <details><summary>Answer</summary>
#
# No. Every output moves, as it should (two movements on the right are rounded to 0). Only the pattern looks odd: in the middle, the residual connection starts from the memory, so source token $i$ is added to output $i$.
#
# </details>

# %% demo
maps = {name: (movement(each, change_source=True), everywhere)
        for name, each in broken.items()}
decoder_plots.movements(maps, [sources] * 3, targets);

# %% [markdown]
# None of the three broken decoders raises an error. Change one target token with the slider, and compare the four decoders.

# %% demo
from ipywidgets import IntSlider, interact

decoders = {"your layer": masked, **broken}
moves = {name: movement(each) for name, each in decoders.items()}
highest = 1.2 * max(float(rows.max()) for rows in moves.values())


@interact(position=IntSlider(value=2, min=0, max=4, continuous_update=False))
def flip(position):
    """Change one target token: how far does each output move?"""
    heights = {name: rows[position] for name, rows in moves.items()}
    plots.bars(heights, targets, marked=targets[:position], top=highest)
    plt.suptitle(f"{targets[position]} is changed; the orange bars must be 0")
    plt.show()

# %% [markdown] slide="subslide"
# **Predict, then reveal.** When a model generates text, the future doesn't exist yet. Is the causal mask needed only in training?
#
# <details><summary>Answer</summary>
#
# No. Without it, position 2 would read position 4 as soon as there is one. With the mask, the outputs of a prefix never change, so a model can *keep* what it has computed (see the stretch exercise).
#
# </details>

# %% demo
with torch.no_grad():
    for name, model in {"with the mask": masked, "without": layer}.items():
        short, long = model(x[:, :3], memory), model(x, memory)
        moved = (long[:, :3] - short).abs().max()
        print(f"{name:14} tokens 3 and 4 move outputs 0 to 2 by up to {moved:.3f}")

# %% [markdown]
# ## The whole decoder
#
# ![The whole decoder from left to right: ids of shape B, T go through embedding and position into a stack of layers; the memory, of shape B, S, D, enters every layer from above, through the layer's own keys and values. After the last layer comes project, from D to V, which gives logits of shape B, T, V. Outside the decoder, the softmax turns them into probabilities.](images/decoder_stack.svg)
#
# After the stack, a linear layer, `project`, turns each position's vector of width `d_model` into one number for every token of the **target** vocabulary. These V numbers are the **logits**. A softmax over them gives the probability of each possible next token (section 3.4). The decoder returns the logits, because the loss in lesson 7 applies the softmax itself.

# %% [markdown] slide="slide"
# ### Exercise 4: `Decoder` (4 points)
#
# Build the whole decoder. *15 minutes, medium.*
#
# - **Attributes**: `embedding`, a `TokenEmbedding`; `position`, a `PositionalEncoding`; `layers`, an `nn.ModuleList` of `num_layers` layers with weights of their own; `project`, an `nn.Linear` from `d_model` to `vocab_size`, with bias. (In the paper it shares its matrix with the embedding, section 3.4; here it has its own.)
# - **`forward(ids, memory, self_mask=None, memory_mask=None)`** returns logits of shape `(B, T, V)`, without a softmax and without another norm after the last layer. Every layer gets both masks and the same memory.
# - **`max_len`** and **`dropout`** go to the parts that take them.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution decoder
class Decoder(nn.Module):
    """Turn token ids and a memory into logits (Vaswani et al. 2017, sections 3.1, 3.4 and 3.5).

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
        """Compute a logit for every token of the vocabulary at every position.

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
    f"11 logits at each of 5 positions should have shape (2, 5, 11), got {tuple(logits.shape)}."
)
sums = logits.exp().sum(dim=-1)
assert not torch.allclose(logits.sum(dim=-1), torch.ones(2, 5), atol=1e-3), (
    "The numbers at each position sum to 1. Return logits: the softmax doesn't belong in the decoder."
)
assert not torch.allclose(sums, torch.ones(2, 5), atol=1e-3), (
    "The exponentials at each position sum to 1. Return logits, without a log-softmax."
)
numbers = sum(p.numel() for p in decoder.parameters())
assert numbers == 1859, (
    f"This decoder should have 1859 parameters, yours has {numbers}. Does each layer have its own "
    "weights, is each registered, and does project have a bias and a matrix of its own?"
)
prefix = decoder(ids[:, :3], memory, target_mask(ids[:, :3]))
assert torch.allclose(prefix, logits[:, :3], atol=1e-5), (
    "The first three tokens alone should give the same logits as in the full sentence. "
    "Does every layer get self_mask?"
)
changed = decoder(ids, torch.randn(2, 7, 8), target_mask(ids))
moved = (changed - logits).abs().amax(dim=-1)  # (2, 5)
assert (moved > 1e-5).all(), f"A different memory should change the logits at every position, got {moved}."
real = padding_mask(torch.tensor([[5, 9, 4, 3, 8, 7, 2], [6, 8, 4, 2, 0, 0, 0]]))  # (2, 1, 7)
hidden, padded = decoder(ids, memory, target_mask(ids), real), memory.clone()
padded[1, 4:] += 5.0  # the padding of sample 1
assert torch.allclose(decoder(ids, padded, target_mask(ids), real), hidden, atol=1e-5), (
    "The logits change when only the padding of the source changes. Does every layer get memory_mask?"
)
same = decoder(torch.full((1, 4), 7), torch.randn(1, 7, 8))  # the same token four times, no mask
assert not torch.allclose(same[0, 0], same[0, 3], atol=1e-3), (
    "The same token gets the same logits at every position. Where do you add the positions?"
)
logits.sum().backward()
unused = [name for name, p in decoder.named_parameters() if p.grad is None]
more = f" and {len(unused) - 3} more" if len(unused) > 3 else ""
assert not unused, f"No gradient reaches {unused[:3]}{more}. Which part do you create but never use?"
longer = Decoder(vocab_size=11, d_model=8, num_layers=1, num_heads=2, d_ff=12, max_len=520, dropout=0.0)
lines = [longer(torch.full((1, 515), 4), memory[:1]) for _ in range(2)]  # in train mode
assert lines[0].shape == (1, 515, 11), (
    "With max_len=520 the decoder should take 515 tokens. Does max_len reach the positional encoding?"
)
assert torch.equal(*lines), "With dropout=0.0 two calls should agree. Does every part get dropout?"
print("Decoder: the visible tests pass")

# %% demo
check("decoder")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` creates the parts, and `forward` applies them one after the other. Compare with the encoder of lesson 5: the memory, the second mask and `project` are new.
#
# </details>
#
# <details><summary>Hint 2: the number of parameters is wrong</summary>
#
# A plain Python list hides its layers from PyTorch, and `[layer] * 2` contains one layer twice. [`nn.ModuleList`](https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html) needs a list in which every entry was created separately.
#
# </details>
#
# <details><summary>Hint 3: only one layer seems to work</summary>
#
# Each layer takes the output of the one before. Check what changes from one round of your loop to the next, and where your `return` is.
#
# </details>

# %% [markdown]
# ## A decoder without an encoder: the GPT block
#
# A language model without a source sentence needs only masked self-attention and the feed-forward network. It is called **decoder-only** (GPT-1: Radford et al. 2018, *Improving Language Understanding by Generative Pre-Training*, section 4.1).
#
# ![Two blocks side by side, read from bottom to top. In each, a thick straight line, the residual stream, leads from x at the bottom to the output at the top, and sublayers branch off to its left and are added back to it. Left, the decoder layer of the paper: masked self-attention, cross-attention with the memory, and feed-forward branch off; after each sum a norm sits on the residual stream itself. Right, the GPT block: masked self-attention and feed-forward branch off, each behind its own norm within the branch, so the residual stream contains nothing but two sums.](images/decoder_gpt_block.svg)
#
# The thick line of each block is its **residual stream**: the vectors that each sublayer reads from and adds to. GPT-2 moved the norms from this stream into the branches (Radford et al. 2019, section 2.3). This is **pre-norm**, $x + \mathrm{dropout}(\mathrm{sublayer}(\mathrm{norm}(x)))$.
#
# Deep pre-norm stacks are easier to train (Xiong et al. 2020, arXiv:2002.04745). But their vectors grow from block to block, so the *model* needs one more norm after its last block.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In a pre-norm block, does the residual connection carry the normed x, or x itself?
#
# <details><summary>Answer</summary>
#
# x itself. Only the sublayer reads the normed vector. If the residual connection carried it, every block would rescale the stream, and the gradient would have to pass through every norm.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 5: `CausalDecoderLayer` (4 points)
#
# Build the GPT block. *15 minutes, medium.*
#
# - **Attributes**: `self_attention`, `feed_forward`, `norm1`, `norm2`.
# - **`forward(x)`** makes its own causal mask, for whatever length x has. There is no memory and no other mask.
# - **Pre-norm**: $x + \mathrm{dropout}(\mathrm{sublayer}(\mathrm{norm}(x)))$, twice. As in the decoder layer, the feed-forward network gets the same dropout rate. It keeps the ReLU of lesson 5 (GPT-2 has a GELU).
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

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
        """Let every token attend to itself and those before it. x: (B, T, d_model). Returns: the same."""
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
assert output.shape == (2, 5, 8), f"The shape should stay (2, 5, 8), but yours is {tuple(output.shape)}."
assert torch.allclose(block(x[:, :3]), output[:, :3], atol=1e-5), (
    "The first three tokens alone should give the same outputs as in the full sentence. Is the mask causal?"
)
changed = x.clone()
changed[:, 0] = torch.randn(2, 8)
assert ((block(changed) - output).abs().amax(dim=-1) > 1e-6).all(), (
    "A change of token 0 should reach every output. Is your mask the right triangle?"
)
far, farther = block(1000 * x) - 1000 * x, block(2000 * x) - 2000 * x
assert torch.allclose(far, farther, atol=0.02), (
    "If x is scaled, what is added to x should stay the same, because both sublayers read normed vectors. "
    "Is each norm inside its branch, and do you add to x itself?"
)
output.square().sum().backward()
unused = [name for name, p in block.named_parameters() if p.grad is None]
assert not unused, f"No gradient reaches {unused}. Which part do you create but never use?"
whole = CausalDecoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=0.0)  # drops nothing
assert torch.equal(whole(x), whole(x)), (
    "With dropout=0.0 in train mode, two calls should agree. Does the feed-forward network get the rate, too?"
)
dropping = CausalDecoderLayer(d_model=8, num_heads=2, d_ff=12, dropout=1.0)  # drops everything
assert torch.allclose(dropping(x), x, atol=1e-6), (
    "With dropout=1.0 in train mode, both sublayers should add nothing. "
    "Do you apply dropout to the output of each?"
)
with torch.no_grad():
    for linear in (block.self_attention.w_o, block.feed_forward.linear2):
        linear.weight.zero_()
        linear.bias.zero_()
assert torch.allclose(block(x), x, atol=1e-6), (
    "If both sublayers return zeros, x should pass through unchanged, because the residual stream "
    "contains nothing but sums. Where are your norms, and what do you add to?"
)
print("CausalDecoderLayer: the visible tests pass")

# %% demo
check("causal-decoder-layer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start from your decoder layer. Remove the cross-attention with its norm, and move the two other norms to where the figure has them.
#
# </details>
#
# <details><summary>Hint 2: one norm, three arguments</summary>
#
# Queries, keys and values are all the normed x. Give the normed tensor a name of its own, so that x is still there for the residual connection.
#
# </details>

# %% [markdown]
# ## Exercise 6: multiple choice (1 point)
#
# A translation model has source sentences of 9 tokens and target sentences of 6, a batch of 4, `d_model` 32, 2 heads, a source vocabulary of 70 tokens and a target vocabulary of 50. Fill in the dictionary and delete the `raise` line below it. The first three answers are letters, such as `"A"`. The last is a number. *5 minutes, easy.*
#
# `"self_mask"`: what is the mask of the decoder's **self-attention** made from?
#
# - A: the causal mask alone, of size 9
# - B: the causal mask and the padding of the source
# - C: the causal mask and the padding of the target
# - D: the padding of the target alone
#
# `"memory_mask"`: what is the mask of the **cross-attention** made from?
#
# - A: the causal mask and the padding of the source
# - B: the padding of the source alone
# - C: the padding of the target alone
# - D: nothing; there is no mask, because the encoder has already masked its padding

# %% [markdown]
# `"from_encoder"`: what do the decoder's layers get from the encoder?
#
# - A: the output of the encoder's last layer; each decoder layer computes its own keys and values from it
# - B: the output of the encoder's last layer; each decoder layer computes its own queries from it
# - C: keys and values, which the encoder computes once for all decoder layers
# - D: decoder layer i gets the output of encoder layer i
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
assert not missing, f"These entries are missing from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key in letters:
    assert str(answers[key]).strip().strip("().").upper() in ("A", "B", "C", "D"), (
        f"answers['{key}'] should be one of 'A' to 'D', got {answers[key]!r}."
    )
assert isinstance(answers["output_width"], int | float), (
    f"answers['output_width'] should be a whole number, got {answers['output_width']!r}."
)
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: masks</summary>
#
# For each attention, ask whose tokens the keys are: their padding has to be hidden. Then ask whether some of these keys don't exist yet when the query's token is generated.
#
# </details>
#
# <details><summary>Hint 2: width</summary>
#
# Each position has to choose one token. How many are there to choose from?
#
# </details>

# %% [markdown]
# ### Stretch: decode with a cache
#
# Because of the causal mask, the vectors of earlier positions never change. So a GPT can keep what it needs of them in a **cache**, usually each layer's keys and values (a **KV cache**), and process only the new position. *20 minutes, hard.*
#
# Write `decode_step(layer, x, cache=None)`, which runs a `CausalDecoderLayer` on *one* new position.
#
# - `x` has shape `(B, 1, D)`. `cache` is whatever your function returned for the position before, or `None` at position 0.
# - Return a pair: the layer's output for this position, of shape `(B, 1, D)`, and the cache for the next one.
# - In `eval()` mode, calling it for one position after another must give the same outputs as `layer` does on all positions at once.
# - The feed-forward network may only see the new position. Everything you keep goes into the cache: two texts may be decoded in turns with the same layer.
# - Use nothing of the layer but `self_attention`, `feed_forward`, `norm1` and `norm2`.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution decode-step
def decode_step(
    layer: nn.Module, x: torch.Tensor, cache: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Run a causal decoder layer, in eval mode, on the next position alone.

    x: (B, 1, d_model); cache: what the call for the position before returned, None at position 0.
    Returns: the output (B, 1, d_model), and the cache for the next position.
    """
    ### BEGIN SOLUTION
    normed = layer.norm1(x)  # (B, 1, D)
    seen = normed if cache is None else torch.cat([cache, normed], dim=1)  # (B, t + 1, D)
    attended, _ = layer.self_attention(normed, seen, seen)  # (B, 1, D)
    x = x + attended
    y = x + layer.feed_forward(layer.norm2(x))  # (B, 1, D)
    return y, seen
    ### END SOLUTION

# %% test decode-step 0
from coursework.ablation import draw_weights

block = CausalDecoderLayer(d_model=8, num_heads=2, d_ff=12).eval()
draw_weights(block, seed=7)
positions_seen = []
block.feed_forward.register_forward_hook(lambda part, args, output: positions_seen.append(args[0].size(1)))


def decode_all(*texts):
    """Decode texts (B, T, 8) in turns, position by position, with a cache for each of them."""
    caches, outputs = [None] * len(texts), [[] for _ in texts]
    for place in range(max(text.size(1) for text in texts)):
        for number, text in enumerate(texts):
            if place < text.size(1):
                pair = decode_step(block, text[:, place : place + 1], caches[number])
                assert isinstance(pair, tuple | list), f"Expected a pair (y, cache), got {type(pair).__name__}."
                y, caches[number] = pair
                outputs[number].append(y)
    return [torch.cat(ys, dim=1) for ys in outputs]


with torch.no_grad():
    x, other = torch.randn(2, 5, 8), torch.randn(3, 4, 8)
    whole, whole_other = block(x), block(other)
    positions_seen.clear()
    (stepwise,) = decode_all(x)
    assert stepwise.shape == (2, 5, 8), (
        f"Five steps should give five outputs, (2, 5, 8) in all, got {tuple(stepwise.shape)}."
    )
    assert torch.allclose(stepwise[:, 0], whole[:, 0], atol=1e-5), (
        "The output at position 0 is wrong, where there is no cache yet. Follow the layer step by step."
    )
    assert torch.allclose(stepwise, whole, atol=1e-5), (
        "From position 1 on, the outputs differ from the layer's. "
        "Does the query see all earlier positions, and itself?"
    )
    assert max(positions_seen, default=0) <= 1, (
        f"The feed-forward network saw up to {max(positions_seen)} positions in a call. It should see one."
    )
    first, second = decode_all(x, other)
    assert torch.allclose(first, whole, atol=1e-5) and torch.allclose(second, whole_other, atol=1e-5), (
        "Two texts decoded in turns disturb each other. Is everything you keep in the cache?"
    )
print("decode_step: the visible tests pass")

# %% demo
check("decode-step")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The new position supplies the only query. Which positions does it attend to, and what do you need of them? Do you need a mask?
#
# </details>
#
# <details><summary>Hint 2: what to keep</summary>
#
# Keys and values are projections of the *normed* inputs. The simplest cache holds these normed inputs, of shape `(B, t, D)`: give all of them to `self_attention` as key and value. Then the projections of earlier positions are computed again, but nothing else is.
#
# </details>
#
# <details><summary>Hint 3: a real KV cache</summary>
#
# To save the projections too, keep the outputs of `w_k` and `w_v`, split them into heads, and call [`F.scaled_dot_product_attention`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html) yourself. The number of heads is in the shape of the weights that `self_attention` returns, `(B, H, 1, t + 1)`.
#
# </details>

# %% [markdown]
# To generate T tokens, $1 + 2 + \dots + T$ positions go through the feed-forward network without a cache, and T with it.

# %% [markdown] slide="slide"
# ## In a real model
#
# SmolLM2 is 30 pre-norm layers like your `CausalDecoderLayer`, with rotary positions and a gated feed-forward network. It writes with a cache like that of the stretch exercise.
#
# **Predict, then reveal.** How many times as long does a token take without the cache, after 10, 100 and 400 tokens?
#
# <details><summary>Answer</summary>
#
# With the cache, a single position goes through the layers, so the time hardly grows with the length. Without it, all positions go through them again for each token: after 10 tokens this takes about twice the time, after 400 more than ten times. (The times are processor time on one core, so that other programs don't count.)
#
# </details>

# %% demo
import time

from coursework import smollm

threads = torch.get_num_threads()
torch.set_num_threads(1)
try:
    model = smollm.load()
    ids = model.encode("Once upon a time, there was a robot. " * 50)  # (1, T)
    for length in (10, 100, 400):
        _, past = model(ids[:, :length])
        seconds = {}
        new, whole = (ids[:, length : length + 1], past), (ids[:, : length + 1],)
        for name, given in {"with": new, "without": whole}.items():
            start = time.process_time()
            model(*given)
            seconds[name] = time.process_time() - start
        took = ", ".join(f"{spent:.2f} s {name} the cache" for name, spent in seconds.items())
        print(f"after {length:3} tokens: {took}, {seconds['without'] / seconds['with']:.0f} times as much")
except smollm.NotInstalledError as problem:
    print(problem)
torch.set_num_threads(threads)

# %% [markdown] slide="slide"
# **Predict, then reveal.** A cache grows with every token, in every layer. To save memory, let each position attend only to the 16 latest, or to these and the very first. Which of the two still writes?
#
# <details><summary>Answer</summary>
#
# Without the first token, the model roughly repeats the request and stops. With it, it writes a fluent story, but not about a robot: the request soon falls out of the window. The first token is an *attention sink* (Xiao et al. 2023, arXiv:2309.17453): a head that needs nothing still has to put its weight somewhere, and many learn to put it there. If that token is gone, the weight goes to tokens that were meant to be ignored.
#
# </details>

# %% demo
def latest(size, kept=16, sink=0):
    """Return a causal mask over the latest positions, and over the first `sink`."""
    row, column = torch.arange(size)[:, None], torch.arange(size)
    return (column <= row) & ((column > row - kept) | (column < sink))  # (S, S)


request = "Write a short story about a robot."
write(request, "all positions", chat=True, tokens=30)
write(request, "the latest 16", chat=True, tokens=30, mask=latest)
write(request, "the latest 16 and the first", chat=True, tokens=30,
      mask=lambda size: latest(size, sink=1))

# %% [markdown] slide="slide"
# ## What's wrong here?
#
# The code below runs without an error, and every shape is right. Before you open the answer, write down which line is wrong, why it causes this symptom, and a short test that would have found it. (Not counted.)

# %% [markdown] slide="subslide"
# ### Case: the first token is right, and then come dashes
#
# This loop should generate text with a cache. The model returns logits and `past`, the keys and values so far, and can continue from a given `past`.

# %% demo
def continue_text(model, text, tokens=12):
    """Print the tokens that follow a text, each the likeliest."""
    ids = model.encode(text)  # (1, T)
    for _ in range(tokens):
        logits, past = model(ids)
        ids = logits[:, -1:].argmax(dim=-1)  # (1, 1)
        print(model.decode(ids[0].tolist()), end="")
    print()

# %% demo
try:
    continue_text(smollm.load(), "The capital of France is")
except smollm.NotInstalledError as problem:
    print(problem)

# %% [markdown]
# The loop writes *Paris*, as it should, and then only dashes. **What does the model see at the second step?**
#
# <details><summary>Answer</summary>
#
# **The mistake.** `past` is kept but never passed on. Set `past = None` before the loop and call `model(ids, past)`.
#
# **Why this symptom.** The first step reads the whole text, so its token is right. Every later step reads a text of one token, at position 0, with nothing before it. A wrong mask would have spoilt the first token, too.
#
# **A test that finds it.** With and without a cache, the logits of the second step must agree.
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
# You have built the half of the Transformer that generates text. **Lesson 7** puts encoder and decoder together and trains models.
#
# **Read on**: Radford et al. 2019, *Language Models are Unsupervised Multitask Learners*, sections 2 and 2.3.
#
# ## Glossary
#
# | term | meaning |
# |---|---|
# | **autoregressive** | generates one token at a time, from the tokens before it |
# | **teacher forcing** | training with the true previous tokens as input, at all positions at once |
# | **memory** | the encoder's output |
# | **cross-attention** | queries come from the decoder, keys and values from the memory |
# | **logits** | the numbers before the softmax, one for each token of the vocabulary |
# | **decoder-only** | masked self-attention and feed-forward networks, without an encoder |
# | **residual stream** | the vectors that every sublayer reads from and adds to |
# | **KV cache** | the keys and values of earlier positions, kept while generating |
