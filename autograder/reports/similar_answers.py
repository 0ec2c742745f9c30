"""Finds answers that share more than the lesson and the rest of the class explain.

An answer becomes the set of its overlapping runs of tokens, as in MOSS (Schleimer, Wilkerson and Aiken,
Winnowing, SIGMOD 2003). A run that the skeleton or the model answer contains counts for nothing, nor
does one that many students share. Any other counts by its rarity: log2(n / students who wrote it).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import log2

from rapidfuzz.distance import Indel

from autograder.reports.class_answers import Answer, LessonAnswers
from autograder.reports.similar_tokens import Token, tokens

RUN = {True: 8, False: 5}  # tokens of a run, by whether they are code
SHARED_BY = (3, 20)  # a run counts if at most 3 students, or 1 in 20 of the class, wrote it
LEAST_EVIDENCE = 40.0  # of an exercise: the sum of rarities in bits
LEAST_SHARE = 0.5  # of the rarer runs of the smaller answer
MOST_PAIRS = 40

_Run = tuple[str, ...]
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

    `evidence` is in bits. `share` is of the evidence that the smaller answer offers. `closeness` is
    the similarity of the whole token sequences, from 0 to 1, with nothing weighed down.
    """

    lesson: str
    exercise: str
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
    def evidence(self) -> float:
        """The evidence of all exercises, in bits."""
        return sum(each.evidence for each in self.shared)


def similar_pairs(lessons: Mapping[str, LessonAnswers]) -> list[SimilarPair]:
    """Return the pairs of students whose answers are close, those with the most evidence first."""
    found: dict[_Pair, list[SharedAnswer]] = defaultdict(list)
    for lesson, answers in lessons.items():
        for exercise, given in answers.given.items():
            for shared in _Exercise(given, answers.known.get(exercise, ())).shared(lesson, exercise):
                found[shared.sides[0].student, shared.sides[1].student].append(shared)
    pairs = [
        SimilarPair(pair, sorted(each, key=lambda shared: -shared.evidence))
        for pair, each in found.items()
    ]
    return sorted(pairs, key=lambda pair: (-pair.evidence, pair.students))


class _Exercise:
    """The answers of a class to one exercise, compared with each other."""

    def __init__(self, given: Mapping[str, Answer], known: Iterable[Answer]) -> None:
        self._given = dict(sorted(given.items()))
        self._tokens = {student: tokens(answer) for student, answer in self._given.items()}
        everybody = {run for each in known for run, _ in _runs(tokens(each), is_code=each.is_code)}
        self._runs = {student: self._own(student, everybody) for student in self._given}
        counts = Counter(run for runs in self._runs.values() for run in runs)
        self._rarity = {run: log2(len(given) / count) for run, count in counts.items()}
        few = max(SHARED_BY[0], len(given) // SHARED_BY[1])
        self._few = {run for run, count in counts.items() if 1 < count <= few}

    def _own(self, student: str, everybody: set[_Run]) -> dict[_Run, int]:
        """Return the runs of an answer that are not everybody's, each with its first line."""
        is_code, own = self._given[student].is_code, dict[_Run, int]()
        for run, line in _runs(self._tokens[student], is_code=is_code):
            if run not in everybody:
                own.setdefault(run, line)
        return own

    def shared(self, lesson: str, exercise: str) -> Iterable[SharedAnswer]:
        """Yield the pairs of answers that share enough."""
        offered = {student: self._offered(runs) for student, runs in self._runs.items()}
        for (one, other), evidence in self._evidence().items():
            smaller = min(offered[one], offered[other])
            if evidence >= LEAST_EVIDENCE and evidence >= LEAST_SHARE * smaller:
                yield SharedAnswer(
                    lesson,
                    exercise,
                    evidence,
                    share=evidence / smaller,
                    closeness=self._closeness(one, other),
                    sides=(self._side(one, other), self._side(other, one)),
                )

    def _offered(self, runs: Iterable[_Run]) -> float:
        """Return how much an answer says: its runs, less those that many share."""
        return sum(self._rarity[run] for run in runs)

    def _evidence(self) -> dict[_Pair, float]:
        """Return the sum of the rarities of what two students share, by pair."""
        holders: dict[_Run, list[str]] = defaultdict(list)
        for student, runs in self._runs.items():
            for run in runs.keys() & self._few:
                holders[run].append(student)
        found: dict[_Pair, float] = defaultdict(float)
        for run, students in holders.items():
            for pair in combinations(students, 2):
                found[pair] += self._rarity[run]
        return found

    def _closeness(self, one: str, other: str) -> float:
        left, right = ([token.word for token in self._tokens[each]] for each in (one, other))
        return float(Indel.normalized_similarity(left, right))

    def _side(self, student: str, other: str) -> Side:
        """Return an answer with the lines in which shared runs begin."""
        shared = self._runs[student].keys() & self._runs[other].keys() & self._few
        lines = frozenset(self._runs[student][run] for run in shared)
        return Side(student, self._given[student], lines)


def _runs(found: list[Token], *, is_code: bool) -> Iterable[tuple[_Run, int]]:
    """Yield each run of tokens with the line in which it begins."""
    length = RUN[is_code]
    words = [token.word for token in found]
    for start in range(len(words) - length + 1):
        yield tuple(words[start : start + length]), found[start].line
