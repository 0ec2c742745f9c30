"""Known mistakes of `Encoder`, as edits of the model answer."""

from autograder.judge.exercise import Exercise

EMBED = "x = self.embedding(ids)"
PLACE = "x = self.position(x)"
LOOP = "for layer in self.layers:"
STEP = "x = layer(x, mask)"
RETURN = "return x"
STACK = """nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )"""
LAYER = "EncoderLayer(d_model, num_heads, d_ff, dropout)"
POSITION = "PositionalEncoding(d_model, max_len, dropout)"
NEW, DEEP = "\n        ", "\n            "


def add_mistakes(exercise: Exercise) -> None:
    """Declare them all."""
    _about_layers(exercise)
    _about_the_way(exercise)
    _about_embedding(exercise)
    _about_masks(exercise)
    _about_arguments(exercise)


def _about_layers(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("one-layer-repeated", "All layers are one and the same object",
            "`[layer] * 6` holds one layer six times. How often is the constructor called?",
            edits={STACK: f"nn.ModuleList([{LAYER}] * num_layers)"})  # fmt: skip
    mistake("plain-list", "The layers are in a plain list: parameters() does not find them, so they never learn",
            "Count the parameters. Which container tells the module what is in it?",
            edits={STACK: f"[{LAYER} for _ in range(num_layers)]"})  # fmt: skip
    mistake("every-layer-reads-the-embedding", "Every layer reads the embedded words, not what the layer before it put out",
            "Does an encoder with three layers differ from one with only the last?",
            edits={PLACE: f"{PLACE}{NEW}start = x", STEP: "x = layer(start, mask)"})  # fmt: skip
    mistake("returns-in-the-loop", "The loop ends after the first layer: `return` stands inside it",
            "How far is `return` indented?", edits={f"{STEP}{NEW}{RETURN}": f"{STEP}{DEEP}{RETURN}"})  # fmt: skip
    mistake("layers-unused", "The layers are never called", "Which parameters get no gradient?",
            edits={STEP: "pass"})  # fmt: skip
    mistake("first-layer-repeated", "The first layer is called again and again, the others never",
            "Which parameters get no gradient?", edits={STEP: "x = self.layers[0](x, mask)"})  # fmt: skip
    mistake("backwards", "The layers are called in reverse order", "layers[0] comes first.",
            edits={LOOP: "for layer in reversed(self.layers):"})  # fmt: skip
    mistake("last-left-out", "One layer is left out of the loop", "Count the calls for an encoder of two layers.",
            edits={LOOP: "for layer in self.layers[:-1]:"}, also=[{LOOP: "for layer in self.layers[1:]:"}])  # fmt: skip
    mistake("made-in-forward", "The layers are made anew at each call: they never learn",
            "Parts that learn are made once, in __init__.",
            edits={STEP: "x = EncoderLayer(x.size(-1), 1, 4, 0.0).train(self.training)(x, mask)"})  # fmt: skip


def _about_the_way(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("final-norm", "There is a further norm after the last layer",
            "nn.Transformer has one; the paper's encoder ends with its last layer's own norm.",
            edits={RETURN: "return F.layer_norm(x, x.shape[-1:])"})  # fmt: skip
    mistake("norm-before-layers", "The embedded words are normalised before the first layer",
            "BERT does that; the paper's encoder does not.",
            edits={PLACE: f"{PLACE}{NEW}x = F.layer_norm(x, x.shape[-1:])"})  # fmt: skip
    mistake("skip-around-the-stack", "The embedded words are added again after the last layer",
            "Skip connections go around sublayers; each layer has its own.",
            edits={PLACE: f"{PLACE}{NEW}start = x", RETURN: "return x + start"})  # fmt: skip
    mistake("skip-around-layers", "A skip connection goes around each layer",
            "Skip connections go around sublayers; each layer has its own.",
            edits={STEP: "x = x + layer(x, mask)"})  # fmt: skip
    mistake("pooled", "The mean over the sentence is returned", "Each token gets a vector of its own: (B, S, D).",
            edits={RETURN: "return x.mean(dim=1)"})  # fmt: skip
    mistake("all-layers-returned", "The outputs of all layers are returned",
            "What the last layer puts out is wanted: one tensor (B, S, D).",
            edits={LOOP: f"found = []{NEW}{LOOP}", STEP: f"{STEP}{DEEP}found.append(x)", RETURN: "return found"})  # fmt: skip
    mistake("summed", "The outputs of all layers are added up", "What the last layer puts out is wanted.",
            edits={LOOP: f"total = 0{NEW}{LOOP}", STEP: f"{STEP}{DEEP}total = total + x", RETURN: "return total"})  # fmt: skip
    mistake("batch-second", "The length is taken for the batch: samples attend to each other",
            "Here the batch comes first everywhere; there is nothing to transpose.",
            edits={STEP: "x = layer(x.transpose(0, 1), None).transpose(0, 1)"})  # fmt: skip


def _about_embedding(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("no-position", "The positions are not added", "Reverse the words of a sentence and compare the outputs.",
            edits={PLACE: ""})  # fmt: skip
    mistake("position-last", "The positions are added after the layers, not before them",
            "Attention has to see them.", edits={PLACE: "", RETURN: "return self.position(x)"})  # fmt: skip
    mistake("position-in-every-layer", "The positions are added in every layer",
            "They are added once, at the bottom; the skip connections carry them up.",
            edits={PLACE: "", STEP: "x = layer(self.position(x), mask)"})  # fmt: skip
    mistake("position-twice", "The positions are added twice", "`position` adds them to x and returns the sum.",
            edits={PLACE: "x = x + self.position(x) - x + self.position(torch.zeros_like(x))"})  # fmt: skip
    mistake("embedding-twice", "The embedding is added to what `position` returns, which contains it already",
            "`position` adds the positions to x and returns the sum.", edits={PLACE: "x = x + self.position(x)"})  # fmt: skip
    mistake("words-lost", "Only the positions reach the layers, not the words", "`position` wants x itself.",
            edits={PLACE: "x = self.position(torch.zeros_like(x))"})  # fmt: skip
    mistake("scaled-twice", "The embedding is multiplied by √d_model once more",
            "TokenEmbedding has done that already.",
            edits={EMBED: f"{EMBED} * math.sqrt(self.embedding.embed.embedding_dim)"})  # fmt: skip
    mistake("not-scaled", "The embedding is looked up without the factor √d_model",
            "Call `embedding` itself, not the table inside it.", edits={EMBED: "x = self.embedding.embed(ids)"})  # fmt: skip


def _about_masks(exercise: Exercise) -> None:
    mistake = exercise.misconception
    every = "Padding is not zero above the first layer. Who needs the mask?"
    mistake("mask-not-passed", "The mask is not passed on to the layers", every, edits={STEP: "x = layer(x)"})  # fmt: skip
    mistake("mask-for-first-only", "Only the first layer gets the mask", every,
            edits={STEP: f"{STEP}{DEEP}mask = None"})  # fmt: skip
    mistake("mask-for-last-only", "Only the last layer gets the mask", every,
            edits={STEP: "x = layer(x, mask if layer is self.layers[-1] else None)"})  # fmt: skip
    mistake("mask-inverted", "True and False of the mask are exchanged", "True = may attend.",
            edits={STEP: "x = layer(x, mask if mask is None else ~mask)"})  # fmt: skip
    mistake("mask-on-queries", "The mask is laid over the queries, not over the keys",
            "The last dimension of a mask is about the keys: who may be read.",
            edits={STEP: "x = layer(x, mask if mask is None else mask.mT)"})  # fmt: skip
    mistake("own-mask", "A padding mask is made from the ids where none was given",
            "None means no mask: whether padding is hidden is the caller's choice.",
            edits={STEP: "x = layer(x, padding_mask(ids) if mask is None else mask)"})  # fmt: skip
    mistake("mask-argument-ignored", "A padding mask is made from the ids, and the one that is given is ignored",
            "The caller's mask may be another one.", edits={STEP: "x = layer(x, padding_mask(ids))"})  # fmt: skip
    triangle = "torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()"
    mistake("causal", "A causal mask is built in: early words are deaf to later ones",
            "An encoder reads the whole sentence; the caller decides by the mask.",
            edits={STEP: f"x = layer(x, {triangle} if mask is None else {triangle} & mask)"},
            also=[{STEP: f"x = layer(x, {triangle} if mask is None else mask)"}])  # fmt: skip
    mistake("pads-zeroed", "What stands at padding is set to zero on the way",
            "The mask goes to the layers as it comes; nothing else needs it.",
            edits={RETURN: "return x * (ids != 0).unsqueeze(-1)"},
            also=[{STEP: f"{STEP} * (ids != 0).unsqueeze(-1)"}])  # fmt: skip


def _about_arguments(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("layers-fixed", "The number of layers is fixed, whatever num_layers is", "The paper has 6; others have other numbers.",
            edits={"range(num_layers)": "range(6)"})  # fmt: skip
    mistake("heads-fixed", "The number of heads is ignored", "What does EncoderLayer get?",
            edits={LAYER: LAYER.replace("num_heads", "1")})  # fmt: skip
    mistake("heads-exchanged", "d_ff and num_heads are exchanged", "EncoderLayer(d_model, num_heads, d_ff, dropout).",
            edits={LAYER: LAYER.replace("num_heads, d_ff", "d_ff, num_heads")})  # fmt: skip
    mistake("d-ff-fixed", "The feed-forward networks are 4 · d_model wide, whatever d_ff is", "What does EncoderLayer get?",
            edits={LAYER: LAYER.replace("d_ff", "4 * d_model")})  # fmt: skip
    mistake("table-turned", "Vocabulary size and d_model are exchanged", "TokenEmbedding(vocab_size, d_model).",
            edits={"TokenEmbedding(vocab_size, d_model)": "TokenEmbedding(d_model, vocab_size)"})  # fmt: skip
    mistake("max-len-ignored", "The argument max_len is ignored", "What does PositionalEncoding get?",
            edits={POSITION: "PositionalEncoding(d_model, dropout=dropout)"})  # fmt: skip
    mistake("no-dropout-in-position", "`dropout` does not reach the position", "Section 5.4 names two places for dropout.",
            edits={POSITION: "PositionalEncoding(d_model, max_len)"})  # fmt: skip
    mistake("no-dropout-in-layers", "`dropout` does not reach the layers", "What does EncoderLayer get?",
            edits={LAYER: "EncoderLayer(d_model, num_heads, d_ff)"})  # fmt: skip
    mistake("dropout-fixed", "`dropout` reaches neither the position nor the layers",
            "Build one with dropout=0.0 and call it twice in train mode.",
            edits={POSITION: "PositionalEncoding(d_model, max_len)", LAYER: "EncoderLayer(d_model, num_heads, d_ff)"})  # fmt: skip
    mistake("max-len-and-dropout-exchanged", "`dropout` is given to PositionalEncoding in the place of max_len",
            "PositionalEncoding(d_model, max_len, dropout): the second argument is a length.",
            edits={POSITION: "PositionalEncoding(d_model, dropout)"})  # fmt: skip
