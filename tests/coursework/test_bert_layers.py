"""Layer 0 of a BERT, real or small, gives its parts in one form."""

import pytest
import torch

from coursework.bert_layers import read_sentence
from coursework.pretrained_bert import Loaded, NotHereError, load_bert, local_folder
from coursework.small_bert import SmallBert, SmallTokeniser

SENTENCE = "the cat sat on the mat"


@pytest.fixture
def small() -> Loaded:
    """Return a small model, untrained."""
    tokeniser = SmallTokeniser(SENTENCE.split())
    torch.manual_seed(0)
    return Loaded(SmallBert(len(tokeniser), d_model=12, num_heads=3), tokeniser, "small")


def test_a_small_model_is_put_into_the_form_of_bert(small: Loaded) -> None:
    """Its attention has BERT's names, and gives what the model's own layer gives."""
    reading = read_sentence(small, SENTENCE)
    assert reading.tokens[1:-1] == SENTENCE.split()
    assert reading.x.shape == (1, 8, 12)
    assert reading.weights.shape == (3, 8, 8)
    own = small.bert.layers[0].attention
    merged, weights = reading.attention.self(reading.x)
    expected, expected_weights = own(reading.x, reading.x, reading.x)
    torch.testing.assert_close(reading.attention.output.dense(merged), expected)
    torch.testing.assert_close(weights, expected_weights)
    assert reading.attention.self.query is own.w_q
    assert reading.attention.output.dense is own.w_o


def test_the_pretrained_model_is_read_as_it_reads_itself() -> None:
    """The weights of layer 0 are those that the model returns."""
    try:
        local_folder("all-MiniLM-L6-v2")
    except NotHereError as problem:
        pytest.skip(str(problem))
    loaded = load_bert()
    reading = read_sentence(loaded, SENTENCE)
    encoded = loaded.tokeniser(SENTENCE, return_tensors="pt")
    with torch.no_grad():
        returned = loaded.bert(**encoded, output_attentions=True).attentions[0][0]
    torch.testing.assert_close(reading.weights, returned)
    before = reading.weights[2].diagonal(-1)
    assert before.min() > 0.9, "lesson 4 shows head 2 as one that reads the token before"
