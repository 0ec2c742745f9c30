"""Titles for wrong answers that no known mistake explains: from the kind of change that makes them right.

A title says what is wrong with the student's own code, and never what belongs there.
"""

import ast
import re
from collections.abc import Iterable
from typing import Final

from autograder.model.report import BY_CHANGE, NamedMistake
from coursework.console import with_capital
from coursework.edits.cell import Cell, CodeEdit, callee
from coursework.edits.places import VAGUE, Told

DIMENSIONS: Final = "Write down what each dimension of the tensor stands for. Which one is meant here?"
SHAPES: Final = "Write down the shapes on both sides. How are they broadcast?"
ORDER: Final = "Compare the order with the signature of what you call, or with the exercise."
VALUE: Final = "Work it out by hand for the smallest case, and compare it with what your code does there."
CALL: Final = "Look up what the function does, and print what it gives for a small case."
ARGUMENT: Final = "Look up what each argument means, and print what you get."
DEPENDS: Final = "What does this number depend on? Say where the exercise takes it from."
NAMES: Final = "Say what each variable holds here, and its shape. Which one does the exercise ask for?"
BLOCKS: Final = "Which lines should run once, and which each time?"
SHARED: Final = "Who else uses this object, before or after you changed it?"
STEPS: Final = "Say in words what the code does here, and compare it with the exercise."

# A pattern of a kind of change, the title that it gives, and the hint. `{part}` is what the pattern caught,
# and `{call}` the call around the change.
TITLES: Final[tuple[tuple[str, str, str], ...]] = (
    (r"another `dim`|another dimension|other dimensions", "`{call}` gets the wrong dimension", DIMENSIONS),
    (r"another (`\w+`)", "The argument {part} of `{call}` is wrong", ARGUMENT),
    (r"another argument", "`{call}` gets the wrong argument", ARGUMENT),
    (r"other arguments of (`\w+`)", "{part} gets the wrong arguments", ARGUMENT),
    (r"another call than (`\w+`)", "{part} is the wrong function here", CALL),
    (r"another value than (`\w+`)", "{part} is the wrong value here", CALL),
    (r"another attribute of `self`", "The wrong attribute is used", NAMES),
    (r"another variable", "The wrong variable is used", NAMES),
    (r"another result", "The wrong result is returned", NAMES),
    (r"another (list|container|type|dtype)", "The {part} is wrong here", CALL),
    (r"another assignment", "This assignment doesn't do what is needed", SHARED),
    (r"another indentation", "A line is indented wrongly", BLOCKS),
    (r"one more dimension of size 1", "A dimension of size 1 is missing", SHAPES),
    (r"another sign", "A plus or a minus is wrong", VALUE),
    (r"another order", "The order is wrong", ORDER),
    (r"another ([a-z ]+)", "The {part} is wrong", VALUE),
    (r"one dimension fewer", "There is a dimension of size 1 too many", SHAPES),
    (r"(a transpose)", "{part} is missing", DIMENSIONS),
    (r"(a copy)", "{part} is missing", SHARED),
    (r"a line that runs even after an exception", "Something is not undone if an exception is raised", STEPS),
    (r"a separate object for each name", "Several names share one object", SHARED),
    (r"a new object each time", "One object is used again and again", SHARED),
    (r"(a return|an assignment)", "{part} is missing", STEPS),
    (r"an expression in place of the number", "A fixed number stands where one is computed", DEPENDS),
    (r"an attribute of `self`", "The wrong variable is used", NAMES),
    (r"the inverse", "A value is used the wrong way up", VALUE),
    (r"the opposite of a value", "True and False are the wrong way round", VALUE),
    (r"the opposite condition", "The condition is the wrong way round", VALUE),
    (r"one call more", "A function call is missing", STEPS),
    (r"one more result", "A result is missing", STEPS),
    (r"one result only", "There is one result too many", STEPS),
    (r"one argument more", "`{call}` lacks an argument", ARGUMENT),
    (r"one operand more", "An operand is missing", STEPS),
    (r"one index more", "An index is missing", SHAPES),
    (r"one (slice|power|factor) more", "A {part} is missing", STEPS),
    (r"one (call|argument) fewer", "There is one {part} too many", STEPS),
    (r"something more inside (`\w+`)", "{part} gets too little of the expression", STEPS),
    (r"something less inside (`\w+`)", "{part} gets too much of the expression", STEPS),
    (r"without a change in place", "A value is changed in place", SHARED),
    (r"without the call of (`\w+`)", "{part} should not be called here", STEPS),
    (r"without the statement", "This statement should not be here", STEPS),
    (r"without (`\w+`)", "{part} should not be here", STEPS),
    (r"without (?:the|one of the) `?(\w+?)s?`?", "There is one {part} too many", STEPS),
    (r"the two sides exchanged", "The two sides of a comparison are exchanged", VALUE),
    (r"the values of these lines exchanged", "The values of two lines are exchanged", NAMES),
    (r"the statement in another place", "A statement stands in the wrong place", STEPS),
    (r"these lines in another order", "The lines are in the wrong order", STEPS),
    (r"the (\w+) in another order", "The {part} are in the wrong order", ORDER),
    (r"other (brackets|letters)", "The {part} are wrong", VALUE),
    (r"something is missing.*", "A step is missing", STEPS),
    (r"something more", "Something is missing", STEPS),
    (r"something less", "Something should not be here", STEPS),
)


def titles(edits: Iterable[CodeEdit], cell: Cell, *, even_vague: bool = False) -> list[NamedMistake]:
    """Return the mistakes that changes of a cell stand for, each once, with its places in its title.

    A kind of change that says too little stands for none, unless `even_vague` asks for it.
    """
    places: dict[tuple[str, str, str], dict[str, None]] = {}
    for edit in edits:
        if (even_vague or edit.what not in VAGUE) and (found := _mistake(edit, cell)):
            places.setdefault(found, {})[Told(edit.first, edit.last, "", edit.what).place] = None
    named = []
    for (mistake, said, hint), (*others, last) in places.items():
        where = f"{', '.join(others)} and {last}" if others else last
        named.append(NamedMistake(id=mistake, title=f"{said} ({where})", hint=hint))
    return named


def _mistake(edit: CodeEdit, cell: Cell) -> tuple[str, str, str] | None:
    """Return the id, the words and the hint of the mistake that one change stands for."""
    call = _call_around(edit, cell)
    for pattern, words, hint in TITLES:
        if found := re.fullmatch(pattern, edit.what):
            part = next(filter(None, found.groups()), "dimension" if hint is DIMENSIONS else "value")
            if "{call}" in words and not call:
                words = "The {part} is wrong" if edit.what.startswith("another") else "Something is missing"
            elif hint is CALL and _calls(edit, cell) > 1:
                words = "A function is the wrong one here"  # which one, only the change says
            said = words.format(part=part, call=call)
            slug = "-".join(re.findall(r"[a-z0-9]+", edit.what.lower()))
            return f"{BY_CHANGE}{slug}", with_capital(said), hint
    return None


def _calls(edit: CodeEdit, cell: Cell) -> int:
    """Return how many calls begin in the lines of a change."""
    lines = range(edit.first, edit.last + 1)
    return sum(isinstance(each, ast.Call) and each.lineno in lines for each in cell.nodes)


def _call_around(edit: CodeEdit, cell: Cell) -> str:
    """Return the name of the innermost call that a change is in, outside what is called; "" if none."""
    start, end, _ = edit.changes[0]
    name, smallest = "", len(cell.data)
    for node in cell.nodes:
        if not isinstance(node, ast.Call):
            continue
        first, last = cell.span(node)
        inside = cell.span(node.func)[1] <= start and end <= last
        if inside and last - first <= smallest:
            name, smallest = callee(node), last - first
    return name
