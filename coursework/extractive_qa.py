"""A reader for lesson 08: start and end logits for each token of a paragraph, given a question.

By default it is the shipped BERT with the span head that `tools/train_span_head.py` trained. Where the
BERT is not installed, a reader compares words instead, and says so.

Training also found low-rank updates of BERT's weights (LoRA). Each adapted matrix W (O, I) becomes W + B A,
with A (R, I) and B (O, R): Hu et al. 2021, arXiv:2106.09685. Only A, B and the head are trained and stored;
the BERT itself stays as it is.

The paragraphs were written by hand, with questions and accepted answers; no model of ours was trained on
them. `WORKED` is the paragraph of lesson 08; we looked at its answers while we made the training data.
`UNSEEN` was written before training and only used to measure. The text is in `data/qa_paragraphs.toml`.
"""

import copy
import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from coursework.console import wrapped
from coursework.data_packages import how_to_get
from coursework.pretrained import INSTALL
from coursework.pretrained_bert import NotHereError, load_shipped

FAR: Final = 5.0
LONGEST: Final = 15  # tokens in an answer
NONE: Final = "no answer"
ROOM: Final = 512  # tokens of question, paragraph and special tokens: BERT has no more positions
RANK: Final = 8
FROZEN: Final = 2  # layers at the bottom that get no update
ADAPTED: Final = ("query", "key", "value", "output.dense", "intermediate.dense")
WEIGHTS: Final = Path(__file__).resolve().parent / "data" / "span_head.safetensors"


class LowRank(nn.Module):
    """A linear layer that is frozen, and a trained update of low rank."""

    def __init__(self, layer: nn.Linear, rank: int = RANK) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(requires_grad=False)
        self.a = nn.Parameter(torch.randn(rank, layer.in_features) * layer.in_features**-0.5)
        self.b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        """Take x (..., I); return (..., O)."""
        kept: Tensor = self.layer(x)
        return kept + x @ self.a.T @ self.b.T


class SpanModel(nn.Module):
    """Reads question and paragraph as a pair; says how well an answer starts and ends at each token."""

    def __init__(self, bert: Any) -> None:
        """Take a BERT, which is copied."""
        super().__init__()
        self.bert = copy.deepcopy(bert).requires_grad_(requires_grad=False)
        self.head = nn.Linear(bert.config.hidden_size, 2)
        for layer in self.bert.encoder.layer[FROZEN:]:
            for name, module in list(layer.named_modules()):
                if isinstance(module, nn.Linear) and name.endswith(ADAPTED):
                    layer.set_submodule(name, LowRank(module))

    def forward(self, **encoding: Tensor) -> Tensor:
        """Take what the tokeniser returns, (B, S) each; return start and end logits (B, S, 2)."""
        logits: Tensor = self.head(self.bert(**encoding).last_hidden_state)
        return logits

    def trained(self) -> dict[str, Tensor]:
        """Return what is trained, by name."""
        return {name: weight for name, weight in self.named_parameters() if weight.requires_grad}

    def save(self, path: Path = WEIGHTS) -> None:
        """Write what is trained, in half precision."""
        halves = {name: weight.detach().half().contiguous() for name, weight in self.trained().items()}
        save_file(halves, path)

    def load(self, path: Path = WEIGHTS) -> None:
        """Read what `save` wrote."""
        stored = load_file(path)
        with torch.no_grad():
            for name, weight in self.trained().items():
                weight.copy_(stored[name])


class TooLongError(ValueError):
    """A question and a paragraph have more tokens than the reader takes; the message says how many."""


@dataclass(frozen=True)
class Logits:
    """A paragraph in tokens, with start and end logits (S,).

    `no_answer` is the sum that a span has to beat: the start and end logits of [CLS], which stands for "the
    paragraph doesn't say" (Devlin et al. 2019, section 4.3). `places` says where each token stands in the
    paragraph.
    """

    tokens: list[str]
    starts: Tensor
    ends: Tensor
    no_answer: float
    places: list[tuple[int, int]]
    paragraph: str

    def text(self, start: int, end: int) -> str:
        """Return the text from token `start` to token `end`, both included."""
        return self.paragraph[self.places[start][0] : self.places[end][1]]


@dataclass(frozen=True)
class Reader:
    """Reads a question and a paragraph; `note` says in a line what it is, `trained` whether it learnt to.

    `read` raises TooLongError for more than `ROOM` tokens.
    """

    note: str
    trained: bool
    read: Callable[[str, str], Logits]


def load_reader() -> Reader:
    """Return the trained reader, or one that compares words where the BERT is not installed."""
    try:
        bert, tokeniser = load_shipped()
    except NotHereError as problem:
        note = f"Reader: compares words, because {problem}. {how_to_get('the trained one', INSTALL)}"
        return Reader(wrapped(note), trained=False, read=_by_words)
    model = SpanModel(bert)
    model.load()
    note = "Reader: all-MiniLM-L6-v2 with a span head and low-rank updates, trained on synthetic paragraphs."
    return Reader(wrapped(note), trained=True, read=_trained(model.eval(), tokeniser))


def normalised(answer: str) -> str:
    """Return an answer in lower case, without a preposition or an article in front."""
    lower = answer.lower().strip(" .,;:'\"")
    return re.sub(r"^(?:(?:in|on|at|by|from|of|for)\s+)?(?:(?:the|a|an)\s+)?", "", lower)


def is_right(answer: str, accepted: tuple[str, ...]) -> bool:
    """Return whether an answer is one of the accepted ones, articles and prepositions aside.

    Where none is accepted, the right answer is NONE.
    """
    return normalised(answer) in map(normalised, accepted or (NONE,))


def _trained(model: SpanModel, tokeniser: Any) -> Callable[[str, str], Logits]:
    def read(question: str, paragraph: str) -> Logits:
        encoding = tokeniser(question, paragraph, return_tensors="pt", return_offsets_mapping=True)
        places = encoding.pop("offset_mapping")[0].tolist()
        if len(places) > ROOM:
            raise TooLongError(
                f"question and paragraph have {len(places)} tokens, but the reader takes at most {ROOM}: "
                "shorten the paragraph, or ask about one part of it at a time"
            )
        with torch.no_grad():
            starts, ends = model(**encoding)[0].unbind(dim=-1)  # (S,) each
        second = [place for place, part in enumerate(encoding.sequence_ids(0)) if part == 1]
        spots = [(places[place][0], places[place][1]) for place in second]
        tokens, no_answer = [paragraph[a:b] for a, b in spots], float(starts[0] + ends[0])
        return Logits(tokens, starts[second], ends[second], no_answer, spots, paragraph)

    return read


def _by_words(question: str, paragraph: str) -> Logits:
    """Find the sentence that shares most words with the question, and prefer its words that are new.

    With c the running total of a token's score, start logits are −c before the token and end logits
    are c behind it: their sum over a span is the sum of the scores in it. It always finds some answer.
    """
    asked = {word[:5] for word in re.findall(r"\w{4,}", question.lower())}
    places = [found.span() for found in re.finditer(r"\w+|[^\w\s]", paragraph)]
    tokens = [paragraph[a:b] for a, b in places]
    shared = torch.tensor([float(token.lower()[:5] in asked) for token in tokens])
    sentence = torch.tensor([paragraph[:a].count(". ") for a, _ in places])  # (S,): its number
    nearest = torch.bincount(sentence, weights=shared).argmax()
    inside = sentence == nearest
    score = torch.where(inside, 0.5 - shared, 0.0)
    total = F.pad(score.cumsum(dim=0), (1, 0))  # (S + 1,)
    lowered = FAR * ~inside
    return Logits(tokens, -total[:-1] - lowered, total[1:] - lowered, -math.inf, places, paragraph)


class Passage(NamedTuple):
    """A paragraph, and questions with the answers that count as right: none where it doesn't say."""

    paragraph: str
    questions: dict[str, tuple[str, ...]]


def _passage(stored: dict[str, Any]) -> Passage:
    questions = {question: tuple(accepted) for question, accepted in stored["questions"].items()}
    return Passage(stored["paragraph"], questions)


_STORED: Final = tomllib.loads((Path(__file__).parent / "data/qa_paragraphs.toml").read_text("utf-8"))
WORKED: Final = _passage(_STORED["worked"])
UNSEEN: Final = tuple(map(_passage, _STORED["unseen"]))
