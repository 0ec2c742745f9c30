"""Lesson 7: right answers in unusual forms pass, and the references are right and stand alone."""


import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT
from keys import KEY
from mutants import answer_with, evidence, messages

from autograder.judge.oracle import Oracle
from autograder.judge.weights import transformer
from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.draw import Draw
from coursework.engine.operation import load
from coursework.stand_ins_models import Transformer, shift_right, target_mask
from coursework.whole_parity import into_torch

LESSON = load_lesson(Course(ROOT), "07_transformer")
ORACLE = Oracle(LESSON, KEY)

TRANSFORMER_BY_LOOPS = """
class Transformer(nn.Module):
    def __init__(self, src_vocab_size, tgt_vocab_size, d_model=512, num_heads=8, num_layers=6, d_ff=2048,
                 max_len=512, dropout=0.1, pad_id=0, encoder=None, decoder=None):
        super().__init__()
        made = dict(d_model=d_model, num_layers=num_layers, num_heads=num_heads, d_ff=d_ff, max_len=max_len, dropout=dropout)
        self.pad_id = pad_id
        self.register_buffer("spare", torch.zeros(3))
        if encoder is None:
            encoder = Encoder(src_vocab_size, **made); encoder.apply(self._start)
        if decoder is None:
            decoder = Decoder(tgt_vocab_size, **made); decoder.apply(self._start)
        self.encoder, self.decoder = encoder, decoder
        self.both = nn.ModuleList([self.encoder, self.decoder])
    @staticmethod
    def _start(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            bound = (6 / (module.weight.shape[0] + module.weight.shape[1])) ** 0.5
            with torch.no_grad():
                module.weight.uniform_(-bound, bound)
                if isinstance(module, nn.Embedding): module.weight[0] = 0
                else: module.bias.zero_()
    def encode(self, src):
        seen = torch.stack([torch.stack([row != self.pad_id] * src.size(1)) for row in src])
        return self.encoder(src, mask=seen)
    def decode(self, tgt, memory, src):
        order = torch.ones(tgt.size(1), tgt.size(1)).tril() > 0
        mine = torch.logical_and(order, (tgt != self.pad_id).unsqueeze(-2))
        theirs = (src != self.pad_id)[:, None].expand(-1, tgt.size(1), -1)
        return self.decoder(ids=tgt, memory=memory, memory_mask=theirs, self_mask=mine)
    def forward(self, src, tgt):
        return self.decode(src=src, memory=self.encode(src), tgt=tgt)
"""
GREEDY_BY_ROWS = """
def greedy_decode(model, src, max_len, sos_id=1, eos_id=2):
    mode, rows = model.training, []
    model.eval()
    with torch.inference_mode():
        for one in src.split(1):
            memory, row = model.encode(one), [sos_id]
            while len(row) <= max_len and (row[-1] != eos_id or len(row) == 1):
                row.append(int(model.decode(torch.tensor([row]), memory, one)[0, -1].argmax()))
            rows.append(row[1:])
    if mode: model.train()
    longest = max(map(len, rows))
    return torch.tensor([row + [model.pad_id] * (longest - len(row)) for row in rows])
"""
GREEDY_DROPPING_ROWS = """
def greedy_decode(model, src, max_len, sos_id=1, eos_id=2):
    mode = model.training
    model.train(False)
    out = src.new_full((src.shape[0], max_len + 1), model.pad_id)
    out[:, 0] = sos_id
    alive, last = torch.arange(src.shape[0]), 0
    with torch.no_grad():
        memory = model.encode(src)
        for t in range(1, max_len + 1):
            out[alive, t] = model.decode(out[alive, :t], memory[alive], src[alive])[:, -1, :].softmax(-1).max(-1)[1]
            last, alive = t, alive[out[alive, t] != eos_id]
            if not len(alive): break
    model.train(mode)
    return out[:, 1:last + 1]
"""
GREEDY_FULL_WIDTH = GREEDY_DROPPING_ROWS.replace("out[:, 1:last + 1]", "out[:, 1:]")
LOSS_BY_TARGETS = """
def label_smoothing_loss(logits, target, smoothing=0.1, pad_id=0):
    v = logits.shape[-1]
    wanted = torch.zeros_like(logits).fill_(smoothing / v)
    wanted = wanted + F.one_hot(target, v) * (1 - smoothing)
    each = torch.einsum("btv,btv->bt", wanted, logits.logsumexp(-1, keepdim=True) - logits)
    keep = (target != pad_id).to(logits.dtype)
    return (each * keep).sum() / keep.sum()
"""
LOSS_BY_NLL = """
def label_smoothing_loss(logits, target, smoothing=0.1, pad_id=0):
    flat, ids = torch.log_softmax(logits, -1).flatten(0, 1), target.flatten()
    right = F.nll_loss(flat, ids, ignore_index=pad_id)
    return (1 - smoothing) * right + smoothing * -flat[ids != pad_id].mean()
"""
RATE = """
def noam_rate(step, d_model, warmup=4000):
    import numpy as np
    if step == 0: return 0
    return np.float64(d_model) ** -0.5 * np.minimum(1 / np.sqrt(step), step / warmup / np.sqrt(warmup))
"""
STEP_WITH_CLOSURE = """
def train_step(model, src, tgt, optimiser, smoothing=0.0):
    model.train()
    seen = []
    def closure():
        optimiser.zero_grad()
        seen.append(label_smoothing_loss(model(src, shift_right(tgt)), tgt, smoothing))
        seen[-1].backward()
        return seen[-1]
    optimiser.step(closure)
    return seen[0].item()
"""
STEP = """
def train_step(model, src, tgt, optimiser, smoothing=0.0):
    if not model.training: model.train()
    memory = model.encode(src)
    fed = torch.nn.functional.pad(tgt, (1, 0), value=1)[:, :-1]
    logits = model.decode(fed, memory, src)
    loss = F.cross_entropy(logits.transpose(1, 2), tgt, ignore_index=0, label_smoothing=smoothing)
    loss.backward()
    optimiser.step()
    model.zero_grad()
    return float(loss)
"""
WINDOWS = """
def language_windows(ids, length):
    starts = [i for i in range(0, len(ids), length) if i + length < len(ids)]
    cut = lambda shift: [ids[i + shift:i + shift + length] for i in starts]
    empty = torch.zeros(0, length, dtype=ids.dtype)
    return [torch.stack(cut(0)) if starts else empty, torch.stack(cut(1)) if starts else empty]
"""
LANGUAGE_MODEL = """
class LanguageModel(nn.Module):
    def __init__(self, vocab_size, d_model, num_layers, num_heads, d_ff, max_len=512, dropout=0.1):
        super().__init__()
        self.embedding, self.position = TokenEmbedding(vocab_size, d_model), PositionalEncoding(d_model, max_len, dropout)
        self.layers = nn.Sequential()
        for i in range(num_layers):
            self.layers.append(CausalDecoderLayer(d_model, num_heads, d_ff, dropout))
        self.norm, self.project = nn.LayerNorm(d_model), nn.Linear(d_model, vocab_size)
        self.head = nn.Sequential(self.norm, self.project)
    def forward(self, ids):
        return self.head(self.layers(self.position(self.embedding(ids))))
"""


@pytest.mark.parametrize(
    ("exercise", "cell"),
    [
        ("transformer", TRANSFORMER_BY_LOOPS),
        ("greedy-decode", GREEDY_BY_ROWS),
        ("greedy-decode", GREEDY_DROPPING_ROWS),
        ("greedy-decode", GREEDY_FULL_WIDTH),
        ("label-smoothing-loss", LOSS_BY_TARGETS),
        ("label-smoothing-loss", LOSS_BY_NLL),
        ("noam-rate", RATE),
        ("train-step", STEP),
        ("train-step", STEP_WITH_CLOSURE),
        ("language-windows", WINDOWS),
        ("language-model", LANGUAGE_MODEL),
    ],
)
def test_unusual_forms_pass(exercise: str, cell: str) -> None:
    """Loops, keyword arguments, numpy, parts registered twice, rows dropped as they end: full points."""
    asked = LESSON[exercise]
    seen = evidence(ORACLE, asked, [answer_with(asked, cell)])
    assert messages(seen) == []
    assert all(item.passed for item in seen)


def test_wrong_names_are_told_and_behaviour_still_counts() -> None:
    """A part under another name fails the checks that load weights; those that need none still pass."""
    asked = LESSON["transformer"]
    renamed = asked.answer.replace("self.encoder", "self.reader")
    seen = evidence(ORACLE, asked, [answer_with(asked, renamed)])
    assert {"causal", "reads-source", "keeps-pad-id"} <= {i.check.id for i in seen if i.passed}
    assert any("no attribute `encoder`" in message for message in messages(seen))


def test_the_reference_agrees_with_torch_nn_transformer() -> None:
    """With the same weights, and without its extra norms, nn.Transformer gives the same logits."""
    model = Transformer(11, 13, 8, 4, 2, 12).eval()
    for path, value in transformer(Draw(KEY, "parity"), [11, 13, 8, 4, 2, 12]).items():
        load(model, path, value)
    src, tgt = torch.tensor([[5, 9, 4, 7, 2], [8, 3, 2, 0, 0]]), torch.tensor([[1, 7, 9], [1, 4, 0]])
    theirs = into_torch(model, 4)
    theirs.encoder.norm = theirs.decoder.norm = None
    x, y = (half.position(half.embedding(ids)) for half, ids in ((model.encoder, src), (model.decoder, tgt)))
    future = torch.ones(3, 3, dtype=torch.bool).triu(1)
    pads = {"src_key_padding_mask": src == 0, "memory_key_padding_mask": src == 0, "tgt_key_padding_mask": tgt == 0}
    logits = model.decoder.project(theirs(x, y, tgt_mask=future, **pads))
    torch.testing.assert_close(logits, model(src, tgt), atol=1e-5, rtol=1e-5)


def test_the_stand_ins_for_masks_and_shifting_are_right() -> None:
    """<sos> comes first, the last token goes; a query sees real keys up to itself."""
    ids = torch.tensor([[5, 8, 2], [4, 2, 0]])
    assert shift_right(ids).tolist() == [[1, 5, 8], [1, 4, 2]]
    assert target_mask(ids).int().tolist()[1] == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


def test_the_floor_of_a_doubled_softmax_is_the_formula_of_the_lesson() -> None:
    """ln(e + V − 1) − 1 is what cross-entropy gives a perfect model that ends with a softmax."""
    floor = F.cross_entropy(F.one_hot(torch.tensor([3]), 13).float(), torch.tensor([3]))
    assert float(floor) == pytest.approx(torch.log(torch.tensor(2.718281828 + 12)).item() - 1)
