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
# - explain how an LSTM and a Transformer handle recurrence and time, and what that means for speed and for long distances;
# - turn text into tokens, tokens into ids, and sentences of different lengths into one batch;
# - explain an embedding both as a lookup and as a matrix product, and say why a model needs one;
# - build the embedding layer of the paper, with its factor $\sqrt{d_\mathrm{model}}$ and its padding;
# - search a table of real word vectors by angle, and judge how much of *king − man + woman = queen* is true.
#
# **Time** about 115 minutes · **Difficulty** easy · **Before this** Python, and tensors in PyTorch
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, sections 1, 3.4 and 4.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 1 is highlighted: the two embedding layers, which turn source tokens and target tokens into vectors.](images/map_01.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | minutes | difficulty | in the paper |
# |---|---|---|---|---|
# | `tokenise` | 2 | 5 | easy | 5.1 (there with subwords) |
# | `build_vocabulary` | 3 | 10 | medium | 5.1 (there with subwords) |
# | `encode` | 2 | 5 | easy | 5.1 |
# | `pad_batch` | 2 | 10 | easy | needed for the batches of 5.1 |
# | `one_hot_embed` | 3 | 10 | medium | 3.4 |
# | `TokenEmbedding` | 3 | 10 | easy | 3.4 |
# | `nearest` | 3 | 10 | medium | not in the paper |
# | recurrence, in your own words | 2 | 15 | medium | 1, and 4 with table 1 |
# | stretch: `bpe_merges` | not counted | 30 | hard | 5.1, byte-pair encoding |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The visible tests are a first check. Grading uses further tests with other sizes and other numbers. If you are stuck, `skip("NAME")` puts a working version in place for the rest of the notebook. The exercise then counts as unanswered.

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

from coursework import check, embedding_plots, hand_in, plots, skip
from coursework.corpus import PAGE, load_corpus
from coursework.pretrained import combine, word_table

plots.use_style()

# %% [markdown] slide="slide"
# ## What an embedding is for
#
# Here is a real language model, SmolLM2, with 135 million trained weights. It cuts a text into *tokens*, words or pieces of words, and looks up a vector for each of them in a table. First it answers with the table as it was trained. Then the rows are shuffled, so that nearly every token gets the vector of another. (`↵` stands for a line break.)

# %% demo
from coursework.smollm import write

question = "What is the capital of France?"
write(question, "with its table", chat=True, tokens=12)
write(question, "rows shuffled", chat=True, tokens=12, embedding=lambda ids, table: table[ids * 7919 % len(table)])

# %% [markdown]
# ## One word after another, or all at once
#
# Before the Transformer, most translation models were **recurrent**. A recurrent network keeps a state and updates it at each word: it computes $h_t$ from the previous state $h_{t-1}$ and the word $x_t$. An LSTM (Hochreiter and Schmidhuber 1997, *Neural Computation* 9(8)) adds a memory cell, with gates that decide what to keep. In both, time is the order of computation: the network knows that a word came third because it read that word third.
#
# A **Transformer** has no such state. Every position looks at every other position directly, and all positions are computed at the same time. Because nothing in that computation comes first, the order of the words has to be written into the data. Lesson 2 does that.
#
# ![Six words, the key under the bell is, in two networks. On the left, an LSTM: the states h 1 to h 6 form a chain, and what the network knows about key reaches the state of is in 4 steps. On the right, attention: every state is connected to every word, and key reaches is in 1 step, at any distance.](images/embeddings_path.svg)

# %% [markdown]
# ### What follows
#
# | | recurrent layer | self-attention layer |
# |---|---|---|
# | steps that have to wait for each other | $n$ | $1$ |
# | longest path between two positions | $n$ | $1$ |
# | work in one layer | $n \cdot d^2$ | $n^2 \cdot d$ |
#
# (Orders of magnitude for $n$ tokens of width $d$; Vaswani et al. 2017, table 1.)
#
# - **Parallelism.** A chain of $n$ steps leaves most of a GPU idle. One large matrix product keeps it busy.
# - **Distance.** What word 1 tells word 100 has to survive 99 updates of the state.
# - **Price.** Attention compares every pair of tokens, so the work for these comparisons grows with the square of the length.
#
# The next two experiments measure the price and the distance.

# %% [markdown]
# **Predict, then measure.** Both layers below have width 256 and run on one core of your CPU. Which one is faster for a sentence of 32 tokens, and which one for a text of 2048?

# %% demo
import time

recurrent = nn.LSTM(256, 256, batch_first=True)
w_q, w_k, w_v = (nn.Linear(256, 256) for _ in range(3))


def attend(x):
    """One head of attention; you will build it in lesson 3."""
    return F.scaled_dot_product_attention(w_q(x), w_k(x), w_v(x))


def milliseconds(layer, x, tries=9):
    """The shortest of several runs: the one that other programs disturbed least."""
    took = []
    for _ in range(tries):
        start = time.perf_counter()
        with torch.no_grad():
            layer(x)
        took.append(time.perf_counter() - start)
    return 1000 * min(took)

# %% demo
torch.set_num_threads(1)  # one core, so that the numbers show the work
print("tokens    LSTM (ms)   attention (ms)   faster")
for length in (32, 128, 512, 2048):
    x = torch.randn(1, length, 256)
    chain, direct = milliseconds(recurrent, x), milliseconds(attend, x)
    print(f"{length:6} {chain:12.2f} {direct:16.2f}   {'attention' if direct < chain else 'LSTM'}")

# %% [markdown]
# From row to row, the length grows fourfold. For long texts, the LSTM's time grows about as fast as the length. Attention starts out faster, but its time grows more steeply, and for long texts it is slower. This agrees with the last row of the table: $n^2 \cdot d$ is the smaller number as long as $n$ is smaller than $d$, which is true of most sentences. On one core, only the amount of work counts. On a GPU, the first row of the table counts as well: attention spreads its work over thousands of cores, while the LSTM still takes $n$ steps in turn.

# %% [markdown]
# Now the distance. Take both networks before any training, feed in 80 random vectors, and ask how strongly the *last* output reacts to the input 0, 1, 2, … places back. The length of the gradient measures that.

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
    with torch.no_grad():
        layer.bias_ih_l0[16:32] += forget_bias  # the gates are: input, forget, cell, output
    return lambda x: layer(x)[0]


def attention():
    """One head of attention, with new weights."""
    w_q, w_k, w_v = (nn.Linear(16, 16) for _ in range(3))
    return lambda x: F.scaled_dot_product_attention(w_q(x), w_k(x), w_v(x))

# %% demo
curves = {
    "attention": reach(attention),
    "LSTM, gates set to remember": reach(lambda: lstm(2.0)),
    "LSTM": reach(lstm),
}
embedding_plots.fading(range(80), curves, "reaction of the last output")
for name, curve in curves.items():
    print(f"{name:28}", "   ".join(f"{d} back: {curve[d]:.1g}" for d in (0, 1, 10, 40, 79)))

# %% [markdown]
# The lowest line is the plain LSTM. Ten tokens back, its gradient is down to 0.002, and 79 tokens back it is 2e-17. Gates that start out remembering slow this decay, and training can slow it further, but the line still falls. (The effect is well studied: Bengio et al. 1994, *IEEE Transactions on Neural Networks* 5(2); Pascanu et al. 2013, arXiv:1211.5063.)
#
# The attention line is level: a token 79 places back counts about as much as the one next door. Only distance 0 stands out, because the last input is also the query, which gives it a second path to the output.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A Transformer translates a sentence of 30 words into another sentence of 30 words. How many steps have to wait for each other in *training*, and how many when it *translates*?
#
# <details><summary>Answer</summary>
#
# In training, the right translation is known, so all of its positions are computed at once. The number of steps is the number of layers, whatever the length. When the model translates, it needs each word before it can predict the next one: that takes 30 rounds, one after another. Training and reading are parallel, and writing is not. (Lessons 6 and 7.)
#
# </details>
#
# Is it "sharing weights between positions" that makes a Transformer parallel?
#
# <details><summary>Answer</summary>
#
# No. An LSTM shares its weights between positions too. What matters is that no position needs the *result* of another position in the same layer.
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
# | many tasks with one network | Gato: text, pictures, games and a robot arm | Reed et al. 2022, arXiv:2205.06175 |
#
# In all of these, the input is first cut into **tokens**, and each token becomes a **vector**. This lesson builds both steps.

# %% [markdown]
# ## From text to vectors
#
# ![A sentence on its way down. The text The cat sat, full stop, is tokenised into six tokens, two of which are spaces. Encode turns the tokens into the ids 8, 4, 17, 4, 23, 5 with a vocabulary; both spaces have the id 4. Pad batch adds two zeros so that the row is as long as the other rows of the batch: B, S. TokenEmbedding turns each id into a column of numbers: B, S, D. The columns of the two spaces are equal, all other tokens have columns of their own, and those of the padding are zero.](images/embeddings_pipeline.svg)
#
# Four small steps, and you will write each of them. Note in the bottom row that equal ids get equal vectors. Your text is a page written for this course. It begins like this:

# %% demo
print(PAGE[:219], "…")

# %% [markdown]
# ### Exercise 1: `tokenise` (2 points)
#
# *5 minutes, easy.* Cut the text wherever a word begins or ends. In a regular expression, `\b` stands for such a **boundary**. A boundary has no width, so nothing is lost: words, spaces and punctuation all become tokens, and if you join the tokens you get the text back. Drop any empty strings.
#
# Python's `re.split` takes a pattern and a text (`re` is imported). Write the pattern with an `r` in front, because `"\b"` in an ordinary string is a backspace.

# %% solution tokenise
def tokenise(text: str) -> list[str]:
    """Cut a text at word boundaries, losing nothing.

    Returns: the tokens in order, none of them empty; "".join(tokenise(text)) == text.
    """
    ### BEGIN SOLUTION
    pieces = re.split(r"\b", text)
    return [piece for piece in pieces if piece != ""]
    ### END SOLUTION

# %% test tokenise 2
pieces = tokenise("Two clocks, one town.")
assert isinstance(pieces, list), f"Expected a list, got {type(pieces).__name__}. Is there a return?"
assert "" not in pieces, f"Drop the empty strings; got {pieces}."
assert "".join(pieces) == "Two clocks, one town.", (
    f"If you join the tokens, you should get the text back; got {''.join(pieces)!r}."
)
assert pieces[:3] == ["Two", " ", "clocks"], (
    f"The first three tokens are a word, the space after it, and the next word; got {pieces[:3]}."
)
assert len(pieces) == 8, f"Expected 8 tokens, 4 words and what follows each; got {len(pieces)}: {pieces}."
print("tokenise: the visible tests pass")

# %% demo
check("tokenise")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Call `re.split` on a short text, print the result, and compare it with the docstring. What is there that shouldn't be?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# A text that begins with a word has a boundary before its first letter, and nothing before that boundary. `re.split` returns this nothing as an empty string. Use a list comprehension to keep only the strings that are not empty.
#
# </details>

# %% demo
tokens = tokenise(PAGE)
print(f"{len(PAGE)} characters, {len(tokens)} tokens, {len(set(tokens))} different ones")
start = tokens.index("Children")
embedding_plots.token_strip(tokens[start : start + 53]);

# %% [markdown]
# Each box is a token, and a dot stands for a space. Look at *weren't*: it became three tokens, because the apostrophe is not a letter.
#
# There is no single right way to cut a text. If you cut it into characters, sequences become long. If you cut it into words, the vocabulary becomes large and new words keep turning up. **Subwords** lie in between and are learnt from data: frequent words stay whole, and rare ones fall into pieces. The paper uses subwords, byte-pair encodings (Sennrich et al. 2016, arXiv:1508.07909) and word pieces (Wu et al. 2016, arXiv:1609.08144), with vocabularies of about 37 000 and 32 000 (section 5.1). You'll see word pieces below, and the optional exercise at the end learns a byte-pair encoding.

# %% [markdown]
# ## Tokens get numbers
#
# A network computes with numbers, so each different token gets one, its **id**. The dictionary from tokens to ids is the **vocabulary**. Four special tokens never occur in a text and have fixed ids in every vocabulary of this course:

# %% given
SPECIALS = ("<pad>", "<sos>", "<eos>", "<unk>")  # padding, start and end of a sequence, unknown

# %% [markdown]
# ### Exercise 2: `build_vocabulary` (3 points)
#
# *10 minutes, medium.* The special tokens come first, with the ids 0 to 3 in the order above. The other tokens follow **by falling count**, so that a limit on the size drops the rare ones. Tokens that occur equally often come in the order of Python's `sorted`: that way, two texts with the same counts get the same ids on every computer.
#
# If `max_size` is given, the vocabulary has at most that many entries, **including the four special tokens** (`max_size` is never below 4). If a special token occurs in the text, don't add it a second time.

# %% solution build-vocabulary
def build_vocabulary(tokens: list[str], max_size: int | None = None) -> dict[str, int]:
    """Number the tokens: the four specials, then the others by falling count.

    tokens: all tokens of a text, in order. max_size: the largest number of entries, specials included
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
assert isinstance(small, dict), f"Expected a dictionary, got {type(small).__name__}. Is there a return?"
assert [small.get(special) for special in SPECIALS] == [0, 1, 2, 3], (
    f"The special tokens have the ids 0 to 3; got {[small.get(special) for special in SPECIALS]}."
)
assert sorted(small.values()) == list(range(len(small))), (
    f"The ids are 0, 1, 2, … without gaps, each used once; got {sorted(small.values())}."
)
assert set(small) == {*SPECIALS, "sea", " ", "bell", "cat"}, (
    f"Expected the special tokens and the four tokens of the text; got {list(small)}."
)
assert small["sea"] > small["<unk>"] and small["sea"] < small["bell"], (
    f"'sea' occurs more often than 'bell', so it comes before it, after the special tokens; got {small}."
)
assert small["bell"] < small["cat"], "'bell' and 'cat' occur once each; sorted() puts 'bell' first."
cut = build_vocabulary(["sea", "bell", "sea", "sea", "cat", "cat"], max_size=5)
assert len(cut) == 5 and "sea" in cut, (
    f"With max_size=5 there is room for the special tokens and the most frequent token; got {cut}."
)
print("build_vocabulary: the visible tests pass")

# %% demo
check("build-vocabulary")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# There are three steps: count, sort, number. `Counter` (imported) does the counting, and you can read it like a dictionary.
#
# </details>
#
# <details><summary>Hint 2: the order</summary>
#
# `sorted` takes a `key`, a function that says what to sort by. If the key is a pair, the second part decides among equal first parts. How do you make the first part fall while the second one rises?
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# The key `(-count, token)` sorts by falling count, then by the token. How many tokens does `max_size` leave room for after the special tokens? And which tokens should you never count in the first place?
#
# </details>

# %% demo
vocabulary = build_vocabulary(tokens)
words = list(vocabulary)  # in the order of the ids: the way back
for token in (" ", "the", "clock", "cat", "The", "<unk>"):
    print(f"{token!r:9} id {vocabulary[token]:3}   occurs {tokens.count(token)} times")

# %% [markdown]
# *the* and *The* are two tokens with two ids. Nothing tells the model that they are almost the same word; it has to learn that.
#
# How much does a limit on the size cost? The next cell counts how many of all tokens the most frequent ones cover. It uses a longer text if you have one, and says which.

# %% demo
corpus = load_corpus()
print(corpus.note)
counts = Counter(tokenise(corpus.text)).most_common()
total = sum(n for _, n in counts)
print(f"{total:,} tokens, {len(counts):,} different ones")
for size in (10, 30, 100, 1000, 10000):
    if size <= len(counts):
        known = sum(n for _, n in counts[:size]) / total
        print(f"the {size:5} most frequent of them cover {known:4.0%} of the text")

# %% [markdown]
# A few tokens make up most of a text, and the rest is a long tail of rare ones. That is true of texts in general (Piantadosi 2014, *Psychonomic Bulletin & Review* 21, reviews the statistics), so `max_size` can drop most of the vocabulary and still keep most of the text.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** The paper's vocabulary has 37 000 tokens, and its base model has $d_\mathrm{model} = 512$. How many numbers does the embedding table hold, and what share of the base model's 65 million parameters (table 3) is that?
#
# <details><summary>Answer</summary>
#
# $37\,000 \cdot 512 = 18\,944\,000$, more than a quarter of all parameters. A vocabulary of whole words would be several times larger and would still not know every word. Subwords keep the table small, and because any word can be spelt from them, no word is unknown.
#
# </details>

# %% [markdown]
# ### Exercise 3: `encode` (2 points)
#
# *5 minutes, easy.* Look up the id of each token. A token that isn't in the vocabulary becomes `<unk>`. It is not left out, so there are as many ids as tokens. The result is a LongTensor; for an empty list its shape is `(0,)`.

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
assert isinstance(ids, torch.Tensor), f"Expected a tensor, got {type(ids).__name__}. Is there a return?"
assert ids.dtype == torch.int64, f"Expected int64 (torch.long), got {ids.dtype}."
assert ids.tolist() == [6, 4, 6], f"Expected [6, 4, 6], got {ids.tolist()}."
strange = encode(["cat", "zeppelin", "cat"], small).tolist()
assert len(strange) == 3, f"Three tokens give three ids; got {strange}. Was one left out?"
assert strange[1] == small["<unk>"], (
    f"'zeppelin' is not in this vocabulary, so it gets the id of <unk>, 3; got {strange[1]}."
)
nothing = encode([], small)
assert nothing.shape == (0,) and nothing.dtype == torch.int64, (
    f"An empty list gives shape (0,) and int64; got {tuple(nothing.shape)} and {nothing.dtype}."
)
print("encode: the visible tests pass")

# %% demo
check("encode")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Make a list of ids first, and turn it into a tensor at the end. You can read a dictionary with square brackets, which raise an error for an unknown key, or with `get`, which takes a default.
#
# </details>
#
# <details><summary>Hint 2: the empty list</summary>
#
# Nothing in an empty list tells PyTorch that it would have held whole numbers, so PyTorch guesses floats. `torch.tensor` has an argument for the type you want.
#
# </details>

# %% demo
sentence = "The mayor asked the zeppelin, and the cat listened."
ids = encode(tokenise(sentence), vocabulary)
print(ids.tolist())
print("".join(words[i] for i in ids.tolist()))

# %% [markdown]
# The second line is the way back. It shows what was lost: the model can never know what stood in place of `<unk>`. Even the last full stop is unknown, because on our page a full stop is always followed by a space or a newline, and together they form one token.
#
# An id is only a name. Id 8 is not twice id 4, and two neighbouring ids have nothing in common except similar counts.

# %% [markdown]
# ### Exercise 4: `pad_batch` (2 points)
#
# *10 minutes, easy.* A GPU is fast when it works on many sequences at once, but all rows of a tensor must have the same length. Fill shorter sequences **on the right** with the id of `<pad>`, up to the length of the longest. (Lesson 3 hides the padding with a mask.) A sequence is a list of ids, or a LongTensor as `encode` makes it. Don't change the sequences you are given.

# %% solution pad-batch
def pad_batch(sequences: list[list[int]] | list[torch.Tensor], pad_id: int = 0) -> torch.Tensor:
    """Pad sequences to the same length and stack them.

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
given = [[5, 6], [7, 8, 9], [4], [3]]
batch = pad_batch(given)
assert isinstance(batch, torch.Tensor), f"Expected a tensor, got {type(batch).__name__}. Is there a return?"
assert batch.dtype == torch.int64, f"Expected int64 (torch.long), got {batch.dtype}."
assert batch.shape == (4, 3), f"Four sequences, the longest of 3, give (4, 3); got {tuple(batch.shape)}."
assert batch[2].tolist() == [4, 0, 0], f"Expected [4, 0, 0] in row 2, got {batch[2].tolist()}."
assert given == [[5, 6], [7, 8, 9], [4], [3]], f"The given lists were changed; now they are {given}."
tensors = pad_batch([torch.tensor([5, 6]), torch.tensor([7])], pad_id=9)
assert tensors.tolist() == [[5, 6], [7, 9]], (
    f"LongTensors, with pad_id=9: expected [[5, 6], [7, 9]], got {tensors.tolist()}."
)
print("pad_batch: the visible tests pass")

# %% demo
check("pad-batch")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start with a tensor of the right size that is full of padding, and write each sequence into its row.
#
# </details>
#
# <details><summary>Hint 2: lists and tensors</summary>
#
# `torch.full` makes a tensor full of one value, and takes a `dtype`. `torch.as_tensor` turns a list into a tensor and leaves a tensor as it is. `batch[row, :n]` is the beginning of a row, and you can assign to it.
#
# </details>

# %% demo
lines = ["The bread was fresh", "Nobody asked", "The sailors went to sea"]
batch = pad_batch([encode(tokenise(line), vocabulary) for line in lines])
print("batch:", tuple(batch.shape))
embedding_plots.batch_grid(batch, words);

# %% [markdown]
# Three sentences of different lengths now form one tensor: each row is a sentence, and the grey cells are padding.

# %% [markdown]
# ## What an embedding is
#
# An id is a name, so a network must not compute with it. The neutral way to feed in a name is a **one-hot row**: one place per token, a single 1, and zeros elsewhere. In a one-hot row, no two tokens are closer than any others. But such a row is as wide as the vocabulary, and it carries no information about the token: *cat* is as far from *kitten* as from *Thursday*.
#
# So the first step is to multiply the row by a matrix, the **embedding table** of shape `(V, D)`, with one row per token. Look at what this product does:
#
# ![Two one-hot rows times a table with five rows of three numbers. The row for id 3 has its 1 in place 3 and picks out row 3 of the table; the row for id 1 picks out row 1. The result has one row for each id, as wide as the table.](images/embeddings_lookup.svg)

# %% [markdown]
# All terms except one are multiplied by 0, and what remains is row 3 of the table. The product **is** a lookup. Programs therefore never build the one-hot rows; they fetch the row, and that is all that `nn.Embedding` does.
#
# Keep the other reading in mind, though. An embedding is a linear layer without a bias, applied to one-hot inputs. It learns like any other layer: gradients reach the rows that were used.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What does `nn.Embedding(1000, 64)` take as its input: tokens, one-hot rows, or ids? Is it a Python dictionary?
#
# <details><summary>Answer</summary>
#
# Ids, as whole numbers, in a tensor of any shape: `(B, S)` gives `(B, S, 64)`. Tokens are text, so you encode them first, and that step does use a dictionary. The table itself is a parameter: what it stores for an id changes with each training step.
#
# One-hot rows are a trap. `F.one_hot` makes whole numbers, so `nn.Embedding` takes every 0 and every 1 for an id and returns a tensor that is far too large. The next cell shows it.
#
# </details>

# %% demo
layer = nn.Embedding(1000, 64)
ids = torch.tensor([[4, 17, 4], [8, 0, 0]])
print("ids       ", tuple(layer(ids).shape))
print("one-hot   ", tuple(layer(F.one_hot(ids, 1000)).shape), "without any error")
for name, wrong in {"floats": torch.tensor([4.0, 17.0]), "too large": torch.tensor([1000])}.items():
    try:
        layer(wrong)
    except (RuntimeError, IndexError) as problem:
        print(f"{name:10} {type(problem).__name__}: {str(problem)[:60]}…")

# %% [markdown]
# ### Exercise 5: `one_hot_embed` (3 points)
#
# *10 minutes, medium.* Build an embedding once by hand, **as a matrix product**: one-hot rows of the ids, times the table. Fetching rows (`table[ids]`, `F.embedding`, `index_select` and so on) gives the same numbers but isn't accepted here, because this exercise is about the product. It should work for tables of float32 and float64, and gradients have to reach the table.

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
    f"Expected a tensor, got {type(vectors).__name__}. Is there a return?"
)
assert vectors.shape == (1, 3, 2), (
    f"Ids (1, 3) and a table (5, 2) give (1, 3, 2); got {tuple(vectors.shape)}. How wide is a one-hot row?"
)
assert torch.equal(vectors[0, 0], torch.tensor([1.0, 2.0])), (
    f"Id 1 gets row 1 of the table, [1, 2]; got {vectors[0, 0].tolist()}."
)
vectors.sum().backward()
assert table.grad is not None, "No gradient reaches the table. Was it detached or copied?"
assert table.grad[:, 0].tolist() == [0, 1, 0, 2, 0], (
    "Row 1 was used once and row 3 twice, so their gradients are 1 and 2; "
    f"got {table.grad[:, 0].tolist()}."
)
assert one_hot_embed(torch.tensor([[2]]), table.detach().double()).dtype == torch.float64, (
    "A float64 table should give a float64 result. Which dtype do your one-hot rows have?"
)
print("one_hot_embed: the visible tests pass")

# %% demo
check("one-hot-embed")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# There are two steps: `(B, S)` becomes `(B, S, V)`, and that times `(V, D)` becomes `(B, S, D)`. `@` carries the batch dimension through.
#
# </details>
#
# <details><summary>Hint 2: one-hot rows</summary>
#
# `F.one_hot` makes them, and so does comparing `ids.unsqueeze(-1)` with `torch.arange(V)`. By default, `F.one_hot` makes rows only as wide as the largest id it is given.
#
# </details>
#
# <details><summary>Hint 3: an error about dtypes?</summary>
#
# One-hot rows come as whole numbers, or as True and False. A matrix product needs the same dtype on both sides, so convert the rows to the dtype of the table.
#
# </details>

# %% demo
big, some = torch.randn(20_000, 256), torch.randint(0, 20_000, (8, 64))
ways = {"matrix product": one_hot_embed, "lookup": lambda ids, table: table[ids]}
for name, way in ways.items():
    took = milliseconds(lambda ids, way=way: way(ids, big), some, tries=3)
    print(f"{name:15} {took:8.2f} ms   {tuple(way(some, big).shape)}")
print(f"one-hot rows in float32: {some.numel() * 20_000 * 4 / 2**20:.0f} MiB for 512 tokens")

# %% [markdown]
# Both give the same numbers, and the lookup is much faster. The product multiplies by zero 19 999 times out of 20 000, and needs 39 MiB for the one-hot rows of only 512 tokens. From here on, you'll look rows up.

# %% [markdown]
# ## The embedding layer of the paper
#
# Section 3.4 adds one step to the lookup: the vectors are **multiplied by $\sqrt{d_\mathrm{model}}$**. The paper doesn't give a reason, but there is a plausible one. In the paper, the same table also serves as the weights of the output layer. Each output is a sum of $d_\mathrm{model}$ products, so such weights should start small, with a standard deviation of about $1/\sqrt{d_\mathrm{model}}$. Multiplied by $\sqrt{d_\mathrm{model}}$, these small rows become vectors with entries around 1, about as large as the positional encodings that lesson 2 adds to them.

# %% [markdown]
# ### Exercise 6: `TokenEmbedding` (3 points)
#
# *10 minutes, easy.* Write a layer with one part, `embed`, which is an `nn.Embedding`. Keep the name, because weights are loaded by it. `forward` returns the vectors times $\sqrt{d_\mathrm{model}}$.
#
# The row of `<pad>` **starts at zero and stays zero**: it gets no gradient, so padding adds nothing anywhere. An argument of `nn.Embedding` does this for you; find it in the documentation. Apply the factor in `forward`. If you multiply the stored table, it is scaled again on every call.

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
    f"11 tokens of width 16 need a table (11, 16); got {tuple(layer.embed.weight.shape)}."
)
ids = torch.tensor([[3, 7, 0], [10, 0, 0]])
vectors = layer(ids)
assert isinstance(vectors, torch.Tensor), f"Expected a tensor, got {type(vectors).__name__}. Is there a return?"
assert vectors.shape == (2, 3, 16), f"Ids (2, 3) give (2, 3, 16); got {tuple(vectors.shape)}."
factor = (vectors[0, 0] / layer.embed.weight[3]).mean().item()
assert math.isclose(factor, 4.0, rel_tol=1e-4), (
    f"With d_model = 16, each vector is 4 times its row of the table; yours is {factor:.3f} times."
)
assert torch.all(vectors[1, 1:] == 0), "Padding should become zeros. What is in row 0 of the table?"
vectors.sum().backward()
assert torch.all(layer.embed.weight.grad[0] == 0), (
    "The row of <pad> gets a gradient, so it won't stay zero."
)
assert layer.embed.weight.grad[7].any(), "Row 7 was used but gets no gradient, so it couldn't learn."
print("TokenEmbedding: the visible tests pass")

# %% demo
check("token-embedding")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# `__init__` makes the table once, and `forward` uses it. Two lines are enough for each.
#
# </details>
#
# <details><summary>Hint 2: padding</summary>
#
# Setting the row to zero is only half of it: a gradient would move the row at the first step. The argument `padding_idx` of `nn.Embedding` takes care of both, for the id you give it.
#
# </details>

# %% [markdown]
# How large are the numbers that your layer returns? That depends on how its table starts. `nn.Embedding` draws numbers with a standard deviation of 1, and the last column starts the table with $1/\sqrt{d_\mathrm{model}}$ instead.

# %% demo
ids = torch.arange(1, 1000).view(1, -1)
print("std of the output   table with std 1   table with std 1/√d_model")
for d_model in (16, 64, 512):
    layer = TokenEmbedding(1000, d_model)
    plain = layer(ids).std().item()
    nn.init.normal_(layer.embed.weight, std=d_model**-0.5)
    print(f"d_model {d_model:3} {plain:23.2f} {layer(ids).std().item():27.2f}")

# %% [markdown]
# With PyTorch's default the factor makes the numbers large: 22.7 at $d_\mathrm{model} = 512$. With the smaller start they stay at 1, whatever the width. The factor and the start of the table belong together. Lesson 7 initialises the tables of the whole model, and lesson 2 measures what happens if the two don't fit.

# %% demo
layer = TokenEmbedding(len(vocabulary), 32)
before = layer.embed.weight.detach().clone()
optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(batch).square().sum().backward()  # any loss will do
optimiser.step()
moved = (layer.embed.weight != before).any(dim=-1)
print(f"{int(moved.sum())} of {len(vocabulary)} rows moved:", [words[i] for i in moved.nonzero().flatten()])

# %% [markdown]
# One training step moves the rows of the tokens in the batch and no others; `<pad>` stays where it is. (If the table is also used as the output layer, as in the paper, every row gets a gradient at each step, because the output layer scores every token.)
#
# Two points for later:
#
# - If source and target language have vocabularies of their own, they need tables of their own. The paper can share one table because it builds one vocabulary for both languages (section 5.1).
# - If weights are shared, they are *one* parameter that is used twice, not two parameters with the same starting values.

# %% [markdown]
# ## Meaning lies in directions
#
# A new table is random. **Predict, then reveal:** in an untrained table, what is the cosine between *cat* and *kitten*?
#
# <details><summary>Answer</summary>
#
# About 0, as between any two tokens: random vectors of high dimension are nearly at right angles. Similar tokens do not start out close. Training moves them together, because they occur in similar contexts and so get similar gradients. (The idea is older than neural networks: "You shall know a word by the company it keeps", Firth 1957. Mikolov et al. 2013, arXiv:1301.3781, learnt vectors this way on a large scale.)
#
# </details>
#
# So you need a table that has been trained. The next cell loads one if its files are on your computer. It downloads nothing, and it says what it loaded.

# %% demo
table = word_table()
print(table.note)
print("vectors:", tuple(table.vectors.shape), "  real:", table.real)

# %% [markdown]
# The real table belongs to a small BERT, all-MiniLM-L6-v2, which was trained to give sentences of similar meaning similar vectors (Wang et al. 2020, arXiv:2002.10957; Reimers and Gurevych 2019, arXiv:1908.10084). It has a tokeniser of its own, which lower-cases the text, has no tokens for spaces, and uses **word pieces**. A word that isn't in its vocabulary is spelt from pieces, the longest possible piece first. `##` marks a piece that continues a word.

# %% demo
for word in ("harbour", "clockmaker", "embedding", "transformer", "unfriendliest"):
    print(f"{word:14}", table.pieces(word))

# %% [markdown]
# Frequent words such as *harbour* stay whole; *unfriendliest* takes five pieces. (The made-up table has no pieces, so there each of these is `[UNK]`.) Note that ids only make sense together with the tokeniser they come from: the ids of one tokeniser mean nothing to the table of another.
#
# How similar are two words? A dot product would favour long vectors, so we compare **directions**, with the cosine of the angle: $\cos(q, r) = \frac{q \cdot r}{\|q\| \, \|r\|}$. It runs from 1 (same direction) through 0 (at right angles) to −1 (opposite).

# %% demo
some = ["king", "queen", "man", "woman", "cat", "kitten", "dog", "monday", "friday", "milk"]
directions = F.normalize(torch.stack([table[word] for word in some]), dim=-1)  # (10, D)
plots.heatmap(directions @ directions.T, some, some, title="cosine");

# %% [markdown]
# The dark cells are pairs that belong together: *king* and *queen*, *man* and *woman*, the three animals, the two days. *Cat* and *kitten* have a cosine of 0.56. *Milk* has little in common with any of the others.
#
# Is 0.56 a lot? Compare it with pairs of tokens drawn at random.

# %% demo
rows = torch.randint(0, len(table.words), (2, 5000))
trained = F.cosine_similarity(*table.vectors[rows], dim=-1)  # (5000,)
untrained = F.cosine_similarity(*torch.randn_like(table.vectors)[rows], dim=-1)  # (5000,)
named = {"trained table": trained, "untrained table": untrained}
embedding_plots.histograms(named, limits=(-0.5, 0.8), xlabel="cosine of two random tokens")
for name, cosines in named.items():
    print(f"{name:16} 99 of 100 random pairs have a cosine below {cosines.quantile(0.99):.2f}")

# %% [markdown]
# In both tables, most pairs of tokens are nearly at right angles. Training adds a tail on the right: the few pairs that have something to do with each other. A cosine of 0.56 lies far out in that tail. (In the made-up table, most cosines are almost exactly 0, because it was made that way.)

# %% [markdown]
# ### Exercise 7: `nearest` (3 points)
#
# *10 minutes, medium.* Find the rows of a table that point most nearly in the same direction as a query. Return the row numbers of the `k` largest cosines, the most similar first. A row of zeros, such as that of `<pad>`, has no direction; treat its similarity as 0. The lengths of the rows and of the query must not matter.

# %% solution nearest
def nearest(table: torch.Tensor, query: torch.Tensor, k: int) -> torch.Tensor:
    """Find the rows that point most nearly in the same direction as a query.

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
assert isinstance(rows, torch.Tensor), f"Expected a tensor, got {type(rows).__name__}. Is there a return?"
assert rows.dtype == torch.int64, f"Row numbers are int64, got {rows.dtype}."
assert rows.shape == (2,), f"With k=2 the shape is (2,); got {tuple(rows.shape)}."
assert rows.tolist() == [1, 4], (
    "Row 1 points most nearly in the direction of the query, then row 4; "
    f"got {rows.tolist()}. Row 0 is long: does that count?"
)
everything = nearest(small, torch.tensor([2.0, 0.0]), 5).tolist()
assert everything.index(3) < everything.index(2), (
    f"A row of zeros (row 3) has similarity 0, more than row 2, which points the opposite way; got {everything}."
)
assert everything.index(0) < everything.index(3), (
    f"A row of zeros (row 3) has similarity 0, less than row 0; got {everything}. Is there a NaN?"
)
print("nearest: the visible tests pass")

# %% demo
check("nearest")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# First compute one number for each row, then the order of these numbers, then take the first k.
#
# </details>
#
# <details><summary>Hint 2: the similarity</summary>
#
# `F.cosine_similarity` compares along one dimension and broadcasts the others. Or scale the rows to length 1 with `F.normalize` and multiply. Both return 0 for a row of zeros. A plain division by the length would give 0/0.
#
# </details>
#
# <details><summary>Hint 3: the order</summary>
#
# `argsort`, `sort` and `topk` can all tell you *where* the largest numbers are. The first two sort upwards by default, and the last two return two things.
#
# </details>

# %% demo
def neighbours(query, k=6, without=()):
    """The words nearest to a vector, some left out."""
    rows = nearest(table.vectors, query, k + len(without)).tolist()
    return [table.words[row] for row in rows if table.words[row] not in without][:k]


for word in ("king", "cat", "monday", "milk", "violin", "apple", "good", "up"):
    print(f"{word:7}", "  ".join(neighbours(table[word], without=[word])))

# %% [markdown]
# Each list mixes several kinds of similarity: other forms of the same word, words of the same kind, and words from the same scene. In the real table, most neighbours of *apple* belong to a computer company, because that is what people wrote about. Opposites are often close, too. *Bad* is among the nearest to *good*, and *down* among the nearest to *up*, because opposites occur in the same contexts.

# %% [markdown]
# ### King − man + woman
#
# If directions carry meaning, the step from *man* to *woman* should resemble the step from *king* to *queen*. So start at *king*, subtract *man*, add *woman*, and look which words are nearest to the result (Mikolov, Yih and Zweig 2013, *Proceedings of NAACL-HLT*).

# %% demo
for query in ("king - man + woman", "brother - boy + girl", "kitten - cat + dog",
              "tokyo - japan + china", "walked - walk + swim"):
    vector, named = combine(table, query)
    print(f"{query:24} → ", ", ".join(neighbours(vector, 3, without=named)))

# %% [markdown] slide="subslide"
# **Predict, then run.** These answers leave out the three words of the question. What comes first if you don't leave them out?

# %% demo
vector, named = combine(table, "king - man + woman")
for row in nearest(table.vectors, vector, 3):
    print(f"{table.words[row]:8} cosine {F.cosine_similarity(vector, table.vectors[row], dim=0):.2f}")

# %% [markdown]
# *King* itself. The sum still contains the whole vector of *king*, and the step from *man* to *woman* points only partly towards *queen*, so no other word comes closer. Analogies show structure that is really there, but "the nearest word" is a poor measure of it (Linzen 2016, arXiv:1606.07736).
#
# A better test compares the steps themselves. Do other pairs step in the same direction as *man* → *woman*?

# %% demo
step = table["woman"] - table["man"]
pairs = [("man", "woman"), ("king", "queen"), ("uncle", "aunt"), ("brother", "sister")]
for he, she in pairs:
    other = table[she] - table[he]
    print(f"{he:8} → {she:7} cosine {F.cosine_similarity(step, other, dim=0):.2f}, length {other.norm():.2f}")
starts, ends = table.vectors[torch.randint(0, len(table.words), (2, 2000))]
cosines = F.cosine_similarity(step, ends - starts, dim=-1)  # (2000,)
print(f"random pairs: 95 of 100 have a cosine below {cosines.quantile(0.95):.2f}")

# %% [markdown]
# All four steps are about equally long, and the other three lean the same way as *man* → *woman*, more than random steps do. But their cosines lie between 0.19 and 0.37, far from 1. There is a shared direction, and most of each step is something else.
#
# The next picture shows the same eight words. *Across* is the direction from *man* to *woman*; *up* is the direction in which the words differ most otherwise.

# %% demo
people = {"he": [he for he, _ in pairs], "she": [she for _, she in pairs]}
vectors = torch.stack([table[word] for group in people.values() for word in group])  # (8, D)
embedding_plots.word_map(vectors, people, arrows=pairs, across=step);

# %% [markdown]
# All arrows point to the right, which is the shared part. Three of them look short, although all four steps are about equally long: most of their length lies in the dimensions that the picture leaves out. Read such maps with care, because they show two directions out of hundreds.
#
# In the next map, both directions are chosen without regard to meaning: they are the ones in which the words differ most. In the real table, royals, days and countries still form groups of their own, while animals and food lie close together.

# %% demo
kinds = {
    "royals": ["king", "queen", "prince", "princess"],
    "animals": ["cat", "dog", "horse", "wolf"],
    "days": ["monday", "tuesday", "friday", "sunday"],
    "food": ["bread", "cheese", "butter", "soup"],
    "countries": ["france", "italy", "germany", "japan"],
}
chosen = torch.stack([table[word] for group in kinds.values() for word in group])  # (20, D)
embedding_plots.word_map(F.normalize(chosen, dim=-1), kinds);

# %% [markdown]
# ### Ask your own question
#
# The bars show the words nearest to a query, without the words of the query itself.

# %% demo
def ask(query):
    """Draw the words nearest to a query such as "king - man + woman", and their cosines."""
    try:
        vector, named = combine(table, query)
    except KeyError as problem:
        print(problem.args[0])
        return
    found = neighbours(vector, 8, without=named)
    cosines = [F.cosine_similarity(vector, table[word], dim=0).item() for word in found]
    embedding_plots.bars(found, cosines, title=query, xlabel="cosine with the query")
    plt.show()


ask("paris - france + italy")

# %% [markdown]
# Edit the query and press Enter. (The box needs a running kernel; on paper, the picture above shows what it draws.)

# %% demo
from ipywidgets import Text, interact


@interact(query=Text("king - man + woman", continuous_update=False))
def edit(query):
    """Ask again whenever the query has been edited."""
    ask(query)

# %% [markdown]
# ### What a table doesn't know
#
# **It repeats what it read.** Directions for gender also run through words for occupations, simply because they do so in texts (Bolukbasi et al. 2016, arXiv:1607.06520).
#
# **It has one vector per token**, whatever the sentence. The bank of a river and a bank for money share one row, so the vector has to lie somewhere in between. What a word means *here* depends on the words around it. Attention fetches that information from the other positions (lesson 3).
#
# **It doesn't know where a token stands.** "The dog bit the man" and "the man bit the dog" look up the same vectors. Lesson 2 adds the positions.

# %% [markdown]
# ## Exercise 8: recurrence, in your own words (2 points)
#
# *15 minutes, medium.* Your instructor reads this answer. You may go back to the first picture of the lesson, but don't copy the text: you earn the points by explaining it in your own words, with an example of your own.

# %% written recurrence 2 [markdown]
# **Question.** How does an LSTM handle recurrence and time, and how does a Transformer? Explain for each (a) how something known at one position reaches another, and in how many steps, (b) how the network knows the order of the words, and (c) what this means for training on parallel hardware. Name one price that the Transformer pays. Write five to ten sentences.
#
# ### BEGIN SOLUTION
# An LSTM carries a state from word to word: it computes $h_t$ and its memory cell from those of step $t - 1$ and the word $x_t$. What it read in word 1 can only influence word 100 by surviving 99 updates of that state, so the path grows with the distance and gradients fade along it, although the gates slow this down. It knows the order because it reads in order: time is the sequence of its computations. For the same reason, training cannot work on all positions at once, because step $t$ has to wait for step $t - 1$.
#
# A Transformer passes no state along. With attention, every position reads every other position directly, so one layer connects any two of them in one step, whatever the distance. Nothing in this computation depends on the order, so the order is added to the input as positional encodings, and where the future must not be seen, a mask hides it. All positions of a layer are computed at once, as matrix products, which makes training fast on a GPU; when it generates text, words still come one after another. The price is that all pairs are compared: work and memory grow with the square of the length.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# 2 points, half a point for each of:
#
# 1. **LSTM, recurrence**: a state is passed on step by step, $h_t$ from $h_{t-1}$ and $x_t$; information from far away goes through all steps in between (a path of length O(n); fading or vanishing gradients may be named instead).
# 2. **Transformer, recurrence**: there is none; attention connects all positions directly, with a path of length 1 (or "constant") in one layer.
# 3. **Time**: in the LSTM, the order of computation is the order of the words; the Transformer needs positional encodings (or embeddings), since attention alone ignores the order. A causal mask may be named in addition, but not instead.
# 4. **Consequence and price**: the LSTM has to compute position after position, the Transformer computes all positions of a layer in parallel in training; *and* one price: quadratic work or memory, or generation that is still one token at a time, or that the order has to be supplied. Consequence without a price: a quarter point.
#
# Quarter points for half of an item. Not accepted as the reason for parallelism: "because weights are shared" (an LSTM shares them too), "because it has several heads". Wrong and worth a comment, but without taking points off again: "a Transformer has no notion of order at all" (it has one through its encodings), "an LSTM cannot remember anything far away" (it can, with difficulty). Language and length are not graded.
# ### END MARK SCHEME

# %% [markdown]
# ## Optional: learn the subwords
#
# Byte-pair encoding starts from single characters and asks again and again: which two neighbouring pieces occur together most often? It merges this pair into one piece, everywhere, and repeats. The list of merges, in order, *is* the tokeniser: to split a new word, apply the same merges to its characters (Sennrich et al. 2016, arXiv:1508.07909).
#
# With the words *hug* (10 times), *pug* (5 times) and *hugs* (5 times), the pair *u g* occurs 20 times and is merged first. After that, the words read *h ug*, *p ug* and *h ug s*, and *h ug* is the most frequent pair, with 15.

# %% [markdown]
# ### Stretch: `bpe_merges`
#
# *30 minutes, hard, not counted.* `counts` says how often each word of a text occurs. Each word starts as its characters. In each step, count every pair of neighbouring pieces, over all words and times the count of the word, and merge the most frequent pair. If several pairs are equally frequent, merge the one that `sorted` puts first.
#
# Two details: when you *count*, pairs may overlap, so *aaa* holds the pair *(a, a)* twice. When you *merge*, go from left to right without overlap, so *aaa* becomes *aa a*. Stop early if no word has a pair left.

# %% solution bpe-merges
def bpe_merges(counts: dict[str, int], num_merges: int) -> list[tuple[str, str]]:
    """Learn the merges of a byte-pair encoding (Sennrich et al. 2016).

    counts: how often each word occurs. num_merges: the largest number of merges.
    Returns: the merged pairs, in order; fewer than num_merges if no pair is left.
    """
    ### BEGIN SOLUTION
    words = {word: list(word) for word in counts}  # the pieces of each word
    merges = []
    for _ in range(num_merges):
        pairs = Counter()
        for word, pieces in words.items():
            for pair in zip(pieces, pieces[1:]):
                pairs[pair] += counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for word, pieces in words.items():
            merged = []
            for piece in pieces:
                if merged and (merged[-1], piece) == best:
                    merged[-1] += piece
                else:
                    merged.append(piece)
            words[word] = merged
    return merges
    ### END SOLUTION

# %% test bpe-merges 0
merges = bpe_merges({"hug": 10, "pug": 5, "hugs": 5}, 2)
assert isinstance(merges, list), f"Expected a list, got {type(merges).__name__}. Is there a return?"
assert merges[0] == ("u", "g"), f"The pair (u, g) occurs 20 times and is merged first; got {merges[0]}."
assert merges == [("u", "g"), ("h", "ug")], (
    f"After the first merge, 'ug' is one piece, and (h, ug) occurs 15 times; got {merges}."
)
assert bpe_merges({"aaa": 1, "bc": 1}, 1) == [("a", "a")], (
    "When you count, 'aaa' holds (a, a) twice, so it is more frequent than (b, c)."
)
assert bpe_merges({"aaa": 1}, 9) == [("a", "a"), ("aa", "a")], (
    f"'aaa' becomes 'aa a', then 'aaa', and no pair is left; got {bpe_merges({'aaa': 1}, 9)}."
)
assert bpe_merges({"cd": 2, "ab": 2}, 1) == [("a", "b")], (
    "(c, d) and (a, b) are equally frequent; sorted() puts (a, b) first."
)
print("bpe_merges: the visible tests pass")

# %% demo
check("bpe-merges")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Keep a dictionary from each word to the list of its pieces. Each step does three things: count the pairs, choose one, and rebuild the lists. `zip(pieces, pieces[1:])` gives the neighbouring pairs of a list.
#
# </details>
#
# <details><summary>Hint 2: choosing</summary>
#
# You solved the same problem in exercise 2: by falling count, then in the order of `sorted`. `min` takes a `key`, as `sorted` does.
#
# </details>
#
# <details><summary>Hint 3: merging</summary>
#
# Build a new list piece by piece. If the last piece of the new list and the next piece of the old one are the pair, extend the last piece instead of appending. Why can a piece that was just merged not become the first half of the same pair again?
#
# </details>

# %% demo
spelt = Counter(token for token in tokens if token.isalpha())
merges = bpe_merges(spelt, 60)
print("the first merges:", "  ".join("".join(pair) for pair in merges[:12]))
print("the last merges: ", "  ".join("".join(pair) for pair in merges[-8:]))

# %% [markdown]
# These merges come from our one page of text. The first ones join pairs of letters that are frequent in English; the last ones are already longer pieces and whole words. The vocabularies of real models are learnt the same way, from far more text.

# %% [markdown] slide="slide"
# ## In a real model
#
# The model from the beginning of this lesson reads tokens made by byte-pair encoding: 48,900 merges, learnt from its training text. Give it a sentence of your own.

# %% demo
from coursework import smollm

try:
    model = smollm.load()
    print(model.tokeniser.encode("An unbelievable Transformer, in 2026!").tokens)  # Ġ is a space
    for word in (" cat", " seven", " king"):
        row = model.table[model.encode(word)[0, 0]]  # (576,)
        print(f"{word}:", [model.decode([i]) for i in nearest(model.table, row, 8).tolist()])
except smollm.NotInstalledError as problem:
    print(problem)

# %% [markdown]
# Common words are one token, *unbelievable* is two, and each digit is a token of its own. Your `nearest` looks through all 49,152 rows: the neighbours of *seven* are other numbers. Each list begins with the token itself, and for *cat* and *king* most of the rest are other spellings of the same word, because a capital letter or a space in front makes another token. But *dog*, *queen* and *emperor* are among the nearest, too.
#
# **Predict, then reveal.** The paper multiplies embeddings by $\sqrt{d_{\text{model}}}$, and so does your `TokenEmbedding`. SmolLM2 was trained without this factor, which is 24 here. What happens if you put it in?
#
# <details><summary>Answer</summary>
#
# The model writes one line break after another. Its layers *add* to the embedding (lesson 5), and what they add is now small beside a vector that is 24 times too long. The factor is neither right nor wrong in itself. It has to be the one that the other weights were trained with.
#
# </details>

# %% demo
mine = TokenEmbedding(49152, 576)


def with_factor(ids, table):
    """Look up as your TokenEmbedding does, in the model's table."""
    mine.embed.weight.data = table
    return mine(ids)  # (1, T, 576)


write(question, "with the factor", chat=True, tokens=12, embedding=with_factor)
write(question, "divided out again", chat=True, tokens=12, embedding=lambda ids, table: with_factor(ids, table) / 24)

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()

# %% [markdown]
# ## What you can do now
#
# You've taken a text all the way to the tensor `(B, S, D)` that every Transformer starts from: you cut it into tokens, numbered them with a vocabulary, padded them into a batch, and looked them up in a table that learns. You know why the lookup is a matrix product, why padding is zero and stays zero, and what a trained table does and doesn't tell you.
#
# What is missing is the order of the tokens. **Lesson 2** adds it, with sines and cosines.
#
# **Read on**: Vaswani et al. 2017, section 3.5. For the origin of word vectors: Mikolov et al. 2013, arXiv:1301.3781.

# %% [markdown] slide="skip"
# ## Glossary
#
# | term | meaning |
# |---|---|
# | token | a piece of text: a word, a space, punctuation, or a subword |
# | vocabulary | the dictionary from tokens to ids |
# | id | the number of a token: a name, not a quantity |
# | special tokens | `<pad>` 0 (padding), `<sos>` 1 (start of sequence), `<eos>` 2 (end of sequence), `<unk>` 3 (unknown) |
# | padding | `<pad>` tokens that bring all sequences of a batch to the same length |
# | batch dimension | the first dimension of a batch, `B`: which sequence |
# | one-hot row | as many places as the vocabulary has tokens, a single 1 at the place of the id |
# | embedding table | a learnt matrix `(V, D)`, one row per token |
# | embedding | the row of a token, or the layer that looks it up |
# | $d_\mathrm{model}$, `D` | the width of an embedding, and of every layer that follows |
# | cosine similarity | the cosine of the angle between two vectors: 1 same direction, 0 at right angles, −1 opposite |
# | subword | a piece of a word, learnt from data, so that any word can be spelt |
