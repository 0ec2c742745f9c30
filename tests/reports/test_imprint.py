"""Pages are made again if what they show has changed, or if they have, and only then."""

from pathlib import Path

import pytest

from autograder.reports.imprint import FILE, Imprint, keep, made_from


def _of(*values: str) -> Imprint:
    made = Imprint()
    made.add(*values)
    return made


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A page that was made from 'a'."""
    page = tmp_path / "class.html"
    page.write_text("<p>a")
    keep(tmp_path, _of("a"), [page])
    return page


def test_the_same_source_needs_no_other_pages(page: Path) -> None:
    """The pages that were made last time are returned, in order."""
    second = page.with_name("a.csv")
    second.write_text("a")
    keep(page.parent, _of("a"), [page, second])
    assert made_from(page.parent, _of("a")) == [page, second]


def test_another_source_needs_other_pages(page: Path) -> None:
    """Two values are not the same source as the two joined."""
    assert made_from(page.parent, _of("b")) is None
    keep(page.parent, _of("a", "b"), [page])
    assert made_from(page.parent, _of("ab")) is None


def test_a_page_that_was_changed_or_removed_is_made_again(page: Path) -> None:
    """Somebody edited it, or copied the folder without it."""
    page.write_text("<p>changed by hand")
    assert made_from(page.parent, _of("a")) is None
    page.unlink()
    assert made_from(page.parent, _of("a")) is None


def test_a_file_counts_by_its_state(tmp_path: Path) -> None:
    """Absent, written and changed are three sources."""
    path = tmp_path / "answer.ipynb"

    def imprint() -> str:
        made = Imprint()
        made.add_files([path])
        return made.hex()

    absent = imprint()
    path.write_text("one")
    written = imprint()
    path.write_text("two or more")
    assert len({absent, written, imprint()}) == 3


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"imprint": 1}', '{"imprint": "", "pages": []}'])
def test_a_torn_note_makes_the_pages_again(page: Path, torn: str) -> None:
    """A run can end while it writes."""
    (page.parent / FILE).write_text(torn)
    assert made_from(page.parent, _of("a")) is None
