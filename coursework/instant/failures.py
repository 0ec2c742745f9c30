"""Shows what goes wrong in a cell: a failing visible test as a card, what is not written yet in one line.

The cell still counts as failed for Jupyter, nbclient and `nbgrader validate`. It does not stop *Run All*: the
lesson's cells carry the tag `raises-exception`.
"""

import contextlib
import linecache
import os
import re
import traceback
from collections.abc import Sequence
from types import MethodType, TracebackType
from typing import Any

import torch

from coursework.cells import below_magic, digest_of, names_bound
from coursework.console import wrapped
from coursework.engine.exceptions import StudentCell, is_unfinished, say_raised, what_raised
from coursework.engine.observation import Observation
from coursework.engine.observe import TookTooLongError
from coursework.engine.trial import FILE, exception_of
from coursework.instant.exercises import ASKS, NO_INPUT, PublicExercise, notebook_file, saved_demos
from coursework.instant.notebook import (
    WAIT,
    card_for,
    earlier_failing,
    fails_as_well,
    fails_first,
    first_failing,
    standing_in,
    told_first,
)
from coursework.instant.runs import CellRuns, described
from coursework.instant.sources import cell_of, names_read, of_a_cell, used

NEEDS = '`{lacking}` is missing here, because `{name}` is not {state} yet. {ways}, or run `skip("{name}")`.'
AGAIN = (
    "`{lacking}` is missing here: its cell ran before `{name}` was in place. Run that cell again, with Run > "
    "Run All Above Selected Cell."
)
NOT_RUN = (
    "`{lacking}` is not defined yet: a cell above this one has not run since the kernel started. Run them "
    "with Run > Run All Above Selected Cell."
)
WIDTH = 80  # `nbgrader validate` cuts off what is longer
WAYS = {"written": "Write it", "defined": "Run its cell", "right": '`check("{name}")` says why: fix it'}
BROKEN = (
    '`{name}` is not right yet, so this cell cannot run. `check("{name}")` says why: fix it, or run '
    '`skip("{name}")` to go on without it.'
)
GRADIENTS_OFF = (
    "Gradients are switched off in this kernel, as by `torch.set_grad_enabled(False)`. Run "
    "`torch.set_grad_enabled(True)`, and then this cell again."
)
FIRST = "{first} This test needs it, and passes with right earlier exercises."
AS_WELL = "`{first}`, which it needs, {fails}."
ANOTHER = "in another of your cells"
STOPPED = "You stopped your code{place}. Is there a loop that never ends?"
GOT_NONE = "got None. Is there a `return`?"
GIVES_NONE = (
    "In the line `{line}` of this test, something of yours is None: a result without a `return`, a value "
    "that was never set, or a bias that is not there."
)
UNFINISHED = (
    "The cell of `{name}` still has a line `raise NotImplementedError()`. Put your code in its place, or run "
    '`skip("{name}")` to go on without it.'
)
UNQUOTED = '`{name}` is not defined. An answer by its letter is text, in quotes: "{name}".'
FAILS = "A visible test of `{name}` fails: {message}"
SHORT = "{kind}: a visible test of `{name}` fails, as the card says."


def show_failures_as_cards(shell: Any, runs: CellRuns) -> None:
    """Show failures in this notebook's cells our way from now on."""
    plain = shell._showtraceback  # no public hook lets the cell still count as failed

    def show(_shell: Any, kind: type[BaseException], value: BaseException, lines: list[str]) -> None:
        with contextlib.suppress(Exception, KeyboardInterrupt):
            lines = [wrapped(line, width=WIDTH) for line in _shown(value, runs)] or lines
        plain(kind, value, lines)

    shell._showtraceback = MethodType(show, shell)


def _shown(value: BaseException, runs: CellRuns) -> list[str]:
    """Return what stands in place of a traceback, after displaying a card if there is one; [] for nothing."""
    line, name = _lacking(value, runs)  # a line on what is missing, if that is why
    if line:
        unbound = {each for each in names_bound(runs.source) if runs.names.get(each) is None}
        runs.lacking |= dict.fromkeys(unbound - {name}, name) if name else {}
        return [line.replace("`", "")]
    tested = runs.tested_exercise()
    if tested is None:
        return []
    failed, own, earlier = _failed(value, tested, runs)
    if own and not isinstance(value, KeyboardInterrupt):
        runs.failing[tested.id] = own
    elif not own:
        runs.failing.pop(tested.id, None)
    sentence = own if not earlier or own[-1:] in (*".?!", "") else f"{own}."
    message = f"{sentence} {earlier}".strip()
    from IPython.display import display

    text = FAILS.format(name=tested.name, message=message).replace("`", "")
    display({"text/html": failed_test(failed, message, tested.name), "text/plain": text}, raw=True)
    if "NBGRADER_VALIDATING" in os.environ:  # nbgrader shows the error alone
        return [text]
    short = SHORT.format(kind=type(value).__name__, name=tested.name)
    return [short.replace("`", "")]


def _lacking(value: BaseException, runs: CellRuns) -> tuple[str, str]:
    """Return a line on what is not written yet, with its name, if that is why a cell failed."""
    tested = runs.tested_exercise()
    if tested and runs.is_skipped(tested):
        return str(value), tested.name
    if tested and runs.is_unwritten(tested):
        return runs.unwritten(tested), tested.name
    seen = Observation.of({"raised": described(value)}).raised
    if seen and is_unfinished(seen):
        unwritten = _unwritten(value.__traceback__, runs)
        return (_how_far(unwritten, runs), unwritten.name) if unwritten else ("", "")
    if isinstance(value, NameError) and value.name and (told := _undefined(value.name, runs)):
        return told
    return _lacking_in_demo(value, runs)


def _undefined(lacking: str, runs: CellRuns) -> tuple[str, str] | None:
    """Return a line on a name that means nothing, with the exercise that it lacks, None if unknown."""
    if own := next((each for each in runs.exercises if each.name == lacking), None):
        return runs.undefined(own), lacking
    asked = runs.own_exercise()
    if asked and not asked.stand_in and re.search(rf"[\"']:\s*{re.escape(lacking)}\s*[,}}\n]", runs.source):
        return UNQUOTED.format(name=lacking), ""
    return _needs(lacking, runs) if lacking in runs.lacking else None


def _lacking_in_demo(value: BaseException, runs: CellRuns) -> tuple[str, str]:
    """Return the same for a demo of the lesson: it uses what is None or was not run, or a wrong exercise."""
    file = notebook_file(runs.names)
    if file is None or digest_of(runs.source) not in saved_demos(file):
        return "", ""
    if isinstance(value, NameError) and value.name and value.name in set(names_read(runs.source)):
        return NOT_RUN.format(lacking=value.name), ""
    given = set(names_read(runs.source)) - names_bound(runs.source)
    empty = {each for each in given if runs.names.get(each) is None}
    if lost := next((each for each in runs.lacking if each in empty), ""):
        return _needs(lost, runs)
    broken = _blamed(value, runs)
    if broken is None:
        return "", ""
    line = runs.unwritten(broken) if runs.is_unwritten(broken) else BROKEN.format(name=broken.name)
    return line, broken.name


def _blamed(value: BaseException, runs: CellRuns) -> PublicExercise | None:
    """Return the wrong exercise that a demo failed for, None if there is none.

    The exception came through its code, or else the demo names it. Of several, it is one that is wrong even
    where those that it needs are right.
    """
    exercises = [each for each in runs.exercises if each.name]
    own = {text: each for each in exercises if (text := cell_of(runs.names.get(each.name)))}
    through = [own[text] for text in reversed(_cells_passed(value)) if text in own]
    helpers = {name: runs.names[name] for name in runs.names.keys() - {each.name for each in exercises}}
    for group in (through, used(runs.source, helpers, exercises)):
        wrong = [each for each in group if first_failing([each], runs.names)]
        first = [card_for(each.id, runs.names).waits_for or each.name for each in wrong]
        blamed = [name for name, each in zip(first, wrong, strict=True) if name == each.name] or first
        if blamed:
            return next(each for each in exercises if each.name == blamed[0])
    return None


def _cells_passed(value: BaseException) -> list[str]:
    """Return the texts of the cells that an exception came through, those that it began in last."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(value.__traceback__)]
    return ["".join(linecache.getlines(file)) for file in files if of_a_cell(file)]


def _how_far(exercise: PublicExercise, runs: CellRuns) -> str:
    """Return what to say of an exercise that raises NotImplementedError: not begun, or not finished."""
    if exercise.stand_in and (stale := runs.problem(exercise)):
        return stale
    begun = exercise.id in runs.own and not runs.is_unwritten(exercise) and exercise.stand_in
    return UNFINISHED.format(name=exercise.name) if begun else runs.unwritten(exercise)


def _needs(lacking: str, runs: CellRuns) -> tuple[str, str]:
    """Return a line on a name that a cell could not bind, and the exercise that it waited for."""
    name = runs.lacking[lacking]
    exercise = next(each for each in runs.exercises if each.name == name)
    if not first_failing([exercise], runs.names):
        return AGAIN.format(lacking=lacking, name=name), name
    state = "written" if runs.is_unwritten(exercise) else "right"
    state = "defined" if runs.has_yet_to_run(exercise) else state
    return NEEDS.format(lacking=lacking, name=name, state=state, ways=WAYS[state].format(name=name)), name


def _unwritten(trace: TracebackType | None, runs: CellRuns) -> PublicExercise | None:
    """Return the exercise whose code raised NotImplementedError: by its function, or its cell."""
    names = [frame.f_code.co_qualname.partition(".")[0] for frame, _ in traceback.walk_tb(trace)]
    found = (each for name in reversed(names) for each in runs.exercises if each.name == name)
    return next(found, None) or runs.own_exercise()


def _failed(value: BaseException, tested: PublicExercise, runs: CellRuns) -> tuple[BaseException, str, str]:
    """Return why a visible test failed: an exception, what it says of the answer, and of an earlier exercise.

    Where earlier exercises fail, the test is run again with right versions of these in place. What it raises
    then is the answer's own mistake; if that is nothing, so is what is said of the answer.
    """
    if stale := runs.problem(tested):
        return value, stale, ""
    if isinstance(value, KeyboardInterrupt):
        return value, _words(value, tested, runs), ""
    if first := told_first(tested, runs.names):
        return value, first, ""
    earlier = earlier_failing(tested, runs.names, runs.source)
    if not earlier:
        return value, _lacks_gradients(value, runs) or _words(value, tested, runs), ""
    before = fails_first(earlier[0], runs.names), fails_as_well(earlier[0], runs.names)
    own = _with_right(earlier, value, runs)
    if own is None:
        return value, "", FIRST.format(first=before[0])
    return own, _words(own, tested, runs), AS_WELL.format(first=earlier[0].name, fails=before[1])


def _with_right(
    earlier: Sequence[PublicExercise], value: BaseException, runs: CellRuns
) -> BaseException | None:
    """Return what a visible test raises with right earlier exercises in place, None if it passes then."""
    with standing_in(earlier, runs.names):
        return _raised_again(value, runs)


def _lacks_gradients(value: BaseException, runs: CellRuns) -> str:
    """Return that gradients were off before a visible test began, if it passes with them; "" if not."""
    if runs.had_gradients:
        return ""
    with torch.enable_grad():
        return "" if _raised_again(value, runs) else GRADIENTS_OFF


def _raised_again(value: BaseException, runs: CellRuns) -> BaseException | None:
    """Return what a visible test raises when it is run again, None if it passes now."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(value.__traceback__)]
    file = next(filter(of_a_cell, files), FILE)  # the test's, whose lines tracebacks show
    own = exception_of(runs.source, dict(runs.names), WAIT, file)
    return value if isinstance(own, TookTooLongError) else own


def _words(value: BaseException, tested: PublicExercise, runs: CellRuns) -> str:
    """Return what a failed visible test says: its message, or the exception in the student's code."""
    if isinstance(value, AssertionError) and str(value):
        return re.sub(r"got None(Type)?\..*", GOT_NONE, str(value), flags=re.DOTALL)
    own = None if runs.is_elsewhere(tested) else runs.own.get(tested.id)
    source = below_magic(own.source) if own else cell_of(runs.names.get(tested.name))
    said = _exception_words(value, StudentCell(source, frozenset({tested.name})), runs.source)
    raiser = _raiser(value, tested, runs)
    return said.replace(ANOTHER, f"in the cell of `{raiser.name}`") if raiser else said


def _raiser(value: BaseException, tested: PublicExercise, runs: CellRuns) -> PublicExercise | None:
    """Return the other exercise of whose cell the line is that raised, None if there is none."""
    cells = _cells_passed(value)
    others = [each for each in runs.exercises if each != tested and each.name]
    return next((each for each in others if cells and cells[-1] == cell_of(runs.names.get(each.name))), None)


def _exception_words(value: BaseException, cell: StudentCell, test: str) -> str:
    """Return what an exception says that ended a visible test, in the student's code or in the test."""
    seen = Observation.of({"raised": described(value)}).raised
    if seen is None:
        return type(value).__name__
    if isinstance(value, KeyboardInterrupt):
        return STOPPED.format(place=what_raised(seen, cell).removeprefix("a KeyboardInterrupt"))
    if seen.kind == NO_INPUT:
        return ASKS
    in_test, line = bool(seen.text) and seen.text in test, seen.text.removesuffix(", (")
    if in_test and "NoneType" in seen.message:
        return GIVES_NONE.format(line=line)
    said = say_raised(seen, cell)
    if in_test:
        said = said.replace(ANOTHER, f"in the line `{line}` of this test")
    return f"{said} Python says: {value}" if str(value) and not isinstance(value, SystemExit) else said


def failed_test(value: BaseException, message: str = "", name: str = "") -> str:
    """Return the card of a failing test, as HTML. Frames of IPython are left out of its traceback."""
    from coursework.instant.card import template

    frames = [f for f in traceback.extract_tb(value.__traceback__) if "/IPython/" not in f.filename]
    trace = "".join(traceback.format_list(frames)) + f"{type(value).__name__}: {value}"
    card = template("failed_test.html.j2")
    return card.render(message=message or str(value), trace=trace, name=name)
