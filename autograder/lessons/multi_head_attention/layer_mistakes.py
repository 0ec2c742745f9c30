"""Known mistakes of `MultiHeadAttention`, as edits of the model answer."""

from autograder.judge.exercise import Exercise

Q = "split_heads(self.w_q(query), self.num_heads)"
K = "split_heads(self.w_k(key), self.num_heads)"
V = "split_heads(self.w_v(value), self.num_heads)"
VIEW = ".reshape(query.size(0), self.num_heads, -1, query.size(-1) // self.num_heads)"
CHECK = "if d_model % num_heads != 0:"
RAISE = 'raise ValueError(f"d_model {d_model} cannot be divided by num_heads {num_heads}")'
HAS_BATCH = "if mask is not None and mask.dim() == 3:"
HEADS_DIM = "mask = mask.unsqueeze(1)"
ATTEND = "scaled_dot_product_attention(q, k, v, mask)"
LINE = f"_, weights = {ATTEND}"
MIX = "mixed = self.dropout(weights) @ v"
JOIN = "merge_heads(mixed)"
OUT = f"self.w_o({JOIN})"
RETURN = "return output, weights"
SCORES = "scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))\n        "
HIDDEN = "(torch.zeros_like(scores, dtype=torch.bool) if mask is None else ~mask)"


def add_mistakes(exercise: Exercise) -> None:
    """Declare them all."""
    _about_heads(exercise)
    _about_layers(exercise)
    _about_scores(exercise)
    _about_masks(exercise)
    _about_dropout(exercise)
    _about_results(exercise)


def _about_heads(exercise: Exercise) -> None:
    mistake = exercise.misconception
    order = "`view` and `reshape` move no number. In memory, what comes after the first K features of token 0?"
    mistake("merge-not-transposed", "The heads are merged without a transpose: a row holds several tokens, and the future leaks",
            order, edits={JOIN: "mixed.reshape(*query.shape)"})  # fmt: skip
    mistake("split-not-transposed", "The heads are split by `view` alone, so that a head holds some tokens, not some features",
            order, edits={Q: f"self.w_q(query){VIEW}", K: f"self.w_k(key){VIEW}", V: f"self.w_v(value){VIEW}"})  # fmt: skip
    mistake("nothing-transposed", "Heads are split and merged without a transpose: each reads a part of the sentence only",
            order, edits={Q: f"self.w_q(query){VIEW}", K: f"self.w_k(key){VIEW}", V: f"self.w_v(value){VIEW}",
                          JOIN: "mixed.reshape(*query.shape)"})  # fmt: skip
    part = "(-1, self.num_heads)).permute(0, 3, 1, 2)"
    mistake("interleaved", "The heads take turns with the features, instead of owning neighbouring ones",
            "Head h owns features h·K to (h+1)·K of what w_q, w_k and w_v make.",
            edits={Q: f"self.w_q(query).unflatten(-1, {part}", K: f"self.w_k(key).unflatten(-1, {part}",
                   V: f"self.w_v(value).unflatten(-1, {part}"})  # fmt: skip
    own = ".view(key.size(0), query.size(1), self.num_heads, key.size(-1) // self.num_heads).transpose(1, 2)"
    mistake("length-of-queries", "The keys are cut by the length of the queries, which fails when the lengths differ",
            "Seven keys stay seven keys, whatever the number of queries.",
            edits={K: f"self.w_k(key){own}", V: f"self.w_v(value){own}"})  # fmt: skip
    mistake("heads-averaged", "The heads are averaged, not laid side by side",
            "Each head's findings get features of their own in front of w_o.",
            edits={JOIN: "merge_heads(mixed.mean(dim=1, keepdim=True).expand_as(mixed))"})  # fmt: skip
    mistake("batch-second", "The length is taken for the batch: samples attend to each other",
            "Here the batch comes first, for nn.MultiheadAttention only with batch_first=True.",
            edits={Q: f"split_heads(self.w_q(query).transpose(0, 1), self.num_heads)",
                   K: f"split_heads(self.w_k(key).transpose(0, 1), self.num_heads)",
                   V: f"split_heads(self.w_v(value).transpose(0, 1), self.num_heads)",
                   OUT: f"{OUT}.transpose(0, 1)"})  # fmt: skip
    mistake("first-head-only", "All heads use the queries of the first",
            "Print the weights of heads 0 and 1.", edits={Q: f"{Q}[:, :1].expand(-1, self.num_heads, -1, -1)"})  # fmt: skip


def _about_layers(exercise: Exercise) -> None:
    mistake = exercise.misconception
    uses = "Four layers, four uses. Which of them gets no gradient?"
    made = "self.{0} = nn.Linear(d_model, d_model)"
    mistake("no-output-projection", "w_o is never used", uses, edits={OUT: JOIN})  # fmt: skip
    mistake("no-projections", "Queries, keys and values are not projected: w_q, w_k and w_v are never used", uses,
            edits={"self.w_q(query)": "query", "self.w_k(key)": "key", "self.w_v(value)": "value"})  # fmt: skip
    mistake("values-not-projected", "The values are not projected: w_v is never used", uses,
            edits={"self.w_v(value)": "value"})  # fmt: skip
    mistake("keys-by-w-q", "The keys are made by w_q: w_k is never used", uses,
            edits={"self.w_k(key)": "self.w_q(key)"})  # fmt: skip
    mistake("values-by-w-k", "The values are made by w_k: w_v is never used", uses,
            edits={"self.w_v(value)": "self.w_k(value)"})  # fmt: skip
    mistake("one-layer-for-all", "Queries, keys and values share one layer object",
            "Change w_q.weight and look at w_k.weight. How many layers did you make?",
            edits={made.format("w_k"): "self.w_k = self.w_q", made.format("w_v"): "self.w_v = self.w_q"})  # fmt: skip
    mistake("shared-w-q-w-k", "Queries and keys share one layer object",
            "Change w_q.weight and look at w_k.weight. How many layers did you make?",
            edits={made.format("w_k"): "self.w_k = self.w_q"})  # fmt: skip
    mistake("small-shared-projection", "All heads share one small K × K layer, and see only their own slice of x",
            "Project the whole token first, D to D, and split afterwards.",
            edits={made.format(name): f"self.{name} = nn.Linear(d_model // num_heads, d_model // num_heads)"
                   for name in ("w_q", "w_k", "w_v")})  # fmt: skip
    mistake("width-of-one-head", "The projections make the width of one head, not of all heads together",
            "All heads get their share from one product: D to D.",
            edits={made.format(name): f"self.{name} = nn.Linear(d_model, d_model // num_heads)"
                   for name in ("w_q", "w_k", "w_v")})  # fmt: skip
    mistake("w-o-for-one-head", "w_o takes the width of one head, as if heads were added up before it",
            "The heads are laid side by side: what goes into w_o is D wide.",
            edits={made.format("w_o"): "self.w_o = nn.Linear(d_model // num_heads, d_model)"})  # fmt: skip
    mistake("w-o-for-each-head", "There is a w_o for each head",
            "One w_o, after the heads are merged, mixes what they found.",
            edits={made.format("w_o"): "self.w_o = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(num_heads)])"})  # fmt: skip
    mistake("no-bias", "The projections have no bias", "nn.Linear as it comes has one; leave it in.",
            edits={made.format(name): f"self.{name} = nn.Linear(d_model, d_model, bias=False)"
                   for name in ("w_q", "w_k", "w_v", "w_o")})  # fmt: skip
    mistake("divisibility-unchecked", "A width that cannot be divided among the heads is accepted",
            "What should MultiHeadAttention(10, 4) do?", edits={CHECK: "if False:"})  # fmt: skip
    mistake("assertion", "A width that cannot be divided raises AssertionError, not ValueError",
            "`assert` is for what can never happen; a wrong argument is a ValueError.",
            edits={f"{CHECK}\n            {RAISE}": "assert d_model % num_heads == 0"})  # fmt: skip
    mistake("cut-off-from-gradients", "The weights are detached: no gradient reaches w_q and w_k",
            "`.detach()`, `.data` and numpy cut a tensor off from what made it.",
            edits={MIX: "mixed = self.dropout(weights.detach()) @ v"})  # fmt: skip


def _about_scores(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("self-attention-always", "Keys and values are taken from the query: the other arguments are ignored",
            "In cross-attention a query reads another sequence.",
            edits={"self.w_k(key)": "self.w_k(query)", "self.w_v(value)": "self.w_v(query)"})  # fmt: skip
    mistake("values-from-key", "The values are made from `key`, not from `value`",
            "Three arguments, three tensors: which goes into w_v?", edits={"self.w_v(value)": "self.w_v(key)"})  # fmt: skip
    mistake("key-and-value-exchanged", "`key` and `value` are exchanged",
            "The arguments come in the order query, key, value.",
            edits={"self.w_k(key)": "self.w_k(value)", "self.w_v(value)": "self.w_v(key)"})  # fmt: skip
    mistake("query-and-key-exchanged", "Queries and keys are exchanged",
            "There is one output for each query. How many do you return for 4 queries and 7 keys?",
            edits={"self.w_q(query)": "self.w_q(key)", "self.w_k(key)": "self.w_k(query)"})  # fmt: skip
    mistake("scaled-by-d-model", "The scores are divided by √d_model, not by the root of a head's width",
            "How many products are added up in one score of one head?",
            edits={ATTEND: "scaled_dot_product_attention(q / math.sqrt(self.num_heads), k, v, mask)"})  # fmt: skip
    mistake("scale-missing", "The scores are not divided by the root of a head's width",
            "scaled_dot_product_attention does it for you.",
            edits={ATTEND: "scaled_dot_product_attention(q * math.sqrt(q.size(-1)), k, v, mask)"})  # fmt: skip
    mistake("scaled-twice", "The scores are divided by the root of a head's width twice",
            "scaled_dot_product_attention has already done it.",
            edits={ATTEND: "scaled_dot_product_attention(q / math.sqrt(q.size(-1)), k, v, mask)"})  # fmt: skip
    for name, dim, what in (("heads", 1, "heads"), ("queries", 2, "queries")):
        mistake(f"softmax-over-{name}", f"The softmax is over the {what}, not over the keys",
                "Each query of each head shares out 1 among the keys, the last dimension.",
                edits={LINE: f"{SCORES}weights = torch.softmax(scores.masked_fill({HIDDEN}, -1e9), dim={dim})"})  # fmt: skip


def _about_masks(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("no-dimension-for-heads", "The mask of a sample meets the heads: it needs a dimension for them",
            "Scores are (B, H, T_q, T_k). Line up (B, 1, T_k) with that from the right.",
            edits={HEADS_DIM: "pass"})  # fmt: skip
    mistake("dimension-always", "A mask (T_q, T_k) gets a dimension for the heads that it does not need",
            "Only a mask that begins with the batch needs one.",
            edits={HAS_BATCH: "if mask is not None:"})  # fmt: skip
    mistake("dimension-misplaced", "The dimension for the heads is put in the wrong place of the mask",
            "(B, T_q, T_k) should become (B, 1, T_q, T_k).",
            edits={HEADS_DIM: "mask = mask.unsqueeze(2)"})  # fmt: skip
    mistake("mask-repeated-in-other-order", "The masks are repeated in another order than samples and heads: they meet the wrong samples",
            "With (B, H) folded into one dimension, all heads of sample 0 come first. What does `repeat` do?",
            edits={HEADS_DIM: "mask = mask.repeat(self.num_heads, 1, 1).unflatten(0, (query.size(0), self.num_heads))"})  # fmt: skip
    mistake("mask-ignored", "The mask is not passed on to the attention",
            "`forward` takes a mask: where does it go?",
            edits={ATTEND: "scaled_dot_product_attention(q, k, v)"})  # fmt: skip
    mistake("mask-inverted", "True and False of the mask are exchanged: True = may attend",
            "Only nn.MultiheadAttention and its kin mark what is hidden.",
            edits={ATTEND: "scaled_dot_product_attention(q, k, v, None if mask is None else ~mask)"})  # fmt: skip
    mistake("first-mask-for-all", "The mask of the first sample is used for all",
            "Each sample has a length of its own.", edits={HEADS_DIM: "mask = mask[:1].unsqueeze(1)"})  # fmt: skip
    mistake("mask-added", "The mask is added to the scores as 0 and 1",
            "Adding 1 to what may be seen hides nothing.",
            edits={LINE: f"{SCORES}weights = torch.softmax(scores if mask is None else scores + mask, dim=-1)"})  # fmt: skip
    mistake("mask-after-softmax", "The mask is applied after the softmax, and the rest not shared out again",
            "Add up a row of the weights.",
            edits={LINE: f"{SCORES}weights = torch.softmax(scores, dim=-1).masked_fill({HIDDEN}, 0.0)"})  # fmt: skip
    mistake("empty-row-nan", "A query that may attend to nothing gets NaN",
            "A row of −∞ alone has a sum of 0: what should its weights be?",
            edits={LINE: f"{SCORES}weights = torch.softmax(scores.masked_fill({HIDDEN}, float('-inf')), dim=-1)"})  # fmt: skip
    mistake("empty-row-uniform", "A query that may attend to nothing attends to everything alike",
            "If all scores of a row are the same very negative number, the softmax is uniform.",
            edits={LINE: f"{SCORES}weights = torch.softmax(scores.masked_fill({HIDDEN}, -1e9), dim=-1)"})  # fmt: skip
    mistake("empty-row-output", "The whole output is set to 0 where a query may attend to nothing",
            "The heads contribute zeros; w_o still adds its bias.",
            edits={OUT: f"{OUT} * (weights.sum(dim=(1, 3)) > 0).unsqueeze(-1)"})  # fmt: skip
    mistake("always-causal", "A causal mask is built in",
            "An encoder reads the whole sentence; the caller decides by the mask.",
            edits={LINE: "if mask is None:\n            mask = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril()\n"
                   f"        {LINE}"})  # fmt: skip
    mistake("mask-in-place", "The caller's mask is changed: an operation that ends in an underscore",
            "`unsqueeze_` gives the caller's own tensor a new shape; `unsqueeze` makes a new one.",
            edits={HEADS_DIM: "mask = mask.unsqueeze_(1)"})  # fmt: skip


def _about_dropout(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("no-dropout", "Dropout never happens",
            "Build it with dropout 0.9, call it twice in train mode, and compare.",
            edits={MIX: "mixed = weights @ v"})  # fmt: skip
    mistake("dropout-on-scores", "Dropout acts on queries, keys or scores, and not on the weights",
            "After the softmax, before the values are mixed.",
            edits={Q: f"self.dropout({Q})", MIX: "mixed = weights @ v"}, same_as=["no-dropout"])  # fmt: skip
    mistake("dropout-on-output", "Dropout acts on single features of what the heads read, not on the weights",
            "After the softmax, before the values are mixed.",
            edits={MIX: "mixed = self.dropout(weights @ v)"})  # fmt: skip
    mistake("dropout-in-eval", "Dropout is at work in eval mode too",
            "F.dropout has to be told `training=self.training`; nn.Dropout knows.",
            edits={MIX: "mixed = F.dropout(weights, self.dropout.p) @ v"})  # fmt: skip
    mistake("dropout-argument-ignored", "The argument `dropout` is ignored: a rate of its own is always used",
            "Without the argument nothing is dropped.",
            edits={"nn.Dropout(dropout)": "nn.Dropout(0.1)"})  # fmt: skip


def _about_results(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("weights-averaged", "The weights are averaged over the heads, as nn.MultiheadAttention does unless told otherwise",
            "Every head's weights are wanted: (B, H, T_q, T_k).",
            edits={RETURN: "return output, weights.mean(dim=1)"})  # fmt: skip
    mistake("last-head-only", "Only one head's weights are returned",
            "Every head's weights are wanted: (B, H, T_q, T_k).",
            edits={RETURN: "return output, weights[:, -1]"})  # fmt: skip
    mistake("output-only", "Only the output is returned", "Return a pair: output, weights.",
            edits={RETURN: "return output"})  # fmt: skip
    mistake("pair-exchanged", "Output and weights are returned in the wrong order", "The output comes first.",
            edits={RETURN: "return weights, output"})  # fmt: skip
    mistake("scores-returned", "The scores are returned in the place of the weights",
            "The second of the pair is what the softmax made of the scores.",
            edits={RETURN: "return output, q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))"})  # fmt: skip
    mistake("residual", "The query is added to the output",
            "The skip connection comes in lesson 05, around this layer, not in it.",
            edits={RETURN: "return output + query, weights"})  # fmt: skip
    mistake("normed", "The output is normalised", "Layer norm comes in lesson 05, around this layer, not in it.",
            edits={RETURN: "return F.layer_norm(output, output.shape[-1:]), weights"})  # fmt: skip
    mistake("residual-and-norm", "The query is added to the output, and the sum normalised",
            "Both come in lesson 05, around this layer, not in it.",
            edits={RETURN: "return F.layer_norm(output + query, output.shape[-1:]), weights"})  # fmt: skip
    mistake("forced-to-float32", "The numbers are forced into float32",
            "float64 in, float64 out: leave the dtype as it comes.",
            edits={RETURN: "return output.float(), weights.float()"})  # fmt: skip
