"""Finds answers that share more than the lesson and the rest of the class explain.

An answer becomes the set of its overlapping runs of tokens, as in MOSS (Schleimer, Wilkerson and Aiken,
Winnowing, SIGMOD 2003). Runs of the skeleton and of the model answer explain the tokens that they cover, and
so do runs that many students wrote. What two answers share counts by the tokens that nothing explains, each
with its rarity in bits: log2(n / students who wrote the run).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import log2
from operator import itemgetter

from rapidfuzz.distance import Indel

from autograder.model.text import visible
from autograder.reports.class_answers import Answer, LessonAnswers, Run, Runs

SHARED_BY = (3, 20)  # more than 3 students, or 1 in 20 of the class, are many
LEAST_TOKENS = 15.0  # that both answers to an exercise have, and nothing explains
LEAST_SHARE = 0.5  # of all such tokens in the smaller answer
LEAST_IN_ALL = 45.0  # such tokens of a pair, over all exercises; see tests/reports/test_similar_answers.py
MOST_PAIRS = 40
MOST_LINES, LONGEST_LINE = 60, 200  # of an answer on the page

_Pair = tuple[str, str]


@dataclass(frozen=True)
class Side:
    """One student's answer, and the lines in which the shared runs begin."""

    student: str
    answer: Answer
    lines: frozenset[int]


@dataclass(frozen=True)
class SharedAnswer:
    """What two answers to one exercise share.

    `tokens` counts those that nothing explains, `evidence` is their rarity in bits, and `share` is how
    much of what the smaller answer has of its own they make up. `closeness` is the similarity of the
    whole token sequences, from 0 to 1, with nothing weighed down.
    """

    lesson: str
    exercise: str
    tokens: float
    evidence: float
    share: float
    closeness: float
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class SimilarPair:
    """Two students, and the exercises in which their answers are close; the closest comes first."""

    students: _Pair
    shared: list[SharedAnswer]

    @property
    def tokens(self) -> float:
        """The shared tokens that nothing explains, of all exercises."""
        return sum(each.tokens for each in self.shared)

    @property
    def evidence(self) -> float:
        """The evidence of all exercises, in bits."""
        return sum(each.evidence for each in self.shared)


def similar_pairs(lessons: Mapping[str, LessonAnswers]) -> list[SimilarPair]:
    """Return the pairs of students whose answers are close, those with the most evidence first."""
    found: dict[_Pair, list[SharedAnswer]] = defaultdict(list)
    for lesson, answers in lessons.items():
        for exercise, given in answers.given.items():
            by_name = tuple(sorted(given.items(), key=itemgetter(0)))
            known = tuple(answers.known.get(exercise, ()))
            for shared in _shared(lesson, exercise, by_name, known):
                found[shared.sides[0].student, shared.sides[1].student].append(shared)
    pairs = [
        SimilarPair(pair, sorted(each, key=lambda shared: -shared.evidence)) for pair, each in found.items()
    ]
    listed = [pair for pair in pairs if pair.tokens >= LEAST_IN_ALL - 1e-9]
    return sorted(listed, key=lambda pair: (-pair.evidence, pair.students))


@lru_cache(maxsize=256)  # reports are made anew after each arrival, when most exercises are as before
def _shared(
    lesson: str, exercise: str, given: tuple[tuple[str, Answer], ...], known: tuple[Answer, ...]
) -> tuple[SharedAnswer, ...]:
    """Return the pairs of answers to one exercise that share enough."""
    return tuple(_Exercise(dict(given), known).shared(lesson, exercise))


@dataclass
class _Overlap:
    """What two answers share, added up run by run."""

    tokens: float = 0.0
    evidence: float = 0.0


class _Exercise:
    """The answers of a class to one exercise, compared with each other."""

    def __init__(self, given: Mapping[str, Answer], known: Iterable[Answer]) -> None:
        self._given = given
        self._runs = {student: Runs(answer) for student, answer in self._given.items()}
        counts = Counter(run for runs in self._runs.values() for run in runs.first_line)
        many = max(SHARED_BY[0], len(given) // SHARED_BY[1])
        explained = {run for each in known for run in Runs(each).first_line}
        explained |= {run for run, count in counts.items() if count > many}
        self._rarity = {run: log2(len(given) / count) for run, count in counts.items()}
        self._own = {student: runs.own_tokens(explained) for student, runs in self._runs.items()}

    def shared(self, lesson: str, exercise: str) -> Iterable[SharedAnswer]:
        """Yield the pairs of answers that share enough."""
        bits = {
            student: sum(worth * self._rarity[run] for run, worth in own.items())
            for student, own in self._own.items()
        }
        for (one, other), overlap in self._overlaps().items():
            smaller = min(bits[one], bits[other])
            if overlap.tokens >= LEAST_TOKENS and overlap.evidence >= LEAST_SHARE * smaller > 0:
                words = self._runs[one].words, self._runs[other].words
                yield SharedAnswer(
                    lesson,
                    exercise,
                    overlap.tokens,
                    overlap.evidence,
                    share=min(overlap.evidence / smaller, 1.0),
                    closeness=float(Indel.normalized_similarity(*words)),
                    sides=(self._side(one, other), self._side(other, one)),
                )

    def _overlaps(self) -> dict[_Pair, _Overlap]:
        holders: dict[Run, list[str]] = defaultdict(list)
        for student, own in self._own.items():
            for run in own:
                holders[run].append(student)
        found: dict[_Pair, _Overlap] = defaultdict(_Overlap)
        for run, students in holders.items():
            for one, other in combinations(students, 2):
                worth = min(self._own[one][run], self._own[other][run])
                found[one, other].tokens += worth
                found[one, other].evidence += worth * self._rarity[run]
        return found

    def _side(self, student: str, other: str) -> Side:
        shared = self._own[student].keys() & self._own[other].keys()
        lines = frozenset(self._runs[student].first_line[run] for run in shared)
        return Side(student, self._given[student], lines)


@dataclass(frozen=True)
class Line:
    """One line of an answer; `shared` if a stretch begins in it that the other answer has too."""

    text: str
    shared: bool


def shown_lines(side: Side) -> list[Line]:
    """Return an answer's first lines, without characters that hide or reorder text."""
    lines = []
    for number, text in enumerate(map(visible, side.answer.text.splitlines()), start=1):
        cut = text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"
        lines.append(Line(cut, number in side.lines))
    rest = len(lines) - MOST_LINES
    if rest > 0:
        lines[MOST_LINES:] = [Line(f"… {rest} more lines are not shown", shared=False)]
    return lines
