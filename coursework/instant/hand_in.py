"""`hand_in()`: write the file to hand in, after looking whether it is complete and opens again."""

import ast
import contextlib
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from coursework.cells import digest_of, is_unanswered, magic_that_drops, names_bound, without_magics
from coursework.console import say, with_capital
from coursework.instant.exercises import (
    OPEN,
    WRONG,
    PublicExercise,
    copies_of,
    exercises_of,
    graded_cells,
    notebook_file,
    saved_cells,
    saved_code,
)
from coursework.instant.notebook import NO_LESSON, runs_of
from coursework.instant.runs import CellRuns
from coursework.instant.sources import names_lost

FOLDER = "hand_in"
RENAMED = (
    "There is no {file} any more. If you renamed the notebook, give it this name again, and restart the "
    "kernel: grading finds it by its name. Nothing was written."
)
UNREADABLE = "{file} cannot be read as a notebook. Save it (Ctrl+S) and try again."
UNSAVED = (
    "The cell of {name} in the saved file is not what you last ran. Run it, save the notebook (Ctrl+S), "
    "and run hand_in() again. Nothing was written."
)
NOT_SAVED = (
    "You ran the cell of {name} after the notebook was last saved. Save it (Ctrl+S), and run hand_in() "
    "again. Nothing was written."
)
DELETED = "The cell '{cell}' is missing. Edit > Undo Cell Operation may bring it back."
CHANGED = "The test of {name} was changed. Grading uses the original."
INVALID = "The cell of {name} is not valid Python (line {line}), so it gets no points as it is. Correct it."
UNDEFINED = "The cell of {name} does not define {name}, so it gets no points as it is. Correct it."
DROPPED = (
    "The cell of {name} begins with {magic}, which keeps nothing of what the cell defines, so it gets no "
    "points as it is. Delete that line, run the cell and save the notebook."
)
LOST = (
    "The cell of {name} uses {lost}, which no cell of the saved notebook defines or imports any more. That "
    "will be missing in grading: bring its cell back, or put the code into the answer."
)
COPIES = (
    "The notebook has several cells of {name}, and grading takes the last one. With Edit > Delete Cells, "
    "delete what you don't want graded, and save the notebook."
)
UNANSWERED = "Not answered yet: {names}. That is {points:g} of {total:g} points."
NOT_RIGHT = 'Not right yet: {names}. check("{first}") says why.'
SKIPPED = "Skipped, so not checked: {names}. Grading reads the cell as it stands. Run it to have it checked."
LEFTOVER = (
    "{title}: the answers are there, and so is the line raise NotImplementedError below them. Grading reads "
    "the answers. Delete the line, and run the cell and its test to have their form checked."
)
NOT_RUN = (
    "Not run since the kernel started, so not checked: {names}. Run the cell of each, then hand_in() again."
)
UNSETTLED = 'Not checked: {names}. check("{first}") says why.'
ANYWAY = (
    "You may hand in anyway: what is not answered gets no points, and the rest is graded. Or work on it "
    "first, save (Ctrl+S), and run hand_in() again."
)
DONE = (
    "{place} is the file to hand in, as you saved it at {time}. No cell is missing, and it opens. Nothing "
    "has been sent: hand it in yourself, under this name."
)
INCOMPLETE = "{place} was written as you saved it at {time}, but look at the lines above first."
UNFINISHED = "raise NotImplementedError"
NOT_WRITTEN = "{place} cannot be written: {problem}. Hand in {file} itself, as you saved it."


def hand_in(*_: object) -> None:
    """Check the saved notebook, copy it to the folder `hand_in` beside the lesson's folder, and say so.

    It is always this notebook: a lesson's name is not needed, and changes nothing. What is missing or changed
    is told, and so is what is not answered, or not right on the public examples.
    """
    names = sys._getframe(1).f_globals
    file = notebook_file(names)
    nowhere = NO_LESSON.format(call="hand_in()").replace("`", "")
    for line in [nowhere] if file is None else _handed_in(file, names):
        say(line)


def _handed_in(file: Path, names: Mapping[str, Any]) -> Iterator[str]:
    """Yield what there is to say of a notebook, whose kernel has these names, and write the copy."""
    from coursework.instant.glance import RIGHT, glance  # takes longer than all else that lessons import

    saved, exercises, runs = saved_cells(file), exercises_of(file.stem), runs_of(names)
    cells, code = graded_cells(file), saved_code(file)
    if not file.exists():
        yield RENAMED.format(file=file.name)
        return
    if not saved:
        yield UNREADABLE.format(file=file.name)
        return
    for each in exercises:
        if runs and runs.differs(each):
            only_saving = runs.own[each.id].ended > file.stat().st_mtime
            if only_saving or saved[each.id].strip():  # what is empty cannot be run again
                yield (NOT_SAVED if only_saving else UNSAVED).format(name=each.name)
                return
    missing = [cell for each in exercises for cell in _cells(each) if cell not in saved]
    yield from (DELETED.format(cell=cell) for cell in missing)
    for each in exercises:
        if each.test and digest_of(saved.get(f"{each.id}-test", "")) not in (each.test, digest_of("")):
            yield CHANGED.format(name=each.name)
    unusable = [said for each in exercises if each.name and (said := _unusable(each, saved.get(each.id, "")))]
    copied = [COPIES.format(name=each.name) for each in exercises if _is_copied(each, cells)]
    lost = [said for each in exercises if each.stand_in and (said := _lost(each, saved, code, names))]
    yield from (*unusable, *copied, *lost)
    left = [(each.points, _left(each, saved.get(each.id, ""))) for each in exercises if each.points]
    if named := [said for _, said in left if said]:
        points, total = sum(worth for worth, said in left if said), sum(worth for worth, _ in left)
        yield UNANSWERED.format(names=", ".join(named), points=points, total=total)
    seen = glance(file, names, runs).states
    wrong = [each.exercise.called.strip("`") for each in seen if each.mark == WRONG]
    if wrong:
        yield NOT_RIGHT.format(names=", ".join(wrong), first=wrong[0])
    answered = [each for each in exercises if _is_answered(each, saved) and not _is_copied(each, cells)]
    ended = [each for each in answered if each.has_entries and _ends_early(saved[each.id])]
    yield from (LEFTOVER.format(title=with_capital(each.title)) for each in ended)
    states = [each for each in seen if each.mark == OPEN and not each.words.startswith(RIGHT)]
    left_open = [each.exercise for each in states if each.exercise in answered and each.exercise not in ended]
    unchecked = list(_unchecked(left_open, runs)) if runs else []
    yield from unchecked
    if named or wrong or unchecked:
        yield ANYWAY
    place = file.resolve().parent.parent / FOLDER / file.name
    time = _time(datetime.fromtimestamp(file.stat().st_mtime).astimezone())
    try:
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(file, place)
        complete = saved_cells(place) == saved and not (missing or unusable or copied or lost)
    except OSError as problem:
        yield NOT_WRITTEN.format(place=place, problem=problem.strerror, file=file.name)
        return
    yield (DONE if complete else INCOMPLETE).format(place=f"../{FOLDER}/{file.name}", time=time)


def _is_answered(exercise: PublicExercise, saved: Mapping[str, str]) -> bool:
    """Return whether a saved cell is an answer in code that can count, and has nothing left open."""
    source = saved.get(exercise.id, "")
    usable = bool(source.strip()) and not exercise.written and not _unusable(exercise, source)
    return usable and not _left(exercise, source)


def _unchecked(answered: Sequence[PublicExercise], runs: CellRuns) -> Iterator[str]:
    """Yield why saved answers were not checked: skipped, not run, or what `check` says."""
    skipped = [each for each in answered if runs.is_skipped(each)]
    waiting = [each for each in answered if runs.has_yet_to_run(each)]
    others = [each for each in answered if each not in (*skipped, *waiting)]
    for told, about in ((SKIPPED, skipped), (NOT_RUN, waiting), (UNSETTLED, others)):
        if named := [each.called.strip("`") for each in about]:
            yield told.format(names=", ".join(named), first=named[0])


def _time(saved: datetime) -> str:
    """Return when a file was saved, as in "18:20", or "18:20 on 5 May 2026" if that was not today."""
    today = saved.date() == datetime.now(saved.tzinfo).date()
    return f"{saved:%H:%M}" if today else f"{saved:%H:%M} on {saved.day} {saved:%B %Y}"


def _left(exercise: PublicExercise, source: str) -> str:
    """Return how to name an exercise that is not answered, or not wholly, "" for one that is."""
    title, points = exercise.called.replace("`", ""), exercise.worth
    if is_unanswered(source, exercise.skeleton):
        return f"{title} ({points})"
    if not exercise.has_entries:
        return ""
    above = _above_raise(source)
    below = f": nothing counts below its line {UNFINISHED}" if _ends_early(source) else ""
    if below and exercise.name not in names_bound(above):
        return f"{title} ({points}){below}"
    keys = _unfilled(above)
    return f"{', '.join(keys)} of {title} (part of {points}){below}" if keys else ""


def _above_raise(source: str) -> str:
    """Return what a cell runs before it ends at the `raise` of its skeleton, the whole cell without one."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        for node in ast.parse(without_magics(source)).body:
            if isinstance(node, ast.Raise) and ast.unparse(node).startswith(UNFINISHED):
                return "\n".join(source.split("\n")[: node.lineno - 1])
    return source


def _ends_early(source: str) -> bool:
    """Return whether the `raise` of the skeleton is left in a cell, outside of any function."""
    return _above_raise(source) != source


def _unusable(exercise: PublicExercise, source: str) -> str:
    """Return why a saved cell cannot count as an answer, "" if it can or if it is not answered."""
    if is_unanswered(source, exercise.skeleton):
        return ""
    if magic := magic_that_drops(source):
        return DROPPED.format(name=exercise.name, magic=magic)
    code = without_magics(source)
    try:
        compile(code, exercise.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as problem:
        return INVALID.format(name=exercise.name, line=problem.lineno)
    except (ValueError, RecursionError):
        return ""
    return "" if exercise.name in names_bound(source) else UNDEFINED.format(name=exercise.name)


def _unfilled(source: str) -> list[str]:
    """Return the keys of a dictionary of answers that still lead to None."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        tables = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Dict)]
        pairs = {
            ast.unparse(key): ast.unparse(value)
            for table in tables
            for key, value in zip(table.keys, table.values, strict=True)
            if key
        }
        return [key.strip("'") for key, value in pairs.items() if value == "None"]
    return []


def _cells(exercise: PublicExercise) -> list[str]:
    """Return the ids of an exercise's cells."""
    return [exercise.id, f"{exercise.id}-test"] if exercise.test else [exercise.id]


def _lost(
    exercise: PublicExercise, saved: Mapping[str, str], code: Sequence[str], names: Mapping[str, Any]
) -> str:
    """Return what an answer uses of a cell that is gone, "" for nothing: the kernel still has it."""
    lost = names_lost(saved.get(exercise.id, ""), code, names)
    return LOST.format(name=exercise.name, lost=" and ".join(lost)) if lost else ""


def _is_copied(exercise: PublicExercise, cells: Mapping[str, Mapping[str, str]]) -> bool:
    """Return whether a saved notebook holds several different answers to an exercise."""
    return len(set(map(digest_of, copies_of(exercise, cells.get(exercise.id, {})).values()))) > 1
