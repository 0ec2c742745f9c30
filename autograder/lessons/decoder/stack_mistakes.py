"""Known mistakes of `Decoder`, as edits of the model answer."""

from autograder.judge.exercise import Exercise

EMBED = "x = self.embedding(ids)"
PLACE = "x = self.position(x)"
LOOP = "for layer in self.layers:"
CALL = "x = layer(x, memory, self_mask, memory_mask)"
OUT = "return self.project(x)"
LIST = "[DecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]"
MODULES = f"nn.ModuleList(\n            {LIST}\n        )"
POSITION = "PositionalEncoding(d_model, max_len, dropout)"
PROJECT = "self.project = nn.Linear(d_model, vocab_size)"
LINE = "\n        "
DEEP = "\n            "


def add_stack_mistakes(exercise: Exercise) -> None:
    """Declare them all."""
    _about_the_end(exercise)
    _about_layers(exercise)
    _about_the_walk(exercise)
    _about_masks(exercise)
    _about_the_beginning(exercise)
    _about_arguments(exercise)


def _about_the_end(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("softmax-inside", "The softmax is inside the decoder: it returns probabilities, not logits",
            "Logits may be negative, and they do not sum to 1.",
            edits={OUT: "return torch.softmax(self.project(x), dim=-1)"})  # fmt: skip
    mistake("log-softmax-inside", "The log-softmax is inside the decoder",
            "Add up the exponentials of one row.",
            edits={OUT: "return torch.log_softmax(self.project(x), dim=-1)"})  # fmt: skip
    mistake("softmax-over-batch", "There is a softmax inside, and it runs over the batch",
            "Without `dim` PyTorch guesses; and logits need no softmax at all.",
            edits={OUT: "return torch.softmax(self.project(x), dim=0)"},
            also=[{OUT: "return torch.softmax(self.project(x), dim=1)"}])  # fmt: skip
    mistake("final-norm", "There is a further norm after the last layer",
            "Each post-norm layer ends in a norm already.",
            edits={OUT: "return self.project(F.layer_norm(x, x.shape[-1:]))"})  # fmt: skip
    mistake("final-dropout", "There is a dropout right in front of `project`",
            "Dropout acts on the sum of embedding and position, and inside the layers.",
            edits={OUT: "return self.project(F.dropout(x, self.position.dropout.p, self.training))"})  # fmt: skip
    mistake("relu-at-the-end", "The logits go through a ReLU", "Logits may be negative.",
            edits={OUT: "return self.project(x).relu()"})  # fmt: skip
    mistake("project-missing", "`project` is not applied: the vectors of the last layer are returned",
            "How many numbers should there be for each position?", edits={OUT: "return x"})  # fmt: skip
    mistake("project-to-d-model", "`project` leads to d_model, not to the vocabulary",
            "A number for each word.", edits={PROJECT: "self.project = nn.Linear(d_model, d_model)"})  # fmt: skip
    mistake("project-without-bias", "`project` has no bias", "nn.Linear as it comes has one; leave it in.",
            edits={PROJECT: "self.project = nn.Linear(d_model, vocab_size, bias=False)"})  # fmt: skip
    mistake("project-tied", "`project` shares its matrix with the embedding",
            "The paper does that (section 3.4); here `project` has weights of its own.",
            edits={PROJECT: f"{PROJECT}{LINE}self.project.weight = self.embedding.embed.weight"},
            also=[{OUT: "return F.linear(x, self.embedding.embed.weight, self.project.bias)"}])  # fmt: skip
    mistake("last-position-only", "Only the logits of the last position are returned",
            "In training every position has something to predict.",
            edits={OUT: "return self.project(x[:, -1])"},
            also=[{OUT: "return self.project(x[:, -1:])"}])  # fmt: skip
    mistake("words-returned", "The most probable words are returned, not the logits",
            "Picking a word comes after the decoder, in lesson 7.", edits={OUT: "return self.project(x).argmax(dim=-1)"})  # fmt: skip
    mistake("memory-returned", "The memory is returned beside the logits",
            "The caller has the memory already.", edits={OUT: "return self.project(x), memory"})  # fmt: skip


def _about_layers(exercise: Exercise) -> None:
    mistake = exercise.misconception
    own = "Change a weight of layer 0. Does layer 1 change with it?"
    mistake("one-layer-many-times", "All layers are one and the same", own,
            edits={LIST: "[DecoderLayer(d_model, num_heads, d_ff, dropout)] * num_layers"},
            also=[{CALL: "x = self.layers[0](x, memory, self_mask, memory_mask)"}])  # fmt: skip
    mistake("plain-list", "The layers lie in a plain list, where PyTorch does not find them",
            "Count the parameters of a decoder with two layers, and with three.",
            edits={MODULES: LIST})  # fmt: skip
    mistake("number-ignored", "There is one layer, whatever num_layers says",
            "Build a decoder with three layers and print it.",
            edits={LIST: "[DecoderLayer(d_model, num_heads, d_ff, dropout)]"})  # fmt: skip
    mistake("one-layer-short", "There is one layer too few", "range(n) has n numbers already.",
            edits={"range(num_layers)": "range(num_layers - 1)"})  # fmt: skip
    mistake("shared-parts", "The layers share their attention",
            "Every layer makes keys and values of its own from the memory.",
            edits={MODULES: f"{MODULES}{LINE}for other in self.layers[1:]:{DEEP}"
                   "other.cross_attention = self.layers[0].cross_attention"})  # fmt: skip


def _about_the_walk(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("returns-after-first", "The loop is left after the first layer",
            "How far is the return indented?", edits={CALL: f"{CALL}{DEEP}return self.project(x)"})  # fmt: skip
    mistake("every-layer-reads-the-embedding", "Every layer reads the embedding: only the last one has an effect",
            "What does the second layer take, and what did the first one make?",
            edits={LOOP: f"start = x{LINE}{LOOP}", CALL: "x = layer(start, memory, self_mask, memory_mask)"})  # fmt: skip
    mistake("layers-unused", "The layers are not applied", "Which parameters would get no gradient?",
            edits={CALL: "pass"})  # fmt: skip
    mistake("last-layer-skipped", "The last layer is not applied", "How many layers does your loop visit?",
            edits={LOOP: "for layer in self.layers[:-1]:"}, also=[{LOOP: "for layer in self.layers[1:]:"}])  # fmt: skip
    mistake("layers-reversed", "The layers are applied from the last to the first",
            "layers[0] is the one next to the embedding.", edits={LOOP: "for layer in reversed(self.layers):"})  # fmt: skip
    mistake("residual-around-layers", "The input of each layer is added to its output once more",
            "The residuals lie inside the layers.",
            edits={CALL: "x = x + layer(x, memory, self_mask, memory_mask)"})  # fmt: skip
    mistake("memory-replaced", "Later layers read the decoder's own vectors, not the memory",
            "The memory stays the same from the first layer to the last.",
            edits={CALL: "x = memory = layer(x, memory, self_mask, memory_mask)"})  # fmt: skip
    mistake("memory-ignored", "The layers read the target where they should read the memory",
            "Change the memory. Do the logits move?",
            edits={CALL: "x = layer(x, x, self_mask, self_mask)"},
            also=[{CALL: "x = layer(x, x, self_mask, memory_mask)"}, {CALL: "x = layer(x, x, self_mask)"}])  # fmt: skip
    mistake("x-and-memory-exchanged", "x and memory are exchanged in the call of the layers",
            "Which of them decides how many positions come out?",
            edits={CALL: "x = layer(memory, x, self_mask, memory_mask)"})  # fmt: skip
    mistake("memory-detached", "The memory is cut off from the gradient: the encoder would never learn from the decoder",
            "`detach` and `no_grad` end the way back.",
            edits={CALL: "x = layer(x, memory.detach(), self_mask, memory_mask)"})  # fmt: skip


def _about_masks(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("self-mask-unused", "`self_mask` does not reach the layers: the future is seen",
            "Change the last target token. Which logits move?",
            edits={CALL: "x = layer(x, memory, None, memory_mask)"})  # fmt: skip
    mistake("memory-mask-unused", "`memory_mask` does not reach the layers: the padding of the source is read",
            "Change the padding of the memory. Which logits move?",
            edits={CALL: "x = layer(x, memory, self_mask)"})  # fmt: skip
    mistake("no-masks", "No mask reaches the layers", "`forward` takes two masks. Where do they go?",
            edits={CALL: "x = layer(x, memory)"})  # fmt: skip
    mistake("masks-exchanged", "The two masks are exchanged in the call of the layers",
            "In which order does the layer take them?",
            edits={CALL: "x = layer(x, memory, memory_mask, self_mask)"})  # fmt: skip
    mistake("masks-for-the-first-layer", "Only the first layer gets the masks",
            "One layer without a mask is enough for the future to leak.",
            edits={CALL: f"{CALL}{DEEP}self_mask = memory_mask = None"},
            also=[{CALL: f"{CALL}{DEEP}self_mask = None"}, {CALL: f"{CALL}{DEEP}memory_mask = None"}])  # fmt: skip
    mistake("always-causal", "The decoder makes a causal mask of its own, whatever mask is given",
            "The caller decides by the masks; None means none.",
            edits={EMBED: f"if self_mask is None:{DEEP}self_mask = causal_mask(ids.size(1)){LINE}{EMBED}"},
            also=[{EMBED: f"self_mask = causal_mask(ids.size(1)){LINE}{EMBED}"},
                  {EMBED: f"self_mask = target_mask(ids) if self_mask is None else self_mask{LINE}{EMBED}"}])  # fmt: skip


def _about_the_beginning(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("no-position", "The positions are not added", "Exchange two tokens: does the decoder notice?",
            edits={PLACE: "pass"})  # fmt: skip
    mistake("position-twice", "The positions are added twice", "PositionalEncoding adds to what it is given: its result is x already.",
            edits={PLACE: "x = x + self.position(x)"},
            also=[{PLACE: "x = self.position(self.position(x))"}])  # fmt: skip
    mistake("position-alone", "Only the positions go into the layers, without the tokens",
            "PositionalEncoding takes x and adds to it.",
            edits={PLACE: "x = self.position(torch.zeros_like(x))"})  # fmt: skip
    mistake("position-in-every-layer", "The positions are added before every layer",
            "Once, at the bottom of the stack (section 3.5).",
            edits={PLACE: "pass", CALL: "x = layer(self.position(x), memory, self_mask, memory_mask)"})  # fmt: skip
    mistake("scaled-twice", "The embedding is multiplied by √d_model twice",
            "TokenEmbedding has done so already.",
            edits={EMBED: f"{EMBED} * math.sqrt(self.project.in_features)"})  # fmt: skip
    mistake("not-scaled", "The embedding is not multiplied by √d_model",
            "Call `self.embedding`, not the table inside it.", edits={EMBED: "x = self.embedding.embed(ids)"})  # fmt: skip
    mistake("memory-with-positions", "The positions are added to the memory as well",
            "The encoder has added positions to the source already.",
            edits={PLACE: f"{PLACE}{LINE}memory = self.position(memory)"})  # fmt: skip


def _about_arguments(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("max-len-ignored", "The argument max_len does not reach the positions",
            "Build a decoder with max_len=600 and give it 550 tokens.",
            edits={POSITION: "PositionalEncoding(d_model, dropout=dropout)"})  # fmt: skip
    mistake("dropout-for-layers-missing", "The argument dropout does not reach the layers",
            "What is the layers' dropout if you say nothing?",
            edits={"DecoderLayer(d_model, num_heads, d_ff, dropout)": "DecoderLayer(d_model, num_heads, d_ff)"})  # fmt: skip
    mistake("dropout-for-positions-missing", "The argument dropout does not reach the positions",
            "What is the dropout of PositionalEncoding if you say nothing?",
            edits={POSITION: "PositionalEncoding(d_model, max_len)"})  # fmt: skip
    mistake("dropout-as-max-len", "The dropout is passed to PositionalEncoding in the place of max_len",
            "In which order does PositionalEncoding take its arguments?",
            edits={POSITION: "PositionalEncoding(d_model, dropout)"})  # fmt: skip
    mistake("heads-ignored", "The number of heads is ignored",
            "Print a layer of your decoder for 2 and for 4 heads.",
            edits={LIST: LIST.replace("num_heads", "1")})  # fmt: skip
    mistake("heads-and-width-exchanged", "num_heads and d_ff are exchanged in the call of DecoderLayer",
            "In which order does DecoderLayer take its arguments?",
            edits={LIST: LIST.replace("num_heads, d_ff", "d_ff, num_heads")})  # fmt: skip
