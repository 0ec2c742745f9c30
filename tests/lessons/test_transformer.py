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
from coursework.torch_twins import into_torch

LESSON = load_lesson(Course(ROOT), "07_transformer")
ORACLE = Oracle(LESSON, KEY)


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
