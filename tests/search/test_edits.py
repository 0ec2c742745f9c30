"""Changes of a cell: each leaves Python behind, knows its lines, and names its kind without the change itself."""

import ast
import re
from functools import cache

import pytest
from conftest import ROOT

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.model.exercise import Exercise, Lesson
from autograder.search.donors import Donor
from coursework.edits.cell import MISSING, Cell, CodeEdit
from coursework.edits.generic import elsewhere, everywhere, generic_edits
from coursework.edits.values import label

COURSE = Course(ROOT)
LESSONS = {name: load_lesson(COURSE, name) for name in COURSE.lessons()}
EXERCISES = [
    pytest.param(
        lesson,
        exercise,
        id=f"{lesson.name[:2]}-{exercise.id}",
        marks=[pytest.mark.full("thousands of edits of every exercise", seconds=4)] if number > 1 else [],
    )
    for lesson in LESSONS.values()
    for number, exercise in enumerate(lesson.exercises)
    if not exercise.written
]
# All the words in which a kind of change is put; names of the student's own code stand in backticks.
WORDS = frozenset(
    " ".join(
        [
            "1 a after an another argument arguments assignment attribute between brackets call change",
            "comparison condition conditions container copy default dimension dimensions dtype exchanged expression factor",
            "each even exception fewer function in indentation index indices inside inverse is less letters limit line lines",
            "list missing more name new number object of on one only operand operands operator",
            "opposite order other place power range result return runs self separate sides sign size slice",
            "something statement text than that the these time transpose two type value values variable without",
        ]
    ).split()
)
SOURCE = """\
def scores(q, k, scale=2):
    d = q.size(-1)
    s = q @ k.transpose(1, 2)
    if scale > 1:
        s = s / d
    return s
"""


@cache
def found(source: str) -> list[CodeEdit]:
    """Return the edits of a cell."""
    return generic_edits(Cell(source))


def changed(edits: list[CodeEdit], source: str, line: str) -> list[CodeEdit]:
    """Return the edits that leave a line behind."""
    return [each for each in edits if line in (text.strip() for text in each.apply(source).split("\n"))]


@pytest.mark.parametrize(
    ("line", "number", "what"),
    [
        ("d = q.size(0)", 2, "another dimension"),
        ("s = q @ k.transpose(-2, -1)", 3, "other dimensions"),
        ("s = q @ k.transpose(2, 1)", 3, "the arguments in another order"),
        ("s = k @ k.transpose(1, 2)", 3, "another variable"),
        ("s = q @ k", 3, "without the call of `transpose`"),
        ("s = q * k.transpose(1, 2)", 3, "another operator"),
        ("if scale >= 1:", 4, "another comparison"),
        ("s = s * d", 5, "another operator"),
        ("s = s / math.sqrt(d)", 5, "one call more"),
        ("return d", 6, "another variable"),
        ("def scores(q, k, scale=1):", 1, "another default value"),
    ],
)
def test_an_edit_knows_its_line_and_its_kind(line: str, number: int, what: str) -> None:
    """The likeliest edit that gives a line is shown where the line stands, under the right name."""
    edits = changed(found(SOURCE), SOURCE, line)
    assert (edits[0].first, edits[0].last, edits[0].what) == (number, number, what)


def test_a_text_is_no_dimension() -> None:
    """`split` cuts a tensor along a dimension, and a text at a pattern."""
    for source, said in (("re.split('x', text)", "argument"), ("x.split(2, 1)", "dimension")):
        cell = Cell(source)
        constants = [node for node in cell.nodes if isinstance(node, ast.Constant)]
        assert {label(cell, node) for node in constants} == {said}


def test_statements_are_left_out_moved_and_put_in() -> None:
    """Whole statements are changed as well, and a gap is the two lines around it."""
    source = "def f(x):\n    total = 0\n    for each in x:\n        total += each\n        return total\n"
    texts = {each.apply(source): each for each in found(source)}
    moved = texts["def f(x):\n    total = 0\n    for each in x:\n        total += each\n        pass\n    return total\n"]
    assert (moved.first, moved.last, moved.what) == (5, 5, "another indentation")
    copied = texts[source.replace("    total = 0", "    x = x.clone()\n    total = 0")]
    assert (copied.first, copied.last, copied.what) == (1, 2, MISSING)


def test_one_change_is_made_in_all_places_with_one_text() -> None:
    """Where a text occurs a few times, its changes are also made everywhere at once."""
    source = "def f(x, dim):\n    e = x.exp(0)\n    return e / e.sum(0)\n"
    cell = Cell(source)
    together = [[each.first for each in edits] for edits in everywhere(generic_edits(cell), cell)]
    assert [2, 3] in together


def test_what_is_no_python_or_too_long_is_refused() -> None:
    """Such a cell is left to the interpreter."""
    with pytest.raises(SyntaxError):
        Cell("def f(:\n")
    with pytest.raises(ValueError, match="too long"):
        Cell("x = 1\n" * 10_000)


def test_places_are_right_behind_letters_of_several_bytes() -> None:
    """Python counts columns in bytes, of UTF-8."""
    source = "def f(x):\n    é = 'größer'; return x + 1\n"
    assert changed(found(source), source, "é = 'größer'; return x - 1")


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_edits_of_every_answer_are_python_and_tell_no_code(lesson: Lesson, exercise: Exercise) -> None:
    """A kind is made of a fixed set of words, and of names that stand in the student's own cell.

    "Everything passes with" or "Everything passes" may go before it.

    Of the thousands of edits of a long answer, some hundreds are looked at, evenly spread.
    """
    assert lesson.exercises
    right = Cell(exercise.answer)
    for mistake in exercise.mistakes[:2]:
        source = mistake.apply(exercise.answer)
        cell = Cell(source)
        donor = Donor(cell, right)
        lines = source.count("\n") + 1
        edits = [*generic_edits(cell), *donor.in_place(), *donor.anywhere()]
        for edit in edits[:: len(edits) // 400 + 1]:
            ast.parse(edit.apply(source))
            assert 1 <= edit.first <= edit.last <= lines + 1
            quoted = re.findall(r"`(\w+)`", edit.what)
            assert all(re.search(rf"\b{name}\b", source) or name == "self" for name in quoted), edit.what
            assert set(re.sub(r"`\w+`", "", edit.what).split()) <= WORDS, edit.what
            assert re.match(r"(an?|another|one|other|something|the|these|without) ", edit.what), edit.what


def test_a_result_that_is_computed_may_have_to_be_returned() -> None:
    """The last line is an expression whose value nobody gets."""
    source = "def f(x):\n    y = x + 1\n    y * 2\n"
    edits = changed(found(source), source, "return y * 2")
    assert (edits[0].first, edits[0].last, edits[0].what) == (3, 3, "a return")


@pytest.mark.parametrize(
    ("line", "changed_to", "what"),
    [
        ("x.mean(dim=(-2, -1))", "x.mean(dim=-1)", "another `dim`"),
        ("rotary(t, p)", "rotary(t, p, base=self.base)", "one argument more"),
        ("x.view(p, t, 3)", "x.view(p, -1, 3)", "another size"),
        ("x.repeat(1, t, 1)", "x.repeat_interleave(t, 1)", "another call than `repeat`"),
        ("reduce(f, x)", "reduce(f, x[::-1])", "another order"),
        ("[t for _ in range(p)]", "[Layer(3) for _ in range(p)]", "a new object each time"),
        ("~t", "t", "the opposite of a value"),
    ],
)
def test_what_students_of_other_forms_get_wrong_is_tried(line: str, changed_to: str, what: str) -> None:
    """Each was the mistake of an answer in a form unlike the model answer's."""
    source = f"class A:\n    def f(self, x, p):\n        self.base = 2\n        t = Layer(3)\n        return {line}\n"
    kinds = {each.what for each in changed(found(source), source, f"return {changed_to}")}
    assert what in kinds


@pytest.mark.parametrize(
    ("is_", "becomes", "what"),
    [
        ("x + drop(y, p)", "drop(x + y, p)", "something more inside `drop`"),
        ("drop(x + y, p)", "drop(x, p) + y", "something less inside `drop`"),
        ("norm(x + f(y))", "x + norm(f(y))", "something less inside `norm`"),
    ],
)
def test_a_call_may_have_to_stand_around_more_or_less_of_a_sum(is_: str, becomes: str, what: str) -> None:
    """Dropout of one operand or of the sum, a norm before or after the residual: the other one is tried."""
    edits = {each.apply(f"z = {is_}"): each.what for each in found(f"z = {is_}")}
    assert edits[f"z = {becomes}"] == what


def test_one_object_under_several_names_becomes_one_for_each() -> None:
    """The call is written once for each name."""
    source = "def f(self):\n    self.a = self.b = Norm(3)\n"
    edits = [each for each in found(source) if each.what == "a separate object for each name"]
    assert [each.apply(source) for each in edits] == ["def f(self):\n    self.a = Norm(3)\n    self.b = Norm(3)\n"]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("x.transpose(1, 2)", "x = x.transpose(1, 2)"),
        ("x.transpose(1, 2).flatten(2)", "x = x.transpose(1, 2).flatten(2)"),
        ("F.relu(x)", "x = F.relu(x)"),
        ("self.drop(x)", "x = self.drop(x)"),
        ("x / 2", "x = x / 2"),
    ],
)
def test_a_result_that_is_dropped_is_kept_first_of_all(line: str, kept: str) -> None:
    """The line does nothing as it is. One that changes a tensor in place does something."""
    source = f"def f(self, x):\n    {line}\n    return x\n"
    first, *_ = found(source)
    assert (first.apply(source), first.what) == (source.replace(line, kept), "an assignment")
    source = source.replace(line, "x.clamp_(0)")
    assert found(source)[0].what != "an assignment"


def test_what_has_to_be_undone_is_undone_after_an_exception_too() -> None:
    """The line that is told is the one that may be left out by an exception."""
    source = "def f(model, x):\n    model.eval()\n    y = model(x)\n    model.train()\n    return y\n"
    edits = [each for each in found(source) if each.what == "a line that runs even after an exception"]
    right = "    try:\n        y = model(x)\n    finally:\n        model.train()\n    return y\n"
    assert any(each.apply(source).endswith(right) and each.first == each.last == 4 for each in edits)


def test_values_of_two_lines_are_exchanged() -> None:
    """Sine and cosine in each other's place are one change, told with both lines."""
    source = "def f(x, y):\n    x[0] = y.cos()\n    x[1] = y.sin()\n    return x\n"
    made = {each.apply(source): each for each in found(source)}
    edit = made["def f(x, y):\n    x[0] = y.sin()\n    x[1] = y.cos()\n    return x\n"]
    assert (edit.first, edit.last, edit.what) == (2, 3, "the values of these lines exchanged")


def test_an_index_may_have_to_be_the_variable_of_a_loop() -> None:
    """The first layer again and again."""
    source = "def f(x, layers):\n    for n in range(3):\n        x = layers[0](x)\n    return x\n"
    assert changed(found(source), source, "x = layers[n](x)")[0].what == "another index"


def test_what_belongs_around_a_value_belongs_as_well_around_its_variable() -> None:
    """One line on, where the variable is used; and from there one line back."""
    source = "def f(x):\n    y = x.sum()\n    return y\n"
    edits = generic_edits(Cell(source))
    here = source.replace("x.sum()", "torch.sqrt(x.sum())")
    there = source.replace("return y", "return torch.sqrt(y)")
    by_text = {each.apply(source): each for each in edits}
    assert [each.apply(source) for each in elsewhere(by_text[here], Cell(source))] == [there]
    assert [each.apply(source) for each in elsewhere(by_text[there], Cell(source))] == [
        source.replace("x.sum()", "torch.sqrt((x.sum()))")
    ]
    other = by_text[source.replace("x.sum()", "x.mean()")]
    assert elsewhere(other, Cell(source)) == []


def test_the_default_of_dropout_stays() -> None:
    """Without dropout, layers that `eval()` doesn't reach look right; other defaults are changed."""
    for head in ("def f(x, eps=0.5, dropout=0.1):", "def f(x, *, eps=0.5, dropout=0.1):"):
        source = f"{head}\n    return x\n"
        heads = [edit.apply(source).split("\n")[0] for edit in found(source) if edit.first == 1]
        assert any("eps=0.0" in each for each in heads)
        assert all("dropout=0.1" in each for each in heads if "dropout=" in each)


def test_a_cell_of_many_statements_has_no_more_edits_than_it_can_have_tried() -> None:
    """Every end of every block in a `finally` would be thousands, each as long as the cell."""
    source = "def f(model):\n" + "    model.eval()\n" * 300
    assert not [each for each in found(source) if each.what == "a line that runs even after an exception"]
    assert not [each for each in found("a = 1\nb = 2\nc = 3\n") if "exception" in each.what]
