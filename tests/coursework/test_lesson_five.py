"""What lesson 5 shows live: BERT's layers, and an encoder whose residual connections are cut."""

import pytest
import torch

from coursework import ablation, bert_layers
from coursework.bert_layers import run_bert
from coursework.pretrained_bert import NotHereError
from coursework.scope import stand_in

SENTENCES = ("The cat drank its milk.", "An old dog slept all day in the sun.")


@pytest.mark.parametrize("found", [True, False])
def test_each_layer_turns_its_state_into_the_next(found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the pretrained model and without; the note says which of the two it is."""
    if not found:
        monkeypatch.setattr(bert_layers, "local_folder", _not_here)
    bert = run_bert(SENTENCES)
    assert ("RANDOM" in bert.note) is not found
    assert len(bert.states) == len(bert.layers) + 1 == bert_layers.DEPTH + 1
    hidden = torch.zeros(bert.real.shape).masked_fill(~bert.real, -1e9)[:, None, None]
    with torch.no_grad():
        output = bert.layers[2](bert.states[2], hidden)
    output = output[0] if isinstance(output, tuple) else output
    torch.testing.assert_close(output[bert.real], bert.states[3][bert.real], atol=1e-4, rtol=1e-4)


def _not_here(_name: str) -> None:
    raise NotHereError("no files were found")


def test_cutting_residual_connections_leaves_the_sublayers() -> None:
    """Without them, a layer is its sublayers and norms one after the other; the original is kept."""
    encoder = stand_in("Encoder")(20, 8, 1, 2, 12, dropout=0.0).eval()  # type: ignore[operator]
    cut, ids = ablation.without_residuals(encoder).eval(), torch.randint(4, 20, (2, 5))
    before, (layer,) = encoder(ids), encoder.layers
    x = encoder.position(encoder.embedding(ids))
    x = layer.norm1(layer.self_attention(x, x, x)[0])
    torch.testing.assert_close(cut(ids), layer.norm2(layer.feed_forward(x)))
    torch.testing.assert_close(encoder(ids), before)
