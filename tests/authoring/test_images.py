"""Pictures of a lesson exist, lie in images/, and say what they show."""

from pathlib import Path

import pytest
from lesson_texts import changed, read_text

from autograder.authoring.images import Image, check_images, images_in, images_of
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonText

SHOWN = "![A square of side two](images/square.svg)"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Return a folder with the lesson's one picture."""
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "square.svg").write_text("<svg/>")
    return folder


def test_both_ways_of_showing_are_found() -> None:
    """Markdown and HTML alike, with a title or an angle bracket in the way."""
    text = '![a](images/a.svg "t") and <img src="images/b.svg" width=3 alt="b"> ![](<images/c.svg>)'
    assert list(images_in(text)) == [
        Image("a", "images/a.svg"),
        Image("", "images/c.svg"),
        Image("b", "images/b.svg"),
    ]


def test_a_good_lesson_passes(lesson: LessonText, images: Path) -> None:
    """A picture that is there, with alt text, is no problem."""
    check_images(lesson, images)
    assert images_of(lesson) == ["square.svg"]


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ("![](images/square.svg)", "without alt text"),
        ('<img src="images/square.svg">', "without alt text"),
        ("![A circle](images/circle.svg)", "does not exist"),
        ("![A square](https://example.org/square.svg)", "needs no network"),
        ("![A square](attachment:square.svg)", "needs no network"),
        ("![A square](../images/square.svg)", "should be images/NAME"),
    ],
)
def test_bad_pictures_are_named(tmp_path: Path, images: Path, shown: str, says: str) -> None:
    """The error names the picture's line."""
    lesson = read_text(tmp_path, changed(SHOWN, shown))
    with pytest.raises(LessonTextError, match=says) as caught:
        check_images(lesson, images)
    assert caught.value.line == 9
