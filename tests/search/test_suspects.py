"""Changes are tried first where a known mistake or an exception points, and last where a loop might never end."""

from conftest import ROOT

from autograder.lessons.loading import load_lesson
from autograder.model.course import Course
from autograder.search.suspects import lines_of_mistake
from coursework.edits.cell import Cell, CodeEdit
from coursework.edits.generic import generic_edits
from coursework.edits.suspects import lines_behind, steered, without_haste

LESSON = load_lesson(Course(ROOT), "02_positional_encoding")


def test_a_known_mistake_points_at_the_line_that_is_like_its_own() -> None:
    """Under other names and in another order of lines as well."""
    exercise = LESSON["sinusoidal-encoding"]
    mistake = next(each for each in exercise.mistakes if each.id == "exchanged")
    wrong = mistake.apply(exercise.answer)
    changed = {
        number
        for number, (right, line) in enumerate(
            zip(exercise.answer.split("\n"), wrong.split("\n"), strict=True), 1
        )
        if right != line
    }
    renamed = "\n" + wrong.replace("angles", "theta").replace("encoding", "made")
    assert lines_of_mistake(Cell(renamed), exercise, mistake) == {number + 1 for number in changed}


def test_a_known_mistake_points_at_lines_with_its_names_where_none_is_like_its_own() -> None:
    """Here a method of another name does what the model answer does elsewhere."""
    exercise = load_lesson(Course(ROOT), "05_encoder")["encoder-layer"]
    mistake = next(each for each in exercise.mistakes if each.id == "mask-not-passed")
    cell = Cell(
        "class EncoderLayer(nn.Module):\n"
        "    def _attend(self, x, mask):\n"
        "        return self.dropout1(self.self_attention(x, x, x, mask=None)[0])\n"
        "    def _feed(self, x):\n"
        "        return self.dropout2(self.feed_forward(x))\n"
        "    def forward(self, x, mask=None):\n"
        "        y = self.norm1(x + self._attend(x, mask))\n"
        "        return self.norm2(y + self._feed(y))\n"
    )
    assert lines_of_mistake(cell, exercise, mistake) == {3}


def test_an_exception_points_at_its_line_and_at_what_that_is_the_first_to_use() -> None:
    """What the lines above used without an exception is not suspected."""
    cell = Cell(
        "def f(q, k):\n    n = q.size(0)\n    m = q.size(1)\n    a = q.view(n)\n    return k.view(n, m)\n"
    )
    assert lines_behind(cell, 5) == {3, 5}
    assert lines_behind(cell, 4) == {2, 4}
    assert lines_behind(cell, None) == set()


def test_only_changes_in_suspected_lines_get_cheaper() -> None:
    """By as much as is asked."""
    edits = [CodeEdit(((0, 1, "x"),), first, last, "another variable", 2.0) for first, last in ((1, 1), (2, 4))]
    assert [each.cost for each in steered(edits, {3}, 0.5)] == [2.0, 1.5]


def test_changes_of_what_ends_a_loop_come_last() -> None:
    """Other changes in the loop cost what they did."""
    source = "def f(x):\n    i = 0\n    while i < 9:\n        x = x + 1\n        i += 1\n    return x\n"
    cell = Cell(source)
    before = generic_edits(cell)
    dearer = {
        each.first
        for old, each in zip(before, without_haste(before, cell), strict=True)
        if each.cost > old.cost
    }
    assert {3, 5} <= dearer
    alone = [each for each in before if (each.first, each.last, each.what) == (4, 4, "another sign")]
    assert alone
    assert without_haste(alone, cell) == alone
