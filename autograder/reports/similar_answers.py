"""Finds answers that share more than the lesson and the rest of the class explain.

An answer becomes the set of its overlapping runs of tokens, as in MOSS (Schleimer, Wilkerson and Aiken,
Winnowing, SIGMOD 2003). Runs of the skeleton and of the model answer explain the tokens that they cover, and
so do runs that many students wrote. What two answers share counts by the tokens that nothing explains, each
with its rarity in bits: log2(n / students who wrote the run).
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import log2
from operator import itemgetter
from typing import NamedTuple

from autograder.model.text import visible
from autograder.reports.class_answers import LessonAnswers, StudentAnswer, bound, is_unused_text, literal
from autograder.submissions.answer_text import parse

MOST_TOKENS = 4_000  # of one answer; a long one takes a few hundred
RUN = {True: 24, False: 8}  # the length of a run, by whether it is code: two or three lines
SHARED_BY = (3, 20)  # more than 3 students, or 1 in 20 of the class, are many
LEAST_TOKENS = 15.0  # that both answers to an exercise have, and nothing explains
LEAST_SHARE = 0.5  # of all such tokens in the smaller answer
LEAST_IN_ALL = 45.0  # such tokens of a pair, over all exercises; see tests/reports/test_similar_answers.py
MOST_PAIRS = 40
MOST_LINES, LONGEST_LINE = 60, 200  # of an answer on the page
Run = int  # the hash of some words that follow each other
_Pair = tuple[str, str]
_IGNORED = {"ctx", "annotation", "returns"}
_MARKUP = "*_`#.,;:!?()[]\"'"


class Token(NamedTuple):
    """One word of a normalised answer, and the line of the answer that it comes from."""

    word: str
    line: int


def tokens(answer: StudentAnswer) -> list[Token]:
    """Return an answer's tokens; none for code that Python cannot parse.

    In code these are the nodes of the syntax tree, in order. A name that the answer itself defines
    counts as any name; names of libraries, attributes and numbers stay. Docstrings, annotations and
    comments are dropped. In prose these are the words, in lower case.
    """
    if not answer.is_code:
        numbered = enumerate(answer.text.lower().splitlines(), start=1)
        words = ((word.strip(_MARKUP), line) for line, text in numbered for word in text.split())
        return [Token(word, line) for word, line in words if word][:MOST_TOKENS]
    tree = parse(answer.text)
    if tree is None:
        return []
    nodes = _in_order(tree)[:MOST_TOKENS]
    own = {name for node in nodes if (name := bound(node))}
    found, line = [], 0
    for node in nodes:
        line = getattr(node, "lineno", line)
        found.append(Token(_word(node, own), line))
    return found


class Runs:
    """The runs of a normalised answer."""

    def __init__(self, answer: StudentAnswer) -> None:
        found = tokens(answer)
        self.words, self._length = [token.word for token in found], RUN[answer.is_code]
        starts = range(len(found) - self._length + 1)
        self._runs = [hash(tuple(self.words[at : at + self._length])) for at in starts]
        lines = (token.line for token in reversed(found[: len(self._runs)]))
        self.first_line = dict(zip(reversed(self._runs), lines, strict=True))

    def own_tokens(self, explained: Set[Run]) -> dict[Run, float]:
        """Return what each unexplained run is worth: its share of tokens that no explained run covers.

        A token lies in as many runs as a run has tokens (in fewer at the ends of an answer), so that all
        runs together count it once.
        """
        length, known = self._length, [run in explained for run in self._runs]
        own = bytearray(b"\x01" * len(self.words))
        for at, is_known in enumerate(known):
            if is_known:
                own[at : at + length] = bytes(length)
        return {
            run: worth / length
            for at, (run, is_known) in enumerate(zip(self._runs, known, strict=True))
            if not is_known and (worth := own.count(1, at, at + length))
        }


def _in_order(tree: ast.AST) -> list[ast.AST]:
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if not is_unused_text(node):
            found.append(node)
            fields = [value for name, value in ast.iter_fields(node) if name not in _IGNORED]
            children = [each for value in fields for each in (value if isinstance(value, list) else [value])]
            stack += [each for each in reversed(children) if isinstance(each, ast.AST)]
    return found


def _word(node: ast.AST, own: set[str]) -> str:
    kind = type(node).__name__
    if isinstance(node, ast.Constant):
        return f"{kind} {literal(node.value)}"
    if isinstance(node, ast.keyword):
        return f"{kind} {node.arg}"
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    return f"{kind} {name}" if name is not None and name not in own else kind


@dataclass(frozen=True)
class Side:
    """One student's answer, and the lines in which the shared runs begin."""

    student: str
    answer: StudentAnswer
    lines: frozenset[int]


@dataclass(frozen=True)
class SharedAnswer:
    """What two answers to one exercise share.

    `tokens` counts those that nothing explains, `evidence` is their rarity in bits, and `share` is how
    much of what the smaller answer has of its own they make up.
    """

    lesson: str
    exercise: str
    tokens: float
    evidence: float
    share: float
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class SimilarPair:
    """Two students, and the exercises in which their answers are close; the closest comes first.

    `tokens` and `evidence` are the sums over these exercises.
    """

    students: _Pair
    shared: list[SharedAnswer]
    tokens: float
    evidence: float


def similar_pairs(lessons: Mapping[str, LessonAnswers]) -> list[SimilarPair]:
    """Return the pairs of students whose answers are close, those with the most evidence first."""
    found: dict[_Pair, list[SharedAnswer]] = defaultdict(list)
    for lesson, answers in lessons.items():
        for exercise, given in answers.given.items():
            by_name = tuple(sorted(given.items(), key=itemgetter(0)))
            known = tuple(answers.known.get(exercise, ()))
            for each in _shared(lesson, exercise, by_name, known):
                found[each.sides[0].student, each.sides[1].student].append(each)
    pairs = []
    for students, shared in found.items():
        tokens = sum(each.tokens for each in shared)
        if tokens >= LEAST_IN_ALL - 1e-9:
            shared.sort(key=lambda each: -each.evidence)
            pairs.append(SimilarPair(students, shared, tokens, sum(each.evidence for each in shared)))
    return sorted(pairs, key=lambda pair: (-pair.evidence, pair.students))


@lru_cache(maxsize=256)  # reports are made anew after each arrival, when most exercises are as before
def _shared(
    lesson: str, exercise: str, given: tuple[tuple[str, StudentAnswer], ...], known: tuple[StudentAnswer, ...]
) -> tuple[SharedAnswer, ...]:
    answers = dict(given)
    runs = {student: Runs(answer) for student, answer in given}
    counts = Counter(run for each in runs.values() for run in each.first_line)
    many = max(SHARED_BY[0], len(given) // SHARED_BY[1])
    explained = {run for each in known for run in Runs(each).first_line}
    explained |= {run for run, count in counts.items() if count > many}
    rarity = {run: log2(len(given) / count) for run, count in counts.items()}
    own = {student: each.own_tokens(explained) for student, each in runs.items()}
    bits = {student: sum(worth * rarity[run] for run, worth in each.items()) for student, each in own.items()}
    found = []
    for (one, other), (in_common, evidence) in _overlaps(own, rarity).items():
        smaller = min(bits[one], bits[other])
        if in_common >= LEAST_TOKENS and evidence >= LEAST_SHARE * smaller > 0:
            both = own[one].keys() & own[other].keys()
            lines = [frozenset(runs[student].first_line[run] for run in both) for student in (one, other)]
            shared = SharedAnswer(
                lesson,
                exercise,
                in_common,
                evidence,
                share=min(evidence / smaller, 1.0),
                sides=(Side(one, answers[one], lines[0]), Side(other, answers[other], lines[1])),
            )
            found.append(shared)
    return tuple(found)


def _overlaps(
    own: Mapping[str, Mapping[Run, float]], rarity: Mapping[Run, float]
) -> dict[_Pair, tuple[float, float]]:
    """Return the tokens that two answers share, and their evidence in bits, for each pair with any."""
    holders: dict[Run, list[str]] = defaultdict(list)
    for student, runs in own.items():
        for run in runs:
            holders[run].append(student)
    found: dict[_Pair, tuple[float, float]] = {}
    for run, students in holders.items():
        for one, other in combinations(students, 2):
            worth = min(own[one][run], own[other][run])
            tokens, evidence = found.get((one, other), (0.0, 0.0))
            found[one, other] = tokens + worth, evidence + worth * rarity[run]
    return found


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
