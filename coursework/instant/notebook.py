"""`check("softmax")`: find the student's answer, try it on its examples, show what came.

Whatever gives no points in grading is never right here: what the exercise excludes, an answer that is older
than its cell's last run, a name that another cell defines.
"""

import ast
import contextlib
import difflib
import io
import linecache
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from coursework.instant.exercises import Exercise, every_exercise, exercises_of, notebook_file

if TYPE_CHECKING:
    from coursework.instant.card import Card
    from coursework.instant.glance import Glance
    from coursework.instant.runs import Runs

SECONDS = 5.0
MISSING = '`{name}` is not defined yet. Run the cell above first, or `skip("{name}")` to go on without it.'
NO_EXAMPLE = "There is no example for `{name}`, so there is nothing to check here.{meant}"
FAULT = "The check itself failed ({kind}). Your answer may still be right: run the visible tests."
SKIPPED = (
    "You skipped this exercise, so it counts as unanswered. Write it and run its cell to have it checked."
)
NO_POINTS = "Grading gives no points for this."
ORDINARY = "Write this exercise with ordinary tensor operations."
NO_LESSON = (
    "Open a lesson's own notebook under its own name, such as 03_attention.ipynb, and run `check()` there."
)


def check(answer: object = None, scope: Mapping[str, Any] | None = None) -> "Card | Glance":
    """Try an answer on the public examples of its exercise, and display a card.

    `answer` is what the exercise defines, its name, or the exercise's id. Without it, every exercise of the
    lesson is shown with its state, and what to do next. Names are looked up in `scope`, by default the
    caller's. Never raises; nothing of the caller's state changes, nothing is stored.
    """
    from coursework.instant.card import Card

    names = sys._getframe(1).f_globals if scope is None else scope
    shown: Card | Glance
    name = "check" if answer is None else _name_of(answer, names)
    try:
        shown = _glance(names) if answer is None else card_for(name, names)
    except Exception as problem:
        shown = Card(name, False, FAULT.format(kind=type(problem).__name__))
    with contextlib.suppress(Exception):
        _show(shown)
    return shown


def _name_of(answer: object, names: Mapping[str, Any]) -> str:
    """Return the name of an answer that is given by its name, or as the object itself."""
    if isinstance(answer, str):
        return answer
    known = {each.name for each in every_exercise()}
    bound = [name for name, value in names.items() if value is answer and name in known]
    name = getattr(answer, "__name__", type(answer).__name__)
    return bound[0] if bound else str(name)


def _glance(names: Mapping[str, Any]) -> "Card | Glance":
    from coursework.instant.card import Card
    from coursework.instant.glance import glance

    file = notebook_file(names)
    if file is None:
        return Card("check", False, NO_LESSON)
    return glance(file, names, runs_of(names))


def runs_of(names: Mapping[str, Any]) -> "Runs | None":
    """Return the record of a notebook's cells, None for any other names."""
    shell = _kernel_shell()
    runs: Runs | None = getattr(shell, "_coursework_runs", None)
    return runs if runs is not None and runs.names is names else None


def exercise_named(name: str, names: Mapping[str, Any]) -> Exercise | None:
    """Return an exercise by its id or by what it defines; this lesson's come first."""
    file = notebook_file(names)
    here = exercises_of(file.stem) if file else ()
    return next((each for each in (*here, *every_exercise()) if name and name in (each.id, each.name)), None)


def card_for(name: str, names: Mapping[str, Any]) -> "Card":
    """Return the card of an answer, by the exercise's id or by its name."""
    from coursework.engine.examples import every_set, find
    from coursework.instant.card import Card

    examples, exercise = find(name), exercise_named(name, names)
    if examples is None:
        near = difflib.get_close_matches(name, [each.exercise for each in every_set()], n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        return Card(name, False, NO_EXAMPLE.format(name=name, meant=meant))
    runs = runs_of(names)
    if runs and exercise and runs.is_skipped(exercise):
        return Card(examples.name, False, SKIPPED, headline="skipped.")
    if examples.name not in names:
        missing = runs.undefined(exercise) if runs and exercise else MISSING.format(name=examples.name)
        return Card(examples.name, False, missing, headline="not defined.")
    if runs and exercise and (problem := runs.problem(exercise)):
        return Card(examples.name, False, problem, headline=NO_POINTS)
    if runs and exercise and runs.is_unwritten(exercise):
        return Card(examples.name, False, exercise.unwritten, headline="not written yet.")
    return _tried(examples, exercise, names[examples.name], names)


def _tried(examples: Any, exercise: Exercise | None, answer: Any, names: Mapping[str, Any]) -> "Card":
    """Return the card of an answer after trying it where what its exercise excludes is refused."""
    from dataclasses import replace

    from coursework.engine.examples import SEED
    from coursework.engine.observe import try_answer
    from coursework.exclusions import excluded
    from coursework.instant.card import Card, card_of

    excludes = exercise.excludes if exercise else ()
    instead = exercise.instead if exercise else ""
    source, said = cell_of(answer), io.StringIO()
    if excludes and (refused := _refused(source, names, derivatives="derivatives" in excludes)):
        return Card(examples.name, False, f"{refused} {ORDINARY}", instead, NO_POINTS)
    called: list[str] = []
    with excluded(excludes, called.append) if excludes else contextlib.nullcontext():
        got = [
            try_answer(each.operation, answer, examples.name, SEED, SECONDS, printed=said)
            for each in examples.examples
        ]
    if called:
        title = f"`{called[0]}` is excluded in this exercise. {instead}"
        return Card(examples.name, False, title, headline=NO_POINTS)
    return replace(card_of(examples, got, source), printed=said.getvalue())


def _refused(source: str, names: Mapping[str, Any], *, derivatives: bool) -> str:
    """Return what an answer, or a cell that it needs, may not be written with; "" for nothing."""
    from coursework.source_rules import first_refusal

    known = {each.name for each in every_exercise()}
    cells, modules, wanted = [source], [], [source]
    while wanted:
        for name in _names_read(wanted.pop()):
            value = names.get(name)
            if isinstance(value, ModuleType):
                modules.append(f"import {value.__name__} as {name}")
            elif name not in known and (text := cell_of(value)) and text not in cells:
                cells.insert(0, text)
                wanted.append(text)
    found = first_refusal(["\n".join(sorted({*modules})), *cells], derivatives=derivatives)
    return f"{found.place} {found.what}." if found else ""


def _names_read(source: str) -> Iterator[str]:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        yield from (node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))


def cell_of(answer: Any) -> str:
    """Return the text of the cell that a function or class was written in, "" if it is not known."""
    from coursework.engine.observe import CELL_FILES

    functions: Sequence[Any] = [answer, *vars(answer).values()] if isinstance(answer, type) else [answer]
    codes = (getattr(function, "__code__", None) for function in functions)
    code = next(filter(None, codes), None)
    of_a_cell = code is not None and any(part in code.co_filename for part in CELL_FILES)
    return "".join(linecache.getlines(code.co_filename)) if code and of_a_cell else ""


def _show(shown: "Card | Glance") -> None:
    """Display a card in a notebook, print it elsewhere."""
    if _kernel_shell() is None:
        print(shown.text)
        return
    from IPython.display import display

    display({"text/html": shown.html, "text/plain": shown.text}, raw=True)


def _kernel_shell() -> Any:
    """Return IPython's shell if this runs in a notebook's kernel, None elsewhere."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    shell = get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def watch_cells() -> None:
    """Remember how cells run, and show failures as cards, if this runs in a notebook's kernel."""
    shell = _kernel_shell()
    if shell is None or hasattr(shell, "_coursework_runs"):
        return
    from coursework.instant.failures import show_failures_as_cards
    from coursework.instant.runs import Runs

    runs = Runs(shell.user_ns)
    shell._coursework_runs = runs
    shell.events.register("pre_run_cell", runs.begin)
    shell.events.register("post_run_cell", runs.end)
    show_failures_as_cards(shell, runs)
