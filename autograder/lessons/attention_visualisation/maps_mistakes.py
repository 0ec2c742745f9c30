"""What goes wrong in `attention_maps`: edits of the model answer."""

from autograder.judge.exercise import Exercise

CATCH = "result[1][0].detach()"
RUN = "model(src, tgt)"
RETURN = "return {name: torch.stack(weights) for name, weights in caught.items()}"
STACK = "torch.stack(weights)"
ENCODER = "[layer.self_attention for layer in model.encoder.layers]"
DECODER = "[layer.self_attention for layer in model.decoder.layers]"
CROSS = "[layer.cross_attention for layer in model.decoder.layers]"
RESTORE = "model.train(was_training)"


def add_mistakes(exercise: Exercise) -> None:
    """Declare the misconceptions."""
    _add_shapes(exercise)
    _add_sources(exercise)
    _add_inputs(exercise)
    _add_manners(exercise)


def _add_shapes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("batch-kept", "The batch dimension is still there",
            "A batch of one is asked for as (L, H, Tq, Tk): take the only sample.",
            edits={CATCH: "result[1].detach()"},
            also=[{CATCH: "result[1].detach()", STACK: "torch.stack(weights, dim=1)"}])  # fmt: skip
    mistake("batch-instead-of-heads", "The layers are concatenated along their heads",
            "Layers want a dimension of their own: what does `stack` do that `cat` does not?",
            edits={STACK: "torch.cat(weights)"})  # fmt: skip
    mistake("heads-averaged", "The heads are averaged",
            "Every head has a map of its own; a mean hides what each of them does.",
            edits={CATCH: "result[1][0].mean(dim=0).detach()"},
            also=[{CATCH: "result[1].mean(dim=1).detach()"}])  # fmt: skip
    mistake("first-head", "Only one head of each layer is kept", "What is dimension 1 of (B, H, Tq, Tk)?",
            edits={CATCH: "result[1][0, 0].detach()"})  # fmt: skip
    mistake("heads-before-layers", "Layers and heads are exchanged",
            "(L, H, …): the first number counts layers.", edits={STACK: "torch.stack(weights, dim=1)"})  # fmt: skip
    mistake("layers-reversed", "The layers come in reverse order",
            "Layer 0 is the one that reads the embeddings.", edits={STACK: "torch.stack(weights[::-1])"})  # fmt: skip
    mistake("lists", "The maps are lists of tensors, not tensors",
            "The weights of all layers belong into one tensor (L, H, Tq, Tk).",
            edits={RETURN: "return caught"}, also=[{STACK: "tuple(weights)"}])  # fmt: skip
    mistake("arrays", "The maps are NumPy arrays, not tensors", "Leave `.numpy()` to whoever draws them.",
            edits={STACK: "torch.stack(weights).numpy()"})  # fmt: skip
    mistake("other-keys", "The keys of the dictionary are not 'encoder', 'decoder' and 'cross'",
            "Whoever calls the function relies on these three names.",
            edits={'"cross": [': '"cross_attention": ['},
            also=[{'"encoder": [': '"enc": [', '"decoder": [': '"dec": ['},
                  {'"encoder": [': '"encoder_self": [', '"decoder": [': '"decoder_self": ['}])  # fmt: skip


def _add_sources(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("output-for-weights", "The output of attention is caught, not its weights",
            "An attention returns a pair. Which half has a row that sums to one?",
            edits={CATCH: "result[0][0].detach()"})  # fmt: skip
    mistake("first-layer-only", "Only the first layer is watched", "L maps: one from every layer.",
            edits={ENCODER: f"{ENCODER}[:1]", DECODER: f"{DECODER}[:1]", CROSS: f"{CROSS}[:1]"})  # fmt: skip
    mistake("last-layer-only", "Only the last layer is kept", "L maps: one from every layer.",
            edits={STACK: "torch.stack(weights[-1:])"})  # fmt: skip
    mistake("one-layer-for-all", "Every layer shows the weights of the last one",
            "A hook that refers to a loop's variable sees its last value; and a single variable is overwritten.",
            edits={STACK: "torch.stack([weights[-1]] * len(weights))"})  # fmt: skip
    mistake("decoder-and-cross-exchanged", "'decoder' and 'cross' are exchanged",
            "Which of the two reads source tokens, and what is its width then?",
            edits={DECODER: "#1", CROSS: DECODER, "#1": CROSS})  # fmt: skip
    mistake("cross-is-self", "'cross' holds the decoder's self-attention",
            "A decoder layer has two attentions; one of them reads the memory.", edits={CROSS: DECODER})  # fmt: skip
    mistake("decoder-is-encoder", "'decoder' holds the encoder's self-attention",
            "Its maps are T by T.", edits={DECODER: ENCODER})  # fmt: skip
    mistake("transposed", "Queries and keys are exchanged",
            "Rows are queries: each row sums to one.",
            edits={CATCH: "result[1][0].transpose(-2, -1).detach()"})  # fmt: skip
    mistake("softmax-again", "A second softmax is taken over the weights",
            "What the attention returns has been through the softmax already.",
            edits={CATCH: "result[1][0].softmax(dim=-1).detach()"})  # fmt: skip


def _add_inputs(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("without-masks", "The stacks are run without the masks that the model uses",
            "`model.encoder` and `model.decoder` see whatever nobody hides; who makes the masks?",
            edits={RUN: "model.decoder(tgt, model.encoder(src))"},
            also=[{RUN: "model.decode(tgt, model.encoder(src), src)"},
                  {RUN: "model.decoder(tgt, model.encode(src))"},
                  {RUN: "model.decoder(tgt, model.encode(src), target_mask(tgt, model.pad_id))"},
                  {RUN: "model.decoder(tgt, model.encode(src), causal_mask(tgt.size(1)))"},
                  {RUN: "model.decoder(tgt, model.encode(src), None, padding_mask(src, model.pad_id))"},
                  {RUN: "model.decoder(tgt, model.encode(src), causal_mask(tgt.size(1)), padding_mask(src, model.pad_id))"}])  # fmt: skip
    mistake("pad-zero", "Padding is taken to be 0, whatever the model's pad_id is",
            "The model keeps its pad_id.",
            edits={RUN: "model.decoder(tgt, model.encoder(src, padding_mask(src)), target_mask(tgt), padding_mask(src))"})  # fmt: skip
    mistake("shifted-again", "The target is shifted right once more",
            "`tgt` is what the decoder reads: it begins with <sos> already.",
            edits={RUN: "model(src, shift_right(tgt))"},
            also=[{RUN: "model(src, tgt[:, :-1])"}])  # fmt: skip
    mistake("padding-cropped", "Padding is cut off before the model runs",
            "S and T count all tokens that are handed in; whoever draws may crop.",
            edits={RUN: "model(src[src != model.pad_id][None], tgt[tgt != model.pad_id][None])"})  # fmt: skip
    mistake("exchanged-inputs", "Source and target are exchanged",
            "The encoder reads the source: model(src, tgt).", edits={RUN: "model(tgt, src)"})  # fmt: skip
    mistake("source-for-both", "The decoder is given the source", "model(src, tgt), with T target tokens.",
            edits={RUN: "model(src, src)"})  # fmt: skip


def _add_manners(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("train-mode", "The model is not put into eval mode",
            "With dropout on, the maps are other ones at every call.", edits={"model.eval()": "pass"},
            also=[{"model.eval()": "pass", RESTORE: "pass"}])  # fmt: skip
    mistake("mode-not-restored", "The model is left in eval mode",
            "Note its mode first, and put it back at the end.", edits={RESTORE: "pass"})  # fmt: skip
    mistake("always-train-afterwards", "The model is put into train mode at the end, however it came",
            "Note its mode first, and put it back at the end.", edits={RESTORE: "model.train()"})  # fmt: skip
    mistake("hooks-left", "Hooks are left on the model",
            "Every hook is still called whenever the model runs: keep the handles, and remove them.",
            edits={"hook.remove()": "pass"},
            also=[{"hook.remove()": "pass", RESTORE: "pass"}])  # fmt: skip
    mistake("stale", "A second call returns the weights of the first",
            "Start with empty lists at every call.",
            edits={"was_training = model.training": 'if hasattr(model, "maps"):\n        return model.maps\n    was_training = model.training',
                   RETURN: f"model.maps = {RETURN.removeprefix('return ')}\n    return model.maps"})  # fmt: skip
    mistake("weights-frozen", "The model's weights are frozen for good",
            "no_grad ends with its block; requires_grad_(False) does not.",
            edits={"model.eval()": "model.eval().requires_grad_(False)"})  # fmt: skip
