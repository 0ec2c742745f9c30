"""Known mistakes of `CausalDecoderLayer`, as edits of the model answer."""

from autograder.judge.exercise import Exercise

MASK = "mask = causal_mask(x.size(1)).to(x.device)"
N1 = "normed = self.norm1(x)"
A = "attended, _ = self.self_attention(normed, normed, normed, mask)"
R1 = "x = x + self.dropout(attended)"
N2 = "normed = self.norm2(x)"
C = "changed = self.feed_forward(normed)"
R2 = "return x + self.dropout(changed)"
NORM2 = "self.norm2 = LayerNorm(d_model)"
FEED = "FeedForward(d_model, d_ff, dropout)"
RATE = "self.dropout = nn.Dropout(dropout)"
LINE = "\n        "
ONES = "mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool)"


def add_block_mistakes(exercise: Exercise) -> None:
    """Declare them all."""
    _about_the_mask(exercise)
    _about_norms(exercise)
    _about_norms_used_twice(exercise)
    _about_residuals(exercise)
    _about_dropout(exercise)
    _about_the_rest(exercise)


def _about_the_mask(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("no-mask", "There is no causal mask: every token sees the future",
            "The layer makes its own mask. Where does it go?",
            edits={A: "attended, _ = self.self_attention(normed, normed, normed)"})  # fmt: skip
    mistake("sees-one-ahead", "The mask is off by one: each token sees the next one too",
            "Row 0 of the mask belongs to the first token. How many tokens may it see?",
            edits={MASK: f"{ONES}.tril(diagonal=1)"})  # fmt: skip
    mistake("blind-to-itself", "The mask is off by one: no token sees itself",
            "Row 0 of your mask is empty; what would the first token attend to?",
            edits={MASK: f"{ONES}.tril(diagonal=-1)"})  # fmt: skip
    mistake("wrong-triangle", "The triangle is the wrong one: each token sees itself and the future",
            "Row i is the query's, column j the key's: j ≤ i.",
            edits={MASK: f"{ONES}.triu()"})  # fmt: skip
    mistake("mask-inverted", "The mask is inverted: each token sees the future only",
            "True = may attend.", edits={MASK: f"{ONES}.triu(diagonal=1)"})  # fmt: skip
    mistake("size-of-the-batch", "The mask is as large as the batch, not as long as x",
            "x has the shape (B, T, D): which of them is the number of tokens?",
            edits={MASK: "mask = causal_mask(x.size(0))"})  # fmt: skip
    mistake("size-of-the-width", "The mask is as large as d_model, not as long as x",
            "x has the shape (B, T, D): which of them is the number of tokens?",
            edits={MASK: "mask = causal_mask(x.size(2))"})  # fmt: skip
    mistake("size-fixed", "The mask has a fixed size, and fails for all other lengths",
            "A mask that is kept for later has to be cut to the length of x.",
            edits={MASK: "mask = causal_mask(512)"}, same_as=["size-of-the-width", "size-of-the-batch"])  # fmt: skip
    mistake("only-itself", "Each token attends to itself alone: what came before has no effect",
            "Change the first token. Which outputs should move?",
            edits={MASK: "mask = torch.eye(x.size(1), dtype=torch.bool)"})  # fmt: skip


def _about_norms(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("post-norm", "This is post-norm: the norms lie on the main path, not in front of the sub-layers",
            "x + dropout(sublayer(norm(x))): the addition comes last.",
            edits={N1: "normed = x", R1: "x = self.norm1(x + self.dropout(attended))",
                   N2: "normed = x", R2: "return self.norm2(x + self.dropout(changed))"})  # fmt: skip
    mistake("norm-before-residual", "The sub-layer's result is normed, not what it reads",
            "x + dropout(sublayer(norm(x))): the norm is innermost.",
            edits={N1: "normed = x", R1: "x = x + self.norm1(self.dropout(attended))",
                   N2: "normed = x", R2: "return x + self.norm2(self.dropout(changed))"})  # fmt: skip
    mistake("no-norms", "There are no norms at work", "Which parameters would get no gradient?",
            edits={N1: "normed = x", N2: "normed = x"})  # fmt: skip
    mistake("first-norm-skipped", "The self-attention reads x as it is: norm1 is not applied",
            "Each sub-layer reads what its norm puts out.", edits={N1: "normed = x"})  # fmt: skip
    mistake("second-norm-skipped", "The feed-forward reads x as it is: norm2 is not applied",
            "Each sub-layer reads what its norm puts out.", edits={N2: "normed = x"})  # fmt: skip
    mistake("only-queries-normed", "Only the queries are normed; keys and values come from x as it is",
            "In self-attention all three come from the same vectors.",
            edits={A: "attended, _ = self.self_attention(normed, x, x, mask)"},
            also=[{A: "attended, _ = self.self_attention(x, normed, normed, mask)"},
                  {A: "attended, _ = self.self_attention(normed, normed, x, mask)"}])  # fmt: skip
    mistake("final-norm", "There is a further norm at the end of the block",
            "A model has one norm after its last block; the block itself ends in an addition.",
            edits={R2: "return self.norm2(x + self.dropout(changed))"},
            also=[{R2: "return F.layer_norm(x + self.dropout(changed), x.shape[-1:])"},
                  {R2: "return self.norm1(x + self.dropout(changed))"}])  # fmt: skip


def _about_norms_used_twice(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("one-norm-for-both", "One norm serves both sub-layers",
            "Two norms with weights of their own.",
            edits={N2: "normed = self.norm1(x)"}, also=[{NORM2: "self.norm2 = self.norm1"}, {N1: "normed = self.norm2(x)"}])  # fmt: skip
    mistake("norms-exchanged", "norm1 and norm2 are exchanged",
            "norm1 belongs to the self-attention, norm2 to the feed-forward.",
            edits={N1: "normed =  self.norm2(x)", N2: "normed = self.norm1(x)"})  # fmt: skip
    mistake("stale-norm", "The feed-forward reads what norm1 put out: the self-attention's result passes it by",
            "The second sub-layer works on the sum, as it is after the first.", edits={N2: "pass"})  # fmt: skip
    mistake("in-parallel", "Both sub-layers read the block's input, side by side",
            "Some models do that; here the feed-forward reads the result of the first addition.",
            edits={N1: f"start = x{LINE}{N1}", N2: "normed = self.norm2(start)"})  # fmt: skip
    mistake("feed-forward-reads-attention", "The feed-forward reads the self-attention's result without the residual",
            "The second sub-layer works on the sum.", edits={N2: "normed = self.norm2(attended)"})  # fmt: skip


def _about_residuals(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("normed-residual", "The residual is the normed x, not x itself",
            "With both sub-layers silent, what comes out of your block?",
            edits={R1: "x = normed + self.dropout(attended)", R2: "return normed + self.dropout(changed)"},
            also=[{R1: "x = normed + self.dropout(attended)"}, {R2: "return normed + self.dropout(changed)"},
                  {N1: "normed = x = self.norm1(x)", N2: "normed = x = self.norm2(x)"}])  # fmt: skip
    mistake("no-residuals", "There are no residuals", "With both sub-layers silent, what comes out of your block?",
            edits={R1: "x = self.dropout(attended)", R2: "return self.dropout(changed)"})  # fmt: skip
    mistake("no-first-residual", "There is no residual around the self-attention",
            "With both sub-layers silent, what comes out of your block?", edits={R1: "x = self.dropout(attended)"})  # fmt: skip
    mistake("no-second-residual", "There is no residual around the feed-forward",
            "With both sub-layers silent, what comes out of your block?", edits={R2: "return self.dropout(changed)"})  # fmt: skip
    mistake("second-residual-from-input", "The second residual starts from the block's input: the self-attention's result is lost on the main path",
            "Each addition takes up what the one before has made.",
            edits={N1: f"start = x{LINE}{N1}", R2: "return start + self.dropout(changed)"})  # fmt: skip


def _about_dropout(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("dropout-missing", "Nothing is dropped of what the sub-layers put out",
            "x + dropout(sublayer(norm(x))): one word of it is missing.",
            edits={"self.dropout(attended)": "attended", "self.dropout(changed)": "changed"},
            also=[{"self.dropout(attended)": "attended"}, {"self.dropout(changed)": "changed"}])  # fmt: skip
    mistake("dropout-on-sum", "Dropout acts on the sum, residual included",
            "What is dropped is the sub-layer's result, before it is added.",
            edits={R1: "x = self.dropout(x + attended)", R2: "return self.dropout(x + changed)"})  # fmt: skip
    mistake("dropout-before-sub-layer", "Dropout acts on what the sub-layers read, not on what they put out",
            "x + dropout(sublayer(norm(x))): read it from the inside out.",
            edits={N1: "normed = self.dropout(self.norm1(x))", R1: "x = x + attended",
                   N2: "normed = self.dropout(self.norm2(x))", R2: "return x + changed"}, same_as=["dropout-missing"])  # fmt: skip
    mistake("feed-forward-dropout", "The dropout is not passed on to the feed-forward",
            "FeedForward takes a dropout of its own; what does it take if you say nothing?",
            edits={FEED: "FeedForward(d_model, d_ff)"}, also=[{FEED: "FeedForward(d_model, d_ff, 0.0)"}])  # fmt: skip
    mistake("dropout-fixed", "The argument dropout is ignored",
            "Build a layer with dropout=0.5 and print it.",
            edits={RATE: "self.dropout = nn.Dropout(0.1)"},
            also=[{RATE: "self.dropout = nn.Dropout(0.1)", FEED: "FeedForward(d_model, d_ff)"}])  # fmt: skip
    mistake("dropout-in-eval", "Dropout is live in eval mode too",
            "`F.dropout(x, p)` does not know the mode; nn.Dropout does.",
            edits={"self.dropout(attended)": "F.dropout(attended, self.dropout.p)",
                   "self.dropout(changed)": "F.dropout(changed, self.dropout.p)"},
            also=[{"self.dropout(changed)": "F.dropout(changed, self.dropout.p)"}])  # fmt: skip


def _about_the_rest(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("feed-forward-first", "The feed-forward comes before the self-attention",
            "Self-attention, then feed-forward, as in the decoder layer.",
            edits={A: "changed = self.feed_forward( normed)", R1: "x = x + self.dropout( changed)",
                   C: "attended, _ = self.self_attention(normed, normed, normed, mask)",
                   R2: "return x + self.dropout(attended)"},
            also=[{N1: "normed =  self.norm2(x)", N2: "normed = self.norm1(x)",
                   A: "changed = self.feed_forward( normed)", R1: "x = x + self.dropout( changed)",
                   C: "attended, _ = self.self_attention(normed, normed, normed, mask)",
                   R2: "return x + self.dropout(attended)"}])  # fmt: skip
    mistake("feed-forward-unused", "What the feed-forward puts out is not used",
            "Which parameters would get no gradient?", edits={R2: "return x"})  # fmt: skip
    mistake("heads-ignored", "The number of heads is ignored",
            "Print `block.self_attention` for 2 and for 4 heads.",
            edits={"(d_model, num_heads, dropout)": "(d_model, 1, dropout)"})  # fmt: skip
    mistake("d-ff-ignored", "The width of the feed-forward is 4 · d_model, whatever d_ff says",
            "Print `block.feed_forward` for another d_ff.", edits={FEED: "FeedForward(d_model, 4 * d_model, dropout)"})  # fmt: skip
    mistake("pair-returned", "Output and weights are both returned", "The block returns its output alone.",
            edits={R2: f"{R2}, _"})  # fmt: skip
    mistake("in-place", "The caller's x is changed in place",
            "`x += …` writes into the tensor you were given; `x = x + …` makes a new one.",
            edits={R1: "x += self.dropout(attended)"})  # fmt: skip
