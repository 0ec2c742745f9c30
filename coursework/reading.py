"""A reader for lesson 8: says for each token of a paragraph how well an answer starts or ends there.

Where a model trained on questions and answers is in the local cache of the hub, or may be fetched
(COURSEWORK_DOWNLOAD=1), it reads. Else the local BERT compares pieces of text, and where there is
none either, words are compared.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from coursework.pretrained import MODEL
from coursework.pretrained_bert import NotHereError, local_folder, quiet

Compare = Callable[[str, str, list[str]], tuple[Tensor, Tensor]]
FAR: Final = 5.0
READERS: Final = (
    "distilbert/distilbert-base-cased-distilled-squad",
    "deepset/minilm-uncased-squad2",
    "deepset/roberta-base-squad2",
)
PARAGRAPH: Final = (
    "The lighthouse on the northern cape was built in 1871 by the engineer Ada Holm. "
    "Its lamp burned whale oil until electric light came in 1922. "
    "For sixty years the keeper's family lived in the small stone house below the tower, and kept goats. "
    "Since 1984 the light has been switched on by a computer in the harbour, twelve kilometres away. "
    "Today the house is a museum, which is open from May to September and closed on Mondays."
)
QUESTIONS: Final = (
    "Who built the lighthouse?",
    "What did the lamp burn before there was electric light?",
    "Where did the family of the keeper live?",
    "What switches the light on today?",
    "When is the museum open?",
)


@dataclass(frozen=True)
class Logits:
    """A paragraph in tokens, with start and end logits (S,).

    `places` says where each token stands, and `nearest` is the sentence that was found first, where
    the reader works that way.
    """

    tokens: list[str]
    starts: Tensor
    ends: Tensor
    places: list[tuple[int, int]]
    paragraph: str
    nearest: str = ""

    def text(self, start: int, end: int) -> str:
        """Return the text from token `start` to token `end`, both included."""
        return self.paragraph[self.places[start][0] : self.places[end][1]]


@dataclass(frozen=True)
class Reader:
    """Reads a question and a paragraph; `note` says in a line what it is."""

    note: str
    about: str
    max_length: int
    read: Callable[[str, str], Logits]


def load_reader() -> Reader:
    """Return the best reader that is at hand."""
    for name in READERS:
        try:
            return _trained(name)
        except NotHereError:
            continue
    why = "no question-answering model is in the local cache (COURSEWORK_DOWNLOAD=1 fetches one)"
    try:
        compare: Compare = _by_vectors()
        how = f"by {MODEL}, which only knows how alike two texts are"
    except NotHereError:
        compare, how = _by_words, "by the words that question and paragraph share"
    note = f"Reader: nearest sentence and most similar tokens, {how}; {why}."
    return Reader(note, "running total of similarity", 12, lambda q, p: _similar(q, p, compare))


def _trained(name: str) -> Reader:
    """Return a reader trained on questions and answers. Raises NotHereError."""
    folder = local_folder(name)
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    with quiet():
        model = AutoModelForQuestionAnswering.from_pretrained(
            folder, use_safetensors=True, local_files_only=True
        ).eval()
        tokeniser = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def read(question: str, paragraph: str) -> Logits:
        encoding = tokeniser(question, paragraph, return_tensors="pt", return_offsets_mapping=True)
        places = encoding.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            output = model(**encoding)
        second = [place for place, part in enumerate(encoding.sequence_ids(0)) if part == 1]
        tokens = [paragraph[slice(*places[place])] for place in second]
        spots = [(places[place][0], places[place][1]) for place in second]
        starts, ends = output.start_logits[0, second], output.end_logits[0, second]
        return Logits(tokens, starts, ends, spots, paragraph)

    return Reader(f"Reader: {name}, trained on questions and answers.", "logit", 15, read)


def _similar(question: str, paragraph: str, compare: Compare) -> Logits:
    """Find the nearest sentence, and make logits of what its tokens have to do with the question.

    The sum over a span is the similarity of its tokens, above their mean: with c the running total,
    start logits are −c before a token and end logits are c behind it. Tokens of other sentences are
    lowered by FAR.
    """
    places = _words(paragraph)
    tokens = [paragraph[start:end] for start, end in places]
    sentences = [found.group().strip() for found in re.finditer(r"[^.?!]+[.?!]", paragraph)]
    by_token, by_sentence = compare(question, paragraph, sentences)  # (S,), (number of sentences,)
    nearest = sentences[int(by_sentence.argmax())]
    begin = paragraph.index(nearest)
    inside = torch.tensor([begin <= place[0] < begin + len(nearest) - 1 for place in places])
    above = by_token - by_token[inside].mean()
    total = F.pad(above.masked_fill(~inside, 0.0).cumsum(dim=0), (1, 0))  # (S + 1,)
    lowered = FAR * ~inside
    return Logits(tokens, -total[:-1] - lowered, total[1:] - lowered, places, paragraph, nearest)


def _words(text: str) -> list[tuple[int, int]]:
    """Return where each word and each mark stands."""
    return [found.span() for found in re.finditer(r"\w+|[^\w\s]", text)]


def _by_words(question: str, paragraph: str, sentences: list[str]) -> tuple[Tensor, Tensor]:
    """Give 1 to words whose beginning occurs in the question, 0 to others; add up for sentences."""
    asked = {word[:5] for word in re.findall(r"\w{4,}", question.lower())}

    def shared(text: str) -> Tensor:
        return torch.tensor([float(text[a:b].lower()[:5] in asked) for a, b in _words(text)])

    return shared(paragraph), torch.stack([shared(sentence).sum() for sentence in sentences])


def _by_vectors() -> Compare:
    """Return a comparison by the vectors of the local BERT. Raises NotHereError."""
    folder = local_folder(MODEL)
    from transformers import AutoModel, AutoTokenizer

    with quiet():
        bert = AutoModel.from_pretrained(folder, use_safetensors=True, local_files_only=True).eval()
        tokeniser = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    @cache  # a paragraph is read once, however many questions there are
    def vectors(text: str) -> tuple[Tensor, list[tuple[int, int]]]:
        encoding = tokeniser(text, return_tensors="pt", return_offsets_mapping=True)
        places = encoding.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            return bert(**encoding).last_hidden_state[0], places  # (pieces, D)

    def compare(question: str, paragraph: str, sentences: list[str]) -> tuple[Tensor, Tensor]:
        asked = vectors(question)[0].mean(dim=0)  # (D,)
        states, places = vectors(paragraph)
        alike = F.cosine_similarity(states, asked, dim=-1)  # (pieces,)
        parts = [
            [piece for piece, (a, b) in enumerate(places) if start <= a < b <= end]
            for start, end in _words(paragraph)
        ]
        whole = torch.stack([vectors(sentence)[0].mean(dim=0) for sentence in sentences])
        by_sentence = F.cosine_similarity(whole, asked, dim=-1)
        return torch.stack([alike[part].mean() for part in parts]), by_sentence

    return compare
