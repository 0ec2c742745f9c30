"""Suggests known mistakes: what several students made wrong alike, and the catalogue has no name for.

Their answers fail the same checks with the same messages, so they give the same results. Where a small change
of the model answer gives these results too, it is an entry that an author can paste into the catalogue. Parts
of the wrong answers are tried first, under the model answer's names.
"""

import ast
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import yaml

from autograder.judge.oracle import Oracle, judge_check
from autograder.model.attempt import Attempt
from autograder.model.exercise import Check, Edit, Exercise, Mistake
from autograder.model.report import ExerciseReport
from autograder.search.donors import Donor
from coursework.edits.cell import MISSING, Cell, CodeEdit, distinct
from coursework.edits.generic import everywhere, generic_edits
from coursework.edits.places import blame
from coursework.engine.describe import Comparison
from coursework.engine.trial import runs, try_for

FEWEST: Final = 2  # students who make a group
MOST_ANSWERS: Final = 3  # of a group, whose parts are tried
MOST_SECONDS: Final = 20.0  # of processor time for a group
SECONDS: Final = 0.5  # for a changed model answer on one check
MOST_NAMED: Final = 8  # students in a comment
MOST_LINES: Final = 3  # around those that differ
HINT: Final = "Try it on an input that you can follow by hand."
REWRITE: Final = "# Put title and hint in your own words: students read them."
NO_EDIT: Final = (
    "# No small change of the model answer gives the same results, so there is no entry to paste."
)
PLACE: Final = re.compile(r" in (line \d+ of your cell( \(`.*?`\))?|another of your cells)")
TOKEN: Final = re.compile(r"\w+|\s+|.", re.DOTALL)

Results = Mapping[str, tuple[bool, str]]  # by check: whether it passed, and the message without its line


@dataclass(frozen=True)
class AlikeAnswers:
    """Students whose answers to an exercise are wrong alike, with the reports of their answers."""

    exercise: str
    results: Results
    done: Mapping[str, ExerciseReport]
    changes: Mapping[str, str]

    @property
    def kind(self) -> str:
        """The kind of change that makes their answers right, in the words of the first."""
        first = next(iter(self.done.values()))
        return (first.lines or [])[0].kind


def unnamed_groups(attempts: Iterable[Attempt]) -> list[AlikeAnswers]:
    """Return the groups of answers that a change makes right and that no mistake was named in."""
    found: dict[tuple[str, str], dict[str, tuple[ExerciseReport, str]]] = {}
    for attempt in attempts:
        for done in attempt.report.exercises:
            if done.lines and done.failures and not done.known_mistakes:
                key = (done.id, repr(_results(done)))
                found.setdefault(key, {})[attempt.student] = done, attempt.changes.get(done.id, "")
    groups = [
        AlikeAnswers(
            exercise,
            _results(next(iter(alike.values()))[0]),
            {student: done for student, (done, _) in alike.items()},
            {student: change for student, (_, change) in alike.items()},
        )
        for (exercise, _), alike in found.items()
        if len(alike) >= FEWEST
    ]
    return sorted(groups, key=lambda each: (-len(each.done), each.exercise))


def _results(done: ExerciseReport) -> Results:
    return {check.id: (check.passed, PLACE.sub("", check.message)) for check in done.checks}


def suggestions(
    oracle: Oracle, groups: Sequence[AlikeAnswers], answers: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Yield an entry for each group as YAML, with comments on who made the mistake; see `CONTRIBUTING.md`.

    `answers` are the texts of the students' answers by exercise and student, as far as there are any. A group
    for which there is no entry is told in comments alone.
    """
    taken: dict[str, set[str]] = {}
    for group in groups:
        exercise = oracle.lesson[group.exercise]
        ids = taken.setdefault(exercise.id, {each.id for each in exercise.mistakes})
        about = [*_about(oracle, exercise, group)]
        given = answers.get(exercise.id, {})
        wrong = dict.fromkeys(given[student] for student in group.done if student in given)
        edit = edit_like(oracle, exercise, group.results, [*wrong][:MOST_ANSWERS])
        if edit is None:
            yield "\n".join([*about, NO_EDIT]) + "\n"
            continue
        name = _new_id(group.kind, ids)
        ids.add(name)
        entry = {name: _title(group), "hint": HINT, "edit": edit}
        text = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=110)
        yield "\n".join([*about, REWRITE, text])


def _about(oracle: Oracle, exercise: Exercise, group: AlikeAnswers) -> Iterator[str]:
    students = [*group.done]
    named = ", ".join(students[:MOST_NAMED]) + (", …" if len(students) > MOST_NAMED else "")
    home = exercise.module.with_suffix(".yaml").name if exercise.module else f"{exercise.id}.yaml"
    yield f"# {oracle.lesson.name}, {exercise.id}: {len(students)} students ({named}); for {home}."
    yield f"# {blame((next(iter(group.done.values())).lines or [])[:1])} The change in one of their answers:"
    change = min(filter(None, group.changes.values()), key=len, default="")
    yield from (f"#   {line}" for line in change.splitlines())


def _title(group: AlikeAnswers) -> str:
    if group.kind == MISSING:
        return "A statement is missing"
    which = "" if group.kind.startswith(("without", "no change")) else "with "
    return f"Everything passes {which}{group.kind}"


def _new_id(kind: str, taken: set[str]) -> str:
    """Return an id that no other mistake of the exercise has."""
    words = "statement-missing" if kind == MISSING else "-".join(re.findall(r"[a-z0-9]+", kind.lower()))
    numbered = (words if number == 1 else f"{words}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in numbered if name not in taken)


def edit_like(
    oracle: Oracle, exercise: Exercise, results: Results, wrong: Sequence[str] = ()
) -> dict[str, str] | None:
    """Return the likeliest change of the model answer that gives some results, as an entry's `edit`."""
    answer, until = exercise.answer, time.process_time() + MOST_SECONDS
    checks = sorted(exercise.checks, key=lambda check: results.get(check.id, (True, ""))[0])
    for edit in _changes(Cell(answer), wrong):
        changed = edit.apply(answer)
        if time.process_time() > until:
            break
        if _gives(oracle, exercise, changed, checks, results) and (found := as_replacement(answer, edit)):
            return found
    return None


def _changes(answer: Cell, wrong: Sequence[str]) -> Iterator[CodeEdit]:
    """Yield what may be changed in the model answer: parts of wrong answers are brought in, then all else."""
    for source in wrong:
        with suppress(SyntaxError, ValueError, RecursionError):
            donor = Donor(answer, Cell(source))
            parts = distinct([*donor.in_place(), *donor.anywhere()], answer.source)
            yield from _also_everywhere(parts, answer)
    yield from _also_everywhere(generic_edits(answer), answer)


def _also_everywhere(edits: Sequence[CodeEdit], answer: Cell) -> Iterator[CodeEdit]:
    yield from edits
    for alike in everywhere(edits, answer):
        changes = tuple(change for each in alike for change in each.changes)
        yield replace(alike[0], changes=changes, last=alike[-1].last)


def _gives(
    oracle: Oracle, exercise: Exercise, source: str, checks: Sequence[Check], results: Results
) -> bool:
    """Return whether an answer gives some results; those of failed checks are compared first."""
    names = oracle.scope(exercise)
    if not runs(source, names, SECONDS) or exercise.name not in names:
        return False
    try:
        for check in checks:
            if check.id not in results:
                return False
            test_input = oracle.test_input(exercise, check)
            got = try_for(
                SECONDS, test_input.operation, names[exercise.name], exercise.name, seed=test_input.seed
            )
            expected = oracle.expected(exercise, check, test_input)
            verdict = judge_check(
                exercise, check, Comparison(test_input.operation, got, expected, source=source)
            )
            message = "" if verdict.passed else PLACE.sub("", verdict.message)
            if (verdict.passed, message) != results[check.id]:
                return False
    except Exception:  # whatever a change leads to: then it is not the one
        return False
    return True


def as_replacement(answer: str, edit: CodeEdit) -> dict[str, str] | None:
    """Return an edit as what is replaced and by what, as short as it can be while it occurs once."""
    changed = edit.apply(answer)
    for old, new in _replacements(answer.split("\n"), changed.split("\n")):
        if old and answer.count(old) == 1:
            made = Mistake("", "", "", (Edit(old, new),)).apply(answer)
            if _same(made, changed):
                return {old: new}
    return None


def _replacements(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what differs between two texts, given as lines, in wider and wider surroundings."""
    first, same = _alike(before, after)
    ends = len(before) - same, len(after) - same
    if ends == (first + 1, first + 1):
        old, new = TOKEN.findall(before[first]), TOKEN.findall(after[first])
        left, right = _alike(old, new)
        for wider in range(max(len(old), len(new))):
            start, rest = max(0, left - wider), max(0, right - wider)
            pair = "".join(old[start : len(old) - rest]), "".join(new[start : len(new) - rest])
            if all(map(_is_whole, pair)):
                yield pair
    for wider in range(MOST_LINES):
        start = max(0, first - wider)
        lines, others = before[start : ends[0] + wider], after[start : ends[1] + wider]
        indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        others = [line[indent:] if line[:indent].isspace() else line for line in others]
        yield "\n".join(lines)[indent:], "\n".join(others)


def _is_whole(text: str) -> bool:
    """Return whether a part of a line closes each bracket that it opens, and no other."""
    depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return False
    return depth == 0


def _alike(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return how many parts two texts have in common at their beginnings, and then at their ends."""
    shortest = min(len(one), len(other))
    pairs = [*zip(one, other, strict=False)]
    first = next((n for n, (a, b) in enumerate(pairs) if a != b), shortest)
    pairs = [*zip(reversed(one), reversed(other), strict=False)][: shortest - first]
    return first, next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))


def _same(one: str, other: str) -> bool:
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False
