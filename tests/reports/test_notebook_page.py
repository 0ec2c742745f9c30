"""The whole graded notebook is a page beside the feedback, and as inert."""

from autograder.reports.notebook_page import notebook_page

from .hostile import Tags
from .sample_class import LESSON
from .sample_work import MIDDLING, hostile_work, work


def test_it_shows_the_lesson_and_every_answer_with_its_points() -> None:
    """Each answer links to what the feedback says about it."""
    page = notebook_page(work(MIDDLING))
    tags = Tags(page)
    assert "Scale by <math" in page
    assert page.count('class="cell answer"') == len(MIDDLING.exercises)
    assert f"{LESSON}.html#exercise-causal-mask" in tags.links
    assert "0.5 of 2 points" in tags.text
    assert "2 points pending" in tags.text
    assert "# Summary" not in tags.text


def test_nothing_hostile_gets_through() -> None:
    """No script, no handler, one style sheet."""
    tags = Tags(notebook_page(hostile_work()))
    assert not {"script", "iframe", "link"} & set(tags.names)
    assert "src" not in tags.attributes
    assert not {name for name in tags.attributes if name.startswith("on")}
    assert tags.names.count("style") == 1
