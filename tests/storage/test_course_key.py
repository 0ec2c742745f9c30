"""A course has one private key, made on first use and kept."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.storage.course_key import BYTES, course_key, lesson_key


def test_the_key_is_made_once_and_kept(tmp_path: Path) -> None:
    """Asked again, a course has the same key; another course has another."""
    first, second = Course(tmp_path / "first"), Course(tmp_path / "second")
    for course in (first, second):
        course.root.mkdir()
    assert len(course_key(first)) == BYTES
    assert course_key(first) == course_key(Course(first.root))
    assert course_key(first) != course_key(second)


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    """Nobody else on the machine can, and no draft of it stays behind."""
    course_key(Course(tmp_path))
    assert stat.S_IMODE(Course(tmp_path).key.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["course.key"]


def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    """Whoever comes first decides; the others take that key."""
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(course_key, [Course(tmp_path)] * 64))
    assert len(set(found)) == 1


def test_each_lesson_has_a_key_of_its_own(tmp_path: Path) -> None:
    """It is the same every time, and neither another lesson's nor the course's."""
    course = Course(tmp_path)
    keys = [lesson_key(course, name) for name in ("01_one", "02_two")]
    assert keys == [lesson_key(Course(tmp_path), name) for name in ("01_one", "02_two")]
    assert len({*keys, course_key(course)}) == 3
    assert {len(key) for key in keys} == {BYTES}


def test_a_machine_that_was_sent_one_key_has_no_other(tmp_path: Path) -> None:
    """The lesson's own file comes before the course's key, which is not made for it."""
    course, sent = Course(tmp_path / "sent"), bytes(range(BYTES))
    course.lesson_key("01_one").parent.mkdir(parents=True)
    course.lesson_key("01_one").write_text(sent.hex())
    assert lesson_key(course, "01_one") == sent
    assert not course.key.exists()
    course.lesson_key("01_one").write_text("torn")
    with pytest.raises(CourseError, match=r"01_one\.key is damaged"):
        lesson_key(course, "01_one")


@pytest.mark.parametrize("text", ["", "secret", "ab" * (BYTES - 1), "zz" * BYTES])
def test_a_damaged_key_is_not_replaced(tmp_path: Path, text: str) -> None:
    """A new key would change scores, so a person decides; the message says between what."""
    Course(tmp_path).key.write_text(text)
    with pytest.raises(CourseError, match="restore it from a backup"):
        course_key(Course(tmp_path))
    assert Course(tmp_path).key.read_text() == text
