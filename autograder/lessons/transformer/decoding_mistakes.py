"""What goes wrong in `greedy_decode`: edits of the model answer."""

from autograder.judge.exercise import Exercise

DECODE = "logits = model.decode(written, memory, src)"
WORD = "word = logits[:, -1].argmax(dim=-1)"
FILL = "word = word.masked_fill(ended, model.pad_id)"
ENDED = "ended = ended | (word == eos_id)"
RETURN = "return written[:, 1:]"
RESTORE = "model.train(was_training)"


def add_mistakes(exercise: Exercise) -> None:
    """Declare the misconceptions."""
    _add_words(exercise)
    _add_endings(exercise)
    _add_manners(exercise)


def _add_words(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("only-the-last-word", "Only the last word is fed back, not all that was written",
            "The decoder keeps nothing from call to call: what does it know of word 0 at step 3?",
            edits={DECODE: "logits = model.decode(written[:, -1:], memory, src)"})  # fmt: skip
    mistake("first-position", "The word is read off the first position, not the last",
            "Which position has seen everything that is written?",
            edits={WORD: "word = logits[:, 0].argmax(dim=-1)"})  # fmt: skip
    mistake("last-sample", "The word is read off the last sample of the batch, not off the last position",
            "The logits are (B, T, V): which dimension does [-1] pick from?",
            edits={WORD: "word = logits[-1].argmax(dim=-1)"},
            also=[{WORD: "word = logits[-1, -1].argmax(dim=-1).expand(src.size(0))"}])  # fmt: skip
    mistake("argmax-over-batch", "The largest logit is looked for across the batch, not across the words",
            "After [:, -1] the logits are (B, V): along which dimension do the words lie?",
            edits={WORD: "word = logits[:, -1].argmax(dim=0)[: src.size(0)]"})  # fmt: skip
    mistake("first-row-for-all", "Every row is given the first row's word",
            "A batch of three needs three words at each step.",
            edits={WORD: "word = logits[:1, -1].argmax(dim=-1).expand(src.size(0))"})  # fmt: skip
    mistake("one-number", "`.item()` works for a batch of one only",
            "Stay with tensors of shape (B,).",
            edits={WORD: "word = torch.tensor([logits[:, -1].argmax(dim=-1).item()])"})  # fmt: skip
    mistake("least-likely", "The least likely word is taken", "argmin or argmax?",
            edits={WORD: "word = logits[:, -1].argmin(dim=-1)"})  # fmt: skip
    mistake("sos-kept", "The leading <sos> is returned as well",
            "It was put there by us, not written by the model.", edits={RETURN: "return written"})  # fmt: skip
    mistake("first-word-lost", "The first word that was written is cut off",
            "Only <sos> goes.", edits={RETURN: "return written[:, 2:]"})  # fmt: skip
    mistake("sos-ignored", "Sentences begin with 1, whatever sos_id is", "Try it with sos_id=5.",
            edits={"(src.size(0), 1), sos_id": "(src.size(0), 1), 1"})  # fmt: skip
    mistake("starts-from-source", "The decoder starts from the first word of the source, not from <sos>",
            "A decoder begins as it began in training: with <sos>.",
            edits={"written = torch.full((src.size(0), 1), sos_id, device=src.device)": "written = src[:, :1]"})  # fmt: skip
    mistake("starts-from-eos", "The decoder starts from <eos> or <pad>, not from <sos>",
            "A decoder begins as it began in training: with <sos>.",
            edits={"(src.size(0), 1), sos_id": "(src.size(0), 1), eos_id"},
            also=[{"(src.size(0), 1), sos_id": "(src.size(0), 1), model.pad_id"}])  # fmt: skip
    mistake("lists-returned", "The rows are returned as lists, not as a tensor",
            "A LongTensor (B, at most max_len) is wanted.", edits={RETURN: "return written[:, 1:].tolist()"})  # fmt: skip


def _add_endings(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("talks-on", "A row goes on after its <eos>",
            "From then on it holds model.pad_id, whatever the decoder says.",
            edits={FILL: "pass"},
            also=[{FILL: "pass", ENDED: "ended = word == eos_id"}])  # fmt: skip
    mistake("zero-for-pad", "Rows that have ended are filled with 0, not with the model's pad_id",
            "Try it with a model whose pad_id is 5.", edits={FILL: "word = word.masked_fill(ended, 0)"})  # fmt: skip
    mistake("eos-repeated", "Rows that have ended repeat <eos>",
            "One <eos>, and then padding.", edits={FILL: "word = word.masked_fill(ended, eos_id)"})  # fmt: skip
    mistake("eos-swallowed", "The <eos> itself is replaced by padding",
            "It belongs to the result; only what follows does not.",
            edits={FILL: "ended = ended | (word == eos_id); word = word.masked_fill(ended, model.pad_id)"})  # fmt: skip
    mistake("stops-at-the-first", "Decoding stops when the first row has ended",
            "The others are still writing.", edits={"if ended.all():": "if ended.any():"})  # fmt: skip
    mistake("looks-at-one-row", "Only the first row decides when to stop",
            "All rows have to have ended.", edits={"if ended.all():": "if ended[0]:"})  # fmt: skip
    mistake("forgets-endings", "What ended earlier is forgotten: only rows that say <eos> now count as ended",
            "A row that has ended stays ended.", edits={ENDED: "ended = word == eos_id"})  # fmt: skip
    mistake("never-stops-early", "Decoding goes on to max_len although all rows have ended",
            "Ask after each step whether any row is still writing.",
            edits={"                break": "                pass"})  # fmt: skip
    mistake("max-len-counts-sos", "One token too few is written: max_len counts <sos> as well",
            "max_len is the number of tokens that come back, and <sos> does not come back.",
            edits={"range(max_len)": "range(max_len - 1)"})  # fmt: skip
    mistake("one-too-many", "One token too many is written", "How often does the loop run?",
            edits={"range(max_len)": "range(max_len + 1)"})  # fmt: skip
    mistake("max-len-ignored", "max_len is ignored: 50 steps are taken where no row ends",
            "The loop runs at most max_len times.", edits={"range(max_len)": "range(50)"})  # fmt: skip
    mistake("source-length", "As many words are written as the source has",
            "A translation may be longer than what it translates.",
            edits={"range(max_len)": "range(min(max_len, src.size(1)))"})  # fmt: skip
    mistake("eos-ignored", "<eos> is taken to be 2, whatever eos_id is", "Try it with eos_id=4.",
            edits={ENDED: "ended = ended | (word == 2)"})  # fmt: skip


def _add_manners(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("train-mode", "The model is not put into eval mode",
            "With dropout on, the same sentence is translated differently each time.",
            edits={"model.eval()": "pass"})  # fmt: skip
    mistake("mode-not-restored", "The model is left in eval mode",
            "Note its mode first, and put it back at the end.", edits={RESTORE: "pass"})  # fmt: skip
    mistake("always-train-afterwards", "The model is put into train mode at the end, however it came",
            "Note its mode first, and put it back at the end.", edits={RESTORE: "model.train()"})  # fmt: skip
    mistake("gradients-on", "Gradients are recorded while decoding",
            "`with torch.no_grad():` spares memory and time.",
            edits={"with torch.no_grad():": "if True:"})  # fmt: skip
    mistake("encodes-every-step", "The source is encoded at every step",
            "The memory never changes while a sentence is written: encode ahead of the loop.",
            edits={DECODE: "logits = model.decode(written, model.encode(src), src)"},
            also=[{DECODE: "logits = model(src, written)", "memory = model.encode(src)": "pass"},
                  {DECODE: "logits = model.decode(written, model.encode(src), src)",
                   "memory = model.encode(src)": "pass"}])  # fmt: skip
    mistake("weights-frozen", "The model's weights are frozen for good",
            "no_grad ends with its block; requires_grad_(False) does not.",
            edits={"model.eval()": "model.eval().requires_grad_(False)"})  # fmt: skip
