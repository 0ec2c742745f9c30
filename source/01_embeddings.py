# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 1 · Embeddings
#
# **You will be able to**
#
# - say how an LSTM and a Transformer handle recurrence and time, and what follows for speed and for distance;
# - turn text into tokens, tokens into ids, and sentences of different lengths into one batch;
# - explain an embedding as a lookup *and* as a matrix product, and why a model needs one;
# - build the embedding layer of the paper, with its factor √d_model and its padding;
# - search a real table of word vectors by angle, and find that king − man + woman lands near queen.
#
# **Time** about 90 minutes · **Difficulty** easy · **Before this** Python, and tensors in PyTorch
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 1, 3.4 and 4.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 1 is highlighted: the two embedding layers, which turn source tokens and target tokens into vectors.](images/map_01.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | in the paper |
# |---|---|---|
# | `tokenise` | 2 | 5.1 (there with subwords) |
# | `build_vocabulary` | 3 | 5.1 (there with subwords) |
# | `encode` | 2 | 5.1 |
# | `pad_batch` | 2 | not described; needed for the batches of 5.1 |
# | `one_hot_embed` | 3 | 3.4 |
# | `TokenEmbedding` | 3 | 3.4, with the factor √d_model |
# | `nearest` | 3 | not in the paper; how embeddings are looked at |
# | recurrence, in your own words | 2 | 1, and 4 with table 1 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% setup
import math
import re
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1);

# %% demo
import matplotlib.pyplot as plt

from coursework import embedding_plots, plots
from coursework.corpus import load_corpus
from coursework.pretrained import word_table
from coursework.text import PAGE

plots.use_style()

# %% [markdown]
# ## One word after the other, or all at once
#
# Before 2017 a network read a sentence much as a tape is played. A **recurrent** network has a state, and each word changes it: hₜ is computed from hₜ₋₁ and the word xₜ. An LSTM (Hochreiter and Schmidhuber 1997, *Neural Computation* 9(8)) adds a memory cell with gates that decide what to keep. Either way, *time is the order of computation*: the network knows that a word came third because it was read third.
#
# A **Transformer** has no such state. Every position looks at every other directly, in one step, and all positions are computed together. Nothing in that computation comes first, so the order has to be written into the data instead: that is lesson 2.
#
# ![Six words, the key under the bell is, in two networks. On the left an LSTM: the states h 1 to h 6 form a chain, and what is known of key reaches the state of is in 4 steps, in order. On the right attention: every state is connected to every word, and key reaches is in 1 step, at any distance.](images/embeddings_path.svg)

# %% [markdown]
# ### What follows
#
# | | recurrent layer | self-attention layer |
# |---|---|---|
# | steps that must wait for each other | n | 1 |
# | longest way between two positions | n | 1 |
# | work in a layer | n · d² | n² · d |
#
# (Orders of magnitude for n tokens of width d; Vaswani et al. 2017, table 1.)
#
# The first row is about **parallelism**: a chain of n steps keeps a GPU waiting, one large matrix product keeps it busy. The second is about **distance**: whatever word 1 has to tell word 100 must survive 99 rewritings in the chain. The third is the **price**: every pair of tokens is compared, so twice the length costs four times the work.

# %% [markdown]
# The second row can be measured. Take networks as they are before any training, feed in 80 random vectors, and ask how strongly the *last* output reacts to the input 0, 1, 2, … places back: the length of the gradient.

# %% demo
def reach(make, length=80, trials=8):
    """How strongly the last output depends on the input so many places back: (length,)."""
    total = torch.zeros(length)
    for seed in range(trials):
        torch.manual_seed(seed)
        x = torch.randn(1, length, 16, requires_grad=True)
        make()(x)[0, -1].sum().backward()
        total += x.grad[0].norm(dim=-1)  # (length,)
    return (total / trials).flip(0).tolist()


def lstm(forget_bias=0.0):
    """An LSTM as PyTorch initialises it; a positive bias makes its gates keep more."""
    layer = nn.LSTM(16, 16, batch_first=True)
    layer.bias_ih_l0.data[16:32] += forget_bias  # the gates are: input, forget, cell, output
    return lambda x: layer(x)[0]


def attention():
    """One head of attention; lesson 3 builds it."""
    w_q, w_k, w_v = (nn.Linear(16, 16) for _ in range(3))
    return lambda x: F.scaled_dot_product_attention(w_q(x), w_k(x), w_v(x))

# %% demo
curves = {
    "attention": reach(attention),
    "LSTM, gates set to remember": reach(lambda: lstm(2.0)),
    "LSTM": reach(lstm),
}
embedding_plots.fading(range(80), curves, "reaction of the last output");

# %% [markdown]
# In the plain LSTM each step multiplies the gradient by about a half, so that ten steps back a few thousandths are left, and eighty steps back nothing that float32 could still add to a weight. Gates that begin by remembering slow the decay, and training can slow it further; they do not end it. (The effect is old and well studied: Bengio et al. 1994, *IEEE Transactions on Neural Networks* 5(2); Pascanu et al. 2013, arXiv:1211.5063.) Attention gives every distance the same start.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A Transformer translates a sentence of 30 words into one of 30 words. How many steps must wait for each other in *training*, and how many when it *translates*?
#
# <details><summary>Answer</summary>
#
# In training the right translation is known, so all of its positions are computed at once: the number of steps is the number of layers, whatever the length. When it translates, each word must be known before the next can be asked for: 30 rounds, one after the other. What is parallel is training, and reading. (Lessons 6 and 7.)
#
# </details>
#
# **And** is it "sharing weights between positions" that makes a Transformer parallel?
#
# <details><summary>Answer</summary>
#
# No. An LSTM shares its weights between positions as well. What matters is that no position needs the *result* of another position of the same layer.
#
# </details>

# %% [markdown] slide="subslide"
# ### Where Transformers are used
#
# | for | example | source |
# |---|---|---|
# | translation | the first Transformer | Vaswani et al. 2017, arXiv:1706.03762 |
# | text understanding | BERT, an encoder alone | Devlin et al. 2018, arXiv:1810.04805 |
# | text generation | GPT-3, a decoder alone | Brown et al. 2020, arXiv:2005.14165 |
# | vision | ViT: patches of a picture as tokens | Dosovitskiy et al. 2020, arXiv:2010.11929 |
# | speech | Whisper: sound in, text out | Radford et al. 2022, arXiv:2212.04356 |
# | protein structure | AlphaFold 2, with attention over sequences and pairs | Jumper et al. 2021, doi:10.1038/s41586-021-03819-2 |
# | many tasks with one network | Gato: text, pictures, games and a robot's arm | Reed et al. 2022, arXiv:2205.06175 |
#
# What these have in common is that the input is first cut into **tokens**, and each token becomes a **vector**. That is where we begin.

# %% [markdown]
# ## From text to vectors
#
# ![A sentence on its way down. The text The cat sat, full stop, is tokenised into six tokens, the spaces among them. Encode turns them into the ids 8, 4, 17, 4, 23, 5 with a vocabulary. Pad batch adds two zeros so that the row is as long as those of other sentences: B, S. TokenEmbedding turns each id into a column of numbers, zeros for padding: B, S, D.](images/embeddings_pipeline.svg)
#
# Four small steps, four exercises. Our text is a page written for this course; its first lines:

# %% demo
print(PAGE[:232], "…")

# %% [markdown]
# ### Exercise 1: `tokenise` (2 points)
#
# We cut wherever a word begins or ends. In a regular expression `\b` stands for such a **boundary**; it has no width, so nothing is lost: words, spaces and marks all become tokens, and joined together they are the text again. Empty strings are no tokens.
#
# Python's `re.split` takes a pattern and a text (`re` is imported). Write the pattern with an `r` in front: in an ordinary string `"\b"` is a backspace.

# %% solution tokenise
def tokenise(text: str) -> list[str]:
    """Cut a text at word boundaries, losing nothing.

    Returns: the pieces in order, none of them empty; "".join(tokenise(text)) == text.
    """
    ### BEGIN SOLUTION
    pieces = re.split(r"\b", text)
    return [piece for piece in pieces if piece != ""]
    ### END SOLUTION

# %% test tokenise 2
pieces = tokenise("Two clocks, one town.")
assert isinstance(pieces, list), f"Expected a list, got {type(pieces).__name__}: is there a return?"
assert "" not in pieces, f"An empty string is no token: {pieces}."
assert "".join(pieces) == "Two clocks, one town.", (
    f"Joined together, the pieces should be the text again, got {''.join(pieces)!r}."
)
assert pieces[:3] == ["Two", " ", "clocks"], (
    f"A word, the space behind it, the next word: these are the first three. Got {pieces[:3]}."
)
assert len(pieces) == 8, f"There are 8 pieces, 4 words and what follows each; got {len(pieces)}: {pieces}."
print("tokenise: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Call `re.split` on a short text, print what comes, and compare it with the docstring. What is there that should not be?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# A text that begins with a word has a boundary before its first letter, and in front of that there is nothing: an empty string. Keep those pieces that are not empty, with a list comprehension.
#
# </details>

# %% demo
tokens = tokenise(PAGE)
print(f"{len(PAGE)} characters, {len(tokens)} tokens, {len(set(tokens))} different ones")
start = tokens.index("Children")
embedding_plots.token_strip(tokens[start : start + 49]);

# %% [markdown]
# Dots stand for spaces. Look at *weren't*: it has become three tokens, since the apostrophe is no letter. There is no one right way to cut. Characters make sequences long; words make vocabularies large, and meet unknown words every day. Between them lie **subwords**, learnt from data: frequent words stay whole, rare ones fall into pieces. The paper uses these, byte-pair encodings (Sennrich et al. 2016, arXiv:1508.07909) and word pieces (Wu et al. 2016, arXiv:1609.08144), with vocabularies of about 37 000 and 32 000 (section 5.1). We shall meet word pieces below.

# %% [markdown]
# ## Tokens get numbers
#
# A network computes with numbers, so each different token gets one, its **id**. The dictionary from tokens to ids is the **vocabulary**. Four tokens never occur in a text and have ids in every vocabulary of this course:

# %% given
SPECIALS = ("<pad>", "<sos>", "<eos>", "<unk>")  # padding, start and end of a sequence, unknown

# %% [markdown]
# ### Exercise 2: `build_vocabulary` (3 points)
#
# The specials come first, with the ids 0 to 3 in the order above. The other tokens follow **by falling count**, so that a vocabulary can be cut off where tokens become rare; tokens that occur equally often come in the order of Python's `sorted`. With `max_size` the vocabulary has at most that many entries, **the four specials included** (`max_size` is never below 4). Should a special occur in the text, it is not added a second time.
#
# Two texts with the same counts must get the same ids on every computer: this is why ties are settled at all.

# %% solution build-vocabulary
def build_vocabulary(tokens: list[str], max_size: int | None = None) -> dict[str, int]:
    """Number the tokens: the four specials, then the others by falling count.

    tokens: all tokens of a text, in order. max_size: how many entries at most, specials included
    (at least 4); None for no limit. Returns: the id of each token, 0, 1, 2, …
    """
    ### BEGIN SOLUTION
    counts = Counter(token for token in tokens if token not in SPECIALS)
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    if max_size is not None:
        ranked = ranked[: max_size - len(SPECIALS)]
    everything = [*SPECIALS, *ranked]
    return {token: index for index, token in enumerate(everything)}
    ### END SOLUTION

# %% test build-vocabulary 3
small = build_vocabulary(["sea", " ", "bell", " ", "sea", " ", "sea", " ", "sea", "cat"])
assert isinstance(small, dict), f"Expected a dictionary, got {type(small).__name__}: is there a return?"
assert [small.get(special) for special in SPECIALS] == [0, 1, 2, 3], (
    f"The specials have the ids 0 to 3, got {[small.get(special) for special in SPECIALS]}."
)
assert sorted(small.values()) == list(range(len(small))), (
    f"Ids are 0, 1, 2, … without gaps, each once; got {sorted(small.values())}."
)
assert set(small) == {*SPECIALS, "sea", " ", "bell", "cat"}, f"Which tokens are these? Got {list(small)}."
assert small["sea"] > small["<unk>"] and small["sea"] < small["bell"], (
    f"'sea' occurs more often than 'bell' and so comes first, after the specials; got {small}."
)
assert small["bell"] < small["cat"], "'bell' and 'cat' occur once each; sorted() puts 'bell' first."
cut = build_vocabulary(["sea", "bell", "sea", "sea", "cat", "cat"], max_size=5)
assert len(cut) == 5 and "sea" in cut, (
    f"With max_size=5 there is room for the specials and the most frequent token, got {cut}."
)
print("build_vocabulary: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Three steps: count, put in order, number. `Counter` (imported) does the first, and can be read like a dictionary.
#
# </details>
#
# <details><summary>Hint 2: the order</summary>
#
# `sorted` takes a `key`, a function that says what to sort by. Where a key is a pair, the second part decides among equal first parts. How do you make the first part fall while the second rises?
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# The key `(-count, token)` sorts by falling count, then by the token. How many tokens does `max_size` leave room for, once the specials are in? And which tokens should never be counted in the first place?
#
# </details>

# %% demo
vocabulary = build_vocabulary(tokens)
words = list(vocabulary)  # in the order of the ids: the way back
for token in (" ", "the", "clock", "cat", "The", "<unk>"):
    print(f"{token!r:9} id {vocabulary[token]:3}   occurs {tokens.count(token)} times")

# %% [markdown]
# *the* and *The* are two tokens with two ids, and nothing tells the model that they are nearly the same word. It has to find out. Now a longer text, if you have one at hand; the line below says which it is.

# %% demo
corpus = load_corpus()
print(corpus.note)
counts = Counter(tokenise(corpus.text)).most_common()
print(f"{sum(n for _, n in counts):,} tokens, {len(counts):,} different ones")
by_rank = [token for token, _ in counts]
embedding_plots.zipf([n for _, n in counts], by_rank, named=(1, 3, 10, 100, 1000, 10000));

# %% [markdown]
# Nearly a straight line on logarithmic scales: the token of rank r occurs about 1/r as often as the first (Zipf's law; a review is Piantadosi 2014, *Psychonomic Bulletin & Review* 21). A few tokens make up most of a text, and there is no end of rare ones. This is what `max_size` is about:

# %% demo
total = sum(n for _, n in counts)
sizes = [size for size in (10, 30, 100, 300, 1000, 3000, 10000) if size <= len(counts)]
known = [100 * sum(n for _, n in counts[:size]) / total for size in sizes]
labels = ("size of the vocabulary", "tokens covered, in %")
plots.curves(sizes, {corpus.name: known}, labels=labels, base=10);

# %% [markdown] slide="subslide"
# **Predict, then reveal.** An embedding table for the paper's 37 000 tokens with d_model = 512: how many numbers is that, and how many of them belong to tokens you will hardly ever see?
#
# <details><summary>Answer</summary>
#
# 37 000 · 512 = 18 944 000, out of some 65 million in the paper's base model (table 3): more than a quarter. By Zipf's law nearly all of these rows belong to rare tokens, which get few gradients. That is one more reason for subwords: rare words share the rows of their pieces.
#
# </details>

# %% [markdown]
# ### Exercise 3: `encode` (2 points)
#
# Look up the id of each token. A token that is not in the vocabulary becomes `<unk>`; it is not left out, so there are as many ids as tokens. The result is a LongTensor, of shape `(0,)` for an empty list.

# %% solution encode
def encode(tokens: list[str], vocabulary: dict[str, int]) -> torch.Tensor:
    """Turn tokens into ids.

    Returns: LongTensor (len(tokens),); a token that is not in the vocabulary gets the id of <unk>.
    """
    ### BEGIN SOLUTION
    unknown = vocabulary["<unk>"]
    ids = [vocabulary.get(token, unknown) for token in tokens]
    return torch.tensor(ids, dtype=torch.long)
    ### END SOLUTION

# %% test encode 2
small = {"<pad>": 0, "<sos>": 1, "<eos>": 2, "<unk>": 3, "sea": 4, "cat": 5, "bell": 6}
ids = encode(["bell", "sea", "bell"], small)
assert isinstance(ids, torch.Tensor), f"Expected a tensor, got {type(ids).__name__}: is there a return?"
assert ids.dtype == torch.int64, f"Expected int64 (torch.long), got {ids.dtype}."
assert ids.tolist() == [6, 4, 6], f"Expected [6, 4, 6], got {ids.tolist()}."
strange = encode(["cat", "zeppelin", "cat"], small).tolist()
assert len(strange) == 3, f"Three tokens give three ids, got {strange}. Was one left out?"
assert strange[1] == small["<unk>"], f"'zeppelin' is not in this vocabulary; it got {strange[1]}."
nothing = encode([], small)
assert nothing.shape == (0,) and nothing.dtype == torch.int64, (
    f"No tokens give shape (0,) and int64, got {tuple(nothing.shape)} and {nothing.dtype}."
)
print("encode: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Make a list of ids first and a tensor of it last. For the list: a dictionary can be asked with square brackets, which insist, or with `get`, which takes a default.
#
# </details>
#
# <details><summary>Hint 2: the empty list</summary>
#
# Nothing in an empty list says that it would have held whole numbers, and PyTorch guesses floats. `torch.tensor` has an argument to say what you want.
#
# </details>

# %% demo
sentence = "The mayor asked the zeppelin, and the cat listened."
ids = encode(tokenise(sentence), vocabulary)
print(ids.tolist())
print("".join(words[i] for i in ids.tolist()))

# %% [markdown]
# The way back shows what was lost: the model will never know what stood there. Even the last full stop is unknown, since on our page a full stop always has a space or a new line behind it, and shares a token with that. It also shows what an id is *not*. It is no measure: id 8 is not twice id 4, and neighbours in the vocabulary have nothing in common but their counts.

# %% [markdown]
# ### Exercise 4: `pad_batch` (2 points)
#
# A GPU is fast when it works on many sequences at once, and a tensor is a box: all its rows have one length. Shorter sequences are filled up **on the right** with the id of `<pad>`, to the length of the longest. (A mask hides the padding later: lesson 3.) A sequence is a list of ids, or a LongTensor as `encode` makes it. What you are given stays as it was.

# %% solution pad-batch
def pad_batch(sequences: list[list[int]] | list[torch.Tensor], pad_id: int = 0) -> torch.Tensor:
    """Fill sequences up to one length and stack them.

    sequences: at least one; each a list of ints, or a LongTensor (len,).
    Returns: LongTensor (B, longest), padded on the right with `pad_id`.
    """
    ### BEGIN SOLUTION
    longest = max(len(sequence) for sequence in sequences)
    batch = torch.full((len(sequences), longest), pad_id, dtype=torch.long)  # (B, longest)
    for row, sequence in enumerate(sequences):
        batch[row, : len(sequence)] = torch.as_tensor(sequence)
    return batch
    ### END SOLUTION

# %% test pad-batch 2
given = [[5, 6], [7, 8, 9], [4]]
batch = pad_batch(given)
assert isinstance(batch, torch.Tensor), f"Expected a tensor, got {type(batch).__name__}: is there a return?"
assert batch.dtype == torch.int64, f"Expected int64 (torch.long), got {batch.dtype}."
assert batch.shape == (3, 3), f"Three sequences, the longest of 3, give (3, 3); got {tuple(batch.shape)}."
assert batch[2].tolist() == [4, 0, 0], f"Expected [4, 0, 0] in the last row, got {batch[2].tolist()}."
assert given == [[5, 6], [7, 8, 9], [4]], f"The lists you are given stay as they were; now they are {given}."
tensors = pad_batch([torch.tensor([5, 6]), torch.tensor([7])], pad_id=9)
assert tensors.tolist() == [[5, 6], [7, 9]], (
    f"LongTensors, with pad_id=9: expected [[5, 6], [7, 9]], got {tensors.tolist()}."
)
print("pad_batch: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Begin with a box of the right size that is full of padding, and write each sequence into its row.
#
# </details>
#
# <details><summary>Hint 2: lists and tensors</summary>
#
# `torch.full` makes the box, and takes a `dtype`. `torch.as_tensor` turns a list into a tensor and leaves a tensor as it is. `batch[row, :n]` is the beginning of a row, and can be assigned to.
#
# </details>

# %% demo
lines = ["The bread was fresh", "Nobody asked", "The sailors went to sea"]
batch = pad_batch([encode(tokenise(line), vocabulary) for line in lines])
print("batch:", tuple(batch.shape))
embedding_plots.batch_grid(batch, words);

# %% [markdown]
# ## What an embedding is
#
# An id is a name, not a quantity, so it must not be computed with. The honest way to give a name to a network is a **one-hot row**: as many places as there are tokens, a single 1, zeros elsewhere. No two tokens are nearer to each other than any others. But it is as wide as the vocabulary, and it *knows nothing*: the angle between *cat* and *kitten* is the angle between *cat* and *Thursday*.
#
# So the first thing to do with it is to multiply it by a matrix, the **embedding table** `(V, D)`, one row per token. Look at what that product does:
#
# ![Two one-hot rows times a table with five rows of three numbers. The row for id 3 has its 1 in place 3 and picks out row 3 of the table; the row for id 1 picks out row 1. The result has one row for each id, as wide as the table.](images/embeddings_lookup.svg)

# %% [markdown]
# All terms but one are multiplied by 0, and what is left is row 3 of the table: the product **is** a lookup. Programs therefore never build the one-hot rows; they fetch the row. That is all `nn.Embedding` does. The other reading is worth keeping, though: an embedding is a linear layer without bias on one-hot inputs, so it learns as any layer does, by gradients that reach the rows that were used.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What does `nn.Embedding(1000, 64)` take as input: tokens, one-hot rows, or ids? And is it a Python dictionary?
#
# <details><summary>Answer</summary>
#
# Ids, as int64, of any shape; `(B, S)` gives `(B, S, 64)`. Tokens are text and have to be encoded first, which is the one place where a dictionary is at work. One-hot rows would be floats, and floats are refused. And unlike a dictionary, the table is a parameter: what is stored under an id changes with each training step.
#
# </details>

# %% demo
layer = nn.Embedding(1000, 64)
print("ids     ", tuple(layer(torch.tensor([[4, 17, 4], [8, 0, 0]])).shape))
for name, wrong in {"floats": torch.tensor([4.0, 17.0]), "too large": torch.tensor([1000])}.items():
    try:
        layer(wrong)
    except (RuntimeError, IndexError) as problem:
        print(f"{name:9}{type(problem).__name__}: {str(problem)[:76]}")

# %% [markdown]
# ### Exercise 5: `one_hot_embed` (3 points)
#
# Build it once by hand, **as a matrix product**: one-hot rows of the ids, times the table. Fetching rows (`table[ids]`, `F.embedding`, `index_select` and the like) gives the same numbers and is not accepted here, because the product is the point. It should work for a table of float32 or float64, and gradients have to reach the table.

# %% solution one-hot-embed
def one_hot_embed(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Embed ids by multiplying one-hot rows with the table.

    ids: LongTensor (B, S); table: (V, D). Returns: (B, S, D), equal to table[ids].
    """
    ### BEGIN SOLUTION
    one_hot = F.one_hot(ids, num_classes=table.size(0))  # (B, S, V)
    one_hot = one_hot.to(table.dtype)
    return one_hot @ table  # (B, S, D)
    ### END SOLUTION

# %% test one-hot-embed 3
table = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], requires_grad=True)
vectors = one_hot_embed(torch.tensor([[1, 3, 3]]), table)
assert isinstance(vectors, torch.Tensor), (
    f"Expected a tensor, got {type(vectors).__name__}: is there a return?"
)
assert vectors.shape == (1, 3, 2), (
    f"Ids (1, 3) and a table (5, 2) give (1, 3, 2), got {tuple(vectors.shape)}. How wide is a one-hot row?"
)
assert torch.equal(vectors[0, 0], torch.tensor([1.0, 2.0])), (
    f"Id 1 gets row 1 of the table, [1, 2]; got {vectors[0, 0].tolist()}."
)
vectors.sum().backward()
assert table.grad is not None, "No gradient reaches the table. Was it detached or copied?"
assert table.grad[:, 0].tolist() == [0, 1, 0, 2, 0], (
    f"Row 1 was used once and row 3 twice; their gradients say {table.grad[:, 0].tolist()}."
)
assert one_hot_embed(torch.tensor([[2]]), table.detach().double()).dtype == torch.float64, (
    "A float64 table gives float64. Which dtype do your one-hot rows have?"
)
print("one_hot_embed: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Two steps: `(B, S)` becomes `(B, S, V)`, and that times `(V, D)` becomes `(B, S, D)`. `@` carries the leading dimension along.
#
# </details>
#
# <details><summary>Hint 2: one-hot rows</summary>
#
# `F.one_hot` makes them, and so does comparing `ids.unsqueeze(-1)` with `torch.arange(V)`. Left alone, `F.one_hot` makes rows only as wide as the largest id it happens to meet.
#
# </details>
#
# <details><summary>Hint 3: an error about dtypes?</summary>
#
# One-hot rows come as whole numbers, or as True and False. A matrix product wants the same dtype on both sides: that of the table, whatever it is.
#
# </details>

# %% demo
import time

big, some = torch.randn(20_000, 256), torch.randint(0, 20_000, (8, 64))
ways = {"matrix product": one_hot_embed, "lookup": lambda ids, table: table[ids]}
for name, way in ways.items():
    took = []
    for _ in range(3):
        start = time.perf_counter()
        result = way(some, big)
        took.append(time.perf_counter() - start)
    print(f"{name:15} {1000 * min(took):8.2f} ms   {tuple(result.shape)}")
print(f"one-hot rows in float32: {some.numel() * 20_000 * 4 / 2**20:.0f} MiB for 512 tokens")

# %% [markdown]
# The same numbers, hundreds of times the work: the product multiplies by zero 19 999 times out of 20 000. From here on we look up.

# %% [markdown]
# ## The embedding layer of the paper
#
# Section 3.4 adds one thing to the lookup: the vectors are **multiplied by √d_model**. The paper gives no reason. What it does can be seen: the table doubles as the weights of the output layer there, whose outputs are sums of d_model products; they begin with a spread near 1 if the weights have one of 1/√d_model. The factor brings such vectors back to numbers around 1, the size of the positional encodings that are added to them (lesson 2).

# %% demo
for d_model in (16, 64, 512):
    small = torch.randn(1000, d_model) / math.sqrt(d_model)  # as an output layer would have it
    size = small.std().item()
    print(f"d_model {d_model:3}   typical number {size:.3f}   times √d_model {size * math.sqrt(d_model):.2f}")

# %% [markdown]
# ### Exercise 6: `TokenEmbedding` (3 points)
#
# A layer with one part, `embed`, an `nn.Embedding`; keep the name, since weights are loaded by it. `forward` returns the vectors times √d_model. The row of `<pad>` **is zero and stays zero**: it starts so and gets no gradient, so that padding adds nothing anywhere. `nn.Embedding` can see to that by itself; look for the argument in its documentation.

# %% solution token-embedding
class TokenEmbedding(nn.Module):
    """Token ids to vectors, scaled (Vaswani et al. 2017, section 3.4).

    Attribute: embed, an nn.Embedding with vocab_size rows of width d_model. Row pad_id is zero and
    gets no gradient.
    """

    def __init__(self, vocab_size: int, d_model: int, pad_id: int = 0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.scale = math.sqrt(d_model)
        ### END SOLUTION

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Look up each id. ids: LongTensor (B, S). Returns: (B, S, d_model), times sqrt(d_model)."""
        ### BEGIN SOLUTION
        vectors = self.embed(ids)  # (B, S, d_model)
        return vectors * self.scale
        ### END SOLUTION

# %% test token-embedding 3
layer = TokenEmbedding(vocab_size=11, d_model=16)
assert tuple(layer.embed.weight.shape) == (11, 16), (
    f"11 tokens of width 16 need a table (11, 16), got {tuple(layer.embed.weight.shape)}."
)
ids = torch.tensor([[3, 7, 0], [10, 0, 0]])
vectors = layer(ids)
assert isinstance(vectors, torch.Tensor), f"Expected a tensor, got {type(vectors).__name__}: is there a return?"
assert vectors.shape == (2, 3, 16), f"Ids (2, 3) give (2, 3, 16), got {tuple(vectors.shape)}."
factor = (vectors[0, 0] / layer.embed.weight[3]).mean().item()
assert math.isclose(factor, 4.0, rel_tol=1e-4), (
    f"With d_model = 16 each vector is 4 times its row of the table, got {factor:.3f} times."
)
assert torch.all(vectors[1, 1:] == 0), "Padding should become zeros. What is in row 0 of the table?"
vectors.sum().backward()
assert torch.all(layer.embed.weight.grad[0] == 0), (
    "The row of <pad> gets a gradient, so it will not stay zero."
)
assert layer.embed.weight.grad[7].any(), "Row 7 was used and gets no gradient: it could not learn."
print("TokenEmbedding: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` makes the table once; `forward` uses it. Two lines are enough for each.
#
# </details>
#
# <details><summary>Hint 2: padding</summary>
#
# Setting the row to zero is half of it: a gradient would move it at the first step. The argument `padding_idx` of `nn.Embedding` does both, for the id it is given.
#
# </details>

# %% demo
layer = TokenEmbedding(len(vocabulary), 32)
before = layer.embed.weight.detach().clone()
optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(batch).square().sum().backward()  # any loss will do
optimiser.step()
moved = (layer.embed.weight != before).any(dim=-1)
print(f"{int(moved.sum())} of {len(vocabulary)} rows moved:", [words[i] for i in moved.nonzero().flatten()])

# %% [markdown]
# One step moves the rows of the tokens in the batch, `<pad>` not among them, and no other. A token that never occurs keeps the random vector it began with.
#
# Three things to remember for later. Source and target languages with vocabularies of their own need tables of their own; the paper shares one table because it builds one vocabulary for both (section 5.1). Where weights are shared, they are *one* parameter used twice, not two that begin alike. And the factor belongs into `forward`: whoever multiplies the table itself does so again at each call.

# %% [markdown]
# ## Meaning lies in directions
#
# A table begins random. **Predict, then reveal:** in an untrained table, what is the cosine between *cat* and *kitten*?
#
# <details><summary>Answer</summary>
#
# About 0, as between any two: random vectors of high dimension are nearly at right angles. That similar tokens "start close" is a myth. They come close by training, because they occur in similar company and so get similar gradients. (The idea is older than networks: "You shall know a word by the company it keeps", Firth 1957. Learning vectors from it on a large scale: Mikolov et al. 2013, arXiv:1301.3781.)
#
# </details>
#
# So we need a table that somebody has trained. The next line takes one, if its files are on this computer; nothing is downloaded, and it says what it took.

# %% demo
table = word_table()
print(table.note)
print("vectors:", tuple(table.vectors.shape), "  real:", table.real)

# %% [markdown]
# The real one belongs to a small BERT, all-MiniLM-L6-v2, trained to give sentences of similar meaning similar vectors (Wang et al. 2020, arXiv:2002.10957; Reimers and Gurevych 2019, arXiv:1908.10084). It has a tokeniser of its own: lower case, no tokens for spaces, and **word pieces**. A word that is not in its vocabulary is spelt from pieces, the longest first; `##` marks those that continue a word. Ids of one tokeniser mean nothing to the table of another.

# %% demo
for word in ("harbour", "clockmaker", "embedding", "transformer", "unfriendliest"):
    print(f"{word:14}", table.pieces(word))

# %% [markdown]
# (With the made-up table there are no pieces, and each of these is `[UNK]`.)
#
# How near are two words? A dot product would let long vectors win against everybody, so one compares **directions**: the cosine of the angle, q·r / (‖q‖ ‖r‖), from 1 (the same way) over 0 (at right angles) to −1.

# %% demo
some = ["king", "queen", "man", "woman", "cat", "kitten", "dog", "monday", "friday", "milk"]
directions = F.normalize(torch.stack([table[word] for word in some]), dim=-1)  # (10, D)
plots.heatmap(directions @ directions.T, some, some, title="cosine");

# %% demo
rows = torch.randint(0, len(table.words), (2, 5000))
trained = F.cosine_similarity(*table.vectors[rows], dim=-1)  # (5000,)
untrained = F.cosine_similarity(*torch.randn_like(table.vectors)[rows], dim=-1)  # (5000,)
named = {"trained table": trained, "untrained table": untrained}
embedding_plots.histograms(named, limits=(-0.5, 0.8), xlabel="cosine of two random tokens");

# %% [markdown]
# Two tokens taken at random are nearly at right angles in either table. Training adds the tail on the right: the few pairs that have something to do with each other. (In the made-up table most cosines are almost exactly 0, and words that share an axis are far from it: it was made so.)

# %% [markdown]
# ### Exercise 7: `nearest` (3 points)
#
# Which rows of a table point most nearly the same way as a query? Return the numbers of the k rows with the largest cosine, the most similar first. A row of zeros, such as that of `<pad>`, has no direction; define its similarity as 0. The lengths of the rows must not matter, nor that of the query.

# %% solution nearest
def nearest(table: torch.Tensor, query: torch.Tensor, k: int) -> torch.Tensor:
    """Find the rows that point most nearly the same way as a query.

    table: (V, D); query: (D,); k: at most V.
    Returns: LongTensor (k,), row numbers by falling cosine similarity; a row of zeros has similarity 0.
    """
    ### BEGIN SOLUTION
    similarity = F.cosine_similarity(table, query, dim=-1)  # (V,)
    order = similarity.argsort(descending=True)
    return order[:k]
    ### END SOLUTION

# %% test nearest 3
small = torch.tensor([[9.0, 9.0], [1.0, 0.1], [-5.0, 0.0], [0.0, 0.0], [0.5, -0.3]])
rows = nearest(small, torch.tensor([2.0, 0.0]), 2)
assert isinstance(rows, torch.Tensor), f"Expected a tensor, got {type(rows).__name__}: is there a return?"
assert rows.dtype == torch.int64, f"Row numbers are int64, got {rows.dtype}."
assert rows.shape == (2,), f"Two rows were asked for: shape (2,), got {tuple(rows.shape)}."
assert rows.tolist() == [1, 4], (
    f"Row 1 points nearly the same way, then row 4; got {rows.tolist()}. Row 0 is long: does that count?"
)
everything = nearest(small, torch.tensor([2.0, 0.0]), 5).tolist()
assert everything.index(3) < everything.index(2), (
    f"A row of zeros (row 3) has similarity 0, more than row 2, which points the other way; got {everything}."
)
assert everything.index(0) < everything.index(3), (
    f"A row of zeros (row 3) has similarity 0, less than row 0; got {everything}. Is there a NaN?"
)
print("nearest: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# First one number for each row, then the order of these numbers, then the first k.
#
# </details>
#
# <details><summary>Hint 2: the similarity</summary>
#
# `F.cosine_similarity` compares along a dimension and lets the others broadcast; or scale the rows to length 1 with `F.normalize` and multiply. Both divide in such a way that a row of zeros gives 0; a plain division by the length gives 0/0.
#
# </details>
#
# <details><summary>Hint 3: the order</summary>
#
# `argsort`, `sort` and `topk` can all say *where* the largest numbers are. The first two rise unless told otherwise, and the last two return two things.
#
# </details>

# %% demo
def neighbours(query, k=6, without=()):
    """The words nearest to a vector, some left out."""
    rows = nearest(table.vectors, query, k + len(without)).tolist()
    return [table.words[row] for row in rows if table.words[row] not in without][:k]


for word in ("king", "cat", "monday", "milk", "violin", "apple", "run"):
    print(f"{word:7}", "  ".join(neighbours(table[word], without=[word])))

# %% [markdown]
# Read the lists slowly; each mixes several kinds of nearness. Other forms of the same word, words of the same kind, words from the same scene. In the real table most neighbours of *apple* belong to a firm rather than to an orchard, for that is what people wrote about. And opposites are often near: whatever one can say of Monday, one can say of Friday.

# %% [markdown]
# ### King − man + woman
#
# If directions carry meaning, the way from *man* to *woman* should be much like the way from *king* to *queen*; so start at *king*, go back along *man*, forward along *woman*, and see who lives there (Mikolov, Yih and Zweig 2013, *Proceedings of NAACL-HLT*).

# %% demo
def analogy(a, b, c, k=3):
    """Go from b to c, starting at a; the three words themselves are left out of the answer."""
    return neighbours(table[a] - table[b] + table[c], k, without=(a, b, c))


for a, b, c in (("king", "man", "woman"), ("brother", "boy", "girl"), ("kitten", "cat", "dog"),
                ("tokyo", "japan", "china"), ("walked", "walk", "swim")):
    print(f"{a} − {b} + {c}".ljust(24), "→ ", ", ".join(analogy(a, b, c)))

# %% [markdown]
# Is that one lucky hit? Take four pairs and draw all eight words so that *across* is the way from *man* to *woman*, and *up* is the direction in which they differ most otherwise. The first arrow points to the right because we chose the axis so. Where do the other three point?

# %% demo
pairs = [("man", "woman"), ("king", "queen"), ("uncle", "aunt"), ("brother", "sister")]
people = {"he": [he for he, _ in pairs], "she": [she for _, she in pairs]}
vectors = torch.stack([table[word] for group in people.values() for word in group])  # (8, D)
embedding_plots.word_map(vectors, people, arrows=pairs, across=table["woman"] - table["man"]);

# %% [markdown]
# All to the right, though not all as far: the direction is shared, its length need not be. Such pictures show two directions out of hundreds, so they leave out most of what there is. In the next one both are chosen without regard to meaning, as those in which the words differ most, and still the kinds of words find together.

# %% demo
kinds = {
    "royals": ["king", "queen", "prince", "princess"],
    "animals": ["cat", "dog", "horse", "wolf"],
    "days": ["monday", "tuesday", "friday", "sunday"],
    "to eat": ["bread", "cheese", "butter", "soup"],
    "countries": ["france", "italy", "germany", "japan"],
}
chosen = torch.stack([table[word] for group in kinds.values() for word in group])  # (20, D)
embedding_plots.word_map(F.normalize(chosen, dim=-1), kinds);

# %% [markdown]
# Try your own. The menus need a running kernel; on paper the list above says the same.

# %% demo
from ipywidgets import Dropdown, interact

choices = ["king", "queen", "man", "woman", "prince", "father", "uncle", "boy", "girl", "cat", "dog", "kitten",
           "paris", "france", "italy", "germany", "rome", "tokyo", "japan", "walk", "walked", "swim", "run"]


@interact(a=Dropdown(options=choices, value="king"), b=Dropdown(options=choices, value="man"),
          c=Dropdown(options=choices, value="woman"))
def try_it(a, b, c):
    """Choose three words: a − b + c."""
    print(f"{a} − {b} + {c}  →  ", ", ".join(analogy(a, b, c, k=5)))

# %% [markdown] slide="subslide"
# **Predict, then reveal.** We left the three words of the question out of the answers. What comes first if we do not?
#
# <details><summary>Answer</summary>
#
# In the real table *king* itself: run `neighbours(table["king"] - table["man"] + table["woman"])`. The step from *man* to *woman* is short compared with the distance to any other word, so one hardly leaves. Analogies are a pretty picture of structure that is there, and a poor measure of it (Linzen 2016, arXiv:1606.07736).
#
# </details>

# %% [markdown]
# ### What a table does not know
#
# **It repeats what it read.** Directions for gender run through occupations too, for no better reason than that texts do (Bolukbasi et al. 2016, arXiv:1607.06520).
#
# **It has one vector per token**, whatever the sentence. The bank of a river and a bank with money share a row, and so do all the runs of *run*: the vector has to sit somewhere between. What the word means *here* depends on the words around it, and fetching that from the other positions is the work of attention (lesson 3).
#
# **It does not know where a token stands.** "The dog bit the man" and "the man bit the dog" fetch the same vectors. That is lesson 2.

# %% [markdown]
# ## Exercise 8: recurrence, in your own words (2 points)
#
# This one is read by a person. Go back to the first picture of the lesson if you like, but do not copy the text: an explanation in your own words, with an example of your own, is what earns the points.

# %% written recurrence 2 [markdown]
# **Question.** How are recurrence and time handled by an LSTM, and how by a Transformer? Say for each (a) how something known at one position reaches another, and over how many steps, (b) how the network knows the order of the words, and (c) what follows for training on parallel hardware. Name one price that the Transformer pays. Five to ten sentences.
#
# ### BEGIN SOLUTION
# An LSTM carries a state from word to word: hₜ and its memory cell are computed from those of step t − 1 and the word xₜ. What it read in word 1 can only influence word 100 by surviving 99 updates of that state, so the path grows with the distance and gradients fade along it, though the gates slow this down. It knows the order because it reads in order: time is the sequence of its computations. For the same reason training cannot work on all positions at once, since step t has to wait for step t − 1.
#
# A Transformer has no state that is handed on. By attention every position reads every other directly, so a layer connects any two of them in one step, whatever the distance. Nothing in this computation depends on the order, so the order is added to the input as positional encodings, and where the future must not be seen, a mask hides it. All positions of a layer are computed at once, as matrix products, which is what makes training fast on a GPU; when text is generated, words still come one after the other. The price is that all pairs are compared: work and memory grow with the square of the length.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# 2 points, half a point for each of:
#
# 1. **LSTM, recurrence**: a state is passed on step by step, hₜ from hₜ₋₁ and xₜ; information from afar goes through all steps between (a path of length O(n); fading or vanishing gradients may be named instead).
# 2. **Transformer, recurrence**: there is none; attention connects all positions directly, with a path of length 1 (or "constant") in a layer.
# 3. **Time**: in the LSTM the order of computation is the order of the words; the Transformer needs positional encodings (or embeddings), since attention alone ignores the order. A causal mask may be named besides, not instead.
# 4. **Consequence and price**: the LSTM has to compute position after position, the Transformer computes all positions of a layer in parallel in training; *and* one price: quadratic work or memory, or generation that is still one token at a time, or that order has to be supplied. Consequence without a price: a quarter point.
#
# Quarter points for half of an item. Not accepted as the reason for parallelism: "because weights are shared" (an LSTM shares them too), "because it has several heads". Wrong and worth a comment, without taking points away again: "a Transformer has no notion of order at all" (it has one by its encodings), "an LSTM cannot remember anything far away" (it can, with difficulty). Language and length are not marked.
# ### END MARK SCHEME

# %% [markdown]
# ## What you can do now
#
# You have taken a text all the way to the tensor `(B, S, D)` that every Transformer starts from: cut into tokens, numbered by a vocabulary, padded into a batch, looked up in a table that learns. You know that the lookup is a matrix product, why padding is zero and stays zero, and what can be read off a trained table and what cannot.
#
# What is missing is the order. **Lesson 2** adds it, in sines and cosines, to the vectors you have made here.
#
# **Read on**: Vaswani et al. 2017, section 3.5. For where word vectors came from: Mikolov et al. 2013, arXiv:1301.3781.
