# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 7 · The Transformer, built, trained and used
#
# **You will be able to**
#
# - assemble a whole Transformer, and say which of its attentions reads under which mask;
# - name the shape of every tensor on the way from token ids to probabilities;
# - decode greedily, for a batch whose sentences end at different times;
# - write the paper's training recipe: shifted targets, label smoothing, warm-up;
# - train models that write numbers in words, reverse a sequence, and sound faintly like Shakespeare;
# - tell a model that has learnt from one that reads the answer off its input.
#
# **Time** about 150 minutes · **Difficulty** medium; every part is short, the whole is long · **Before this** lessons 5 and 6
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.1, 3.4 and 5.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `Transformer` | 5 | 3.1 and figure 1; masks 3.2.3; first weights are ours |
# | `greedy_decode` | 3 | 3.1, "auto-regressive"; the paper itself uses beam search (6.1) |
# | `label_smoothing_loss` | 2 | 5.4 |
# | `noam_rate` | 1 | 5.3, equation 3 |
# | `train_step` | 3 | 3.1, "shifted right" |
# | `language_windows` | 2 | not in the paper |
# | `LanguageModel` | 2 | not in the paper: Radford et al. 2019, section 2.3 |
# | the fourteen tensors | 2 | 3.1 to 3.5 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% [markdown]
# This lesson stands on everything before it. Where your earlier notebooks lie next door, and a part of yours agrees with PyTorch in a quick check, your part is used. Otherwise a stand-in takes its place, which does the same and is built on PyTorch's own modules. The next cell says which. Your marks for this lesson do not depend on it.

# %% setup
import math

import torch
import torch.nn.functional as F
from torch import nn

from coursework.earlier import load_earlier

parts = load_earlier("07_transformer")
MultiHeadAttention, TokenEmbedding = parts["MultiHeadAttention"], parts["TokenEmbedding"]
PositionalEncoding, padding_mask = parts["PositionalEncoding"], parts["padding_mask"]
LayerNorm, FeedForward = parts["LayerNorm"], parts["FeedForward"]
causal_mask, target_mask = parts["causal_mask"], parts["target_mask"]
Encoder, Decoder = parts["Encoder"], parts["Decoder"]
CausalDecoderLayer, shift_right = parts["CausalDecoderLayer"], parts["shift_right"]

torch.manual_seed(7);

# %% demo
import matplotlib.pyplot as plt

from coursework import plots

plots.use_style()

# %% [markdown]
# ## The whole machine
#
# An encoder turns a source sentence into a **memory**, one vector per source token. A decoder writes the target from left to right: it reads what has been written so far, looks into the memory, and says for every position how likely each word of the target vocabulary is to come next. Both stacks are finished; what is missing is the frame that holds them together.
#
# ![The Transformer with the fourteen tensors of this lesson. On the left the encoder, from bottom to top: source ids, B by S; source vectors, B by S by D; in each layer the weights of self-attention, B by H by S by S, what was attended to, B by S by D, and the hidden features, B by S by F; at the top the memory, B by S by D. On the right the decoder: decoder input, B by T; target vectors, B by T by D; in each layer the weights of self-attention, B by H by T by T, the weights of cross-attention, B by H by T by S, what cross-attention returns, B by T by D, and the hidden features, B by T by F; then logits and probabilities, both B by T by V. An arrow leads from the memory to cross-attention.](images/transformer_tensors.svg)
#
# Only one arrow joins the two halves. Everything that the decoder knows about the source comes through cross-attention, and comes from the **top** of the encoder, the same memory for every decoder layer (section 3.1).

# %% [markdown]
# ### Which mask goes where
#
# There are three kinds of attention in the machine, and each reads something else.
#
# | attention | queries | keys | who is hidden |
# |---|---|---|---|
# | encoder, self | source | source | `<pad>` of the source |
# | decoder, self | target | target | what comes later, and `<pad>` of the target |
# | decoder, cross | target | source | `<pad>` of the source, once more |
#
# ![Three masks as grids, for a source of seven tokens of which the last two are padding, and a target of five of which the last is padding. Encoder self-attention: seven by seven, the last two columns crossed out. Decoder self-attention: five by five, a lower triangle with the last column crossed out. Cross-attention: five rows by seven columns, the last two columns crossed out.](images/transformer_masks.svg)
#
# The model makes all three from the token ids. Whoever uses it hands in ids and cannot get a mask wrong.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Somebody forgets the mask in cross-attention alone. The loss falls as before, and the translations look fine. When does it show?
#
# <details><summary>Answer</summary>
#
# As soon as a sentence is translated together with a longer one. Its memory then ends in vectors of `<pad>`, the cross-attention reads them, and the translation depends on the company a sentence happens to keep. Alone, the same sentence comes out differently. A test that appends two pads to the source and compares the logits notices at once.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 1: `Transformer` (5 points)
#
# Put the two stacks together, `encode`, `decode` and `forward` apart, because decoding needs the first once and the second at every step.
#
# - **Parts.** Without `encoder` or `decoder` the model builds its own from the numbers it is given; one that is passed in is used as it is. Note the order of arguments: `Encoder(vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout)`, and the same for `Decoder`, are called as `encoder(ids, mask)` and `decoder(ids, memory, self_mask, memory_mask)`.
# - **Masks** are made from the ids, inside, with `pad_id`. `padding_mask` and `target_mask` are in scope.
# - **First weights.** Every matrix of the parts that the model builds itself, embeddings included, starts Xavier-uniform (Glorot and Bengio 2010, section 4.2.1). A part that was passed in may be trained already: it stays as it came. The row of `<pad>` may start either way.
# - **Logits** come out: no softmax.

# %% solution transformer
class Transformer(nn.Module):
    """Encoder and decoder, with their masks (Vaswani et al. 2017, figure 1).

    Attributes: encoder, decoder (own ones may be passed in), pad_id.
    """

    def __init__(
        self,
        src_vocab_size: int,
        tgt_vocab_size: int,
        d_model: int = 512,
        num_heads: int = 8,
        num_layers: int = 6,
        d_ff: int = 2048,
        max_len: int = 512,
        dropout: float = 0.1,
        pad_id: int = 0,
        encoder: nn.Module | None = None,
        decoder: nn.Module | None = None,
    ) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        built = []
        if encoder is None:
            encoder = Encoder(src_vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout)
            built.append(encoder)
        if decoder is None:
            decoder = Decoder(tgt_vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout)
            built.append(decoder)
        for part in built:
            for parameter in part.parameters():
                if parameter.dim() > 1:  # biases and norms have no fan-in
                    nn.init.xavier_uniform_(parameter)
        self.encoder = encoder
        self.decoder = decoder
        self.pad_id = pad_id
        ### END SOLUTION

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        """Read the source.

        src: LongTensor (B, S). Returns: the memory (B, S, d_model).
        """
        ### BEGIN SOLUTION
        source_mask = padding_mask(src, self.pad_id)  # (B, 1, S)
        return self.encoder(src, source_mask)  # (B, S, d_model)
        ### END SOLUTION

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        """Say what comes next after each token of the target.

        tgt: LongTensor (B, T), beginning with <sos>; memory: (B, S, d_model); src: LongTensor
        (B, S), which says where the memory is padding. Returns: logits (B, T, V).
        """
        ### BEGIN SOLUTION
        self_mask = target_mask(tgt, self.pad_id)  # (B, T, T)
        memory_mask = padding_mask(src, self.pad_id)  # (B, 1, S)
        return self.decoder(tgt, memory, self_mask, memory_mask)  # (B, T, V)
        ### END SOLUTION

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Read the source and score the target.

        src: LongTensor (B, S), tgt: LongTensor (B, T), beginning with <sos>. Returns: logits (B, T, V).
        """
        ### BEGIN SOLUTION
        memory = self.encode(src)  # (B, S, d_model)
        return self.decode(tgt, memory, src)  # (B, T, V)
        ### END SOLUTION

# %% test transformer 5
sizes = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 12, "dropout": 0.0}
model = Transformer(11, 13, **sizes)
src = torch.tensor([[5, 4, 9, 10, 7, 6, 2], [8, 3, 2, 0, 0, 0, 0]])
tgt = torch.tensor([[1, 12, 5, 9, 4], [1, 7, 6, 0, 0]])
memory, logits = model.encode(src), model(src, tgt)
assert memory.shape == (2, 7, 8), f"Expected a memory (B, S, d_model) = (2, 7, 8), got {tuple(memory.shape)}."
assert logits.shape == (2, 5, 13), (
    f"Expected logits (B, T, V) = (2, 5, 13), got {tuple(logits.shape)}. Which vocabulary is where?"
)
assert torch.allclose(model.decode(tgt, memory, src), logits), (
    "forward should give what encode and decode give one after the other."
)
longer = model(F.pad(src, (0, 3)), tgt)
assert torch.allclose(longer, logits, atol=1e-5), (
    "Three more <pad> behind the source change the logits. Which attentions can see them?"
)
other = tgt.clone()
other[:, 3] = 6
assert torch.allclose(model(src, other)[:, :3], logits[:, :3], atol=1e-5), (
    "Changing target token 3 changes the logits before it: the future can be seen."
)
assert not torch.allclose(model(src.flip(0), tgt), logits, atol=1e-3), (
    "Another source gives the same logits. Does the decoder read the memory?"
)
limit = math.sqrt(6 / (8 + 12))
first = model.encoder.layers[0].feed_forward.linear1.weight
assert first.abs().max() <= limit, (
    f"Xavier-uniform keeps a (12, 8) matrix within ±{limit:.2f}; linear1 reaches {first.abs().max():.2f}."
)
table = model.encoder.embedding.embed.weight[1:]  # the row of <pad> may start either way
assert table.abs().max() <= math.sqrt(6 / (11 + 8)), (
    f"Embeddings start Xavier-uniform as well, within ±{math.sqrt(6 / 19):.2f}; this one reaches {table.abs().max():.2f}."
)
own = Encoder(11, 8, 1, 2, 12)
before = own.embedding.embed.weight.clone()
assert Transformer(11, 13, **sizes, encoder=own).encoder is own, "An encoder that is passed in is used as it is."
assert torch.equal(own.embedding.embed.weight, before), "The weights of a part that is passed in stay untouched."
print("Transformer: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The table of masks above is half of the program: three attentions, two functions that make masks, and `self.pad_id` in each call.
#
# </details>
#
# <details><summary>Hint 2: the first weights</summary>
#
# `part.parameters()` yields every parameter of a module, matrices and vectors. `nn.init.xavier_uniform_` fills a matrix in place and refuses a vector, so ask each for its number of dimensions. And remember which parts you built and which you were given *before* you store them.
#
# </details>
#
# <details><summary>Hint 3: decode</summary>
#
# The decoder wants four things, in this order: target ids, memory, the mask among target tokens `(B, T, T)`, and the mask from target to source `(B, 1, S)`. The last one is about the *source* ids, which is why `decode` is given `src` as well.
#
# </details>

# %% [markdown]
# ## The frame, tried out
#
# Encoding and decoding apart, own parts, saving and loading: a source is read once and scored against two targets; a trained encoder goes into a new model; weights go to a file and come back. What is saved is the `state_dict`, a dictionary of tensors, not the model: code may move and change, tensors do not care.

# %% demo
from pathlib import Path
from tempfile import TemporaryDirectory

torch.manual_seed(1)
sizes = {"d_model": 32, "num_heads": 4, "num_layers": 2, "d_ff": 64}
model = Transformer(50, 60, **sizes).eval()
src = torch.tensor([[5, 9, 4, 7, 6, 2, 0], [8, 3, 11, 2, 0, 0, 0]])
memory = model.encode(src)
for tgt in (torch.tensor([[1, 7, 9], [1, 4, 4]]), torch.tensor([[1, 5], [1, 6]])):
    print("logits", tuple(model.decode(tgt, memory, src).shape), "from a memory of", tuple(memory.shape))

reused = Transformer(50, 80, **sizes, encoder=model.encoder)  # another target language
print("the encoder is shared:", reused.encoder is model.encoder)
with TemporaryDirectory() as folder:
    torch.save(model.state_dict(), Path(folder) / "weights.pt")
    fresh = Transformer(50, 60, **sizes).eval()
    print("a new model differs:  ", not torch.allclose(fresh(src, tgt), model(src, tgt)))
    fresh.load_state_dict(torch.load(Path(folder) / "weights.pt", weights_only=True))
    print("loaded, it agrees:    ", torch.equal(fresh(src, tgt), model(src, tgt)))

# %% [markdown]
# **Why Xavier-uniform.** If a matrix starts with entries of variance 2 / (n_in + n_out), signals keep about their size on the way up, and gradients on the way down (Glorot and Bengio 2010). PyTorch's `nn.Embedding` starts with variance 1 instead. Multiplied by √d_model that drowns the positions, whose size is about 0.7.

# %% demo
plain = Encoder(50, 32, 2, 4, 64)
for name, encoder in (("as PyTorch starts it", plain), ("Xavier-uniform", model.encoder)):
    vectors = encoder.embedding(torch.arange(3, 50)[None])
    ratio = vectors.std() / 0.7071
    print(f"{name:21} embedding × √d_model has std {vectors.std():.2f}, {ratio:.1f} times that of the positions")

# %% [markdown]
# ### The same weights in `torch.nn.Transformer`
#
# PyTorch has the whole machine too, without embeddings and without the last projection. Below your weights are copied into it. For its logits to agree with yours, four of its habits have to be known:
#
# - it puts the **length first** unless told `batch_first=True`;
# - it is **not causal** unless given a `tgt_mask`;
# - it ends both stacks with an **extra norm**, which the paper does not have;
# - its masks are **inverted**: True means "must not attend".
#
# (Documentation of `torch.nn.Transformer`, version 2.13.)

# %% demo
from coursework.whole_parity import into_torch

with torch.no_grad():
    for name, parameter in model.named_parameters():
        if "norm" in name:  # as if trained: while all norms are 1 and 0, one more does no harm
            parameter.add_(0.3 * torch.randn_like(parameter))
theirs = into_torch(model, num_heads=4)
tgt = torch.tensor([[1, 7, 9, 12, 5], [1, 4, 4, 0, 0]])
x, y = (half.position(half.embedding(ids)) for half, ids in ((model.encoder, src), (model.decoder, tgt)))
masks = {"tgt_mask": ~causal_mask(5), "src_key_padding_mask": src == 0,
         "memory_key_padding_mask": src == 0, "tgt_key_padding_mask": tgt == 0}


def gap(**arguments):
    """The largest difference of the logits at real tokens."""
    logits = model.decoder.project(theirs(x, y, **arguments))
    return (logits - model(src, tgt))[tgt != 0].abs().max().item()


norms = {"with its extra final norms": gap(**masks)}
theirs.encoder.norm = theirs.decoder.norm = None
assert gap(**masks) < 1e-5
rows = {"all four respected": gap(**masks), **norms, "without a tgt_mask": gap(**masks | {"tgt_mask": None}),
        "with tgt_mask not inverted": gap(**masks | {"tgt_mask": causal_mask(5)})}
for name, difference in rows.items():
    print(f"{name:28} largest difference {difference:.1e}")

# %% [markdown]
# What is left in the first row is rounding. Each of the other rows is a model that runs without complaint, has the right shapes, and computes something else.

# %% [markdown]
# ## Writing, one word at a time
#
# A trained decoder says what comes next after *every* position at once. To write a sentence we need only the last position: take the likeliest word, append it, and ask again. This is **greedy decoding**. The model is **auto-regressive** (section 3.1): each of its outputs becomes an input of the next step.
#
# ![Greedy decoding of three steps. The source les convolutions sont mortes is encoded once into a memory. Step one: the decoder reads sos and the memory, and says convolutions. Step two: it reads sos convolutions, and says are. Step three: it reads sos convolutions are, and says dead. Step four: it reads all four, and says eos, which ends the sentence.](images/transformer_greedy.svg)
#
# Four things go wrong in published code, again and again:
#
# - only the **last word** is fed back, so that the decoder forgets what it has written, and believes every word to be the first;
# - the **source is encoded at every step**, although it never changes;
# - a batch stops when its **first** sentence ends, or sentences that have ended go on talking;
# - **dropout stays on**, and the same sentence is translated differently each time.

# %% [markdown]
# ### Exercise 2: `greedy_decode` (3 points)
#
# Write at most `max_len` tokens for each row of `src`. A row ends with `<eos>`, which is part of the result; from then on it holds `model.pad_id`, whatever the decoder says. Stop as soon as all rows have ended. `<sos>` starts every row and is not part of the result. The source is encoded once, in `eval()` mode and without gradients, and the model is left in the mode in which it came.

# %% solution greedy-decode
def greedy_decode(
    model: nn.Module, src: torch.Tensor, max_len: int, sos_id: int = 1, eos_id: int = 2
) -> torch.Tensor:
    """Write the likeliest next word until every sentence has ended.

    model: has encode(src), decode(tgt, memory, src) and pad_id; src: LongTensor (B, S).
    Returns: LongTensor (B, at most max_len), without the leading <sos>.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    written = torch.full((src.size(0), 1), sos_id, device=src.device)  # (B, 1)
    ended = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)  # (B,)
    with torch.no_grad():
        memory = model.encode(src)  # (B, S, D)
        for _ in range(max_len):
            logits = model.decode(written, memory, src)  # (B, T, V)
            word = logits[:, -1].argmax(dim=-1)  # (B,)
            word = word.masked_fill(ended, model.pad_id)
            written = torch.cat([written, word.unsqueeze(1)], dim=1)  # (B, T + 1)
            ended = ended | (word == eos_id)
            if ended.all():
                break
    model.train(was_training)
    return written[:, 1:]
    ### END SOLUTION

# %% test greedy-decode 3
class Parrot(nn.Module):
    """Writes the source again, word by word: after t words it says source word t."""

    pad_id, encoded, longest = 0, 0, 0

    def encode(self, src):
        self.encoded += 1
        assert not self.training, "The model should be in eval mode while it decodes."
        assert not torch.is_grad_enabled(), "No gradients are needed while decoding."
        return F.one_hot(src, 12).float()  # (B, S, 12)

    def decode(self, tgt, memory, src):
        self.longest = max(self.longest, tgt.size(1))
        return memory[:, : tgt.size(1)]  # (B, T, 12)


parrot = Parrot().train()
src = torch.tensor([[5, 7, 2, 9, 9], [4, 8, 6, 11, 2], [2, 9, 9, 9, 9]])
said = greedy_decode(parrot, src, max_len=5)
assert said.shape == (3, 5), f"The longest of these sentences has 5 tokens: expected (3, 5), got {tuple(said.shape)}."
assert said[1].tolist() == [4, 8, 6, 11, 2], (
    f"Row 1 should be the source again, [4, 8, 6, 11, 2], got {said[1].tolist()}."
)
assert said[0].tolist() == [5, 7, 2, 0, 0], (
    f"After its <eos> (2) a row holds pad_id: expected [5, 7, 2, 0, 0], got {said[0].tolist()}."
)
assert parrot.training, "The model came in train mode and should leave in it."
assert parrot.encoded == 1, f"The source was encoded {parrot.encoded} times; once is enough."
parrot.longest = 0
short = greedy_decode(parrot, src[[0, 2]], max_len=5)
assert short[:, :3].tolist() == [[5, 7, 2], [2, 0, 0]], f"Expected rows [5, 7, 2] and [2, 0, 0], got {short.tolist()}."
assert parrot.longest == 3, (
    f"After 3 tokens all rows have ended, but the decoder was fed up to {parrot.longest}: stop when all have ended."
)
assert greedy_decode(parrot, src[1:2], max_len=2).tolist() == [[4, 8]], (
    "With max_len=2 there are two tokens, whether the sentence has ended or not."
)
print("greedy_decode: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# You carry two things from step to step: what has been written, `(B, T)` and growing, and which rows have ended, `(B,)`. Write down what a single step does to each.
#
# </details>
#
# <details><summary>Hint 2: the shapes</summary>
#
# The logits are `(B, T, V)`. The newest position is the last along dimension 1; the likeliest word is found along dimension 2. A column `(B, 1)` can be appended to `(B, T)` with `torch.cat`.
#
# </details>
#
# <details><summary>Hint 3: rows that have ended</summary>
#
# `masked_fill` puts `model.pad_id` in place of whatever such rows say. Do it *before* you note which rows say `<eos>` now, and let the others go on.
#
# </details>

# %% [markdown]
# ## What to punish: the loss
#
# At every position the model gives a distribution over V words, and one of them was right. Cross-entropy punishes by −log of what the right word was given. It rests only when that word gets everything, so it drives logits apart for ever.
#
# **Label smoothing** (Szegedy et al. 2015, arXiv:1512.00567, section 7; here section 5.4) asks for a little less. The target is a mixture: 1 − ε of the right word, and ε shared out evenly over **all V words, the right one included**. Nothing random happens: it is another target, not noise.

# %% demo
words = ["convolutions", "are", "dead", "alive", "."]
right, epsilon = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]), 0.1
smoothed = (1 - epsilon) * right + epsilon / len(words)
plots.bars({"ε = 0": right, "ε = 0.1": smoothed}, words);

# %% [markdown]
# With ε = 0.1 and five words the right one should get 0.92 and every other one 0.02. The paper reports that this hurts perplexity, "as the model learns to be more unsure", but improves accuracy and BLEU (section 5.4). It regularises, as dropout does; warm-up does not, it only keeps the first steps in bounds.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A model ends with a softmax, and its owner trains it with `F.cross_entropy`, which takes *logits*. How low can the loss fall, for V = 13?
#
# <details><summary>Answer</summary>
#
# The best such a model can do is to put out 1 for the right word and 0 for all others. Cross-entropy takes these for logits, and the right word gets e / (e + 12). The loss is ln(e + 12) − 1 = 1.69, and cannot fall below, however good the model is. A plateau at ln(e + V − 1) − 1 names this mistake.
#
# </details>

# %% demo
for size in (13, 1000):
    perfect = F.one_hot(torch.arange(5), size).float()  # what a softmax gives at its best
    floor = F.cross_entropy(perfect, torch.arange(5))
    print(f"V = {size:4}: lowest loss {floor:.3f}   ln(e + V − 1) − 1 = {math.log(math.e + size - 1) - 1:.3f}")

# %% [markdown]
# ### Exercise 3: `label_smoothing_loss` (2 points)
#
# Return the mean over all **real** tokens of the batch of the cross-entropy against the smoothed target. `F.cross_entropy` can do exactly this with `label_smoothing` and `ignore_index`; here it is not accepted, nor is `nn.CrossEntropyLoss`. `F.log_softmax` is welcome: it does not overflow where the logarithm of a softmax would.

# %% solution label-smoothing-loss
def label_smoothing_loss(
    logits: torch.Tensor, target: torch.Tensor, smoothing: float = 0.1, pad_id: int = 0
) -> torch.Tensor:
    """Compare logits with smoothed targets (Vaswani et al. 2017, section 5.4).

    logits: (B, T, V), target: LongTensor (B, T). Returns: a scalar, the mean over the tokens that
    are not `pad_id`.
    """
    ### BEGIN SOLUTION
    is_real = target != pad_id  # (B, T)
    log_probabilities = F.log_softmax(logits, dim=-1)  # (B, T, V)
    right = log_probabilities.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T)
    everywhere = log_probabilities.mean(dim=-1)  # (B, T)
    losses = -((1 - smoothing) * right + smoothing * everywhere)  # (B, T)
    return losses[is_real].mean()  # ()
    ### END SOLUTION

# %% test label-smoothing-loss 2
logits = torch.tensor([[[0.0, 0.0, 0.0, math.log(5.0)], [0.0, 0.0, 0.0, 0.0]]])  # (1, 2, 4)
loss = label_smoothing_loss(logits, torch.tensor([[3, 0]]), smoothing=0.0)
assert isinstance(loss, torch.Tensor) and loss.shape == (), f"Expected a scalar tensor, got {loss!r}."
assert torch.allclose(loss, torch.tensor(math.log(8 / 5))), (
    f"The only real token was given 5/8, so the loss is ln(8/5) = {math.log(8 / 5):.4f}; got {loss:.4f}. Is <pad> counted?"
)
flat = label_smoothing_loss(torch.zeros(2, 3, 7), torch.tensor([[1, 2, 3], [4, 5, 0]]), smoothing=0.3)
assert torch.allclose(flat, torch.tensor(math.log(7.0))), (
    f"Where all 7 words are equally likely the loss is ln 7 = {math.log(7):.4f} for any smoothing; got {flat:.4f}."
)
sure = 30.0 * F.one_hot(torch.tensor([[2, 1]]), 4).float()  # (1, 2, 4)
assert torch.allclose(label_smoothing_loss(sure, torch.tensor([[2, 1]])), torch.tensor(0.1 * 0.75 * 30.0)), (
    "For a model that is quite sure, and right, the loss is 0.1 · (3/4) · 30: what it denies the three other words."
)
print("label_smoothing_loss: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The cross-entropy of a mixture of targets is the mixture of the cross-entropies: (1 − ε) times the one against the right word, plus ε times the one against the uniform distribution.
#
# </details>
#
# <details><summary>Hint 2: picking the right word</summary>
#
# `gather(-1, index)` picks one entry per position along the last dimension. Its index needs as many dimensions as the tensor it picks from: `target.unsqueeze(-1)`.
#
# </details>
#
# <details><summary>Hint 3: padding</summary>
#
# A boolean tensor `(B, T)` as an index leaves just the real tokens, `(N,)`. Take the mean of those, over the whole batch at once.
#
# </details>

# %% [markdown]
# ## How fast to learn: warm-up
#
# The paper raises the learning rate linearly for the first `warmup` steps and then lowers it with the square root of the step (section 5.3, equation 3), with Adam at β₂ = 0.98:
#
# rate = d_model^(−0.5) · min(step^(−0.5), step · warmup^(−1.5))
#
# ### Exercise 4: `noam_rate` (1 point)
#
# (Named after Noam Shazeer, one of the authors.) Steps count from 1, but schedulers in PyTorch ask for step 0 as well. Return any finite number there, and mind what 0^(−0.5) is.

# %% solution noam-rate
def noam_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """The learning rate of a step (Vaswani et al. 2017, equation 3); finite at step 0 too."""
    ### BEGIN SOLUTION
    step = max(step, 1)
    falling = step**-0.5
    rising = step * warmup**-1.5
    return d_model**-0.5 * min(falling, rising)
    ### END SOLUTION

# %% test noam-rate 1
peak = noam_rate(4000, 512)
assert isinstance(peak, float), f"Expected a float, got {type(peak).__name__}."
assert math.isclose(peak, 6.9877e-4, rel_tol=1e-4), f"The base model's rate peaks at 0.00069877, got {peak:.6g}."
assert math.isclose(noam_rate(2000, 512), peak / 2), "Half way up it is half the peak: the rise is linear."
assert math.isclose(noam_rate(16000, 512), peak / 2), "At four times the warm-up it is half the peak again."
assert math.isfinite(noam_rate(0, 512)), "Step 0 should give a finite number."
print("noam_rate: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Two curves, one rising and one falling. They meet where step = warmup; which of the two is lower on the left?
#
# </details>
#
# <details><summary>Hint 2: step 0</summary>
#
# `0 ** -0.5` raises ZeroDivisionError. Treating step 0 as step 1 is one way out.
#
# </details>

# %% demo
steps = list(range(1, 20002, 500))
rates = {f"d_model {d}, warm-up {w}": [noam_rate(step, d, w) for step in steps]
         for d, w in ((512, 4000), (512, 8000), (256, 4000))}
plots.curves(steps, rates, labels=("step", "learning rate"));

# %% [markdown]
# ## One step of training
#
# During training the target is known, so all positions are trained at once: the decoder reads the **right** words up to each position, whatever it would have said itself. This is **teacher forcing**, and the causal mask is what makes it honest. The input is the target **shifted right**: at position t the decoder sees the words before t, and has to say word t.
#
# | position | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | decoder reads | `<sos>` | convolutions | are | dead |
# | and should say | convolutions | are | dead | `<eos>` |

# %% [markdown]
# ### Exercise 5: `train_step` (3 points)
#
# `tgt` ends its sentences with `<eos>`, is padded, and does **not** begin with `<sos>`. Put the model into train mode, feed it the shifted target, take `label_smoothing_loss` over the real tokens of `tgt`, make one update, and return the loss as a `float`: the value that the update was computed from.

# %% solution train-step
def train_step(
    model: nn.Module,
    src: torch.Tensor,
    tgt: torch.Tensor,
    optimiser: torch.optim.Optimizer,
    smoothing: float = 0.0,
) -> float:
    """Make one update by teacher forcing (Vaswani et al. 2017, section 3.1, "shifted right").

    src: LongTensor (B, S); tgt: LongTensor (B, T), without <sos>. Returns: the mean loss over real
    tokens, before the update.
    """
    ### BEGIN SOLUTION
    model.train()
    logits = model(src, shift_right(tgt))  # (B, T, V)
    loss = label_smoothing_loss(logits, tgt, smoothing, model.pad_id)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item()
    ### END SOLUTION

# %% test train-step 3
class Bigram(nn.Module):
    """Says what follows a token from a table, and notes what it was fed."""

    pad_id = 0

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(6, 6))

    def encode(self, src):
        return src

    def decode(self, tgt, memory, src):
        self.fed, self.mode = tgt, self.training
        return self.table[tgt]  # (B, T, 6)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)


bigram = Bigram().eval()
src, tgt = torch.tensor([[4, 5], [5, 3]]), torch.tensor([[3, 4, 2], [5, 2, 0]])
optimiser = torch.optim.SGD(bigram.parameters(), lr=1.0)
bigram.table.grad = torch.full((6, 6), 9.0)  # left over from an earlier batch
loss = train_step(bigram, src, tgt, optimiser)
assert isinstance(loss, float), f"Expected a float, got {type(loss).__name__}: item() turns a tensor into one."
assert math.isclose(loss, math.log(6), rel_tol=1e-5), (
    f"Before the update all 6 words are equally likely: expected ln 6 = {math.log(6):.4f}, got {loss:.4f}."
)
assert bigram.fed[:, 0].tolist() == [1, 1], f"The decoder should read <sos> (1) first, it read {bigram.fed[:, 0].tolist()}."
assert bigram.fed[0].tolist() == [1, 3, 4], f"For the target [3, 4, 2] it should read [1, 3, 4], it read {bigram.fed[0].tolist()}."
assert bigram.mode, "The model should be in train mode."
assert torch.all(bigram.table[0] == 0), "The gradients of an earlier batch were added to those of this one."
assert bigram.table[1, 3] > 0 and bigram.table[4, 2] > 0, "After the update 3 is likelier after <sos>, and <eos> after 4."
assert torch.all(bigram.table[2] == 0), "What follows <eos> is padding, and should teach nothing."
assert train_step(bigram, src, tgt, optimiser) < loss, "A second step on the same batch should start from a lower loss."
with torch.no_grad():
    bigram.table[[1, 3, 4], [3, 4, 2]] = 30.0  # sure of every word, and right
assert train_step(bigram, src[:1], tgt[:1], optimiser) < 0.01, "Without smoothing, being sure and right should cost nothing."
print("train_step: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Every training loop in PyTorch has the same five beats: forward, loss, clear the old gradients, backward, step. Ahead of them stands the mode.
#
# </details>
#
# <details><summary>Hint 2: what is fed, what is wanted</summary>
#
# The model reads `shift_right(tgt)`, and the loss compares with `tgt` itself. Feed `tgt` as it is, and position t already sees the word it is asked for: the loss falls to nothing, and the model has learnt to copy.
#
# </details>

# %% [markdown]
# ## Training, at last: "convolutions are dead"
#
# Five sentences, learnt by heart in a few seconds. `training.train` draws batches from a seed, shows what it is doing, can be interrupted, and goes on where it was if it is given the name of a `checkpoint` file. Adam's β₂ is 0.98, as in section 5.3.

# %% demo
from coursework import tasks, training

pairs = {"les convolutions sont mortes": "convolutions are dead", "les masques sont utiles": "masks are useful",
         "les réseaux sont profonds": "networks are deep", "les masques sont profonds": "masks are deep",
         "l attention suffit": "attention is enough"}


def vocabulary_of(lines):
    return [*tasks.SPECIALS, *sorted({word for line in lines for word in line.split()})]


def in_ids(lines, vocabulary):
    rows = [torch.tensor([*map(vocabulary.index, line.split()), 2]) for line in lines]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


french, english = vocabulary_of(pairs), vocabulary_of(pairs.values())
src, tgt = in_ids(pairs, french), in_ids(pairs.values(), english)
torch.manual_seed(2)
tiny = Transformer(len(french), len(english), d_model=32, num_heads=4, num_layers=1, d_ff=64)
adam = torch.optim.Adam(tiny.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(tiny, adam, lambda *batch: train_step(tiny, *batch, adam), lambda _: (src, tgt), 150,
                        rate=lambda step: noam_rate(step, 32, warmup=100) / 3)
for line, ids in zip(pairs, greedy_decode(tiny, src, max_len=6)):
    print(f"{line:30}", " ".join(english[i] for i in ids.tolist() if i > 2))

# %% [markdown]
# Greedy decoding, step by step. Each row is one step: what had been written so far is on the left, and the row shows how likely the model thinks each next word is.

# %% demo
written, rows = ["<sos>"], []
memory = tiny.eval().encode(src[:1])
while written[-1] != "<eos>" and len(written) < 8:
    ids = torch.tensor([[english.index(word) for word in written]])
    rows.append(tiny.decode(ids, memory, src[:1])[0, -1].softmax(dim=-1).detach())  # (V,)
    written.append(english[rows[-1].argmax()])
steps = [" ".join(written[: step + 1]) for step in range(len(rows))]
axes = plots.heatmap(torch.stack(rows)[:, 2:], steps, english[2:])
axes.tick_params(axis="x", rotation=60)

# %% [markdown]
# **Other ways to write.** Greedy decoding never takes a word back. *Beam search* keeps the few best beginnings instead of one (the paper uses four, section 6.1). *Sampling* draws the next word from the distribution; we come to it below.
#
# ## Numbers in words
#
# Now a task with something to generalise: `4 0 7` becomes *four hundred and seven*. There are 10 000 numbers up to 9999; the model learns from 9000 of them, and is asked about the other 1000, which it has never seen.

# %% demo
learn, test = tasks.numbers(seed=0)
test_src, test_tgt = tasks.translation(test)


def draw_numbers(generator):
    """A batch of 96 digits and words, (96, S) and (96, T)."""
    return tasks.translation(learn[torch.randint(len(learn), (96,), generator=generator)])


torch.manual_seed(0)
speller = Transformer(len(tasks.DIGITS), len(tasks.WORDS), d_model=64, num_heads=4, num_layers=2, d_ff=128, dropout=0.0)
speller.to(training.device())
adam = torch.optim.Adam(speller.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(speller, adam, lambda *batch: train_step(speller, *batch, adam, smoothing=0.1), draw_numbers,
                        800, rate=lambda step: noam_rate(step, 64, warmup=300) / 2, checkpoint=None)
smooth = [sum(losses[i : i + 20]) / 20 for i in range(0, len(losses), 20)]
plots.curves(range(0, len(losses), 20), {"loss, ε = 0.1": smooth}, labels=("step", "mean loss a token"));

# %% demo
speller.cpu()
decoded = greedy_decode(speller, test_src, max_len=12)
print(f"written exactly, of {len(test)} unseen numbers: {tasks.exact(decoded, test_tgt):.1%}")
for number, row in list(zip(test.tolist(), decoded))[:5]:
    print(f"{number:5}  {tasks.say(row)}")

# %% [markdown]
# The loss does not fall to 0, and cannot: with ε = 0.1 even the perfect answer costs what it denies to all other words. How much? The entropy of the smoothed target, which for ε = 0.1 and 35 words is 0.66.
#
# ## Can it write, or can it only copy?
#
# The loss is measured with teacher forcing: the right words are handed in. A model that can see what it is asked for gets a splendid loss and has learnt nothing. So every model deserves two numbers: **teacher-forced** accuracy, position by position, and the accuracy of what it **decodes** on its own. Below, the right model and four broken ones, each trained in the same way on the same numbers.
#
# **Predict, then reveal.** One has no causal mask, one sees a single step too far, one is fed the target without shifting it. The fourth has the right mask and the right target, but puts its heads together by a `reshape` alone, without `transpose`. Which gets the best teacher-forced accuracy, and which decodes best?
#
# <details><summary>Answer</summary>
#
# All four see the word that they are asked for, so all four reach about 100 % teacher-forced. And none can write: when it decodes, the word that it has learnt to copy is not there yet. The fourth is the treacherous one. Its mask is beyond reproach; but without the transpose the features of position t are put together from what *other* positions attended to, later ones among them.
#
# </details>

# %% demo
from coursework.broken_decoders import HeadsMixedUp


class NoCausalMask(Transformer):
    """Sees all of the target."""

    def decode(self, tgt, memory, src):
        return self.decoder(tgt, memory, padding_mask(tgt, self.pad_id), padding_mask(src, self.pad_id))


class OneStepTooFar(Transformer):
    """Sees one token of the future."""

    def decode(self, tgt, memory, src):
        reach = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).tril(diagonal=1)
        return self.decoder(tgt, memory, reach & padding_mask(tgt, self.pad_id), padding_mask(src, self.pad_id))


class HeadsWithoutTranspose(Transformer):
    """Masks as they should be; the heads of the decoder's self-attention are put together wrongly."""

    def __init__(self, *sizes, **more):
        super().__init__(*sizes, **more)
        for layer in self.decoder.layers:
            layer.self_attention = HeadsMixedUp(layer.self_attention, num_heads=4)


def unshifted_step(model, src, tgt, optimiser):
    """train_step, but the decoder is fed the target itself."""
    model.train()
    loss = label_smoothing_loss(model(src, tgt), tgt, 0.0)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item()

# %% demo
def two_accuracies(kind, step=train_step, feed=shift_right, steps=400):
    """Train a small model; its accuracy with the right words handed in, and of whole decoded numbers."""
    torch.manual_seed(3)
    model = kind(len(tasks.DIGITS), len(tasks.WORDS), d_model=48, num_heads=4, num_layers=1, d_ff=96, dropout=0.0)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    training.train(model, adam, lambda *batch: step(model, *batch, adam), draw_numbers, steps,
                   rate=lambda number: noam_rate(number, 48, warmup=150) / 2)
    right = model.eval()(test_src, feed(test_tgt)).argmax(dim=-1) == test_tgt
    return right[test_tgt != 0].float().mean().item(), tasks.exact(greedy_decode(model, test_src, 12), test_tgt)


kinds = {"right": (Transformer,), "no causal mask": (NoCausalMask,), "one step too far": (OneStepTooFar,),
         "not shifted": (Transformer, unshifted_step, lambda tgt: tgt), "no transpose": (HeadsWithoutTranspose,)}
found = torch.tensor([two_accuracies(*made) for made in kinds.values()])  # (5, 2)
plots.heatmap(found, list(kinds), ["teacher-forced", "decoded"]);

# %% [markdown]
# By their training losses nobody could have told the right one from the others. This is why nothing in this lesson is called learnt before it has been decoded.

# %% [markdown]
# ## A decoder alone: language models
#
# Leave the encoder away, and with it cross-attention, and what remains is a **language model**: it says what comes next in a text. It needs no pairs, only text, cut into windows.
#
# ### Exercise 6: `language_windows` (2 points)
#
# Cut a text of N ids into windows of `length` tokens that do **not** overlap. The targets are the inputs one step on, so the last target of a window is the first input of the next, and a text of N ids has room for W = (N − 1) // length windows. A rest that is too short is dropped; a text that is too short for a single window gives tensors of shape `(0, length)`.

# %% solution language-windows
def language_windows(ids: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cut a text into windows, each with the same text one step on.

    ids: LongTensor (N,). Returns: inputs (W, length) and targets (W, length).
    """
    ### BEGIN SOLUTION
    count = max((len(ids) - 1) // length, 0)
    used = count * length
    inputs = ids[:used].reshape(count, length)  # (W, length)
    targets = ids[1 : used + 1].reshape(count, length)  # (W, length)
    return inputs, targets
    ### END SOLUTION

# %% test language-windows 2
inputs, targets = language_windows(torch.arange(10, 19), length=3)
assert inputs.tolist() == [[10, 11, 12], [13, 14, 15]], (
    f"Nine ids give two windows, [10, 11, 12] and [13, 14, 15]; got {inputs.tolist()}."
)
assert targets.tolist() == [[11, 12, 13], [14, 15, 16]], (
    f"The targets are one step on, [11, 12, 13] and [14, 15, 16]; got {targets.tolist()}."
)
inputs, targets = language_windows(torch.arange(3), length=3)
assert inputs.shape == targets.shape == (0, 3), (
    f"Three ids cannot fill a window of 3 and its target: expected (0, 3), got {tuple(inputs.shape)}."
)
print("language_windows: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Windows that do not overlap are what a `reshape` makes of a piece of text, as long as the piece is exactly W · length long.
#
# </details>
#
# <details><summary>Hint 2: one step on</summary>
#
# The targets are cut from the same text in the same way, beginning one id later. This is why one id has to be left over at the end: (N − 1), not N.
#
# </details>

# %% [markdown]
# ### Exercise 7: `LanguageModel` (2 points)
#
# Token embedding, positions, a stack of your causal decoder layers from lesson 6, a last norm, and a projection to the vocabulary. The layers are **pre-norm**: what leaves the last of them is a sum that no norm has seen, hence the `norm` before `project` (Radford et al. 2019, section 2.3). Each layer makes its own causal mask.

# %% solution language-model
class LanguageModel(nn.Module):
    """A decoder-only Transformer (after Radford et al. 2019, section 2.3).

    Attributes: embedding, TokenEmbedding; position, PositionalEncoding; layers, CausalDecoderLayers;
    norm, LayerNorm; project, Linear(d_model, vocab_size).
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
        layers = [CausalDecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = LayerNorm(d_model)
        self.project = nn.Linear(d_model, vocab_size)
        ### END SOLUTION

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Say what comes next after each token.

        ids: LongTensor (B, T). Returns: logits (B, T, V).
        """
        ### BEGIN SOLUTION
        x = self.embedding(ids)  # (B, T, d_model)
        x = self.position(x)
        for layer in self.layers:
            x = layer(x)
        return self.project(self.norm(x))  # (B, T, V)
        ### END SOLUTION

# %% test language-model 2
model = LanguageModel(vocab_size=13, d_model=8, num_layers=3, num_heads=2, d_ff=12).eval()
ids = torch.tensor([[5, 9, 4, 12, 7], [3, 8, 6, 11, 10]])
logits = model(ids)
assert logits.shape == (2, 5, 13), f"Expected logits (B, T, V) = (2, 5, 13), got {tuple(logits.shape)}."
assert len(model.layers) == 3, f"Expected 3 layers, got {len(model.layers)}."
other = ids.clone()
other[:, 3] = 4
assert torch.allclose(model(other)[:, :3], logits[:, :3], atol=1e-5), (
    "Changing token 3 changes the logits before it."
)
assert not torch.allclose(model(other)[:, 4], logits[:, 4], atol=1e-4), "Token 4 does not notice that token 3 changed."
assert sum(parameter.numel() for parameter in model.parameters()) == 13 * 8 + 3 * 532 + 16 + 13 * 9, (
    "The number of parameters is not right. Are all layers registered, and is each one its own?"
)
same = model(torch.full((1, 5), 7))
assert not torch.allclose(same[:, 0], same[:, 4], atol=1e-4), (
    "The same word at two positions gives the same logits. Are the positions added?"
)
logits.sum().backward()
idle = [name for name, parameter in model.named_parameters() if parameter.grad is None]
assert not idle, f"These parameters have no say in the logits: {idle}."
nn.init.zeros_(model.norm.weight)
nn.init.zeros_(model.norm.bias)
assert torch.allclose(model(ids), model.project.bias.expand(2, 5, 13)), (
    "The last norm should stand right before the projection."
)
print("LanguageModel: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# It is your decoder of lesson 6 without a memory: embed, add positions, climb the layers, norm, project.
#
# </details>
#
# <details><summary>Hint 2: the layers</summary>
#
# `nn.ModuleList` registers what it holds; a Python list hides its layers from the optimiser. And each layer has to be *made* anew: `[layer] * 3` is one layer three times.
#
# </details>

# %% [markdown]
# ## Reversal: what can be learnt, and what cannot
#
# A decoder alone reads `x` and goes on with `x` reversed: six random symbols, then the same six backwards. Nothing predicts the first six. They are random, and the best anybody can do is to guess one of ten. The last six are determined. A model that did well on the **first** half would be cheating.

# %% demo
def reading_step(model, inputs, targets, optimiser):
    """One update of a language model."""
    model.train()
    loss = label_smoothing_loss(model(inputs), targets, smoothing=0.0)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item()


def draw_reversals(generator):
    """A batch of 64 sequences (64, 12): what is read, and what is asked for."""
    both = tasks.reversal(generator, 64, length=6, symbols=10)
    return shift_right(both), both


torch.manual_seed(0)
mirror = LanguageModel(14, d_model=64, num_layers=2, num_heads=4, d_ff=128, max_len=16, dropout=0.0)
for parameter in mirror.parameters():
    if parameter.dim() > 1:
        nn.init.xavier_uniform_(parameter)  # else the symbols drown the positions, as seen above
mirror.to(training.device())
adam = torch.optim.Adam(mirror.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(mirror, adam, lambda *batch: reading_step(mirror, *batch, adam), draw_reversals, 900,
                        rate=lambda step: 3e-3 * min(step / 100, 1) * (1 - step / 901))  # up, and then down to 0
mirror.cpu().eval();

# %% demo
sequences = tasks.reversal(torch.Generator().manual_seed(99), 1000, length=6, symbols=10)
right = (mirror(shift_right(sequences)).argmax(dim=-1) == sequences).float()  # (1000, 12)
print(f"first half {right[:, :6].mean():.1%}, where chance is 10 %; second half {right[:, 6:].mean():.1%}")
plots.bars({"accuracy at each position": right.mean(dim=0)}, [f"{place}" for place in range(12)],
           marked=[f"{place}" for place in range(6)], top=1.1);

# %% [markdown]
# **Predict, then reveal.** The loss of this model stops near 1.15. Is something wrong with it?
#
# <details><summary>Answer</summary>
#
# No. Half of the tokens cost ln 10 = 2.30 each, whatever one does, and the other half nearly nothing. The mean is 1.15. A loss means little before one knows what the best possible one is.
#
# </details>

# %% [markdown]
# ## A little Shakespeare
#
# His complete works where the file is at hand, and otherwise a play that a program makes up: the next cell says which. The text is split at word boundaries; up to 3000 words and separators, the most frequent, make the vocabulary; windows of 48 do not overlap. The last tenth is kept for testing: neither its windows nor its word counts are seen in training. How good is good? **Perplexity**, exp of the mean loss a token, is how many words the model hesitates between. Two baselines: whoever knows nothing hesitates between all words (*uniform*), and whoever knows just how frequent each word is, *unigram*, already does much better.

# %% demo
from coursework import language
from coursework.corpus import load_long_corpus

STEPS = 1800  # about two minutes on two cores; raise it to train for longer, or on a GPU
corpus = load_long_corpus()
print(corpus.note)
words = language.prepare(corpus.text, max_size=3000)
inputs, targets = language_windows(words.learn, 48)
test_inputs, test_targets = language_windows(words.test, 48)
print(f"{len(words.vocabulary)} words; windows: {len(inputs)} for learning, {len(test_inputs)} for testing")
print(f"<unk> stands for {(words.test == 3).float().mean():.1%} of the test's words")


def draw_windows(generator):
    """A batch of 16 windows, (16, 48) each."""
    picked = torch.randint(len(inputs), (16,), generator=generator)
    return inputs[picked], targets[picked]

# %% demo
torch.manual_seed(0)
bard = LanguageModel(len(words.vocabulary), d_model=96, num_layers=2, num_heads=4, d_ff=384, max_len=48)
for parameter in bard.parameters():
    if parameter.dim() > 1:
        nn.init.xavier_uniform_(parameter)
bard.to(training.device())
adam = torch.optim.Adam(bard.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(bard, adam, lambda *batch: reading_step(bard, *batch, adam), draw_windows, STEPS,
                        rate=lambda step: noam_rate(step, 96, warmup=300) / 2, checkpoint=None)
bard.cpu()
smooth = [sum(losses[i : i + 50]) / len(losses[i : i + 50]) for i in range(0, len(losses), 50)]
axes = plots.curves(range(0, len(losses), 50), {"the model": smooth}, labels=("step", "mean loss a token"))
level = math.log(language.unigram_perplexity(words))
axes.axhline(level, color=plots.WRONG, linestyle="--", linewidth=2, label="unigram")
axes.legend(frameon=False);

# %% demo
reached = language.perplexity(bard, test_inputs[:400], test_targets[:400])
known = language.unigram_perplexity(words)
print(f"perplexity: uniform {len(words.vocabulary)}, unigram {known:.1f}, the model {reached:.1f}")
for temperature in (0.5, 1.0):
    start = words.ids(words.text(words.test[:3].tolist()))
    drawn = language.sample(bard, start, 90, temperature=temperature, window=48, seed=5)
    print(f"\ntemperature {temperature}:")
    print(language.wrapped(words.text(drawn.tolist())))

# %% [markdown]
# Dividing the logits by a **temperature** below 1 makes likely words likelier: safe, and soon repetitive. Above 1 everything becomes possible. The model has learnt where blanks and line breaks stand, who speaks and how a verse sounds, and not a word of what it is about: two layers, two minutes. To go on, raise `STEPS`, and name a file in `checkpoint=`, so that a run which is interrupted can be taken up again.

# %% [markdown]
# ## Fourteen tensors, traced
#
# Forward hooks are functions that PyTorch calls whenever a module has run. Nothing in the model has to be changed to see what passes through it. Here are the fourteen tensors of the figure at the top, caught on a real forward pass of the number speller: S is 5, T is 8.

# %% demo
def trace(model, src, tgt):
    """The fourteen tensors of one forward pass, by name, from the first layer of each half."""
    caught, fed = {}, shift_right(tgt)
    below, above = model.encoder.layers[0], model.decoder.layers[0]
    watched = {"source vectors": model.encoder.position, "encoder": below.self_attention,
               "encoder, hidden features": below.feed_forward.linear1, "memory": model.encoder,
               "target vectors": model.decoder.position, "decoder": above.self_attention,
               "cross": above.cross_attention, "decoder, hidden features": above.feed_forward.linear1}

    def note(name):
        return lambda module, arguments, result: caught.__setitem__(name, result)

    hooks = [module.register_forward_hook(note(name)) for name, module in watched.items()]
    try:
        logits = model.eval()(src, fed)
    finally:
        for hook in hooks:
            hook.remove()
    return {"source ids": src, "source vectors": caught["source vectors"],
            "encoder, weights of self-attention": caught["encoder"][1],
            "encoder, attended": caught["encoder"][0],
            "encoder, hidden features": caught["encoder, hidden features"], "memory": caught["memory"],
            "decoder input": fed, "target vectors": caught["target vectors"],
            "decoder, weights of self-attention": caught["decoder"][1],
            "decoder, weights of cross-attention": caught["cross"][1],
            "decoder, attended in the memory": caught["cross"][0],
            "decoder, hidden features": caught["decoder, hidden features"],
            "logits": logits, "probabilities": logits.softmax(dim=-1)}

# %% demo
seen = trace(speller, test_src[:3], test_tgt[:3])
for number, (name, tensor) in enumerate(seen.items(), start=1):
    print(f"{number:2}  {name:36} {tuple(tensor.shape)}")

# %% [markdown]
# Where the package torchview and graphviz are installed, the next cell draws the model's whole graph.

# %% demo
from coursework.graph import draw_model

draw_model(speller, [test_src[:3], shift_right(test_tgt[:3])])

# %% [markdown]
# ## Exercise 8: the fourteen tensors (2 points)
#
# A `Transformer` with `d_model=48`, `num_heads=8`, `num_layers=3`, `d_ff=96`, a source vocabulary of 70 and a target vocabulary of 90 is trained on a batch of **3** sentences, with **9** source tokens and **6** target tokens each, padding included. What are the shapes, batch first, of the tensors numbered in the figure at the top?
#
# Fill in the dictionary and delete the `raise` line below it. Shapes are tuples, for example `(2, 3, 5)`. The names:
#
# - `"source_ids"`; `"source_vectors"`, with their positions added;
# - of an encoder layer: `"encoder_weights"`, the weights of its self-attention, heads apart; `"encoder_attended"`, the output of that attention; `"encoder_hidden"`, after the first linear layer of the feed-forward;
# - `"memory"`;
# - `"decoder_input"`, the ids that the decoder reads; `"target_vectors"`, with their positions added;
# - of a decoder layer: `"decoder_weights"`, the weights of its self-attention; `"cross_weights"`, those of its cross-attention; `"cross_attended"`, the output of that attention; `"decoder_hidden"`, after the first linear layer of the feed-forward;
# - `"logits"` and `"probabilities"`.

# %% solution shape-trace
answers = {
    "source_ids": None,
    "source_vectors": None,
    "encoder_weights": None,
    "encoder_attended": None,
    "encoder_hidden": None,
    "memory": None,
    "decoder_input": None,
    "target_vectors": None,
    "decoder_weights": None,
    "cross_weights": None,
    "cross_attended": None,
    "decoder_hidden": None,
    "logits": None,
    "probabilities": None,
}
### BEGIN SOLUTION
answers = {
    "source_ids": (3, 9),
    "source_vectors": (3, 9, 48),
    "encoder_weights": (3, 8, 9, 9),
    "encoder_attended": (3, 9, 48),
    "encoder_hidden": (3, 9, 96),
    "memory": (3, 9, 48),
    "decoder_input": (3, 6),
    "target_vectors": (3, 6, 48),
    "decoder_weights": (3, 8, 6, 6),
    "cross_weights": (3, 8, 6, 9),
    "cross_attended": (3, 6, 48),
    "decoder_hidden": (3, 6, 96),
    "logits": (3, 6, 90),
    "probabilities": (3, 6, 90),
}
### END SOLUTION

# %% test shape-trace 2
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
assert len(answers) == 14, f"There are fourteen tensors, answers has {len(answers)}: which key is new or gone?"
for key, shape in answers.items():
    assert isinstance(shape, tuple | list) and all(isinstance(size, int) for size in shape), (
        f"answers['{key}'] should be a tuple of whole numbers, got {shape!r}."
    )
    assert len(shape) > 1 and shape[0] == 3, f"answers['{key}'] should begin with the batch, 3; got {shape!r}."
print("answers: complete, and in the right form")

# %% [markdown]
# <details><summary>Hint 1: which length</summary>
#
# Encoder: 9 everywhere. Decoder: 6, except where it looks into the memory. Weights have a row for every query and a column for every key.
#
# </details>
#
# <details><summary>Hint 2: which width</summary>
#
# Everything between two sub-layers is d_model wide, so that it can be added to what went in. Only three things are not: weights, the inside of the feed-forward, and what comes after the last projection.
#
# </details>

# %% [markdown]
# ## What you can do now
#
# You have built the model of the paper, whole, and it agrees with PyTorch's own to the last few digits. You have trained it, and you know how to tell whether it has learnt: decode, compare with a baseline, and know the best loss there is before you judge one.
#
# One thing has stayed in the dark: what the heads look at while all this goes on. **Lesson 8** makes attention visible, in your own trained model and in a pretrained one, and asks what such pictures show, and what they do not.
#
# **Read on**: Vaswani et al. 2017, sections 5 and 6, with the ablations of table 3. For decoder-only models: Radford et al. 2019, *Language Models are Unsupervised Multitask Learners*, section 2.
