# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 8 · Looking at attention
#
# **You will be able to**
#
# - collect the attention weights of a running model, layer by layer and head by head, without changing it;
# - draw them so that pictures can be read and compared;
# - find the head that looks one word back, and the one that links a word with itself across two sentences, by a score first and by eye then;
# - say how spread out a head's attention is, and follow information through several layers;
# - answer questions from a paragraph with the span that you pick yourself;
# - say what an attention map shows, and what it does not.
#
# **Time** about 110 minutes · **Difficulty** medium · **Before this** lessons 6 and 7
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, section 4 and the figures of its appendix; Clark et al. 2019, *What Does BERT Look At?*, arXiv:1906.04341.

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | read about it in |
# |---|---|---|
# | `attention_maps` | 4 | Vaswani et al. 2017, section 3.2.3: three kinds of attention |
# | `plot_attention` | 3 | ibid., figures 3 to 5 |
# | `sentence_pair_attention` | 3 | Devlin et al. 2019, arXiv:1810.04805, section 3 |
# | `previous_token_score` | 2 | Clark et al. 2019, section 3.1 |
# | `attention_entropy` | 2 | Clark et al. 2019, section 3.3 |
# | `attention_rollout` | 3 | Abnar and Zuidema 2020, arXiv:2005.00928 |
# | `best_span` | 2 | Devlin et al. 2019, section 4.2 |
# | what a head does | 1 | written; Jain and Wallace 2019, arXiv:1902.10186 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` below it with your answer, then run the tests that follow. The tests you can see are a first check; marking uses further ones, with other sizes and other numbers.

# %% [markdown]
# The model that is looked at first is your own Transformer of lesson 7, where that notebook lies next door and passes a quick check. Otherwise a stand-in takes its place. The next cell says which. Your marks for this lesson do not depend on it.

# %% setup
import math

import matplotlib.pyplot as plt
import seaborn as sns
import torch
import torch.nn.functional as F
from torch import nn

from coursework.earlier import load_earlier

parts = load_earlier("08_attention_visualisation")
MultiHeadAttention, TokenEmbedding = parts["MultiHeadAttention"], parts["TokenEmbedding"]
PositionalEncoding, LayerNorm = parts["PositionalEncoding"], parts["LayerNorm"]
FeedForward, Encoder, Decoder = parts["FeedForward"], parts["Encoder"], parts["Decoder"]
CausalDecoderLayer, shift_right = parts["CausalDecoderLayer"], parts["shift_right"]
padding_mask, causal_mask, target_mask = (
    parts[name] for name in ("padding_mask", "causal_mask", "target_mask")
)
Transformer = parts["Transformer"]

torch.manual_seed(8);

# %% [markdown]
# The second model has been trained by others, on a great deal of text: a small BERT. It is called `bert`, and its `tokeniser` comes with it. Neither is downloaded. Where its files are not here, a much smaller model is trained on the spot, and the line below says so, and how to get the real one.

# %% demo
from coursework import attention_plots, plots
from coursework.pretrained_bert import load_bert

plots.use_style()
bert, tokeniser, note = load_bert()  # load_bert("bert-base-uncased") where that is in your cache
print(note)

# %% [markdown]
# ## What an attention map is
#
# In lesson 3 every query got a row of **weights**: how much it takes from each key. Such a matrix is a picture, and nothing has to be made up to draw it. This is one reason why people like attention so much, and one reason to be careful, as we will see at the end.
#
# ![An attention map as a grid of weights, taken apart. Five queries down: sos, four, hundred, and, seven. Five keys across: 4, 0, 7, eos, pad. The row of hundred is framed: its weights 0.05, 0.45, 0.40, 0.10 and 0.00 sum to 1. The column of the key 0 is framed: it sums to 1.40, and could sum to anything. The column of padding holds zeros only.](images/visualisation_map.svg)
#
# Three rules for reading one:
#
# 1. **A row is a query.** It sums to 1. A column sums to anything: a key may be read by all, or by nobody.
# 2. **Row i is about computing position i, not about the word i.** Above the first layer, the vector at a position is a mixture already.
# 3. **There is one map for each head of each layer.** A model of six layers with twelve heads has 72, and their mean is the map of none of them.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A translation model has 2 layers of 4 heads, reads 5 tokens and writes 7. How many maps does one forward pass compute, and what are their shapes?
#
# <details><summary>Answer</summary>
#
# 24. Each of 2 encoder layers has 4 maps of 5 by 5; each of 2 decoder layers has 4 of 7 by 7, and 4 more of 7 by 5 where it reads the source. Stacked: `(2, 4, 5, 5)`, `(2, 4, 7, 7)` and `(2, 4, 7, 5)`.
#
# </details>

# %% [markdown]
# ## Listening in: hooks
#
# The weights exist for a moment, inside `forward`, and are thrown away. We could rewrite the model so that it hands them out, but then we would look at another model. PyTorch lets us listen in instead: a **forward hook** is a function that is called after a module has run, with the module, its arguments and its result.
#
# Every attention in our models returns a pair, `(output, weights)`, so a hook on it sees the weights. `register_forward_hook` returns a handle, and `handle.remove()` ends the listening.

# %% demo
attention = MultiHeadAttention(8, 2)
heard = []
handle = attention.register_forward_hook(lambda module, arguments, result: heard.append(result))

x = torch.randn(1, 3, 8)
attention(x, x, x)
handle.remove()
attention(x, x, x)  # nobody listens any more

output, weights = heard[0]
print(f"heard {len(heard)} call: output {tuple(output.shape)}, weights {tuple(weights.shape)}")

# %% [markdown] slide="subslide"
# **Predict, then reveal.** Somebody forgets `remove()` and calls a function that registers a hook a hundred times. What happens?
#
# <details><summary>Answer</summary>
#
# Every forward pass now calls a hundred hooks, each of which keeps tensors alive. The results stay right, the model becomes slower and the memory fills up, and nothing says why. A function that listens cleans up behind itself, also when the model raises an error: this is what `try … finally` is for.
#
# </details>

# %% [markdown] slide="slide"
# ### Exercise 1: `attention_maps` (4 points)
#
# Run a Transformer on one source and one target, and return the weights of all its attentions: a dictionary with the keys `"encoder"`, `"decoder"` (its self-attention) and `"cross"`.
#
# - `src` and `tgt` are a **batch of one**; `tgt` is what the decoder reads, so it begins with `<sos>` already. The batch dimension is gone in what you return.
# - The weights are those of the model as it really runs, **with its own masks**: padding is hidden, and so is the future. Who makes the masks?
# - **Dropout is off** while you look. Afterwards the model is in the mode in which it came, and **no hook** is left on it.
#
# The layers are `model.encoder.layers` and `model.decoder.layers`; each has a `self_attention`, and those of the decoder a `cross_attention` too.

# %% solution attention-maps
def attention_maps(
    model: nn.Module, src: torch.Tensor, tgt: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Collect the attention weights of one forward pass.

    src: LongTensor (1, S); tgt: LongTensor (1, T), the decoder's input. Returns: "encoder"
    (L, H, S, S), "decoder" (L, H, T, T) and "cross" (L, H, T, S).
    """
    ### BEGIN SOLUTION
    watched = {
        "encoder": [layer.self_attention for layer in model.encoder.layers],
        "decoder": [layer.self_attention for layer in model.decoder.layers],
        "cross": [layer.cross_attention for layer in model.decoder.layers],
    }
    caught = {name: [] for name in watched}

    def listen(name):
        def catch(module, arguments, result):
            caught[name].append(result[1][0].detach())  # (H, Tq, Tk)

        return catch

    hooks = [
        module.register_forward_hook(listen(name))
        for name, modules in watched.items()
        for module in modules
    ]
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            model(src, tgt)
    finally:
        for hook in hooks:
            hook.remove()
        model.train(was_training)
    return {name: torch.stack(weights) for name, weights in caught.items()}  # (L, H, Tq, Tk)
    ### END SOLUTION

# %% test attention-maps 4
small = Transformer(11, 13, d_model=8, num_heads=2, num_layers=3, d_ff=12, dropout=0.5).train()
src, tgt = torch.tensor([[5, 9, 4, 2, 0, 0]]), torch.tensor([[1, 7, 12, 4]])
maps = attention_maps(small, src, tgt)
assert isinstance(maps, dict) and set(maps) == {"encoder", "decoder", "cross"}, (
    f"Expected a dictionary with the keys 'encoder', 'decoder' and 'cross', got {maps!r:.80}."
)
for name, shape in {"encoder": (3, 2, 6, 6), "decoder": (3, 2, 4, 4), "cross": (3, 2, 4, 6)}.items():
    assert isinstance(maps[name], torch.Tensor), (
        f"maps['{name}'] should be a tensor, got {type(maps[name]).__name__}."
    )
    assert tuple(maps[name].shape) == shape, (
        f"maps['{name}'] should be (L, H, Tq, Tk) = {shape}, got {tuple(maps[name].shape)}."
    )
    sums = maps[name].sum(dim=-1)
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-4), (
        f"Each row of maps['{name}'] should sum to 1, one sums to {sums.flatten()[(sums - 1).abs().argmax()]:.3f}. "
        "Are these the weights, and is dropout off?"
    )
assert maps["encoder"][..., 4:].max() == 0 and maps["cross"][..., 4:].max() == 0, (
    "The last two source tokens are <pad>: nobody may read them."
)
assert maps["decoder"].triu(diagonal=1).max() == 0, (
    "The decoder reads the future. Was it run with the model's own masks?"
)
assert small.training, "The model came in train mode and should leave in it."
assert not any(part._forward_hooks for part in small.modules()), (
    "A hook is still registered: keep its handle, and remove it."
)
other = attention_maps(small, torch.tensor([[8, 3, 7, 6, 5, 2]]), tgt)
assert not torch.allclose(other["encoder"], maps["encoder"]), (
    "Another source gives the same maps. Are these old ones?"
)
print("attention_maps: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Three steps: register a hook on every attention, run the model once, remove the hooks. The model itself makes the masks if you call it as in training: `model(src, tgt)`.
#
# </details>
#
# <details><summary>Hint 2: who is it?</summary>
#
# A hook is not told under which name its module is to be filed. Make one function for each name, for instance with a function that returns a function. And beware of `lambda` in a loop: it looks up the loop's variable when it is *called*, and by then that holds its last value.
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# The weights in `result[1]` are `(1, H, Tq, Tk)`. Take the only sample, append it to the list of its name, and `torch.stack` the lists at the end: the layers run in order, so the list is in order.
#
# </details>

# %% [markdown]
# ## A model worth looking at
#
# Untrained weights are not worth a look. So we train a small Transformer, in seconds, on the task of lesson 7: numbers in digits are to be written in words. `4 0 7` becomes *four hundred and seven*.

# %% demo
from coursework import tasks, training

learn, test = tasks.numbers(seed=0)
torch.manual_seed(0)
sizes = {"d_model": 48, "num_heads": 4, "num_layers": 2, "d_ff": 96, "dropout": 0.0}
speller = Transformer(len(tasks.DIGITS), len(tasks.WORDS), **sizes)
adam = torch.optim.Adam(speller.parameters(), betas=(0.9, 0.98), eps=1e-9)


def draw_numbers(generator):
    """A batch of 64 numbers: digits (64, S) and words (64, T)."""
    return tasks.translation(learn[torch.randint(len(learn), (64,), generator=generator)])


def learn_step(src, tgt):
    """One update; returns the loss."""
    loss = F.cross_entropy(speller(src, shift_right(tgt)).transpose(1, 2), tgt, ignore_index=0)
    adam.zero_grad()
    loss.backward()
    adam.step()
    return loss.item()


losses = training.train(speller, adam, learn_step, draw_numbers, 500,
                        rate=lambda step: 4e-3 * min(step / 60, 1) * (1 - step / 501))

# %% demo
@torch.no_grad()
def spell(model, src, steps=12):
    """Write words for digits (B, S), the likeliest one after the other: (B, steps)."""
    model.eval()
    written, memory = torch.ones(len(src), 1, dtype=torch.long), model.encode(src)
    for _ in range(steps):
        word = model.decode(written, memory, src)[:, -1].argmax(dim=-1)
        written = torch.cat([written, word[:, None]], dim=1)
        if (written == 2).any(dim=1).all():  # <eos> in every row
            break
    return written[:, 1:]


def exact(model, numbers):
    """The share of numbers (N,) that are spelt right, from the first word to <eos>."""
    src, tgt = tasks.translation(numbers)
    written = [tasks.say(row) for row in spell(model, src)]
    return sum(mine == tasks.say(right) for mine, right in zip(written, tgt)) / len(numbers)


src, tgt = tasks.translation(torch.tensor([4073]))
print(f"unseen numbers spelt exactly: {exact(speller, test[:400]):.1%}")
print("4073:", tasks.say(spell(speller, src)[0]))

# %% [markdown]
# It has learnt its task: it decodes numbers that it has never seen. Now we listen in while it writes 4073.

# %% demo
read = shift_right(tgt)  # what the decoder reads: <sos> and all words but the last
maps = attention_maps(speller, src, read)
digits = [tasks.DIGITS[i] for i in src[0]]
words = [tasks.WORDS[i] for i in read[0]]
for name, weights in maps.items():
    print(f"{name:8} {tuple(weights.shape)}")
print("source", digits, "\nread  ", words, "\nwrites", [tasks.WORDS[i] for i in tgt[0]])

# %% [markdown]
# ## Drawing a map
#
# A map with 100 numbers is not read, it is looked at. Whether it can be is decided by four small things, and each of them is easily got wrong:
#
# - **queries down, keys across**, with the first query on top: a text is read from the top;
# - **every token is labelled**, also when there are many, and when one occurs twice;
# - rows are labelled with queries and columns with keys, which in cross-attention are **different tokens**;
# - **one colour scale, from 0 to 1**, for all pictures. Left to itself, a plotting library stretches the colours to the largest weight in sight, and a head that looks nowhere looks as sharp as one that looks at a single word.

# %% demo
sharp = torch.eye(6).roll(1, dims=1) * 0.9 + 0.1 / 6
faint = 1 / 6 + 0.02 * (torch.eye(6) - 1 / 6)
attention_plots.scales({"one key gets 0.92": sharp, "all keys get 0.16 to 0.19": faint});

# %% [markdown]
# ### Exercise 2: `plot_attention` (3 points)
#
# Draw one map as a **seaborn heat map** (`sns.heatmap`, seaborn is in scope as `sns`) that keeps to the four rules. Draw on the Axes that are handed over as `ax`; where there are none, make your own. Return the Axes.

# %% solution plot-attention
def plot_attention(
    weights: torch.Tensor, queries: list[str], keys: list[str], ax: plt.Axes | None = None
) -> plt.Axes:
    """Draw an attention map: queries down, keys across, colours from 0 to 1.

    weights: (Tq, Tk); queries: Tq tokens; keys: Tk tokens. Returns: the Axes drawn on.
    """
    ### BEGIN SOLUTION
    if ax is None:
        ax = plt.subplots(figsize=(2 + 0.45 * len(keys), 1.2 + 0.4 * len(queries)))[1]
    cells = weights.detach().cpu().numpy()  # (Tq, Tk)
    sns.heatmap(cells, ax=ax, vmin=0, vmax=1, xticklabels=keys, yticklabels=queries, cmap="Blues", cbar=False)
    ax.tick_params(axis="y", rotation=0)
    ax.tick_params(axis="x", rotation=60)
    return ax
    ### END SOLUTION

# %% test plot-attention 3
weights = torch.tensor([[0.7, 0.2, 0.1, 0.0], [0.1, 0.1, 0.1, 0.7], [0.4, 0.3, 0.2, 0.1]])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3))
ax = plot_attention(weights, ["sat", "on", "mat"], ["the", "cat", "the", "rug"], ax=left)
assert ax is left, f"The Axes that were handed over should be drawn on and returned, got {ax!r:.60}."
assert not right.has_data(), "Something was drawn on Axes that were not handed over."
assert ax.collections, "There is no heat map on the Axes: sns.heatmap draws one."
mesh = ax.collections[0]
assert mesh.get_array().shape == (3, 4), f"3 queries down and 4 keys across, got {mesh.get_array().shape}."
assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "cat", "the", "rug"], (
    f"Across stand the keys, each with its label; got {[label.get_text() for label in ax.get_xticklabels()]}."
)
assert [label.get_text() for label in ax.get_yticklabels()] == ["sat", "on", "mat"], (
    f"Down stand the queries, each with its label; got {[label.get_text() for label in ax.get_yticklabels()]}."
)
assert mesh.get_clim() == (0, 1), (
    f"The colours should go from 0 to 1, they go from {mesh.get_clim()[0]} to {mesh.get_clim()[1]}."
)
assert ax.yaxis_inverted(), "The first query belongs on top."
own = plot_attention(torch.eye(30), [f"q{i}" for i in range(30)], [f"k{i}" for i in range(30)])
assert own is not None and own not in (left, right), (
    "Without ax the function makes Axes of its own, and returns them."
)
assert len(own.get_xticklabels()) == 30, f"All 30 keys should be labelled, {len(own.get_xticklabels())} are."
plt.close(own.figure)
right.remove()
print("plot_attention: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Everything is an argument of `sns.heatmap`; its documentation has one for each of the four rules. Which of them are right without your help?
#
# </details>
#
# <details><summary>Hint 2: labels</summary>
#
# `xticklabels` takes `"auto"`, which leaves labels out where they seem too close, a bool, a number, or a list. Only a list names the tokens and keeps them all.
#
# </details>
#
# <details><summary>Hint 3: Axes of one's own</summary>
#
# `plt.subplots()` returns a figure and Axes. seaborn draws where its argument `ax` says. A tensor that carries a gradient has to be detached before it can be drawn.
#
# </details>

# %% demo
attention_plots.grid(maps["cross"], words, digits, draw=plot_attention, title="cross-attention");

# %% [markdown]
# Here is your function at work, on all heads of both layers. Each row is a word that the decoder has just read; it is about to write the next one. Look for a head in which *thousand* looks at one digit, *and* at another. Is there one that walks through the digits from left to right, just ahead of the words? That is one way to solve the task, and training may find another.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In the decoder's self-attention, what is the first row of every map, whatever the model has learnt?
#
# <details><summary>Answer</summary>
#
# A single 1, at `<sos>`: position 0 may read nothing but itself. It says nothing about the model. Rows of a causal map cannot be compared with each other without a thought either, because row i shares its weight among i + 1 keys.
#
# </details>

# %% demo
attention_plots.grid(maps["encoder"], digits, digits, draw=plot_attention, title="encoder")
attention_plots.grid(maps["decoder"], words, words, draw=plot_attention, title="decoder, self-attention");

# %% [markdown]
# ## All heads at once: bertviz
#
# The package **bertviz** (Vig 2019, arXiv:1906.05714) draws the same weights as lines between two columns of tokens. Its **head view** shows one layer, a colour for each head: hover over a token to see where it looks, click on a colour to switch a head off. The drawing below is bertviz's own, packed so that it needs no network.

# %% demo
from coursework.attention_views import head_view, model_view

own = {"encoder_attention": list(maps["encoder"][:, None]), "decoder_attention": list(maps["decoder"][:, None]),
       "cross_attention": list(maps["cross"][:, None]), "encoder_tokens": digits, "decoder_tokens": words}
head_view(**own, layer=1)

# %% [markdown]
# The **model view** shows everything at a glance, layers down and heads across. Click on a tile to enlarge it. Choose *Cross* in either view to see the decoder read the source.

# %% demo
model_view(**own, display_mode="light")

# %% [markdown]
# ## A model that has read more: BERT
#
# BERT is an encoder (Devlin et al. 2019): no mask but that of padding, every token reads every other. It is trained to guess words that were covered up, and it reads **pairs** of sentences, laid out as one sequence:
#
# `[CLS] the cat sat on the mat [SEP] the cat lay on the rug [SEP]`
#
# Besides word and position, each token is told to which sentence it belongs, by its **segment id** (the library's word is `token_type_ids`): 0 up to the first `[SEP]`, 1 behind it. The tokeniser lays out all of it, when it is given two texts.

# %% demo
encoding = tokeniser("The cat sat on the mat", "The cat lay on the rug", return_tensors="pt")
for name, row in encoding.items():
    print(f"{name:15} {row[0].tolist()}")
print("tokens         ", tokeniser.convert_ids_to_tokens(encoding["input_ids"][0].tolist()))

# %% [markdown]
# ### Exercise 3: `sentence_pair_attention` (3 points)
#
# Let the model read the pair, and return three things in the form that bertviz wants them in:
#
# - `attentions`, **one** tensor `(L, H, S, S)`. The model returns a tuple of L tensors `(1, H, S, S)`, where it is called with `output_attentions=True`. (It has to be loaded with `attn_implementation="eager"`, which `load_bert` does: the faster code paths never hold the weights in one piece.)
# - `tokens`, the list of all S tokens as strings, special ones included;
# - `sentence_b_start`, the index of the first token of sentence `b`.
#
# Hand the model **everything** that the tokeniser returns. A word may become several tokens, so count tokens, not words.

# %% solution sentence-pair-attention
def sentence_pair_attention(
    model: nn.Module, tokeniser, a: str, b: str
) -> tuple[torch.Tensor, list[str], int]:
    """Read two sentences as a pair, and return what bertviz draws.

    model, tokeniser: as those of the library transformers; a, b: two texts. Returns: attentions
    (L, H, S, S), the S tokens, and the index of the first token of b.
    """
    ### BEGIN SOLUTION
    encoding = tokeniser(a, b, return_tensors="pt")
    with torch.no_grad():
        output = model(**encoding, output_attentions=True)
    attentions = torch.cat(output.attentions)  # L times (1, H, S, S) become (L, H, S, S)
    tokens = tokeniser.convert_ids_to_tokens(encoding["input_ids"][0].tolist())
    sentence_b_start = encoding["token_type_ids"][0].tolist().index(1)
    return attentions, tokens, sentence_b_start
    ### END SOLUTION

# %% test sentence-pair-attention 3
handed = []  # what the model is handed, by place or by name
watch = bert.register_forward_pre_hook(
    lambda _, given, named: handed.extend([*given, *named.values()]), with_kwargs=True
)
found = sentence_pair_attention(bert, tokeniser, "The cat sat on the mat", "The cat lay")
watch.remove()
assert isinstance(found, tuple | list) and len(found) == 3, f"Expected three things, got {found!r:.80}."
attentions, tokens, start = found
assert tokens == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]", "the", "cat", "lay", "[SEP]"], (
    f"Expected the tokens of both sentences, special ones included, got {tokens}."
)
assert isinstance(attentions, torch.Tensor), f"Expected one tensor, got {type(attentions).__name__}."
sizes = (bert.config.num_hidden_layers, bert.config.num_attention_heads, 12, 12)
assert tuple(attentions.shape) == sizes, f"Expected (L, H, S, S) = {sizes}, got {tuple(attentions.shape)}."
assert torch.allclose(attentions.sum(dim=-1), torch.ones(sizes[:3]), atol=1e-4), (
    "Each row of weights should sum to 1."
)
assert start == 8, f"Sentence b begins with token 8, behind [CLS], six words and [SEP]; got {start}."
segments = torch.tensor([[0] * 8 + [1] * 4])
assert not handed or any(isinstance(part, torch.Tensor) and torch.equal(part, segments) for part in handed), (
    "The model was not told which token belongs to which sentence. Did it get all the tokeniser returns?"
)
second = sentence_pair_attention(bert, tokeniser, "The cat", "The rug")
assert second[2] == 4, f"For 'The cat' and 'The rug' sentence b begins with token 4, got {second[2]}."
print("sentence_pair_attention: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Look at the cell above the exercise: nearly all you need is printed there. `model(**encoding)` hands over a dictionary as keyword arguments.
#
# </details>
#
# <details><summary>Hint 2: one tensor</summary>
#
# Two functions join a tuple of tensors: one along a dimension that is there, one along a new one. The tensors have a batch dimension of size 1 to spare.
#
# </details>
#
# <details><summary>Hint 3: where b begins</summary>
#
# The segment ids say it: they are 0 … 0 1 … 1. A list has a method that finds the first of a kind.
#
# </details>

# %% demo
pair = ("The cat sat on the mat", "The cat lay on the rug")
attentions, tokens, start = sentence_pair_attention(bert, tokeniser, *pair)
head_view(list(attentions[:, None]), tokens, start, layer=0)

# %% demo
model_view(list(attentions[:, None]), tokens, start, display_mode="light")

# %% [markdown]
# ## Finding a head by its score
#
# There are too many maps to look at all of them. So ask for something definite, in numbers, and look only at what scores high. Clark et al. (2019, section 3.1) did this for BERT: some heads attend to the previous token, some to the next, a great many to `[SEP]`.
#
# ### Exercise 4: `previous_token_score` (2 points)
#
# For every head of every layer, return the mean of the weights that position i gives to position i − 1, over all i ≥ 1. The first position has no previous token: it does not count, neither above nor below the line.

# %% solution previous-token-score
def previous_token_score(attentions: torch.Tensor) -> torch.Tensor:
    """Say how much each head looks one token back.

    attentions: (L, H, S, S). Returns: (L, H), each the mean weight from i to i - 1, for i >= 1.
    """
    ### BEGIN SOLUTION
    return attentions.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)  # (L, H)
    ### END SOLUTION

# %% test previous-token-score 2
some = [[1.0, 0.0, 0.0], [0.8, 0.1, 0.1], [0.3, 0.4, 0.3]]
never = [[0.2, 0.6, 0.2], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]
scores = previous_token_score(torch.tensor([[some, never]]))  # one layer of two heads
assert isinstance(scores, torch.Tensor), f"Expected a tensor, got {type(scores).__name__}."
assert tuple(scores.shape) == (1, 2), (
    f"One score for each head of each layer, (1, 2); got {tuple(scores.shape)}."
)
assert torch.allclose(scores[0, 0], torch.tensor(0.6)), (
    "In the first head token 1 gives 0.8 to token 0, and token 2 gives 0.4 to token 1: "
    f"0.6 on average, got {scores[0, 0]:.3f}."
)
assert torch.allclose(scores[0, 1], torch.tensor(0.0)), (
    f"The second head never looks one token back, got {scores[0, 1]:.3f}."
)
print("previous_token_score: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Write down a 4 by 4 matrix and mark the entries (1, 0), (2, 1) and (3, 2). What do they form?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# `torch.diagonal` takes an `offset`, and two dimensions, which are the last two here. Is the diagonal below the main one the offset 1 or −1?
#
# </details>

# %% demo
back = previous_token_score(attentions)  # (L, H)
layer, head = divmod(back.argmax().item(), back.size(1))
attention_plots.scores(back, f"previous-token score: best is layer {layer}, head {head} with {back.max():.0%}")
plot_attention(attentions[layer, head], tokens, tokens);

# %% [markdown]
# By score, then by eye: a diagonal, one step below the main one. Which head it is depends on the model. Clark et al. found such heads in BERT as well. In lesson 2 we saw why it can exist at all: with sinusoidal positions a shift by one is a fixed linear map, and a learned table can do the same.
#
# Now for something less mechanical: a head that links **the same word across the two sentences**. The score is made in the same spirit: the mean weight from one occurrence to the other, both ways, over all words that stand once in each sentence. (*The* stands twice, so it has two counterparts to choose from.)

# %% demo
def same_word_score(attentions, tokens, start):
    """The mean weight (L, H) between words that stand once in each sentence, both ways."""
    a, b = tokens[1 : start - 1], tokens[start:-1]
    shared = [word for word in a if a.count(word) == b.count(word) == 1]
    i, j = ([offset + side.index(word) for word in shared] for offset, side in ((1, a), (start, b)))
    return attentions[..., i + j, j + i].mean(dim=-1)  # (L, H)


same = same_word_score(attentions, tokens, start)
layer, head = divmod(same.argmax().item(), same.size(1))
attention_plots.scores(same, f"same word, other sentence: best is layer {layer}, head {head} with {same.max():.0%}")
plot_attention(attentions[layer, head], tokens, tokens);

# %% demo
head_view(list(attentions[:, None]), tokens, start, layer=layer, heads=[head], include_layers=[layer])

# %% [markdown]
# In the view, choose *Sentence A -> Sentence B* and hover over *cat*. And what of the words that have no counterpart? A row has to sum to 1, so a head with nothing to do has to look *somewhere*, and a token that means nothing is a good place: look at the columns of `[CLS]` and `[SEP]`. In BERT it is mostly `[SEP]` (Clark et al. 2019, section 3.2, call it a "no-op").
#
# **A warning.** We have tried one question on all heads and kept the best answer. With 72 heads something will always look like something. A finding wants a second sentence, chosen *before* one looks. So here is the head that was found on the cats, on pairs that had no say in finding it.

# %% demo
pairs = [("The cat sat on the mat", "The cat lay on the rug"),
         ("A dog ran over the old bridge", "The bridge was old and the dog was not"),
         ("My sister plays the piano", "The piano belongs to my sister")]
for a, b in pairs:
    again = same_word_score(*sentence_pair_attention(bert, tokeniser, a, b))
    rank = (again > again[layer, head]).sum() + 1
    print(f"{again[layer, head]:.0%}, rank {rank}; the median head has {again.median():.0%}:  {a} / {b}")

# %% [markdown]
# ## Sharp or spread out: entropy
#
# How many keys does a query really read? The **entropy** of its weights says it in one number,
#
# H = − Σⱼ wⱼ ln wⱼ
#
# It is 0 where one key gets everything, and ln N where N keys get the same. exp(H) is the number of keys that would be read if all counted the same. With the natural logarithm the unit is called a *nat*.
#
# ### Exercise 5: `attention_entropy` (2 points)
#
# Return one entropy per query, for any number of leading dimensions. Weights may be **exactly 0**, in every causal map half of them are. A limit of calculus says 0 · ln 0 = 0; floating-point numbers say NaN.

# %% solution attention-entropy
def attention_entropy(weights: torch.Tensor) -> torch.Tensor:
    """Say how spread out the attention of each query is, in nats.

    weights: (..., Tq, Tk), rows sum to one. Returns: (..., Tq).
    """
    ### BEGIN SOLUTION
    logs = torch.where(weights > 0, weights, 1.0).log()  # ln 1 = 0 where nothing is read
    return -(weights * logs).sum(dim=-1)  # (..., Tq)
    ### END SOLUTION

# %% test attention-entropy 2
entropy = attention_entropy(torch.full((2, 3, 4), 0.25))
assert isinstance(entropy, torch.Tensor), f"Expected a tensor, got {type(entropy).__name__}."
assert tuple(entropy.shape) == (2, 3), f"One number per query: expected (2, 3), got {tuple(entropy.shape)}."
assert torch.allclose(entropy, torch.full((2, 3), math.log(4))), (
    f"Four keys that get the same give ln 4 = {math.log(4):.4f}, got {entropy[0, 0]:.4f}. Which logarithm, which sign?"
)
certain = attention_entropy(torch.eye(3))
assert not certain.isnan().any(), "0 · ln 0 came out as NaN, and should be 0."
assert torch.allclose(certain, torch.zeros(3)), (
    f"Where one key gets everything the entropy is 0, got {certain}."
)
print("attention_entropy: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Only the zeros make trouble, and they should contribute nothing. Either see to it that the logarithm is never asked about them, or replace what came of it.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# `torch.where(condition, a, b)` picks element by element. Which number has the logarithm 0? (The gradient is spared trouble too, if zeros are replaced *before* the logarithm is taken.)
#
# </details>

# %% demo
entropy = attention_entropy(attentions)  # (L, H, S)
even = math.log(len(tokens))
attention_plots.by_layer(entropy.mean(dim=-1), "mean entropy (nats)", limit=even, name="all tokens alike: ln S")
special = [place for place, token in enumerate(tokens) if token in ("[CLS]", "[SEP]")]
attention_plots.by_layer(attentions[..., special].sum(dim=-1).mean(dim=-1), "share on [CLS] and [SEP]");

# %% [markdown]
# Each dot is a head. Clark et al. found for BERT that heads of low layers tend to be broad, some of them nearly a mean of all words, and that in the middle layers more than half of the attention may rest on `[SEP]` (sections 3.2 and 3.3). Does this model agree? Low entropy is not the same as saying something: a head that gives everything to one special token is as sharp as can be.

# %% [markdown]
# ## Through several layers: rollout
#
# A map speaks of *positions of its own layer*. What stands at position 5 above layer 3 has been mixed three times, so a map of layer 4 does not say which **words** are read. Abnar and Zuidema (2020) follow the mixing up from the words, with a simple model of a layer:
#
# - the heads of a layer are averaged, A = mean over heads;
# - half of what a position holds comes by the skip connection, unmixed: ½ A + ½ I;
# - each row is divided by its sum, so that it is a distribution again;
# - layers follow one another, so their matrices are **multiplied**, later ones on the left.
#
# ![Two layers of three positions, with the paths from position 3 at the top down to word 1. Position 3 above layer 2 takes 0.3, 0.2 and 0.5 from the three positions above layer 1, and these take 0.8, 0.3 and 0.2 from word 1. Beside it the matrix of layer 2 times the matrix of layer 1 is the rollout. Position 3, word 1: 0.3 times 0.8 plus 0.2 times 0.3 plus 0.5 times 0.2 is 0.40.](images/visualisation_rollout.svg)

# %% [markdown]
# ### Exercise 6: `attention_rollout` (3 points)
#
# Return the rollout of all L layers: row i says which share of position i, at the top, comes from each word. Renormalise although the rows of ½ A + ½ I often sum to 1 already: a query that may attend to nothing has a row of zeros.

# %% solution attention-rollout
def attention_rollout(attentions: torch.Tensor) -> torch.Tensor:
    """Follow attention through all layers (Abnar and Zuidema 2020, "attention rollout").

    attentions: (L, H, S, S), layer 0 first. Returns: (S, S), rows sum to one.
    """
    ### BEGIN SOLUTION
    identity = torch.eye(attentions.size(-1), dtype=attentions.dtype, device=attentions.device)
    rollout = identity  # nothing has been mixed yet
    for layer in attentions:
        mixed = 0.5 * layer.mean(dim=0) + 0.5 * identity  # (S, S)
        mixed = mixed / mixed.sum(dim=-1, keepdim=True)
        rollout = mixed @ rollout  # (S, S)
    return rollout
    ### END SOLUTION

# %% test attention-rollout 3
first, second = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, 1.0]])
rollout = attention_rollout(torch.stack([first, second])[:, None])  # two layers of one head
assert isinstance(rollout, torch.Tensor), f"Expected a tensor, got {type(rollout).__name__}."
assert tuple(rollout.shape) == (2, 2), f"Expected (S, S) = (2, 2), got {tuple(rollout.shape)}."
assert torch.allclose(rollout.sum(dim=-1), torch.ones(2)), (
    f"Each row should sum to 1, got {rollout.sum(dim=-1)}."
)
assert torch.allclose(rollout[1], torch.tensor([0.5, 0.5])), (
    f"In layer 0 position 1 takes half of word 0, and keeps it in layer 1: [0.5, 0.5], got {rollout[1]}."
)
assert not torch.allclose(rollout[0], torch.tensor([1.0, 0.0])), (
    "Position 0 hears of word 1 in layer 1. Is every layer counted?"
)
two_heads = torch.stack([torch.eye(2), 1 - torch.eye(2)])[None]  # (1, 2, 2, 2): itself, the other one
averaged = attention_rollout(two_heads)
assert torch.allclose(averaged, torch.tensor([[0.75, 0.25], [0.25, 0.75]])), (
    f"One head looks at the token itself, one at the other token: on average half and half. Got {averaged}."
)
still = attention_rollout(torch.zeros(3, 2, 4, 4))
assert torch.allclose(still, torch.eye(4)), (
    f"Where nobody attends to anything, everybody keeps what they have: the identity, got {still}."
)
print("attention_rollout: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start with the identity: below the first layer every position holds its own word. Then take one layer after the other.
#
# </details>
#
# <details><summary>Hint 2: which side</summary>
#
# Let R say what the positions hold, in terms of words. A layer with the matrix M makes each position a mixture of positions: row i of M times the rows of R. Is that M R or R M?
#
# </details>
#
# <details><summary>Hint 3: rows</summary>
#
# Sums with `keepdim=True` can be divided by. Check with an attention of zeros: without renormalising, each layer halves everything.
#
# </details>

# %% demo
figure, axes = plt.subplots(1, 2, figsize=(15, 6.5))
pictures = {"last layer, mean of its heads": attentions[-1].mean(dim=0),
            "rollout of all layers": attention_rollout(attentions)}
for ax, (title, weights) in zip(axes, pictures.items()):
    plot_attention(weights, tokens, tokens, ax=ax).set_title(title)
    own, on_special = weights.diagonal().mean(), weights[:, special].sum(dim=-1).mean()
    print(f"{title:30} on the token itself {own:.0%}, on [CLS] and [SEP] {on_special:.0%}")

# %% [markdown]
# The left picture is what is most often shown as "the attention of the model". In the rollout, a token that is read in *every* layer gains with every factor, so what special tokens attract piles up, and of its own word a position is sure to keep only (½)ᴸ: half in each layer.
#
# Rollout is a model of the model. It knows nothing of values, of the output projection, or of the feed-forward, and it believes that what is read from `[CLS]` is worth as much as what is read from a word. Abnar and Zuidema found that it agrees better than raw attention does with what happens when words are covered up, and they do not claim more.

# %% [markdown]
# ## Answers from a paragraph
#
# A model for **extractive question answering** reads a question and a paragraph as a pair, and returns two numbers for each token: how well an answer could *start* here, and how well it could *end* here (Devlin et al. 2019, section 4.2). What is missing is to pick the span. The best start and the best end, looked for apart, need not go together: the end may lie before the start, or a page behind it.
#
# ### Exercise 7: `best_span` (2 points)
#
# Return `(start, end)`, the places of the first and the last token of the span with the highest sum `start_logits[start] + end_logits[end]`, among all with start ≤ end < start + `max_length`. Logits may be negative, all of them.

# %% solution best-span
def best_span(start_logits: torch.Tensor, end_logits: torch.Tensor, max_length: int) -> tuple[int, int]:
    """Pick the span with the highest sum of its start and end logits.

    start_logits, end_logits: (S,). Returns: (start, end), with start <= end < start + max_length.
    """
    ### BEGIN SOLUTION
    totals = start_logits[:, None] + end_logits[None, :]  # (S, S): row start, column end
    allowed = torch.ones_like(totals, dtype=torch.bool).triu().tril(max_length - 1)
    best = totals.masked_fill(~allowed, -math.inf).argmax()
    start, end = divmod(best.item(), len(start_logits))
    return start, end
    ### END SOLUTION

# %% test best-span 2
starts, ends = torch.tensor([0.0, 3.0, 0.0, 5.0, 0.0]), torch.tensor([6.0, 0.0, 2.0, 0.0, 1.5])
span = best_span(starts, ends, max_length=3)
assert isinstance(span, tuple | list) and len(span) == 2, f"Expected a pair (start, end), got {span!r}."
assert tuple(span) != (3, 0), (
    "The best start is 3 and the best end is 0, but a span cannot end before it starts."
)
assert tuple(span) == (3, 4), (
    f"Here 5.0 + 1.5 is the highest sum that is allowed: expected (3, 4), got {tuple(span)}."
)
assert tuple(best_span(torch.tensor([4.0, 0.0, 0.0]), torch.tensor([0.0, 0.0, 4.0]), max_length=2)) != (0, 2), (
    "From token 0 to token 2 are three tokens: too many for max_length=2."
)
low = torch.tensor([-9.0, -3.0, -7.0])
assert tuple(best_span(low, low, max_length=1)) == (1, 1), (
    f"With max_length=1 a span is one token, here token 1; got {best_span(low, low, max_length=1)}."
)
print("best_span: the visible tests pass")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# There are S · S pairs. A table of all sums, starts down and ends across, is one line with broadcasting; two loops do as well.
#
# </details>
#
# <details><summary>Hint 2: what is allowed</summary>
#
# In the table, start ≤ end is a triangle and end < start + max_length a band. What must stand in all other cells, so that they never win?
#
# </details>
#
# <details><summary>Hint 3: row and column</summary>
#
# `argmax` without a dimension counts through the flattened table. `divmod(index, width)` gives row and column.
#
# </details>

# %% demo
import textwrap

from coursework.reading import PARAGRAPH, QUESTIONS, load_reader

reader = load_reader()
print(textwrap.fill(reader.note, 100), textwrap.fill(PARAGRAPH, 100), sep="\n\n")

# %% demo
for question in QUESTIONS:
    logits = reader.read(question, PARAGRAPH)
    first, last = best_span(logits.starts, logits.ends, max_length=reader.max_length)
    print(f"{question}\n    {logits.text(first, last)}")
    if logits.nearest:
        print(f"    in: {logits.nearest}")

# %% demo
logits = reader.read(QUESTIONS[0], PARAGRAPH)
picked = best_span(logits.starts, logits.ends, max_length=reader.max_length)
attention_plots.span(logits.tokens, logits.starts, logits.ends, picked, reader.about);

# %% [markdown]
# The line above the paragraph says which reader is at work. With a model that was trained on questions and answers, the spans are answers. Without one, the local model only knows how alike two pieces of text are. Then the nearest sentence is found, and in it your `best_span` picks the run of tokens that is most like the question: the logits are running totals of similarity, so that the sum for a span is what its tokens have in common with the question. This finds where to look, not what to say, and you can see the difference.

# %% [markdown]
# ## What attention does not explain
#
# A map shows where a head reads. It is tempting to conclude that what is read much is what matters. This can be tested on our own model, because we can **intervene**: silence one head, and see how many numbers are still spelt right. To silence head h, set to 0 the columns of `w_o` by which its K features enter the output.

# %% demo
def without_head(attention, head):
    """Return the weights of w_o, and silence one head of an attention."""
    width = attention.w_o.in_features // 4
    kept = attention.w_o.weight.detach().clone()
    with torch.no_grad():
        attention.w_o.weight[:, head * width : (head + 1) * width] = 0
    return kept


# %% demo
places = {"encoder": [layer.self_attention for layer in speller.encoder.layers],
          "decoder": [layer.self_attention for layer in speller.decoder.layers],
          "cross": [layer.cross_attention for layer in speller.decoder.layers]}
rows = []  # kind of attention, entropy on 4073, share of numbers spelt right without the head
for kind, layers in places.items():
    entropies = attention_entropy(maps[kind]).mean(dim=-1)  # (L, H)
    for attention, of_layer in zip(layers, entropies.tolist()):
        for head, spread in enumerate(of_layer):
            kept = without_head(attention, head)
            rows.append((kind, spread, exact(speller, test[:80])))
            with torch.no_grad():
                attention.w_o.weight.copy_(kept)
attention_plots.ablation(rows, exact(speller, test[:80]));

# %% [markdown]
# Each dot is a head: how sharp it looks on 4073 (left is sharper), and how many other numbers are spelt right without it. If a clear picture meant an important head, the dots would rise from left to right. Compare with the maps that you drew above: there are sharp heads, with pictures worth a slide, that nobody misses, because others do the same. And a blurred head may be needed: a mean of everything can be exactly what the next layer wants to know.
#
# People have argued about this, and it is worth knowing the argument:
#
# - Jain and Wallace (2019, *Attention is not Explanation*) replaced the attention of trained text classifiers by quite different weights, and found that the prediction often stayed the same.
# - Wiegreffe and Pinter (2019, *Attention is not not Explanation*, arXiv:1908.04626) answered that one cannot swap the weights of a model that was trained with its own, and proposed tests in which attention does fare better than chance would.
# - Clark et al. (2019) stay with what can be measured: which heads match which relation between words, on labelled text.
#
# A map is evidence about **where information could have come from**. That it came, and that it mattered, is another question, and the tool for that is an intervention.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In a sentiment model, the last layer puts 80 % of the weight of `[CLS]` on the word *not*. Does the model decide because of *not*?
#
# <details><summary>Answer</summary>
#
# One cannot know from this. By the last layer, the vector at *not* holds a mixture of the whole sentence, so the position is not the word. What is read may have a small value vector, or one that the output projection cancels. And half of the result came along the skip connection. Cover up *not*, or swap it for another word, and see what the model says then.
#
# </details>

# %% [markdown]
# ### Exercise 8: what a head does (1 point, written)
#
# Pick **one** head, of `bert` or of the number speller, and write 80 to 150 words:
#
# 1. which head it is, and what it seems to do;
# 2. your evidence: a score, with a number, *and* at least one sentence or number beyond the one with which you found it;
# 3. why this does not yet explain what the model answers, and what experiment would tell you more.

# %% written reading-attention 1 [markdown]
# **Question.** Which head of `bert` or of the number speller have you looked at, what does it seem to do, what is your evidence, and why does this not yet explain what the model answers?
#
# ### BEGIN SOLUTION
# Layer 2, head 9 of all-MiniLM-L6-v2 seems to link a word with the same word in the other sentence. On "The cat sat on the mat / The cat lay on the rug" words that stand once in each give 78 % of their weight to their counterparts; the median head gives 2 %. I found it on that pair, so I tried two others that I had written down before: bridge and dog, 58 %, again the highest of all heads; piano and sister, only 32 %. Words without a counterpart give most of their weight to [CLS].
#
# This shows where the head reads, not that the model needs it. The positions hold mixtures by then, other heads may do the same, and the output projection may ignore what is read. I would silence the head and measure how much the similarity of such pairs changes, against silencing a random head of the same layer.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# Half a point: one head is named, with a claim about what it does, a number that supports it, and a second example that was not used to find it. Half a point: says that weights show where is read, not what decides (positions are mixtures, values and projections count, other heads may do the same; one good reason is enough), and names an intervention that would tell more: silencing the head, covering or exchanging words, permuting weights. A head that does something else than it seemed to is as good a finding as any. "High attention means important" without a reservation: no second half.
# ### END MARK SCHEME

# %% [markdown]
# ## What you can do now
#
# You have looked into your own Transformer and into one that others have trained, found heads by a score and checked them by eye, and you know three ways in which a pretty picture misleads: colours that are stretched, positions taken for words, and reading taken for reasons.
#
# This is the last lesson. You have built every part of a Transformer, from the lookup of a token to the picture of what it attends to, and there is nothing left inside that is magic.
#
# **Read on**: Clark et al. 2019, arXiv:1906.04341, for what the heads of BERT do. Abnar and Zuidema 2020, arXiv:2005.00928, for rollout and attention flow. Vig 2019, arXiv:1906.05714, for bertviz. Jain and Wallace 2019, arXiv:1902.10186, with Wiegreffe and Pinter 2019, arXiv:1908.04626, for the argument.
