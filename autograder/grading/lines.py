"""Finds the lines to blame in the answers of one submission, once it is graded."""

import time
from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Final

import torch
from cachetools import LRUCache
from torch.utils._pytree import tree_leaves

from autograder.grading.runner import ExerciseRunner
from autograder.judge.diagnose import diagnose, is_one_mistake
from autograder.judge.oracle import Evidence, Oracle
from autograder.model.exercise import Exercise
from autograder.model.nbgrader_config import SEARCH_SECONDS
from autograder.model.report import BY_CHANGE, ExerciseReport, NamedMistake, Outcome, WrongLines
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Probe, Run
from autograder.search.differences import difference
from autograder.search.donors import NEAR, Donor
from autograder.search.right_answers import most_alike
from autograder.search.search import Further, Plan, Search, World
from autograder.search.suspects import KNOWN, lines_of_mistake
from autograder.search.titles import titles
from coursework.edits.cell import Cell, CodeEdit, distinct
from coursework.edits.generic import elsewhere, everywhere, generic_edits
from coursework.edits.places import OR_ELSE, TWICE, CodeChange, combined, told
from coursework.edits.suspects import RAISED, lines_behind, steered, without_haste
from coursework.source_rules import first_refusal

KEPT: Final = 1000  # results: in a class, answers recur to the letter
RUNS: Final = "runs"  # what is told of a cell that raised
OF_ANOTHER: Final = 2.2  # what a part of another right answer may cost alone: more would be half an answer
PREPARE_SECONDS: Final = 5.0  # of processor time, for the cells before an answer


@dataclass(frozen=True)
class Blame:
    """The lines to tell of an answer, the change that tells them, and the mistakes that it stands for."""

    lines: list[WrongLines] = field(default_factory=list)
    change: str = ""
    mistakes: list[NamedMistake] = field(default_factory=list)

    def added_to(self, done: ExerciseReport) -> ExerciseReport:
        """Return a report with the lines, and with the mistakes unless others explain the results.

        One that was named stays, and gets company if it is one of several here: it comes first, so that a
        page has the same headline with a search and without.
        """
        update: dict[str, object] = {"lines": self.lines}
        named = {each.id: each for each in done.misconceptions}
        if named.keys() <= {each.id for each in self.mistakes}:
            found = sorted(self.mistakes, key=lambda each: each.id not in named)
            update["misconceptions"] = [
                named.get(each.id) or each.model_copy(update={"by_search": True}) for each in found
            ]
        return done.model_copy(update=update)


_blames: LRUCache[tuple[object, ...], Blame] = LRUCache(KEPT)


def wants_lines(exercise: Exercise, done: ExerciseReport) -> bool:
    """Return whether an answer's lines are looked for: it was run, it failed, and nobody has looked yet.

    A dictionary of answers is not searched: a change that corrects an entry would give the answer away.
    """
    if exercise.reference is None:
        return False
    return done.lines is None and done.may_have_lines and bool(failed_checks(exercise, done))


def failed_checks(exercise: Exercise, done: ExerciseReport) -> set[str]:
    """Return the ids of the checks that failed: all, where the answer's own cell did not run."""
    ids = {check.id for check in exercise.checks}
    if done.outcome is Outcome.ERROR and [check.id for check in done.checks] == [RUNS]:
        return ids
    return ids & {check.id for check in done.failures}


@dataclass
class LineFinder:
    """Looks for changes of answers, each tried with right earlier parts and the helpers that it needs.

    A search takes at most some `seconds` of processor time, and all end by the `deadline`.
    """

    oracle: Oracle
    warm: WarmProcess
    deadline: float
    seconds: float = SEARCH_SECONDS

    def blame(self, exercise: Exercise, done: ExerciseReport, helpers: Sequence[str], source: str) -> Blame:
        """Return what is told of one answer: nothing once the deadline is over.

        `helpers` are the cells before the answer that it needs, as they are run when it is graded alone.
        """
        failed, named = failed_checks(exercise, done), {each.id for each in done.known_mistakes}
        key = (self.oracle, exercise.id, self.seconds, frozenset(failed), frozenset(named), *helpers, source)
        if key not in _blames:
            if time.monotonic() > self.deadline:
                return Blame()
            found, says_why = self.find(exercise, failed, helpers, source, named)
            lines = [WrongLines(**asdict(each)) for each in told(found, source)]
            if says_why and lines and lines[0].is_gap:  # a line before a loop only keeps it from running
                lines = []
            edits = found[0].edits if lines else ()
            one_mistake = bool(named) and len({each.what for each in edits}) == 1  # in several places
            if len(named) <= 1 < len(lines) and len(edits) > 1 and not one_mistake:
                mistakes = self._named_apart(exercise, helpers, found[0])
            else:
                mistakes = _titles(found, lines, source)
            if says_why:
                mistakes = [each for each in mistakes if not each.id.startswith(BY_CHANGE)]
            _blames[key] = Blame(lines, difference(source, found[0].source) if found else "", mistakes)
        return _blames[key]

    def _named_apart(
        self, exercise: Exercise, helpers: Sequence[str], found: CodeChange
    ) -> list[NamedMistake]:
        """Name the mistakes of an answer that is wrong in several places.

        Each place is tried as the student wrote it, with the others corrected; the one that fails the most
        checks comes first. A failure, a NaN or an exception that the answer itself doesn't show comes from
        the corrections, so no known mistake is looked for there. If one known mistake explains everything
        that the answer does, nothing is named: half of its correction would look like another mistake.
        """
        named: dict[str, NamedMistake] = {}
        unknown: list[CodeEdit] = []
        stand_ins = self.oracle.stand_ins(exercise)
        places = {(each.first, each.last): each for each in reversed(found.edits)}
        run = self._run("proofs")

        def tried(answer: str) -> list[Evidence]:
            cells = [*helpers, answer]
            with ExerciseRunner(
                self.oracle, exercise, run, lambda: False, answer, stand_ins, cells
            ) as runner:
                return runner.run_once().evidence

        def with_one(edit: CodeEdit) -> list[Evidence]:
            place = (edit.first, edit.last)
            others = [each for each in found.edits if (each.first, each.last) != place]
            return tried(combined(found.answer, others).source)

        whole = tried(found.answer)
        broken = _broken(whole)
        if not broken and is_one_mistake(self.oracle, exercise, whole):
            return []
        alone = [(edit, with_one(edit)) for edit in reversed(places.values())]
        for edit, evidence in sorted(alone, key=lambda each: sum(item.passed for item in each[1])):
            new = (_broken(evidence) - broken) | (_failed(evidence) - _failed(whole))
            known = [] if new else diagnose(self.oracle, exercise, evidence, most=1)
            named |= {each.id: NamedMistake(id=each.id, title=each.title, hint=each.hint) for each in known}
            if not known:  # one kind of change may be in several places, which its title lists
                unknown.append(edit)
                named |= {each.id: each for each in titles(unknown, Cell(found.answer), even_vague=True)}
        return [*named.values()]

    def find(
        self,
        exercise: Exercise,
        failed: set[str],
        helpers: Sequence[str],
        source: str,
        named: Set[str] = frozenset(),
    ) -> tuple[list[CodeChange], bool]:
        """Return the changes of an answer's cell with which every check passes, the likeliest first.

        Where the known mistakes that were `named` seem to be, changes are tried first. The second value is
        whether the way the answer ends, such as a time-out, says more than the kind of a change would.
        """
        try:
            cell = Cell(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return [], True
        trials, proofs = self._run("trials"), self._run("proofs")
        world = World(
            lambda: self._probe(trials, exercise, helpers),
            lambda changed: self._prove(proofs, exercise, [*helpers, changed]),
            lambda: trials.seconds + proofs.seconds,
        )
        search = Search(self.oracle, exercise, world, failed, self.seconds)
        return search.find(source, lambda line: _plan(cell, exercise, named, line)), search.says_why

    def _run(self, use: str) -> Run:
        return self.warm.kept_run(use, self.oracle.lesson.name, self.deadline)

    def _probe(self, run: Run, exercise: Exercise, helpers: Sequence[str]) -> Probe:
        excluded = exercise.excludes.names if exercise.excludes else ()
        stand_ins = self.oracle.stand_ins(exercise)
        # the empty cell puts the right parts in place again after the helpers
        return run.probe(PREPARE_SECONDS, stand_ins, [*helpers, ""], self.oracle.lesson.name, excluded)

    def _prove(self, run: Run, exercise: Exercise, cells: Sequence[str]) -> bool:
        derivatives = bool(exercise.excludes and exercise.excludes.derivatives)
        refusal = first_refusal(cells, derivatives=derivatives) if exercise.excludes else None
        if refusal and refusal.own:  # the cells before it were read when the answer was graded
            return False
        stand_ins = self.oracle.stand_ins(exercise)
        with ExerciseRunner(self.oracle, exercise, run, lambda: False, cells[-1], stand_ins, cells) as runner:
            return runner.passes()


def _titles(found: Sequence[CodeChange], lines: Sequence[WrongLines], source: str) -> list[NamedMistake]:
    """Return what the changes that are told are called as mistakes."""
    instead = any(OR_ELSE in each.what for each in lines)
    meant = {
        (each.first, each.last, each.kind.removesuffix(TWICE)) for each in (lines[:1] if instead else lines)
    }
    edits = [edit for each in found for edit in each.edits if (edit.first, edit.last, edit.what) in meant]
    return titles(edits, Cell(source)) if edits else []


def _failed(evidence: Sequence[Evidence]) -> set[str]:
    return {each.check.id for each in evidence if not each.passed}


def _broken(evidence: Sequence[Evidence]) -> set[str]:
    """Return the failed checks at which an answer raised an exception, or gave a NaN."""
    return {
        each.check.id
        for each in evidence
        if not each.passed
        and (
            each.got.ended
            or each.got.raised
            or any(
                isinstance(part, torch.Tensor) and part.isnan().any() for part in tree_leaves(each.got.value)
            )
        )
    }


def _plan(cell: Cell, exercise: Exercise, named: Set[str], raised_at: int | None) -> Plan:
    """Plan to try small parts of the model answer first; all other changes take longer, even to think of."""
    known = [lines_of_mistake(cell, exercise, each) for each in exercise.mistakes if each.id in named]
    behind = lines_behind(cell, raised_at)

    def ranked(edits: Sequence[CodeEdit]) -> list[CodeEdit]:
        likelier = steered(steered(edits, set().union(*known), KNOWN), behind, RAISED)
        return distinct(without_haste(likelier, cell), cell.source)

    answer = Donor(cell, Cell(exercise.answer))
    parts = distinct(answer.in_place(), cell.source)
    near = [each for each in parts if each.cost <= NEAR]

    def further() -> Further:
        scripts = [Donor(cell, right).script for right in most_alike(exercise, cell)]
        others = [each for each in chain(*scripts) if each.cost <= OF_ANOTHER]
        generic = ranked(generic_edits(cell))
        brought_in = ranked([*parts[len(near) :], *answer.anywhere(), *others])
        single = distinct([*brought_in, *generic], cell.source)
        return Further(single, [*everywhere(generic, cell)], [answer.script, *scripts])

    return Plan(ranked(near), further, lambda edit: elsewhere(edit, cell), known)
