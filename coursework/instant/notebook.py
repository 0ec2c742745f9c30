"""`check("softmax")`: find the student's answer, try it on its examples, show what came.

Whatever may give no points in grading is never right here: what the exercise excludes, an answer that is
older than its cell's last run, a name that another cell defines.
"""

import contextlib
import difflib
import io
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from coursework.cells import digest_of, is_unanswered
from coursework.console import with_capital
from coursework.engine.compare import with_article
from coursework.engine.observation import Observation
from coursework.instant.exercises import (
    FILLED,
    NO_POINTS,
    OPEN,
    WRONG,
    PublicExercise,
    every_exercise,
    every_lesson,
    exercises_of,
    lesson_of,
    notebook_file,
    saved_cells,
    saved_code,
    visible_test,
)
from coursework.instant.runs import CellRuns
from coursework.instant.sources import ORDINARY, cell_of, names_lost, refused, used

if TYPE_CHECKING:
    from coursework.engine.operation import Operation
    from coursework.instant.card import Card
    from coursework.instant.glance import Glance

SECONDS = 5.0
WAIT = 20.0  # seconds for the chat box, which lets a check in after each token
MISSING = '`{name}` is not defined yet. Run the cell above first, or `skip("{name}")` to go on without it.'
FILLED_IN = "filled in; the grader says whether it is right."
IN_WORDS = "written; a person grades it."
NOT_WRITTEN = "not written yet."
NOT_IN_WORDS = "not written yet, as saved."
UNCHECKED = "Nothing is checked here."
LEFT = "still to be answered: {keys}."
UNFINISHED = "filled in, but its raise line is still there."
NO_DICTIONARY = "not a dictionary, which the exercise asks for."
FORM_FAILS = "a visible test fails:"
UNKNOWN = "`check()` lists the exercises of this lesson."
ONE = "`check` takes one exercise at a time, and `where=True` is written out."
NO_ANSWER = (
    '`check` takes an exercise, not {what}: its name, as in `check("softmax")`, or what it defines, as in '
    "`check(softmax)`, without a call."
)
OTHER_LESSON = "`{name}` is an exercise of {lesson}. Check it in that notebook."
FAULT = "The check itself failed ({kind}). Your answer may still be right: run the visible tests."
SKIPPED = (
    "A stand-in does its work in this notebook. Grading reads the exercise's own cell as it stands. Run that "
    "cell to have your answer checked."
)
TEST_FAILS = "right on its examples, but a visible test fails:"
NOT_SAVED = "right on its examples, but part of it is not in the saved notebook."
ANOTHER_SAVED = "right as it last ran, but another version is saved."
LOST = (
    "No cell of the saved notebook defines {lost}, which it uses, and grading reads the saved notebook. If "
    "that cell is still there, save the notebook (Ctrl+S). If not, bring it back."
)
UNTRAINED = "right on its examples, but it would not be trained as a whole."
RIGHT_BUT = "right on its examples with a working {first}."
FIRST = '`check("{first}")` fails first: fix that.'
EARLIER = "{first} Your `{name}` needs it, and is right on its examples apart from that."
ALSO = "Its own mistake is below; {first}, which it needs, {fails}."
STILL_WRITING = "The chat box is still writing, and does not come to a next token. Restart the kernel."
ENDS_THE_CELL = "{name}() ends only its cell. To stop working, save the notebook and close its tab."
NO_LESSON = (
    "Open a lesson's own notebook under its own name, such as 03_attention.ipynb, and run `{call}` there."
)


def check(
    answer: object = None, scope: Mapping[str, Any] | None = None, *, where: bool = False
) -> "Card | Glance":
    """Try an answer on the public examples of its exercise, and display a card.

    `answer` is what the exercise defines, its name, or the exercise's id. Without it, every exercise of the
    lesson is shown with its state, and what to do next. Names are looked up in `scope`, by default the
    caller's. With `where`, a wrong answer's card says in which line a small change would make every example
    come out right, if one is found within a few seconds. Never raises; nothing of the caller's state
    changes, nothing is stored.
    """
    from coursework.instant.card import Card

    names: object = sys._getframe(1).f_globals if scope is None else scope
    shown: Card | Glance
    name = "check" if answer is None else name_of(answer, names if isinstance(names, Mapping) else {})
    try:
        if not isinstance(names, Mapping):
            shown = Card(name, False, "not checked.", ONE)
        elif not (
            answer is None or isinstance(answer, str) or callable(answer) or exercise_named(name, names)
        ):
            kind = with_article(type(answer).__name__)
            shown = Card("check", False, "no exercise given.", NO_ANSWER.format(what=kind))
        else:
            shown = _glance(names) if answer is None else _asked(name, names, where=where)
    except Exception as problem:
        shown = Card(name, False, "not checked.", FAULT.format(kind=type(problem).__name__), sign=OPEN)
    with contextlib.suppress(Exception):
        _show(shown)
    return shown


def name_of(answer: object, names: Mapping[str, Any]) -> str:
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
        return Card("check", False, "no lesson here.", NO_LESSON.format(call="check()"))
    return glance(file, names, runs_of(names))


def runs_of(names: Mapping[str, Any]) -> CellRuns | None:
    """Return the record of a notebook's cells, None for any other names."""
    shell = _kernel_shell()
    runs: CellRuns | None = getattr(shell, "_coursework_runs", None)
    return runs if runs is not None and runs.names is names else None


def exercise_named(name: str, names: Mapping[str, Any]) -> PublicExercise | None:
    """Return an exercise by its id or by what it defines; this lesson's come first."""
    file = notebook_file(names)
    here = exercises_of(file.stem) if file else ()
    known = [each for each in (*here, *every_exercise()) if name and name in (each.id, each.name)]
    return next(iter(known), None) or next((each for each in here if name == each.title), None)


def meant(name: str) -> str:
    """Return a question after the exercise whose id is most like a name that is none, "" if none is."""
    near = difflib.get_close_matches(name, [each.id for each in every_exercise()], n=1)
    return f"Did you mean `{near[0]}`? " if near else ""


def card_for(name: str, names: Mapping[str, Any]) -> "Card":
    """Return the card of an answer, by the exercise's id or by its name."""
    from coursework.engine.examples import find
    from coursework.instant.card import Card

    examples, exercise = find(name), exercise_named(name, names)
    if examples is None:
        if exercise:
            mark, headline, title = _form(exercise, names)
            return Card(name, False, headline, title, sign=mark)
        return Card(name, False, "no such exercise.", f"{meant(name)}{UNKNOWN}")
    if problem := _not_to_be_tried(examples.name, exercise, names):
        mark, headline, title = problem
        return Card(examples.name, False, headline, title, sign=mark)
    card = _tried(examples, exercise, names)
    runs = runs_of(names)
    if card.passed and runs and exercise and (failed := runs.failing.get(exercise.id)):
        return replace(card, passed=False, headline=TEST_FAILS, title=failed)
    if card.passed and exercise and (unsaved := _unsaved(exercise, names)):
        headline, title = unsaved
        return replace(card, passed=False, headline=headline, title=title, sign=OPEN)
    return card if card.passed or exercise is None else _own_mistake(card, examples, exercise, names)


def _unsaved(exercise: PublicExercise, names: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return headline and title where the saved notebook lacks a part of an answer, or has another."""
    runs, file = runs_of(names), notebook_file(names)
    run = runs.own.get(exercise.id) if runs else None
    if runs is None or run is None or file is None:
        return None
    saved = saved_cells(file).get(exercise.id, "")
    if digest_of(saved) != digest_of(run.source):
        edited = runs.edited(exercise)
        return (ANOTHER_SAVED, edited) if edited else None
    lost = " and ".join(f"`{name}`" for name in names_lost(saved, saved_code(file), names))
    return (NOT_SAVED, LOST.format(lost=lost)) if lost else None


def _asked(name: str, names: Mapping[str, Any], *, where: bool) -> "Card":
    """Return the card of an answer with the place to change, or with how to ask for it."""
    card = card_for(name, names)
    if card.passed or card.example is None:
        return card
    from coursework.engine.examples import find
    from coursework.instant import where as search

    if not where:
        return replace(card, where=search.OFFER.format(name=name)) if card.may_search else card
    examples, exercise = find(name), exercise_named(name, names)
    assert examples is not None
    with standing_in(earlier_failing(exercise, names) if exercise else [], names):
        found = search.where(examples, exercise, names)
    if not found.lines:  # the line that raised is still worth reading
        return replace(card, where=f"{card.where} {found.sentence}".strip())
    return replace(card, where=found.sentence, blamed=found.lines)


def _not_to_be_tried(  # noqa: PLR0911 - a table of reasons, in the order in which they count
    name: str, exercise: PublicExercise | None, names: Mapping[str, Any]
) -> tuple[str, str, str] | None:
    """Return the mark, headline and title of a card where the name is no answer, None where it is one."""
    runs, file = runs_of(names), notebook_file(names)
    if runs and exercise and runs.is_skipped(exercise):
        return OPEN, "skipped.", SKIPPED
    if file and exercise and exercise not in exercises_of(file.stem):
        return OPEN, "not of this lesson.", OTHER_LESSON.format(name=name, lesson=lesson_of(exercise))
    if name not in names:
        if runs is None or exercise is None:
            return OPEN, "not defined.", MISSING.format(name=name)
        unwritten = runs.is_unwritten(exercise) and not runs.has_yet_to_run(exercise)
        return OPEN, NOT_WRITTEN if unwritten else "not defined.", runs.undefined(exercise)
    if runs is None or exercise is None:
        return None
    if problem := runs.problem(exercise):
        unseen = runs.may_not_be_seen(exercise)
        return (OPEN, "not checked.", problem) if unseen else (WRONG, NO_POINTS, problem)
    if another := runs.another_counts(exercise):
        return OPEN, "not checked.", another
    unwritten = runs.is_unwritten(exercise)
    return (OPEN, NOT_WRITTEN, runs.unwritten(exercise)) if unwritten else None


def _form(exercise: PublicExercise, names: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the mark, headline and title of a card for an answer of which only the form is checked."""
    if exercise.written:
        file = notebook_file(names)
        known = file is not None and file.is_file()
        saved = saved_cells(file).get(exercise.id, "") if file and known else ""
        unwritten = known and is_unanswered(saved, exercise.skeleton)
        return (OPEN, NOT_IN_WORDS, "") if unwritten else (FILLED, IN_WORDS, UNCHECKED)
    return _not_to_be_tried(exercise.name, exercise, names) or _form_of(exercise, names)


def _form_of(exercise: PublicExercise, names: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the same for answers in a dictionary, from the exercise's own cell."""
    runs, answers = runs_of(names), names[exercise.name]
    if not isinstance(answers, Mapping):
        return WRONG, NO_DICTIONARY, ""
    if left := [str(key) for key, answer in answers.items() if answer is None]:
        return OPEN, LEFT.format(keys=", ".join(left)), ""
    if runs and runs.is_unfinished(exercise):
        return OPEN, UNFINISHED, ""
    if failed := (runs.failing.get(exercise.id) if runs else "") or _form_fails(exercise, names):
        return WRONG, FORM_FAILS, failed
    return FILLED, FILLED_IN, UNCHECKED


def _form_fails(exercise: PublicExercise, names: Mapping[str, Any]) -> str:
    """Return what the visible test says of answers whose form is wrong: entries may be missing."""
    from coursework.engine.trial import exception_of

    problem = exception_of(visible_test(exercise, names), dict(names), SECONDS)
    return str(problem) if isinstance(problem, AssertionError) else ""


def wrong_all_the_same(exercise: PublicExercise, names: Mapping[str, Any]) -> str:
    """Return what `check` has against an answer that passes its visible test, "" for nothing."""
    card = card_for(exercise.id, names)
    if card.passed or card.mark != WRONG:
        return ""
    return f"{with_capital(card.headline)} {card.title}".strip()


def told_first(exercise: PublicExercise, names: Mapping[str, Any]) -> str:
    """Return what says more than a failed visible test: excluded means or dropout in eval mode, else ""."""
    from coursework.instant.further import DROPS

    card = card_for(exercise.id, names)
    if exercise.excludes and card.headline == NO_POINTS:
        return f"{card.headline} {card.title}"
    return f"{card.title} {card.hint}" if card.title == DROPS else ""


def _tried(examples: Any, exercise: PublicExercise | None, names: Mapping[str, Any]) -> "Card":
    """Return the card of an answer after trying it where what its exercise excludes is refused."""
    from coursework.engine.trial import ALONE, took_too_long, try_for
    from coursework.exclusions import as_written, excluded
    from coursework.instant.card import Card, card_of, with_line
    from coursework.instant.further import further
    from coursework.instant.unregistered import missed, refused_part, shared

    excludes = exercise.excludes if exercise else ()
    instead = exercise.instead if exercise else ""
    answer, said = names[examples.name], io.StringIO()
    source = cell_of(answer)
    if excludes and (found := refused(source, names, derivatives="derivatives" in excludes)):
        return Card(examples.name, False, NO_POINTS, f"{found} {ORDINARY}", instead)
    called: list[str] = []
    got: list[Observation] = []

    def attempt(operation: "Operation", printed: io.StringIO | None = None) -> Observation:
        with excluded(excludes, called.append) if excludes else contextlib.nullcontext():
            return try_for(SECONDS, operation, answer, examples.name, printed=printed)

    if not ALONE.acquire(timeout=WAIT):
        return Card(examples.name, False, "not tried.", STILL_WRITING, sign=OPEN)
    try:
        for each in examples.examples:
            late = bool(got) and took_too_long(got[-1])  # so it would be on the others
            got.append(got[-1] if late else attempt(each.operation, said))
        card = card_of(examples, got, source)
        settled = card.known or took_too_long(got[-1])
        asks = exercise.asks if exercise and card.passed else ()
        more = None if settled else further(examples, asks, answer, source, attempt)
    finally:
        ALONE.release()
    if any(seen.raised and seen.raised.structural for seen in got):  # so it was built, and perhaps not called
        called += filter(None, [refused_part(examples, answer, excludes)])
    if called:
        title = f"`{as_written(called[0], source)}` is excluded in this exercise. {instead}"
        return Card(examples.name, False, NO_POINTS, title)
    title, hint = ("", "") if took_too_long(got[-1]) else shared(examples, answer)
    if not (title or settled):
        title, hint = missed(examples, answer)
    headline = UNTRAINED
    if more and not title:
        headline, title, hint = more
    if title:
        headline = headline if card.passed else card.headline
        card = replace(card, passed=False, headline=headline, title=title, hint=hint)
        if all(seen.raised for seen in got) and (raised := got[0].raised):
            card = with_line(card, raised, source)
    return replace(card, printed=said.getvalue())


def _own_mistake(card: "Card", examples: Any, exercise: PublicExercise, names: Mapping[str, Any]) -> "Card":
    """Return the card of an answer that fails without the mistakes of the earlier exercises that it calls.

    As in grading, it is tried once more with right versions of these in place.
    """
    from coursework.instant.card import Card

    earlier = earlier_failing(exercise, names)
    if not earlier:
        return card
    with standing_in(earlier, names):
        again = _tried(examples, exercise, names)
    first, told = earlier[0].name, fails_first(earlier[0], names)
    if again.passed:
        title = EARLIER.format(name=exercise.name, first=told)
        return Card(exercise.name, False, RIGHT_BUT.format(first=first), title, waits_for=first, sign=OPEN)
    also = ALSO.format(first=first, fails=fails_as_well(earlier[0], names))
    return replace(again, headline=f"{again.headline} {also}")


def earlier_failing(
    exercise: PublicExercise, names: Mapping[str, Any], test: str = ""
) -> list[PublicExercise]:
    """Return the exercises before this one, in its lesson, that the answer or a test calls and that fail."""
    lesson = next((each for each in every_lesson() if exercise in each), ())
    before = lesson[: lesson.index(exercise)] if lesson else ()
    called = [*used(cell_of(names.get(exercise.name)), names, before), *used(test, names, before)]
    return [each for each in before if each in called and _fails(each, names)]


def fails_first(earlier: PublicExercise, names: Mapping[str, Any]) -> str:
    """Return what to do first about an earlier exercise that fails: it may only have to be run or written."""
    return _missing(earlier, names)[1] or FIRST.format(first=earlier.name)


def fails_as_well(earlier: PublicExercise, names: Mapping[str, Any]) -> str:
    """Return that an earlier exercise fails as well, or that it is not defined, or not written yet."""
    headline, _ = _missing(earlier, names)
    return f"is {headline.removesuffix('.')}" if headline else "fails as well"


def _missing(exercise: PublicExercise, names: Mapping[str, Any]) -> tuple[str, str]:
    """Return the headline and title of a card where there is no answer to try, two "" where there is."""
    mark, headline, title = _not_to_be_tried(exercise.name, exercise, names) or ("", "", "")
    return (headline, title) if mark == OPEN else ("", "")


def first_failing(exercises: Iterable[PublicExercise], names: Mapping[str, Any]) -> PublicExercise | None:
    """Return the first of some exercises whose check fails, if one does."""
    return next((each for each in exercises if _fails(each, names)), None)


def _fails(exercise: PublicExercise, names: Mapping[str, Any]) -> bool:
    runs = runs_of(names)
    skipped = runs is not None and runs.is_skipped(exercise)
    if skipped or not exercise.stand_in:
        return False
    card = card_for(exercise.id, names)
    return not card.passed and card.headline not in (NOT_SAVED, ANOTHER_SAVED)


@contextlib.contextmanager
def standing_in(exercises: Iterable[PublicExercise], names: Mapping[str, Any]) -> Iterator[None]:
    """Put right versions of some exercises in place for a while."""
    from coursework.instant.skip import made

    scope: Any = names
    before = dict(scope)
    scope |= {each.name: made(each) for each in exercises}
    try:
        yield
    finally:
        for each in exercises:
            del scope[each.name]
            scope |= {each.name: before[each.name]} if each.name in before else {}


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


@dataclass(frozen=True)
class _EndsTheCell:
    """`exit` and `quit` of a notebook: a call ends the cell, the name alone says so."""

    name: str

    def __call__(self, code: object = None) -> NoReturn:
        """Raise SystemExit, as Python's own do."""
        sys.exit(code)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return ENDS_THE_CELL.format(name=self.name)


def watch_cells() -> None:
    """Remember how cells run, and show failures as cards, if this runs in a notebook's kernel."""
    shell = _kernel_shell()
    if shell is None or hasattr(shell, "_coursework_runs"):
        return
    from coursework.instant.failures import show_failures_as_cards

    # IPython's own would end the kernel, and with it all that the student has run.
    shell.user_ns |= {name: _EndsTheCell(name) for name in ("exit", "quit")}
    warnings.filterwarnings("ignore", "To exit: use 'exit'")
    runs = CellRuns(shell.user_ns)
    shell._coursework_runs = runs
    shell.input_transformers_cleanup.append(runs.transformed)
    shell.events.register("pre_run_cell", runs.begin)
    shell.events.register("post_run_cell", runs.end)
    show_failures_as_cards(shell, runs)
