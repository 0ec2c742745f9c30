"""What goes wrong in `Transformer`: edits of the model answer."""

from autograder.judge.exercise import Exercise

ENCODE = "return self.encoder(src, source_mask)"
DECODE = "return self.decoder(tgt, memory, self_mask, memory_mask)"
SELF = "self_mask = target_mask(tgt, self.pad_id)"
SOURCE = "source_mask = padding_mask(src, self.pad_id)"
MEMORY = "memory_mask = padding_mask(src, self.pad_id)"
START = "nn.init.xavier_uniform_(parameter)"
SIZES = "d_model, num_layers, num_heads, d_ff, max_len, dropout)"


def add_mistakes(exercise: Exercise) -> None:
    """Declare the misconceptions."""
    _add_masks(exercise)
    _add_flow(exercise)
    _add_outputs(exercise)
    _add_parts(exercise)
    _add_starts(exercise)
    _add_sizes(exercise)


def _add_masks(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("source-mask-missing", "The encoder is given no padding mask",
            "Append two <pad> to a source: which outputs of encode may change?",
            edits={ENCODE: "return self.encoder(src)"})  # fmt: skip
    mistake("memory-mask-missing", "Cross-attention is given no padding mask",
            "The memory of <pad> is a vector like any other, unless a mask hides it.",
            edits={DECODE: "return self.decoder(tgt, memory, self_mask)"})  # fmt: skip
    mistake("no-padding-masks", "No padding of the source is masked anywhere",
            "Two of the three attentions read the source.",
            edits={ENCODE: "return self.encoder(src)", DECODE: "return self.decoder(tgt, memory, self_mask)"})  # fmt: skip
    mistake("self-mask-missing", "The decoder's self-attention is given no mask",
            "Change the last target token: may the first output notice?",
            edits={DECODE: "return self.decoder(tgt, memory, None, memory_mask)"})  # fmt: skip
    mistake("self-mask-only-padding", "The decoder's self-attention is masked for padding, not for the future",
            "A target needs two masks at once: target_mask makes both.",
            edits={SELF: "self_mask = padding_mask(tgt, self.pad_id)"})  # fmt: skip
    mistake("self-mask-only-causal", "The decoder's self-attention hides the future, but not padding",
            "A target needs two masks at once: target_mask makes both.",
            edits={SELF: "self_mask = causal_mask(tgt.size(1))"})  # fmt: skip
    mistake("one-step-too-far", "The decoder sees one token of the future",
            "May position 0 read position 1?",
            edits={SELF: "self_mask = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool).tril(1)"
                         " & padding_mask(tgt, self.pad_id)"})  # fmt: skip
    mistake("history-hidden", "The triangle of the causal mask is the wrong one: the future is seen, the past is not",
            "Print the mask for three tokens. Row 2 should be all True.",
            edits={SELF: "self_mask = target_mask(tgt, self.pad_id).transpose(1, 2)"})  # fmt: skip
    mistake("masks-exchanged", "The two masks of the decoder are exchanged",
            "The first mask lies over target × target, the second over target × source.",
            edits={DECODE: "return self.decoder(tgt, memory, memory_mask, self_mask)"})  # fmt: skip
    mistake("memory-mask-of-target", "Cross-attention is masked by the target's padding",
            "Its keys are the source.", edits={MEMORY: "memory_mask = padding_mask(tgt, self.pad_id)"})  # fmt: skip
    mistake("memory-mask-causal", "Cross-attention is given the causal mask",
            "The source is known from the start: every position may read all of it.",
            edits={MEMORY: "memory_mask = torch.ones(tgt.size(1), src.size(1), dtype=torch.bool).tril()"
                           " & padding_mask(src, self.pad_id)"})  # fmt: skip
    mistake("encoder-causal", "The encoder reads under a causal mask",
            "Only the decoder writes from left to right; the source is all there.",
            edits={SOURCE: "source_mask = target_mask(src, self.pad_id)"})  # fmt: skip
    mistake("source-mask-inverted", "In the encoder True and False are exchanged: only <pad> is read",
            "True = may attend.", edits={SOURCE: "source_mask = ~padding_mask(src, self.pad_id)"})  # fmt: skip
    mistake("memory-mask-inverted", "In cross-attention True and False are exchanged: only <pad> is read",
            "True = may attend.", edits={MEMORY: "memory_mask = ~padding_mask(src, self.pad_id)"})  # fmt: skip
    mistake("all-inverted", "In every mask True and False are exchanged",
            "True = may attend, in all of this course; nn.Transformer has it the other way round.",
            edits={SOURCE: "source_mask = ~padding_mask(src, self.pad_id)",
                   MEMORY: "memory_mask = ~padding_mask(src, self.pad_id)",
                   SELF: "self_mask = ~target_mask(tgt, self.pad_id)"})  # fmt: skip
    mistake("pad-id-ignored", "The masks take 0 for padding, whatever pad_id is",
            "padding_mask and target_mask have a second argument.",
            edits={", self.pad_id)": ")"},
            also=[{SOURCE: "source_mask = padding_mask(src)"}, {SELF: "self_mask = target_mask(tgt)"},
                  {MEMORY: "memory_mask = padding_mask(src)"}])  # fmt: skip
    mistake("pad-id-not-kept", "The argument pad_id is not kept",
            "Build a model with pad_id=5 and print model.pad_id.",
            edits={"self.pad_id = pad_id": "self.pad_id = 0"})  # fmt: skip


def _add_flow(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("memory-detached", "The memory is cut off from the encoder: no gradient reaches it",
            "detach and no_grad belong to decoding, not to training.",
            edits={"memory = self.encode(src)": "memory = self.encode(src).detach()"})  # fmt: skip
    mistake("memory-made-anew", "decode does not read the memory it is given",
            "What is the argument `memory` for?",
            edits={DECODE: "return self.decoder(tgt, self.encode(src), self_mask, memory_mask)"})  # fmt: skip
    mistake("sides-exchanged", "Source and target are exchanged in forward",
            "Which of the two goes into the encoder?",
            edits={"memory = self.encode(src)": "memory = self.encode(tgt)",
                   "return self.decode(tgt, memory, src)": "return self.decode(src, memory, tgt)"})  # fmt: skip
    mistake("decoder-reads-source", "The decoder is fed the source",
            "decode(tgt, memory, src): the ids that the decoder reads are the target's.",
            edits={DECODE: "return self.decoder(src, memory, target_mask(src, self.pad_id), memory_mask)"})  # fmt: skip
    mistake("shifted-inside", "The model shifts the target itself",
            "forward gets what the decoder is to read; train_step does the shifting.",
            edits={DECODE: "return self.decoder(shift_right(tgt), memory, self_mask, memory_mask)"})  # fmt: skip
    mistake("memory-normalised", "The memory is put through one more norm",
            "nn.Transformer ends its encoder with a norm; this one is finished as it is.",
            edits={ENCODE: "return F.layer_norm(self.encoder(src, source_mask), (self.encoder(src).size(-1),))"})  # fmt: skip
    mistake("always-eval", "Dropout is never on: the model is put into eval mode",
            "The mode is set by whoever uses the model.",
            edits={"memory = self.encode(src)": "self.eval(); memory = self.encode(src)"})  # fmt: skip


def _add_outputs(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("softmax", "There is a softmax in the model",
            "Cross-entropy wants logits, and takes the softmax itself.",
            edits={DECODE: f"{DECODE}.softmax(dim=-1)"})  # fmt: skip
    mistake("log-softmax", "There is a log-softmax in the model",
            "Logits are wanted: what the last linear layer gives.",
            edits={DECODE: f"{DECODE}.log_softmax(dim=-1)"})  # fmt: skip
    mistake("only-the-last", "Only the logits of the last position are returned",
            "In training every position is scored.", edits={DECODE: f"{DECODE}[:, -1]"})  # fmt: skip
    mistake("words-returned", "The likeliest words are returned, not their logits",
            "Choosing is what greedy_decode is for.", edits={DECODE: f"{DECODE}.argmax(dim=-1)"})  # fmt: skip
    mistake("length-first", "The logits come out with the length first",
            "Batch first: (B, T, V).", edits={DECODE: f"{DECODE}.transpose(0, 1)"})  # fmt: skip


def _add_parts(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("own-parts-ignored", "A part that is passed in is not used",
            "Build an Encoder, pass it in, and ask whether model.encoder is that very object.",
            edits={"if encoder is None:": "if True:", "if decoder is None:": "if True:"},
            also=[{"if encoder is None:": "if True:"}, {"if decoder is None:": "if True:"}])  # fmt: skip
    mistake("own-parts-started-anew", "The weights of a part that is passed in are drawn anew",
            "It may be trained already. Start only what you have built.",
            edits={"for part in built:": "for part in (encoder, decoder):"},
            also=[{"for part in built:": "for part in {encoder, *built}:"},
                  {"for part in built:": "for part in {decoder, *built}:"}])  # fmt: skip
    mistake("own-parts-copied", "A part that is passed in is copied",
            "Its owner may want to go on training it: keep the object itself.",
            edits={"self.encoder = encoder": "import copy; self.encoder = copy.deepcopy(encoder)",
                   "self.decoder = decoder": "self.decoder = copy.deepcopy(decoder)"})  # fmt: skip
    mistake("vocabularies-exchanged", "The vocabulary sizes of source and target are exchanged",
            "The encoder reads the source.",
            edits={"Encoder(src_vocab_size": "Encoder(tgt_vocab_size", "Decoder(tgt_vocab_size": "Decoder(src_vocab_size"})  # fmt: skip
    mistake("source-vocabulary-twice", "The decoder is given the size of the source vocabulary",
            "It reads and writes the target.", edits={"Decoder(tgt_vocab_size": "Decoder(src_vocab_size"})  # fmt: skip


def _add_starts(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("start-missing", "The matrices start as PyTorch's layers make them, not Xavier-uniform",
            "nn.init has a function for it; it fills a matrix in place.", edits={START: "pass"})  # fmt: skip
    mistake("start-normal", "The matrices start from a normal distribution",
            "xavier_normal_ and xavier_uniform_ have the same variance and another shape.",
            edits={START: "nn.init.xavier_normal_(parameter)"})  # fmt: skip
    mistake("start-kaiming", "The matrices start by the rule of He et al., made for ReLU, not by Xavier's",
            "Kaiming looks at one side of the matrix, Xavier at both.",
            edits={START: "nn.init.kaiming_uniform_(parameter)"})  # fmt: skip
    mistake("start-returned-not-in-place", "The started matrices are not kept",
            "xavier_uniform_ fills what it is given: give it the parameter, not a copy.",
            edits={START: "parameter = nn.init.xavier_uniform_(torch.empty_like(parameter))"},
            same_as=["start-missing"])  # fmt: skip
    mistake("vectors-too", "Biases and norms are to start Xavier-uniform as well, which raises an error",
            "A vector has no fan-in and fan-out: ask for the number of dimensions first.",
            edits={"if parameter.dim() > 1:": "if True:"})  # fmt: skip
    mistake("embeddings-left-out", "The embeddings are left as they were",
            "Every matrix, embeddings included.",
            edits={"for parameter in part.parameters():": "for name, parameter in part.named_parameters():",
                   "if parameter.dim() > 1:": "if parameter.dim() > 1 and 'embed' not in name:"})  # fmt: skip
    mistake("only-encoder-started", "Only the encoder starts Xavier-uniform", "There are two parts.",
            edits={"            built.append(decoder)": "            pass"})  # fmt: skip
    mistake("only-decoder-started", "Only the decoder starts Xavier-uniform", "There are two parts.",
            edits={"            built.append(encoder)": "            pass"})  # fmt: skip


def _add_sizes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("layers-as-heads", "The number of layers and of heads are exchanged",
            "Encoder(vocab_size, d_model, num_layers, num_heads, …): that order is not the Transformer's.",
            edits={SIZES: "d_model, num_heads, num_layers, d_ff, max_len, dropout)"})  # fmt: skip
    mistake("max-len-lost", "max_len is not passed on", "Six arguments after the vocabulary.",
            edits={SIZES: "d_model, num_layers, num_heads, d_ff, dropout=dropout)"})  # fmt: skip
    mistake("dropout-lost", "dropout is not passed on",
            "With dropout=0.9 train mode should shake the logits more than with 0.1.",
            edits={SIZES: "d_model, num_layers, num_heads, d_ff, max_len)"})  # fmt: skip
    mistake("dropout-as-max-len", "dropout lands in the place of max_len",
            "Count the arguments, or pass them by name.",
            edits={SIZES: "d_model, num_layers, num_heads, d_ff, dropout)"})  # fmt: skip
    mistake("d-ff-ignored", "d_ff is ignored", "Print model.encoder.layers[0].feed_forward.",
            edits={SIZES: "d_model, num_layers, num_heads, 2048, max_len, dropout)"})  # fmt: skip
    mistake("heads-ignored", "num_heads is ignored", "Print model.encoder.layers[0].self_attention.num_heads.",
            edits={SIZES: "d_model, num_layers, 1, d_ff, max_len, dropout)"})  # fmt: skip
    mistake("one-layer", "num_layers is ignored: there is one layer", "Print len(model.encoder.layers).",
            edits={SIZES: "d_model, 1, num_heads, d_ff, max_len, dropout)"})  # fmt: skip
