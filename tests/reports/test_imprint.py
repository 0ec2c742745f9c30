"""Pages are made again exactly if what they show has changed, or they have."""

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
    """The pages of the last time are given, in their order."""
    second = page.with_name("a.csv")
    second.write_text("a")
    keep(page.parent, _of("a"), [page, second])
    assert made_from(page.parent, _of("a")) == [page, second]


def test_another_source_needs_other_pages(page: Path) -> None:
    """Values keep their places: two of them joined are another source."""
    assert made_from(page.parent, _of("b")) is None
    keep(page.parent, _of("a", "b"), [page])
    assert made_from(page.parent, _of("ab")) is None


def test_a_page_that_was_changed_or_removed_is_made_again(page: Path) -> None:
    """Somebody wrote into it, or it was not copied with the folder."""
    page.write_text("<p>changed by hand")
    assert made_from(page.parent, _of("a")) is None
    page.unlink()
    assert made_from(page.parent, _of("a")) is None


def test_a_file_counts_by_its_state(tmp_path: Path) -> None:
    """Written, changed and removed are three sources."""
    path, seen = tmp_path / "answer.ipynb", set()
    for text in ("one", "two or more", None):
        path.unlink() if text is None else path.write_text(text)
        made = Imprint()
        made.add_files([path])
        seen.add(made.hex())
    assert len(seen) == 3


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"imprint": 1}', '{"imprint": "", "pages": []}'])
def test_a_torn_note_makes_the_pages_again(page: Path, torn: str) -> None:
    """A run can end while it writes."""
    (page.parent / FILE).write_text(torn)
    assert made_from(page.parent, _of("a")) is None
