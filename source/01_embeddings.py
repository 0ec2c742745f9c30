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
# - turn text into tokens, tokens into ids, and sentences of different lengths into one batch;
# - explain an embedding both as a lookup and as a matrix product, and say why a model needs one;
# - build the embedding layer of the paper, with its factor $\sqrt{d_\mathrm{model}}$ and its padding;
# - search a table of real word vectors by angle, and judge how much of *king − man + woman = queen* is true;
# - explain how an LSTM and a Transformer pass information along a sequence and keep track of order.
#
# **Time** about 105 minutes · **Difficulty** easy · **Before this** Python, and tensors in PyTorch
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
# | `pad_batch` | 2 | needed for the batches of 5.1 |
# | `one_hot_embed` | 3 | 3.4 |
# | `TokenEmbedding` | 3 | 3.4 |
# | `nearest` | 3 | not in the paper |
# | recurrence, in your own words | 2 | 1, and 4 with table 1 |
# | stretch: `bpe_merges` | not counted | 5.1, byte-pair encoding |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` with your answer, then run the visible tests below it (their code is folded; a click on it opens it). They are a first check; grading uses other sizes and numbers, and float64 as well as float32. `check("NAME")` shows a small example: your result beside the right one. If you are stuck, `check("NAME", where=True)` looks for the wrong line, and `skip("NAME")` puts a working version in place; the exercise then counts as unanswered.

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
from coursework.corpus import PAGE
from coursework.pretrained import combine, word_table

plots.use_style()

# %% [markdown] slide="slide"
# ## What an embedding is for
#
# Here is a real language model, SmolLM2, with 135 million trained weights. It cuts a text into *tokens*, words or pieces of words, and looks up a vector for each of them in a table. First it answers with the table as it was trained. Then the rows are **shuffled**, so that nearly every token gets the vector of another (`↵` stands for a line break).

# %% demo
from coursework.smollm import write


def shuffled(ids, table):
    """Look up each token in the row of another."""
    return table[ids * 7919 % len(table)]


question = "What is the capital of France?"
write(question, "with its table", chat=True, tokens=12)
write(question, "rows shuffled", chat=True, tokens=12, embedding=shuffled)

# %% [markdown]
# ## From text to vectors
#
# There are four small steps, and you will write them all. On the right are the shapes: `B` sentences, each `S` tokens long, become vectors of `D` numbers. In the bottom row, equal ids get equal vectors.
#
# ![A sentence on its way down. The text The cat sat, full stop, is tokenised into six tokens, two of which are spaces. Encode turns the tokens into the ids 8, 4, 17, 4, 23, 5 with a vocabulary; both spaces have the id 4. Pad batch adds two zeros so that the row is as long as the other rows of the batch: B, S. TokenEmbedding turns each id into a column of numbers: B, S, D. The columns of the two spaces are equal, all other tokens have columns of their own, and those of the padding are zero.](images/embeddings_pipeline.svg)
#
# Your text is a page written for this course:

# %% demo
print(PAGE[:219], "…")

# %% [markdown]
# ### Exercise 1: `tokenise` (2 points)
#
# Cut the text wherever a word begins or ends. In a regular expression, `\b` stands for such a **boundary**. A boundary has no width, so nothing is lost: words, spaces and punctuation all become tokens, and if you join the tokens you get the text back. Drop any empty strings.
#
# Python's `re.split` takes a pattern and a text (`re` is imported). Write the pattern with an `r` in front, because `"\b"` in an ordinary string is a backspace.
#
# *5 minutes, easy.*

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
assert isinstance(pieces, list | tuple), f"Expected a list, got {type(pieces).__name__}."
assert "" not in pieces, f"Drop the empty strings; got {pieces}."
assert "".join(pieces) == "Two clocks, one town.", (
    f"If you join the tokens, you should get the text back; got {''.join(pieces)!r}."
)
assert [*pieces[:3]] == ["Two", " ", "clocks"], (
    f"The first three tokens are a word, the space after it, and the next word; got {pieces[:3]}."
)
assert len(pieces) == 8, f"Expected 8 tokens, 4 words and what follows each; got {len(pieces)}: {pieces}."
print("tokenise: the visible tests pass")

# %% demo
check("tokenise")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Call [`re.split`](https://docs.python.org/3/library/re.html#re.split) on a short text, print the result, and compare it with the docstring. What is there that shouldn't be?
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
print(f"{len(PAGE)} characters, {len(tokens)} tokens, {tokens.count(' ')} spaces")
print(f"{len(set(tokens))} different tokens")
start = tokens.index("Children")
embedding_plots.token_strip(tokens[start : start + 53]);

# %% [markdown]
# Each box is a token, and a dot stands for a space. *weren't* became three tokens, because the apostrophe is not a letter.
#
# Characters would make sequences longer. Words make the vocabulary large, and new words keep turning up. **Subwords** lie in between and are learnt from data: frequent words stay whole, and rare ones are split. The paper uses subwords (section 5.1), and so does SmolLM2, which also attaches each space to the word after it. Your tokeniser spends 234 of 562 tokens on spaces. The optional exercise at the end learns subwords.
#
# <details><summary>More: the subwords of the paper</summary>
#
# For English and German, the paper uses byte-pair encodings with about 37,000 tokens, which the two languages share (Sennrich et al. 2016, arXiv:1508.07909). For English and French, it uses 32,000 word pieces (Wu et al. 2016, arXiv:1609.08144). Languages that share a vocabulary can share one embedding table. If they had vocabularies of their own, each would need its own table.
#
# </details>

# %% [markdown]
# ## Tokens get numbers
#
# A network computes with numbers, so each different token gets one, its **id**. The dictionary from tokens to ids is the **vocabulary**. Four special tokens mark things that are not text, and have the same ids in every vocabulary of this course:

# %% given
SPECIALS = ("<pad>", "<sos>", "<eos>", "<unk>")  # padding, start and end of a sequence, unknown

# %% [markdown]
# ### Exercise 2: `build_vocabulary` (3 points)
#
# The special tokens come first, with the ids 0 to 3, in the order of `SPECIALS`. The other tokens follow **in order of decreasing count**, so that a limit on the size drops the rare ones. Tokens that occur equally often come in the order of Python's `sorted`: that way, two texts with the same counts get the same ids on every computer.
#
# If `max_size` is given, the vocabulary has at most that many entries, **including the four special tokens** (`max_size` is never below 4). If a special token occurs in the text, don't add it a second time.
#
# *10 minutes, medium.*

# %% solution build-vocabulary
def build_vocabulary(tokens: list[str], max_size: int | None = None) -> dict[str, int]:
    """Number the tokens: the four specials, then the others in order of decreasing count.

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
assert isinstance(small, dict), f"Expected a dictionary, got {type(small).__name__}."
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
# There are three steps: count, sort, number. [`Counter`](https://docs.python.org/3/library/collections.html#collections.Counter) (imported) does the counting, and you can read it like a dictionary.
#
# </details>
#
# <details><summary>Hint 2: the order</summary>
#
# [`sorted`](https://docs.python.org/3/howto/sorting.html#key-functions) takes a `key`, a function that says what to sort by. If the key is a pair, the second part decides among equal first parts. How do you sort the first part in descending order and the second in ascending order?
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# The key `(-count, token)` sorts in order of decreasing count, then by the token. How many tokens does `max_size` leave room for after the special tokens? And which tokens should you never count in the first place?
#
# </details>

# %% demo
vocabulary = build_vocabulary(tokens)
words = list(vocabulary)  # in the order of the ids: the way back
for token in (" ", "the", "clock", "cat", "The", "<unk>"):
    print(f"{token!r:9} id {vocabulary[token]:3}   occurs {tokens.count(token)} times")

# %% [markdown]
# *the* and *The* are two tokens with two ids. The model has to learn that they are almost the same word.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** The paper's vocabulary has 37,000 tokens, and its base model has $d_\mathrm{model} = 512$. How many numbers does the embedding table hold, and what share of the base model's 65 million parameters (table 3) is that?
#
# <details><summary>Answer</summary>
#
# 37,000 · 512 = 18,944,000, more than a quarter of all parameters. A vocabulary of whole words would be several times larger and would still not contain every word. Subwords keep the table small, and because any word can be spelt from them, no word is unknown.
#
# </details>

# %% [markdown]
# ### Exercise 3: `encode` (2 points)
#
# Look up the id of each token. A token that isn't in the vocabulary becomes `<unk>`. It is not left out, so there are as many ids as tokens. The result is a LongTensor, a tensor of whole numbers (`torch.long`); for an empty list its shape is `(0,)`.
#
# *5 minutes, easy.*

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
assert isinstance(ids, torch.Tensor), f"Expected a tensor, got {type(ids).__name__}."
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
# Nothing in an empty list tells PyTorch that it would have held integers, so PyTorch guesses floats. `torch.tensor` has an argument for the type you want.
#
# </details>

# %% demo
sentence = "The mayor asked the zeppelin, and the cat listened."
ids = encode(tokenise(sentence), vocabulary)
print(ids.tolist())
print("".join(words[i] for i in ids.tolist()))

# %% [markdown]
# The second line decodes the ids: what `<unk>` replaced is lost. Even the last full stop is unknown, because on our page it is always followed by a space or a newline, and together they form one token.

# %% [markdown]
# ### Exercise 4: `pad_batch` (2 points)
#
# A GPU is fast when it works on many sequences at once, but all rows of a tensor must have the same length. Fill shorter sequences **on the right** with the id of `<pad>`, up to the length of the longest. A sequence may be a list or a LongTensor. Don't change the sequences you are given.
#
# *10 minutes, easy.*

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
assert isinstance(batch, torch.Tensor), f"Expected a tensor, got {type(batch).__name__}."
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
# ## What an embedding is
#
# An id is only a name: id 8 is not twice id 4, so a network must not compute with it. The neutral way to feed in a name is a **one-hot row**: one place per token, a single 1, and zeros elsewhere. One-hot rows are as wide as the vocabulary and all equally far apart: *cat* is as far from *kitten* as from *Thursday*.
#
# So the first step multiplies the row by a learnt matrix, the **embedding table** of shape `(V, D)`: one short row for each of the `V` tokens. In it, similar tokens can move close together.
#
# ![Two one-hot rows times a table with five rows of three numbers. The row for id 3 has its 1 in place 3 and picks out row 3 of the table; the row for id 1 picks out row 1. The result has one row for each id, as wide as the table.](images/embeddings_lookup.svg)
#
# In a one-hot row times the table, all terms except one are multiplied by 0, and what remains is one row of the table. The product **is** a lookup. Programs don't build the one-hot rows; they fetch the row, and that is all that `nn.Embedding` does. The product explains how a table learns: an embedding is a linear layer without a bias, and gradients reach the rows that were used.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** What does `nn.Embedding(1000, 64)` take as its input: tokens, one-hot rows, or ids?
#
# <details><summary>Answer</summary>
#
# Ids, as integers, in a tensor of any shape: `(B, S)` gives `(B, S, 64)`. Tokens are text, so you encode them first, and that step does use a dictionary. The table itself is a parameter: what it stores for an id changes with each training step.
#
# One-hot rows are a trap. `F.one_hot` returns integers, so `nn.Embedding` mistakes every 0 and every 1 for an id and returns a tensor that is far too large.
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
# Build an embedding once by hand, **as a matrix product**: one-hot rows of the ids, times the table. Fetching rows (`table[ids]`, `F.embedding`, `index_select` and so on) gives the same numbers but isn't accepted here, because this exercise is about the product. It should work for tables of float32 and float64, and gradients have to reach the table.
#
# *10 minutes, medium.*

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
assert isinstance(vectors, torch.Tensor), f"Expected a tensor, got {type(vectors).__name__}."
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
# One-hot rows come as integers, or as True and False. A matrix product needs the same dtype on both sides, so convert the rows to the dtype of the table with `Tensor.to`.
#
# </details>

# %% demo
import time


def milliseconds(run, tries=5):
    """The shortest of several runs: the one that other programs disturbed least."""
    took = []
    for _ in range(tries):
        start = time.perf_counter()
        with torch.no_grad():
            run()
        took.append(1000 * (time.perf_counter() - start))
    return min(took)


big, some = torch.randn(20_000, 256), torch.randint(0, 20_000, (8, 64))
print(f"matrix product {milliseconds(lambda: one_hot_embed(some, big)):8.2f} ms")
print(f"lookup         {milliseconds(lambda: big[some]):8.2f} ms")
print(f"one-hot rows in float32: {some.numel() * 20_000 * 4 / 2**20:.0f} MiB for 512 tokens")

# %% [markdown]
# The lookup is much faster. The product multiplies by zero 19,999 times out of 20,000, and needs 39 MiB for the one-hot rows of only 512 tokens.

# %% [markdown]
# ## The embedding layer of the paper
#
# Section 3.4 adds one step to the lookup: the vectors are **multiplied by $\sqrt{d_\mathrm{model}}$**. The paper gives no reason, but there is a plausible one. Its table also serves as the weights of the output layer, which should start small, with a standard deviation of about $1/\sqrt{d_\mathrm{model}}$. The factor turns such rows into vectors with entries around 1, about as large as the positional encodings that lesson 2 adds to them.

# %% [markdown]
# ### Exercise 6: `TokenEmbedding` (3 points)
#
# Write a layer with one part, `embed`, which is an `nn.Embedding`. Keep the name, because weights are loaded by it. `forward` returns the vectors times $\sqrt{d_\mathrm{model}}$. Apply the factor in `forward`. If you multiply the stored table, it is scaled again on every call.
#
# The row of `<pad>` **starts at zero and stays zero**: it gets no gradient, so padding adds nothing anywhere. An argument of `nn.Embedding` does this for you; find it in the documentation.
#
# *10 minutes, easy.*

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
assert isinstance(vectors, torch.Tensor), f"Expected a tensor, got {type(vectors).__name__}."
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
# How large are the numbers that your layer returns, if its table starts with a standard deviation of 1, as `nn.Embedding` has it, and if it starts with $1/\sqrt{d_\mathrm{model}}$?

# %% demo
ids = torch.arange(1, 1000).view(1, -1)
print("std of the output   table with std 1   table with std 1/√d_model")
for d_model in (16, 64, 512):
    layer = TokenEmbedding(1000, d_model)
    plain = layer(ids).std().item()
    nn.init.normal_(layer.embed.weight, std=d_model**-0.5)
    print(f"d_model {d_model:3} {plain:23.2f} {layer(ids).std().item():27.2f}")

# %% [markdown]
# With PyTorch's default, the factor makes the numbers large: 22.7 at $d_\mathrm{model} = 512$. With the smaller start they stay at 1. The factor and the start of the table belong together.
#
# **Predict, then run.** One training step on your batch of three sentences: which rows of the table move?

# %% demo
layer = TokenEmbedding(len(vocabulary), 32)
before = layer.embed.weight.detach().clone()
optimiser = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(batch).sum().backward()  # a loss whose gradient would move <pad>, too
optimiser.step()
moved = (layer.embed.weight != before).any(dim=-1)
names = [words[i] for i in moved.nonzero().flatten()]
print(f"{int(moved.sum())} of {len(vocabulary)} rows moved:", names)

# %% [markdown]
# The rows of the tokens in the batch move, and no others; `<pad>` stays where it is.
#
# <details><summary>More: when the output layer shares the table</summary>
#
# In the paper, the table is also the output layer. Then every row gets a gradient at each step, because the output layer scores every token. Sharing means that the weights are *one* parameter used twice, not two parameters with the same starting values.
#
# </details>

# %% [markdown]
# ## Meaning lies in directions
#
# How similar are two tokens? A dot product would favour long vectors, so we compare **directions**, with the cosine of the angle between two rows: $\cos(q, r) = \frac{q \cdot r}{\|q\| \, \|r\|}$. It runs from 1 (same direction) through 0 (at right angles) to −1 (opposite).

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In an untrained table, what is the cosine between *cat* and *kitten*?
#
# <details><summary>Answer</summary>
#
# About 0, as between any two tokens: random vectors of high dimension are nearly at right angles. Similar tokens don't start out close. Training moves them together, because they occur in similar contexts and so get similar gradients (Mikolov et al. 2013, arXiv:1301.3781).
#
# </details>

# %% [markdown]
# So you need a trained table. The next cell loads that of a small Transformer, all-MiniLM-L6-v2, which was trained to give sentences of similar meaning similar vectors (Wang et al. 2020, arXiv:2002.10957; Reimers and Gurevych 2019, arXiv:1908.10084). If its files aren't on your computer, a small made-up table takes its place.

# %% demo
table = word_table()
print(table.note)

# %% [markdown]
# Here are the cosines between eight of its rows; the darker the cell, the larger the cosine.

# %% demo
some = ["king", "queen", "man", "woman", "cat", "kitten", "monday", "friday"]
directions = F.normalize(torch.stack([table[word] for word in some]), dim=-1)  # (8, D)
plots.heatmap(directions @ directions.T, some, some, title="cosine");

# %% [markdown]
# Words that belong together have the largest cosines. *Cat* and *kitten* have a cosine of 0.56. Is that a lot? Compare it with random pairs:

# %% demo
fixed = torch.Generator().manual_seed(1)  # the same pairs every time
some_rows = torch.randint(0, len(table.words), (2, 20_000), generator=fixed)
random_pairs = table.vectors[some_rows]  # (2, 20000, D)
cosines = F.cosine_similarity(*random_pairs, dim=-1)  # (20000,)
print(f"95 of 100 random pairs have a cosine below {cosines.quantile(0.95):.2f}")

# %% [markdown]
# It is: 95 in 100 lie below 0.15. (These are the numbers of the real table.)

# %% [markdown]
# ### Exercise 7: `nearest` (3 points)
#
# Find the rows of a table that point most nearly in the same direction as a query. Return the row numbers of the `k` largest cosines, the most similar first. A row of zeros, such as that of `<pad>`, has no direction; treat its similarity as 0. The lengths of the rows and of the query must not matter.
#
# *10 minutes, medium.*

# %% solution nearest
def nearest(table: torch.Tensor, query: torch.Tensor, k: int) -> torch.Tensor:
    """Find the rows that point most nearly in the same direction as a query.

    table: (V, D); query: (D,); k: at most V.
    Returns: LongTensor (k,), row numbers by decreasing cosine similarity, which is 0 for a row of zeros.
    """
    ### BEGIN SOLUTION
    similarity = F.cosine_similarity(table, query, dim=-1)  # (V,)
    order = similarity.argsort(descending=True)
    return order[:k]
    ### END SOLUTION

# %% test nearest 3
small = torch.tensor([[9.0, 9.0], [1.0, 0.1], [-5.0, 0.0], [0.0, 0.0], [0.5, -0.3]])
rows = nearest(small, torch.tensor([2.0, 0.0]), 2)
assert isinstance(rows, torch.Tensor), f"Expected a tensor, got {type(rows).__name__}."
assert rows.dtype == torch.int64, f"Row numbers are int64, got {rows.dtype}."
assert rows.shape == (2,), f"With k=2 the shape is (2,); got {tuple(rows.shape)}."
assert rows.tolist() == [1, 4], (
    f"Row 1 points most nearly in the direction of the query, then row 4; got {rows.tolist()}. "
    "Does the most similar row come first, and the length of a row not count?"
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
# `torch.argsort`, `torch.sort` and `torch.topk` can all tell you *where* the largest numbers are. The first two sort in ascending order by default, and the last two return values and indices.
#
# </details>

# %% demo
def neighbours(query, k=6, without=()):
    """The words nearest to a vector, some left out."""
    rows = nearest(table.vectors, query, k + len(without)).tolist()
    return [table.words[row] for row in rows if table.words[row] not in without][:k]


for word in ("king", "cat", "monday", "milk", "apple", "good", "up"):
    print(f"{word:7}", "  ".join(neighbours(table[word], without=[word])))

# %% [markdown]
# The lists mix other forms of the same word, words of the same kind, and words from the same scene. Most neighbours of *apple* belong to a computer company, because that is what people wrote about. Opposites are close, too: *bad* is among the nearest to *good*, and *down* among the nearest to *up*, because they occur in the same contexts.
#
# (`##` marks a piece that continues a word.)

# %% [markdown]
# ### King − man + woman
#
# If directions carry meaning, the step from *man* to *woman* should resemble the step from *king* to *queen*. So start at *king*, subtract *man*, add *woman*, and see which words are nearest to the result (Mikolov, Yih and Zweig 2013, *Proceedings of NAACL-HLT*).

# %% demo
queries = ("king - man + woman", "brother - boy + girl", "kitten - cat + dog", "paris - france + italy")
for query in queries:
    vector, named = combine(table, query)
    print(f"{query:24} → ", ", ".join(neighbours(vector, 3, without=named)))

# %% [markdown]
# Three work. The last one answers *italian*; *rome* comes third.

# %% [markdown] slide="subslide"
# **Predict, then run.** These answers leave out the three words of the question. What comes first if you don't leave them out?

# %% demo
vector, named = combine(table, "king - man + woman")
for row in nearest(table.vectors, vector, 3):
    print(f"{table.words[row]:8} cosine {F.cosine_similarity(vector, table.vectors[row], dim=0):.2f}")

# %% [markdown]
# *King* itself. The sum still contains the whole vector of *king*, and the step from *man* to *woman* points only partly towards *queen*. "The nearest word" is a poor measure of analogies (Linzen 2016, arXiv:1606.07736).

# %% [markdown] slide="subslide"
# A better measure compares the steps. Do other pairs step in the same direction as *man* → *woman*? In the next picture, **that direction is across**; up is the direction in which the words vary most apart from that.

# %% demo
step = table["woman"] - table["man"]
pairs = [("man", "woman"), ("king", "queen"), ("uncle", "aunt"), ("brother", "sister")]
for he, she in pairs:
    other = table[she] - table[he]
    cosine = F.cosine_similarity(step, other, dim=0)
    print(f"{he:8} → {she:7} cosine {cosine:.2f}, length {other.norm():.2f}")
starts, ends = random_pairs  # each (20000, D)
cosines = F.cosine_similarity(step, ends - starts, dim=-1)  # (20000,)
print(f"random pairs: 95 of 100 have a cosine below {cosines.quantile(0.95):.2f}")

people = {"he": [he for he, _ in pairs], "she": [she for _, she in pairs]}
vectors = torch.stack([table[word] for group in people.values() for word in group])  # (8, D)
embedding_plots.word_map(vectors, people, arrows=pairs, across=step);

# %% [markdown]
# The steps of the other three pairs lean the same way as *man* → *woman* (all arrows point to the right), more than random steps do. But their cosines lie between 0.19 and 0.37, far from 1. **All four steps are about equally long**; three arrows look short because most of each step lies in dimensions that the picture leaves out.
#
# **Ask your own question.** Edit the query and press Enter. (The box needs a running kernel.)

# %% demo
from ipywidgets import Text, interact


@interact(query=Text("king - man + woman", continuous_update=False))
def ask(query):
    """Draw the words nearest to a query such as "king - man + woman", and their cosines."""
    try:
        vector, named = combine(table, query)
    except KeyError as problem:
        print(problem.args[0])
        return
    found = neighbours(vector, 8, without=named)
    cosines = [F.cosine_similarity(vector, table.vectors[table.ids[word]], dim=0).item() for word in found]
    embedding_plots.bars(found, cosines, title=query, xlabel="cosine with the query")
    plt.show()

# %% [markdown]
# ### What a table doesn't know
#
# - **It repeats what it read.** Directions for gender also run through words for occupations (Bolukbasi et al. 2016, arXiv:1607.06520).
# - **It has one vector per token**, whatever the sentence. The bank of a river and a bank for money share one row.
# - **It doesn't know where a token stands.** "The dog bit the man" and "the man bit the dog" look up the same vectors.

# %% [markdown]
# ## One word after another, or all at once
#
# What a word means *here* depends on the words around it, so a network has to pass information between positions. There are two ways.
#
# A **recurrent** network keeps a state: it computes $h_t$ from the previous state $h_{t-1}$ and the word $x_t$. An LSTM (Hochreiter and Schmidhuber 1997, *Neural Computation* 9(8)) adds a memory cell, with gates that decide what to keep. The network knows that a word came third because it read that word third.
#
# A **Transformer** has no such state. Every position attends to every other position directly, and all are computed at the same time. Nothing in that computation comes first, so the order of the words has to be written into the data (lesson 2).
#
# ![Six words, the key under the bell is, in two networks. On the left, an LSTM: the states h 1 to h 6 form a chain, and what the network knows about key reaches the state of is in 4 steps. On the right, attention: every state is connected to every word, and key reaches is in 1 step, at any distance.](images/embeddings_path.svg)

# %% [markdown]
# | in one layer, for $n$ tokens of width $d$ | recurrent | self-attention |
# |---|---|---|
# | steps that have to wait for each other | $n$ | $1$ |
# | longest path between two positions | $n$ | $1$ |
# | work | $n \cdot d^2$ | $n^2 \cdot d$ |
#
# Attention pays a price: it compares every pair of tokens, so its work grows with $n^2$. (These are orders of magnitude; Vaswani et al. 2017, table 1.)
#
# **Predict, then measure.** An LSTM of width 64 reads 512 tokens, one after another. At each, it multiplies the token by one matrix of 64 × 256 numbers and the state before it by another. How much faster are the same multiplications for all 512 tokens at once?

# %% demo
lstm = nn.LSTM(64, 64, batch_first=True)
for_input, for_state = nn.Linear(64, 256), nn.Linear(64, 256)  # as large as the LSTM's own
x = torch.randn(1, 512, 64)
in_turn = milliseconds(lambda: lstm(x), tries=50)
at_once = milliseconds(lambda: (for_input(x), for_state(x)), tries=50)
print(f"token after token  {in_turn:7.2f} ms")
print(f"all tokens at once {at_once:7.2f} ms, {in_turn / at_once:.1f} times as fast")

# %% [markdown]
# The multiplications are the same; only the order differs. The LSTM takes 512 steps, and each waits for the one before. The linear layers need two large products. How much time that saves depends on how many multiplications the computer can do at the same time: little on one core, more on several, and far more on a GPU, most of which would wait at each of the 512 steps.
#
# Now the distance: how strongly does the *last* output of a layer react to the input 0, 1, 2, … places back? Feed 80 random vectors to an untrained LSTM and to untrained attention, and measure the length of the gradient.

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


def recurrent():
    """A new LSTM."""
    layer = nn.LSTM(16, 16, batch_first=True)
    return lambda x: layer(x)[0]


def attention():
    """A new head of attention; you will build it in lesson 3."""
    w_q, w_k, w_v = (nn.Linear(16, 16) for _ in range(3))
    return lambda x: F.scaled_dot_product_attention(w_q(x), w_k(x), w_v(x))


curves = {"attention": reach(attention), "LSTM": reach(recurrent)}
embedding_plots.fading(range(80), curves, "reaction of the last output")
for name, curve in curves.items():
    print(f"{name:10}", "   ".join(f"{d} back: {curve[d]:.1g}" for d in (0, 1, 10, 40, 79)))

# %% [markdown]
# With attention, a token 79 places back counts about as much as the one next door. (Distance 0 stands out because the last input is also the query.) The **LSTM's** gradient is down to 0.002 after ten tokens, and to $2 \cdot 10^{-17}$ after 79. This is the *vanishing gradient* of recurrent networks (Bengio et al. 1994, *IEEE Transactions on Neural Networks* 5(2); Pascanu et al. 2013, arXiv:1211.5063). A trained LSTM can hold its gates open and remember for longer, but every step in between still has to pass the memory on.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A Transformer translates a sentence of 30 words into another sentence of 30 words. How many steps have to wait for each other in *training*, and how many when it *translates*?
#
# <details><summary>Answer</summary>
#
# In training, the right translation is known, so all of its positions are computed at once. The number of steps is the number of layers, whatever the length. When the model translates, it needs each word before it can predict the next one: that takes 30 rounds, one after another. Training, and reading the source, happen in parallel; generating doesn't. (Lessons 6 and 7.)
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

# %% [markdown] slide="skip"
# <details><summary>More: where Transformers are used</summary>
#
# | for | example | source |
# |---|---|---|
# | translation | the first Transformer | Vaswani et al. 2017, arXiv:1706.03762 |
# | text understanding | BERT, an encoder alone | Devlin et al. 2019, arXiv:1810.04805 |
# | text generation | GPT-3, a decoder alone | Brown et al. 2020, arXiv:2005.14165 |
# | vision | ViT: patches of a picture as tokens | Dosovitskiy et al. 2020, arXiv:2010.11929 |
# | speech | Whisper: sound in, text out | Radford et al. 2022, arXiv:2212.04356 |
# | protein structure | AlphaFold 2, with attention over sequences and pairs | Jumper et al. 2021, doi:10.1038/s41586-021-03819-2 |
# | many tasks with one network | Gato: text, pictures, games and a robot arm | Reed et al. 2022, arXiv:2205.06175 |
#
# In all of these, the input is first cut into tokens, and each token becomes a vector.
#
# </details>

# %% [markdown]
# ## Exercise 8: recurrence, in your own words (2 points)
#
# Your instructor reads this answer. Use your own words, and an example of your own.
#
# *15 minutes, medium.*

# %% written recurrence 2 [markdown]
# **Question.** How do an LSTM and a Transformer pass information along a sequence, and how do they keep track of order? Explain for each (a) how something known at one position reaches another, and in how many steps, (b) how the network knows the order of the words, and (c) what this means for training on parallel hardware. Name one price that the Transformer pays. Write five to ten sentences.
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
# Byte-pair encoding starts from single characters, merges the most frequent pair of neighbouring pieces into one piece, everywhere, and repeats. The list of merges, in order, *is* the tokeniser: to split a new word, apply them to its characters (Sennrich et al. 2016, arXiv:1508.07909).
#
# <details><summary>More: an example</summary>
#
# With the words *hug* (10 times), *pug* (5 times) and *hugs* (5 times), the pair *u g* occurs 20 times and is merged first. After that, the words read *h ug*, *p ug* and *h ug s*, and *h ug* is the most frequent pair, with 15.
#
# </details>

# %% [markdown]
# ### Stretch: `bpe_merges`
#
# `counts` says how often each word of a text occurs. Each word starts as its characters.
#
# In each step, count every pair of neighbouring pieces, over all words and times the count of the word, and merge the most frequent pair. If several pairs are equally frequent, merge the one that `sorted` puts first. Stop early if no word has a pair left.
#
# - When you *count*, pairs may overlap: *aaa* holds the pair *(a, a)* twice.
# - When you *merge*, go from left to right without overlap: *aaa* becomes *aa a*.
#
# *30 minutes, hard. Stretch: not counted.*

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
assert isinstance(merges, list), f"Expected a list, got {type(merges).__name__}."
assert merges[:1] == [("u", "g")], f"The pair (u, g) occurs 20 times and is merged first; got {merges[:1]}."
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
# You solved the same problem in exercise 2: in order of decreasing count, then in the order of `sorted`. `min` takes a `key`, as `sorted` does.
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
# The first merges join letters that are often neighbours in English; the last ones are longer pieces and some whole words. Real models learn their vocabularies the same way, from far more text.

# %% [markdown] slide="slide"
# ## In a real model
#
# The model from the beginning of this lesson reads tokens made by byte-pair encoding: 48,900 merges, learnt from its training text. In these tokens, Ġ is a space. Give it a sentence of your own.

# %% demo
from coursework import smollm

try:
    model = smollm.load()
    print(model.tokeniser.encode("An unbelievable Transformer, in 2026! 🙂").tokens)
    for word in (" cat", " seven", " king"):
        row = model.table[model.encode(word)[0, 0]]  # (576,)
        print(f"{word}:", [model.decode([i]) for i in nearest(model.table, row, 8).tolist()])
except smollm.NotInstalledError as problem:
    print(problem)

# %% [markdown]
# Common words are one token, *unbelievable* is two, and each digit is a token of its own. The merges start from bytes, not letters, so even an emoji can be spelt: the last token is a space and the four bytes of 🙂. The other lines show the **nearest tokens** that your `nearest` finds among all 49,152: for *seven*, other numbers; for *cat* and *king*, mostly spellings of the same word, but also *dog*, *queen* and *emperor*. A capital letter or a space in front makes another token.
#
# **Predict, then reveal.** The paper multiplies embeddings by $\sqrt{d_{\text{model}}}$, and so does your `TokenEmbedding`. SmolLM2 was trained without this factor, which is 24 here. What happens if you put it in?
#
# <details><summary>Answer</summary>
#
# The model writes one line break (`↵`) after another. Its layers *add* to the embedding (lesson 5), and what they add is now small beside a vector that is 24 times too long. The factor is neither right nor wrong in itself. It has to be the one that the other weights were trained with.
#
# </details>

# %% demo
mine = TokenEmbedding(49152, 576)


def with_factor(ids, table):
    """Look up as your TokenEmbedding does, in the model's table."""
    mine.embed.weight.data = table
    return mine(ids)  # (1, T, 576)


def divided(ids, table):
    """The same, divided by the factor again."""
    return with_factor(ids, table) / 24


write(question, "with the factor", chat=True, tokens=12, embedding=with_factor)
write(question, "divided out again", chat=True, tokens=12, embedding=divided)

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()

# %% [markdown]
# ## What you can do now
#
# You've taken a text all the way to the tensor `(B, S, D)` that every Transformer starts from: tokens, ids, a padded batch, and vectors from a table that learns. What is missing is the order of the tokens. **Lesson 2** adds it, with sines and cosines.
#
# **Read on**: Vaswani et al. 2017, section 3.5. For word vectors learnt from the words around them: Mikolov et al. 2013, arXiv:1301.3781.

# %% [markdown] slide="skip"
# ## Glossary
#
# | term | meaning |
# |---|---|
# | token | a piece of text: a word, a space, punctuation, or a subword |
# | vocabulary | the dictionary from tokens to ids |
# | id | the number of a token: a name, not a quantity |
# | special tokens | `<pad>` 0 (padding), `<sos>` 1 (start of sequence), `<eos>` 2 (end of sequence), `<unk>` 3 (unknown) |
# | embedding table | a learnt matrix `(V, D)`, one row per token |
# | $d_\mathrm{model}$, `D` | the width of an embedding, and of every layer that follows |
