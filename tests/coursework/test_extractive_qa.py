"""Questions about a paragraph: the trained reader, its synthetic training data, and the one without a model."""

from pathlib import Path
from random import Random

import pytest
import torch

from coursework import extractive_qa, pretrained
from coursework.extractive_qa import (
    LONGEST,
    NONE,
    ROOM,
    UNSEEN,
    WORKED,
    Logits,
    LowRank,
    SpanModel,
    TooLongError,
    is_right,
    load_reader,
    normalised,
)
from tools.train_span_head import example


def best(logits: Logits) -> str:
    """Return the text of the best span, or that there is no answer, as the lesson does."""
    totals = logits.starts[:, None] + logits.ends
    allowed = torch.ones_like(totals, dtype=torch.bool).triu().tril(LONGEST - 1)
    start, end = divmod(int(totals.masked_fill(~allowed, -torch.inf).argmax()), len(totals))
    return logits.text(start, end) if totals[start, end] >= logits.no_answer else NONE


def test_without_a_model_the_reader_compares_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and its best span lies in the sentence that shares most words with the question."""
    monkeypatch.setattr(pretrained, "_places", lambda: iter(()))
    reader = load_reader()
    assert not reader.trained
    assert pretrained.INSTALL in reader.note
    logits = reader.read("When is the museum open?", WORKED.paragraph)
    assert logits.starts.shape == logits.ends.shape == (len(logits.tokens),)
    assert best(logits) in WORKED.paragraph.split("away. ")[1]


@pytest.fixture(scope="module")
def reader() -> extractive_qa.Reader:
    """The trained reader."""
    found = load_reader()
    if not found.trained:
        pytest.skip("the pretrained files are not installed")
    return found


def test_the_lessons_questions_are_answered_correctly(reader: extractive_qa.Reader) -> None:
    """All five of them."""
    for question, accepted in WORKED.questions.items():
        assert is_right(best(reader.read(question, WORKED.paragraph)), accepted), question


def test_the_reader_is_as_good_as_the_lesson_says(reader: extractive_qa.Reader) -> None:
    """36 of 48 questions about paragraphs that it was not trained on, eight of which have no answer."""
    asked = [(p.paragraph, question, right) for p in UNSEEN for question, right in p.questions.items()]
    found = [is_right(best(reader.read(question, text)), right) for text, question, right in asked]
    assert (sum(found), len(found)) == (36, 48)


def test_every_accepted_answer_is_in_its_paragraph() -> None:
    """No answer asks for words that the paragraph doesn't have."""
    for passage in (WORKED, *UNSEEN):
        for question, accepted in passage.questions.items():
            lower = passage.paragraph.lower()
            assert not accepted or any(normalised(answer) in lower for answer in accepted), question


def test_articles_and_prepositions_do_not_count() -> None:
    """Other words do."""
    assert is_right("In the Tower.", ("tower",))
    assert not is_right("below the tower", ("the tower",))
    assert is_right(NONE, ())
    assert not is_right("the tower", ())


def test_a_paragraph_that_is_too_long_is_refused_in_words(reader: extractive_qa.Reader) -> None:
    """The message says how long it is, and how long it may be."""
    with pytest.raises(TooLongError, match=rf"have \d+ tokens, but the reader takes at most {ROOM}"):
        reader.read("Who?", "a word " * ROOM)


def test_synthetic_answers_are_where_they_should_be() -> None:
    """Each lies in its paragraph, some have none, and the same seed gives the same examples."""
    drawn = [example(Random(seed)) for seed in range(300)]
    assert drawn == [example(Random(seed)) for seed in range(300)]
    for each in drawn:
        answer = each.paragraph[each.start : each.end]
        assert answer == answer.strip()
        assert bool(answer) is (each.end > 0)
        assert each.question.endswith("?")
        assert "{" not in each.question + each.paragraph
    assert 30 < sum(each.end == 0 for each in drawn) < 90


def test_a_low_rank_update_starts_at_nothing() -> None:
    """Before training, the adapted layer is the layer."""
    layer = torch.nn.Linear(6, 4)
    x = torch.randn(3, 6)
    adapted = LowRank(layer, rank=2)
    assert torch.equal(adapted(x), layer(x))
    torch.nn.init.ones_(adapted.b)
    assert not torch.allclose(adapted(x), layer(x))


def test_what_is_stored_is_all_that_was_trained(tmp_path: Path) -> None:
    """Saving and loading gives the same logits, up to half precision; the BERT is not stored."""
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16,
    )
    torch.manual_seed(0)
    bert = transformers.BertModel(config).eval()
    first, second = SpanModel(bert).eval(), SpanModel(bert).eval()
    with torch.no_grad():
        for weight in first.trained().values():
            weight.normal_(std=0.1)
    first.save(tmp_path / "head.safetensors")
    second.load(tmp_path / "head.safetensors")
    ids = torch.arange(7)[None]
    torch.testing.assert_close(first(input_ids=ids), second(input_ids=ids), atol=1e-2, rtol=1e-2)
    assert all("layer." not in name or ".layer.2." in name for name in first.trained())
