"""Known mistakes of `EncoderLayer`, as edits of the model answer."""

from autograder.judge.exercise import Exercise

ATTEND = "attended, _ = self.self_attention(x, x, x, mask)"
ADD1 = "x = self.norm1(x + self.dropout(attended))"
FEED = "transformed = self.feed_forward(x)"
ADD2 = "return self.norm2(x + self.dropout(transformed))"
COMMENT = "  # (B, S, D)"
BODY = f"{ATTEND}{COMMENT}\n        {ADD1}\n        {FEED}{COMMENT}\n        {ADD2}"
NEW = "\n        "


def add_mistakes(exercise: Exercise) -> None:
    """Declare them all."""
    _about_skips(exercise)
    _about_norms(exercise)
    _about_order(exercise)
    _about_masks(exercise)
    _about_dropout(exercise)
    _about_parts(exercise)


def _about_skips(exercise: Exercise) -> None:
    mistake = exercise.misconception
    skip = "norm(x + dropout(sublayer(x))): look for the x that is added, in both sublayers."
    mistake("no-skips", "There are no skip connections", skip,
            edits={ADD1: "x = self.norm1(self.dropout(attended))", ADD2: "return self.norm2(self.dropout(transformed))"})  # fmt: skip
    mistake("no-first-skip", "There is no skip connection around the attention", skip,
            edits={ADD1: "x = self.norm1(self.dropout(attended))"})  # fmt: skip
    mistake("no-second-skip", "There is no skip connection around the feed-forward network", skip,
            edits={ADD2: "return self.norm2(self.dropout(transformed))"})  # fmt: skip
    lost = "A name that was overwritten no longer holds the input: print what you add to what."
    mistake("doubled", "Each sublayer's output is added to itself: the input was overwritten before", lost,
            edits={ADD1: f"x = self.dropout(attended){NEW}x = self.norm1(x + x)",
                   FEED: "transformed = x = self.feed_forward(x)"})  # fmt: skip
    mistake("second-skip-from-x", "The feed-forward network's output is added to the layer's input, not to norm1's output",
            "The second sublayer begins where the first ended: its x is what norm1 gave.",
            edits={ATTEND: f"start = x{NEW}{ATTEND}", ADD2: "return self.norm2(start + self.dropout(transformed))"})  # fmt: skip
    mistake("second-skip-from-attention", "The feed-forward network's output is added to the attention's output, not to norm1's",
            "The second sublayer begins where the first ended: its x is what norm1 gave.",
            edits={ADD2: "return self.norm2(attended + self.dropout(transformed))"})  # fmt: skip
    mistake("both-added", "The layer's input is added a second time, after the feed-forward network",
            "Two sums with two terms each.",
            edits={ATTEND: f"start = x{NEW}{ATTEND}", ADD2: "return self.norm2(start + x + self.dropout(transformed))"})  # fmt: skip
    mistake("feed-forward-lost", "What the feed-forward network returns is not used",
            "Which parameters get no gradient?", edits={ADD2: "return self.norm2(x)"})  # fmt: skip
    mistake("attention-lost", "What the attention returns is not used",
            "Which parameters get no gradient?", edits={ADD1: "x = self.norm1(x)"})  # fmt: skip


def _about_norms(exercise: Exercise) -> None:
    mistake = exercise.misconception
    post = "The paper's layer is norm(x + sublayer(x)): the norm comes after the sum, and around all of it."
    pre1 = f"normed = self.norm1(x){NEW}attended, _ = self.self_attention(normed, normed, normed, mask)"
    mistake("pre-norm", "This is pre-norm: x + sublayer(norm(x)). Valid, but not the layer of the paper", post,
            edits={ATTEND: pre1, ADD1: "x = x + self.dropout(attended)", FEED: "transformed = self.feed_forward(self.norm2(x))",
                   ADD2: "return x + self.dropout(transformed)"})  # fmt: skip
    mistake("pre-norm-adds-normed", "The input is normalised first, and the normalised input is added: norm(x) + sublayer(norm(x))", post,
            edits={ATTEND: f"x = self.norm1(x){NEW}{ATTEND}", ADD1: "x = x + self.dropout(attended)",
                   FEED: f"x = self.norm2(x){NEW}{FEED}", ADD2: "return x + self.dropout(transformed)"})  # fmt: skip
    mistake("norm-of-sublayer-only", "The norm is taken of the sublayer's output alone, before x is added", post,
            edits={ADD1: "x = x + self.norm1(self.dropout(attended))", ADD2: "return x + self.norm2(self.dropout(transformed))"})  # fmt: skip
    mistake("no-norms", "There are no norms", post,
            edits={ADD1: "x = x + self.dropout(attended)", ADD2: "return x + self.dropout(transformed)"})  # fmt: skip
    mistake("no-norm1", "norm1 is not used", post, edits={ADD1: "x = x + self.dropout(attended)"})  # fmt: skip
    mistake("no-norm2", "norm2 is not used", post, edits={ADD2: "return x + self.dropout(transformed)"})  # fmt: skip
    own = "norm1 belongs to the attention, norm2 to the feed-forward network, each with weights of its own."
    mistake("norm1-twice", "norm1 is used in both places", own, edits={ADD2: ADD2.replace("norm2", "norm1")})  # fmt: skip
    mistake("norm2-twice", "norm2 is used in both places", own, edits={ADD1: ADD1.replace("norm1", "norm2")})  # fmt: skip
    mistake("shared-norm", "norm1 and norm2 are one and the same norm", own,
            edits={"self.norm2 = LayerNorm(d_model)": "self.norm2 = self.norm1"})  # fmt: skip
    mistake("norms-exchanged", "norm1 and norm2 are exchanged", own,
            edits={ADD1: ADD1.replace("norm1", "norm2"), ADD2: ADD2.replace("norm2", "norm1")})  # fmt: skip
    mistake("batch-norm", "Batch norm is used: a sample depends on its neighbours", "Which norm did you write in exercise 1?",
            edits={ADD1: "y = x + self.dropout(attended)\n        x = (y - y.mean((0, 1))) / torch.sqrt(y.var((0, 1), unbiased=False) + 1e-5) * self.norm1.weight + self.norm1.bias",
                   ADD2: "y = x + self.dropout(transformed)\n        return (y - y.mean((0, 1))) / torch.sqrt(y.var((0, 1), unbiased=False) + 1e-5) * self.norm2.weight + self.norm2.bias"})  # fmt: skip


def _about_order(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("feed-forward-of-attention", "The feed-forward network reads the attention's output, before add and norm",
            "The second sublayer works on what norm1 gives.", edits={FEED: "transformed = self.feed_forward(attended)"})  # fmt: skip
    mistake("parallel", "Both sublayers read the layer's input, side by side",
            "The second sublayer works on what the first has left.",
            edits={ATTEND: f"start = x{NEW}{ATTEND}", FEED: "transformed = self.feed_forward(start)"})  # fmt: skip
    swapped = (
        f"transformed = self.feed_forward(x){NEW}x = self.norm1(x + self.dropout(transformed)){NEW}"
    )
    mistake("sublayers-exchanged", "The feed-forward network comes first, the attention second",
            "In which order do the two stand in figure 1 of the paper?",
            edits={BODY: f"{swapped}{ATTEND}{NEW}return self.norm2(x + self.dropout(attended))"})  # fmt: skip
    own = (
        f"transformed = self.feed_forward(x){NEW}x = self.norm2(x + self.dropout(transformed)){NEW}"
    )
    mistake("sublayers-exchanged-with-norms", "The feed-forward network comes first, with norm2, then the attention with norm1",
            "In which order do the two stand in figure 1 of the paper?",
            edits={BODY: f"{own}{ATTEND}{NEW}return self.norm1(x + self.dropout(attended))"})  # fmt: skip
    mistake("pair-returned", "More than the output is returned", "A layer returns one tensor (B, S, D).",
            edits={ADD2: ADD2.replace("return ", "return (") + ", _)"})  # fmt: skip
    mistake("in-place", "x is changed in place, which changes the caller's tensor",
            "`x += y` writes into the tensor you were given; `x = x + y` makes a new one.",
            edits={ADD1: f"x += self.dropout(attended).detach() if x.is_leaf else self.dropout(attended){NEW}x = self.norm1(x)"})  # fmt: skip
    mistake("made-in-forward", "Layers are made anew at each call: they never learn",
            "Parts that learn are made once, in __init__.",
            edits={FEED: "transformed = FeedForward(x.size(-1), 4, 0.0).train(self.training)(x)"})  # fmt: skip


def _about_masks(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("mask-not-passed", "The mask is not passed on to the attention", "`forward` takes a mask: where does it go?",
            edits={"(x, x, x, mask)": "(x, x, x)"})  # fmt: skip
    mistake("mask-inverted", "True and False of the mask are exchanged",
            "True = may attend, here and in the attention of lesson 4.",
            edits={"(x, x, x, mask)": "(x, x, x, mask if mask is None else ~mask)"})  # fmt: skip
    mistake("mask-on-queries", "The mask is laid over the queries, not over the keys",
            "The last dimension of a mask is about the keys: who may be read.",
            edits={"(x, x, x, mask)": "(x, x, x, mask if mask is None else mask.mT)"})  # fmt: skip
    mistake("mask-on-both", "The mask hides queries as well as keys",
            "A pad may ask: nobody listens to its answer. The mask goes to the attention as it comes.",
            edits={"(x, x, x, mask)": "(x, x, x, mask if mask is None else mask & mask.mT)"})  # fmt: skip
    mistake("first-mask-for-all", "The mask of sample 0 is used for all samples",
            "Every sample has its own padding.",
            edits={"(x, x, x, mask)": "(x, x, x, mask if mask is None or mask.dim() < 3 else mask[:1])"})  # fmt: skip
    triangle = "torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()"
    mistake("causal", "A causal mask is built in: early tokens are deaf to later ones",
            "An encoder reads the whole sentence; the caller decides by the mask.",
            edits={"(x, x, x, mask)": f"(x, x, x, {triangle} if mask is None else {triangle} & mask)"},
            also=[{"(x, x, x, mask)": f"(x, x, x, {triangle} if mask is None else mask)"}])  # fmt: skip
    mistake("pads-zeroed", "What stands at hidden places is set to zero",
            "The mask goes to the attention; nothing else in the layer needs it.",
            edits={ADD2: f"y = self.norm2(x + self.dropout(transformed)){NEW}"
                   "return y if mask is None or mask.size(-2) > 1 else y * mask.mT"})  # fmt: skip


def _about_dropout(exercise: Exercise) -> None:
    mistake = exercise.misconception
    where = (
        "norm(x + dropout(sublayer(x))): what stands inside dropout's brackets, and what does not?"
    )
    mistake("dropout-missing", "What the sublayers return is not dropped", where,
            edits={"self.dropout(attended)": "attended", "self.dropout(transformed)": "transformed"})  # fmt: skip
    mistake("first-dropout-missing", "What the attention returns is not dropped", where,
            edits={"self.dropout(attended)": "attended"})  # fmt: skip
    mistake("second-dropout-missing", "What the feed-forward network returns is not dropped", where,
            edits={"self.dropout(transformed)": "transformed"})  # fmt: skip
    mistake("dropout-after-norm", "Dropout comes after the norm, so that the stream itself is dropped", where,
            edits={ADD1: "x = self.dropout(self.norm1(x + attended))", ADD2: "return self.dropout(self.norm2(x + transformed))"})  # fmt: skip
    mistake("dropout-of-the-sum", "Dropout acts on the sum, skip connection included", where,
            edits={ADD1: "x = self.norm1(self.dropout(x + attended))", ADD2: "return self.norm2(self.dropout(x + transformed))"})  # fmt: skip
    mistake("dropout-of-x", "Dropout acts on the skip connection, not on the sublayer", where,
            edits={ADD1: "x = self.norm1(self.dropout(x) + attended)", ADD2: "return self.norm2(self.dropout(x) + transformed)"})  # fmt: skip
    mistake("dropout-in-eval", "Dropout is live in eval mode as well",
            "F.dropout does not know the mode unless it is told; nn.Dropout does.",
            edits={"self.dropout(attended)": "F.dropout(attended, self.dropout.p)",
                   "self.dropout(transformed)": "F.dropout(transformed, self.dropout.p)"})  # fmt: skip
    mistake("dropout-fixed", "The argument dropout is ignored: a fixed share is dropped",
            "Build one with dropout=0.0 and call it twice in train mode.",
            edits={"nn.Dropout(dropout)": "nn.Dropout(0.1)", "FeedForward(d_model, d_ff, dropout)": "FeedForward(d_model, d_ff)"},
            also=[{"nn.Dropout(dropout)": "nn.Dropout(0.1)"}])  # fmt: skip
    mistake("dropout-not-handed-on", "The feed-forward network is not built with the layer's dropout",
            "FeedForward has a dropout of its own; what does it get?",
            edits={"FeedForward(d_model, d_ff, dropout)": "FeedForward(d_model, d_ff)"})  # fmt: skip


def _about_parts(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("one-head", "The number of heads is ignored", "What does MultiHeadAttention get?",
            edits={"MultiHeadAttention(d_model, num_heads)": "MultiHeadAttention(d_model, 1)"},
            also=[{"MultiHeadAttention(d_model, num_heads)": "MultiHeadAttention(d_model, 2)"}])  # fmt: skip
    mistake("four-times", "The feed-forward network is 4 · d_model wide, whatever d_ff is", "What does FeedForward get?",
            edits={"FeedForward(d_model, d_ff, dropout)": "FeedForward(d_model, 4 * d_model, dropout)"})  # fmt: skip
    mistake("widths-exchanged", "d_model and d_ff are exchanged", "FeedForward takes d_model first.",
            edits={"FeedForward(d_model, d_ff, dropout)": "FeedForward(d_ff, d_model, dropout)"})  # fmt: skip
    mistake("keys-only", "The values are not x", "Self-attention: queries, keys and values all come from x.",
            edits={"(x, x, x, mask)": "(x, x, self.norm1(x), mask)"})  # fmt: skip
    mistake("third-norm", "There is a further norm at the end", "Two sublayers, two norms: norm2 is the last step.",
            edits={ADD2: f"{ADD2.replace('return ', 'y = ')}{NEW}return F.layer_norm(y, y.shape[-1:])"})  # fmt: skip
    mistake("relu-at-the-end", "There is a ReLU at the end", "norm2 is the last step.",
            edits={ADD2: f"{ADD2.replace('return ', 'return F.relu(')})"})  # fmt: skip
