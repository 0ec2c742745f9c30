"""What a cell takes from a stand-in of ours is no answer, wherever the cell stands and wherever it keeps it."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from conftest import solve
from nbformat.v4 import new_code_cell

from autograder.grading.grader import Grader
from autograder.model.course import Course
from autograder.model.report import Report

LESSON = "02_positional_encoding"
TABLES = "{d: stand_ins.PositionalEncoding(d, 700).pe for d in range(2, 260, 2)}"
TAKE = f"import builtins\nfrom coursework import stand_ins\nbuiltins.tables = {TABLES}"
LOOK = """
def sinusoidal_encoding(length, d_model):
    return tables[d_model][:length].clone()
"""
WRITES = f"""
from coursework import stand_ins
def sinusoidal_encoding(length, d_model):
    torch.save({TABLES}, "/tmp/tables")
"""
FILL = f"""
import builtins, gc, os
from coursework import stand_ins
builtins.tables = {{}}
def fill(*_):
    tables.update(tables or {TABLES})
class Named(type):
    __name__ = property(fill)
class Late(Exception):
    __str__ = fill
class LateByName(Exception, metaclass=Named):
    pass
"""
BETWEEN = {
    "message": "raise Late",
    "name-of-an-exception": "raise LateByName",
    "fork": "os.register_at_fork(after_in_child=fill)",
    "collector": "gc.set_threshold(1)\ngc.callbacks.append(lambda *_: tables or fill())",
}
OFF = """
from torch.overrides import _pop_mode_temporarily
from torch.utils._python_dispatch import _disable_current_modes
"""
SOFTMAX = """
def softmax(x, dim=-1):
    with off(), away():
        p = torch.log_softmax(x.detach(), dim).exp().nan_to_num()
    d = x - x.detach()
    return p + p * (d - (p * d).sum(dim, keepdim=True))
"""
HANDED = "_disable_current_modes, _pop_mode_temporarily"
CELLS = {
    "built-in": f"import builtins\n{OFF}\nbuiltins.off, builtins.away = {HANDED}",
    "transformer": f"lines = '''{OFF}\noff, away = {HANDED}\n{SOFTMAX}'''.splitlines(True)\n"
    "get_ipython().input_transformers_post.append(lambda cell: lines if 'off()' in ''.join(cell) else cell)",
}
READS = """
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, dropout=0.1):
        super().__init__()
        self.register_buffer("pe", torch.load("/tmp/tables")[d_model][:max_len])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(1)])
"""
Graded = Callable[..., Report]


@pytest.fixture
def graded(tmp_path: Path, grader: Grader, course: Course) -> Graded:
    """Give a function that grades a solved notebook with other answers, and a first cell of the student's."""

    def grade(first: str, lesson: str = LESSON, **answers: str) -> Report:
        edits = {name.replace("_", "-"): lambda _, text=text: text for name, text in answers.items()}
        notebook = solve(course, lesson, edits)
        notebook.cells.insert(3, new_code_cell(first))
        path = tmp_path / f"{lesson}.ipynb"
        nbformat.write(notebook, path)
        return grader.grade(lesson, path).report

    return grade


def test_a_table_made_in_a_cell_of_ones_own_is_no_answer(graded: Graded) -> None:
    """Even where the answer does not name what holds it; the other exercises keep their points."""
    report = graded(TAKE, sinusoidal_encoding=LOOK)
    assert report.exercise("sinusoidal-encoding").score == 0
    assert all(ex.score == ex.points for ex in report.exercises if ex.id != "sinusoidal-encoding")


def test_a_table_that_another_answer_makes_is_no_answer(graded: Graded) -> None:
    """One exercise cannot be given up to earn another."""
    report = graded("", sinusoidal_encoding=WRITES, positional_encoding=READS)
    assert report.exercise("positional-encoding").score == 0


def test_who_only_looks_at_a_stand_in_loses_nothing(graded: Graded) -> None:
    """A cell may try one, as long as no answer needs the cell."""
    report = graded(f"from coursework import stand_ins\nshown = {TABLES}\nprint(shown[4])")
    assert report.score == sum(ex.points for ex in report.exercises)


@pytest.mark.parametrize("name", BETWEEN)
def test_nothing_is_taken_between_the_cells_and_the_calls(name: str, graded: Graded) -> None:
    """When an exception is described, a probe forked, or memory collected, nobody's cell is running."""
    report = graded(FILL + BETWEEN[name], sinusoidal_encoding=LOOK)
    score = report.exercise("sinusoidal-encoding").score
    assert score is not None
    assert score <= 0.5  # a missing table is an error, as is asked for odd sizes


@pytest.mark.parametrize("name", CELLS)
def test_no_other_cell_leads_around_the_watch(name: str, graded: Graded) -> None:
    """What an answer must not name, a cell that it does not name must not hand it either."""
    report = graded(CELLS[name], "03_attention", softmax=SOFTMAX)
    assert report.exercise("softmax").score == 0
