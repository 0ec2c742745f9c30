"""Known mistakes of `DecoderLayer`, as edits of the model answer."""

from autograder.judge.exercise import Exercise

A1 = "attended, _ = self.self_attention(x, x, x, self_mask)"
R1 = "x = self.norm1(x + self.dropout(attended))"
A2 = "read, _ = self.cross_attention(x, memory, memory, memory_mask)"
R2 = "x = self.norm2(x + self.dropout(read))"
A3 = "changed = self.feed_forward(x)"
R3 = "return self.norm3(x + self.dropout(changed))"
NORM2, NORM3 = "self.norm2 = LayerNorm(d_model)", "self.norm3 = LayerNorm(d_model)"
CROSS = "self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout)"
FEED = "FeedForward(d_model, d_ff, dropout)"
RATE = "self.dropout = nn.Dropout(dropout)"
LINE = "\n        "


def first(query: str, key: str, value: str, mask: str = "self_mask") -> str:
    """Return the line of the self-attention with other arguments."""
    return f"attended, _ = self.self_attention({query}, {key}, {value}, {mask})"


def second(query: str, key: str, value: str, mask: str = "memory_mask") -> str:
    """Return the line of the cross-attention with other arguments."""
    return f"read, _ = self.cross_attention({query}, {key}, {value}, {mask})"


def add_layer_mistakes(exercise: Exercise) -> None:
    """Declare them all."""
    _about_masks(exercise)
    _about_wiring(exercise)
    _about_published_wirings(exercise)
    _about_residuals(exercise)
    _about_norms(exercise)
    _about_dropout(exercise)
    _about_parts(exercise)


def _about_masks(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("self-mask-unused", "The self-attention gets no mask: every target token sees the future",
            "`forward` takes two masks. Where does `self_mask` go?",
            edits={A1: first("x", "x", "x", "None")})  # fmt: skip
    mistake("memory-mask-unused", "The cross-attention gets no mask: the padding of the source is read",
            "`forward` takes two masks. Where does `memory_mask` go?",
            edits={A2: second("x", "memory", "memory", "None")})  # fmt: skip
    mistake("no-masks", "Neither attention gets its mask",
            "`forward` takes two masks. Where do they go?",
            edits={A1: first("x", "x", "x", "None"), A2: second("x", "memory", "memory", "None")})  # fmt: skip
    mistake("masks-exchanged", "The two masks are exchanged",
            "Whose tokens are the keys of each attention? Their mask is as wide as they are many.",
            edits={A1: first("x", "x", "x", "memory_mask"), A2: second("x", "memory", "memory", "self_mask")})  # fmt: skip
    mistake("target-mask-on-memory", "The target's mask goes into the cross-attention as well",
            "The whole source is known before the first word is written.",
            edits={A2: second("x", "memory", "memory", "self_mask")},
            also=[{A2: second("x", "memory", "memory", "self_mask if memory_mask is None else memory_mask & self_mask")}])  # fmt: skip
    rectangle = "torch.ones(x.size(1), memory.size(1), dtype=torch.bool).tril()"
    mistake("causal-cross-attention", "The cross-attention is made causal: early target tokens see only the beginning of the source",
            "Which outputs should change when the last source token does?",
            edits={A2: second("x", "memory", "memory", f"{rectangle} if memory_mask is None else memory_mask & {rectangle}")},
            also=[{A2: second("x", "memory", "memory", rectangle)}])  # fmt: skip
    mistake("source-mask-on-target", "The source's mask goes into the self-attention as well",
            "The keys of the self-attention are target tokens.",
            edits={A1: first("x", "x", "x", "memory_mask")})  # fmt: skip
    mistake("always-causal", "A causal mask is built in, whatever mask is given",
            "The caller decides by the mask; without one every token reads all of the target.",
            edits={A1: first("x", "x", "x", "causal_mask(x.size(1)) if self_mask is None else self_mask & causal_mask(x.size(1))")},
            also=[{A1: first("x", "x", "x", "causal_mask(x.size(1)) if self_mask is None else self_mask")},
                  {A1: first("x", "x", "x", "causal_mask(x.size(1))")}])  # fmt: skip
    mistake("masks-inverted", "True and False of the masks are exchanged",
            "True = may attend, here and in MultiHeadAttention.",
            edits={A1: first("x", "x", "x", "None if self_mask is None else ~self_mask"),
                   A2: second("x", "memory", "memory", "None if memory_mask is None else ~memory_mask")})  # fmt: skip
    mistake("masks-required", "It does not work without masks",
            "Both masks may be None: what does your line do then?",
            edits={A1: first("x", "x", "x", "self_mask.bool()"),
                   A2: second("x", "memory", "memory", "memory_mask.bool()")})  # fmt: skip


def _about_wiring(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("source-ignored", "The second attention reads the target again: the source has no effect",
            "Change the memory. Which outputs move?",
            edits={A2: second("x", "x", "x", "None")},
            also=[{A2: second("x", "x", "x", "self_mask")}, {A2: second("x", "x", "x")}])  # fmt: skip
    mistake("roles-exchanged", "Queries come from the memory, keys and values from the target: the roles are exchanged",
            "Each query gets one output, and the layer needs one for each target token.",
            edits={A2: second("memory", "x", "x", "None")},
            also=[{A2: second("memory", "x", "x", "self_mask")}, {A2: second("memory", "x", "x")}])  # fmt: skip
    mistake("values-from-target", "The values of the cross-attention come from the target",
            "What is read is the source: its keys, and what belongs to them.",
            edits={A2: second("x", "memory", "x")})  # fmt: skip
    mistake("keys-from-target", "The keys of the cross-attention come from the target",
            "What is read is the source: its keys, and what belongs to them.",
            edits={A2: second("x", "x", "memory")})  # fmt: skip
    mistake("memory-asks-itself", "The cross-attention runs over the memory alone: queries too come from there",
            "Who asks? The tokens that are being written.",
            edits={A2: second("memory", "memory", "memory")})  # fmt: skip
    mistake("queries-before-norm", "The queries of the cross-attention are what the self-attention put out, before add and norm",
            "Follow the arrow into the second box of the figure: where does it start?",
            edits={A2: second("attended", "memory", "memory")},
            also=[{A2: second("attended", "memory", "memory"), R2: "x = self.norm2(attended + self.dropout(read))"}])  # fmt: skip
    mistake("queries-from-input", "The queries of the cross-attention are the layer's input, as if the first sub-layer were not there",
            "Each sub-layer works on the result of the one before.",
            edits={A1: f"start = x{LINE}{A1}", A2: second("start", "memory", "memory")})  # fmt: skip
    mistake("cross-attention-first", "The cross-attention comes before the self-attention",
            "Read the figure from bottom to top.",
            edits={A1: second("x", "memory", "memory", "mask=memory_mask"), R1: "x = self.norm1(x + self.dropout(read))",
                   A2: first("x", "x", "x"), R2: "x = self.norm2(x + self.dropout(attended))"},
            also=[{A1: second("x", "memory", "memory", "mask=memory_mask"), R1: "x = self.norm2(x +  self.dropout(read))",
                   A2: first("x", "x", "x"), R2: "x = self.norm1(x + self.dropout(attended))"}])  # fmt: skip
    mistake("no-cross-attention", "There is no cross-attention at work: the source has no effect",
            "Three sub-layers; the second reads the memory.",
            edits={A2: "read = torch.zeros_like(x)"})  # fmt: skip
    mistake("feed-forward-unused", "What the feed-forward puts out is not used",
            "Which parameters would get no gradient?",
            edits={R3: "return self.norm3(x)"}, also=[{R3: "return self.norm3(x + self.dropout(read))"}])  # fmt: skip
    mistake("feed-forward-before-norm", "The feed-forward works on what the cross-attention put out, before add and norm",
            "Each sub-layer works on the result of the norm before it.", edits={A3: "changed = self.feed_forward(read)"})  # fmt: skip


def _about_published_wirings(exercise: Exercise) -> None:
    mistake = exercise.misconception
    value = "value = self.norm1({0} + self.dropout(attended))"
    mistake("self-attention-on-memory", "The self-attention runs on the memory: no word sees the words before it",
            "Change the first target token. Which outputs move, and which should?",
            edits={A1: first("memory", "memory", "memory"), R1: value.format("memory"),
                   A2: second("x", "memory", "value"), R2: "x = self.norm2(value + self.dropout(read))"},
            also=[{A1: first("memory", "memory", "memory"), R1: value.format("memory"),
                   A2: second("x", "memory", "value", "self_mask"), R2: "x = self.norm2(value + self.dropout(read))"},
                  {A1: first("memory", "memory", "memory"), R1: value.format("memory"),
                   A2: second("x", "memory", "value")},
                  {A1: first("memory", "memory", "memory"), R1: value.format("memory"),
                   A2: second("x", "value", "value")},
                  {A1: first("memory", "memory", "memory")},
                  {A1: first("x", "memory", "memory")}])  # fmt: skip
    mistake("values-attended-by-memory", "The memory asks and the target answers: the second attention has queries and keys from the memory",
            "Change the last target token. Does the first output move? It must not.",
            edits={R1: value.format("x"), A2: second("memory", "memory", "value"),
                   R2: "x = self.norm2(value + self.dropout(read))"},
            also=[{R1: value.format("x"), A2: second("memory", "memory", "value", "self_mask"),
                   R2: "x = self.norm2(value + self.dropout(read))"},
                  {R1: value.format("x"), A2: second("memory", "memory", "value", "None"),
                   R2: "x = self.norm2(value + self.dropout(read))"},
                  {A2: second("memory", "memory", "x")}])  # fmt: skip


def _about_residuals(exercise: Exercise) -> None:
    mistake = exercise.misconception
    gone = "Each sub-layer's result is added to what went into it."
    mistake("residual-from-memory", "The residual around the cross-attention adds the memory, not the decoder's own vectors",
            "How many vectors has the memory, and how many are needed?",
            edits={R2: "x = self.norm2(memory + self.dropout(read))"})  # fmt: skip
    mistake("residual-from-input", "The residual around the cross-attention starts from the layer's input, not from norm1",
            "Each sub-layer is added to what went into it.",
            edits={A1: f"start = x{LINE}{A1}", R2: "x = self.norm2(start + self.dropout(read))"})  # fmt: skip
    mistake("last-residual-from-input", "The residual around the feed-forward starts from the layer's input, not from norm2",
            "Each sub-layer is added to what went into it.",
            edits={A1: f"start = x{LINE}{A1}", R3: "return self.norm3(start + self.dropout(changed))"})  # fmt: skip
    mistake("last-residual-from-first", "The residual around the feed-forward starts from norm1: the cross-attention is jumped over",
            "Each sub-layer is added to what went into it.",
            edits={A2: f"start = x{LINE}{A2}", R3: "return self.norm3(start + self.dropout(changed))"})  # fmt: skip
    mistake("no-residuals", "There are no residuals: a sub-layer's result replaces its input", gone,
            edits={R1: "x = self.norm1(self.dropout(attended))", R2: "x = self.norm2(self.dropout(read))",
                   R3: "return self.norm3(self.dropout(changed))"})  # fmt: skip
    mistake("no-first-residual", "There is no residual around the self-attention", gone,
            edits={R1: "x = self.norm1(self.dropout(attended))"})  # fmt: skip
    mistake("no-second-residual", "There is no residual around the cross-attention", gone,
            edits={R2: "x = self.norm2(self.dropout(read))"})  # fmt: skip
    mistake("no-third-residual", "There is no residual around the feed-forward", gone,
            edits={R3: "return self.norm3(self.dropout(changed))"})  # fmt: skip
    mistake("residual-of-itself", "A sub-layer's result is added to itself, not to what went in",
            "If you overwrite x with the result, what is left to add?",
            edits={R1: "x = attended\n        x = self.norm1(x + self.dropout(x))",
                   R2: "x = read\n        x = self.norm2(x + self.dropout(x))"},
            also=[{A3: "x = changed = self.feed_forward(x)"}, {A2: second("x", "memory", "memory").replace("read", "x", 1) + f"{LINE}read = x"}])  # fmt: skip


def _about_norms(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("pre-norm", "This is pre-norm: a good design, but post-norm is asked for",
            "norm(x + dropout(sublayer(x))): the norm comes last.",
            edits={A1: f"normed = self.norm1(x){LINE}{first('normed', 'normed', 'normed')}", R1: "x = x + self.dropout(attended)",
                   A2: second("self.norm2(x)", "memory", "memory"), R2: "x = x + self.dropout(read)",
                   A3: "changed = self.feed_forward(self.norm3(x))", R3: "return x + self.dropout(changed)"})  # fmt: skip
    mistake("norm-before-residual", "Only the sub-layer's result is normed; the residual is added afterwards",
            "norm(x + …): the sum goes through the norm.",
            edits={R1: "x = x + self.norm1(self.dropout(attended))", R2: "x = x + self.norm2(self.dropout(read))",
                   R3: "return x + self.norm3(self.dropout(changed))"})  # fmt: skip
    mistake("no-norms", "There are no norms at work", "Three norms, one after each addition.",
            edits={R1: "x = x + self.dropout(attended)", R2: "x = x + self.dropout(read)", R3: "return x + self.dropout(changed)"})  # fmt: skip
    skipped = "Each of the three additions is followed by a norm of its own."
    mistake("first-norm-skipped", "norm1 is not applied", skipped, edits={R1: "x = x + self.dropout(attended)"})  # fmt: skip
    mistake("second-norm-skipped", "norm2 is not applied", skipped, edits={R2: "x = x + self.dropout(read)"})  # fmt: skip
    mistake("last-norm-skipped", "norm3 is not applied", skipped, edits={R3: "return x + self.dropout(changed)"})  # fmt: skip
    mistake("one-norm-for-all", "One norm serves all three places",
            "Three norms with weights of their own: each is used once.",
            edits={"self.norm2(x": "self.norm1(x", "self.norm3(x": "self.norm1(x"},
            also=[{NORM2: "self.norm2 = self.norm1", NORM3: "self.norm3 = self.norm1"}])  # fmt: skip
    mistake("two-norms-for-three", "norm2 serves twice, and norm3 is not used",
            "Three norms with weights of their own: each is used once.",
            edits={"self.norm3(x": "self.norm2(x"}, also=[{NORM3: "self.norm3 = self.norm2"}])  # fmt: skip
    mistake("first-norm-twice", "norm1 serves twice, and norm2 is not used",
            "Three norms with weights of their own: each is used once.",
            edits={"self.norm2(x": "self.norm1(x"}, also=[{NORM2: "self.norm2 = self.norm1"}])  # fmt: skip
    mistake("norms-in-another-order", "The norms are used in another order than norm1, norm2, norm3",
            "norm1 belongs to the self-attention, norm2 to the cross-attention, norm3 to the feed-forward.",
            edits={R2: "x = self.norm3(x + self.dropout(read))", R3: "return self.norm2(x + self.dropout(changed))"},
            also=[{R1: "x = self.norm2(x + self.dropout(attended))", R2: "x = self.norm1(x + self.dropout(read))"}])  # fmt: skip
    mistake("memory-normed", "The memory is normed before it is read",
            "The memory comes out of a norm of the encoder; it is used as it is.",
            edits={A2: second("x", "self.norm2(memory)", "self.norm2(memory)")})  # fmt: skip


def _about_dropout(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("dropout-missing", "Nothing is dropped of what the sub-layers put out",
            "norm(x + dropout(sublayer(x))): one word of it is missing.",
            edits={"self.dropout(attended)": "attended", "self.dropout(read)": "read", "self.dropout(changed)": "changed"},
            also=[{"self.dropout(attended)": "attended"}, {"self.dropout(read)": "read"}, {"self.dropout(changed)": "changed"}])  # fmt: skip
    mistake("dropout-after-norm", "Dropout acts after the norm, on the main path",
            "What is dropped is the sub-layer's result, before it is added.",
            edits={R1: "x = self.dropout(self.norm1(x + attended))", R2: "x = self.dropout(self.norm2(x + read))",
                   R3: "return self.dropout(self.norm3(x + changed))"})  # fmt: skip
    mistake("dropout-on-sum", "Dropout acts on the sum, residual included",
            "What is dropped is the sub-layer's result, before it is added.",
            edits={"x + self.dropout(attended)": "self.dropout(x + attended)", "x + self.dropout(read)": "self.dropout(x + read)",
                   "x + self.dropout(changed)": "self.dropout(x + changed)"})  # fmt: skip
    mistake("feed-forward-dropout", "The dropout is not passed on to the feed-forward",
            "FeedForward takes a dropout of its own; what does it take if you say nothing?",
            edits={FEED: "FeedForward(d_model, d_ff)"}, also=[{FEED: "FeedForward(d_model, d_ff, 0.0)"}])  # fmt: skip
    mistake("dropout-fixed", "The argument dropout is ignored",
            "Build a layer with dropout=0.5 and print it.",
            edits={RATE: "self.dropout = nn.Dropout(0.1)"},
            also=[{RATE: "self.dropout = nn.Dropout(0.1)", FEED: "FeedForward(d_model, d_ff)"}])  # fmt: skip
    mistake("dropout-in-eval", "Dropout is live in eval mode too",
            "`F.dropout(x, p)` does not know the mode; nn.Dropout does.",
            edits={"self.dropout(attended)": "F.dropout(attended, self.dropout.p)", "self.dropout(read)": "F.dropout(read, self.dropout.p)",
                   "self.dropout(changed)": "F.dropout(changed, self.dropout.p)"},
            also=[{"self.dropout(changed)": "F.dropout(changed, self.dropout.p)"}])  # fmt: skip


def _about_parts(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("one-attention-for-both", "One attention serves as self-attention and as cross-attention",
            "Two attentions with weights of their own.",
            edits={CROSS: "self.cross_attention = self.self_attention"},
            also=[{"self.cross_attention(": "self.self_attention("}])  # fmt: skip
    mistake("attentions-exchanged", "The two attentions have each other's weights",
            "Which attribute reads the memory?",
            edits={A1: A1.replace("self.self_attention", "self.cross_attention"),
                   A2: A2.replace("self.cross_attention", "self.self_attention")})  # fmt: skip
    mistake("heads-ignored", "The number of heads is ignored",
            "Print `layer.self_attention` for 2 and for 4 heads, or compare with PyTorch's layer.",
            edits={"(d_model, num_heads, dropout)": "(d_model, 1, dropout)"})  # fmt: skip
    mistake("d-ff-ignored", "The width of the feed-forward is 4 · d_model, whatever d_ff says",
            "Print `layer.feed_forward` for another d_ff.", edits={FEED: "FeedForward(d_model, 4 * d_model, dropout)"})  # fmt: skip
    mistake("pair-returned", "Output and weights are both returned",
            "The layer returns its output alone.", edits={R3: f"{R3}, _"})  # fmt: skip
    mistake("memory-returned", "The memory is returned beside the output",
            "Each layer reads the same memory; there is no need to hand it on.", edits={R3: f"{R3}, memory"})  # fmt: skip
    mistake("in-place", "The caller's x is changed in place",
            "`x += …` writes into the tensor you were given; `x = x + …` makes a new one.",
            edits={R1: f"x += self.dropout(attended){LINE}x = self.norm1(x)"})  # fmt: skip
