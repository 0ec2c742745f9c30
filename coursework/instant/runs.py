"""Remembers how each exercise's own cell last ran, so that nothing older is taken for the answer.

Grading reads an exercise's own cell. A name that is left over from before the cell failed is not what grading
will find, and one that is bound by another cell may not be.
"""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from coursework.cells import (
    below_magic,
    defines,
    digest_of,
    is_unanswered,
    magic_that_drops,
    names_bound,
    same_code,
)
from coursework.console import say
from coursework.engine.exceptions import StudentCell, is_unfinished, what_raised
from coursework.engine.observation import Observation
from coursework.engine.observe import describe
from coursework.instant.exercises import (
    NO_POINTS,
    OPEN,
    WRONG,
    PublicExercise,
    copies_of,
    every_exercise,
    exercises_of,
    graded_cells,
    notebook_file,
    saved_cells,
    saved_code,
)
from coursework.instant.sources import note_text

FAILED = (
    "The last run of this cell ended with {what}, so `{name}` is still what an earlier run defined. "
    "Correct the cell and run it again."
)
UNDEFINED = (
    "`{name}` is not defined, because the last run of its cell ended with {what}. Correct the cell and run "
    "it again."
)
NOT_RUN = (
    "`{name}` is not defined yet: its cell has not run since the kernel started. Run that cell, or all above "
    "this one with Run > Run All Above Selected Cell."
)
DROPPED = "`{magic}` keeps nothing of what its cell defines. Delete that line, and run the cell again."
GONE = "`{name}` was defined by its cell, and has been deleted since. Run that cell again."
UNBOUND = (
    "This cell {defines}. Grading looks for `{name}` in this cell: is the name spelt as in the exercise?"
)
ELSEWHERE = (
    "Grading may not see this: what `{name}` means now comes from another cell. Write your answer in the "
    "exercise's own cell, run it and save the notebook."
)
EDITED = (
    "Grading reads the saved notebook, and there the cell of `{name}` is not what you last ran. Run it "
    "again, and save."
)
EMPTIED = (
    "Grading reads the saved notebook, and there the cell of `{name}` is empty. Write the answer into it, or "
    "bring it back with Edit > Undo, and save."
)
COPIES = (
    "The notebook has several cells of `{name}`. Grading takes the last, and you last ran another. With Edit "
    "> Delete Cells, delete what you don't want graded, and save the notebook."
)
NOT_TESTED = '__import__("coursework.instant.skip", fromlist=["skip"]).not_tested("{name}")\n'
LESSON_CELL = re.compile(r"(setup|given|demo)-\d+|[a-z0-9-]+-test")
NOTHING = object()


@dataclass(frozen=True)
class CellRun:
    """The last run of an exercise's own cell: its text, what it raised, what its name then was, and when."""

    source: str
    problem: BaseException | None
    fresh: bool
    value: Any
    cell_id: str | None = None
    ended: float = field(default_factory=time.time)


@dataclass
class CellRuns:
    """The runs of a kernel, by exercise.

    `elsewhere` holds, by exercise, the text of the cell that has last bound its name and is not its own.
    `lacking` maps each name that a cell could not bind, or only to None, to the exercise that it lacked.
    `skipped` holds the stand-ins that `skip` put in place, `failing` why the last run of a visible test
    failed, where earlier exercises are not to blame.
    """

    names: dict[str, Any]
    own: dict[str, CellRun] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, Any] = field(default_factory=dict)
    failing: dict[str, str] = field(default_factory=dict)
    source: str = ""  # of the cell that runs now
    cell_id: str | None = None
    had_gradients: bool = True  # whether they were on when it began
    _ids_known: bool = False
    _before: dict[str, Any] = field(default_factory=dict)
    _within: BaseException | None = None  # what ended the part of the cell that a magic runs

    @property
    def exercises(self) -> Iterable[PublicExercise]:
        """The exercises of this notebook's lesson, of all lessons if it is not known which it is."""
        file = notebook_file(self.names)
        return exercises_of(file.stem) if file else every_exercise()

    def transformed(self, lines: list[str]) -> list[str]:
        """Return the lines that run for a cell: one for the visible test of a skipped exercise."""
        tested = self._tested("".join(lines))
        return [NOT_TESTED.format(name=tested.name)] if tested and self.is_skipped(tested) else lines

    def begin(self, info: Any) -> None:
        """Take in that a cell starts, and not a part of one: `%%capture` runs what is below it as a cell."""
        if not info.store_history:
            return
        self.source, self.cell_id, self._within = str(info.raw_cell), getattr(info, "cell_id", None), None
        self.had_gradients = torch.is_grad_enabled()
        of_lesson = LESSON_CELL.fullmatch(self.cell_id or "") or self.cell_id in [
            each.id for each in self.exercises
        ]
        self._ids_known = self._ids_known or bool(of_lesson)
        self._before = {each.name: self.names.get(each.name, NOTHING) for each in self.exercises}

    def end(self, result: Any) -> None:
        """Take in how a cell ended."""
        problem = result.error_before_exec or result.error_in_exec or self._within
        if not result.info.store_history:
            self._within = problem
            return
        bound = set[str]() if magic_that_drops(self.source) else names_bound(self.source)
        note_text(self.source, {name: self.names[name] for name in bound & self.names.keys()})
        for name in bound & self.lacking.keys() if problem is None else ():
            del self.lacking[name]
        for each in self.exercises:
            value = self.names.get(each.name, NOTHING)
            bound_again = problem is None and each.name in bound and defines(self.source, each.name)
            if value is not self._before.get(each.name, NOTHING) or bound_again:
                self.elsewhere[each.id] = self.source
                self.failing.pop(each.id, None)
        if exercise := self.own_exercise():
            value = self.names.get(exercise.name, NOTHING)
            fresh = value is not self._before.get(exercise.name, NOTHING)
            fresh |= problem is None and exercise.name in bound
            self.own[exercise.id] = CellRun(self.source, problem, fresh, value, self.cell_id)
            self.failing.pop(exercise.id, None)
            if problem is None and exercise.id in self.skipped:
                self._ran_while_skipped(exercise)
        tested = self.tested_exercise()
        if tested and problem is None:
            self.failing.pop(tested.id, None)
        if tested and problem is None and not self.is_skipped(tested):
            from coursework.instant.notebook import wrong_all_the_same

            stale = self.problem(tested)
            if self.may_not_be_seen(tested):
                say(f"{OPEN} {stale}".replace("`", ""))
            elif told := f"{NO_POINTS} {stale}" if stale else wrong_all_the_same(tested, self.names):
                say(f"{WRONG} {told}".replace("`", ""))

    def skip(self, exercise: PublicExercise, stand_in: Any) -> None:
        """Take in that a stand-in is in place."""
        self.skipped[exercise.id] = stand_in

    def _ran_while_skipped(self, exercise: PublicExercise) -> None:
        """Let what a cell has defined take the stand-in's place, unless it is as it was released."""
        # a cell that calls `skip` itself has put another stand-in there, which is to stay
        called_skip = self.skipped[exercise.id] is not self._before[exercise.name]
        if self.is_unwritten(exercise):  # Run All comes by it
            self.names[exercise.name] = self.skipped[exercise.id]
        elif not (called_skip and self.is_skipped(exercise)):
            del self.skipped[exercise.id]

    def own_exercise(self) -> PublicExercise | None:
        """Return the exercise whose own cell runs now, None for any other cell.

        JupyterLab tells a cell's id. Elsewhere a cell counts if it defines the name.
        """
        if self._ids_known:
            own = next((each for each in self.exercises if each.id == self.cell_id), None)
            return own or next((each for each in self.exercises if self._is_copy(each)), None)
        return next((each for each in self.exercises if defines(self.source, each.name)), None)

    def _is_copy(self, exercise: PublicExercise) -> bool:
        """Return whether the cell that runs now is a copy of an exercise's own, as far as it was saved."""
        file = notebook_file(self.names) if defines(self.source, exercise.name) else None
        return file is not None and self.cell_id in graded_cells(file).get(exercise.id, {})

    def tested_exercise(self) -> PublicExercise | None:
        """Return the exercise whose visible test runs now."""
        return self._tested(self.source)

    def _tested(self, source: str) -> PublicExercise | None:
        digest = digest_of(source)
        return next((each for each in self.exercises if each.test == digest), None)

    def is_unwritten(self, exercise: PublicExercise) -> bool:
        """Return whether an exercise's own cell last ran as it was released, or was never run."""
        run = self.own.get(exercise.id)
        if run is None:
            return exercise.name not in self.names and not self._misnamed(exercise)
        return digest_of(run.source) == exercise.skeleton and not self.is_elsewhere(exercise)

    def is_elsewhere(self, exercise: PublicExercise) -> bool:
        """Return whether the name is another cell's, while the exercise's own is as it was released."""
        run, file = self.own.get(exercise.id), notebook_file(self.names)
        value = self.names.get(exercise.name, NOTHING)
        if value is NOTHING or not self._ids_known or self.is_skipped(exercise):
            return False
        texts = list(graded_cells(file).get(exercise.id, {}).values()) if file and run is None else []
        texts += [run.source] if run and value is not run.value else []
        return bool(texts) and all(digest_of(text) == exercise.skeleton for text in texts)

    def _is_graded_elsewhere(self, exercise: PublicExercise) -> bool:
        """Return whether the cell that the name is from is saved, and the one that grading takes."""
        file = notebook_file(self.names)
        saved = saved_cells(file).get(exercise.id, "") if file else ""
        return digest_of(saved) == digest_of(self.elsewhere.get(exercise.id, ""))

    def has_yet_to_run(self, exercise: PublicExercise) -> bool:
        """Return whether an exercise is written, as saved, and its cell has not run in this kernel."""
        file = notebook_file(self.names)
        if exercise.id in self.own or exercise.name in self.names or file is None:
            return False
        saved = saved_cells(file).get(exercise.id, "")
        return defines(saved, exercise.name) and digest_of(saved) != exercise.skeleton

    def _misnamed(self, exercise: PublicExercise) -> str:
        """Return the text of an exercise's cell that is written, as saved, and does not define its name."""
        file = notebook_file(self.names)
        saved = saved_cells(file).get(exercise.id, "") if file else ""
        unwritten = is_unanswered(saved, exercise.skeleton)
        return "" if unwritten or defines(saved, exercise.name) else saved

    def differs(self, exercise: PublicExercise) -> bool:
        """Return whether an exercise's cell last ran with other code than any that is saved."""
        run, file = self.own.get(exercise.id), notebook_file(self.names)
        saved = [*graded_cells(file).get(exercise.id, {}).values()] if file else []
        pieces = "\n".join(saved)  # of a cell that was split after it ran
        if run is None or not saved:
            return False
        return not any(same_code(run.source, each) for each in (*saved, pieces))

    def edited(self, exercise: PublicExercise) -> str:
        """Return that an exercise's cell was saved with other code after it last ran, "" if it was not."""
        file = notebook_file(self.names)
        if file is None or not self.differs(exercise):
            return ""
        run, saved = self.own[exercise.id], saved_cells(file)[exercise.id]
        there = any(same_code(run.source, each) for each in saved_code(file))
        if there or file.stat().st_mtime < run.ended:
            return ""
        return (EDITED if saved.strip() else EMPTIED).format(name=exercise.name)

    def unwritten(self, exercise: PublicExercise) -> str:
        """Return what to say of an exercise that `is_unwritten`: to write it, or to run its cell."""
        waits = self.has_yet_to_run(exercise)
        return NOT_RUN.format(name=exercise.name) if waits else exercise.unwritten

    def undefined(self, exercise: PublicExercise) -> str:
        """Return why an exercise's name means nothing: its cell failed, defines another or is not written."""
        run = self.own.get(exercise.id)
        if run is None and (saved := self._misnamed(exercise)):
            return _unbound(exercise, saved)
        if run is None or self.is_unwritten(exercise):
            return self.unwritten(exercise)
        if run.problem is None and run.fresh:
            return GONE.format(name=exercise.name)
        if run.problem is None:
            return _unbound(exercise, run.source)
        return UNDEFINED.format(name=exercise.name, what=_what_ended(run))

    def is_unfinished(self, exercise: PublicExercise) -> bool:
        """Return whether the last run of an exercise's own cell ended at the `raise` of its skeleton."""
        run = self.own.get(exercise.id)
        if run is None or run.problem is None:
            return False
        seen = Observation.of({"raised": described(run.problem)}).raised
        return seen is not None and is_unfinished(seen)

    def is_skipped(self, exercise: PublicExercise) -> bool:
        """Return whether a stand-in is in place now."""
        stand_in = self.skipped.get(exercise.id, NOTHING)
        return stand_in is not NOTHING and self.names.get(exercise.name) is stand_in

    def problem(self, exercise: PublicExercise) -> str:  # noqa: PLR0911 - a table of reasons, in their order
        """Return why what the name means now is not what will be graded, "" if it is."""
        run = self.own.get(exercise.id)
        if self.is_elsewhere(exercise):
            return "" if self._is_graded_elsewhere(exercise) else ELSEWHERE.format(name=exercise.name)
        if run is None:
            return ELSEWHERE.format(name=exercise.name) if self._ids_known else ""
        if not run.fresh and run.problem is not None:
            return FAILED.format(name=exercise.name, what=_what_ended(run))
        if not run.fresh:
            return _unbound(exercise, run.source)
        if self.names.get(exercise.name, NOTHING) is not run.value:
            return ELSEWHERE.format(name=exercise.name)
        file = notebook_file(self.names) if self._ids_known and run.cell_id != exercise.id else None
        if file and run.cell_id not in graded_cells(file).get(exercise.id, {}):  # a copy that was deleted
            return ELSEWHERE.format(name=exercise.name)
        return ""

    def may_not_be_seen(self, exercise: PublicExercise) -> bool:
        """Return whether what the name means now is another cell's: grading takes it only in its place."""
        return self.problem(exercise) == ELSEWHERE.format(name=exercise.name)

    def another_counts(self, exercise: PublicExercise) -> str:
        """Return that grading reads another copy of a cell than the one that ran last, "" if it does not."""
        run, file = self.own.get(exercise.id), notebook_file(self.names)
        if file is None or run is None or not self._ids_known:
            return ""
        copies = copies_of(exercise, graded_cells(file).get(exercise.id, {}))
        if run.cell_id not in copies:
            return ""
        same = digest_of(copies[run.cell_id]) == digest_of([*copies.values()][-1])
        return "" if same else COPIES.format(name=exercise.name)


def _unbound(exercise: PublicExercise, source: str) -> str:
    """Return that a cell does not define its exercise's name, and what it defines instead, or why."""
    if magic := magic_that_drops(source):
        return DROPPED.format(magic=magic)
    others = re.findall(r"^(?:def|class) +(\w+)", source, re.M)
    defines = f"defines `{others[-1]}`, not" if others else "does not define"
    return UNBOUND.format(name=exercise.name, defines=f"{defines} `{exercise.name}`")


def _what_ended(run: CellRun) -> str:
    """Return what a cell's run ended with, and in which line."""
    seen = Observation.of({"raised": described(run.problem or Exception())}).raised
    assert seen is not None
    if seen.kind == "UsageError":  # IPython's, about a magic
        return f"a UsageError ({seen.message.rstrip('.')})"
    return what_raised(seen, StudentCell(below_magic(run.source))).replace(" of your cell (", " (")


def described(problem: BaseException) -> dict[str, Any]:
    """Return an exception as the engine describes it; a SyntaxError has the line that it is about."""
    seen = describe(problem)
    if isinstance(problem, SyntaxError):
        seen |= {"line": problem.lineno, "text": str(problem.text or "").strip()[:200]}
    return seen
