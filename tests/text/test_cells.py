"""Tags say what a cell is for; anything else is refused in words that help."""

import pytest

from autograder.text.cells import Cell, Kind, Tag, TagProblem, read_tag


@pytest.mark.parametrize(
    ("title", "markdown", "tag"),
    [
        ("", True, Tag(Kind.PROSE)),
        ("setup", False, Tag(Kind.SETUP)),
        ("given", False, Tag(Kind.GIVEN)),
        ("demo", False, Tag(Kind.DEMO)),
        ("solution causal-mask", False, Tag(Kind.SOLUTION, "causal-mask")),
        ("test causal-mask 2", False, Tag(Kind.TEST, "causal-mask", 2.0)),
        ("test causal-mask 1.5", False, Tag(Kind.TEST, "causal-mask", 1.5)),
        ("written recurrence 2", True, Tag(Kind.WRITTEN, "recurrence", 2.0)),
    ],
)
def test_every_known_tag_is_read(title: str, markdown: bool, tag: Tag) -> None:
    """Each header of the format gives its kind, exercise and points."""
    assert read_tag(title, markdown=markdown) == tag


@pytest.mark.parametrize(
    ("title", "markdown", "says"),
    [
        ("", False, "code cell without a tag"),
        ("solutoin softmax", False, "unknown tag 'solutoin'"),
        ("prose", True, "unknown tag 'prose'"),
        ("written why 2", False, "add [markdown]"),
        ("demo", True, "a code cell"),
        ("test softmax", False, "# %% test ID POINTS"),
        ("solution", False, "# %% solution ID"),
        ("demo two words", False, "# %% demo"),
        ("test softmax two", False, "got 'two' for POINTS"),
    ],
)
def test_other_tags_are_refused(title: str, markdown: bool, says: str) -> None:
    """A header that is not quite one of the format says how it should read."""
    tag = read_tag(title, markdown=markdown)
    assert isinstance(tag, TagProblem)
    assert says in tag.problem


def test_ids_come_from_exercises_and_ordinals() -> None:
    """A cell's id does not depend on what stands in it."""
    assert Cell(Kind.SOLUTION, "", 1, 7, "softmax").id == "softmax"
    assert Cell(Kind.TEST, "", 1, 7, "softmax").id == "softmax-test"
    assert Cell(Kind.DEMO, "", 1, 7).id == "demo-7"
