# ---
# jupyter:
#   coursework: {points: 20}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # 8 · Visualising attention
#
# You have built and trained the whole model. Now look inside it.
#
# **You will be able to**
#
# - collect and draw the attention weights of a running model;
# - find a head that does a given job, first by a score, then by eye;
# - pick the answer to a question from a paragraph;
# - silence heads, and say what an attention map shows and what it doesn't.
#
# **Time** about 115 minutes · **Difficulty** medium · **Before this** lessons 6 and 7
#
# **Read alongside** Vaswani et al. 2017, *Attention Is All You Need*, arXiv:1706.03762, section 4 and the figures of its appendix; Clark et al. 2019, *What Does BERT Look At?*, arXiv:1906.04341.

# %% [markdown] slide="subslide"
# ![Map of the Transformer. Source tokens pass through embeddings and positional encoding into the encoder; target tokens pass through embeddings and positional encoding into the decoder, which also reads the encoder's output; a linear layer turns the result into logits for the next token. Lesson 8 is highlighted: the small heat maps in the attention sublayers, which stand for their attention weights.](images/map_08.svg)

# %% [markdown] slide="subslide"
# **What is assessed** (20 points)
#
# | exercise | points | minutes | read about it in |
# |---|---|---|---|
# | `attention_maps` | 4 | 15 | Vaswani et al. 2017, section 3.2.3: three kinds of attention |
# | `plot_attention` | 3 | 10 | Vaswani et al. 2017, figures 3 to 5 |
# | `sentence_pair_attention` | 3 | 10 | Devlin et al. 2019, arXiv:1810.04805, section 3 |
# | `previous_token_score` | 1 | 5 | Clark et al. 2019, section 3.1 |
# | `attention_entropy` | 2 | 5 | Clark et al. 2019, section 3.3 |
# | `attention_rollout` | 3 | 12 | Abnar and Zuidema 2020, arXiv:2005.00928 |
# | `best_span` | 2 | 10 | Devlin et al. 2019, section 4.2 |
# | what a head does | 2 | 15 | written; Jain and Wallace 2019, arXiv:1902.10186 |
# | `silence_head` | stretch | 12 | Michel et al. 2019, arXiv:1905.10650 |
#
# In each exercise, replace `# YOUR CODE HERE` and the line `raise NotImplementedError()` with your answer, then run the visible tests below it (their code is folded; a click on it opens it). They are a first check; grading uses other sizes and numbers, and float64 as well as float32. If you are stuck, `skip("NAME")` puts a working version in place, and the exercise counts as unanswered.
#
# The next two cells load your Transformer from lesson 7 and a pretrained `bert`, or stand-ins where these are missing. Your grade doesn't depend on it.

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

# %% demo slide="skip"
from coursework import attention_plots, check, hand_in, plots, skip
from coursework.pretrained_bert import load_bert

plots.use_style()
bert, tokeniser, note = load_bert()  # or load_bert("bert-base-uncased"), if it is cached
print(note)

# %% [markdown] slide="slide"
# ## What a head can be for
#
# SmolLM2, a real language model with 270 heads, continues a text of made-up names that repeats itself. Then eight heads are silenced (each passes on only its average output), and it can no longer look up what came next the first time. At the end of this lesson you will find these eight.
#
# (`↵` stands for a line break.)

# %% demo
from coursework.smollm import silence, write

names = "Zorblat Quimfen Drosk Velmar Hilgan. Zorblat Quimfen"
# layer and head of each
eight = {(17, 3), (17, 4), (17, 5), (18, 6), (18, 7), (23, 2), (23, 7), (24, 4)}
write(names, "all heads", tokens=8)
write(names, "without eight", tokens=8, heads=silence(eight))

# %% [markdown]
# ## What an attention map is
#
# An attention map shows the **weights** of all queries as a matrix.
#
# 1. **A row is a query.** It sums to 1. A column can sum to anything.
# 2. **Row $i$ belongs to position $i$, not to token $i$.** Above the first layer, the vector at a position is already a mixture of several tokens.
# 3. **Each head of each layer has its own map.** Their mean need not look like any of them.
#
# ![An attention map as a grid of weights. Five queries down: sos, four, hundred, and, seven. Five keys across: 4, 0, 7, eos, pad. The row of the query hundred is framed: its weights 0.05, 0.45, 0.40, 0.10 and 0.00 sum to 1. The column of the key 0 is framed: it sums to 1.40, and can sum to anything. The column of padding is all zeros.](images/visualisation_map.svg)

# %% [markdown]
# ## Forward hooks
#
# A **forward hook** is a function that PyTorch calls after a module has run, with the module, its arguments and its result. Every attention module in our models returns `(output, weights)`, so a hook on it sees the weights. `register_forward_hook` returns a handle, and `handle.remove()` removes the hook.

# %% demo
attention = MultiHeadAttention(8, 2)
heard = []
handle = attention.register_forward_hook(lambda module, arguments, result: heard.append(result))

x = torch.randn(1, 3, 8)
attention(x, x, x)
handle.remove()
attention(x, x, x)  # the hook is gone

output, weights = heard[0]
print(f"recorded {len(heard)} call: output {tuple(output.shape)}, weights {tuple(weights.shape)}")

# %% [markdown] slide="slide"
# ### Exercise 1: `attention_maps` (4 points)
#
# Run a Transformer on one source and one target, and return the weights of all its attention modules: a dictionary with the keys `"encoder"`, `"decoder"` (its self-attention) and `"cross"`. *15 minutes, medium.*
#
# - `src` and `tgt` are a **batch of one**, and `tgt` is the decoder's input, so it already begins with `<sos>`. Drop the batch dimension in what you return.
# - Return the weights of the model as it really runs, **with its own masks**: padding is hidden, and so is the future. Who builds the masks?
# - **Turn dropout off** while you record. Afterwards, leave the model in the mode it came in, and leave **no hook** behind, even if the model raises an exception (use `try … finally`).
#
# The layers are `model.encoder.layers` and `model.decoder.layers`. Each has a `self_attention`, and the decoder's layers have a `cross_attention` as well.

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
    "The last two source tokens are <pad>, so no query may attend to them."
)
assert maps["decoder"].triu(diagonal=1).max() == 0, (
    "The decoder attends to later positions. Did you run it with the model's own masks?"
)
assert small.training, "The model came in train mode and should be left in train mode."
assert not any(part._forward_hooks for part in small.modules()), (
    "A hook is still registered. Keep its handle, and remove it."
)
other = attention_maps(small, torch.tensor([[8, 3, 7, 6, 5, 2]]), tgt)
assert not torch.allclose(other["encoder"], maps["encoder"]), (
    "A different source gives the same maps. Are these the old ones?"
)
with torch.no_grad():
    small.encoder.layers[2].self_attention.w_q.weight.mul_(3.0)
again = attention_maps(small, src, tgt)["encoder"]
changed = [layer for layer in range(3) if not torch.allclose(again[layer], maps["encoder"][layer])]
assert changed == [2], (
    f"With other weights in encoder layer 2, maps['encoder'][2] should change, and it alone; yours change in {changed}. "
    "Does layer 0 come first, and does each layer keep its own map?"
)
print("attention_maps: the visible tests pass")

# %% demo
check("attention-maps")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# There are three steps: register a hook on every attention module with [`register_forward_hook`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook), run the model once, and remove the hooks. If you call the model as in training, `model(src, tgt)`, it builds its own masks.
#
# </details>
#
# <details><summary>Hint 2: which module is it?</summary>
#
# A hook doesn't know under which key its result belongs. Make one hook function for each key, for example with a function that returns a function. Beware of a `lambda` in a loop: it looks up the loop variable when it is *called*, and by then the variable holds its last value.
#
# </details>
#
# <details><summary>Hint 3: nearly there</summary>
#
# The weights in `result[1]` have shape `(1, H, Tq, Tk)`. Take the only sample, append it to the list for its key, and use `torch.stack` on each list at the end. The layers run in order, so the lists are in order.
#
# </details>

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A translation model has 2 encoder layers and 2 decoder layers, with 4 heads each. It reads 5 tokens and writes 7. How many maps does one forward pass compute, and what are their shapes?
#
# <details><summary>Answer</summary>
#
# It computes 24. Each encoder layer has 4 maps of 5 by 5. Each decoder layer has 4 maps of 7 by 7, and 4 more of 7 by 5, where it attends to the source. Stacked, they are `(2, 4, 5, 5)`, `(2, 4, 7, 7)` and `(2, 4, 7, 5)`.
#
# </details>

# %% [markdown] slide="subslide"
# **Predict, then reveal.** A function registers a hook and never removes it. You call the function a hundred times. What happens?
#
# <details><summary>Answer</summary>
#
# Every forward pass now runs a hundred hooks, and each keeps tensors alive. The results stay correct, but the model gets slower and memory fills up, without any error message.
#
# </details>

# %% [markdown]
# ## A model to look inside
#
# Train a small Transformer, in a few seconds, on a task from lesson 7: `4 0 7` becomes *four hundred and seven*.

# %% demo
from coursework import tasks, training

learn, test = tasks.numbers(seed=0)
torch.manual_seed(0)
speller = Transformer(len(tasks.DIGITS), len(tasks.WORDS), d_model=48, num_heads=4,
                      num_layers=2, d_ff=96, dropout=0.0)
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
speller.eval();

# %% demo
@torch.no_grad()
def spell(model, src, steps=12):
    """Decode greedily: words (B, at most `steps`) for digits (B, S), in eval mode."""
    written, memory = torch.ones(len(src), 1, dtype=torch.long), model.encode(src)
    for _ in range(steps):
        word = model.decode(written, memory, src)[:, -1].argmax(dim=-1)
        written = torch.cat([written, word[:, None]], dim=1)
        if (written == 2).any(dim=1).all():  # <eos> in every row
            break
    return written[:, 1:]


def exact(model, numbers):
    """The share of numbers (N,) that are spelt out exactly."""
    src, tgt = tasks.translation(numbers)
    written = [tasks.say(row) for row in spell(model, src)]
    return sum(mine == tasks.say(right) for mine, right in zip(written, tgt)) / len(numbers)


print(f"unseen numbers spelt out exactly: {exact(speller, test[:400]):.1%}")
src, tgt = tasks.translation(torch.tensor([4073]))
read = shift_right(tgt)  # the decoder's input: <sos> and all words but the last
maps = attention_maps(speller, src, read)
digits = [tasks.DIGITS[i] for i in src[0]]
words = [tasks.WORDS[i] for i in read[0]]
print("source  ", *digits)
print("reads   ", *words)
print("predicts", tasks.say(spell(speller, src)[0]))
print({name: tuple(weights.shape) for name, weights in maps.items()})

# %% [markdown]
# The model spells out unseen numbers. `maps` holds its attention while it writes 4073.
#
# ## Drawing a map
#
# Four choices decide whether a picture of a map can be read:
#
# - Put **queries down and keys across**, with the first query at the top.
# - **Label every token**, even if there are many, and even if a token occurs twice.
# - Label rows with queries and columns with keys, which are **different tokens** in cross-attention.
# - Use **one colour scale, from 0 to 1**, for all pictures.

# %% demo
sharp = torch.eye(6).roll(1, dims=1) * 0.9 + 0.1 / 6
faint = 1 / 6 + 0.02 * (torch.eye(6) - 1 / 6)
attention_plots.scales({"one key gets 0.92": sharp, "all keys get 0.16 to 0.18": faint});

# %% [markdown]
# Both rows show the same two heads. With colours stretched from each head's smallest weight to its largest (top), both look equally sharp, but on the scale from 0 to 1 the right one turns out to attend to all keys almost equally.

# %% [markdown]
# ### Exercise 2: `plot_attention` (3 points)
#
# Draw one map with `sns.heatmap`, following the four rules. (seaborn is in scope as `sns`.) Draw on the Axes passed as `ax`, or create your own if there are none. Return the Axes. *10 minutes, easy.*

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
assert ax is left, f"Draw on the Axes passed as ax, and return them; got {ax!r:.60}."
assert not right.has_data(), "Something was drawn on Axes that were not passed as ax."
assert ax.collections, "There is no heat map on the Axes. Use sns.heatmap."
mesh = ax.collections[0]
assert mesh.get_array().shape == (3, 4), f"Expected 3 queries down and 4 keys across, got {mesh.get_array().shape}."
assert [label.get_text() for label in ax.get_xticklabels()] == ["the", "cat", "the", "rug"], (
    f"The columns should be labelled with all keys, got {[label.get_text() for label in ax.get_xticklabels()]}."
)
assert [label.get_text() for label in ax.get_yticklabels()] == ["sat", "on", "mat"], (
    f"The rows should be labelled with all queries, got {[label.get_text() for label in ax.get_yticklabels()]}."
)
assert mesh.get_clim() == (0, 1), (
    f"The colour scale should go from 0 to 1, but it goes from {mesh.get_clim()[0]} to {mesh.get_clim()[1]}."
)
heights = [ax.transData.transform((0, place))[1] for place in ax.get_yticks()]
assert heights == sorted(heights, reverse=True), "The first query should be at the top."
blank = plt.figure()  # without Axes, so plt.gca() makes new ones
own = plot_attention(torch.eye(30), [f"q{i}" for i in range(30)], [f"k{i}" for i in range(30)])
assert own is not None and own not in (left, right), (
    "Without ax, the function should create its own Axes and return them."
)
assert len(own.get_xticklabels()) == 30, f"All 30 keys should be labelled, but only {len(own.get_xticklabels())} are."
plt.close(own.figure)
plt.close(blank)
right.remove()
print("plot_attention: the visible tests pass")

# %% demo
check("plot-attention")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Each of the four rules is about an argument of [`sns.heatmap`](https://seaborn.pydata.org/generated/seaborn.heatmap.html). Look through its documentation: which of them are right by default?
#
# </details>
#
# <details><summary>Hint 2: labels</summary>
#
# `xticklabels` accepts `"auto"`, which leaves out labels that seem too close, a bool, a number, or a list. Only a list shows the tokens and keeps all of them.
#
# </details>
#
# <details><summary>Hint 3: your own Axes</summary>
#
# [`plt.subplots()`](https://matplotlib.org/stable/api/_as_gen/matplotlib.pyplot.subplots.html) returns a figure and Axes. seaborn draws on the Axes given by its argument `ax`. A tensor that requires a gradient has to be detached before you can draw it.
#
# </details>

# %% [markdown]
# **Predict, then reveal.** Your function is about to draw the cross-attention of the number speller. Each row is the word that the decoder has just read. To predict the next word, which digit would you attend to after *four*, and which after *seventy*?
#
# <details><summary>Answer</summary>
#
# After *four* comes *thousand*, which no single digit says: how many digits follow does. After *seventy* comes *three*, so the 3 is a good guess. Compare with layer 1 of the maps that follow.
#
# </details>

# %% demo
attention_plots.grid(maps["cross"], words, digits, draw=plot_attention, title="cross-attention");

# %% [markdown]
# In the cross-attention of layer 1, head 3 attends from `<sos>` to the 4, the digit to be spelt out next, from *four* to `<eos>`, from *and* to the 7, and from *seventy* to the 3. A map can't show why a weight is there. (On another machine, other heads may do this.)
#
# **Predict, then reveal.** Next come the maps of self-attention. Which weights of the decoder's maps are 0, and which are 1, whatever the model has learnt?
#
# <details><summary>Answer</summary>
#
# Above the diagonal, all are 0, because of the causal mask. Row 0 holds a single 1 at `<sos>`, because position 0 may attend only to itself.
#
# </details>

# %% demo
attention_plots.grid(maps["decoder"], words, words, draw=plot_attention, title="decoder self-attention");

# %% [markdown]
# Every map is blank above the diagonal, and in each, row 0 is a single 1 at `<sos>`.

# %% demo
attention_plots.grid(maps["encoder"], digits, digits, draw=plot_attention, title="encoder self-attention");

# %% [markdown]
# The encoder has no causal mask. Its maps have weight on both sides of the diagonal: digits attend to later ones, too.

# %% [markdown]
# ## All heads at once: bertviz
#
# **bertviz** (Vig 2019, arXiv:1906.05714) draws the weights of a map as lines between two columns of tokens. Its **head view** shows one layer, with one colour per head; darker lines mean larger weights.
#
# 1. Hover over a word on the left to see what it attends to.
# 2. Double-click a colour at the top to show that head alone.
# 3. Choose *Cross* in the menu: words on the left, digits on the right.

# %% demo
from coursework.attention_views import head_view, model_view

own = {f"{kind}_attention": list(weights[:, None]) for kind, weights in maps.items()}
own |= {"encoder_tokens": digits, "decoder_tokens": words}
head_view(**own, layer=1)

# %% [markdown]
# ## A pretrained model: BERT and MiniLM
#
# BERT is an encoder (Devlin et al. 2019), so every token can attend to every other. It reads **pairs** of sentences, laid out as one sequence:
#
# `[CLS] the cat sat on the mat [SEP] the cat lay on the rug [SEP]`
#
# `[CLS]` begins every input, and `[SEP]` ends each sentence. Each position also gets a **segment id** (`token_type_ids`): 0 up to the first `[SEP]`, and 1 after it. The tokeniser prepares all of this.
#
# Your model, **all-MiniLM-L6-v2**, has BERT's architecture. It was trained to imitate a larger model's attention (Wang et al. 2020, arXiv:2002.10957), and then tuned to compare sentences, so what Clark et al. (2019) found in BERT may not hold for it.
#
# <details><summary>More: where MiniLM comes from</summary>
#
# Of MiniLM's 12 layers, every second one was kept. The result was tuned on a billion pairs of texts, so that texts with similar meanings get similar vectors, among them questions and answers from SQuAD 2.0, Natural Questions, TriviaQA and SearchQA (model card of sentence-transformers/all-MiniLM-L6-v2). Clark et al. studied BERT-base, with 12 layers of 12 heads.
#
# </details>

# %% demo
encoding = tokeniser("The cat sat on the mat", "The cat lay on the rug", return_tensors="pt")
print("tokens", *tokeniser.convert_ids_to_tokens(encoding["input_ids"][0].tolist()))
for name, row in encoding.items():
    print(f"{name}\n   {row[0].tolist()}")

# %% [markdown]
# ### Exercise 3: `sentence_pair_attention` (3 points)
#
# Let the model read the pair, and return three things in the form that bertviz expects. *10 minutes, easy.*
#
# - `attentions`: **one** tensor `(L, H, S, S)`. With `output_attentions=True`, the model returns a tuple of L tensors `(1, H, S, S)`. (This works because `load_bert` uses `attn_implementation="eager"`. Faster implementations never store the full weights.)
# - `tokens`: the list of all S tokens as strings, special tokens included.
# - `sentence_b_start`: the index of the first token of sentence `b`.
#
# Pass the model **everything** that the tokeniser returns. One word can become several tokens, so count tokens, not words.

# %% solution sentence-pair-attention
def sentence_pair_attention(
    model: nn.Module, tokeniser, a: str, b: str
) -> tuple[torch.Tensor, list[str], int]:
    """Read two sentences as a pair, and return what bertviz draws.

    model, tokeniser: like those of the transformers library; a, b: two texts. Returns: attentions
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
handed = []  # all arguments of the model, positional or by name
watch = bert.register_forward_pre_hook(
    lambda _, given, named: handed.extend([*given, *named.values()]), with_kwargs=True
)
found = sentence_pair_attention(bert, tokeniser, "The cat sat on the mat", "The cat lay")
watch.remove()
assert isinstance(found, tuple | list) and len(found) == 3, f"Expected three things, got {found!r:.80}."
attentions, tokens, start = found
assert [*tokens] == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]", "the", "cat", "lay", "[SEP]"], (
    f"Expected the tokens of both sentences, special ones included, got {tokens}."
)
assert isinstance(attentions, torch.Tensor), f"Expected one tensor, got {type(attentions).__name__}."
sizes = (bert.config.num_hidden_layers, bert.config.num_attention_heads, 12, 12)
assert tuple(attentions.shape) == sizes, f"Expected (L, H, S, S) = {sizes}, got {tuple(attentions.shape)}."
assert torch.allclose(attentions.sum(dim=-1), torch.ones(sizes[:3]), atol=1e-4), (
    "Each row of weights should sum to 1."
)
assert start == 8, f"Sentence b begins at token 8, after [CLS], six tokens and [SEP]; got {start}."
segments = torch.tensor([[0] * 8 + [1] * 4])
assert not handed or any(isinstance(part, torch.Tensor) and torch.equal(part, segments) for part in handed), (
    "The model was not told which token belongs to which sentence. Did you pass everything the tokeniser returns?"
)
_, tokens, start = sentence_pair_attention(bert, tokeniser, "Catlike, the dog sat", "The rug")
assert start == tokens.index("[SEP]") + 1, (
    f"The tokens are {tokens}, so sentence b begins at token {tokens.index('[SEP]') + 1}; got {start}. "
    "Did you count words?"
)
print("sentence_pair_attention: the visible tests pass")

# %% demo
check("sentence-pair-attention")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The cell above the exercise prints nearly everything you need. `model(**encoding)` passes the entries of a dictionary as keyword arguments.
#
# </details>
#
# <details><summary>Hint 2: one tensor</summary>
#
# Two functions join a tuple of tensors: `torch.cat` along an existing dimension, `torch.stack` along a new one. These tensors have a batch dimension of size 1 that you don't need.
#
# </details>
#
# <details><summary>Hint 3: where b begins</summary>
#
# The segment ids tell you: they are 0 … 0 1 … 1. A list has a [method](https://docs.python.org/3/tutorial/datastructures.html#more-on-lists) that finds the first occurrence of a value.
#
# </details>

# %% [markdown]
# The **model view** shows every head as a tile, layers down and heads across. Click a tile to enlarge it. Look for slanted parallel lines (each token attends to its neighbour), for a fan that closes on one token (usually `[CLS]` or `[SEP]`), and for a grey haze. Which kind is the most common?

# %% demo
pair = ("The cat sat on the mat", "The cat lay on the rug")
attentions, tokens, start = sentence_pair_attention(bert, tokeniser, *pair)
model_view(list(attentions[:, None]), tokens, start, display_mode="light")

# %% [markdown]
# ## Finding a head by its score
#
# Most of the tiles of MiniLM are fans that close on `[CLS]`. If you look at every map, you tend to see what you hope to see, so compute a score for every head instead, and look only at the heads that score high.
#
# ### Exercise 4: `previous_token_score` (1 point)
#
# For every head of every layer, return the mean of the weights that position $i$ gives to position $i - 1$, over all $i \geq 1$. Position 0 has no previous token, so leave it out of the mean altogether. *5 minutes, easy.*

# %% solution previous-token-score
def previous_token_score(attentions: torch.Tensor) -> torch.Tensor:
    """Measure how much each head attends to the previous token.

    attentions: (L, H, S, S). Returns: (L, H), each the mean weight from i to i - 1, for i >= 1.
    """
    ### BEGIN SOLUTION
    return attentions.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)  # (L, H)
    ### END SOLUTION

# %% test previous-token-score 1
some = [[1.0, 0.0, 0.0], [0.8, 0.1, 0.1], [0.3, 0.4, 0.3]]
never = [[0.2, 0.6, 0.2], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]
scores = previous_token_score(torch.tensor([[some, never]]))  # one layer of two heads
assert isinstance(scores, torch.Tensor), f"Expected a tensor, got {type(scores).__name__}."
assert tuple(scores.shape) == (1, 2), (
    f"Expected one score for each head of each layer, (1, 2); got {tuple(scores.shape)}."
)
assert torch.allclose(scores[0, 0], torch.tensor(0.6)), (
    "In head 0, token 1 gives 0.8 to token 0, and token 2 gives 0.4 to token 1: "
    f"0.6 on average, got {scores[0, 0]:.3f}."
)
assert torch.allclose(scores[0, 1], torch.tensor(0.0)), (
    f"Head 1 never attends to the previous token, so its score is 0; got {scores[0, 1]:.3f}."
)
print("previous_token_score: the visible tests pass")

# %% demo
check("previous-token-score")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Write down a 4 by 4 matrix and mark the entries (1, 0), (2, 1) and (3, 2). What do they form?
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# `torch.diagonal` takes an `offset` and two dimensions, here the last two. Is the diagonal below the main one at offset 1 or −1?
#
# </details>

# %% demo
back = previous_token_score(attentions)  # (L, H)
layer, head = divmod(back.argmax().item(), back.size(1))
title = f"previous-token score: best is layer {layer}, head {head}, with {back.max():.0%}"
attention_plots.scores(back, title)
ax = plots.panel(8.8, 4.6)
plot_attention(attentions[layer, head], tokens, tokens, ax=ax).set_title(f"layer {layer}, head {head}");

# %% [markdown]
# The head with the highest score gives almost all of its weight to the previous token: in its map, the dark cells lie just below the diagonal. Clark et al. found such heads in BERT as well.
#
# Is there a head that links **the same word across the two sentences**? The score is the mean weight from one occurrence of a word to the other, in both directions, over all words that occur once in each sentence.

# %% demo
def same_word_score(attentions, tokens, start):
    """The mean weight (L, H) between words that occur once in each sentence, in both directions."""
    a, b = tokens[1 : start - 1], tokens[start:-1]
    shared = [word for word in a if a.count(word) == b.count(word) == 1]
    i, j = ([offset + side.index(word) for word in shared] for offset, side in ((1, a), (start, b)))
    return attentions[..., i + j, j + i].mean(dim=-1)  # (L, H)


same = same_word_score(attentions, tokens, start)
layer, head = divmod(same.argmax().item(), same.size(1))
title = f"same word, other sentence: best is layer {layer}, head {head}, with {same.max():.0%}"
attention_plots.scores(same, title)
ax = plots.panel(8.8, 4.6)
plot_attention(attentions[layer, head], tokens, tokens, ax=ax).set_title(f"layer {layer}, head {head}");

# %% [markdown]
# In the head with the highest score, *cat* attends to *cat* and *on* to *on*, in both directions. Words without a counterpart have to attend *somewhere*, here to `[CLS]`. In BERT, Clark et al. found `[SEP]` in this part, and call it a "no-op" (section 3.2).
#
# **A warning.** Among 72 heads, one will always look like something. A finding needs a second sentence, chosen *before* you look. Here is the head on two pairs that played no part in finding it.

# %% demo
pairs = [("The cat sat on the mat", "The cat lay on the rug"),
         ("A dog ran over the old bridge", "The bridge was old and the dog was not"),
         ("My sister plays the piano", "The piano belongs to my sister")]
for a, b in pairs:
    again = same_word_score(*sentence_pair_attention(bert, tokeniser, a, b))
    mine, rank = again[layer, head], (again > again[layer, head]).sum() + 1
    print(f"{mine:.0%}, rank {rank}; the median head has {again.median():.0%}:  {a}")

# %% [markdown]
# With the real model, the head keeps rank 1 on both new pairs, far above the median head. Its score falls, though: 78 % on the pair it was found on, 58 % and 32 % on the new ones. A score that made you pick a head is, on average, too high.

# %% [markdown]
# ## Sharp or spread out: entropy
#
# How many keys does a query attend to? The **entropy** of its weights, $H = -\sum_j w_j \ln w_j$, is 0 if one key gets all the weight, and $\ln N$ if $N$ keys get the same.
#
# So $\exp(H)$ is an effective number of keys. With the natural logarithm, the unit is the *nat*.
#
# | weights | $H$ in nats | $\exp(H)$: how many keys |
# |---|---|---|
# | 1, 0, 0, 0 | 0 | 1 |
# | 0.5, 0.5, 0, 0 | 0.69 | 2 |
# | 0.7, 0.1, 0.1, 0.1 | 0.94 | 2.6 |
# | 0.25, 0.25, 0.25, 0.25 | 1.39 | 4 |
#
# ### Exercise 5: `attention_entropy` (2 points)
#
# Return one entropy per query, for any number of leading dimensions. Weights can be **exactly 0**, as in a causal map. In the limit, $0 \cdot \ln 0 = 0$; in floating-point arithmetic, it is NaN. *5 minutes, easy.*

# %% solution attention-entropy
def attention_entropy(weights: torch.Tensor) -> torch.Tensor:
    """The entropy of each query's attention weights, in nats.

    weights: (..., Tq, Tk), rows sum to one. Returns: (..., Tq).
    """
    ### BEGIN SOLUTION
    logs = torch.where(weights > 0, weights, 1.0).log()  # ln 1 = 0 where nothing is read
    return -(weights * logs).sum(dim=-1)  # (..., Tq)
    ### END SOLUTION

# %% test attention-entropy 2
entropy = attention_entropy(torch.full((2, 3, 4), 0.25))
assert isinstance(entropy, torch.Tensor), f"Expected a tensor, got {type(entropy).__name__}."
assert tuple(entropy.shape) == (2, 3), f"Expected one number per query, shape (2, 3); got {tuple(entropy.shape)}."
assert torch.allclose(entropy, torch.full((2, 3), math.log(4))), (
    f"Four equal weights should give ln 4 = {math.log(4):.4f}, got {entropy[0, 0]:.4f}. Check the logarithm and the sign."
)
certain = attention_entropy(torch.eye(3))
assert not certain.isnan().any(), "0 · ln 0 came out as NaN, but should be 0."
assert torch.allclose(certain, torch.zeros(3), atol=1e-6), (
    f"If one key gets all the weight, the entropy is 0; got {certain}."
)
half = attention_entropy(torch.tensor([[0.5, 0.5, 0.0]]))
assert torch.allclose(half, torch.tensor([math.log(2)])), (
    f"Two equal weights and a 0 should give ln 2 = {math.log(2):.4f}, got {half.item():.4f}. Only the 0 adds nothing."
)
print("attention_entropy: the visible tests pass")

# %% demo
check("attention-entropy")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Only the zeros cause trouble, and they should contribute nothing. Either keep them away from the logarithm, or replace the result.
#
# </details>
#
# <details><summary>Hint 2: nearly there</summary>
#
# `torch.where(condition, a, b)` chooses element by element. Which number has the logarithm 0? If you replace the zeros *before* taking the logarithm, the gradient stays finite as well.
#
# </details>

# %% demo
entropy = attention_entropy(attentions)  # (L, H, S)
even = math.log(len(tokens))
attention_plots.by_layer(entropy.mean(dim=-1), "mean entropy (nats)", limit=even, name="equal: ln S");

# %% [markdown]
# Each dot is a head. Layer 0 is broad, as Clark et al. found (section 3.3), but so is layer 5.

# %% demo
special = [place for place, token in enumerate(tokens) if token in ("[CLS]", "[SEP]")]
attention_plots.by_layer(attentions[..., special].sum(dim=-1).mean(dim=-1), "weight on [CLS] and [SEP]");

# %% [markdown]
# In layers 1 to 4, more than half of the weight goes to the special tokens. In layers 6 to 10 of BERT, Clark et al. found as much on `[SEP]` alone (section 3.2). A head that gives all its weight to one of them has an entropy of 0, so low entropy doesn't mean that it carries information.

# %% [markdown]
# ## Through several layers: rollout
#
# A map is about the *positions of its own layer*, whose vectors have been mixed in every layer below. Abnar and Zuidema (2020) trace the mixing back to the tokens, with a simple model of a layer:
#
# - Average the heads of a layer: $A$ is the mean over heads.
# - Half of what a position holds arrives through the residual connection, unmixed: $\frac{1}{2} A + \frac{1}{2} I$.
# - Divide each row by its sum, so that it is a distribution again.
# - The layers follow one another, so **multiply** their matrices, with later ones on the left. So every path from a position at the top down to a token counts.
#
# ![Two layers of three positions, with the paths from position 2 at the top down to token 0. Position 2 above layer 1 takes 0.3, 0.2 and 0.5 from the three positions above layer 0, and these take 0.8, 0.3 and 0.2 from token 0. Beside it, the matrix of layer 1 times the matrix of layer 0 is the rollout. Position 2, token 0: 0.3 times 0.8 plus 0.2 times 0.3 plus 0.5 times 0.2 is 0.40.](images/visualisation_rollout.svg)

# %% [markdown]
# ### Exercise 6: `attention_rollout` (3 points)
#
# Return the rollout of all L layers: row $i$ gives the share of position $i$, at the top, that comes from each token. Renormalise the rows of $A/2 + I/2$, although they often sum to 1 already: the weights of a query that may attend to nothing are all 0. *12 minutes, medium.*

# %% solution attention-rollout
def attention_rollout(attentions: torch.Tensor) -> torch.Tensor:
    """Trace attention through all layers (Abnar and Zuidema 2020, "attention rollout").

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
    f"Position 1 takes half of token 0 in layer 0, and keeps it in layer 1: expected [0.5, 0.5], got {rollout[1]}."
)
assert not torch.allclose(rollout[0], torch.tensor([1.0, 0.0])), (
    "Position 0 attends to token 1 in layer 1, but your row 0 doesn't show it. Is every layer used?"
)
itself, other = torch.eye(2), 1 - torch.eye(2)  # the tokens that heads 0 and 1 attend to
two_heads = torch.stack([itself, other])[None]  # (1, 2, 2, 2)
averaged = attention_rollout(two_heads)
assert torch.allclose(averaged, torch.tensor([[0.75, 0.25], [0.25, 0.75]])), (
    f"One head attends to the token itself, the other to the other token: expected 0.75 and 0.25, got {averaged}."
)
still = attention_rollout(torch.zeros(3, 2, 4, 4))
assert torch.allclose(still, torch.eye(4)), (
    f"If all weights are 0, every position keeps its own token: expected the identity, got {still}."
)
print("attention_rollout: the visible tests pass")

# %% demo
check("attention-rollout")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# Start with the identity: below layer 0, every position holds its own token. Then apply one layer after the other.
#
# </details>
#
# <details><summary>Hint 2: which side</summary>
#
# Let R say what the positions hold, in terms of tokens. A layer with matrix M turns each position into a mixture of positions: row i of M times the rows of R. Is that M R or R M?
#
# </details>
#
# <details><summary>Hint 3: rows</summary>
#
# A sum with `keepdim=True` has the right shape to divide by. To check, use attention weights of zero: without renormalising, each layer halves everything.
#
# </details>

# %% demo
figure, axes = plt.subplots(1, 2, figsize=(12.2, 4.8))
pictures = {"last layer, mean of its heads": attentions[-1].mean(dim=0),
            "rollout of all layers": attention_rollout(attentions)}
for ax, (title, weights) in zip(axes, pictures.items()):
    plot_attention(weights, tokens, tokens, ax=ax).set_title(title)
    own, on_special = weights.diagonal().mean(), weights[:, special].sum(dim=-1).mean()
    print(f"{title:30} on the token itself {own:.0%}, on [CLS] and [SEP] {on_special:.0%}")

# %% [markdown]
# The left picture is what is most often shown as "the attention of the model". With the real model, 74 % of the rollout falls on the special tokens, against 30 % in the last layer alone: a token that gets some weight in *every* layer accumulates weight with each multiplication. The rollout ignores the values, the output projection and the feed-forward network. Abnar and Zuidema only claim that it agrees better than raw attention with what happens when tokens are masked out.

# %% [markdown]
# ## Answering questions about a paragraph
#
# A model for **extractive question answering** reads a question and a paragraph as a pair. For each token it returns two logits: how likely the answer is to *start* here, and how likely to *end* here (Devlin et al. 2019, section 4.2). What remains is to pick the span. You can't pick the best start and the best end separately, because the end may come before the start:
#
# ![The question Who kept the light, and the paragraph Tom Reed and later Ada Holm kept the light, with a start logit and an end logit for each token. The highest start logit, 3.0, is at Ada, and the highest end logit, 3.1, at Reed. Their sum is 6.1, but this pair ends before it starts. The best span is Tom Reed, with 2.9 + 3.1 = 6.0; the next best is Ada Holm, with 3.0 + 2.8 = 5.8. All other logits are negative.](images/visualisation_span.svg)
#
# The best start, *Ada*, and the best end, *Reed*, make no span. The best valid span is *Tom Reed*.
#
# ### Exercise 7: `best_span` (2 points)
#
# Return `(start, end)`, the indices of the first and last token of the best span. It has the highest sum `start_logits[start] + end_logits[end]` among all spans with start ≤ end < start + `max_length`. Logits can be negative, even all of them. *10 minutes, medium.*

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
starts, ends = torch.tensor([0.0, 4.5, 0.0, 5.0, 0.0]), torch.tensor([6.0, 0.0, 2.5, 0.0, 1.5])
span = best_span(starts, ends, max_length=3)
assert isinstance(span, tuple | list) and len(span) == 2, f"Expected a pair (start, end), got {span!r}."
assert tuple(span) != (3, 0), (
    "The best start is 3 and the best end is 0, but a span can't end before it starts."
)
assert tuple(span) == (1, 2), (
    f"The highest allowed sum is 4.5 + 2.5: expected (1, 2), got {tuple(span)}. Are all pairs compared?"
)
assert tuple(best_span(torch.tensor([4.0, 0.0, 0.0]), torch.tensor([0.0, 0.0, 4.0]), max_length=2)) != (0, 2), (
    "Tokens 0 to 2 are three tokens, too many for max_length=2."
)
low = torch.tensor([-9.0, -3.0, -7.0])
assert tuple(best_span(low, low, max_length=1)) == (1, 1), (
    f"With max_length=1, the span is a single token, here token 1; got {best_span(low, low, max_length=1)}."
)
print("best_span: the visible tests pass")

# %% demo
check("best-span")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# There are S · S pairs. With broadcasting, one line gives a table of all sums, with starts down and ends across. Two loops work as well.
#
# </details>
#
# <details><summary>Hint 2: what is allowed</summary>
#
# In this table, start ≤ end is a triangle, and end < start + max_length is a band. Which value in all other cells makes sure that they never win?
#
# </details>
#
# <details><summary>Hint 3: row and column</summary>
#
# Without a dimension, `torch.argmax` returns an index into the flattened table. `divmod(index, width)` turns it into row and column.
#
# </details>

# %% [markdown]
# ### A reader
#
# The reader is `bert` with a **span head**: one linear layer that turns each token's vector into a start logit and an end logit. Because this BERT was tuned to compare sentences, the linear layers of its top four layers also get **low-rank updates** (LoRA: Hu et al. 2021, arXiv:2106.09685): a matrix $W$ becomes $W + BA$, where $A$ has only 8 rows and $B$ only 8 columns.
#
# ![The reader from left to right: question and paragraph go through layers 0 and 1, then through layers 2 to 5, whose matrices are W + BA, then through the span head, which gives a start logit and an end logit for each token. Below, one such matrix: a square W, plus a narrow B with 8 columns times a flat A with 8 rows. W stays as it is. What we trained is orange: B and A in layers 2 to 5, and the span head.](images/visualisation_reader.svg)
#
# We trained only the orange parts, with `python -m tools.train_span_head` in the repository of this course, on synthetic paragraphs: a program writes facts such as "The red mill was built in 1653 by Clara Benford" and asks *who*, *when*, *where*, *what*, *why* and *how many*. The frozen MiniLM below them has also seen human questions, among them those of SQuAD 2.0.
#
# In one training example of five, the paragraph doesn't hold the answer, and the right span is the `[CLS]` token. `no_answer` is its sum of logits: if no span beats it, the reader gives no answer (Devlin et al. 2019, section 4.3).

# %% demo
import textwrap

from coursework.extractive_qa import (
    LONGEST, NONE, UNSEEN, WORKED, TooLongError, is_right, load_reader,
)

reader = load_reader()


def answer(question, paragraph):
    """The text of the span that your `best_span` picks, or that there is none."""
    logits = reader.read(question, paragraph)
    start, end = best_span(logits.starts, logits.ends, max_length=LONGEST)
    beaten = logits.starts[start] + logits.ends[end] < logits.no_answer
    return NONE if beaten else logits.text(start, end)


print(reader.note, textwrap.fill(WORKED.paragraph, 88), sep="\n\n")
for question in WORKED.questions:
    print(f"\n{question}\n    {answer(question, WORKED.paragraph)}", end="")

# %% [markdown]
# Here are the logits behind one answer.

# %% demo
question = "Who built the lighthouse?"
logits = reader.read(question, WORKED.paragraph)
picked = best_span(logits.starts, logits.ends, max_length=LONGEST)
attention_plots.span(logits.tokens, logits.starts, logits.ends, picked, "logit");

# %% [markdown]
# The start logits peak at *Ada* and the end logits at *Holm*; the shaded span has the highest sum.

# %% [markdown]
# **Your own paragraph.** Paste a paragraph and ask about it. Ask something that it doesn't say, too.

# %% demo
paragraph = """Marie Curie was born in Warsaw in 1867. She moved to Paris to study physics,
because women could not enrol at the university of Warsaw. In 1903 she shared the Nobel
Prize in Physics with her husband Pierre and Henri Becquerel."""
questions = ["Where was Marie Curie born?", "Why did she move to Paris?", "Who was her sister?"]
try:
    for question in questions:
        print(f"{question:32} {answer(question, paragraph)}")
except TooLongError as problem:
    print(problem)

# %% [markdown]
# ### How good is it?
#
# A fair test needs texts that had no influence on the reader. The next cell asks 48 questions about eight paragraphs that were written by hand before the training and used only for this measurement. Eight of the questions have no answer. An answer counts if it matches one of the accepted ones, apart from articles and prepositions.

# %% demo
asked = [(question, accepted, answer(question, passage.paragraph))
         for passage in UNSEEN for question, accepted in passage.questions.items()]
wrong = [each for each in asked if not is_right(each[2], each[1])]
print(f"{len(asked) - len(wrong)} of {len(asked)} questions answered correctly")
for name, kind in {"why": lambda question, accepted, given: question.startswith("Why"),
                   "no answer": lambda question, accepted, given: not accepted}.items():
    all_of_it, missed = (sum(kind(*each) for each in some) for some in (asked, wrong))
    print(f"    {name}: {all_of_it - missed} of {all_of_it}")
print("The others, with what would have been right in brackets")
for question, accepted, given in wrong:
    said, first = (textwrap.shorten(each, 32, placeholder=" …") for each in (given, (*accepted, NONE)[0]))
    print(f"{question} ({first})\n    answered: {said}")

# %% [markdown]
# The trained reader gets 36 of 48 right, or 75 %. The standard error is 6 points, so eight other paragraphs could easily give 65 % or 85 %.
#
# Only 2 of 6 *why* questions are answered: reasons come in more forms than the program that wrote the training data knows, and some answers are cut short ("tobacco" for "to buy tobacco").
#
# Where the paragraph has no answer, the reader says so in 6 of 8 cases.

# %% [markdown]
# ## What attention does not explain
#
# Does what gets much attention also matter? To test this on your own model, **intervene**: silence one head, and see how many numbers are still spelt out exactly.
#
# A silenced head gives the same output at every position: its mean, measured on 200 training numbers. (Zeros would give the layers above vectors unlike any they have seen, which alone could do damage.) `head_ablation.without` returns a copy of the model with some heads silenced.
#
# **Predict.** Does the sharpest head in your pictures matter most? And what happens if you silence *all* heads of a layer?

# %% demo
from coursework import head_ablation

sources, targets = tasks.translation(learn[:200])
means = head_ablation.mean_outputs(speller, sources, shift_right(targets))
rows = []  # kind of attention, layer, head, mean entropy on 4073, accuracy without the head
for kind, layer, head in head_ablation.heads(speller):
    spread = attention_entropy(maps[kind])[layer, head].mean().item()
    silenced = head_ablation.without(speller, kind, layer, [head], means)
    rows.append((kind, layer, head, spread, exact(silenced, test[:100])))
attention_plots.ablation([(kind, spread, left) for kind, _, _, spread, left in rows],
                         exact(speller, test[:100]));

# %% [markdown]
# Each dot is a head. Nearly all, sharp or not, can be silenced at little cost. The one that the model needs most is a broad head of the encoder: without it, only about two thirds of the numbers come out right. The sharpest of all, in the decoder, comes **only second**. If a sharp map always meant an important head, the dots would rise all the way from left to right.

# %% demo
print("silenced                 exactly right   lowest of its single heads")
for kind, layer in head_ablation.layers(speller):
    silenced = head_ablation.without(speller, kind, layer, range(4), means)
    lowest = min(left for *place, _, _, left in rows if place == [kind, layer])
    left = exact(silenced, test[:100])
    print(f"{kind:8} layer {layer}, all heads {left:14.0%} {lowest:22.0%}")

# %% [markdown]
# In decoder layer 1, you can silence any single head and lose next to nothing, but without all four, only about one number in eight comes out right. In encoder layer 1, without any of its heads, the accuracy stays close to 100 %. In the maps, both layers look equally busy. (One model, 100 test numbers: yours may differ.)

# %% [markdown]
# ## Is attention explanation?
#
# - Jain and Wallace (2019, *Attention is not Explanation*) replaced the attention weights of trained text classifiers with very different ones, and found that the prediction often stayed the same.
# - Wiegreffe and Pinter (2019, *Attention is not not Explanation*, arXiv:1908.04626) replied that weights can't be exchanged at will, because the model was trained with its own. Adversarial weights did worse in their tests when a simpler model had to use them.
# - Clark et al. (2019) stick to what can be measured: which heads match which relation between words, on labelled text.
#
# A map is evidence of **where information could have come from**. To find out whether it did, and whether it mattered, you have to intervene.

# %% [markdown] slide="subslide"
# **Predict, then reveal.** In a sentiment model, the last layer puts 80 % of the weight of `[CLS]` on the position of the word *not*. Does the model decide because of *not*?
#
# <details><summary>Answer</summary>
#
# You can't tell from the map. By the last layer, the vector at *not* is a mixture of the whole sentence, so the position isn't the word. Its value vector may be small, or the output projection may cancel it. And part of the result bypassed attention altogether, through the residual connection. Mask out *not*, or replace it with another word, and see what the model predicts then.
#
# </details>

# %% [markdown]
# ### Exercise 8: what a head does (2 points, written)
#
# Pick **one** head, of `bert` or of the number speller, and write 80 to 150 words. *15 minutes, medium.*
#
# 1. Say which head it is, and what it seems to do.
# 2. Give your evidence: a score, with a number, *and* at least one sentence or number other than the one with which you found it.
# 3. Say why this doesn't yet explain the model's output, and what experiment would tell you more. Say what you would compare it with.

# %% written reading-attention 2 [markdown]
# **Question.** Which head of `bert` or of the number speller did you look at, what does it seem to do, what is your evidence, and why does this not yet explain the model's output?
#
# ### BEGIN SOLUTION
# Layer 2, head 9 of all-MiniLM-L6-v2 seems to link a word to the same word in the other sentence. On "The cat sat on the mat / The cat lay on the rug", words that occur once in each give 78 % of their weight to their counterparts; the median head gives 2 %. I found the head on that pair, so I tested it on two others that I had written down before: bridge and dog, 58 %, again the highest of all heads; piano and sister, only 32 %. Words without a counterpart give most of their weight to [CLS].
#
# This shows where the head attends, not that the model needs it. By layer 2 the positions hold mixtures, other heads may do the same, and the output projection may ignore the result. I would silence the head and measure how much the similarity of such pairs changes, compared with silencing a random head of the same layer.
# ### END SOLUTION
# ### BEGIN MARK SCHEME
# One point for the evidence: half a point for naming one head, with a claim about what it does and a number that supports it; half a point for a second sentence or number that was not used to find it. One point for the limits: half a point for saying why weights show where the head attends, not what decides the output (positions are mixtures, values and projections count, other heads may do the same; one good reason is enough); half a point for an intervention that would tell more, with what it is compared with or what result is expected: silencing the head, masking or exchanging words, permuting weights. A head that turns out to do something else than it seemed to is as good a finding as any. An answer that says "high attention means important" without a reservation gets no more than the first point.
# ### END MARK SCHEME

# %% [markdown]
# ## Stretch: `silence_head`
#
# Now write the intervention yourself, as a **context manager**. *12 minutes, medium. Stretch: not counted.*
#
# ```python
# with silence_head(attention, head=2):
#     ...  # here, head 2 adds nothing to the output
# ```
#
# `attention` is a `MultiHeadAttention` with `num_heads` heads. Inside the `with` block, the given head contributes nothing to the output; the output bias and the other heads stay. Afterwards, everything is as it was, bit for bit, even if the block raises an exception.
#
# A function becomes a context manager with the decorator `contextmanager`: the part before `yield` runs when the block is entered, and the part after it when the block is left.

# %% solution silence-head
from contextlib import contextmanager


@contextmanager
def silence_head(attention: nn.Module, head: int):
    """Let one head of an attention add nothing to the output, inside a `with` block.

    attention: has num_heads, and w_o, a Linear(d_model, d_model).
    """
    ### BEGIN SOLUTION
    width = attention.w_o.in_features // attention.num_heads
    own = slice(head * width, (head + 1) * width)
    kept = attention.w_o.weight.detach().clone()
    try:
        with torch.no_grad():
            attention.w_o.weight[:, own] = 0
        yield
    finally:
        with torch.no_grad():
            attention.w_o.weight.copy_(kept)
    ### END SOLUTION

# %% test silence-head 0
torch.manual_seed(0)
some = MultiHeadAttention(6, 3).eval()
x = torch.randn(1, 4, 6)
nn.init.normal_(some.w_o.bias)
before, saved = some(x, x, x)[0], some.w_o.weight.detach().clone()
parts = []
for head in range(3):
    with silence_head(some, head):
        parts.append(before - some(x, x, x)[0])  # what the head adds
assert torch.allclose(sum(parts) + some.w_o.bias, before, atol=1e-5), (
    "What the three heads add, plus the output bias, should give the whole output."
)
assert parts[0].abs().max() > 0, "Silencing head 0 changes nothing."
alone = MultiHeadAttention(6, 3)
with torch.no_grad():
    alone.w_o.weight[:, 2:] = 0  # only head 0 still reaches the output
with silence_head(alone, 0):
    assert torch.allclose(alone(x, x, x)[0], alone.w_o.bias.expand(1, 4, 6)), (
        "Here only head 0 reaches the output, so without it the output bias should be all that is left."
    )
assert torch.equal(some.w_o.weight, saved), "After the block, w_o.weight is not what it was."
try:
    with silence_head(some, 1):
        raise KeyError("an error inside the block")
except KeyError:
    pass
assert torch.equal(some(x, x, x)[0], before), "After an exception in the block, the attention is not what it was."
assert some.w_o.weight.requires_grad, "After the block, w_o.weight should still require a gradient."
print("silence_head: the visible tests pass")

# %% demo
check("silence-head")

# %% [markdown]
# <details><summary>Hint 1: a nudge</summary>
#
# The outputs of the heads lie side by side when they enter `w_o`. The weight of a linear layer is `(out, in)`. Which part of it multiplies the features of head h?
#
# </details>
#
# <details><summary>Hint 2: afterwards</summary>
#
# Keep a *copy* of what you change. A statement after `yield` is skipped if the block raises an exception, unless it is in a `finally`.
#
# </details>

# %% [markdown] slide="slide"
# ## In a real model: find the heads that copy
#
# Give SmolLM2 25 random tokens, twice in a row. The second time, it can predict them only by looking them up in the first. A head that does this attends, from each token, to the one **after** its earlier occurrence: an *induction head* (Olsson et al. 2022, arXiv:2209.11895).
#
# It needs help from a head of an earlier layer that attends to the previous token. Your `previous_token_score` finds both kinds: the token after the earlier occurrence is 24 positions back, so if you shift the columns by 23, it stands where the previous token would be.

# %% demo
from coursework import smollm

torch.manual_seed(0)
once = torch.randint(1000, 40000, (1, 25))
start = torch.zeros(1, 1, dtype=torch.long)  # a first token for the heads that have nothing to read
twice = torch.cat([start, once, once], dim=1)  # (1, 51)
try:
    maps = smollm.attention_maps(twice)  # (30, 9, 51, 51)
except smollm.NotInstalledError as problem:
    print(problem)
else:
    copying = previous_token_score(maps.roll(23, dims=-1)[..., 26:, 26:])  # (30, 9), second time only
    kinds = {"previous token": previous_token_score(maps), "copying": copying}
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True)
    for ax, (title, scores) in zip(axes, kinds.items()):
        image = ax.imshow(scores, vmin=0, vmax=1, cmap="Blues", aspect="auto")
        ax.set(title=title, xlabel="head", ylabel="layer")
    figure.colorbar(image, ax=axes, label="mean weight")

# %% [markdown]
# A few of the 270 heads stand out. The two with the highest previous-token scores are in layers 11 and 16, and the heads that copy start in layer 17. This order fits the mechanism but doesn't prove it.

# %% [markdown] slide="slide"
# **Predict, then reveal.** Silence the eight best copying heads. How many of the random tokens does the model still predict the second time? What if you silence eight other heads, chosen at random?
#
# <details><summary>Answer</summary>
#
# With all heads it predicts about eight in ten. Without the eight, next to none; without eight others, as many as before. Silenced here means that a head passes on its mean over the positions. If it passed on zeros instead, the layers after it would get shorter vectors than they have ever seen, and that alone could do damage.
#
# </details>

# %% demo
def predicted(heads):
    """Return the share of the repeated tokens that the model predicts, with some heads silenced."""
    with_silent = smollm.Parts(heads=silence(heads))
    logits, _ = smollm.load()(twice, parts=with_silent)  # (1, 51, V)
    return (logits[0, 26:-1].argmax(-1) == twice[0, 27:]).float().mean().item()


if smollm.installed():
    order = copying.flatten().argsort(descending=True)
    shuffled = order[8:][torch.randperm(262, generator=torch.Generator().manual_seed(1))]
    best, others = ([divmod(number, 9) for number in some[:8].tolist()] for some in (order, shuffled))
    tried = {"all heads": [], "without the best eight": best, "without eight others": others}
    for name, heads in (tried | {"without (11, 1) and (16, 0)": [(11, 1), (16, 0)]}).items():
        print(f"{name}: {predicted(heads):.0%}")
    print("the best eight:", sorted(best))

# %% [markdown]
# Silencing these heads shows that the model needs them. Without (11, 1) and (16, 0) it is the mechanism that is tested: these are the two previous-token heads, so the heads that copy are all still there, but the model predicts only a quarter.

# %% [markdown] slide="skip"
# ## Where you stand
#
# The next cell lists the exercises of this lesson, and what is left. To hand in, save the notebook and run `hand_in()`.

# %% demo slide="skip"
check()

# %% [markdown]
# ## What you can do now
#
# You have found heads by a score, checked them by eye, and tested them by silencing them. And you know three ways in which a map misleads: stretched colours, positions mistaken for tokens, and attention mistaken for explanation.
#
# You have now built every part of a Transformer yourself.
#
# **Lesson 9** is for those who want more: your parts become a language model of today, which answers your questions.
#
# **Read on**: Clark et al. 2019, arXiv:1906.04341, on what the heads of BERT do. Vig 2019, arXiv:1906.05714, on bertviz. Michel et al. 2019, arXiv:1905.10650, on how many heads can be removed. Wang et al. 2023, arXiv:2211.00593, on mean ablation and on circuits of heads.

# %% [markdown]
# ## Glossary
#
# | term | meaning |
# |---|---|
# | attention map | the weights of one head, queries down and keys across |
# | forward hook | a function that PyTorch calls after a module has run |
# | segment id | says which of two sentences a token belongs to |
# | entropy | $-\sum_j w_j \ln w_j$: 0 if one key gets all the weight, $\ln N$ if $N$ keys get the same |
# | rollout | the product of all layers' averaged maps, each mixed half and half with the identity |
# | span head | a linear layer that gives each token a start logit and an end logit |
# | low-rank update | a trained correction $BA$ to a matrix, with few rows in $A$ and few columns in $B$ |
# | mean ablation | replacing a head's output with its mean, to see what depends on the head |
