"""What is drawn of a result says something even where it holds no entries."""

import pytest
import torch

from coursework.engine.draw import as_text, inputs_of, tables_of
from coursework.engine.observation import Observation, Raised
from coursework.engine.operation import Fault


def drawn(value: object, right: object = None) -> str:
    """Return a value as a card shows it, as a student's result if there is a right one."""
    return "\n".join(map(as_text, tables_of(Observation(value), Observation(right) if right is not None else None)))


@pytest.mark.parametrize(("value", "text"), [([], "[]"), ((), "()"), ({}, "{}"), ([[], [1]], "[0]:\n [] \n[1]:\n 1")])
def test_what_is_empty_is_drawn_as_python_writes_it(value: object, text: str) -> None:
    """An empty box says nothing, whether it is a result or an input."""
    assert drawn(value).strip() == text
    assert as_text(inputs_of(["tokens"], [[]])[0][1][0]).strip() == "[]"


def test_an_empty_tensor_shows_its_shape_and_its_dtype() -> None:
    """They are all that can differ, and the student's is marked where one does."""
    right = torch.zeros(0, dtype=torch.int64)
    assert drawn(right).strip() == "tensor([]), shape (0,), int64"
    assert drawn(right, right).strip() == "tensor([]), shape (0,), int64"
    assert drawn(torch.zeros(0), right) == "›tensor([]), shape (0,), float32‹"
    assert drawn(torch.zeros(0, 3, 4), torch.zeros(0, 3)) == "›tensor([]), shape (0, 3, 4), float32‹"


def test_a_result_of_another_shape_is_not_drawn_as_a_missing_part() -> None:
    """Where nothing else came of it, its box says what the message says."""
    seen = Observation(raised=Raised("Structure", "", fault=Fault.OUTPUT_SHAPE, detail="(3, 2)"))
    (table,) = tables_of(seen, Observation(torch.zeros(3, 3)))
    assert "doesn't have the shape" in table.rows[0][0].text


def test_an_empty_list_in_the_place_of_a_full_one_says_what_is_missing() -> None:
    """As a list does that is only too short."""
    assert drawn([], [1, 2]) == "›2 missing‹"
    assert drawn([], torch.zeros(2)) == "›[]‹"
